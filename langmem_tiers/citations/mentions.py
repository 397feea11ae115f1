"""Finds what an answer cites, written as blocks show it or as models write that: pointers, ids and paths.

`§W-001/R-02/D-003` anywhere, with or without `§` and zeros; `entry 3f2a9c01d4e5`, and so episodes and relations; in
brackets `[3f2a9c01d4e5]`, `[document memory/2026-03-02.md]` and `[item key]`. All may end with `@` and a space.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from langmem_tiers.citations.types import CitedKind
from langmem_tiers.pointers import SPACE_NAME, located_pointers

_KINDS: dict[str, CitedKind] = {
    "entry": "entry",
    "episode": "episode",
    "relation": "relation",
    "document": "document",
    "item": "item",
}
_ID = re.compile(rf"(?<![\w/@-])(?P<kind>entry|episode|relation)[ \t]+(?P<id>[0-9a-f]{{12}}(?:@{SPACE_NAME})?)\b", re.I)
# Neither a link nor a footnote of the answer's own.
_BRACKET = re.compile(r"\[(?P<within>[^\[\]\n^][^\[\]\n]{0,600})\](?![(:])")
_NAMED = re.compile(r"(?P<kind>document|item)[ \t]+(?P<name>\S.*)", re.IGNORECASE)
_BARE = re.compile(rf"(?<![\w/@-])[0-9a-f]{{12}}(?:@{SPACE_NAME})?(?![\w@])")


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in an answer where something is cited; `ref` is how it is written, without its kind.

    The `kind` is None where only an id is given.
    """

    start: int
    stop: int
    kind: CitedKind | None
    ref: str


def find_mentions(text: str) -> list[Mention]:
    """All that a text cites, in order, without overlaps."""
    found: list[Mention] = []
    for each in sorted(_candidates(text), key=lambda each: (each.start, -each.stop)):
        if not found or each.start >= found[-1].stop:
            found.append(each)
    return found


def text_of(answer: Any) -> str | None:
    """The text of an answer: a string, a message of LangChain, or content blocks; None for anything else.

    Of content blocks only texts count, not what the model thought or called.
    """
    content = answer.get("content") if isinstance(answer, dict) else getattr(answer, "content", answer)
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "".join(part for each in content if (part := _part(each)))
    return None


def _candidates(text: str) -> Iterator[Mention]:
    for pointer, start, stop in located_pointers(text):
        yield Mention(start, stop, "session" if pointer.drawer is None else "message", str(pointer))
    for match in _ID.finditer(text):
        yield Mention(match.start(), match.end(), _KINDS[match["kind"].lower()], match["id"].lower())
    for bracket in _BRACKET.finditer(text):
        yield from _bracketed(bracket)


def _bracketed(bracket: re.Match[str]) -> Iterator[Mention]:
    """A document or an item in brackets, or ids without their kind."""
    start = bracket.start("within")
    if named := _NAMED.fullmatch(bracket["within"].strip()):
        name = html.unescape(named["name"]).strip()
        yield Mention(start, bracket.end("within"), _KINDS[named["kind"].lower()], name)
        return
    for match in _BARE.finditer(bracket["within"]):
        yield Mention(start + match.start(), start + match.end(), None, match.group())


def _part(block: Any) -> str:
    if isinstance(block, str):
        return block
    is_text = isinstance(block, dict) and block.get("type", "text") == "text" and isinstance(block.get("text"), str)
    return str(block["text"]) if is_text else ""
