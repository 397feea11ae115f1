"""Checks of public arguments: each returns the value to work with, or names the argument that is wrong.

An error says what was passed and what is expected, and is raised before anything is read or stored.
"""

from __future__ import annotations

import errno
import math
import operator
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

from langmem_tiers.clock import require_aware
from langmem_tiers.errors import InvalidInput, InvalidText

# A 64-bit key can hold eighteen digits.
MOST = 10**18 - 1
# 46 days in seconds: what the locks of every system accept.
_LONGEST_WAIT = 4_000_000.0
_SHOWN = 40

_Kind = TypeVar("_Kind")


def any_text(given: Any, name: str) -> str:
    """Any text, such as a question.

    Raises:
        InvalidText: it is not a text.
    """
    if not isinstance(given, str):
        error = refused(given, name, "a text")
        raise InvalidText(error.message, way_out=error.way_out)
    return given


def text(given: Any, name: str) -> str:
    """A text that can be stored and looked up, such as the name of a session.

    Raises:
        InvalidText: it is not a text, or contains a lone surrogate.
    """
    known = any_text(given, name)
    try:
        known.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(f"The argument `{name}` holds a lone surrogate at character {error.start}.") from None
    return known


def optional_text(given: Any, name: str) -> str | None:
    """Like `text`, or None.

    Raises:
        InvalidText: it is not a text, or contains a lone surrogate.
    """
    return None if given is None else text(given, name)


def optional_name(given: Any, name: str) -> str | None:
    """Like `optional_text`, without blanks around it; None for nothing but blanks.

    Raises:
        InvalidText: it is not a text, or contains a lone surrogate.
    """
    return None if given is None else text(given, name).strip() or None


def texts(given: Any, name: str) -> tuple[str, ...]:
    """Several texts; a single one would be iterated letter by letter, and is refused.

    Raises:
        InvalidInput: it is not a collection.
        InvalidText: one is not a text, or contains a lone surrogate.
    """
    return tuple(text(each, f"{name}[{place}]") for place, each in enumerate(several(given, name, "texts")))


def several(given: Any, name: str, what: str) -> Iterable[Any]:
    """A collection of things named in the plural.

    Raises:
        InvalidInput: it is not a collection, or a single text.
    """
    if isinstance(given, str | bytes | bytearray | Mapping) or not isinstance(given, Iterable):
        raise refused(given, name, f"a list of {what}, also for a single one")
    return given


def whole(given: Any, name: str, *, least: int = -MOST, most: int = MOST) -> int:
    """An integer in a range.

    Raises:
        InvalidInput: it is not an integer, or out of range.
    """
    number = integer(given, name, _range("a whole number", least, most))
    if not least <= number <= most:
        raise refused(number, name, _range("a whole number", least, most))
    return number


def integer(given: Any, name: str, expected: str) -> int:
    """An integer of any size; `expected` says in words what is accepted.

    Raises:
        InvalidInput: it is not an integer.
    """
    if isinstance(given, bool):
        raise refused(given, name, expected)
    try:
        return operator.index(given)
    except TypeError:
        raise refused(given, name, expected) from None


def optional_whole(given: Any, name: str, *, least: int = -MOST, most: int = MOST) -> int | None:
    """Like `whole`, or None.

    Raises:
        InvalidInput: it is not an integer, or out of range.
    """
    return None if given is None else whole(given, name, least=least, most=most)


def share(given: Any, name: str) -> float:
    """A number from 0 to 1.

    Raises:
        InvalidInput: it is not a number, or out of range.
    """
    number = _number(given, name, "a number from 0 to 1")
    if not 0 <= number <= 1:
        raise refused(given, name, "a number from 0 to 1")
    return number


def number(given: Any, name: str) -> float:
    """A number, possibly infinite.

    Raises:
        InvalidInput: it is not a number.
    """
    return _number(given, name, "a number")


def seconds(given: Any, name: str) -> float | None:
    """How long to wait, None for no limit; negative numbers mean no time at all.

    Raises:
        InvalidInput: it is not a number.
    """
    if given is None:
        return None
    number = _number(given, name, "a number of seconds, or None for as long as it takes")
    return min(max(number, 0.0), _LONGEST_WAIT)


