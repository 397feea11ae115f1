"""A turn on its way in: checked and given its identity at once, analysed only when it turns out to be new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from langmem_tiers import arguments
from langmem_tiers.clock import require_aware, to_millis
from langmem_tiers.content import content_hash
from langmem_tiers.embeddings.chunking import split
from langmem_tiers.errors import InvalidInput, InvalidText, TextTooLong
from langmem_tiers.palace.tags import tags
from langmem_tiers.settings import TextSettings
from langmem_tiers.storage.drawers import NewDrawer
from langmem_tiers.trust import secrets
from langmem_tiers.types import Origin, RejectedTurn, Role, Turn
from langmem_tiers.writing import pieces


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """A turn that can be stored, and what tells it from others: its message id and the hash of its content."""

    turn: Turn
    message_id: str
    content_hash: bytes
    said_at: datetime


def read(
    turns: Iterable[Turn], settings: TextSettings, now: datetime, *, masked: bool = True
) -> tuple[list[Wording], list[RejectedTurn]]:
    """The turns that can be stored, their secrets `masked`, and the others with the reason why not."""
    accepted: list[Wording] = []
    rejected: list[RejectedTurn] = []
    seen: Counter[bytes] = Counter()
    for place, turn in enumerate(turns):
        arguments.instance(turn, f"turns[{place}]", Turn, "a langmem_tiers.Turn")
        try:
            accepted.append(_wording(turn, settings, now, seen, masked))
        except InvalidInput as error:
            rejected.append(RejectedTurn(turn=turn, error=error))
    return accepted, rejected


def new_drawer(wording: Wording, settings: TextSettings) -> NewDrawer:
    """The drawer of a wording, with its tags and chunks."""
    turn = wording.turn
    told = pieces.told(turn.content, role=turn.role, speaker=turn.speaker)
    limit = settings.chunk_characters
    spans = dict.fromkeys((*split(turn.content, limit), *pieces.cut(turn.content, told, limit)))
    return NewDrawer(
        message_id=wording.message_id,
        role=turn.role,
        origin=turn.origin or turn.role,
        speaker=turn.speaker,
        content=turn.content,
        content_hash=wording.content_hash,
        tags=tags(turn.content, speaker=turn.speaker, said_at=wording.said_at),
        states=pieces.states(turn.content, told),
        said_at=to_millis(wording.said_at),
        chunks=tuple((*span, pieces.text_hash(turn.content, span, speaker=turn.speaker)) for span in spans),
    )


def _wording(turn: Turn, settings: TextSettings, now: datetime, seen: Counter[bytes], masked: bool) -> Wording:
    if turn.role not in get_args(Role):
        raise InvalidInput(f"{turn.role!r} is no role.", way_out=f"A role is one of {', '.join(get_args(Role))}.")
    if turn.origin is not None and turn.origin not in get_args(Origin):
        raise InvalidInput(f"{turn.origin!r} is no origin.", way_out=f"It is one of {', '.join(get_args(Origin))}.")
    _require_storable(turn.content, settings.max_characters)
    for given, what in ((turn.message_id, "message id"), (turn.speaker, "speaker")):
        _require_name(given, what)
    if masked:
        # Before anything is derived from it: the hash of a text with a short secret in it would give that away.
        turn = replace(turn, content=secrets.mask(turn.content))
    who_said_what = content_hash(f"{turn.role}\0{turn.speaker or ''}\0{turn.content}")
    seen[who_said_what] += 1
    return Wording(
        turn=turn,
        # Without an id from the caller, who said what and how often it came stand in for one.
        message_id=turn.message_id or f"~{who_said_what.hex()}-{seen[who_said_what]}",
        content_hash=content_hash(turn.content),
        said_at=now if turn.said_at is None else require_aware(turn.said_at, "time of the turn"),
    )


def _require_storable(text: str, most: int) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidText("The turn has no text.", way_out="Leave turns without text out.")
    if len(text) > most:
        raise TextTooLong(f"The turn has {len(text):,} characters; the limit is {most:,}.")
    _require_unicode(text, "text")


def _require_name(given: str | None, what: str) -> None:
    if given is not None and not isinstance(given, str):
        raise InvalidInput(f"A {type(given).__name__} is no {what}.", way_out="Give a text, or None.")
    _require_unicode(given or "", what)


def _require_unicode(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(f"The turn's {what} holds a lone surrogate at character {error.start}.") from None
