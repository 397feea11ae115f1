"""Carries out a plan in one transaction: records, index, log and tombstones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from langmem_tiers.clock import to_millis
from langmem_tiers.forgetting import dates
from langmem_tiers.forgetting.plan import Plan
from langmem_tiers.knowledge import document_text, tombstones
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.knowledge.episode_writer import searched_texts
from langmem_tiers.knowledge.tombstones import Unsaid
from langmem_tiers.knowledge_graph import name_vectors
from langmem_tiers.knowledge_graph.deletion import delete_entity, delete_relation, retract_evidence
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.language.sentences import without
from langmem_tiers.language.words import occurs
from langmem_tiers.naming import new_id
from langmem_tiers.storage import (
    change_log,
    closets,
    documents,
    dreams,
    entries,
    episodes,
    feedback,
    forgetting,
    forgotten,
    identities,
    items,
    keyword,
    merges,
    receipts,
    revisions,
    tasks,
    working_entries,
)
from langmem_tiers.storage import entities as entity_rows
from langmem_tiers.storage.forgetting import ForgottenTurn
from langmem_tiers.storage.forgotten import Spoken

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.records import Episode
    from langmem_tiers.settings import Settings
    from langmem_tiers.types import Drawer

_FORGOTTEN = "forgotten"


def carry_out(
    connection: Connection, space: str, plan: Plan, chosen: Collection[int], settings: Settings, now: int
) -> int:
    """Delete what the plan says; `chosen` are the entities that were named. Returns how many vectors went."""
    writer = EntryWriter(connection, space, now)
    vectors = _remove_entries(writer, plan, settings)
    _change_graph(connection, space, plan, chosen, settings, now)
    _rewrite(connection, space, plan, settings, now)
    _clear_dreams(connection, space, plan)
    forgetting.drop_receipts(connection, space, plan.receipts)
    _rename_places(connection, space, plan, now)
    if plan.drawers:
        _bury(connection, space, plan.turns, plan.drawers, now)
        vectors += forgetting.remove_messages(connection, space, sorted(plan.drawers), now)
    return vectors


def _bury(
    connection: Connection, space: str, turns: Sequence[ForgottenTurn], held: Mapping[int, Drawer], now: int
) -> None:
    """Leave tombstones, so that no retry, replay or import brings the messages back."""
    by_session: dict[str, list[Spoken]] = {}
    for each in turns:
        drawer = held[each.drawer]
        said_at = to_millis(drawer.said_at)
        spoken = Spoken(each.message_id, drawer.role, each.content_hash, said_at=said_at)
        by_session.setdefault(each.session, []).append(spoken)
    for session, said in by_session.items():
        forgotten.bury(connection, space, session, said, now)


def _remove_entries(writer: EntryWriter, plan: Plan, settings: Settings) -> int:
    connection, space, gone = writer.connection, writer.space, plan.entries
    for each in plan.entries_stay:
        change_log.append(connection, space, "entry.changed", each.number, at=writer.now)
    if not gone:
        return 0
    said = tombstones.unsaid(writer, gone)
    tombstones.bury(writer, gone, said)
    left = Unsaid(
        meanings=said.meanings, passages={on: it for on, it in said.passages.items() if on not in plan.drawers}
    )
    with GraphTransaction(connection, space, writer.now, settings) as graph:
        retract_evidence(graph, left.passages)
    for drawer, found in left.passages.items():
        revisions.forget(connection, space, drawer, partial(_is_of, found), at=writer.now)
    ids = [each.id for each in gone]
    receipts.forget(connection, space, ids)
    dreams.forget(connection, space, ids)
    for each in (each for one in ids for each in entries.succeeded_by(connection, space, one)):
        if each.id not in ids:
            writer.change(each, successor=None)
    return writer.remove(gone)[1]


def _is_of(found: Sequence[str], quote: str) -> bool:
    return any(occurs(quote, each) or occurs(each, quote) for each in found)


def _change_graph(
    connection: Connection, space: str, plan: Plan, chosen: Collection[int], settings: Settings, now: int
) -> None:
    with GraphTransaction(connection, space, now, settings) as graph:
        going = {each.number for each in plan.graph.entities}
        for number in sorted(chosen):
            there = entity_rows.by_numbers(connection, space, [number])
            if there and graph.canonical(number) == number:
                delete_entity(graph, there[number])
        for row in plan.graph.relations:
            delete_relation(graph, row.number)
        for named, names in plan.graph.aliases:
            entity_rows.drop_aliases(connection, space, named.number, names)
            graph.log_entities(named.number)
        undated = dates.loosen(graph, plan.graph.relations_stay, plan.drawers)
        for entity in plan.graph.entities:
            members = set(graph.one_with(entity.number))
            if entity.number not in chosen and members <= going:
                name_vectors.forget(connection, space, (entity.name,))
                merges.remove(connection, space, [entity.number])
                entity_rows.remove(connection, space, [entity.number])
                graph.log_entities(entity.number)
        graph.merges_changed()
    if undated:
        dates.settle(connection, space, undated, settings, now)


def _rewrite(connection: Connection, space: str, plan: Plan, settings: Settings, now: int) -> None:
    """Change or delete the records that repeat what is forgotten."""
    known = plan.rewritten
    for before, left in known.episodes:
        _rewrite_episode(connection, space, before, left, settings, now)
    for document, text, _ in known.documents:
        _rewrite_document(connection, space, document.path, text, settings, now)
    for version, text, _ in known.identity:
        identities.rewrite(connection, space, version, text, at=now)
    for task, title, state in known.tasks:
        tasks.change(connection, space, task, at=now, title=title, state=state)
    for task in known.task_ids:
        tasks.rename(connection, space, task, new_id(), at=now)
    working_entries.remove(connection, space, [row.key for row in known.working], now)
    items.drop(connection, space, [row.place for row in known.items], now)
    for number, _ in known.questions:
        dreams.remove_question(connection, space, number)
    feedback.drop(connection, space, [signal.number for signal, note in known.feedback if note is None])
    for signal, note in known.feedback:
        if note is not None:
            feedback.renote(connection, space, signal.number, note)


def _rewrite_episode(
    connection: Connection, space: str, before: Episode, left: Episode | None, settings: Settings, now: int
) -> None:
    receipts.forget(connection, space, [before.id], kind="episode")
    dreams.forget(connection, space, [before.id])
    if left is None:
        episodes.bury(connection, space, before, now)
        episodes.remove(connection, space, [before], now)
        return
    title = (left.title or "") if left.of_task else ""
    texts = searched_texts(left.summary, left.abstract, left.topics, title, settings.text.chunk_characters)
    episodes.rewrite(connection, space, left, texts, now)
    episodes.cover(connection, space, left.number, left.first_drawer, left.last_drawer)


def _rewrite_document(
    connection: Connection, space: str, path: str, text: str | None, settings: Settings, now: int
) -> None:
    receipts.forget(connection, space, [path], kind="document")
    dreams.forget(connection, space, [path])
    held = documents.read(connection, space, path)
    if held is None:
        return
    if text is None:
        documents.drop(connection, space, path, now)
    else:
        documents.put(connection, space, document_text.of_text(path, text, held.origin, settings), now)


def _clear_dreams(connection: Connection, space: str, plan: Plan) -> None:
    dreams.unsay(connection, space, lambda text: without(text, plan.repetition.derived))
    dreams.forget_drawers(connection, space, plan.drawers)


def _rename_places(connection: Connection, space: str, plan: Plan, now: int) -> None:
    """Take the words of what is forgotten out of the names of closets and wings that stay."""
    known = plan.rewritten
    if not (known.closets or known.wings):
        return
    forgetting.rename(connection, space, "closet", known.closets, closets.UNNAMED)
    forgetting.rename(connection, space, "wing", known.wings, _FORGOTTEN)
    for room in forgetting.rooms_of(connection, space, known.closets, known.wings):
        keyword.drawers.categorise(connection, closets.categories(connection, space, room))
        change_log.append(connection, space, "room.refiled", room, at=now)
