"""Receipts: the record of each recall, and what it showed the model."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import Connection, LargeBinary, Text, bindparam, delete, func, insert, not_, or_, select

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.content import WITHHELD
from langmem_tiers.storage import purging
from langmem_tiers.storage.database import engine_of
from langmem_tiers.storage.notes import NoteKind
from langmem_tiers.storage.packed_text import packed, unpacked
from langmem_tiers.storage.schema import receipts
from langmem_tiers.storage.sealed_text import is_intact
from langmem_tiers.storage.statements import Prepared, here
from langmem_tiers.telemetry.logs import say
from langmem_tiers.types import Candidate, KnownCandidate, Receipt

log = logging.getLogger(__name__)

Shown = tuple[str, int | str, float, int]
"""Space, drawer (or the name of something known), score and tokens of an item in a block."""

# Old receipts are dropped now and then, not on every turn.
_PRUNE_EVERY = 32
# Best candidates kept with a receipt: enough to explain it, few enough to write on every turn.
_CANDIDATES_KEPT = 50
_CANDIDATE = tuple(field.name for field in fields(Candidate))
_candidate = attrgetter(*_CANDIDATE)


@dataclass(frozen=True, kw_only=True)
class KeptRecall:
    """A stored recall: its receipt, the rendered bytes and the items in them."""

    receipt: Receipt
    block: str
    shown: tuple[Shown, ...]


# No receipt has such a number.
_NEVER = 1 << 62
# Statements are built once: every recall runs them.
_NEXT = select(func.coalesce(func.max(receipts.c.number), 0) + 1).where(*here(receipts)).scalar_subquery()
_GIVEN = ("space", "session", "message_id", "query_hash", "at", "shown", "block", "body")
_CALL = (
    *here(receipts, message_id=bindparam("message_id"), query_hash=bindparam("query_hash")),
    receipts.c.session.is_not_distinct_from(bindparam("session")),
)
KEPT = (receipts.c.number, receipts.c.shown, receipts.c.block, receipts.c.body)
"""As part of a statement: the columns that `kept_of` reads a recall from."""
_SAME_CALL = Prepared(select(*KEPT).where(*_CALL).order_by(receipts.c.number.desc()).limit(1))
# The body is given as it is stored.
_TYPES = {name: receipts.c[name].type for name in _GIVEN} | {"body": LargeBinary()}
_NEW = select(*(bindparam(name, type_=kind) for name, kind in _TYPES.items()), _NEXT).where(
    bindparam("deletions") == purging.LATEST,
    ~select(receipts.c.number).where(*_CALL, receipts.c.number > bindparam("after")).exists(),
)
_PUT = Prepared(insert(receipts).from_select([*_GIVEN, "number"], _NEW).returning(receipts.c.number))
_BUT = bindparam("but", type_=Text)
_SHOWN = Prepared(
    select(receipts.c.shown)
    .where(*here(receipts, session=bindparam("session")), receipts.c.number < bindparam("before"))
    .where(or_(_BUT.is_(None), receipts.c.message_id.is_distinct_from(_BUT)))
)


def put(
    connection: Connection,
    space: str,
    kept: KeptRecall,
    *,
    query_hash: bytes,
    after: int | None,
    deletions: int,
    most: int,
) -> int | None:
    """Store a recall and keep about `most` before it. Returns its number.

    None if the same call was stored with a number `after` this one, should that matter, or something was deleted since
    there had been so many `deletions`: nothing is stored then.
    """
    receipt = kept.receipt
    body = {field.name: getattr(receipt, field.name) for field in fields(Receipt)} | {"at": to_millis(receipt.at)}
    body["candidates"] = [_candidate(found) for found in receipt.candidates[:_CANDIDATES_KEPT]]
    row = {
        "space": space,
        "session": receipt.session,
        "message_id": receipt.message_id,
        "query_hash": query_hash,
        "at": to_millis(receipt.at),
        "shown": orjson.dumps(kept.shown).decode(),
        "block": kept.block,
        "body": packed(orjson.dumps(body, default=dict)),
        "after": _NEVER if after is None else after,
        "deletions": deletions,
    }
    number: int | None = next((number for (number,) in _PUT.rows(connection, **row)), None)
    if number is not None and (others := _others(kept)):
        engine_of(connection).note_shown(connection, others)
    if number is not None and number % _PRUNE_EVERY == 0:
        connection.execute(delete(receipts).where(*here(receipts, space), receipts.c.number <= number - most))
    return number


def same_call(
    connection: Connection, space: str, session: str | None, message_id: str | None, query_hash: bytes
) -> KeptRecall | None:
    """The newest recall made for this message with this text; None if there is none, or no message."""
    call = {"space": space, "session": session, "message_id": message_id, "query_hash": query_hash}
    return next(map(kept_of, _SAME_CALL.rows(connection, **call)), None)


def shown_for(
    connection: Connection, space: str, session: str, *, but: str | None = None, before: int | None = None
) -> set[tuple[str, int | str]]:
    """Space and number, or name, of what the blocks of a session show.

    The block of the message `but` is left out: it is the one being made. With the number of a receipt, only what was
    shown `before` it counts.
    """
    upto = _NEVER if before is None else before
    rows = _SHOWN.rows(connection, space=space, session=session, but=but, before=upto)
    return shown_of(shown for (shown,) in rows)


def shown_of(stored: Iterable[str]) -> set[tuple[str, int | str]]:
    """Space and number, or name, of what these stored lists say was shown."""
    return {(space, name) for each in stored for space, name, _, _ in _shown(each) or ()}


def forget(connection: Connection, space: str, names: Collection[str], *, kind: NoteKind = "entry") -> int:
    """Delete the recalls whose block shows one of these, since it contains their words. Returns how many."""
    # As they stand in the JSON of `shown`.
    stored = [orjson.dumps(f"{kind}:{name}#").decode().removesuffix('"') for name in names]
    shows = [receipts.c.shown.contains(each, autoescape=True) for each in stored]
    return connection.execute(delete(receipts).where(*here(receipts, space), or_(*shows))).rowcount if shows else 0


def drop_altered(connection: Connection, space: str) -> int:
    """Delete the recalls whose block is not as it was stored: it is never shown again. Returns how many."""
    altered = not_(is_intact(receipts.c.block))
    return connection.execute(delete(receipts).where(*here(receipts, space), altered)).rowcount


def latest(
    connection: Connection,
    space: str,
    most: int,
    *,
    session: str | None = None,
    before: int | None = None,
    after: int | None = None,
) -> list[Receipt]:
    """The newest receipts first, of a session or before one if given; with `after`, those behind it, oldest first."""
    given, number = {} if session is None else {"session": session}, receipts.c.number
    within = [] if before is None else [number < before]
    within += [] if after is None else [number > after]
    wanted = select(*KEPT).where(*here(receipts, space, **given), *within)
    wanted = wanted.order_by(number.desc() if after is None else number).limit(most)
    return [kept.receipt for row in connection.execute(wanted) if (kept := kept_of(row)) is not None]


def one(connection: Connection, space: str, number: int) -> Receipt | None:
    """The receipt with a number."""
    row = connection.execute(select(*KEPT).where(*here(receipts, space, number=number))).first()
    kept = None if row is None else kept_of(row)
    return None if kept is None else kept.receipt


def shown_in(connection: Connection, space: str, number: int) -> set[tuple[str, int | str]] | None:
    """Space and number, or name, of what the block of a recall shows; None if there is no such receipt."""
    row = connection.execute(select(receipts.c.shown).where(*here(receipts, space, number=number))).first()
    return None if row is None else {(owner, name) for owner, name, _, _ in _shown(row.shown) or ()}


def block(connection: Connection, space: str, number: int) -> str | None:
    """The block that the recall with this receipt gave, None if there is no such receipt."""
    return connection.execute(select(receipts.c.block).where(*here(receipts, space, number=number))).scalar()


def last_showing(
    connection: Connection, space: str, session: str, what: tuple[str, int | str], *, before: int
) -> int | None:
    """The number of the last recall of a session, before another, that showed this; None if none did."""
    wanted = select(receipts.c.number, receipts.c.shown).where(*here(receipts, space, session=session))
    rows = connection.execute(wanted.where(receipts.c.number < before).order_by(receipts.c.number.desc()))
    shows = (row.number for row in rows if any((space, name) == what for space, name, _, _ in _shown(row.shown) or ()))
    return next(shows, None)


def count(connection: Connection, space: str) -> int:
    """How many recalls were ever stored."""
    return connection.execute(select(func.max(receipts.c.number)).where(*here(receipts, space))).scalar() or 0


def kept_of(row: Sequence[Any]) -> KeptRecall | None:
    """The recall in a row; None, with a warning, if it cannot be read: it is a log of a recall, not a memory."""
    number, listed_items, block, stored = row
    shown = None if block == WITHHELD else _shown(listed_items)
    try:
        body = {**orjson.loads(unpacked(stored)), "number": number}
        body["at"] = from_millis(body["at"])
        found = (dict(zip(_CANDIDATE, values, strict=True)) for values in body["candidates"])
        body["candidates"] = tuple(Candidate(**each) for each in found)
        body["notes"] = tuple(body["notes"])
        body["known"] = tuple(KnownCandidate(**known) for known in body.get("known", ()))
        receipt = Receipt(**body)
    except (ValueError, KeyError, TypeError):
        say(log, logging.WARNING, "unreadable_receipt_skipped", receipt=number)
        return None
    return None if shown is None else KeptRecall(receipt=receipt, block=block, shown=shown)


def names(shown: str, body: str, of: str, numbers: Collection[int]) -> bool:
    """Whether a stored recall, as JSON, shows drawers of the space `of`, or looked at them."""
    return any(each in numbers for each in named_of(shown, body, of))


def note_others(connection: Connection, bodies: Iterable[str]) -> None:
    """Note which other spaces stored recalls, as JSON, show: rows that were not made by `put`."""
    others: set[str] = set()
    for body in bodies:
        try:
            held = orjson.loads(body)
            named = (*(each[0] for each in held["candidates"]), *(each["space"] for each in held.get("known", ())))
            # An import under another name keeps whose recall it was.
            others |= {str(each) for each in (held["space"], *named)}
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            say(log, logging.WARNING, "unreadable_receipt_skipped", characters=len(body))
    if others:
        engine_of(connection).note_shown(connection, others)


def _others(kept: KeptRecall) -> set[str]:
    """The other spaces that a recall shows or looked at."""
    receipt = kept.receipt
    named = {space for space, *_ in kept.shown} | {each.space for each in receipt.known}
    return named.union(each.space for each in receipt.candidates[:_CANDIDATES_KEPT]) - {receipt.space}


def named_of(shown: str, body: str, of: str) -> list[int | str]:
    """The drawers and the names of known things of a space that a stored recall, as JSON, shows or looked at."""
    found: list[int | str] = [name for space, name, _, _ in _shown(shown) or () if space == of]
    try:
        held = orjson.loads(body)
        found += [each[1] for each in held["candidates"] if each[0] == of]
        found += [str(each["ref"]) for each in held.get("known", ()) if each["space"] == of]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        say(log, logging.WARNING, "unreadable_receipt_skipped", characters=len(body))
    return found


def _shown(listed: str) -> tuple[Shown, ...] | None:
    try:
        return tuple(
            (str(space), name if isinstance(name, str) else int(name), float(score), int(tokens))
            for space, name, score, tokens in orjson.loads(listed)
        )
    except (ValueError, TypeError):
        say(log, logging.WARNING, "unreadable_list_of_shown_drawers_skipped", characters=len(listed))
        return None
