"""Reading the data export of ChatGPT: its zip file, the folder in it, or its `conversations.json`.

A conversation is a tree of messages; the branch that was open last (`current_node`) becomes the session. Hidden
messages, those of tools and the system, thoughts, and calls to tools are left behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from langmem_tiers.transfer.files import Export, Malformed, unreadable
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.records import ImportedMessage, LeftBehind, LineProblem, Record, pieces

EXPECTED = "the data export of ChatGPT"
_SPOKEN = {"text", "multimodal_text"}
_HIDDEN = "is_visually_hidden_from_conversation"


def read_chatgpt(path: Path) -> Iterator[Record]:
    """A session for each conversation, and the problems.

    Raises:
        UnreadableFile: it cannot be read, or is no such export.
    """
    with Export(path, EXPECTED) as export:
        members = export.conversations()
        if not members:
            raise unreadable(path, EXPECTED, "there is no conversations.json in it")
        for name in members:
            for position, held in export.entries(name):
                try:
                    yield from _conversation(position, values.mapping(held, "the conversation"))
                except Malformed as error:
                    yield LineProblem(line=position, reason=str(error))


def _conversation(position: int, held: Mapping[str, object]) -> Iterator[Record]:
    session = values.some_text(held, "conversation_id", "id")
    if session is None:
        raise Malformed("'conversation_id' is missing")
    mapping = values.mapping(held.get("mapping"), "'mapping'")
    branch = _branch(mapping, held.get("current_node"))
    yield from pieces(_messages(position, session, branch, _moment(held.get("create_time"))))


def _branch(mapping: Mapping[str, object], current: object) -> list[Mapping[str, object]]:
    """The nodes from the root to the one that was open last.

    Raises:
        Malformed: they go round in a ring, or there is no such node.
    """
    node = current if isinstance(current, str) and current in mapping else _newest_leaf(mapping)
    branch: dict[str, Mapping[str, object]] = {}
    while isinstance(node, str) and node in mapping:
        if node in branch:
            raise Malformed("its messages go round in a ring")
        branch[node] = values.mapping(mapping[node], "a node of 'mapping'")
        node = branch[node].get("parent")
    return [*branch.values()][::-1]


def _newest_leaf(mapping: Mapping[str, object]) -> object:
    """The last message that nothing follows, for exports that do not say which was open."""
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    followed = {parent for node in nodes.values() if isinstance(parent := node.get("parent"), str)}
    leaves = [name for name in nodes if name not in followed]
    if not leaves:
        raise Malformed("its messages go round in a ring" if nodes else "it has no messages")
    return max(leaves, key=lambda name: _order(nodes[name].get("message")))


def _order(message: object) -> float:
    at = _moment(message.get("create_time")) if isinstance(message, dict) else None
    return 0.0 if at is None else at.timestamp()


def _moment(told: object) -> datetime | None:
    """A time, or None for one that cannot be read: the messages around it tell it well enough."""
    at: datetime | None = values.dates(at=told)["at"]
    return at


def _messages(
    position: int, session: str, branch: list[Mapping[str, object]], at: datetime | None
) -> Iterator[ImportedMessage | LineProblem | LeftBehind]:
    for place, node in enumerate(branch, 1):
        message = node.get("message")
        if message is not None:
            at = _moment(message.get("create_time") if isinstance(message, dict) else None) or at
            yield values.tried(position, _message, session, message, at, where=f"{session}, message {place}")


def _message(session: str, message: object, at: datetime | None) -> ImportedMessage | LeftBehind:
    held = values.mapping(message, "the message")
    author = values.mapping(held.get("author"), "'author'")
    if author.get("role") not in ("user", "assistant") or held.get("recipient", "all") != "all":
        return LeftBehind(what="messages of tools and the system, and calls to tools")
    told = held.get("metadata")
    about = told if isinstance(told, dict) else {}
    if about.get(_HIDDEN) or about.get("is_user_system_message") or held.get("weight") == 0:
        return LeftBehind(what="hidden messages")
    content = values.mapping(held.get("content"), "'content'")
    said = _said(content) if str(content.get("content_type")) in _SPOKEN else ""
    if not said:
        return LeftBehind(what="thoughts, images and empty messages")
    name = values.some_text(held, "id") or ""
    return ImportedMessage(session=session, role=values.role(author), content=said, at=at, message_id=name)


def _said(content: Mapping[str, object]) -> str:
    """The words of a message: its texts, and what was understood of what was spoken."""
    parts = content.get("parts")
    texts = [_part(each) for each in parts] if isinstance(parts, list) else [content.get("text")]
    found = [text for text in texts if isinstance(text, str) and text.strip()]
    return values.text({"parts": "\n".join(found)}, "parts") if found else ""


def _part(part: object) -> object:
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        return part.get("text")
    return part
