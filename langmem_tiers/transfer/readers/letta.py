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
from langmem_tiers.transfer.readers.values import Paths, digest, metadata
from langmem_tiers.transfer.records import (
    ImportedDocument,
    ImportedFact,
    ImportedMessage,
    LeftBehind,
    LineProblem,
    Names,
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
        UnreadableFile: it can not be read, or is no agent file.
    """
    known, paths = False, Paths("letta")
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


def _file(position: int, held: Mapping[str, object], paths: Paths) -> Iterator[Record]:
    if "agents" not in held and "core_memory" not in held:
        yield _passage(position, held)
        return
    blocks = {str(each.get("id")): each for each in _objects(held.get("blocks"))}
    agents = _objects(held.get("agents")) if "agents" in held else [held]
    for agent in agents:
        own = [blocks[each] for each in values.texts(agent.get("block_ids")) if each in blocks]
        yield from _agent(position, agent, own, paths)
    for owner in (*agents, held) if "agents" in held else agents:
        passages = [each for name in _PASSAGES for each in _objects(owner.get(name))]
        yield from (_passage(place, each) for place, each in enumerate(passages, 1))


def _agent(
    position: int, agent: Mapping[str, object], blocks: Sequence[Mapping[str, object]], paths: Paths
) -> Iterator[Record]:
    name = values.some_text(agent, "name", "id") or "agent"
    for block in (*blocks, *_objects(agent.get("core_memory")), *_objects(agent.get("memory_blocks"))):
        yield from _block(position, name, block, paths)
    names = Names()
    said = (_message(place, name, each, names) for place, each in enumerate(_objects(agent.get("messages")), 1))
    yield from pieces(said)


def _block(position: int, agent: str, block: Mapping[str, object], paths: Paths) -> Iterator[Record]:
    try:
        text = values.some_text(block, "value")
        label = values.some_text(block, "label") or "block"
    except Malformed as error:
        yield LineProblem(line=position, reason=f"{agent}, a memory block: {error}")
        return
    if text is not None:
        yield ImportedDocument(path=paths.path(agent, label), text=text, identity=label == _HUMAN)


def _passage(position: int, held: Mapping[str, object]) -> Record:
    try:
        text = values.text(held, "text")
        own, times = held.get("metadata", held.get("metadata_")), values.Times()
        return ImportedFact(
            source="letta",
            fact_id=values.some_text(held, "id") or digest(text),
            content=text,
            tags=values.texts(held.get("tags")),
            created_at=times.of(held.get("created_at"), "created_at"),
            updated_at=times.of(held.get("updated_at"), "updated_at"),
            metadata={**metadata(own if isinstance(own, dict) else {}), **metadata(held, *_OWN)},
            unreadable_times=times.unreadable,
        )
    except Malformed as error:
        return LineProblem(line=position, reason=f"passage {position}: {error}")


def _message(
    position: int, agent: str, held: Mapping[str, object], names: Names
) -> ImportedMessage | LineProblem | LeftBehind:
    role = held.get("role")
    if role not in ("user", "assistant"):
        return LeftBehind(what="messages of tools and the system")
    try:
        said = _sent(held) if role == "assistant" else _asked(_content(held))
        if not said:
            return LeftBehind(what="events, tool calls and inner monologue")
        times = values.Times()
        message = ImportedMessage(
            session=f"letta {agent}",
            role=values.role(held),
            content=values.text({"content": said}, "content"),
            at=times.of(held.get("created_at"), "created_at"),
            speaker=None,
            message_id="",
            unreadable_times=times.unreadable,
        )
        # The ids of a file are numbers given at the export, and others at the next.
        return names.named(message)
    except Malformed as error:
        return LineProblem(line=position, reason=f"{agent}, message {position}: {error}")


def _content(held: Mapping[str, object]) -> str:
    content = held.get("content", held.get("text"))
    if isinstance(content, str):
        return content
    parts = [each for each in _objects(content) if each.get("type", "text") == "text"]
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
    calls = _objects(held.get("tool_calls"))
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


def _objects(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
