"""Entries of the knowledge, and the drawers that they rest on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import orjson
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, func, insert, or_, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.clock import from_millis
from langmem_tiers.content import content_hash
from langmem_tiers.knowledge.types import Authority, Entry, EntryEvidence, EntryPath, EntryStatus
from langmem_tiers.palace.pointers import drawer_pointer
from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import drawers, entries, entry_evidence, rooms
from langmem_tiers.types import Origin
from langmem_tiers.writing.proposals import Evidence

T = TypeVar("T")
# SQLite takes 32,766 variables in a statement by default.
_AT_ONCE = 10_000
# The number last given out: a number is never used twice, also when the newest entry was deleted.
_NEWEST = "newest_entry"


@dataclass(frozen=True, kw_only=True)
class NewEntry:
    """An entry on its way in."""

    id: str
    content: str
    category: str
    tags: tuple[str, ...]
    origin: Origin
    path: EntryPath
    authority: Authority
    pinned: bool = False
    flags: tuple[str, ...] = ()
    project: str | None = None
    agent: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_at: int | None = None
    status: EntryStatus = "active"
    reason: str | None = None
    successor: str | None = None


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which entries are meant; a field left out restricts nothing.

    `category` means it and all below it; an entry has all of `tags`; times are of the last change, in milliseconds,
    both ends included. `active_at` leaves out what was expected to hold no longer at that moment.
    """

    substring: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    project: str | None = None
    agent: str | None = None
    status: str | None = None
    active_at: int | None = None
    ids: Collection[str] | None = None


def put(connection: Connection, space: str, new: NewEntry, at: int) -> int:
    """Store an entry; its number."""
    number = int(facts.get(connection, space, _NEWEST) or 0) + 1
    facts.put(connection, space, _NEWEST, str(number))
    row = {each.name: getattr(new, each.name) for each in fields(NewEntry)}
    row |= _stored({"content": new.content, "tags": new.tags, "flags": new.flags, "metadata": new.metadata})
    times = {"created_at": at, "updated_at": at}
    connection.execute(insert(entries).values(space=space, number=number, **row, **times))
    return number


def change(connection: Connection, space: str, number: int, values: Mapping[str, Any]) -> None:
    """Set some columns of an entry."""
    these = (entries.c.space == space, entries.c.number == number)
    connection.execute(update(entries).where(*these).values(**_stored(values)))


def remove(connection: Connection, space: str, numbers: Collection[int]) -> int:
    """Delete entries with their evidence, and what they brought to others; how many pieces of evidence went."""
    of_them = or_(entry_evidence.c.entry.in_(numbers), entry_evidence.c.via.in_(numbers))
    gone = connection.execute(delete(entry_evidence).where(entry_evidence.c.space == space, of_them)).rowcount
    connection.execute(delete(entries).where(entries.c.space == space, entries.c.number.in_(numbers)))
    return gone


def add_evidence(
    connection: Connection, space: str, entry: int, evidence: Iterable[Evidence], *, via: int | None = None
) -> int:
    """Let an entry rest on these drawers too; how many are new to it. `via` is another entry that brought them."""
    brought = entry if via is None else via
    rows = [
        {"space": space, "entry": entry, "drawer": each.drawer, "quote": each.quote, "via": brought}
        for each in evidence
    ]
    if not rows:
        return 0
    added = [connection.execute(insert_or(entry_evidence).on_conflict_do_nothing(), row).rowcount for row in rows]
    return sum(added)


def take_evidence_back(connection: Connection, space: str, entry: int, *, via: int) -> None:
    """Let an entry no longer rest on what another one brought it."""
    brought = (entry_evidence.c.entry == entry, entry_evidence.c.via == via)
    connection.execute(delete(entry_evidence).where(entry_evidence.c.space == space, *brought))


def by_ids(connection: Connection, space: str, ids: Collection[str]) -> dict[str, Entry]:
    """Entries by their id; those that do not exist are left out."""
    found = (_read(connection, space, _all(space).where(entries.c.id.in_(some))) for some in _batches(list(ids)))
    return {entry.id: entry for some in found for entry in some}


def by_numbers(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, Entry]:
    """Entries by their number; those that do not exist are left out."""
    found = (
        _read(connection, space, _all(space).where(entries.c.number.in_(some))) for some in _batches(list(numbers))
    )
    return {entry.number: entry for some in found for entry in some}


