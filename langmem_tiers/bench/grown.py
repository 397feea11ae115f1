"""Haystacks grown by sessions of the same file that are evidence for no question."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from filelock import FileLock

from langmem_tiers.bench.asking import Plan, ask, finish, through_track_node, verbatim
from langmem_tiers.bench.datasets import Case, answering, require_set, session_names, set_questions
from langmem_tiers.bench.scoring import RetrievalAnswer, Session
from langmem_tiers.bench.workers import Progress, unwatched
from langmem_tiers.errors import InvalidInput
from langmem_tiers.settings import Settings
from langmem_tiers.transfer import import_conversations
from langmem_tiers.transfer.files import Malformed
from langmem_tiers.transfer.formats import LongMemEvalQuestion, haystack
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.records import ImportedMessage, ImportedSession, LineProblem
from langmem_tiers.version import __version__

if TYPE_CHECKING:
    from langmem_tiers.models.embedder import Embedder
    from langmem_tiers.space import Space


_GIVES_AWAY = "answer_"
# Where a session stands in the file: question id, position of the question, place in its haystack.
_Where = tuple[str, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """The pool of a file: names in order, and where each is. `longest` is the size of the longest haystack."""

    order: tuple[str, ...]
    where: Mapping[str, _Where]
    longest: int


def survey(data: Path, seed: int) -> Survey:
    """The pool of a file, in an order that comes from names and seed alone.

    Raises:
        UnreadableFile: the file cannot be read.
    """
    where: dict[str, _Where] = {}
    evidence: set[str] = set()
    longest = 0
    for entry, names, answers in _named(data):
        evidence |= answers
        longest = max(longest, len(names))
        for session in _sessions(entry):
            name = names[int(session.session)]
            here = (entry.question_id, entry.position, int(session.session))
            where[name] = min(where.get(name, here), here)
    pool = {name for name in where if name not in evidence and not name.startswith(_GIVES_AWAY)}
    order = sorted(pool, key=lambda name: (_drawn(name, seed), name))
    return Survey(order=tuple(order), where={name: where[name] for name in order}, longest=longest)


def other_session(place: int) -> str:
    """The name that a session of the pool is stored and logged under."""
    return f"other:{place}"


def _drawn(name: str, seed: int) -> bytes:
    # A hash and no generator: it is the same on every machine and in every version, whatever else is in the file.
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


def _named(data: Path) -> Iterator[tuple[LongMemEvalQuestion, tuple[str, ...], set[str]]]:
    """The questions that say which session is which, with names and evidence; the run reports the others."""
    for entry in set_questions(data):
        if isinstance(entry, LineProblem):
            continue
        try:
            names = session_names(entry)
            told = values.sequence(entry.raw.get("answer_session_ids"), "'answer_session_ids'")
        except Malformed:
            continue
        yield entry, names, {str(name) for name in told} | {names[index] for index, _ in answering(entry)}


def _sessions(entry: LongMemEvalQuestion) -> Iterator[ImportedSession]:
    return (session for session in haystack(entry) if isinstance(session, ImportedSession))


_SCHEMA = """
CREATE TABLE sessions (
    place    INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,  -- the file's own: to tell what a haystack has already, never copied to a memory
    messages TEXT NOT NULL          -- JSON: message id, role, content, time
)
"""


class Pool:
    """The sessions of a base, and those that may take the place of some; `_write_pool` writes them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def sessions(self, start: int, stop: int | None = None) -> Iterator[ImportedSession]:
        """The sessions at the places from `start` up to, but not including, `stop`."""
        query = "SELECT place, messages FROM sessions WHERE place >= ? AND (? IS NULL OR place < ?) ORDER BY place"
        with closing(sqlite3.connect(self._path)) as connection:
            for place, messages in connection.execute(query, (start, stop, stop)):
                yield _session(other_session(place), messages)

    def places(self, names: Collection[str]) -> dict[str, int]:
        """The places of sessions by their names in the file; those that are not in the pool are left out."""
        query = "SELECT name, place FROM sessions WHERE name IN (SELECT value FROM json_each(?))"
        with closing(sqlite3.connect(self._path)) as connection:
            return dict(connection.execute(query, [json.dumps(list(names))]))


