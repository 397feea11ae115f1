"""Whether a message is feedback on the reply before it, by all of its words: a linear classifier.

Its weights, in `data/feedback_weights.tsv`, were fitted by `benchmarks/feedback_training.py` on invented messages. What
the rules heard is one of its features. English; a message of which it knows few words is nothing to it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple, get_args

from langmem_tiers.language.objections import Reply, numbers
from langmem_tiers.language.sentences import straight
from langmem_tiers.language.words import stems
from langmem_tiers.types import SignalKind

KINDS: tuple[SignalKind, ...] = get_args(SignalKind)
_LOOKED_AT = 600  # characters of a message
_MOST_WORDS = 80
_LONGEST_RUN = 3  # words that are looked up together
_LEADING = 2  # words that are looked up together with what the reply was
_KNOWN = 0.5  # the least share of its words that the classifier must know
_OVERLAP, _LENGTH = 3, 5  # counts above these are alike
_WORDS_A_LENGTH = 6
_WORD = re.compile(
    r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:[.,:]\d+)*|[!?]+|\.{2,}|[.,:;\"]|[\u2600-\u27BF\U0001F300-\U0001FAFF]"
)
_CAPITALS = re.compile(r"\b[A-Z]{3,}\b")
_YOU = re.compile(r"\byour?\b", re.IGNORECASE)
_OF_REPLY = ("asks", "only_asks", "deed", "sorry")


class Likely(NamedTuple):
    """The kind of feedback that a message would be, and how probable it is that it is feedback at all (0 to 1)."""

    kind: SignalKind
    probability: float


def likely(text: str, reply: Reply, heard: str | None) -> Likely:
    """How likely it is that a message is feedback on a reply; `heard` is what the rules hear in it, in a word.

    Example:
        >>> reply = Reply.read("I have attached the report.")
        >>> likely("that's the wrong file again", reply, None).probability > 0.5
        True
        >>> likely("Thanks, see you on Monday", reply, None).probability < 0.5
        True
    """
    weights = _weights()
    words = [word for word in _words(straight(text[:_LOOKED_AT])) if word[0].isalpha()]
    if sum(word in weights for word in words) < _KNOWN * len(words):
        return Likely(KINDS[0], 1.0 if heard else 0.0)
    odds = [0.0] * len(KINDS)
    for feature in {"", *features(text, reply, heard)}:
        for place, weight in enumerate(weights.get(feature, ())):
            odds[place] += weight
    parts = [math.exp(min(each, 50.0)) for each in odds]
    best = max(range(len(KINDS)), key=parts.__getitem__)
    return Likely(KINDS[best], sum(parts) / (1 + sum(parts)))


def features(text: str, reply: Reply, heard: str | None) -> set[str]:
    """What the classifier looks at: runs of words, and signs of how the message stands to the reply."""
    said = straight(text[:_LOOKED_AT])
    words = _words(said)
    signs = [name for name in _OF_REPLY if getattr(reply, name)]
    leads = [f"{name} & {word}" for name in signs for word in words[:_LEADING]]
    signs.append(f"overlap {min(len(stems(said) & reply.stems), _OVERLAP)}")
    signs.append(f"length {min(len(words) // _WORDS_A_LENGTH, _LENGTH)}")
    own = numbers(said)
    shown = {
        "number": own,
        "other number": own and reply.numbers and not own <= reply.numbers,
        "capitals": _CAPITALS.search(said),
        "you": _YOU.search(said),
        f"heard {heard}": heard,
    }
    signs += [name for name, found in shown.items() if found]
    return {*_runs(words), *(f"#{sign}" for sign in (*signs, *leads))}


def _words(said: str) -> list[str]:
    found = _WORD.findall(said.casefold())[:_MOST_WORDS]
    return ["0" if word[0].isdigit() else word for word in found]


def _runs(words: list[str]) -> Iterator[str]:
    bounded = ["^", *words, "$"]
    for length in range(1, _LONGEST_RUN + 1):
        for first in range(len(bounded) - length + 1):
            yield " ".join(bounded[first : first + length])


@cache
def _weights() -> Mapping[str, tuple[float, ...]]:
    """By feature, how much it speaks for each kind against no feedback, as log odds; that of "" always counts."""
    lines = files(__package__).joinpath("data", "feedback_weights.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("%"))
    return {feature: tuple(int(each) / 100 for each in weights) for feature, *weights in rows}
