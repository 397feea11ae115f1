"""The comparison with other memories: every peer over the same adapter, and a fault in one is a row."""

import json
import os
import subprocess
import sys

import pytest

LOCAL = ["plain Chroma", "langmem-tiers", "LangGraph store", "BM25, sessions", "half and half"]
FIGURES = ["R@1", "any@5", "all@5", "any@10", "MRR", "ingest s", "p50 ms", "p95 ms"]
LOCOMO = [
    {
        "sample_id": "conv-1",
        "qa": [
            {"question": "What is the name of Ann's cat?", "answer": "", "evidence": ["D1:1"], "category": 4},
            {"question": "Which guitar did Bo buy?", "answer": "", "evidence": [], "category": 4},
        ],
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "4:07 pm on 8 May, 2023",
            "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "My cat has the name Mug."}],
            "session_2_date_time": "4:07 pm on 9 May, 2023",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "The weather was terrible."}],
        },
    }
]

pytestmark = pytest.mark.slow


@pytest.fixture
def run(root, tmp_path, offline_environment):
    """Runs the script with arguments, beside modules of a folder; gives its rows and its title."""

    def script(*arguments, modules=tmp_path / "modules"):
        out = tmp_path / "result.json"
        more = ["--embedder", "hash", "--work", tmp_path, "--out", out]
        command = [sys.executable, root / "benchmarks" / "peers.py", *arguments, *more]
        path = os.pathsep.join([str(modules), offline_environment["PYTHONPATH"]])
        ended = subprocess.run(
            [str(part) for part in command],
            env={**offline_environment, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        result = json.loads(out.read_text())
        return result["rows"], result["title"]

    return script


def test_peers_are_measured_on_a_conversation_made_from_the_seed(run, tmp_path):
    rows, title = run("--turns", 60, "--questions", 5)
    measured = {row["peer"]: row for row in rows if row["unit"] == "measured"}
    assert "60 messages, 5 questions" in title
    assert all(measured[peer]["status"] == "ok" and 0 < measured[peer]["MRR"] <= 100 for peer in LOCAL)
    assert all(isinstance(measured[peer][name], float) for peer in LOCAL for name in FIGURES)
    assert [path for path in tmp_path.iterdir() if path.name != "result.json"] == []


def test_ratios_are_those_to_plain_chroma(run):
    rows, _ = run("--turns", 60, "--questions", 5)
    base, ours = (row for row in rows[:2])
    (ratio,) = [row for row in rows if (row["peer"], row["unit"]) == ("langmem-tiers", "× plain Chroma")]
    assert ratio["MRR"] == pytest.approx(ours["MRR"] / base["MRR"])
    assert ratio["ingest s"] == pytest.approx(ours["ingest s"] / base["ingest s"])


def test_what_can_not_run_says_why(run, tmp_path):
    rows, _ = run("--turns", 20, "--questions", 2)
    status = {row["peer"]: row["status"] for row in rows}
    assert status["mem0"] == status["mempalace"] == "not installed"
    assert status["letta"] == status["graphiti"] == "needs an LLM, not installed"


def test_a_peer_that_fails_is_a_row_with_its_error(run, tmp_path):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "mem0.py").write_text("raise RuntimeError('no luck')")
    rows, _ = run("--turns", 20, "--questions", 2)
    (row,) = [row for row in rows if row["peer"] == "mem0"]
    assert (row["status"], row["MRR"]) == ("RuntimeError: no luck", "-")
    assert next(row for row in rows if row["peer"] == "langmem-tiers")["status"] == "ok"


def test_a_public_set_is_scored_by_session_and_without_the_unanswerable(run, tmp_path):
    (tmp_path / "locomo.json").write_text(json.dumps(LOCOMO))
    rows, title = run("--dataset", "locomo", "--data", tmp_path / "locomo.json")
    assert "2 messages, 1 questions" in title
    assert {row["R@1"] for row in rows if row["peer"] in LOCAL and row["unit"] == "measured"} == {100}
