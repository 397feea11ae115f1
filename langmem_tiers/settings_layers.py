"""Where settings come from: defaults, the settings file, the environment, and code, each over the one before."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from langmem_tiers import private_files
from langmem_tiers.errors import InvalidSettings, MemoryTiersError, NewerSchema, UnreadableSettings
from langmem_tiers.settings import Settings, WorkingSettings

FILE = "langmem-tiers.toml"
FORMAT = 1
_DEEPEST = 100
"""Dots in a key: reading takes time with their square."""
_LARGEST_FILE = 1 << 20
"""Bytes of the largest settings file: the longest that anybody needs has some 20,000."""
PREFIX = "LANGMEM_TIERS_"
# Variables that are no settings.
_OTHERS = frozenset({"path", "user", "model", "mcp_token"})
# What holds for a part of the memory only, under the name of that part.
_SCOPES = ("spaces", "agents")
_SHOWN = 60
_MINUTES_A_DAY = 24 * 60

Key = tuple[str, ...]
"""The names on the way to a setting, such as `("recall", "limit")`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingsLayer:
    """What one source sets: only the fields that are set count.

    `place` is the path of the file, or the name of the variable.
    """

    source: Literal["default", "file", "environment", "code"]
    place: str = ""
    settings: Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a value comes from: a layer, and `("agents", "patrol")` if it holds for that agent only."""

    layer: SettingsLayer
    scope: Key = ()


class LayeredSettings:
    """Settings of several sources, in force for the whole memory, a space or an agent, and where each comes from."""

    def __init__(self, layers: Sequence[SettingsLayer]) -> None:
        self.layers = (SettingsLayer(source="default", settings=Settings()), *layers)
        self.whole = reduce(_with_layer, layers, Settings())
        self._made: dict[tuple[Key, ...], Settings] = {}
        for space, agent in _with_working(self.whole):
            _require_room(self.of(space, agent).working, partial(self._place, space=space, agent=agent))

    def of(self, space: str | None = None, agent: str | None = None) -> Settings:
        """The settings in force in a space, for an agent."""
        if not self.whole.spaces and not self.whole.agents:
            return self.whole
        scopes = tuple(scope for scope in _scopes(space, agent) if _within(self.whole, scope) is not None)
        if scopes not in self._made:  # as many as there are spaces and agents with settings of their own
            self._made[scopes] = reduce(overlaid, (_within(self.whole, scope) for scope in scopes), self.whole)
        return self._made[scopes]

    def without_space(self, name: str) -> LayeredSettings:
        """The same, without what the settings file sets for a space."""
        return LayeredSettings([_without_space(layer, name) for layer in self.layers[1:]])

    def origin(self, key: Key, space: str | None = None, agent: str | None = None) -> Origin:
        """Where the value in force comes from."""
        for scope in (*reversed(_scopes(space, agent)), ()):
            for layer in reversed(self.layers):
                settings = _within(layer.settings, scope)
                if settings is not None and _sets(settings, key):
                    return Origin(layer=layer, scope=scope)
        return Origin(layer=self.layers[0])

    def _place(self, key: Key, space: str | None, agent: str | None) -> str:
        """A setting as an error names it, with its source."""
        found = self.origin(key, space, agent)
        return f"{'.'.join((*found.scope, *key))} ({found.layer.place or found.layer.source})"


def _without_space(layer: SettingsLayer, name: str) -> SettingsLayer:
    if layer.source != "file" or name not in layer.settings.spaces:
        return layer
    spaces = {space: each for space, each in layer.settings.spaces.items() if space != name}
    return replace(layer, settings=layer.settings.model_copy(update={"spaces": spaces}))


def load(folder: Path, code: Settings | None = None, *, text: str | None = None) -> LayeredSettings:
    """The settings of the memory in a folder; `text` is what its settings file is to hold, if it is to be changed.

    Raises:
        InvalidSettings: a setting is unknown, cannot be what it is set to, or does not go with another one.
        UnreadableSettings: the file cannot be read.
        NewerSchema: the file was written for a newer version.
    """
    path = folder / FILE
    written = read_text(path) if text is None else text
    file = [] if written is None else [_of_file(written, str(path))]
    layers = [*file, *of_environment(os.environ)]
    return LayeredSettings(layers if code is None else [*layers, SettingsLayer(source="code", settings=code)])


def read_text(path: Path) -> str | None:
    """The text of a settings file, None if there is none.

    Raises:
        UnreadableSettings: it is there and cannot be read as text.
        ForeignFolder: it is a link to a file that other users may change.
    """
    try:
        private_files.require_trusted(path)
        data = private_files.read(path.resolve(), most=_LARGEST_FILE)
        if len(data) > _LARGEST_FILE:
            raise UnreadableSettings(f"The settings file {path} has more than {_LARGEST_FILE:,} bytes.")
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UnreadableSettings(f"The settings file {path} is no UTF-8 text: byte {error.start}.") from error
    except MemoryTiersError:
        raise
    except ValueError as error:
        raise UnreadableSettings(f"The settings file {path} is no file.") from error
    except OSError as error:
        raise UnreadableSettings(f"The settings file {path} cannot be read: {error.strerror or error}.") from error


def _of_file(text: str, place: str) -> SettingsLayer:
    """What the text of a settings file sets."""
    if any(line.partition("=")[0].count(".") > _DEEPEST for line in text.splitlines()):
        raise UnreadableSettings(f"The settings file {place} nests its tables too deeply.")
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOML itself, numbers without end, endless nesting
        raise UnreadableSettings(f"The settings file {place} is no valid TOML: {str(error)[:200]}.") from error
    written = values.pop("format", FORMAT)
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise InvalidSettings(f"{place}: format cannot be {_shown(written)}.", way_out=f"Write: format = {FORMAT}")
    if written > FORMAT:
        raise NewerSchema(f"The settings file {place} has format {written}; this version knows up to {FORMAT}.")
    try:
        # As JSON, where a list may be a tuple: a type is a type then, and "5" is no number.
        found = Settings.model_validate_json(json.dumps(_with_none(values, Settings), default=str), strict=True)
    except ValidationError as error:
        raise _refused(error, place, ".".join) from error
    return SettingsLayer(source="file", place=place, settings=found)


def of_environment(variables: Mapping[str, str]) -> list[SettingsLayer]:
    """What environment variables set, such as LANGMEM_TIERS_RECALL__LIMIT.

    Raises:
        InvalidSettings: a setting is unknown or cannot be what it is set to.
    """
    ours = {name: name.removeprefix(PREFIX).lower() for name in sorted(variables) if name.startswith(PREFIX)}
    return [
        SettingsLayer(source="environment", place=name, settings=_of_variable(name, variables[name]))
        for name, setting in ours.items()
        if _is_setting(setting)
    ]


def variable(key: Sequence[str]) -> str:
    """The environment variable of a setting.

    Example:
        >>> variable(("recall", "limit"))
        'LANGMEM_TIERS_RECALL__LIMIT'
    """
    return PREFIX + "__".join(key).upper()


def keys(model: type[BaseModel] = Settings, above: Key = ()) -> Iterator[Key]:
    """All settings, group by group."""
    for name, field in model.model_fields.items():
        if name in _SCOPES:
            continue
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from keys(field.annotation, (*above, name))
        else:
            yield (*above, name)


def known_key(text: str) -> Key:
    """The setting or group with this name, such as `recall.limit` or `recall`; an empty text is all of them.

    Raises:
        InvalidSettings: there is none.
    """
    key = tuple(text.split(".")) if text else ()
    if any(each[: len(key)] == key for each in keys()) or _in_a_table(key):
        return key
    raise InvalidSettings(f"There is no setting {text}.", way_out=_meant(key))


def scope_of(space: str | None, agent: str | None) -> Key:
    """Where a file has what is otherwise for a space, an agent, or an agent in a space."""
    return ([(), *_scopes(space, agent)])[-1]


def value_of(settings: Settings, key: Key) -> Any:
    """The value of a setting, or a group of settings."""
    return reduce(_inner, key, settings)


def _inner(values: Any, name: str) -> Any:
    return values[name] if isinstance(values, dict) else getattr(values, name)


def _in_a_table(key: Key) -> bool:
    """Whether it is one of the numbers of a table, such as `recall.weights.match`."""
    table = value_of(Settings(), key[:-1]) if key[:-1] in keys() else ()
    return isinstance(table, dict) and key[-1] in table


def _scopes(space: str | None, agent: str | None) -> list[Key]:
    """Where settings of a space and an agent stand, from the lowest to what goes before all others."""
    of_space: list[Key] = [] if space is None else [("spaces", space)]
    of_agent: list[Key] = [] if agent is None else [("agents", agent)]
    return [*of_space, *of_agent, *((*above, *below) for above in of_space for below in of_agent)]


def _within(settings: Settings, scope: Key) -> Settings | None:
    """What is set for a scope, None if nothing is."""
    for kind, name in zip(scope[::2], scope[1::2], strict=True):
        found = getattr(settings, kind).get(name)
        if found is None:
            return None
        settings = found
    return settings


def with_more(settings: Settings, more: Settings) -> Settings:
    """The settings in force, with what the argument `settings` of a call sets.

    Raises:
        InvalidSettings: they do not go together.
    """
    found: Settings = overlaid(settings, more)
    _require_room(found.working, lambda key: f"{'.'.join(key)}{' of the argument `settings`' * _sets(more, key)}")
    return found


def _require_room(working: WorkingSettings, told: Callable[[Key], str]) -> None:
    """Refuse a usual time in working memory that is longer than any entry may stay there."""
    longest, limit = working.longest_ttl_days * _MINUTES_A_DAY, told(("working", "longest_ttl_days"))
    for name in ("ttl_minutes", "result_ttl_minutes"):
        minutes = getattr(working, name)
        if minutes > longest:
            raise InvalidSettings(
                f"{told(('working', name))} is {minutes:,.10g}, more than {limit} allows: {longest:,.10g} minutes.",
                way_out="Lower the one or raise the other.",
            )


def _with_working(settings: Settings) -> list[tuple[str | None, str | None]]:
    """The memory as a whole, and each space and agent, alone and together, for which working memory is otherwise."""

    def named(table: Mapping[str, Settings]) -> list[str]:
        return [name for name, each in table.items() if "working" in each.model_fields_set]

    agents = (None, *named(settings.agents))
    spaces: list[tuple[str | None, Sequence[str | None]]] = [(None, agents)]
    for name, each in settings.spaces.items():
        own = named(each.agents)
        if own or "working" in each.model_fields_set:
            spaces.append((name, (*agents, *own)))
    return [(space, agent) for space, those in spaces for agent in those]


def _with_layer(settings: Settings, layer: SettingsLayer) -> Settings:
    # Code gives a table such as `recall.weights` as a whole; a file and a variable name single numbers of it.
    found: Settings = overlaid(settings, layer.settings, tables=layer.source != "code")
    return found


def overlaid(lower: Any, upper: Any, *, tables: bool = True) -> Any:
    """`lower`, with what is set in `upper`; with `tables`, a table is not replaced, but changed where `upper` says."""
    if isinstance(upper, BaseModel):
        changed = {
            name: overlaid(getattr(lower, name), getattr(upper, name), tables=tables) for name in upper.model_fields_set
        }
        return lower.model_copy(update=changed)
    if isinstance(upper, dict) and (tables or any(isinstance(each, BaseModel) for each in upper.values())):
        both = {name: overlaid(lower[name], each) if name in lower else each for name, each in upper.items()}
        return {**lower, **both}
    return upper


def _sets(settings: BaseModel, key: Key) -> bool:
    name, *below = key
    if name not in settings.model_fields_set:
        return False
    inner = getattr(settings, name)
    if not below or isinstance(inner, dict):
        return not below or below[0] in inner
    return _sets(inner, tuple(below))


def _is_setting(name: str) -> bool:
    """Whether a variable is meant as a setting.

    Others may begin in the same way: those of the command line, and what Kubernetes adds for a service of this name.
    """
    if name in _OTHERS:
        return False
    if "__" in name or name in Settings.model_fields or _run_together(name) in _names_run_together():
        return True
    single = [key[0] for key in keys() if len(key) == 1]
    return bool(difflib.get_close_matches(name, single, cutoff=0.8))


def _run_together(name: str) -> str:
    return name.replace("_", "")


@cache
def _names_run_together() -> dict[str, Key]:
    """Settings, groups and numbers of tables by their names without what is between the words."""
    tables = ((key, value_of(Settings(), key)) for key in keys())
    inner = [(*key, name) for key, table in tables if isinstance(table, dict) for name in table]
    groups = [key[:end] for key in keys() for end in range(1, len(key))]
    return {_run_together("".join(key)): key for key in (*groups, *keys(), *inner)}


@cache
def _environment_source() -> Any:
    # Takes a moment to import, and few use it.
    from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

    class Environment(Settings, BaseSettings):
        model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True)

    return EnvSettingsSource(Environment)


def _of_variable(name: str, value: str) -> Settings:
    source = _environment_source()
    source.env_vars = {name.lower(): value}
    try:
        found = source()
    except ValueError as error:
        raise InvalidSettings(
            f"{name} cannot be {_shown(value)}.", way_out="Give a list or a table as JSON."
        ) from error
    if not found:
        asked = name.removeprefix(PREFIX).lower()
        raise InvalidSettings(
            f"{name}: there is no setting {asked.replace('__', '.')}.", way_out=_meant(asked.split("__"), variable)
        )
    try:
        return Settings.model_validate(_with_none(found, Settings))
    except ValidationError as error:
        raise _refused(error, name, variable) from error


def _with_none(values: Any, kind: Any) -> Any:
    """The values with None for "none" where a setting may be None, as neither files nor variables can say that."""
    if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(values, dict):
        kinds = {name: field.annotation for name, field in kind.model_fields.items()}
        return {name: _with_none(value, kinds.get(name)) for name, value in values.items()}
    if get_origin(kind) is dict and isinstance(values, dict):
        return {name: _with_none(value, get_args(kind)[1]) for name, value in values.items()}
    return None if values == "none" and type(None) in get_args(kind) else values


def _refused(error: ValidationError, place: str, spelled: Any) -> InvalidSettings:
    """The error for what pydantic found, worst first: names that there are not, then values."""
    problems = sorted(error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
    first, more = problems[0], len(problems) - 1
    key = ".".join(str(each) for each in first["loc"] if each != "[key]")
    besides = f" And {more} more." if more else ""
    if first["type"] == "value_error":
        fault = first["ctx"]["error"]
        if isinstance(fault, MemoryTiersError):
            return InvalidSettings(f"{place}: {key}: {fault.message}{besides}", way_out=fault.way_out)
        return InvalidSettings(f"{place}: {key}: {fault}.{besides}")
    if first["type"] == "extra_forbidden":
        return InvalidSettings(f"{place}: there is no setting {key}.{besides}", way_out=_meant(first["loc"], spelled))
    expected = f"{first['msg'][0].lower()}{first['msg'][1:]}"
    return InvalidSettings(f"{place}: {key} cannot be {_shown(first['input'])}: {expected}.{besides}")


def _meant(key: Sequence[Any], spelled: Any = ".".join) -> str:
    """A way out that names the setting that was probably meant."""
    scope, key = _parted(key)
    asked, every = ".".join(map(str, key)), list(keys())
    same = _names_run_together().get(_run_together("".join(key)))
    if same is not None:
        return f"Did you mean {spelled((*scope, *same))}?"
    groups = {key[:-1] for key in every if len(key) > 1}
    names = {".".join(key): key for key in (*every, *groups)}
    alike = difflib.get_close_matches(asked, names, n=1) or [
        ".".join(key) for key in every if key[-1] == asked.rpartition(".")[2]
    ]
    if alike:
        return f"Did you mean {spelled((*scope, *names[alike[0]]))}?"
    return "`langmem-tiers config show` lists the settings."


def _parted(key: Sequence[Any]) -> tuple[Key, Key]:
    """A key, parted into the space or agent that it is for, and the setting."""
    end = 0
    while len(key) > end + 2 and key[end] in _SCOPES:
        end += 2
    return tuple(map(str, key[:end])), tuple(map(str, key[end:]))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
