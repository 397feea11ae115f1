"""What callers of the graph may give: each check gives the value to work with, or says what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from langmem_tiers import arguments
from langmem_tiers.errors import InvalidInput, InvalidPointer, InvalidRelation, InvalidText, SecretRefused
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import naming, negating, predicates, values
from langmem_tiers.knowledge_graph.types import BUILT_IN_TYPES, GraphEvidence, GraphPath, Value
from langmem_tiers.settings import Settings
from langmem_tiers.types import Origin
from langmem_tiers.writing.proposals import Evidence

if TYPE_CHECKING:
    from langmem_tiers.space import Space

_PATHS: dict[Origin, GraphPath] = {"user": "user", "import": "user", "assistant": "tool", "tool": "tool"}
_AUTHORITIES: dict[Origin, Authority] = {
    "user": Authority.USER,
    "import": Authority.USER,
    "assistant": Authority.AGENT,
    "tool": Authority.AGENT,
}
_TYPES = frozenset({*BUILT_IN_TYPES, "pet", "animal"})
# How like a type of the caller's own, of 100, is to be taken for a slip of the hand.
_TYPO = 80
_MOST_ALIASES = 100
_MOST_EVIDENCE = 1000


class SaidBy(NamedTuple):
    """Who says something, and what comes of that."""

    origin: Origin
    path: GraphPath
    authority: Authority


def said_by(given: Origin) -> SaidBy:
    """Who makes a change.

    Raises:
        InvalidInput: it is none of those there are.
    """
    origin = checks.origin(given)
    return SaidBy(origin, _PATHS.get(origin, "rule"), _AUTHORITIES.get(origin, Authority.SYSTEM))


def aliases(given: Any) -> tuple[str, ...]:
    """Other names, each once.

    Raises:
        InvalidInput: it is no list of texts, or there are more than 100.
    """
    names = tuple(dict.fromkeys(arguments.texts(given, "aliases")))
    if len(names) > _MOST_ALIASES:
        raise InvalidInput(f"There are {len(names):,} aliases; the limit is {_MOST_ALIASES}.", way_out="Give fewer.")
    return names


def entity_type(given: Any, argument: str) -> str:
    """A type of entity, one of those there are or a word of the caller's own.

    Raises:
        InvalidText: it is no word, or nearly a type that there is.
    """
    from rapidfuzz import fuzz, process

    kind = naming.check_type(arguments.text(given, argument))
    if kind in _TYPES:
        return kind
    near = process.extractOne(kind, sorted(_TYPES), scorer=fuzz.ratio, score_cutoff=_TYPO)
    if near is not None:
        raise InvalidText(
            f"There is no type {kind!a}: did you mean {near[0]!a}?",
            way_out="A type of your own is a word that is less like a built-in one.",
        )
    return kind


def predicate(given: Any, settings: Settings) -> str:
    """The words of a predicate.

    Raises:
        InvalidInput, InvalidRelation: it is no text, or none that can be a predicate, or says what is over or not so.
        SecretRefused, InvalidText: it looks like a secret or an instruction.
    """
    said = arguments.text(given, "predicate").strip()
    predicates.reading(said)
    negating.require_so(said)
    bad = next((sign for sign in said if not sign.isprintable()), None)
    if bad is not None:
        raise InvalidRelation(f"The predicate holds the character {bad!a}.", way_out="Give a word or two.")
    require_harmless(said, "predicate", settings)
    return " ".join(said.split())


def value(given: Any, unit: str | None, settings: Settings) -> Value:
    """A literal value.

    Raises:
        InvalidRelation: it can be none.
        SecretRefused, InvalidText: it looks like a secret or an instruction.
    """
    read = values.read(given, unit)
    require_harmless(str(read), "value", settings)
    return read


def leads_somewhere(object: str | None, value: Value | None, unit: str | None) -> None:
    """Nothing, where a relation leads to one thing.

    Raises:
        InvalidRelation: it leads to nothing, or to two, or a unit is without its value.
    """
    if (object is None) == (value is None):
        raise InvalidRelation("A relation leads to either an object or a value.")
    if unit is not None and value is None:
        raise InvalidRelation("A unit belongs to a value.", way_out="Give the value, or leave the unit out.")


def evidence(space: Space, given: Any) -> tuple[Evidence, ...]:
    """The drawers cited, each once.

    Raises:
        InvalidPointer: one is no drawer of this space.
        InvalidInput: a quote does not occur in its drawer, or there are more than 1,000.
    """
    cited = (given,) if isinstance(given, int | str | GraphEvidence) else given
    each = list(arguments.several(cited, "evidence", "drawers"))
    if len(each) > _MOST_EVIDENCE:
        raise InvalidInput(f"{len(each):,} drawers are cited; the limit is {_MOST_EVIDENCE:,}.", way_out="Cite fewer.")
    return tuple({found.drawer: found for found in _resolved(space, each)}.values())


def _resolved(space: Space, cited: Iterable[Any]) -> Iterable[Evidence]:
    for one in cited:
        quote = arguments.any_text(one.quote, "evidence.quote") if isinstance(one, GraphEvidence) else ""
        drawer = space.drawer(one.drawer if isinstance(one, GraphEvidence) else one)
        if drawer is None:
            raise InvalidPointer(f"{str(one)[:80]!a} is no drawer of this space.")
        if not occurs(quote, drawer.content):
            raise InvalidInput(f"Drawer {drawer.pointer} does not hold {quote[:80]!a}.", way_out="Quote it verbatim.")
        yield Evidence(drawer=drawer.number, quote=quote)


def require_harmless(text: str, what: str, settings: Settings) -> None:
    """Nothing, where a text may be shown to an agent.

    Raises:
        SecretRefused, InvalidText: it looks like a secret or an instruction.
    """
    from langmem_tiers.trust import secrets as hidden
    from langmem_tiers.trust.instructions import suspicious

    reason = suspicious(text)
    if reason:
        raise InvalidText(f"The {what} reads like an instruction to the agent: it {reason}.", way_out="Say what is so.")
    found = () if settings.privacy.derived == "keep" else hidden.find(text)
    if found:
        raise SecretRefused(f"The {what} holds what looks like a secret ({found[0].kind}).")
