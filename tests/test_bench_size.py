"""Memories made by multiplying are valid ones, and recall is timed by size in them."""

import json
import subprocess
import sys
from collections import Counter

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from multiply import make
from recall_latency import SPACE
from texts import turn

from langmem_tiers import Memory
from langmem_tiers.testing import HashEmbedder

TRACKED, DRAWERS = 100, 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A memory of 300 drawers of which 100 were tracked: enough for rooms that moved to a wing of their own."""
    made = tmp_path_factory.mktemp("multiplied")
    make(made, DRAWERS, embedder=HashEmbedder(), tracked=TRACKED)
    return made


@pytest.fixture
def multiplied(folder):
    """Its space."""
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        yield memory.space(SPACE)


@pytest.fixture(scope="module")
def tracked(tmp_path_factory):
    """The same turns, all tracked."""
    made = tmp_path_factory.mktemp("tracked")
    make(made, DRAWERS, embedder=HashEmbedder(), tracked=DRAWERS)
    with Memory.open(made, embedder=HashEmbedder(), background=False) as memory:
        yield memory.space(SPACE)


def test_the_doctor_finds_nothing_in_a_multiplied_space(multiplied):
    findings = [finding for finding in multiplied.doctor() if finding.check != "sqlite"]
    assert {finding.level for finding in findings} == {"ok"}
    assert (multiplied.stats().drawers, multiplied.stats().sessions) == (DRAWERS, DRAWERS // 20)


def test_a_multiplied_drawer_is_what_tracking_would_have_stored(multiplied, tracked):
    def told(space):
        return [
            (each.number, each.session, each.message_id, each.content, each.tags, each.said_at, each.origin)
            for each in space.drawers()
        ]

    assert told(multiplied) == told(tracked)
    assert multiplied.stats().chunks == tracked.stats().chunks


def test_tracking_the_turns_again_finds_them_known(multiplied):
    report = multiplied.track([turn(number) for number in range(200, 220)], session="session-10")
    assert (report.known, report.stored, report.revised) == (20, (), ())


def test_recall_finds_what_only_the_multiplied_part_holds(multiplied):
    said = turn(DRAWERS - 1).content
    found = {each.drawer: each.scores for each in multiplied.recall(said, keep_receipt=False).receipt.candidates}
    assert found[DRAWERS]["vector"] == pytest.approx(1, abs=1e-3)
    assert found[DRAWERS]["keyword"] == max(scores.get("keyword", 0) for scores in found.values())


def test_multiplied_rooms_are_filed_as_the_tracked_ones(multiplied):
    rooms = Counter(
        (wing.name, tuple((closet.name, len(closet.drawers)) for closet in room.closets))
        for wing in multiplied.palace()
        for room in wing.rooms
    )
    assert sum(rooms.values()) == DRAWERS // 20
    assert set(rooms.values()) == {DRAWERS // TRACKED}
    assert len({wing for wing, _ in rooms}) > 1


def test_a_multiplied_memory_grows_from_where_it_is(tmp_path):
    for size in (100, 160):
        make(tmp_path, size, embedder=HashEmbedder(), tracked=60)
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False) as memory:
        space = memory.space(SPACE)
        assert [drawer.message_id for drawer in space.drawers()] == [f"m{number}" for number in range(160)]
        assert "problem" not in {finding.level for finding in space.doctor()}


def test_parts_of_sessions_are_refused(tmp_path):
    with pytest.raises(SystemExit, match="multiples of 20"):
        make(tmp_path, 110, embedder=HashEmbedder())


@pytest.fixture
def run(tmp_path, offline_environment):
    """Runs the script on kept memories; gives the rows of its results by the end of the file's name."""

    def script(*arguments):
        given = ["--work", tmp_path / "work", "--keep", "--questions", 3, "--out", tmp_path / "runs" / "made.json"]
        command = [sys.executable, ROOT / "benchmarks" / "recall_at_size.py", *given, *arguments]
        ended = subprocess.run(
            [str(part) for part in command],
            env=offline_environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        made = (tmp_path / "runs").iterdir()
        return {path.stem.removeprefix("made"): json.loads(path.read_text())["rows"] for path in made}

    return script


@pytest.mark.slow
@pytest.mark.model
def test_recall_is_timed_by_size_stage_and_part(run):
    rows = run("--drawers", 40, 20)
    assert [row["drawers"] for row in rows[""]] == [20, 40]
    # Each node holds its own embedding: this is true on a busy machine as well.
    assert all(row["node p50 ms"] > row["embedding in the node p50 ms"] > 0 for row in rows[""])
    assert all(row["embedding p50 ms"] > 0 for row in rows[""])
    assert all(row["first recall ms"] > 0 and row["after first MB"] > 0 for row in rows["_cold"])
    assert all(row["memory.db MB"] > 0 and row["Chroma MB"] > 0 for row in rows["_cold"])
    assert {"embed", "keyword", "vector", "store", "total"} <= {row["stage"] for row in rows["_stages"]}


@pytest.mark.slow
@pytest.mark.model
def test_many_spaces_are_asked_at_random(run, tmp_path):
    for _ in range(2):  # the second time they are there
        (row,) = run("--drawers", "--spaces", 3, "--per-space", 20)["_spaces"]
        assert (row["spaces"], row["drawers in each"]) == (3, 20)
        assert row["at random p50 ms"] > 0
        assert row["again p50 ms"] > 0
    with Memory.open(tmp_path / "work" / "spaces-of-20-projection", embedder=None, background=False) as memory:
        assert memory.spaces() == ("users/0", "users/1", "users/2")
        assert {memory.space(name).stats().drawers for name in memory.spaces()} == {20}
