"""Who stands behind an entry, and what a write of less authority may not do. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from langmem_tiers.errors import AuthorityTooLow
from langmem_tiers.knowledge.types import Authority, Entry
from langmem_tiers.palace.words import meaningful_words, stem
from langmem_tiers.types import Drawer, Origin

_OF_ORIGIN: dict[Origin, Authority] = {"user": Authority.USER, "assistant": Authority.AGENT}
# What an agent says is the user's own words when these hold this share of its meaningful words, and all its numbers.
_SUPPORT = 0.5
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SAID = {
    Authority.SYSTEM: "the memory itself",
    Authority.AGENT: "the agent",
    Authority.USER: "the user",
    Authority.CORRECTION: "a correction by the user",
}


def of_call(origin: Origin, content: str | None, evidence: Iterable[Drawer], *, corrects: bool) -> Authority:
    """The authority of a call: of the agent's, the user's where it cites words of the user that say the same."""
    said_by_user = [drawer.content for drawer in evidence if is_users(drawer)]
    plain = _OF_ORIGIN.get(origin, Authority.SYSTEM)
    if plain is Authority.AGENT and content is not None and said_by_user and supports(said_by_user, content):
        plain = Authority.USER
    return Authority.CORRECTION if corrects and plain is Authority.USER else plain


def is_users(drawer: Drawer) -> bool:
    """Whether it holds words of the user that stand."""
    return drawer.origin in {"user", "import"} and drawer.role == "user" and drawer.status == "active"


def supports(texts: Iterable[str], content: str) -> bool:
    """Whether texts say what an entry says, by its words: at least half of them, and every number."""
    said = " ".join(texts)
    held = {stem(word) for word in meaningful_words(said)}
    wanted = {stem(word) for word in meaningful_words(content)} - {"user"}
    numbers = set(_NUMBER.findall(content)) <= set(_NUMBER.findall(said))
    return numbers and len(wanted & held) >= _SUPPORT * len(wanted)


def require(entry: Entry, authority: Authority) -> None:
    """Nothing, where a write of this authority may change what an entry says or whether it holds.

    Raises:
        AuthorityTooLow: it may not.
    """
    reason = forbidden(entry, authority)
    if reason:
        raise AuthorityTooLow(f"Entry {entry.id} can not be changed: {reason}.")


def forbidden(entry: Entry, authority: Authority) -> str | None:
    """Why a write of this authority may not change an entry, None where it may."""
    if authority < entry.authority:
        return f"{_SAID[entry.authority]} stands behind it, and only {_SAID[authority]} behind this"
    if entry.pinned and authority is Authority.SYSTEM:
        return "it is pinned"
    return None
