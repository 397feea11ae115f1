"""Secrets told through every door of a memory. Run as a script, it says where they are left.

    python tests/secret_doors.py POLICY

POLICY is that of `Settings.privacy.derived`. Printed, as JSON, are the secrets of which a piece stands in a file, a log
record, a span, a metric, a receipt, an answer or an error, with door and place; and how often each door refused one.
"""

import json
import logging
import string
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from secret_samples import made_up

from langmem_tiers import Memory, Settings, Space, Turn
from langmem_tiers.errors import MemoryTiersError
from langmem_tiers.integrations import TieredStore, space_tools
from langmem_tiers.integrations.tools import making
from langmem_tiers.settings import PrivacySettings
from langmem_tiers.testing import HashEmbedder

ALNUM, HEX, DIGITS = string.ascii_letters + string.digits, "0123456789abcdef", string.digits
# What stands first, and the signs behind it.
FORMATS = (
    *(("ghp_", 36, ALNUM), ("glpat-", 20, ALNUM), ("xoxb-1234567890-2345678901-", 24, ALNUM), ("sk_live_", 24, ALNUM)),
    *(("hf_", 34, string.ascii_letters), ("AKIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), ("AIza", 35, ALNUM)),
    *(("npm_", 36, ALNUM), ("hvs.", 95, ALNUM), ("dop_v1_", 64, HEX), ("lin_api_", 40, ALNUM), ("shpat_", 32, HEX)),
    *(("sq0atp-", 30, ALNUM), ("dapi", 32, HEX), ("pplx-", 48, ALNUM), ("glc_", 40, ALNUM), ("pul-", 40, HEX)),
    *(
        ("dp.pt.", 43, ALNUM),
        ("fo1_", 43, ALNUM),
        ("sntryu_", 64, HEX),
        ("sk-proj-", 60, ALNUM),
        ("sk-ant-api03-", 93, ALNUM),
    ),
    *(
        ("rubygems_", 48, HEX),
        ("rdme_", 70, HEX),
        ("pnu_", 36, ALNUM),
        ("SK", 32, HEX),
        ("API-", 26, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"),
    ),
)
SAID = ("my password is {}", "the api key is {}", "DB_PASSWORD={}")
PIECE = 12  # characters
Door = Callable[["Rooms", str], object]


class Rooms:
    """A memory with two users, and what the doors need."""

    def __init__(self, memory: Memory, folder: Path) -> None:
        self.memory, self.folder = memory, folder
        self.alice: Space = memory.user("alice")
        self.store = TieredStore(memory)
        self.tools = {tool.name: tool for tool in space_tools(self.alice, only=(*making._TOOLS,))}
        self.entry = self.alice.knowledge.save("Alice likes green tea.", origin="user").entry
        self.task = self.alice.tasks.start("Sort the letters")
        self.number = 0

    def file(self, name: str, value: object) -> Path:
        """A file outside of the memory that holds a value as JSON."""
        self.number += 1
        path = self.folder / f"{self.number}-{name}"
        path.write_text(json.dumps(value))
        return path


def tracked(role: str) -> Door:
    return lambda rooms, said: rooms.alice.track([Turn(role=role, content=said)], session="monday")


def saved(**about: Callable[[str], object]) -> Door:
    def run(rooms: Rooms, said: str) -> object:
        rooms.number += 1
        given = {"content": f"Alice has shelf {rooms.number}.", **{name: make(said) for name, make in about.items()}}
        return rooms.alice.knowledge.save(**given)

    return run


def of_tool(name: str, **about: str) -> Door:
    return lambda rooms, said: rooms.tools[name].invoke({key: value.format(said) for key, value in about.items()})


def imported(rooms: Rooms, said: str) -> object:
    path = rooms.file(
        "m.json", [{"id": f"m{rooms.number}", "memory": said, "user_id": "alice", "metadata": {"of": said}}]
    )
    return rooms.memory.import_file(path, format="mem0")


def imported_talk(rooms: Rooms, said: str) -> object:
    talk = {"uuid": f"c{rooms.number}", "name": said, "chat_messages": [{"uuid": "1", "sender": "human", "text": said}]}
    return rooms.memory.import_file(rooms.file("conversations.json", [talk]), format="claude", user="alice")


def put(rooms: Rooms, said: str) -> object:
    rooms.number += 1
    return rooms.store.put(("tiers", "alice", "knowledge"), f"k{rooms.number}", {"content": said})


DOORS: dict[str, Door] = {
    "track user": tracked("user"),
    "track assistant": tracked("assistant"),
    "track tool": tracked("tool"),
    "track speaker": lambda rooms, said: rooms.alice.track(
        [Turn(role="user", content="I have a boat.", speaker=f"Tom {said}")], session="monday"
    ),
    "save": saved(content=lambda said: f"Alice said: {said}"),
    "save tags": saved(tags=lambda said: [said]),
    "save category": saved(category=lambda said: said),
    "save metadata": saved(metadata=lambda said: {"note": said, "deep": {"list": [said]}}),
    "save name of metadata": saved(metadata=lambda said: {said: 1}),
    "save corrects": saved(corrects=lambda said: said),
    "update": lambda rooms, said: rooms.alice.knowledge.update(rooms.entry.id, content=said, origin="user"),
    "recall": lambda rooms, said: rooms.alice.recall(f"What is {said}?", session="monday", threshold=0),
    "search": lambda rooms, said: rooms.alice.search(said),
    "knowledge search": lambda rooms, said: rooms.alice.knowledge.search(said),
    "unknown entry": lambda rooms, said: rooms.alice.knowledge.update(said, content="Tea."),
    "unknown task": lambda rooms, said: rooms.alice.tasks.update(said, state="Done."),
    "unknown relation": lambda rooms, said: rooms.alice.graph.end_relation(said),
    "golden": lambda rooms, said: rooms.alice.golden.add(f"What is {said}?", expects=said),
    "signal": lambda rooms, said: rooms.alice.signals.record("wrong", note=said, text=said),
    "episode": lambda rooms, said: rooms.alice.archive.write("monday", summary=f"Spoke of {said}."),
    "document": lambda rooms, said: rooms.alice.documents.write("notes.md", f"# Notes\n\n{said}\n"),
    "document path": lambda rooms, said: rooms.alice.documents.write(f"{said}.md", "# Notes\n"),
    "identity": lambda rooms, said: rooms.alice.identity.add(said, section="Notes"),
    "identity section": lambda rooms, said: rooms.alice.identity.add("Tea.", section=said),
    "identity preview": lambda rooms, said: rooms.alice.identity.preview(f"# Notes\n\n{said}\n"),
    "working memory": lambda rooms, said: rooms.alice.working.of("session", "monday").save("inbox", said),
    "working memory tags": lambda rooms, said: rooms.alice.working.of("session", "monday").save("a", "b", tags=[said]),
    "working memory key": lambda rooms, said: rooms.alice.working.of("session", "monday").save(said, "b"),
    "task": lambda rooms, said: rooms.alice.tasks.start(said, state=said),
    "task id": lambda rooms, said: rooms.alice.tasks.start("Sort", id=said),
    "task state": lambda rooms, said: rooms.alice.tasks.update(rooms.task.id, state=said),
    "entity": lambda rooms, said: rooms.alice.graph.add_entity(said, type="thing"),
    "entity type": lambda rooms, said: rooms.alice.graph.add_entity("Bicycle", type=said),
    "relation": lambda rooms, said: rooms.alice.graph.add_relation("user", "has code", value=said),
    "relation subject": lambda rooms, said: rooms.alice.graph.add_relation(said, "lives in", "Lisbon"),
    "relation predicate": lambda rooms, said: rooms.alice.graph.add_relation("user", said, "Lisbon"),
    "import": imported,
    "import of a conversation": imported_talk,
    "store tier": put,
    "store search": lambda rooms, said: rooms.store.search(("tiers", "alice"), query=said),
    "tool save": of_tool("save_memory", content="Alice said: {}", tags=""),
    "tool save as words": of_tool("save_memory", content="{}"),
    "tool category": of_tool("save_memory", content="Alice has a boat.", category="{}"),
    "tool write": of_tool("memory_write", action="add", layer="L0", content="{}"),
    "tool search": of_tool("search_memory", query="{}"),
    "tool history": of_tool("search_history", query="{}"),
    "tool get": of_tool("get_memory", id_or_pointer="{}"),
    "tool delete": of_tool("delete_memory", id="{}"),
    "tool note": of_tool("write_note", path="memory/a.md", text="{}"),
    "tool working": of_tool("save_to_working_memory", key="inbox", data="{}"),
    "tool task": of_tool("start_task", title="{}", state="{}"),
    "tool relation": of_tool("add_relation", subject="{}", predicate="owns", object="Boat"),
    "tool feedback": of_tool("record_feedback", kind="wrong", quote="{}", note="{}"),
}


class Listener(logging.Handler):
    """Keeps what is logged, as it would be printed, with the fields for programs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{logging.Formatter().format(record)} {record.__dict__}")


class Told(NamedTuple):
    """A secret, how it is said, and the pieces by which it is known: both ends of what is made up in it."""

    secret: str
    text: str
    pieces: tuple[str, ...]


def secrets_of(door: int) -> list[Told]:
    """Secrets of a door, no two alike."""
    bodies = [(start, made_up(length, signs, door)) for start, length, signs in FORMATS]
    keys = [Told(start + body, start + body, (body[:PIECE], body[-PIECE:])) for start, body in bodies]
    words = [(made_up(20, ALNUM, 1_000 * place + door), each) for place, each in enumerate(SAID, 1)]
    return keys + [Told(word, text.format(word), (word[:PIECE], word[-PIECE:])) for word, text in words]


@contextmanager
def listening() -> Iterator[Callable[[], dict[str, str]]]:
    """What is logged, traced and measured from now on, by what it is."""
    listener, exporter, reader = Listener(), InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    logging.getLogger().setLevel(logging.DEBUG)
    logging.getLogger().addHandler(listener)
    yield lambda: {
        "logs": "\n".join(listener.lines),
        "spans": "\n".join(span.to_json() for span in exporter.get_finished_spans()),
        "metrics": reader.get_metrics_data().to_json(),
    }


def told(run: Callable[[], object]) -> tuple[str, str]:
    """Whether a door took it, and what it answered or raised."""
    try:
        return "taken", repr(run())
    except MemoryTiersError as error:
        return "refused", f"{error} {error.__dict__} " + "".join(traceback.format_exception_only(error))


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its name: what is UTF-16 in it is found without the zeros."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def main(policy: str) -> None:
    """Print the leaks, and how each door answered."""
    folder = Path(tempfile.mkdtemp())
    wanted = {door: secrets_of(place) for place, door in enumerate(DOORS)}
    answers: dict[str, list[tuple[str, str]]] = {}
    settings = Settings(privacy=PrivacySettings(derived=policy))
    with (
        listening() as heard,
        Memory.open(folder / "memory", embedder=HashEmbedder(), background=False, settings=settings) as memory,
    ):
        rooms = Rooms(memory, folder)
        for door, run in DOORS.items():
            answers[door] = [told(lambda run=run, each=each: run(rooms, each.text)) for each in wanted[door]]
        answers["afterwards"] = [told(run) for run in (rooms.alice.mine, memory.flush, memory.dream, memory.flush)]
        rooms.alice.export(folder / "export.json")
        places = {**heard(), "receipts": repr(rooms.alice.receipts(limit=10_000)), "last": str(answers["afterwards"])}
    held = {**files(folder / "memory"), **{name: text.encode() for name, text in places.items()}}
    held["export"] = (folder / "export.json").read_bytes()
    searched = {name: data.lower() + data.replace(b"\0", b"").lower() for name, data in held.items()}
    leaks = [
        [door, name, each.secret]
        for door, secrets in wanted.items()
        for number, each in enumerate(secrets)
        for name, data in {**searched, "answer": answers[door][number][1].lower().encode()}.items()
        if any(piece.lower().encode() in data for piece in each.pieces)
    ]
    refused = {door: sum(how == "refused" for how, _ in each) for door, each in answers.items()}
    print(json.dumps({"secrets": sum(map(len, wanted.values())), "leaks": leaks, "refused": refused}))


if __name__ == "__main__":
    main(*sys.argv[1:])
