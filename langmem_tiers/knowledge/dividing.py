"""Whether statements say together what one statement said, and nothing else. Pure.

For wordings that nobody stands behind: each has to be made of whole clauses of the statement, in their words and order,
behind the beginning of an earlier clause where they have no subject of their own. Where that can not be told, the
statement had better stay as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.knowledge.wordings import TURNING, Word, alike, in_order, wording
from langmem_tiers.palace.words import word_set

Clause = tuple[Word, ...]

_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；])\s+|[;；\n]+")
_JOINT = re.compile(r"\s*(?:,\s+(?:and|but)\s+|,\s+|\s(?:and|but|as well as)\s+)", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:I|my|mine|me|myself)\b(?!\.)", re.IGNORECASE)
_FIRST_WORD = re.compile(r"\W*(\w+)")
_OF_A_THING = re.compile(r"\W*(?:the|an?|this|that|these|those)\s+(?!user\b)", re.IGNORECASE)
# What makes the one half of a sentence depend on the other.
_DEPENDING = re.compile(
    r"\b(?:if|unless|except|until|till|because|although|though|when|while|before|after|since|whenever|than|or|nor)\b",
    re.IGNORECASE,
)
_PERSONS = word_set("he him his she her hers they them their theirs we us our ours you your yours i me my mine")
# More clauses than this are no memory, but a document.
_MOST_CLAUSES = 30
# With fewer words, a part is no statement.
_FEWEST_WORDS = 2
_USER = "user"


def difference(statement: str, parts: Sequence[str], *, by_user: bool) -> str | None:
    """What keeps some sentences from saying together what a statement says, without their words; None where they do.

    Args:
        statement: What was said.
        parts: The sentences.
        by_user: Whether "I" in the statement is the user.

    Example:
        >>> difference("likes tea, never drinks coffee", ["The user likes tea.", "The user never drinks coffee."],
        ...            by_user=False) is None
        True
        >>> difference("likes tea, never drinks coffee", ["The user never likes tea.", "The user drinks coffee."],
        ...            by_user=False)
        'sentence 1 says something else'
    """
    if len(parts) == 1 and same_fact(statement, parts[0], None).same:
        return None
    clauses = list(_clauses(_in_third_person(statement) if by_user else statement, " ".join(parts)))
    if not clauses or len(clauses) > _MOST_CLAUSES:
        return "what it says can not be compared"
    covered: set[int] = set()
    of_a_thing = bool(_OF_A_THING.match(statement))
    for number, part in enumerate(parts, 1):
        words = in_order(_lowered(part, statement))
        words = words if of_a_thing else _without_user(words, clauses)
        places = None if _adds(part, statement) else _covered(words, clauses)
        if places is None:
            return f"sentence {number} says something else"
        covered.update(places)
    return None if len(covered) == len(clauses) else "something is left out"


def _adds(part: str, statement: str) -> bool:
    """Whether a part asks, or says what something is or has where the statement says otherwise."""
    here, there = wording(part), wording(statement)
    return here.asks != there.asks or bool(there.being and not here.being <= there.being)


def _in_third_person(statement: str) -> str:
    return _FIRST_PERSON.sub(_USER, statement)


def _lowered(text: str, other: str) -> str:
    """A text whose first word has no capital where the other one shows that it is no name."""
    first = _FIRST_WORD.match(text)
    if first is None or not re.search(rf"\b{re.escape(first[1].lower())}\b", other):
        return text
    return text[: first.start(1)] + first[1].lower() + text[first.end(1) :]


def _clauses(statement: str, other: str) -> Iterator[Clause]:
    for sentence in _SENTENCE_END.split(statement):
        depends = _DEPENDING.search(sentence)
        for clause in [sentence] if depends else _halves(sentence):
            if words := in_order(_lowered(clause, other)):
                yield words


def _halves(sentence: str) -> list[str]:
    """The parts of a sentence, cut where the second one is not turned by what turns the first: by "not", by "might"."""
    found: list[str] = []
    start = 0
    for joint in _JOINT.finditer(sentence):
        before, after = sentence[start : joint.start()], sentence[joint.end() :]
        if before.strip() and (_has_subject(after) or not _is_turned(before)):
            found.append(before)
            start = joint.end()
    return [*found, sentence[start:]]


def _is_turned(clause: str) -> bool:
    return any(word.text in TURNING - _PERSONS and not word.name for word in in_order(clause))


def _has_subject(clause: str) -> bool:
    words = in_order(clause)
    return bool(words) and (words[0].name or words[0].text == _USER or words[0].text in _PERSONS)


def _without_user(part: Clause, clauses: Sequence[Clause]) -> Clause:
    """A part as the statement says it that leaves out whom it is about: "prefers tea"."""
    said = clauses[0][0].text == _USER
    added = not said and len(part) > 1 and part[0].text == _USER and not part[1].name
    return part[1:] if added else part


def _covered(part: Clause, clauses: Sequence[Clause]) -> range | None:
    """The places of the clauses that a part is made of."""
    whole = sum(map(len, clauses)) <= len(part)
    if len(part) < _FEWEST_WORDS and not whole:
        return None
    runs = (range(first, last) for first in range(len(clauses)) for last in range(len(clauses), first, -1))
    return next((run for run in runs if _is_made_of(part, clauses, run)), None)


def _is_made_of(part: Clause, clauses: Sequence[Clause], run: range) -> bool:
    body = tuple(word for place in run for word in clauses[place])
    pronoun = body[0].text in _PERSONS
    heads = clauses[: run.start]
    if pronoun and heads and _ends_with(part, body[1:]):
        return _begins(part[: len(part) - len(body) + 1], heads)
    if not _ends_with(part, body):
        return False
    head = part[: len(part) - len(body)]
    own_subject = len(body) > 1 and (body[0].name or body[0].text == _USER)
    return not head or (not own_subject and _begins(head, heads))


def _ends_with(part: Clause, body: Clause) -> bool:
    return len(part) >= len(body) > 0 and all(map(alike, part[len(part) - len(body) :], body))


def _begins(head: Clause, clauses: Sequence[Clause]) -> bool:
    """Whether words are the beginning of a clause, and not all of it."""
    return bool(head) and any(len(head) < len(clause) and all(map(alike, head, clause)) for clause in clauses)
