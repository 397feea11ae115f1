"""How entities and relations are printed. No business logic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langmem_tiers.cli.terminal import as_data, hanging, print_rich, print_text, safe, shortened

if TYPE_CHECKING:
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

_NAME = 60
_OUTCOME = {
    "added": "Added.",
    "known": "It was known already.",
    "moved": "It was known, and holds since earlier now.",
    "ended": "It was known, and holds no longer now.",
}


def entity_data(entity: Entity) -> dict[str, Any]:
    """An entity as plain JSON data, its authority by name."""
    return {**as_data(entity), "authority": entity.authority.name.lower()}


def relation_data(relation: Relation) -> dict[str, Any]:
    """A relation as plain JSON data: its ends by id, name and type, its authority by name."""
    data = {**as_data(relation), "authority": relation.authority.name.lower()}
    ends = {"subject": relation.subject, "object": relation.object}
    short = {name: _end_data(each) for name, each in ends.items()}
    return data | short


def subgraph_data(subgraph: Subgraph) -> dict[str, Any]:
    """A part of the graph as plain JSON data."""
    return {
        "entities": [entity_data(each) for each in subgraph.entities],
        "relations": [relation_data(each) for each in subgraph.relations],
        "distance": dict(subgraph.distance),
        "cut": list(subgraph.cut),
    }


def timeline_data(timeline: Timeline) -> dict[str, Any]:
    """A timeline as plain JSON data."""
    return {
        "entity": entity_data(timeline.entity),
        "relations": [relation_data(each) for each in timeline.relations],
        "cut": list(timeline.cut),
    }


def print_neighbours(root: Entity, subgraph: Subgraph, at: datetime, nothing: str) -> None:
    """Print what is around an entity as a tree, each relation once; where there is none, what is said instead."""
    from rich.tree import Tree

    below: dict[str, list[Relation]] = {}
    for each in subgraph.relations:
        below.setdefault(_nearer(each, subgraph.distance), []).append(each)
    tree = Tree(_heading(root))
    _add_relations(tree, root.id, below, {root.id}, at)
    print_rich(tree)
    if not subgraph.relations:
        print_text(nothing)
    _print_cut(subgraph.cut)


def print_whole(subgraph: Subgraph, at: datetime, nothing: str) -> None:
    """Print all relations as a table, those of the best connected first; where there is none, what is said instead."""
    if not subgraph.relations:
        print_text(nothing)
        return
    table = _table("who or what", "relation", "", "when", "id")
    place_of = {entity.id: place for place, entity in enumerate(subgraph.entities)}
    before = None
    for each in sorted(subgraph.relations, key=lambda one: (place_of[one.subject.id], one.predicate, _began(one))):
        who = "" if each.subject.id == before else _name(each.subject.name)
        before = each.subject.id
        table.add_row(_text(who, bold=True), _verb(each), _target(each), _when(each, at), each.id)
    print_rich(table)
    _print_cut(subgraph.cut)


def print_timeline(timeline: Timeline, at: datetime, nothing: str) -> None:
    """Print the relations of an entity in the order they began, with when that was learned."""
    print_rich(_heading(timeline.entity))
    if not timeline.relations:
        print_text(nothing)
        return
    table = _table("when", "what", "believed since", "id")
    for each in timeline.relations:
        table.add_row(
            _when(each, at), _text(_seen_from(each, timeline.entity)), f"{each.recorded_at:%Y-%m-%d}", each.id
        )
    print_rich(table)
    _print_cut(timeline.cut)


def print_landed(landed: RelationLanded, at: datetime) -> None:
    """Say what became of a relation, and of the others that it changed."""
    print_text(_OUTCOME[landed.outcome])
    print_relations([landed.relation], at)
    if landed.changed:
        print_text("So these became:")
        print_relations(landed.changed, at)


def print_relations(relations: Sequence[Relation], at: datetime) -> None:
    """Print relations, each on a line of its own."""
    for each in relations:
        print_text(hanging(f"{each.id}  ", "  ".join(_sentence(each, at))))


def print_history(history: Sequence[Relation], at: datetime) -> None:
    """Print what was believed of a relation, oldest first."""
    table = _table("believed since", "what", "when", "why")
    for each in history:
        why = each.reason if each.cause is None else f"{each.reason} by {each.cause}"
        table.add_row(f"{each.recorded_at:%Y-%m-%d %H:%M}", _text(_plain(each)), _when(each, at), why)
    print_rich(table)


def print_changes(changes: Sequence[GraphChange]) -> None:
    """Print what began and what ended, and what was said but displaced by something else."""
    for each in changes:
        told = _sentence(each.relation, each.at) if each.what == "displaced" else (_plain(each.relation),)
        print_text(hanging(f"{each.at:%Y-%m-%d}  {each.what}  {each.relation.id}  ", "  ".join(told)))
    if not changes:
        print_text("Nothing changed.")


def print_paths(paths: Paths, at: datetime, nothing: str) -> None:
    """Print the ways from one entity to another; where there is none, what is said instead."""
    for place, path in enumerate(paths.paths, 1):
        print_text(f"{place}.")
        print_relations(path, at)
    if not paths.paths:
        print_text(nothing)
    _print_cut(paths.cut)


def print_entities(entities: Sequence[Entity], *, more: bool = False) -> None:
    """Print entities, each on a line of its own."""
    for each in entities:
        also = f"  also {', '.join(each.aliases)}" if each.aliases else ""
        print_text(hanging(f"{each.id}  {each.last_seen:%Y-%m-%d}  ", f"{_name(each.name)} ({each.type}){also}"))
    if not entities:
        print_text("No entity fits.")
    if more:
        print_text("There are more: --limit says how many to show.")


def print_entity(entity: Entity) -> None:
    """Print an entity and all that is known about it."""
    for name, value in as_data(entity).items():
        if value not in (None, [], {}) and name != "evidence":
            shown = ", ".join(value) if isinstance(value, list) else str(value)
            shown = entity.authority.name.lower() if name == "authority" else shown
            print_text(hanging(f"{name.replace('_', ' '):>12}  ", shown))
    for each in entity.evidence:
        print_text(hanging(f"{'spoken of in':>12}  ", f"{each.pointer} {f'“{each.quote}”' if each.quote else ''}"))


def print_merges(merges: Sequence[Merge]) -> None:
    """Print what was merged, and how to undo it."""
    for each in merges:
        undone = f"; undone {each.undone_at:%Y-%m-%d}" if each.undone_at else ""
        told = f"{_named(each.source)} is {_named(each.target)}: {each.reason}{undone}"
        print_text(hanging(f"{each.id:>5}  {each.at:%Y-%m-%d}  ", told))
    if not merges:
        print_text("Nothing was merged.")


def print_pairs(pairs: Sequence[LikelyPair], facts: Mapping[str, str]) -> None:
    """Print those that may be the same, with something known of each, by its id."""
    for each in pairs:
        print_text(hanging(f"{each.score:.2f}  ", f"{each.reason}:"))
        for one in (each.first, each.second):
            print_text(hanging("      ", _named(one) + (f": {facts[one.id]}" if facts.get(one.id) else "")))
    if pairs:
        print_text("`langmem-tiers entities merge ID ID` makes them one, `entities apart ID ID` keeps them two.")
    else:
        print_text("No two entities look the same.")


def print_apart(pairs: Sequence[KeptApart]) -> None:
    """Print those that are not the same."""
    for each in pairs:
        print_text(hanging("", f"{_named(each.first)} and {_named(each.second)}: {each.reason}"))
    if pairs:
        print_text("`langmem-tiers entities allow-merge ID ID` takes it back.")
    else:
        print_text("No two entities are kept apart.")


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
    """The end of a relation that the question came from."""
    far = len(distance)
    ends = [relation.subject.id, *([] if relation.object is None else [relation.object.id])]
    return min(ends, key=lambda entity: distance.get(entity, far))


def _branch(relation: Relation, entity: str, at: datetime) -> Text:
    from rich.text import Text

    when = _when(relation, at)
    outward = relation.subject.id == entity
    name = _known(relation.object) if relation.object is not None and outward else _name(relation.target)
    line = Text()
    if outward:
        line.append_text(_verb(relation)).append(f" {safe(name)}")
    else:
        line.append(f"{safe(_known(relation.subject))} ").append_text(_verb(relation))
        line.append(f" {safe(_name(relation.target))}")
    return line.append("  ").append_text(when).append(f"  {relation.id}", style="dim")


def _sentence(relation: Relation, at: datetime) -> Iterator[str]:
    from langmem_tiers.knowledge_graph.wording import standing_words

    yield _plain(relation)
    yield standing_words(relation, at)


def _plain(relation: Relation) -> str:
    from langmem_tiers.knowledge_graph.wording import predicate_words

    return f"{_name(relation.subject.name)} {predicate_words(relation)} {_name(relation.target)}"


def _seen_from(relation: Relation, entity: Entity) -> str:
    from langmem_tiers.knowledge_graph.wording import predicate_words

    if relation.subject.id == entity.id:
        return f"{predicate_words(relation)} {_name(relation.target)}"
    return _plain(relation)


def _verb(relation: Relation) -> Text:
    from langmem_tiers.knowledge_graph.wording import predicate_words

    return _text(predicate_words(relation), style="cyan" if relation.kind == "stated" else "dim")


def _target(relation: Relation) -> Text:
    return _text(_name(relation.target))


def _when(relation: Relation, at: datetime) -> Text:
    from langmem_tiers.knowledge_graph.wording import standing, standing_words

    return _text(standing_words(relation, at), style="" if standing(relation, at) == "holds" else "dim")


def _began(relation: Relation) -> str:
    start = relation.period.start
    return "" if start is None else start.isoformat()


def _heading(entity: Entity) -> Text:
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    return _text(f"{_name(entity.name)} ({entity.type}{also})", bold=True).append(
        f"  {entity.id}", style="not bold dim"
    )


def _known(entity: Entity) -> str:
    return f"{_name(entity.name)} ({entity.type})"


def _named(entity: Entity) -> str:
    """An entity with its id: others may have the same name."""
    return f"{_known(entity)} [{entity.id}]"


def _name(text: str) -> str:
    return shortened(text, _NAME)


def _text(text: str, *, style: str = "", bold: bool = False) -> Text:
    from rich.text import Text

    return Text(safe(text), style="bold" if bold else style)


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for each in columns:
        table.add_column(each, no_wrap=each == "id", overflow="fold")
    return table


def _print_cut(cut: Sequence[str]) -> None:
    from langmem_tiers.knowledge_graph.wording import left_out

    if cut:
        print_text(left_out(cut))


def _end_data(entity: Entity | None) -> dict[str, str] | None:
    return None if entity is None else {"id": entity.id, "name": entity.name, "type": entity.type}
