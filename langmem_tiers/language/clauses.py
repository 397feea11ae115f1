"""Clauses of a sentence, without interjections, calls and reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from langmem_tiers.language import speech_acts
from langmem_tiers.language.names import CALENDAR, FIRST_NAMES
from langmem_tiers.language.verbs import BARE, is_past, third_person
from langmem_tiers.language.word_lists import named_pattern, one_line, table
from langmem_tiers.language.words import PLEASANTRIES

_OPENER = named_pattern("clauses", "opener")
_CALL = re.compile(r"(?:(?P<word>[A-Za-z]+) )?(?P<name>[A-Z][a-z]+)(?:,|!)\s*(?=\S)")
_TIME = one_line(table("patterns")["clauses"]["time"])
OPENING_TIME = rf"(?:{_TIME}(?: [\w']+){{0,4}}?,? )?"
_ONLY_A_TIME = re.compile(rf"{_TIME}(?: (?!(?:I|we|my|our|was|were|is|has)\b)[\w']+){{0,4}}")
_SPLIT = named_pattern("clauses", "split")
_JOINER = named_pattern("clauses", "joiner")
_TAIL = named_pattern("clauses", "tail")
_TAIL_CALL = re.compile(r", ([A-Z][a-z]+)$")
_BEFORE_PLACE = re.compile(r"(?:[A-Z][a-z]+|\b(?:town|city|country|village|island))$")
_AND_SPEAKER = named_pattern("clauses", "and_speaker")
# "My wife and I", but not "We play chess and I paint".
_PEOPLE = re.compile(
    r"\W*(?!(?:We|They|She|He|It|You|There|Th(?:is|at|ese|ose)) )(?:[Mm]y|[Oo]ur|[A-Z]\w+)(?: [\w-]+){0,3}"
)
_THIRD = frozenset(map(third_person, BARE))
# A clause that stands on its own is no list of people: "my name is Bob | and I live in Ulm".
_SAYS = re.compile(r"(?:\b(?:is|are|was|were|has|had|isn't|wasn't)|'s) ")
_LONGEST = 240
_LONGEST_SENTENCE = 1000  # characters; a longer one is no sentence
_ELIDED = named_pattern("clauses", "elided")


def clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """The clauses that may speak for the speaker, each with the words before it in the sentence."""
    if len(sentence) > _LONGEST_SENTENCE:
        return
    for start, stop in _parts(sentence):
        before = sentence[:start]
        if speech_acts.is_reported(before):
            return
        clause = trimmed(sentence[start:stop])
        if clause and len(clause) <= _LONGEST:
            yield clause, before


def with_subject(clause: str) -> str:
    """The clause with its omitted "I" restored, as in "Just got back from Oslo yesterday"."""
    return f"I {clause[0].lower()}{clause[1:]}" if _ELIDED.match(clause) else clause


def trimmed(clause: str) -> str:
    """The clause without its opening ("By the way, Anna,") and its closing ("you know!")."""
    shown = _without_calls(" ".join(clause.split()))
    shown = _JOINER.sub("", shown)
    shown = re.sub(r"[^\w\"')%€$£°+”’]+$", "", shown)
    shown = _TAIL.sub("", shown)
    called = _TAIL_CALL.search(shown)
    if called and not _is_place(called[1], shown[: called.start()]) and called[1].casefold() not in CALENDAR:
        shown = shown[: called.start()]
    return shown.strip()


def _is_place(name: str, before: str) -> bool:
    """Whether a name after a comma continues an address or a list: "in Paris, France", "in my home town, Ulm"."""
    return name.casefold() not in FIRST_NAMES and _BEFORE_PLACE.search(before) is not None


def _parts(sentence: str) -> Iterator[tuple[int, int]]:
    """The spans between the joints; "my wife and I" is not split."""
    start = 0
    for joint in _SPLIT.finditer(sentence):
        if _goes_on(sentence[start : joint.start()], sentence[joint.end() :]):
            continue
        yield start, joint.start()
        start = joint.end()
    yield start, len(sentence)


def _goes_on(before: str, after: str) -> bool:
    """Whether the joint lies within one clause: "my wife | and I went", "last Friday, | I went"."""
    if _AND_SPEAKER.match(after):
        last = before.rpartition(", ")[2]
        return _PEOPLE.fullmatch(last) is not None and not _SAYS.search(last) and not _has_verb(last.split())
    return _ONLY_A_TIME.fullmatch(trimmed(before)) is not None


def _has_verb(said: Sequence[str]) -> bool:
    """Whether what begins with a person tells something of them: "My dog died", but not "my lost dog"."""
    first = 2 if said[0].casefold() in {"my", "our"} else 1
    for place, word in enumerate(said[first:], first):
        goes_on = place < len(said) - 1
        if word.islower() and not said[place - 1].endswith("ly") and (is_past(word) or (goes_on and word in _THIRD)):
            return True
    return False


def _without_calls(text: str) -> str:
    while opening := _OPENER.match(text) or _call(text):
        text = text[opening.end() :]
    return text


def _call(text: str) -> re.Match[str] | None:
    """Someone called by name, as in 'Anna, …' and 'Thanks Anna! …'; 'Yesterday, …' is no call."""
    match = _CALL.match(text)
    if match is None or match["name"].casefold() in CALENDAR:
        return None
    return match if not match["word"] or match["word"].casefold() in PLEASANTRIES else None
