"""Reading LongMemEval: questions, each with its own haystack of dated sessions; a JSON list or JSONL, plain or gzipped.

Format: https://github.com/xiaowu0162/LongMemEval. Sessions are named by their place in the haystack, counted from 0:
the official ids begin with `answer_` where the answer is, and would give it away. Dates are taken as UTC; messages
of a session follow each other by a second, which keeps their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from langmem_tiers.transfer import checks
from langmem_tiers.transfer.entries import entries
from langmem_tiers.transfer.json_text import Malformed
from langmem_tiers.transfer.records import Entry, ImportedMessage, ImportedSession, LineProblem

EXPECTED = "LongMemEval JSON or JSONL"
_DATE = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)(?: \([a-z]+\))?(?: (\d\d?):(\d\d))?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class LongMemEvalQuestion:
    """One question with its haystack, still in the words of the file.

    `position` is its line, or its place in the list counted from 1. `raw` holds the fields not needed for an import.
    """

    position: int
    question_id: str
    sessions: tuple[object, ...]
    dates: tuple[object, ...]
    raw: Mapping[str, object]


def read_longmemeval(path: Path) -> Iterator[Entry]:
    """The sessions and the problems of all questions, in order.

    Raises:
        UnreadableFile: the file can not be read, or is no LongMemEval file.
    """
    for question in read_questions(path):
        if isinstance(question, LineProblem):
            yield question
        else:
            yield from haystack(question)


def read_questions(path: Path) -> Iterator[LongMemEvalQuestion | LineProblem]:
    """The questions of a LongMemEval file, read one at a time.

    Raises:
        UnreadableFile: the file can not be read, or is neither a JSON list nor JSONL.
    """
    for position, element in entries(path, EXPECTED):
        yield element if isinstance(element, LineProblem) else _question(position, element)


def haystack(question: LongMemEvalQuestion) -> Iterator[Entry]:
    """The sessions of one question in the order of the file (often not that of their dates), and the problems met."""
    for index, turns in enumerate(question.sessions):
        yield from _session(question, index, turns)


def longmemeval_time(told: str) -> datetime:
    """The moment of a date such as '2023/05/20 (Sat) 04:48', taken as UTC.

    Raises:
        Malformed: it is no such date.
    """
    found = _DATE.fullmatch(told.strip())
    if found is None:
        raise Malformed(f"the date {told[:40]!r} is not like '2023/05/20 (Sat) 04:48'")
    year, month, day, hour, minute = (int(part or 0) for part in found.groups())
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError as error:
        raise Malformed(f"the date {told[:40]!r} does not exist") from error


def _question(position: int, element: object) -> LongMemEvalQuestion | LineProblem:
    try:
        entry = checks.mapping(element, "the question")
        sessions = checks.sequence(entry.get("haystack_sessions"), "'haystack_sessions'")
        dates = checks.sequence(entry.get("haystack_dates"), "'haystack_dates'")
        _require_equal(len(sessions), len(dates))
        return LongMemEvalQuestion(
            position=position,
            question_id=checks.text(entry, "question_id"),
            sessions=tuple(sessions),
            dates=tuple(dates),
            raw=entry,
        )
    except Malformed as error:
        return LineProblem(line=position, reason=str(error))


def _require_equal(sessions: int, dates: int) -> None:
    if sessions != dates:
        raise Malformed(f"{sessions} haystack_sessions, but {dates} haystack_dates")


def _session(question: LongMemEvalQuestion, index: int, turns: object) -> Iterator[Entry]:
    messages: list[ImportedMessage] = []
    where = f"{question.question_id}, session {index}"
    try:
        opened = longmemeval_time(checks.text({"date": question.dates[index]}, "date"))
        for place, turn in enumerate(checks.sequence(turns, "the session")):
            try:
                at = opened + timedelta(seconds=place)
                messages.append(_message(index, place, checks.mapping(turn, "the turn"), at))
            except Malformed as error:
                yield LineProblem(line=question.position, reason=f"{where}, turn {place}: {error}")
    except Malformed as error:
        yield LineProblem(line=question.position, reason=f"{where}: {error}")
    if messages:
        yield ImportedSession(session=str(index), messages=tuple(messages), conversation=question.question_id)


def _message(index: int, place: int, turn: Mapping[str, object], at: datetime) -> ImportedMessage:
    return ImportedMessage(
        session=str(index),
        role=checks.role(turn),
        content=checks.text(turn, "content"),
        at=at,
        speaker=None,
        message_id=f"{index}:{place}",
    )
