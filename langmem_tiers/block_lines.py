"""The lines of a block: how each is written, and how that of a message is recognised in a text.

A line says what it shows, when that was said and by whom, and then its text, whose further lines are indented:

    - [§W-001/R-02/D-003] 2026-03-02 user: My sister Anna lives in Lisbon.
"""

from __future__ import annotations

import re
from datetime import datetime

from langmem_tiers.fencing import escape

_ISO_DAY = r"\d{4}-\d\d-\d\d"

MESSAGE_LINE = re.compile(
    r"^[ \t]*- \[(?P<pointer>§W-\d{3,18}/R-\d{2,18}/D-\d{3,18}(?:@[\w%./-]{1,4000})?)\] "
    rf"(?P<day>{_ISO_DAY}) "
    r"(?P<said>[^\n]+(?:\n {2}[^\n]*)*)\n?",
    re.MULTILINE,
)
"""The line of a message, with all lines of its text. Nobody types one."""
_MARKED = re.compile(r'(?P<speaker>[^:(]+(?: \(.*?"\))?): (?P<text>.*)', re.DOTALL)
MESSAGE_MARK = "[§W-"
"""What every such line holds: a text without it need not be searched."""


def label(reference: str, at: datetime, about: str = "") -> str:
    """What stands before the text of a line.

    Example:
        >>> label("entry 3f2a9c01d4e5", datetime(2026, 3, 2), "people/family")
        '[entry 3f2a9c01d4e5] 2026-03-02 people/family'
    """
    return f"[{reference}] {at.date().isoformat()}{f' {about}' if about else ''}"


def line(before: str, text: str) -> str:
    """A line of a block. The text is escaped here; what stands `before` it has to be already."""
    body = "\n  ".join(escape(text).replace("\r", "").strip("\n").split("\n"))
    return f"- {before}: {body}"


def message_parts(said: str) -> tuple[str, str]:
    """Who said it, with the mark of what was said later against it, and the text of a message.

    Example:
        >>> message_parts('user (but later, 2026-03-10: "Tom sold it."): Tom has a boat: a red one.')
        ('user (but later, 2026-03-10: "Tom sold it.")', 'Tom has a boat: a red one.')
    """
    found = _MARKED.fullmatch(said)
    if found is not None:
        return found["speaker"], found["text"]
    speaker, _, text = said.partition(": ")
    return speaker, text
