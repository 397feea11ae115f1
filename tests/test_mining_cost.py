"""The script that measures what mining asks of a model."""

import json
import subprocess
import sys

import pytest
from bench_sets import LOCOMO, write


@pytest.mark.slow
def test_calls_and_tokens_of_each_session_are_counted(root, tmp_path, offline_environment):
    data, out = write(tmp_path / "locomo.json", LOCOMO), tmp_path / "cost.json"
    command = [sys.executable, root / "benchmarks" / "mining_cost.py", "--data", data, "--pauses", 1, "--out", out]
    subprocess.run([str(part) for part in command], env=offline_environment, check=True, timeout=120)
    whole, paused = json.loads(out.read_text())["rows"]
    assert 0 < whole["calls a session"] <= paused["calls a session"]
    assert whole["tokens in a session"] > whole["tokens out"] > 0
