"""The first turn of a session without a match: a few recent words of the user, so that no agent starts blank."""

from __future__ import annotations

from datetime import datetime

from langmem_tiers.clock import to_millis
from langmem_tiers.palace.words import is_trivial
from langmem_tiers.recall.candidates import Found
from langmem_tiers.recall.sources import Snapshot
from langmem_tiers.storage import drawers, receipts

# Recent drawers looked at for ones that say something.
_LOOKED_AT = 40


def first_turn(
    own: Snapshot, session: str, message_id: str | None, *, most: int, until: datetime | None, query_hash: bytes
) -> list[Found]:
    """Up to `most` recent telling drawers of other sessions, if nothing was recalled in this session yet.

    The same words come once, and those of the query not at all.
    """
    connection, key = own.connection, own.key
    if receipts.any_in_session(connection, key, session, other_than=message_id):
        return []
    limit = None if until is None else to_millis(until)
    recent = drawers.recent(connection, key, most=_LOOKED_AT, outside=session, until=limit)
    telling = [number for number, content in recent if not is_trivial(content)]
    facts = {each.number: each for each in own.columns.rows(own.moment, telling).facts()}
    newest_first = [facts[number] for number in telling if number in facts]
    distinct = {each.content_hash: each for each in reversed(newest_first) if each.content_hash != query_hash}
    shown = [each for each in newest_first if distinct.get(each.content_hash) is each][:most]
    return [Found(space=own.name, own=True, facts=each, scores={"fallback": 0.0}, score=0.0) for each in shown]
