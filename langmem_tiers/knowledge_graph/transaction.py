"""The graph of a space within one transaction: merged entities, authority checks, and the change log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import AuthorityTooLow, UnknownRelation
from langmem_tiers.language import predicates
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.records import Authority, Entity, Relation
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, entities, facts, relations
from langmem_tiers.storage.change_log import Kind, ranges
from langmem_tiers.storage.relations import RelationRow
from langmem_tiers.wording import beginning


class GraphTransaction:
    """The graph of a space within one transaction, at one moment in milliseconds.

    Changes are logged at once or, if it is used as a context manager, together at the end.
    """

    def __init__(self, connection: Connection, space: str, now: int, settings: Settings | None = None) -> None:
        self.connection = connection
        self.space = space
        self.at = (connection, space)
        self.now = now
        self.settings = settings or Settings()
        self._added: set[int] = set()
        self._alone: set[int] = set()
        self._standing: set[int] = set()
        self._related: set[int] = set()
        self._reserved: defaultdict[str, list[int]] = defaultdict(list)
        self._changed: dict[Kind, set[int]] = {"entities.changed": set(), "relations.changed": set()}
        self._logs_at_end = False

    def __enter__(self) -> GraphTransaction:
        self._logs_at_end = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self._append(self._changed)

    # New records.

    def reserve(self, steps: Mapping[str, int]) -> None:
        """Have so many numbers ready under these names, in one statement."""
        for name, last in facts.count_up_all(*self.at, steps).items():
            self._reserved[name] += range(last - steps[name] + 1, last + 1)

    def next_number(self, name: str) -> int:
        """The number of a new record."""
        if not self._reserved[name]:
            self.reserve({name: 1})
        return self._reserved[name].pop(0)

    def put_entities(self, several: Sequence[Entity], *, new: Collection[int]) -> None:
        """Store new and changed entities; `new` are the numbers of the new ones."""
        entities.put_all(*self.at, several)
        self._added.update(new)
        self.log_entities(*(each.number for each in several))

    def put_relation(self, row: RelationRow) -> None:
        """Store a relation that has no version yet."""
        relations.put_rows(*self.at, [row])
        self._related.update(end for end in (row.subject, row.object) if end is not None)

    def unrelated(self, number: int) -> bool:
        """Whether there can be no relation of an entity: it was added just now."""
        return number in self._added and number not in self._related

    # Merged entities.

    def called(self, slugs: Collection[str]) -> dict[str, list[Entity]]:
        """The entities with these names or aliases, including merged ones, by slug; without their evidence."""
        found = entities.of_slugs(*self.at, slugs)
        self._alone |= found.alone
        return found.by_slug

    def ends_of(self, rows: Iterable[RelationRow]) -> list[Entity]:
        """The entities that relations lead to, but for those that were merged into others or are known already."""
        targets = {row.object for row in rows if row.object is not None}
        found = entities.by_numbers(*self.at, {each for each in targets if not self._is_alone(each)})
        standing = [each for each in found.values() if each.merged_into is None]
        self._standing.update(each.number for each in standing)
        return standing

    def _is_alone(self, number: int) -> bool:
        """Whether an entity is known to be neither merged into another nor another into it."""
        return number in self._added or number in self._alone

    @lazy_property
    def _merged_into(self) -> dict[int, int]:
        return entities.merged_into(*self.at)

    @lazy_property
    def _behind(self) -> dict[int, list[int]]:
        """All entities merged into each entity, directly or indirectly."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for source, target in self._merged_into.items():
            found[target].append(source)
        return found

    def canonical(self, number: int) -> int:
        """The number of the canonical entity: itself, or the end of its chain of merges."""
        if number in self._standing or self._is_alone(number) or number not in self._merged_into:
            return number
        return entities.end_of_merges(number, self._merged_into)

    def members(self, number: int) -> list[int]:
        """An entity with all that were merged into it, over any number of steps, lowest number first."""
        if self._is_alone(number):
            return [number]
        found, waiting = {number}, [number]
        while waiting:
            waiting = [each for one in waiting for each in self._behind.get(one, ()) if each not in found]
            found.update(waiting)
        return sorted(found)

    def one_with(self, number: int) -> list[int]:
        """All entities that count as one with this: the canonical one, and those merged into it."""
        return self.members(self.canonical(number))

    def merges_changed(self) -> None:
        """Recompute the merges: one was made or undone, or entities were deleted."""
        self.__dict__.pop("_merged_into", None)
        self.__dict__.pop("_behind", None)
        self._added.clear()
        self._alone.clear()
        self._standing.clear()

    # Relations and who may change them.

    def single(self, predicate: str, kind: str = "stated") -> bool:
        """Whether only one relation by this predicate holds at a time."""
        return kind == "stated" and predicates.single_valued(predicate, self.settings.graph)

    def stated(self, subject: Entity, *of: str) -> list[RelationRow]:
        """The stated relations of an entity by these predicates, each with its last version only."""
        members = self.one_with(subject.number)
        return [row for predicate in of for row in relations.group(*self.at, members, predicate)]

    def row(self, which: str | int) -> RelationRow:
        """A relation by its id or number, with all its versions.

        Raises:
            UnknownRelation: there is no such relation.
        """
        if isinstance(which, str):
            found = relations.of_id(*self.at, which)
        else:
            found = next(iter(relations.of_numbers(*self.at, [which])), None)
        if found is None:
            raise UnknownRelation(f"There is no relation {beginning(str(which), 40)!a}.")
        return found

    def relations(
        self,
        rows: Sequence[RelationRow],
        *,
        evidence: bool = True,
        known: Iterable[RelationRow] = (),
        ends: Iterable[Entity] = (),
        bare: Collection[int] = (),
    ) -> list[Relation]:
        """Rows as the records that callers get, each as of its last version.

        `known` are rows and `ends` canonical entities that have been read already; `bare` are those without evidence.
        """
        return relations.relations_of(
            *self.at, rows, with_evidence=evidence, bare=bare, known=known, ends=ends, canonical=self.canonical
        )

    def require(self, row: RelationRow, by: Authority, *, by_tool: bool = False) -> None:
        """Require that the author may change a relation; `by_tool` if that is a tool's result.

        Raises:
            AuthorityTooLow: it was stated with higher authority.
        """
        if by_tool and row.told:
            raise AuthorityTooLow(
                f"Relation {row.id} cannot be changed: a tool's result does not change what was said."
            )
        if by < row.authority:
            raise AuthorityTooLow(f"Relation {row.id} cannot be changed: somebody of higher authority said so.")

    # The change log.

    def log_entities(self, *numbers: int) -> None:
        """Log that entities were added, changed or deleted; once per transaction."""
        self._log("entities.changed", numbers)

    def log_relations(self, *numbers: int) -> None:
        """Log that relations were added, changed or deleted; once per transaction."""
        self._log("relations.changed", numbers)

    def _log(self, kind: Kind, numbers: Iterable[int]) -> None:
        news = set(numbers) - self._changed[kind]
        self._changed[kind] |= news
        if not self._logs_at_end:
            self._append({kind: news})

    def _append(self, changed: dict[Kind, set[int]]) -> None:
        runs = [(kind, *span) for kind, numbers in changed.items() for span in ranges((each, each) for each in numbers)]
        change_log.append_all(*self.at, runs, at=self.now)


def is_open(row: RelationRow) -> bool:
    """Whether a relation is believed, and nothing has ended it."""
    return row.believed and row.last.valid_to is None


@contextmanager
def writing(context: SpaceContext) -> Iterator[GraphTransaction]:
    """The graph of a space in one write transaction; background work then examines the changes."""
    with (
        context.open() as store,
        store.writing() as connection,
        GraphTransaction(connection, store.key, to_millis(context.clock()), context.settings) as graph,
    ):
        yield graph
    context.wake()


@contextmanager
def reading(context: SpaceContext) -> Iterator[GraphTransaction]:
    """The records of a space's graph as they are now."""
    with context.open() as store, store.reading() as connection:
        yield GraphTransaction(connection, store.key, to_millis(context.clock()), context.settings)
