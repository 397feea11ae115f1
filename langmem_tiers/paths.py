"""The default place of the memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

_VARIABLE = "LANGMEM_TIERS_PATH"
_ADDRESSES = ("postgresql:", "postgres:", "postgresql+psycopg:")
# One address may have commas too, between several hosts.
_NEXT_ADDRESS = re.compile(r",\s*(?=[a-z][a-z+]*://)")


def is_address(named: object) -> bool:
    """Whether this is the address of a database server, or of several, and not a folder."""
    return isinstance(named, str) and named.startswith(_ADDRESSES)


def separate(addresses: str) -> tuple[str, ...]:
    """The addresses in a text that has commas between them."""
    return tuple(each.strip() for each in _NEXT_ADDRESS.split(addresses)) if addresses.strip() else ()


def shown(named: Path | str) -> str:
    """A folder or an address as messages have it: without a password."""
    return re.sub(r"(://[^:/@]*):[^@/]*@", r"\1@", str(named))


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
