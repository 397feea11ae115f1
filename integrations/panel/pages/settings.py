"""Settings: what is in force and where it comes from, and changes to the settings file.

A panel is for one user: by default it changes only what is set for the space that it shows. Whoever starts it can let
it change what is for the whole memory as well (`--memory-settings`): they could edit the file anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from langmem_tiers import settings_file, settings_layers
from langmem_tiers.errors import AccessDenied, InvalidInput, MemoryTiersError
from langmem_tiers.integrations.panel.page import Page, View, get, post
from langmem_tiers.settings import fits
from langmem_tiers.settings_catalogue import SettingInfo, catalogue, setting
from langmem_tiers.settings_layers import FILE, Key, LayeredSettings
from langmem_tiers.trust import secrets

if TYPE_CHECKING:
    from langmem_tiers.space import Space

SCOPES = {
    "space": "for this memory of {space}",
    "space-agent": "for the agent {agent} here",
    "memory": "for everybody in this folder",
    "memory-agent": "for the agent {agent}, whoever it works for",
}
SOURCES = {"default": "quiet", "file": "good", "environment": "gold", "code": "gold"}
_RESTART = "It is in force once the memory is opened again: restart the panel, and what your agents run in."


@dataclass(frozen=True, kw_only=True)
class Row:
    """A setting as the list shows it: its value, where it comes from, and what the file says for the next start."""

    info: SettingInfo
    value: str
    source: str
    look: str
    for_agent: bool
    next: str | None


def show(view: View) -> Response:
    """All settings, those that hold the words asked for, or those in which an agent differs."""
    find, agent = view.query.word("find"), view.query.word("agent") or None
    known, later, problem = _layers(view)
    rows = [_row(view.space, each, agent, known, later) for each in catalogue() if _fits(each, find)]
    if view.query.flag("changed"):
        rows = [each for each in rows if each.look != "quiet" or each.next is not None]
    grouped = [(group, list(each)) for group, each in groupby(rows, key=lambda row: _group(row.info))]
    given: dict[str, Any] = {
        "find": find,
        "agent": agent,
        "agents": _agents(view.space, later or known),
        "problem": problem,
    }
    return view.show("settings.html", groups=grouped, changed=view.query.flag("changed"), **given, **_common(view))


def one(view: View) -> Response:
    """One setting: what it is, where it is set, and a form to change it."""
    return _form(view, *_asked(view))


def _asked(view: View) -> tuple[SettingInfo, str | None]:
    return _named(view), view.query.word("agent") or None


def _form(view: View, info: SettingInfo, agent: str | None, *, refused: MemoryTiersError | None = None) -> Response:
    """The page of a setting; if what was typed was refused, with that and why."""
    known, later, problem = _layers(view)
    row = _row(view.space, info, agent, known, later)
    places = list(_places(view, info, agent))
    current = settings_layers.value_of((later or known).of(view.space.name, agent), info.key)
    given: dict[str, Any] = {"row": row, "info": info, "agent": agent, "places": places}
    given |= {
        "problem": refused or problem,
        "refused": refused is not None,
        "typed": view.form.text("value") if refused else _typed(current),
    }
    return view.show("setting.html", status=422 if refused else 200, **given, **_common(view))


def change(view: View) -> Response:
    """Write a setting into the file."""
    info, agent = _named(view), view.form.word("agent") or None
    scope = _scope(view, info, agent)
    try:
        value = _value(info, view.form.text("value"))
        settings_file.set_value(view.space.memory.path, (*scope, *info.key), value)
    except InvalidInput as error:
        return _form(view, info, agent, refused=error)
    told = _covered(view, info, agent, scope) or _RESTART
    return view.go(_path(info, agent), told=f"{info.name} is set in {FILE}. {told}")


def unset(view: View) -> Response:
    """Remove a setting from the file."""
    info, agent = _named(view), view.form.word("agent") or None
    key = (*_scope(view, info, agent), *info.key)
    settings_file.unset_value(view.space.memory.path, key)
    return view.go(_path(info, agent), told=f"{info.name} is no longer set there. {_RESTART}")


def _named(view: View) -> SettingInfo:
    key = tuple(view.part("name").split("."))
    if key not in set(settings_layers.keys()):
        raise HTTPException(404)
    return setting(key)


def _path(info: SettingInfo, agent: str | None) -> str:
    from urllib.parse import quote

    return f"/settings/{info.name}" + (f"?agent={quote(agent, safe='')}" if agent else "")


def _layers(view: View) -> tuple[LayeredSettings, LayeredSettings | None, MemoryTiersError | None]:
    """What is in force here, what will be at the next start, and why that cannot be told."""
    memory = view.space.memory
    code = next((layer.settings for layer in memory.layered.layers if layer.source == "code"), None)
    try:
        return memory.layered, settings_layers.load(memory.path, code), None
    except MemoryTiersError as error:  # shown on the page
        return memory.layered, None, error


def _row(
    space: Space, info: SettingInfo, agent: str | None, known: LayeredSettings, later: LayeredSettings | None
) -> Row:
    value = settings_layers.value_of(known.of(space.name, agent), info.key)
    origin = known.origin(info.key, space.name, agent)
    then = value if later is None else settings_layers.value_of(later.of(space.name, agent), info.key)
    return Row(
        info=info,
        value=_safe(value),
        source=settings_file.source_words(origin, info.key),
        look=SOURCES[origin.layer.source],
        for_agent="agents" in origin.scope,
        next=None if then == value else _safe(then),
    )


def _safe(value: Any) -> str:
    """A value as it is typed, without secrets."""
    return secrets.mask(settings_file.written(value))


def _typed(value: Any) -> str:
    """What the field to change a value holds; nothing where that would show a secret."""
    text = settings_file.written(value)
    return text if secrets.mask(text) == text else ""


def _fits(info: SettingInfo, find: str) -> bool:
    text = f"{info.name} {info.description}".casefold().replace("_", " ")
    return all(word in text for word in find.casefold().replace("_", " ").split())


def _group(info: SettingInfo) -> str:
    return info.key[0] if len(info.key) > 1 else "general"


def _agents(space: Space, known: LayeredSettings) -> dict[str, list[str]]:
    """What each agent with settings of its own has otherwise, here or everywhere."""
    here = known.whole.spaces.get(space.name)
    found = {**known.whole.agents, **(here.agents if here else {})}
    return {name: list(_own(space, known, name)) for name in sorted(found)}


def _own(space: Space, known: LayeredSettings, agent: str) -> Iterator[str]:
    for key in (each.key for each in catalogue()):
        if "agents" in known.origin(key, space.name, agent).scope:
            yield ".".join(key)


def _places(view: View, info: SettingInfo, agent: str | None) -> Iterator[tuple[str, str, bool, str]]:
    """Where the file can set it: the scope, its words, whether it does, and why it cannot be changed here."""
    for scope, words in SCOPES.items():
        if scope.endswith("-agent") != (agent is not None):
            continue
        refused = _refusal(view, info, scope)
        there = settings_file.has_value(view.space.memory.path, (*_scope_key(view, scope, agent), *info.key))
        yield scope, words.format(space=view.space.name, agent=agent), there, refused


def _refusal(view: View, info: SettingInfo, scope: str) -> str:
    if scope.startswith("memory") and not view.panel.memory_settings:
        return "Only who starts the panel with --memory-settings may change this."
    part = {"space": "a space", "space-agent": "an agent", "memory-agent": "an agent"}.get(scope)
    if part is not None and not fits(info.key, part):  # type: ignore[arg-type]  # one of them
        return f"This is in force for the whole memory and cannot be set for {part}."
    return ""


def _scope_key(view: View, scope: str, agent: str | None) -> Key:
    space = view.space.name if scope.startswith("space") else None
    return settings_layers.scope_of(space, agent if scope.endswith("-agent") else None)


def _scope(view: View, info: SettingInfo, agent: str | None) -> Key:
    """Where to write what was sent.

    Raises:
        AccessDenied: this panel may not change that.
        InvalidInput: it cannot be set there.
    """
    scope = view.form.choice("scope", tuple(SCOPES))
    if scope.endswith("-agent") != (agent is not None):
        raise InvalidInput("The form names an agent in one place only.", way_out="Load the page again.")
    if reason := _refusal(view, info, scope):
        kind = AccessDenied if scope.startswith("memory") and not view.panel.memory_settings else InvalidInput
        raise kind(f"{info.name}: {reason[:1].lower()}{reason[1:]}", way_out="Set it for this memory alone.")
    return _scope_key(view, scope, agent)


def _value(info: SettingInfo, text: str) -> Any:
    """A value as the file has it: what TOML knows, but a text as it was typed."""
    typed = text.strip()
    if not typed:
        raise InvalidInput(f"{info.name} needs a value.", way_out="To go back to what holds otherwise, unset it.")
    return typed if info.kind in {"text", "choice"} else settings_file.read_value(typed)


def _covered(view: View, info: SettingInfo, agent: str | None, scope: Key) -> str:
    """Why what the file says there is not in force for this space, if something goes before it."""
    _, later, _ = _layers(view)
    if later is None:
        return ""
    found = later.origin(info.key, view.space.name, agent)
    if (found.layer.source, found.scope) == ("file", scope):
        return ""
    return f"It is not in force here: what {settings_file.source_words(found, info.key)} says goes before it."


def _common(view: View) -> Mapping[str, Any]:
    return {"file": view.space.memory.path / FILE, "RESTART": _RESTART}


PAGE = Page(
    title="Settings",
    path="/settings",
    key="t",
    group="agent",
    actions=(
        get("/settings", show),
        get("/settings/{name}", one),
        post("/settings/{name}", change),
        post("/settings/{name}/unset", unset),
    ),
)
