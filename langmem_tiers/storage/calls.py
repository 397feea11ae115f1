"""A call of recall: what the records say about it before anything is searched, in one statement."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, Text, and_, bindparam, func, null, or_, select

from langmem_tiers.storage import purging, receipts
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.later_writes import LaterWrite
from langmem_tiers.storage.receipts import KeptRecall
from langmem_tiers.storage.schema import receipts as rows
from langmem_tiers.storage.schema import turns
from langmem_tiers.storage.statements import Prepared, batches, here


@dataclass(frozen=True, kw_only=True)
class RecallCall:
    """For which message of which session a recall is made, and what its model sees anyway.

    `window` are the ids of messages, None for all of the session; of those that are `bare`, the model does not see the
    block. An earlier recall with the same text for the message `same` would be given again.
    """

    session: str | None
    message_id: str | None
    same: str | None
    query_hash: bytes
    window: Collection[str] | None
    bare: Collection[str] = ()


class CallState(NamedTuple):
    """The newest recall of the same call, and what the model has before it.

    `shown` is what the blocks of other messages show, as (space, number or name), `window` the drawers of the window,
    None if none was given.
    """

    made_before: KeptRecall | None = None
    shown: Collection[tuple[str, int | str]] = ()
    window: Collection[int] | None = None


_OTHERS = rows.alias("others")
_BUT = bindparam("but", type_=Text)


@cache
def _statement(*, of_session: bool, of_window: bool) -> Prepared:
    """What is seen of a session, or of none, whole or only of the messages in a window."""
    of_same = (_OTHERS.c.message_id == bindparam("same"), _OTHERS.c.query_hash == bindparam("query_hash"))
    session = bindparam("session", type_=Text)
    in_session = _OTHERS.c.session == session if of_session else _OTHERS.c.session.is_(None)
    newest = select(func.max(_OTHERS.c.number)).where(*here(_OTHERS), in_session, *of_same).scalar_subquery()

    shown = select(func.json_group_array(_OTHERS.c.shown)).where(*here(_OTHERS), in_session)
    shown = shown.where(or_(_BUT.is_(None), _OTHERS.c.message_id.is_distinct_from(_BUT)))
    window = select(func.json_group_array(turns.c.drawer)).where(*here(turns))
    if of_session:
        window = window.where(turns.c.session == session)
    if of_window:
        shown = shown.where(_OTHERS.c.message_id.in_(bindparam("in_sight", expanding=True)))
        window = window.where(turns.c.message_id.in_(bindparam("window", expanding=True)))

    seen = purging.SEEN.subquery()
    before = (shown.scalar_subquery() if of_session else null(), window.scalar_subquery() if of_window else null())
    kept = and_(*here(rows), rows.c.number == newest)
    return Prepared(select(*seen.c, *receipts.KEPT, *before).select_from(seen.outerjoin(rows, kept)))


class UnstoredRecall(LaterWrite):
    """A recall that was given, while its receipt is still being stored.

    `deletions` says by space how often something had been deleted when it began: it is not given again after another.
    """

    def __init__(self, call: RecallCall, kept: KeptRecall, *, deletions: Mapping[str, int]) -> None:
        super().__init__()
        self.call = call
        self.kept = kept
        self.deletions = deletions

    def is_same(self, call: RecallCall, deletions: Mapping[str, int]) -> bool:
        """Whether it was made with the same text for the same message, and nothing was deleted since."""
        made, asked = self.call, (call.session, call.same, call.query_hash)
        if call.same is None or (made.session, made.message_id, made.query_hash) != asked:
            return False
        return all(deletions.get(space) == count for space, count in self.deletions.items())


def begin(
    connection: Connection,
    space: str,
    call: RecallCall,
    until: int | None = None,
    unstored: Iterable[UnstoredRecall] = (),
) -> tuple[Moment, int, CallState]:
    """What `purging.moment` tells, and the state of a call at that moment; `unstored` were given before it."""
    given = {"space": space, "session": call.session, "same": call.same, "query_hash": call.query_hash}
    wanted = _statement(of_session=call.session is not None, of_window=call.window is not None)
    shown, window, bare = set[tuple[str, int | str]](), set[int](), set(call.bare)
    for some in [*batches(call.window or ())] or [[]]:
        in_sight = [each for each in some if each not in bare]
        found = wanted.rows(connection, **given, but=call.message_id, window=some, in_sight=in_sight)
        ((*seen, number, listed, block, body, blocks, drawers),) = found
        shown |= receipts.shown_of(orjson.loads(blocks or "[]"))
        window |= set(orjson.loads(drawers or "[]"))
    moment, deletions = purging.as_moment(connection, seen, until)
    kept = None if number is None else receipts.kept_of((number, listed, block, body))
    for each in unstored:
        if _is_before(each.call, call):
            shown |= {(owner, name) for owner, name, _, _ in each.kept.shown}
    return moment, deletions, CallState(kept, shown, None if call.window is None else window)


def _is_before(given: RecallCall, call: RecallCall) -> bool:
    """Whether the model has the block of a call before it at another call; as the statement tells of stored ones."""
    if call.session is None or given.session != call.session:
        return False
    if given.message_id is None:
        return call.window is None
    in_sight = call.window is None or (given.message_id in call.window and given.message_id not in call.bare)
    return in_sight and given.message_id != call.message_id
