"""The grounds on which an entry may be retired, or a relation withdrawn. Pure.

A model's opinion that something is noise is not enough: it may be the one thing asked for next year.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from langmem_tiers.dream.faithfulness import says
from langmem_tiers.dream.types import EntrySeen, RelationSeen
from langmem_tiers.knowledge.preferences import ANTI_PATTERNS, INFERRED
from langmem_tiers.language.contradictions import differ, slot
from langmem_tiers.language.word_lists import word_set
from langmem_tiers.language.wordings import forms, wording
from langmem_tiers.language.words import meaningful_words
from langmem_tiers.records import Authority

_FADED = 2  # half-lives
_NO_NEWS = word_set("user users say says said ask asks asked tell tells told chat chats")
# What changes over time; where a birthday or a name differs, one of the two was always wrong.
_CHANGING = word_set("live employer profession drives weight studies age")


class ByWord:
    """An index of entries by their words, to find those that say what another one says."""

    def __init__(self, entries: Iterable[EntrySeen]) -> None:
        self.entries = tuple(entries)
        self._places: dict[str, set[int]] = {}
        for place, entry in enumerate(self.entries):
            for word in wording(entry.content).words:
                for form in forms(word.text):
                    self._places.setdefault(form, set()).add(place)

    def with_words_of(self, text: str) -> list[EntrySeen]:
        """The entries that contain every meaningful word of a text, in order."""
        words = wording(text).words
        held = sorted((self._holding(word.text) for word in words), key=len)
        return [self.entries[place] for place in sorted(set.intersection(*held))] if held else []

    def _holding(self, word: str) -> set[int]:
        return set().union(*(self._places.get(form, set()) for form in forms(word)))


def untouchable(entry: EntrySeen) -> str | None:
    """Why a dream leaves an entry as it is; None if it may change it."""
    if entry.authority >= Authority.CORRECTION:
        return f"entry {entry.id} is a correction by the user"
    return f"entry {entry.id} is pinned" if entry.pinned else None


def has_expired(entry: EntrySeen, at: datetime) -> bool:
    """Whether its expiry date has passed."""
    return entry.expires_at is not None and entry.expires_at <= at


def has_faded(entry: EntrySeen, at: datetime, fade_days: float) -> bool:
    """Whether it is an inferred preference that nothing has confirmed for long."""
    inferred = entry.category == INFERRED or entry.category.startswith(f"{INFERRED}/")
    rests_for = at - entry.updated_at
    return inferred and entry.authority < Authority.USER and rests_for >= _FADED * timedelta(days=fade_days)


def says_nothing(entry: EntrySeen) -> bool:
    """Whether it is small talk taken for a fact; what the user saved never counts as that."""
    if entry.authority >= Authority.USER:
        return False
    return not set(meaningful_words(entry.content)) - _NO_NEWS


def alike_kept(here: EntrySeen, there: EntrySeen) -> str | None:
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
    known = (ANTI_PATTERNS, INFERRED)
    return next((each for each in known if folded == each or folded.startswith(f"{each}/")), None)


def filed_on_purpose(entry: EntrySeen) -> bool:
    """Whether its category was chosen by someone who may not be overruled."""
    return entry.path == "user" or special(entry.category) is not None or bool(untouchable(entry))


def covers(other: EntrySeen, entry: EntrySeen) -> bool:
    """Whether an entry can replace another: it says all of it, for as long, to the same agents."""
    return (
        other.id != entry.id
        and other.authority >= entry.authority
        and alike_kept(other, entry) is None
        and says(other.content, entry.content)
    )


def outdates(newer: EntrySeen, older: EntrySeen) -> bool:
    """Whether an entry has a later value of the same property than another.

    Only for what changes over time, and only if it is certain which came later: imports may be in any order.
    """
    if "import" in {newer.origin, older.origin} or newer.authority < older.authority or alike_kept(newer, older):
        return False
    told = slot(newer.content)
    if told is None or told.attribute not in _CHANGING or not differ(newer.content, older.content):
        return False
    return newer.created_at > older.created_at and _later(newer.evidence, older.evidence)


def _later(newer: Sequence[int], older: Sequence[int]) -> bool:
    return bool(newer and older) and min(newer) > max(older)


def orphaned(seen: RelationSeen, at: datetime, mention_days: float) -> str | None:
    """Why a relation is an orphan, without any evidence left, or None.

    Only what the memory found itself can be one: what an agent or the user stated is theirs to take back, and what came
    without messages, such as an imported graph, never had any. Relations between merged entities do not count either:
    no one sees them, and undoing the merge needs them.

    Example:
        >>> from datetime import UTC
        >>> now = datetime(2026, 3, 2, tzinfo=UTC)
        >>> orphaned(RelationSeen(id="a1b2c3d4e5f6", kind="stated", cited=2, standing=0, last_seen=now), now, 180)
        'no message that says so stands any more'
    """
    if seen.cited and not seen.standing:
        return "no message that says so stands any more"
    once = seen.kind == "mentioned" and seen.alone and seen.cited == 1
    if once and at - seen.last_seen >= timedelta(days=mention_days):
        return "two names were mentioned together once, long ago, and nothing else is known of either"
    return None
