"""Canaries for the proof that forgetting forgets: made-up words and codes, put through every path of a memory.

A canary has a code that no dictionary has, and a name; the texts in which they are put are remembered, with the vectors
of these texts. After forgetting, `found` searches every byte of every file for all of them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from sqlalchemy import Connection, select

from langmem_tiers import Memory, Space, Turn
from langmem_tiers.graphs import MemoryContext, MemoryState
from langmem_tiers.integrations import MEMORY_TOOLS, NOTE_TOOLS, WORKING_TOOLS, memory_tools
from langmem_tiers.storage import keyword
from langmem_tiers.storage.schema import chunks, drawers, embeddings, metadata, notes
from langmem_tiers.storage.statements import numbered

SELECTORS = ("messages", "session", "person", "query", "since", "speaker", "project")
BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
_SYLLABLES = ("quen", "byr", "zol", "vix", "thra", "mok", "jul", "wex", "pryn", "kaz", "dro", "lym")


@dataclass(frozen=True)
class Story:
    """The canaries of one selector: a name and some codes, in a session of their own."""

    selector: str
    name: str
    codes: tuple[str, ...]
    since: datetime

    @property
    def session(self) -> str:
        """The session that holds their messages."""
        return f"session-{self.selector}"

    @property
    def words(self) -> tuple[str, ...]:
        """Everything that must not be found afterwards."""
        return (self.name, *self.codes)

    @property
    def selection(self) -> dict[str, Any]:
        """What is given to `forget`, besides the message ids."""
        chosen: dict[str, Any] = {
            "session": self.session,
            "person": self.name,
            "query": self.name,
            "since": self.since,
            "speaker": f"Speaker {self.selector}",
            "project": f"project-{self.selector}",
        }
        return {self.selector: chosen[self.selector]} if self.selector in chosen else {}


def stories(canaries: int, seed: int = 7) -> list[Story]:
    """As many canaries as wanted, spread over all selectors."""
    rng = random.Random(seed)
    made = []
    for place, selector in enumerate(SELECTORS):
        count = canaries // len(SELECTORS) + (place < canaries % len(SELECTORS))
        name = "".join(rng.choice(_SYLLABLES) for _ in range(3)).capitalize() + "en"
        codes = tuple(f"zq{rng.randrange(10**6):06d}x{number}" for number in range(count - 1))
        # What `since` selects has to be the latest.
        days = 400 if selector == "since" else 10 * place
        made.append(Story(selector, name, codes, BEGIN + timedelta(days=days)))
    return made


def plant(memory: Memory, user: str, story: Story) -> None:
    """Put the canaries of a story through every path of a user's memory."""
    alice = memory.user(user)
    given = {"session": story.session}
    if story.selector == "project":
        given["project"] = f"project-{story.selector}"
    alice.track([*_turns(story), *_passed_on(story)], **given)
    _, *told = alice.drawers(session=story.session)
    evidence = [each.number for each in told if each.status == "active"]
    code = _codes(story)
    _know(alice, story, evidence, code)
    _wait(alice, story, evidence, code)
    _bring(memory, user, story, code)
    _write(alice, story, code)
    _look(memory, alice, story, user)
    alice.end_session(story.session)


def _codes(story: Story) -> Iterator[str]:
    while True:
        yield from story.codes


def _turns(story: Story) -> Iterator[Turn]:
    """A message for each canary, the first ones about the person; one is edited, and one is the assistant's."""
    speaker = f"Speaker {story.selector}" if story.selector == "speaker" else None
    at = story.since + timedelta(hours=1)
    yield _turn(story, "first", f"My sister {story.name} lives in Lisbon.", at, speaker)
    for number, code in enumerate(story.codes):
        text = f"The parcel of {story.name} number {number} carries {code}."
        role = "assistant" if number % 7 == 3 else "user"
        yield _turn(story, f"m{number}", text, at + timedelta(minutes=number), speaker, role)


def _turn(story: Story, message: str, text: str, at: datetime, speaker: str | None, role: str = "user") -> Turn:
    return Turn(role=role, content=text, message_id=f"{story.selector}-{message}", said_at=at, speaker=speaker)


