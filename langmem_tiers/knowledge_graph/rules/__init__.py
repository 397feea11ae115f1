"""Entities and relations found in what was said, without a model.

English is understood. Precision comes first: what is asked, supposed, wished, denied, quoted or said in another
language is no claim, and who is meant by "she" has to be sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langmem_tiers.storage.mined import NewProposal
    from langmem_tiers.writing.proposals import Said


def proposals(said: Sequence[Said], now: datetime, *, before: Sequence[Said] = ()) -> list[NewProposal]:
    """What the users' own turns claim of people, places and things, in order; see `reading.proposals`."""
    # Their patterns take a second to compile: only where something is read.
    from langmem_tiers.knowledge_graph.rules import reading

    return reading.proposals(said, now, before=before)
