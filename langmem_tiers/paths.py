"""The default location of the memory."""

from __future__ import annotations

import os
from pathlib import Path


def default_folder() -> Path:
    """$LANGMEM_TIERS_PATH, else a folder in the user's data directory of this system."""
    named = os.environ.get("LANGMEM_TIERS_PATH")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_data_path

    return user_data_path("langmem-tiers") / "memory"
