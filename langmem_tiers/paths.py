"""The default place of the memory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from langmem_tiers.errors import InvalidInput

_VARIABLE = "LANGMEM_TIERS_PATH"
_ADDRESSES = ("postgresql:", "postgres:", "postgresql+psycopg:")
# One address may have commas too, between several hosts.
_NEXT_ADDRESS = re.compile(r",\s*(?=[a-z][a-z+]*://)", re.IGNORECASE)
# PostgreSQL takes a password as an option in an address, too.
_PASSWORD_OPTION = re.compile(
    r"(?P<sign>[?&])(?:(?:ssl)?password=(?:(?!,\s*[a-z][a-z+]*://)[^&])*(?P<more>&?))+", re.IGNORECASE
)
# How PostgreSQL's own programs have an address too: "host=db.internal dbname=memories".
_IN_WORDS = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|service)\s*=.*\s\w+\s*=", re.IGNORECASE)
_PORT = re.compile(r"\d+/")
_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]+://", re.IGNORECASE)

_WAY_OUT = "Name a folder, or the address of a database such as postgresql://user@host:5432/database."


def is_address(named: object) -> bool:
    """Whether this is the address of a database server, or of several, and not a folder."""
    return isinstance(named, str) and named.strip().lower().startswith(_ADDRESSES)


def separate(addresses: str) -> tuple[str, ...]:
    """The addresses in a text that has commas between them."""
    return tuple(each.strip(" ,") for each in _NEXT_ADDRESS.split(addresses)) if addresses.strip(" ,") else ()


def require_folder(named: object) -> None:
    """Refuse an address of a kind of server that a memory cannot be on: it would be made a folder.

    Raises:
        InvalidInput: it is one.
    """
    if not isinstance(named, str) or is_address(named):
        return
    if _IN_WORDS.match(named):
        raise InvalidInput("A memory cannot be on an address in words, such as host=….", way_out=_WAY_OUT)
    if _SCHEME.match(named):
        raise InvalidInput(f"A memory cannot be on {shown(named).strip()[:200]}.", way_out=_WAY_OUT)


def is_web_address(named: str) -> bool:
    """Whether this is the address of a server that is asked by HTTP, as Chroma's is; it may be below a path."""
    try:
        parts = urlsplit(named)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:  # a bracket or a port that is none
        return False
    return parts.scheme in {"http", "https"} and bool(host) and not (parts.query or parts.fragment)


def shown(named: Path | str) -> str:
    """A folder or an address as messages have it: without a password."""
    text = str(named)
    if "://" not in text:
        return text
    parts = re.split(f"({_NEXT_ADDRESS.pattern})", text, flags=re.IGNORECASE)
    return _PASSWORD_OPTION.sub(_without_option, "".join(map(_without_password, parts)))


def _without_password(address: str) -> str:
    """An address without a password, which may have signs that would have to be written otherwise there."""
    scheme, sign, rest = address.partition("://")
    whose, _, place = rest.rpartition("@")
    user, colon, password = whose.partition(":")
    # Behind an @, or where HTTP is spoken, a port; for a database, a password may begin in the same way.
    is_place = _PORT.match(password) and ("@" in user or not is_address(address))
    if not colon or "/" in user or is_place:
        return address
    return f"{scheme}{sign}{user}@{place}"


def _without_option(found: re.Match[str]) -> str:
    """What stays of an option in an address that is taken out: its sign, if others follow."""
    return found["sign"] if found["more"] else ""


def default_place() -> Path | str:
    """$LANGMEM_TIERS_PATH, the address of a database server too, else a folder in the user's data directory."""
    named = os.environ.get(_VARIABLE, "")
    return named if is_address(named) else default_folder()


def default_folder() -> Path:
    """$LANGMEM_TIERS_PATH if that is a folder, else one in the user's data directory of this system."""
    named = os.environ.get(_VARIABLE, "")
    if named and not is_address(named):
        require_folder(named)
        return Path(named).expanduser()
    from platformdirs import user_data_path

    return user_data_path("langmem-tiers") / "memory"
