"""The default place of the memory."""

from __future__ import annotations

import os
from pathlib import Path

from langmem_tiers.storage.postgres.address import is_address

_VARIABLE = "LANGMEM_TIERS_PATH"


def default_place() -> Path | str:
    """$LANGMEM_TIERS_PATH, the address of a database server too, else a folder in the user's data directory."""
    named = os.environ.get(_VARIABLE, "")
    return named if is_address(named) else default_folder()


def default_folder() -> Path:
    """$LANGMEM_TIERS_PATH if that is a folder, else one in the user's data directory of this system."""
    named = os.environ.get(_VARIABLE, "")
    if named and not is_address(named):
        return Path(named).expanduser()
    from platformdirs import user_data_path

    return user_data_path("langmem-tiers") / "memory"
