"""When what a space keeps for a time expires: of all kinds, in one statement."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, select

from langmem_tiers.storage import dreams, entries, episodes, items, working_entries
from langmem_tiers.storage.statements import Prepared


class Dates(NamedTuple):
    """What says when something expires, in UTC milliseconds; None where there is nothing."""

    entries: int | None
    episodes: int | None
    items: int | None
    working: int | None
    working_stored: int | None
    oldest_dream: int | None


_DATES = Prepared(
    select(
        entries.NEXT_EXPIRY,
        episodes.NEXT_EXPIRY,
        items.NEXT_EXPIRY,
        working_entries.NEXT_EXPIRY,
        working_entries.LAST_STORED,
        dreams.OLDEST_KEPT,
    )
)


def dates(connection: Connection, space: str) -> Dates:
    """When the next thing of each kind expires, the newest part of working memory was stored, and a dream ended."""
    (row,) = _DATES.rows(connection, space=space)
    return Dates(*row)
