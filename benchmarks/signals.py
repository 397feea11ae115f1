"""What each signal of recall is worth: the ranking of kept memories without it, against the ranking with all.

Every question is asked once; its candidates are then scored again from the signals in the receipt, each signal left out
in turn. The last three rows ask again: words or vectors alone for the match, and without vectors of statements.
An interval is that of the difference to all signals, by bootstrap over the same questions.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from kept import KeptSet, add_arguments, ask, candidates, sets
from reporting import Row, parser, report, say

from langmem_tiers import Memory, Space
from langmem_tiers.bench.datasets import Case, Gold, session_number
from langmem_tiers.bench.scoring import METRICS, RESAMPLES, TURN_METRICS, Answered, ConfidenceInterval, interval
from langmem_tiers.models.guarded_embedder import GuardedEmbedder
from langmem_tiers.recall import scoring
from langmem_tiers.settings import RecallSettings, Settings
from langmem_tiers.types import Candidate

SHOWN = {
    "R@1": "R@1",
    "any@5": "recall_any@5",
    "all@5": "recall_all@5",
    "all@10": "recall_all@10",
    "MRR": "MRR",
    "turn R@10": "turn R@10",
}
ALL = "all signals"
# A sentence in the first person starts before the pieces that cover the message have ended.
_DROP_STATEMENTS = """
    DELETE FROM chunks WHERE EXISTS (
        SELECT 1 FROM chunks AS piece WHERE piece.space = chunks.space AND piece.drawer = chunks.drawer
        AND piece.ordinal < chunks.ordinal AND piece.stop > chunks.start)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One question with all its candidates; `turns` are the ids of the messages they are."""

    question_id: str
    candidates: Sequence[Candidate]
    turns: Mapping[int, str | None]

    def answered(self, settings: RecallSettings) -> Answered:
        """The ranking under other weights; of equals, what was first stays first."""
        ranked = sorted(self.candidates, key=lambda each: -scoring.score(each.signals, each.factors, settings))
        return Answered(
            question_id=self.question_id,
            sessions=[session_number(candidate.session) for candidate in ranked],
            turns=[self.turns.get(candidate.drawer) for candidate in ranked],
        )


Opened = Callable[[Space], AbstractContextManager[Space]]
Values = Mapping[str, Mapping[str, float]]
"""The value of each question, by metric and question id."""


def main() -> None:
    arguments = parser(__doc__ or "", "signals")
    add_arguments(arguments)
    chosen = arguments.parse_args()
    rows = [row for kept in sets(chosen) for row in table(kept, chosen.seed)]
    report("Recall without a signal: difference to all signals in points [95 % interval]", rows, chosen.out)


def table(kept: KeptSet, seed: int) -> list[Row]:
    """The figures with all signals, then the differences to them."""
    gold = {name: one for name, one in kept.gold().items() if one.sessions and not one.abstention}
    measured = {name: values(answers, gold) for name, answers in variants(kept)}
    base = measured.pop(ALL)
    means = {short: f"{100 * fmean(base[metric].values()):.1f}" for short, metric in SHOWN.items()}
    others: list[Row] = [
        {"set": kept.name, "ranking": name, **{each: told(one[of], base[of], seed) for each, of in SHOWN.items()}}
        for name, one in measured.items()
    ]
    return [{"set": kept.name, "ranking": ALL, **means}, *others]


def variants(kept: KeptSet) -> Iterator[tuple[str, list[Answered]]]:
    """Every ranking by its name, that of all signals first."""
    settings = RecallSettings()
    asked = asked_of(kept, settings)
    yield ALL, [one.answered(settings) for one in asked]
    for signal in settings.weights:
        weights = {name: weight for name, weight in settings.weights.items() if name != signal}
        less = settings.model_copy(update={"weights": weights})
        yield f"without {signal}", [one.answered(less) for one in asked]
    for name, (changes, opened) in ASKED_AGAIN.items():
        other = settings.model_copy(update=changes)
        yield name, [one.answered(other) for one in asked_of(kept, other, opened)]


def asked_of(kept: KeptSet, settings: RecallSettings, opened: Opened = nullcontext) -> list[Asked]:
    """Every question of a set with its candidates; `opened` may give another memory in place of the kept one."""
    say(f"asking the memories of {kept.name}; those that are not in {kept.work} yet are stored first")
    asked: list[Asked] = []
    for case, space in kept.memories(Settings(recall=settings)):
        with opened(space) as given:
            asked += _asked_of_one(case, given)
    return asked


def _asked_of_one(case: Case, space: Space) -> list[Asked]:
    turns = {drawer.number: drawer.message_id for drawer in space.drawers()}
    return [
        Asked(question_id=question.question_id, candidates=candidates(ask(space, question)), turns=turns)
        for question in case.questions
    ]


@contextmanager
def without_statements(space: Space) -> Iterator[Space]:
    """The same space in a copy of its memory that has no vectors of statements."""
    with TemporaryDirectory() as folder:
        copied = Path(shutil.copytree(space.memory.path, Path(folder) / "memory"))
        (database,) = copied.glob("spaces/*/memory.db")
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(_DROP_STATEMENTS)
        guarded = space.context.embedder
        assert isinstance(guarded, GuardedEmbedder)
        with Memory.open(copied, embedder=guarded.inner, settings=space.memory.settings, background=False) as memory:
            yield memory.space(space.name)


ASKED_AGAIN: Mapping[str, tuple[Mapping[str, object], Opened]] = {
    "match: words only": ({"keyword_weight": 1.0, "vector_weight": 0.0}, nullcontext),
    "match: vectors only": ({"keyword_weight": 0.0, "vector_weight": 1.0}, nullcontext),
    "no statement vectors": ({}, without_statements),
}


def values(answers: Sequence[Answered], gold: Mapping[str, Gold]) -> Values:
    """What each question came to; one without gold messages has no value for them."""
    pairs = [(answer, gold[answer.question_id]) for answer in answers if answer.question_id in gold]
    by_session = {name: {a.question_id: of(a, g) for a, g in pairs} for name, of in METRICS.items()}
    by_turn = {name: {a.question_id: of(a, g) for a, g in pairs if g.turns} for name, of in TURN_METRICS.items()}
    return {**by_session, **by_turn}


def told(one: Mapping[str, float], base: Mapping[str, float], seed: int) -> str:
    """The difference in points and its interval."""
    mean, within = fmean(one.values()) - fmean(base.values()), difference(one, base, seed)
    return f"{100 * mean:+.1f} [{100 * within.low:+.1f}, {100 * within.high:+.1f}]"


def difference(one: Mapping[str, float], base: Mapping[str, float], seed: int) -> ConfidenceInterval:
    """Where the mean difference lies in 95 % of the resamples of the questions, the same question on both sides."""
    return interval([one[name] - value for name, value in base.items()], resamples=RESAMPLES, seed=seed)


if __name__ == "__main__":
    main()
