"""Processes that are killed while they write lose nothing, double nothing, and leave nothing half done.

`make test-life` kills 200 times, `make test` 13 times; each kind of writing of `writings.py` has its turn.
"""

import json
import os
import subprocess
import sys

import pytest

KILLS = int(os.environ.get("LIFE_KILLS", "13"))
SEED = os.environ.get("LIFE_SEED", "7")


@pytest.fixture
def environment(root, offline_environment):
    """That of the tests' own processes, with the tests to be imported."""
    return {**offline_environment, "PYTHONPATH": os.pathsep.join([offline_environment["PYTHONPATH"], str(root)])}


@pytest.mark.slow
def test_whatever_is_killed_half_way_what_was_acknowledged_is_there_once(root, environment, tmp_path):
    options = ["--kills", str(KILLS), "--seed", SEED, "--work", str(tmp_path / "work")]
    command = [sys.executable, "-W", "error", "-m", "tests.life.killing", *options]
    ran = subprocess.run(command, check=False, cwd=root, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-4000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    kinds, faults = told["kinds"], len(told["faults"])
    print(f"{told['kills']} kills of {kinds} kinds of writing in {told['seconds']} s: {faults} faults")
    assert told["faults"] == []
    assert told["kills"] == KILLS
    assert told["kinds"] >= min(KILLS, 13)
