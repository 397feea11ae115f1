"""Functions of statements that the database engines spell differently; used as `func.instr` and so on.

A statement names what SQLite calls it. What another engine calls it stands here, so that no statement knows the engine.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy import BigInteger, Integer, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction


class instr(GenericFunction[int]):
    """Where a text begins in another, from 1; 0 if it does not."""

    type = Integer()
    inherit_cache = True


@compiles(instr, "postgresql")
def _instr(element: Any, compiler: Any, **how: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **how)})"


class length(GenericFunction[int]):
    """How many characters a text has."""

    type = Integer()
    inherit_cache = True


@compiles(length, "sqlite")
def _length_sqlite(element: Any, compiler: Any, **how: Any) -> str:
    text = compiler.process(element.clauses, **how)
    return f"CASE WHEN {_has_nul(text)} THEN length_behind_nul({text}) ELSE length({text}) END"


class size_of(GenericFunction[int]):
    """How many bytes a text has in UTF-8."""

    type = Integer()
    inherit_cache = True


@compiles(size_of, "sqlite")
def _size_of_sqlite(element: Any, compiler: Any, **how: Any) -> str:
    return f"length(CAST({compiler.process(element.clauses, **how)} AS BLOB))"


@compiles(size_of, "postgresql")
def _size_of(element: Any, compiler: Any, **how: Any) -> str:
    # U+0000 is stored as a character of four bytes.
    return f"octet_length(replace({compiler.process(element.clauses, **how)}, chr(1114110), ' '))"


class now_millis(GenericFunction[int]):
    """The milliseconds since 1970 by the clock of the database."""

    type = BigInteger()
    inherit_cache = True


@compiles(now_millis, "sqlite")
def _now_millis_sqlite(*_: Any, **__: Any) -> str:
    return "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"


@compiles(now_millis, "postgresql")
def _now_millis(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"


class ending(GenericFunction[str]):
    """The last characters of a text, so many."""

    type = Text()
    inherit_cache = True


@compiles(ending, "sqlite")
def _ending_sqlite(element: Any, compiler: Any, **how: Any) -> str:
    text, count = element.clauses
    return f"substr({compiler.process(text, **how)}, -{compiler.process(count, **how)})"


@compiles(ending, "postgresql")
def _ending(element: Any, compiler: Any, **how: Any) -> str:
    text, count = (compiler.process(each, **how) for each in element.clauses)
    return f"right({text}, CAST({count} AS integer))"


class substr(GenericFunction[str]):
    """A part of a text: from a character, counted from 1, and how many, else to its end."""

    type = Text()
    inherit_cache = True


@compiles(substr, "sqlite")
def _substr_sqlite(element: Any, compiler: Any, **how: Any) -> str:
    text, *numbers = (compiler.process(each, **how) for each in element.clauses)
    given = ", ".join((text, *numbers))
    return f"CASE WHEN {_has_nul(text)} THEN substr_behind_nul({given}) ELSE substr({given}) END"


@compiles(substr, "postgresql")
def _substr(element: Any, compiler: Any, **how: Any) -> str:
    text, *numbers = (compiler.process(each, **how) for each in element.clauses)
    return f"substr({text}, {', '.join(f'CAST({each} AS integer)' for each in numbers)})"


class json_group_array(GenericFunction[str]):
    """The JSON list of the values of all rows, as a text."""

    type = Text()
    inherit_cache = True


@compiles(json_group_array, "postgresql")
def _json_group_array(element: Any, compiler: Any, **how: Any) -> str:
    return f"coalesce(json_agg({compiler.process(element.clauses, **how)}), '[]')"


class json_array(GenericFunction[str]):
    """The JSON list of some values."""

    type = Text()
    inherit_cache = True


@compiles(json_array, "postgresql")
def _json_array(element: Any, compiler: Any, **how: Any) -> str:
    return f"json_build_array({compiler.process(element.clauses, **how)})"


class json_extract(GenericFunction[str]):
    """What a JSON object holds under a path such as `$.name`; of true, SQLite says 1 and others say true."""

    type = Text()
    inherit_cache = True


@compiles(json_extract, "postgresql")
def _json_extract(element: Any, compiler: Any, **how: Any) -> str:
    held, path = (compiler.process(each, **how) for each in element.clauses)
    # As JSON, too, U+0000 is what stands for it in texts.
    held = rf"replace({held}, '\u0000', '\udbff\udffe')"
    return f"(({held})::jsonb #>> string_to_array(substr({path}, 3), '.'))"


class has_digest(GenericFunction[int]):
    """1 if a text is as it was stored, for all that its hash says.

    A server keeps files of its own, which other programs do not write into: there, it is always 1.
    """

    type = Integer()
    inherit_cache = True


@compiles(has_digest, "postgresql")
def _has_digest(_element: Any, _compiler: Any, **_how: Any) -> str:
    return "1"


class counter(GenericFunction[int]):
    """A number that is stored as a text."""

    type = BigInteger()
    inherit_cache = True


@compiles(counter)
def _counter(element: Any, compiler: Any, **how: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **how)} AS BIGINT)"


class greatest(GenericFunction[int]):
    """The greatest of several numbers."""

    type = BigInteger()
    inherit_cache = True


@compiles(greatest, "sqlite")
def _greatest_sqlite(element: Any, compiler: Any, **how: Any) -> str:
    return f"max({compiler.process(element.clauses, **how)})"


def _has_nul(text: str) -> str:
    """Whether a text holds U+0000: to `length` and `substr` of SQLite, it ends there."""
    return f"instr({text}, char(0)) > 0"


def _substr_behind_nul(text: str, start: int, length: int | None = None) -> str:
    return text[max(start - 1, 0) :][:length]


def register(connection: sqlite3.Connection) -> None:
    """Give a connection of SQLite the functions that these are made of."""
    connection.create_function("length_behind_nul", 1, len, deterministic=True)
    connection.create_function("substr_behind_nul", -1, _substr_behind_nul, deterministic=True)
