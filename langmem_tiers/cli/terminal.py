"""How text reaches the terminal. No business logic.

Stored text is somebody else's: whatever a terminal would obey (escape sequences, other control characters, marks that
reverse the reading direction), and what is there to be read but not seen, is shown as an escape instead, in plain
output, in tables, trees and JSON alike. Everything is made safe here, on its last way out, also where its caller did.

A pipe gets no colours, no boxes and no folded lines, so that `grep` finds what stands on one line. In a narrow
terminal, tables that do not fit become lists.
"""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import typer

from langmem_tiers.cli import tables
from langmem_tiers.errors import UnreadableFile
from langmem_tiers.wording import safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from langmem_tiers.records import Entity, Entry, Relation


MORE = "There are more: --limit says how many to show."


class OutputFailed(OSError):
    """Standard output is closed or accepts no more text: the disk is full, or the reader has gone."""


def shortened(text: str, width: int) -> str:
    """`text` on one safe line of at most `width` characters."""
    line = safe(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def as_data(value: object, forms: Mapping[type, Callable[[Any], object]] | None = None) -> Any:
    """A record as plain JSON data: dataclasses and mappings as objects, times in ISO 8601, the rest as text.

    `forms` gives, by type, what makes plain data of a record in another way.
    """
    if forms and (form := forms.get(type(value))):
        return form(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_data(getattr(value, field.name), forms) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_data(item, forms) for key, item in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_data(item, forms) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def with_authority(record: Entry | Entity | Relation) -> dict[str, Any]:
    """A record as plain JSON data, with the name of its authority instead of the number."""
    return {**as_data(record), "authority": record.authority.name.lower()}


def print_json(value: object) -> None:
    """Print records as one JSON document, in ASCII, so that it is valid whatever the terminal's encoding."""
    text = json.dumps(as_data(value), ensure_ascii=True, indent=2)
    with _output() as output:
        output.write(text.replace("\x7f", "\\u007f") + "\n")


def print_text(text: str) -> None:
    """Print stored text, made safe."""
    with _output() as output:
        output.write(safe(text) + "\n")


def print_json_line(value: object) -> None:
    """Print a record as JSON on one line, for output that goes on and on."""
    with _output() as output:
        output.write(json.dumps(as_data(value), ensure_ascii=True).replace("\x7f", "\\u007f") + "\n")


def print_shown(lines: Iterable[RenderableType]) -> None:
    """Print strings and tables and trees, made safe and fitted to the terminal; nothing is read as markup."""
    for line in lines:
        if isinstance(line, str):
            print_text(line)
        else:
            with _output():
                _print_rendered(line)


def _print_rendered(shown: RenderableType) -> None:
    """Print a table as it fits, and everything else as it is; what it is made of is safe by then, whoever made it."""
    from rich.segment import Segment, Segments
    from rich.table import Table

    terminal = console()
    if isinstance(shown, Table):
        shown = tables.fitting(shown, terminal, hanging)
    segments = terminal.render(shown)
    made_safe = (each if each.control else Segment(safe(each.text), each.style) for each in segments)
    terminal.print(Segments(made_safe), end="", soft_wrap=True)


def print_error(message: str) -> None:
    """Print one line on standard error."""
    print(f"langmem-tiers: {safe(' '.join(message.split()))}", file=sys.stderr)


def leave(message: str) -> NoReturn:
    """Print one line on standard error and end the command with exit code 1."""
    print_error(message)
    raise typer.Exit(1)


def text_of(file: Path) -> str:
    """The text of a file, or of standard input for '-'."""
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return data.decode()
    except OSError as error:
        raise UnreadableFile(f"{file} cannot be read: {error.strerror}.", way_out="Check the path.") from error
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{file} is not text in UTF-8 (byte {error.start:,}).", way_out="Save it as UTF-8."
        ) from error


_SHOWN_PROBLEMS = 20


def print_problems(problems: Sequence[str]) -> None:
    """Print the first problems on standard error, and how many more there are."""
    for problem in problems[:_SHOWN_PROBLEMS]:
        print_error(shortened(problem, 300))
    if len(problems) > _SHOWN_PROBLEMS:
        print_error(f"… and {len(problems) - _SHOWN_PROBLEMS:,} more (--json names all).")


def console() -> Console:
    """A console on standard output; for a file or a pipe it is wide enough not to fold lines."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _UNFOLDED
    return Console(width=width, markup=False, emoji=False, highlight=False)


def require_agreed(question: str, *, yes: bool) -> None:
    """End the command unless somebody says yes or gave `--yes`; the question goes to standard error."""
    if yes:
        return
    print(safe(question), "[y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        leave("Nothing was deleted. With --yes, it is done without a question.")


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on standard error while something runs; nothing if that is no terminal."""
    from rich.console import Console

    errors = Console(stderr=True, markup=False, emoji=False)
    with errors.status(what) if errors.is_terminal else nullcontext():
        yield


@contextmanager
def _output() -> Iterator[TextIO]:
    """Standard output, flushed at the end, so that a failure is noticed here and not when Python exits."""
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError as error:
        raise OutputFailed(error.errno, error.strerror) from error


def drop_output() -> None:
    """Discard what could not be written: Python would try again when it exits, and complain."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def prepare_streams() -> None:
    """Have characters that the terminal's encoding lacks printed as escapes instead of ending the program.

    Raises:
        OutputFailed: standard output is closed.
    """
    # Whatever stream is closed, its number must not go to the next file opened: what is meant for it would land there.
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        raise OutputFailed(errno.EBADF, "it is closed")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


_NARROWEST = 20
_UNFOLDED = 1_000_000


def hanging(first: str, text: str) -> str:
    """`first`, and `text` behind it, safe and wrapped so that its further lines begin below its first one.

    Example:
        >>> hanging("  kept  ", "The user prefers tea.")
        '  kept  The user prefers tea.'
    """
    from rich.text import Text

    terminal = console()
    width = max(_NARROWEST, terminal.width - len(first))
    lines = [line.plain.rstrip() for line in Text(safe(text)).wrap(terminal, width)]
    return first + ("\n" + " " * len(first)).join(lines)


def wrapped(line: str) -> Text:
    """A line made safe, and wrapped between words at the width of the terminal."""
    from rich.text import Text

    return Text(safe(line))


def figures(*names: str, title: str | None = None) -> Table:
    """An empty table: a column of names, then columns of figures, aligned to the right."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column(names[0])
    for name in names[1:]:
        table.add_column(name, justify="right")
    return table


class _OnStandardError(logging.Handler):
    """Prints an event with its fields on one line, and each warning only once."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if line in self.printed and record.levelno < logging.ERROR:
            return
        self.printed.add(line)
        print_error(line)


def show_warnings() -> None:
    """Print warnings of the library from now on."""
    logger = logging.getLogger("langmem_tiers")
    for earlier in [handler for handler in logger.handlers if isinstance(handler, _OnStandardError)]:
        logger.removeHandler(earlier)
    logger.addHandler(_OnStandardError(logging.WARNING))


Advance = Callable[[int, int | None], None]


_SECONDS_A_LINE = 10.0


@contextmanager
def progress(what: str, *, shown: bool = True, every: float = _SECONDS_A_LINE) -> Iterator[Advance]:
    """A progress bar while something runs; call what it yields with the number done and the total, if known.

    It tells how many are done a second, and, if the total is known, how long the rest takes. What is done stays done,
    also where it is what others have left over. Where standard error is no terminal, it is a line
    `every` so many seconds instead.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    errors = Console(stderr=True, markup=False)
    if not errors.is_terminal:
        with _progress_lines(what, every) if shown else nullcontext(_unseen) as advance:
            yield _forward(advance)
        return
    what_it_is, pace = TextColumn("{task.description}"), TextColumn("{task.fields[pace]}")
    columns = (what_it_is, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), pace)
    began = monotonic()
    with Progress(*columns, console=errors, transient=True, disable=not shown) as bar:
        task = bar.add_task(what, total=None, pace="")
        yield _forward(
            lambda done, total: bar.update(
                task, completed=done, total=total, pace=_pace(done, total, monotonic() - began)
            )
        )


