"""What users ask of the assistant in a turn, in a form that makes equal wishes comparable. Pure.

"Stop using emojis", "don't use any emojis" and "I told you not to use emojis" are one wish. English only; a wish that
makes sense only in context ("use this instead") is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from langmem_tiers.language import speech_acts
from langmem_tiers.language.sentences import sentences, straight
from langmem_tiers.language.word_lists import listed, named_pattern, named_patterns, table, word_set, written_out
from langmem_tiers.language.words import stems

_LOOKED_AT = 2000
_LONGEST = 80
_MOST_WORDS = 9
_NOT = named_patterns("wishes", "not")
_WANTED = named_patterns("wishes", "wanted")
_ASKED_FOR = named_pattern("wishes", "asked_for")
# A request for right now is not a wish for later.
_FOR_NOW = named_pattern("wishes", "for_now")
_NO_VERBS = word_set("worry forget know think mind get be have let need want care feel tell see understand")
_QUANTIFIERS = re.compile(r"^(?:any|so many|so much|too many|too much|all the|all those|those|such) ", re.IGNORECASE)


class Wish(NamedTuple):
    """A wish to the assistant: `key` is the same for all wordings, `against` is the key of the opposite.

    `content` is a sentence about the user, `quote` the words that were said.
    """

    key: str
    against: str
    content: str
    quote: str


class _Style(NamedTuple):
    key: str
    against: str
    content: str
    pattern: re.Pattern[str]


FRAGMENTS: Mapping[str, str] = {name: "".join(parts) for name, parts in table("feedback")["fragments"].items()}
"""What the patterns of `feedback.toml` have in common."""


def read_pattern(patterns: Iterable[str]) -> re.Pattern[str]:
    """A compiled pattern that matches any of these patterns of `feedback.toml`, with its fragments expanded."""
    whole = (written_out(each, FRAGMENTS) for each in patterns)
    return re.compile("|".join(whole), re.IGNORECASE)


# How answers should be: wishes with many wordings.
_STYLES = tuple(
    _Style(each["key"], each["against"], each["content"], read_pattern(each["patterns"]))
    for each in table("feedback")["styles"]
)
# Wishes without a verb: "no emojis".
_NONE_OF = named_pattern("wishes", "none_of")
_LANGUAGE = named_pattern("wishes", "language")
_SPOKEN_TO = (
    (re.compile(r"\bmy\b"), "the user's"),
    (re.compile(r"\b(?:me|I)\b"), "the user"),
    (re.compile(r"\byour\b"), "its"),
)


def wishes(text: str) -> list[Wish]:
    """What a user's turn asks of the assistant, each wish once, in order.

    Example:
        >>> [wish.content for wish in wishes("Nice. But please stop using emojis!")]
        ['The user does not want the assistant to use emojis.']
    """
    shown = text[:_LOOKED_AT]
    if speech_acts.jokes_throughout(shown):
        return []
    found: dict[str, Wish] = {}
    for sentence in sentences(shown):
        for wish in _of_sentence(straight(sentence.text)):
            found.setdefault(wish.key, wish)
    return list(found.values())


def base(gerund: str) -> str:
    """The base form of a verb in -ing.

    Example:
        >>> [base(word) for word in ("using", "sending", "putting", "calling", "generating", "repeating")]
        ['use', 'send', 'put', 'call', 'generate', 'repeat']
    """
    bare = gerund.lower().removesuffix("ing")
    if bare in _WITH_E or _MUTE_E.search(bare):
        return f"{bare}e"
    return bare[:-1] if _DOUBLED.search(bare) else bare


_WITH_E = listed("verbs", "with_e")
_MUTE_E = re.compile(r"(?:[cuvz]|[aiou]s|[nr]s|[^eo]at|[^s]is)$(?<!focus)(?<!format)(?<!chat)")
_DOUBLED = re.compile(r"([bgmnprt])\1$")


def _of_sentence(sentence: str) -> Iterator[Wish]:
    if len(sentence) > 2 * _LONGEST or speech_acts.is_joking(sentence) or speech_acts.is_unreal(sentence):
        return
    styles = [style for style in _STYLES if style.pattern.search(sentence)]
    yield from (Wish(style.key, style.against, style.content, sentence) for style in styles)
    if styles or (speech_acts.is_question(sentence) and _ASKED_FOR.match(sentence) is None):
        return
    if language := _LANGUAGE.match(sentence):
        named = language["language"].capitalize()
        yield Wish(f"language:{named}", "", f"The user wants answers in {named}.", sentence)
    elif found := _not_wanted(sentence) or _wanted(sentence):
        yield found


def _not_wanted(sentence: str) -> Wish | None:
    found = _first_match(_NOT, sentence)
    if found is None:
        none_of = _NONE_OF.match(sentence)
        return None if none_of is None else _wish("not", "use", none_of["object"], sentence)
    said = found.groupdict()
    verb = base(said["gerund"]) if said.get("gerund") else said["verb"].lower()
    return _wish("not", verb, said["object"] or "", sentence)


def _wanted(sentence: str) -> Wish | None:
    found = _first_match(_WANTED, sentence)
    return None if found is None else _wish("do", found["verb"].lower(), found["object"], sentence)


def _first_match(patterns: Iterable[re.Pattern[str]], sentence: str) -> re.Match[str] | None:
    return next((match for pattern in patterns if (match := pattern.match(sentence))), None)


def _wish(kind: str, verb: str, what: str, sentence: str) -> Wish | None:
    named = _QUANTIFIERS.sub("", " ".join(what.split()))
    told = sorted(stems(f"{verb} {named}"))
    if verb in _NO_VERBS or len(told) < (2 if named else 1):
        return None
    if len(named.split()) > _MOST_WORDS or _FOR_NOW.search(named) or speech_acts.is_broken_off(named):
        return None
    key, against = " ".join(told), "not" if kind == "do" else "do"
    for pattern, instead in _SPOKEN_TO:
        named = pattern.sub(instead, named)
    wants = "wants" if kind == "do" else "does not want"
    content = f"The user {wants} the assistant to {verb} {named}".rstrip() + "."
    return Wish(f"{kind}:{key}", f"{against}:{key}", content, sentence)