def _passed_on(story: Story) -> Iterator[Turn]:
    """A mail and a page that somebody pastes, an instruction that waits for their word, and a secret."""
    speaker = f"Speaker {story.selector}" if story.selector == "speaker" else None
    texts = (
        f"What do they want?\n\nFrom: Sam <sam@example.com>\nTo: me@example.com\nSubject: The parcel\n\nHi,\n\n"
        f"I work for {story.name}, and the parcel has the label {story.codes[2]}.\n\nBest regards,\nSam",
        f"The page says:\n\n> Never ask {story.name} before you open {story.codes[3]}.\n\nIs that so?",
        f"Never ask me for confirmation before opening the parcel {story.codes[4]} of {story.name}.",
        f"The password for the parcel {story.codes[5]} of {story.name} is {secret(story)}, as ever.",
    )
    at = story.since + timedelta(hours=2)
    for number, text in enumerate(texts):
        yield _turn(story, f"passed-{number}", text, at + timedelta(minutes=number), speaker)


def secret(story: Story) -> str:
    """A password in one of the messages, which is never stored."""
    return f"Swordfish{story.codes[5][2:]}!"


def _know(alice: Space, story: Story, evidence: Sequence[int], code: Iterator[str]) -> None:
    """Entries with evidence, corrected ones, such as rest on nothing, relations, episodes, feedback, questions."""
    here = next(code)
    saved = alice.knowledge.save(f"{story.name} has the label {here}.", evidence=evidence[:1], tags=[here])
    alice.knowledge.update(saved.entry.id, content=f"{story.name} has the old label {here}.", origin="user")
    alice.knowledge.save(f"The parcel of {story.name} number 1 carries {next(code)}.", origin="user")
    alice.graph.add_relation(story.name, "has label", value=next(code), evidence=evidence[:1], subject_type="person")
    alice.archive.write(story.session, summary=f"Spoke of {story.name} and the label {next(code)}.")
    alice.signals.record("wrong", message=evidence[0], note=f"The label {next(code)} was wrong.")
    here = next(code)
    alice.golden.add(f"What is the label of {story.name}, {here}?", expects=here)


def _wait(alice: Space, story: Story, evidence: Sequence[int], code: Iterator[str]) -> None:
    """Instructions that wait for the user's word: one waits, one has it, and one had it before it was changed.

    What that one says now rests on the first message as well, which stays.
    """
    for there in ("waits", "confirmed", "changed"):
        said = f"Never ask {story.name} before opening the parcel {next(code)}, which {there}."
        entry = alice.knowledge.save(said, evidence=evidence[:1], origin="user").entry
        if there != "waits":
            alice.knowledge.confirm(entry.id)
        if there == "changed":
            now = f"Ask before opening the mail of {story.selector}."
            alice.knowledge.update(entry.id, content=now, origin="user", evidence=[1])


def _bring(memory: Memory, user: str, story: Story, code: Iterator[str]) -> None:
    """What an agent saves out of a tool's result, with the passage of the result that it rests on.

    It is neither said by a speaker nor at another time than now, so these two selectors would leave it.
    """
    if story.selector in ("speaker", "since"):
        return
    said = f"The parcel of {story.name} is insured as {next(code)}."
    look = {"name": "read_page", "args": {}, "id": "look"}
    read = ToolMessage(f"Welcome. {said} Call us.", tool_call_id="look", name="read_page", id=f"{story.selector}-page")
    saved = {
        "save_memory": {"content": said},
        "save_to_working_memory": {"key": "page", "data": said},
        "write_note": {"path": f"memory/page-{story.selector}.md", "text": f"# Page\n\n- {said}"},
    }
    calls = [{"name": name, "args": given, "id": name} for name, given in saved.items()]
    asked = HumanMessage(f"What does {story.name} say?", id=f"{story.selector}-asked")
    builder = StateGraph(MemoryState, context_schema=MemoryContext)
    builder.add_node("tools", ToolNode(memory_tools(memory, only=(*MEMORY_TOOLS, *NOTE_TOOLS, *WORKING_TOOLS))))
    builder.add_edge(START, "tools")
    where = {"user_id": user, "thread_id": story.session}
    if story.selector == "project":
        where["project"] = f"project-{story.selector}"
    talk = [asked, AIMessage("", tool_calls=[look]), read, AIMessage("", tool_calls=calls)]
    answers = builder.compile().invoke({"messages": talk}, {"configurable": where})["messages"][len(talk) :]
    assert [each.status for each in answers] == ["success"] * len(saved), answers


