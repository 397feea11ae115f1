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
from langmem_tiers.language.word_lists import named_pattern, table, word_set
from langmem_tiers.language.words import meaningful_words, stem

_LOOKED_AT = 2000
_LONGEST = 80
_MOST_WORDS = 9
_OPENING = (
    r"^(?:(?:no|nope|ugh|argh|hey|oh|ok(?:ay)?|come on|seriously|sorry|but|and|again|well|also|please|pls|always|just"
    r"|from now on|in (?:the )?future|once again|next time|I (?:already |just )?said)\b[,.!:;-]* *)*"
)
_TOLD = r"(?:I (?:(?:have|already|just|explicitly|clearly) )*(?:told|asked) you|(?:I|I'd) (?:want|like|need) you)"
_COULD = r"(?:(?:can|could|would|will) you (?:please |just |always |finally )*)"
_WHAT = r"(?P<object>[^.?!;:,()\"“”]{2,80}?)"
_END = (
    r"(?:,? (?:again|any ?more|please|instead|already|ever|from now on|in (?:the )?future|for once|next time|every time"
    r"|all the time))*(?=[.?!;:,()\"“”]|$| (?:because|since|when|if|instead of|rather than|and|but)\b)"
)
_GERUND = r"(?P<gerund>[a-z]{2,12}ing)"
_VERB = r"(?P<verb>[a-z]{2,12})"
# How the assistant should go about its work, whatever the work is.
_MANNER = (
    r"(?P<verb>use|write(?= (?:in|with|without|as|like|everything)\b)|answer|reply|respond|speak|format|cite|quote"
    r"|round|include|address)"
)
_NOT = (
    re.compile(rf"{_OPENING}{_COULD}?(?:stop|quit|avoid) {_GERUND}(?: {_WHAT})??{_END}", re.IGNORECASE),
    re.compile(rf"{_OPENING}(?:don't|do not|never) (?:ever )?{_VERB} {_WHAT}{_END}", re.IGNORECASE),
    re.compile(rf"{_OPENING}{_TOLD} (?:not to|never to|to never) {_VERB} {_WHAT}{_END}", re.IGNORECASE),
    re.compile(rf"{_OPENING}{_TOLD} to (?:stop|quit|avoid) {_GERUND}(?: {_WHAT})??{_END}", re.IGNORECASE),
)
_WANTED = (
    re.compile(rf"{_OPENING}{_COULD}?{_MANNER} {_WHAT}{_END}", re.IGNORECASE),
    re.compile(rf"{_OPENING}{_TOLD} to (?:always )?{_MANNER} {_WHAT}{_END}", re.IGNORECASE),
)
_ASKED_FOR = re.compile(rf"{_OPENING}{_COULD}", re.IGNORECASE)
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
    whole = (re.sub(r"@(\w+)@", lambda name: FRAGMENTS[name[1]], each) for each in patterns)
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


_WITH_E = word_set(
    """
    writ mak tak includ chang delet com quot shar stor typ describ assum translat cit schedul merg rewrit overwrit renam
    rout replac ignor hid rat not invit compar prepar pronounc guid provid decid divid overrid combin defin compil
    examin outlin declin updat hallucinat rephras paraphras
    """
)
_MUTE_E = re.compile(r"(?:[cuvz]|[aiou]s|[nr]s|[^eo]at|[^s]is)$(?<!focus)(?<!format)(?<!chat)")
_DOUBLED = re.compile(r"([bgmnprt])\1$")


def _of_sentence(sentence: str) -> Iterator[Wish]:
    if not _is_serious(sentence):
        return
    styles = [style for style in _STYLES if style.pattern.search(sentence)]
    if styles:
        yield from (Wish(style.key, style.against, style.content, sentence) for style in styles)
        return
    asks = speech_acts.is_question(sentence) and _ASKED_FOR.match(sentence) is None
    found = None if asks else _language(sentence) or _not_wanted(sentence) or _wanted(sentence)
    yield from () if found is None else (found,)


def _is_serious(sentence: str) -> bool:
    return len(sentence) <= 2 * _LONGEST and not speech_acts.is_joking(sentence) and not speech_acts.is_unreal(sentence)


def _language(sentence: str) -> Wish | None:
    found = _LANGUAGE.match(sentence)
    if found is None:
        return None
    language = found["language"].capitalize()
    return Wish(f"language:{language}", "", f"The user wants answers in {language}.", sentence)


def _not_wanted(sentence: str) -> Wish | None:
    found = next((match for pattern in _NOT if (match := pattern.match(sentence))), None)
    if found is None:
        none_of = _NONE_OF.match(sentence)
        return None if none_of is None else _wish("not", "use", none_of["object"], sentence)
    said = found.groupdict()
    verb = base(said["gerund"]) if said.get("gerund") else said["verb"].lower()
    return _wish("not", verb, said["object"] or "", sentence)


def _wanted(sentence: str) -> Wish | None:
    found = next((match for pattern in _WANTED if (match := pattern.match(sentence))), None)
    return None if found is None else _wish("do", found["verb"].lower(), found["object"], sentence)


def _wish(kind: str, verb: str, what: str, sentence: str) -> Wish | None:
    named = _QUANTIFIERS.sub("", " ".join(what.split()))
    told = sorted({stem(word) for word in meaningful_words(f"{verb} {named}")})
    if verb in _NO_VERBS or len(told) < (2 if named else 1):
        return None
    if len(named.split()) > _MOST_WORDS or _FOR_NOW.search(named) or speech_acts.is_broken_off(named):
        return None
    key, against = " ".join(told), "not" if kind == "do" else "do"
    return Wish(f"{kind}:{key}", f"{against}:{key}", _sentence(kind, verb, named), sentence)


def _sentence(kind: str, verb: str, named: str) -> str:
    for pattern, instead in _SPOKEN_TO:
        named = pattern.sub(instead, named)
    wants = "wants" if kind == "do" else "does not want"
    return f"The user {wants} the assistant to {verb} {named}".rstrip() + "."
