"""Tools that save, correct and delete."""

from typing import Annotated, Literal

from pydantic import Field

from langmem_tiers.errors import EntryChanged, InvalidInput, InvalidText, UnknownEntry
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import LOWER, UPPER, Id, Tags, Words, bare
from langmem_tiers.integrations.tools.base import Call, ToolAnswer
from langmem_tiers.integrations.tools.sources import origin_of, origin_of_removal, source_of
from langmem_tiers.integrations.tools.versions import version_seen, versions
from langmem_tiers.knowledge.identity import DEFAULT_SECTION, Identity
from langmem_tiers.knowledge.results import IdentityText
from langmem_tiers.pointers import split_reference
from langmem_tiers.records import Entry
from langmem_tiers.types import Origin
from langmem_tiers.wording import beginning

_SHOWN = 300
_ID_SHOWN = 60
# How many similar memories are shown: enough to notice a contradiction.
_CLOSE = 3
_CLOSE_ENOUGH = 0.4
_OUTCOMES = {
    "saved": "Saved as [{id}] in category {category}.",
    "known": "Known already, as [{id}] in category {category}: nothing new was stored.",
    "merged": "Known in other words: merged into [{id}] in category {category}.",
    "reactivated": "Known before and retired since: [{id}] in category {category} is active again.",
}


def save_memory(
    call: Call,
    content: Annotated[str, Field(description="One fact, as a sentence: 'The user prefers tea.'")],
    category: Annotated[Words, Field(description="Such as 'preferences/drinks'.")] = None,
    tags: Annotated[Tags, Field(description="A few words to find it by.")] = None,
) -> ToolAnswer:
    """Save a lasting fact, preference or correction in long-term memory."""
    knowledge, scope, source = call.space.knowledge, call.scope, source_of(call, content)
    saved = knowledge.save(
        content,
        category=category,
        tags=tags or (),
        origin=source.origin,
        evidence=source.evidence,
        project=scope.project,
        agent=scope.agent,
        task=scope.task,
        metadata=source.metadata,
    )
    entry = saved.entry
    parts = [_OUTCOMES[saved.outcome].format(id=entry.id, category=entry.category)]
    if entry.flags:
        parts.append("It reads like an instruction, and will be shown as a quotation.")
    found = call.own.knowledge.search(entry.content, limit=_CLOSE + 1)
    close = [each.entry for each in found if each.entry.id != entry.id and each.score >= _CLOSE_ENOUGH][:_CLOSE]
    if close:
        shown = [base.entry_line(each, _SHOWN) for each in close]
        parts.append(base.fenced("Close to it; if one of these is wrong now, update or delete it", shown))
    artifact = {"id": entry.id, "outcome": saved.outcome, "versions": versions([entry, *close])}
    return ToolAnswer("\n".join(parts), artifact)


def update_memory(
    call: Call,
    id: Annotated[Id, Field(description="The memory's id, as shown in [brackets].")],
    content: Annotated[Words, Field(description="What it says from now on.")] = None,
    category: Annotated[Words, Field(description="Its new category.")] = None,
    tags: Annotated[Tags, Field(description="Its new tags, instead of all that it has.")] = None,
) -> ToolAnswer:
    """Correct or change a memory; what is left out stays as it is."""
    if content is None and category is None and tags is None:
        return ToolAnswer(f"Nothing to change in [{base.plain(id)}]: give content, category or tags.", {})
    knowledge, id = call.own.knowledge, _own_id(call, id)
    source = None if content is None else source_of(call, content)
    try:
        entry = knowledge.update(
            id,
            content=content,
            category=category,
            tags=tags,
            version=version_seen(call, "versions", id),
            origin="assistant" if source is None else source.origin,
            evidence=() if source is None else source.evidence,
        )
    except EntryChanged:
        changed = knowledge.get(id)
        if changed is None:
            return ToolAnswer("Not updated: it was deleted meanwhile. Save what is right as a new memory.", {})
        told = f"Not updated: [{id}] was changed since you read it. If your change still applies, call again."
        return ToolAnswer(f"{told}\n{_says_now(changed)}", {"versions": versions([changed])})
    return ToolAnswer(f"Updated [{entry.id}].\n{_says_now(entry)}", {"id": entry.id, "versions": versions([entry])})


def delete_memory(
    call: Call, id: Annotated[Id, Field(description="The memory's id, as shown in [brackets].")]
) -> ToolAnswer:
    """Delete one memory for good, such as when the user asks to forget it."""
    own = _own_id(call, id)
    deleted = call.space.knowledge.delete(own, origin=_wished_by(call, own))
    if not deleted.existed:
        raise unknown(id)
    return ToolAnswer(f"Deleted [{deleted.id}].", {"deleted": [deleted.id, *deleted.with_it]})


