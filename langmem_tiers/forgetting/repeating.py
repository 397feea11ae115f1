"""Texts that repeat what is forgotten: summaries, notes, identity, working memory, store items, tasks and the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langmem_tiers.forgetting.repetition import Repetition
from langmem_tiers.knowledge import document_text
from langmem_tiers.language.sentences import passages, without
from langmem_tiers.language.summaries import abstract
from langmem_tiers.records import Document, Episode, Task
from langmem_tiers.storage import documents, drawers, dreams, episodes, feedback, forgetting, identities, items, tasks
from langmem_tiers.storage import working_entries as working
from langmem_tiers.storage.feedback import FeedbackRow
from langmem_tiers.storage.forgetting import MessageFilter

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.settings import Settings
    from langmem_tiers.store import SpaceStore

# A line that the memory flushed into a daily note ends with the pointer of its message.
_POINTED = re.compile(r"\[(?P<pointer>§[^\[\]\n]+)\]\s*$")
_DAY = re.compile(r"memory/\d{4}-\d\d-\d\d\.md")
_JOINED = re.compile(r"[\W_]+")
_ALL = -1


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """Records that go or change because they repeat what is forgotten; None is for those of which nothing is left."""

    episodes: Sequence[tuple[Episode, Episode | None]] = ()
    documents: Sequence[tuple[Document, str | None, tuple[str, ...]]] = ()
    """The document, what is left of it, and the lines that go."""
    identity: Sequence[tuple[int, str, tuple[str, ...]]] = ()
    """Version, what is left of it, and the lines that go; the newest first."""
    tasks: Sequence[tuple[Task, str, str]] = ()
    """The task, and what is left of its title and its state."""
    task_ids: Sequence[Task] = ()
    """Tasks that get another id."""
    working: Sequence[working.WorkingRow] = ()
    items: Sequence[items.ItemRow] = ()
    questions: Sequence[tuple[int, str]] = ()
    feedback: Sequence[tuple[FeedbackRow, str | None]] = ()
    """The feedback, and what is left of its note; None if it goes as a whole."""
    activities: Sequence[int] = ()
    closets: Sequence[int] = ()
    wings: Sequence[int] = ()


def repeating(
    store: SpaceStore,
    connection: Connection,
    known: Repetition,
    gone: Collection[int],
    ended: Collection[str],
    settings: Settings,
) -> Rewritten:
    """Everything that repeats what is forgotten, with what is left of it; `ended` are sessions that go as a whole."""
    space = store.key
    found = Rewritten(
        episodes=list(_episodes(connection, space, known, gone, settings)),
        documents=list(_documents(connection, space, known, gone)),
        identity=list(_identity(connection, space, known)),
        tasks=list(_tasks(connection, space, known)),
        task_ids=[each for each in tasks.find(connection, space) if _named_so(each.id, known)],
        working=list(_working(connection, space, known, ended)),
        items=[row for row in items.under(connection, space, "") if _in_item(row, known)],
        closets=[number for number, name in forgetting.texts(connection, space, "closet") if known.derived(name)],
        wings=[number for number, name in forgetting.texts(connection, space, "wing") if known.derived(name)],
    )
    return unlogged(connection, space, found, known, gone, ended)


def unlogged(
    connection: Connection,
    space: str,
    found: Rewritten,
    known: Repetition,
    gone: Collection[int],
    ended: Collection[str],
) -> Rewritten:
    """The same, with those records looked up whose changes are not in the log."""
    noted = forgetting.texts(connection, space, "activity")
    repeats = {number for number, body in noted if _in_json(body, known.derived)}
    return replace(
        found,
        questions=list(_questions(connection, space, known, gone)),
        feedback=list(_feedback(connection, space, known, gone, ended)),
        activities=sorted(repeats | forgetting.of_sessions(connection, space, "activity", ended)),
    )


def _episodes(
    connection: Connection, space: str, known: Repetition, gone: Collection[int], settings: Settings
) -> Iterator[tuple[Episode, Episode | None]]:
    touched = forgetting.sessions_of(connection, space, gone)
    for episode in episodes.every(connection, space):
        covered = _covered(connection, space, episode) if episode.session in touched else set()
        if covered and covered <= set(gone):
            yield episode, None
            continue
        repeats = known.written if episode.path == "compaction" else known.derived
        if not (covered & set(gone) or known.may("\n".join((episode.summary, episode.abstract, *episode.topics)))):
            continue
        kept, left = covered - set(gone), _left_of(episode, repeats, settings)
        if left is not None and kept != covered:
            left = replace(left, first_drawer=min(kept), last_drawer=max(kept))
        if left != episode:
            yield episode, left


def _covered(connection: Connection, space: str, episode: Episode) -> set[int]:
    """The messages that an episode sums up."""
    if episode.first_drawer is None or episode.last_drawer is None:
        return set()
    of_session = forgetting.find(connection, space, MessageFilter(session=episode.session))
    return {number for number in of_session if episode.first_drawer <= number <= episode.last_drawer}


def _left_of(episode: Episode, repeats: Callable[[str], bool], settings: Settings) -> Episode | None:
    summary, gist = without(episode.summary, repeats), without(episode.abstract, repeats)
    topics = tuple(topic for topic in episode.topics if not repeats(topic))
    if (summary, gist, topics) == (episode.summary, episode.abstract, episode.topics):
        return episode
    if not summary.strip() and (episode.summary or not topics):
        return None
    most = settings.episodes.abstract_characters
    gist = gist or abstract("\n".join(passages(summary)), most) or summary[:most]
    return replace(episode, summary=summary, abstract=gist, topics=topics)


def _documents(
    connection: Connection, space: str, known: Repetition, gone: Collection[int]
) -> Iterator[tuple[Document, str | None, tuple[str, ...]]]:
    pointers = {each.pointer for each in drawers.read(connection, space, gone).values()}
    for path in documents.paths(connection, space):
        held = documents.read(connection, space, path)
        if held is None:
            continue
        if _named_so(path, known) or _in_file(held, known):
            yield held, None, (path, *_lines_gone(held.content, ""))
            continue
        ours = bool(_DAY.fullmatch(path)) or path.startswith(document_text.DREAMT)
        repeats = known.derived if ours else known.written
        if held.encoding != "utf-8":
            continue
        if not known.may(held.content) and not any(pointer in held.content for pointer in pointers):
            continue
        left = _lines_left(held.content, repeats, pointers)
        if left != held.content:
            yield held, left if left.strip() else None, _lines_gone(held.content, left)


def _in_file(held: Document, known: Repetition) -> bool:
    """Whether a file that is no UTF-8 repeats it; the letters of its text are also found in UTF-16."""
    if held.encoding == "utf-8":
        return False
    text = held.data.decode("latin-1").replace("\0", "")
    return known.may(text) and any(known.written(passage) for passage in _pieces(text))


def _lines_left(text: str, repeats: Callable[[str], bool], pointers: Collection[str]) -> str:
    kept = []
    for line in text.splitlines(keepends=True):
        pointed = _POINTED.search(line)
        if pointed and pointed["pointer"] in pointers:
            continue
        kept.append(line)
    return without("".join(kept), repeats)


def _lines_gone(before: str, after: str) -> tuple[str, ...]:
    left = set(after.splitlines())
    return tuple(line.strip() for line in before.splitlines() if line.strip() and line not in left)


def _identity(connection: Connection, space: str, known: Repetition) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    for version in identities.latest(connection, space, _ALL):
        if known.may(version.text):
            left = without(version.text, known.written)
            if left != version.text:
                yield version.version, left, _lines_gone(version.text, left)


def _tasks(connection: Connection, space: str, known: Repetition) -> Iterator[tuple[Task, str, str]]:
    for task in tasks.find(connection, space):
        title = without(task.title, known.written) or "forgotten"
        state = without(task.state, known.written)
        if (title, state) != (task.title, task.state) or _named_so(task.id, known):
            yield task, title, state


def _named_so(name: str, known: Repetition) -> bool:
    """Whether an id or path repeats it."""
    said = _JOINED.sub(" ", name)
    return known.written(name) or known.written(said)


def _working(
    connection: Connection, space: str, known: Repetition, ended: Collection[str]
) -> Iterator[working.WorkingRow]:
    for row in working.every(connection, space):
        own = any(row.key.startswith(f"session/{session}/") for session in ended)
        said = "\n".join((row.value, row.key.replace("/", " "), *row.tags, row.category or ""))
        if own or (known.may(said) and any(known.written(passage) for passage in _pieces(said))):
            yield row


def _in_item(row: items.ItemRow, known: Repetition) -> bool:
    place = f"{row.namespace.replace('.', ' ')} {row.key}"
    return _in_json(row.value, known.written) or known.written(place)


def _in_json(stored: str, repeats: Callable[[str], bool]) -> bool:
    """Whether any text in a JSON value repeats it."""
    try:
        value = json.loads(stored)
    except ValueError:
        return repeats(stored)
    return any(repeats(passage) for text in _texts(value) for passage in _pieces(text))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from map(str, value)
        yield from (text for each in value.values() for text in _texts(each))
    elif isinstance(value, list):
        yield from (text for each in value for text in _texts(each))


def _pieces(text: str) -> list[str]:
    """The passages of a text, or all of it if it is no prose."""
    return passages(text) or [text]


def _questions(
    connection: Connection, space: str, known: Repetition, gone: Collection[int]
) -> Iterator[tuple[int, str]]:
    for question in dreams.questions(connection, space):
        said = (question.question, *question.words)
        if set(question.drawers) & set(gone) or any(known.written(each) for each in said):
            yield question.number or 0, question.question


def _feedback(
    connection: Connection, space: str, known: Repetition, gone: Collection[int], ended: Collection[str]
) -> Iterator[tuple[FeedbackRow, str | None]]:
    for row in feedback.every(connection, space):
        if row.drawer in gone or row.session in ended:
            yield row, None
        elif row.note and (left := without(row.note, known.written)) != row.note:
            yield row, left