def _forward(advance: Advance) -> Advance:
    """The same, never going back."""
    furthest = 0

    def ahead(done: int, total: int | None) -> None:
        nonlocal furthest
        furthest = max(furthest, done)
        advance(furthest, total)

    return ahead


@contextmanager
def _progress_lines(what: str, every: float) -> Iterator[Advance]:
    """Lines printed by a separate thread, since minutes may pass between two steps."""
    reached: tuple[int, int | None] = (0, None)
    began = monotonic()
    over = threading.Event()

    def advance(done: int, total: int | None) -> None:
        nonlocal reached
        reached = done, total

    def tell() -> None:
        while not over.wait(every):
            done, total = reached
            pace = _pace(done, total, monotonic() - began)
            so_far = f"{done:,} so far" if total is None else f"{done:,} of {total:,}"
            print_error(f"{what}: {so_far}, {pace}." if pace else f"{what}: {so_far}.")

    thread = threading.Thread(target=tell, name="langmem-tiers-progress", daemon=True)
    thread.start()
    try:
        yield advance
    finally:
        over.set()
        thread.join()


def _pace(done: int, total: int | None, seconds: float) -> str:
    """How many are done a second, and how long the rest takes at that pace; empty before anything is done."""
    if not done or not seconds:
        return ""
    rate = done / seconds
    shown = f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.1f} a second"
    return shown if total is None else f"{shown}, {timedelta(seconds=round((total - done) / rate))} left"


def _unseen(_done: int, _total: int | None) -> None:
    """Progress that is not shown."""
