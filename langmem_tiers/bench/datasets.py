"""The data sets: questions with the evidence they need, out of the official files of LoCoMo and LongMemEval."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, TypeVar

from langmem_tiers.errors import InvalidInput
from langmem_tiers.transfer.files import Malformed
from langmem_tiers.transfer.formats import (
    LocomoSample,
    LongMemEvalQuestion,
    haystack,
    longmemeval_time,
    read_questions,
    read_samples,
    require_format,
    sample_sessions,
)
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.records import ImportedSession, LineProblem


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question. `asked_at` is its moment; nothing said after `until` may be recalled for it."""

    question_id: str
    question_type: str
    text: str
    asked_at: datetime | None
    until: datetime | None = None
    abstention: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A conversation, the name of the space it goes to, and the questions about it.

    `names` are the set's own names of its sessions, by place: they tell which session two cases share, and are never
    stored, since they may give the answer away.
    """

    conversation: str
    space: str
    sessions: tuple[ImportedSession, ...]
    questions: tuple[Question, ...]
    problems: tuple[LineProblem, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Gold:
    """Where the answer to a question is: the sessions, and the messages where the set names them.

    `abstention` marks questions that have no answer in the conversation.
    """

    question_id: str
    question_type: str
    sessions: frozenset[int]
    turns: frozenset[str] = frozenset()
    abstention: bool = False


Cases = Iterator[Case | LineProblem]
Golds = Iterator[Gold | LineProblem]


# Category 5 is adversarial: its questions have no answer in the conversation, and are usually left out.
CATEGORIES: Mapping[object, str] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
# Some labels hold several turns ('D8:6; D9:17'), a colon too many ('D:11:26') or a leading zero ('D30:05').
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


def locomo_cases(path: Path) -> Cases:
    """One case for each conversation."""
    for sample in read_samples(path):
        yield sample if isinstance(sample, LineProblem) else _locomo_case(sample)


def locomo_gold(path: Path) -> Golds:
    """The gold of every question of categories 1 to 4."""
    for sample in read_samples(path):
        if isinstance(sample, LineProblem):
            yield sample
        else:
            yield from (_locomo_gold(question_id, entry) for question_id, entry in _entries(sample))


def evidence_turns(labels: object) -> frozenset[str]:
    """The message ids that evidence labels name, however they are written.

    Example:
        >>> sorted(evidence_turns(["D8:6; D9:17", "D:11:26", "D30:05"]))
        ['D11:26', 'D30:5', 'D8:6', 'D9:17']
    """
    told = " ".join(str(label) for label in labels) if isinstance(labels, list) else str(labels or "")
    return frozenset(f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(told))


def session_number(session: str) -> int:
    """The number at the end of an imported session's name."""
    return int(session.rpartition("_")[2])


def _entries(sample: LocomoSample) -> Iterator[tuple[str, Mapping[str, object]]]:
    for index, entry in enumerate(sample.questions):
        if entry.get("category") in CATEGORIES:
            yield f"{sample.sample_id}:{index}", entry


def _locomo_case(sample: LocomoSample) -> Case:
    read = list(sample_sessions(sample))
    sessions = tuple(entry for entry in read if isinstance(entry, ImportedSession))
    problems = [entry for entry in read if isinstance(entry, LineProblem)]
    last = max((message.at for session in sessions for message in session.messages if message.at), default=None)
    questions = []
    for question_id, entry in _entries(sample):
        try:
            told = values.text(entry, "question")
        except Malformed as error:
            problems.append(LineProblem(line=sample.position, reason=f"question {question_id}: {error}"))
        else:
            kind = CATEGORIES[entry["category"]]
            questions.append(Question(question_id=question_id, question_type=kind, text=told, asked_at=last))
    return Case(
        conversation=sample.sample_id,
        space=f"locomo/{sample.sample_id}",
        sessions=sessions,
        questions=tuple(questions),
        problems=tuple(problems),
    )


def _locomo_gold(question_id: str, entry: Mapping[str, object]) -> Gold:
    turns = evidence_turns(entry.get("evidence"))
    return Gold(
        question_id=question_id,
        question_type=CATEGORIES[entry["category"]],
        sessions=frozenset(int(turn[1:].partition(":")[0]) for turn in turns),
        turns=turns,
    )


_Made = TypeVar("_Made", Case, Gold)


def longmemeval_cases(path: Path) -> Cases:
    """One case for each question."""
    return _read(path, _longmemeval_case)


def longmemeval_grown_cases(path: Path) -> Cases:
    """One case for each question, to be asked over more than its own haystack: with names, and with no last day."""
    return _read(path, _grown_case)


