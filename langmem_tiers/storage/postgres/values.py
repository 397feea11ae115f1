"""How texts and lists of numbers go to PostgreSQL, and texts come back.

It stores every character but U+0000, for which another one stands there. That is one which no text should hold, so
lengths and parts of a text stay what they are. A text that holds it all the same comes back as it was, too.
"""

from __future__ import annotations

import json
import re
from typing import Any

from psycopg import Connection
from psycopg.abc import Buffer, DumperKey
from psycopg.adapt import Loader, PyFormat
from psycopg.pq import Format
from psycopg.types.array import BaseListDumper, ListDumper
from psycopg.types.string import StrDumperUnknown

# Two of the characters that Unicode keeps from ever being used.
_NUL, _ESCAPE = "\U0010fffe", "\U0010ffff"
_STORED = {"\x00": _NUL, _NUL: f"{_ESCAPE}0", _ESCAPE: f"{_ESCAPE}1"}
_GIVEN = {stored: given for given, stored in _STORED.items()}
_TO_STORE = str.maketrans(_STORED)
_IS_STORED = re.compile("|".join(_GIVEN))


def adapt(connection: Connection[Any]) -> None:
    """Have a connection write and read its values so."""
    adapters = connection.adapters
    adapters.register_dumper(str, _Written)
    adapters.register_dumper(list, _List)
    readers: dict[str, Any] = {"text": _Read, "varchar": _Read, "json": _ReadJson, "jsonb": _ReadObject}
    for kind, reader in readers.items():
        adapters.register_loader(kind, reader)
        adapters.register_loader(kind, type(f"{reader.__name__}Bytes", (reader,), {"format": Format.BINARY}))


def stored(text: str) -> str:
    """A text as the server has it."""
    special = "\x00" in text or _NUL in text or _ESCAPE in text
    return text.translate(_TO_STORE) if special else text


def given(text: str) -> str:
    """A text of the server as it was given."""
    return _IS_STORED.sub(lambda found: _GIVEN[found[0]], text) if _NUL in text or _ESCAPE in text else text


class _Written(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(stored(obj))


class _List(ListDumper):
    """Lists of numbers are written at once: the driver would look at each number several times."""

    def get_key(self, obj: list[Any], format: PyFormat) -> DumperKey:
        return (self.cls, int) if _are_numbers(obj) else super().get_key(obj, format)

    def upgrade(self, obj: list[Any], format: PyFormat) -> BaseListDumper:
        return _Numbers(self.cls, self._tx) if _are_numbers(obj) else super().upgrade(obj, format)


def _are_numbers(values: list[Any]) -> bool:
    return {*map(type, values)} == {int}


class _Numbers(ListDumper):
    """Of no type of its own: the statement says which."""

    def dump(self, obj: list[int]) -> Buffer:
        return b"{%b}" % str(obj)[1:-1].encode()


class _Read(Loader):
    def load(self, data: Buffer) -> str:
        text = str(data, "utf-8")
        return text if text.isascii() else given(text)


class _ReadJson(Loader):
    """JSON that the server made of texts, as a text."""

    def load(self, data: Buffer) -> str:
        return given(bytes(data).decode()).replace("\x00", "\\u0000")


class _ReadObject(_ReadJson):
    """What such JSON holds."""

    def load(self, data: Buffer) -> Any:
        # As bytes it begins with the number of its form.
        return json.loads(super().load(bytes(data).removeprefix(b"\x01")))
