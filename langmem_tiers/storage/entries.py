"""Entries of the knowledge, and the drawers that are their evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import orjson
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, func, insert, or_, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.clock import from_millis
from langmem_tiers.content import content_hash
from langmem_tiers.pointers import drawer_pointer
from langmem_tiers.records import Authority, Entry, EntryEvidence, EntryPath, EntryStatus, Evidence
from langmem_tiers.storage import change_log, facts, notes
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.storage.schema import changes, drawers, entries, entry_evidence, rooms
from langmem_tiers.types import Origin

T = TypeVar("T")
# SQLite allows 32,766 variables in a statement by default.
_AT_ONCE = 10_000
# The last number assigned: numbers are never reused, even if the newest entry was deleted.
_NEWEST = "newest_entry"


@dataclass(frozen=True, kw_only=True)
class NewEntry:
    """An entry to be stored."""

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
    """Which entries to select; a field left out restricts nothing.

    `category` includes everything below it; an entry needs all of `tags`; times are of the last change, in
    milliseconds, both ends included. `active_at` leaves out entries that were due to expire by that moment.
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


def put(connection: Connection, space: str, new: NewEntry, at: int, note: NoteText | None) -> Entry:
    """Store an entry, without evidence so far, with its note if it has one, and log both."""
    steps = {_NEWEST: 1} if note is None else {_NEWEST: 1, notes.NEWEST: 1}
    counted = facts.count_up_all(connection, space, steps)
    number = counted[_NEWEST]
    news: list[tuple[change_log.Kind, int, int]] = [("entry.changed", number, number)]
    if note is not None:
        (added,) = notes.add(connection, space, "entry", new.id, [(0, note)], counted[notes.NEWEST])
        news.append(("notes.changed", added, added))
    change_log.append_all(connection, space, news, at=at)
    row = {each.name: getattr(new, each.name) for each in fields(NewEntry)}
    row |= _stored({"content": new.content, "tags": new.tags, "flags": new.flags, "metadata": new.metadata})
    times = {"created_at": at, "updated_at": at}
    stored = insert(entries).values(space=space, number=number, **row, **times).returning(entries)
    return _entry(connection.execute(stored).one(), ())


def change(connection: Connection, space: str, entry: Entry, values: Mapping[str, Any]) -> Entry:
    """Set some columns of an entry."""
    these = (entries.c.space == space, entries.c.number == entry.number)
    changed = update(entries).where(*these).values(**_stored(values)).returning(entries)
    return _entry(connection.execute(changed).one(), entry.evidence)


def remove(connection: Connection, space: str, numbers: Collection[int]) -> int:
    """Delete entries with their evidence, and what they lent to others. Returns how many pieces of evidence went."""
    of_them = or_(entry_evidence.c.entry.in_(numbers), entry_evidence.c.via.in_(numbers))
    gone = connection.execute(delete(entry_evidence).where(entry_evidence.c.space == space, of_them)).rowcount
    connection.execute(delete(entries).where(entries.c.space == space, entries.c.number.in_(numbers)))
    return gone


def add_evidence(
    connection: Connection, space: str, entry: int, evidence: Iterable[Evidence], *, via: int | None = None
) -> int:
    """Add drawers to an entry's evidence. Returns how many are new. `via` is another entry that they came from."""
    brought = entry if via is None else via
    rows = [
        {"space": space, "entry": entry, "drawer": each.drawer, "quote": each.quote, "via": brought}
        for each in evidence
    ]
    return connection.execute(insert_or(entry_evidence).on_conflict_do_nothing(), rows).rowcount if rows else 0


def with_evidence(connection: Connection, space: str, entry: Entry) -> Entry:
    """An entry with its current evidence."""
    rests = _evidence(connection, space, [entry.number])
    return replace(entry, evidence=tuple(rests.get(entry.number, ())))


def take_evidence_back(connection: Connection, space: str, entry: int, *, via: int) -> None:
    """Remove the evidence that an entry got from another one."""
    brought = (entry_evidence.c.entry == entry, entry_evidence.c.via == via)
    connection.execute(delete(entry_evidence).where(entry_evidence.c.space == space, *brought))


def by_ids(connection: Connection, space: str, ids: Collection[str]) -> dict[str, Entry]:
    """Entries by id; unknown ids are left out."""
    found = (_read(connection, space, _all(space).where(entries.c.id.in_(some))) for some in _batches(list(ids)))
    return {entry.id: entry for some in found for entry in some}


def by_numbers(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, Entry]:
    """Entries by number; unknown numbers are left out."""
    found = (
        _read(connection, space, _all(space).where(entries.c.number.in_(some))) for some in _batches(list(numbers))
    )
    return {entry.number: entry for some in found for entry in some}


def one(connection: Connection, space: str, entry_id: str) -> Entry | None:
    """The entry with an id."""
    return by_ids(connection, space, [entry_id]).get(entry_id)


