"""Which sessions of a LongMemEval file can be added to the haystack of any question: the pool, and its order.

A session that any question names as evidence is never in the pool, nor one with a message marked as holding an answer,
nor one whose name begins with `answer_`. A session that several haystacks share is in it once, with the date that it
has in the first of them by question id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from langmem_tiers.bench.longmemeval import answering, session_names
from langmem_tiers.transfer import checks
from langmem_tiers.transfer.json_text import Malformed
from langmem_tiers.transfer.longmemeval import LongMemEvalQuestion, haystack, read_questions
from langmem_tiers.transfer.records import ImportedMessage, ImportedSession, LineProblem

_GIVES_AWAY = "answer_"
# Where a session stands in the file: question id, position of the question, place in its haystack.
_Where = tuple[str, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolSession:
    """A session of the pool: its place there, its name in the file, and how it is stored, which does not tell."""

    place: int
    name: str
    session: ImportedSession


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """The pool of a file: names in order, and where in the file each is read. `longest` is that of the haystacks."""

    order: tuple[str, ...]
    where: Mapping[str, _Where]
    longest: int


def survey(data: Path, seed: int) -> Survey:
    """The pool of a file, in an order that comes from names and seed alone.

    Raises:
        UnreadableFile: the file can not be read.
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


def read_pool(data: Path, found: Survey, most: int) -> Iterator[PoolSession]:
    """The first `most` sessions of the pool, as they come in the file."""
    wanted = {found.where[name]: (place, name) for place, name in enumerate(found.order[:most])}
    for entry, _, _ in _named(data):
        for session in _sessions(entry):
            here = (entry.question_id, entry.position, int(session.session))
            if here in wanted:
                place, name = wanted[here]
                yield PoolSession(place=place, name=name, session=_renamed(session, other_session(place)))


def other_session(place: int) -> str:
    """The name that a session of the pool is stored and logged under."""
    return f"other:{place}"


def _drawn(name: str, seed: int) -> bytes:
    # A hash and no generator: it is the same on every machine and in every version, whatever else is in the file.
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


def _named(data: Path) -> Iterator[tuple[LongMemEvalQuestion, tuple[str, ...], set[str]]]:
    """The questions that say which session is which, with names and evidence; the run reports the others."""
    for entry in read_questions(data):
        if isinstance(entry, LineProblem):
            continue
        try:
            names = session_names(entry)
            told = checks.sequence(entry.raw.get("answer_session_ids"), "'answer_session_ids'")
        except Malformed:
            continue
        yield entry, names, {str(name) for name in told} | {names[index] for index, _ in answering(entry)}


def _sessions(entry: LongMemEvalQuestion) -> Iterator[ImportedSession]:
    return (session for session in haystack(entry) if isinstance(session, ImportedSession))


def _renamed(session: ImportedSession, name: str) -> ImportedSession:
    messages = tuple(_message_of(message, name) for message in session.messages)
    return ImportedSession(session=name, messages=messages)


def _message_of(message: ImportedMessage, session: str) -> ImportedMessage:
    place = message.message_id.rpartition(":")[2]
    return replace(message, session=session, message_id=f"{session}:{place}")
