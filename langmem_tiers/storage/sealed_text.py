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
    literal_column,
    select,
    table,
)

from langmem_tiers.content import WITHHELD

_MARKER = literal_column("'" + WITHHELD.replace("'", "''") + "'", Text)
_SEALS = table("seals", column("space", Text), column("kind", Text), column("ref", Text), column("digest", LargeBinary))


class HashedText(Text):
    """A text with its hash in another column of its table: wherever it is selected, an altered one is withheld."""

    cache_ok = True

    def __init__(self, digest: str = "content_hash") -> None:
        super().__init__()
        self.digest = digest

    def column_expression(self, colexpr: ColumnElement[Any]) -> ColumnElement[Any]:
        """The text if it has its hash."""
        within = getattr(colexpr, "table", None)
        hashed = None if within is None else within.c.get(self.digest)
        return colexpr if hashed is None else _if_intact(colexpr, hashed)


class SealedText(Text):
    """A text with its hash in the table of seals, by the key of its row, named by columns.

    Wherever it is selected, an altered one is withheld. A row without a seal was written by another program.
    """

    cache_ok = True

    def __init__(self, kind: str = "", keys: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.kind = kind
        self.keys = keys

    def column_expression(self, colexpr: ColumnElement[Any]) -> ColumnElement[Any]:
        """The text if it has its seal, or none."""
        within = getattr(colexpr, "table", None)
        if within is None or any(key not in within.c for key in (*self.keys, "space")):
            return colexpr
        return _if_intact(colexpr, self.seal(within))

    def seal(self, within: FromClause) -> ColumnElement[Any]:
        """The seal of the text in a row of the table, or of an alias of it."""
        parts: ColumnElement[Any] = cast(within.c[self.keys[0]], Text)
        for key in self.keys[1:]:
            parts = parts.op("||")(literal_column("char(10)", Text)).op("||")(within.c[key])
        own = _SEALS.alias()
        here = (own.c.space == within.c.space, own.c.kind == literal_column(f"'{self.kind}'"), own.c.ref == parts)
        return select(own.c.digest).where(*here).correlate(within).scalar_subquery()


def intact(within: FromClause, name: str) -> ColumnElement[Any]:
    """A text as it is to be selected inside an expression, where its type is not asked."""
    found = within.c[name]
    kind = found.type
    return kind.column_expression(found) if isinstance(kind, HashedText | SealedText) else found


def _if_intact(text: ColumnElement[Any], digest: ColumnElement[Any]) -> ColumnElement[Any]:
    checked = func.has_digest(cast(text, LargeBinary), digest)
    return case((checked == 1, text), else_=_MARKER)
