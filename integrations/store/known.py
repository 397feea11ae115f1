"""Entries under the keys of a store."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from langgraph.store.base import PutOp, SearchItem

from langmem_tiers.errors import EntryChanged, InvalidInput, UnknownEntry
from langmem_tiers.knowledge import decide, validation
from langmem_tiers.records import Authority, Entry
from langmem_tiers.settings import Settings
from langmem_tiers.storage import entries

if TYPE_CHECKING:
    from langmem_tiers.space import Space


FIELD = "store_keys"
# Where earlier versions kept the single key of an entry.
_ONLY = "store_key"


def of(entry: Entry) -> tuple[str, ...]:
    """The keys under which an entry itself was put."""
    held = entry.metadata.get(FIELD, [entry.metadata.get(_ONLY)])
    return tuple(key for key in held if isinstance(key, str)) if isinstance(held, list) else ()


def key_holder(space: "Space", key: str) -> Entry | None:
    """The entry that holds what was put under a key."""
    return next((found for each in _carriers(space, key) if (found := _holding(space, each)) is not None), None)


def leading_to(space: "Space", entry: Entry) -> tuple[str, ...]:
    """The keys of an entry, and of those that it took the place of."""
    behind = [entry, *_behind(space, entry)]
    return tuple(dict.fromkeys(key for each in behind for key in of(each)))


def _take_away(space: "Space", keys: Collection[str], *, but: str | None = None) -> None:
    """Take these keys from all entries but one."""
    for entry in {each.id: each for key in keys for each in _carriers(space, key) if each.id != but}.values():
        change(space, entry.id, lambda held: {"metadata": told([each for each in of(held) if each not in keys], held)})


def change(space: "Space", entry_id: str, make: Callable[[Entry], dict[str, Any]]) -> Entry:
    """Update an entry with what `make` returns for its current version; retried if it changes meanwhile."""
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
    with space.context.open() as store, store.reading() as connection:
        held = entries.with_metadata(connection, store.key, key, among=FIELD, alone=_ONLY)
    return sorted(held, key=lambda each: (each.active, each.number), reverse=True)


def _behind(space: "Space", entry: Entry) -> list[Entry]:
    """The entries that one took the place of."""
    found: dict[str, Entry] = {}
    with space.context.open() as store, store.reading() as connection:
        waiting = [entry.id]
        while waiting:
            for each in entries.succeeded_by(connection, store.key, waiting.pop()):
                if each.id not in found and each.id != entry.id:
                    found[each.id] = each
                    waiting.append(each.id)
    return list(found.values())


_TEXTS = ("content", "text")
_GIVEN = (*_TEXTS, "category", "tags")
# And those that a value has when it is read, so that it can be put back.
_FIELDS = frozenset((*_GIVEN, "kind", "id", "date", "ended"))


def shown(
    key: str,
    text: str,
    created_at: datetime,
    updated_at: datetime,
    score: float | None,
    ended: Sequence[str] = (),
    **more: Any,
) -> SearchItem:
    """Something of a tier as an item, still without a namespace: its id, text and date, and more of its tier.

    `ended` is what says that it no longer holds.
    """
    value = {"id": key, "text": text, "date": updated_at.isoformat(), **more}
    if ended:
        value["ended"] = list(ended)
    return SearchItem((), key, value, created_at, updated_at, score)


def _entry(entry: Entry, ended: Sequence[str], score: float | None = None, key: str | None = None) -> SearchItem:
    place = key or next(iter(of(entry)), entry.id)
    more = {"id": entry.id, "category": entry.category, "tags": list(entry.tags)}
    return shown(place, entry.content, entry.created_at, entry.updated_at, score, ended, **more)


def get(space: "Space", key: str) -> SearchItem | None:
    """The current entry for an id or a key."""
    entry = _named(space, key)
    found = entry or key_holder(space, key)
    if found is None:
        return None
    return _entry(found, space.knowledge.ended([found])[found.id], key=None if entry else key)


def search(space: "Space", query: str, most: int) -> list[SearchItem]:
    """Active entries, best first; without a query those changed last."""
    asked = bool(query.strip())
    found = space.knowledge.search(query, limit=most)
    return [_entry(each.entry, each.ended, each.score if asked else None) for each in found]


def save(space: "Space", key: str, value: Mapping[str, Any], ttl: int | None = None) -> None:
    """Put a value under an id or a key, for a number of milliseconds or for ever.

    Other keys of the entry keep what it said. What another entry says already is not stored a second time: the key
    leads to that one, which then holds as long as the longest of both.
    """
    said = content(value)
    until = None if ttl is None else space.memory.clock() + timedelta(milliseconds=ttl)
    where = {name: value[name] for name in ("category", "tags") if value.get(name) is not None}
    named = _named(space, key)
    held = named or key_holder(space, key)
    leading = () if held is None else leading_to(space, held)
    mine = leading if named is not None else (key,)
    alone = held is not None and set(leading) <= set(mine)
    if held is not None and alone and not _said_elsewhere(space, said, held):
        # What the user said does not expire because the assistant repeats it with a TTL.
        end = held.expires_at if held.authority > Authority.AGENT else until
        space.knowledge.update(held.id, content=said, expires_at=end, origin="assistant", **where)
        return
    if held is not None and alone:
        decide.require(held, Authority.AGENT)
    now = _join(space, tuple(dict.fromkeys((key, *mine))), said, until, where)
    if held is not None and alone and now.id != held.id:
        space.knowledge.delete(held.id, origin="assistant")


def delete(space: "Space", key: str) -> None:
    """Delete the entry with an id, or take a key from an entry, which is deleted with its last key.

    What the user said in place of what was put stays.
    """
    named = _named(space, key)
    held = named or key_holder(space, key)
    if held is None:
        return
    own = key in of(held) or held.authority <= Authority.AGENT
    if named is not None or (own and set(leading_to(space, held)) <= {key}):
        space.knowledge.delete(held.id, origin="assistant")
    else:
        _take_away(space, {key})


def require(op: PutOp, settings: Settings) -> None:
    """Check that a put can be carried out.

    Raises:
        InvalidInput: the value says nothing, or something that an entry does not have.
        SecretRefused: the key is a secret.
    """
    if op.index is not None:
        raise InvalidInput(
            "What is known is searched as a whole; `index` has no meaning for it.",
            way_out='Leave it out, or put to a namespace such as ("memories", user): items have an index of their own.',
        )
    value = op.value or {}
    content(value)
    inner = value.get("content")
    unknown = [*(set(value) - _FIELDS), *(set(inner) - {"content"} if isinstance(inner, Mapping) else ())]
    if unknown:
        raise InvalidInput(
            f"The knowledge has no field {sorted(map(str, unknown))[0]!r}.",
            way_out=f'Give {", ".join(_GIVEN)}. Items, as under ("memories", user), have any fields.',
        )
    if validation.metadata({FIELD: [op.key]}, settings) != {FIELD: [op.key]}:
        raise InvalidInput("The key looks like a secret.", way_out="Give another one.")


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
        "The value has no content to save.", way_out='Give {"content": "…"}, and category and tags if you like.'
    )


def _join(space: "Space", mine: tuple[str, ...], said: str, until: datetime | None, where: Mapping[str, Any]) -> Entry:
    """Save a sentence, and point these keys to its entry."""
    metadata = {FIELD: list(mine)}
    saved = space.knowledge.save(said, metadata=metadata, origin="assistant", expires_at=until, **where)
    gave_way = None if saved.merged is None else space.knowledge.get(saved.merged)
    ends = [until, saved.entry.expires_at, *([] if gave_way is None else [gave_way.expires_at])]
    last = None if None in ends else max(end for end in ends if end is not None)
    fresh = saved.entry.id
    held = change(space, fresh, lambda held: {"metadata": told([*of(held), *mine], held), "expires_at": last})
    _take_away(space, set(mine), but=held.id)
    return held


def _said_elsewhere(space: "Space", said: str, held: Entry) -> bool:
    """Whether another active entry says this."""
    text = validation.content(said, space.memory.settings)
    with space.context.open() as store, store.reading() as connection:
        found = entries.of_content(connection, store.key, text)
    return any(each.active and each.id != held.id for each in found)


def _named(space: "Space", key: str) -> Entry | None:
    """The current entry with an id."""
    entry = space.knowledge.get(key) if validation.is_id(key) else None
    return entry if entry is not None and holds(entry, space.memory.clock()) else None
