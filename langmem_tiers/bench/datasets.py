"""The data sets: questions with the evidence they need, out of the official files of LoCoMo and LongMemEval."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from langmem_tiers.errors import InvalidInput, UnreadableFile
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
class BenchQuestion:
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
    questions: tuple[BenchQuestion, ...]
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


DatasetName = Literal["locomo", "longmemeval"]
_Made = TypeVar("_Made", Case, Gold)
# Category 5 is adversarial: its questions have no answer in the conversation, and are usually left out.
CATEGORIES: Mapping[object, str] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_ADVERSARIAL: Mapping[object, str] = {5: "adversarial"}
_ALL_CATEGORIES: Mapping[object, str] = {**CATEGORIES, **_ADVERSARIAL}
_NOT_TOLD = "The conversation does not tell: what the question takes for granted was not said there."
# Some labels hold several turns ('D8:6; D9:17'), a colon too many ('D:11:26') or a leading zero ('D30:05').
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


class Cases:
    """The cases of a file with its first `limit` questions; what cannot be read is gathered in `problems`.

    With `adversarial`, LoCoMo's category 5 is asked as well: questions whose answer is not in the conversation. With
    `grown`, the questions are to be asked over more than their own conversation: cases have the names of their
    sessions, and questions no last day.

    Raises:
        UnreadableFile: the file is not the set's own.
        InvalidInput: they are to be grown, and the set has no conversations to add.
    """

    def __init__(
        self,
        dataset: DatasetName,
        data: Path,
        *,
        limit: int | None = None,
        adversarial: bool = False,
        grown: bool = False,
    ) -> None:
        self._read = read_grown_cases if grown else partial(read_cases, adversarial=adversarial)
        self._dataset = dataset
        self._data = data
        self._limit = limit
        self.problems: list[LineProblem] = []

    def __iter__(self) -> Iterator[Case]:
        left = self._limit
        self.problems = []
        for case in self._read(self._dataset, self._data):
            if isinstance(case, LineProblem):
                self.problems.append(case)
                continue
            self.problems.extend(case.problems)
            yield replace(case, questions=case.questions[:left])
            left = None if left is None else left - len(case.questions)
            if left is not None and left <= 0:
                return


def unanswered(cases: Iterable[Case], answered: Collection[str]) -> Iterator[Case]:
    """The cases with only the questions that are not answered yet; cases without any are left out."""
    for case in cases:
        left = tuple(question for question in case.questions if question.question_id not in answered)
        if left:
            yield replace(case, questions=left)


def require_set(data: Path, dataset: DatasetName) -> None:
    """Refuse a file that is plainly not the set's own.

    Raises:
        UnreadableFile: it is missing, or looks like something else.
    """
    with _own_file(dataset):
        require_format(data, dataset)


@contextmanager
def _own_file(dataset: DatasetName) -> Iterator[None]:
    """Errors of the readers, whose way out is one of imports, with that of the benchmark instead."""
    try:
        yield
    except UnreadableFile as error:
        way_out = f"Name the set's own file with --data; `langmem-tiers bench {dataset} download` fetches it."
        raise UnreadableFile(error.message, way_out=way_out) from error


def set_questions(data: Path) -> Iterator[LongMemEvalQuestion | LineProblem]:
    """The questions of a file of LongMemEval, lazily.

    Raises:
        UnreadableFile: the file is damaged.
    """
    with _own_file("longmemeval"):
        yield from read_questions(data)


def _samples(data: Path) -> Iterator[LocomoSample | LineProblem]:
    with _own_file("locomo"):
        yield from read_samples(data)


def read_cases(dataset: DatasetName, data: Path, *, adversarial: bool = False) -> Iterator[Case | LineProblem]:
    """The conversations of a file with their questions, lazily; problems in place of entries that cannot be read.

    Raises:
        UnreadableFile: the file is not the set's own.
    """
    require_set(data, dataset)
    if dataset == "locomo":
        samples = _samples(data)
        return (one if isinstance(one, LineProblem) else _locomo_case(one, adversarial=adversarial) for one in samples)
    return _from_questions(data, _longmemeval_case)


def read_grown_cases(dataset: DatasetName, data: Path) -> Iterator[Case | LineProblem]:
    """The conversations and questions for a grown run, in which sessions of other conversations are added.

    Raises:
        InvalidInput: the set has no conversations to add.
        UnreadableFile: the file is not the set's own.
    """
    if dataset == "locomo":
        raise InvalidInput(
            "The conversations of locomo cannot be grown: the set has too few that others could be added from.",
            way_out="Use --grow with --dataset longmemeval.",
        )
    require_set(data, dataset)
    return _from_questions(data, _grown_case)


def read_gold(dataset: DatasetName, data: Path) -> Iterator[Gold]:
    """The gold of every question of a file; entries that cannot be read are no questions.

    Raises:
        UnreadableFile: the file is not the set's own.
    """
    require_set(data, dataset)
    if dataset == "locomo":
        samples = (sample for sample in _samples(data) if not isinstance(sample, LineProblem))
        return (_locomo_gold(*each) for sample in samples for each in _entries(sample, CATEGORIES))
    return (gold for gold in _from_questions(data, _longmemeval_gold) if isinstance(gold, Gold))


def gold_answers(dataset: DatasetName, data: Path) -> dict[str, str]:
    """The answers by question id; questions without one are left out, as are entries that cannot be read."""
    answers: dict[str, str] = {}
    if dataset == "longmemeval":
        for entry in set_questions(data):
            if not isinstance(entry, LineProblem):
                answers[entry.question_id] = _told(entry.raw.get("answer"))
    else:
        for sample in _samples(data):
            if not isinstance(sample, LineProblem):
                for index, asked in enumerate(sample.questions):
                    adversarial = asked.get("category") in _ADVERSARIAL
                    answers[f"{sample.sample_id}:{index}"] = _NOT_TOLD if adversarial else _told(asked.get("answer"))
    return {name: answer for name, answer in answers.items() if answer}


def _told(answer: object) -> str:
    """An answer as text: some are numbers, a few are lists."""
    if isinstance(answer, list):
        return ", ".join(_told(part) for part in answer)
    return "" if answer is None else str(answer).strip()


def session_number(session: str) -> int:
    """The number of a stored session in logs and scores: the one at the end of its name."""
    return int(session.rpartition("_")[2])


def evidence_turns(labels: object) -> frozenset[str]:
    """The message ids in evidence labels, which are written in several ways.

    Example:
        >>> sorted(evidence_turns(["D8:6; D9:17", "D:11:26", "D30:05"]))
        ['D11:26', 'D30:5', 'D8:6', 'D9:17']
    """
    told = " ".join(str(label) for label in labels) if isinstance(labels, list) else str(labels or "")
    return frozenset(f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(told))


def _entries(sample: LocomoSample, categories: Mapping[object, str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    for index, entry in enumerate(sample.questions):
        if entry.get("category") in categories:
            yield f"{sample.sample_id}:{index}", entry


def _locomo_case(sample: LocomoSample, *, adversarial: bool) -> Case:
    read = list(sample_sessions(sample))
    sessions = tuple(entry for entry in read if isinstance(entry, ImportedSession))
    problems = [entry for entry in read if isinstance(entry, LineProblem)]
    last = max((message.at for session in sessions for message in session.messages if message.at), default=None)
    questions = []
    added = _ADVERSARIAL if adversarial else {}
    for question_id, entry in (*_entries(sample, CATEGORIES), *_entries(sample, added)):
        kind = entry["category"]
        try:
            questions.append(
                BenchQuestion(
                    question_id=question_id,
                    question_type=_ALL_CATEGORIES[kind],
                    text=values.text(entry, "question"),
                    asked_at=last,
                    abstention=kind in _ADVERSARIAL,
                )
            )
        except Malformed as error:
            problems.append(LineProblem(line=sample.position, reason=f"question {question_id}: {error}"))
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


def end_of_day(moment: datetime) -> datetime:
    """The last millisecond of the day: many haystacks hold sessions a few hours later than their question."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1, milliseconds=-1)