def _wished_by(call: Call, entry_id: str) -> Origin:
    """Whose wish it may be that a memory goes."""
    entry = call.own.knowledge.get(entry_id)
    return "assistant" if entry is None else origin_of_removal(call, entry.content)


def unknown(entry_id: str) -> UnknownEntry:
    """The error for an id that no memory has."""
    return UnknownEntry(f"There is no memory [{beginning(base.plain(entry_id), _ID_SHOWN)}].")


def _own_id(call: Call, reference: str) -> str:
    """The id of a memory that can be changed.

    Raises:
        InvalidInput: it is one of a fallback.
    """
    name, space = split_reference(reference)
    if call.space.context.source(space).name != call.space.name:
        raise InvalidInput(
            f"[{base.plain(reference)[:_ID_SHOWN]}] is in a memory that is only read from here.",
            way_out="Save what is right as a memory of your own; that goes before it.",
        )
    return name


def _says_now(entry: Entry) -> str:
    return base.fenced("It says now", [base.entry_line(entry, _SHOWN)])


_TITLE = "## "


def memory_write(
    call: Call,
    action: Annotated[Literal["add", "update", "remove"], LOWER],
    layer: Annotated[
        Literal["L0", "L1"],
        UPPER,
        Field(description="L0: the short profile that is always before you. L1: all other memories."),
    ],
    content: Annotated[Words, Field(description="The new text, to add or update.")] = None,
    target_id: Annotated[
        Words, Field(description="To update or remove. L1: the memory's id. L0: a section's title, or a line.")
    ] = None,
    tags: Annotated[Tags, Field(description="For L1: a few words to find it by.")] = None,
) -> ToolAnswer:
    """Add, update or remove a memory.

    Layer L0 is the short user profile that is always before you (name, role, core preferences); L1 is everything else.
    """
    if layer == "L0":
        return _write_profile(call, action, content, target_id)
    if action == "add":
        return save_memory(call, _required(content, action), tags=tags)
    if target_id is None:
        raise InvalidInput("No memory was named.", way_out="Give its id as target_id; search_memory finds it.")
    if action == "update":
        return update_memory(call, str(bare(target_id)), content, tags=tags)
    own = _own_id(call, str(bare(target_id)))
    entry = call.space.knowledge.deactivate(own, origin=_wished_by(call, own))
    text = f"Retired [{entry.id}]: it is no longer recalled. delete_memory deletes it for good."
    return ToolAnswer(text, {"id": entry.id, "versions": versions([entry])})


def _write_profile(call: Call, action: str, content: str | None, target: str | None) -> ToolAnswer:
    identity = call.space.identity
    if action == "remove":
        what = target or content
        if what is None:
            raise InvalidInput("Nothing was named.", way_out="Give the section's title or the line as target_id.")
        done, now = "Removed.", identity.remove(what, origin=origin_of_removal(call, what))
    else:
        new = _required(content, action)
        by = origin_of(call, new, known=identity.read().text)
        if action == "add":
            done, now = "Added.", identity.add(new, section=target or DEFAULT_SECTION, origin=by)
        else:
            done, now = _updated_profile(identity, new, target, by)
    told = f"{done} The profile takes {now.usage}; it stands before you from the next conversation on."
    text = " ".join((told, *base.waiting(now.text)))
    if now.text:
        text += "\n" + base.fenced("The profile now", [base.item(now.text)])
    return ToolAnswer(text, {"version": now.version, "characters": now.characters, "most": now.most})


def _updated_profile(identity: Identity, content: str, target: str | None, by: Origin) -> tuple[str, IdentityText]:
    """Put text in the place of a section, of a line, or of the whole where no target is named."""
    if target is None:
        return "Replaced as a whole.", identity.write(content, origin=by)
    held = identity.read()
    headings = [line.removeprefix(_TITLE) for line in held.text.split("\n") if line.startswith(_TITLE)]
    if target.strip("# ").casefold() in [heading.strip("# ").casefold() for heading in headings]:
        return "Section replaced.", identity.replace(target, content, origin=by)
    new = _with_line(held.text, target, content)
    return "Line replaced.", identity.write(new, version=held.version, origin=by)


def _required(content: str | None, action: str) -> str:
    if content is None:
        raise InvalidText("There is no content.", way_out=f"Give content to {action}.")
    return content


def _with_line(text: str, target: str, content: str) -> str:
    """The text with another line in the place of the only one that holds the target."""
    parts = text.split("\n")
    wanted = target.strip("-* ").casefold()
    found = [place for place, line in enumerate(parts) if wanted in line.casefold() and not line.startswith(_TITLE)]
    if len(found) != 1:
        there = f"{len(found)} lines" if found else "no section or line"
        raise InvalidText(
            f"There is {there} {beginning(target, 60)!a}.", way_out="Give a section's title or a whole line."
        )
    new = " ".join(content.strip("-* \n").split())
    return "\n".join([*parts[: found[0]], f"- {new}", *parts[found[0] + 1 :]])
