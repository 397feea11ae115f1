"""What users ask of the assistant in a turn, in a form in which two wishes can be the same one. Pure.

"Stop using emojis", "don't use any emojis" and "I told you not to use emojis" are one wish. English; a wish that can be
understood only where it was said ("use this instead") is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from langmem_tiers.palace.words import meaningful_words, stem, word_set
from langmem_tiers.writing.extractive import sifting
from langmem_tiers.writing.extractive.prose import sentences, straight

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
# What tells the assistant how to go about its work, whatever the work is.
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
# What is asked for here and now is no wish for later.
_FOR_NOW = re.compile(
    r"\b(?:this|that|these|those|it|its|them|they|here|there|now|today|tonight|tomorrow|him|her|he|she|one|ones|above"
    r"|below|following|first|second|third|last|next|previous|same|other|another|so far|yet|me (?:an?|the|some|more|\d)"
    r"|for (?:me|us)|an? (?:list|table|poem|story|email|letter|essay|example|sentence|joke|recipe|plan|summary))\b",
    re.IGNORECASE,
)
_NO_VERBS = word_set("worry forget know think mind get be have let need want care feel tell see understand")
_QUANTIFIERS = re.compile(r"^(?:any|so many|so much|too many|too much|all the|all those|those|such) ", re.IGNORECASE)
_ANSWERS = r"(?:answers?|repl(?:y|ies)|responses?|explanations?|messages?)"


class Wish(NamedTuple):
    """Something asked of the assistant: `key` is the same for all ways to say it, `against` that of the opposite.

    `content` says it as a sentence about the user, `quote` in the words that were said.
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


def _style(key: str, against: str, content: str, *patterns: str) -> _Style:
    return _Style(key, against, content, re.compile("|".join(patterns), re.IGNORECASE))


# How answers are to be: wishes that are said in many ways.
_STYLES = (
    _style(
        "short",
        "long",
        "The user prefers short answers.",
        rf"\b(?:short|brief|concise|shorter|briefer)(?:er)? {_ANSWERS}\b",
        rf"\b{_ANSWERS} (?:is|are|was|were) (?:still )?(?:way |far |much )?too (?:long|wordy|verbose)\b",
        rf"\b(?:keep|make) (?:your {_ANSWERS}|{_ANSWERS}) (?:short|brief|concise|shorter)\b",
        r"^(?:please |pls )?(?:be|keep it|make it) (?:more )?(?:brief|briefer|short|shorter|concise)\b",
        r"^(?:(?:again|still|that's|this is|it's|way|far|much)[, ]+)*too (?:long|wordy|verbose)\b|\btl;?dr\b"
        r"|\bget to the point\b|\b(?:be )?less (?:verbose|wordy)\b|^(?:please )?shorter(?:,? please)?[.!]*$",
    ),
    _style(
        "long",
        "short",
        "The user prefers detailed answers.",
        rf"\b(?:more detailed|longer|detailed|thorough) {_ANSWERS}\b",
        rf"\b{_ANSWERS} (?:is|are) (?:still )?too (?:short|brief|vague|shallow)\b",
        r"^(?:please |pls )?(?:be|go|explain it|explain) "
        r"(?:more detailed|into (?:more )?detail|in (?:more |greater )?detail)\b",
        r"^(?:more|in more) details?(?:,? please)?[.!]*$",
    ),
    _style(
        "plain",
        "",
        "The user prefers plain words without jargon.",
        r"\b(?:in|use) (?:plain|simple|simpler|easier) (?:english|words|terms|language)\b",
        r"\b(?:no|less|without|stop the) jargon\b",
    ),
    _style(
        "bullets",
        "not:bullet point use",
        "The user prefers bullet points.",
        r"\b(?:as|in|with|use) bullet ?points\b|\bbullet ?points,? please\b",
    ),
    _style(
        "code",
        "",
        "The user prefers code without explanations.",
        r"\b(?:just|only) (?:give me |show me |send |show )?the code\b|\bcode only\b",
        r"\b(?:no|without|skip the) explanations?\b",
    ),
)
# What is named alone, in words that need no verb: "no emojis".
_NONE_OF = re.compile(
    rf"{_OPENING}(?:no(?: more)?|enough with the|without(?: any)?) "
    r"(?P<object>(?!problem|worries|way|idea|need|thanks|one|doubt)[a-z]+(?: (?!please|again|any)[a-z]+)?)"
    r"(?:,? (?:please|from now on|any ?more|again))*[.!]*$",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(
    rf"{_OPENING}{_COULD}?(?:(?:{_TOLD} to )?(?:answer|reply|respond|write|speak)(?: (?:to )?me)? )?in (?P<language>"
    r"English|German|French|Spanish|Portuguese|Italian|Dutch|Polish|Russian|Turkish|Japanese|Chinese|Korean|Arabic"
    r"|Hindi)\b(?:,? (?:please|from now on|always|again))*[.!?]*$",
    re.IGNORECASE,
)
_SPOKEN_TO = (
    (re.compile(r"\bmy\b"), "the user's"),
    (re.compile(r"\b(?:me|I)\b"), "the user"),
    (re.compile(r"\byour\b"), "its"),
)


def wishes(text: str) -> list[Wish]:
    """What a turn of the user asks of the assistant, each wish once, in order.

    Example:
        >>> [wish.content for wish in wishes("Nice. But please stop using emojis!")]
        ['The user does not want the assistant to use emojis.']
    """
    shown = text[:_LOOKED_AT]
    if sifting.jokes_throughout(shown):
        return []
    found: dict[str, Wish] = {}
    for sentence in sentences(shown):
        for wish in _of_sentence(straight(sentence.text)):
            found.setdefault(wish.key, wish)
    return list(found.values())


def base(gerund: str) -> str:
    """The verb of a form in -ing.

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
    if not _is_meant(sentence):
        return
    styles = [style for style in _STYLES if style.pattern.search(sentence)]
    if styles:
        yield from (Wish(style.key, style.against, style.content, sentence) for style in styles)
        return
    asks = sifting.is_question(sentence) and _ASKED_FOR.match(sentence) is None
    found = None if asks else _language(sentence) or _not_wanted(sentence) or _wanted(sentence)
    yield from () if found is None else (found,)


def _is_meant(sentence: str) -> bool:
    return len(sentence) <= 2 * _LONGEST and not sifting.is_joking(sentence) and not sifting.is_unreal(sentence)


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
    if len(named.split()) > _MOST_WORDS or _FOR_NOW.search(named) or sifting.is_broken_off(named):
        return None
    key, against = " ".join(told), "not" if kind == "do" else "do"
    return Wish(f"{kind}:{key}", f"{against}:{key}", _sentence(kind, verb, named), sentence)


def _sentence(kind: str, verb: str, named: str) -> str:
    for pattern, instead in _SPOKEN_TO:
        named = pattern.sub(instead, named)
    wants = "wants" if kind == "do" else "does not want"
    return f"The user {wants} the assistant to {verb} {named}".rstrip() + "."
