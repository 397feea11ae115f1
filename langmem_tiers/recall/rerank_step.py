"""The reranking step of a recall: selects the passages to send, and reorders the candidates by the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langmem_tiers.models.reranker import LONGEST_QUESTION, Passage, RerankQuery
from langmem_tiers.recall import rendering, selection
from langmem_tiers.recall.candidates import FoundDrawer
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.selection import Before
from langmem_tiers.recall.sources import SpaceSnapshot, read_drawers
from langmem_tiers.storage.usages import Usage

if TYPE_CHECKING:
    from langmem_tiers.models.guarded_reranker import GuardedReranker
    from langmem_tiers.storage.embedding_cache import Vectors


class RerankStep:
    """One call of a reranker; `note`, `usage`, `took` and `none_fits` record its result."""

    def __init__(self, reranker: GuardedReranker | None, request: RecallRequest) -> None:
        self.reranker = reranker if request.rerank and request.settings.rerank.enabled else None
        self._request = request
        self._how = request.settings.rerank
        self.note: str | None = None
        self.usage: dict[str, dict[str, int]] = {}
        self.took = Usage()
        self.none_fits = False

    def passages(
        self,
        sources: Sequence[SpaceSnapshot],
        ranked: Sequence[FoundDrawer],
        before: Before,
        query: Query,
        vector: Vectors | None,
    ) -> list[Passage]:
        """The candidates to send, as the reranker sees them; none if it could not change anything."""
        given = selection.showable(ranked, self._request, before)[: self._how.candidates]
        # A ranking has a first place even if nothing fits: only a relevance judgement can override the threshold.
        judges = self.reranker is not None and self.reranker.judges
        if not judges and not any(each.score >= self._request.threshold for each in given):
            return []
        most = self._how.item_characters
        whole = read_drawers(sources, [found.key for found in given], vector, longer_than=most)
        return [
            Passage(
                space=found.space,
                drawer=drawer.number,
                pointer=drawer.pointer,
                session=drawer.session,
                speaker=drawer.speaker or drawer.role,
                said_at=drawer.said_at,
                text=rendering.excerpt(drawer.content, query.terms, most, whole.nearest.get(found.key)),
                score=round(found.score, 4),
            )
            for found in given
            if (drawer := whole.drawers.get(found.key)) is not None
        ]

    def rank(self, question: str, ranked: Sequence[FoundDrawer], passages: Sequence[Passage]) -> list[FoundDrawer]:
        """The candidates with the named ones first; in their old order if the reranker failed.

        They get a score `rerank`: 1/rank for named candidates, 0 for those sent but not named.
        """
        assert self.reranker is not None
        asked = RerankQuery(text=question[:LONGEST_QUESTION], asked_at=self._request.now)
        reranked = self.reranker.rank(asked, passages, self._how)
        self.usage, self.took = reranked.usage, reranked.took
        if reranked.places is None:
            self.note = f"rerank: {reranked.reason}; kept the fused order"
            return list(ranked)
        if not reranked.places:
            self.none_fits = self._how.may_empty
            self.note = f"rerank: none of {len(passages)} fits{'' if self.none_fits else '; kept the fused order'}"
        scores = {(passage.space, passage.drawer): 0.0 for passage in passages}
        for number, place in enumerate(reranked.places, start=1):
            scores[passages[place].space, passages[place].drawer] = 1 / number
        marked = [
            found._replace(scores={**found.scores, "rerank": scores[found.key]}) if found.key in scores else found
            for found in ranked
        ]
        return sorted(marked, key=lambda found: -found.scores.get("rerank", 0.0))
