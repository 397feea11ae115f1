"""The grounds on which an entry may be retired, or a relation withdrawn. Pure.

A model's opinion that something is noise is not enough: it may be the one thing asked for next year.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from langmem_tiers.dream.faithfulness import says
from langmem_tiers.knowledge.preferences import ANTI_PATTERNS, INFERRED, within
from langmem_tiers.language.contradictions import differ, slot
from langmem_tiers.language.word_lists import word_set
from langmem_tiers.language.wordings import forms, wording
from langmem_tiers.language.words import meaningful_words
from langmem_tiers.records import Authority, Entry, RelationGrounds

_FADED = 2  # half-lives
_NO_NEWS = word_set("user users say says said ask asks asked tell tells told chat chats")
# What changes over time; where a birthday or a name differs, one of the two was always wrong.
_CHANGING = word_set("live employer profession drives weight studies age")


class ByWord:
    """An index of entries by their words, to find those that say what another one says."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._places: dict[str, set[int]] = {}
        for place, entry in enumerate(self.entries):
            for word in wording(entry.content).words:
                for form in forms(word.text):
                    self._places.setdefault(form, set()).add(place)

    def with_words_of(self, text: str) -> list[Entry]:
        """The entries that contain every meaningful word of a text, in order."""
        every = (forms(word.text) for word in wording(text).words)
        held = [set[int]().union(*(self._places.get(form, ()) for form in each)) for each in every]
        return [self.entries[place] for place in sorted(set.intersection(*sorted(held, key=len)))] if held else []


def untouchable(entry: Entry) -> str | None:
    """Why a dream leaves an entry as it is; None if it may change it."""
    if entry.authority >= Authority.CORRECTION:
        return f"entry {entry.id} is a correction by the user"
    return f"entry {entry.id} is pinned" if entry.pinned else None


def has_expired(entry: Entry, at: datetime) -> bool:
    """Whether its expiry date has passed."""
    return entry.expires_at is not None and entry.expires_at <= at


def has_faded(entry: Entry, at: datetime, fade_days: float) -> bool:
    """Whether it is an inferred preference that nothing has confirmed for long."""
    old = at - entry.updated_at >= _FADED * timedelta(days=fade_days)
    return old and within(entry.category, INFERRED) and entry.authority < Authority.USER


def says_nothing(entry: Entry) -> bool:
    """Whether it is small talk taken for a fact; what the user saved never counts as that."""
    if entry.authority >= Authority.USER:
        return False
    return not set(meaningful_words(entry.content)) - _NO_NEWS


def alike_kept(here: Entry, there: Entry) -> str | None:
    """What, besides their words, keeps two entries from being merged, or None."""
    for name in ("project", "agent"):
        if getattr(here, name) != getattr(there, name):
            return f"they belong to different {name}s"
    if here.expires_at != there.expires_at:
        return "they hold for different times"
    if dict(here.metadata) != dict(there.metadata):
        return "their metadata differ"
    same_use = special(here.category) == special(there.category)
    return None if same_use else f"{special(here.category) or special(there.category)} is a category of its own"


def special(category: str) -> str | None:
    """The special category that a path belongs to, None for an ordinary one."""
    folded = category.strip().strip("/").casefold()
    return next((each for each in (ANTI_PATTERNS, INFERRED) if within(folded, each)), None)


def filed_on_purpose(entry: Entry) -> bool:
    """Whether its category was chosen by someone who may not be overruled."""
    return entry.path == "user" or special(entry.category) is not None or bool(untouchable(entry))


def covers(other: Entry, entry: Entry) -> bool:
    """Whether an entry can replace another: it says all of it, for as long, to the same agents."""
    return (
        other.id != entry.id
        and other.rank >= entry.rank
        and alike_kept(other, entry) is None
        and says(other.content, entry.content)
    )


def outdates(newer: Entry, older: Entry) -> bool:
    """Whether an entry has a later value of the same property than another.

    Only for what changes over time, and only if it is certain which came later: imports may be in any order.
    """
    if "import" in {newer.origin, older.origin} or newer.rank < older.rank or alike_kept(newer, older):
        return False
    told = slot(newer.content)
    if told is None or told.attribute not in _CHANGING or not differ(newer.content, older.content):
        return False
    if newer.created_at <= older.created_at or not (newer.drawers and older.drawers):
        return False
    return min(newer.drawers) > max(older.drawers)


def orphaned(seen: RelationGrounds, at: datetime, mention_days: float) -> str | None:
    """Why a relation is an orphan, without any evidence left, or None.

    Only what the memory found itself can be one: what an agent or the user stated is theirs to take back, and what came
    without messages, such as an imported graph, never had any. Relations between merged entities do not count either:
    no one sees them, and undoing the merge needs them.

    Example:
        >>> from datetime import UTC
        >>> now = datetime(2026, 3, 2, tzinfo=UTC)
        >>> orphaned(RelationGrounds(id="a1b2c3d4e5f6", kind="stated", cited=2, standing=0, last_seen=now), now, 180)
        'no message that says so stands any more'
    """
    if seen.cited and not seen.standing:
        return "no message that says so stands any more"
    once = seen.kind == "mentioned" and seen.alone and seen.cited == 1
    if once and at - seen.last_seen >= timedelta(days=mention_days):
        return "two names were mentioned together once, long ago, and nothing else is known of either"
    return None
