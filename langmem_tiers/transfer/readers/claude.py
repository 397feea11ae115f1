"""Reading the data export of Claude: its zip file, the folder in it, or its `conversations.json`.

Conversations become sessions under their own ids. What Claude remembered (`memories.json`), project instructions and
the texts of project files become documents. Thoughts, tool calls and attachments are left behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from langmem_tiers.errors import UnreadableFile
from langmem_tiers.transfer.files import Export, Malformed, unreadable
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.readers.values import DocumentPaths, digest
from langmem_tiers.transfer.records import (
    ImportedDocument,
    ImportedMessage,
    ImportedRole,
    LeftBehind,
    LineProblem,
    Record,
    pieces,
)

EXPECTED = "the data export of Claude"
OTHERS = re.compile(r"/(memories|projects)(-\d+)?\.json$|/(memories|projects)/[^/]+\.json$")
_ROLES: Mapping[str, ImportedRole] = {"human": "user", "user": "user", "assistant": "assistant"}


def read_claude(path: Path) -> Iterator[Record]:
    """Sessions and documents, and the problems.

    Raises:
        UnreadableFile: it cannot be read, or is no such export.
    """
    paths = DocumentPaths("claude")
    with Export(path, EXPECTED) as export:
        members = export.conversations()
        others = [name for name in export.named(OTHERS) if name not in members]
        if not members and not others:
            raise unreadable(path, EXPECTED, "there is no conversations.json in it")
        for name in members:
            for position, held in export.entries(name):
                yield from _element(position, held, paths)
        for place, name in enumerate(others, 1):
            try:
                for position, held in export.entries(name):
                    yield from _element(position, held, paths)
            except UnreadableFile as error:
                yield LineProblem(line=place, reason=f"{name}: {error.message}")


def _element(position: int, held: object, paths: DocumentPaths) -> Iterator[Record]:
    try:
        element = values.mapping(held, "the entry")
        if "chat_messages" in element:
            yield from _conversation(position, element)
        elif "conversations_memory" in element or "project_memories" in element:
            yield from _memories(element, paths)
        elif "prompt_template" in element or "docs" in element:
            yield from _project(position, element, paths)
        else:
            yield LineProblem(line=position, reason="it is neither a conversation, a memory nor a project")
    except Malformed as error:
        yield LineProblem(line=position, reason=str(error))


def _conversation(position: int, held: Mapping[str, object]) -> Iterator[Record]:
    session = values.text(held, "uuid")
    messages = values.sequence(held["chat_messages"], "'chat_messages'")
    said = (
        values.tried(position, _message, session, held, each, where=f"{session}, message {place}")
        for place, each in enumerate(messages, 1)
    )
    yield from pieces(said, user=_account(held.get("account")))
    files = [each.get("attachments") for each in messages if isinstance(each, dict)]
    attached = sum(len(each) for each in files if isinstance(each, list))
    if attached:
        yield LeftBehind(what="attachments", count=attached)


def _message(session: str, conversation: Mapping[str, object], held: object) -> ImportedMessage | LeftBehind:
    message = values.mapping(held, "the message")
    role = _ROLES.get(values.text(message, "sender"))
    said = _said(message)
    if role is None or said is None:
        return LeftBehind(what="messages of tools and the system, and empty ones")
    return ImportedMessage(
        session=session,
        role=role,
        content=said,
        message_id=values.some_text(message, "uuid") or "",
        **values.dates(at=(message.get("created_at"), conversation.get("created_at"))),
    )


def _said(message: Mapping[str, object]) -> str | None:
    """The text blocks of a message; older exports have a text alone."""
    blocks = message.get("content")
    parts = [each for each in blocks if isinstance(each, dict)] if isinstance(blocks, list) else []
    texts = [text for each in parts if each.get("type") == "text" and (text := values.some_text(each, "text"))]
    return "\n\n".join(texts) if texts else None if parts else values.some_text(message, "text")


def _memories(held: Mapping[str, object], paths: DocumentPaths) -> Iterator[Record]:
    user = values.some_text(held, "account_uuid")
    remembered = values.some_text(held, "conversations_memory")
    if remembered:
        yield ImportedDocument(path=paths.path("memory"), text=remembered, user=user)
    projects = held.get("project_memories")
    for project, text in projects.items() if isinstance(projects, dict) else ():
        if isinstance(text, str) and text.strip():
            path = paths.path("projects", _short(str(project)), "memory")
            yield ImportedDocument(path=path, text=text, user=user)


def _project(position: int, held: Mapping[str, object], paths: DocumentPaths) -> Iterator[Record]:
    user, folder = _account(held.get("creator")), _short(values.text(held, "uuid"))
    name = values.some_text(held, "name") or folder
    told = values.some_text(held, "prompt_template")
    about = values.some_text(held, "description")
    if about or told:
        text = "\n\n".join(part for part in (f"# {name}", about, told) if part)
        yield ImportedDocument(path=paths.path("projects", folder, "project"), text=text, user=user)
    docs = held.get("docs")
    for place, doc in enumerate(docs if isinstance(docs, list) else (), 1):
        yield values.tried(position, _file, paths, folder, user, doc, where=f"{name}, file {place}")


def _file(paths: DocumentPaths, folder: str, user: str | None, doc: object) -> ImportedDocument:
    held = values.mapping(doc, "the file")
    path = paths.path("projects", folder, "files", values.text(held, "filename"))
    return ImportedDocument(path=path, text=values.text(held, "content"), user=user)


def _short(uuid: str) -> str:
    return uuid if len(uuid) <= 40 else digest(uuid)


def _account(held: object) -> str | None:
    return values.some_text(held, "uuid") if isinstance(held, dict) else None
