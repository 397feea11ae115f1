"""What the doors to LangGraph and LangChain may be told when they are made; a refusal names the argument."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from langmem_tiers import arguments, naming
from langmem_tiers.errors import InvalidSpace
from langmem_tiers.graphs.prompt import Placement

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

_ON_ERROR = ("log", "raise")


def memory_of(given: Any) -> "Memory":
    """An open memory.

    Raises:
        InvalidInput: it is something else.
    """
    from langmem_tiers.memory import Memory

    return arguments.instance(given, "memory", Memory, "what Memory.open gives")


def on_error_of(given: Any) -> Any:
    """Either "log" or "raise".

    Raises:
        InvalidInput: it is neither.
    """
    return arguments.one_of(given, "on_error", _ON_ERROR)


def placement_of(given: Any) -> Any:
    """One of the places there are for what was recalled.

    Raises:
        InvalidInput: it is none of them.
    """
    return arguments.one_of(given, "placement", get_args(Placement))


def space_of(given: Any) -> Any:
    """The name of a space, a function that names one, or None.

    Raises:
        InvalidSpace: the name can not be one.
        InvalidInput: it is something else.
    """
    if given is None or callable(given):
        return given
    if not isinstance(given, str):
        raise arguments.refused(given, "space", "the name of a space, or a function of config and runtime")
    try:
        return naming.check_space(given)
    except InvalidSpace as error:
        raise InvalidSpace(f"The argument `space`: {error.message}", way_out=error.way_out) from None


def fallbacks_of(given: Any) -> tuple[str, ...]:
    """The names of spaces.

    Raises:
        InvalidInput: it is no list of such.
    """
    names: Sequence[Any] = tuple(arguments.several(given, "fallbacks", "names of spaces"))
    try:
        return tuple(naming.check_space(each) for each in names)
    except InvalidSpace as error:
        raise InvalidSpace(f"The argument `fallbacks`: {error.message}", way_out=error.way_out) from None
