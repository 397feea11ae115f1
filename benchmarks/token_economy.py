"""What a block is worth for its tokens: excerpts of which length, how many items, and in which order they are packed.

Every question is searched once; what was chosen is then packed with every length of excerpts and every budget. Measured
is the share of the messages with the answer that are in the block and, for LongMemEval, how often a short answer
stands in it word for word. `alpha` packs items in the order of their score divided by tokens to the power of alpha: 0
is recall's own order, 1 would be the most score for the tokens.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean

from kept import KeptSet, add_arguments, sets
from reporting import Row, parser, report, say

from langmem_tiers import Space
from langmem_tiers.bench.datasets import BenchQuestion, Gold
from langmem_tiers.clock import utc_now
from langmem_tiers.recall import candidates, rendering, selection
from langmem_tiers.recall.candidates import FoundDrawer
from langmem_tiers.recall.rendering import Packed
from langmem_tiers.recall.request import Query, RecallRequest, parse
from langmem_tiers.recall.selection import Before
from langmem_tiers.recall.sources import RecallSource, SpaceSnapshot, read_drawers, snapshots
from langmem_tiers.recall.telemetry import Stopwatch
from langmem_tiers.settings import Settings
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.types import RecalledItem

WHOLE = 100_000
LENGTHS = (WHOLE, 600, 400, 300, 200, 120)
BUDGETS = (200, 500, 1000)
ALPHAS = (0, 0.25, 0.5)
LIMITS = (4, 8, 12, 16, 24)
ANY_NUMBER = 1_000_000
SHORT_ANSWER = 5  # words


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One way to make a block: the longest excerpt in characters, most tokens, most items, and alpha."""

    length: int
    budget: int
    limit: int
    alpha: float = 0.0


@dataclass(kw_only=True, slots=True)
class Worth:
    """What a way came to, a value for each question."""

    evidence: list[float] = field(default_factory=list)
    answers: list[bool] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sought:
    """What is to be in a block: messages by id, and the answer where it is short and stands in one of them."""

    messages: frozenset[str]
    answer: str | None


def main() -> None:
    arguments = parser(__doc__ or "", "token_economy")
    add_arguments(arguments)
    arguments.add_argument("--items", type=int, default=50, help="most items, so that the budget is what binds")
    arguments.add_argument("--threshold", type=float, default=None, help="least score; recall's own by default")
    chosen = arguments.parse_args()
    rows = [row for kept in sets(chosen) for row in table(kept, chosen.items, chosen.threshold)]
    report("What a block is worth for its tokens (%)", rows, chosen.out)


def ways(items: int) -> list[Way]:
    """Every length, budget and order with that many items; then fewer items under the largest budget."""
    packed = [
        Way(length=length, budget=budget, limit=items, alpha=alpha)
        for length in LENGTHS
        for budget in BUDGETS
        for alpha in ALPHAS
    ]
    fewer = [Way(length=length, budget=BUDGETS[-1], limit=limit) for length in LENGTHS for limit in LIMITS]
    return [*packed, *fewer]


def table(kept: KeptSet, items: int, threshold: float | None) -> Iterator[Row]:
    measured = measure(kept, ways(items), items, threshold)
    for way, worth in measured.items():
        answers = f"{100 * fmean(worth.answers):.1f} of {len(worth.answers)}" if worth.answers else "-"
        yield {
            "set": kept.name,
            "characters": "whole" if way.length == WHOLE else str(way.length),
            "budget": way.budget,
            "limit": way.limit,
            "alpha": f"{way.alpha:g}",
            "evidence shown": 100 * fmean(worth.evidence),
            "answer stands there": answers,
            "items": fmean(worth.items),
            "tokens": fmean(worth.tokens),
        }


