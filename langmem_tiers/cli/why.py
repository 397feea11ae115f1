"""`langmem-tiers why`: why a recall showed a memory, or why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import Shown, space_command
from langmem_tiers.cli.terminal import hanging, shortened

if TYPE_CHECKING:
    from langmem_tiers.space import Space
    from langmem_tiers.types import Explanation

_LAST = "last"
_TEXT = 200


def _receipt(text: str) -> int | None:
    """The number of a receipt; None for the last one."""
    word = text.strip().lower()
    if word == _LAST:
        return None
    if not (word.isascii() and word.isdecimal() and 0 < int(word) < 2**53):
        raise typer.BadParameter(f"{text!r} is neither 'last' nor the number of a receipt, as `receipts list` has it.")
    return int(word)


@space_command()
def why(
    space: Space,
    receipt: Annotated[
        str, typer.Argument(metavar="LAST|RECEIPT", help="'last', or a number as `receipts list` prints it.")
    ],
    of: Annotated[
        str | None,
        typer.Argument(metavar="POINTER|ID|TEXT", help="Which memory: by pointer, number, id, path or words of it."),
    ] = None,
) -> Shown:
    """Say why a recall showed a memory, or why not; without one, why it showed what it did."""
    found = space.why(_receipt(receipt), of)
    return Shown(found, _lines(found))


def _lines(found: Explanation) -> Iterator[str]:
    """What became of a memory, or of all that a recall looked at."""
    yield from (hanging("", sentence) for sentence in found.sentences)
    for part in found.parts if found.kind is None else ():
        yield from _part(part)


def _part(part: Explanation) -> Iterator[str]:
    """One of those looked at: its reference, its stage, what it says."""
    from langmem_tiers.recall.why_words import STAGES

    score = "" if part.score is None else f" (score {part.score:.2f})"
    yield hanging("  ", f"{part.ref}{score}: {STAGES[part.stage or 'not_found']}")
    if part.text:
        yield hanging("      ", shortened(part.text, _TEXT))
