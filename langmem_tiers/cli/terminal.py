"""How text reaches the terminal. No business logic.

Stored text is somebody else's: whatever a terminal would obey (escape sequences, other control characters, marks that
reverse the reading direction) is shown as an escape instead, in plain output, in tables and in JSON alike.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def safe(text: str) -> str:
    r"""`text` with everything that a terminal would obey written as an escape; newlines and tabs stay.

    Example:
        >>> safe("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    return _OBEYED.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def shortened(text: str, width: int) -> str:
    """`text` on one safe line of at most `width` characters."""
    line = safe(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def as_data(value: object) -> Any:
    """A record as plain JSON data: dataclasses and mappings as objects, times in ISO 8601, the rest as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_data(item) for key, item in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_data(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def print_json(value: object) -> None:
    """Print records as one JSON document."""
    text = json.dumps(as_data(value), ensure_ascii=False, indent=2)
    sys.stdout.write(_OBEYED.sub(lambda found: f"\\u{ord(found.group()):04x}", text) + "\n")


def print_text(text: str) -> None:
    """Print stored text, made safe."""
    sys.stdout.write(safe(text) + "\n")


def print_rich(*renderables: RenderableType) -> None:
    """Print tables, trees and strings; no string in them is read as markup. Make stored text `safe` first."""
    console().print(*renderables, sep="\n")


def print_error(message: str) -> None:
    """Print one line on standard error."""
    print(f"langmem-tiers: {safe(' '.join(message.split()))}", file=sys.stderr)


def console() -> Console:
    """A console on standard output; when that is a file or a pipe, wide enough not to fold lines."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 160
    return Console(width=width, markup=False, emoji=False, highlight=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on standard error while something takes its time; nothing when nobody watches."""
    from rich.console import Console

    errors = Console(stderr=True, markup=False, emoji=False)
    with errors.status(what) if errors.is_terminal else nullcontext():
        yield


def tolerate_any_text() -> None:
    """Let characters that the terminal's encoding lacks come out as escapes instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
