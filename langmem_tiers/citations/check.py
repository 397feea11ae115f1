"""Looks up what an answer cites, and whether the model had it before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langmem_tiers import arguments
from langmem_tiers.citations.checked import Citations
from langmem_tiers.citations.mentions import Mention, find_mentions, text_of
from langmem_tiers.citations.types import Citation, CitedKind, Place, UnknownCitation
from langmem_tiers.clock import from_millis
from langmem_tiers.errors import InvalidInput, UnknownReceipt
from langmem_tiers.knowledge.knowledge import Knowledge
from langmem_tiers.pointers import beside, parse_pointer
from langmem_tiers.recall import references
from langmem_tiers.recall.references import NamedMemory
from langmem_tiers.records import Document, Entry, Episode, Relation
from langmem_tiers.storage import drawers, items, receipts, rooms
from langmem_tiers.types import Drawer, Recalled, Receipt

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.space import Space

_MOST = 200
"""So many different citations of one answer are looked up."""
Shown = set[tuple[str, int | str]]
"""Space and number, or kind and id, of what the model had before it."""


def check_citations(
    space: Space,
    answer: Any,
    *,
    receipt: int | Receipt | Recalled | None = None,
    session: str | None = None,
    seen: Iterable[str] = (),
) -> Citations:
    """Check what an answer cites: whether it exists, and whether the model had it before it.

    Args:
        space: The space that the answer was given for; its fallbacks count as well.
        answer: A text, a message of LangChain, or its content blocks.
        receipt: The recall that the answer was given with: what `recall` returned, its receipt, or the number of that.
        session: All that was recalled in this session counts as shown.
        seen: Other texts that the model had before it, such as tool results and `prompt_block()`: what these cite was
            shown, too.

    Without `receipt`, `session` and `seen`, only existence is checked.

    Raises:
        UnknownReceipt: There is no such receipt, or no longer.
        InvalidInput: The answer has no text, or another argument is of the wrong type.

    Example:
        >>> checked = check_citations(alice, "She lives in Porto (§W-001/R-01/D-001).", session="friday")
        >>> checked.render("inline")
        'She lives in Porto (according to what you said on 2 March 2026, §W-001/R-01/D-001).'
    """
    text = text_of(answer)
    if text is None:
        raise arguments.refused(answer, "answer", "a text, a message, or content blocks")
    texts = arguments.texts(seen, "seen")
    checker = _Checker(space, _shown(space, receipt, session), texts)
    if receipt is None and session is None and not texts:
        checker.shown = None
    return checker.check(text)


class _Checker:
    def __init__(self, space: Space, shown: Shown, seen: Iterable[str]) -> None:
        self._context = space.context
        self._space = space
        self.shown: Shown | None = shown
        self._seen = {each.ref for text in seen for each in find_mentions(text)}

    def check(self, text: str) -> Citations:
        """Look up everything that a text cites."""
        places: dict[tuple[CitedKind | None, str], list[Place]] = {}
        for each in find_mentions(text):
            places.setdefault((each.kind, each.ref), []).append((each.start, each.stop))
        found: dict[tuple[str, str], Citation] = {}
        unknown: list[UnknownCitation] = []
        for (kind, ref), where in [*places.items()][:_MOST]:
            known = self._looked_up(Mention(0, 0, kind, ref))
            if known is None:
                unknown.append(UnknownCitation(kind=kind, ref=ref, places=tuple(where)))
                continue
            before = found.get((known.kind, known.ref))
            every = sorted([*where, *(before.places if before else ())])
            found[known.kind, known.ref] = replace(known, places=tuple(every))
        cited = [*found.values()]
        return Citations(
            answer=text,
            found=tuple(each for each in cited if each.shown is not False),
            not_shown=tuple(each for each in cited if each.shown is False),
            unknown=tuple(unknown),
            left_out=max(len(places) - _MOST, 0),
        )

    def _looked_up(self, mention: Mention) -> Citation | None:
        if mention.kind == "session":
            return self._session(mention)
        try:
            if mention.kind == "item":
                return self._item(mention)
            found = references.find(self._context, mention.ref)
        except InvalidInput:  # it names a space that is not read here, or nothing that can be stored
            return None
        if found is None or found.kind == "entity" or (mention.kind or found.kind) != found.kind:
            return None
        name = found.key if found.kind == "message" else f"{found.kind}:{found.key}"
        cited = self._described(found)
        return replace(cited, shown=self._is_shown(found.space, name, mention.ref))

    def _described(self, found: NamedMemory) -> Citation:
        """What is found, as it is cited."""
        record, kind = found.record, found.kind
        assert kind != "entity"
        cited = Citation(kind=kind, ref=found.ref, space=found.space, text=found.text)
        if isinstance(record, Drawer):
            cited = replace(cited, role=record.role, origin=record.origin, speaker=record.speaker)
            cited = replace(cited, said_at=record.said_at, ended=self._drawer_ended(found, record))
        elif isinstance(record, Entry):
            over = Knowledge(self._context.source(found.space)).ended([record])[record.id]
            aside = () if record.active else (f"put aside: {record.reason or 'removed'}",)
            cited = replace(cited, said_at=record.said_at, origin=record.origin, ended=(*aside, *over))
        elif isinstance(record, Episode):
            cited = replace(cited, said_at=record.began_at, text=record.abstract or record.summary)
        elif isinstance(record, Relation):
            cited = replace(cited, said_at=record.recorded_at, origin=record.origin, ended=record.said_later)
        elif isinstance(record, Document):
            cited = replace(cited, said_at=record.updated_at, origin=record.origin)
        return cited

    def _drawer_ended(self, found: NamedMemory, drawer: Drawer) -> tuple[str, ...]:
        own = replace(drawer, pointer=str(replace(parse_pointer(drawer.pointer), space=None)))
        over = self._space.source(found.space).ended([own])[drawer.number]
        return over if drawer.status == "active" else ("edited later", *over)

    def _session(self, mention: Mention) -> Citation | None:
        pointer = parse_pointer(mention.ref)
        try:
            source = self._context.source(pointer.space)
        except InvalidInput:
            return None
        with source.open() as store, store.reading() as connection:
            room = rooms.at_address(connection, store.key, pointer.wing, pointer.room)
            if room is None:
                return None
            shown = [name for space, name in self.shown or () if space == source.name and isinstance(name, int)]
            said = drawers.read(connection, store.key, shown).values()
        known = None if self.shown is None else any(each.session == room.session for each in said)
        begins = str(replace(pointer, space=None))
        seen = any(ref.startswith(f"{begins}/") or ref == begins for ref in self._seen)
        ref = begins if source.name == self._context.name else beside(begins, source.name)
        return Citation(
            kind="session",
            ref=ref,
            space=source.name,
            text=room.session,
            said_at=from_millis(room.opened_at),
            shown=known if not seen or known is None else True,
        )

    def _item(self, mention: Mention) -> Citation | None:
        for source in self._context.sources():
            key = (
                mention.ref if source.name == self._context.name else mention.ref.removesuffix(beside("", source.name))
            )
            with source.open() as store, store.reading() as connection:
                row = items.with_key(connection, store.key, key)
            if row is not None:
                return Citation(
                    kind="item",
                    ref=key if source.name == self._context.name else beside(key, source.name),
                    space=source.name,
                    text=row.value,
                    said_at=from_millis(row.updated_at),
                    shown=self._is_shown(source.name, f"item:{items.ref(row.namespace, row.key)}", mention.ref),
                )
        return None

    def _is_shown(self, space: str, name: int | str, ref: str) -> bool | None:
        return None if self.shown is None else (space, name) in self.shown or ref in self._seen


def _shown(space: Space, receipt: int | Receipt | Recalled | None, session: str | None) -> Shown:
    """What recalls showed: those of a session, and that of a receipt."""
    found: Shown = set()
    if session is not None:
        told = arguments.text(session, "session")
        with space.context.open() as store, store.reading() as connection:
            found |= _whole(receipts.shown_for(connection, store.key, told))
    if isinstance(receipt, Recalled):
        found |= {(each.space, each.drawer.number) for each in receipt.items}
        found |= {(each.space, f"{each.kind}:{each.ref}") for each in receipt.known}
    elif isinstance(receipt, Receipt):
        found |= {(each.space, each.drawer) for each in receipt.candidates if each.verdict == "shown"}
        found |= {(each.space, f"{each.kind}:{each.ref}") for each in receipt.known if each.verdict == "shown"}
    elif receipt is not None:
        found |= _of_receipt(space.context, arguments.whole(receipt, "receipt"))
    return found


def _of_receipt(context: SpaceContext, number: int) -> Shown:
    with context.open() as store, store.reading() as connection:
        shown = receipts.shown_in(connection, store.key, number)
    if shown is None:
        raise UnknownReceipt(f"There is no receipt {number}, or no longer.")
    return _whole(shown)


def _whole(shown: Shown) -> Shown:
    """What was shown, without which piece of it that was."""
    return {(owner, name.rpartition("#")[0] if isinstance(name, str) else name) for owner, name in shown}