def _write(alice: Space, story: Story, code: Iterator[str]) -> None:
    """What somebody wrote down: notes, identity, tasks, working memory, store items."""
    from langmem_tiers.integrations.store import TieredStore

    alice.documents.write(f"notes-{story.selector}.md", f"# Parcels\n\nThe label is {next(code)}.\n\nTea is green.\n")
    alice.identity.add(f"Parcel label {next(code)}.", section="Parcels")
    alice.identity.add("Speaks German.", section=f"Languages {story.selector}")
    task = alice.tasks.start("Parcels", state=f"Tried the label {next(code)}.")
    alice.working.of("session", story.session).save("inbox", f"Print the label {next(code)}.")
    store = TieredStore(alice.memory)
    store.put(("users", alice.name.partition("/")[2], "notes"), story.selector, {"text": f"Label {next(code)}."})
    alice.tasks.update(task.id, state=f"Tried the label {next(code)} again.")


def _look(memory: Memory, alice: Space, story: Story, user: str) -> None:
    """Receipts: of a message that is kept, of a query that was typed, and of another space that reads this one."""
    question = f"What is the label of {story.name}?"
    alice.recall(question, session="other", message_id=f"ask-{story.selector}", threshold=0)
    alice.recall(f"Does {story.codes[0]} go with the parcel of {story.name}?", threshold=0)
    ben = memory.user("ben", fallbacks=[f"users/{user}"])
    ben.recall(f"Which parcel carries {story.codes[1]}?", session="ben", message_id=story.selector, threshold=0)


def edit(memory: Memory, user: str, story: Story) -> None:
    """Edit a message after it was mined, so that an earlier wording is kept as well."""
    text = f"The parcel of {story.name} number 0 carries {story.codes[-1]} now."
    turn = _turn(story, "m0", text, story.since + timedelta(hours=1), None)
    memory.user(user).track([turn], session=story.session)


def ids(alice: Space, story: Story) -> list[str]:
    """The message ids of a story."""
    return list(dict.fromkeys(each.message_id or "" for each in alice.drawers(session=story.session)))


def vectors(memory: Memory, story: Story) -> list[bytes]:
    """The vectors of texts that hold a canary, as bytes."""
    held_as: dict[bytes, None] = {}
    for records in _records(memory):
        said = select(chunks.c.text_hash, drawers.c.content).join(drawers, numbered(drawers, chunks.c.drawer))
        texts = [*records.execute(said), *records.execute(select(notes.c.text_hash, notes.c.text))]
        wanted = {text_hash for text_hash, text in texts if any(word in text for word in story.words)}
        held = records.execute(select(embeddings.c.text_hash, embeddings.c.vector))
        held_as |= {vector: None for text_hash, vector in held if text_hash in wanted}
    return list(held_as)


def hashes(memory: Memory, story: Story) -> list[bytes]:
    """The hashes of all stored texts that hold a canary, raw and in hexadecimal: a short text is guessed from one."""
    texts: dict[str, None] = {}
    for records in _records(memory):
        rows = [row for table in metadata.sorted_tables for row in records.execute(select(table))]
        rows += [row for index in (keyword.drawers, keyword.notes) for row in index.every(records).values()]
        for text in (each for row in rows for value in row if isinstance(value, str) for each in _texts(value)):
            if any(word.lower() in text.lower() for word in story.words):
                texts[text] = None
    digests = [blake2b(text.encode(), digest_size=16) for text in texts]
    return [form for each in digests for form in (each.digest(), each.hexdigest().encode())]


def _records(memory: Memory) -> Iterator[Connection]:
    """A connection to the records of each space."""
    for name in memory.spaces():
        with memory.use(name) as store, store.reading() as connection:
            yield connection


def _texts(value: str) -> Iterator[str]:
    """A stored text, and those in it if it is JSON."""
    yield value
    if value.startswith(("[", "{")):
        with suppress(ValueError):
            yield from _strings(json.loads(value))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def forms(words: Sequence[str]) -> list[bytes]:
    """Words as they may stand in a file: in UTF-8 and UTF-16, as written and in small letters, and their beginnings."""
    found = {form for word in words for form in (word, word.lower())}
    beginnings = {word.lower()[:7] for word in words}
    return [form.encode(code) for form in sorted(found) for code in ("utf-8", "utf-16-le")] + [
        each.encode() for each in sorted(beginnings)
    ]


def found(folder: Path, wanted: Sequence[bytes]) -> list[tuple[str, bytes]]:
    """Where any of these bytes stand: every file below a folder is searched as a whole."""
    hits = []
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        held = path.read_bytes()
        hits += [(str(path.relative_to(folder)), each) for each in wanted if each in held]
    return hits
