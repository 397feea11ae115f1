"""Whether two sentences state the same fact, and whether several sentences together state what one does.

Vectors cannot tell: "The user has two daughters" and "The user has three daughters" are nearly the same point. So the
words decide: both must say the same, possibly with other inflections, synonyms and order, but with the same names,
numbers and negations, and nothing more. Two entries too many are a nuisance; one that swallowed another is a loss.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from langmem_tiers.language.word_lists import named_pattern, word_set
from langmem_tiers.language.wordings import NEGATIONS, PAST, TURNING, Word, Wording, alike, in_order, plain, wording

# With fewer words, the first one is the subject.
_FEWEST_TO_TURN = 3

Clause = tuple[Word, ...]

_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；])\s+|[;；\n]+")
_JOINT = re.compile(r"\s{0,8}(?:,\s+(?:(?:and|but)\s+)?|\s(?:and|but|as well as)\s+)", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:I|my|mine|me|myself)\b(?!\.)", re.IGNORECASE)
_FIRST_WORD = re.compile(r"\W*(\w+)")
_OF_A_THING = re.compile(r"\W*(?:the|an?|this|that|these|those)\s+(?!user\b)", re.IGNORECASE)
# What makes one half of a sentence depend on the other.
_DEPENDING = named_pattern("paraphrase", "depending")
_PERSONS = word_set("he him his she her hers they them their theirs we us our ours you your yours i me my mine")
# A text with more clauses than this is a document rather than a memory.
_MOST_CLAUSES = 30
# With fewer words, a part is not a statement.
_FEWEST_WORDS = 2
_USER = "user"


class Verdict(NamedTuple):
    """Whether two wordings state one fact, and why, or what is different."""

    same: bool
    why: str


def same_fact(a: str, b: str, similarity: float | None, *, least: float = 0.9) -> Verdict:
    """Whether two sentences say the same, so that one of them is enough.

    Args:
        a: One sentence.
        b: The other one.
        similarity: Cosine of their vectors, None if unknown.
        least: The similarity, if known, from which a sentence with its parts swapped may say the same.

    Example:
        >>> same_fact("The user likes hiking.", "The user enjoys to hike.", None)
        Verdict(same=True, why='the same in other words')
        >>> same_fact("The user has two cats.", "The user has three cats.", 0.97)
        Verdict(same=False, why='another number: 2, 3')
    """
    if plain(a) == plain(b):
        return Verdict(same=True, why="the same words")
    here, there = wording(a), wording(b)
    conflict = _conflict(here, there)
    if conflict:
        return Verdict(same=False, why=conflict)
    near = similarity is None or similarity >= least
    if _in_step(here.words, there.words) or (near and _turned(here, there)):
        return Verdict(same=True, why="the same in other words")
    return Verdict(same=False, why="another order")


def says_the_same(a: str, b: str, *, least: float = 0.9) -> bool:
    """`same_fact` of sentences whose similarity is unknown, without the reason, which most of the time is for."""
    may = wording(a).may_be(wording(b)) or plain(a) == plain(b)
    return may and same_fact(a, b, None, least=least).same


def difference(statement: str, parts: Sequence[str], *, by_user: bool) -> str | None:
    """Why some sentences together do not say what a statement says, without quoting them; None if they do.

    For wordings that nobody vouches for: each has to consist of whole clauses of the statement, in their words and
    order, after the beginning of an earlier clause if they have no subject of their own. If that is unclear,
    it is safer to keep the statement.

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
    clauses = list(_clauses(_FIRST_PERSON.sub(_USER, statement) if by_user else statement, " ".join(parts)))
    if not clauses or len(clauses) > _MOST_CLAUSES:
        return "what it says cannot be compared"
    covered: set[int] = set()
    there, of_a_thing = wording(statement), bool(_OF_A_THING.match(statement))
    for number, part in enumerate(parts, 1):
        words, here = in_order(_lowered(part, statement)), wording(part)
        words = words if of_a_thing else _without_user(words, clauses)
        # Only one of them asks, or the part says "is" where the statement says "has" or the like.
        adds = here.asks != there.asks or (there.being and not here.being <= there.being)
        places = None if adds else _covered(words, clauses)
        if places is None:
            return f"sentence {number} says something else"
        covered.update(places)
    return None if len(covered) == len(clauses) else "something is left out"


