"""One entity: what was ever true of it, merging it with another and taking that back, adding to it, deleting it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from starlette.responses import Response

from langmem_tiers.errors import UnknownEntity
from langmem_tiers.integrations.panel.page import Action, View, get, post
from langmem_tiers.knowledge_graph import wording
from langmem_tiers.knowledge_graph.naming import is_self
from langmem_tiers.knowledge_graph.types import LikelyPair, Merge, Timeline
from langmem_tiers.language.predicates import single_valued
from langmem_tiers.records import BUILT_IN_TYPES, Entity, Relation
from langmem_tiers.wording import beginning

_PAGE = 50
_TIMELINE = 200
# What a list can grow to.
_LONGEST = 5_000
_PAIRS = 50


class Row(NamedTuple):
    """A relation with its standing now: the kind of it, and when it holds or why it never does."""

    relation: Relation
    standing: wording.Standing
    when: str


def rows_of(view: View, relations: Iterable[Relation]) -> list[Row]:
    """Relations with their standing now."""
    now = view.space.memory.clock()
    plain = ((each, replace(each, said_later=())) for each in relations)
    return [Row(each, wording.standing(bare, now), wording.standing_words(bare, now)) for each, bare in plain]


def path_of(entity: Entity) -> str:
    """Where the page of an entity is."""
    return f"/graph/entities/{entity.id}"


def required(view: View, which: str) -> Entity:
    """The entity with this id, or the one that it became by a merge.

    Raises:
        UnknownEntity: there is none.
    """
    found = view.space.graph.entity(which)
    if found is None:
        raise UnknownEntity(
            f"There is no entity {beginning(which, 80)!a}.", way_out="Look for its name on the graph page."
        )
    return found


# Finding.


def index(view: View) -> Response:
    """All entities, or those with a text in one of their names."""
    text, of_type = view.query.word("q"), view.query.word("type")
    most = min(view.query.number("limit") or _PAGE, _LONGEST)
    found = view.space.graph.entities(text=text or None, type=of_type or None, limit=most + 1)
    return view.show(
        "entities.html",
        text=text,
        of_type=of_type,
        types=BUILT_IN_TYPES,
        entities=found[:most],
        more=most + _PAGE if len(found) > most < _LONGEST else None,
    )


def show(view: View) -> Response:
    """Everything that is known of an entity, and what can be done with it."""
    entity = required(view, view.part("id"))
    most = max(1, min(view.query.number("limit") or _TIMELINE, _LONGEST))
    timeline = view.space.graph.timeline(entity.id, limit=most)
    rows = rows_of(view, timeline.relations)
    pairs = [each for each in view.space.graph.likely_pairs(limit=_PAIRS) if entity.id in _ids(each)]
    return view.show(
        "entity.html",
        entity=entity,
        rows=[each for each in rows if each.relation.kind == "stated"],
        beside=_neighbours(entity, rows),
        cut=timeline.cut,
        longest=_LONGEST,
        merges=_merges_into(view, entity),
        pairs=[(each, each.second if each.first.id == entity.id else each.first) for each in pairs],
        is_user=is_self(entity.name),
        called=_called_alone(view, entity),
        types=BUILT_IN_TYPES,
    )


def _called_alone(view: View, entity: Entity) -> str:
    """Its name, or its id if others may be meant by that."""
    meant = view.space.graph.resolve(entity.name).entity
    return entity.name if meant is not None and meant.id == entity.id else entity.id


def _ids(pair: LikelyPair) -> set[str]:
    return {pair.first.id, pair.second.id}


def _neighbours(entity: Entity, rows: Sequence[Row]) -> list[tuple[Entity, int]]:
    """Who and what it is related to now, or is only mentioned with, and by how many relations; the most first."""
    found: dict[str, Entity] = {}
    counts: Counter[str] = Counter()
    for row in rows:
        for other in (row.relation.subject, row.relation.object):
            if other is not None and other.id != entity.id and row.standing != "never":
                found[other.id] = other
                counts[other.id] += 1
    return [(found[each], count) for each, count in counts.most_common()]


def _merges_into(view: View, entity: Entity) -> list[Merge]:
    """The merges that made it what it is, the latest first."""
    into, found = {entity.id}, []
    for merge in sorted(view.space.graph.merges(), key=lambda each: each.at, reverse=True):
        if merge.target.id in into:
            into.add(merge.source.id)
            found.append(merge)
    return found


# Adding to it.


def add_names(view: View) -> Response:
    """Give an entity another name, or say what it is."""
    entity = required(view, view.part("id"))
    names = tuple(filter(None, (each.strip() for each in view.form.text("names").split(","))))
    kept = view.space.graph.add_entity(entity.id, type=view.form.word("type") or entity.type, aliases=names)
    return view.go(path_of(kept), told=f"{kept.name} is kept as {kept.type}" + _called(kept))


def _called(entity: Entity) -> str:
    return f", also called {', '.join(entity.aliases)}." if entity.aliases else "."


def add_relation(view: View) -> Response:
    """Say something about an entity."""
    entity, form = required(view, view.part("id")), view.form
    number = form.flag("is_value")
    landed = view.space.graph.add_relation(
        entity.id,
        form.text("predicate"),
        None if number else form.word("target"),
        value=form.word("target") if number else None,
        valid_from=form.word("since") or None,
        valid_to=form.word("until") or None,
    )
    also = "".join(f" {wording.relation_words(each)} changes with it." for each in landed.changed)
    outcome = "known already" if landed.outcome == "known" else "kept"
    return view.go(path_of(entity), told=f"{wording.relation_words(landed.relation)}: {outcome}.{also}")


# Merging, and taking it back.


@dataclass(frozen=True, kw_only=True, slots=True)
class MergePreview:
    """What two entities become: `rows` is everything that is known of either, `clashes` are those of which one goes."""

    source: Entity
    target: Entity
    rows: list[Row]
    clashes: list[tuple[Row, ...]]
    between: list[Row]

    @property
    def names(self) -> tuple[str, ...]:
        """The other names that it will have."""
        every = dict.fromkeys((*self.target.aliases, self.source.name, *self.source.aliases))
        return tuple(name for name in every if name != self.target.name)


def preview_merge(view: View) -> Response:
    """What would become of two entities if they are one; or which others are meant."""
    entity, wanted = required(view, view.query.word("entity")), view.query.word("with")
    resolved = view.space.graph.resolve(wanted) if wanted else None
    other = None if resolved is None else resolved.entity
    if other is None or other.id == entity.id:
        matches = () if resolved is None else (each.entity for each in resolved.matches)
        others = [each for each in matches if each.id != entity.id]
        return view.show("merge_choose.html", entity=entity, wanted=wanted, matches=others)
    source, target = required(view, other.id), entity
    if view.query.flag("swapped") or is_self(source.name):
        source, target = target, source
    return view.show("merge.html", preview=_preview(view, source, target), swappable=not is_self(target.name))


def _preview(view: View, source: Entity, target: Entity) -> MergePreview:
    both = {source.id, target.id}
    timelines: list[Timeline] = [view.space.graph.timeline(each, limit=_TIMELINE) for each in (target.id, source.id)]
    found = {each.id: each for timeline in timelines for each in timeline.relations if each.kind == "stated"}
    rows = rows_of(view, found.values())
    ends = [{row.relation.subject.id, row.relation.object.id if row.relation.object else ""} for row in rows]
    between = [row for row, each in zip(rows, ends, strict=True) if both <= each]
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.standing == "holds" and row.relation.subject.id in both and row.relation.period.end is None:
            groups.setdefault(row.relation.predicate, []).append(row)
    settings = view.space.context.settings.graph
    clashes = [
        tuple(group)
        for predicate, group in groups.items()
        if single_valued(predicate, settings) and len({row.relation.target for row in group}) > 1
    ]
    return MergePreview(source=source, target=target, rows=rows, clashes=clashes, between=between)


def merge(view: View) -> Response:
    """Make two entities one."""
    done = view.space.graph.merge(view.form.word("source"), view.form.word("target"), reason="somebody said so")
    target = required(view, done.target.id)
    return view.go(path_of(target), told=f"{done.source.name} and {target.name} are one now. This can be undone below.")


def unmerge(view: View) -> Response:
    """Take a merge back."""
    undone = view.space.graph.unmerge(view.form.number("merge") or 0)
    return view.go(path_of(undone.target), told=f"{undone.source.name} and {undone.target.name} are two again.")


def duplicates(view: View) -> Response:
    """Pairs that may be the same, to decide; and those that are kept apart."""
    graph = view.space.graph
    return view.show(
        "duplicates.html", pairs=graph.likely_pairs(limit=_PAIRS), apart=graph.kept_apart(), merges=graph.merges()
    )


def keep_apart(view: View) -> Response:
    """Say that two are two, whatever their names."""
    first, second = (required(view, view.form.word(each)) for each in ("first", "second"))
    view.space.graph.keep_apart(first.id, second.id)
    return view.go("/graph/duplicates", told=f"{first.name} and {second.name} are kept apart.")


def allow_merge(view: View) -> Response:
    """Take that back."""
    first, second = (required(view, view.form.word(each)) for each in ("first", "second"))
    view.space.graph.allow_merge(first.id, second.id)
    return view.go("/graph/duplicates", told=f"{first.name} and {second.name} may be made one again.")


# Deleting it.


def preview_deletion(view: View) -> Response:
    """What goes with an entity."""
    entity = required(view, view.part("id"))
    timeline = view.space.graph.timeline(entity.id, limit=_TIMELINE)
    rows = rows_of(view, timeline.relations)
    return view.show("entity_delete.html", entity=entity, rows=rows, merges=_merges_into(view, entity))


def delete(view: View) -> Response:
    """Delete an entity with all its relations."""
    entity = required(view, view.part("id"))
    receipt = view.space.graph.delete_entity(entity.id)
    return view.go("/graph", told=f"{entity.name} is deleted, with {receipt.relations:,} relations.")


ACTIONS: tuple[Action, ...] = (
    get("/graph/entities", index),
    get("/graph/entities/{id}", show),
    post("/graph/entities/{id}/names", add_names),
    post("/graph/entities/{id}/relations", add_relation),
    get("/graph/entities/{id}/delete", preview_deletion),
    post("/graph/entities/{id}/delete", delete),
    get("/graph/merge", preview_merge),
    post("/graph/merge", merge),
    post("/graph/unmerge", unmerge),
    get("/graph/duplicates", duplicates),
    post("/graph/apart", keep_apart),
    post("/graph/allow", allow_merge),
)
