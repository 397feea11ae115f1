"""Writing what is believed of the time of relations, so that it is right in each group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from langmem_tiers.knowledge_graph import grouping, predicates
from langmem_tiers.knowledge_graph.grouping import Draft
from langmem_tiers.knowledge_graph.transaction import Transaction
from langmem_tiers.knowledge_graph.types import RelationKind
from langmem_tiers.storage import entities, relations
from langmem_tiers.storage.relations import RelationRow, VersionRow


class Versions:
    """The versions of a space's relations within one transaction."""

    def __init__(self, within: Transaction) -> None:
        self.within = within
        self._at = (within.connection, within.space)

    def single(self, predicate: str, kind: RelationKind) -> bool:
        """Whether of such relations only one holds at a time."""
        return kind == "stated" and predicates.single_valued(predicate, self.within.settings.graph)

    def settle(self, number: int, draft: Draft | None, group: Sequence[RelationRow] | None = None) -> list[int]:
        """Write a relation's next version, and those of others that it makes so; the numbers of all.

        `group` are the relations that bear on it as they were read before, itself among them or not.
        """
        row = relations.with_last(*self._at, [number])[0]
        drafts = {} if draft is None else {number: draft}
        known = None if group is None else [*(each for each in group if each.number != number), row]
        if self.single(row.predicate, row.kind):
            return self._settle_group(row.subject, row.predicate, drafts, known)
        if draft is None:
            return []
        self._write(row, grouping.alone(draft))
        return [number]

    def settle_around(self, row: RelationRow) -> None:
        """Let time be right around a relation that is gone."""
        if row.kind == "stated":
            ends = (row.subject,) if row.object is None else (row.subject, row.object)
            self.settle_groups((end, row.predicate) for end in ends)

    def settle_groups_of(self, entity: int) -> list[int]:
        """Let time be right again around an entity that was merged or parted; the numbers of what changed by it."""
        members = self.within.members(entities.canonical(*self._at, entity))
        return self.settle_groups(relations.groups_of(*self._at, members))

    def settle_groups(self, groups: Iterable[tuple[int, str]]) -> list[int]:
        """Let time be right in the groups of these subjects and predicates; the numbers of what changed by it."""
        named = set(groups)
        ends = entities.canonical_of(*self._at, {subject for subject, _ in named})
        # One that leads to another entity only is the first of no group, and there is nothing to do for it.
        standing = sorted({(ends[subject], predicate) for subject, predicate in named if subject in ends})
        return [number for subject, predicate in standing for number in self._settle_group(subject, predicate)]

    def withdraw(self, row: RelationRow) -> None:
        """Let a relation be believed at no time any more."""
        last = row.last
        self._believe_no_longer(row, last)
        at = self._moment(last)
        gone = last._replace(version=last.version + 1, recorded_at=at, until=at, reason="withdrawn", cause=None)
        relations.put_version(*self._at, row.number, gone)
        self.within.log_relations(row.number)

    def _settle_group(
        self,
        subject: int,
        predicate: str,
        drafts: Mapping[int, Draft] | None = None,
        group: Sequence[RelationRow] | None = None,
    ) -> list[int]:
        """Let time be right in the group of a subject and a predicate; the numbers of what changed by it."""
        if not self.single(predicate, "stated"):
            return []
        settled = grouping.settled(*self._at, subject, predicate, drafts or {}, group=group)
        for row, version in settled:
            self._write(row, version)
        return [row.number for row, _ in settled]

    def _write(self, row: RelationRow, version: VersionRow) -> None:
        """Let a version be what is believed of a relation now."""
        last = row.versions[-1] if row.versions else None
        at = self.within.now if last is None else self._moment(last)
        if last is not None:
            self._believe_no_longer(row, last)
        number = 1 if last is None else last.version + 1
        until = None if version.until is None else at
        stored = version._replace(version=number, recorded_at=at, until=until)
        relations.put_version(*self._at, row.number, stored)
        self.within.log_relations(row.number)

    def _believe_no_longer(self, row: RelationRow, last: VersionRow) -> None:
        if last.until is None:
            relations.believe_no_longer(*self._at, row.number, last.version, self._moment(last))

    def _moment(self, last: VersionRow) -> int:
        """Now, but not before what was recorded last: clocks may go back."""
        return max(self.within.now, last.recorded_at)
