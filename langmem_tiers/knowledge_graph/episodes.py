"""What episodes tell that were not made of messages: summaries that were there already, and what tasks came to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from langmem_tiers.episodes.types import Episode
from langmem_tiers.knowledge_graph import rules
from langmem_tiers.knowledge_graph.taking import Message
from langmem_tiers.storage import episodes
from langmem_tiers.storage.mined import ProposalRow
from langmem_tiers.writing.extractive.prose import sentences
from langmem_tiers.writing.proposals import Said

_THE_USERS = re.compile(r"\b[Tt]he user['’]s\b")
_THE_USER = re.compile(r"\b[Tt]he user\b")
# Whoever wrote a summary is not the user.
_WRITER = re.compile(r"\b(?:I|me|my|mine|we|us|our|you|your)\b", re.IGNORECASE)


def found_in(connection: Connection, space: str, numbers: Sequence[int], now: datetime) -> list[Message]:
    """What is told by those of these episodes that no messages are known of: theirs are mined themselves."""
    told = [each for each in episodes.by_numbers(connection, space, numbers) if each.first_drawer is None]
    return [message for each in told if (message := _message(each, now)).proposals]


def _message(episode: Episode, now: datetime) -> Message:
    said = Said(
        drawer=0,
        place=0,
        role="user",
        origin="import",
        speaker=None,
        content=_as_told_by_the_user(episode.summary),
        said_at=min(episode.ended_at, now),
    )
    rows = [
        ProposalRow(number=0, kind="relation", body=dict(each.body), drawer=0, quote="", path="rule")
        for each in rules.proposals([said], now)
    ]
    return Message(drawer=None, said_at=said.said_at, proposals=rows)


def _as_told_by_the_user(summary: str) -> str:
    """The sentences that tell of the user and others in the third person, as the rules read them."""
    told = (each.text for each in sentences(summary) if not _WRITER.search(each.text))
    return "\n".join(_THE_USER.sub("I", _THE_USERS.sub("My", each)) for each in told)
