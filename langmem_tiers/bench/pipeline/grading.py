"""The scoring step: answers go to the judge, its verdicts into their log; without a judge, words are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from langmem_tiers.bench.pipeline.audit import read_audit
from langmem_tiers.bench.pipeline.call_log import CallLog, Fields, read_calls
from langmem_tiers.bench.pipeline.judging import ToJudge, Verdict, judge
from langmem_tiers.bench.pipeline.models import Ask
from langmem_tiers.bench.pipeline.results import QaScores, judged_scores, matched_scores
from langmem_tiers.bench.pipeline.runs import BenchRun
from langmem_tiers.bench.pipeline.usage import Prices, Usage, usage_of, with_earlier
from langmem_tiers.bench.pools import in_threads
from langmem_tiers.errors import UnreadableFile

Told = Callable[[int, int], None]
SOURCE = "judge"
_FIELDS = frozenset({"question_type", "question", "answer", "hypothesis"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Grading:
    """How answers are judged; without `ask`, their words are compared.

    `judge_name` and `temperature` are for the log. `label` says which of several sets of answers. `audit` is a list of
    questions to leave out.
    """

    run: BenchRun
    ask: Ask | None = None
    judge_name: str = ""
    temperature: float | None = None
    jobs: int = 1
    label: str | None = None
    audit: Path | None = None
    prices: Prices = field(default_factory=Prices)

    def described(self) -> dict[str, object]:
        """What must stay the same for the log to be gone on with."""
        return {**self.run.described(), "judge": self.judge_name, "temperature": self.temperature}


@dataclass(frozen=True, kw_only=True, slots=True)
class Graded:
    """The scores, how many answers were judged now and before, and what the judge took."""

    scores: QaScores
    asked: int
    before: int
    usage: Usage | None


def grade(how: Grading, *, on_progress: Told | None = None) -> Graded:
    """The scores of the answers of a run; every answer that the judge gave no verdict on is judged again.

    `on_progress` is told the number of answers judged now and that to come to.

    Raises:
        UnreadableFile: there are no answers yet, or a log or the audit is not in its format.
        InvalidInput: the log was begun with another judge.
    """
    answers = _answers(how)
    questions = {name: str(line["question"]) for name, line in answers.items()}
    audit = None if how.audit is None else read_audit(how.audit, questions)
    if how.ask is None:
        return Graded(scores=matched_scores(answers.values(), audit), asked=0, before=0, usage=None)
    log = CallLog(
        how.run.log("judgements", how.label), how.described(), way_out="Delete that file to judge all answers anew."
    )
    left_out = frozenset(audit.excluded if audit else ())
    given = {name: line for name, line in answers.items() if "error" not in line and name not in left_out}
    left = [line for name, line in given.items() if not _is_judged(line, log.lines.get(name))]
    _judge(how.ask, how.jobs, log, left, on_progress or (lambda _done, _total: None))
    log.put_in_order(answers)
    verdicts = {
        name: bool(log.lines[name]["right"]) for name, line in given.items() if _is_judged(line, log.lines[name])
    }
    return Graded(
        scores=judged_scores(answers.values(), verdicts, how.judge_name, audit),
        asked=len(left),
        before=len(given) - len(left),
        usage=usage_of(SOURCE, log.lines.values(), how.prices),
    )


def _answers(how: Grading) -> dict[str, Fields]:
    path = how.run.log("generation_logs", how.label)
    if not path.exists():
        raise UnreadableFile(
            f"There are no answers in {path}.",
            way_out=f"Make them: langmem-tiers bench {how.run.dataset} qa --run {how.run.run_id}.",
        )
    answers = read_calls(path)
    for name, line in answers.items():
        if missing := _FIELDS - line.keys():
            raise UnreadableFile(
                f"The answer to {name} in {path} has no {min(missing)!r}.", way_out="Make it again: delete its line."
            )
    return answers


def _judge(ask: Ask, jobs: int, log: CallLog, left: list[Fields], told: Told) -> None:
    def judged(line: Fields) -> tuple[Fields, Verdict]:
        return line, judge(ask, _to_judge(line))

    told(0, len(left))
    verdicts: Iterator[tuple[Fields, Verdict]] = in_threads(judged, left, jobs)
    for done, (line, verdict) in enumerate(verdicts, 1):
        log.append(with_earlier(_line(line, verdict), log.lines.get(str(line["question_id"]))))
        told(done, len(left))


def _to_judge(line: Fields) -> ToJudge:
    return ToJudge(
        question=str(line["question"]),
        question_type=str(line["question_type"]),
        gold=str(line["answer"]),
        response=str(line["hypothesis"]),
        abstention=bool(line.get("abstention")),
    )


def _line(line: Fields, verdict: Verdict) -> Fields:
    return {
        "question_id": line["question_id"],
        "question_type": line["question_type"],
        "right": verdict.right,
        "reply": verdict.reply,
        "calls": verdict.calls,
        "prompt_tokens": verdict.prompt_tokens,
        "completion_tokens": verdict.completion_tokens,
        "ms": verdict.ms,
        "of": _digest(line),
    }


def _is_judged(line: Fields, judgement: Fields | None) -> bool:
    """Whether there is a verdict, and on this very answer."""
    return judgement is not None and judgement.get("right") is not None and judgement.get("of") == _digest(line)


def _digest(line: Fields) -> str:
    told = "\0".join(str(line[name]) for name in ("question", "answer", "hypothesis"))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]
