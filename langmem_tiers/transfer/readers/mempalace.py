"""Reading a palace of MemPalace, its Chroma folder: every drawer becomes a message of the session of its source.

A drawer that was mined out of a conversation holds what the user said in lines that begin with `>`, and the reply
below them: these become two messages. Any other drawer is one message of the assistant, since nobody says who wrote it.
Its closets say again what the drawers say, and are left behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from langmem_tiers.transfer.databases import ChromaRow, collection_rows, collections
from langmem_tiers.transfer.files import unreadable
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.readers.values import digest
from langmem_tiers.transfer.records import ImportedMessage, ImportedRole, LeftBehind, LineProblem, Record, pieces

EXPECTED = "a palace folder of MemPalace in Chroma"
CLOSETS = "mempalace_closets"
DRAWERS = "mempalace_drawers"
_ORDER = ("wing", "room", "source_file")
_REGISTRY = "_registry"
_DATES = ("authored_at", "content_date", "filed_at")


def read_mempalace(path: Path) -> Iterator[Record]:
    """The drawers as sessions, by wing, room and source, and the problems.

    Raises:
        UnreadableFile: it is no such folder.
    """
    found = collections(path, EXPECTED) if path.is_dir() else ()
    if not found:
        raise unreadable(path, EXPECTED, "it holds no chroma.sqlite3", way_out="Name the folder 'palace' itself.")
    for name in found:
        if name == CLOSETS:
            continue
        drawers = collection_rows(path, EXPECTED, name, order=(*_ORDER, "chunk_index"))
        for wing, rows in groupby(enumerate(drawers, 1), key=lambda each: _text(each[1].metadata, "wing")):
            yield from pieces((each for position, row in rows for each in _said(position, row)), project=wing)
    if CLOSETS in found:
        closets = sum(1 for _ in collection_rows(path, EXPECTED, CLOSETS))
        yield LeftBehind(what="closets, which say again what the drawers say", count=closets)


def _said(position: int, row: ChromaRow) -> Iterator[ImportedMessage | LineProblem | LeftBehind]:
    if row.metadata.get("room") == _REGISTRY or row.metadata.get("ingest_mode") == "registry":
        yield LeftBehind(what="marks of mined files")
        return
    read = values.tried(position, _messages, row, where=f"drawer {row.row_id[:60]}")
    yield from [read] if isinstance(read, LineProblem) else read


def _messages(row: ChromaRow) -> list[ImportedMessage]:
    text = values.text({"document": row.document}, "document")
    dates = values.dates(at=tuple(row.metadata.get(name) for name in _DATES))
    parts = enumerate(_parts(row, text))
    return [
        ImportedMessage(
            session=_session(row.metadata),
            role=role,
            content=said,
            at=dates["at"],
            message_id=f"{row.row_id}:{place}" if place else row.row_id,
            unreadable_times=0 if place else dates["unreadable_times"],
        )
        for place, (role, said) in parts
    ]


def _parts(row: ChromaRow, text: str) -> list[tuple[ImportedRole, str]]:
    """Who said what in a drawer."""
    if row.metadata.get("ingest_mode") != "convos":
        return [("assistant", text)]
    lines = text.splitlines()
    asked = next((place for place, line in enumerate(lines) if not line.startswith(">")), len(lines))
    question = "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines[:asked]).strip()
    reply = "\n".join(lines[asked:]).strip()
    both: list[tuple[ImportedRole, str]] = [("user", question), ("assistant", reply)]
    return [(role, said) for role, said in both if said]


def _session(metadata: Mapping[str, object]) -> str:
    """The session of a drawer: its room and the file it came out of, by name, with a digest of the whole path."""
    wing, room, source = (_text(metadata, name) or "" for name in _ORDER)
    named = Path(source.replace("\\", "/")).name[:60] if source else "drawers"
    return f"mempalace {wing[:60]}/{room[:60]}/{named} {digest(wing, room, source)[:8]}"


def _text(metadata: Mapping[str, object], name: str) -> str | None:
    value = metadata.get(name)
    return value if isinstance(value, str) and value.strip() else None
