"""The knowledge graph of a space, `space.graph`: the methods that write. Queries are in `queries`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import InvalidPeriod, InvalidRelation, UnknownEntity
from langmem_tiers.knowledge.deletion import delete as delete_entry
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.knowledge.relations_of_entries import entries_with
from langmem_tiers.knowledge_graph import (
    checks,
    deletion,
    entities,
    entity_lookup,
    merging,
    naming,
    relations,
)
from langmem_tiers.knowledge_graph.answers import alike, answering
from langmem_tiers.knowledge_graph.entities import NamedEntity
from langmem_tiers.knowledge_graph.queries import GraphQueries
from langmem_tiers.knowledge_graph.relations import NewRelation
from langmem_tiers.knowledge_graph.transaction import GraphTransaction, reading, writing
from langmem_tiers.knowledge_graph.types import GraphDeleted, KeptApart, LikelyPair, Merge, RelationLanded
from langmem_tiers.language import name_matching, periods
from langmem_tiers.language.periods import When
from langmem_tiers.records import Authority, Entity, EntityType, Entry, GraphEvidence, Period, Relation
from langmem_tiers.storage import merges as merge_rows
from langmem_tiers.storage import relations as relation_rows
from langmem_tiers.types import Origin
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.importing import Imported

_OF_SOMEBODY = re.compile(r"['’]s? +\w")


class KnowledgeGraph(GraphQueries):
    """People and things known in a space, how they are related, and from when until when.

    Every relation has two times: when it holds, and when the memory came to believe it. `as_of` queries the
    first ("where did she live in 2023"), `known_at` the second ("what did we believe in May"). Nothing is overwritten:
    where only one value can hold at a time, such as a home, a new one ends the old one.

    Refer to an entity by its id, or by a name or alias that only one entity has.

    Example:
        >>> with Memory.open("memory", embedder=None) as memory:
        ...     graph = memory.user("alice").graph
        ...     _ = graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2021")
        ...     _ = graph.add_relation("Anna", "lives in", "Porto", valid_from="2024-05")
        ...     graph.neighbours("Anna", as_of="2023").relations[0].target
        'Lisbon'
    """

    # Writing.

    def add_entity(
        self,
        name: str,
        *,
        type: EntityType = "other",
        aliases: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        evidence: Sequence[GraphEvidence | int | str] = (),
        origin: Origin = "user",
        distinct: bool = False,
    ) -> Entity:
        """Get or create the entity with this name, and add aliases, evidence and metadata to it.

        Args:
            name: The name as written, at most 200 characters.
            type: One of `BUILT_IN_TYPES`, or a word of your own that does not look like a misspelled one. "other"
                leaves a known type unchanged.
            aliases: Other names it goes by.
            metadata: A JSON object of your own.
            evidence: Drawers that mention it, by number or pointer.
            origin: Who says so.
            distinct: Create another entity even if the name is taken; from then on, refer to both by their ids.

        Raises:
            InvalidInput: a name that is empty, too long, or a secret; a type that looks like a misspelled built-in one.
            AmbiguousEntity: several entities have this name; use an id.
        """
        said_by = checks.said_by(origin)
        another = arguments.flag(distinct, "distinct")
        given = arguments.text(name, "name")
        named = NamedEntity(
            name=naming.require_name(given) if another else self._called(given),
            type=checks.entity_type(type, "type"),
            aliases=checks.aliases(aliases),
            metadata=metadata,
            evidence=checks.evidence(self._context, evidence),
            **said_by._asdict(),
        )
        with writing(self._context) as graph:
            made = entities.add_distinct_entity(graph, named) if another else entities.upsert_entity(graph, named)
            return entities.require_known(graph, made.id)

    def add_relation(
        self,
        subject: str,
        predicate: str,
        object: str | None = None,
        *,
        value: str | float | None = None,
        unit: str | None = None,
        subject_type: EntityType = "other",
        object_type: EntityType = "other",
        valid_from: When | None = None,
        valid_to: When | None = None,
        evidence: Sequence[GraphEvidence | int | str] = (),
        origin: Origin = "user",
        confidence: float = 1.0,
    ) -> RelationLanded:
        """Add a relation between two entities, or between an entity and a value.

        Unknown entities are created. With a predicate that holds one value at a time, a new value ends the old one;
        a statement about an earlier time is placed where it belongs in the timeline.

        Args:
            subject: Id, name or alias of an entity.
            predicate: In any words, such as "works for"; synonyms are mapped to one predicate.
            object: Id, name or alias of an entity; or give `value`.
            value: A literal, such as 20, in place of an entity.
            unit: Of the value, such as "Ah".
            subject_type: Type of a new subject; a person and a place with the same name are two entities.
            object_type: Of the object, likewise.
            valid_from: Since when; None if unknown.
            valid_to: The first moment at which it no longer holds; None if it still does.
            evidence: Drawers that say so, by number or pointer.
            origin: Who says so.
            confidence: 0 to 1.

        Raises:
            InvalidRelation: it is not possible, such as a relation to itself, or the predicate says that something is
                over or not so.
            InvalidPeriod: `valid_to` is not after `valid_from`, or one of them is not a date.
            UnknownEntity, AmbiguousEntity: no entity has this id, or several have this name.
        """
        said_by = checks.said_by(origin)
        settings, now = self._context.settings, self._context.clock()
        named = self._called(arguments.text(subject, "subject"))
        leads_to = None if object is None else self._called(arguments.text(object, "object"))
        types = (checks.entity_type(subject_type, "subject_type"), checks.entity_type(object_type, "object_type"))
        measured_in = arguments.optional_text(unit, "unit")
        if (object is None) == (value is None):
            raise InvalidRelation("A relation leads to either an object or a value.")
        if measured_in is not None and value is None:
            raise InvalidRelation("A unit belongs to a value.", way_out="Give the value, or leave the unit out.")
        given = None if value is None else checks.value(value, measured_in, settings)
        start, start_unit = periods.parse_optional(valid_from, now=now)
        end, end_unit = periods.parse_optional(valid_to, now=now)
        said = checks.predicate(predicate, settings)
        sure = arguments.share(confidence, "confidence")
        cited = checks.evidence(self._context, evidence)
        ends = [
            NamedEntity(name=name, type=kind, evidence=cited, **said_by._asdict())
            for name, kind in zip((named, leads_to), types, strict=True)
            if name is not None
        ]
        with writing(self._context) as graph:
            known = entities.upsert_entities(graph, ends, unbury=False, to_relate=True)
            new = NewRelation(
                subject=known[0],
                predicate=said,
                object=known[1] if leads_to is not None else None,
                value=given,
                valid_from=start,
                from_unit=start_unit,
                valid_to=end,
                to_unit=end_unit,
                confidence=sure,
                evidence=cited,
                **said_by._asdict(),
            )
            return relations.add_relation(graph, new, named=[each.name for each in ends])

    def end_relation(self, relation: str, at: When | None = None, *, origin: Origin = "user") -> Relation:
        """Mark a relation as ended at `at` (now by default); it stays in the timeline.

        Raises:
            UnknownRelation: no relation has this id.
            InvalidPeriod: `at` is before it began, or after the start of the relation that replaced it.
            AuthorityTooLow: it was stated with higher authority.
        """
        by = checks.said_by(origin).authority
        which = arguments.text(relation, "relation")
        moment, unit = periods.parse("now" if at is None else at, now=self._context.clock())
        also = self._same_fact(which)
        with writing(self._context) as graph:
            graph.require(graph.row(which), by, by_tool=origin == "tool")
            _require_open(graph, which, moment)
            for number in also:
                start = graph.row(number).last.valid_from
                if start is None or start < to_millis(moment):
                    relations.end_relation(graph, number, moment, unit=unit, by=by)
            return relations.end_relation(graph, which, moment, unit=unit, by=by)

    def withdraw_relation(self, relation: str, *, origin: Origin = "user") -> Relation:
        """Mark a relation as never true; what it had ended holds again. `known_at` still shows it.

        Raises:
            UnknownRelation, AuthorityTooLow: as for `end_relation`.
        """
        by = checks.said_by(origin).authority
        which = arguments.text(relation, "relation")
        also = self._same_fact(which)
        with writing(self._context) as graph:
            graph.require(graph.row(which), by, by_tool=origin == "tool")
            for number in also:
                relations.withdraw_relation(graph, number, by=by)
            return relations.withdraw_relation(graph, which, by=by)

    def correct_relation(
        self, relation: str, *, valid_from: When | None, valid_to: When | None, origin: Origin = "user"
    ) -> Relation:
        """Put the same relation for another time in its place, with its words, its confidence and what it rests on.

        The old one is withdrawn, as by `withdraw_relation`, and both happen or neither. If it holds for exactly this
        time already, it stays and is returned.

        Args:
            relation: The id of a relation.
            valid_from: Since when; None if unknown.
            valid_to: The first moment at which it no longer holds; None if it still does.
            origin: Who says so.

        Raises:
            UnknownRelation, AuthorityTooLow: as for `end_relation`.
            InvalidPeriod: `valid_to` is not after `valid_from`, or one of them is not a date.
        """
        said_by, now = checks.said_by(origin), self._context.clock()
        which = arguments.text(relation, "relation")
        start, start_unit = periods.parse_optional(valid_from, now=now)
        end, end_unit = periods.parse_optional(valid_to, now=now)
        times = Period(start=start, end=end, start_unit=start_unit, end_unit=end_unit)
        also = self._same_fact(which)
        with writing(self._context) as graph:
            row = graph.row(which)
            known = relations.read_relation(graph, row.number)
            if not known.withdrawn and _bounds(known.period) == _bounds(times):
                return known
            for number in also:
                relations.withdraw_relation(graph, number, by=said_by.authority)
            return relations.correct_times(graph, row, times, **said_by._asdict())

    def delete_relation(self, relation: str) -> GraphDeleted:
        """Delete a relation and its history for good, with entries that were found in the same words only.

        An unknown id is not an error.
        """
        which = arguments.text(relation, "relation")
        also = self._same_fact(which)
        with writing(self._context) as graph:
            said = {each.id for each in _saying_the_same(graph, which, also)}
            others = [deletion.delete_relation(graph, number, by=Authority.CORRECTION) for number in also]
            receipt = deletion.delete_relation(graph, which, by=Authority.CORRECTION)
            writer, settings = EntryWriter(*graph.at, graph.now), self._context.settings
            for entry in sorted(said):
                delete_entry(writer, entry, by=Authority.CORRECTION, settings=settings)
        every = sum(each.relations for each in (receipt, *others))
        return self._cleared(replace(receipt, relations=every, entries=len(said)))

    def entries_of(self, relation: str) -> tuple[Entry, ...]:
        """The entries found in the same words as a relation only: those that `delete_relation` deletes with it."""
        which = arguments.text(relation, "relation")
        also = self._same_fact(which)
        with reading(self._context) as graph:
            return tuple(_saying_the_same(graph, which, also))

    def delete_entity(self, entity: str) -> GraphDeleted:
        """Delete an entity, those merged into it, and all their relations for good. An unknown one is not an error."""
        which = arguments.text(entity, "entity")
        with writing(self._context) as graph:
            found = entities.find_entity(graph, which)
            if found is None:
                return GraphDeleted(id=which, existed=False, at=self._context.clock())
            receipt = deletion.delete_entity(graph, found, by=Authority.CORRECTION)
        return self._cleared(receipt)

    # Merging entities.

    def merge(self, source: str, target: str, *, reason: str = "the same", origin: Origin = "user") -> Merge:
        """Treat `source` as `target` from now on; both keep their own relations, so that this can be undone.

        Raises:
            MergeRefused: they are already merged, or were marked as different.
            UnknownEntity, AmbiguousEntity: no entity, or several, have this name.
        """
        by = checks.said_by(origin)
        named = (arguments.text(source, "source"), arguments.text(target, "target"))
        why = " ".join(arguments.text(reason, "reason").split())[: merging.LONGEST_REASON]
        checks.require_harmless(why, "reason", self._context.settings)
        with writing(self._context) as graph:
            one, other = merging.require_two(graph, *named)
            merging.require_mergeable(graph, one, other, by.authority)
            return merging.merge_entities(graph, one, other, reason=why, path=by.path)

    def unmerge(self, merge: int) -> Merge:
        """Undo a merge. If the memory might merge the two again, they are kept apart until `allow_merge` lifts that.

        Raises:
            UnknownEntity: there is no merge with this id, or it was already undone.
        """
        number = arguments.whole(merge, "merge")
        with writing(self._context) as graph:
            undone = merging.unmerge_entities(graph, number)
            one, other = undone.source, undone.target
            alike = name_matching.compare(one.name, other.name, one.type, other.type).kind != "other"
            if undone.path in {"rule", "model"} or alike:
                merging.keep_apart(graph, one, other, "a merge of them was undone")
            return undone

    def merges(self, *, undone: bool = False) -> tuple[Merge, ...]:
        """The merges in force, newest first; with `undone`, undone ones, too."""
        every = arguments.flag(undone, "undone")
        with reading(self._context) as graph:
            return merging.merges_of(graph, merge_rows.every(*graph.at, undone=every))

    def likely_pairs(self, *, limit: int = 50) -> tuple[LikelyPair, ...]:
        """Undecided pairs that may be the same, most likely first."""
        most = arguments.whole(limit, "limit", least=1)
        with reading(self._context) as graph:
            return merging.likely_pairs(graph, most)

    def keep_apart(self, first: str, second: str) -> None:
        """Mark two entities as different, whatever their names; `allow_merge` takes it back."""
        named = (arguments.text(first, "first"), arguments.text(second, "second"))
        with writing(self._context) as graph:
            merging.keep_apart(graph, *merging.require_two(graph, *named), "somebody said so")

    def kept_apart(self) -> tuple[KeptApart, ...]:
        """The pairs marked as different, by someone or because their merge was undone."""
        with reading(self._context) as graph:
            return merging.kept_apart(graph)

    def allow_merge(self, first: str, second: str) -> bool:
        """Allow two entities kept apart to be merged again, by the memory too; returns whether they were kept apart.

        Raises:
            UnknownEntity, AmbiguousEntity: no entity, or several, have this name.
        """
        named = (arguments.text(first, "first"), arguments.text(second, "second"))
        with writing(self._context) as graph:
            one, other = (entities.require_known(graph, name).number for name in named)
            marks = merging.kept_apart_marks(graph, one, other)
            merge_rows.remove_pairs(*graph.at, marks)
            if marks:  # background work examines them again
                graph.log_entities(one, other)
            return bool(marks)

    # Import and export.

    def export(self, path: str | Path, *, format: Literal["json", "graphml"] | None = None) -> Path:
        """Write the graph to a file, with both times; the suffix selects the format. JSON can be imported again."""
        from langmem_tiers.knowledge_graph import exporting

        return exporting.export(self._context, path, format=format)

    def import_(self, path: str | Path) -> Imported:
        """Read entities and relations from a JSON file written by `export`; existing ones are left unchanged.

        Raises:
            UnreadableFile: the file is missing, damaged, or of another kind; nothing is imported.
        """
        from langmem_tiers.knowledge_graph import importing

        return importing.import_graph(self._context, path)

    def _called(self, name: str) -> str:
        """The name as given; for "my cat" or "Anna's boss", the id of the known entity.

        Raises:
            UnknownEntity: no such entity is known.
            AmbiguousEntity: several are.
        """
        what = naming.of_mine(name)
        if what is None and not _OF_SOMEBODY.search(name):
            return name
        with answering(self._context) as answers:
            number = entity_lookup.known(answers.view, name, at=to_millis(self._context.clock()))
            if number is not None:
                return answers.view.entities[number].id
        if what is None:
            return name
        raise UnknownEntity(
            f"Nothing is known of {beginning(name, 80)!a}.",
            way_out="Ask what it is called and give that name; "
            f"that the user has this {beginning(what, 40)!a} is a relation, too.",
        )

    def _same_fact(self, which: str) -> list[int]:
        """The numbers of the other relations shown as one with this one, since merged entities share the fact."""
        with answering(self._context) as answers:
            row = relation_rows.of_id(answers.connection, answers.space, which)
            return [] if row is None else alike(answers.view, row.number)

    def _cleared(self, receipt: GraphDeleted) -> GraphDeleted:
        """The receipt, after removing the graph's cache file, which still holds the deleted data."""
        if receipt.existed:
            with self._context.open() as store:
                store.graph.discard()
        return receipt


