"""`langmem-tiers config`: the settings in force, where each comes from, and the settings file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli import completion
from langmem_tiers.cli.target import Shown, Target, command
from langmem_tiers.errors import InvalidSettings, MissingExtra
from langmem_tiers.wording import safe

if TYPE_CHECKING:
    from langmem_tiers.settings import Settings
    from langmem_tiers.settings_layers import Key, LayeredSettings

config = typer.Typer(
    help="Settings: what is in force and where it comes from, and changes to langmem-tiers.toml.", no_args_is_help=True
)

OfOneSpace = Annotated[
    str | None, typer.Option("--space", metavar="SPACE", help="What is otherwise for a space: users/alice.")
]
OfOneAgent = Annotated[
    str | None, typer.Option("--agent", metavar="ID", help="What is otherwise for an agent: patrol.")
]
SettingKey = Annotated[
    str, typer.Argument(metavar="KEY", autocompletion=completion.settings, help="Such as recall.limit.")
]


@config.command()
@command
def show(
    target: Target,
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY", autocompletion=completion.settings, help="A setting or a group: recall.limit, recall."
        ),
    ] = "",
    *,
    space: OfOneSpace = None,
    agent: OfOneAgent = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also what is otherwise for each space and agent that has settings.")
    ] = False,
) -> Shown:
    """Print the settings in force, for a space or an agent if one is named, and where each comes from."""
    from rich.table import Table

    from langmem_tiers.settings_file import written
    from langmem_tiers.settings_layers import known_key, load

    asked, known = known_key(key), load(target.folder)
    scopes = _scopes(known.whole)
    found = _in_force(known, asked, space, agent)
    others = [row for scope in scopes if every for row in _in_force(known, asked, *scope, alone=True)]
    table = Table("setting", "value", "from")
    for each in (*found, *others):
        table.add_row(str(each["key"]), safe(written(each["value"])), safe(str(each["source"])))
    alone = not every and space is None and agent is None
    named = "; ".join(map(_scope_words, scopes)) if alone else ""
    more = [f"Some is otherwise for {named}: --all shows it."] if named else []
    return Shown([*found, *others], [table, *more])


Scope = tuple[str | None, str | None]
"""A space and an agent for which something is otherwise."""


def _in_force(
    known: LayeredSettings, asked: Key, space: str | None, agent: str | None, *, alone: bool = False
) -> list[dict[str, Any]]:
    """The settings in and below a key, for a space or an agent; `alone`, only those that are set for it itself."""
    from langmem_tiers.settings_file import source_words
    from langmem_tiers.settings_layers import keys, value_of

    settings = known.of(space, agent)
    rows = []
    for each in [key for key in keys() if key[: len(asked)] == asked] or [asked]:
        origin = known.origin(each, space, agent)
        if not alone or (origin.scope and _named(origin.scope) == (space, agent)):
            rows.append(
                {"key": ".".join(each), "value": value_of(settings, each), "source": source_words(origin, each)}
            )
    return rows


def _named(scope: Key) -> Scope:
    """The space and the agent that a table is for."""
    kinds = dict(zip(scope[::2], scope[1::2], strict=True))
    return kinds.get("spaces"), kinds.get("agents")


def _scopes(settings: Settings) -> list[Scope]:
    """The spaces and agents that have settings of their own."""
    found: list[Scope] = [(None, agent) for agent in settings.agents]
    for space, own in settings.spaces.items():
        found += [(space, None)] if own.model_fields_set - {"agents"} else []
        found += [(space, agent) for agent in own.agents]
    return found


def _scope_words(scope: Scope) -> str:
    space, agent = scope
    return ", ".join(f"{kind} {name}" for kind, name in (("space", space), ("agent", agent)) if name is not None)


@config.command("set")
@command
def set_setting(
    target: Target,
    key: SettingKey,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="""Such as 5, false, none, a text or '["a", "b"]'.""")],
    *,
    space: OfOneSpace = None,
    agent: OfOneAgent = None,
) -> Shown:
    """Write a setting into langmem-tiers.toml in the memory folder; comments there stay."""
    from langmem_tiers.settings_file import read_value, set_value
    from langmem_tiers.settings_layers import known_key, load, scope_of

    asked = known_key(key)
    path = set_value(target.folder, (*scope_of(space, agent), *asked), read_value(value))
    over = load(target.folder).origin(asked, space, agent).layer
    covered = [f"It is not in force: {over.place} goes before the file."] if over.source == "environment" else []
    return Shown({"file": str(path)}, [f"{key} is set in {path}.", *_also_for(target), *covered])


@config.command()
@command
def unset(target: Target, key: SettingKey, *, space: OfOneSpace = None, agent: OfOneAgent = None) -> Shown:
    """Remove a setting from langmem-tiers.toml: what the environment or the defaults say is in force then."""
    from langmem_tiers.settings_file import unset_value
    from langmem_tiers.settings_layers import scope_of

    path = unset_value(target.folder, (*scope_of(space, agent), *key.split(".")))
    return Shown({"file": str(path)}, [f"{key} is no longer set in {path}.", *_also_for(target)])


def _also_for(target: Target) -> list[str]:
    """For what else the settings file of a memory in a database counts, as a database has none of its own."""
    if not isinstance(target.place, str):
        return []
    return ["It is the file of every database that you open on this machine, and of the memory in that folder."]


@config.command()
@command
def check(target: Target) -> Shown:
    """Read langmem-tiers.toml and the environment as a memory does; exit code 1 if something there cannot be used."""
    from langmem_tiers.settings_layers import FILE, load

    known = load(target.folder)
    _require_models(known.whole)
    sources = [layer.place for layer in known.layers if layer.source != "default"]
    named = ", ".join(sources) or f"nothing but defaults: there is no {target.folder / FILE}"
    return Shown({"sources": sources}, [f"The settings can be used. They come from {named}."])


def _require_models(settings: Settings) -> None:
    """Refuse models that the settings name and that cannot be used; nothing is called or downloaded.

    Raises:
        InvalidSettings: nobody provides a model of this name, its client refuses it, or its package is missing.
    """
    from langmem_tiers.models.embedder import resolve
    from langmem_tiers.models.providers import chat_model

    named = {"model.name": settings.model.name, "recall.rerank.model": settings.recall.rerank.model}
    makers: list[tuple[str, str | None, Callable[[str], object]]] = [("embedder", settings.embedder, resolve)]
    makers += [(key, name, chat_model) for key, name in named.items()]
    for key, name, make in makers:
        try:
            if name is not None:
                make(name)
        except (InvalidSettings, MissingExtra) as error:
            raise InvalidSettings(f"{key}: {error.message}", way_out=error.way_out) from error
