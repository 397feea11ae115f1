"""Edits Markdown by its "## Section" blocks. Pure functions from text to text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langmem_tiers.errors import InvalidText

_HEADING = re.compile(r" {0,3}##[ \t]+(?P<title>.*?)[ \t]*#*[ \t]*")
_BULLET = re.compile(r"^[-*+•](?: |$)")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class _Block:
    """A heading with the lines below it; without a heading, the lines above the first."""

    title: str | None
    lines: tuple[str, ...]

    def __str__(self) -> str:
        body = "\n".join(self.lines).strip("\n")
        heading = "" if self.title is None else f"## {self.title}"
        return "\n".join(part for part in (heading, body) if part)


def normalised(text: str) -> str:
    """`text` with uniform newlines, and without trailing white space or blank lines around it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def with_line(text: str, line: str, section: str) -> str:
    """`text` with a list item added to a section, which is created if needed; unchanged if the item exists.

    Raises:
        InvalidText: the line is blank, or the section's name is.
    """
    item = _plain(line)
    if not item:
        raise InvalidText("The line has no text.", way_out="Give the line to add.")
    title = _title(section)
    block = _of_title(_parsed(text), title) or _Block(title, ())
    if any(_key(item) == _key(held) for held in block.lines):
        return text
    kept = "\n".join(block.lines).strip("\n")
    return _put(text, _Block(block.title, (*kept.split("\n"), f"- {item}") if kept else (f"- {item}",)))


def with_section(text: str, section: str, body: str) -> str:
    """`text` with a section replaced by these lines, or created; without lines, the section is removed.

    Raises:
        InvalidText: the section's name is blank, or the lines contain the heading of another section.
    """
    title = _title(section)
    lead, *rest = _parsed(normalised(body))
    if rest and not str(lead) and _key(rest[0].title or "") == _key(title):
        lead, *rest = rest  # the lines begin with the section's own heading
    if rest:
        raise InvalidText(
            f"The text for {_shown(title)} holds the heading of another section, {_shown(rest[0].title or '')}.",
            way_out="Give each section's lines on their own, or write the whole text.",
        )
    held = _of_title(_parsed(text), title)
    return _put(text, _Block(title if held is None else held.title, lead.lines))


def without(text: str, what: str) -> str:
    """`text` without a section, given by its title, or without a line, given by its text or by words in it.

    Raises:
        InvalidText: there is no such section or line, or there are several such lines.
    """
    blocks = _parsed(text)
    gone = _of_title(blocks, _heading_or(what)) if what.strip() else None
    if gone is not None:
        return _joined([block for block in blocks if block is not gone])
    place, line = _the_line(blocks, what)
    lines = blocks[place].lines[:line] + blocks[place].lines[line + 1 :]
    # If no line is left below the heading, the heading goes as well.
    blocks[place] = _Block(blocks[place].title if any(each.strip() for each in lines) else None, lines)
    return _joined(blocks)


def _parsed(text: str) -> list[_Block]:
    """The blocks in order, starting with the one without a heading, which may be empty."""
    blocks: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in text.split("\n"):
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            blocks.append((heading["title"], []))
        else:
            blocks[-1][1].append(line)
    return [_Block(title, tuple(lines)) for title, lines in blocks]


def _joined(blocks: Sequence[_Block]) -> str:
    return "\n\n".join(shown for block in blocks if (shown := str(block)))


def _put(text: str, block: _Block) -> str:
    """`text` with a block replacing the one with the same title, or appended; an empty block removes it."""
    blocks = _parsed(text)
    held = _of_title(blocks, block.title or "")
    changed = [block if each is held else each for each in blocks] if held is not None else [*blocks, block]
    return _joined([each for each in changed if each is not block or any(line.strip() for line in each.lines)])


def _of_title(blocks: Sequence[_Block], title: str) -> _Block | None:
    wanted = _key(title)
    return next((block for block in blocks if block.title is not None and _key(block.title) == wanted), None)


def _title(section: str) -> str:
    title = _heading_or(section)
    if not title:
        raise InvalidText("The section has no name.", way_out="Name it, such as 'Preferences'.")
    return title


def _heading_or(text: str) -> str:
    return " ".join(text.split()).strip("#").strip()


def _the_line(blocks: Sequence[_Block], what: str) -> tuple[int, int]:
    """Block and index of the line meant: equal apart from its bullet, else the only one with these words."""
    lines = [(n, at, line) for n, block in enumerate(blocks) for at, line in enumerate(block.lines)]
    wanted = _key(what)
    is_it: tuple[Callable[[str], bool], ...] = (lambda line: _key(line) == wanted, lambda line: wanted in _key(line))
    for meant in is_it if wanted else ():
        found = [(n, at) for n, at, line in lines if meant(line)]
        if len(found) > 1:
            raise InvalidText(
                f"There are {len(found)} lines with {_shown(what)}.", way_out="Give the whole line, or more of it."
            )
        if found:
            return found[0]
    raise InvalidText(f"There is no section or line {_shown(what)}.", way_out="Read the text for those there are.")


def _plain(line: str) -> str:
    """A single line without its bullet."""
    return _BULLET.sub("", " ".join(line.split()), count=1).strip()


def _key(line: str) -> str:
    return _plain(line).casefold()


def _shown(text: str) -> str:
    return ascii(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
