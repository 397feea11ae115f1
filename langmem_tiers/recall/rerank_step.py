"""The step of a recall that a reranker is for: what it is given, and the candidates in the order that it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from langmem_tiers.recall import packing, rendering, selection
from langmem_tiers.recall.candidates import Found
from langmem_tiers.recall.request import RecallRequest
from langmem_tiers.recall.rerank import LONGEST_QUESTION, Passage, Places, Question
from langmem_tiers.recall.selection import Before
from langmem_tiers.recall.sources import Snapshot
from langmem_tiers.storage.usages import Usage
from langmem_tiers.types import Drawer

if TYPE_CHECKING:
    from langmem_tiers.recall.rerank_guard import GuardedReranker
    from langmem_tiers.storage.embedding_cache import Vectors


class RerankStep:
    """One use of a reranker, if there is one; `note`, `usage`, `took` and `none_fits` say what came of it."""

    def __init__(self, reranker: GuardedReranker | None, request: RecallRequest) -> None:
        self._reranker = reranker if request.settings.rerank.enabled else None
        self._request = request
        self._how = request.settings.rerank
        self.note: str | None = None
        self.usage: dict[str, dict[str, int]] = {}
        self.took = Usage()
        self.none_fits = False

    @property
    def wanted(self) -> bool:
        """Whether there is a reranker, and it is switched on."""
        return self._reranker is not None

    def given(self, ranked: Sequence[Found], before: Before) -> list[Found]:
        """The candidates that it is to be given; none where it could make no difference."""
        if self._reranker is None:
            return []
        found = selection.showable(ranked, self._request, before)[: self._how.candidates]
        # An order has a first even where nothing fits: only a judgement can open the gate.
        opens = self._reranker.judges or any(each.score >= self._request.threshold for each in found)
        return found if opens else []

    def passages(
        self, given: Sequence[Found], sources: Sequence[Snapshot], terms: Sequence[str], vector: Vectors | None
    ) -> list[Passage]:
        """Those candidates as it sees them."""
        whole = packing.read(sources, [selection.key(found) for found in given])
        most = self._how.item_characters
        hits = packing.hits(sources, whole, vector, most)
        texts = {key: rendering.excerpt(drawer.content, terms, most, hits.get(key)) for key, drawer in whole.items()}
        keyed = ((found, selection.key(found)) for found in given)
        return [_passage(found, whole[key], texts[key]) for found, key in keyed if key in whole]

    def rank(self, question: str, ranked: Sequence[Found], passages: Sequence[Passage]) -> list[Found]:
        """The candidates with those that it named in front; as they were where it failed."""
        assert self._reranker is not None
        asked = Question(text=question[:LONGEST_QUESTION], asked_at=self._request.now)
        reranked = self._reranker.rank(asked, passages, self._how)
        self.usage, self.took = reranked.usage, reranked.took
        if reranked.places is None:
            self.note = f"rerank: {reranked.reason}; kept the fused order"
            return list(ranked)
        if not reranked.places:
            self.none_fits = self._how.may_empty
            self.note = f"rerank: none of {len(passages)} fits{'' if self.none_fits else '; kept the fused order'}"
        return _promoted(ranked, passages, reranked.places)


def _passage(found: Found, drawer: Drawer, text: str) -> Passage:
    return Passage(
        space=found.space,
        drawer=drawer.number,
        pointer=drawer.pointer,
        session=drawer.session,
        speaker=drawer.speaker or drawer.role,
        said_at=drawer.said_at,
        text=text,
        score=round(found.score, 4),
    )


def _promoted(ranked: Sequence[Found], passages: Sequence[Passage], places: Places) -> list[Found]:
    """With a score `rerank`: 1 over the place that a candidate was named at, 0 for those given and not named."""
    keys = [(passage.space, passage.drawer) for passage in passages]
    scores = dict.fromkeys(keys, 0.0) | {keys[place]: 1 / number for number, place in enumerate(places, start=1)}
    marked = [_marked(found, scores) for found in ranked]
    return sorted(marked, key=lambda found: -found.scores.get("rerank", 0.0))


def _marked(found: Found, scores: Mapping[tuple[str, int], float]) -> Found:
    score = scores.get(selection.key(found))
    return found if score is None else found._replace(scores={**found.scores, "rerank": score})
