"""What a shell completes besides commands and options: users, spaces and settings, which are cheap to look up."""

from __future__ import annotations

import os
from pathlib import Path

import typer


def users(context: typer.Context, incomplete: str) -> list[str]:
    """The users of the memory, by what is typed so far of one."""
    from langmem_tiers.naming import user_of

    return _beginning(incomplete, [user for user in map(user_of, _names(context)) if user is not None])


def spaces(context: typer.Context, incomplete: str) -> list[str]:
    """The spaces of the memory."""
    return _beginning(incomplete, _names(context))


def settings(incomplete: str) -> list[str]:
    """The names of settings and of their groups."""
    from langmem_tiers.settings_layers import keys

    known = [".".join(key) for key in keys()]
    groups = {".".join(key[:-1]) for key in keys() if len(key) > 1}
    return _beginning(incomplete, [*known, *groups])


def _names(context: typer.Context) -> tuple[str, ...]:
    """The names of the spaces in the folder that was named before the command."""
    from langmem_tiers.paths import default_folder, is_address
    from langmem_tiers.storage.folder import space_names

    given = context.find_root().params.get("path") or os.environ.get("LANGMEM_TIERS_PATH")
    if is_address(given):
        return ()  # a shell does not wait for a server
    folder = Path(given).expanduser() if given else default_folder()
    return space_names(folder) if folder.is_dir() else ()


def _beginning(incomplete: str, names: list[str] | tuple[str, ...]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete) and name.isprintable())
