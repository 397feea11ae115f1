"""Reading a LangGraph store: the file of a `SqliteStore`, or a dump of items as a JSON list or JSONL.

An item of a dump is what `Item.dict()` gives: `{namespace, key, value, created_at, updated_at}`. Both formats of
`langmem` are read: `{"content": "…"}` of its tools and `{"kind": "Memory", "content": {"content": "…"}}` of its store
manager. Whose item it is, its namespace tells: its first part that names no kind of memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from langmem_tiers.transfer.databases import bounded, is_sqlite, rows, tables
from langmem_tiers.transfer.files import Malformed, entries, parse, unreadable
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.readers.values import metadata
from langmem_tiers.transfer.records import ImportedFact, LineProblem, Record

EXPECTED = "a LangGraph store: the file of a SqliteStore, or its items as JSON or JSONL"
TABLE = "store"
COLUMNS = frozenset({"prefix", "key", "value", "created_at", "updated_at"})
# Parts of a namespace that say what is in it, and not whose it is.
_KINDS = frozenset(
    {
        *("memories", "memory", "users", "user", "profile", "profiles", "facts", "fact", "agents", "agent", "store"),
        *("semantic", "episodic", "procedural", "collection", "collections", "long_term", "long-term", "chat"),
    }
)
_TEXTS = ("content", "memory", "text", "data", "fact")
_LONGEST_WORDING = 20_000


def read_store(path: Path) -> Iterator[Record]:
    """A fact for each item, and the problems, in the order of the file.

    Raises:
        UnreadableFile: it cannot be read, or is no such store.
    """
    if is_sqlite(path):
        yield from (values.tried(position, _row_fact, *row) for position, row in enumerate(_rows(path), 1))
        return
    for position, held in entries(path, EXPECTED):
        yield held if isinstance(held, LineProblem) else values.tried(position, _item_fact, held)


def _rows(path: Path) -> Iterator[tuple[object, ...]]:
    columns = tables(path, EXPECTED).get(TABLE, frozenset())
    if not columns >= COLUMNS:
        raise unreadable(path, EXPECTED, f"it has no table '{TABLE}' of items")
    expires = "expires_at" if "expires_at" in columns else "NULL"
    taken = f"prefix, key, {bounded('value')}, created_at, updated_at, {expires}"
    return rows(path, EXPECTED, f"SELECT {taken} FROM {TABLE} ORDER BY created_at, prefix, key")


def _row_fact(prefix: object, key: object, value: object, created: object, updated: object, ends: object) -> Record:
    if value is None:
        raise Malformed("'value' is empty, or longer than 16 MB")
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    said = values.mapping(parse(text), "'value'")
    return _fact(tuple(str(prefix).split(".")), str(key), said, created_at=created, updated_at=updated, expires_at=ends)


def _item_fact(item: object) -> Record:
    held = values.mapping(item, "the item")
    told = held.get("namespace")
    parts = told.split(".") if isinstance(told, str) else values.sequence(told, "'namespace'")
    labels = [label for part in parts if (label := values.user(part, "namespace")) is not None]
    if len(labels) < len(parts):
        raise Malformed("'namespace' has a part that is neither text nor a whole number")
    key, said = values.text(held, "key"), values.mapping(held.get("value"), "'value'")
    return _fact(tuple(labels), key, said, created_at=held.get("created_at"), updated_at=held.get("updated_at"))


def _fact(namespace: tuple[str, ...], key: str, value: Mapping[str, object], **times: object) -> ImportedFact:
    rest = {name: each for name, each in value.items() if name not in (*_TEXTS, "kind")}
    return ImportedFact(
        source="langgraph",
        fact_id="\0".join((*namespace, key)),
        content=_content(value),
        user=next((part for part in namespace if part.lower() not in _KINDS), None),
        category=values.some_text(value, "category"),
        tags=values.texts(value.get("tags")),
        metadata={"namespace": [*namespace], "key": key, **metadata(rest, "category", "tags")},
        **values.dates(**times),
    )


def _content(value: Mapping[str, object]) -> str:
    """What an item says: its text, or its fields in words, such as those of a profile."""
    kind, inner = value.get("kind"), value.get("content")
    if isinstance(inner, dict):
        return values.text(inner, "content") if set(inner) == {"content"} else _in_words(kind, inner)
    return values.some_text(value, *_TEXTS) or _in_words(kind, value)


def _in_words(kind: object, fields: Mapping[str, object]) -> str:
    said = {name: value for name, value in fields.items() if value not in (None, "", [], {})}
    if not said or fields.keys() <= {"kind"}:
        raise Malformed("'value' says nothing")
    named = f"{kind} – " if isinstance(kind, str) and kind else ""
    told = (
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:_LONGEST_WORDING]}"
        for name, value in said.items()
    )
    return values.text({"value": named + "; ".join(told)}, "value")
