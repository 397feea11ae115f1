"""A copy of a memory on servers, made and restored with the commands that docs/scaling.md names."""

import os
import re
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from uuid import uuid4

import pytest

from langmem_tiers import Memory
from tests import engines, servers
from tests.meanings import Meanings, user

pytestmark = [
    pytest.mark.by_address,
    pytest.mark.skipif(engines.ENGINE != "postgres" or not servers.have_postgres(), reason="make test-servers runs it"),
    pytest.mark.xdist_group("servers"),
]
BADGE = "The badge of the archive is kz77qx41."
CELLO = "On Sundays I play the cello."
MUSIC = "Which hobby fills the weekend?"
"""A question that has no word of its answer."""


class Counted(Meanings):
    """An embedder that counts the messages it is given."""

    def __init__(self) -> None:
        super().__init__(cello=0.9)
        self.embedded = 0

    def embed_documents(self, texts):
        self.embedded += len(texts)
        return super().embed_documents(texts)


@pytest.fixture
def copied(root, postgres, tmp_path):
    """Copies one database into another as the documentation says."""
    path = os.pathsep.join([str(postgres.programs), os.environ["PATH"]])
    if shutil.which("pg_dump", path=path) is None:
        pytest.skip("pg_dump is not installed")
    commands = re.findall(r"^\$ (pg_(?:dump|restore) .+)$", (root / "docs" / "scaling.md").read_text(), re.MULTILINE)
    assert [each.partition(" ")[0] for each in commands] == ["pg_dump", "pg_restore"]

    def copy(source, target):
        for command, place in zip(commands, (source, target), strict=True):
            words = [place if each.startswith("postgresql://") else each for each in shlex.split(command)]
            subprocess.run(words, cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)

    return copy


@contextmanager
def an_empty_chroma():
    server = servers.Chroma()
    try:
        yield server.address
    finally:
        server.remove()


def opened(address, chroma, embedder):
    return Memory.open(address, chroma=chroma, embedder=embedder, background=False)


def recalled(memory, name, asked):
    found = memory.user(name).recall(asked, session=uuid4().hex)
    return [each.drawer.content for each in found.items], found.receipt.notes


def test_a_copy_is_searched_by_words_at_once_and_by_meaning_once_an_empty_chroma_was_filled(postgres, copied):
    embedder = Counted()
    with postgres.new_database() as first, postgres.new_database() as second, an_empty_chroma() as chroma:
        with opened(first, chroma, embedder) as memory:
            for name in ("ana", "ben"):
                memory.user(name).track([user(BADGE), user(CELLO)], session="monday")
            assert memory.flush()
            assert recalled(memory, "ana", MUSIC) == ([CELLO], ())
        copied(_as_superuser(postgres, first), _as_superuser(postgres, second))
        made = embedder.embedded
        with an_empty_chroma() as other, opened(second, other, embedder) as memory:
            assert memory.spaces() == ("users/ana", "users/ben")
            for name in ("ana", "ben"):
                by_words, notes = recalled(memory, name, "Which badge does the archive have?")
                assert (BADGE in by_words, len(notes)) == (True, 1)
            assert memory.flush()
            for name in ("ana", "ben"):
                assert recalled(memory, name, MUSIC) == ([CELLO], ())
        assert embedder.embedded == made


def _as_superuser(postgres, address):
    return postgres.address("postgres", address.rpartition("/")[2])
