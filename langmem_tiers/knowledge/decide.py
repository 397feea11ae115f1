"""Decides what happens to a new entry, and who may change an existing one. Pure functions.

Every new entry is decided in the same way, whether it was saved, mined, imported, or made by enriching: a known
statement is confirmed, an inactive one reactivated, and another wording merged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from langmem_tiers.errors import AuthorityTooLow
from langmem_tiers.knowledge import validation
from langmem_tiers.knowledge.results import Outcome
from langmem_tiers.language import attribution
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.quotations import own_words
from langmem_tiers.records import Authority, Entry, NewEntry
from langmem_tiers.types import Drawer, Origin

_OF_ORIGIN: dict[Origin, Authority] = {
    "user": Authority.USER,
    "assistant": Authority.AGENT,
    "tool": Authority.AGENT,
}
SUPPORT = 0.5
"""An agent's statement counts as the user's if they assert this share of its content words, and name its numbers."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_BEHIND = {
    Authority.SYSTEM: "the memory itself",
    Authority.AGENT: "the agent",
    Authority.USER: "the user",
    Authority.CORRECTION: "a correction by the user",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingKnowledge:
    """What is already known about the statement of a new entry.

    `twin` says exactly the same, and `holder` is the active entry it was merged into, or itself; None if inactive.
    `near` are active entries that may say the same, most similar first, each with the cosine similarity if both vectors
    are known.
    """

    twin: Entry | None = None
    holder: Entry | None = None
    near: tuple[tuple[Entry, float | None], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryDecision:
    """What happens to a new entry: `there` is the existing entry concerned, `twin` the one that says exactly the same.

    Of two wordings to merge, the new one either `gives_way` or replaces the other.
    """

    outcome: Outcome
    there: Entry | None = None
    twin: Entry | None = None
    gives_way: bool = False


def decide(new: NewEntry, known: ExistingKnowledge, *, least: float, wrong: Collection[str] = ()) -> EntryDecision:
    """Decide what happens to a new entry.

    Args:
        new: The entry.
        known: The existing entries that may say the same.
        least: Minimum similarity, if known, for a reordered sentence to count as the same.
        wrong: Ids of entries that it corrects: they are not other wordings of the corrected statement.
    """
    twin, holder = known.twin, known.holder
    if twin is not None and holder is not None and holder.id not in wrong:
        return EntryDecision(outcome="known", there=holder, twin=twin)
    if twin is not None and (twin.active or new.rank >= 0 or twin.from_tool):
        return EntryDecision(outcome="known" if twin.active else "reactivated", there=twin, twin=twin)
    for there, similarity in known.near:
        if there.id in wrong or not concerns(there, project=new.project, agent=new.agent):
            continue
        if same_fact(new.content, there.content, similarity, least=least).same:
            if new.rank < 0 <= there.rank:
                return EntryDecision(outcome="known", there=there)
            # The one of higher authority is kept, then the longer, then the earlier one.
            gives_way = (new.rank, len(new.content)) <= (there.rank, len(there.content))
            if there.pinned == new.pinned or there.pinned is gives_way:
                return EntryDecision(outcome="merged", there=there, gives_way=gives_way)
    return EntryDecision(outcome="saved")


def concerns(entry: Entry, *, project: str | None, agent: str | None) -> bool:
    """Whether an entry belongs to this project and agent, or one side names none."""
    same_project = None in (entry.project, project) or entry.project == project
    return same_project and (None in (entry.agent, agent) or entry.agent == agent)


def exact(found: Iterable[Entry], content: str, *, project: str | None, agent: str | None) -> Entry | None:
    """The entry that says exactly this: preferably an active one, otherwise the one retired last.

    What is known for one project or agent is not known for another.
    """
    here = (each for each in found if each.content == content and concerns(each, project=project, agent=agent))
    return max(here, key=lambda entry: (entry.active, entry.updated_at, entry.number), default=None)


def authority_of_call(
    origin: Origin, *, corrects: bool, content: str | None = None, evidence: Sequence[Drawer] = ()
) -> Authority:
    """The authority of a call. An agent that cites words of the user which say the same has the user's authority.

    What a tool brought in never has, whatever it repeats.

    Raises:
        InvalidInput: it is not a known origin.
    """
    said_by_user = [own_words(drawer.content) for drawer in evidence if is_users(drawer)]
    plain = _OF_ORIGIN.get(validation.origin(origin), Authority.SYSTEM)
    if origin == "assistant" and content is not None and support(said_by_user, content) >= SUPPORT:
        plain = Authority.USER
    return Authority.CORRECTION if corrects and plain is Authority.USER else plain


def is_users(drawer: Drawer) -> bool:
    """Whether a drawer holds words of the user and has not been edited."""
    return drawer.origin in {"user", "import"} and drawer.role == "user" and drawer.status == "active"


def require(entry: Entry, authority: Authority, *, by_tool: bool = False) -> None:
    """Check that a write of this authority may change an entry's content or status.

    `by_tool` says that it rests on a tool's result.

    Raises:
        AuthorityTooLow: it may not.
    """
    if reason := forbidden(entry, authority):
        raise AuthorityTooLow(f"Entry {entry.id} cannot be changed: {reason}.")
    if by_tool and entry.told:
        raise AuthorityTooLow(
            f"Entry {entry.id} cannot be changed: it is known from what was said, and this from a tool's result."
        )


def forbidden(entry: Entry, authority: Authority) -> str | None:
    """Why a write of this authority may not change an entry, or None."""
    if authority < entry.authority:
        return f"{_BEHIND[entry.authority]} stands behind it, and only {_BEHIND[authority]} behind this"
    if entry.pinned and authority is Authority.SYSTEM:
        return "it is pinned"
    return None


def support(texts: Iterable[str], content: str) -> float:
    """The share of an entry's content words that texts of the user assert; 0 if they lack one of its numbers."""
    said = "\n".join(texts)
    if not set(_NUMBER.findall(content)) <= set(_NUMBER.findall(said)):
        return 0.0
    return attribution.support(said, content)
