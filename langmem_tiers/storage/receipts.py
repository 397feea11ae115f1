"""Receipts: the record of each recall, and what it showed the model."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import orjson
from sqlalchemy import Connection, Select, bindparam, delete, func, insert, or_, select
from sqlalchemy.sql.dml import ReturningInsert

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.storage.notes import NoteKind
from langmem_tiers.storage.schema import receipts
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


@dataclass(frozen=True, kw_only=True)
class KeptRecall:
    """A stored recall: its receipt, the rendered bytes and the items in them."""

    receipt: Receipt
    block: str
    shown: tuple[Shown, ...]


def put(connection: Connection, space: str, kept: KeptRecall, *, query_hash: bytes, most: int) -> int:
    """Store a recall and keep about `most` before it. Returns its number."""
    receipt = kept.receipt
    row = {
        "space": space,
        "session": receipt.session,
        "message_id": receipt.message_id,
        "query_hash": query_hash,
        "at": to_millis(receipt.at),
        "shown": orjson.dumps(kept.shown).decode(),
        "block": kept.block,
        "body": _dump(receipt),
    }
    number = int(connection.execute(_put(), row).scalar_one())
    if number % _PRUNE_EVERY == 0:
        connection.execute(delete(receipts).where(receipts.c.space == space, receipts.c.number <= number - most))
    return number


def same_call(
    connection: Connection, space: str, session: str | None, message_id: str, query_hash: bytes
) -> KeptRecall | None:
    """The newest recall made for this message with this text."""
    call = {"space": space, "session": session, "message_id": message_id, "query_hash": query_hash}
    row = connection.execute(_same_call(), call).first()
    return None if row is None else _kept(row)


@cache
def _put() -> ReturningInsert[Any]:
    newest = select(func.coalesce(func.max(receipts.c.number), 0) + 1).where(receipts.c.space == bindparam("space"))
    given = ("space", "session", "message_id", "query_hash", "at", "shown", "block", "body")
    values: dict[str, Any] = {name: bindparam(name) for name in given}
    return insert(receipts).values(number=newest.scalar_subquery(), **values).returning(receipts.c.number)


@cache
def _same_call() -> Select[Any]:
    """Cached, because every recall asks for it."""
    wanted = select(receipts).where(
        receipts.c.space == bindparam("space"),
        receipts.c.session.is_not_distinct_from(bindparam("session")),
        receipts.c.message_id == bindparam("message_id"),
        receipts.c.query_hash == bindparam("query_hash"),
    )
    return wanted.order_by(receipts.c.number.desc()).limit(1)


def shown_for(
    connection: Connection, space: str, *, session: str | None, messages: Collection[str] | None, but: str | None
) -> set[tuple[str, int | str]]:
    """Space and number, or name, of what the blocks of these messages show; None means the whole session.

    The block of the message `but` is left out: it is the one being made.
    """
    wanted = _shown_for(some=messages is not None, without=but is not None)
    values = {"space": space, "session": session, "messages": list(messages or ()), "but": but}
    lists = [_shown(shown) for shown in connection.execute(wanted, values).scalars()]
    return {(space, number) for shown in lists for space, number, _, _ in shown or ()}


@cache
def _shown_for(*, some: bool, without: bool) -> Select[Any]:
    """Cached, because every recall asks for it."""
    wanted = select(receipts.c.shown).where(
        receipts.c.space == bindparam("space"), receipts.c.session == bindparam("session")
    )
    if some:
        wanted = wanted.where(receipts.c.message_id.in_(bindparam("messages", expanding=True)))
    if without:
        wanted = wanted.where(receipts.c.message_id.is_distinct_from(bindparam("but")))
    return wanted


def forget(connection: Connection, space: str, names: Collection[str], *, kind: NoteKind = "entry") -> int:
    """Delete the recalls whose block shows one of these, since it contains their words. Returns how many."""
    shows = [receipts.c.shown.contains(f'"{kind}:{name}#', autoescape=True) for name in names]
    dropped = delete(receipts).where(receipts.c.space == space, or_(*shows))
    return int(connection.execute(dropped).rowcount) if shows else 0


def any_in_session(connection: Connection, space: str, session: str, other_than: str | None) -> bool:
    """Whether anything was recalled in this session for another message."""
    wanted = select(receipts.c.number).where(receipts.c.space == space, receipts.c.session == session)
    if other_than is not None:
        wanted = wanted.where(receipts.c.message_id.is_distinct_from(other_than))
    return connection.execute(wanted.limit(1)).first() is not None


def latest(connection: Connection, space: str, most: int) -> list[Receipt]:
    """The newest receipts first."""
    wanted = select(receipts).where(receipts.c.space == space).order_by(receipts.c.number.desc()).limit(most)
    return [kept.receipt for row in connection.execute(wanted) if (kept := _kept(row)) is not None]


def one(connection: Connection, space: str, number: int) -> Receipt | None:
    """The receipt with a number."""
    row = connection.execute(select(receipts).where(receipts.c.space == space, receipts.c.number == number)).first()
    kept = None if row is None else _kept(row)
    return None if kept is None else kept.receipt


def count(connection: Connection, space: str) -> int:
    """How many recalls were ever stored."""
    return connection.execute(select(func.max(receipts.c.number)).where(receipts.c.space == space)).scalar() or 0


def _dump(receipt: Receipt) -> str:
    body = {field.name: getattr(receipt, field.name) for field in fields(Receipt)}
    body["at"] = to_millis(receipt.at)
    body["candidates"] = [
        [getattr(found, name) for name in _CANDIDATE] for found in receipt.candidates[:_CANDIDATES_KEPT]
    ]
    return orjson.dumps(body, default=dict).decode()


def _kept(row: Any) -> KeptRecall | None:
    """The recall in a row; None, with a warning, if it cannot be read: it is a log of a recall, not a memory."""
    shown = _shown(row.shown)
    try:
        receipt = _receipt(row)
    except (ValueError, KeyError, TypeError):
        say(log, logging.WARNING, "unreadable_receipt_skipped", receipt=row.number)
        return None
    return None if shown is None else KeptRecall(receipt=receipt, block=row.block, shown=shown)


def _receipt(row: Any) -> Receipt:
    body = {**orjson.loads(row.body), "number": row.number}
    body["at"] = from_millis(body["at"])
    body["candidates"] = tuple(Candidate(**dict(zip(_CANDIDATE, values, strict=True))) for values in body["candidates"])
    body["notes"] = tuple(body["notes"])
    body["known"] = tuple(KnownCandidate(**known) for known in body.get("known", ()))
    return Receipt(**body)


def _which(name: object) -> int | str:
    return name if isinstance(name, str) else int(name)  # type: ignore[call-overload]


def _shown(listed: str) -> tuple[Shown, ...] | None:
    try:
        return tuple((str(item[0]), _which(item[1]), float(item[2]), int(item[3])) for item in orjson.loads(listed))
    except (ValueError, IndexError, TypeError, KeyError):
        say(log, logging.WARNING, "unreadable_list_of_shown_drawers_skipped", characters=len(listed))
        return None
