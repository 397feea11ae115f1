"""Text wrapped to the terminal with its further lines below the first. No business logic."""

from __future__ import annotations

from langmem_tiers.cli.terminal import console, safe

_NARROWEST = 20


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
