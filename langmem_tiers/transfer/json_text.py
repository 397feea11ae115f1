"""JSON as it comes from strangers: parsed strictly, and lists read one element at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NoReturn, TextIO

_CHUNK = 1 << 20
_LARGEST_ELEMENT = 1 << 28


class Malformed(ValueError):
    """Why one entry of a file can not be used; readers turn it into a `LineProblem`."""


def parse(text: str) -> object:
    """The value of one JSON text.

    Raises:
        Malformed: it is no JSON, holds NaN or Infinity, or is nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise Malformed(f"not JSON: {_told(error)} at column {error.colno}") from error
    except RecursionError as error:
        raise Malformed("not usable JSON: nested too deeply") from error
    except Malformed:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise Malformed(f"not usable JSON: {error}") from error


def list_elements(text: TextIO) -> Iterator[object]:
    """The elements of a JSON list, one at a time, so that a file of gigabytes is never held whole.

    Raises:
        Malformed: the text is no JSON list.
    """
    window = _Window(text)
    window.take("[")
    if window.peek() == "]":
        return
    while True:
        yield window.value()
        if window.take(",]") == "]":
            return


class _Window:
    """The part of the text that is held: grows until the next element is whole, then moves on."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._held = ""
        self._at = 0
        self._passed = 0
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant)

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            while self._at < len(self._held):
                if not self._held[self._at].isspace():
                    return self._held[self._at]
                self._at += 1
            if not self._grow():
                return ""

    def take(self, allowed: str) -> str:
        """Step over the next character, which must be one of `allowed`."""
        found = self.peek()
        if not found or found not in allowed:
            self._fail(f"expected {' or '.join(allowed)}, found {found or 'the end'}")
        self._at += 1
        return found

    def value(self) -> object:
        """Step over the next JSON value."""
        self.peek()
        while True:
            try:
                value, self._at = self._decoder.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                # Cut off in the middle, perhaps: only the end of the text can tell.
                if len(self._held) - self._at > _LARGEST_ELEMENT or not self._grow():
                    self._fail(_told(error))
            except RecursionError:
                self._fail("nested too deeply")
            else:
                return value

    def _grow(self) -> bool:
        chunk = self._text.read(max(_CHUNK, len(self._held) - self._at))
        self._passed += self._at
        self._held, self._at = self._held[self._at :] + chunk, 0
        return bool(chunk)

    def _fail(self, reason: str) -> NoReturn:
        raise Malformed(f"{reason} at character {self._passed + self._at + 1}")


def _told(error: json.JSONDecodeError) -> str:
    """What is wrong, without the "at" that some messages end with."""
    return error.msg.removesuffix(" at").removesuffix(" starting")


def _refuse_constant(name: str) -> NoReturn:
    raise Malformed(f"not JSON: {name} is no number")
