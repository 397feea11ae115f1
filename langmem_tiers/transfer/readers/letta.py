"""Reading Letta agent files (`.af`), as written by any version, and the JSON list of an archive's passages.

Format: https://github.com/letta-ai/agent-file. Memory blocks become documents, the block about the human the identity
where there is none yet; archival passages become facts; what user and agent said becomes a session for each agent. An
agent that answers by the tool `send_message` said what it sent: the text beside the call is its inner monologue.
Prompts, tools, environment variables and summaries are left behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from langmem_tiers.transfer.files import Export, Malformed, parse, unreadable
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.readers.values import DocumentPaths, digest, metadata
from langmem_tiers.transfer.records import (
    ImportedDocument,
    ImportedFact,
    ImportedMessage,
    LeftBehind,
    LineProblem,
    Record,
    pieces,
)

EXPECTED = "a Letta agent file"
_HUMAN = "human"
_PASSAGES = ("passages", "archival_memory", "archival_passages")
_REPLY_TOOL = "send_message"
_OWN = ("id", "text", "tags", "created_at", "updated_at", "embedding", "embedding_config", "metadata", "metadata_")


def read_letta(path: Path) -> Iterator[Record]:
    """Documents, facts and sessions of all agents of the file, and the problems.

    Raises:
        UnreadableFile: it cannot be read, or is no agent file.
    """
    known, paths = False, DocumentPaths("letta")
    with Export(path, EXPECTED) as export:
        for position, held in export.entries(path.name):
            if not isinstance(held, dict) or not _is_known(held):
                yield LineProblem(line=position, reason="it is neither an agent file nor a passage")
                continue
            known = True
            yield from _file(position, held, paths)
    if not known:
        raise unreadable(path, EXPECTED, "there is no agent in it")


def _is_known(held: Mapping[str, object]) -> bool:
    agent_file = isinstance(held.get("agents"), list) or isinstance(held.get("core_memory"), list)
    return agent_file or (isinstance(held.get("text"), str) and "created_at" in held)


def _file(position: int, held: Mapping[str, object], paths: DocumentPaths) -> Iterator[Record]:
    if "agents" not in held and "core_memory" not in held:
        yield values.tried(position, _passage, held, where=f"passage {position}")
        return
    blocks = {str(each.get("id")): each for each in values.objects(held.get("blocks"))}
    agents = values.objects(held.get("agents")) if "agents" in held else [held]
    for agent in agents:
        own = [blocks[each] for each in values.texts(agent.get("block_ids")) if each in blocks]
        yield from _agent(position, agent, own, paths)
    for owner in (*agents, held) if "agents" in held else agents:
        passages = [each for name in _PASSAGES for each in values.objects(owner.get(name))]
        yield from (values.tried(n, _passage, each, where=f"passage {n}") for n, each in enumerate(passages, 1))


def _agent(
    position: int, agent: Mapping[str, object], blocks: Sequence[Mapping[str, object]], paths: DocumentPaths
) -> Iterator[Record]:
    name = values.some_text(agent, "name", "id") or "agent"
    memory = (*values.objects(agent.get("core_memory")), *values.objects(agent.get("memory_blocks")))
    for block in (*blocks, *memory):
        read = values.tried(position, _block, name, block, paths, where=f"{name}, a memory block")
        if read is not None:
            yield read
    messages = enumerate(values.objects(agent.get("messages")), 1)
    # The ids of a file are numbers given at the export, and others at the next: messages are named by what they say.
    yield from pieces(values.tried(n, _message, name, each, where=f"{name}, message {n}") for n, each in messages)


def _block(agent: str, block: Mapping[str, object], paths: DocumentPaths) -> ImportedDocument | None:
    text, label = values.some_text(block, "value"), values.some_text(block, "label") or "block"
    if text is None:
        return None
    return ImportedDocument(path=paths.path(agent, label), text=text, identity=label == _HUMAN)


def _passage(held: Mapping[str, object]) -> ImportedFact:
    text = values.text(held, "text")
    return ImportedFact(
        source="letta",
        fact_id=values.some_text(held, "id") or digest(text),
        content=text,
        tags=values.texts(held.get("tags")),
        metadata={**metadata(held.get("metadata", held.get("metadata_"))), **metadata(held, *_OWN)},
        **values.dates(created_at=held.get("created_at"), updated_at=held.get("updated_at")),
    )


def _message(agent: str, held: Mapping[str, object]) -> ImportedMessage | LeftBehind:
    role = held.get("role")
    if role not in ("user", "assistant"):
        return LeftBehind(what="messages of tools and the system")
    said = _sent(held) if role == "assistant" else _asked(_content(held))
    if not said:
        return LeftBehind(what="events, tool calls and inner monologue")
    content = values.text({"content": said}, "content")
    at = values.dates(at=held.get("created_at"))
    return ImportedMessage(session=f"letta {agent}", role=values.role(held), content=content, **at)


def _content(held: Mapping[str, object]) -> str:
    content = held.get("content", held.get("text"))
    if isinstance(content, str):
        return content
    parts = [each for each in values.objects(content) if each.get("type", "text") == "text"]
    return "\n".join(text for each in parts if isinstance(text := each.get("text"), str))


def _asked(content: str) -> str | None:
    """What the user said: a message is packed into JSON with its time, and so are events that nobody said."""
    if not content.lstrip().startswith("{"):
        return content.strip()
    try:
        packed = parse(content)
    except Malformed:
        return content.strip()
    if not isinstance(packed, dict) or "type" not in packed:
        return content.strip()
    return values.some_text(packed, "message") if packed["type"] == "user_message" else None


def _sent(held: Mapping[str, object]) -> str | None:
    calls = values.objects(held.get("tool_calls"))
    if not calls:
        return _content(held).strip()
    sent = [_reply(call.get("function")) for call in calls]
    return "\n".join(each for each in sent if each)


def _reply(function: object) -> str | None:
    if not isinstance(function, dict) or function.get("name") != _REPLY_TOOL:
        return None
    told = function.get("arguments")
    arguments = parse(told) if isinstance(told, str) else told
    return values.some_text(arguments, "message") if isinstance(arguments, dict) else None
