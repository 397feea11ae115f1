"""The tables of a space, each with the reason it exists.

Every key starts with `space`, and every statement names it. In a SQLite file the column holds `HERE`, because the
file is the space and may be copied or renamed; a database that holds many spaces puts their names there.
Times are UTC milliseconds. Numbers count up within one space and are never used twice.
"""

from __future__ import annotations

from langmem_tiers.storage.schema.base import HERE, metadata
from langmem_tiers.storage.schema.dream import changesets, dreams, golden_questions
from langmem_tiers.storage.schema.graph import (
    entities,
    entity_aliases,
    entity_evidence,
    entity_merges,
    entity_pairs,
    relation_evidence,
    relation_versions,
    relations,
)
from langmem_tiers.storage.schema.items import store_items
from langmem_tiers.storage.schema.knowledge import (
    documents,
    entries,
    entry_evidence,
    episodes,
    identities,
    notes,
    tombstones,
)
from langmem_tiers.storage.schema.log import changes, cursors, facts, leases, migrations
from langmem_tiers.storage.schema.palace import (
    chunks,
    closets,
    drawers,
    embeddings,
    receipts,
    rooms,
    turns,
    wing_aliases,
    wings,
)
from langmem_tiers.storage.schema.working import activities, mined_windows, proposals, usages

__all__ = [
    "HERE",
    "activities",
    "changes",
    "changesets",
    "chunks",
    "closets",
    "cursors",
    "documents",
    "drawers",
    "dreams",
    "embeddings",
    "entities",
    "entity_aliases",
    "entity_evidence",
    "entity_merges",
    "entity_pairs",
    "entries",
    "entry_evidence",
    "episodes",
    "facts",
    "golden_questions",
    "identities",
    "leases",
    "metadata",
    "migrations",
    "mined_windows",
    "notes",
    "proposals",
    "receipts",
    "relation_evidence",
    "relation_versions",
    "relations",
    "rooms",
    "store_items",
    "tombstones",
    "turns",
    "usages",
    "wing_aliases",
    "wings",
]
