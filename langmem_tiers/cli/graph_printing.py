"""How entities and relations are printed. No business logic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langmem_tiers.cli.terminal import MORE, as_data, hanging, shortened, with_authority
from langmem_tiers.wording import safe

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    from langmem_tiers.knowledge_graph.types import (
        GraphChange,
        KeptApart,
        LikelyPair,
        Merge,
        Paths,
        RelationLanded,
        Subgraph,
        Timeline,
    )
    from langmem_tiers.records import Entity, Relation

    Lines = Iterator[RenderableType]

_NAME = 60
_OUTCOME = {
    "added": "Added.",
    "known": "It was known already.",
    "moved": "It was known, and holds since earlier now.",
    "ended": "It was known, and holds no longer now.",
}


def graph_data(value: object) -> Any:
    """Records of the graph as plain JSON data; of the ends of relations only id, name and type."""
    from langmem_tiers.records import Entity, Relation

    return as_data(value, {Entity: with_authority, Relation: _relation_data})


def _relation_data(relation: Relation) -> dict[str, Any]:
    ends = {"subject": relation.subject, "object": relation.object}
    short = {role: end and {"id": end.id, "name": end.name, "type": end.type} for role, end in ends.items()}
    return with_authority(relation) | short


def neighbours_lines(root: Entity, subgraph: Subgraph, at: datetime, nothing: str) -> Lines:
    """The surroundings of an entity as a tree, each relation once; `nothing` is said if there is none."""
    from rich.tree import Tree

    below: dict[str, list[Relation]] = {}
    for each in subgraph.relations:
        below.setdefault(_nearer(each, subgraph.distance), []).append(each)
    tree = Tree(_heading(root))
    _add_relations(tree, root.id, below, {root.id}, at)
    yield tree
    if not subgraph.relations:
        yield nothing
    yield from _cut(subgraph.cut)


def overview_lines(subgraph: Subgraph, at: datetime, nothing: str) -> Lines:
    """All relations as a table, the best connected entities first; `nothing` is said if there is none."""
    if not subgraph.relations:
        yield nothing
        return
    table = _table("who or what", "relation", "", "when", "id")
    place_of = {entity.id: place for place, entity in enumerate(subgraph.entities)}
    before = None
    for each in sorted(subgraph.relations, key=lambda one: (place_of[one.subject.id], one.predicate, _began(one))):
        who = "" if each.subject.id == before else _name(each.subject.name)
        before = each.subject.id
        table.add_row(_text(who, style="bold"), _verb(each), _text(_name(each.target)), _when(each, at), each.id)
    yield table
    yield from _cut(subgraph.cut)


def timeline_lines(timeline: Timeline, at: datetime, nothing: str) -> Lines:
    """The relations of an entity in the order they began, each with the day it was learned."""
    from langmem_tiers.knowledge_graph.wording import predicate_words

    yield _heading(timeline.entity)
    if not timeline.relations:
        yield nothing
        return
    table = _table("when", "what", "believed since", "id")
    for each in timeline.relations:
        outward = each.subject.id == timeline.entity.id
        what = f"{predicate_words(each)} {_name(each.target)}" if outward else _plain(each)
        table.add_row(_when(each, at), _text(what), f"{each.recorded_at:%Y-%m-%d}", each.id)
    yield table
    yield from _cut(timeline.cut)


def landed_lines(landed: RelationLanded, at: datetime) -> Lines:
    """The outcome of adding a relation, with the other relations that it changed."""
    yield _OUTCOME[landed.outcome]
    yield from relations_lines([landed.relation], at)
    if landed.changed:
        yield "So these became:"
        yield from relations_lines(landed.changed, at)


def relations_lines(relations: Sequence[Relation], at: datetime) -> Lines:
    """Relations, each on a line of its own."""
    for each in relations:
        yield hanging(f"{each.id}  ", _sentence(each, at))


def history_lines(history: Sequence[Relation], at: datetime) -> Lines:
    """The versions of a relation, oldest first."""
    table = _table("believed since", "what", "when", "why")
    for each in history:
        why = each.reason if each.cause is None else f"{each.reason} by {each.cause}"
        table.add_row(f"{each.recorded_at:%Y-%m-%d %H:%M}", _text(_plain(each)), _when(each, at), why)
    yield table


def changes_lines(changes: Sequence[GraphChange]) -> Lines:
    """What began, what ended, and what was stated but displaced by something else."""
    for each in changes:
        told = _sentence(each.relation, each.at) if each.what == "displaced" else _plain(each.relation)
        yield hanging(f"{each.at:%Y-%m-%d}  {each.what}  {each.relation.id}  ", told)
    if not changes:
        yield "Nothing changed."


def paths_lines(paths: Paths, at: datetime, nothing: str) -> Lines:
    """The paths from one entity to another; `nothing` is said if there is none."""
    for place, path in enumerate(paths.paths, 1):
        yield f"{place}."
        yield from relations_lines(path, at)
    if not paths.paths:
        yield nothing
    yield from _cut(paths.cut)


def entities_lines(entities: Sequence[Entity], *, more: bool = False) -> Lines:
    """Entities, each on a line of its own."""
    for each in entities:
        also = f"  also {', '.join(each.aliases)}" if each.aliases else ""
        yield hanging(f"{each.id}  {each.last_seen:%Y-%m-%d}  ", f"{_name(each.name)} ({each.type}){also}")
    if not entities:
        yield "No entity fits."
    if more:
        yield MORE


def entity_lines(entity: Entity) -> Lines:
    """An entity and all that is known about it."""
    for name, value in with_authority(entity).items():
        if value not in (None, [], {}) and name != "evidence":
            shown = ", ".join(value) if isinstance(value, list) else str(value)
            yield hanging(f"{name.replace('_', ' '):>12}  ", shown)
    for each in entity.evidence:
        yield hanging(f"{'spoken of in':>12}  ", f"{each.pointer} {f'“{each.quote}”' if each.quote else ''}")


def merges_lines(merges: Sequence[Merge]) -> Lines:
    """Merges, each with whether it was undone."""
    for each in merges:
        undone = f"; undone {each.undone_at:%Y-%m-%d}" if each.undone_at else ""
        told = f"{_named(each.source)} is {_named(each.target)}: {each.reason}{undone}"
        yield hanging(f"{each.id:>5}  {each.at:%Y-%m-%d}  ", told)
    if not merges:
        yield "Nothing was merged."


def pairs_lines(pairs: Sequence[LikelyPair], fact: Callable[[Entity], str]) -> Lines:
    """Pairs of entities that may be the same, with a fact about each."""
    for each in pairs:
        yield hanging(f"{each.score:.2f}  ", f"{each.reason}:")
        for one in (each.first, each.second):
            yield hanging("      ", ": ".join(filter(None, (_named(one), fact(one)))))
    if pairs:
        yield "`langmem-tiers entities merge ID ID` makes them one, `entities apart ID ID` keeps them two."
    else:
        yield "No two entities look the same."


def apart_lines(pairs: Sequence[KeptApart]) -> Lines:
    """Pairs of entities that were marked as different."""
    for each in pairs:
        yield hanging("", f"{_named(each.first)} and {_named(each.second)}: {each.reason}")
    if pairs:
        yield "`langmem-tiers entities allow-merge ID ID` takes it back."
    else:
        yield "No two entities are kept apart."


def _add_relations(
    tree: Tree, entity: str, below: Mapping[str, Sequence[Relation]], shown: set[str], at: datetime
) -> None:
    for each in sorted(below.get(entity, ()), key=lambda one: (one.subject.id != entity, one.predicate, _began(one))):
        branch = tree.add(_branch(each, entity, at))
        other = each.object if each.subject.id == entity else each.subject
        if other is not None and other.id not in shown:
            shown.add(other.id)
            _add_relations(branch, other.id, below, shown, at)


def _nearer(relation: Relation, distance: Mapping[str, int]) -> str:
    """The end of a relation that is nearer to the entity asked about."""
    ends = [relation.subject.id, *([] if relation.object is None else [relation.object.id])]
    return min(ends, key=lambda entity: distance.get(entity, len(distance)))


def _branch(relation: Relation, entity: str, at: datetime) -> Text:
    """A relation as seen from one of its entities."""
    outward = relation.subject.id == entity
    line = _text("" if outward else f"{_known(relation.subject)} ").append_text(_verb(relation))
    name = _known(relation.object) if relation.object is not None and outward else _name(relation.target)
    line.append(f" {safe(name)}  ").append_text(_when(relation, at))
    return line.append(f"  {relation.id}", style="dim")


def _sentence(relation: Relation, at: datetime) -> str:
    from langmem_tiers.knowledge_graph.wording import standing_words

    return f"{_plain(relation)}  {standing_words(relation, at)}"


def _plain(relation: Relation) -> str:
    from langmem_tiers.knowledge_graph.wording import predicate_words

    return f"{_name(relation.subject.name)} {predicate_words(relation)} {_name(relation.target)}"


def _verb(relation: Relation) -> Text:
    from langmem_tiers.knowledge_graph.wording import predicate_words

    return _text(predicate_words(relation), style="cyan" if relation.kind == "stated" else "dim")


def _when(relation: Relation, at: datetime) -> Text:
    from langmem_tiers.knowledge_graph.wording import standing, standing_words

    return _text(standing_words(relation, at), style="" if standing(relation, at) == "holds" else "dim")


def _began(relation: Relation) -> str:
    start = relation.period.start
    return "" if start is None else start.isoformat()


def _heading(entity: Entity) -> Text:
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    heading = _text(f"{_name(entity.name)} ({entity.type}{also})", style="bold")
    return heading.append(f"  {entity.id}", style="not bold dim")


def _known(entity: Entity) -> str:
    return f"{_name(entity.name)} ({entity.type})"


def _named(entity: Entity) -> str:
    """An entity with its id: others may have the same name."""
    return f"{_known(entity)} [{entity.id}]"


def _name(text: str) -> str:
    return shortened(text, _NAME)


def _text(text: str, *, style: str = "") -> Text:
    from rich.text import Text

    return Text(safe(text), style=style)


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for each in columns:
        table.add_column(each, no_wrap=each == "id", overflow="fold")
    return table


def _cut(cut: Sequence[str]) -> Lines:
    from langmem_tiers.knowledge_graph.wording import left_out

    if cut:
        yield left_out(cut)
