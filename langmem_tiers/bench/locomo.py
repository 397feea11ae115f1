"""LoCoMo as a retrieval benchmark: categories 1 to 4, gold sessions from the evidence of each question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from langmem_tiers.bench.questions import Case, Cases, Gold, Golds, Question
from langmem_tiers.transfer import checks
from langmem_tiers.transfer.json_text import Malformed
from langmem_tiers.transfer.locomo import LocomoSample, read_samples, sample_sessions
from langmem_tiers.transfer.records import ImportedSession, LineProblem

# Category 5 is adversarial: its questions have no answer in the conversation, and are usually left out.
CATEGORIES: Mapping[object, str] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
# Some labels hold several turns ('D8:6; D9:17'), a colon too many ('D:11:26') or a leading zero ('D30:05').
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


def locomo_cases(path: Path) -> Cases:
    """One case for each conversation."""
    for sample in read_samples(path):
        yield sample if isinstance(sample, LineProblem) else _case(sample)


def locomo_gold(path: Path) -> Golds:
    """The gold of every question of categories 1 to 4."""
    for sample in read_samples(path):
        if isinstance(sample, LineProblem):
            yield sample
        else:
            yield from (_gold(question_id, entry) for question_id, entry in _entries(sample))


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


def _case(sample: LocomoSample) -> Case:
    read = list(sample_sessions(sample))
    sessions = tuple(entry for entry in read if isinstance(entry, ImportedSession))
    problems = [entry for entry in read if isinstance(entry, LineProblem)]
    last = max((message.at for session in sessions for message in session.messages if message.at), default=None)
    questions = []
    for question_id, entry in _entries(sample):
        try:
            told = checks.text(entry, "question")
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


def _gold(question_id: str, entry: Mapping[str, object]) -> Gold:
    turns = evidence_turns(entry.get("evidence"))
    return Gold(
        question_id=question_id,
        question_type=CATEGORIES[entry["category"]],
        sessions=frozenset(int(turn[1:].partition(":")[0]) for turn in turns),
        turns=turns,
    )
