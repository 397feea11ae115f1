"""Changes to a settings file: one setting at a time, with the comments around it kept."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import Timeout

from langmem_tiers import private_files
from langmem_tiers.errors import FolderNotWritable, InvalidSettings, UnreadableSettings
from langmem_tiers.settings_layers import FILE, FORMAT, Key, Origin, load, read_text
from langmem_tiers.storage.errors_border import translated

_NEW = f"# Settings of this memory; `langmem-tiers config show` prints those in force.\nformat = {FORMAT}\n"
_WAIT = 10
"""Seconds to wait for another process that changes the same file, which takes it a few milliseconds."""


def set_value(folder: Path, key: Key, value: Any) -> Path:
    """Write a setting into the file of a memory folder, which need not be there yet. Returns the file.

    Raises:
        InvalidSettings, UnreadableSettings, NewerSchema: the file cannot be used, or could not be afterwards, or a
            variable cannot; it stays as it is.
        FolderNotWritable, DiskFull: it cannot be written.
    """
    path = folder / FILE

    def changed() -> str:
        text = read_text(path)
        written = _changed(_NEW if text is None else text, path, key, value)
        load(folder, text=written)
        return written

    _update(path, changed)
    return path


def unset_value(folder: Path, key: Key) -> Path:
    """Remove a setting, or a group of them, from the file of a memory folder. Returns the file.

    Raises:
        InvalidSettings: it is not set there.
        UnreadableSettings: the file cannot be read.
        FolderNotWritable, DiskFull: it cannot be written.
    """
    path = folder / FILE

    def changed() -> str:
        text = read_text(path) or ""
        if _found(_values(text, path), key) is None:
            raise InvalidSettings(
                f"{'.'.join(key)} is not set in {path}.", way_out="`langmem-tiers config show` says where each is set."
            )
        return _changed(text, path, key, None)

    _update(path, changed)
    return path


def require_removable(folder: Path, key: Key) -> None:
    """Check that `unset_value` can remove a setting that is there.

    Raises:
        UnreadableSettings: the file cannot be read, or is written in a way that cannot be changed.
    """
    path = folder / FILE
    _changed(read_text(path) or "", path, key, None)


def has_value(folder: Path, key: Key) -> bool:
    """Whether the file of a memory folder sets a setting, or a group of them.

    Raises:
        UnreadableSettings: the file cannot be read.
    """
    path = folder / FILE
    return _found(_values(read_text(path) or "", path), key) is not None


def read_value(text: str) -> Any:
    """A value as it was typed: what TOML knows, such as `5`, `true` or `["a"]`; all else is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def line_of(text: str, key: Key) -> int | None:
    """The number of the line that sets `key`, None if it cannot be told."""
    table: Key = ()
    for number, line in enumerate(text.splitlines(), start=1):
        with suppress(tomllib.TOMLDecodeError):
            ways = list(_ways(tomllib.loads(line)))
            if line.lstrip().startswith("["):
                table = ways[0]
            elif any(way and (*table, *way)[: len(key)] == key for way in ways):
                return number
    return None


def source_words(origin: Origin, key: Key) -> str:
    """Where a value comes from: the line of the file, the variable, or that it is the default; and for whom it is."""
    layer, place = origin.layer, origin.layer.place or origin.layer.source
    if layer.source == "file":
        path = Path(layer.place)
        line = line_of(read_text(path) or "", (*origin.scope, *key))
        place = path.name if line is None else f"{path.name}:{line}"
    whose = ", ".join(f"{kind.removesuffix('s')} {name}" for kind, name in zip(*[iter(origin.scope)] * 2, strict=True))
    return f"{place} ({whose})" if whose else place


def written(value: Any) -> str:
    """A value as it is typed.

    Example:
        >>> written(None), written("minilm"), written(("a", "b"))
        ('none', 'minilm', '["a", "b"]')
    """
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _ways(values: Any) -> Iterator[Key]:
    """The names on the way to each value, of which an inline table has several."""
    if not isinstance(values, dict) or not values:
        yield ()
        return
    for name, inner in values.items():
        yield from ((name, *way) for way in _ways(inner))


def _as_text(values: Any) -> str:
    """What tells whether values are the same: two that are no number (nan) are not equal to each other."""
    return json.dumps(_without_empty(values), sort_keys=True, default=str)


def _changed(text: str, path: Path, key: Key, value: Any) -> str:
    """The text with `key` set to `value`, or removed for None."""
    import tomlkit

    wanted = _values(text, path)
    document: Any = tomlkit.parse(text)
    *above, last = key
    for values in (wanted, document):
        table = values
        for place, name in enumerate(above):
            if name not in table:
                table[name] = {} if values is wanted else _new_table(table, over=place < len(above) - 1)
            table = table[name]
            if not isinstance(table, dict):
                raise InvalidSettings(f"{path}: {'.'.join(above[: place + 1])} is no table.")
        if value is None:
            del table[last]
        else:
            table[last] = value
    changed = tomlkit.dumps(document)
    if _as_text(tomllib.loads(changed)) != _as_text(wanted):
        raise UnreadableSettings(f"{path} is written in a way that cannot be changed here.", way_out="Edit it by hand.")
    return changed


def _without_empty(values: Any) -> Any:
    """The values without tables that set nothing: of a table that was removed, the one around it may be left or not."""
    if not isinstance(values, dict):
        return values
    inner = {name: _without_empty(each) for name, each in values.items()}
    return {name: each for name, each in inner.items() if each != {}}


def _new_table(within: Any, *, over: bool) -> Any:
    """A table in another one, inline in an inline one; `over` if it will only hold tables."""
    import tomlkit
    from tomlkit.items import InlineTable

    return tomlkit.inline_table() if isinstance(within, InlineTable) else tomlkit.table(is_super_table=over)


def _values(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableSettings(f"The settings file {path} is no valid TOML: {error}.") from error


def _found(values: Any, key: Key) -> Any:
    for name in key:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _update(path: Path, changed: Callable[[], str]) -> None:
    """Read the file, change it and write it, with nobody else changing it in between.

    It is tried before the lock, too: what is refused makes no folder.
    """
    changed()
    real = path.resolve()
    with translated(path):
        private_files.make_folder(real.parent)
        lock = private_files.lock(real.with_name(f".{real.name}.lock"))
        try:
            lock.acquire(timeout=_WAIT)
        except Timeout:
            raise FolderNotWritable(f"Another process is changing {path}.", way_out="Repeat the call.") from None
    try:
        _write(path, changed())
    finally:
        lock.release()


def _write(path: Path, text: str) -> None:
    """Write it at once: nobody sees half of it, and a failure leaves the file as it was."""
    path = path.resolve()  # a link stays one
    with translated(path):
        private_files.make_folder(path.parent)
        private_files.replace(path, text.encode())
