"""What a user sets against a reply without calling it wrong: another value, another place, a "not" about its words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from string import ascii_lowercase
from typing import Literal, NamedTuple

from langmem_tiers.language.sentences import straight
from langmem_tiers.language.word_lists import one_line, table
from langmem_tiers.language.words import stem, stems

_LOOKED_AT = 2000  # characters of a reply
_TOLD = 80  # characters of a reply that says something even if it ends in a question
_LONGEST = 14  # words of an objection
_BARE = 1  # words of one that only says the value
_CLAUSES = re.compile(r"[,;] (?:and |but |so )?| (?:and|but) ")
_MOST_CLAUSES = 4
_NUMBER = re.compile(r"\d+")
_DATA = table("feedback")
_PATTERNS = {name: re.compile(one_line(text)) for name, text in _DATA["context"].items()}
_VALUES = {
    kind: re.compile(rf"(?<![\w.:$€£-])(?:{one_line(words)})(?![\w:])", re.IGNORECASE)
    for kind, words in _DATA["values"].items()
}


Frames = Mapping[tuple[str, str], set[str]]
"""What a word and its preposition lead to, as in "born in Paris"."""


class Reply(NamedTuple):
    """What the assistant said last, as far as words about it are understood by it.

    `asks` if it asked something or invited the user to tell something, `only_asks` if it said nothing else; `deed` if
    it had done something or handed it over, `sorry` if it apologised.
    """

    stems: set[str]
    values: Mapping[str, set[str]]
    frames: Frames
    numbers: set[str]
    asks: bool
    only_asks: bool
    deed: bool
    sorry: bool

    @classmethod
    def read(cls, text: str) -> Reply:
        """The reply with this text."""
        shown = straight(text[:_LOOKED_AT]).strip()
        asks = text.rstrip().endswith("?") or says(shown, "invites")
        return cls(
            stems=stems(shown),
            values=_values(shown),
            frames=_frames(shown),
            numbers=numbers(shown),
            asks=asks,
            only_asks=asks and len(shown) < _TOLD,
            deed=says(shown, "deed"),
            sorry=says(shown, "sorry"),
        )


def numbers(text: str) -> set[str]:
    """The numbers in a text, as they are written."""
    return set(_NUMBER.findall(text))


def says(text: str, what: str) -> bool:
    """Whether a text has what a pattern of `[context]` in `feedback.toml` describes."""
    return _PATTERNS[what].search(text) is not None


def objection(sentence: str, reply: Reply) -> Literal["correction", "wrong"] | None:
    """Whether a statement sets the reply right, or denies it; None if it does neither.

    Example:
        >>> objection("The party is on Sunday.", Reply.read("I have put the party on Saturday."))
        'correction'
    """
    if reply.asks or says(sentence, "goes_further"):
        return None
    found = (_objects(clause, reply) for clause in (sentence, *_CLAUSES.split(sentence, _MOST_CLAUSES)))
    return next((kind for kind in found if kind), None)


def _objects(sentence: str, reply: Reply) -> Literal["correction", "wrong"] | None:
    if len(sentence.split()) > _LONGEST:
        return None
    if _places_elsewhere(sentence, reply) or _is_something_else(sentence, reply):
        return "correction"
    shared = not stems(sentence).isdisjoint(reply.stems)
    bare = len(sentence.split()) <= _BARE or says(sentence, "measures")
    if (shared or bare or says(sentence, "points_back")) and _has_other_value(sentence, reply):
        return "correction"
    if shared and says(sentence, "denies"):
        return "correction" if _PATTERNS["says_right"].search(sentence, 1) else "wrong"
    return None


def _places_elsewhere(sentence: str, reply: Reply) -> bool:
    """Whether it says "born in Corsica" where the reply says "born in Paris"."""
    said = _frames(sentence)
    return any(reply.frames[each].isdisjoint(said[each]) for each in said.keys() & reply.frames.keys())


def _is_something_else(sentence: str, reply: Reply) -> bool:
    """Whether it says "Milo is a dog" where the reply says "your cat Milo"."""
    found = _PATTERNS["is_a"].match(sentence) or (_PATTERNS["is_only"].match(sentence) if reply.deed else None)
    if found is None or not stems(found["what"]).isdisjoint(reply.stems):
        return False
    name = found.groupdict().get("name")
    return name is None or not stems(name).isdisjoint(reply.stems)


def _has_other_value(sentence: str, reply: Reply) -> bool:
    said = _values(sentence)
    return any(said[kind] - reply.values[kind] for kind in said.keys() & reply.values.keys())


def _frames(text: str) -> Frames:
    found: dict[tuple[str, str], set[str]] = {}
    for match in chain(_PATTERNS["frame"].finditer(text), _PATTERNS["equals"].finditer(text)):
        if stems(match["word"]) and (leads_to := stems(match["object"])):
            found.setdefault((stem(match["word"].lower()), match["preposition"].lower()), set()).update(leads_to)
    return found


def _values(text: str) -> Mapping[str, set[str]]:
    """Numbers, weekdays and other values, by their kind."""
    found = {kind: {_without_unit(each.lower()) for each in pattern.findall(text)} for kind, pattern in _VALUES.items()}
    return {kind: values for kind, values in found.items() if values}


def _without_unit(value: str) -> str:
    return value.rstrip(ascii_lowercase) if value[0].isdigit() else value
