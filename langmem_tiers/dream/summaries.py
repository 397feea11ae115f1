"""The sentences of a session's summary, and whether one of them says a line. Pure.

A line that a model writes has to be a whole sentence of one summary, in its words and order: a model that drops a
"not", swaps two names or adds a condition has all the words right. Only the person may be another one, where it is
known who speaks: "My sister" is "The user's sister".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from langmem_tiers.dream.types import EpisodeSeen
from langmem_tiers.knowledge.dividing import difference
from langmem_tiers.knowledge.wordings import wording
from langmem_tiers.palace.statements import statements
from langmem_tiers.palace.words import word_set
from langmem_tiers.writing.extractive import sifting
from langmem_tiers.writing.extractive.prose import sentences, straight

LONGEST_LINE = 400
DECIDES = re.compile(
    r"\b(?:decid|agreed|agree to|settled on|chose|chosen|going with|will use|moved to|approved|rejected|postponed"
    r"|cancel|resolved|plan(?:ned|s)? to|switch)\w*\b",
    re.IGNORECASE,
)
_USER, _ASSISTANT = "User", "Assistant"
# The label of a line in a summary by rule: "[2026-03-02] User: …".
_LABELLED = re.compile(r"^\[\d{4}-\d\d-\d\d\] (?P<who>[^:\n]{1,60}): (?P<said>.+)$")
_POINTS_BACK = re.compile(
    r"(?:(?:and|but|so|then|also|later|there|here|instead)\b,? ?)*"
    r"(?:they|she|he|it|this|that|these|those|her|his|their|its|both|there|one)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
# Small words that say who does what to whom: a letter to Anna is none from her.
_TIES = word_set("to of for at on in as with from by into onto than user")
_USER_SPEAKS = re.compile(r"\b(?:I|my|mine|me|myself)\b", re.IGNORECASE)
_SHORTENED = ((re.compile(r"\bI'm\b"), "I am"), (re.compile(r"\bI've\b"), "I have"))


class Sentence(NamedTuple):
    """A sentence of a summary as it was `said`, and as it is `shown`: with who said it, where that is told."""

    said: str
    shown: str
    by_user: bool = False


def sentences_of(summary: str) -> Iterator[Sentence]:
    """The sentences of a summary.

    Of what was said word for word, only what somebody tells of themselves or decides will be worth knowing.
    """
    for line in summary.splitlines():
        labelled = _LABELLED.match(line)
        if labelled is None:
            yield from (Sentence(said, said) for said in _standing(line))
        elif _tells(labelled["who"], labelled["said"]):
            said, who = labelled["said"], labelled["who"]
            yield Sentence(said, f"{who}: {said}", by_user=who == _USER)


def says(episode: EpisodeSeen, line: str) -> bool:
    """Whether the summary of an episode says a line, sentence for sentence in its words."""
    there = list(_spoken(episode.summary))
    wanted = _standing(line)
    return bool(wanted) and all(any(_one(each, part) for each in there) for part in wanted)


def _spoken(summary: str) -> Iterator[Sentence]:
    """The sentences that a line may be: all but what the assistant says, and what is asked or ordered."""
    for line in summary.splitlines():
        labelled = _LABELLED.match(line)
        who, said = ("", line) if labelled is None else (labelled["who"], labelled["said"])
        for each in [said] * bool(who) + _standing(said):
            if who != _ASSISTANT and not (who and _wants(each)):
                yield Sentence(each, each, by_user=who == _USER)


def _one(sentence: Sentence, line: str) -> bool:
    """Whether a line is a sentence: the strict check of wordings, and the small words that this one lets pass."""
    said = straight(sentence.said)
    for short, whole in _SHORTENED:
        said = short.sub(whole, said)
    if sentence.by_user:
        said = _USER_SPEAKS.sub("user", said)
    here, there = wording(line), wording(said)
    in_same_way = (here.being, here.asks, _ties(line)) == (there.being, there.asks, _ties(said))
    return in_same_way and difference(said, [line], by_user=False) is None


def _ties(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word in _TIES]


def _standing(line: str) -> list[str]:
    """The sentences of a line of prose, each with the one before where it is not understood without."""
    found: list[str] = []
    for each in sentences(line):
        said = " ".join(each.text.split())
        if found and _POINTS_BACK.match(said) and len(found[-1]) + len(said) < LONGEST_LINE:
            found[-1] = f"{found[-1]} {said}"
        else:
            found.append(said)
    return found


def _tells(who: str, said: str) -> bool:
    if who == _ASSISTANT or _wants(said):
        return False
    return bool(statements(said)) or DECIDES.search(said) is not None


def _wants(said: str) -> bool:
    return sifting.is_question(said) or sifting.is_task(said)
