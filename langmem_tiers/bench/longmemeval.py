"""LongMemEval as a retrieval benchmark: every question over its own haystack, as of the end of the day it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from langmem_tiers.bench.questions import Case, Cases, Gold, Golds, Question
from langmem_tiers.transfer import checks
from langmem_tiers.transfer.json_text import Malformed
from langmem_tiers.transfer.longmemeval import LongMemEvalQuestion, haystack, longmemeval_time, read_questions
from langmem_tiers.transfer.records import ImportedSession, LineProblem


def longmemeval_cases(path: Path) -> Cases:
    """One case for each question."""
    for entry in read_questions(path):
        if isinstance(entry, LineProblem):
            yield entry
            continue
        try:
            yield _case(entry)
        except Malformed as error:
            yield LineProblem(line=entry.position, reason=str(error))


def longmemeval_gold(path: Path) -> Golds:
    """The gold of every question; those ending in `_abs` have no answer and are marked."""
    for entry in read_questions(path):
        if isinstance(entry, LineProblem):
            yield entry
            continue
        try:
            yield _gold(entry)
        except Malformed as error:
            yield LineProblem(line=entry.position, reason=str(error))


def end_of_day(moment: datetime) -> datetime:
    """The last millisecond of the day: many haystacks hold sessions a few hours later than their question."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1, milliseconds=-1)


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
        turns=frozenset(_answering(entry)),
        abstention=_abstains(entry),
    )


def _answering(entry: LongMemEvalQuestion) -> Iterator[str]:
    for index, session in enumerate(entry.sessions):
        for place, turn in enumerate(session if isinstance(session, list) else ()):
            if isinstance(turn, Mapping) and turn.get("has_answer") is True:
                yield f"{index}:{place}"


def _abstains(entry: LongMemEvalQuestion) -> bool:
    return entry.question_id.endswith("_abs")
