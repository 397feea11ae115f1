"""On what grounds an entry may be put aside: another one says it, it is outdated, it has expired, or it says nothing.

Pure. A model's word that something is noise is no ground: what it takes for noise may be the one thing that is asked
for next year.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from langmem_tiers.dream.blending import says
from langmem_tiers.dream.types import EntrySeen
from langmem_tiers.knowledge.slots import differ, slot
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge.wordings import forms, wording
from langmem_tiers.palace.words import meaningful_words, word_set

INFERRED = "user-preferences/inferred"
ANTI_PATTERNS = "anti-patterns"
_FADED = 2  # half-lives
_NO_NEWS = word_set("user users say says said ask asks asked tell tells told chat chats")
# What changes in the course of time; where a birthday or a name differs, one of the two was wrong all along.
_CHANGING = word_set("live employer profession drives weight studies age")


class ByWord:
    """Entries by the words that they tell, to find who says what another one says."""

    def __init__(self, entries: Iterable[EntrySeen]) -> None:
        self.entries = tuple(entries)
        self._places: dict[str, set[int]] = {}
        for place, entry in enumerate(self.entries):
            for word in wording(entry.content).words:
                for form in forms(word.text):
                    self._places.setdefault(form, set()).add(place)

    def with_words_of(self, text: str) -> list[EntrySeen]:
        """The entries that hold every telling word of a text, in their order."""
        words = wording(text).words
        held = sorted((self._holding(word.text) for word in words), key=len)
        return [self.entries[place] for place in sorted(set.intersection(*held))] if held else []

    def _holding(self, word: str) -> set[int]:
        return set().union(*(self._places.get(form, set()) for form in forms(word)))


def untouchable(entry: EntrySeen) -> str | None:
    """Why a dream leaves an entry as it is; None where it may change it."""
    if entry.authority >= Authority.CORRECTION:
        return f"entry {entry.id} is a correction by the user"
    return f"entry {entry.id} is pinned" if entry.pinned else None


def has_expired(entry: EntrySeen, at: datetime) -> bool:
    """Whether it was expected to hold no longer by then."""
    return entry.expires_at is not None and entry.expires_at <= at


def has_faded(entry: EntrySeen, at: datetime, fade_days: float) -> bool:
    """Whether it is a preference that was inferred, and that nothing has borne out for long."""
    inferred = entry.category == INFERRED or entry.category.startswith(f"{INFERRED}/")
    rests_for = at - entry.updated_at
    return inferred and entry.authority < Authority.USER and rests_for >= _FADED * timedelta(days=fade_days)


def says_nothing(entry: EntrySeen) -> bool:
    """Whether it is small talk that was taken for a fact; what the user saved is what they wanted to keep."""
    if entry.authority >= Authority.USER:
        return False
    return not set(meaningful_words(entry.content)) - _NO_NEWS


def alike_kept(here: EntrySeen, there: EntrySeen) -> str | None:
    """What besides their words keeps two entries from being one; None where nothing does."""
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
    """The category with a meaning of its own that a path belongs to, None for a plain one."""
    folded = category.strip().strip("/").casefold()
    known = (ANTI_PATTERNS, INFERRED)
    return next((each for each in known if folded == each or folded.startswith(f"{each}/")), None)


def covers(other: EntrySeen, entry: EntrySeen) -> bool:
    """Whether an entry can stand for another: it says all of it, for as long, to the same agents."""
    return (
        other.id != entry.id
        and other.authority >= entry.authority
        and alike_kept(other, entry) is None
        and says(other.content, entry.content)
    )


def outdates(newer: EntrySeen, older: EntrySeen) -> bool:
    """Whether an entry tells the later value of the one thing that another tells.

    Only of what changes in time, and where it is sure what came later: what was imported may be told in any order.
    """
    if "import" in {newer.origin, older.origin} or newer.authority < older.authority or alike_kept(newer, older):
        return False
    told = slot(newer.content)
    if told is None or told.attribute not in _CHANGING or not differ(newer.content, older.content):
        return False
    return newer.created_at > older.created_at and _later(newer.evidence, older.evidence)


def _later(newer: Sequence[int], older: Sequence[int]) -> bool:
    return bool(newer and older) and min(newer) > max(older)
