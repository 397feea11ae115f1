"""Corrections: the user says that something is wrong, and what is right instead.

A value alone ("It's Friday, not Thursday") is told with the statement before that holds the wrong one, so far as that
can be said again with the right one in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from langmem_tiers.palace.names import names
from langmem_tiers.palace.tag_people import FIRST_NAMES
from langmem_tiers.palace.words import word_set
from langmem_tiers.writing.extractive import again
from langmem_tiers.writing.extractive.rewriting import Subject
from langmem_tiers.writing.extractive.turn import Statement

_START = r"^(?:(?:sorry|oh|hmm|wait|well|um|ah|hey|hi|ok(?:ay)?|but)[,.!]* )*"
_OPENING = re.compile(
    _START + r"(?:(?:no|nope|nah)\b[,.!:;-]+ ?|actually[,:]? |correction[:,] ?"
    r"|(?:that's|that is|this is|it's)(?: just| still)? (?:wrong"
    r"|incorrect|not (?:right|correct|true))[,.:;!-]+ ?"
    r"|i meant(?: to say)? |i mean,? |scratch that[,:;.-]* ?|let me correct (?:that"
    r"|myself|you)[,:;.-]* ?|(?:you're|you are) wrong[,:;.-]+ ?|not quite[,:;.-]+ ?)+",
    re.IGNORECASE,
)
# Said so, a statement may be set against another one; by itself it is no more than an apology.
_APOLOGY = re.compile(r"^(?:oh,? |ah,? |oops,? |hmm,? )?(?:sorry|my mistake|my bad|oops)[,.:;!-]+ ?", re.IGNORECASE)
_AFTERTHOUGHT = re.compile(r",? (?:actually|sorry)[.!]*$", re.IGNORECASE)
_MORE = re.compile(
    r"\b(?:also|too|as well|another|besides|in addition|both|sometimes|used to|part[- ]time|on (?:the )?(?:side"
    r"|weekends|\w+days))\b",
    re.IGNORECASE,
)
# Who says so means the speaker's own words.
_SLIP = re.compile(r"\b(?:i meant|i mean|scratch that|correct myself)\b", re.IGNORECASE)
_STRONG = re.compile(
    r"\b(?:wrong|incorrect|not right|not correct|not true|correction|i meant|scratch that|let me correct)\b",
    re.IGNORECASE,
)
_NOT_BEHIND = re.compile(
    r"^(?P<right>.+?)(?:,| -| –|;)? (?:and )?(?:not|instead of|rather than) (?P<wrong>(?:in "
    r"|on |at |a |an |the |my )?[\w€$£%.'-]+(?: [\w€$£%.'-]+){0,4})$"
)
_NOT_BEFORE = re.compile(
    r"^(?P<head>(?:it|my [\w ]{2,30}?|the [\w ]{2,30}?)(?:'s| is"
    r"| was)|i|i'm|i am)(?: do| am| don't)?(?: not|n't|'s not|'m not"
    r"|(?<=don't)) (?:[a-z]+ (?:in|at|for|on) )?(?P<wrong>[\w€$£%.'-]+(?: [\w€$£%.'-]+){0,3}?)(?: anym"
    r"ore)?(?:,|;| -| –| but|\.)+ (?:but )?(?P<right>.+)$",
    re.IGNORECASE,
)
_VALUES = (
    re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE),
    re.compile(
        r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b", re.IGNORECASE
    ),
    re.compile(r"[$€£]?\b\d[\d.,:]*(?<![.,:])\b"),
)
_IT_IS = re.compile(r"^(?:it's|it is|it was|that's|they're|he's|she's|in fact it's)\b", re.IGNORECASE)
_MOOD = re.compile(
    r"\b(?:fine|ok|okay|good|great|cool|nice|all right|alright|glad|happy|thanks?|worries|problem|way|idea)\b",
    re.IGNORECASE,
)
_MEASURABLE = re.compile(r"\d|\b[A-Z][a-z]+|day\b")
_NO_VALUE = word_set("so really very too that sure just only because even yet going to")
_LONGEST = 200
_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|am|do|does|did|can|could|should|would|will|have|has|had|that|it)$", re.IGNORECASE
)
# A statement of one's own; what one has, and any other thing, needs a verb to be one.
_OWN = re.compile(
    r"^(?:(?:i|i'm|i've|we|we're|we've)\b|(?:my|our|the) .*?(?:'s| (?:is|are|was|were|has|have|had|will|lives?|works?"
    r"|costs?|starts?|begins?|ends?|leaves?|departs?|arrives?|opens?|closes?|expires?|likes?|prefers?|goes|runs?"
    r"|moved|uses?|needs?)) )",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """What is right; what is wrong, as it was said; and whether the right can be understood alone.

    `of` is the statement that holds the wrong value, `again` that with the right one, as the speaker would say it.
    """

    right: str
    wrong: str
    alone: bool
    of: Statement | None = None
    again: str | None = None

    @property
    def stands(self) -> bool:
        """Whether what is right can be told as a statement."""
        return self.alone or self.again is not None

    @property
    def lender(self) -> Statement | None:
        """The speaker's own statement that is said again."""
        return self.of if self.again and self.of and self.of.mine else None


