"""Accuracy by question type, judged or by matching words, without the questions whose gold answers are wrong."""

from __future__ import annotations

import json
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from langmem_tiers.bench.logs import Fields
from langmem_tiers.errors import UnreadableFile

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))
_ABSTAINS = re.compile(
    r"\b(?:(?:do|does|did|could|can|is|was|has|have|are|were)(?: not|n['’]t) "
    r"(?:know|say|tell|mention\w*|specif\w+|state\w*|contain|hold|include|provided?|enough|find|have|recorded?|given)"
    r"|not (?:mentioned|specified|stated|provided|known|enough|available|recorded|said)|cannot (?:answer|tell|say|find)"
    r"|no (?:information|mention|record|answer|evidence|details?)|nothing about|unanswerable|unknown|insufficient"
    r"|incomplete)\b",
    re.IGNORECASE,
)


def exact(answer: str, gold: str) -> float:
    """1 when both have the same words in the same order, apart from case, punctuation and articles."""
    return float(_words(answer) == _words(gold))


def contains(answer: str, gold: str) -> float:
    """1 when the words of the gold answer stand together in the answer."""
    return float(f" {' '.join(_words(gold))} " in f" {' '.join(_words(answer))} ")


def token_f1(answer: str, gold: str) -> float:
    """The harmonic mean of precision and recall over words (as SQuAD counts them)."""
    ours, theirs = Counter(_words(answer)), Counter(_words(gold))
    shared = (ours & theirs).total()
    return 2 * shared / (ours.total() + theirs.total()) if shared else 0.0


def abstains(answer: str) -> float:
    """1 when the answer says, in one of the usual phrases, that it does not know."""
    return float(_ABSTAINS.search(answer) is not None)


def _words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


# The gold answer of such an entry is right; only the evidence named for it is not.
_RIGHT_ANSWER = "WRONG_CITATION"
_CONVERSATIONS = (26, 30, 41, 42, 43, 44, 47, 48, 49, 50)  # of locomo10.json, in order
_AUDITED_ID = re.compile(r"locomo_(\d+)_qa(\d+)")
_OTHER_ID = re.compile(r"(.+?)[:/_#](?:qa?)?(\d+)")
_ID_KEYS = ("question_id", "id", "qid")
_SAMPLE_KEYS = ("sample_id", "sample", "conversation", "conversation_id", "conv_id")
_PLACE_KEYS = ("question_index", "qa_index", "index", "question_number")


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """What a list of wrong gold answers says about the questions asked.

    `excluded` are in the list and have wrong answers. `citation_only` entries have right ones, and `elsewhere` entries
    are about no question asked here.
    """

    excluded: tuple[str, ...] = ()
    citation_only: int = 0
    elsewhere: int = 0


def read_audit(path: Path, questions: Mapping[str, str]) -> Audit:
    """The audit of these questions (text by id) by the list in `path`.

    An entry that names a question by id and by text must agree with itself; where it does not, the text counts.

    Raises:
        UnreadableFile: it is no JSON list of entries that name questions.
    """
    entries = _entries(path)
    by_text: dict[str, list[str]] = defaultdict(list)
    for name, text in questions.items():
        by_text[_plain(text)].append(name)
    wrong = [entry for entry in entries if not (isinstance(entry, dict) and entry.get("error_type") == _RIGHT_ANSWER)]
    found = [_found(path, entry, questions, by_text) for entry in wrong]
    excluded = {name for name in found if name is not None}
    return Audit(
        excluded=tuple(name for name in questions if name in excluded),
        citation_only=len(entries) - len(wrong),
        elsewhere=found.count(None),
    )


def _entries(path: Path) -> list[object]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(path, f"it cannot be read as JSON ({error})") from error
    if isinstance(told, dict):  # a report with the list inside
        told = next((value for value in told.values() if isinstance(value, list)), told)
    if not isinstance(told, list):
        raise _unreadable(path, "it is no JSON list")
    return told


def _found(path: Path, entry: object, questions: Mapping[str, str], by_text: Mapping[str, list[str]]) -> str | None:
    """The id of the question that an entry is about, None if it is not asked here."""
    named = [*_names(entry)]
    text = entry.get("question") if isinstance(entry, dict) else None
    by_name = next((name for name in named if name in questions), None)
    if isinstance(text, str):
        agrees = by_name is not None and _plain(questions[by_name]) == _plain(text)
        return by_name if agrees else _found_by_text(text, named, by_text)
    if not named:
        raise _unreadable(path, f"the entry {json.dumps(entry)[:100]} names no question")
    return by_name


def _found_by_text(text: str, named: Iterable[str], by_text: Mapping[str, list[str]]) -> str | None:
    """The only question with this text, in the conversation named if there is one."""
    samples = {name.rpartition(":")[0] for name in named if ":" in name}
    alike = [name for name in by_text.get(_plain(text), ()) if not samples or name.rpartition(":")[0] in samples]
    return alike[0] if len(alike) == 1 else None


