"""Tools for notes, which a model keeps by itself: `MEMORY.md`, and files such as `memory/lisbon.md`."""

from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from langmem_tiers.errors import InvalidPath, InvalidText, TextChanged
from langmem_tiers.fencing import escape
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import LOWER, Named, Number, Words
from langmem_tiers.integrations.tools.base import Call, ToolAnswer
from langmem_tiers.integrations.tools.sources import origin_of
from langmem_tiers.integrations.tools.versions import version_seen
from langmem_tiers.knowledge.document_text import MEMORY, clean_path
from langmem_tiers.pointers import split_reference
from langmem_tiers.recall.rendering import FROM_TOOL, excerpt, render_ended
from langmem_tiers.recall.request import parse
from langmem_tiers.records import Document
from langmem_tiers.space import Space
from langmem_tiers.storage.documents import is_markdown
from langmem_tiers.trust.safety import in_force
from langmem_tiers.wording import beginning, counted

# What fits into one answer.
_WHOLE = 10_000
_FOUND, _EXCERPT = 8, 500
_LISTED = 100

_PATH = "Such as 'MEMORY.md' or 'memory/lisbon.md'."


def search_notes(
    call: Call, query: Annotated[Words, Field(description="What to look for; all notes are listed without it.")] = None
) -> ToolAnswer:
    """Search your notes by words and meaning; without a query: list them."""
    if query is None:
        return _listed(call)
    hits = call.space.documents.search(query, limit=_FOUND)
    if not hits:
        text = "No note has anything like it. Try other words; without a query, all notes are listed."
        return ToolAnswer(text, {"paths": []})
    terms = parse(query, 0).terms
    shown = []
    for hit in hits:
        where = call.reference(base.plain(hit.path), hit.space)
        label = f"[{where}]{FROM_TOOL if hit.from_tool else ''}{render_ended(hit.ended)} "
        shown.append(base.item(excerpt(hit.text, terms, _EXCERPT), label))
    text = base.fenced(f"{counted(len(hits), 'passage')}, best first; read_note shows a note in full", shown)
    return ToolAnswer(text, {"paths": list(dict.fromkeys(call.reference(hit.path, hit.space) for hit in hits))})


def read_note(
    call: Call,
    path: Annotated[Named, Field(description=_PATH)],
    from_line: Annotated[Number, Field(description="The first line to show, where a note is long.")] = None,
) -> ToolAnswer:
    """Read a note."""
    note = _note(call.space, clean_path(path)) or _note_of_fallback(call, path)
    if note is None:
        raise InvalidPath(f"There is no note {base.plain(path)}.", way_out="Call search_notes without a query.")
    if note.encoding != "utf-8":
        raise InvalidText(f"{note.path} is no text ({len(note.data):,} bytes).", way_out="Go on without it.")
    part = _part(note.content, max(1, from_line or 1))
    ref = call.reference(note.path, note.space or call.space.name)
    header = f"{base.plain(ref)}, version {note.version}, {part.described}"
    if note.origin == "tool":
        header += FROM_TOOL
    # Who replaces it by what it says should know all of it.
    versions = {note.path: note.version} if part.is_all and not note.space else {}
    return ToolAnswer(base.fenced(header, [part.text]), {"path": ref, "notes": versions})


def write_note(
    call: Call,
    path: Annotated[Named, Field(description=_PATH)],
    text: Annotated[str, Field(description="Markdown: what to add, or all that the note says from now on.")],
    mode: Annotated[Literal["append", "replace"], LOWER] = "append",
    version: Annotated[Number, Field(description="To replace: the version read_note showed.")] = None,
) -> ToolAnswer:
    """Write to your own notes: MEMORY.md, which conversations begin with, or memory/*.md."""
    where = _own(path)
    held = _note(call.own, where)
    where = where if held is None else held.path
    if mode == "append":
        by = origin_of(call, text, known="" if held is None else held.content)
        note = call.space.documents.append(where, text, origin=by)
        return ToolAnswer(f"Added to {_described(call, note)}", {"path": note.path})
    seen = version_seen(call, "notes", where) if version is None else version
    note = _replaced(call, where, text, seen or 0)
    return ToolAnswer(f"Written: {_described(call, note)}", {"path": note.path, "notes": {note.path: note.version}})


