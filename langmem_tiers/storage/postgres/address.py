"""How the address of a database server is told from the path of a folder; nothing of it is loaded for that."""

from __future__ import annotations

_BEGINNINGS = ("postgresql:", "postgres:", "postgresql+psycopg:")


def is_address(named: object) -> bool:
    """Whether this is the address of a database server."""
    return isinstance(named, str) and named.startswith(_BEGINNINGS)