def _bounds(period: Period) -> tuple[object, ...]:
    """Both ends as they are said: "2024" is not the same as "2024-01-01"."""
    ends = ((period.start, period.start_unit), (period.end, period.end_unit))
    return tuple(None if moment is None else (moment, unit) for moment, unit in ends)


def _saying_the_same(graph: GraphTransaction, which: str, also: Sequence[int]) -> list[Entry]:
    """The entries found in the same words as a relation, or as the others shown as one with it, each once."""
    numbers = [*also, *relation_rows.numbers_of_ids(*graph.at, [which]).values()]
    rows = relation_rows.of_numbers(*graph.at, numbers)
    return [*{each.id: each for row in rows for each in entries_with(graph, row)}.values()]


def _require_open(graph: GraphTransaction, which: str, moment: datetime) -> None:
    """Require that this call ends the relation.

    Raises:
        InvalidPeriod: another relation had ended it before.
    """
    row = graph.row(which)
    last = row.last
    if not row.believed or last.reason != "succeeded" or last.cause is None:
        return
    if last.valid_to is None or last.valid_to >= to_millis(moment):
        return
    by = graph.relations([graph.row(last.cause)], evidence=False)[0]
    raise InvalidPeriod(
        f"Relation {row.id} had ended by then: relation {by.id}, {by}, took its place "
        f"at {from_millis(last.valid_to).isoformat()}.",
        way_out="Withdraw that relation first, if it is wrong.",
    )