def _names(entry: object) -> Iterator[str]:
    """The ids that an entry may mean."""
    if isinstance(entry, str):
        yield from _ids(entry)
    if not isinstance(entry, dict):
        return
    for told in _first(entry, _ID_KEYS):
        yield from _ids(str(told))
    for sample in _first(entry, _SAMPLE_KEYS):
        yield from (f"{sample}:{place}" for place in (*_first(entry, _PLACE_KEYS), ""))


def _ids(told: str) -> Iterator[str]:
    yield told
    if audited := _AUDITED_ID.fullmatch(told):
        place = int(audited[1])
        if place < len(_CONVERSATIONS):
            yield f"conv-{_CONVERSATIONS[place]}:{int(audited[2])}"
    elif other := _OTHER_ID.fullmatch(told):
        yield f"{other[1]}:{int(other[2])}"


def _first(entry: Mapping[str, object], keys: Iterable[str]) -> Iterator[object]:
    yield from [entry[key] for key in keys if entry.get(key) is not None][:1]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _unreadable(path: Path, reason: str) -> UnreadableFile:
    return UnreadableFile(
        f"{path} is no list of wrong answers: {reason}.",
        way_out="Give a JSON list of question ids, or of objects with 'question_id', or 'sample_id' and 'question'.",
    )


ACCURACY = "accuracy"
_RUBRICS = frozenset({"single-session-preference"})
_WORD_METRICS: Mapping[str, Callable[[str, str], float]] = {"exact": exact, "token F1": token_f1, "contains": contains}


@dataclass(frozen=True, kw_only=True, slots=True)
class QaRow:
    """The means over one type of questions."""

    name: str
    questions: int
    scores: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class QaScores:
    """The table of a set of answers.

    With a judge, `official` is true and the rows hold accuracy as LongMemEval's own script counts it: questions without
    an answer count in their type, and have the row `abstention` besides. Without one, words are compared, and those
    questions count in `abstention` alone. `task_averaged` is the mean over the types.

    Not counted: `failed` questions, which the reader did not answer; `unjudged` ones, where the judge gave no verdict;
    those that the `audit` names; `rubrics`, which no comparison of words can score.
    """

    metric: str
    official: bool
    rows: tuple[QaRow, ...]
    overall: QaRow
    task_averaged: Mapping[str, float]
    abstention: QaRow | None
    failed: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    rubrics: tuple[str, ...] = ()
    audit: Audit | None = None


def judged_scores(answers: Iterable[Fields], verdicts: Mapping[str, bool], judge: str, audit: Audit | None) -> QaScores:
    """The accuracy of answers by the verdicts of a judge."""
    given, failed = _given(answers, audit)
    scored = [(line, {ACCURACY: float(verdicts[_id(line)])}) for line in given if _id(line) in verdicts]
    return _scores(
        scored,
        [scores for line, scores in scored if line.get("abstention")],
        metric=f"Accuracy, judged by {judge}",
        official=True,
        failed=failed,
        unjudged=tuple(_id(line) for line in given if _id(line) not in verdicts),
        audit=audit,
    )


def matched_scores(answers: Iterable[Fields], audit: Audit | None) -> QaScores:
    """Scores of answers by their words."""
    given, failed = _given(answers, audit)
    answerable = [line for line in given if not line.get("abstention")]
    return _scores(
        [(line, _by_words(line)) for line in answerable if line["question_type"] not in _RUBRICS],
        [{"abstains": abstains(str(line["hypothesis"]))} for line in given if line.get("abstention")],
        metric="Words compared",
        official=False,
        failed=failed,
        rubrics=tuple(_id(line) for line in answerable if line["question_type"] in _RUBRICS),
        audit=audit,
    )


def _given(answers: Iterable[Fields], audit: Audit | None) -> tuple[list[Fields], tuple[str, ...]]:
    """The answers that count, and the ids of the questions on which the reader failed."""
    excluded = frozenset(audit.excluded if audit else ())
    counted = [line for line in answers if _id(line) not in excluded]
    return [line for line in counted if "error" not in line], tuple(_id(line) for line in counted if "error" in line)


def _by_words(line: Fields) -> Mapping[str, float]:
    said, gold = str(line["hypothesis"]), str(line["answer"])
    return {name: metric(said, gold) for name, metric in _WORD_METRICS.items()}


def _scores(
    scored: Sequence[tuple[Fields, Mapping[str, float]]], abstention: Sequence[Mapping[str, float]], **about: Any
) -> QaScores:
    """The table of scored answers, with the scores of questions that have no answer."""
    by_type: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for line, scores in scored:
        by_type[str(line["question_type"])].append(scores)
    rows = tuple(_row(name, group) for name, group in sorted(by_type.items()))
    metrics = rows[0].scores if rows else ()
    return QaScores(
        rows=rows,
        overall=_row("all", [scores for _, scores in scored]),
        task_averaged={metric: fmean(row.scores[metric] for row in rows) for metric in metrics},
        abstention=_row("abstention", abstention) if abstention else None,
        **about,
    )


def _row(name: str, scored: Sequence[Mapping[str, float]]) -> QaRow:
    means = {metric: fmean(scores[metric] for scores in scored) for metric in (scored[0] if scored else ())}
    return QaRow(name=name, questions=len(scored), scores=means)


def _id(line: Fields) -> str:
    return str(line["question_id"])
