"""Reading mem0: what `get_all` gives as JSON, its history database, or its vectors in Chroma or a local Qdrant.

The vectors' payloads and the JSON hold every memory with whose it is. The history database holds what became of each
memory (the last change that is no deletion is what it says) and the last messages of each scope, but no users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from urllib.parse import unquote

from langmem_tiers.transfer.databases import bounded, collection_rows, collections, is_sqlite, rows, tables
from langmem_tiers.transfer.files import Export, Malformed, entries, head, unreadable
from langmem_tiers.transfer.pickled import attributes
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.readers.values import metadata
from langmem_tiers.transfer.records import ImportedFact, ImportedMessage, LeftBehind, LineProblem, Record, pieces

EXPECTED = "mem0: the JSON of get_all, history.db, or a Chroma or Qdrant folder"
HISTORY = "history.db"
_HISTORY_COLUMNS = frozenset({"memory_id", "new_memory", "event", "created_at", "updated_at"})
_MESSAGE_COLUMNS = frozenset({"id", "session_scope", "role", "content", "created_at"})
# Of one memory the last row; rows of one second stand in the order they were written.
_LAST = f"""
SELECT memory_id, {bounded("new_memory")}, event, created_at, updated_at, is_deleted
FROM history h WHERE rowid = (SELECT max(rowid) FROM history o WHERE o.memory_id = h.memory_id) ORDER BY rowid
"""
_MESSAGES = (
    f"SELECT id, session_scope, role, {bounded('content')}, created_at FROM messages ORDER BY session_scope, rowid"
)
# What the program keeps for itself, or says again.
_OWN = (
    *("data", "memory", "id", "hash", "text_lemmatized", "created_at", "updated_at", "score"),
    *("categories", "metadata", "expiration_date"),
)


def read_mem0(path: Path) -> Iterator[Record]:
    """A fact for each memory, sessions of the last messages, and the problems.

    Raises:
        UnreadableFile: it cannot be read, or is nothing of mem0.
    """
    if path.is_dir():
        return _folder(path)
    return _history(path, with_memories=True) if is_sqlite(path) else _json(path)


def qdrant_files(folder: Path) -> list[Path]:
    """The databases of the collections in a local Qdrant folder."""
    return sorted(folder.glob("collection/*/storage.sqlite"))


def is_history(path: Path) -> bool:
    """Whether it is a history database of mem0."""
    return is_sqlite(path) and tables(path, EXPECTED).get("history", frozenset()) >= _HISTORY_COLUMNS


def _json(path: Path) -> Iterator[Record]:
    if head(path, EXPECTED).lstrip()[:1] != "{":
        for position, held in entries(path, EXPECTED):
            yield held if isinstance(held, LineProblem) else values.tried(position, _fact, held, "the memory")
        return
    with Export(path, EXPECTED) as export:
        _, whole = next(export.entries(path.name))
    found = whole.get("results", whole.get("memories")) if isinstance(whole, dict) else None
    if not isinstance(whole, dict) or not isinstance(found, list):
        raise unreadable(path, EXPECTED, "it has no list of 'results'")
    for position, held in enumerate(found, 1):
        yield values.tried(position, _fact, held, "the memory")
    relations = whole.get("relations")
    if isinstance(relations, list) and relations:
        yield LeftBehind(what="relations of the graph", count=len(relations))


def _folder(path: Path) -> Iterator[Record]:
    history, found = path / HISTORY, False
    for name in collections(path, EXPECTED):
        found = True
        for position, row in enumerate(collection_rows(path, EXPECTED, name), 1):
            yield _payload(position, name, row.row_id, row.metadata)
    for database in qdrant_files(path):
        found = True
        yield from _points(database)
    if is_history(history):
        yield from _history(history, with_memories=not found)
    elif not found:
        raise unreadable(path, EXPECTED, "it holds none of these")


def _points(database: Path) -> Iterator[Record]:
    if "points" not in tables(database, EXPECTED):
        raise unreadable(database, EXPECTED, "it has no table 'points'")
    name = database.parent.name
    found = rows(database, EXPECTED, f"SELECT {bounded('point')} FROM points ORDER BY rowid")
    for position, (held,) in enumerate(found, 1):
        point = values.tried(position, _point, held, where=f"{name}, point {position}")
        yield point if isinstance(point, LineProblem) else _payload(position, name, *point)


def _point(held: object) -> tuple[str, Mapping[str, object]]:
    if not isinstance(held, bytes):
        raise Malformed("it is no point, or longer than 16 MB")
    point = attributes(held)
    return str(point.get("id")), values.mapping(point.get("payload"), "the payload")


def _payload(position: int, collection: str, memory_id: str, payload: Mapping[str, object]) -> Record:
    if "data" not in payload or "linked_memory_ids" in payload or collection.endswith(("_entities", "-entities")):
        return LeftBehind(what="what mem0 keeps for itself")
    held = {**payload, "memory": payload["data"], "id": memory_id}
    return values.tried(position, _fact, held, memory_id)


def _fact(told: object, what: str) -> ImportedFact:
    held = values.mapping(told, what)
    about = {**metadata(held.get("metadata")), **metadata(held, *_OWN)}
    categories = values.texts(held.get("categories"))
    return ImportedFact(
        source="mem0",
        fact_id=values.text(held, "id"),
        content=values.some_text(held, "memory", "data") or values.text(held, "memory"),
        user=values.user(held.get("user_id"), "user_id"),
        category=next(iter(categories), None) or values.some_text(about, "category"),
        tags=categories,
        metadata=about,
        **values.dates(
            created_at=held.get("created_at"),
            updated_at=held.get("updated_at"),
            expires_at=held.get("expiration_date"),
        ),
    )


def _history(path: Path, *, with_memories: bool) -> Iterator[Record]:
    found = tables(path, EXPECTED)
    if not found.get("history", frozenset()) >= _HISTORY_COLUMNS:
        raise unreadable(path, EXPECTED, "it has no table 'history' of mem0")
    if with_memories:
        for position, row in enumerate(rows(path, EXPECTED, _LAST), 1):
            yield _remembered(position, *row)
    if found.get("messages", frozenset()) >= _MESSAGE_COLUMNS:
        yield from _messages(path)


def _remembered(
    position: int, memory_id: object, text: object, event: object, created: object, updated: object, gone: object
) -> Record:
    if gone or str(event).upper() == "DELETE":
        return LeftBehind(what="deleted memories")
    held = {"id": memory_id, "memory": text, "created_at": created, "updated_at": updated}
    return values.tried(position, _fact, held, "the row")


def _messages(path: Path) -> Iterator[Record]:
    found = enumerate(rows(path, EXPECTED, _MESSAGES), 1)
    for scope, held in groupby(found, key=lambda each: str(each[1][1])):
        said = (values.tried(position, _message, *row, where=f"message {position}") for position, row in held)
        named = dict(part.partition("=")[::2] for part in scope.split("&"))
        yield from pieces(said, user=unquote(named["user_id"]) if named.get("user_id") else None)


def _message(message_id: object, scope: object, role: object, said: object, at: object) -> ImportedMessage | LeftBehind:
    if role not in ("user", "assistant"):
        return LeftBehind(what="messages of tools and the system")
    held = {"role": role, "content": said, "scope": scope, "id": message_id}
    return ImportedMessage(
        session=f"mem0 {values.text(held, 'scope')}",
        role=values.role(held),
        content=values.text(held, "content"),
        message_id=values.text(held, "id"),
        **values.dates(at=at),
    )