def read(sentence: str, earlier: Iterable[Statement]) -> Correction | None:
    """The correction that a sentence makes, of what it names or of what was said before; None when it makes none."""
    opening = _OPENING.match(sentence)
    rest = re.sub(r"[\s.!…]+$", "", sentence[opening.end() :] if opening else sentence)
    if len(rest) > _LONGEST or not rest:
        return None
    if opening is None:
        return _of_itself(rest, earlier)
    there = [*earlier]
    with_wrong = _with_wrong(rest)
    return _placed(with_wrong, there) if with_wrong else _of_said(rest, there, opening.group())


def told_apart(sentence: str) -> Correction | None:
    """What a sentence says is right and what is not, also where it has no word for a correction.

    Example:
        >>> told_apart("I live in Turin, not Rome.").wrong
        'Rome'
    """
    return _with_wrong(re.sub(r"[\s.!…]+$", "", sentence))


def told(sentence: str, corrected: Correction, subject: Subject) -> str:
    """The correction in the user's words, with the statement it is about."""
    words = re.sub(r"\s*[.!]+$", "", sentence)
    if corrected.of and not corrected.of.mine:
        return f'{subject.opening} corrected "{corrected.of.sentence.text}": "{words}."'
    return f'{subject.opening} said: "{words}."'


def set_right(sentence: str, before: str | None) -> str | None:
    """What a sentence states against something that it does not name; None where it need not be against anything.

    Example:
        >>> set_right("No, I have three cats.", None)
        'I have three cats.'
    """
    opening, closing = _opening(sentence), _AFTERTHOUGHT.search(sentence)
    if _MORE.search(sentence) or not (opening or closing or _only_opens(before or "")):
        return None
    return sentence[opening.end() if opening else 0 : closing.start() if closing else len(sentence)]


def _opening(sentence: str) -> re.Match[str] | None:
    return _OPENING.match(sentence) or _APOLOGY.match(sentence)


def _only_opens(sentence: str) -> bool:
    """Whether a sentence says only that something is wrong: "No.", "That's wrong!"."""
    opening = _opening(f"{sentence.rstrip()} ")
    return opening is not None and opening.end() >= len(sentence.rstrip())


def _of_itself(rest: str, earlier: Iterable[Statement]) -> Correction | None:
    """'It's not 30, it's 45', 'I don't live in Oslo anymore, I live in Bergen', without a no before it.

    'It's 45, not 30' is one where a statement before says 30.
    """
    if _is_measured(_NOT_BEFORE.match(rest)):
        found = _with_wrong(rest)
        return found and _placed(found, earlier)
    if _IT_IS.match(rest) and _is_measured(_NOT_BEHIND.match(rest)):
        found = _with_wrong(rest)
        placed = found and _placed(found, earlier)
        return placed if placed and placed.again else None
    return None


