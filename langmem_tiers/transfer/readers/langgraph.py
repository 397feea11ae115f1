"""Reading a LangGraph store: the file of a `SqliteStore`, or a dump of items as a JSON list or JSONL.

An item of a dump is what `Item.dict()` gives: `{namespace, key, value, created_at, updated_at}`. Both formats of
`langmem` are read: `{"content": "…"}` of its tools and `{"kind": "Memory", "content": {"content": "…"}}` of its store
manager. Whose item it is, its namespace tells: its first part that names no kind of memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Item:
    """An item as it stands in the store."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, object]
    created_at: object
    updated_at: object
    expires_at: object = None


def read_store(path: Path) -> Iterator[Record]:
    """A fact for each item, and the problems, in the order of the file.

    Raises:
        UnreadableFile: it can not be read, or is no such store.
    """
    for position, held in _items(path):
        if isinstance(held, LineProblem):
            yield held
            continue
        try:
            yield _fact(held if isinstance(held, _Item) else _item(values.mapping(held, "the item")))
        except Malformed as error:
            yield LineProblem(line=position, reason=str(error))


def _items(path: Path) -> Iterator[tuple[int, object]]:
    return _rows(path) if is_sqlite(path) else entries(path, EXPECTED)


def _rows(path: Path) -> Iterator[tuple[int, object]]:
    columns = tables(path, EXPECTED).get(TABLE, frozenset())
    if not columns >= COLUMNS:
        raise unreadable(path, EXPECTED, f"it has no table '{TABLE}' of items")
    expires = "expires_at" if "expires_at" in columns else "NULL"
    taken = f"prefix, key, {bounded('value')}, created_at, updated_at, {expires}"
    found = rows(path, EXPECTED, f"SELECT {taken} FROM {TABLE} ORDER BY created_at, prefix, key")
    for position, row in enumerate(found, 1):
        try:
            yield position, _row_item(*row)
        except Malformed as error:
            yield position, LineProblem(line=position, reason=str(error))


def _row_item(prefix: object, key: object, value: object, *times: object) -> _Item:
    if value is None:
        raise Malformed("'value' is empty, or longer than 16 MB")
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return _Item(
        namespace=tuple(str(prefix).split(".")),
        key=str(key),
        value=values.mapping(parse(text), "'value'"),
        created_at=times[0],
        updated_at=times[1],
        expires_at=times[2],
    )


def _item(held: Mapping[str, object]) -> _Item:
    return _Item(
        namespace=_namespace(held.get("namespace")),
        key=values.text(held, "key"),
        value=values.mapping(held.get("value"), "'value'"),
        created_at=held.get("created_at"),
        updated_at=held.get("updated_at"),
    )


def _namespace(told: object) -> tuple[str, ...]:
    parts = told.split(".") if isinstance(told, str) else values.sequence(told, "'namespace'")
    labels = [values.user(part, "namespace") for part in parts]
    if None in labels:
        raise Malformed("'namespace' has a part that is neither text nor a whole number")
    return tuple(label for label in labels if label is not None)


def _fact(item: _Item) -> ImportedFact:
    times = values.Times()
    rest = {name: value for name, value in item.value.items() if name not in (*_TEXTS, "kind")}
    return ImportedFact(
        source="langgraph",
        fact_id="\0".join((*item.namespace, item.key)),
        content=_content(item.value),
        user=next((part for part in item.namespace if part.lower() not in _KINDS), None),
        category=values.some_text(item.value, "category"),
        tags=values.texts(item.value.get("tags")),
        created_at=times.of(item.created_at, "created_at"),
        updated_at=times.of(item.updated_at, "updated_at"),
        expires_at=times.of(item.expires_at, "expires_at"),
        metadata={"namespace": [*item.namespace], "key": item.key, **metadata(rest, "category", "tags")},
        unreadable_times=times.unreadable,
    )


def _content(value: Mapping[str, object]) -> str:
    """What an item says: its text, or its fields in words, such as those of a profile."""
    kind, inner = value.get("kind"), value.get("content")
    if isinstance(inner, dict):
        return values.text(inner, "content") if set(inner) == {"content"} else _in_words(kind, inner)
    return values.some_text(value, *_TEXTS) or _in_words(kind, value)


def _in_words(kind: object, fields: Mapping[str, object]) -> str:
    told = [f"{name}: {_wording(value)}" for name, value in fields.items() if value not in (None, "", [], {})]
    if not told or fields.keys() <= {"kind"}:
        raise Malformed("'value' says nothing")
    named = f"{kind} – " if isinstance(kind, str) and kind else ""
    return values.text({"value": named + "; ".join(told)}, "value")


def _wording(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:_LONGEST_WORDING]
