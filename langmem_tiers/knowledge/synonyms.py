"""English words and phrases that mean the same in a sentence about somebody; tables, and how they are looked up."""

from __future__ import annotations

import re
from functools import cache

from langmem_tiers.palace.words import word_set

_PHRASES = {
    "is fond of": "likes",
    "is a fan of": "likes",
    "is a big fan of": "likes",
    "is keen on": "likes",
    "is employed by": "works for",
    "is employed at": "works at",
    "is employed as": "works as",
    "has a job as": "works as",
    "has a job at": "works at",
    "earns a living as": "works as",
    "makes a living as": "works as",
    "whose name is": "named",
    "'s name is": " is named",
    "goes by the name of": "is named",
    "is allergic to": "has an allergy",
    "has an allergy to": "has an allergy",
    "is able to": "can",
    "can speak": "speaks",
    "has to": "must",
    "have to": "must",
    "is going to": "will",
    "would like": "wants",
    "no longer": "nolonger",
    "not any more": "nolonger",
    "not anymore": "nolonger",
    "used to": "formerly",
    "a dozen": "12",
    "per day": "daily",
    "every day": "daily",
    "each day": "daily",
    "a day": "daily",
    "per week": "weekly",
    "every week": "weekly",
    "each week": "weekly",
    "a week": "weekly",
    "per month": "monthly",
    "every month": "monthly",
    "each month": "monthly",
    "a month": "monthly",
    "per year": "yearly",
    "every year": "yearly",
    "each year": "yearly",
    "a year": "yearly",
    "at the moment": "",
    "these days": "",
    "right now": "",
    "as well": "",
}
# The first word of each line stands for all of them.
_CLASSES = """
    like enjoy
    love adore
    prefer favor
    dislike hate detest loathe
    live reside dwell
    name call named called
    job occupation profession
    use utilize
    begin start commence
    buy purchase
    child kid children
    mother mom mum
    father dad
    bicycle bike
    car automobile
    phone cellphone smartphone
    photo picture photograph
    film movie
    doctor physician
    apartment flat
    shop store
    company firm
    big large
    small little
    answer reply response
    brief short concise
    email e-mail
    speak talk
    vacation holiday
    daily everyday
    yearly annually
    lawyer attorney
    couch sofa
    trash garbage rubbish
    goal aim objective
    hobby pastime
    stay remain
    help assist
    need require
    allergy allergic
"""
_SPELLINGS = {
    "favourite": "favorite",
    "colour": "color",
    "grey": "gray",
    "neighbour": "neighbor",
    "theatre": "theater",
    "centre": "center",
    "programme": "program",
    "jewellery": "jewelry",
    "travelling": "traveling",
    "licence": "license",
    "flavour": "flavor",
    "favour": "favor",
    "behaviour": "behavior",
    "yoghurt": "yogurt",
    "doughnut": "donut",
    "metre": "meter",
    "litre": "liter",
    "tyre": "tire",
    "storey": "story",
    "cheque": "check",
}
_SMALL = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth"
NUMBERS = {word: str(value) for value, word in enumerate(_SMALL.split())}
NUMBERS |= {word: f"{tens}0" for tens, word in enumerate(_TENS.split(), 3)}
NUMBERS |= {word: f"#{value}" for value, word in enumerate(_ORDINALS.split(), 1)}
CONTRACTIONS: dict[str, tuple[str, ...]] = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("is", "not"),
    "no": ("not",),
    "each": ("every",),
}
_VERBS = "do does did is are was were has have had could should would might must need"
CONTRACTIONS |= {f"{verb}n't": (verb, "not") for verb in _VERBS.split()}
CLASSES = {word: line.split()[0] for line in _CLASSES.strip().splitlines() for word in line.split()}
# Capitalised at the start of a sentence without being names.
COMMON = word_set("user users") | frozenset(CLASSES)
_PHRASE = re.compile(
    r"(?<!\w)(?:" + "|".join(re.escape(each) for each in sorted(_PHRASES, key=len, reverse=True)) + r")(?!\w)",
    re.IGNORECASE,
)
_BRITISH = re.compile(r"([aeiouy][a-z]*[bcdfghklmnprt])is(e|es|ed|ing|er|ers|ation)$")
_NOT_BRITISH = word_set(
    "exercise promise practise advise advertise surprise otherwise enterprise precise rise wise raise"
)


def phrases(text: str) -> str:
    """A text with each phrase that means the same as a word or another phrase put as that."""
    return _PHRASE.sub(lambda found: _PHRASES[found.group().lower()], text)


@cache
def spelled(word: str) -> str:
    """A word in American spelling."""
    if word in _SPELLINGS:
        return _SPELLINGS[word]
    plural = word.removesuffix("s")
    if plural in _SPELLINGS:
        return f"{_SPELLINGS[plural]}s"
    known = any(word.startswith(each.removesuffix("e")) for each in _NOT_BRITISH)
    return word if known else _BRITISH.sub(r"\1iz\2", word)
