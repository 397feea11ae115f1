"""Merging a whole space into one that is not empty: what is there stays as it is, what is new gets new numbers.

What was forgotten here does not come back, nor what rests on nothing else. Dreams with their changesets and receipts
name rows by number and are left behind.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.clock import from_millis
from langmem_tiers.content import content_hash
from langmem_tiers.knowledge import likeness
from langmem_tiers.knowledge import tombstones as of_entries
from langmem_tiers.knowledge_graph import exporting, importing
from langmem_tiers.knowledge_graph import tombstones as of_graph
from langmem_tiers.knowledge_graph.exchange import GraphRecord
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.settings import Settings
from langmem_tiers.storage import (
    change_log,
    dump,
    episodes,
    forgotten,
    items,
    keyword,
    notes,
    relations,
    revisions,
    tombstones,
)
from langmem_tiers.storage.change_log import Kind
from langmem_tiers.storage.forgotten import Spoken

_NOT_MERGED = {"receipts": "receipts of recalls", "dreams": "dreams", "proposals": "proposals of mining"}
_AHEAD = timedelta(days=1)
# The kind of note and the log entry of each table whose rows have their key by name, and which column that is.
_BY_KEY: Mapping[str, tuple[tuple[str, ...], Kind | None]] = {
    "tasks": (("id",), "task.changed"),
    "documents": (("path",), "document.changed"),
    "store_items": (("namespace", "key"), "item.changed"),
    "working_entries": (("key",), "working.changed"),
    "usages": (("day", "session", "source", "model"), None),
}
_ALIKE: Mapping[str, tuple[str, ...]] = {
    "feedback_signals": ("kind", "at", "note"),
    "golden_questions": ("question", "expects"),
    "activities": ("kind", "at", "body"),
}


class Merge:
    """One merge of a staged space into another, within one transaction."""

    def __init__(
        self, source: Connection, from_space: str, connection: Connection, space: str, settings: Settings, now: int
    ) -> None:
        self._source = source
        self._from = from_space
        self._connection = connection
        self._space = space
        self._settings = settings
        self._now = now
        self._drawers: dict[int, int] = {}
        self._gone: set[int] = set()
        self._new_drawers: set[int] = set()
        self._rooms: dict[int, int] = {}
        self._new_rooms: set[int] = set()
        self._places: dict[int, int] = {}
        self._new_notes: set[tuple[str, str]] = set()
        self._stored: Counter[str] = Counter()
        self._left: Counter[str] = Counter()

    def run(self) -> tuple[dict[str, int], dict[str, int]]:
        """Merge everything; how many rows were stored by table, and what was left behind."""
        self._messages()
        self._entries()
        self._episodes()
        for name, (key, kind) in _BY_KEY.items():
            self._by_key(name, key, kind)
        for name, values in _ALIKE.items():
            self._alike(name, values)
        self._identity()
        self._graph()
        self._notes()
        self._tombstones()
        for name, what in _NOT_MERGED.items():
            if left := dump.count(self._source, self._from, name):
                self._left[what] += left
        return dict(self._stored), dict(self._left)

    def _rows(self, table: str) -> Iterator[dump.Row]:
        return dump.rows(self._source, self._from, table)

    def _add(self, table: str, rows: list[dump.Row]) -> None:
        dump.add(self._connection, self._space, table, rows)
        self._stored[table] += len(rows)

    def _log(self, kind: Kind, first: int | None, last: int | None = None, detail: str | None = None) -> None:
        change_log.append(self._connection, self._space, kind, first, until=last, at=self._now, detail=detail)

    # Messages.

    def _messages(self) -> None:
        self._find_rooms()
        self._number_drawers()
        new = [self._drawer(row) for row in self._rows("drawers") if row["number"] in self._new_drawers]
        if not new:
            return
        self._add("drawers", new)
        turns = [
            {**row, "drawer": self._drawers[row["drawer"]], "follows": self._drawers.get(row["follows"] or 0)}
            for row in self._rows("turns")
            if row["drawer"] in self._new_drawers
        ]
        self._stored["turns"] += dump.add_new(self._connection, self._space, "turns", turns)
        for table in ("chunks", "revisions"):
            self._add(table, [*self._of_new(table, "drawer", self._drawers, self._new_drawers)])
        windows = self._of_new("mined_windows", "room", self._rooms, self._new_rooms)
        self._stored["mined_windows"] += dump.add_new(self._connection, self._space, "mined_windows", windows)
        first, last = new[0]["number"], new[-1]["number"]
        standing = (row for row in new if row["superseded_by"] is None)
        words = [keyword.drawer_words(row["number"], row["content"], row["tags"].split("\n")) for row in standing]
        keyword.drawers.add(self._connection, words)
        self._log("drawers.added", first, last)
        revised = {each["drawer"] for each in self._of_new("revisions", "drawer", self._drawers, self._new_drawers)}
        for number in sorted(revised):
            self._log("revisions.changed", number)
        if revised:  # by whatever version
            revisions.read_again(self._connection, self._space)

    def _of_new(self, table: str, column: str, numbers: Mapping[int, int], new: set[int]) -> Iterator[dump.Row]:
        yield from ({**row, column: numbers[row[column]]} for row in self._rows(table) if row[column] in new)

    def _find_rooms(self) -> None:
        """Sessions are the same by their name; a new one is filed in the wing of the same name."""
        there = dump.with_values(self._connection, self._space, "rooms", ["session"])
        wings = self._wings()
        beyond = defaultdict[int, int](int)
        for wing, address in dump.with_values(self._connection, self._space, "rooms", ["address_wing", "address_room"]):
            beyond[wing] = max(beyond[wing], address)
        number = dump.next_number(self._connection, self._space, "rooms")
        new: list[dump.Row] = []
        for row in self._rows("rooms"):
            held = there.get((row["session"],))
            self._rooms[row["number"]] = number if held is None else held
            if held is not None:
                continue
            wing = wings[row["wing"]]
            beyond[wing] += 1
            new.append({**row, "number": number, "wing": wing, "address_wing": wing, "address_room": beyond[wing]})
            self._new_rooms.add(row["number"])
            number += 1
        self._add("rooms", new)

    def _wings(self) -> dict[int, int]:
        there = dump.with_values(self._connection, self._space, "wings", ["slug"])
        number = dump.next_number(self._connection, self._space, "wings")
        found: dict[int, int] = {}
        new: list[dump.Row] = []
        for row in self._rows("wings"):
            held = there.get((row["slug"],))
            found[row["number"]] = number if held is None else held
            if held is None:
                new.append({**row, "number": number})
                number += 1
        self._add("wings", new)
        aliases = [{**row, "wing": found[row["wing"]]} for row in self._rows("wing_aliases")]
        self._stored["wing_aliases"] += dump.add_new(self._connection, self._space, "wing_aliases", aliases)
        return found

    def _number_drawers(self) -> None:
        """Which messages are here already, which were forgotten here, and the numbers of the others."""
        there = {
            (row["session"], row["message_id"], row["content_hash"]): row["drawer"]
            for row in dump.rows(self._connection, self._space, "turns")
        }
        by_session: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row in self._rows("turns"):
            held = there.get((row["session"], row["message_id"], row["content_hash"]))
            if held is not None:
                self._drawers[row["drawer"]] = held
            by_session[row["session"]][row["message_id"]].append(row["drawer"])
        for session, told in by_session.items():
            said = [Spoken(message_id, "", b"") for message_id in told]
            for message_id in forgotten.forgotten_among(self._connection, self._space, session, said):
                self._gone.update(told[message_id])
        number = dump.next_number(self._connection, self._space, "drawers")
        for row in self._rows("drawers"):
            if row["number"] in self._gone:
                self._left["messages that were forgotten here"] += 1
            elif row["number"] not in self._drawers:
                self._drawers[row["number"]] = number
                self._new_drawers.add(row["number"])
                number += 1

    def _drawer(self, row: dump.Row) -> dump.Row:
        """A message in its room, at the next place; the background files it in a closet again."""
        room = self._rooms[row["room"]]
        if room not in self._places:
            [held] = [each for each in [dump.one(self._connection, self._space, "rooms", {"number": room})] if each]
            self._places[room] = 0 if row["room"] in self._new_rooms else held["drawers"]
        self._places[room] += 1
        dump.set_value(self._connection, self._space, "rooms", room, "drawers", self._places[room])
        followed = row["superseded_by"]
        return {
            **row,
            "number": self._drawers[row["number"]],
            "room": room,
            "closet": None,
            "place": self._places[room],
            "superseded_by": None if followed is None else self._drawers.get(followed),
        }

    # What is known.

    def _entries(self) -> None:
        held = dump.with_values(self._connection, self._space, "entries", ["content_hash", "id"])
        texts = dict(sorted(held, key=held.__getitem__))  # of several, the newest
        # By the id that an entry has there, the one that it has here.
        ids = {entry: entry for _, entry in held}
        evidence: dict[int, list[dump.Row]] = defaultdict(list)
        for row in self._rows("entry_evidence"):
            evidence[row["entry"]].append(row)
        number = dump.next_number(self._connection, self._space, "entries")
        numbers: dict[int, int] = {}
        new: list[dump.Row] = []
        for row in self._rows("entries"):
            rests = evidence[row["number"]]
            if row["id"] in ids or row["content_hash"] in texts:
                ids.setdefault(row["id"], texts.get(row["content_hash"]))
                self._left["entries that are here already"] += 1
            elif rests and all(each["drawer"] in self._gone for each in rests):
                self._left["entries that rest on what was forgotten here"] += 1
            elif self._buried("entry", of_entries.key(row["content"])):
                self._left["entries that were deleted here"] += 1
            else:
                numbers[row["number"]] = number
                ids[row["id"]] = row["id"]
                new.append({**row, "number": number})
                self._new_notes.add(("entry", row["id"]))
                number += 1
        self._add("entries", [{**row, "successor": ids.get(row["successor"])} for row in new])
        cited = [
            {**row, "entry": numbers[entry], "drawer": self._drawers[row["drawer"]], "via": numbers.get(row["via"], 0)}
            for entry, rows in evidence.items()
            if entry in numbers
            for row in rows
            if row["drawer"] not in self._gone
        ]
        self._stored["entry_evidence"] += dump.add_new(self._connection, self._space, "entry_evidence", cited)
        for row in new:
            self._log("entry.changed", row["number"])

    def _buried(self, kind: tombstones.Kind, key: bytes) -> bool:
        return bool(tombstones.among(self._connection, self._space, kind, {key}))

    def _episodes(self) -> None:
        there = {key[0] for key in dump.with_values(self._connection, self._space, "episodes", ["id"])}
        number = dump.next_number(self._connection, self._space, "episodes")
        new: list[dump.Row] = []
        for row in self._rows("episodes"):
            first, last = row["first_drawer"] or 0, row["last_drawer"] or 0
            if row["id"] in there:
                self._left["summaries that are here already"] += 1
            elif any(first <= each <= last for each in self._gone):
                self._left["summaries of what was forgotten here"] += 1
            elif episodes.buried(self._connection, self._space, row["session"], row["compaction"]):
                self._left["summaries that were deleted here"] += 1
            else:
                new.append(self._episode(row, number))
                number += 1
                dump.add(self._connection, self._space, "episodes", [new[-1]])
        self._stored["episodes"] += len(new)
        for row in new:
            self._new_notes.add(("episode", row["id"]))
            self._log("episode.added", row["number"])

    def _episode(self, row: dump.Row, number: int) -> dump.Row:
        taken = {"session": row["session"], "compaction": row["compaction"]}
        count = row["compaction"]
        if dump.one(self._connection, self._space, "episodes", taken) is not None:
            count = episodes.next_count(self._connection, self._space, row["session"], task=count < 0)
        ends = {name: self._drawers.get(row[name] or 0) for name in ("first_drawer", "last_drawer")}
        return {**row, **ends, "number": number, "compaction": count}

    def _by_key(self, table: str, key: tuple[str, ...], kind: Kind | None) -> None:
        for row in self._rows(table):
            named = {name: row[name] for name in key}
            if dump.one(self._connection, self._space, table, named) is not None:
                self._left[f"{table.replace('_', ' ')} that are here already"] += 1
            elif table == "documents" and self._buried("document", content_hash(row["path"])):
                self._left["documents that were deleted here"] += 1
            else:
                self._add(table, [row])
                if kind is not None:
                    # Only tasks are looked up in the log by name; paths and keys may say what is deleted later.
                    self._log(kind, None, detail=row["id"] if table == "tasks" else None)
                self._note_of(table, row)

    def _note_of(self, table: str, row: dump.Row) -> None:
        if table == "documents":
            self._new_notes.add(("document", row["path"]))
        elif table == "working_entries":
            self._new_notes.add(("working", row["key"]))
        elif table == "store_items":
            place = items.ref(row["namespace"], row["key"])
            self._new_notes.update({("item", place), ("value", place)})

    def _alike(self, table: str, values: tuple[str, ...]) -> None:
        there = dump.with_values(self._connection, self._space, table, values)
        number = dump.next_number(self._connection, self._space, table)
        new: list[dump.Row] = []
        for row in self._rows(table):
            if tuple(row[name] for name in values) in there or row.get("drawer") in self._gone:
                continue
            drawer = {"drawer": self._drawers.get(row["drawer"] or 0)} if "drawer" in row else {}
            new.append({**row, **drawer, "number": number})
            number += 1
        self._add(table, new)

    def _identity(self) -> None:
        held = [*self._rows("identities")]
        if not held:
            return
        if dump.count(self._connection, self._space, "identities"):
            self._left["versions of the identity"] += len(held)
            return
        self._add("identities", held)
        self._log("identity.changed", held[-1]["version"])

    # The graph, by its own exchange.

    def _graph(self) -> None:
        there = GraphTransaction(self._source, self._from, self._now, self._settings)
        told = exporting.record(there)
        if not told["entities"]:
            return
        gone = self._deleted_relations(there)
        told["entities"] = [
            each for each in told["entities"] if not self._buried("entity", of_graph.entity_key(each["name"]))
        ]
        kept = {each["id"] for each in told["entities"]}
        told["relations"] = [each for each in told["relations"] if self._stays(each, kept, gone)]
        for name, ends in (("merges", ("source", "target")), ("pairs", ("first", "second"))):
            told[name] = [each for each in told[name] if all(each[end] in kept for end in ends)]
        for each in (*told["entities"], *told["relations"]):
            each["evidence"] = [
                {**one, "drawer": self._drawers[one["drawer"]]}
                for one in each["evidence"]
                if one["drawer"] in self._drawers
            ]
        with GraphTransaction(self._connection, self._space, self._now, self._settings) as graph:
            done = importing.merge(graph, GraphRecord.model_validate(told), from_millis(self._now) + _AHEAD)
        self._stored["entities"] += done.entities
        self._stored["relations"] += done.relations
        self._left["entities and relations that are here already"] += done.known

    def _deleted_relations(self, there: GraphTransaction) -> set[str]:
        rows = relations.every(*there.at)
        keys = {row.id: of_graph.statement_keys(there, row) for row in rows}
        every = {key for each in keys.values() for key in each}
        buried = tombstones.among(self._connection, self._space, "relation", every)
        return {one for one, each in keys.items() if each & buried}

    def _stays(self, relation: dict[str, Any], entities: set[str], gone: set[str]) -> bool:
        named = {relation["subject"], *([] if relation["object"] is None else [relation["object"]])}
        rests = [each["drawer"] for each in relation["evidence"]]
        forgotten_all = bool(rests) and all(each in self._gone for each in rests)
        stays = named <= entities and relation["id"] not in gone and not forgotten_all
        self._left["relations that were deleted or forgotten here"] += not stays
        return stays

    # Search texts, and what was deleted there.

    def _notes(self) -> None:
        number = dump.next_number(self._connection, self._space, "notes")
        new: list[dump.Row] = []
        for row in self._rows("notes"):
            if (row["kind"], row["ref"]) in self._new_notes:
                new.append({**row, "number": number})
                number += 1
        self._add("notes", new)
        dump.count_on(self._connection, self._space)
        if new:
            first, last = new[0]["number"], new[-1]["number"]
            held = notes.between(self._connection, self._space, first, last)
            keyword.notes.add(self._connection, [notes.words_row(each.number, each) for each in held])
            self._log("notes.changed", first, last)
            likeness.forget_indexed(self._connection, self._space)  # those of an older version have none

    def _tombstones(self) -> None:
        rows = tombstones.every(self._source, self._from)
        secret = tombstones.secret_of(self._source, self._from)
        there = set(tombstones.every(self._connection, self._space))
        if not tombstones.carry_over(self._connection, self._space, [row for row in rows if row not in there], secret):
            self._left["tombstones under another key"] += len(rows)
