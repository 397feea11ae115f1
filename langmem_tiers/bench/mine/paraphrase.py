"""Paraphrase: what somebody says of themselves, turned into the question that they would ask later, by simple rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random

from langmem_tiers.bench.mine.clauses import Clause, clauses
from langmem_tiers.bench.mine.facts import Fact, FactKind, facts
from langmem_tiers.bench.mine.questions import Draft
from langmem_tiers.bench.mine.sentences import statements
from langmem_tiers.bench.mine.vocabulary import Vocabulary

_THING = r"(?P<thing>(?:[\w'’-]+ ){0,3}?[\w'’-]+)"
_END = r"(?=[.,;:!)]|$| (?:and|but|because|so|which|who|while|when|where|since)\b)"
_VALUE = rf"(?P<value>(?:[\w'’&-]+ ){{0,5}}?[\w'’&-]+){_END}"
_NAME = r"(?P<value>[A-ZÀ-Þ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*){0,3})"
_PATTERNS = (
    (re.compile(rf"\b[Mm]y {_THING} (?:is|was) (?:called|named) {_NAME}"), "What is my {thing} called?"),
    (re.compile(rf"\b[Mm]y {_THING}['’]s name is {_NAME}"), "What is the name of my {thing}?"),
    (re.compile(rf"\b(?:an?|the|our|my) {_THING},? (?:called|named) {_NAME}"), "What is the name of the {thing}?"),
    (re.compile(rf"\b[Mm]y {_THING} (?P<be>is|are|was|were) (?!called|named|not){_VALUE}"), "What {be} my {thing}?"),
)
_DIRECTION = re.compile(r"\b(?P<preposition>to|from|into|through|in|at|near|around|on) (?:the )?$")
_KEPT_DIRECTIONS = {"to", "from", "into", "through"}
_COUNTED = re.compile(r"\s*(?P<noun>[a-z]+)")
# What may come behind a name that is no part of a longer one.
_BEHIND = re.compile(
    r"\s*(?:$|[,;)]|(?:in|on|at|to|from|with|for|by|near|about|after|before|during|around|as|again|together|last|next"
    r"|this|yesterday|today|tonight|tomorrow|every|each|since|until|a|an|two|three)\b)"
)
_NO_OBJECT = {"have", "want", "need", "like", "love"}  # 'had a look', 'want my kids to learn'
_OBJECT = re.compile(
    r"(?P<object>(?:an?|some|my|our|the|two|three) (?:[\w'’-]+ ){0,3}?[\w'’-]+)"
    r" (?P<rest>(?:from|for|at|in|on|with|to|near|last|by|during|after|before)\b.+)"
)


def paraphrase(text: str, _vocabulary: Vocabulary, rng: Random) -> Iterator[Draft]:
    """Questions such as "Where did my sister move to last May?" of "My sister moved to Porto last May."."""
    told = list(statements(text))
    rng.shuffle(told)
    for sentence in told:
        asked = [*_of_patterns(sentence), *_of_clauses(sentence)]
        rng.shuffle(asked)
        yield from asked


def _of_patterns(sentence: str) -> Iterator[Draft]:
    for pattern, question in _PATTERNS:
        for match in pattern.finditer(sentence):
            found = match.groupdict()
            yield _draft(question.format(**found), found["value"])


def _of_clauses(sentence: str) -> Iterator[Draft]:
    for clause in clauses(sentence):
        for fact in _facts_of(clause):
            if _stands_alone(clause, fact):
                yield _draft(_ASKED[fact.kind](clause, fact), fact.text)
        if clause.base not in _NO_OBJECT and (bought := _OBJECT.match(clause.rest)):
            yield _draft(f"What {clause.asked} {bought['rest']}?", bought["object"])


def _facts_of(clause: Clause) -> Iterator[Fact]:
    """The facts in the rest of a clause, which begins no sentence: a capital there is a name's."""
    before = f"{clause.base} "
    return (replace(fact, start=fact.start - len(before)) for fact in facts(before + clause.rest))


def _stands_alone(clause: Clause, fact: Fact) -> bool:
    """Whether a question can do without the fact: 'Oslo' in 'to Oslo by train', but not in 'the Oslo train'."""
    return fact.kind in {"date", "number"} or bool(_BEHIND.match(clause.rest[fact.stop :]))


def _draft(question: str, answer: str) -> Draft:
    return Draft(kind="paraphrase", text=" ".join(question.split()).replace(" ?", "?"), answer=answer)


def _when(clause: Clause, fact: Fact) -> str:
    return f"When {clause.asked} {clause.rest[: fact.start]} {clause.rest[fact.stop :]}?"


def _where(clause: Clause, fact: Fact) -> str:
    before, after = clause.rest[: fact.start], clause.rest[fact.stop :]
    found = _DIRECTION.search(before)
    if found is None:
        return f"Which place {clause.asked} {before} {after}?"
    kept = found["preposition"] if found["preposition"] in _KEPT_DIRECTIONS else ""
    return f"Where {clause.asked} {before[: found.start()]} {kept} {after}?"


def _who(clause: Clause, fact: Fact) -> str:
    return f"Who {clause.asked} {clause.rest[: fact.start]} {clause.rest[fact.stop :]}?"


def _what(clause: Clause, fact: Fact) -> str:
    before = re.sub(r"\b(?:an?|the|my|our) $", "", clause.rest[: fact.start])
    return f"What {clause.asked} {before} {clause.rest[fact.stop :]}?"


def _how_many(clause: Clause, fact: Fact) -> str:
    before, after = clause.rest[: fact.start], clause.rest[fact.stop :]
    if before.endswith("at "):  # a time of day
        return f"When {clause.asked} {before[:-3]} {after}?"
    noun = _COUNTED.match(after)
    if noun is None or not fact.text.isdecimal():
        return f"How much {clause.asked} {before} {after}?"
    return f"How many {noun['noun']} {clause.asked} {before} {after[noun.end() :]}?"


_ASKED: Mapping[FactKind, Callable[[Clause, Fact], str]] = {
    "date": _when,
    "place": _where,
    "person": _who,
    "number": _how_many,
    "name": _what,
    "word": _what,
}
