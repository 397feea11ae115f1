"""What drawers and entries say that is over, or was only planned, by the relations that rest on the same drawers."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.knowledge_graph.conflicts import FOREVER, bounds, version_at
from langmem_tiers.knowledge_graph.wording import date_words, is_event, predicate_in
from langmem_tiers.storage import relations
from langmem_tiers.trust.safety import relation_lowers

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.knowledge_graph.view import GraphView
    from langmem_tiers.records import Entry, GraphEvidence
    from langmem_tiers.storage.relations import RelationRow

# Words of a message that ends or corrects something; one that repeats it is not an end.
_ENDS = re.compile(
    r"\b(?:no longer|not|never|no|any ?more|left|quit|sold|died|dead|passed away|broke up|split up|separated|divorced"
    r"|fell through|falls through|called off|cancell?ed|(?:is|are|'s|'re) off|on hold"
    r"|staying|lost|former|ex|resigned|retired|fired|sacked|laid off"
    r"|let (?:me|us|him|her|them) go|withdr[ae]wn?|rescinded|stopped|gave"
    r"|actually|correction|wrong|mistaken?|forget|scratch|new"
    r"|now|used to|moved|was|were)\b|n['’]t\b",
    re.IGNORECASE,
)
# Words of an entry that says itself that something is over.
_IS_OVER = re.compile(
    r"\b(?:no longer|not|never|any ?more|left|quit|sold|died|dead|passed away|divorced|separated|retired|stopped"
    r"|used to|former|ex)\b|n['’]t\b",
    re.IGNORECASE,
)


class Ended(NamedTuple):
    """Something a drawer says that is over: "lives in Lisbon: until 2024-05", and its object."""

    text: str
    target: str


def in_drawers(
    view: GraphView, connection: Connection, space: str, numbers: Collection[int], at: int
) -> dict[int, list[Ended]]:
    """For each drawer, what it says that is over at a moment."""
    found: dict[int, list[Ended]] = {}
    if view.relations and numbers:
        stated = _last_stated(view, relations.resting(connection, space, numbers))
        over = [(drawer, row, until) for drawer, row in stated if (until := _over(row, at))]
        rests = relations.evidence(connection, space, {row.number for _, row, _ in over}) if over else {}
        again = _holding(view, [row for _, row, _ in over], at)
        for drawer, row, until in over:
            if view.fact(row) not in again and not _says_the_end(row, drawer, rests.get(row.number, ())):
                target = target_words(view, row)
                found.setdefault(drawer, []).append(Ended(f"{_predicate(row)} {target}: {until}", target))
    return found


def _last_stated(view: GraphView, resting: Iterable[tuple[int, int]]) -> Iterator[tuple[int, RelationRow]]:
    """Each drawer with its relations; of those that state the same, only the last.

    What a message says is stated anew when it stands again after it was replaced.
    """
    last: dict[tuple[int, Hashable], RelationRow] = {}
    for drawer, relation in sorted(resting, key=lambda rests: rests[1]):
        row = view.relations.get(relation)
        if row is not None and row.kind == "stated":
            last[drawer, view.fact(row)] = row
    yield from ((drawer, row) for (drawer, _), row in last.items())


def in_entries(
    view: GraphView, connection: Connection, space: str, entries: Mapping[str, Entry], at: int
) -> dict[str, tuple[str, ...]]:
    """For each entry, what its drawers say that is over, unless it says that itself.

    Its own words must contain the value: they say less than its drawers.
    """
    rests = {ref: {each.drawer for each in entry.evidence} for ref, entry in entries.items()}
    over = in_drawers(view, connection, space, {drawer for those in rests.values() for drawer in those}, at)
    return {
        ref: tuple(
            f"no longer: {each.text}"
            for drawer in sorted(rests[ref])
            for each in over.get(drawer, ())
            if each.target.casefold() in entry.content.casefold() and not _IS_OVER.search(entry.content)
        )
        for ref, entry in entries.items()
    }


def planned(connection: Connection, space: str, rows: Iterable[RelationRow]) -> frozenset[int]:
    """The numbers of those relations that were last spoken of before they begin: nobody has said yet that they did."""
    begins = {
        row.number: row.last.valid_from for row in rows if row.last.from_stated and row.last.valid_from is not None
    }
    said = relations.last_said(connection, space, begins)
    return frozenset(number for number, begin in begins.items() if number in said and said[number] < begin)


def relation_line(view: GraphView, row: RelationRow) -> str:
    """A relation as a sentence: "The user lives in Lisbon"."""
    return f"{_name(view, row.subject)} {_predicate(row)} {target_words(view, row)}"


def asks_first(view: GraphView, row: RelationRow) -> bool:
    """Whether the agent is to ask the user before it acts on a relation that they did not state themselves."""
    return not row.told and relation_lowers(_name(view, row.subject), _predicate(row), target_words(view, row))


def target_words(view: GraphView, row: RelationRow) -> str:
    """The object of a relation, in words."""
    if row.object is not None:
        return _name(view, row.object)
    return str(row.value) if row.unit is None else f"{row.value} {row.unit}"


def _predicate(row: RelationRow) -> str:
    return predicate_in(row.predicate, relations.period(row.last))


def _name(view: GraphView, number: int) -> str:
    """The name of the canonical entity for a number."""
    name = view.entities[view.canonical(number)].name
    return "The user" if name == naming.USER else name


def _says_the_end(row: RelationRow, drawer: int, rests: Sequence[GraphEvidence]) -> bool:
    """Whether a drawer ended or withdrew a relation, rather than stating it."""
    version = version_at(row, None) or row.last
    several = len({each.drawer for each in rests}) > 1
    if version.reason not in {"ended", "withdrawn"} or not several or drawer != rests[-1].drawer:
        return False
    return any(_ENDS.search(each.quote) for each in rests if each.drawer == drawer)


def _holding(view: GraphView, ended: Iterable[RelationRow], at: int) -> set[Hashable]:
    """Of what ended relations state, what is so once more at a moment: who moved away has moved back."""
    ends = {(view.canonical(row.subject), row.predicate) for row in ended}
    by_subject = {subject: {predicate for each, predicate in ends if each == subject} for subject, _ in ends}
    return {
        view.fact(row)
        for subject, predicates in by_subject.items()
        for row in view.incident(subject)
        if row.predicate in predicates and _holds(row, at)
    }


def _holds(row: RelationRow, at: int) -> bool:
    version = version_at(row, None)
    return version is not None and bounds(version)[0] <= at and not _over(row, at)


def _over(row: RelationRow, at: int) -> str:
    """Until when a relation held; an empty string if it still does, or is an event."""
    version = version_at(row, None)
    if version is None:
        return "not so"
    start, end = bounds(version)
    event = is_event(row.predicate, relations.period(version))
    if start < end and (end == FOREVER or end > at or event):
        return ""
    return f"until {date_words(from_millis(end), version.to_unit)}" if start < end else "not so"
