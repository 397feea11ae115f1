"""Which words of a user assert what a statement says: about the same person, in the same sense, and not as a question.

"I live in Oslo" asserts "The user lives in Oslo". "Do I live in Oslo?", "I don't live in Oslo", "If I lived in Oslo"
and "Tom lives in Oslo" do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from langmem_tiers.language import contradictions, speech_acts
from langmem_tiers.language.assertions import USER, Who, says_the_end, somebody, speaker, subject
from langmem_tiers.language.clauses import clauses
from langmem_tiers.language.contrasts import contrast
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.word_lists import named_pattern
from langmem_tiers.language.words import FIRST_PERSON, LOOKED_AT, QUESTION_WORDS, opens_question, stems, words

_JOINT = re.compile(r"\b(?:and|but|or|so|because|since|while|although)\b|[,;]")
_GOES_ON = re.compile(r"(?:who|which|he|she|they|his|her|their)\b", re.IGNORECASE)
_ME = re.compile(rf"\b(?:{'|'.join(sorted(FIRST_PERSON))})\b", re.IGNORECASE)
_REMEMBER = named_pattern("entries", "remember")
# "Tell me where I live".
_ASKS = re.compile(rf"\b(?:{'|'.join(sorted(QUESTION_WORDS))}) $", re.IGNORECASE)


class _Part(NamedTuple):
    """Words of a clause: of whom they are said, and in which sense."""

    text: str
    who: Who
    denies: bool
    unsure: bool
    unreal: bool


def asserting(text: str, statement: str, either_way: bool = False) -> list[tuple[str, str]]:
    """Each part of a statement, with the words of a user's own text that may assert it; empty where none do.

    With `either_way`, these may also deny it.

    Example:
        >>> asserting("I live in Oslo. My boss lives in Bergen.", "The user lives in Oslo.")
        [('The user lives in Oslo', 'I live in Oslo')]
        >>> asserting("Do I live in Oslo? I don't live in Oslo.", "The user lives in Oslo.")
        [('The user lives in Oslo', '')]
    """
    statement = statement.replace("User", USER)
    parts = [*_parts(statement)]
    if not stems(statement) <= stems("\n".join(each.text for each in parts)):  # such as of a sentence without end
        sense = parts[0] if parts else _Part("", speaker(USER), _denies(statement), unsure=False, unreal=False)
        parts.append(sense._replace(text=statement))
    said = list(_stated(text))
    if either_way:
        said += [each._replace(denies=not each.denies) for each in said]
    return [(part.text, " ".join(each.text for each in said if _asserts(each, part, statement))) for part in parts]


def support(text: str, statement: str) -> float:
    """The share of a statement's content words that a user's own text asserts: of the part of which it has least."""
    shares = [
        len(wanted & stems(told)) / len(wanted)
        for part, told in asserting(text, statement)
        if (wanted := stems(part) - {USER})
    ]
    return min(shares, default=0.0)


@lru_cache(maxsize=512)
def _stated(text: str) -> tuple[_Part, ...]:
    """What a text says is or may be so, or asks to be remembered; not what it asks."""
    matches = ((each.text, _REMEMBER.match(each.text)) for each in sentences(text[:LOOKED_AT]))
    said = (str(match["what"]).rstrip("?") if match else sentence for sentence, match in matches)
    stated = (each for each in said if not (speech_acts.is_question(each) or opens_question(words(each))))
    return tuple(part for each in stated for part in _parts(each))


def _parts(text: str) -> Iterator[_Part]:
    """What a text says, clause by clause; "who" and "she" are whoever was named last."""
    for sentence in sentences(text[:LOOKED_AT]):
        last, unreal = speaker(USER), speech_acts.is_unreal(sentence.text)
        for clause, _ in clauses(sentence.text):
            who = last if _GOES_ON.match(clause) else subject(clause, USER)
            last = somebody(clause, USER) or who
            against, unsure = contrast(clause), speech_acts.is_unsure(clause)
            for part, denies in _by_sense(against.right if against else clause):
                yield _Part(part, who, denies, unsure, unreal)


def _by_sense(clause: str) -> Iterator[tuple[str, bool]]:
    """The part of a clause before it denies something, and that from there on: "I am vegan and | don't eat fish"."""
    joints = [0, *(joint.start() for joint in _JOINT.finditer(clause))]
    pieces = [clause[start:stop] for start, stop in zip(joints, [*joints[1:], len(clause)], strict=True)]
    place = next((joint for joint, piece in zip(joints, pieces, strict=True) if _denies(piece)), len(clause))
    yield from ((part, denies) for part, denies in ((clause[:place], False), (clause[place:], True)) if part.strip())


def _denies(text: str) -> bool:
    return contradictions.denies(text) or says_the_end(text)


def _asserts(said: _Part, part: _Part, statement: str) -> bool:
    """Whether words of the user may assert a part of a statement: in the same sense, and of the same person."""
    if said.denies != part.denies or said.unsure > part.unsure or said.unreal > part.unreal:
        return False
    if USER in words(part.text) and not (_is_of_speaker(said.text) or stems(said.text) <= stems(statement)):
        return False
    return said.who.is_same(part.who) or _names(said.text, part.who) or _names(statement, said.who)


def _is_of_speaker(text: str) -> bool:
    """Whether words are about the speaker, and not what others say of them or what is asked: "tell me where I live"."""
    mine = _ME.search(text)
    if mine is None:
        return False
    asked = any(_ASKS.search(text[: each.start()]) for each in _ME.finditer(text))
    return not asked and not speech_acts.is_reported(text[: mine.start()])


def _names(text: str, who: Who) -> bool:
    """Whether a text names somebody, by name or as kin."""
    return not {who.name, who.kin}.isdisjoint(words(text))
