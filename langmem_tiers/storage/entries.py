"""Entries of the knowledge, and the drawers that are their evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    type_coerce,
    update,
)

from langmem_tiers.clock import from_millis
from langmem_tiers.content import content_hash
from langmem_tiers.pointers import drawer_pointer
from langmem_tiers.records import Authority, Entry, EntryEvidence, Evidence, NewEntry
from langmem_tiers.storage import change_log, facts, notes
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.followed import Followed
from langmem_tiers.storage.notes import NewPiece, NoteText
from langmem_tiers.storage.schema import changes, drawers, entries, entry_evidence, rooms
from langmem_tiers.storage.sealed_text import intact
from langmem_tiers.storage.statements import Prepared, delete_among, here, insert_new, listed, numbered

# The last number assigned: numbers are never reused, even if the newest entry was deleted.
_NEWEST = "newest_entry"


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which entries to select; a field left out restricts nothing.

    `category` includes everything below it; an entry needs all of `tags`; times are of the last change, in
    milliseconds, both ends included. Of a `task` are the entries first known in it and those that rest on what was
    said in it. `active_at` leaves out entries that were due to expire by that moment. `true` is the name of a value in
    the metadata that is true. `after` is the id of the last entry of the page before, of those sorted by their last
    change, newest first.
    """

    substring: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    project: str | None = None
    agent: str | None = None
    task: str | None = None
    status: str | None = None
    active_at: int | None = None
    ids: Collection[str] | None = None
    origin: str | None = None
    pinned: bool | None = None
    true: str | None = None
    after: str | None = None


_lender = entries.alias("lender")
_LENT = and_(numbered(_lender, entry_evidence.c.via), entry_evidence.c.via != entry_evidence.c.entry)
_TABLES = entry_evidence.join(drawers, numbered(drawers, entry_evidence.c.drawer))
_RESTS = (
    select(
        entry_evidence.c.drawer,
        intact(entry_evidence.c.quote).label("quote"),
        rooms.c.address_wing,
        rooms.c.address_room,
        drawers.c.place,
        drawers.c.said_at,
        _lender.c.id.label("lender"),
    )
    .select_from(_TABLES.join(rooms, numbered(rooms, drawers.c.room)).outerjoin(_lender, _LENT))
    .where(numbered(entry_evidence, entries.c.number, "entry"))
    .order_by(entry_evidence.c.drawer, entry_evidence.c.via != entry_evidence.c.entry, entry_evidence.c.via)
    .correlate(entries)
    .subquery()
)
_EVIDENCE = select(func.json_group_array(func.json_array(*_RESTS.c))).scalar_subquery()
_NAMES = tuple(entries.c.keys())
_GIVEN = tuple(each.name for each in fields(NewEntry))
_EVERY = select(entries, _EVIDENCE.label("evidence")).order_by(entries.c.number)
_NEW = Prepared(insert(entries).returning(entries))
_OF_IDS = Prepared(_EVERY.where(*here(entries), listed(entries.c.id)))
_CHANGED = select(changes.c.subject).where(
    *here(changes), changes.c.kind == "entry.changed", changes.c.position > bindparam("since")
)
# Each branch names the space, so SQLite uses an index for each instead of reading every entry.
_NEAR = Prepared(
    _EVERY.where(
        or_(
            and_(*here(entries), entries.c.content_hash == bindparam("content")),
            and_(*here(entries), entries.c.status == "active", entries.c.id.in_(bindparam("ids", expanding=True))),
            and_(*here(entries), entries.c.status == "active", entries.c.number.in_(_CHANGED)),
        )
    )
)
_OF_NUMBERS = Prepared(_EVERY.where(*here(entries), listed(entries.c.number)))
_WITH_HASHES = Prepared(select(entries.c.content_hash).where(*here(entries), listed(entries.c.content_hash)))
_NEVER = 1 << 62
_IS_ACTIVE = (
    *here(entries),
    entries.c.status == "active",
    or_(entries.c.expires_at.is_(None), entries.c.expires_at > bindparam("at")),
)
_NEWEST_FIRST = (entries.c.updated_at.desc(), entries.c.number.desc())
# The content as it is stored: what is altered is withheld when it is read whole.
_ACTIVE = Prepared(
    select(entries.c.number, type_coerce(entries.c.content, Text).label("content"), entries.c.category)
    .where(*_IS_ACTIVE)
    .order_by(*_NEWEST_FIRST)
)
_CATEGORIES = Prepared(select(entries.c.category, func.count()).where(*_IS_ACTIVE).group_by(entries.c.category))
# Without an expiry, an entry counts as the last to expire.
_EXPIRIES = Prepared(
    select(entries.c.category, func.max(func.coalesce(entries.c.expires_at, _NEVER)))
    .where(*here(entries), entries.c.status == "active")
    .group_by(entries.c.category)
)


