"""Readers of files, texts, replies and arguments meet anything: a named error or an answer, in time, and no crash.

`make test-life` breaks each sample several hundred times, `make test` a few times.
"""

import json
import os
import random
import shutil
import warnings
from datetime import UTC, date, datetime

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.dream.questions import PartialReply
from langmem_tiers.integrations import space_tools
from langmem_tiers.knowledge.summaries import ToldEpisode
from langmem_tiers.knowledge_graph.duplicates import PairsReply
from langmem_tiers.language import dates, periods, questions, tags
from langmem_tiers.models import questions as replies
from langmem_tiers.models import rerank_chat
from langmem_tiers.pointers import find_pointers, parse_pointer, split_reference
from langmem_tiers.settings_layers import load
from langmem_tiers.sync.front_matter import parse
from langmem_tiers.testing import ScriptedChatModel
from langmem_tiers.writing.enriching_reply import Ordered
from langmem_tiers.writing.mining_prompt import MinedWindow
from tests.import_samples import SAMPLES
from tests.life.fuzzing import ODD, ODD_TEXT, as_file, broken_bytes, broken_json, broken_text, in_time

TIMES = int(os.environ.get("LIFE_FUZZ", "12"))
SEED = int(os.environ.get("LIFE_SEED", "7"))
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def draw(request):
    """Choices that are the same in each run of a test."""
    return random.Random(f"{request.node.name} {SEED}")


@pytest.fixture
def full(memory, alice):
    """A memory with something of everything."""
    alice.track(
        [Turn(role="user", content="My sister Lena moved to Porto in May."), Turn(role="assistant", content="Nice.")]
    )
    alice.knowledge.save("The user prefers tea.", origin="user", tags=["tea"], category="preferences")
    alice.graph.add_relation("user", "has_sister", "Lena", valid_from="2020-05", valid_to="2024")
    alice.documents.write("MEMORY.md", "# Notes\n\nThe kettle is red.")
    alice.identity.write("Name: Alice")
    memory.flush()
    return alice


def of_json(file):
    """What a file of JSON says, None of any other."""
    try:
        return json.loads(file.read_bytes())
    except ValueError:
        return None


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.__name__)
def test_exports_of_other_programs(sample, memory, tmp_path, draw):
    place = tmp_path / "sample"
    place.mkdir()
    good, format = sample(place), SAMPLES[sample][0]
    for number in range(TIMES):
        made = tmp_path / f"broken{number}"
        shutil.copytree(place, made)
        files = sorted(each for each in made.rglob("*") if each.is_file())
        chosen = draw.choice(files)
        value = of_json(chosen)
        if value is not None and draw.random() < 0.7:
            as_file(chosen, broken_json(value, draw))
        else:
            chosen.write_bytes(broken_bytes(chosen.read_bytes(), draw))
        with in_time((sample.__name__, number)):
            memory.import_file(made / good.relative_to(place), format=draw.choice((format, None)), user="alice")
        shutil.rmtree(made)
    assert [each.message for each in memory.user("alice").doctor() if each.level == "problem"] == []


def test_conversations_in_lines(memory, tmp_path, draw):
    line = {"session": "a", "role": "user", "content": "I like tea.", "at": "2026-01-05T10:00:00+00:00"}
    for number in range(TIMES * 4):
        file = tmp_path / "chat.jsonl"
        lines = [json.dumps(broken_json(line, draw)) for _ in range(3)]
        file.write_bytes(
            broken_bytes("\n".join(lines).encode(), draw) if draw.random() < 0.5 else "\n".join(lines).encode()
        )
        with in_time(file.read_bytes()):
            memory.import_file(file, user=f"u{number % 3}")


def test_own_exports(full, memory, tmp_path, draw):
    file = tmp_path / "all.json"
    full.export(file)
    good = json.loads(file.read_text())
    for number in range(TIMES * 4):
        made = broken_json(good, draw)
        as_file(file, made) if draw.random() < 0.8 else file.write_bytes(broken_bytes(json.dumps(good).encode(), draw))
        with in_time(made):
            memory.import_file(file, user=f"u{number % 5}")
    for name in memory.spaces():
        assert [each.message for each in memory.space(name).doctor() if each.level == "problem"] == []


