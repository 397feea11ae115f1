"""What goes along with messages and entries that are to be forgotten, decided before anything changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from langmem_tiers.forgetting import repetition
from langmem_tiers.forgetting.repeating import Rewritten, repeating, unlogged
from langmem_tiers.forgetting.repetition import Repetition
from langmem_tiers.forgetting.selection import Chosen
from langmem_tiers.knowledge.deletion import with_other_wordings
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.language.slugs import name_key
from langmem_tiers.records import FOUND
from langmem_tiers.storage import drawers, entities, entries, forgetting, graph_evidence, keyword, relations
from langmem_tiers.storage.entries import Filters
from langmem_tiers.storage.forgetting import ForgottenTurn
from langmem_tiers.types import Drawer

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.records import Entity, Entry
    from langmem_tiers.settings import Settings
    from langmem_tiers.storage.relations import RelationRow
    from langmem_tiers.store import SpaceStore


@dataclass(frozen=True, kw_only=True)
class GraphPart:
    """What goes from the graph, and what only loses drawers it rests on, by number."""

    relations: Sequence[RelationRow] = ()
    entities: Sequence[Entity] = ()
    relations_stay: Sequence[RelationRow] = ()
    entities_stay: Sequence[Entity] = ()
    aliases: Sequence[tuple[Entity, tuple[str, ...]]] = ()
    """Entities that stay, with their other names that go."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that goes, and what stays without a part of its evidence."""

    drawers: Mapping[int, Drawer]
    by_part: Collection[int] = frozenset()
    """Of the drawers, those that only have a part of the name of a person."""
    turns: Sequence[ForgottenTurn]
    entries: Sequence[Entry]
    entries_stay: Sequence[Entry]
    graph: GraphPart
    repetition: Repetition
    rewritten: Rewritten
    receipts: Sequence[int]
    sessions: Sequence[str]
    ended: Collection[str] = field(default_factory=frozenset)
    """The sessions of which nothing is left."""

    @property
    def pointers(self) -> dict[int, str]:
        """The pointers of the messages, by number."""
        return {number: each.pointer for number, each in self.drawers.items()}

    def on(self, store: SpaceStore, connection: Connection) -> Plan:
        """The same, to be carried out on another connection than the one it was made on.

        Receipts, activities, feedback and golden questions are looked up again: the log does not tell of those that
        came since.
        """
        known = self.repetition.among(_elsewhere(connection, set(self.drawers)))
        return replace(
            self,
            repetition=known,
            rewritten=unlogged(connection, store.key, self.rewritten, known, self.drawers, self.ended),
            receipts=_receipts(store, connection, self.drawers, self.turns, known, self.ended),
        )


def plan(store: SpaceStore, connection: Connection, chosen: Chosen, settings: Settings, now: int) -> Plan:
    """Decide what goes, from one snapshot of the space."""
    space, gone = store.key, chosen.drawers
    held = drawers.read(connection, space, gone)
    turns = forgetting.turns_of(connection, space, gone)
    writer = EntryWriter(connection, space, now)
    repeated = _repetition(connection, held, chosen, _named_entries(writer, chosen))
    going, staying = _entries(writer, chosen, repeated)
    graph = _graph(connection, space, chosen, held, repeated)
    known = _repetition(connection, held, chosen, going)
    sessions = list(dict.fromkeys(each.session for each in held.values()))
    ended = {each for each in sessions if not _remains(connection, space, each, gone)}
    return Plan(
        drawers=held,
        by_part=chosen.by_part,
        turns=turns,
        entries=going,
        entries_stay=staying,
        graph=graph,
        repetition=known,
        rewritten=repeating(store, connection, known, gone, ended, settings),
        receipts=_receipts(store, connection, held, turns, known, ended),
        sessions=sessions,
        ended=ended,
    )


def _receipts(
    store: SpaceStore,
    connection: Connection,
    held: Mapping[int, Drawer],
    turns: Sequence[ForgottenTurn],
    known: Repetition,
    ended: Collection[str],
) -> list[int]:
    """The receipts that show or looked at the messages, were made for them or their session, or ask in their words."""
    pointers = {number: each.pointer for number, each in held.items()}
    found = set(forgetting.receipts_showing(connection, store.key, store.name, pointers, turns))
    asked = forgetting.queries(connection, store.key)
    found |= {number for number, query in asked if known.derived(query)}
    return sorted(found | forgetting.of_sessions(connection, store.key, "receipt", ended))


def _remains(connection: Connection, space: str, session: str, gone: Collection[int]) -> bool:
    return bool(forgetting.find(connection, space, forgetting.MessageFilter(session=session)) - set(gone))


def _repetition(
    connection: Connection, held: Mapping[int, Drawer], chosen: Chosen, going: Sequence[Entry]
) -> Repetition:
    """How a repetition of the messages and entries is recognised."""
    gone = set(held)
    return repetition.of_texts(
        (each.content for each in held.values()),
        entries=[each.content for each in going],
        names=chosen.names,
        remains=lambda word: keyword.drawers.held_by_others(connection, word, gone),
        elsewhere=_elsewhere(connection, gone),
    )