class PutEntry(NamedTuple):
    """An entry to store, without evidence so far: its note, if it has one.

    `dates` are when it was made and last changed, if that was not now.
    """

    new: NewEntry
    note: NoteText | None
    dates: tuple[int, int] | None = None


def put_all(connection: Connection, space: str, several: Sequence[PutEntry], at: int) -> list[Entry]:
    """Store entries with their notes, and log both."""
    pieces = [NewPiece("entry", each.new.id, 0, each.note) for each in several if each.note is not None]
    steps = {_NEWEST: len(several)} | ({notes.NEWEST: len(pieces)} if pieces else {})
    counted = facts.count_up_all(connection, space, steps)
    numbers = range(counted[_NEWEST] - len(several) + 1, counted[_NEWEST] + 1)
    news: list[change_log.News] = [("entry.changed", number, number) for number in numbers]
    if pieces:
        added = notes.add(connection, space, pieces, counted[notes.NEWEST])
        news.append(("notes.changed", added[0], added[-1]))
    change_log.append_all(connection, space, news, at=at)
    rows = [_row(space, number, each, at) for number, each in zip(numbers, several, strict=True)]
    made = {entry.number: entry for entry in (_entry(row, ()) for row in _NEW.insert(connection, rows))}
    return [made[number] for number in numbers]


def _row(space: str, number: int, put: PutEntry, at: int) -> dict[str, Any]:
    created, updated = put.dates or (at, at)
    values = _stored({name: getattr(put.new, name) for name in _GIVEN})
    return {"space": space, "number": number, **values, "created_at": created, "updated_at": updated}


def change(connection: Connection, space: str, entry: Entry, values: Mapping[str, Any]) -> Entry:
    """Set some columns of an entry."""
    changed = (
        update(entries).where(*here(entries, space, number=entry.number)).values(**_stored(values)).returning(entries)
    )
    return _entry(connection.execute(changed).one(), entry.evidence)


def remove(connection: Connection, space: str, numbers: Collection[int]) -> int:
    """Delete entries with their evidence, and what they lent to others. Returns how many pieces of evidence went."""
    of_them = or_(entry_evidence.c.entry.in_(numbers), entry_evidence.c.via.in_(numbers))
    gone = connection.execute(delete(entry_evidence).where(*here(entry_evidence, space), of_them)).rowcount
    delete_among(connection, space, entries.c.number, numbers)
    return gone


def add_evidence(
    connection: Connection,
    space: str,
    entry: int,
    evidence: Iterable[Evidence | EntryEvidence],
    *,
    via: int | None = None,
) -> int:
    """Add drawers to an entry's evidence. Returns how many are new. `via` is another entry that they came from."""
    brought = entry if via is None else via
    rows = ({"entry": entry, "drawer": each.drawer, "quote": each.quote, "via": brought} for each in evidence)
    return insert_new(connection, entry_evidence, space, rows)


def take_evidence_back(connection: Connection, space: str, entry: int, *, via: int) -> None:
    """Remove the evidence that an entry got from another one."""
    connection.execute(delete(entry_evidence).where(*here(entry_evidence, space, entry=entry, via=via)))


def by_ids(connection: Connection, space: str, ids: Collection[str]) -> dict[str, Entry]:
    """Entries by id; unknown ids are left out."""
    found = (_entry(row) for row in _OF_IDS.among(connection, ids, space=space))
    return {entry.id: entry for entry in found}


def by_numbers(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, Entry]:
    """Entries by number, ascending; unknown numbers are left out."""
    found = map(_entry, _OF_NUMBERS.among(connection, sorted(numbers), space=space))
    # Servers return rows in any order.
    return {entry.number: entry for entry in sorted(found, key=attrgetter("number"))}


def one(connection: Connection, space: str, entry_id: str) -> Entry | None:
    """The entry with an id."""
    return by_ids(connection, space, [entry_id]).get(entry_id)


def contents_among(connection: Connection, space: str, contents: Collection[str]) -> set[str]:
    """Those of these texts that are the content of an entry, active or not."""
    by_hash = {content_hash(each): each for each in contents}
    return {by_hash[found] for (found,) in _WITH_HASHES.among(connection, by_hash, space=space)}


def of_content(connection: Connection, space: str, content: str) -> list[Entry]:
    """The entries with exactly this content, oldest first."""
    return _where(connection, *here(entries, space, content_hash=content_hash(content)))


def with_metadata(connection: Connection, space: str, value: str, *, among: str, alone: str) -> list[Entry]:
    """The entries whose metadata hold a value: in the list under one name, or by itself under another."""
    listed = func.coalesce(func.json_extract(entries.c.metadata, f"$.{among}"), "")
    by_itself = func.json_extract(entries.c.metadata, f"$.{alone}") == value
    return _where(
        connection, *here(entries, space), or_(func.instr(listed, orjson.dumps(value).decode()) > 0, by_itself)
    )


