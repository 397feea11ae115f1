"""The tool that writes to both layers: the profile that is always before the model, and the knowledge."""

from pydantic import BaseModel

from langmem_tiers.errors import InvalidInput, InvalidText
from langmem_tiers.identity.identity import DEFAULT_SECTION
from langmem_tiers.identity.types import IdentityText
from langmem_tiers.integrations.tools import lines
from langmem_tiers.integrations.tools.arguments import WriteArguments, bare
from langmem_tiers.integrations.tools.base import Answer, MemoryTool
from langmem_tiers.integrations.tools.calls import Call
from langmem_tiers.integrations.tools.saving import save, update

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
        text += "\n" + lines.fenced("The profile now", [lines.item(identity.text)])
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
