"""What a clause leaves to the words just before it in the same turn: when it was, and which event, lesson or group."""

from __future__ import annotations

import re

from langmem_tiers.writing.extractive import vocabulary as lists
from langmem_tiers.writing.extractive.clauses import OPENING_TIME
from langmem_tiers.writing.extractive.dating import SPOKEN
from langmem_tiers.writing.extractive.patterns import WE_OR_I
from langmem_tiers.writing.extractive.telling import says_something, tells

_PAST_TIME = re.compile(
    r"\b(?<!since )(?<!from )(?<!until )(?<!than )(?:yesterday|(?:last|past) (?:night|week|weekend|month|year"
    r"|summer|winter|spring|fall|autumn|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)"
    r"|(?:\d+|an?|one|two|three|four|five|six|seven) (?:day|week|month|year)s? ago|this morning)\b(?!')",
    re.IGNORECASE,
)
_BY_ITSELF = re.compile(rf"^{OPENING_TIME}{WE_OR_I}(?: (?:{lists.TURNING_POINTS}))")
_OWN_TIME = re.compile(
    r"\b(?:when|while|always|never|ever|used to|since|every|each|once|ago|years?|first|usually|often|as an? |growing up"
    r"|back in|before|after|later|then|already|19\d\d|20\d\d)\b|\d{4}",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"\b(I|we)\b", re.IGNORECASE)
_SOMEBODY = re.compile(r"\b(?:my|our|he|she|they|you|your|his|her|their)\b|\b[A-Z][a-z]+ [a-z]+ed\b", re.IGNORECASE)
_VAGUE_ADJECTIVES = rf"(?:(?:{'|'.join(sorted(lists.FAINT_ADJECTIVES))}) )*"
_DEFINITE = (
    r"(?P<noun>events?|causes?|places?|spots?|venue|lessons?|class(?:es)?|courses?|sessions?|competitions?|contest"
    r"|tournament|campaign|festival|workshops?|conference|programme|program|group|pieces?|shows?|performance"
    r"|project|meetings?|trip|tattoos?|photos?|pictures?|paintings?|stuff|things?|items?)"
)
_FURTHER = r"(?![\w'-]| [a-z]+(?:ship|shop|room)\b)"
_NEEDY = re.compile(
    rf"\b(?:(?P<the>the|these|those) {_VAGUE_ADJECTIVES}{_DEFINITE}"
    rf"|(?:an?|some) {_VAGUE_ADJECTIVES}(?P<any>events?|places?|spots?|venue|pieces?|occasion|programs?)"
    rf"|(?:tak(?:e|en|ing)|took|attend(?:ed|ing)?|giv(?:e|ing)|gave|had|having|offer(?:ed|ing)?|enter(?:ed|ing)?|teach"
    rf"|taught|teaching|start(?:ed|ing)?) {_VAGUE_ADJECTIVES}(?P<bare>lessons|classes|sessions|courses|competitions))"
    rf"{_FURTHER}"
)
_COMPLEMENT = re.compile(
    r",? (?:(?<=, )an? "
    r"|(?:of|about|on|for|against|in|at|by|with)(?= )(?P<what>.*)|called|named|to [a-z]|where|that|which"
    r"|[A-Z\"“])"
)
_LEARNED = ("lesson", "class", "course", "session", "competition", "contest", "show", "workshop")
_PLAYED = re.compile(
    r"\b(?:play|plays|played|playing|learn|learned|learnt|learning|study|studied|studying|practi[sc]ed?) (?:the |to )?"
    r"([a-z]{3,})\b(?!,? (?:and|or)\b|,)"
)
_DOING = re.compile(
    r"\b(?:love|loved|like|liked|enjoy|enjoyed|into|about|of|by|started|starting|tried|took up|at|do|did|to)"
    r" ([a-z]{3,}ing)\b"
)


def time_before(clause: str, before: str) -> str | None:
    """The time of the words before that holds for the clause as well; None where it has one itself, or none is sure."""
    if SPOKEN.search(clause) or _OWN_TIME.search(clause):
        return None
    found = {match.group() for match in _PAST_TIME.finditer(before)}
    if len(found) != 1 or _OWN_TIME.search(_PAST_TIME.sub("", before)):
        return None
    speakers = {match[1].lower() for match in _SPEAKER.finditer(before)}
    of_speaker = speakers and not _BY_ITSELF.match(clause)
    return found.pop() if of_speaker or not (speakers or _SOMEBODY.search(before)) else None


def with_topic(clause: str, before: str) -> str | None:
    """The clause with what "the event" or "lessons" in it are of, from the sentence before where that names one.

    Example:
        >>> with_topic("I loved taking lessons", "I played the cello.")
        'I loved taking cello lessons'
    """
    for match in _NEEDY.finditer(clause):
        if not _is_explained(match, clause):
            return _explained(clause, match, before)
    return clause


def _is_explained(match: re.Match[str], clause: str) -> bool:
    """Whether the clause itself says which one, behind the noun or before it."""
    noun = _noun(match)
    named_before = re.search(rf"\b(?:an?|my|our) (?:[\w'-]+ ){{1,3}}{noun}s?\b", clause[: match.start()])
    complement = _COMPLEMENT.match(clause, match.end())
    if complement is None:
        return named_before is not None
    what = complement["what"]
    hangs_on_with = clause[match.end() :].startswith(" with ")
    return what is None or (tells(_NEEDY.sub("", what)) and not hangs_on_with) or named_before is not None


def _noun(match: re.Match[str]) -> str:
    """In the singular, roughly; enough to find it in either number."""
    noun = match["noun"] or match["any"] or match["bare"]
    return re.sub(r"(?<=ss)es$|(?<!s)s$", "", noun)


def _explained(clause: str, match: re.Match[str], before: str) -> str | None:
    noun = _noun(match)
    found = _modifiers(noun, before) or (_activities(before) if noun in _LEARNED else set())
    if len(found) != 1:
        return None
    place = match.start("noun") if match["noun"] else match.start("any") if match["any"] else match.start("bare")
    return f"{clause[:place]}{found.pop()} {clause[place:]}"


def _modifiers(noun: str, before: str) -> set[str]:
    """What the words before put in front of the same noun: "a charity" event."""
    pattern = rf"\b(?:an?|my|our|the|some) ((?:[\w'&+-]+ ){{1,3}}?){noun}(?:e?s)?\b"
    found = {_VAGUE_START.sub("", match[1]).strip() for match in re.finditer(pattern, before)}
    return {each for each in found if says_something(each)}


_VAGUE_START = re.compile(rf"^{_VAGUE_ADJECTIVES}")


def _activities(before: str) -> set[str]:
    found = {match[1] for pattern in (_PLAYED, _DOING) for match in pattern.finditer(before)}
    return {each for each in found if tells(each)}