def _listed(call: Call) -> ToolAnswer:
    held = call.space.documents.list()
    if not held:
        return ToolAnswer("There are no notes yet. write_note begins one, such as MEMORY.md.", {"paths": []})
    shown = [
        base.item(f"{each.path}: {each.size:,} bytes, {base.day(each.updated_at)}", end="" if each.searched else _KEPT)
        for each in held[:_LISTED]
    ]
    if len(held) > _LISTED:
        shown.append(base.item(f"[…] {len(held) - _LISTED:,} more: search for what they say"))
    text = base.fenced(f"{counted(len(held), 'note')}; read_note shows one", shown)
    return ToolAnswer(text, {"paths": [each.path for each in held[:_LISTED]]})


_KEPT = " (kept, not searched)"


def _note(space: Space, path: str) -> Document | None:
    """A note; for `MEMORY.md` the lower one, and the other way round, where only that is there."""
    names = sorted(MEMORY, key=lambda name: name != path) if path in MEMORY else [path]
    found = (space.documents.read(name) for name in names)
    return next((note for note in found if note is not None), None)


def _note_of_fallback(call: Call, reference: str) -> Document | None:
    """A note whose path says in which fallback it is, as in `MEMORY.md@teams/research`."""
    path, space = split_reference(reference)
    if space is None:
        return None
    source = call.space.source(space)
    note = _note(source, clean_path(path))
    return None if note is None or source.name == call.space.name else replace(note, space=source.name)


def _own(path: str) -> str:
    """The path of a note that a model may write to.

    Raises:
        InvalidPath: it is none, or that of another document.
    """
    where = clean_path(path)
    if where in MEMORY or (where.startswith("memory/") and is_markdown(where)):
        return where
    stem = where.rpartition("/")[2].partition(".")[0]
    raise InvalidPath(
        f"{beginning(where, 80)!a} is not for you to write.",
        way_out=f"Write to MEMORY.md, or to memory/{stem[:40]}.md.",
    )


def _replaced(call: Call, path: str, text: str, version: int) -> Document:
    """Put a text in the place of the version that the model has read.

    Raises:
        TextChanged: that is not the version that stands.
    """
    try:
        held = call.own.documents.read(path)
        by = origin_of(call, text, known="" if held is None else held.content)
        # Lines that stay keep what they were; where one of them was a tool's, the note stays marked.
        by = "tool" if held is not None and held.origin == "tool" and _keeps(text, held.content) else by
        return call.space.documents.write(path, text, version=version, origin=by)
    except TextChanged as changed:
        if not changed.version:
            message, way_out = f"{path} was deleted meanwhile.", "To write it anew, call again with version=0."
        else:
            what = "was changed since you read it" if version else "is there already, and you have not read all of it"
            message = f"{path} {what}."
            way_out = "Call read_note, keep what is right, and give its version; mode=append adds without reading."
        raise TextChanged(message, version=changed.version, way_out=way_out) from changed


def _keeps(text: str, held: str) -> bool:
    """Whether a text has a line of what was there before."""
    return bool({line.strip() for line in _lines(text)} & {line.strip() for line in _lines(held)} - {""})


def _described(call: Call, note: Document) -> str:
    """What a model is told of a note that it has written."""
    parts = [f"{base.plain(note.path)}, now {counted(len(_lines(note.content)), 'line')}, version {note.version}."]
    if note.path in MEMORY:
        whole = call.space.documents.memory_md() == in_force(note.content).strip()
        what = "It stands" if whole else "It is too long: only its beginning stands"
        parts.append(f"{what} before you from the next conversation on.")
    return " ".join((*parts, *base.waiting(note.content)))


class _Part(NamedTuple):
    """Lines of a note, and which these are."""

    text: str
    described: str
    is_all: bool


def _part(content: str, first: int) -> _Part:
    """The lines from `first` on that fit into one answer, at least one; of one that is too long, its beginning."""
    lines = _lines(escape(content))
    if first > len(lines):
        raise InvalidText(f"The note has only {counted(len(lines), 'line')}.", way_out="Call again without from_line.")
    last, taken = first, len(lines[first - 1])
    while last < len(lines) and taken + len(lines[last]) < _WHOLE:
        taken += len(lines[last]) + 1
        last += 1
    described = f"lines {first:,} to {last:,} of {len(lines):,}" if content else "empty"
    if last < len(lines):
        described += f"; from_line={last + 1} shows more"
    is_all = (first, last) == (1, len(lines)) and taken <= _WHOLE
    return _Part(base.cut("\n".join(lines[first - 1 : last]), _WHOLE), described, is_all)


def _lines(content: str) -> list[str]:
    return content.removesuffix("\n").split("\n")
