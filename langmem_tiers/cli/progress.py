"""Progress bars on standard error, for anything that takes more than a second. No business logic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int, int | None], None]


@contextmanager
def progress(what: str, *, shown: bool = True) -> Iterator[Advance]:
    """A bar that is gone when the work is done; call what it gives with the number done and the total if known."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    errors = Console(stderr=True, markup=False)
    with Progress(*columns, console=errors, transient=True, disable=not (shown and errors.is_terminal)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
