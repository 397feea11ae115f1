"""Runs the tests of the front door over a server: folders of memories become memories on it.

`ENGINE=postgres POSTGRES=postgresql://user@host/database pytest …`; everything else of a folder, such as its settings
file, stays where it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from langmem_tiers import backends
from langmem_tiers.settings import Settings
from langmem_tiers.storage.chroma_client import ChromaServers
from langmem_tiers.storage.packed_text import unpacked
from langmem_tiers.storage.postgres.server import PostgresServer

ENGINE = os.environ.get("ENGINE", "folder")
ADDRESS = os.environ.get("POSTGRES", "")
CHROMA = os.environ.get("CHROMA", "")


# The last one is the test that runs, empty between two: folders of tests that passed are deleted, and others get their
# names.
_tests = [""]
# The folders of memories that tests share, such as those that were begun between two tests.
_shared: set[Path] = set()


def kept(path: Path, gone: Iterable[str] = ()) -> bytes:
    """All that is kept of a memory in this folder, as bytes: its files, and its rows on the server.

    Rows of spaces that are `gone` are looked for, too.
    """
    files = b"\n".join(file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file())
    return files if ENGINE == "folder" else b"\n".join((files, *_rows(_prefix(path), gone)))


def spaces(path: Path) -> int:
    """How many spaces are kept of a memory in this folder: folders in it, or entries on the server."""
    if ENGINE == "folder":
        return len(list(path.glob("spaces/*")))
    with _connected() as connection:
        return len(_names(connection, _prefix(path)))


def _rows(prefix: str, gone: Iterable[str]) -> Iterator[bytes]:
    from langmem_tiers.storage.postgres import ddl

    tables = (*ddl.tables(), *ddl.keyword_tables, ddl.noted.name, ddl.shown.name)
    with _connected() as connection:
        for space in {*_names(connection, prefix), *(prefix + name for name in gone)}:
            connection.execute("SELECT set_config('langmem_tiers.space', %s, false)", [space])
            for table in tables:
                for row in connection.execute(f"SELECT * FROM {table}"):
                    yield from map(_bytes, row)


def _connected() -> Any:
    import psycopg  # not where the lowest versions are tested

    return psycopg.connect(ADDRESS, options="-c search_path=langmem_tiers")


def _names(connection: Any, prefix: str) -> list[str]:
    """The spaces of a memory, as keys have them."""
    rows = connection.execute("SELECT space FROM spaces WHERE starts_with(space, %s)", [prefix])
    return [space for (space,) in rows]


def _bytes(value: object) -> bytes:
    return unpacked(value).encode() or value if isinstance(value, bytes) else str(value).encode()


def _prefix(path: Path) -> str:
    if not _tests[-1]:
        _shared.add(path)
    of = "all" if path in _shared else _tests[-1]
    return blake2b(f"{path} of {of}".encode(), digest_size=8).hexdigest() + ":"


def begin_test() -> None:
    """Keep what memories in folders hold from now on apart from what they held before."""
    _tests.append(uuid4().hex)


def end_test() -> None:
    """What memories in folders hold from now on is for all tests."""
    _tests.append("")


def share(path: Path) -> None:
    """Let all tests find what the memory in this folder holds."""
    _shared.add(path)


def of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have memories in folders keep their records on the server, each apart from the others."""
    in_folder = backends.in_folder

    def on_server(path: Path, settings: Settings) -> backends.Backend:
        in_folder(path, settings).close()
        chroma = ChromaServers([CHROMA]) if CHROMA else None
        return backends.ServerBackend(PostgresServer(ADDRESS, settings.storage, prefix=_prefix(path)), chroma)

    monkeypatch.setattr(backends, "in_folder", on_server)
