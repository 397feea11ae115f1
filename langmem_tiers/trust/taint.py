"""Taint: which turns are not statements of the user, judged by their origin and structure."""

from __future__ import annotations

from collections.abc import Iterable

from langmem_tiers.block_lines import MESSAGE_LINE, MESSAGE_MARK
from langmem_tiers.errors import InvalidInput
from langmem_tiers.fencing import CLOSING, OPENING
from langmem_tiers.records import Said
from langmem_tiers.types import Origin

# The most trusted first. What a tool brings in was written by the author of the page or the mail it read.
_BY_TRUST: tuple[Origin, ...] = ("user", "import", "assistant", "dream", "quoted", "system", "tool")
_SAID_BY_USERS = frozenset({"user", "import"})


def tainted(said: Said) -> str | None:
    """Why a turn must not be mined as a statement of the user; None if it may.

    Only users' turns count, said in a conversation or imported from one. A turn that a recalled block was pasted
    into does not, as recognised by the block's fence on lines of its own or by its items, not by their content.
    """
    if said.role != "user":
        return f"said by the {said.role}"
    if said.origin not in _SAID_BY_USERS:
        return f"comes from the {said.origin}"
    return "holds a recalled block" if holds_block(said.content) else None


def holds_block(text: str) -> bool:
    """Whether a text contains a recalled block, or items of one."""
    if OPENING in text:
        lines = [line.strip() for line in text.splitlines()]
        if OPENING in lines and CLOSING in lines[lines.index(OPENING) :]:
            return True
    return MESSAGE_MARK in text and MESSAGE_LINE.search(text) is not None


def derived_trust(origins: Iterable[Origin]) -> Origin:
    """The origin of data derived from records of these origins: the least trusted of them.

    Raises:
        InvalidInput: there are none: a memory needs evidence.

    Example:
        >>> derived_trust(["user", "assistant"])
        'assistant'
    """
    ranks = [_BY_TRUST.index(origin) for origin in origins]
    if not ranks:
        raise InvalidInput("Nothing is derived from no records.", way_out="Name the records it rests on.")
    return _BY_TRUST[max(ranks)]
