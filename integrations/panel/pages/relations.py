"""One relation: what it rests on, what was believed of it, and ending, withdrawing, correcting and deleting it."""

from __future__ import annotations

from datetime import datetime

from starlette.responses import Response

from langmem_tiers.errors import UnknownRelation
from langmem_tiers.integrations.panel.page import Action, View, get, post
from langmem_tiers.integrations.panel.pages.entities import path_of, rows_of
from langmem_tiers.knowledge_graph import wording
from langmem_tiers.language.periods import Exactness
from langmem_tiers.records import GraphEvidence, Relation
from langmem_tiers.types import Drawer

_EVIDENCE = 20


def required(view: View) -> Relation:
    """The relation that the address names.

    Raises:
        UnknownRelation: there is none.
    """
    found = view.space.graph.relation(view.part("id"))
    if found is None:
        raise UnknownRelation(f"There is no relation {view.part('id')[:40]!a}, or no longer.")
    return found


def show(view: View) -> Response:
    """When it holds and why, what it rests on, and what can be done with it."""
    relation = required(view)
    return view.show(
        "relation.html",
        row=rows_of(view, [relation])[0],
        words=wording.predicate_words(relation),
        history=rows_of(view, view.space.graph.history(relation.id)),
        evidence=_evidence(view, relation),
        more_evidence=max(0, len(relation.evidence) - _EVIDENCE),
        since=_date(relation.period.start, relation.period.start_unit),
        until=_date(relation.period.end, relation.period.end_unit),
        entries=view.space.graph.entries_of(relation.id),
    )


def _date(moment: datetime | None, unit: Exactness) -> str:
    return "" if moment is None else wording.date_words(moment, unit)


def _evidence(view: View, relation: Relation) -> list[tuple[GraphEvidence, Drawer | None]]:
    """The messages that it rests on, as they were said."""
    return [(each, view.space.drawer(each.drawer)) for each in relation.evidence[:_EVIDENCE]]


def end(view: View) -> Response:
    """Say that it holds no longer."""
    ended = view.space.graph.end_relation(required(view).id, view.form.word("at") or None)
    when = wording.standing_words(ended, view.space.memory.clock())
    return view.go(f"/graph/relations/{ended.id}", told=f"{wording.relation_words(ended)}: {when}.")


def withdraw(view: View) -> Response:
    """Say that it was never so."""
    gone = view.space.graph.withdraw_relation(required(view).id)
    return view.go(path_of(gone.subject), told=f"{wording.relation_words(gone)}: not believed any more.")


def correct(view: View) -> Response:
    """Put what is right in its place: another object or value, or other dates."""
    old, target = required(view), view.form.word("target")
    since, until = _times(view)
    if target in {"", old.target}:
        right = view.space.graph.correct_relation(old.id, valid_from=since, valid_to=until)
    else:
        right = _of_another_target(view, old, target)
    if right.id == old.id:
        return view.go(f"/graph/relations/{old.id}", told="It says so already; nothing was changed.")
    when = wording.standing_words(right, view.space.memory.clock())
    return view.go(f"/graph/relations/{right.id}", told=f"Now it says: {wording.relation_words(right)}, {when}.")


def _of_another_target(view: View, old: Relation, target: str) -> Relation:
    """What the user says instead; only once that is kept, the old one goes."""
    graph, (since, until) = view.space.graph, _times(view)
    named, value = (target, None) if old.object is not None else (None, target)
    landed = graph.add_relation(old.subject.id, old.predicate, named, value=value, valid_from=since, valid_to=until)
    right = landed.relation
    if right.id != old.id:
        graph.withdraw_relation(old.id)
    return graph.relation(right.id) or right


def _times(view: View) -> tuple[str | None, str | None]:
    return view.form.word("since") or None, view.form.word("until") or None


def delete(view: View) -> Response:
    """Delete it with its history, and the entries that say the same."""
    relation = required(view)
    receipt = view.space.graph.delete_relation(relation.id)
    also = f", with {receipt.entries:,} remembered in the same words" if receipt.entries else ""
    return view.go(path_of(relation.subject), told=f"“{wording.relation_words(relation)}” is deleted{also}.")


ACTIONS: tuple[Action, ...] = (
    get("/graph/relations/{id}", show),
    post("/graph/relations/{id}/end", end),
    post("/graph/relations/{id}/withdraw", withdraw),
    post("/graph/relations/{id}/correct", correct),
    post("/graph/relations/{id}/delete", delete),
)