def near(connection: Connection, space: str, content: str, ids: Collection[str], *, since: int) -> list[Entry]:
    """Possible duplicates of a text: entries of exactly this content, and active ones of `ids` or changed since.

    `since` is a log position.
    """
    given = {"space": space, "content": content_hash(content), "ids": list(ids), "since": since}
    return [_entry(row) for row in _NEAR.rows(connection, **given)]


def newest(connection: Connection, space: str) -> int:
    """The last number assigned, 0 before the first."""
    return facts.newest(connection, space, _NEWEST)


def succeeded_by(connection: Connection, space: str, entry_id: str, reason: str | None = None) -> list[Entry]:
    """The inactive entries that name this one as their successor, for a given reason or any."""
    why = {} if reason is None else {"reason": reason}
    return _where(connection, *here(entries, space, successor=entry_id, **why))


_ON_DRAWERS = select(entry_evidence.c.entry).where(*here(entry_evidence), listed(entry_evidence.c.drawer))
_RESTING = Prepared(_EVERY.where(*here(entries), entries.c.number.in_(_ON_DRAWERS)))


def resting_on(connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[Entry]:
    """The entries, active or not, with one of these drawers as evidence."""
    found = {entry.number: entry for entry in map(_entry, _RESTING.among(connection, drawer_numbers, space=space))}
    return [found[number] for number in sorted(found)]


def inactive(connection: Connection, space: str, most: int) -> list[Entry]:
    """The inactive entries that were changed last."""
    wanted = _EVERY.where(*here(entries, space, status="inactive")).order_by(None)
    newest = wanted.order_by(entries.c.updated_at.desc(), entries.c.number.desc()).limit(most)
    return [_entry(row) for row in connection.execute(newest)]


def put_aside(connection: Connection, space: str, reasons: Collection[str]) -> list[tuple[str, str]]:
    """Reason and content of the entries that are inactive for one of these reasons."""
    inactive = (*here(entries, space, status="inactive"), entries.c.reason.in_(reasons))
    rows = connection.execute(select(entries.c.reason, entries.c.content).where(*inactive))
    return [(row.reason, row.content) for row in rows]


def expired(connection: Connection, space: str, at: int) -> list[Entry]:
    """The active entries that were due to expire by a moment."""
    return _where(connection, *here(entries, space, status="active"), entries.c.expires_at <= at)


NEXT_EXPIRY = select(func.min(entries.c.expires_at)).where(*here(entries, status="active")).scalar_subquery()
"""As part of a statement: when the next active entry is due to expire, NULL if none is."""


def find(connection: Connection, space: str, filters: Filters, most: int) -> list[Entry]:
    """The selected entries, most recently changed first."""
    selected = [row.number for row in _selected(connection, space, filters, most, *_NEWEST_FIRST)]
    found = by_numbers(connection, space, selected)
    return [found[number] for number in selected]


def active(connection: Connection, space: str, at: int, wanted: Callable[[str, str], bool]) -> list[Entry]:
    """The entries that are active at a moment and `wanted` by content and category, most recently changed first."""
    # All are looked through, and few are wanted; to read one whole takes ten times as long.
    held = _ACTIVE.rows(connection, space=space, at=at)
    numbers = [number for number, content, category in held if wanted(content, category)]
    found = by_numbers(connection, space, numbers)
    return [found[number] for number in numbers]


def contents(connection: Connection, space: str) -> list[tuple[str, str]]:
    """The id and the content of every entry, active or not."""
    rows = connection.execute(select(entries.c.id, entries.c.content).where(*here(entries, space)))
    return [(entry_id, content) for entry_id, content in rows]


def count(connection: Connection, space: str, filters: Filters) -> int:
    """How many entries are selected."""
    if filters.substring:
        return len(_selected(connection, space, filters))
    wanted = select(func.count()).select_from(entries).where(*here(entries, space), *_conditions(filters))
    return connection.execute(wanted).scalar_one()


def ids(connection: Connection, space: str, filters: Filters) -> set[str]:
    """The ids of the selected entries."""
    return {row.id for row in _selected(connection, space, filters)}


def categories(connection: Connection, space: str, at: int) -> dict[str, int]:
    """How many entries each category has that are active at a moment."""
    return dict(_CATEGORIES.rows(connection, space=space, at=at))


class Categories(Followed[Mapping[str, int]]):
    """The categories of the active entries of one space, each with the moment at which the last of them expires."""

    kinds = frozenset({"entry.changed", "notes.changed"})

    def at_time(self, moment: Moment, at: int) -> set[str]:
        """Those with entries that are active at a time."""
        return {category for category, until in self.at(moment).items() if until > at}

    def _read(self, connection: Connection) -> Mapping[str, int]:
        return dict(_EXPIRIES.rows(connection, space=self._space))


_COUNT_RECALLED = Prepared(
    update(entries)
    .where(*here(entries), listed(entries.c.id))
    .values(recall_count=entries.c.recall_count + 1, last_recalled_at=bindparam("at"))
)


def count_recalled(connection: Connection, space: str, ids: Collection[str], at: int) -> None:
    """Count that entries were shown to a model."""
    if ids:
        _COUNT_RECALLED.change(connection, space=space, among=sorted(ids), at=at)


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


def _conditions(filters: Filters) -> list[ColumnElement[bool]]:
    equal: dict[str, str | int | None] = {
        "status": filters.status,
        "project": filters.project,
        "agent": filters.agent,
        "origin": filters.origin,
        "pinned": None if filters.pinned is None else int(filters.pinned),
    }
    made = [entries.c[name] == value for name, value in equal.items() if value is not None]
    # Tags are stored one per line.
    made += [func.instr("\n" + entries.c.tags + "\n", f"\n{tag}\n") > 0 for tag in filters.tags]
    if filters.category is not None:
        below = entries.c.category.startswith(f"{filters.category}/", autoescape=True)
        made.append(or_(entries.c.category == filters.category, below))
    if filters.task is not None:
        made.append(or_(entries.c.task == filters.task, _rests_on(filters.task)))
    if filters.since is not None:
        made.append(entries.c.updated_at >= filters.since)
    if filters.until is not None:
        made.append(entries.c.updated_at <= filters.until)
    if filters.active_at is not None:
        made.append(or_(entries.c.expires_at.is_(None), entries.c.expires_at > filters.active_at))
    if filters.true is not None:
        value = func.json_extract(entries.c.metadata, f"$.{filters.true}")
        made.append(cast(value, Text).in_(("1", "true")))
    if filters.after is not None:
        last = entries.alias()
        key = select(last.c.updated_at, last.c.number).where(
            last.c.space == entries.c.space, last.c.id == filters.after
        )
        made.append(tuple_(entries.c.updated_at, entries.c.number) < key.scalar_subquery())
    if filters.ids is not None:
        made.append(entries.c.id.in_(filters.ids))
    return made


def _rests_on(task: str) -> ColumnElement[bool]:
    """The condition for entries that rest on what was said in a task."""
    said = select(1).select_from(_TABLES).where(numbered(entry_evidence, entries.c.number, "entry"))
    return said.where(drawers.c.task == task).exists()


def _selected(
    connection: Connection, space: str, filters: Filters, most: int = -1, *order: ColumnElement[Any]
) -> list[Row[int, str, str]]:
    """Number, id and content of the first selected entries, all of them for -1."""
    wanted = select(entries.c.number, entries.c.id, entries.c.content).where(
        *here(entries, space), *_conditions(filters)
    )
    # Not in SQL: SQLite ignores the case of ASCII letters only.
    substring = (filters.substring or "").casefold()
    fitting = (row for row in connection.execute(wanted.order_by(*order)) if substring in row.content.casefold())
    return list(fitting if most < 0 else islice(fitting, most))


def _where(connection: Connection, *which: ColumnElement[bool]) -> list[Entry]:
    return [_entry(row) for row in connection.execute(_EVERY.where(*which))]


def _entry(row: Sequence[Any], evidence: tuple[EntryEvidence, ...] | None = None) -> Entry:
    """The entry in a row, with the evidence in it if none is given."""
    values = dict(zip(_NAMES, row, strict=False))
    del values["space"], values["content_hash"]
    values["evidence"] = _evidence(row[-1]) if evidence is None else evidence
    for name in ("tags", "flags"):
        values[name] = tuple(values[name].split("\n")) if values[name] else ()
    for name in ("created_at", "updated_at", "expires_at", "last_recalled_at"):
        values[name] = None if values[name] is None else from_millis(values[name])
    values["authority"], values["pinned"] = Authority(values["authority"]), bool(values["pinned"])
    values["metadata"] = orjson.loads(values["metadata"])
    return Entry(**values)


def _evidence(stored: str) -> tuple[EntryEvidence, ...]:
    """Each drawer once: an entry's own evidence comes before what others lent it."""
    found: dict[int, EntryEvidence] = {}
    for drawer, quote, wing, room, place, said_at, lender in orjson.loads(stored):
        if drawer not in found:
            pointer, said = drawer_pointer(wing, room, place), from_millis(said_at)
            found[drawer] = EntryEvidence(drawer=drawer, pointer=pointer, quote=quote, via=lender, said_at=said)
    return tuple(found.values())
