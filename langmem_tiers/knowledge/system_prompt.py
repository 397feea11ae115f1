"""What stands before every conversation of a space: identity, profile and notes, read at one moment."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from langmem_tiers.knowledge.document_text import MEMORY
from langmem_tiers.knowledge.documents import memory_block, memory_document
from langmem_tiers.knowledge.identity import identity_text
from langmem_tiers.knowledge.profile import profile_lines, standing_facts
from langmem_tiers.knowledge.prompt_blocks import identity_block, profile_block
from langmem_tiers.storage import prompt_records

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext


def blocks(context: SpaceContext, layers: Collection[str]) -> tuple[str, str, str]:
    """The block of each of the three for a system prompt, empty where it is not among the layers or says nothing."""
    settings = context.settings
    with context.open() as store, store.reading() as connection:
        held = prompt_records.read(connection, store.key, MEMORY if "documents" in layers else ())
        facts = standing_facts(store, held.seen, context.now) if "profile" in layers else []
    return (
        identity_block(identity_text(held.identity, settings.identity.max_characters)) if "identity" in layers else "",
        profile_block(profile_lines(context, facts, held.identity)),
        memory_block(memory_document(held.documents), settings.documents.prompt_tokens, context.count_tokens),
    )
