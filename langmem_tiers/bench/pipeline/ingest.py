"""The conversations of a run, each stored in a memory of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

from langmem_tiers.bench.asking import Plan, in_processes, stored
from langmem_tiers.bench.datasets import Case, DatasetName, Question, read_cases
from langmem_tiers.bench.pipeline.runs import BenchRun
from langmem_tiers.bench.retrieval import embedder_of
from langmem_tiers.bench.scoring import cut_partial_line
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.transfer.files import Malformed
from langmem_tiers.transfer.formats import read_questions, read_samples
from langmem_tiers.transfer.readers import values
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
        return values.text(entry, "question")
    except Malformed:
        return ""


def _with(case: Case, added: tuple[Question, ...]) -> Case:
    """The case with questions added; they are asked at the end of the conversation, as its own are."""
    last = max((message.at for session in case.sessions for message in session.messages if message.at), default=None)
    return replace(case, questions=(*case.questions, *(replace(question, asked_at=last) for question in added)))


Told = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ingested:
    """What the step did: conversations and messages stored now, conversations stored before, what was skipped."""

    conversations: int
    messages: int
    before: int
    seconds: float
    problems: tuple[LineProblem, ...]


def ingest(run: BenchRun, *, limit: int | None, jobs: int = 1, on_progress: Told | None = None) -> Ingested:
    """Store the conversations of the first `limit` questions that are not stored yet, through the real track node.

    `on_progress` is told the number of conversations stored now and that to come to.

    Raises:
        UnreadableFile: the data is not in its format.
        EmbeddingUnavailable: the model is neither there nor can it be downloaded.
        StorageError: a conversation could not be stored whole.
    """
    record = run.work / "ingested.jsonl"
    known = _known(record)
    cases = Cases(run.dataset, run.data, limit=limit)
    total = sum(case.conversation not in known for case in cases)
    if run.vectors and total:
        embedder_of(run.plan()).prepare()  # once here, so that processes do not all begin to download
    told = on_progress or (lambda _done, _total: None)
    told(0, total)
    started, messages, before = perf_counter(), 0, _Counted()
    for done, line in enumerate(in_processes(partial(_stored, run.plan()), before.left(cases, known), jobs), 1):
        with translated(record), record.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        messages += int(line["messages"])
        told(done, total)
    return Ingested(
        conversations=total,
        messages=messages,
        before=before.known,
        seconds=round(perf_counter() - started, 1),
        problems=tuple(cases.problems),
    )


class _Counted:
    """The cases that are left to store, and how many were not."""

    def __init__(self) -> None:
        self.known = 0

    def left(self, cases: Cases, known: AbstractSet[str]) -> Iterator[Case]:
        for case in cases:
            if case.conversation in known:
                self.known += 1
            else:
                yield case


def _stored(plan: Plan, case: Case) -> dict[str, str | int | float]:
    started = perf_counter()
    with stored(case, plan, embedder_of(plan) if plan.vectors else None) as space:
        counts = space.stats()
    return {
        "conversation": case.conversation,
        "sessions": counts.sessions,
        "messages": counts.drawers,
        "seconds": round(perf_counter() - started, 3),
    }


def _known(record: Path) -> frozenset[str]:
    """The conversations that are stored whole."""
    with translated(record):
        record.parent.mkdir(parents=True, exist_ok=True)
        if not record.exists():
            return frozenset()
        cut_partial_line(record)
        return frozenset(json.loads(line)["conversation"] for line in record.read_text(encoding="utf-8").splitlines())
