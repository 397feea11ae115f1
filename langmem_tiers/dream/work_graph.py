"""What a dream does to episodes, and to the graph."""

from __future__ import annotations

from langmem_tiers.documents import making
from langmem_tiers.dream import windows
from langmem_tiers.dream.gather import relation_seen
from langmem_tiers.dream.orphans import orphaned
from langmem_tiers.dream.types import CloseWindows, MergeEntities, Synthesis, WithdrawRelation
from langmem_tiers.dream.work import Refused, Work
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import predicates
from langmem_tiers.knowledge_graph.conflicts import against
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.storage import documents, entities, graph_pairs, orphans
from langmem_tiers.storage import episodes as episode_rows
from langmem_tiers.writing.storable import storable

_FOLDER = "_system/dreaming"
_LONGEST_WHY = 200


def synthesize(work: Work, proposal: Synthesis) -> None:
    """Write the document of the day, or add to it; the episodes are taken up."""
    wanted = list(dict.fromkeys(proposal.episodes))
    held = episode_rows.by_ids(work.connection, work.space, wanted)
    for each in wanted:
        seen = work.episodes.get(each)
        if seen is None:
            raise Refused(f"episode {each[:40]} was not looked at")
        if each not in held or held[each].summary != seen.summary:
            raise Refused(f"episode {each} has changed since the dream looked at it")
        if held[each].promoted_at is not None:
            raise Refused(f"episode {each} is in another synthesis already")
    path = making.path(f"{_FOLDER}/{work.now:%Y%m%d}-consolidated.md", work.settings)
    text = storable(proposal.text, "document", work.settings)
    there = documents.read(work.connection, work.space, path)
    new = making.with_more(path, there, text, "dream", work.settings)
    documents.put(work.connection, work.space, new, work.ledger.now)
    episode_rows.promote(work.connection, work.space, [held[each] for each in wanted], work.ledger.now)


def merge_entities(work: Work, proposal: MergeEntities) -> None:
    """Let two entities be one, unless somebody or something says that they are two."""
    graph = _graph(work)
    one, other = graph.existing(proposal.source), graph.existing(proposal.target)
    here, there = (entities.members(work.connection, work.space, each.number) for each in (one, other))
    if any(row.status == "apart" for row in graph_pairs.between(work.connection, work.space, here, there)):
        raise Refused(f"{one.name!r} and {other.name!r} were said to be two")
    if max(one.authority, other.authority) > Authority.SYSTEM:
        raise Refused(f"somebody else stands behind {one.name!r} or {other.name!r}")
    rows = [next(entities.rows(work.connection, work.space, each.number, each.number)) for each in (one, other)]
    speaks = against(work.connection, work.space, rows[0], rows[1], work.settings)
    if speaks is not None:
        raise Refused(speaks.reason)
    reason = " ".join(proposal.why.split())[:_LONGEST_WHY] or "found in a dream"
    graph.merge(one, other, reason=reason, path=proposal.path)


def withdraw_relation(work: Work, proposal: WithdrawRelation) -> None:
    """Believe a relation no longer that rests on nothing."""
    graph = _graph(work)
    row = graph.row(proposal.id)
    if not row.believed:
        raise Refused(f"relation {row.id} is not believed any more")
    found = orphans.of_numbers(work.connection, work.space, [row.number])
    if not found:
        raise Refused(f"somebody stands behind relation {row.id}")
    seen = relation_seen(found[0])
    if seen.standing and orphaned(seen, work.now, work.settings.dream.mention_days) is None:
        raise Refused(f"relation {row.id} rests on messages that stand")
    graph.withdraw(row.number, by=Authority.SYSTEM)


def close_windows(work: Work, proposal: CloseWindows) -> None:
    """Let each of an entity's relations by a predicate end where the next one begins."""
    graph = _graph(work)
    entity = graph.existing(proposal.subject)
    seen = windows.seen(work.connection, work.space, entity.number, proposal.predicate)
    if not predicates.single_valued(proposal.predicate, work.settings.graph) or not seen.closing:
        raise Refused(f"nothing of {entity.name!r} stands open any more")
    if seen.authority > Authority.SYSTEM:
        raise Refused(f"somebody stands behind what would be closed of {entity.name!r}")
    graph.settle_groups([(entity.number, proposal.predicate)])


def _graph(work: Work) -> Ledger:
    """One for each proposal: it remembers what it has logged, which may be undone with the proposal."""
    return Ledger(work.connection, work.space, work.ledger.now, work.settings)
