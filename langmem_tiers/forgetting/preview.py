"""What a plan looks like to whoever is asked to confirm it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from langmem_tiers.forgetting.plan import Plan
from langmem_tiers.forgetting.types import ForgetItem, ForgetPreview
from langmem_tiers.language.characters import one_line
from langmem_tiers.language.sentences import without
from langmem_tiers.storage import dreams, embedding_cache, items, relations

if TYPE_CHECKING:
    from sqlalchemy import Connection


_MOST = 200  # characters
_TOKEN = 16  # bytes


def preview_of(connection: Connection, space: str, plan: Plan) -> ForgetPreview:
    """The preview of a plan, with its token."""
    whole: dict[str, tuple[ForgetItem, ...]] = {
        "drawers": tuple(_drawers(plan)),
        "entries": tuple(_item(each.id, each.content, _why_entry(plan, each)) for each in plan.entries),
        "stays": tuple(_staying(connection, space, plan)),
        **_graph(connection, space, plan),
        **_rewritten(plan),
    }
    gone = set(plan.drawers)
    touched = dreams.naming(connection, space, lambda text: without(text, plan.repetition.derived), gone)
    return ForgetPreview(
        token=_token(whole, plan),
        receipts=len(plan.receipts),
        dreams=len(touched),
        vectors=embedding_cache.chunks_of(connection, space, plan.drawers) + len(plan.entries),
        sessions=tuple(plan.sessions),
        **{name: tuple(map(_shown, some)) for name, some in whole.items()},
    )


def _token(whole: Mapping[str, Iterable[ForgetItem]], plan: Plan) -> str:
    """A hash of what goes, as it is now, and of what is left of it; receipts and other traces come and go meanwhile."""
    named: dict[str, Any] = {
        name: [(each.ref, each.text, each.partly) for each in some] for name, some in whole.items()
    }
    named["versions"] = [(each.id, each.version) for each in plan.entries]
    named["left"] = [
        [(before.id, None if left is None else left.summary) for before, left in plan.rewritten.episodes],
        [(document.path, document.version, text) for document, text, _ in plan.rewritten.documents],
        [(task.id, task.state, title, state) for task, title, state in plan.rewritten.tasks],
        [(version, text) for version, text, _ in plan.rewritten.identity],
        [(row.number, left) for row, left in plan.rewritten.feedback],
    ]
    named["hashes"] = sorted(each.content_hash.hex() for each in plan.turns)
    return hashlib.blake2b(orjson.dumps(named), digest_size=_TOKEN).hexdigest()


def _item(ref: str, text: str, why: str, *, partly: bool = False) -> ForgetItem:
    return ForgetItem(ref=ref, text=text, why=why, partly=partly)


def _shown(item: ForgetItem) -> ForgetItem:
    return replace(item, text=one_line(item.text)[:_MOST])


def _drawers(plan: Plan) -> Iterator[ForgetItem]:
    for number, each in sorted(plan.drawers.items()):
        by = each.speaker or each.role
        why = f"said by {by} on {each.said_at:%Y-%m-%d} in {each.session}"
        why += ", an earlier wording" if each.status == "superseded" else ""
        why += ", has a part of the name that the session has in full" if number in plan.by_part else ""
        yield _item(each.pointer, each.content, why)


def _why_entry(plan: Plan, entry: Any) -> str:
    rests = {each.drawer for each in entry.evidence}
    if rests and rests <= set(plan.drawers):
        return "it rests on nothing else"
    return "it was named, or repeats what is forgotten"


def _graph(connection: Connection, space: str, plan: Plan) -> dict[str, tuple[ForgetItem, ...]]:
    known = relations.relations_of(connection, space, list(plan.graph.relations))
    return {
        "relations": tuple(_item(each.id, _said(each), "it rests on nothing else, or tells of it") for each in known),
        "entities": (
            *(_item(each.id, each.name, "nothing else speaks of it, or it was named") for each in plan.graph.entities),
            *(
                _item(entity.id, name, f"another name of {entity.name}, which stays", partly=True)
                for entity, names in plan.graph.aliases
                for name in names
            ),
        ),
    }


def _said(relation: Any) -> str:
    target = relation.value.text if relation.object is None else relation.object.name
    return f"{relation.subject.name} {relation.predicate} {target}"


def _rewritten(plan: Plan) -> dict[str, tuple[ForgetItem, ...]]:
    known = plan.rewritten
    newest = max((version for version, _, _ in known.identity), default=0)
    return {
        "episodes": tuple(
            _item(before.id, before.abstract, "it sums up what is forgotten", partly=left is not None)
            for before, left in known.episodes
            if left is None or left.summary != before.summary or left.abstract != before.abstract
        ),
        "documents": tuple(
            _item(document.path, "\n".join(lines), "lines that repeat it", partly=text is not None)
            for document, text, lines in known.documents
        ),
        "identity": tuple(
            _item(f"version {version}", line, "the identity repeats it", partly=True)
            for version, _, lines in known.identity
            if version == newest
            for line in lines
        ),
        "tasks": tuple(_item(task.id, task.title, "it repeats it", partly=True) for task, _, _ in known.tasks),
        "working": tuple(
            _item(row.key, row.value, "it repeats it, or is of a session that goes") for row in known.working
        ),
        "store_items": tuple(_item(items.ref(*row.place), row.value, "it repeats it") for row in known.items),
        "questions": tuple(_item(str(number), text, "it asks about it") for number, text in known.questions),
        "feedback": tuple(
            _item(str(row.number), row.note or row.kind, "it is about it, or repeats it", partly=left is not None)
            for row, left in known.feedback
        ),
    }


def _staying(connection: Connection, space: str, plan: Plan) -> Iterator[ForgetItem]:
    for entry in plan.entries_stay:
        yield _item(entry.id, entry.content, "entry: it also rests on other messages", partly=True)
    for relation in relations.relations_of(connection, space, list(plan.graph.relations_stay)):
        yield _item(relation.id, _said(relation), "relation: it also rests on other messages", partly=True)
    for entity in plan.graph.entities_stay:
        yield _item(entity.id, entity.name, "entity: other messages speak of it", partly=True)
