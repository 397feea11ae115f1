"""Wherever the disk becomes full or a file may not grow, the error is named, and nothing is lost or doubled.

`make test` tries 12 points in two ways, `make test-flips` 100.
"""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import StorageError
from langmem_tiers.testing import HashEmbedder
from tests.test_storage import mounted

resource = pytest.importorskip("resource")

POINTS = int(os.environ.get("DISK_FULL_POINTS", "12"))
PAGE = 4096
STEP = 2 if POINTS > 50 else 16
"""Pages between two points."""


def text(number):
    return f"Shelf {number} of the archive holds letters, maps and seals. " + f"Letter {number} is long. " * 90


def track(space, number):
    space.track([Turn(role="user", content=text(number), message_id=f"m{number}")], session="s")


def save(space, number):
    space.knowledge.save(
        f"Shelf {number} of the archive holds {number * 7} letters.", category="archive", origin="user"
    )


def note(space, number):
    space.documents.write(f"notes/{number}.md", text(number))


def scratch(space, number):
    space.working.save(f"session/s/{number}", text(number), ttl_minutes=600)


def entity(space, number):
    space.graph.add_entity(f"Archive {number}", type="place")


def summary(space, number):
    space.archive.write(f"s{number}", summary=f"Shelf {number} was sorted.")


def project(space, number):
    space.flush()


# What is written, and how all of its kind is read back.
KINDS = {
    track: lambda space: [each.message_id for each in space.drawers()],
    save: lambda space: [each.entry.content for each in space.knowledge.search(limit=1000)],
    note: lambda space: [each.path for each in space.documents.list()],
    scratch: lambda space: [each.key for each in space.working.list()],
    entity: lambda space: [each.name for each in space.graph.entities()],
    summary: lambda space: [each.summary for each in space.archive.recent(1000)],
    project: lambda space: [],
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A closed memory with something in it."""
    folder = tmp_path_factory.mktemp("begun") / "memory"
    with opened(folder) as memory:
        for number in range(len(KINDS)):
            kind_of(number)(memory.user("alice"), number)
    return folder


def opened(folder):
    return Memory.open(folder, embedder=HashEmbedder(), background=False)


def kind_of(number):
    return [*KINDS][number % len(KINDS)]


def first_refused(space, numbers):
    """The number of the first write that is refused, by a named error."""
    for number in numbers:
        try:
            kind_of(number)(space, number)
        except StorageError:
            return number
    raise AssertionError("there is still room")


def held(space):
    """How many records there are of each kind; each of them once."""
    found = {kind: read(space) for kind, read in KINDS.items()}
    for kind, records in found.items():
        assert len(records) == len(set(records)), (kind, records)
    return {kind: len(records) for kind, records in found.items()}


def written(until):
    """How many records there are of each kind before a write of this number."""
    return {kind: sum(kind_of(each) is kind for each in range(until)) * (kind is not project) for kind in KINDS}


@contextmanager
def full_disk(disk: Path, pages: int):
    """Leaves so many free pages on the file system."""
    ballast = disk / "ballast"
    free = os.statvfs(disk).f_bavail
    ballast.write_bytes(bytes((free - pages) * PAGE))
    yield
    ballast.unlink(missing_ok=True)


@contextmanager
def short_files(_: Path, pages: int):
    """Lets no file grow beyond so many pages."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (pages * PAGE, most))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@pytest.fixture
def disk(tmp_path, request):
    """Where the memory is to be: on a file system of its own, if it is to become full."""
    if request.getfixturevalue("limit") is short_files:
        yield tmp_path
    else:
        with mounted("16m") as own:
            yield own


WITHOUT_CHROMA = """
import sys
from datetime import UTC, datetime
from pathlib import Path

from langmem_tiers import Memory, Turn
from langmem_tiers.testing import FrozenClock, HashEmbedder

clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
with Memory.open(sys.argv[1], embedder=HashEmbedder(), background=False, clock=clock) as memory:
    alice = memory.user("alice")
    alice.track([Turn(role="user", content="My sister Lena lives in Porto.")], session="s")
    clock.tick(7200)
    assert not memory.flush()
    found = memory.health()
    assert found.records and not found.vectors
    assert "disk is full" in found.problems[0] and "TMPDIR" in found.problems[0], found
    assert alice.knowledge.search() and alice.archive.recent()
    assert alice.recall("Where does Lena live?").items
    Path(sys.argv[2]).unlink()
    assert memory.flush()
    assert memory.health().vectors
    assert [each.message for each in alice.doctor() if each.check == "Chroma"] == ["1 vector, as in the records"]
"""


def test_where_chroma_has_no_room_for_temporary_files_all_else_goes_on_and_vectors_follow(tmp_path):
    with mounted("4m") as temporary, full_disk(temporary, 0):
        ballast = temporary / "ballast"
        # SQLite looks at TMPDIR once in a process.
        subprocess.run(
            [sys.executable, "-c", WITHOUT_CHROMA, tmp_path / "memory", ballast],
            env={**os.environ, "TMPDIR": str(temporary)},
            check=True,
        )


@pytest.mark.parametrize("limit", [full_disk, short_files])
def test_wherever_a_write_fails_it_is_named_and_nothing_is_lost_or_doubled(begun, disk, limit):
    refused = set()
    for point in range(POINTS):
        folder = shutil.copytree(begun, disk / f"memory{point}")
        refused.add(fill(folder, disk, limit, point * STEP))
        shutil.rmtree(folder)
    print(f"{POINTS} points, {limit.__name__}: refused were {sorted(each.__name__ for each in refused)}")
    assert len(refused) > 3


def fill(folder, disk, limit, pages):
    """Write until there is no room, look at what is there, make room and go on. Gives the kind that was refused."""
    number = len(KINDS)
    # Opening or closing may be refused as well.
    with limit(disk, pages), suppress(StorageError), opened(folder) as memory:
        alice = memory.user("alice")
        number = first_refused(alice, count(number))
        assert held(alice) == written(number)
        assert alice.search("archive letters")
    with opened(folder) as memory:
        alice = memory.user("alice")
        for again in range(number, number + 8):
            kind_of(again)(alice, again)
        assert alice.flush()
        assert held(alice) == written(number + 8)
        assert [each.message for each in alice.doctor() if each.level == "problem"] == []
    return kind_of(number)