def of_content(connection: Connection, space: str, content: str) -> list[Entry]:
    """The entries with exactly this content, oldest first."""
    return _read(connection, space, _all(space).where(entries.c.content_hash == content_hash(content)))


def with_metadata(connection: Connection, space: str, value: str, *, among: str, alone: str) -> list[Entry]:
    """The entries whose metadata hold a value: in the list under one name, or by itself under another."""
    listed = func.json_each(entries.c.metadata, f"$.{among}").table_valued("value")
    has_value = or_(
        select(1).select_from(listed).where(listed.c.value == value).exists(),
        func.json_extract(entries.c.metadata, f"$.{alone}") == value,
    )
    return _read(connection, space, _all(space).where(has_value))


def near(connection: Connection, space: str, content: str, ids: Collection[str], *, since: int) -> list[Entry]:
    """Possible duplicates of a text: entries of exactly this content, and active ones of `ids` or changed since.

    `since` is a log position.
    """
    here, active = entries.c.space == space, entries.c.status == "active"
    same = and_(here, entries.c.content_hash == content_hash(content))
    named = and_(here, active, entries.c.id.in_(ids))
    changed = select(changes.c.subject).where(changes.c.space == space, changes.c.kind == "entry.changed")
    newer = and_(here, active, entries.c.number.in_(changed.where(changes.c.position > since)))
    # Each branch names the space, so SQLite uses an index for each instead of reading every entry.
    return _read(connection, space, select(entries).where(or_(same, named, newer)).order_by(entries.c.number))


def newest(connection: Connection, space: str) -> int:
    """The last number assigned, 0 before the first."""
    return int(facts.get(connection, space, _NEWEST) or 0)


def succeeded_by(connection: Connection, space: str, entry_id: str, reason: str | None = None) -> list[Entry]:
    """The inactive entries that name this one as their successor, for a given reason or any."""
    wanted = _all(space).where(entries.c.successor == entry_id)
    return _read(connection, space, wanted if reason is None else wanted.where(entries.c.reason == reason))


def resting_on(connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[Entry]:
    """The entries, active or not, with one of these drawers as evidence."""
    on_them = select(entry_evidence.c.entry).where(
        entry_evidence.c.space == space, entry_evidence.c.drawer.in_(drawer_numbers)
    )
    return _read(connection, space, _all(space).where(entries.c.number.in_(on_them)))


def put_aside(connection: Connection, space: str, reasons: Collection[str]) -> list[tuple[str, str]]:
    """Reason and content of the entries that are inactive for one of these reasons."""
    wanted = select(entries.c.reason, entries.c.content).where(entries.c.space == space)
    rows = connection.execute(wanted.where(entries.c.status == "inactive", entries.c.reason.in_(reasons)))
    return [(row.reason, row.content) for row in rows]


def expired(connection: Connection, space: str, at: int) -> list[Entry]:
    """The active entries that were due to expire by a moment."""
    return _read(connection, space, _all(space).where(entries.c.status == "active", entries.c.expires_at <= at))


def next_expiry(connection: Connection, space: str) -> int | None:
    """When the next active entry is due to expire, None if none is."""
    active = (entries.c.space == space, entries.c.status == "active", entries.c.expires_at.is_not(None))
    return connection.execute(select(func.min(entries.c.expires_at)).where(*active)).scalar()


def find(connection: Connection, space: str, filters: Filters, most: int) -> list[Entry]:
    """The selected entries, most recently changed first."""
    wanted = select(entries).where(entries.c.space == space, *_conditions(filters))
    rows = connection.execute(wanted.order_by(entries.c.updated_at.desc(), entries.c.number.desc()))
    return _with_evidence(connection, space, _first(rows, filters.substring, most))


def ids(connection: Connection, space: str, filters: Filters) -> set[str]:
    """The ids of the selected entries."""
    wanted = select(entries.c.id, entries.c.content).where(entries.c.space == space, *_conditions(filters))
    return {row.id for row in _first(connection.execute(wanted), filters.substring, -1)}


def categories(connection: Connection, space: str, at: int) -> dict[str, int]:
    """How many entries each category has that are active at a moment."""
    conditions = _conditions(Filters(status="active", active_at=at))
    wanted = select(entries.c.category, func.count()).where(entries.c.space == space, *conditions)
    return {row[0]: row[1] for row in connection.execute(wanted.group_by(entries.c.category))}


def count_recalled(connection: Connection, space: str, ids: Collection[str], at: int) -> None:
    """Count that entries were shown to a model."""
    if ids:
        these = (entries.c.space == space, entries.c.id.in_(ids))
        values = {"recall_count": entries.c.recall_count + 1, "last_recalled_at": at}
        connection.execute(update(entries).where(*these).values(**values))


def _stored(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as the columns store them."""
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
    # Tags are stored one per line.
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
    """The first rows that contain a text, ignoring case: SQLite folds the case of ASCII letters only."""
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
    """The evidence of entries, each drawer once: an entry's own comes before what others lent it."""
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