def _elsewhere(connection: Connection, gone: Collection[int]) -> Callable[[str], bool]:
    return lambda passage: keyword.drawers.held_by_others(connection, passage, gone)


def _named_entries(writer: EntryWriter, chosen: Chosen) -> list[Entry]:
    """The entries that are named, with their other wordings."""
    found: dict[str, Entry] = {}
    for each in sorted(chosen.entries):
        entry = writer.read(each)
        if entry is not None:
            found |= {one.id: one for one in with_other_wordings(writer, entry)}
    return list(found.values())


def _entries(writer: EntryWriter, chosen: Chosen, repeated: Repetition) -> tuple[list[Entry], list[Entry]]:
    """The entries that go, and those that lose evidence.

    An entry goes if it is named, if all that it rests on goes, if it tells of the person, or if it has words that only
    the messages had; and with it, its other wordings that have nothing else to rest on.
    """
    connection, space = writer.connection, writer.space
    rests = forgetting.rests_on(connection, space, chosen.drawers)
    known = entries.by_numbers(connection, space, rests)
    going = {each.id: each for each in _named_entries(writer, chosen)}
    for number, entry in known.items():
        if rests[number] <= chosen.drawers or repeated.written(entry.content):
            going[entry.id] = entry
    if chosen.drawers or chosen.names:
        for entry in _without_evidence(writer):
            if repeated.may(entry.content) and repeated.written(entry.content):
                going[entry.id] = entry
    for entry in list(going.values()):
        for other in with_other_wordings(writer, entry):
            if other.id not in going and {each.drawer for each in other.evidence} <= chosen.drawers:
                going[other.id] = other
    return list(going.values()), [each for each in known.values() if each.id not in going]


def _without_evidence(writer: EntryWriter) -> list[Entry]:
    found = entries.find(writer.connection, writer.space, Filters(), -1)
    found += entries.find(writer.connection, writer.space, Filters(status="inactive"), -1)
    return [each for each in found if not each.evidence]


def _graph(
    connection: Connection, space: str, chosen: Chosen, held: Mapping[int, Drawer], repeated: Repetition
) -> GraphPart:
    """Relations and entities that rest only on what goes, and all of a person's."""
    gone = chosen.drawers
    ours = set(relations.numbers_of_entities(connection, space, sorted(chosen.entities)))
    touched = ours | set(graph_evidence.of_relations.of_drawers(connection, space, gone))
    rests = graph_evidence.of_relations.read(connection, space, touched)
    rows = relations.of_numbers(connection, space, sorted(touched))
    going = [row for row in rows if row.number in ours or {each.drawer for each in rests[row.number]} <= gone]
    going_numbers = {row.number for row in going}
    ends = {end for row in going for end in (row.subject, row.object) if end is not None}
    named = ends | set(graph_evidence.of_entities.of_drawers(connection, space, gone)) | chosen.entities
    kept, left = [], []
    evidence = graph_evidence.of_entities.read(connection, space, named)
    for number, entity in entities.by_numbers(connection, space, named).items():
        speaks = {each.drawer for each in evidence.get(number, ())}
        others = set(relations.numbers_of_entities(connection, space, [number])) - going_numbers
        only_here = (bool(speaks) and entity.path in FOUND) or repeated.derived(entity.name)
        if number in chosen.entities or (speaks <= gone and not others and only_here):
            left.append(entity)
        elif speaks & gone:
            kept.append(entity)
    return GraphPart(
        relations=going,
        entities=left,
        relations_stay=[row for row in rows if row.number not in going_numbers],
        entities_stay=kept,
        aliases=_aliases(connection, space, held, repeated, {each.number for each in left}),
    )


def _aliases(
    connection: Connection, space: str, held: Mapping[int, Drawer], repeated: Repetition, going: Collection[int]
) -> list[tuple[Entity, tuple[str, ...]]]:
    """Other names that repeat what goes, or by which only those speak whose messages all go, of entities that stay."""
    silent = _silent(connection, space, held)
    found: dict[int, list[str]] = {}
    for number, name, _ in entities.aliases(connection, space):
        only_here = name_key(name) in silent and not repeated.elsewhere(name)
        if number not in going and (only_here or repeated.derived(name)):
            found.setdefault(number, []).append(name)
    named = entities.by_numbers(connection, space, found)
    return [(entity, tuple(found[number])) for number, entity in named.items()]


def _silent(connection: Connection, space: str, held: Mapping[int, Drawer]) -> set[str]:
    """The speakers of whom no message remains, by the key of their name."""
    going = Counter(each.speaker for each in held.values() if each.speaker)
    if not going:
        return set()
    remaining = {name for name, count in forgetting.speakers(connection, space).items() if count > going[name]}
    return {name_key(name) for name in going} - {name_key(name) for name in remaining}
