"""What the benchmarks share in telling their results: a table to read, and JSON with the command that made it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from rich.console import Console
from rich.table import Table

Row = Mapping[str, float | int | str]


def parser(description: str, name: str) -> argparse.ArgumentParser:
    """The arguments every benchmark takes; `name` is that of its result file."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    made.add_argument("--out", type=Path, default=Path("runs") / f"{name}.json", help="where the results go")
    made.add_argument("--seed", type=int, default=1)
    return made


def report(title: str, rows: Sequence[Row], out: Path) -> None:
    """Print the rows as a table and write them down."""
    _print(title, rows)
    out.parent.mkdir(parents=True, exist_ok=True)
    told = {"title": title, "command": _command(), "machine": _machine(), "rows": rows}
    out.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    print(f"written to {out}", file=sys.stderr)


def say(what: str) -> None:
    """Tell on standard error what takes its time now."""
    print(what, file=sys.stderr, flush=True)


def _print(title: str, rows: Sequence[Row]) -> None:
    table = Table(title=title, title_justify="left")
    cells = [[_figure(value) for value in row.values()] for row in rows]
    # No figure and no word of a heading is cut, however many columns there are.
    columns = [*zip_longest(rows[0], *cells, fillvalue="")]
    widths = [max(len(word) for each in column for word in ("", *each.split())) for column in columns]
    for (name, *_), width in zip(columns, widths, strict=True):
        table.add_column(name, justify="right", min_width=width)
    for each in cells:
        table.add_row(*each)
    Console(width=None if sys.stdout.isatty() else max(160, sum(widths) + 3 * len(widths) + 1)).print(table)


def _figure(value: float | int | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _command() -> str:
    return shlex.join(["python", *sys.argv])


def _machine() -> dict[str, object]:
    """What the figures depend on; a load above the number of cores when the run ends means that they are too high."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count(), "load": load}
