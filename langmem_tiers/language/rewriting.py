"""First person to third person: "I moved to Oslo with my sister" as a sentence about the user.

A sentence is only rewritten if each step is safe; otherwise this refuses, and the caller quotes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_tiers.language import verbs
from langmem_tiers.language.word_lists import alternatives, contractions, finds, named_pattern

_ADVERB = (
    "(?:no longer|" + "|".join(sorted(verbs.ADVERBS)) + r"|[a-z]{3,}ly(?<!only)(?<!family)(?<!fly)(?<!reply)(?<!rely))"
)
_FOLLOWING = rf"(?P<adverbs>(?: {_ADVERB}\b)*)(?: (?P<verb>[a-z]+(?:'t)?))?"
_I = re.compile(rf"\bI(?:'(?P<clitic>m|ve|ll|d))?(?![\w'-]){_FOLLOWING}")
_WE = re.compile(rf"\b[Ww]e(?:'(?P<clitic>re|ve|ll|d))?(?![\w'-]){_FOLLOWING}")
_TOGETHER = re.compile(r"^((?:[Mm]y|[Oo]ur|[Tt]he|[A-Z])[\w'-]*(?: [\w'-]+){0,3}?) and I\b")
_ANOTHER_VERB = re.compile(r"(?:\b(?:and|or|but|then)|, and|,) (?:also |then |usually |often )?([a-z]+)\b")
_REST = (
    (re.compile(r"\b(?:[Mm]y|[Oo]ur)\b(?![-'])"), "{their}"),
    (re.compile(r"\b(?:mine|ours)\b"), "{their}"),
    (re.compile(r"\b[Mm]e\b(?![-'])"), "{them}"),
    (re.compile(r"\bus\b"), "{all}"),
    (re.compile(r"\b(?:myself|ourselves)\b"), "themselves"),
)
# "Do I", "am I", "should I".
_INVERTED = re.compile(r"\b(?:do|did|am|was|have|should|can|could|would|will|may) $", re.IGNORECASE)
_LEFT_OVER = re.compile(r"\b(?:I|am|me|my|we|us|you|your|yours|yourself|u|ur|y'all|ya)\b(?!\.)|\b(?:ain't|aint)\b")
# A first person inside quotation marks need not be the speaker.
_SPOKEN_BY_OTHERS = re.compile(r"[\"“](?=[^\"“”]*[\"”])[^\"“”]*?\b(?:I|me|my|we|us|our)\b", re.IGNORECASE)
_CLITICS = {"m": "is", "ve": "has", "ll": "will"}
_PLURAL_CLITICS = {"re": "are", "ve": "have", "ll": "will"}
_WOULD = {"like", "love", "prefer", "rather", "be", "want", "need", "hate"}


class _Unsafe(Exception):
    """The clause cannot be rewritten safely."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """The speaker: by name if several talk, otherwise 'the user'."""

    name: str | None = None

    @property
    def they(self) -> str:
        """As the subject inside a sentence."""
        return self.name or "the user"

    @property
    def their(self) -> str:
        """As the owner."""
        return f"{self.they}'s"

    @property
    def together(self) -> str:
        """With others, for "we"."""
        return f"{self.they} and others"

    @property
    def opening(self) -> str:
        """As the first word of a sentence."""
        return capitalised(self.they)


def capitalised(text: str) -> str:
    """The text with its first letter capitalised."""
    return text[:1].upper() + text[1:]


spelled_out = contractions("colloquial")
"""The clause with colloquial contractions spelled out."""


def third_person(clause: str, subject: Subject) -> str | None:
    """The clause said about the subject, without a full stop; None if that cannot be done safely.

    Example:
        >>> third_person("I live in Oslo with my sister", Subject())
        "The user lives in Oslo with the user's sister"
    """
    plain = spelled_out(clause)
    if _SPOKEN_BY_OTHERS.search(plain):
        return None
    try:
        turned = _with_subjects(plain, subject)
    except _Unsafe:
        return None
    for pattern, form in _REST:
        turned = pattern.sub(form.format(their=subject.their, them=subject.they, all=subject.together), turned)
    # Repeating someone's possessive is hard to read.
    turned = turned.replace(f"{subject.their} own ", "their own ")
    return None if _LEFT_OVER.search(turned) else capitalised(turned)


def _with_subjects(clause: str, subject: Subject) -> str:
    both = _TOGETHER.match(clause)
    if both and not any(verbs.third_person(word) for word in both[1].lower().split()):
        if clause.startswith("'", both.end()):
            raise _Unsafe
        clause = f"{both[1]} and \0{clause[both.end() :]}"
    turned = _I.sub(lambda match: _singular(match, subject, clause), clause)
    turned = _WE.sub(lambda match: _joined(match, match["verb"], subject.together, _PLURAL_CLITICS), turned)
    return turned.replace("\0", subject.they)


def _singular(match: re.Match[str], subject: Subject, clause: str) -> str:
    if _INVERTED.search(clause[: match.start()]):
        raise _Unsafe
    verb = match["verb"] if match["clitic"] else _conjugated(match["verb"], clause[match.end() :])
    return _joined(match, verb, subject.they, _CLITICS)


def _joined(match: re.Match[str], verb: str | None, they: str, clitics: dict[str, str]) -> str:
    """A subject with its verb, and what a clitic stands for."""
    clitic, auxiliary = match["clitic"], None
    if clitic in clitics:
        auxiliary = clitics[clitic]
    elif verb is None:
        raise _Unsafe
    elif clitic:
        auxiliary = "would" if verb in _WOULD else "had"
        if auxiliary == "had" and not verbs.is_participle(verb):
            raise _Unsafe
    return " ".join(filter(None, (they, auxiliary, match["adverbs"].strip(), verb)))


def _conjugated(verb: str | None, rest: str) -> str:
    form = verbs.third_person(verb) if verb else None
    if form is None:
        raise _Unsafe
    if form != verb and verb in verbs.BARE and _goes_on(rest):
        raise _Unsafe
    return form


def _goes_on(rest: str) -> bool:
    """Whether another verb seems to follow that has to change as well: "I live there and work"."""
    for match in _ANOTHER_VERB.finditer(rest):
        follows_infinitive = re.search(r"\bto [a-z]+\b", rest[: match.start()])
        if match[1] in verbs.BARE and not follows_infinitive:
            return True
    return False


_FILLERS = r"(?:actually|even|also|finally|just|still|too|recently)"
_AFTER_SUBJECT = named_pattern("rewriting", "after_subject")
_IN_A_ROW = re.compile(r"\b(and|or) (?:even|also|finally|just)\b(?= [a-z])")
_FIRST = re.compile(rf"^(?:(?:{_FILLERS}|lately)\b,? )+(?=\w)", re.IGNORECASE)
_LAST = named_pattern("rewriting", "last")
_BEINGS = "|".join(alternatives("vocabulary", key) for key in ("kin", "pets"))


def without_fillers(clause: str) -> str:
    """The clause without connecting words at its edges.

    Example:
        >>> without_fillers("I also joined a choir recently")
        'I joined a choir'
    """
    shown = _FIRST.sub("", clause)
    shown = _LAST.sub("", shown)
    shown = _AFTER_SUBJECT.sub(r"\1", shown)
    return _IN_A_ROW.sub(r"\1", shown)


rests_on_others = finds("rewriting", "rests", beings=_BEINGS)
"""Whether the clause builds on something said before: "another trip", "even more"."""

claims_news = finds("rewriting", "news")
"""Whether only an adverb in the clause says that it is recent."""
