"""Which format a file, a zip file or a folder looks like, from its beginning and from what stands in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from langmem_tiers.transfer.chroma_rows import collections
from langmem_tiers.transfer.exports import Export, is_zip, json_files
from langmem_tiers.transfer.files import head
from langmem_tiers.transfer.readers import claude, langgraph, mem0, mempalace, rockbot
from langmem_tiers.transfer.sqlite_files import is_sqlite, tables

EXPECTED = "something to import"
_LOOKED_AT = 20
_HEAD_BYTES = 65_536
# What gives a format away within the first 64 KB. LoCoMo puts its questions first, the conversation behind them.
_MARKS: Mapping[str, re.Pattern[str]] = {
    "longmemeval": re.compile(r'"(haystack_\w+|answer_session_ids)"\s*:'),
    "chatgpt": re.compile(r'(?<!\\)"mapping"\s*:\s*\{'),
    "claude": re.compile(r'"(chat_messages|conversations_memory|project_memories|prompt_template)"\s*:'),
    "letta": re.compile(r'\A\s*\{\s*"agents"\s*:\s*\[|"(core_memory|in_context_message_(id|indice)s|archive_id)"\s*:'),
    "locomo": re.compile(r'\A\s*\[.*?"(dia_id|evidence|session_\d+)"\s*:', re.DOTALL),
    "langmem": re.compile(r'\A\s*\[?\s*\{(?=.*?"namespace"\s*:)(?=.*?"key"\s*:)(?=.*?"value"\s*:)', re.DOTALL),
    "mem0": re.compile(r'\A\s*[\[{](?=.*?"memory"\s*:)(?=.*?"(hash|user_id|agent_id|run_id)"\s*:)', re.DOTALL),
    "jsonl": re.compile(r'\A\s*\{(?=[^\n]*"role"\s*:)(?=[^\n]*"content"\s*:)'),
}


def looks_like(path: Path) -> str | None:
    """The name of the format, None where it looks like none.

    Raises:
        UnreadableFile: it is missing, not permitted, damaged or binary.
    """
    if path.is_dir():
        return _folder(path)
    if is_zip(path):
        return _export(path)
    if is_sqlite(path):
        return _database(path)
    return _text(head(path, EXPECTED))


def _text(start: str) -> str | None:
    return next((name for name, marks in _MARKS.items() if marks.search(start)), None)


def _database(path: Path) -> str | None:
    found = tables(path, EXPECTED)
    if found.get(langgraph.TABLE, frozenset()) >= langgraph.COLUMNS:
        return "langmem"
    return "mem0" if mem0.is_history(path) else None


def _folder(path: Path) -> str | None:
    held = collections(path, EXPECTED)
    if held:
        return "mempalace" if mempalace.DRAWERS in held else "mem0"
    if mem0.qdrant_files(path) or mem0.is_history(path / mem0.HISTORY):
        return "mem0"
    return _export(path) or _tree(path)


def _export(path: Path) -> str | None:
    with Export(path, EXPECTED) as export:
        members = export.named(claude.CONVERSATIONS) or export.named(claude.OTHERS)
        for name in members[:1]:
            with export.open(name) as stream:
                return _text(stream.read(_HEAD_BYTES).decode("utf-8", "replace"))
    return None


def _tree(path: Path) -> str | None:
    some = islice(json_files(path), _LOOKED_AT)
    return "rockbot" if any(rockbot.looks_like_entry(file) for file in some) else None
