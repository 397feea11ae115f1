"""Whether a space that is opened needs a visit of the background, or is as the last visit left it.

A visit that finds nothing to do takes about as long as a recall, and where many spaces take turns they are opened all
the time.
"""

from __future__ import annotations

from hashlib import blake2b

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, facts
from langmem_tiers.store import AtRest, SpaceStore
from langmem_tiers.version import __version__

_FACT = "at_rest"


def ways_of(settings: Settings, model: str | None) -> str:
    """What decides which work there is, beside the records: another version, model or setting may want more."""
    told = f"{__version__} {model} {settings.model_dump_json()}"
    return blake2b(told.encode(), digest_size=8).hexdigest()


def head_of(store: SpaceStore) -> int:
    """The position of the log."""
    with store.reading() as connection:
        return change_log.head(connection, store.key)


def after_visit(store: SpaceStore, head: int, ways: str, seconds: float | None, clock: Clock) -> AtRest | None:
    """How a visit that began at this position of the log has left a space, with more due in so many seconds.

    None if the log has grown, where searches need Chroma, which visits open, and on a server.
    """
    index = store.index_file
    if index is None or head != head_of(store) or (store.chroma is not None and store.chroma.owned):
        return None
    due = None if seconds is None else to_millis(clock()) + round(seconds * 1000)
    return AtRest(head, ways, index.path.exists(), due)


def keep(store: SpaceStore) -> None:
    """Note for the next opening how the last visit left a space, if there was one.

    Raises:
        StorageError: it is not noted; there will be a visit.
    """
    rest, index = store.at_rest, store.index_file
    if rest is None or index is None:
        return
    written = "" if index.refused else _written(rest)
    with store.reading() as connection:
        known = facts.get(connection, store.key, _FACT)
    if written != known:
        with store.writing(durable=False) as connection:
            facts.put(connection, store.key, _FACT, written)


def left(store: SpaceStore, ways: str, longest: float, clock: Clock) -> AtRest | None:
    """The rest that a space is still in; None if anything was written since, is due, or has gone from its folder.

    Nor is it where more than the `longest` seconds are left that a visit notes: the clock has been set back since.
    """
    index = store.index_file
    if index is None:
        return None
    with store.reading() as connection:
        known = (facts.get(connection, store.key, _FACT) or "").split(" ")
        head = change_log.head(connection, store.key)
    due = int(known[-1]) if known[-1].isdecimal() else None
    rest = AtRest(head, ways, index.path.exists(), due)
    still = due is None or 0 < due - to_millis(clock()) <= longest * 1000
    return rest if still and known == _written(rest).split(" ") else None


def _written(rest: AtRest) -> str:
    return " ".join(map(str, rest))
