"""Hostile texts and ids through the front doors, at DEBUG: no record is forged, none has a secret or an escape."""

import logging
import re

import pytest
from langchain_core.messages import HumanMessage
from secret_doors import DOORS, Rooms

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import EmbeddingUnavailable, MemoryTiersError
from langmem_tiers.integrations import recall_runnable
from langmem_tiers.telemetry.logs import say
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests.graphing import chat_graph, run
from tests.test_terminal import OBEYED

KEY = "ghp_Zq3vK8xT1mWc7RyB2nLd9HsJ4pQfA6eUgXoV"
FORGED = "ERROR langmem_tiers.memory dream_failed space=0"
HOSTILE = (
    f"a\n{FORGED}\r\n\x1b[31m\x1b]8;;https://evil.example\x07x\x1b]8;;\x07\u202egnp\u2066\u200b\x9b2J\u2028{FORGED}"
)
TEXT = f"{HOSTILE} and my key is {KEY}"
LINE = re.compile(r"(?:DEBUG|INFO|WARNING|ERROR) langmem_tiers[\w.]* [a-z_]+(?: \w+=.*)?|  .*")


class Printed(logging.Handler):
    """What a program that prints log records would print."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
        self.text = ""
        self.values = []

    def emit(self, record):
        self.text += self.format(record) + "\n"
        self.values += [value for value in vars(record).values() if isinstance(value, str)]

    def events(self):
        return {line.split()[2] for line in self.text.splitlines() if not line.startswith("  ")}


@pytest.fixture
def printed():
    """Everything that this package logs."""
    logger, handler = logging.getLogger("langmem_tiers"), Printed()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


def require_harmless(printed):
    """Check that each printed line is one of ours, and that no line or field of a record is hostile."""
    odd = [line for line in printed.text.split("\n")[:-1] if not LINE.fullmatch(line) or line.startswith(FORGED)]
    assert odd == []
    for text in (printed.text, *printed.values):
        assert OBEYED.search(text) is None
        assert KEY[4:16] not in text
        assert KEY[-12:] not in text


class Broken(HashEmbedder):
    """An embedder whose errors repeat what nobody should print."""

    def embed_documents(self, texts):
        raise ValueError(TEXT)

    def embed_query(self, text):
        raise EmbeddingUnavailable(TEXT)


def broken(*_):
    raise RuntimeError(TEXT)


def test_no_field_forges_a_record_or_another_field(printed):
    log = logging.getLogger("langmem_tiers.test")
    say(log, logging.ERROR, "x", message_id=f"{TEXT} reason=none", reason=ValueError(TEXT), trace=ValueError(TEXT))
    require_harmless(printed)
    assert printed.text.startswith(f'ERROR langmem_tiers.test x message_id="a\\\\n{FORGED}\\\\r')
    assert "\n  ValueError: a\n" in printed.text
    assert "\n  langmem_tiers" not in printed.text


def test_what_is_said_at_any_door_is_in_no_record_and_harmless_in_its_error(tmp_path, printed):
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False) as memory:
        rooms, answers = Rooms(memory, tmp_path), {}
        for door, go in DOORS.items():
            try:
                go(rooms, TEXT)
            except MemoryTiersError as error:
                answers[door] = str(error)
        rooms.alice.mine()
        memory.flush()
        rooms.alice.dream()
    assert answers.keys() >= {"save tags", "unknown entry", "document path", "working memory key", "relation subject"}
    assert [door for door, said in answers.items() if OBEYED.search(said) or KEY[4:16] in said] == []
    require_harmless(printed)
    assert FORGED not in printed.text
    assert printed.events() >= {"tracked", "recalled", "mined", "dreamt"}


def test_what_goes_wrong_around_hostile_ids_and_errors_is_told_harmlessly(tmp_path, printed):
    model = ScriptedChatModel(responses=[broken] * 40)
    with Memory.open(tmp_path / "memory", embedder=Broken(), background=False, model=model) as memory:
        memory.on_activity(broken)
        graph = chat_graph(memory)
        odd = HumanMessage("x" * 1_000_001, id=TEXT, additional_kwargs={"timestamp": TEXT})
        graph.invoke({"messages": [odd]}, run(thread=TEXT))
        graph.invoke({"messages": [HumanMessage("I like tea.", id=TEXT, name=TEXT)]}, run(thread=TEXT))
        graph.invoke({"messages": [HumanMessage("Me too.")]}, run(user=TEXT))
        chat_graph(memory, space=broken).invoke({"messages": [HumanMessage("And I.")]}, run())
        recall_runnable(memory).invoke({TEXT: "What tea do I like?", "other": "x"}, run())
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=f"I like {TEXT}.", message_id=TEXT)], session=TEXT)
        alice.end_session(TEXT)
        alice.mine()
        memory.flush()
        alice.dream()
        alice.forget(messages=TEXT, confirm=True)
    require_harmless(printed)
    assert printed.events() >= {
        *("timestamp_ignored", "turn_rejected", "memory_node_failed", "activity_listener_failed"),
        *("embedding_unavailable", "model_unavailable", "key_guessed"),
    }
