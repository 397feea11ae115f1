"""Key topics: the names and phrases that texts are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from langmem_tiers.palace.names import addressed, names
from langmem_tiers.palace.phrases import key_phrases
from langmem_tiers.palace.slugs import subject_key
from langmem_tiers.writing.extractive.prose import is_latin, sentences

_LEAST_TEXTS = 2  # in how many texts a name stands that is a topic before the phrases
_SHARE_OF_NAMES = 2  # at most one in so many topics is a name


def key_topics(texts: Sequence[str], most: int) -> tuple[str, ...]:
    """At most so many names and key phrases, as they are written, best first; none from code, logs and other scripts.

    Example:
        >>> key_topics(["We fly to Lisbon in May.", "Lisbon has good battery shops."], 2)
        ('Lisbon', 'battery shops')
    """
    prose = [shown for text in texts if is_latin(text) and (shown := _prose(text))]
    named = _names(prose)[: max(1, most // _SHARE_OF_NAMES)]
    found: dict[str, str] = {}
    for topic in (*named, *key_phrases(prose, limit=2 * most)):
        if not _is_known(subject_key(topic), found):
            found[subject_key(topic)] = topic
    return tuple(found.values())[:most]


def _prose(text: str) -> str:
    return " ".join(sentence.text for sentence in sentences(text))


def _names(texts: Sequence[str]) -> list[str]:
    """The names that several texts speak of, but not those whom they speak to."""
    spoken_to = frozenset[str]().union(*(addressed(text) for text in texts))
    counted = Counter(name for text in texts for name in {each.text for each in names(text)})
    return [
        name
        for name, count in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
        if count >= _LEAST_TEXTS and name.casefold() not in spoken_to and name.isascii()
    ]


def _is_known(key: str, found: dict[str, str]) -> bool:
    """Whether a topic repeats one there is, or words of it."""
    parts = set(key.split("-"))
    return any(parts & set(known.split("-")) for known in found)