def longmemeval_gold(path: Path) -> Golds:
    """The gold of every question; those ending in `_abs` have no answer and are marked."""
    return _read(path, _longmemeval_gold)


def end_of_day(moment: datetime) -> datetime:
    """The last millisecond of the day: many haystacks hold sessions a few hours later than their question."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1, milliseconds=-1)


def session_names(entry: LongMemEvalQuestion) -> tuple[str, ...]:
    """The file's own names of the sessions, by place; one that begins with `answer_` gives the answer away.

    Raises:
        Malformed: not every session has one.
    """
    named = values.sequence(entry.raw.get("haystack_session_ids"), "'haystack_session_ids'")
    if len(named) != len(entry.sessions):
        raise Malformed(f"{len(entry.sessions)} haystack_sessions, but {len(named)} haystack_session_ids")
    return tuple(values.text({"session id": name}, "session id") for name in named)


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
    case = _longmemeval_case(entry)
    questions = tuple(replace(question, until=None) for question in case.questions)
    return replace(case, questions=questions, names=session_names(entry))


def _longmemeval_case(entry: LongMemEvalQuestion) -> Case:
    read = list(haystack(entry))
    return Case(
        conversation=entry.question_id,
        space=f"longmemeval/{entry.question_id}",
        sessions=tuple(one for one in read if isinstance(one, ImportedSession)),
        questions=(_question(entry),),
        problems=tuple(one for one in read if isinstance(one, LineProblem)),
    )


def _question(entry: LongMemEvalQuestion) -> Question:
    asked_at = longmemeval_time(values.text(entry.raw, "question_date"))
    return Question(
        question_id=entry.question_id,
        question_type=values.text(entry.raw, "question_type"),
        text=values.text(entry.raw, "question"),
        asked_at=asked_at,
        until=end_of_day(asked_at),
        abstention=_abstains(entry),
    )


def _longmemeval_gold(entry: LongMemEvalQuestion) -> Gold:
    named = values.sequence(entry.raw.get("haystack_session_ids"), "'haystack_session_ids'")
    answers = values.sequence(entry.raw.get("answer_session_ids"), "'answer_session_ids'")
    return Gold(
        question_id=entry.question_id,
        question_type=values.text(entry.raw, "question_type"),
        sessions=frozenset(index for index, name in enumerate(named) if name in answers),
        turns=frozenset(f"{index}:{place}" for index, place in answering(entry)),
        abstention=_abstains(entry),
    )


def _abstains(entry: LongMemEvalQuestion) -> bool:
    return entry.question_id.endswith("_abs")


DatasetName = Literal["locomo", "longmemeval"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """How to read one set.

    `session_number` gives the number that logs and scorers know a stored session by. `grown_cases` reads cases to be
    asked over more than their own conversation, where the set has any to add.
    """

    cases: Callable[[Path], Cases]
    gold: Callable[[Path], Golds]
    session_number: Callable[[str], int]
    grown_cases: Callable[[Path], Cases] | None = None


DATASETS: Mapping[DatasetName, Dataset] = {
    "locomo": Dataset(cases=locomo_cases, gold=locomo_gold, session_number=session_number),
    "longmemeval": Dataset(
        cases=longmemeval_cases,
        gold=longmemeval_gold,
        session_number=int,
        grown_cases=longmemeval_grown_cases,
    ),
}


def read_gold(dataset: DatasetName, data: Path) -> Iterator[Gold]:
    """The gold of every question of a file; entries that can not be read are no questions.

    Raises:
        UnreadableFile: the file is not the set's own.
    """
    require_format(data, dataset)
    return (entry for entry in DATASETS[dataset].gold(data) if isinstance(entry, Gold))


def read_cases(dataset: DatasetName, data: Path) -> Cases:
    """The conversations of a file with their questions, lazily; problems in place of entries that can not be read.

    Raises:
        UnreadableFile: the file is not the set's own.
    """
    require_format(data, dataset)
    return DATASETS[dataset].cases(data)


def read_grown_cases(dataset: DatasetName, data: Path) -> Cases:
    """The same conversations and questions, to be asked over more than their own conversation.

    Raises:
        InvalidInput: the set has no conversations to add.
        UnreadableFile: the file is not the set's own.
    """
    read = DATASETS[dataset].grown_cases
    if read is None:
        raise InvalidInput(
            f"The conversations of {dataset} can not be grown: the set has too few that others could be added from.",
            way_out="Use --grow with --dataset longmemeval.",
        )
    require_format(data, dataset)
    return read(data)
