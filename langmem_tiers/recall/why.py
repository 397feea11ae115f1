"""Why a recall showed a memory, or why not: read from its receipt, or found by making the recall again.

A receipt says what became of everything that the recall looked at. What is not in it is looked for once more: the same
stages run on what was stored at that moment, and leave no trace. What has changed since then is said, not guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langmem_tiers.errors import InvalidInput, UnknownMemory, UnknownReceipt
from langmem_tiers.knowledge import standing
from langmem_tiers.knowledge.fallbacks import still_read
from langmem_tiers.knowledge_graph.graph import KnowledgeGraph
from langmem_tiers.palace.lookup import find_drawer
from langmem_tiers.pointers import beside
from langmem_tiers.recall import references, why_words
from langmem_tiers.recall.derived_hits import LAYERS
from langmem_tiers.recall.missed import Missed, Search, missed
from langmem_tiers.recall.pipeline import Recall, RecallResult
from langmem_tiers.recall.references import NamedMemory
from langmem_tiers.recall.request import RecallRequest
from langmem_tiers.recall.sources import RecallSource, snapshots
from langmem_tiers.records import Document, Entity, Entry, Episode, Relation
from langmem_tiers.storage import receipts
from langmem_tiers.storage.change_log import moment
from langmem_tiers.types import Candidate, Drawer, Explanation, KnownCandidate, Receipt, WhyStage
from langmem_tiers.wording import beginning, counted

if TYPE_CHECKING:
    from datetime import datetime

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.settings import RecallLayer
    from langmem_tiers.types import MemoryKind

_KEPT = 50
_LONGEST = 200


def why(context: SpaceContext, number: int | None, of: int | str | None) -> Explanation:
    """Explain a recall, or what became of one memory in it; see `Space.why`."""
    if isinstance(of, str) and not of.strip():
        raise InvalidInput("`of` is blank.", way_out=UnknownMemory.way_out)
    receipt = _receipt(context, number)
    return _whole(context, receipt) if of is None else explain(context, receipt, of)


def explain(context: SpaceContext, receipt: Receipt, of: int | str) -> Explanation:
    """Explain what became of one memory in a recall, also one whose receipt was not kept.

    Raises:
        UnknownMemory: nothing is stored, nor was looked at, that `of` may mean.
        InvalidPointer: `of` points to a room, or into another space.
    """
    named, by_words = _named(context, receipt, of)
    if isinstance(named.record, Entity):
        return _of_entity(context, receipt, named.record, named)
    found = _Explaining(context, receipt).explained(named)
    meant = (f"Taken to mean: {_described(named)}",) if by_words else ()
    return replace(found, sentences=(*meant, *found.sentences))


def _described(named: NamedMemory) -> str:
    """What a memory is, and the beginning of what it says."""
    text = " ".join(named.text.split())
    return f"{named.kind} {named.ref}: {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}"


def _receipt(context: SpaceContext, number: int | None) -> Receipt:
    with context.open() as store, store.reading() as connection:
        if number is not None:
            found = receipts.one(connection, store.key, number)
        else:
            found = next(iter(receipts.latest(connection, store.key, 1)), None)
    if found is None and number is None:
        raise UnknownReceipt(
            f"Nothing was recalled for {context.name} yet.", way_out="Every recall of an agent leaves a receipt."
        )
    if found is None:
        raise UnknownReceipt(f"There is no receipt {number} in {context.name}, or no longer.")
    return found


def _named(context: SpaceContext, receipt: Receipt, of: int | str) -> tuple[NamedMemory, bool]:
    """The memory meant, also where only the receipt still knows it, and whether it was found by its words."""
    found = references.find(context, of) or _looked_at(context, receipt, of)
    if found is not None:
        return found, False
    text = str(of).strip()
    by_words = _in_receipt_by_words(context, receipt, text) or references.find_by_words(context, text)
    if by_words is None or isinstance(of, int) or text.isdecimal():
        raise UnknownMemory(
            f"{beginning(text, 80)!r} is nothing that {context.name} holds or that recall {receipt.number} saw."
        )
    return by_words, True


def _looked_at(context: SpaceContext, receipt: Receipt, of: int | str) -> NamedMemory | None:
    """What only the receipt knows by this name: it is gone, or a store item."""
    name = str(of).strip()
    for each in receipt.candidates:
        if name in {each.pointer, each.pointer.removeprefix("§"), str(each.drawer)}:
            return NamedMemory(space=each.space, kind="message", ref=each.pointer, key=each.drawer)
    for known in receipt.known:
        ref = _ref(context, known)
        if name in {ref, known.ref}:
            return NamedMemory(space=known.space, kind=known.kind, ref=ref, key=known.ref)
    return None


def _in_receipt_by_words(context: SpaceContext, receipt: Receipt, words: str) -> NamedMemory | None:
    """The best of those looked at that holds these words."""
    looked_at: list[Candidate | KnownCandidate] = [*receipt.known, *receipt.candidates]
    found = (_of_candidate(context, each) for each in looked_at)
    return next((each for each in found if words.casefold() in each.text.casefold()), None)


def _of_candidate(context: SpaceContext, each: Candidate | KnownCandidate) -> NamedMemory:
    """What was looked at, as it stands now."""
    source = still_read(context, each.space)
    if isinstance(each, Candidate):
        drawer = None if source is None else find_drawer(source, each.drawer)
        text = "" if drawer is None else drawer.content
        return NamedMemory(
            space=each.space, kind="message", ref=each.pointer, key=each.drawer, text=text, record=drawer
        )
    held = None if source is None else references.with_ref(source, each.kind, each.ref)
    ref = _ref(context, each)
    if held is None:
        return NamedMemory(space=each.space, kind=each.kind, ref=ref, key=each.ref)
    return replace(held, ref=ref)


def _ref(context: SpaceContext, known: KnownCandidate) -> str:
    return known.ref if known.space == context.name else beside(known.ref, known.space)


def _whole(context: SpaceContext, receipt: Receipt) -> Explanation:
    """The recall as a whole, with everything in its receipt."""
    explaining = _Explaining(context, receipt)
    looked_at: list[Candidate | KnownCandidate] = [*receipt.known, *receipt.candidates]
    parts = tuple(explaining.explained(_of_candidate(context, each)) for each in looked_at)
    least = context.settings.recall.trivial_words
    sentences = why_words.whole_words(receipt, parts, threshold=explaining.threshold, least=least)
    return replace(explaining.blank(), threshold=explaining.threshold, parts=parts, sentences=tuple(sentences))


def _of_entity(context: SpaceContext, receipt: Receipt, entity: Entity, named: NamedMemory) -> Explanation:
    """An entity is shown by its relations."""
    source, explaining = context.source(named.space), _Explaining(context, receipt)
    found = (
        references.of_relation(context, each, source.name)
        for each in KnowledgeGraph(source).timeline(entity.id).relations
    )
    parts = tuple(explaining.explained(each) for each in found)
    shown = [each for each in parts if each.shown]
    said = f"An entity is shown by its relations: {len(shown)} of the {len(parts)} of {entity.name} were shown."
    each_said = (f"{each.ref} ({each.text}): {why_words.STAGES[each.stage or 'not_found']}." for each in parts)
    return replace(
        explaining.blank(),
        kind="entity",
        ref=named.ref,
        text=entity.name,
        shown=bool(shown),
        stage="shown" if shown else "not_found",
        sentences=(said, *each_said),
        parts=parts,
    )


class _Explaining:
    """Explains what became of memories in one recall."""

    def __init__(self, context: SpaceContext, receipt: Receipt) -> None:
        self._context, self._receipt = context, receipt
        self._request = _request(context, receipt)
        self.threshold = self._request.threshold

    def blank(self) -> Explanation:
        """An explanation that only says which recall it is about."""
        receipt = self._receipt
        return Explanation(
            receipt=receipt.number,
            space=receipt.space,
            query=receipt.query,
            at=receipt.at,
            session=receipt.session,
            verdict=receipt.verdict,
        )

    def explained(self, named: NamedMemory) -> Explanation:
        """What became of a memory."""
        about = replace(self.blank(), kind=named.kind, ref=named.ref, text=named.text)
        about = replace(about, changed=tuple(self._changed(named)))
        kept = self._kept(named)
        if kept is not None:
            return self._as_kept(about, named, *kept)
        fell = self._fell_before(named)
        if fell is not None:
            stage, reason = fell
            return self._told(about, stage, [reason])
        return self._again(about, named)

    def _kept(self, named: NamedMemory) -> tuple[Candidate | KnownCandidate, int] | None:
        """What the receipt says of it, with its place; of several pieces the one shown, or else the best."""
        if named.kind == "message":
            found = [
                (each, place)
                for place, each in enumerate(self._receipt.candidates, start=1)
                if (each.space, each.drawer) == (named.space, named.key)
            ]
        else:
            found = [
                (each, place)  # type: ignore[misc]
                for place, each in enumerate(self._receipt.known, start=1)
                if (each.space, each.kind, each.ref) == (named.space, named.kind, named.key)
            ]
        return next(iter(sorted(found, key=lambda each: each[0].verdict != "shown")), None)

    def _as_kept(
        self, about: Explanation, named: NamedMemory, kept: Candidate | KnownCandidate, place: int
    ) -> Explanation:
        of_message = isinstance(kept, Candidate)
        about = replace(
            about,
            place=place,
            score=kept.score,
            threshold=self.threshold,
            scores=dict(kept.scores),
            signals=dict(kept.signals) if isinstance(kept, Candidate) else {},
            factors=dict(kept.factors) if isinstance(kept, Candidate) else {},
        )
        many = len(self._receipt.candidates if of_message else self._receipt.known)
        placed = f"It was number {place} of {counted(many, 'message' if of_message else 'known thing')} looked at."
        return self._told(about, kept.verdict, [placed, *self._particulars(named, kept)])

    def _told(self, about: Explanation, stage: WhyStage, reasons: Sequence[str]) -> Explanation:
        """With its stage, and everything that is to say about it."""
        shown = stage == "shown" and not about.repeated
        about = replace(about, stage=stage, shown=shown)
        head = "It was shown." if shown else f"It was not shown. {_capital(why_words.STAGES[stage])}."
        sentences = (
            head,
            *reasons,
            *why_words.limit_words(stage, self._receipt, of_message=about.kind == "message"),
            *why_words.score_words(about, self._receipt),
            why_words.by_channel(about.scores),
            why_words.speaking_for(about.signals, about.factors),
            *about.changed,
        )
        return replace(about, sentences=tuple(filter(None, sentences)))

    def _particulars(self, named: NamedMemory, kept: Candidate | KnownCandidate) -> Iterator[str]:
        """Which other memory a verdict is about."""
        receipt = self._receipt
        if kept.verdict == "already_shown" and receipt.session is not None:
            with self._context.open() as store, store.reading() as connection:
                what = (named.space, _shown_name(named))
                number = receipts.last_showing(connection, store.key, receipt.session, what, before=receipt.number)
            if number is not None:
                yield f"Recall {number} of this session showed it."
        elif kept.verdict in {"quoted_instead", "duplicate"}:
            shown = [each for each in receipt.candidates if each.verdict == "shown" and each.space == named.space]
            for each in shown:
                if each.drawer in _rests_on(named) or self._says_the_same(each, named):
                    yield f"{each.pointer} was shown, which says it."

    def _says_the_same(self, shown: Candidate, named: NamedMemory) -> bool:
        return named.kind == "message" and _of_candidate(self._context, shown).text == named.text

    def _fell_before(self, named: NamedMemory) -> tuple[WhyStage, str] | None:
        """Why it cannot have been a candidate, whatever it says."""
        receipt, settings = self._receipt, self._request.settings
        if receipt.verdict in {"trivial", "disabled"}:
            return "not_looked_up", "The message says too little to look anything up for, or recall was off."
        if named.record is None:
            return "gone", "It is not stored any more, and the receipt does not hold it."
        recorded = self._stored_at(named)
        if recorded is not None and recorded > receipt.at and not isinstance(named.record, Document):
            at = why_words.at_words
            return "recorded_later", f"It was stored on {at(recorded)}, after the recall of {at(receipt.at)}."
        layer = _layer(named.kind)
        if layer not in settings.layers:
            return "layer_off", f"`recall.layers` leaves out {layer} (by the settings of today)."
        if named.kind != "message" and not settings.knowledge:
            return "layer_off", "`recall.knowledge` is 0: only messages were looked at."
        return self._was_over(named)

    def _stored_at(self, named: NamedMemory) -> datetime | None:
        """When it was stored. Ending or withdrawing a relation records it anew, so of one the first belief counts."""
        source = still_read(self._context, named.space)
        if not isinstance(named.record, Relation) or source is None:
            return named.recorded_at
        return min(each.recorded_at for each in KnowledgeGraph(source).history(named.record.id))

    def _was_over(self, named: NamedMemory) -> tuple[WhyStage, str] | None:
        """Whether it no longer stood by the time of the recall, or cannot be judged as it was then."""
        record, at = named.record, self._receipt.at
        if isinstance(record, Drawer) and record.status == "superseded":
            return "superseded", self._superseded(named, record)
        if isinstance(record, Entry | Episode) and record.expires_at is not None and record.expires_at <= at:
            return "expired", f"It was kept until {why_words.at_words(record.expires_at)}."
        if isinstance(record, Entry) and not record.active and record.updated_at <= at:
            return "no_longer_true", _put_aside(record)
        if isinstance(record, Relation) and record.withdrawn and record.recorded_at <= at:
            return "no_longer_true", "It is not believed any more."
        return None

    def _superseded(self, named: NamedMemory, drawer: Drawer) -> str:
        """By what, and whether that was before the recall."""
        source = still_read(self._context, named.space)
        other = None
        if source is not None and drawer.superseded_by is not None:
            other = find_drawer(source, drawer.superseded_by)
        if other is None:
            return "Another message has taken its place."
        if other.recorded_at <= self._receipt.at:
            return f"{other.pointer} had taken its place before the recall."
        kept = f"It was not among the candidates in the receipt, which keeps the best {_KEPT}"
        return f"{kept}; {other.pointer} has taken its place since, so the recall cannot be made again for it."

    def _again(self, about: Explanation, named: NamedMemory) -> Explanation:
        """Make the recall again, as of then, and see what becomes of it."""
        about = replace(about, repeated=True, threshold=self.threshold)
        with ExitStack() as stack:
            spaces = [stack.enter_context(each.open()) for each in self._context.sources()]
            sources = [RecallSource(store=store) for store in spaces]
            request = self._for(named)
            recall = Recall(self._context, request, sources)
            result = recall.result()
            found = _in_result(result, named)
            if found is not None:
                return self._as_repeated(about, found)
            with snapshots(sources, request.until) as taken:
                search = Search(sources=taken, query=recall.query, vector=recall.vector, request=request)
                return self._as_missed(about, missed(search, named))

    def _for(self, named: NamedMemory) -> RecallRequest:
        """The request made again; what is dated later than the recall, but was stored by then, is looked at too."""
        dated = named.record.said_at if isinstance(named.record, Drawer | Entry) else None
        return replace(self._request, until=None) if dated is not None and dated > self._receipt.at else self._request

    def _as_repeated(self, about: Explanation, found: dict[str, Any]) -> Explanation:
        stage, place = found.pop("stage"), found["place"]
        about = replace(about, **found)
        if stage == "shown":
            said = (
                "The receipt does not hold it. Made again on what is stored today, the recall would show it: since then"
                " its vector was made, or the memory or the settings have changed."
            )
            return self._told(about, "not_found", [said])
        kept = f"The receipt keeps only the best {_KEPT}. Made again, the recall puts it at number {place}."
        return self._told(about, stage, [kept])

    def _as_missed(self, about: Explanation, miss: Missed) -> Explanation:
        about = replace(
            about,
            score=None if miss.score is None else round(miss.score, 4),
            scores=miss.scores,
            signals=miss.signals,
            factors=miss.factors,
        )
        again = "The receipt does not hold it; the recall was made again to see why."
        return self._told(about, "not_found", [again, *miss.reasons])

    def _changed(self, named: NamedMemory) -> Iterator[str]:
        """What has become of it since the recall."""
        record, at = named.record, self._receipt.at
        if record is None:
            if still_read(self._context, named.space) is None:
                yield f"{named.space} is no longer read from here."
            elif named.kind != "item":
                yield "It has been deleted since."
            return
        if isinstance(record, Drawer):
            yield from self._changed_drawer(named, record)
        elif isinstance(record, Entry):
            if not record.active and record.updated_at > at:
                yield f"Since then: {_put_aside(record)}"
            elif record.updated_at > at:
                yield f"It has been changed since, on {why_words.at_words(record.updated_at)}."
        elif isinstance(record, Document) and record.updated_at > at:
            yield f"It has been written again since, on {why_words.at_words(record.updated_at)}."
        elif isinstance(record, Relation) and record.recorded_at > at:
            yield f"What is believed of its time has changed since, on {why_words.at_words(record.recorded_at)}."

    def _changed_drawer(self, named: NamedMemory, drawer: Drawer) -> Iterator[str]:
        if drawer.status == "superseded" and self._kept(named) is not None:
            yield "It has been edited since, or its branch was left."
        source = still_read(self._context, named.space)
        if source is None:
            return
        with source.open() as store, store.reading() as connection:
            over = standing.in_drawers(store, moment(connection, store.key), [drawer.number], source.now)
        yield from (f"It no longer holds: {words}." for words in over.get(drawer.number, ()))


def _layer(kind: MemoryKind) -> RecallLayer:
    """The layer of a kind, as settings name it; an entity is shown by its relations."""
    if kind == "message":
        return "drawers"
    return LAYERS["relation" if kind == "entity" else kind]


def _request(context: SpaceContext, receipt: Receipt) -> RecallRequest:
    """The recall of a receipt, to be made again as of then."""
    limits = receipt.limits
    how = context.settings.recall.model_copy(update={"trivial_words": 0, "enabled": True})
    if "knowledge" in limits:
        how = how.model_copy(update={"knowledge": int(limits["knowledge"])})
    given = {name: int(limits[name]) for name in ("limit", "token_budget") if name in limits}
    return RecallRequest.of(
        context.settings,
        settings=how,
        query=receipt.query,
        session=receipt.session,
        message_id=receipt.message_id,
        now=receipt.at,
        until=receipt.at,
        threshold=limits.get("threshold"),
        selective=bool(limits.get("selective", True)),
        repeats=receipt.number,
        **given,
    )


def _in_result(result: RecallResult, named: NamedMemory) -> dict[str, Any] | None:
    """What became of it when the recall was made again; None if it was no candidate."""
    if named.kind == "message":
        key = (named.space, int(named.key))
        for place, found in enumerate(result.ranked, start=1):
            if found.key == key:
                told = {"scores": found.scores, "signals": found.signals, "factors": found.factors}
                stage = result.chosen.verdicts.get(key, "shown")
                return {"stage": stage, "place": place, "score": round(found.score, 4), **told}
        return None
    for place, (known, verdict) in enumerate(result.known, start=1):
        if (known.key[0], known.kind, known.ref) == (named.space, named.kind, named.key):
            return {"stage": verdict, "place": place, "score": known.score, "scores": known.scores}
    return None


def _shown_name(named: NamedMemory) -> int | str:
    """How receipts name it among what they showed."""
    return int(named.key) if named.kind == "message" else f"{named.kind}:{named.key}#0"


def _rests_on(named: NamedMemory) -> frozenset[int]:
    if isinstance(named.record, Entry | Relation):
        return frozenset(each.drawer for each in named.record.evidence)
    return frozenset()


def _put_aside(entry: Entry) -> str:
    """When and why an entry was put aside, and what took its place."""
    by = f"; {entry.successor} took its place" if entry.successor else ""
    return f"It was put aside on {why_words.at_words(entry.updated_at)}: {entry.reason or 'no reason given'}{by}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