def one(connection: Connection, space: str, entry_id: str) -> Entry | None:
    """The entry of an id."""
    return by_ids(connection, space, [entry_id]).get(entry_id)


def of_content(connection: Connection, space: str, content: str) -> list[Entry]:
    """The entries that say exactly this, oldest first."""
    return _read(connection, space, _all(space).where(entries.c.content_hash == content_hash(content)))


def active_behind(connection: Connection, space: str, number: int) -> list[Entry]:
    """The active entries with a higher number, oldest first."""
    return _read(connection, space, _all(space).where(entries.c.number > number, entries.c.status == "active"))


def newest(connection: Connection, space: str) -> int:
    """The number that was given out last, 0 before the first."""
    return int(facts.get(connection, space, _NEWEST) or 0)


def succeeded_by(connection: Connection, space: str, entry_id: str, reason: str | None = None) -> list[Entry]:
    """The inactive entries that name this one as the one that holds instead, for a reason or any."""
    wanted = _all(space).where(entries.c.successor == entry_id)
    return _read(connection, space, wanted if reason is None else wanted.where(entries.c.reason == reason))


def resting_on(connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[Entry]:
    """The entries, active or not, that rest on one of these drawers."""
    on_them = select(entry_evidence.c.entry).where(
        entry_evidence.c.space == space, entry_evidence.c.drawer.in_(drawer_numbers)
    )
    return _read(connection, space, _all(space).where(entries.c.number.in_(on_them)))


def put_aside(connection: Connection, space: str, reasons: Collection[str]) -> list[tuple[str, str]]:
    """Reason and content of the inactive entries that are so for one of these reasons."""
    wanted = select(entries.c.reason, entries.c.content).where(entries.c.space == space)
    rows = connection.execute(wanted.where(entries.c.status == "inactive", entries.c.reason.in_(reasons)))
    return [(row.reason, row.content) for row in rows]


def expired(connection: Connection, space: str, at: int) -> list[Entry]:
    """The active entries that were expected to hold no longer at a moment."""
    return _read(connection, space, _all(space).where(entries.c.status == "active", entries.c.expires_at <= at))


def next_expiry(connection: Connection, space: str) -> int | None:
    """When the first of the active entries is expected to hold no longer, None where none is."""
    active = (entries.c.space == space, entries.c.status == "active", entries.c.expires_at.is_not(None))
    return connection.execute(select(func.min(entries.c.expires_at)).where(*active)).scalar()


def find(connection: Connection, space: str, filters: Filters, most: int) -> list[Entry]:
    """The entries that are meant, those changed last first."""
    wanted = select(entries).where(entries.c.space == space, *_conditions(filters))
    rows = connection.execute(wanted.order_by(entries.c.updated_at.desc(), entries.c.number.desc()))
    return _with_evidence(connection, space, _first(rows, filters.substring, most))


def ids(connection: Connection, space: str, filters: Filters) -> set[str]:
    """The ids of the entries that are meant."""
    wanted = select(entries.c.id, entries.c.content).where(entries.c.space == space, *_conditions(filters))
    return {row.id for row in _first(connection.execute(wanted), filters.substring, -1)}


def categories(connection: Connection, space: str, at: int) -> dict[str, int]:
    """How many entries each category holds that are active at a moment."""
    conditions = _conditions(Filters(status="active", active_at=at))
    wanted = select(entries.c.category, func.count()).where(entries.c.space == space, *conditions)
    return {row[0]: row[1] for row in connection.execute(wanted.group_by(entries.c.category))}


def count_recalled(connection: Connection, space: str, ids: Collection[str], at: int) -> None:
    """Note that entries were shown to a model."""
    if ids:
        these = (entries.c.space == space, entries.c.id.in_(ids))
        values = {"recall_count": entries.c.recall_count + 1, "last_recalled_at": at}
        connection.execute(update(entries).where(*these).values(**values))


def _stored(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as the columns hold them."""
    stored = dict(values)
    for name in {"tags", "flags"} & stored.keys():
        stored[name] = "\n".join(stored[name])
    if "metadata" in stored:
        stored["metadata"] = orjson.dumps(dict(stored["metadata"])).decode()
    if "content" in stored:
        stored["content_hash"] = content_hash(stored["content"])
    return stored


def _all(space: str) -> Select[Any]:
    return select(entries).where(entries.c.space == space).order_by(entries.c.number)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE))


def _conditions(filters: Filters) -> list[ColumnElement[bool]]:
    made = [entries.c[name] == value for name, value in _equal(filters).items() if value is not None]
    # Tags stand one a line.
    made += [func.instr("\n" + entries.c.tags + "\n", f"\n{tag}\n") > 0 for tag in filters.tags]
    if filters.category is not None:
        below = entries.c.category.startswith(f"{filters.category}/", autoescape=True)
        made.append(or_(entries.c.category == filters.category, below))
    if filters.since is not None:
        made.append(entries.c.updated_at >= filters.since)
    if filters.until is not None:
        made.append(entries.c.updated_at <= filters.until)
    if filters.active_at is not None:
        made.append(or_(entries.c.expires_at.is_(None), entries.c.expires_at > filters.active_at))
    if filters.ids is not None:
        made.append(entries.c.id.in_(filters.ids))
    return made


def _equal(filters: Filters) -> dict[str, str | None]:
    return {"status": filters.status, "project": filters.project, "agent": filters.agent}


def _first(rows: Iterable[Row[Any]], substring: str | None, most: int) -> list[Row[Any]]:
    """The first rows that hold a text, whatever its case: SQLite folds the case of ASCII letters only."""
    wanted = (substring or "").casefold()
    taken: list[Row[Any]] = []
    for row in rows:
        if wanted in row.content.casefold():
            taken.append(row)
        if len(taken) == most:
            break
    return taken


def _read(connection: Connection, space: str, wanted: Select[Any]) -> list[Entry]:
    return _with_evidence(connection, space, connection.execute(wanted).all())


def _with_evidence(connection: Connection, space: str, rows: Sequence[Row[Any]]) -> list[Entry]:
    evidence = _evidence(connection, space, [row.number for row in rows])
    return [_entry(row, tuple(evidence.get(row.number, ()))) for row in rows]


def _evidence(connection: Connection, space: str, numbers: Sequence[int]) -> dict[int, list[EntryEvidence]]:
    """What entries rest on, each drawer once: an entry's own evidence goes before what others brought."""
    found: dict[int, dict[int, EntryEvidence]] = {}
    for some in _batches(numbers):
        for row in connection.execute(
            _rests().where(entry_evidence.c.space == space, entry_evidence.c.entry.in_(some))
        ):
            pointer = drawer_pointer(row.address_wing, row.address_room, row.place)
            via = None if row.via == row.entry else row.brought_by
            each = EntryEvidence(drawer=row.drawer, pointer=pointer, quote=row.quote, via=via)
            found.setdefault(row.entry, {}).setdefault(row.drawer, each)
    return {entry: list(each.values()) for entry, each in found.items()}


def _rests() -> Select[Any]:
    same_drawer = and_(drawers.c.space == entry_evidence.c.space, drawers.c.number == entry_evidence.c.drawer)
    same_room = and_(rooms.c.space == drawers.c.space, rooms.c.number == drawers.c.room)
    by = and_(entries.c.space == entry_evidence.c.space, entries.c.number == entry_evidence.c.via)
    kept = (entry_evidence.c.entry, entry_evidence.c.drawer, entry_evidence.c.quote, entry_evidence.c.via)
    address = (rooms.c.address_wing, rooms.c.address_room, drawers.c.place, entries.c.id.label("brought_by"))
    tables = entry_evidence.join(drawers, same_drawer).join(rooms, same_room).outerjoin(entries, by)
    own_first = (entry_evidence.c.drawer, entry_evidence.c.via != entry_evidence.c.entry, entry_evidence.c.via)
    return select(*kept, *address).select_from(tables).order_by(*own_first)


def _entry(row: Row[Any], evidence: tuple[EntryEvidence, ...]) -> Entry:
    values = dict(row._mapping)
    del values["space"], values["content_hash"]
    for name in ("tags", "flags"):
        values[name] = tuple(values[name].split("\n")) if values[name] else ()
    for name in ("created_at", "updated_at", "expires_at", "last_recalled_at"):
        values[name] = None if values[name] is None else from_millis(values[name])
    given = {"authority": Authority(row.authority), "pinned": bool(row.pinned), "metadata": orjson.loads(row.metadata)}
    return Entry(**values | given, evidence=evidence)
