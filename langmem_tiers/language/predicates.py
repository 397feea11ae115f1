"""Predicates of relations: many phrases are normalised to one word, and what is known about each.

`data/predicates.toml` lists for each predicate the phrases that mean it, whether it has one value at a time,
whether it is symmetric, which questions ask for it, what it leads to, and whether it ends with a life.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

from langmem_tiers.errors import InvalidRelation
from langmem_tiers.language import kinship, verbs
from langmem_tiers.language.word_lists import listed, named_pattern, table, word_set
from langmem_tiers.language.word_lists import phrases as listed_phrases
from langmem_tiers.language.words import STOPWORDS, folded, is_part_of_word
from langmem_tiers.settings import GraphSettings
from langmem_tiers.wording import beginning, type_of

_LONGEST_SAID = 200
_LONGEST = 64


class Predicate(NamedTuple):
    """What is known about a predicate, as described in `data/predicates.toml`."""

    said: tuple[str, ...]
    turned: tuple[str, ...] = ()
    single: bool = False
    mutual: bool = False
    where: str = ""
    kin: str = ""
    value: bool = False
    object: str = ""
    living: Literal["", "subject", "both"] = ""
    event: str = ""


def _predicate(said: str, turned: str = "", **known: Any) -> Predicate:
    return Predicate(listed_phrases(said), listed_phrases(turned), **known)


_PREDICATES = {name: _predicate(**known) for name, known in table("predicates").items()}
_EMPTY = listed("words", "empty")
_AUXILIARY = word_set("is are was were am been being has have had having do does did")
# What "where" asks for if nothing else in the question says so, limited to the predicates that a word suggests:
# "where did I work" does not ask for a profession.
_PLACES = frozenset(name for name, known in _PREDICATES.items() if known.where == "alone")
_SOMEWHERE = frozenset(name for name, known in _PREDICATES.items() if known.where)
# Kinship words that another relation expresses as well.
_ALSO = {word: name for name, known in _PREDICATES.items() for word in known.kin.split()}
# Words in many phrases that mean nothing alone.
_SAY_NOTHING = STOPWORDS | word_set("be have get go use time place name people person own part")

OF_THE_LIVING = frozenset(name for name, known in _PREDICATES.items() if known.living)
"""Predicates that end with the life of their subject: what only the living do or have."""
IN_THE_LIVING = frozenset(name for name, known in _PREDICATES.items() if known.living == "both")
"""Predicates that end with the life of their object as well."""

OVER = "Say what held, such as 'lives in', with valid_to; what is known is ended with end_relation."
"""What to do instead of saying that something is over."""
NOT_SO = "What is known and was never so is withdrawn with withdraw_relation, what is over is ended with end_relation."
"""What to do instead of saying that something is not so."""

_NO_MORE = named_pattern("predicates", "no_more")
_ONCE = named_pattern("predicates", "once")
_NOT = named_pattern("predicates", "not")
# Feelings whose wording only looks like a negation.
_SAYS_YES = named_pattern("predicates", "says_yes")
_MARKS = re.compile(r"[\W_]+")


class PredicateForm(NamedTuple):
    """A predicate as stored, and whether subject and object have to change places."""

    predicate: str
    turned: bool = False


class Negated(NamedTuple):
    """A predicate that says that something is over, or is not so: `predicate` is what it negates.

    `how` is "no_more" ("no longer lives in"), "once" ("used to live in"), or "not_so" ("does not live in").
    """

    predicate: str
    how: Literal["no_more", "once", "not_so"]


def normalise(text: str) -> str:
    """The stored form of a predicate in any wording; an unknown one becomes its own words, joined by "_".

    See `reading` for those that are said the other way round.

    Raises:
        InvalidRelation: it contains no letter or digit, or is longer than 200 characters.

    Example:
        >>> normalise("is currently employed by"), normalise("hires"), normalise("is afraid of")
        ('works_at', 'works_at', 'afraid_of')
    """
    return reading(text).predicate


def reading(text: str) -> PredicateForm:
    """The stored form of a predicate in any wording, and whether subject and object change places.

    Raises:
        InvalidRelation: it contains no letter or digit, or is longer than 200 characters.

    Example:
        >>> reading("employs")
        PredicateForm(predicate='works_at', turned=True)
    """
    if not isinstance(text, str):
        raise InvalidRelation(f"{type_of(text)} is no predicate.")
    if len(text) > _LONGEST_SAID:
        raise InvalidRelation(f"The predicate has {len(text):,} characters; the limit is {_LONGEST_SAID}.")
    return _reading(text)


def single_valued(predicate: str, settings: GraphSettings) -> bool:
    """Whether a stored predicate has one value at a time."""
    if predicate in _own(settings.several_valued):
        return False
    known = _PREDICATES.get(predicate)
    return (
        (known is not None and known.single)
        or predicate in _own(settings.single_valued)
        or (predicate.startswith("has_") and kinship.only_one(predicate.removeprefix("has_")))
    )


@cache
def single_by_default(predicate: str) -> bool:
    """Whether a stated predicate has one value at a time, unless the settings say otherwise."""
    return single_valued(predicate, GraphSettings())


def symmetric(predicate: str) -> bool:
    """Whether a stored predicate says the same about both: whoever is married to Anna, Anna is married to."""
    known = _PREDICATES.get(predicate)
    if known is not None:
        return known.mutual
    return predicate.startswith("has_") and kinship.mutual(predicate.removeprefix("has_"))


def leads_to_value(predicate: str) -> bool:
    """Whether a stored predicate leads to a literal value, not to an entity."""
    known = _PREDICATES.get(predicate)
    return known is not None and known.value


def asks_of_events(question: Iterable[str]) -> bool:
    """Whether the words of a question ask for what happened, rather than for what was so.

    Example:
        >>> asks_of_events(["what", "did", "i", "attend"]), asks_of_events(["where", "did", "i", "live"])
        (True, False)
    """
    return any(map(of_event, chain(*asked(question).values())))


def of_event(predicate: str) -> str:
    """What a stored predicate is called where it happened, such as on one day; empty if it cannot happen like that.

    Example:
        >>> of_event("attends"), of_event("repaired"), of_event("lives_in")
        ('attended', 'repaired', '')
    """
    known = _PREDICATES.get(predicate)
    if known is not None:
        return known.event
    return "" if kinship.read(predicate) else predicate.replace("_", " ")


def object_type(predicate: str) -> str:
    """The type of the entity that a stored predicate leads to; empty if it may be any."""
    known = _PREDICATES.get(predicate)
    return "" if known is None else known.object


def known() -> tuple[str, ...]:
    """The predicates with known phrases, by name."""
    return tuple(sorted(name for name, known in _PREDICATES.items() if known.said))


def negated(said: str) -> Negated | None:
    """What a predicate says is over, or not so; None for an affirmative one.

    Example:
        >>> negated("no longer lives in"), negated("used to live in"), negated("lives in")
        (Negated(predicate='lives in', how='no_more'), Negated(predicate='live in', how='once'), None)
    """
    plain = " ".join(_MARKS.sub(" ", said.casefold()).split())
    if plain in phrases() or kinship.read(plain) is not None or _SAYS_YES.fullmatch(plain):
        return None
    for pattern, how in ((_NO_MORE, "no_more"), (_ONCE, "once")):
        if match := pattern.fullmatch(plain):
            base = "".join(part for part in match.groups() if part)
            return Negated(base.removeprefix("to "), how)  # type: ignore[arg-type]
    return Negated("", "not_so") if _NOT.fullmatch(plain) else None


def require_so(said: str) -> None:
    """Check that a predicate is affirmative.

    Raises:
        InvalidRelation: it says that something is over or not so; the message says how to express that.
    """
    found = negated(said)
    if found is None:
        return
    if found.how == "not_so":
        raise InvalidRelation(f"{beginning(said, 60)!a} says what is not so, and a relation what is.", way_out=NOT_SO)
    raise InvalidRelation(f"{beginning(said, 60)!a} says that something is over.", way_out=OVER)


def asked(said: Iterable[str]) -> dict[str, frozenset[str]]:
    """The words of a question that refer to predicates, with those predicates.

    Example:
        >>> asked(["when", "did", "we", "marry"])
        {'marry': frozenset({'married_to'})}
    """
    words = list(said)
    told = {}
    for word in words:
        kin = kinship.read(word)
        if found := _by_word().get(word, frozenset()) if kin is None else of_kin(kin.word):
            told[word] = found
    if "where" in words:
        return {word: found & _SOMEWHERE or found for word, found in told.items()} or {"where": _PLACES}
    return told


def of_kin(word: str) -> frozenset[str]:
    """The predicates from someone to their sister, boss or dog.

    Example:
        >>> sorted(of_kin("wife")), sorted(of_kin("boss"))
        (['has_wife', 'married_to'], ['has_boss', 'reports_to'])
    """
    found = {kinship.predicate(word)}
    with suppress(InvalidRelation):
        found.add(normalise(f"has {word}"))
    also = _ALSO.get(kinship.canonical(word))
    return frozenset(found | ({also} if also else set()))


@lru_cache(maxsize=4096)
def _reading(text: str) -> PredicateForm:
    plain = _plain(text)
    if not plain:
        raise InvalidRelation(f"{beginning(text, 40)!a} is no predicate: it holds no letter or digit.")
    found = next((each for form in _forms(plain) if (each := phrases().get(form))), None)
    if found is not None:
        return found
    kin = kinship.read(plain) or kinship.read(" ".join(text.casefold().split()))
    if kin is not None:
        return PredicateForm(kinship.predicate(kin.word), kin.turned)
    return PredicateForm(_joined(plain))


def _plain(text: str) -> str:
    """Lower-case letters and digits with single blanks; accents stay."""
    if text.isascii() and text.replace(" ", "").isalnum():  # as thousands of known phrases
        return " ".join(text.lower().split())
    shown = (sign for sign in folded(text) if unicodedata.category(sign) != "Cf")
    marks = "".join(sign if is_part_of_word(sign) else " " for sign in shown)
    return " ".join(marks.split())


def _forms(plain: str) -> Iterator[str]:
    """A phrase as it is, without empty words, and without leading auxiliaries."""
    yield plain
    words = [word for word in plain.split() if word not in _EMPTY]
    yield " ".join(words)
    while words and words[0] in _AUXILIARY:
        words = words[1:]
        yield " ".join(words)


def _joined(plain: str) -> str:
    """The words of an unknown predicate joined into one; a leading "is" means nothing, a "no" does."""
    words = plain.split()
    while (
        len(words) > 1
        and words[0] in {"is", "are", "was", "were", "am", "be", "been"}
        and words[1] not in {"not", "no"}
    ):
        words = words[1:]
    return "_".join(words)[:_LONGEST].strip("_")


@cache
def phrases() -> dict[str, PredicateForm]:
    """Every known phrase in every form, with its meaning."""
    made: dict[str, PredicateForm] = {}
    for turned in (False, True):
        for predicate, known in _PREDICATES.items():
            for phrase in known.turned if turned else known.said:
                for form in _inflected(phrase):
                    made.setdefault(_plain(form), PredicateForm(predicate, turned))
    for predicate, known in _PREDICATES.items():
        if known.said:
            made[predicate.replace("_", " ")] = PredicateForm(predicate)
    return made


def _inflected(phrase: str) -> Iterator[str]:
    yield phrase
    verb, _, rest = phrase.partition(" ")
    if phrase.endswith((" is", " is in", " is on")) or verb in _EMPTY:
        return
    tail = f" {rest}" if rest else ""
    for form in verbs.forms(verb):
        yield form + tail
        # Lookups drop articles, too.
        yield " ".join(word for word in (form + tail).split() if word not in _EMPTY)
    # "Is painted" tells of a colour, and "painted" of what somebody did.
    if verb == "be" and rest and rest not in {"a", "an", "in", "at", "on", "about"} and not verbs.is_past(rest):
        yield rest
        yield " ".join(word for word in rest.split() if word not in _EMPTY)


@lru_cache(maxsize=64)
def _own(predicates: Collection[str]) -> frozenset[str]:
    """Predicates from a setting, as stored."""
    return frozenset(_reading(each).predicate for each in predicates if _plain(each))


@cache
def _by_word() -> dict[str, frozenset[str]]:
    """The predicates by the words of their phrases, in every form."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for phrase, reading in phrases().items():
        for word in phrase.split():
            if word not in _SAY_NOTHING and len(word) > 1:
                found[word].add(reading.predicate)
    return {word: frozenset(those) for word, those in found.items()}
