"""LongMemEval as a retrieval benchmark: every question over its own haystack, as of the end of the day it is asked.

In a grown haystack, nothing is cut off by date: about 3 of 10 sessions that come from other haystacks are dated later
than the question, and all of them are to compete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from langmem_tiers.bench.questions import Case, Cases, Gold, Golds, Question
from langmem_tiers.transfer import checks
from langmem_tiers.transfer.json_text import Malformed
from langmem_tiers.transfer.longmemeval import LongMemEvalQuestion, haystack, longmemeval_time, read_questions
from langmem_tiers.transfer.records import ImportedSession, LineProblem

_Made = TypeVar("_Made", Case, Gold)


def longmemeval_cases(path: Path) -> Cases:
    """One case for each question."""
    return _read(path, _case)


def longmemeval_grown_cases(path: Path) -> Cases:
    """One case for each question, to be asked over more than its own haystack: with names, and with no last day."""
    return _read(path, _grown_case)


def longmemeval_gold(path: Path) -> Golds:
    """The gold of every question; those ending in `_abs` have no answer and are marked."""
    return _read(path, _gold)


def end_of_day(moment: datetime) -> datetime:
    """The last millisecond of the day: many haystacks hold sessions a few hours later than their question."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1, milliseconds=-1)


def session_names(entry: LongMemEvalQuestion) -> tuple[str, ...]:
    """The file's own names of the sessions, by place; one that begins with `answer_` gives the answer away.

    Raises:
        Malformed: not every session has one.
    """
    named = checks.sequence(entry.raw.get("haystack_session_ids"), "'haystack_session_ids'")
    if len(named) != len(entry.sessions):
        raise Malformed(f"{len(entry.sessions)} haystack_sessions, but {len(named)} haystack_session_ids")
    return tuple(checks.text({"session id": name}, "session id") for name in named)


def answering(entry: LongMemEvalQuestion) -> Iterator[tuple[int, int]]:
    """The messages that are marked as holding the answer: places of the session and in it."""
    for index, session in enumerate(entry.sessions):
        for place, turn in enumerate(session if isinstance(session, list) else ()):
            if isinstance(turn, Mapping) and turn.get("has_answer") is True:
                yield index, place


def _read(path: Path, made: Callable[[LongMemEvalQuestion], _Made]) -> Iterator[_Made | LineProblem]:
    for entry in read_questions(path):
        if isinstance(entry, LineProblem):
            yield entry
            continue
        try:
            yield made(entry)
        except Malformed as error:
            yield LineProblem(line=entry.position, reason=str(error))


def _grown_case(entry: LongMemEvalQuestion) -> Case:
    case = _case(entry)
    questions = tuple(replace(question, until=None) for question in case.questions)
    return replace(case, questions=questions, names=session_names(entry))


def _case(entry: LongMemEvalQuestion) -> Case:
    read = list(haystack(entry))
    return Case(
        conversation=entry.question_id,
        space=f"longmemeval/{entry.question_id}",
        sessions=tuple(one for one in read if isinstance(one, ImportedSession)),
        questions=(_question(entry),),
        problems=tuple(one for one in read if isinstance(one, LineProblem)),
    )


def _question(entry: LongMemEvalQuestion) -> Question:
    asked_at = longmemeval_time(checks.text(entry.raw, "question_date"))
    return Question(
        question_id=entry.question_id,
        question_type=checks.text(entry.raw, "question_type"),
        text=checks.text(entry.raw, "question"),
        asked_at=asked_at,
        until=end_of_day(asked_at),
        abstention=_abstains(entry),
    )


def _gold(entry: LongMemEvalQuestion) -> Gold:
    named = checks.sequence(entry.raw.get("haystack_session_ids"), "'haystack_session_ids'")
    answers = checks.sequence(entry.raw.get("answer_session_ids"), "'answer_session_ids'")
    return Gold(
        question_id=entry.question_id,
        question_type=checks.text(entry.raw, "question_type"),
        sessions=frozenset(index for index, name in enumerate(named) if name in answers),
        turns=frozenset(f"{index}:{place}" for index, place in answering(entry)),
        abstention=_abstains(entry),
    )


def _abstains(entry: LongMemEvalQuestion) -> bool:
    return entry.question_id.endswith("_abs")