def test_graphs(full, memory, tmp_path, draw):
    file = full.graph.export(tmp_path / "graph.json")
    good = json.loads(file.read_text())
    bob = memory.user("bob")
    for _ in range(TIMES * 4):
        made = broken_json(good, draw)
        as_file(file, made)
        with in_time(made):
            bob.graph.import_(file)
    assert [each.message for each in bob.doctor() if each.level == "problem"] == []


def test_the_file_of_the_graph_itself(tmp_path, clock, draw):
    def opened():
        return Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock)

    with opened() as memory:
        memory.user("alice").graph.add_relation("user", "has_sister", "Lena", valid_from="2020-05")
        memory.user("alice").flush()
    (file,) = (tmp_path / "m").rglob("graph.json")
    good = file.read_bytes()
    for _ in range(TIMES):
        file.write_bytes(broken_bytes(good, draw))
        with in_time(good), warnings.catch_warnings(), opened() as memory:
            assert memory.user("alice").graph.entity("Lena") is not None


def test_files_of_a_synced_folder(full, tmp_path, draw):
    folder = tmp_path / "folder"
    full.sync(folder)
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    good = {each: each.read_bytes() for each in files}
    for _ in range(TIMES):
        chosen = draw.choice(files)
        made = broken_bytes(good[chosen], draw)
        chosen.parent.mkdir(parents=True, exist_ok=True)
        chosen.write_bytes(made)
        with in_time((chosen.name, made)):
            full.sync(folder)
    assert [each.message for each in full.doctor() if each.level == "problem"] == []


def test_front_matter(full, tmp_path, draw):
    full.sync(tmp_path / "folder")
    (file,) = (tmp_path / "folder" / "knowledge").rglob("*.md")
    good = file.read_text()
    for _ in range(TIMES * 50):
        made = broken_text(good, draw)
        with in_time(made):
            parse(made)


def test_settings_files(tmp_path, draw):
    good = (
        'format = 1\n[recall]\nlimit = 5\nfallbacks = ["global"]\n[recall.weights]\nwords = 0.5\n'
        "[dream]\nenabled = true\n"
        '[spaces."users/alice".recall]\nlimit = 3\n[agents.ops]\nenabled = false\n'
    )
    for _ in range(TIMES * 20):
        made = broken_text(good, draw)
        with in_time(made):
            load(tmp_path, text=made)


SAID = (
    "§W-042/R-11/D-007@users/bob",
    "3f2a9c01d4e5@teams/research",
    "What did I say to Lena last week, on 3 May 2024?",
    "between 2024-05 and yesterday evening",
    "in two weeks, on the 31st of February 9999",
    "the day before the day after",
    "My sister's wife @Lena moved from Porto to Bergen on Friday 13th; her e-bike cost 3,000.50 €.",
    "2024-W53-7T25:61Z",
    "since 10000 BC until 99999-01-01",
    "a fortnight ago at half past twenty-nine",
    "Q5 of the year 0",
)
TEXTS = {
    "pointers": lambda text: (find_pointers(text), split_reference(text), parse_pointer(text)),
    "tags": lambda text: (tags.tags(text, speaker="user", said_at=AT), tags.events(text), tags.items(text)),
    "dates": lambda text: (
        dates.times(text, date(2026, 3, 2)),
        dates.due(text, AT),
        questions.spans(text, date(2026, 3, 2)),
        [dates.moments(text, AT, ahead=each) for each in (True, False)],
    ),
    "periods": lambda text: periods.parse(text, now=AT),
    "spans of periods": lambda text: periods.span(text, now=AT),
    "asked periods": lambda text: questions.asked_period(text, now=AT),
    "asked conversations": lambda text: (
        questions.asked_conversations(text, date(2026, 3, 2)),
        questions.asked_about(text),
    ),
}


@pytest.mark.parametrize("reader", TEXTS)
def test_texts(reader, draw):
    for text in (*SAID, *ODD_TEXT, *(broken_text(draw.choice(SAID), draw) for _ in range(TIMES * 50))):
        with in_time(text):
            TEXTS[reader](text)


