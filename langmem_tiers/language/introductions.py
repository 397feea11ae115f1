"""Introductions, in full: "Hi, I'm Marta, I'm a nurse", "I have a son, Leo", "I'm 34, live in Graz and paint".

But "I'm Dutch, I'm a nurse" gives no name.
"""

from __future__ import annotations

import re

from langmem_tiers.language import kinship
from langmem_tiers.language.names import CALENDAR, LANGUAGES, NOT_NAMES, PRODUCTS
from langmem_tiers.language.sentences import straight
from langmem_tiers.language.word_lists import listed, named_pattern, table

_INTRODUCED = named_pattern("introductions", "introduced")
_GREETING = named_pattern("introductions", "greeting")
_JOBS = {name: table("vocabulary")[name] for name in ("jobs", "kinds_of_job")}
_GOES_ON = named_pattern("introductions", "goes_on", **_JOBS)
_OF_JOB = named_pattern("introductions", "of_job", **_JOBS)
_OF_THEIRS = named_pattern("introductions", "of_theirs", kin=kinship.WORDS, pets=table("vocabulary")["pets"])
_BELONGING = named_pattern("introductions", "belonging")
_NO_NAMES = CALENDAR | LANGUAGES | NOT_NAMES | PRODUCTS
_BELONGINGS = listed("names", "belongings")
_LONGEST = 300
# "I'm 34 | and live in Graz": verbs that go on about who speaks, and what keeps them from doing so.
_OF_SPEAKER = re.compile(r"(?:I'm|I am|I have|I've got|I live|I work|I moved|I got|My name is)\b")
_ALSO = named_pattern("introductions", "also")
_OF_OTHERS = named_pattern("introductions", "of_others", kin=kinship.WORDS)
# "My name is Ana | , 29 | , from Porto"
_DETAIL = re.compile(r",? (?=from [A-Z][\w-]*(?:[,.!]| and\b|$))|, (?=\d{1,2}(?:,? and\b|, (?!\d)|[.!]|$| years old))")


def introduced(sentence: str, before: str = "") -> str:
    """A sentence with which somebody introduces themselves or one of theirs: with what is a name, and each "I".

    Empty for any other sentence.

    A single capitalised word after "I'm" may be a nationality, a belief or a team. It is a name where a greeting comes
    before it, at the end of the sentence `before` it too, or where the sentence goes on about the speaker.

    Example:
        >>> introduced("Hi, I'm Marta, I'm a nurse.")
        "My name is Marta, I'm a nurse."
        >>> introduced("I'm Dutch, I'm a nurse."), introduced("I'm Marta's brother.")
        ('', '')
        >>> introduced("We have a son, Leo, who plays chess.")
        'We have a son named Leo who plays chess.'
        >>> introduced("I'm 34, live in Graz and work as a chemist.")
        "I'm 34, I live in Graz and I work as a chemist."
    """
    if len(sentence) > _LONGEST:
        return ""
    plain = straight(sentence)
    named = _of_themselves(plain, straight(before)) or plain
    full = _with_each_subject(_OF_THEIRS.sub(_of_theirs, named))
    return "" if full == plain else full


def _with_each_subject(sentence: str) -> str:
    """A sentence about the speaker with the "I" that it leaves out before its further verbs."""
    if not _OF_SPEAKER.match(sentence):
        return sentence
    full, place = "", 0
    for joint in _ALSO.finditer(sentence):
        if _OF_OTHERS.search(sentence, place, joint.start()):
            break
        full += f"{sentence[place : joint.end()]}I "
        place = joint.end()
    return full + sentence[place:]


def _of_themselves(sentence: str, before: str) -> str:
    said = _INTRODUCED.match(sentence)
    if said is None or not all(map(_may_name, said["name"].split())):
        return ""
    rest = said["rest"]
    greeted = said["greeting"] or _GREETING.fullmatch(before.strip(" .!"))
    if not (greeted or _GOES_ON.match(rest)):
        return ""
    with_verb = _DETAIL.sub(", I am ", re.sub(r"^, (?=an? [a-z])", ", I am ", rest))
    return f"My name is {said['name']}{_OF_JOB.sub(_with_article, with_verb)}"


def _with_article(before: re.Match[str]) -> str:
    return f", I am {'an' if before.string[before.end()] in 'aeiou' else 'a'} "


def _of_theirs(said: re.Match[str]) -> str:
    return f"{said['whose']} named {said['name']}" if said["name"].casefold() not in _NO_NAMES else said[0]


def _may_name(word: str) -> bool:
    plain = word.casefold()
    return plain not in _NO_NAMES | _BELONGINGS and not word.isupper() and _BELONGING.search(word) is None