def flag(given: Any, name: str) -> bool:
    """True or False; anything else is refused rather than taken for one of them.

    Raises:
        InvalidInput: it is neither.
    """
    return instance(given, name, bool, "True or False")


def one_of(given: Any, name: str, known: Collection[str]) -> Any:
    """One of the allowed words.

    Raises:
        InvalidInput: it is none of them.
    """
    if not isinstance(given, str) or given not in known:
        raise refused(given, name, f"one of {', '.join(known)}")
    return given


def moment(given: Any, name: str) -> datetime:
    """A moment, in UTC.

    Raises:
        InvalidInput: it is not a datetime, or out of range.
        NaiveDatetime: it has no time zone.
    """
    return require_aware(instance(given, name, datetime, "a datetime with a time zone"), f"argument `{name}`")


def optional_moment(given: Any, name: str) -> datetime | None:
    """Like `moment`, or None.

    Raises:
        InvalidInput: it is not a datetime, or out of range.
        NaiveDatetime: it has no time zone.
    """
    return None if given is None else moment(given, name)


def path(given: Any, name: str) -> Path:
    """A local path, with `~` expanded to the home folder.

    Raises:
        InvalidInput: it is not a path, is empty, contains a NUL, or names an unknown user's home.
    """
    raw = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(raw, str) or not raw.strip() or "\0" in raw:
        raise refused(given, name, "a path, as a text or a pathlib.Path")
    try:
        return Path(raw).expanduser()
    except RuntimeError as error:
        raise refused(given, name, "a path whose home folder is known") from error


def whole_path(given: Any, name: str) -> Path:
    """The same as an absolute path.

    Raises:
        InvalidInput: it is not a path, or is relative to a current directory that was deleted.
    """
    there = path(given, name)
    try:
        return there.absolute()
    except FileNotFoundError as error:
        raise refused(given, name, "a path that begins at the root, since the current directory was deleted") from error


def findable_path(given: Any, name: str) -> Path:
    """The path as it was given, of what can be looked for.

    Raises:
        InvalidInput: it is no path, too long for this system, or relative to a current directory that was deleted.
    """
    try:
        os.lstat(whole_path(given, name))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise refused(given, name, "a path that is short enough for this system") from error
    return path(given, name)


def function(given: Any, name: str) -> Callable[..., Any]:
    """A callable.

    Raises:
        InvalidInput: it is not callable.
    """
    if not callable(given):
        raise refused(given, name, "a function")
    known: Callable[..., Any] = given
    return known


def instance(given: Any, name: str, kind: type[_Kind], expected: str) -> _Kind:
    """An instance of a type; `expected` says which in words.

    Raises:
        InvalidInput: it is of another type.
    """
    if not isinstance(given, kind):
        raise refused(given, name, expected)
    return given


def instances(given: Any, name: str, kind: type[_Kind], expected: str) -> list[_Kind]:
    """The argument as a list of instances of a class.

    Raises:
        InvalidInput: it is none, or holds something else.
    """
    return [instance(each, name, kind, expected) for each in several(given, name, expected)]


def refused(given: Any, name: str, expected: str) -> InvalidInput:
    """The error for a value that an argument does not accept."""
    return InvalidInput(f"The argument `{name}` cannot be {_shown(given)}.", way_out=f"Give {expected}.")


def _number(given: Any, name: str, expected: str) -> float:
    if isinstance(given, bool) or not isinstance(given, Real):
        raise refused(given, name, expected)
    try:
        number = float(given)
    except OverflowError:
        number = math.nan
    if math.isnan(number):
        raise refused(given, name, expected)
    return number


def _range(what: str, least: int, most: int) -> str:
    if least > -MOST and most < MOST:
        return f"{what} from {least:,} to {most:,}"
    return f"{what} of {least} or more" if least > -MOST else what


def _shown(given: Any) -> str:
    """The value in an error message: plain values as they are, otherwise the type, since values can be of any size."""
    if given is None or isinstance(given, bool):
        return str(given)
    kind = type(given).__name__
    if isinstance(given, str | float) or (isinstance(given, int) and abs(given) <= MOST):
        plain = ascii(given)
        return f"{plain if len(plain) <= _SHOWN else plain[:_SHOWN] + '…'} ({kind})"
    return f"of type {kind}" if not isinstance(given, int) else "so large a number"
