"""Incoming turns: validated, identified, and cut into searchable pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from langmem_tiers import arguments
from langmem_tiers.clock import require_aware, to_millis
from langmem_tiers.content import content_hash
from langmem_tiers.errors import InvalidInput, InvalidText, TextTooLong
from langmem_tiers.knowledge import validation
from langmem_tiers.language.first_person import PREFERS, TELLS, prefers, statements, tells
from langmem_tiers.language.quotations import own_words
from langmem_tiers.language.tags import tags
from langmem_tiers.models.chunking import split
from langmem_tiers.settings import TextSettings
from langmem_tiers.storage.drawers import NewDrawer
from langmem_tiers.trust import secrets
from langmem_tiers.types import Origin, RejectedTurn, Role, Turn
from langmem_tiers.wording import type_of

Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class IncomingTurn:
    """A turn ready to be stored, with its identity: message id and content hash."""

    turn: Turn
    message_id: str
    content_hash: bytes
    said_at: datetime


def read(
    turns: Iterable[Turn], settings: TextSettings, now: datetime, *, masked: bool = True
) -> tuple[list[IncomingTurn], list[RejectedTurn]]:
    """The valid turns, with their secrets `masked`, and the invalid ones with the reason."""
    accepted: list[IncomingTurn] = []
    rejected: list[RejectedTurn] = []
    seen: Counter[bytes] = Counter()
    for place, turn in enumerate(turns):
        arguments.instance(turn, f"turns[{place}]", Turn, "a langmem_tiers.Turn")
        try:
            accepted.append(_incoming(turn, settings, now, seen, masked))
        except InvalidInput as error:
            rejected.append(RejectedTurn(turn=turn, error=error))
    return accepted, rejected


def new_drawer(incoming: IncomingTurn, settings: TextSettings) -> NewDrawer:
    """The drawer of a turn, with its tags and chunks."""
    turn = incoming.turn
    told = statements_of(turn.content, role=turn.role, origin=turn.origin, speaker=turn.speaker)
    limit = settings.chunk_characters
    spans = dict.fromkeys((*split(turn.content, limit), *cut(turn.content, told, limit)))
    return NewDrawer(
        message_id=incoming.message_id,
        role=turn.role,
        origin=turn.origin or turn.role,
        speaker=turn.speaker,
        content=turn.content,
        content_hash=incoming.content_hash,
        tags=tags(turn.content, speaker=turn.speaker, said_at=incoming.said_at),
        states=states(turn.content, told),
        said_at=to_millis(incoming.said_at),
        chunks=tuple((*span, text_hash(turn.content, span, speaker=turn.speaker)) for span in spans),
    )


def statements_of(content: str, *, role: str, origin: str | None, speaker: str | None) -> tuple[Span, ...]:
    """Spans in which people speak about themselves: users and named speakers; an assistant's "I" is only a phrase.

    What a user only quotes is somebody else's.
    """
    if role == "user":
        return () if origin == "quoted" else statements(own_words(content))
    return statements(content) if speaker else ()


def cut(content: str, spans: Iterable[Span], limit: int) -> tuple[Span, ...]:
    """The spans, split into pieces of at most `limit` characters."""
    return tuple(
        (start + first, start + last) for start, stop in spans for first, last in split(content[start:stop], limit)
    )


def states(content: str, spans: Iterable[Span]) -> int:
    """The classes of statements in a message, as bits from language/first_person.py."""
    stated = [sentence for span in spans if tells(sentence := content[slice(*span)])]
    return (TELLS if stated else 0) | (PREFERS if any(map(prefers, stated)) else 0)


def embedded_text(speaker: str | None, piece: str) -> str:
    """The text to embed for a piece: a named speaker is part of what was said."""
    return f"{speaker}: {piece}" if speaker else piece


def text_hash(content: str, span: Span, *, speaker: str | None) -> bytes:
    """The hash of the embedded text of a piece."""
    return content_hash(embedded_text(speaker, content[slice(*span)]))


def _incoming(turn: Turn, settings: TextSettings, now: datetime, seen: Counter[bytes], masked: bool) -> IncomingTurn:
    if turn.role not in get_args(Role):
        raise InvalidInput(f"{turn.role!r} is no role.", way_out=f"A role is one of {', '.join(get_args(Role))}.")
    if turn.origin is not None and turn.origin not in get_args(Origin):
        raise InvalidInput(f"{turn.origin!r} is no origin.", way_out=f"It is one of {', '.join(get_args(Origin))}.")
    _require_storable(turn.content, settings.max_characters)
    for given, what in ((turn.message_id, "message id"), (turn.speaker, "speaker")):
        _require_name(given, what)
    if masked:
        # Masked before anything is derived: the hash of a text with a short secret would give it away.
        turn = _masked(turn)
    who_said_what = content_hash(f"{turn.role}\0{turn.speaker or ''}\0{turn.content}")
    seen[who_said_what] += 1
    return IncomingTurn(
        turn=turn,
        # Without an id from the caller, a turn is identified by speaker, text and number of repetitions.
        message_id=turn.message_id or f"~{who_said_what.hex()}-{seen[who_said_what]}",
        content_hash=content_hash(turn.content),
        said_at=now if turn.said_at is None else require_aware(turn.said_at, "time of the turn"),
    )


# Hashes of messages that hold no secrets: a host gives all of a conversation each time that it grows.
_harmless: set[bytes] = set()
_MOST_HARMLESS = 10_000


def _masked(turn: Turn) -> Turn:
    """A turn with its secrets masked."""
    known = content_hash(f"{turn.speaker or ''}\0{turn.content}")
    if known in _harmless:
        return turn
    speaker = turn.speaker and secrets.mask(turn.speaker)
    masked = replace(turn, content=secrets.mask(turn.content), speaker=speaker)
    if masked == turn:
        if len(_harmless) >= _MOST_HARMLESS:
            _harmless.clear()
        _harmless.add(known)
    return masked


def _require_storable(text: str, most: int) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidText("The turn has no text.", way_out="Leave turns without text out.")
    if len(text) > most:
        raise TextTooLong(f"The turn has {len(text):,} characters; the limit is {most:,}.")
    validation.require_unicode(text, "turn's text")


def _require_name(given: str | None, what: str) -> None:
    if given is not None and not isinstance(given, str):
        raise InvalidInput(f"{type_of(given)} is no {what}.", way_out="Give a text, or None.")
    validation.require_unicode(given or "", f"turn's {what}")
