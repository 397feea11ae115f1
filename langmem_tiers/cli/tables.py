"""Tables as they fit: boxes in a wide terminal, lists in a narrow one, plain columns in a pipe. No business logic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

Hanging = Callable[[str, str], str]
_BETWEEN = "  "
_UNBOUND = 1_000_000
# From so many columns on, cells may be folded; and in a pipe, longer ones do not push the next column away from others.
_WIDE, _LONG = 60, 40


def fitting(table: Table, terminal: Console, hanging: Hanging) -> RenderableType:
    """The table itself where it fits; else its rows as lists, and in a pipe as columns without lines around them.

    `hanging` folds a text behind the words before it.
    """
    from rich.text import Text

    if not terminal.is_terminal:
        return Text("\n".join(_columns(table)))
    needed = terminal.measure(table, options=terminal.options.update(max_width=_UNBOUND))
    if needed.maximum <= terminal.width or (needed.minimum <= terminal.width and terminal.width >= _WIDE):
        return table
    return Text("\n".join(_lists(table, hanging)))


def _columns(table: Table) -> Iterator[str]:
    """The title, and a line for each row, whose cells stand below each other."""
    from rich.cells import cell_len

    if table.title:
        yield str(table.title)
    rows = [[each.replace("\n", " ") for each in row] for row in _rows(table)]
    if table.show_header:
        rows.insert(0, _headers(table))
    widths = [min(max(map(cell_len, cells), default=0), _LONG) for cells in zip(*rows, strict=True)]
    right = [column.justify == "right" for column in table.columns]
    for row in rows:
        padded = (
            " " * (width - cell_len(cell)) + cell if to_right else cell + " " * (width - cell_len(cell))
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        yield _BETWEEN.join(padded).rstrip()


def _lists(table: Table, hanging: Hanging) -> Iterator[str]:
    """The title, and for each row its first cell, and below it a line for each other one that says anything."""
    if table.title:
        yield str(table.title)
    for row in _rows(table):
        named = list(zip(_headers(table), row, strict=True))
        yield hanging("", named[0][1] or "–")
        for header, cell in named[1:]:
            if cell.strip():
                yield hanging(f"  {header}: " if header else "  ", cell.replace("\n", " "))


def _headers(table: Table) -> list[str]:
    return [_plain(column.header) for column in table.columns]


def _rows(table: Table) -> Iterator[Sequence[str]]:
    """The cells of each row as texts; a first cell left blank, as it is that of the row above, is filled in."""
    first = ""
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        row = [_plain(cell) for cell in cells]
        first = row[0] = row[0] or first
        yield row


def _plain(cell: object) -> str:
    from rich.text import Text

    return cell.plain if isinstance(cell, Text) else str(cell)
