"""Entries of the knowledge as items: what a store saves there keeps the key that it was given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.storage.schema import entries

if TYPE_CHECKING:
    from langmem_tiers.space import Space

# Where an entry keeps the key that it has in the store.
_KEY = "store_key"
_TEXTS = ("content", "text")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Something of a tier as an item."""

    key: str
    text: str
    created_at: datetime
    updated_at: datetime
    score: float | None = None
    more: Mapping[str, Any]

    @property
    def value(self) -> dict[str, Any]:
        """Its id, text and date, and what its tier knows beside."""
        return {"id": self.key, "text": self.text, "date": self.updated_at.isoformat(), **self.more}

    def columns(self) -> dict[str, Any]:
        """What an item has beside its namespace and score."""
        return {"key": self.key, "value": self.value, "created_at": self.created_at, "updated_at": self.updated_at}


def shown(entry: Entry, score: float | None = None) -> Shown:
    """An entry as an item."""
    return Shown(
        key=str(entry.metadata.get(_KEY) or entry.id),
        text=entry.content,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        score=score,
        more={"id": entry.id, "category": entry.category, "tags": list(entry.tags)},
    )


def get(space: "Space", key: str) -> Shown | None:
    """The active entry of an id or a key."""
    entry = _entry(space, key)
    return None if entry is None else shown(entry)


def search(space: "Space", query: str, most: int) -> list[Shown]:
    """Active entries, best first; without a query those changed last."""
    asked = bool(query.strip())
    return [shown(each.entry, each.score if asked else None) for each in space.knowledge.search(query, limit=most)]


def save(space: "Space", key: str, value: Mapping[str, Any]) -> None:
    """Save an entry, or let the one of this id or key say this from now on."""
    said = content(value)
    where = {name: value[name] for name in ("category", "tags") if value.get(name) is not None}
    entry = _entry(space, key)
    if entry is None:
        space.knowledge.save(said, metadata={_KEY: key}, origin="assistant", **where)
    else:
        space.knowledge.update(entry.id, content=said, origin="assistant", **where)


def delete(space: "Space", key: str) -> None:
    """Delete the entry of an id or key; there need not be one."""
    entry = _entry(space, key)
    if entry is not None:
        space.knowledge.delete(entry.id, origin="assistant")


def content(value: Mapping[str, Any]) -> str:
    """What is to be known.

    Raises:
        InvalidInput: the value says nothing.
    """
    for name in _TEXTS:
        said = value.get(name)
        if isinstance(said, Mapping):  # as langmem's managers write it
            said = said.get("content")
        if isinstance(said, str) and said.strip():
            return said
    raise InvalidInput(
        "The value says nothing that can be known.", way_out='Give {"content": "…"}, and category and tags if you like.'
    )


def _entry(space: "Space", key: str) -> Entry | None:
    entry = space.knowledge.get(key) or next(iter(_by_key(space, key)), None)
    return entry if entry is not None and entry.active else None


def _by_key(space: "Space", key: str) -> Sequence[Entry]:
    wanted = (func.json_extract(entries.c.metadata, f"$.{_KEY}") == key, entries.c.status == "active")
    with space.memory.use(space.name) as store, store.reading() as connection:
        found = connection.execute(select(entries.c.id).where(entries.c.space == store.key, *wanted)).scalars()
        ids = list(found)
    return [entry for entry in map(space.knowledge.get, ids) if entry is not None]
