"""Recall: turns a user message into the block that goes before the model, with a receipt of how it was built."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Protocol

from langmem_tiers import replies
from langmem_tiers.clock import to_millis
from langmem_tiers.columns import records
from langmem_tiers.errors import DatabaseLocked, DiskFull, InvalidVector, ServerUnreachable
from langmem_tiers.knowledge import standing
from langmem_tiers.language.needs import asks_for_all, has_best
from langmem_tiers.language.questions import asked_conversations
from langmem_tiers.models.reranker import SOURCE
from langmem_tiers.pointers import beside
from langmem_tiers.recall import (
    about,
    candidates,
    conversations,
    derived_hits,
    graph_channel,
    own_messages,
    rendering,
    selection,
    unheard,
)
from langmem_tiers.recall.candidates import ByWords, FoundDrawer
from langmem_tiers.recall.derived_hits import AskedFor, DerivedHit
from langmem_tiers.recall.graph_channel import Related
from langmem_tiers.recall.keeping import ReceiptKeeping, with_outcome, without_number
from langmem_tiers.recall.own_messages import OwnMessages
from langmem_tiers.recall.recalled_early import early
from langmem_tiers.recall.request import Query, RecallRequest, parse, says_nothing, searched
from langmem_tiers.recall.rerank_step import RerankStep
from langmem_tiers.recall.selection import Before, Chosen
from langmem_tiers.recall.sources import (
    Key,
    Look,
    RecallSource,
    SpaceSnapshot,
    by_source,
    read_drawers,
    read_texts,
    snapshots,
)
from langmem_tiers.recall.telemetry import Stopwatch, traced
from langmem_tiers.storage import drawers, receipts
from langmem_tiers.storage.calls import RecallCall
from langmem_tiers.storage.receipts import KeptRecall, Shown
from langmem_tiers.storage.trips import one_trip
from langmem_tiers.trust import secrets
from langmem_tiers.types import (
    Candidate,
    CandidateVerdict,
    Drawer,
    KnownVerdict,
    Recalled,
    RecalledItem,
    RecallVerdict,
    Receipt,
)

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.models.guarded_embedder import QueryVector
    from langmem_tiers.settings import Settings
    from langmem_tiers.storage.embedding_cache import Vectors

# The share of a block's tokens for derived memories.
_KNOWN_SHARE = 0.4
# Seconds for which a snapshot is kept while the vector is made.
_PATIENCE = 0.1
# Verdicts on what would fit; of a list, what is less near than the rest may belong to it as well.
_LEFT_OUT = frozenset({"over_limit", "over_budget"})
_LEFT_OUT_OF_LISTS = _LEFT_OUT | {"below_best"}
# So many standing facts answer "what do you know about me" by themselves.
_ANSWERED = 4
_NO_VECTORS = "vectors: "
_GENERAL = "anybody might write this message: only what is close to it by meaning is looked at"
# Verdicts on what the model has before it.
_HAS = frozenset({"in_window", "already_shown"})


class QueryEmbedder(Protocol):
    """Embeds a query, or says why it cannot now."""

    def query(self, text: str) -> QueryVector:
        """The vector, or None and a note for the receipt."""

    def begin(self, text: str) -> Future[QueryVector] | None:
        """The same, while the caller does something else; None if that cannot be, or saves nothing."""


@contextmanager
def embedding(context: SpaceContext, message: str) -> Iterator[Future[QueryVector] | None]:
    """Within the block, the vector of a message is on the way that is recalled for in it."""
    settings, text = context.settings, searched(message)
    wanted = settings.enabled and not says_nothing(text, settings.recall.trivial_words)
    # Held until the end of the block: `begin` gives what is held again.
    begun = None if not wanted else context.embedder.begin(_kept(settings, text))
    yield begun


def _kept(settings: Settings, message: str) -> str:
    """A message without its secrets, where the settings want that."""
    return message if settings.privacy.drawers == "keep" else secrets.mask(message)


def recall(
    context: SpaceContext,
    request: RecallRequest,
    *,
    count_tokens: Callable[[str], int] | None = None,
) -> Recalled:
    """What a space and its fallbacks hold on a message, with a span, metrics and a log record."""
    if not (context.settings.enabled and request.settings.enabled):
        return _off(context, request)

    def recalled() -> Recalled:
        with replies.running(), embedding(context, request.query), ExitStack() as stack:
            spaces = context.sources()
            sources = [RecallSource(store=stack.enter_context(each.open())) for each in spaces]
            left_out = {each.name for each in context.fallbacks} - {each.name for each in spaces}
            notes = [f"fallback {name}: left out, no role there" for name in sorted(left_out)]
            return Recall(context, request, sources, count_tokens=count_tokens, notes=notes, still_open=stack).run()

    return traced(context.name, recalled)


@dataclass(frozen=True, kw_only=True)
class _FoundByWords:
    """What is found without the vector by source.

    Relations, what is known that the message asks for, its keyword hits, and the user's messages that it needs.
    """

    related: dict[str, list[Related]]
    asked: dict[str, AskedFor]
    said: dict[str, ByWords]
    own: dict[str, OwnMessages]

    def read_ahead(self, sources: Sequence[SpaceSnapshot]) -> None:
        """Read the texts of the keyword hits: most are looked at when the vector is there."""
        read_texts(sources, [(space, number) for space, found in self.said.items() for number in found.hits])


@dataclass(kw_only=True)
class RecallResult:
    """The content of a block and a receipt: messages, as items and lines, and derived memories."""

    verdict: RecallVerdict
    ranked: list[FoundDrawer] = field(default_factory=list)
    chosen: Chosen = field(default_factory=Chosen)
    items: list[RecalledItem] = field(default_factory=list)
    known: list[tuple[DerivedHit, KnownVerdict]] = field(default_factory=list)
    known_items: list[tuple[DerivedHit, int]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    several: bool = False
    best_first: bool = False

    @property
    def block(self) -> str:
        """The block of these lines; an empty string if there are none."""
        header = rendering.header(known=bool(self.known_items), best_first=self.best_first)
        return rendering.render(self.lines, header + rendering.MORE if self._is_part() else header)

    def _is_part(self) -> bool:
        """Whether something that fits was left out."""
        verdicts = [*self.chosen.verdicts.values(), *(verdict for _, verdict in self.known)]
        left_out = _LEFT_OUT_OF_LISTS if self.several else _LEFT_OUT
        return not left_out.isdisjoint(verdicts)


class Recall:
    """One recall of one message; `run` carries it out. `query` is the message, `vector` what was searched with."""

    def __init__(
        self,
        context: SpaceContext,
        request: RecallRequest,
        sources: Sequence[RecallSource],
        *,
        embedder: QueryEmbedder | None = None,
        count_tokens: Callable[[str], int] | None = None,
        notes: Sequence[str] = (),
        still_open: ExitStack | None = None,
    ) -> None:
        self._context = context
        # What keeps the sources open, for a receipt that is stored behind the reply.
        self._open = still_open or ExitStack()
        self.query = query = parse(request.query, request.settings.trivial_words)
        self.vector: Vectors | None = None
        asked = asked_conversations(query.text, request.now.date()) if request.selective else None
        several = asked is not None or (query.several and request.selective)
        self._conversations, self._request = asked, request.for_list() if several else request
        self._times = selection.times_asked(query, self._request)
        self._own = sources[0].store
        self._sources = sources
        self._embedder = embedder or context.embedder
        self._count = count_tokens or context.count_tokens
        self._rerank = RerankStep(context.reranker, self._request)
        self._notes: list[str] = [*notes]
        self._watch = Stopwatch()
        # Of the spaces, how often something had been deleted when the recall began.
        self._deletions: list[int] = []
        # The newest recall that was stored for the same call, but is not to be given again; None: none is.
        self._not_again = 0 if request.until is None else None
        self._call = _call(request, query)

    def run(self) -> Recalled:
        """Search, choose, render and store the receipt; repeating the call gives the same block."""
        with self._look() as look:
            self._deletions = [source.deletions for source in look.sources]
            kept = self._repeatable(look.sources[0].call.made_before)
            if kept is not None:
                return self._repeated(look.sources, kept)
            result = self._result(look)
        return self._finish(result)

    def result(self) -> RecallResult:
        """Search and choose, and leave no trace."""
        with self._look() as look:
            return self._result(look)

    def _look(self) -> Look:
        return Look(self._sources, self._request.until, self._call)

    def _result(self, look: Look) -> RecallResult:
        if self.query.trivial:
            return RecallResult(verdict="trivial")
        found = self._embed(look)
        vector = self.vector
        ranked = self._find(look.sources, vector, found)
        known = self._find_known(look.sources, vector, found.asked, ranked)
        before = self._before(look.sources, ranked)
        if self._rerank.reranker is not None:
            passages = self._rerank.passages(look.sources, ranked, before, self.query, vector)
            if passages:
                # The records are read again for changes that were made while the reranker was asked.
                with self._watch.stage("rerank"), look.left():
                    ranked = self._rerank.rank(self.query.text, ranked, passages)
                self._note(self._rerank.note)
                ranked = candidates.standing(look.sources, ranked)
                asked = self._asked_for(look.sources, self._related(look.sources))
                known = self._find_known(look.sources, vector, asked, ranked)
                before = self._before(look.sources, ranked)
        return self._choose(look.sources, ranked, known, before, vector)

    def _embed(self, look: Look) -> _FoundByWords:
        """Set the vector, and find meanwhile what needs none, unless the vector takes long: no transaction waits."""
        asked = self._embedder.begin(self.query.text)
        found = None if asked is None else self._find_by_words(look.sources)
        seen, altered = look.state, any(source.withheld for source in look.sources)
        with self._watch.stage("embed"):
            if found is not None and asked is not None and not asked.done():
                found.read_ahead(look.sources)
            if asked is None or not wait([asked], _PATIENCE).done:
                with look.left():
                    answer = self._embedder.query(self.query.text) if asked is None else asked.result()
                if look.state != seen or altered:  # what was found may not hold any more; receipts are no changes
                    found = None
            else:
                answer = asked.result()
        self.vector, note = answer
        self._note(note)
        return self._find_by_words(look.sources) if found is None else found

    def _find_by_words(self, sources: Sequence[SpaceSnapshot]) -> _FoundByWords:
        related, said, own = self._related(sources), dict[str, ByWords](), dict[str, OwnMessages]()
        if "drawers" in self._request.settings.layers and self._conversations is None:
            with self._watch.stage("keyword"):
                own = {source.name: own_messages.find(source, self.query, self._request) for source in sources}
                said = {source.name: candidates.by_words(source, self.query, self._request) for source in sources}
        return _FoundByWords(related=related, asked=self._asked_for(sources, related), said=said, own=own)

    def _note(self, note: str | None) -> None:
        if note:
            self._notes.append(note)

    def _repeatable(self, kept: KeptRecall | None) -> KeptRecall | None:
        """The receipt of the same call, if it is to be given again."""
        if kept is None or self._is_repeatable(kept):
            return kept
        self._not_again = kept.receipt.number
        return None

    def _is_repeatable(self, kept: KeptRecall) -> bool:
        """Whether it shows nothing of a space that is no longer read: that must not be shown again."""
        read = {source.store.name for source in self._sources}
        return all(space in read for space, *_ in kept.shown)

    def _related(self, sources: Sequence[SpaceSnapshot]) -> dict[str, list[Related]]:
        """The relations that the graphs hold on those the message names."""
        with self._watch.stage("graph"):
            return {source.name: graph_channel.find(source, self.query, self._request) for source in sources}

    def _asked_for(
        self, sources: Sequence[SpaceSnapshot], related: Mapping[str, Sequence[Related]]
    ) -> dict[str, AskedFor]:
        """What is known that the message asks for, unless that is turned off or conversations are asked for."""
        if self._conversations is not None or not self._request.settings.knowledge:
            return {}
        with self._watch.stage("knowledge"):
            return {
                source.name: derived_hits.asked_for(source, self.query, self._request, related[source.name])
                for source in sources
            }

    def _find(
        self, sources: Sequence[SpaceSnapshot], vector: Vectors | None, by_words: _FoundByWords
    ) -> list[FoundDrawer]:
        if "drawers" not in self._request.settings.layers:
            return []
        if self._conversations is not None:
            with self._watch.stage("look_up"):
                return conversations.find(sources, self._conversations, self._request)
        behind = {space: graph_channel.drawers_behind(found) for space, found in by_words.related.items()}
        try:
            told = {each.name: own_messages.with_nearest(each, by_words.own[each.name], vector) for each in sources}
            then = {each.name: conversations.within(each, self._times) for each in sources} if self._times else {}
            derived_hits.begin(sources, vector, self._request)
            found = candidates.find(
                sources,
                self.query,
                vector,
                self._request,
                watch=self._watch,
                beside=derived_hits.ask_ahead,
                said=by_words.said,
                from_graph=behind,
                needed=told,
                then=then,
            )
        except (InvalidVector, ServerUnreachable) as error:
            self._go_without(vector, error)
            return self._find(sources, None, by_words)
        self._note_unsearched(sources)
        fitting = own_messages.fitting(sources, self.query, self._request, found)
        close = [each for each in fitting if each.signals.get("needed", 0.0) > 0 or self._is_close(each.scores)]
        self._note(_GENERAL if len(close) < len(fitting) else None)
        return close

    def _is_close(self, scores: Mapping[str, float]) -> bool:
        """Whether something with these scores may be shown to a message that anybody might write."""
        gate = self.query.impersonal and self._request.selective
        return not gate or scores.get("vector", 0.0) >= own_messages.CLOSE

    def _note_unsearched(self, sources: Sequence[SpaceSnapshot]) -> None:
        """Note in how many messages only words were looked for."""
        for source in sources:
            if waiting := sum(source.drawers_at.unsearched.values()):
                self._note(f"{_NO_VECTORS}{waiting:,} messages of {source.name} are not on the Chroma server yet.")

    def _go_without(self, vector: Vectors | None, error: InvalidVector | ServerUnreachable) -> None:
        """Note that vectors could not be searched."""
        if vector is None:  # it is not the vectors' server that does not answer
            raise error
        if not any(each.startswith(_NO_VECTORS) for each in self._notes):
            self._note(f"{_NO_VECTORS}{error.message}")

    def _find_known(
        self,
        sources: Sequence[SpaceSnapshot],
        vector: Vectors | None,
        asked: Mapping[str, AskedFor],
        ranked: Sequence[FoundDrawer],
    ) -> list[DerivedHit]:
        if not self._request.settings.knowledge:
            return []
        with self._watch.stage("knowledge"):
            found = self._derived(sources, vector, asked, ranked)
        close = (each for each in found if each.needed or self._is_close(each.scores))
        return [each for each in close if derived_hits.LAYERS[each.kind] in self._request.settings.layers]

    def _derived(
        self,
        sources: Sequence[SpaceSnapshot],
        vector: Vectors | None,
        asked: Mapping[str, AskedFor],
        ranked: Sequence[FoundDrawer],
    ) -> list[DerivedHit]:
        if self._conversations is not None:
            sessions = dict.fromkeys((found.space, found.facts.session) for found in ranked)
            return derived_hits.summaries(sources, sessions, self._request)
        try:
            return derived_hits.find(sources, self.query, vector, self._request, asked)
        except (InvalidVector, ServerUnreachable) as error:
            self._go_without(vector, error)
            return derived_hits.find(sources, self.query, None, self._request, asked)

    def _before(self, sources: Sequence[SpaceSnapshot], ranked: Sequence[FoundDrawer]) -> Before:
        """What the model has before it, and which candidates ask the same again."""
        shown, window = self._seen(sources[0])
        with self._watch.stage("choose"):
            again = selection.asked_again(sources, ranked, self.query)
        return Before(shown=shown, window=window, query_hash=self.query.content_hash, asked_again=again)

    def _seen(self, own: SpaceSnapshot) -> tuple[Collection[tuple[str, int | str]], Collection[int] | None]:
        """What the session has been shown, and the messages in the window: now, or before an earlier recall."""
        request = self._request
        if request.repeats is None:
            return own.call.shown, own.call.window
        if request.session is None:
            return (), ()
        at = (own.connection, own.key, request.session)
        shown = receipts.shown_for(*at, but=request.message_id, before=request.repeats)
        return shown, drawers.last_recorded(*at, most=request.window_turns, by=to_millis(request.now))

    def _choose(
        self,
        sources: Sequence[SpaceSnapshot],
        ranked: list[FoundDrawer],
        known: list[DerivedHit],
        before: Before,
        vector: Vectors | None,
    ) -> RecallResult:
        if self._request.selective and _none_is_near(ranked, before) and unheard.is_unheard(sources, self.query):
            return _nothing(ranked, known)
        with self._watch.stage("choose"):
            # Standing facts answer "what do you know about me", not what was said, unless they are few.
            answered = asks_for_all(self.query.needs) and sum(each.needed for each in known) >= _ANSWERED
            none_fits = self._rerank.none_fits or answered
            chosen = selection.choose(sources, ranked, self.query, self._request, before, none_fits=none_fits)
            self._keep_what_says_more(sources, known, chosen)
            ranked = [*ranked, *chosen.added]
            quoted = {found.key: found.score for found in chosen.passed}
            verdicts = derived_hits.choose(
                known,
                self._request,
                before.shown,
                quoted,
                self._told(sources, known, chosen),
                chosen.outside,
                own=self._own.name,
            )
        with self._watch.stage("render"):
            known_items = self._pack_known(known, verdicts)
            waiting = derived_hits.waiting_words(known)
            items, lines = self._pack(sources, chosen, vector, known_items, waiting)
        return RecallResult(
            verdict=_verdict([*items, *known_items], chosen),
            ranked=ranked,
            chosen=chosen,
            items=items,
            known=[(each, verdicts[each.key]) for each in known],
            known_items=known_items,
            lines=[*(each.line for each, _ in known_items), *lines],
            several=self._request.several,
            best_first=has_best(self.query.needs),
        )

    def _keep_what_says_more(
        self, sources: Sequence[SpaceSnapshot], known: Sequence[DerivedHit], chosen: Chosen
    ) -> None:
        """Of the messages on those the message asks all about, keep what says more than the lines on them."""
        answers, of_user = [each for each in known if each.answers], asks_for_all(self.query.needs)
        if not (self.query.about or of_user) or not answers or not self._request.selective:
            return
        said: defaultdict[tuple[str, int], str] = defaultdict(str)
        for each, _ in self._pack_known(
            answers, derived_hits.choose(answers, self._request, (), {}, own=self._own.name)
        ):
            for drawer in each.derived_from:
                said[each.key[0], drawer] += f" {each.text}"
        texts = read_texts(sources, [found.key for found in chosen.passed])
        names = {source.name: about.finder(source, self.query.about or "", self._request) for source in sources}
        passed, chosen.passed = chosen.passed, []
        for found in passed:
            text = texts.get(found.key, "")
            if not (of_user or names[found.space](text)):
                chosen.verdicts[found.key] = "below_best"
            elif found.key in said and not about.says_more(text, said[found.key]):
                chosen.verdicts[found.key] = "duplicate"
            else:
                chosen.passed.append(found)

    def _told(self, sources: Sequence[SpaceSnapshot], known: Sequence[DerivedHit], chosen: Chosen) -> Collection[str]:
        """The messages that the model has or gets, as texts, if anything known may only repeat them."""
        if not any(each.repeats for each in known):
            return ()
        has = [key for key, verdict in chosen.verdicts.items() if verdict in _HAS]
        return read_texts(sources, [*has, *(found.key for found in chosen.passed)]).values()

    def _pack_known(
        self, known: Sequence[DerivedHit], verdicts: dict[derived_hits.Key, KnownVerdict]
    ) -> list[tuple[DerivedHit, int]]:
        """The chosen derived memories that fit their share of the budget, with their tokens."""
        left = int(self._request.token_budget * _KNOWN_SHARE)
        packed: list[tuple[DerivedHit, int]] = []
        for each in known:
            if verdicts[each.key] != "shown":
                continue
            tokens = self._count(each.line + "\n")
            if tokens > left:
                verdicts[each.key] = "over_budget"
            else:
                left -= tokens
                packed.append((each, tokens))
        return packed

    def _pack(
        self,
        sources: Sequence[SpaceSnapshot],
        chosen: Chosen,
        vector: Vectors | None,
        known: Sequence[tuple[DerivedHit, int]],
        waiting: Mapping[Key, Sequence[str]],
    ) -> tuple[list[RecalledItem], list[str]]:
        """Render chosen candidates while they fit the budget; the others get a verdict that says so."""
        best_first = has_best(self.query.needs)
        header = rendering.header(known=bool(known), best_first=best_first) + rendering.MORE
        budget = self._request.token_budget - self._count(rendering.render([""], header))
        budget -= sum(tokens for _, tokens in known)
        most = self._request.item_characters(chosen.of_asked())
        keys, longer_than = [found.key for found in chosen.passed], min(most, default=0)
        for source, numbers in by_source(sources, keys):
            with one_trip(source.connection) as trip:
                trip.ask(source.whole, numbers, vector, longer_than)
                trip.ask(self._over, source, numbers)
        whole = read_drawers(sources, keys, vector, longer_than=longer_than)
        packed = rendering.pack(
            chosen.passed,
            whole,
            terms=self.query.terms,
            budget=budget,
            most=most,
            count=self._count,
            names=chosen.names,
            ended=self._ended(sources, keys, whole.drawers),
            waiting=waiting,
            best_first=best_first,
        )
        chosen.verdicts.update(dict.fromkeys(packed.left_out, "over_budget"))
        self._name_withheld(sources, chosen)
        return packed.items, packed.lines

    def _name_withheld(self, sources: Sequence[SpaceSnapshot], chosen: Chosen) -> None:
        """Say in the receipt which messages were left out because their words are not those that were stored."""
        for source in sources:
            altered = sorted(source.withheld)
            chosen.verdicts.update(dict.fromkeys(((source.name, number) for number in altered), "withheld"))
            self._note(f"withheld: altered words in {source.name}: {altered}" if altered else None)

    def _ended(
        self, sources: Sequence[SpaceSnapshot], keys: Iterable[Key], whole: Mapping[Key, Drawer]
    ) -> Callable[[Key], tuple[str, ...]]:
        """What says that one of these drawers no longer holds; found when asked, as few may fill the block."""
        judged = {source.name: self._over(source, numbers) for source, numbers in by_source(sources, keys)}

        @cache
        def ended(key: Key) -> tuple[str, ...]:
            return judged[key[0]].on(whole[key]) if key in whole else ()

        return ended

    def _over(self, source: SpaceSnapshot, numbers: Collection[int]) -> standing.OfDrawers:
        """What no longer holds of some drawers of a source."""
        return standing.OfDrawers(source.store, source.moment, numbers, self._request.as_of)

    def _finish(self, result: RecallResult) -> Recalled:
        """Store the receipt with what was shown, and book the reranker's usage."""
        if self._context.reranker is not None and self._rerank.took.calls:
            model, took = self._context.reranker.name, self._rerank.took
            self._context.count_usage(SOURCE, model, took, session=self._request.session)
        block = result.block
        receipt = self._receipt(result, tokens=self._count(block) if block else 0)
        known = tuple(each.item(tokens) for each, tokens in result.known_items)
        recalled = Recalled(block=block, items=tuple(result.items), receipt=receipt, known=known)
        if not (self._request.keep_receipt and self._own.writable):
            return recalled
        shown: list[Shown] = [(i.space, i.drawer.number, i.score, i.tokens) for i in result.items]
        shown += [(*each.key, each.score, tokens) for each, tokens in result.known_items]
        return self._keep(recalled, KeptRecall(receipt=receipt, block=block, shown=tuple(shown)))

    def _keep(self, recalled: Recalled, kept: KeptRecall) -> Recalled:
        """What is given, with its receipt, stored or on its way; or what the same call got if that was faster."""
        stores, watch = [each.store for each in self._sources], self._watch
        keeping = ReceiptKeeping(
            self._context,
            stores,
            kept,
            self._call,
            deletions=dict(zip((each.name for each in stores), self._deletions, strict=True)),
            after=self._not_again,
            repeatable=self._is_repeatable,
        )
        try:
            with watch.stage("store"):
                done = keeping.at_once()
        except DatabaseLocked:
            return early(recalled, keeping.later(self._open))
        except DiskFull as error:  # what was found is worth more than a record of it
            return replace(recalled, receipt=without_number(recalled.receipt, error.message))
        if isinstance(done, KeptRecall):
            with snapshots(self._sources) as sources:
                return self._repeated(sources, done)
        receipt = with_outcome(recalled.receipt, done, {})
        return replace(recalled, receipt=replace(receipt, timings=watch.timings()))

    def _receipt(self, result: RecallResult, tokens: int) -> Receipt:
        request = self._request
        return Receipt(
            number=0,
            space=self._own.name,
            session=request.session,
            message_id=request.message_id,
            query=self.query.text,
            at=request.now,
            verdict=result.verdict,
            candidates=self._candidates(result.ranked, result.chosen.verdicts),
            known=tuple(each.candidate(verdict) for each, verdict in result.known),
            timings=self._watch.timings(),
            tokens=tokens,
            notes=tuple(self._notes),
            usage=self._rerank.usage,
            limits=self._request.limits,
        )

    def _candidates(
        self, ranked: Sequence[FoundDrawer], verdicts: Mapping[Key, CandidateVerdict]
    ) -> tuple[Candidate, ...]:
        if not ranked:
            return ()
        spaces, owned, facts, keys, scores, signals, factors, fused = zip(*ranked, strict=True)
        told = zip((each.pointer for each in facts), spaces, owned, strict=True)
        by_field = {
            "space": spaces,
            "drawer": (each.number for each in facts),
            "pointer": (pointer if own else beside(pointer, space) for pointer, space, own in told),
            "session": (each.session for each in facts),
            "scores": scores,
            "signals": signals,
            "factors": factors,
            "score": map(round, fused, repeat(4)),
            "verdict": map(verdicts.get, keys, repeat("shown")),
        }
        return records(Candidate, len(ranked), by_field)

    def _repeated(self, sources: Sequence[SpaceSnapshot], kept: KeptRecall) -> Recalled:
        numbered = [(space, which) for space, which, _, _ in kept.shown if isinstance(which, int)]
        whole = read_drawers(sources, numbered).drawers
        over = self._ended(sources, numbered, whole)
        named = [
            ((space, which), score, tokens) for space, which, score, tokens in kept.shown if isinstance(which, str)
        ]
        known = tuple(derived_hits.again(sources, named))
        items = [
            RecalledItem(
                space=space, drawer=whole[space, which], score=score, tokens=tokens, ended=over((space, which))
            )
            for space, which, score, tokens in kept.shown
            if isinstance(which, int) and (space, which) in whole
        ]
        receipt = replace(kept.receipt, verdict="repeated", timings=self._watch.timings())
        return Recalled(block=kept.block, items=tuple(items), receipt=receipt, known=known)


