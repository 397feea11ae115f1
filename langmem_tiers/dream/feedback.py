"""Detects feedback: what users say when a reply was wrong or unwelcome, and how annoyed they are. Pure.

Only what is said to the assistant counts, after it spoke: complaining about a train is no feedback, nor is answering a
question with "no". Correcting a fact is not a sign of annoyance. English, in `language/data/feedback.toml`; in other
languages nothing is found, rather than something wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from langmem_tiers.dream.types import Sentiment, Signal, SignalKind
from langmem_tiers.language import speech_acts
from langmem_tiers.language.characters import one_line
from langmem_tiers.language.sentences import Sentence, sentences, straight
from langmem_tiers.language.wishes import FRAGMENTS, read_pattern
from langmem_tiers.language.word_lists import table
from langmem_tiers.records import SpokenTurn

LEVELS: tuple[Sentiment, ...] = ("casual", "mildly_frustrated", "very_irritated")
"""From the weakest to the strongest."""

_LOOKED_AT = 2000  # characters of a turn: a pasted page is not feedback
_SENTENCES = 6  # feedback comes at the start of a turn
_LONGEST_QUOTE = 300
_LONGEST_BEFORE = 300
_FEW = 5  # words of an outcry; a longer sentence must say "you"

_CASUAL, _MILD, _VERY = range(3)


class FeedbackKind(NamedTuple):
    """A kind of feedback; `level` is an index into LEVELS.

    `answers` means that it counts even after a question of the assistant; `cries` that it is an outcry: it only counts
    if it is short, or addressed to the assistant.
    """

    kind: SignalKind
    level: int
    pattern: re.Pattern[str]
    answers: bool = True
    cries: bool = False


_DO = FRAGMENTS["do"]
_SAID = tuple(
    FeedbackKind(
        kind=each["kind"],
        level=LEVELS.index(each["sentiment"]),
        pattern=read_pattern(each["patterns"]),
        answers=each.get("answers", True),
        cries=each.get("cries", False),
    )
    for each in table("feedback")["feedback"]
)
_SWEARING = re.compile(
    r"\b(?:wtf|ffs|fuck\w*|goddamn\w*|god ?damn|damn ?it|bullshit|the hell"
    r"|for (?:god's|heaven's|fuck's|christ's) sake)\b",
    re.IGNORECASE,
)
_SHOUTED = re.compile(r"\b(?:NOT|STOP|NEVER|DON'T|AGAIN|ALREADY|WRONG|NO MORE|QUIT)\b")
_LOUD = re.compile(r"!{2,}|\?!|!\?")
_TO_THE_ASSISTANT = re.compile(r"\b(?:you|your)\b", re.IGNORECASE)
# Quoted or reported speech was addressed to someone else.
_OF_OTHERS = re.compile(r"^\W*[\"“>]|\b(?:he|she|they|my \w+|(?!You\b)[A-Z][a-z]+) (?:said|says|told|asked|keeps)\b")
_GOES_ON = re.compile(
    rf"^(?:instead|please|just|always|because|I (?:want|meant|need)|{_DO})\b",
    re.IGNORECASE,
)


_FACT = re.compile(
    r"^(?:no|nope|sorry|actually|wrong)\b[,.!:; -]++[^.!?]{0,200}?"
    r"(?:'s|'re|\b(?:is|are|was|were|has|lives?|works?))\b[^?]{0,200}\bnot\b"
    r"|^(?:no|nope)\b[,.!:; -]+not [^.!?]*[.!]?$",
    re.IGNORECASE,
)
_OF_BEHAVIOUR = re.compile(
    r"\b(?:you|your|stop|quit|avoid|don't|do not|never|always|instead|again|please|asked|told|want\w*"
    rf"|{_DO}(?:ing|s)?)\b",
    re.IGNORECASE,
)


def puts_fact_right(quote: str) -> bool:
    """Whether a correction is only about a fact, and not about how the assistant should behave.

    Example:
        >>> puts_fact_right("No, it's Canberra, not Sydney."), puts_fact_right("No, use lists, not tables.")
        (True, False)
    """
    said = straight(quote)
    return _FACT.match(said) is not None and _OF_BEHAVIOUR.search(said) is None


def signals(turns: Sequence[SpokenTurn], *, most: int | None = None) -> list[Signal]:
    """The feedback in some turns, at most one per turn, in order; the latest if there is more than `most`.

    `turns` are those of users and assistants in any number of sessions, in order; the assistant's preceding words are
    taken from them.

    Example:
        >>> from datetime import UTC, datetime
        >>> at = datetime(2026, 3, 2, tzinfo=UTC)
        >>> said = [("assistant", "Done: I used tabs."), ("user", "I told you to use spaces!")]
        >>> turns = [
        ...     SpokenTurn(drawer=number, session="s", role=role, content=content, said_at=at)
        ...     for number, (role, content) in enumerate(said, 1)
        ... ]
        >>> [(found.kind, found.sentiment, found.before) for found in signals(turns)]
        [('correction', 'mildly_frustrated', 'Done: I used tabs.')]
    """
    found: list[Signal] = []
    before: dict[str, str] = {}
    for turn in turns:
        if turn.role == "assistant":
            before[turn.session] = turn.content
        elif turn.role == "user" and turn.session in before:
            found += _of_turn(turn, before[turn.session])
    return found if most is None else found[len(found) - min(most, len(found)) :]


def _of_turn(turn: SpokenTurn, before: str) -> Iterator[Signal]:
    found = list(_read(turn.content, asked=before.rstrip().endswith("?")))
    if not found:
        return
    # Saying what was wrong outranks an outcry; among equals the first counts.
    said, quote = max(found, key=lambda each: (each[0].kind == "correction", each[0].level))
    level = max(_level(each, words, turn.content) for each, words in found)
    yield Signal(
        drawer=turn.drawer,
        session=turn.session,
        kind=said.kind,
        sentiment=LEVELS[level],
        quote=quote[:_LONGEST_QUOTE],
        before=one_line(before, _LONGEST_BEFORE),
        at=turn.said_at,
    )


def _read(text: str, *, asked: bool) -> Iterator[tuple[FeedbackKind, str]]:
    """The feedback in a turn, with the words that show it; `asked` means the assistant had just asked something."""
    shown = text[:_LOOKED_AT]
    if speech_acts.jokes_throughout(shown):
        return
    read = sentences(shown)[: _SENTENCES + 1]
    for place, sentence in enumerate(read[:_SENTENCES]):
        if not (_OF_OTHERS.search(sentence.text) or speech_acts.is_joking(sentence.text)):
            stop = _stop(read[place : place + 2])
            quote = shown[sentence.start : stop]
            so = straight(quote)
            # An outcry counts if it is short, or addressed to the assistant.
            meant = len(so.split()) <= _FEW or _TO_THE_ASSISTANT.search(so) is not None
            counted = (each for each in _SAID if (each.answers or not asked) and (meant or not each.cries))
            yield from ((each, quote) for each in counted if each.pattern.search(so))


def _stop(read: Sequence[Sentence]) -> int:
    """The end of feedback that starts with this sentence: after the next one, if that says what to do instead."""
    goes_on = len(read) > 1 and _GOES_ON.match(read[1].text) and read[1].stop - read[0].start < _LONGEST_QUOTE
    return read[1].stop if goes_on else read[0].stop


def _level(said: FeedbackKind, quote: str, text: str) -> int:
    """Its strength, given how it is said; someone who only corrects a fact may be loud without being annoyed."""
    if _SWEARING.search(text[:_LOOKED_AT]):
        return _VERY
    loud = _LOUD.search(quote) is not None or _SHOUTED.search(straight(quote)) is not None
    return min(_VERY, said.level + (loud and said.level > _CASUAL and not said.cries))
