"""What a run asks: cases with their questions up to a limit, and the gold answers in the words of the set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from langmem_tiers.bench.datasets import DatasetName, read_cases
from langmem_tiers.bench.questions import Case, Question
from langmem_tiers.transfer import checks
from langmem_tiers.transfer.json_text import Malformed
from langmem_tiers.transfer.locomo import read_samples
from langmem_tiers.transfer.longmemeval import read_questions
from langmem_tiers.transfer.records import LineProblem

ADVERSARIAL = "adversarial"
_ADVERSARIAL_CATEGORY = 5


class Cases:
    """The cases of a file with its first `limit` questions; what can not be read is gathered in `problems`.

    With `adversarial`, LoCoMo's category 5 is asked as well: questions whose answer is not in the conversation.
    """

    def __init__(
        self, dataset: DatasetName, data: Path, *, limit: int | None = None, adversarial: bool = False
    ) -> None:
        self._dataset = dataset
        self._data = data
        self._limit = limit
        self._adversarial = adversarial and dataset == "locomo"
        self.problems: list[LineProblem] = []

    def __iter__(self) -> Iterator[Case]:
        left = self._limit
        self.problems = []
        added = _adversarial(self._data) if self._adversarial else {}
        for entry in read_cases(self._dataset, self._data):
            if isinstance(entry, LineProblem):
                self.problems.append(entry)
                continue
            self.problems.extend(entry.problems)
            case = _with(entry, added.get(entry.conversation, ()))
            yield replace(case, questions=case.questions[:left])
            left = None if left is None else left - len(case.questions)
            if left is not None and left <= 0:
                return


def gold_answers(dataset: DatasetName, data: Path) -> dict[str, str]:
    """The answers by question id; questions without one are left out, as are entries that can not be read."""
    return dict(_ANSWERS[dataset](data))


def _longmemeval_answers(data: Path) -> Iterator[tuple[str, str]]:
    for entry in read_questions(data):
        if not isinstance(entry, LineProblem) and (answer := _told(entry.raw.get("answer"))):
            yield entry.question_id, answer


def _locomo_answers(data: Path) -> Iterator[tuple[str, str]]:
    for sample in read_samples(data):
        if isinstance(sample, LineProblem):
            continue
        for index, entry in enumerate(sample.questions):
            adversarial = entry.get("category") == _ADVERSARIAL_CATEGORY
            if answer := _NOT_TOLD if adversarial else _told(entry.get("answer")):
                yield f"{sample.sample_id}:{index}", answer


_NOT_TOLD = "The conversation does not tell: what the question takes for granted was not said there."
_ANSWERS: Mapping[DatasetName, Callable[[Path], Iterator[tuple[str, str]]]] = {
    "locomo": _locomo_answers,
    "longmemeval": _longmemeval_answers,
}


def _told(answer: object) -> str:
    """An answer as text: some are numbers, a few are lists."""
    if isinstance(answer, list):
        return ", ".join(_told(part) for part in answer)
    return "" if answer is None else str(answer).strip()


def _adversarial(data: Path) -> dict[str, tuple[Question, ...]]:
    found: dict[str, tuple[Question, ...]] = {}
    for sample in read_samples(data):
        if not isinstance(sample, LineProblem):
            entries = enumerate(sample.questions)
            told = ((index, _question_text(e)) for index, e in entries if e.get("category") == _ADVERSARIAL_CATEGORY)
            found[sample.sample_id] = tuple(
                Question(
                    question_id=f"{sample.sample_id}:{index}",
                    question_type=ADVERSARIAL,
                    text=text,
                    asked_at=None,
                    abstention=True,
                )
                for index, text in told
                if text
            )
    return found


def _question_text(entry: Mapping[str, object]) -> str:
    try:
        return checks.text(entry, "question")
    except Malformed:
        return ""


def _with(case: Case, added: tuple[Question, ...]) -> Case:
    """The case with questions added; they are asked at the end of the conversation, as its own are."""
    last = max((message.at for session in case.sessions for message in session.messages if message.at), default=None)
    return replace(case, questions=(*case.questions, *(replace(question, asked_at=last) for question in added)))
