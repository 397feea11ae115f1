"""Clauses of a sentence: what each says by itself, without interjections, calls and reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langmem_tiers.palace.names import CALENDAR
from langmem_tiers.palace.tag_people import FIRST_NAMES
from langmem_tiers.palace.words import PLEASANTRIES
from langmem_tiers.writing.extractive import sifting

_OPENERS = (
    "by the way|btw|oh|well|also|so|and|but|anyway|actually|honestly"
    "|seriously|basically|plus|besides|anyways|fyi|for the record"
    "|just so you know|you know|to be honest|tbh|in fact|as for me|personally|luckily|sadly|unfortunately|fortunately"
    "|thankfully|funny enough|guess what|speaking of which|one more thing|another thing|not gonna lie|ngl|man|dude|gosh"
    "|for sure|of course|no worries|same here|me too|totally|definitely"
    "|absolutely|exactly|agreed|i agree|no|nope|not really"
    "|thank you(?: so much)?|thanks(?: so much| a lot| a bunch| a ton)?"
    "|please|remember|listen|look|good news|bad news|since we last (?:spoke"
    "|talked|chatted)"
    "|lately|in general|as (?:i|you) (?:said|know)|i mean|like i said"
    "|hi|hey|hello|yeah|yep|yes|ok|okay|sure|wow|true|right"
)
_OPENER = re.compile(
    rf"(?:[^\w\s\"'“‘(\[#@$€£]+\s*|(?:{_OPENERS})\b(?:[,!.:…]+|\s+-"
    rf"|\s–)\s*|(?:oh|well|also|and|but|so|plus|btw|actually|yeah)\b,?\s+(?=i\b"
    rf"|my\b|we\b|our\b|i'))",
    re.IGNORECASE,
)
_CALL = re.compile(r"(?:(?P<word>[A-Za-z]+) )?(?P<name>[A-Z][a-z]+)(?:,|!)\s*(?=\S)")
_TIME = (
    r"(?:[Ll]ast|[Nn]ext|[Tt]his|[Yy]esterday|[Tt]oday|[Tt]omorrow"
    r"|[Tt]onight|[Ii]n (?:19|20)?\d\d|[Ii]n [A-Z]|[Oo]n [A-Z]"
    r"|[Ee]very|[Aa] (?:few|couple)|\w+ (?:days?|weeks?|months?|years?) ago"
    r"|[Tt]he other|[Rr]ecently|[Bb]ack in|[Aa]s an? [a-z]+|[Gg]rowing up"
    r"|[Aa]fter [a-z]+|[Ww]hen (?:I|we) (?:was|were)|[Ii]n my|[Ss]ince (?:last"
    r"|\d|[A-HJ-Z]))"
)
OPENING_TIME = rf"(?:{_TIME}(?: [\w']+){{0,4}}?,? )?"
_ONLY_A_TIME = re.compile(rf"{_TIME}(?: (?!(?:I|we|my|our|was|were|is|has)\b)[\w']+){{0,4}}")
_SUBJECT = r"(?:I\b|i\b|I'|i'm\b|my\b|we\b|we'|our\b)"
_SPLIT = re.compile(
    rf"(?<!\d)\s+[-–—]+\s+|(?<=[a-z])-\s+(?!and\b|or\b|to\b)|\s*—\s*|\s*;\s*|\s*\((?=\w)|\)\s*|,?\s+(?:but"
    rf"|because|'cause|'?cuz|coz|though|although|however)\s+"
    rf"|,\s+(?=(?:so|plus|then|since|as|which|where|who|while) )|,?\s+and\s+(?=(?:need"
    rf"|want|was|were|am|would|wanted|wondered|wondering|could|will"
    rf"|don't know)\b)|,\s+(?={_SUBJECT}|nice to |pleased to )|\s+so\s+(?={_SUBJECT})"
    rf"|\s+(?=(?:and|then) (?:now |then |also |soon |just )?(?:{_SUBJECT}"
    rf"|[Ii]t\b|he\b|she\b|they\b|they're))|,\s+(?=(?:it|it's|they"
    rf"|that|this|the|he|she|had|was|were|loved)\b)"
)
_JOINER = re.compile(
    r"^(?:(?:and|so|plus|then|now|also|yeah|but)\b,?\s+)+(?=i\b|i'|my\b|we\b|we'|our\b)", re.IGNORECASE
)
_TAIL = re.compile(
    r"(?:,? (?:you know|tbh|though|too|as well|for sure|by the way"
    r"|btw|haha|lol|honestly|right|actually|please|thanks|thank you"
    r"|man|dude))+$",
    re.IGNORECASE,
)
_TAIL_CALL = re.compile(r", ([A-Z][a-z]+)$")
_AND_SPEAKER = re.compile(rf"and (?!it\b)(?:{_SUBJECT})")
# A clause that says something of its own is no list of people: "my name is Bob | and I live in Ulm".
_SAYS = re.compile(r"(?:\b(?:is|are|was|were|has|had|isn't|wasn't)|'s) ")
_LONGEST = 240
_LONGEST_SENTENCE = 1000  # characters; a longer one is no sentence


def clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """The clauses that may speak for the speaker, each with the words that stand before it in the sentence."""
    if len(sentence) > _LONGEST_SENTENCE:
        return
    for start, stop in _parts(sentence):
        before = sentence[:start]
        if sifting.is_reported(before):
            return
        clause = trimmed(sentence[start:stop])
        if clause and len(clause) <= _LONGEST:
            yield clause, before


def trimmed(clause: str) -> str:
    """The clause without what opens it ("By the way, Anna,") and what closes it ("you know!")."""
    shown = _without_calls(" ".join(clause.split()))
    shown = _JOINER.sub("", shown)
    shown = re.sub(r"[^\w\"')%€$£°+”’]+$", "", shown)
    shown = _TAIL.sub("", shown)
    called = _TAIL_CALL.search(shown)
    if called and not _is_place(called[1], shown[: called.start()]) and called[1].casefold() not in CALENDAR:
        shown = shown[: called.start()]
    return shown.strip()


def _is_place(name: str, before: str) -> bool:
    """Whether a name behind a comma goes on with an address or a list: "in Paris, France"."""
    return name.casefold() not in FIRST_NAMES and re.search(r"[A-Z][a-z]+$", before) is not None


def _parts(sentence: str) -> Iterator[tuple[int, int]]:
    """The spans between the joints; "my wife and I" has none."""
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
        people = re.fullmatch(r"\W*(?:[Mm]y|[Oo]ur|[A-Z]\w+)(?: [\w-]+){0,3}", last)
        return people is not None and not _SAYS.search(last)
    return _ONLY_A_TIME.fullmatch(trimmed(before)) is not None


def _without_calls(text: str) -> str:
    while True:
        opener = _OPENER.match(text)
        call = None if opener else _call(text)
        if not opener and not call:
            return text
        text = text[(opener or call).end() :]  # type: ignore[union-attr]  # one of them is there


def _call(text: str) -> re.Match[str] | None:
    """'Anna, …' and 'Thanks Anna! …' at the start; 'Yesterday, …' is none."""
    match = _CALL.match(text)
    if match is None or match["name"].casefold() in CALENDAR:
        return None
    return match if not match["word"] or match["word"].casefold() in PLEASANTRIES else None
