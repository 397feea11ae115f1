"""Simple clauses: who did what, of the speaker, their kin, or somebody with a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from langmem_tiers.bench.mine.verbs import verb
from langmem_tiers.palace.tag_people import FIRST_NAMES
from langmem_tiers.palace.words import word_set

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
        """What stands behind the question word: 'did my sister move'."""
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
