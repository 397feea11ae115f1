"""The formats that can be imported: which readers there are, and which format a file looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, cast, get_args

from langmem_tiers.errors import UnreadableFile
from langmem_tiers.transfer import jsonl, locomo, longmemeval, looks
from langmem_tiers.transfer.files import unreadable
from langmem_tiers.transfer.readers import chatgpt, claude, langgraph, letta, mem0, mempalace, rockbot
from langmem_tiers.transfer.records import Entry, Record

ConversationFormat = Literal["locomo", "longmemeval", "jsonl"]
Format = Literal[
    "locomo",
    "longmemeval",
    "jsonl",
    "langmem",
    "langgraph",
    "mem0",
    "mempalace",
    "rockbot",
    "letta",
    "claude",
    "chatgpt",
]
FORMATS: tuple[Format, ...] = get_args(Format)

_CONVERSATIONS: Mapping[ConversationFormat, Callable[[Path], Iterator[Entry]]] = {
    "locomo": locomo.read_locomo,
    "longmemeval": longmemeval.read_longmemeval,
    "jsonl": jsonl.read_jsonl,
}
_READERS: Mapping[Format, Callable[[Path], Iterator[Record]]] = {
    "locomo": locomo.read_locomo,
    "longmemeval": longmemeval.read_longmemeval,
    "jsonl": jsonl.read_jsonl,
    "langmem": langgraph.read_store,
    "langgraph": langgraph.read_store,
    "mem0": mem0.read_mem0,
    "mempalace": mempalace.read_mempalace,
    "rockbot": rockbot.read_rockbot,
    "letta": letta.read_letta,
    "claude": claude.read_claude,
    "chatgpt": chatgpt.read_chatgpt,
}
_EXPECTED: Mapping[Format, str] = {
    "locomo": locomo.EXPECTED,
    "longmemeval": longmemeval.EXPECTED,
    "jsonl": jsonl.EXPECTED,
    "langmem": langgraph.EXPECTED,
    "langgraph": langgraph.EXPECTED,
    "mem0": mem0.EXPECTED,
    "mempalace": mempalace.EXPECTED,
    "rockbot": rockbot.EXPECTED,
    "letta": letta.EXPECTED,
    "claude": claude.EXPECTED,
    "chatgpt": chatgpt.EXPECTED,
}
_FOLDERS = frozenset({"mem0", "mempalace", "rockbot", "claude", "chatgpt"})
# Two names for one format: who comes from langmem looks for it under that one.
_SAME: Mapping[str, str] = {"langgraph": "langmem"}


def guess_format(path: Path) -> Format | None:
    """The format that a file or folder looks like; None where it looks like none of them.

    Raises:
        UnreadableFile: it is missing, not permitted, damaged or binary.
    """
    return cast("Format | None", looks.looks_like(path))


def read_conversations(path: Path, format: ConversationFormat) -> Iterator[Entry]:
    """The sessions of a file, lazily, with a problem in place of whatever had to be skipped.

    Raises:
        UnreadableFile: the file can not be read, or is plainly in another format; at once, before anything is read.
    """
    require_format(path, format)
    return _CONVERSATIONS[format](path)


def read_records(path: Path, format: Format) -> Iterator[Record]:
    """Everything to be remembered of a file or folder, lazily, with a problem in place of whatever had to be skipped.

    Raises:
        UnreadableFile: as for `read_conversations`.
    """
    require_format(path, format)
    return _READERS[format](path)


def require_format(path: Path, format: Format) -> None:
    """Refuse a file that is plainly in another format.

    Raises:
        UnreadableFile: it looks like another format; the way out names that one.
    """
    if path.is_dir() and format not in _FOLDERS:
        raise unreadable(path, _EXPECTED[format], "it is no regular file")
    looks_like = guess_format(path)
    if looks_like not in (None, _SAME.get(format, format)):
        raise UnreadableFile(
            f"{path} looks like {looks_like}, and {_EXPECTED[format]} was expected.",
            way_out=f"Say --format {looks_like}.",
        )
