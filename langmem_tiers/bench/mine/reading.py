"""What questions are made of: sentences, clauses, facts and the rarity of words in a user's messages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import log
from typing import Literal

from langmem_tiers.language.calendar import MONTH_WRITTEN
from langmem_tiers.language.key_phrases import FILLER
from langmem_tiers.language.names import FIRST_NAMES, Name, addressed, is_person, names, places
from langmem_tiers.language.numbers import cardinals
from langmem_tiers.language.verbs import forms
from langmem_tiers.language.word_lists import listed, word_set
from langmem_tiers.language.words import meaningful_words, stem, stems

_LOOKED_AT = 4_000  # characters of a message; what is longer is mostly pasted
_SHORTEST, _LONGEST = 12, 300
# Not behind 'Dr.', 'Mrs.' or an initial.
_END = re.compile(r"(?<=[.!?。！？])(?<![A-Z]\.)(?<!Dr\.)(?<!Mr\.)(?<!Ms\.)(?<!rs\.)(?<!St\.)\s+|\n+")
# Code, addresses, quotations and markup say nothing that somebody would ask for in words.
_NO_PROSE = re.compile(r"[{}<>|=\\]|://|```|^\s*[>#]|\[shared a photo:")


def sentences(text: str) -> Iterator[str]:
    """The sentences in prose, with their marks at the end.

    Example:
        >>> list(sentences("I met Dr. Okafor today. Nice! See https://example.org for more of it."))
        ['I met Dr. Okafor today.']
    """
    for part in _END.split(text[:_LOOKED_AT]):
        sentence = " ".join(part.split())
        if _SHORTEST <= len(sentence) <= _LONGEST and not _NO_PROSE.search(part):
            yield sentence


def statements(text: str) -> Iterator[str]:
    """The sentences that are not questions, which hold no answers."""
    return (sentence for sentence in sentences(text) if sentence[-1] not in "?？")


_PRESENT = listed("verbs", "asked_present")
_FORMS: Mapping[str, tuple[str, str]] = {
    **{base: ("do", base) for base in _PRESENT},
    **{forms(base)[0]: ("does", base) for base in _PRESENT},
    **{forms(base)[1]: ("did", base) for base in listed("verbs", "asked_past")},
    **{past: ("did", base) for past, _, base in (pair.partition(":") for pair in listed("verbs", "asked_irregular"))},
}


def verb(word: str) -> tuple[str, str] | None:
    """The auxiliary and the base form to ask for a verb with; None for other words.

    Example:
        >>> verb("moved"), verb("works"), verb("bicycle")
        (('did', 'move'), ('does', 'work'), None)
    """
    return _FORMS.get(word.casefold())


_SUBJECT = re.compile(r"\b(?:I|[Ww]e|[Mm]y|[Oo]ur)\b(?=[ '’])|^[A-Z]\w+")
_CUT = re.compile(
    r"[,;:()!]|[.](?=\s|$)|\s[–—-]\s"
    r"|\s(?:and|but|because|so|which|who|while|although|though|when|where|that|if|then)\s"
)
# What may stand between subject and verb without changing the question.
_ADVERBS = word_set("just recently finally also already really actually once always usually often still now 've have")
_MOST_BEFORE_VERB = 5
_PRONOUNS = {"i": "I", "we": "we", "my": "my", "our": "our"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Clause:
    """'my sister', 'did', 'move', 'to Porto last summer'."""

    subject: str
    helper: str
    base: str
    rest: str

    @property
    def asked(self) -> str:
        """The part after the question word: 'did my sister move'."""
        return f"{self.helper} {self.subject} {self.base}"


def clauses(sentence: str) -> Iterator[Clause]:
    """The clauses of a sentence whose verb is known.

    Example:
        >>> [(clause.asked, clause.rest) for clause in clauses("Last May my sister Lena moved to Porto, by train.")]
        [('did my sister Lena move', 'to Porto')]
    """
    for match in _SUBJECT.finditer(sentence):
        told = _CUT.split(sentence[match.start() :], maxsplit=1)[0]
        clause = _clause(told.replace("'ve", " 've").replace("’ve", " 've").split())
        if clause is not None:
            yield clause


def _clause(words: list[str]) -> Clause | None:
    subject: list[str] = []
    for place, word in enumerate(words[:_MOST_BEFORE_VERB]):
        if word in _ADVERBS:
            continue
        found = verb(word) if subject else None
        if found is not None:
            return _told(subject, *found, rest=" ".join(words[place + 1 :]))
        subject.append(word if subject else _PRONOUNS.get(word.casefold(), word))
    return None


def _told(subject: list[str], helper: str, base: str, *, rest: str) -> Clause | None:
    """The clause of a subject, its verb and what follows, None where it tells nothing that can be asked."""
    fits = _can_be_subject(subject) and (helper != "do" or subject[0] in {"I", "we"})
    must = base in {"have", "get", "want", "need"} and rest.startswith("to ")
    if not fits or not rest or must:
        return None
    return Clause(subject=" ".join(subject), helper=helper, base=base, rest=rest)


def _can_be_subject(words: list[str]) -> bool:
    if words[0] in {"I", "we"}:
        return len(words) == 1
    return words[0] in {"my", "our"} or words[0].casefold() in FIRST_NAMES


FactKind = Literal["person", "place", "date", "number", "name", "word"]

_MONTH = rf"(?:{MONTH_WRITTEN})\b\.?"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:[a-z]{1,3}day|day|s|rs|r)?"
_YEAR = r"(?:19|20)\d\d"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?\b"
_COUNT = rf"(?:\d{{1,3}}|a couple of|a few|an?|{cardinals(1, 10)})"
# With the preposition in front: without it, what is left of the sentence still reads as one.
_DATE = re.compile(
    rf"\b(?=\w)(?:(?:on|in|since|until|by|from|around|last|next|this) (?:the )?){{0,3}}"
    rf"(?:\b{_MONTH} {_ORDINAL}(?:,? {_YEAR})?|\b{_ORDINAL}(?: of)? {_MONTH}(?:,? {_YEAR})?"
    rf"|\b{_MONTH},? {_YEAR}|\b\d{{4}}-\d\d-\d\d\b|(?<=in )\b{_MONTH}|(?<=last )\b{_MONTH}|(?<=since )\b{_MONTH}"
    rf"|(?<=(?:on|st|xt) )\b{_DAY}s?\b|(?<=in )\b{_YEAR}\b|(?<=since )\b{_YEAR}\b)"
    rf"|\b(?:yesterday|tomorrow|tonight|(?:last|next|this) (?:night|week|weekend|month|year|spring|summer|autumn|fall"
    rf"|winter|morning|evening))\b|\b(?:(?:about|around|almost) )?{_COUNT} (?:day|week|weekend|month|year)s? ago\b",
)
_NUMBER = re.compile(r"(?<![\w.,:/#+-])[$€£]?\d{1,3}(?:[,.]?\d{1,3})*(?:\.\d+)?%?(?![\w:/-])")


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceFact:
    """A fact in a sentence, at `sentence[start:stop]`."""

    kind: FactKind
    text: str
    start: int

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)


def facts(sentence: str) -> list[SentenceFact]:
    """The facts of a sentence in its order; none lies within another.

    Example:
        >>> [(fact.kind, fact.text) for fact in facts("I flew to Lisbon with Anna on 3 May 2024 for 120 euros.")]
        [('place', 'Lisbon'), ('person', 'Anna'), ('date', 'on 3 May 2024'), ('number', '120')]
    """
    found: list[SentenceFact] = []
    for fact in (*_dates(sentence), *_named(sentence), *_numbers(sentence)):
        if all(fact.stop <= other.start or other.stop <= fact.start for other in found):
            found.append(fact)
    return sorted(found, key=lambda fact: fact.start)


def _dates(sentence: str) -> Iterator[SentenceFact]:
    for match in _DATE.finditer(sentence):
        yield SentenceFact(kind="date", text=match.group(), start=match.start())


def _numbers(sentence: str) -> Iterator[SentenceFact]:
    for match in _NUMBER.finditer(sentence):
        yield SentenceFact(kind="number", text=match.group(), start=match.start())


def _named(sentence: str) -> Iterator[SentenceFact]:
    spoken_to = addressed(sentence)
    for name in names(sentence):
        kind = _kind(name)
        start = sentence.find(name.text)
        if kind is not None and start >= 0 and name.folded not in spoken_to:
            yield SentenceFact(kind=kind, text=name.text, start=start)


def _kind(name: Name) -> FactKind | None:
    if is_person(name):
        return "person"
    if places([name]):
        return "place"
    # At the start of a sentence, a capital is no evidence for a name.
    return None if name.opens else "name"


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """The messages that hold each word, by its stem; equal messages are to be given once."""

    holders: Mapping[str, frozenset[int]]
    messages: int

    def spread(self, word: str) -> int:
        """How many messages hold the word."""
        return len(self.holders.get(stem(word), ()))

    def rarity(self, word: str) -> float:
        """The inverse document frequency of a word: 0 for one that every message holds."""
        return log((1 + self.messages) / (1 + self.spread(word)))

    def holding_all(self, stems: Collection[str]) -> int:
        """How many messages hold all of these words, given by their stems."""
        found = [self.holders.get(one, frozenset()) for one in stems]
        return len(frozenset.intersection(*found)) if found else self.messages


def vocabulary(texts: Iterable[str]) -> Vocabulary:
    """The vocabulary of some messages.

    Example:
        >>> words = vocabulary(["My cats sleep.", "A cat and a dog."])
        >>> words.spread("cat"), words.holding_all(["cat", "dog"])
        (2, 1)
    """
    holders: dict[str, set[int]] = defaultdict(set)
    number = 0
    for number, text in enumerate(texts, 1):
        for word in stems(text):
            holders[word].add(number)
    return Vocabulary(holders={word: frozenset(found) for word, found in holders.items()}, messages=number)


def telling_words(text: str) -> list[str]:
    """The words that show what a text is about, each once, in order."""
    return [word for word in dict.fromkeys(meaningful_words(text)) if word not in FILLER and len(word) > 1]


def without(words: Iterable[str], text: str) -> list[str]:
    """The words that are not in a text in any inflection."""
    taken = stems(text)
    return [word for word in words if stem(word) not in taken]
