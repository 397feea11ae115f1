"""Feedback: what users say that shows that a reply was wrong or unwelcome, and how annoyed they are. Pure.

Only what is said to the assistant, after it said something: who complains of a train gives no feedback, and neither
does who answers a question with "no". Whoever sets a fact right is not annoyed for that. English; in other languages
nothing is found, rather than something wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from langmem_tiers.dream.types import Sentiment, Signal, SignalKind, TurnSeen
from langmem_tiers.writing.extractive import sifting
from langmem_tiers.writing.extractive.prose import Sentence, sentences, straight

LEVELS: tuple[Sentiment, ...] = ("casual", "mildly_frustrated", "very_irritated")
"""From the weakest to the strongest."""

_LOOKED_AT = 2000  # characters of a turn: who pastes a page is not giving feedback with it
_SENTENCES = 6  # feedback opens a turn
_LONGEST_QUOTE = 300
_LONGEST_BEFORE = 300
_FEW = 5  # words of an outcry; a longer sentence has to say "you"

_CASUAL, _MILD, _VERY = range(3)
_OPENING = (
    r"^(?:(?:no|nope|ugh|argh|hey|oh|ok(?:ay)?|come on|seriously|sorry|but|and|again|well|also|please|pls|once again)"
    r"\b[,.!:;-]* *)*"
)
_MANNER = r"(?:already|just|explicitly|specifically|clearly|repeatedly|literally)"
# Behind "stop" and "don't" these speak of a mood, or of something that is not for the assistant to do.
_NOT_MEANT = (
    r"(?:worry|worrying|forget|forgetting|mind|know|think|thinking|believe|get me|have|having|need|want|be|being|let"
    r"|care|see|feel|feeling|remember|understand|like|love|bother|hesitate|kid|kidding|jok\w+|teas\w+|laugh\w*|smil\w+"
    r"|cry\w*|dream\w*|hop(?:e|ing)|even|really|you|they|we|I|miss|stress\w*|blam\w+|beat\w*|overthink\w*|give up"
    r"|giving up|sweat|panic\w*|trying|learning|believing|exploring|creating|improving|growing|dreaming)\b"
)
_DO = r"(?:use|write|send|show|call|give|make|put|run|keep|ask|answer|reply|say|do|take|search|read|open|add|format)"
_SO_TO_SAY = r"yet|really|at all|now|today|sure|much|many|so|always|necessarily|even|only|just|any\w*|every\w*"
_CORRECTING = r"(?:tell|repeat|correct|explain)"


class Said(NamedTuple):
    """A kind of thing that users say who give feedback; `level` is a place in LEVELS.

    `answers` says that it is feedback also behind a question of the assistant; `cries` that it says nothing by itself,
    and counts where it is short, or addressed to the assistant.
    """

    kind: SignalKind
    level: int
    pattern: re.Pattern[str]
    answers: bool = True
    cries: bool = False


def _said(kind: SignalKind, level: int, *patterns: str, answers: bool = True, cries: bool = False) -> Said:
    return Said(kind, level, re.compile("|".join(patterns), re.IGNORECASE), answers, cries)


_SAID = (
    # What was asked for, said once more.
    _said(
        "correction",
        _MILD,
        rf"\bI(?:'ve| have)? {_MANNER} (?:told|asked) you\b",
        r"\bI(?:'ve| have) told you\b",
        rf"{_OPENING}I told you(?:,| not to\b| to\b| already\b| before\b| twice\b| \w+ times\b)",
        rf"{_OPENING}I {_MANNER} said\b",
        r"\bI (?:asked|told) you (?:not to|to (?:stop|quit))\b",
        r"\b(?:that's|that is|this is|it's|which is) (?:still )?not what I (?:asked|meant|said|wanted|need|am looking)",
    ),
    _said(
        "correction",
        _CASUAL,
        rf"{_OPENING}I (?:said|meant|asked for|wanted) (?:\S+ ){{0,6}}?(?:\S+, |and )?not \S",
    ),
    # What the assistant did.
    _said(
        "correction",
        _MILD,
        r"\byou (?:did|made|sent|used|wrote|got|deleted|changed|ran|called) \b[^.?!]*\bagain\b",
        r"\byou (?:(?:still|always|constantly) )?keep (?:on )?\w+ing\b|\bwhy do you (?:keep|always)\b",
        r"\byou(?:'re| are)? (?:still|always|constantly) (?:us|do|mak|send|writ|gett|ignor|add|put)\w*\b",
        rf"{_OPENING}(?:(?:it's |that's |this is )?still (?:wrong|incorrect|not (?:right|correct|what))|wrong again)",
    ),
    _said(
        "correction",
        _CASUAL,
        rf"{_OPENING}you(?:'ve| have)? (?:misunderstood|misread|mixed up|ignored (?:my|what|the))\b",
        r"\byou(?:'ve| have)? (?:got|did|had|have) (?:it|that|this|the \w+) (?:all |completely )?wrong\b",
        rf"{_OPENING}(?:you forgot (?:to|the|my|about my)|you (?:didn't|did not) (?:use|follow|do|read))\b",
        rf"{_OPENING}(?:that's|that is|this is|you're|you are|it's) (?:just |all |completely )?"
        r"(?:wrong|incorrect|not (?:right|correct|true))\b",
    ),
    # What it is to stop, or to do otherwise.
    _said(
        "correction",
        _MILD,
        rf"{_OPENING}(?:stop|quit) (?!{_NOT_MEANT})(?:\w+ly )?[a-z]+ing\b",
        rf"\b(?:can|could|would|will) you (?:please |just |finally )*(?:stop|quit) (?!{_NOT_MEANT})[a-z]+ing\b",
        rf"{_OPENING}(?:don't|do not|never) (?!{_NOT_MEANT})(?:ever )?[a-z]+\b[^.?!]*\b(?:again|any ?more)\b",
    ),
    _said(
        "correction",
        _CASUAL,
        rf"{_OPENING}(?:don't|do not|never) (?!{_NOT_MEANT})(?:ever )?[a-z]+ \S.*?"
        rf"(?:\binstead\b|[,;] (?:but )?{_DO}\b)",
        rf"{_OPENING}{_DO} (?!(?:you|I|we|they)\b)[^.?!]{{1,80}}?(?:\binstead\b|, not\b|\bnot the\b|\brather than\b)",
    ),
    _said(
        "correction",
        _CASUAL,
        r"^(?:no|nope)\b[,.!:; -]+(?:(?:that's|it's|this is|they're|he's|she's) )?not "
        rf"(?!(?:{_SO_TO_SAY}|that (?:I|we)|a (?:problem|bit|lot))\b)\w",
        rf"^(?:no|nope)\b[,.!:; -]+[^?]{{2,80}}(?:,| -| –| and) not (?!(?:{_SO_TO_SAY})\b)\w",
        answers=False,
    ),
    # Outcries.
    _said(
        "irritation",
        _VERY,
        r"\b(?:for the last time|how many times (?:do|must|have|did|should) I)\b",
        r"\bare you (?:even |actually )?(?:listening|reading|paying attention)\b",
        r"\byou(?:'re| are) not (?:even )?listening\b|\byou never listen\b",
        r"\b(?:sick (?:and tired )?of|fed up with) "
        rf"(?:you\b|your\b|{_CORRECTING}ing|having to {_CORRECTING}\b)",
    ),
    _said(
        "irritation",
        _MILD,
        rf"\btired of (?:you\b|your\b|{_CORRECTING}ing|having to {_CORRECTING}\b)",
        r"\byou(?:'re| are) (?:so |really |being )?(?:annoying|useless|driving me)\b|\bwhat(?:'s| is) wrong with you\b",
    ),
    _said(
        "irritation",
        _MILD,
        r"^(?:oh,? |ugh,? |really,? |seriously,? |not |come on,? )*again\s*[?!]+$",
        r"^(?:ugh|argh|wtf|ffs|for (?:god's|heaven's|fuck's) sake)\b",
        cries=True,
    ),
)
_SWEARING = re.compile(
    r"\b(?:wtf|ffs|fuck\w*|goddamn\w*|god ?damn|damn ?it|bullshit|the hell"
    r"|for (?:god's|heaven's|fuck's|christ's) sake)\b",
    re.IGNORECASE,
)
_SHOUTED = re.compile(r"\b(?:NOT|STOP|NEVER|DON'T|AGAIN|ALREADY|WRONG|NO MORE|QUIT)\b")
_LOUD = re.compile(r"!{2,}|\?!|!\?")
_TO_THE_ASSISTANT = re.compile(r"\b(?:you|your)\b", re.IGNORECASE)
# Where somebody else is quoted, or spoken of, it is they who were told.
_OF_OTHERS = re.compile(r"^\W*[\"“>]|\b(?:he|she|they|my \w+|(?!You\b)[A-Z][a-z]+) (?:said|says|told|asked|keeps)\b")
_GOES_ON = re.compile(
    rf"^(?:instead|please|just|always|because|I (?:want|meant|need)|{_DO})\b",
    re.IGNORECASE,
)


_FACT = re.compile(
    r"^(?:no|nope|sorry|actually|wrong)\b[,.!:; -]+[^.!?]*?"
    r"(?:'s|'re|\b(?:is|are|was|were|has|lives?|works?))\b[^?]*\bnot\b"
    r"|^(?:no|nope)\b[,.!:; -]+not [^.!?]*[.!]?$",
    re.IGNORECASE,
)
_OF_BEHAVIOUR = re.compile(
    r"\b(?:you|your|stop|quit|avoid|don't|do not|never|always|instead|again|please|asked|told|want\w*"
    rf"|{_DO}(?:ing|s)?)\b",
    re.IGNORECASE,
)


def puts_fact_right(quote: str) -> bool:
    """Whether a correction says what is so, and nothing of how the assistant is to behave.

    Example:
        >>> puts_fact_right("No, it's Canberra, not Sydney."), puts_fact_right("No, use lists, not tables.")
        (True, False)
    """
    said = straight(quote)
    return _FACT.match(said) is not None and _OF_BEHAVIOUR.search(said) is None


def signals(turns: Sequence[TurnSeen], *, most: int | None = None) -> list[Signal]:
    """The feedback in some turns, one a turn, in their order; of more than `most` the latest.

    `turns` are those of users and assistants, of any number of sessions, in order: what the assistant had said is
    looked up among them.

    Example:
        >>> from datetime import UTC, datetime
        >>> at = datetime(2026, 3, 2, tzinfo=UTC)
        >>> said = [("assistant", "Done: I used tabs."), ("user", "I told you to use spaces!")]
        >>> turns = [
        ...     TurnSeen(drawer=number, session="s", role=role, content=content, said_at=at)
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


def strength(text: str) -> Sentiment:
    """How annoyed somebody is who says this to the assistant: casual where nothing shows it."""
    level = max((_level(said, quote, text) for said, quote in _read(text, asked=False)), default=_CASUAL)
    return LEVELS[level]


def _of_turn(turn: TurnSeen, before: str) -> Iterator[Signal]:
    found = list(_read(turn.content, asked=before.rstrip().endswith("?")))
    if not found:
        return
    # What says what was wrong is worth more than an outcry; of equals the first.
    said, quote = max(found, key=lambda each: (each[0].kind == "correction", each[0].level))
    level = max(_level(each, words, turn.content) for each, words in found)
    yield Signal(
        drawer=turn.drawer,
        session=turn.session,
        kind=said.kind,
        sentiment=LEVELS[level],
        quote=quote[:_LONGEST_QUOTE],
        before=_beginning(before),
        at=turn.said_at,
    )


def _read(text: str, *, asked: bool) -> Iterator[tuple[Said, str]]:
    """What of it is feedback, and the words that show it; `asked` says that the assistant had asked something."""
    shown = text[:_LOOKED_AT]
    if sifting.jokes_throughout(shown):
        return
    read = sentences(shown)[: _SENTENCES + 1]
    for place, sentence in enumerate(read[:_SENTENCES]):
        if not (_OF_OTHERS.search(sentence.text) or sifting.is_joking(sentence.text)):
            stop = _stop(read[place : place + 2])
            said_so = straight(shown[sentence.start : stop])
            yield from ((said, shown[sentence.start : stop]) for said in _SAID if _is_said(said, said_so, asked=asked))


def _stop(read: Sequence[Sentence]) -> int:
    """Where feedback that begins with a sentence ends: behind the next one where that says what to do instead."""
    goes_on = len(read) > 1 and _GOES_ON.match(read[1].text) and read[1].stop - read[0].start < _LONGEST_QUOTE
    return read[1].stop if goes_on else read[0].stop


def _is_said(said: Said, quote: str, *, asked: bool) -> bool:
    if (asked and not said.answers) or said.pattern.search(quote) is None:
        return False
    return not said.cries or len(quote.split()) <= _FEW or _TO_THE_ASSISTANT.search(quote) is not None


def _level(said: Said, quote: str, text: str) -> int:
    """How strong it is with the way it is said; whoever only sets a fact right may be loud, and is not annoyed."""
    if _SWEARING.search(text[:_LOOKED_AT]):
        return _VERY
    loud = _LOUD.search(quote) is not None or _SHOUTED.search(straight(quote)) is not None
    return min(_VERY, said.level + (loud and said.level > _CASUAL and not said.cries))


def _beginning(said: str) -> str:
    line = " ".join(said[: 4 * _LONGEST_BEFORE].split())
    return line if len(line) <= _LONGEST_BEFORE else f"{line[: _LONGEST_BEFORE - 1]}…"
