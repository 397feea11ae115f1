"""Detects feedback: what users say when a reply was wrong or unwelcome, and how annoyed they are. Pure.

Only what is said to the assistant counts, after it spoke: complaining about a train is no feedback, nor is answering a
question with "no". Correcting a fact is not a sign of annoyance. The rules are in `language/data/feedback.toml`; a
classifier drops what they most likely misheard, and hears what they do not know. English; in other languages nothing
is found, rather than something wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from langmem_tiers.dream.types import Signal
from langmem_tiers.language import speech_acts
from langmem_tiers.language.characters import one_line
from langmem_tiers.language.feedback_classifier import likely
from langmem_tiers.language.objections import Reply, objection, says
from langmem_tiers.language.sentences import Sentence, sentences, straight
from langmem_tiers.language.wishes import FRAGMENTS, read_pattern
from langmem_tiers.language.word_lists import table
from langmem_tiers.language.words import stems
from langmem_tiers.records import SpokenTurn
from langmem_tiers.types import Sentiment, SignalKind

LEVELS: tuple[Sentiment, ...] = ("casual", "mildly_frustrated", "very_irritated")
"""From the weakest to the strongest."""
RANKS: tuple[SignalKind, ...] = ("praise", "irritation", "wrong", "correction")
"""From the one that says least of what is to be done otherwise to the one that says most."""

_LOOKED_AT = 2000  # characters of a turn: a pasted page is not feedback
_SENTENCES = 6  # feedback comes at the start of a turn
_LONGEST_QUOTE = 300
_LONGEST_SENTENCE = 600  # characters of one that is read
_LONGEST_BEFORE = 300
_FEW = 5  # words of an outcry; a longer sentence must say "you"
_REMARK = 3  # words of what may precede an appraisal: "Hmm.", "Thanks for trying."

_CASUAL, _MILD, _VERY = range(3)
# By what the classifier says: below the one, the rules misheard; from the other on, it is heard without them.
_DOUBTED, _SURE = 0.35, 0.9


class FeedbackKind(NamedTuple):
    """A way to give feedback; `level` is an index into LEVELS.

    `answers` means that it counts even after a question of the assistant, `asks` that it may be a question itself, and
    `cries` that it is an outcry: it only counts if it is short, or addressed to the assistant. `opens` means that it is
    about what was said just before, so nothing else may precede it in the turn; `deed` that the assistant must have
    done something or handed it over. `polite` is a complaint that is never stronger by being made twice. `weak` counts
    where nothing else is heard in the sentence. What a pattern calls `said` must be in the reply.
    """

    kind: SignalKind
    level: int
    patterns: Sequence[re.Pattern[str]]
    answers: bool = True
    asks: bool = False
    cries: bool = False
    opens: bool = False
    deed: bool = False
    polite: bool = False
    weak: bool = False


_Heard = tuple[SignalKind, FeedbackKind, str]  # with the words that show it
_DO = FRAGMENTS["do"]


@cache
def _said() -> tuple[FeedbackKind, ...]:
    """Compiled when first asked: 500 patterns take 0.7 s, and most processes never look for feedback."""
    return tuple(
        FeedbackKind(
            kind=each["kind"],
            level=LEVELS.index(each["sentiment"]),
            patterns=tuple(read_pattern([one]) for one in each["patterns"]),
            **{name: each[name] for name in FeedbackKind._field_defaults if name in each},
        )
        for each in table("feedback")["feedback"]
    )


# What no pattern says: another value than the reply's, a "no" to it, an outcry after it apologised.
_CORRECTS = FeedbackKind("correction", _CASUAL, ())
_DENIES = FeedbackKind("wrong", _CASUAL, ())
_PROTESTS = FeedbackKind("irritation", _MILD, ())
_QUOTED = re.compile(r"\"[^\"]{0,400}\"|“[^”]{0,400}”")
_SWEARING = re.compile(
    r"\b(?:wtf|ffs|fuck\w*|goddamn\w*|god ?damn|damn ?it|bullshit|the hell"
    r"|for (?:god's|heaven's|fuck's|christ's) sake)\b",
    re.IGNORECASE,
)
_SHOUTED = re.compile(
    r"\b(?:NOT|STOP|NEVER|DON'T|EVER|AGAIN|ALREADY|WRONG|NO MORE|QUIT|WHY|ENOUGH)\b|\b[A-Z]{4,20}!"
    r"|\b[A-Z]{3,20} [A-Z]{3,20}\b"
)
# Whole words of capitals in a row: whoever writes so is angry.
_ROARED = re.compile(r"\b[A-Z']{2,20}(?: [A-Z']{2,20}){2,10}\b")
_LOUD = re.compile(r"!{2,}|\?!|!\?|\?{2,}")
_TO_THE_ASSISTANT = re.compile(r"\b(?:you|your)\b", re.IGNORECASE)
_GOES_ON = re.compile(
    rf"^(?:instead|please|just|always|because|I (?:want|meant|need)|{_DO})\b",
    re.IGNORECASE,
)
_FACT = re.compile(
    r"^(?:no|nope|sorry|actually|wrong)\b[,.!:; -]++[^.!?]{0,200}?"
    r"(?:'s|'re|\b(?:is|are|was|were|has|lives?|works?))\b[^?]{0,200}\bnot\b"
    r"|^(?:no|nope)\b[,.!:; -]+not [^.!?]*[.!]?$"
    r"|^(?:(?:no|nope|sorry|actually|wrong|well|but|wait)\b[,.!:; -]+){0,4}"
    r"(?:my \w{1,40}|the \w{1,40}|\w{1,40})(?:'s|'re|'m| (?:is|are|was|were|am|has|have|lives?|works?|plays?|moved))\b"
    r"(?![^.?!]{0,80}\btoo\b)",
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
    found = list(_heard_in(turns, _of_turn))
    return found if most is None else found[len(found) - min(most, len(found)) :]


def by_rules(turns: Sequence[SpokenTurn]) -> list[Signal]:
    """The same by the rules alone."""
    return list(_heard_in(turns, _by_rules))


def _heard_in(turns: Sequence[SpokenTurn], hear: Callable[[SpokenTurn, str, Reply], Signal | None]) -> Iterator[Signal]:
    before: dict[str, str] = {}
    for turn in turns:
        if turn.role == "assistant":
            before[turn.session] = turn.content
        elif turn.role == "user" and turn.session in before:
            said = before[turn.session]
            if signal := hear(turn, said, Reply.read(said)):
                yield signal


def _of_turn(turn: SpokenTurn, before: str, reply: Reply) -> Signal | None:
    found = list(_read(turn.content, reply))
    kind, probability = likely(turn.content, reply, _in_a_word(found))
    if found:
        return _strongest(turn, before, found) if probability > _DOUBTED else None
    if probability < _SURE or not _is_meant(turn.content):
        return None
    return _signal(turn, before, kind, _felt(kind, turn.content), _telling(turn.content, reply))


def _by_rules(turn: SpokenTurn, before: str, reply: Reply) -> Signal | None:
    found = list(_read(turn.content, reply))
    return _strongest(turn, before, found) if found else None


def heard(text: str, reply: Reply) -> str | None:
    """What the rules hear in a message, in a word: a kind, or "objection"."""
    return _in_a_word(list(_read(text, reply)))


def _in_a_word(found: Sequence[_Heard]) -> str | None:
    if not found:
        return None
    only_objects = all(said in (_CORRECTS, _DENIES) for _, said, _ in found)
    return "objection" if only_objects else max(found, key=_telling_most)[0]


def _strongest(turn: SpokenTurn, before: str, found: Sequence[_Heard]) -> Signal:
    kind, _, quote = max(found, key=_telling_most)
    return _signal(turn, before, kind, _CASUAL if kind == "praise" else _level(found, turn.content), quote)


def _telling_most(found: _Heard) -> tuple[int, int]:
    """Saying what was wrong outranks an outcry, and any complaint outranks praise; among equals the first counts."""
    return RANKS.index(found[0]), found[1].level


def _signal(turn: SpokenTurn, before: str, kind: SignalKind, level: int, quote: str) -> Signal:
    return Signal(
        drawer=turn.drawer,
        session=turn.session,
        kind=kind,
        sentiment=LEVELS[level],
        quote=quote[:_LONGEST_QUOTE],
        before=one_line(before, _LONGEST_BEFORE),
        at=turn.said_at,
    )


def _is_meant(text: str) -> bool:
    """Whether a turn can be feedback at all: no joke, and no task with its material."""
    shown = text[:_LOOKED_AT]
    material = any(_is_material(each.text) for each in sentences(shown)[:_SENTENCES])
    return not material and not speech_acts.jokes_throughout(shown)


def _telling(text: str, reply: Reply) -> str:
    """The sentence of a turn that is most like feedback."""
    read = sentences(text[:_LOOKED_AT])[:_SENTENCES]
    return max((each.text for each in read), key=lambda said: likely(said, reply, None).probability, default=text)


def _felt(kind: SignalKind, text: str) -> int:
    """The strength of feedback that no rule knows."""
    if kind == "praise":
        return _CASUAL
    if _SWEARING.search(text[:_LOOKED_AT]) or _ROARED.search(text[:_LOOKED_AT]):
        return _VERY
    return _MILD if kind == "irritation" else _CASUAL


def _read(text: str, reply: Reply) -> Iterator[_Heard]:
    """The feedback in a turn, with the words that show it."""
    shown = text[:_LOOKED_AT]
    if speech_acts.jokes_throughout(shown):
        return
    # A lone number counts as no sentence elsewhere.
    read = sentences(shown)[: _SENTENCES + 1] or [Sentence(text=shown, start=0)]
    opens = True
    for place, sentence in enumerate(read[:_SENTENCES]):
        if _is_material(sentence.text):
            return
        quote = shown[sentence.start : _stop(read[place : place + 2])]
        so = _QUOTED.sub('""', straight(quote[:_LONGEST_SENTENCE]))
        meant = not says(so, "others") and (says(so, "incredulous") or not speech_acts.is_joking(so))
        heard = [*_heard(so, reply, opens)] if meant else []
        heard = [each for each in heard if not each[1].weak] or heard
        if len(read) > place + 1 and says(straight(read[place + 1].text), "says_right_next"):
            heard = [("correction" if kind == "wrong" else kind, said) for kind, said in heard]
        yield from ((kind, said, quote) for kind, said in heard)
        opens = opens and (bool(heard) or len(so.split()) <= _REMARK)


def _heard(sentence: str, reply: Reply, opens: bool) -> Iterator[tuple[SignalKind, FeedbackKind]]:
    """The feedback in a sentence; `opens` means that nothing else precedes it in its turn."""
    asks = speech_acts.is_question(sentence)
    meant = len(sentence.split()) <= _FEW or _TO_THE_ASSISTANT.search(sentence) is not None
    for each in _said():
        after_question = reply.only_asks if each.opens else reply.asks
        if (after_question and not each.answers) or (asks and not each.asks):
            continue
        if (each.cries and not meant) or (each.opens and not opens) or (each.deed and not reply.deed):
            continue
        match = next((found for pattern in each.patterns if _counts(found := pattern.search(sentence), reply)), None)
        if match is not None:
            right = each.kind == "wrong" and says(sentence[match.end() :], "says_right")
            yield ("correction" if right else each.kind), each
    if opens and reply.sorry and "!" in sentence and not says(sentence, "forgives"):
        yield "irritation", _PROTESTS
    if opens and not asks and not says(sentence, "unreal") and (kind := objection(sentence, reply)):
        yield kind, _CORRECTS if kind == "correction" else _DENIES


def _counts(found: re.Match[str] | None, reply: Reply) -> bool:
    """Whether a match is no mere supposition, and about what the assistant has said if it has to be."""
    if found is None or says(found.string[: found.start()], "unreal"):
        return False
    said = found.groupdict().get("said")
    return said is None or not stems(said).isdisjoint(reply.stems)


def _is_material(sentence: str) -> bool:
    """Whether the sentence sets a task with its material: what follows was said to nobody."""
    return speech_acts.is_task(sentence) and (":" in sentence or '"' in sentence)


def _stop(read: Sequence[Sentence]) -> int:
    """The end of feedback that starts with this sentence: after the next one, if that says what to do instead."""
    goes_on = len(read) > 1 and _GOES_ON.match(read[1].text) and read[1].stop - read[0].start < _LONGEST_QUOTE
    return read[1].stop if goes_on else read[0].stop


def _level(found: Sequence[_Heard], text: str) -> int:
    """The strength of complaints, given how they are said.

    Someone who only corrects a fact may be loud without being annoyed, and who complains twice is more annoyed.
    """
    if _SWEARING.search(text[:_LOOKED_AT]) or _ROARED.search(text[:_LOOKED_AT]):
        return _VERY
    complaints = [(said, quote) for kind, said, quote in found if kind != "praise"]
    strongest = max(_loudness(said, quote) for said, quote in complaints)
    annoyed = {quote for said, quote in complaints if said.level > _CASUAL and not said.polite}
    return min(_VERY, strongest + (len(annoyed) > 1))


def _loudness(said: FeedbackKind, quote: str) -> int:
    loud = _LOUD.search(quote) is not None or _SHOUTED.search(straight(quote)) is not None
    if said.level == _CASUAL and says(quote, "weary"):
        return _MILD
    return said.level + (loud and said.level > _CASUAL and not said.cries)
