"""The file of an entry: YAML front matter, the sentence, and below a marker the words that it rests on.

YAML, since editors, GitHub and Obsidian show it; but only a flat mapping of texts and lists of texts is accepted, read
from the parser's events: nothing is constructed, so neither aliases, tags nor depth can do harm, and the id
`1234e5678901` stays a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import yaml

from langmem_tiers.errors import UnreadableFile
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    from langmem_tiers.records import Entry

Value = str | tuple[str, ...] | None

FENCE = "---"
MARKER = "<!-- What it rests on. Nothing from here on is read back. -->"
_READ_ONLY = "# For reading only: the memory sets what follows."
_MOST_CHARACTERS = 64_000
_MOST_EVIDENCE = 50
_MOST_QUOTED = 10
_SET_BY_MEMORY = ("origin", "agent", "task", "created", "updated", "expires", "version", "evidence")
_KNOWN = frozenset({"id", "category", "tags", "pinned", "status", "project", *_SET_BY_MEMORY})
_YES, _NO = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off", ""})
# What every YAML reader takes for a text without quotes.
_PLAIN = re.compile(r"[a-z][a-z0-9_-]*(?:/[a-z0-9_-]+)*")
_WORDS_OF_YAML = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_AROUND = re.compile(r"\A[\s\ufeff]+|[\s\ufeff]+\Z")
_MERGE_OF_GIT = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryFile:
    """What a file says of an entry; None where it says nothing. `rest` is what only the memory sets."""

    body: str
    id: str | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    pinned: bool | None = None
    active: bool | None = None
    project: str | None = None
    rest: tuple[tuple[str, Value], ...] = ()


def plain_text(text: str) -> str:
    """`text` with uniform newlines, and without byte order marks and white space around it."""
    return _AROUND.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def render(entry: Entry, quotes: Mapping[int, str]) -> str:
    """The file of an entry; `quotes` are the words of the drawers that it rests on, on one line each."""
    text = plain_text(entry.content)
    below = "\n".join(_quoted(entry, quotes))
    # A sentence that holds the marker itself would be cut at it.
    tail = f"\n\n{MARKER}\n{below}".rstrip() if below or MARKER in text.split("\n") else ""
    return "\n".join((FENCE, *_head(entry), FENCE, text)) + f"{tail}\n"


def parse(text: str) -> EntryFile:
    """What a file says.

    Raises:
        UnreadableFile: its front matter is not as it should be.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    head, body = _split(text)
    fields = _mapping(head)
    if strange := sorted(fields.keys() - _KNOWN):
        raise _unreadable(f"{beginning(strange[0], 40)!a} is no field of an entry")
    if not body and not fields:
        raise _unreadable("it is empty")
    return EntryFile(
        body=body,
        id=_text(fields, "id"),
        category=_text(fields, "category"),
        tags=_list(fields, "tags"),
        pinned=_flag(fields, "pinned"),
        active=_active(fields),
        project=_text(fields, "project"),
        rest=tuple((name, fields[name]) for name in _SET_BY_MEMORY if fields.get(name) is not None),
    )


def require_merged(text: str) -> None:
    """Check that git has merged a text.

    Raises:
        UnreadableFile: there are marks of a conflict in it.
    """
    if _MERGE_OF_GIT.search(text):
        raise _unreadable("it holds an unresolved merge of git")


def _head(entry: Entry) -> Iterator[str]:
    yield f"id: {_written(entry.id)}"
    yield f"category: {_written(entry.category)}"
    yield f"tags: {_written_list(entry.tags)}"
    yield f"pinned: {'true' if entry.pinned else 'false'}"
    yield f"status: {entry.status}"
    yield _READ_ONLY
    for name in ("origin", "project", "agent", "task"):
        if value := getattr(entry, name):
            yield f"{name}: {_written(value)}"
    yield f"created: {_moment(entry.created_at)}"
    yield f"updated: {_moment(entry.updated_at)}"
    if entry.expires_at is not None:
        yield f"expires: {_moment(entry.expires_at)}"
    yield f"version: {entry.version}"
    yield f"evidence: {_written_list(each.pointer for each in entry.evidence[:_MOST_EVIDENCE])}"


