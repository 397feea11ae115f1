"""Taint: which turns are no statements of the user, by where they come from and how they are built."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from langmem_tiers.errors import InvalidInput
from langmem_tiers.recall.rendering import CLOSING, OPENING
from langmem_tiers.types import Origin

if TYPE_CHECKING:
    from langmem_tiers.writing.proposals import Said

# The most trusted first. What a tool brings in was written by whoever wrote the page or the mail it read.
_BY_TRUST: tuple[Origin, ...] = ("user", "import", "assistant", "dream", "system", "tool")
_SAID_BY_USERS = frozenset({"user", "import"})
# An item as recall/rendering.py writes it: whoever holds one on a line of its own did not write it.
_ITEM = re.compile(r"^[ \t]*- \[§W-\d{3,18}/R-\d{2,18}/D-\d{3,18}\] \d{4}-\d\d-\d\d \S", re.MULTILINE)


def tainted(said: Said) -> str | None:
    """Why a turn must not be mined as a statement of the user; None where it may.

    Only turns of users count, said in a conversation or imported from one. A turn that a recalled block was pasted
    into is none: by the block's fence on lines of its own or by its items, not by what is said in it.
    """
    if said.role != "user":
        return f"said by the {said.role}"
    if said.origin not in _SAID_BY_USERS:
        return f"comes from the {said.origin}"
    return "holds a recalled block" if holds_block(said.content) else None


def holds_block(text: str) -> bool:
    """Does a text hold a recalled block, or items of one?"""
    if OPENING in text:
        lines = [line.strip() for line in text.splitlines()]
        if OPENING in lines and CLOSING in lines[lines.index(OPENING) :]:
            return True
    return "[§W-" in text and _ITEM.search(text) is not None


def derived_trust(origins: Iterable[Origin]) -> Origin:
    """The origin of what is derived from records of these origins: that of the least trusted of them.

    Raises:
        InvalidInput: there are none: what rests on nothing is no memory.

    Example:
        >>> derived_trust(["user", "assistant"])
        'assistant'
    """
    ranks = [_BY_TRUST.index(origin) for origin in origins]
    if not ranks:
        raise InvalidInput("Nothing is derived from no records.", way_out="Name the records it rests on.")
    return _BY_TRUST[max(ranks)]
