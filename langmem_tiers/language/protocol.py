"""What the memory needs from a language, so that another language or a library can replace English.

Each method is a function of the module named in `HOMES`; the rest of this package supports these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import Protocol

from langmem_tiers.language.contradictions import Slot
from langmem_tiers.language.dates import Side
from langmem_tiers.language.names import Name
from langmem_tiers.language.paraphrase import Verdict
from langmem_tiers.language.predicates import Negated, PredicateForm
from langmem_tiers.language.questions import TimeSpan
from langmem_tiers.language.reader import Read
from langmem_tiers.language.turns import may_speak
from langmem_tiers.records import Said


class Language(Protocol):
    """The functions that read a text; all are pure, and find too little rather than guess."""

    def read(
        self,
        said: Sequence[Said],
        now: datetime,
        *,
        before: Sequence[Said] = (),
        speaks: Callable[[Said], bool] = may_speak,
    ) -> Read:
        """What the users' own turns say that is worth keeping: sentences about the user, and claims for the graph."""

    def words(self, text: str) -> list[str]:
        """The words of a text, casefolded, for the keyword index and its queries."""

    def meaningful_words(self, text: str) -> list[str]:
        """The words that say what a text is about."""

    def stem(self, word: str) -> str:
        """What the inflections of a word have in common."""

    def is_trivial(self, text: str, least: int = 3) -> bool:
        """Whether a message says too little to recall anything by."""

    def names(self, text: str) -> list[Name]:
        """The names in a text."""

    def tags(self, text: str, *, speaker: str | None, said_at: datetime) -> tuple[str, ...]:
        """The people, places, events, items and times of a message."""

    def times(self, text: str, spoken: date, side: Side | None = None) -> list[str]:
        """The days, months and years in a text."""

    def key_phrases(self, texts: Iterable[str], limit: int = 5) -> list[str]:
        """What texts are about, in their own words."""

    def statements(self, text: str) -> tuple[tuple[int, int], ...]:
        """Where the speaker of a message talks about themselves."""

    def asks_history(self, query: str) -> bool:
        """Whether a message asks what was done or said before."""

    def spans(self, text: str, asked: date) -> tuple[TimeSpan, ...]:
        """The periods that a query refers to."""

    def same_fact(self, a: str, b: str, similarity: float | None, *, least: float = 0.9) -> Verdict:
        """Whether two sentences say the same."""

    def difference(self, statement: str, parts: Sequence[str], *, by_user: bool) -> str | None:
        """Why sentences do not say what a statement says."""

    def slot(self, sentence: str) -> Slot | None:
        """The attribute with one value at a time that a sentence gives a value to."""

    def reading(self, text: str) -> PredicateForm:
        """The stored form of a predicate in any wording."""

    def negated(self, said: str) -> Negated | None:
        """What a predicate says is over, or not so."""


HOMES = {
    "reader": ("read",),
    "words": ("words", "meaningful_words", "stem", "is_trivial"),
    "names": ("names",),
    "tags": ("tags",),
    "dates": ("times",),
    "key_phrases": ("key_phrases",),
    "first_person": ("statements",),
    "questions": ("asks_history", "spans"),
    "paraphrase": ("same_fact", "difference"),
    "contradictions": ("slot",),
    "predicates": ("reading", "negated"),
}
"""The functions of each module of this package that a language consists of."""
