"""The keys of entries: what a store saved as knowledge is got under its key until that is deleted.

Several keys may lead to one entry, since a sentence is stored once. An entry that another one took the place of still
has its keys, and they lead to the one that holds.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select

from langmem_tiers.errors import EntryChanged, UnknownEntry
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.storage import entries as rows
from langmem_tiers.storage.schema import entries

if TYPE_CHECKING:
    from langmem_tiers.space import Space

FIELD = "store_keys"
# Where memories of earlier versions have the one key of an entry.
_ONLY = "store_key"


def of(entry: Entry) -> tuple[str, ...]:
    """The keys that an entry was put under itself."""
    held = entry.metadata.get(FIELD, [entry.metadata.get(_ONLY)])
    return tuple(key for key in held if isinstance(key, str)) if isinstance(held, list) else ()


def holder(space: "Space", key: str) -> Entry | None:
    """The entry that holds what was put under a key."""
    return next((found for each in _carriers(space, key) if (found := _holding(space, each)) is not None), None)


def leading_to(space: "Space", entry: Entry) -> tuple[str, ...]:
    """The keys of an entry, and of those that it took the place of."""
    behind = [entry, *_behind(space, entry)]
    return tuple(dict.fromkeys(key for each in behind for key in of(each)))


def take_away(space: "Space", keys: Collection[str], *, but: str | None = None) -> None:
    """Let these keys lead nowhere, or to one entry alone."""
    for entry in {each.id: each for key in keys for each in _carriers(space, key) if each.id != but}.values():
        change(space, entry.id, lambda held: {"metadata": told([each for each in of(held) if each not in keys], held)})


def change(space: "Space", entry_id: str, make: Callable[[Entry], dict[str, Any]]) -> Entry:
    """Set of an entry what `make` says of it as it is, also where others change it meanwhile."""
    while True:
        entry = space.knowledge.get(entry_id)
        if entry is None:
            raise UnknownEntry(f"There is no entry {entry_id!r} any more.")
        try:
            return space.knowledge.update(entry_id, version=entry.version, origin="assistant", **make(entry))
        except EntryChanged:
            continue


def told(keys: Iterable[str], entry: Entry) -> dict[str, Any]:
    """The metadata of an entry with these keys."""
    rest = {name: value for name, value in entry.metadata.items() if name not in (FIELD, _ONLY)}
    held = list(dict.fromkeys(keys))
    return rest | ({FIELD: held} if held else {})


def holds(entry: Entry, at: datetime) -> bool:
    """Whether an entry holds at a moment."""
    return entry.active and (entry.expires_at is None or entry.expires_at > at)


def _holding(space: "Space", entry: Entry) -> Entry | None:
    """An entry, or the one that holds in its place."""
    seen: set[str] = set()
    here: Entry | None = entry
    while here is not None and not here.active and here.id not in seen:
        seen.add(here.id)
        here = space.knowledge.get(here.successor) if here.successor else None
    return here if here is not None and holds(here, space.memory.clock()) else None


def _carriers(space: "Space", key: str) -> list[Entry]:
    """The entries, active ones first, that were put under a key."""
    keys = func.json_each(entries.c.metadata, f"$.{FIELD}").table_valued("value")
    has_key = or_(
        select(1).select_from(keys).where(keys.c.value == key).exists(),
        func.json_extract(entries.c.metadata, f"$.{_ONLY}") == key,
    )
    with space.memory.use(space.name) as store, store.reading() as connection:
        found = connection.execute(select(entries.c.number).where(entries.c.space == store.key, has_key)).scalars()
        held = rows.by_numbers(connection, store.key, list(found))
    return sorted(held.values(), key=lambda each: (each.active, each.number), reverse=True)


def _behind(space: "Space", entry: Entry) -> list[Entry]:
    """The entries that one took the place of."""
    found: dict[str, Entry] = {}
    with space.memory.use(space.name) as store, store.reading() as connection:
        waiting = [entry.id]
        while waiting:
            for each in rows.succeeded_by(connection, store.key, waiting.pop()):
                if each.id not in found and each.id != entry.id:
                    found[each.id] = each
                    waiting.append(each.id)
    return list(found.values())
