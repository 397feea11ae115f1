"""A conversation as shown to a model: which turns may be shown, each on its own line, and parsing of replies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator

from langmem_tiers.language.characters import one_line
from langmem_tiers.language.quotations import bracketed, quotations
from langmem_tiers.language.turns import is_of_another
from langmem_tiers.records import Said
from langmem_tiers.trust.taint import holds_block, tainted

_LONGEST_TURN = 1200  # characters of a turn that are shown: people write shorter turns, and paste longer ones


def _as_text(given: Any) -> Any:
    """A number as text: models write the year 2019, an age or a house number without quotation marks."""
    return str(given) if isinstance(given, int | float) and not isinstance(given, bool) else given


def _storable(text: str) -> str:
    """The text without lone surrogates, which models produce by escaping and no database accepts."""
    return text.encode("utf-8", "replace").decode()


Words = Annotated[str, AfterValidator(_storable)]
"""A text in a model's reply."""
Value = Annotated[str, BeforeValidator(_as_text), AfterValidator(_storable)]
"""A name, topic or date in a model's reply, which may be a number."""


def _number(given: Any) -> Any:
    """The number in "[3]", "line 3" or [3]; 0, which stands for nothing shown, if there is none."""
    if isinstance(given, list):
        return _number(given[0]) if given else 0
    if not isinstance(given, str):
        return given
    found = re.search(r"\d{1,6}", given)
    return int(found.group()) if found else 0


def _several(given: Any) -> Any:
    """A list, also where a model gives the only one without it."""
    listed = [given] if isinstance(given, str | dict) else given
    return [each for each in listed if each is not None] if isinstance(listed, list) else listed


Given = TypeVar("Given")
Number = Annotated[int, BeforeValidator(_number)]
"""The number of a line or pair in a model's reply."""
Several = Annotated[list[Given], BeforeValidator(_several)]
"""A list in a model's reply."""


def may_be_shown(turn: Said) -> bool:
    """Whether it is a statement of the user, or a reply of the assistant that gives context for one."""
    if turn.role == "assistant":
        return turn.origin in {"assistant", "import"} and not holds_block(turn.content)
    return tainted(turn) is None


def transcript(turns: Sequence[Said], *, mark: str = "", longest: int = _LONGEST_TURN) -> Iterator[str]:
    """One line per turn, with at most this many characters of it, and one for each new day."""
    day = ""
    for number, turn in enumerate(turns, 1):
        if (said_on := f"{turn.said_at:%A, %Y-%m-%d}") != day:
            day = said_on
            yield f"Said on {day}:"
        yield f"{mark.format(number=number)}{_speaker(turn)}: {_shown(_with_quotations(turn), longest)}"


def _with_quotations(turn: Said) -> str:
    """The turn with what a user only quotes in brackets, cut where the model would not be shown more of it."""
    return bracketed(turn.content, quotations(turn.content)) if turn.role == "user" else turn.content


def _speaker(turn: Said) -> str:
    if turn.speaker and is_of_another(turn):
        return one_line(turn.speaker)[:40]
    return f"{turn.role} ({one_line(turn.speaker)[:40]})" if turn.speaker else turn.role


def _shown(content: str, longest: int) -> str:
    """A turn on one line, so that no part of it looks like another; long ones keep their beginning and end."""
    looked_at = 4 * longest
    line = one_line(content[:looked_at])
    if len(content) <= looked_at and len(line) <= longest:
        return line
    head = 3 * longest // 4
    return f"{line[:head]} […] {one_line(content[-looked_at:])[head - longest :]}"