def _conflict(here: Wording, there: Wording) -> str | None:
    """What makes two wordings differ."""
    only_here, only_there = _unmatched(here.words, there.words)
    if only_here or only_there:
        return _of_words(only_here, only_there)
    if here.turning != there.turning:
        return _of_turning(here.turning, there.turning)
    if here.asks != there.asks:
        return "one asks"
    if not here.words:
        return "nothing to compare"
    names_somebody = any(word.text == "name" for word in here.words)
    if here.being != there.being and here.being and there.being and not names_somebody:
        return "what it is, what it has"
    return None


def _unmatched(here: Sequence[Word], there: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """The words of each that the other does not have."""
    left = list(there)
    only_here = []
    for word in here:
        match = next((each for each in left if alike(word, each)), None)
        if match is None:
            only_here.append(word)
        else:
            left.remove(match)
    return only_here, left


def _of_words(here: Sequence[Word], there: Sequence[Word]) -> str:
    both = (*here, *there)
    told = ", ".join(word.text for word in both)
    if any(word.number for word in both):
        return f"another number: {told}"
    if here and there and any(word.name for word in both):
        return f"another name: {told}"
    return f"another word: {told}" if here and there else f"one tells more: {told}"


def _of_turning(here: Sequence[str], there: Sequence[str]) -> str:
    differ = set((Counter(here) - Counter(there)) + (Counter(there) - Counter(here)))
    told = ", ".join(sorted(differ))
    if differ & NEGATIONS:
        return f"a negation: {told}"
    return f"another time: {told}" if differ & PAST else f"turned by: {told}"


def _turned(here: Wording, there: Wording) -> bool:
    """Whether one begins with the end of the other: "On Mondays the user …"."""
    if not (here.fronted or there.fronted) or len(here.words) < _FEWEST_TO_TURN:
        return False
    turned = (here.words[place:] + here.words[:place] for place in range(1, len(here.words)))
    return any(_in_step(words, there.words) for words in turned)


def _in_step(here: Sequence[Word], there: Sequence[Word]) -> bool:
    return len(here) == len(there) and all(map(alike, here, there))


def _lowered(text: str, other: str) -> str:
    """A text whose first word loses its capital if the other text shows that it is no name."""
    first = _FIRST_WORD.match(text)
    if first is None or not re.search(rf"\b{re.escape(first[1].lower())}\b", other):
        return text
    return text[: first.start(1)] + first[1].lower() + text[first.end(1) :]


def _clauses(statement: str, other: str) -> Iterator[Clause]:
    for sentence in _SENTENCE_END.split(statement):
        for clause in [sentence] if _DEPENDING.search(sentence) else _halves(sentence):
            if words := in_order(_lowered(clause, other)):
                yield words


def _halves(sentence: str) -> list[str]:
    """The parts of a sentence, split where "not", "might" and the like in the first do not extend to the second."""
    found: list[str] = []
    start = 0
    for joint in _JOINT.finditer(sentence):
        before, after = sentence[start : joint.start()], in_order(sentence[joint.end() :])
        has_subject = bool(after) and (after[0].name or after[0].text == _USER or after[0].text in _PERSONS)
        turned = any(word.text in TURNING - _PERSONS and not word.name for word in in_order(before))
        if before.strip() and (has_subject or not turned):
            found.append(before)
            start = joint.end()
    return [*found, sentence[start:]]


def _without_user(part: Clause, clauses: Sequence[Clause]) -> Clause:
    """A part without its subject, if the statement omits it: "prefers tea"."""
    said = clauses[0][0].text == _USER
    added = not said and len(part) > 1 and part[0].text == _USER and not part[1].name
    return part[1:] if added else part


def _covered(part: Clause, clauses: Sequence[Clause]) -> range | None:
    """The range of clauses that a part consists of."""
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
    """Whether words are the beginning of a clause, but not all of it."""
    return bool(head) and any(len(head) < len(clause) and all(map(alike, head, clause)) for clause in clauses)
