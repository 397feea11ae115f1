"""Runs the tests of the front door over a server: folders of memories become memories on it.

`ENGINE=postgres POSTGRES=postgresql://user@host/database pytest …`; everything else of a folder, such as its settings
file, stays where it is.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

import pytest

from langmem_tiers import backends
from langmem_tiers.settings import Settings
from langmem_tiers.storage.chroma_client import ChromaServers
from langmem_tiers.storage.postgres.server import PostgresServer

ENGINE = os.environ.get("ENGINE", "folder")
ADDRESS = os.environ.get("POSTGRES", "")
CHROMA = os.environ.get("CHROMA", "")


def of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have memories in folders keep their records on the server, each apart from the others."""
    in_folder = backends.in_folder

    def on_server(path: Path, settings: Settings) -> backends.Backend:
        in_folder(path, settings).close()
        prefix = blake2b(str(path).encode(), digest_size=8).hexdigest() + ":"
        chroma = ChromaServers([CHROMA]) if CHROMA else None
        return backends.ServerBackend(PostgresServer(ADDRESS, settings.storage, prefix=prefix), chroma)

    monkeypatch.setattr(backends, "in_folder", on_server)