def _call(request: RecallRequest, query: Query) -> RecallCall:
    """What is to be known of a call before anything is searched; of one that is made again, nothing as it is now."""
    again = request.repeats is not None
    same = request.message_id if request.keep_receipt and request.until is None else None
    return RecallCall(
        session=None if again else request.session,
        message_id=request.message_id,
        same=same,
        query_hash=query.content_hash,
        window=None if again else request.window,
        bare=request.bare,
    )


def _off(context: SpaceContext, request: RecallRequest) -> Recalled:
    """Nothing, and no trace of it: another agent of the same conversation may recall."""
    receipt = Receipt(
        number=0,
        space=context.name,
        session=request.session,
        message_id=request.message_id,
        query=request.query,
        at=request.now,
        verdict="disabled",
    )
    return Recalled(block="", items=(), receipt=receipt)


def _none_is_near(ranked: Sequence[FoundDrawer], before: Before) -> bool:
    """Whether no message comes so near by its meaning that it may tell of something in other words."""
    new = (found for found in ranked if found.key not in before.asked_again)
    return all(found.scores.get("vector", 0.0) < own_messages.NEAR for found in new)


def _nothing(ranked: list[FoundDrawer], known: Sequence[DerivedHit]) -> RecallResult:
    below: CandidateVerdict = "below_threshold"
    chosen = Chosen(verdicts={found.key: below for found in ranked})
    return RecallResult(
        verdict="nothing_found", ranked=ranked, chosen=chosen, known=[(each, "below_threshold") for each in known]
    )


def _verdict(items: Sequence[object], chosen: Chosen) -> RecallVerdict:
    if items:
        return "recalled"
    return "nothing_new" if _HAS & set(chosen.verdicts.values()) else "nothing_found"
