"""The graph of a space within one transaction: finding what is to change, and noting in the log what has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from langmem_tiers.errors import AuthorityTooLow, UnknownRelation
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph.types import Entity, Relation
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, entities, relations
from langmem_tiers.storage.relations import RelationRow


class Transaction:
    """The graph of a space within one transaction, at one moment in milliseconds."""

    def __init__(self, connection: Connection, space: str, now: int, settings: Settings | None = None) -> None:
        self.connection = connection
        self.space = space
        self.now = now
        self.settings = settings or Settings()
        self._logged: set[tuple[str, int]] = set()

    def canonical(self, entity: Entity) -> Entity:
        """The entity that one is now."""
        number = entities.canonical(self.connection, self.space, entity.number)
        if number == entity.number:
            return entity
        return entities.by_numbers(self.connection, self.space, [number])[number]

    def members(self, number: int) -> list[int]:
        """An entity with all that were merged into it."""
        return entities.members(self.connection, self.space, number)

    def row(self, which: str | int) -> RelationRow:
        """A relation by its id or number, with all its versions.

        Raises:
            UnknownRelation: there is none.
        """
        if isinstance(which, str):
            found = relations.of_id(self.connection, self.space, which)
        else:
            found = next(iter(relations.of_numbers(self.connection, self.space, [which])), None)
        if found is None:
            raise UnknownRelation(f"There is no relation {str(which)[:40]!a}.")
        return found

    def relation(self, number: int) -> Relation:
        """The relation of a number as it is believed now, with its evidence."""
        return relations.by_numbers(self.connection, self.space, [number], evidence=True)[number]

    def require(self, row: RelationRow, by: Authority) -> None:
        """Nothing, where somebody may change a relation.

        Raises:
            AuthorityTooLow: somebody of higher authority said so.
        """
        if by < row.authority:
            raise AuthorityTooLow(f"Relation {row.id} can not be changed: somebody of higher authority said so.")

    def log_entities(self, *numbers: int) -> None:
        """Note in the log that entities are new, changed or gone; once in a transaction."""
        self._log("entities.changed", numbers)

    def log_relations(self, *numbers: int) -> None:
        """Note in the log that relations are new, changed or gone; once in a transaction."""
        self._log("relations.changed", numbers)

    def _log(self, kind: change_log.Kind, numbers: Iterable[int]) -> None:
        news = sorted({number for number in numbers if (kind, number) not in self._logged})
        self._logged.update((kind, number) for number in news)
        for first, last in _runs(news):
            change_log.append(self.connection, self.space, kind, first, until=last, at=self.now)


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of numbers without a gap."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
