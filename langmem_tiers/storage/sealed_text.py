"""Kinds of text columns that are compared with a stored hash wherever they are selected; see seals.py."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    LargeBinary,
    Text,
    case,
    cast,
    column,
    func,
    literal,
    literal_column,
    null,
    select,
    table,
)

from langmem_tiers.content import WITHHELD

_MARKER = literal_column("'" + WITHHELD.replace("'", "''") + "'", Text)
_SEALS = table("seals", column("space", Text), column("kind", Text), column("ref", Text), column("digest", LargeBinary))


class CheckedText(Text):
    """A text with a hash: wherever it is selected, an altered one is withheld."""

    def seal(self, within: FromClause) -> ColumnElement[Any] | None:
        """The hash of the text in a row of the table, or of an alias of it; None if the key of the row is not there."""
        raise NotImplementedError

    def column_expression(self, colexpr: ColumnElement[Any]) -> ColumnElement[Any]:
        """The text if it has its hash."""
        within = getattr(colexpr, "table", None)
        if within is None or self.seal(within) is None:
            return colexpr
        # Most columns that may be empty are, and a look among the seals takes longer than the rest of a row.
        empty = ((colexpr.is_(None), null()),) if within.c[colexpr.name].nullable else ()
        return case(*empty, (is_intact(colexpr), colexpr), else_=_MARKER)


class HashedText(CheckedText):
    """A text with its hash in another column of its table."""

    cache_ok = True

    def __init__(self, digest: str = "content_hash") -> None:
        super().__init__()
        self.digest = digest

    def seal(self, within: FromClause) -> ColumnElement[Any] | None:
        """The column with the hash."""
        return within.c.get(self.digest)


class SealedText(CheckedText):
    """A text with its hash in the table of seals, by the key of its row, named by columns.

    A row without a seal was written by another program.
    """

    cache_ok = True

    def __init__(self, kind: str = "", keys: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.kind = kind
        self.keys = keys

    def seal(self, within: FromClause) -> ColumnElement[Any] | None:
        """The hash in the table of seals."""
        if any(key not in within.c for key in (*self.keys, "space")):
            return None
        parts: ColumnElement[Any] = cast(within.c[self.keys[0]], Text)
        for key in self.keys[1:]:
            parts = parts.op("||")(literal_column("char(10)", Text)).op("||")(within.c[key])
        own = _SEALS.alias()
        here = (own.c.space == within.c.space, own.c.kind == literal_column(f"'{self.kind}'"), own.c.ref == parts)
        return select(own.c.digest).where(*here).correlate(within).scalar_subquery()


def is_intact(text: Any) -> ColumnElement[bool]:
    """Whether the text in such a column is as it was stored."""
    return func.has_digest(cast(text, LargeBinary), text.type.seal(text.table)) == 1


def intact(text: Any) -> ColumnElement[Any]:
    """The text in such a column as it is to be selected inside an expression, where its type is not asked."""
    return text.type.column_expression(text)  # type: ignore[no-any-return]


def excerpt(text: Any, start: Any, length: Any, *, otherwise: str = WITHHELD) -> ColumnElement[Any]:
    """A part of the text in such a column, with characters counted from 1; of an altered text, something else."""
    return case((is_intact(text), func.substr(text, start, length)), else_=literal(otherwise, Text))
