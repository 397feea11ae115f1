"""Small versions of the benchmarks that start servers: they kill them, look for foreign rows, or measure."""

import json
import subprocess
import sys

import pytest

from tests import engines, servers

pytestmark = [
    pytest.mark.skipif(engines.ENGINE != "postgres" or not servers.have_postgres(), reason="make test-servers runs it"),
    pytest.mark.xdist_group("servers"),
]


@pytest.fixture
def run(root, tmp_path, offline_environment):
    """Runs a benchmark with arguments; gives the rows of its results."""

    def script(name, *arguments):
        command = [sys.executable, str(root / "benchmarks" / name), *arguments, "--out", str(tmp_path / "row.json")]
        ended = subprocess.run(
            command, env=offline_environment, capture_output=True, text=True, timeout=900, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return [json.loads(each.read_text())["rows"][0] for each in sorted(tmp_path.glob("row*.json"))]

    return script


def test_workers_and_servers_that_are_killed_lose_nothing(run):
    rows = run("server_kills.py", "--kills", "5", "--restarts", "2", "--losses", "1", "--spaces", "6")
    assert len(rows) == 3
    for row in rows:
        assert row["acknowledged"] > 0
        assert (row["lost"], row["doubled"], row["half stored"]) == (0, 0, 0)
        assert (row["not found by words"], row["not found by vectors"]) == (0, 0)


def test_nothing_that_is_foreign_is_shown_or_stored_by_processes_on_one_server(run):
    (row,) = run("server_isolation.py", "--operations", "400", "--users", "20", "--processes", "2")
    assert (row["foreign answers"], row["foreign rows"], row["vectors off"]) == (0, 0, 0)
    assert row["rows with a mark"] > 100


@pytest.mark.model
def test_users_are_asked_beside_few_and_many_others_and_a_large_one(run):
    (row,) = run("server_spaces.py", "--spaces", "2", "6", "--drawers", "20", "--large", "40", "--turns", "2")
    assert (row["asked"], row["users asked"]) == ("2 spaces", 2)
    assert min(row[f"{kind} p50 ms"] for kind in ("embedding", "recall", "track", "claim")) > 0


@pytest.mark.model
def test_what_a_recall_costs_on_servers_is_told(run):
    (row,) = run("server_statements.py", "--users", "2", "--drawers", "20", "--turns", "10")
    assert row["a recall"] == "process"
    assert row["ms"] > 0


@pytest.mark.model
def test_a_memory_is_moved_to_servers(run):
    (row,) = run("server_moving.py", "--users", "2", "--drawers", "20")
    assert row["what"] == "to servers"
    assert row["count"] > 40
