"""The scripts in `benchmarks/` run, end well, and write down what made their figures."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from reporting import report

from langmem_tiers import Memory, Turn

pytestmark = pytest.mark.slow


@pytest.fixture
def run(root, tmp_path, offline_environment):
    """Runs a script with arguments; gives the only row of its results."""

    def script(name, *arguments):
        out = tmp_path / "result.json"
        command = [sys.executable, str(root / "benchmarks" / name), *map(str, arguments), "--out", str(out)]
        ended = subprocess.run(
            command, env=offline_environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert ended.returncode == 0, ended.stderr
        result = json.loads(out.read_text())
        assert name in result["command"]
        assert result["machine"]["cores"]
        return result["rows"][0]

    return script


def test_two_killed_writers_lose_nothing(run):
    row = run("kill_test.py", "--kills", 2, "--longest", 0.5)
    assert (row["kills"], row["lost"], row["doubled"], row["problems found"]) == (2, 0, 0, "none")


def test_two_killed_writers_of_the_graph_lose_nothing(run):
    row = run("graph_kill_test.py", "--kills", 2, "--longest", 0.5)
    assert (row["kills"], row["lost"], row["altered"], row["problems found"]) == (2, 0, 0, "none")


def test_the_graph_is_timed(run):
    assert run("graph_latency.py", "--relations", 200, "--questions", 2)["p50 ms"] > 0


def test_two_writers_at_once_lose_nothing(run):
    row = run("two_writers.py", "--turns", 40)
    assert (row["acknowledged"], row["errors"], row["lost"], row["not found by search"]) == (80, 0, 0, 0)


@pytest.mark.model
def test_recall_is_timed(run):
    row = run("recall_latency.py", "--drawers", 40, "--questions", 5)
    assert row["node p50 ms"] > row["storage p50 ms"] > 0


@pytest.mark.model
def test_the_bytes_of_a_drawer_are_told_by_kind(run):
    row = run("bytes_a_drawer.py", "--drawers", 40, "--tracked", 40, "--questions", 2)
    assert (row["drawers"], row["of"], row["bytes"] > 0) == (40, "text", True)


@pytest.mark.model
def test_a_memory_too_small_to_be_measured_is_named(root, tmp_path, offline_environment):
    told = [f"My {friend} moved to Porto in May." for friend in ("sister", "boss", "aunt", "dentist", "neighbour")]
    with Memory.open(tmp_path / "memory", embedder=None) as memory:
        memory.user("alice").track([Turn(role="user", content=each) for each in told], session="monday")
    command = [sys.executable, root / "benchmarks" / "recall_in_memory.py", "--memory", tmp_path / "memory"]
    ended = subprocess.run(
        [*command, "--space", "users/alice"], env=offline_environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False), ended.stderr
    assert ended.stderr.endswith("questions can be made from users/alice: 20 only warm up.\n")


def test_the_page_on_internet_scale_has_what_is_computed(run, root):
    page = (root / "docs" / "internet-scale.md").read_text(encoding="utf-8")
    row = run("internet_scale.py")
    for named, unit, figure in (
        ("rows", " million", row["rows (million)"]),
        ("vectors", " million", row["vectors (million)"]),
        ("Chroma's memory", " GB", f"{row['Chroma memory GB']:.0f}"),
        ("dollars a month", "", row["dollars a month"]),
    ):
        assert f"| {named} | {figure}{unit} |" in page


def test_no_figure_of_a_wide_table_is_cut(tmp_path, capsys):
    report("Wide", [{f"embeddings in place {number}": 1234.5 for number in range(30)}], tmp_path / "wide.json")
    told = capsys.readouterr().out
    assert (told.count("1,234.50"), "…" in told) == (30, False)


def test_all_results_go_where_out_says_and_every_script_has_its_line(root):
    sources = {each.name: each.read_text(encoding="utf-8") for each in (root / "benchmarks").glob("*.py")}
    assert len(sources) > 50
    assert not [name for name, source in sources.items() if 'with_stem("' in source]
    told = (root / "benchmarks" / "README.md").read_text(encoding="utf-8")
    measuring = [name for name, source in sources.items() if "    report(" in source and "__main__" in source]
    assert len(measuring) > 40
    assert not [name for name in measuring if name not in told]


@pytest.mark.model
def test_the_track_node_embeds_nothing(run):
    row = run("post_turn.py", "--drawers", 40, "--turns", 5, "--threads", 1, "--rounds", 1, "--backlog", 20)
    assert (row["background"], row["embedded on this path"]) == ("at work", "no")


@pytest.mark.model
def test_ingest_is_compared_with_the_bare_embedder(run):
    assert run("ingest.py", "--drawers", 40, "--rounds", 1)["share of the bare embedder"] > 0


@pytest.mark.model
def test_the_event_loop_is_watched_while_many_users_talk(run):
    row = run("concurrent_users.py", "--users", 2, "--turns", 2)
    assert row["what"] == "idle"
    assert row["longest step ms"] > 0


def test_what_requests_have_in_common_is_counted(run):
    row = run("prompt_prefix.py", "--turns", 3)
    assert row["in the loop: of the last request kept %"] == "100 to 100"
    assert row["next turn: of the last request kept %"] == "100 to 100"


def test_working_memory_is_timed_beside_a_commit(run):
    row = run("working_memory.py", "--namespaces", 2, "--entries", 3, "--calls", 3)
    assert row["call"] == "get"
    assert 0 < row["p50"] <= row["p95"]


def test_export_import_and_sync_are_timed(run):
    row = run("transfer.py", "--messages", 40, "--entries", 5)
    assert row["step"] == "export"
    assert row["seconds"] > 0
    assert row["most memory MB"] > 0
