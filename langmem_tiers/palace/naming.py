"""What a model calls the topics and the subject of some turns, as names of closets and of a wing. Pure.

Names given by rules stay where they say something; a model's name is taken where words of the turns bear it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langmem_tiers.palace.names import PRODUCTS
from langmem_tiers.palace.slugs import UNNAMED, slug_words, slugify
from langmem_tiers.palace.wings import GENERAL
from langmem_tiers.palace.words import STOPWORDS, meaningful_words, stem

_LONGEST = 40
_MOST_WORDS = 4
_LEAST_LETTERS = 3
_SAYS_NOTHING = STOPWORDS | PRODUCTS | {UNNAMED, GENERAL, "user", "conversation", "chat", "untitled", "misc", "other"}


def is_weak(name: str) -> bool:
    """Whether the name that a rule gave a closet says little: one word, or none."""
    return len(slug_words(name)) < 2


def topics_of(texts: Mapping[int, str], topics: Sequence[str]) -> dict[int, str]:
    """A topic for each closet whose turns bear one out: the one whose words they have most of, each topic first once.

    Args:
        texts: What was said in each closet, by its number.
        topics: What the model calls the topics of all of them, in order.

    Example:
        >>> topics_of({1: "The eFoil needs a battery.", 2: "Anna moved to Porto."}, ["Anna in Porto", "eFoil battery"])
        {1: 'eFoil battery', 2: 'Anna in Porto'}
    """
    named = [shown for topic in topics if (shown := _fit(topic))]
    found: dict[int, str] = {}
    for closet, text in texts.items():
        said = _stems(text)
        shares = [
            (_share(topic, said), topic not in found.values(), -place, topic) for place, topic in enumerate(named)
        ]
        best = max(shares, default=None)
        if best is not None and best[0] > 0:
            found[closet] = best[3]
    return found


def subject_of(text: str, subject: str) -> str | None:
    """The subject that a model names, where all its words were said; None for one that is none."""
    shown = _fit(subject)
    return shown if shown and _share(shown, _stems(text)) == 1 else None


def _fit(name: str) -> str | None:
    """A name as it is shown, None for one that says nothing or too much."""
    shown = " ".join(name.split())
    words = slug_words(shown)
    telling = [word for word in words if word not in _SAYS_NOTHING]
    long = len(shown) > _LONGEST or len(words) > _MOST_WORDS
    if long or not telling or len(slugify(shown)) < _LEAST_LETTERS:
        return None
    return shown if any(map(str.isupper, shown)) else shown[:1].upper() + shown[1:]


def _share(name: str, said: frozenset[str]) -> float:
    wanted = _stems(name)
    return len(wanted & said) / len(wanted) if wanted else 0.0


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in meaningful_words(text))