def _is_measured(match: re.Match[str] | None) -> bool:
    """Whether what is right and what is wrong may be names, numbers or days."""
    return match is not None and all(_MEASURABLE.search(match[each]) for each in ("right", "wrong"))


def _with_wrong(rest: str) -> Correction | None:
    """'It's Friday, not Thursday', 'it's not Thursday, it's Friday'."""
    match = _NOT_BEHIND.match(rest) or _NOT_BEFORE.match(rest)
    if match is None or not _is_value(match["wrong"]) or _AUXILIARY.search(match["right"]):
        return None
    right = match["right"]
    return Correction(right=right, wrong=match["wrong"], alone=_OWN.match(right) is not None)


def _is_value(wrong: str) -> bool:
    return not _MOOD.search(wrong) and wrong.split(maxsplit=1)[0].casefold() not in _NO_VALUE


def _of_said(rest: str, earlier: Sequence[Statement], opening: str) -> Correction | None:
    """'No, it's on Friday', after a statement that names another day."""
    alone = _OWN.match(rest) is not None
    strong = _STRONG.search(opening) is not None
    if _MOOD.search(rest) or not (strong or alone or _IT_IS.match(rest)):
        return None
    tried = (_against(rest, each, alone=alone, strong=strong) for each in _meant(earlier, opening))
    return next(filter(None, tried), None)


def _against(rest: str, statement: Statement, *, alone: bool, strong: bool) -> Correction | None:
    """The correction of a statement, where it gives another value of one kind."""
    values = _other_values(rest, statement.sentence.text)
    if values is None or (alone and not strong and not _same_frame(rest, values[0], statement)):
        return None
    said_again = None if alone else again.said_again(statement, *values, said=rest)
    return Correction(right=rest, wrong=values[0], alone=alone, of=statement, again=said_again)


def _meant(earlier: Sequence[Statement], opening: str) -> Iterator[Statement]:
    """The statements that a correction without the wrong value may be about: of a slip the speaker's own come first."""
    if _SLIP.search(opening):
        yield from (each for each in earlier if each.mine)
    yield from (each for place, each in enumerate(earlier) if each.ago == 1 or (each.ago == 0 and place == 0))


def _same_frame(right: str, wrong: str, statement: Statement) -> bool:
    """Whether a statement speaks of something, and of nothing that the right one does not speak of."""
    frame = again.stems(statement.sentence.text) - again.stems(wrong)
    return bool(frame) and frame <= again.stems(right)


def _placed(found: Correction, earlier: Iterable[Statement]) -> Correction:
    """The correction with the nearest statement that holds the wrong value, where the right one needs one."""
    there = () if found.alone else (each for each in earlier if again.holds(each, found.wrong))
    tried = ((each, again.said_again(each, found.wrong, found.right, said=found.right)) for each in there)
    of, said_again = next((each for each in tried if each[1]), (None, None))
    return replace(found, of=of, again=said_again)


def _other_values(right: str, statement: str) -> tuple[str, str] | None:
    """The value in a statement that the right one is set against, of the same kind, and the right one."""
    for pattern in _VALUES:
        new, old = pattern.findall(right), pattern.findall(statement)
        if len(set(new)) == 1 and len(set(old)) == 1 and new[0].casefold() != old[0].casefold():
            return old[0], new[0]
    return _other_names(right, statement)


def _other_names(right: str, statement: str) -> tuple[str, str] | None:
    new = {name.text for name in names(f"x {right}")}
    old = {name.text for name in names(statement) if not name.opens or name.folded in FIRST_NAMES}
    if len(new) == 1 and len(old) == 1 and new != old and not statement.endswith("?"):
        return old.pop(), new.pop()
    return None