def _quoted(entry: Entry, quotes: Mapping[int, str]) -> Iterator[str]:
    for each in entry.evidence[:_MOST_QUOTED]:
        if words := quotes.get(each.drawer):
            day = "" if each.said_at is None else f", {each.said_at:%Y-%m-%d}"
            yield f"\n> {each.pointer}{day}: {words}"


def _split(text: str) -> tuple[str, str]:
    """Front matter and body; what stands below the last marker is no part of the body."""
    head, lines = "", text.split("\n")
    if lines[0].rstrip() == FENCE:
        ends = [place for place, line in enumerate(lines[1:], 1) if line.rstrip() in (FENCE, "...")]
        if not ends:
            raise _unreadable(f"its front matter has no end: a line {FENCE}")
        head, lines = "\n".join(lines[1 : ends[0]]), lines[ends[0] + 1 :]
    marks = [place for place, line in enumerate(lines) if line.rstrip() == MARKER]
    return head, "\n".join(lines[: marks[-1]] if marks else lines).strip()


def _mapping(text: str) -> dict[str, Value]:
    if len(text) > _MOST_CHARACTERS:
        raise _unreadable(f"its front matter has more than {_MOST_CHARACTERS:,} characters")
    require_merged(text)
    try:
        return _read(yaml.parse(text, Loader=yaml.BaseLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" in line {mark.line + 2}"
        raise _unreadable(f"its front matter is no YAML{where}") from error


def _read(events: Iterable[yaml.Event]) -> dict[str, Value]:
    """The flat mapping of these events; anything else is refused at the first event that says so."""
    found: dict[str, Value] = {}
    key: str | None = None
    items: list[str] | None = None
    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise _unreadable("its front matter has anchors or tags")
        if isinstance(event, yaml.MappingStartEvent):
            depth += 1
        elif isinstance(event, yaml.SequenceStartEvent) and items is None and key is not None:
            items = []
        elif isinstance(event, yaml.SequenceEndEvent) and key is not None:
            found[key], items, key = tuple(items or ()), None, None
        elif isinstance(event, yaml.ScalarEvent) and depth == 1:
            if items is not None:
                items.append(event.value)
            elif key is None:
                key = event.value
            else:
                found[key], key = _scalar(event), None
        elif isinstance(event, yaml.MappingEndEvent):
            depth = 0
        elif not isinstance(event, _FRAME):
            depth = 2
        if depth > 1 or (key in found and items is None):
            raise _unreadable("its front matter is more than fields with texts and lists of texts, each given once")
    return found


_FRAME = (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentStartEvent, yaml.DocumentEndEvent)


def _scalar(event: yaml.ScalarEvent) -> str | None:
    plain = event.style is None
    return None if plain and event.value in {"", "~", "null"} else event.value


def _text(fields: Mapping[str, Value], name: str) -> str | None:
    value = fields.get(name)
    if isinstance(value, tuple):
        raise _unreadable(f"`{name}` is a list")
    return value.strip() or None if value else None


def _list(fields: Mapping[str, Value], name: str) -> tuple[str, ...] | None:
    if name not in fields:
        return None
    value = fields[name]
    if isinstance(value, str):
        value = tuple(part.strip() for part in value.split(","))
    return tuple(part for part in value or () if part)


def _flag(fields: Mapping[str, Value], name: str) -> bool | None:
    if name not in fields:
        return None
    said = (_text(fields, name) or "").lower()
    if said not in _YES | _NO:
        raise _unreadable(f"`{name}` is neither true nor false")
    return said in _YES


def _active(fields: Mapping[str, Value]) -> bool | None:
    said = _text(fields, "status")
    if said not in (None, "active", "inactive"):
        raise _unreadable("`status` is neither active nor inactive")
    return None if said is None else said == "active"


def _unreadable(reason: str) -> UnreadableFile:
    return UnreadableFile(f"The file cannot be taken over: {reason}.", way_out="Correct it in an editor.")


def _written(text: str) -> str:
    """A text as YAML: as it is where no reader takes it for something else, in double quotes otherwise."""
    if _PLAIN.fullmatch(text) and text not in _WORDS_OF_YAML:
        return text
    signs = (sign if sign.isprintable() and sign not in '"\\' else f"\\U{ord(sign):08x}" for sign in text)
    return f'"{"".join(signs)}"'


def _written_list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_written, texts))}]"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
