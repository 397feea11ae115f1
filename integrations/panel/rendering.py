"""Templates, and how stored text and times look in them.

Everything that a template prints is escaped, and what browsers would obey or hide is shown as its code point: controls,
marks that turn the direction of text, tag characters. `verbatim` is for text that is to be edited: escaped only.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import regex
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from langmem_tiers.knowledge.preferences import waits
from langmem_tiers.knowledge_graph.wording import predicate_words
from langmem_tiers.wording import counted

TEMPLATES = Path(__file__).parent / "templates"

# Joiners make emoji and are letters of Indian and Persian words; three flags are written with tag characters.
_FLAG = "\U0001f3f4\U000e0067\U000e0062(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in country) for country in ("eng", "sct", "wls"))
)
_HIDDEN = regex.compile(
    rf"({_FLAG})|[[\p{{Cc}}\p{{Cf}}\p{{Cs}}\p{{Co}}\p{{Zl}}\p{{Zp}}\U000e0100-\U000e01ef]--[\n\t\u200c\u200d]]",
    regex.VERSION1,
)


def visible(text: str) -> str:
    r"""`text` with everything that a browser would obey or hide written as its code point.

    Example:
        >>> visible("a\u202eb")
        'a⟨U+202E⟩b'
    """
    if text.isascii() and text.isprintable():
        return text
    return str(_HIDDEN.sub(lambda found: found[1] or f"⟨U+{ord(found[0]):04X}⟩", text))


def hides(text: str) -> bool:
    """Whether a text has characters that `visible` shows."""
    return visible(text) != text


def environment() -> Environment:
    """The templates of the panel; nothing in them is printed as HTML that comes from stored text."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        counted=counted,
        day=_day,
        moment=_moment,
        verbatim=escape,
        hides=hides,
        quoted=_quoted,
        shortened=_shortened,
        predicate=predicate_words,
    )
    made.tests["waiting"] = waits
    return made


def _shown(value: object) -> object:
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _day(moment: datetime) -> Markup:
    """A day, such as 2 Mar 2026, in UTC as everywhere in this memory."""
    return _time(moment, f"{moment.day} {moment:%b %Y}")


def _moment(moment: datetime) -> Markup:
    """A day and a time, such as 2 Mar 2026, 09:00."""
    return _time(moment, f"{moment.day} {moment:%b %Y, %H:%M}")


def _time(moment: datetime, words: str) -> Markup:
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(moment.isoformat(timespec="seconds"), words)


def _quoted(text: Any) -> str:
    """A text as a part of an address."""
    return quote(str(text), safe="")


def address(path: str, **query: str) -> str:
    """A path of the panel with what stands behind its question mark."""
    return f"{path}?{urlencode(query)}"


def _shortened(text: str, most: int) -> str:
    """A text on one line of at most so many characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