REPLY = {
    "facts": [
        {
            "content": "The user's sister moved.",
            "quotes": [{"turn": 1, "quote": "My sister"}],
            "category": "family",
            "tags": ["x"],
            "since": "2024-05",
            "modality": "fact",
        }
    ],
    "relations": [
        {"subject": "user", "predicate": "has_sister", "object": "Lena", "turn": 1, "quote": "My sister Lena"}
    ],
    "entities": [{"name": "Lena", "type": "person", "turn": 1, "quote": "Lena"}],
    "summary": "x",
    "topics": ["a"],
    "pairs": [{"first": 1, "second": 2, "same": True}],
    "abstract": "y",
    "facts_": [],
}


def told(draw):
    """What a model may say."""
    said = json.dumps(broken_json(REPLY, draw))
    return (
        broken_text(said, draw) if draw.random() < 0.5 else draw.choice(("", "```json\n", "<think>", "Sure: ")) + said
    )


@pytest.mark.parametrize(
    "schema", [MinedWindow, Ordered, ToldEpisode, PairsReply, PartialReply], ids=lambda each: each.__name__
)
def test_replies_of_models(schema, draw):
    for _ in range(TIMES * 10):
        reply = told(draw)
        with in_time(reply):
            replies.read(schema, reply)
            rerank_chat.read(reply[:3000], 5)


def test_a_memory_whose_model_says_anything(tmp_path, clock, draw):
    model = ScriptedChatModel(responses=[lambda _: told(draw)])
    with Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock, model=model) as memory:
        alice = memory.user("alice")
        for number in range(max(2, TIMES // 4)):
            alice.track(
                [Turn(role="user", content=f"My sister Lena moved to Porto number {number}.")], session=f"s{number}"
            )
            with in_time(number, 60):
                alice.end_session(f"s{number}")
                alice.mine()
                alice.flush()
                alice.dream()
        assert len(alice.drawers()) == max(2, TIMES // 4)
        assert [each.message for each in alice.doctor() if each.level == "problem"] == []


async def test_arguments_of_tools(full, draw):
    tools = {tool.name: tool for tool in space_tools(full)}
    names = (
        "content",
        "query",
        "id",
        "limit",
        "category",
        "tags",
        "path",
        "text",
        "key",
        "value",
        "name",
        "since",
        "subject",
    )
    for _ in range(TIMES * 8):
        tool = tools[draw.choice([*tools])]
        known = [*tool.tool_call_schema.model_json_schema().get("properties", {})]
        chosen = draw.sample(known, draw.randint(0, len(known))) + draw.sample(names, draw.randint(0, 1))
        arguments = {each: draw.choice((*ODD, *SAID)) for each in chosen}
        with in_time((tool.name, arguments)):
            answer = await tool.ainvoke({"type": "tool_call", "id": "1", "name": tool.name, "args": arguments})
            assert "Traceback" not in answer.text
    assert [each.message for each in full.doctor() if each.level == "problem"] == []


ASKED = {
    "recall": lambda alice, text: alice.recall(text, session="asking"),
    "search": lambda alice, text: alice.search(text),
    "knowledge": lambda alice, text: alice.knowledge.search(text),
    "documents": lambda alice, text: alice.documents.search(text),
    "archive": lambda alice, text: alice.archive.search(text),
    "working": lambda alice, text: alice.working.search(text),
    "forget": lambda alice, text: alice.forget(query=text),
    "graph": lambda alice, text: (alice.graph.resolve(text), alice.graph.entities(text=text)),
    "report": lambda alice, text: alice.report(text),
    "as of": lambda alice, text: alice.recall("Where is Lena?", as_of=text),
    "drawer": lambda alice, text: alice.drawer(text),
    "why": lambda alice, text: alice.why(of=text),
}


@pytest.mark.parametrize("door", ASKED)
def test_questions(door, full, draw):
    full.recall("Where is Lena?", session="first")
    for text in (*SAID, *ODD_TEXT, *(broken_text(draw.choice(SAID), draw) for _ in range(TIMES * 3))):
        with in_time(text):
            ASKED[door](full, text)
