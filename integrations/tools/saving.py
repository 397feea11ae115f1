"""Tools that save, correct and delete."""

from typing import Any

from langchain_core.messages import ToolMessage
from pydantic import BaseModel

from langmem_tiers.errors import EntryChanged, InvalidInput, InvalidText, UnknownEntry
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import (
    DeleteArguments,
    SaveArguments,
    UpdateArguments,
    WriteArguments,
    bare,
)
from langmem_tiers.integrations.tools.base import Answer, Call, MemoryTool
from langmem_tiers.knowledge.identity import DEFAULT_SECTION
from langmem_tiers.knowledge.knowledge import Knowledge
from langmem_tiers.knowledge.types import EntryFound, IdentityText, Saved
from langmem_tiers.records import Entry

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
    return UnknownEntry(f"There is no memory [{base.plain(entry_id)[:_ID_SHOWN]}].")


def save(call: Call, content: str, *, category: str | None, tags: Any) -> Answer:
    """Save an entry that rests on the user's message, and show what is close to it."""
    knowledge, scope = call.space.knowledge, call.scope
    saved = knowledge.save(
        content,
        category=category,
        tags=tags,
        evidence=base.of_call(call),
        project=scope.project,
        agent=scope.agent,
        metadata=base.said_in(call),
    )
    close = _close(knowledge, saved.entry)
    shown = [base.entry_line(found.entry, _SHOWN) for found in close]
    parts = [_OUTCOMES[saved.outcome].format(id=saved.entry.id, category=saved.entry.category), *_remarks(saved)]
    if shown:
        parts.append(base.fenced("Close to it; if one of these is wrong now, update or delete it", shown))
    entries = [saved.entry, *(found.entry for found in close)]
    return Answer("\n".join(parts), {"id": saved.entry.id, "outcome": saved.outcome, "versions": versions(entries)})


def update(call: Call, entry_id: str, *, content: str | None, category: str | None, tags: list[str] | None) -> Answer:
    """Change an entry, unless it has changed since the model last saw it."""
    if content is None and category is None and tags is None:
        return Answer(f"Nothing to change in [{base.plain(entry_id)}]: give content, category or tags.", {})
    knowledge = call.space.knowledge
    try:
        entry = knowledge.update(
            entry_id,
            content=content,
            category=category,
            tags=tags,
            version=_version_seen(call, entry_id),
            evidence=() if content is None else base.of_call(call),
        )
    except EntryChanged:
        return _changed(knowledge.get(entry_id))
    shown = base.fenced("It says now", [base.entry_line(entry, _SHOWN)])
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
    shown = base.fenced("It says now", [base.entry_line(entry, _SHOWN)])
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


_TITLE = "## "


class MemoryWrite(MemoryTool):
    """Adds to, changes or removes from the identity (L0) or the knowledge (L1)."""

    name: str = "memory_write"
    description: str = (
        "Add, update or remove a memory. Layer L0 is the short user profile that is always before you (name, role, "
        "core preferences); L1 is everything else."
    )
    args_schema: type[BaseModel] = WriteArguments

    def _answer(self, call: Call, given: WriteArguments) -> Answer:
        return _WRITERS[given.layer, given.action](call, given)


def _add_entry(call: Call, given: WriteArguments) -> Answer:
    return save(call, _content(given), category=None, tags=given.tags or ())


def _update_entry(call: Call, given: WriteArguments) -> Answer:
    return update(call, _target(given), content=given.content, category=None, tags=given.tags)


def _remove_entry(call: Call, given: WriteArguments) -> Answer:
    entry = call.space.knowledge.deactivate(_target(given))
    text = f"Put aside [{entry.id}]: it is no longer recalled. delete_memory deletes it for good."
    return Answer(text, {"id": entry.id, "versions": {entry.id: entry.version}})


def _add_line(call: Call, given: WriteArguments) -> Answer:
    section = given.target_id or DEFAULT_SECTION
    return _identity("Added.", call.space.identity.add(_content(given), section=section, origin="assistant"))


def _update_profile(call: Call, given: WriteArguments) -> Answer:
    """Put text in the place of a section, of a line, or of the whole where no target is named."""
    identity, content = call.space.identity, _content(given)
    if given.target_id is None:
        return _identity("Replaced as a whole.", identity.write(content, origin="assistant"))
    held = identity.read()
    if given.target_id.strip("# ").casefold() in _titles(held.text):
        return _identity("Section replaced.", identity.replace(given.target_id, content, origin="assistant"))
    new = _with_line(held.text, given.target_id, content)
    return _identity("Line replaced.", identity.write(new, version=held.version, origin="assistant"))


def _remove_line(call: Call, given: WriteArguments) -> Answer:
    what = given.target_id or given.content
    if what is None:
        raise InvalidInput("Nothing was named.", way_out="Give the section's title or the line as target_id.")
    return _identity("Removed.", call.space.identity.remove(what, origin="assistant"))


_WRITERS = {
    ("L1", "add"): _add_entry,
    ("L1", "update"): _update_entry,
    ("L1", "remove"): _remove_entry,
    ("L0", "add"): _add_line,
    ("L0", "update"): _update_profile,
    ("L0", "remove"): _remove_line,
}


def _content(given: WriteArguments) -> str:
    if given.content is None:
        raise InvalidText("There is no content.", way_out=f"Give content to {given.action}.")
    return given.content


def _target(given: WriteArguments) -> str:
    if given.target_id is None:
        raise InvalidInput("No memory was named.", way_out="Give its id as target_id; search_memory finds it.")
    return str(bare(given.target_id))


def _identity(done: str, identity: IdentityText) -> Answer:
    text = f"{done} The profile takes {identity.usage}; it stands before you from the next conversation on."
    if identity.text:
        text += "\n" + base.fenced("The profile now", [base.item(identity.text)])
    return Answer(text, {"version": identity.version, "characters": identity.characters, "most": identity.most})


def _titles(text: str) -> set[str]:
    headings = (line for line in text.split("\n") if line.startswith(_TITLE))
    return {heading.removeprefix(_TITLE).strip("# ").casefold() for heading in headings}


def _with_line(text: str, target: str, content: str) -> str:
    """The text with another line in the place of the only one that holds the target."""
    parts = text.split("\n")
    wanted = target.strip("-* ").casefold()
    found = [place for place, line in enumerate(parts) if wanted in line.casefold() and not line.startswith(_TITLE)]
    if len(found) != 1:
        there = f"{len(found)} lines" if found else "no section or line"
        raise InvalidText(f"There is {there} {target[:60]!a}.", way_out="Give a section's title or a whole line.")
    new = " ".join(content.strip("-* \n").split())
    return "\n".join([*parts[: found[0]], f"- {new}", *parts[found[0] + 1 :]])