def _session(name: str, written: str) -> ImportedSession:
    messages = tuple(
        ImportedMessage(
            session=name,
            role=role,
            content=content,
            at=at and datetime.fromisoformat(at),
            speaker=None,
            message_id=message_id,
        )
        for message_id, role, content, at in json.loads(written)
    )
    return ImportedSession(session=name, messages=messages)


# Copies go on with the space of the base, so it has one name for all questions.
SPACE = "longmemeval/grown"
_MEMORY, _POOL, _DESCRIPTION = "memory", "pool.db", "base.json"
# Sessions between two flushes: filed and projected in portions, as it is while people talk.
_PORTION = 32
# What does not change what is stored: one base serves all values of these.
_ASIDE: Mapping[str, bool | set[str]] = {
    "recall": True,
    "window": True,
    "storage": {"exact_below", "chroma_above", "synchronous", "busy_timeout", "memory_mb", "receipts_kept"},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """What to grow haystacks by: `others` more sessions of the file `data`, drawn by `seed`."""

    data: Path
    others: int
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """A finished base. `others` is the number of sessions asked for, `pool` the number the file has to offer."""

    folder: Path
    others: int
    pool: int

    @property
    def memory(self) -> Path:
        """The memory folder. Open copies of it only."""
        return self.folder / _MEMORY

    @property
    def sessions(self) -> Pool:
        """The sessions in the memory, followed by spare ones that replace those a haystack has itself."""
        return Pool(self.folder / _POOL)


def base_for(
    growth: Growth,
    *,
    work: Path,
    settings: Settings,
    embedder: Embedder | None,
    on_progress: Progress | None = None,
) -> Base:
    """The base for a growth in the folder `work`; it is built if it does not exist.

    While it is built, `on_progress` is called with the number of sessions stored and the total.

    Raises:
        InvalidInput: fewer than one session is asked for, or the file has none to add.
        UnreadableFile: the file cannot be read.
        StorageError: a session could not be stored whole.
    """
    if growth.others < 1:
        raise InvalidInput(f"A haystack cannot be grown by {growth.others} sessions.", way_out="Say 1 or more.")
    require_set(growth.data, "longmemeval")
    made_from = _made_from(growth, settings, None if embedder is None else embedder.name)
    folder = work / "grown" / hashlib.sha256(made_from.encode()).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not (folder / _DESCRIPTION).exists():
            building = folder.with_name(f"{folder.name}.building")
            shutil.rmtree(building, ignore_errors=True)
            pool = _write_pool(building, growth)
            _fill(building, min(growth.others, pool), settings, embedder, on_progress or unwatched)
            (building / _DESCRIPTION).write_text(json.dumps({"pool": pool, **json.loads(made_from)}, indent=2) + "\n")
            building.rename(folder)
    pool = json.loads((folder / _DESCRIPTION).read_text())["pool"]
    return Base(folder=folder, others=growth.others, pool=pool)


def hasty(settings: Settings) -> Settings:
    """The same settings without waiting for the disk: after a power loss, bases and copies are simply rebuilt."""
    hasty = settings.storage.model_copy(update={"synchronous": "NORMAL"})
    return verbatim(settings.model_copy(update={"storage": hasty}))


def _made_from(growth: Growth, settings: Settings, model: str | None) -> str:
    """Everything that a base depends on, as JSON."""
    with growth.data.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    told = {
        "version": __version__,
        "data": {"name": growth.data.name, "bytes": growth.data.stat().st_size, "sha256": digest},
        "others": growth.others,
        "seed": growth.seed,
        "model": model,
        "settings": settings.model_dump(mode="json", exclude=_ASIDE),
    }
    return json.dumps(told, sort_keys=True)


def _write_pool(building: Path, growth: Growth) -> int:
    """Write the sessions needed to disk, and return the size of the whole pool."""
    found = survey(growth.data, growth.seed)
    if not found.order:
        raise InvalidInput(
            f"{growth.data} has no sessions to grow haystacks by.",
            way_out="Name a file with 'haystack_session_ids', and sessions that are evidence for no question.",
        )
    building.mkdir()
    # A haystack replaces what it has itself: that many more are needed at most.
    rows = _pool_rows(growth.data, found, growth.others + found.longest)
    with closing(sqlite3.connect(building / _POOL)) as connection, connection:
        connection.execute(_SCHEMA)
        connection.executemany("INSERT INTO sessions VALUES (?, ?, ?)", rows)
    return len(found.order)


def _pool_rows(data: Path, found: Survey, most: int) -> Iterator[tuple[int, str, str]]:
    """The first `most` sessions of the pool in the order of the file, renamed so that nothing gives them away."""
    wanted = {found.where[name]: (place, name) for place, name in enumerate(found.order[:most])}
    for entry, _, _ in _named(data):
        for session in _sessions(entry):
            here = (entry.question_id, entry.position, int(session.session))
            if here in wanted:
                place, name = wanted[here]
                messages = [
                    (f"{other_session(place)}:{m.message_id.rpartition(':')[2]}", m.role, m.content, m.at)
                    for m in session.messages
                ]
                yield place, name, json.dumps(messages, default=datetime.isoformat)


def _fill(building: Path, total: int, settings: Settings, embedder: Embedder | None, progress: Progress) -> None:
    from langmem_tiers.memory import Memory

    waiting = Pool(building / _POOL).sessions(0, total)
    done = rejected = 0
    progress(done, total)
    choices = hasty(settings)
    with Memory.open(building / _MEMORY, embedder=embedder, settings=choices, background=False) as memory:
        track, space = through_track_node(memory), memory.space(SPACE)
        while portion := list(islice(waiting, _PORTION)):
            report = import_conversations(portion, track=track, space=SPACE)
            space.flush()
            done, rejected = done + len(portion), rejected + len(report.rejected)
            progress(done, total)
        finish(space, rejected)


# Asked before the clock runs. The first recall of a large memory that was just opened reads all its vectors, the second
# opens Chroma's index: an agent's memory has both behind it.
_WARMING = "Which subjects were talked about?"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grown:
    """A haystack combined with a base.

    `shared` has the base's sessions that are the haystack's own, with their places there; `added` are the sessions to
    store in the copy; `others` counts those that are not the haystack's own when that is done.
    """

    shared: Mapping[str, str]
    added: tuple[ImportedSession, ...]
    others: int

    def number(self, session: str) -> Session:
        """The name of a stored session in the log: its place in the haystack, or `other:…` for an added one."""
        own = self.shared.get(session, session)
        return int(own) if own.isdecimal() else own

    def turn(self, session: str, message_id: str | None) -> str | None:
        """The name of a stored message in the log; messages of added sessions never get the name of an own one."""
        own = self.shared.get(session)
        return message_id if own is None or message_id is None else f"{own}:{message_id.rpartition(':')[2]}"


def grown(case: Case, base: Base) -> Grown:
    """How to combine the haystack of a case with a base."""
    places = base.sessions.places(case.names)
    shared: dict[str, str] = {}
    for index, name in enumerate(case.names):
        if name in places and places[name] < base.others:
            # Where a haystack has a session twice, the base stands for the first of the two.
            shared.setdefault(other_session(places[name]), str(index))
    own = {other_session(place) for place in places.values()}
    more = (session for session in base.sessions.sessions(base.others) if session.session not in own)
    instead = tuple(islice(more, len(shared)))
    missing = tuple(session for session in case.sessions if session.session not in shared.values())
    others = min(base.others, base.pool) - len(shared) + len(instead)
    return Grown(shared=shared, added=(*instead, *missing), others=others)


def ask_grown(case: Case, plan: Plan, base: Base, embedder: Embedder | None) -> Iterator[RetrievalAnswer]:
    """The answers to the questions of a case over its haystack and the sessions that the base adds.

    Raises:
        StorageError: a session could not be stored whole.
    """
    from langmem_tiers.memory import Memory

    together = grown(case, base)
    settings = hasty(plan.settings)
    with TemporaryDirectory(prefix="memory-", dir=plan.work) as folder:
        copied = shutil.copytree(base.memory, Path(folder) / "memory")
        with Memory.open(copied, embedder=embedder, settings=settings, background=False) as memory:
            report = import_conversations(together.added, track=through_track_node(memory), space=SPACE)
            space = memory.space(SPACE)
            finish(space, len(report.rejected))
            for _ in range(2):
                space.recall(_WARMING, keep_receipt=False)
            for question in case.questions:
                answer = ask(space, question, {}, together.number)
                turns = tuple(_turn(space, number, together) for number in answer.drawers)
                yield replace(answer, turns=turns, others=together.others)


def _turn(space: Space, number: int, together: Grown) -> str | None:
    drawer = space.drawer(number)
    return None if drawer is None else together.turn(drawer.session, drawer.message_id)
