"""Recall: from a user message to the block that goes before the model, with a receipt of how it came about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidVector
from langmem_tiers.recall import asked_again, candidates, fallback, knowing, packing, relating, rendering, selection
from langmem_tiers.recall.candidates import Found
from langmem_tiers.recall.knowing import Key, Known
from langmem_tiers.recall.packing import Packer
from langmem_tiers.recall.query import parse
from langmem_tiers.recall.request import RecallRequest
from langmem_tiers.recall.rerank import Passage
from langmem_tiers.recall.rerank_step import RerankStep
from langmem_tiers.recall.selection import Before, Chosen
from langmem_tiers.recall.sources import OwnSource, Snapshot, Source, snapshots
from langmem_tiers.recall.stopwatch import Stopwatch
from langmem_tiers.storage import drawers, receipts
from langmem_tiers.storage.receipts import KeptRecall, Shown
from langmem_tiers.storage.usages import Usage
from langmem_tiers.types import (
    Candidate,
    CandidateVerdict,
    KnownVerdict,
    Recalled,
    RecalledItem,
    RecallVerdict,
    Receipt,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.recall.rerank_guard import GuardedReranker
    from langmem_tiers.storage.embedding_cache import Vectors

Related = dict[str, list[relating.Related]]
# Of a block's tokens, what is known may take so many.
_KNOWN_SHARE = 0.4


@dataclass(kw_only=True)
class _Result:
    """What goes into a block and a receipt: messages, as items and lines, and what is known beside them."""

    verdict: RecallVerdict
    ranked: list[Found] = field(default_factory=list)
    chosen: Chosen = field(default_factory=Chosen)
    items: list[RecalledItem] = field(default_factory=list)
    known: list[tuple[Known, KnownVerdict]] = field(default_factory=list)
    known_items: list[tuple[Known, int]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


class QueryEmbedder(Protocol):
    """Turns a query into a vector, or says why it can not now."""

    def query(self, text: str) -> tuple[Vectors | None, str | None]:
        """The vector, or None and a note for the receipt."""


class Recall:
    """One recall of one message; `run` carries it out."""

    def __init__(
        self,
        request: RecallRequest,
        sources: Sequence[Source],
        *,
        own: OwnSource,
        embedder: QueryEmbedder,
        count_tokens: Callable[[str], int],
        receipts_kept: int,
        reranker: GuardedReranker | None = None,
        count_rerank: Callable[[Usage], None] | None = None,
    ) -> None:
        self._request = request
        self._own = own
        self._sources = (own, *sources)
        self._embedder = embedder
        self._count = count_tokens
        self._receipts_kept = receipts_kept
        self._rerank = RerankStep(reranker, request)
        self._count_rerank = count_rerank
        self._query = parse(request.query, request.settings.trivial_words)
        self._notes: list[str] = []
        self._watch = Stopwatch()

    def run(self) -> Recalled:
        """Search, choose, render and keep the receipt; the same call again gives the same block."""
        kept = self._made_before()
        if kept is not None:
            return self._repeated(kept)
        early = self._needless()
        if early is not None:
            return self._finish(_Result(verdict=early))
        vector = self._vector()
        # Embedding may have taken its time: the records are read as they are after it.
        with snapshots(self._sources) as sources:
            related = self._related(sources)
            ranked, known = self._find(sources, vector, related), self._find_known(sources, vector, related)
            passages = self._passages(sources, ranked, vector)
            result = None if passages else self._choose(sources, ranked, known, vector)
        if result is None:
            # No transaction is held while a model is asked, so what has changed meanwhile is looked at again.
            ranked = self._reranked(ranked, passages)
            with snapshots(self._sources) as sources:
                known = self._find_known(sources, vector, self._related(sources))
                result = self._choose(sources, candidates.standing(sources, ranked), known, vector)
        return self._finish(result)

    def _choose(
        self, sources: Sequence[Snapshot], ranked: list[Found], known: list[Known], vector: Vectors | None
    ) -> _Result:
        with self._watch.stage("choose"):
            before = self._before(sources, ranked)
            chosen = selection.choose(ranked, self._request, before, none_fits=self._rerank.none_fits)
            said = {selection.key(found) for found in chosen.passed}
            verdicts = knowing.choose(known, self._request, before.shown, said)
            if "shown" not in verdicts.values():
                ranked, chosen = self._with_fallback(sources[0], ranked, chosen)
        with self._watch.stage("render"):
            known_items = self._pack_known(known, verdicts)
            items, lines = self._pack(sources, chosen, vector, known_items)
        return _Result(
            verdict=_verdict([*items, *known_items], chosen),
            ranked=ranked,
            chosen=chosen,
            items=items,
            known=[(each, verdicts[each.key]) for each in known],
            known_items=known_items,
            lines=[*(each.line for each, _ in known_items), *lines],
        )

    def _passages(self, sources: Sequence[Snapshot], ranked: Sequence[Found], vector: Vectors | None) -> list[Passage]:
        """What the reranker is given, nothing where there is none or it could make no difference."""
        if not self._rerank.wanted:
            return []
        given = self._rerank.given(ranked, self._before(sources, ranked))
        return self._rerank.passages(given, sources, self._query.terms, vector)

    def _reranked(self, ranked: Sequence[Found], passages: Sequence[Passage]) -> list[Found]:
        with self._watch.stage("rerank"):
            reranked = self._rerank.rank(self._query.text, ranked, passages)
        if self._rerank.note:
            self._notes.append(self._rerank.note)
        if self._count_rerank is not None and self._rerank.took.calls:
            self._count_rerank(self._rerank.took)
        return reranked

    def _related(self, sources: Sequence[Snapshot]) -> Related:
        """What the graphs know of those whom the message names."""
        most = self._request.settings.candidates
        with self._watch.stage("graph"):
            return {source.name: relating.find(source, self._query, self._request, most) for source in sources}

    def _find(self, sources: Sequence[Snapshot], vector: Vectors | None, related: Related) -> list[Found]:
        request = self._request
        told = {space: relating.told(found) for space, found in related.items() if found}
        try:
            return candidates.find(
                sources, self._query, vector, now=request.now, settings=request.settings, watch=self._watch, told=told
            )
        except InvalidVector as error:
            self._notes.append(f"vectors: {error.message}")
            return self._find(sources, None, related)

    def _find_known(self, sources: Sequence[Snapshot], vector: Vectors | None, related: Related) -> list[Known]:
        with self._watch.stage("knowledge"):
            try:
                return knowing.find(sources, self._query, vector, self._request, related)
            except InvalidVector:  # noted where the drawers were searched
                return knowing.find(sources, self._query, None, self._request, related)

    def _made_before(self) -> KeptRecall | None:
        if self._request.message_id is None or not self._request.keep_receipt:
            return None
        with self._watch.stage("look_up"), self._own.reading() as connection:
            return self._same_call(connection)

    def _same_call(self, connection: Connection) -> KeptRecall | None:
        request = self._request
        if request.message_id is None:
            return None
        call = (request.session, request.message_id, self._query.content_hash)
        return receipts.same_call(connection, self._own.key, *call)

    def _needless(self) -> RecallVerdict | None:
        if not self._request.settings.enabled:
            return "disabled"
        return "trivial" if self._query.trivial else None

    def _vector(self) -> Vectors | None:
        with self._watch.stage("embed"):
            vector, note = self._embedder.query(self._query.text)
        if note:
            self._notes.append(note)
        return vector

    def _before(self, sources: Sequence[Snapshot], ranked: Sequence[Found]) -> Before:
        """What the window shows, and the blocks of its other messages; of the whole session where none is given."""
        request, own = self._request, sources[0]
        before = Before(query_hash=self._query.content_hash, asked_again=asked_again.find(sources, ranked, self._query))
        if request.session is None and request.window is None:
            return before
        told = None if request.window is None else [each for each in request.window if each not in request.bare]
        call = {"session": request.session, "messages": told, "but": request.message_id}
        shown = receipts.shown_for(own.connection, own.key, **call)  # type: ignore[arg-type]
        window = None
        if request.window is not None:
            window = drawers.of_messages(own.connection, own.key, request.session, request.window)
        return replace(before, shown=shown, window=window)

    def _with_fallback(self, own: Snapshot, ranked: list[Found], chosen: Chosen) -> tuple[list[Found], Chosen]:
        request = self._request
        most = min(request.settings.first_turn_fallback, request.limit)
        nothing = not chosen.passed and _verdict([], chosen) == "nothing_found"
        if not nothing or not request.fallback or not most or request.session is None:
            return ranked, chosen
        found = fallback.first_turn(
            own,
            request.session,
            request.message_id,
            most=most,
            until=request.until,
            query_hash=self._query.content_hash,
        )
        known = {selection.key(candidate) for candidate in found}
        others = [candidate for candidate in ranked if selection.key(candidate) not in known]
        verdicts = {key: verdict for key, verdict in chosen.verdicts.items() if key not in known}
        return [*found, *others], Chosen(passed=found, verdicts=verdicts)

    def _pack_known(self, known: Sequence[Known], verdicts: dict[Key, KnownVerdict]) -> list[tuple[Known, int]]:
        """What is known and passed, with its tokens, while it fits its share of the budget."""
        left = int(self._request.token_budget * _KNOWN_SHARE)
        packed: list[tuple[Known, int]] = []
        for each in known:
            if verdicts[each.key] == "shown":
                tokens = self._count(each.line + "\n")
                if tokens > left:
                    verdicts[each.key] = "over_budget"
                    continue
                left -= tokens
                packed.append((each, tokens))
        return packed

    def _pack(
        self, sources: Sequence[Snapshot], chosen: Chosen, vector: Vectors | None, known: Sequence[tuple[Known, int]]
    ) -> tuple[list[RecalledItem], list[str]]:
        """Render what passed while it fits the budget; what does not fit gets its verdict."""
        taken = self._count(rendering.render([""], _header(chosen, known))) + sum(tokens for _, tokens in known)
        packer = Packer(
            terms=self._query.terms,
            vector=vector,
            budget=self._request.token_budget - taken,
            most=self._request.settings.item_characters,
            count=self._count,
            ended=self._ended(sources, chosen),
        )
        packed = packer.pack(sources, chosen.passed)
        chosen.verdicts.update(dict.fromkeys(packed.left_out, "over_budget"))
        return packed.items, packed.lines

    def _ended(self, sources: Sequence[Snapshot], chosen: Chosen) -> dict[tuple[str, int], list[str]]:
        """What the chosen drawers say that holds no longer, as far as the graph knows."""
        at = to_millis(self._request.now)
        return {
            (source.name, number): [each.text for each in those]
            for source in sources
            for number, those in relating.ended(
                source, [found.facts.number for found in chosen.passed if found.space == source.name], at
            ).items()
        }

    def _finish(self, result: _Result) -> Recalled:
        block = rendering.render(result.lines, _header(result.chosen, result.known_items))
        receipt = self._receipt(result, tokens=self._count(block) if block else 0)
        known = tuple(each.item(tokens) for each, tokens in result.known_items)
        recalled = Recalled(block=block, items=tuple(result.items), receipt=receipt, known=known)
        if not self._request.keep_receipt:
            return recalled
        shown: list[Shown] = [(i.space, i.drawer.number, i.score, i.tokens) for i in result.items]
        shown += [(each.space, each.name, each.score, tokens) for each, tokens in result.known_items]
        kept = self._keep(KeptRecall(receipt=receipt, block=block, shown=tuple(shown)))
        if isinstance(kept, KeptRecall):
            return self._repeated(kept)
        return replace(recalled, receipt=replace(receipt, number=kept, timings=self._watch.timings()))

    def _receipt(self, result: _Result, tokens: int) -> Receipt:
        request = self._request
        return Receipt(
            number=0,
            space=self._own.name,
            session=request.session,
            message_id=request.message_id,
            query=self._query.text,
            at=request.now,
            verdict=result.verdict,
            candidates=tuple(
                _candidate(found, result.chosen.verdicts.get(selection.key(found), "shown")) for found in result.ranked
            ),
            known=tuple(each.candidate(verdict) for each, verdict in result.known),
            timings=self._watch.timings(),
            tokens=tokens,
            notes=tuple(self._notes),
            usage=self._rerank.usage,
        )

    def _keep(self, kept: KeptRecall) -> int | KeptRecall:
        """Its number, or what the same call has kept that was made at the same time and was faster."""
        with self._watch.stage("store"), self._own.writing(durable=False) as connection:
            key = self._own.key
            faster = self._same_call(connection)
            if faster is not None:
                return faster
            number = receipts.put(connection, key, kept, query_hash=self._query.content_hash, most=self._receipts_kept)
            mine = [which for space, which, _, _ in kept.shown if space == self._own.name]
            at = to_millis(self._request.now)
            drawers.count_recalled(connection, key, [which for which in mine if isinstance(which, int)], at)
            knowing.count_recalled(connection, key, [which for which in mine if isinstance(which, str)], at)
        return number

    def _repeated(self, kept: KeptRecall) -> Recalled:
        with snapshots(self._sources) as sources:
            numbered = [(space, which) for space, which, _, _ in kept.shown if isinstance(which, int)]
            whole = packing.read(sources, numbered)
            named = [
                ((space, which), score, tokens) for space, which, score, tokens in kept.shown if isinstance(which, str)
            ]
            known = tuple(knowing.again(sources, named))
        items = [
            RecalledItem(space=space, drawer=whole[space, which], score=score, tokens=tokens)
            for space, which, score, tokens in kept.shown
            if isinstance(which, int) and (space, which) in whole
        ]
        receipt = replace(kept.receipt, verdict="repeated", timings=self._watch.timings())
        return Recalled(block=kept.block, items=tuple(items), receipt=receipt, known=known)


def _header(chosen: Chosen, known: Sequence[object]) -> str:
    if known:
        return rendering.KNOWN_HEADER
    by_fallback = any("fallback" in found.scores for found in chosen.passed)
    return rendering.FALLBACK_HEADER if by_fallback else rendering.HEADER


def _verdict(items: Sequence[object], chosen: Chosen) -> RecallVerdict:
    if items:
        return "recalled"
    before_the_model = {"in_window", "already_shown"}
    return "nothing_new" if before_the_model & set(chosen.verdicts.values()) else "nothing_found"


def _candidate(found: Found, verdict: CandidateVerdict) -> Candidate:
    return Candidate(
        space=found.space,
        drawer=found.facts.number,
        pointer=found.facts.pointer,
        session=found.facts.session,
        scores=found.scores,
        signals=found.signals,
        factors=found.factors,
        score=round(found.score, 4),
        verdict=verdict,
    )
