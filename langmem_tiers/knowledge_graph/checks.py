"""Validation of what callers pass to the graph: each check returns the value to use, or raises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from langmem_tiers import arguments
from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import InvalidInput, InvalidPointer, InvalidRelation, InvalidText
from langmem_tiers.knowledge import validation
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.language import predicates, values
from langmem_tiers.language.values import Value
from langmem_tiers.language.words import occurs
from langmem_tiers.palace.lookup import find_drawer
from langmem_tiers.records import BUILT_IN_TYPES, Authority, Evidence, GraphEvidence, GraphPath
from langmem_tiers.settings import Settings
from langmem_tiers.types import Origin
from langmem_tiers.wording import beginning

_BY: dict[Origin, tuple[GraphPath, Authority]] = {
    "user": ("user", Authority.USER),
    "import": ("user", Authority.USER),
    "assistant": ("tool", Authority.AGENT),
    "tool": ("tool", Authority.AGENT),
}
_TYPES = frozenset({*BUILT_IN_TYPES, "pet", "animal"})
# A custom type at least this similar (of 100) to a built-in one is taken for a typo.
_TYPO = 80
_MOST_ALIASES = 100
_MOST_EVIDENCE = 1000


class SaidBy(NamedTuple):
    """Who makes a statement, and the authority that goes with it."""

    origin: Origin
    path: GraphPath
    authority: Authority


def said_by(given: Origin) -> SaidBy:
    """The author of a change.

    Raises:
        InvalidInput: it is not a known origin.
    """
    origin = validation.origin(given)
    return SaidBy(origin, *_BY.get(origin, ("rule", Authority.SYSTEM)))


def aliases(given: Any) -> tuple[str, ...]:
    """Other names, without repetitions.

    Raises:
        InvalidInput: it is not a list of strings, or there are more than 100.
    """
    names = tuple(dict.fromkeys(arguments.texts(given, "aliases")))
    if len(names) > _MOST_ALIASES:
        raise InvalidInput(f"There are {len(names):,} aliases; the limit is {_MOST_ALIASES}.", way_out="Give fewer.")
    return names


def entity_type(given: Any, argument: str) -> str:
    """An entity type: a built-in one, or the caller's own word.

    Raises:
        InvalidText: it is not a single word, or it looks like a misspelled built-in type.
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
    """The text of a predicate.

    Raises:
        InvalidInput, InvalidRelation: it is no string, cannot be a predicate, or says that something is over or not so.
        SecretRefused, InvalidText: it looks like a secret or an instruction.
    """
    said = arguments.text(given, "predicate").strip()
    predicates.reading(said)
    predicates.require_so(said)
    bad = next((sign for sign in said if not sign.isprintable()), None)
    if bad is not None:
        raise InvalidRelation(f"The predicate holds the character {bad!a}.", way_out="Give a word or two.")
    require_harmless(said, "predicate", settings)
    return " ".join(said.split())


def value(given: Any, unit: str | None, settings: Settings) -> Value:
    """A literal value.

    Raises:
        InvalidRelation: it cannot be a value.
        SecretRefused, InvalidText: it looks like a secret or an instruction.
    """
    read = values.read(given, unit)
    require_harmless(str(read), "value", settings)
    return read


def evidence(context: SpaceContext, given: Any) -> tuple[Evidence, ...]:
    """The cited drawers, without repetitions.

    Raises:
        InvalidPointer: one of them is not a drawer of this space.
        InvalidInput: a quote does not occur in its drawer, or there are more than 1,000.
    """
    cited = (given,) if isinstance(given, int | str | GraphEvidence) else given
    each = list(arguments.several(cited, "evidence", "drawers"))
    if len(each) > _MOST_EVIDENCE:
        raise InvalidInput(f"{len(each):,} drawers are cited; the limit is {_MOST_EVIDENCE:,}.", way_out="Cite fewer.")
    return tuple({found.drawer: found for found in _resolved(context, each)}.values())


def _resolved(context: SpaceContext, cited: Iterable[Any]) -> Iterable[Evidence]:
    for one in cited:
        quote = arguments.any_text(one.quote, "evidence.quote") if isinstance(one, GraphEvidence) else ""
        drawer = find_drawer(context, one.drawer if isinstance(one, GraphEvidence) else one)
        if drawer is None:
            raise InvalidPointer(f"{beginning(str(one), 80)!a} is no drawer of this space.")
        if not occurs(quote, drawer.content):
            raise InvalidInput(
                f"Drawer {drawer.pointer} does not hold {beginning(quote, 80)!a}.", way_out="Quote it verbatim."
            )
        yield Evidence(drawer=drawer.number, quote=quote)


def require_harmless(text: str, what: str, settings: Settings) -> None:
    """Require that a text is safe to show to an agent.

    Raises:
        SecretRefused, InvalidText: it looks like a secret or an instruction.
    """
    kept = settings.privacy.derived == "keep"
    naming.require_harmless(text, what, secrets=kept, way_out="Say what is so.")