def session_names(entry: LongMemEvalQuestion) -> tuple[str, ...]:
    """The names of the sessions in the file, in order; a name that begins with `answer_` gives the answer away.

    Raises:
        Malformed: not every session has one.
    """
    named = values.sequence(entry.raw.get("haystack_session_ids"), "'haystack_session_ids'")
    if len(named) != len(entry.sessions):
        raise Malformed(f"{len(entry.sessions)} haystack_sessions, but {len(named)} haystack_session_ids")
    return tuple(values.text({"session id": name}, "session id") for name in named)


def answering(entry: LongMemEvalQuestion) -> Iterator[tuple[int, int]]:
    """The messages marked as holding the answer: the place of the session, and the place in it."""
    for index, session in enumerate(entry.sessions):
        for place, turn in enumerate(session if isinstance(session, list) else ()):
            if isinstance(turn, Mapping) and turn.get("has_answer") is True:
                yield index, place


def _from_questions(path: Path, made: Callable[[LongMemEvalQuestion], _Made]) -> Iterator[_Made | LineProblem]:
    for entry in set_questions(path):
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


def _question(entry: LongMemEvalQuestion) -> BenchQuestion:
    asked_at = longmemeval_time(values.text(entry.raw, "question_date"))
    return BenchQuestion(
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
