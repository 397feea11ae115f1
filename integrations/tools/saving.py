"""The tools that write: a change is stored when they answer, and no model is waited for."""

from typing import Any

from langchain_core.messages import ToolMessage
from pydantic import BaseModel

from langmem_tiers.errors import EntryChanged, UnknownEntry
from langmem_tiers.integrations.tools import evidence, lines
from langmem_tiers.integrations.tools.arguments import DeleteArguments, SaveArguments, UpdateArguments
from langmem_tiers.integrations.tools.base import Answer, MemoryTool
from langmem_tiers.integrations.tools.calls import Call
from langmem_tiers.knowledge.knowledge import Knowledge
from langmem_tiers.knowledge.types import Entry, EntryFound, Saved

_SHOWN = 300
_ID_SHOWN = 60
# What else is known that comes close: enough to notice a contradiction.
_CLOSE = 3
_CLOSE_ENOUGH = 0.4
_OUTCOMES = {
    "saved": "Saved as [{id}] in category {category}.",
    "known": "Known already, as [{id}] in category {category}: nothing new was stored.",
    "merged": "Known in other words: merged into [{id}] in category {category}.",
    "reactivated": "Known before and put aside since: [{id}] in category {category} holds again.",
}


class SaveMemory(MemoryTool):
    """Saves an entry of the knowledge."""

    name: str = "save_memory"
    description: str = "Save a lasting fact, preference or correction in long-term memory."
    args_schema: type[BaseModel] = SaveArguments

    def _answer(self, call: Call, given: SaveArguments) -> Answer:
        return save(call, given.content, category=given.category, tags=given.tags or ())


class UpdateMemory(MemoryTool):
    """Changes an entry of the knowledge."""

    name: str = "update_memory"
    description: str = "Correct or change a memory; what is left out stays as it is."
    args_schema: type[BaseModel] = UpdateArguments

    def _answer(self, call: Call, given: UpdateArguments) -> Answer:
        return update(call, given.id, content=given.content, category=given.category, tags=given.tags)


class DeleteMemory(MemoryTool):
    """Deletes an entry of the knowledge for good."""

    name: str = "delete_memory"
    description: str = "Delete one memory for good, such as when the user asks to forget it."
    args_schema: type[BaseModel] = DeleteArguments

    def _answer(self, call: Call, given: DeleteArguments) -> Answer:
        deleted = call.space.knowledge.delete(given.id)
        if not deleted.existed:
            raise unknown(given.id)
        return Answer(f"Deleted [{deleted.id}].", {"deleted": [deleted.id, *deleted.with_it]})


def unknown(entry_id: str) -> UnknownEntry:
    """The error for an id that no memory has."""
    return UnknownEntry(f"There is no memory [{lines.plain(entry_id)[:_ID_SHOWN]}].")


def save(call: Call, content: str, *, category: str | None, tags: Any) -> Answer:
    """Save an entry that rests on the user's message, and show what is close to it."""
    knowledge, scope = call.space.knowledge, call.scope
    saved = knowledge.save(
        content,
        category=category,
        tags=tags,
        evidence=evidence.of_call(call),
        project=scope.project,
        agent=scope.agent,
        metadata=evidence.said_in(call),
    )
    close = _close(knowledge, saved.entry)
    shown = [lines.entry_line(found.entry, _SHOWN) for found in close]
    parts = [_OUTCOMES[saved.outcome].format(id=saved.entry.id, category=saved.entry.category), *_remarks(saved)]
    if shown:
        parts.append(lines.fenced("Close to it; if one of these is wrong now, update or delete it", shown))
    entries = [saved.entry, *(found.entry for found in close)]
    return Answer("\n".join(parts), {"id": saved.entry.id, "outcome": saved.outcome, "versions": versions(entries)})


def update(call: Call, entry_id: str, *, content: str | None, category: str | None, tags: list[str] | None) -> Answer:
    """Change an entry, unless it has changed since the model last saw it."""
    if content is None and category is None and tags is None:
        return Answer(f"Nothing to change in [{lines.plain(entry_id)}]: give content, category or tags.", {})
    knowledge = call.space.knowledge
    try:
        entry = knowledge.update(
            entry_id,
            content=content,
            category=category,
            tags=tags,
            version=_version_seen(call, entry_id),
            evidence=() if content is None else evidence.of_call(call),
        )
    except EntryChanged:
        return _changed(knowledge.get(entry_id))
    shown = lines.fenced("It says now", [lines.entry_line(entry, _SHOWN)])
    return Answer(f"Updated [{entry.id}].\n{shown}", {"id": entry.id, "versions": versions([entry])})


def versions(entries: list[Entry]) -> dict[str, int]:
    """The versions that a model was shown, for the artifact: a later update is made on these."""
    return {entry.id: entry.version for entry in entries}


def _version_seen(call: Call, entry_id: str) -> int | None:
    """The version of an entry that a tool showed last in this conversation."""
    artifacts = (message.artifact for message in reversed(call.messages) if isinstance(message, ToolMessage))
    shown = (artifact.get("versions") for artifact in artifacts if isinstance(artifact, dict))
    seen = (some[entry_id] for some in shown if isinstance(some, dict) and entry_id in some)
    return next((version for version in seen if isinstance(version, int)), None)


def _changed(entry: Entry | None) -> Answer:
    if entry is None:
        return Answer("Not updated: it was deleted meanwhile. Save what is right as a new memory.", {})
    shown = lines.fenced("It says now", [lines.entry_line(entry, _SHOWN)])
    text = (
        f"Not updated: [{entry.id}] was changed since you read it. If your change still applies, call again.\n{shown}"
    )
    return Answer(text, {"versions": versions([entry])})


def _close(knowledge: Knowledge, entry: Entry) -> list[EntryFound]:
    found = knowledge.search(entry.content, limit=_CLOSE + 1)
    return [each for each in found if each.entry.id != entry.id and each.score >= _CLOSE_ENOUGH][:_CLOSE]


def _remarks(saved: Saved) -> list[str]:
    """What the model should know of how it was stored."""
    return ["It reads like an instruction, and will be shown as a quotation."] if saved.entry.flags else []