def measure(kept: KeptSet, tried: Sequence[Way], items: int, threshold: float | None) -> dict[Way, Worth]:
    say(f"asking the memories of {kept.name}; those that are not in {kept.work} yet are stored first")
    gold, answers = kept.gold(), kept.answers() if kept.name == "longmemeval" else {}
    measured = {way: Worth() for way in tried}
    for case, space in kept.memories():
        contents = {drawer.message_id: drawer.content for drawer in space.drawers()}
        for question in case.questions:
            sought = _sought(gold[question.question_id], answers, contents)
            if sought.messages:
                with searched(space, question, items, threshold) as asked:
                    for way, worth in measured.items():
                        asked.add(way, sought, worth)
    return measured


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What recall chose for one question, best first, while its snapshots are open."""

    space: Space
    sources: Sequence[SpaceSnapshot]
    query: Query
    vector: Vectors | None
    chosen: Sequence[FoundDrawer]

    def add(self, way: Way, sought: Sought, worth: Worth) -> None:
        """Make the block in a way, and note what it is worth."""
        packed = self.packed(way)
        block = rendering.render(packed.lines)
        shown = {item.drawer.message_id for item in packed.items}
        worth.evidence.append(len(sought.messages & shown) / len(sought.messages))
        worth.items.append(len(packed.items))
        worth.tokens.append(self.space.memory.count_tokens(block) if block else 0)
        if sought.answer is not None:
            worth.answers.append(stands(sought.answer, html.unescape(block)))

    def packed(self, way: Way) -> Packed:
        """The items and lines of the block."""
        chosen = self.chosen[: way.limit]
        if way.alpha:
            every = self._pack(chosen, way.length, ANY_NUMBER)
            chosen = by_worth(chosen, every.items, way.alpha)
        return self._pack(chosen, way.length, way.budget)

    def _pack(self, chosen: Sequence[FoundDrawer], length: int, budget: int) -> Packed:
        count = self.space.memory.count_tokens
        return rendering.pack(
            chosen,
            read_drawers(self.sources, [found.key for found in chosen], self.vector, longer_than=length),
            terms=self.query.terms,
            budget=budget - count(rendering.render([""])),
            most=[length] * len(chosen),
            count=count,
            ended=lambda _: (),
        )


@contextmanager
def searched(space: Space, question: BenchQuestion, items: int, threshold: float | None) -> Iterator[Searched]:
    """What recall chooses for a question, by the steps of its pipeline up to the packing."""
    memory = space.memory
    request = _request(question, items, threshold, memory.settings)
    query = parse(question.text, request.settings.trivial_words)
    vector, _ = space.context.embedder.query(query.text)
    with memory.use(space.name) as store, snapshots((RecallSource(store=store),)) as sources:
        said = {source.name: candidates.by_words(source, query, request) for source in sources}
        ranked = candidates.find(sources, query, vector, request, watch=Stopwatch(), said=said)
        passed = selection.choose(sources, ranked, query, request, Before(query_hash=query.content_hash)).passed
        yield Searched(space=space, sources=sources, query=query, vector=vector, chosen=passed)


def _request(question: BenchQuestion, items: int, threshold: float | None, settings: Settings) -> RecallRequest:
    return RecallRequest.of(
        settings,
        query=question.text,
        window_turns=0,
        now=question.asked_at or utc_now(),
        until=question.until,
        limit=items,
        threshold=threshold,
        token_budget=ANY_NUMBER,
        selective=False,
    )


def by_worth(chosen: Sequence[FoundDrawer], items: Sequence[RecalledItem], alpha: float) -> list[FoundDrawer]:
    """What was chosen in the order of score divided by tokens to the power of alpha."""
    tokens = {(item.space, item.drawer.number): item.tokens for item in items}
    known = [found for found in chosen if found.key in tokens]
    return sorted(known, key=lambda found: -found.score / tokens[found.key] ** alpha)


def _sought(gold: Gold, answers: Mapping[str, str], contents: Mapping[str | None, str]) -> Sought:
    """What a block should have; an answer that no message of the gold says word for word is not sought."""
    answer = answers.get(gold.question_id, "").strip().rstrip(".")
    short = 0 < len(answer.split()) <= SHORT_ANSWER
    said = any(stands(answer, contents.get(turn, "")) for turn in gold.turns) if short else False
    messages = frozenset() if gold.abstention else gold.turns
    return Sought(messages=messages, answer=answer if said else None)


def stands(answer: str, text: str) -> bool:
    """Whether the answer stands in a text as whole words, whatever the case and the spaces."""
    words = r"\s+".join(re.escape(word) for word in answer.split())
    return re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


if __name__ == "__main__":
    main()
