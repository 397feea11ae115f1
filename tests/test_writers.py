"""Processes that write to one space at once lose no change of each other, double none, and never fail on a lock.

`make test` has them write 10 and 20 times each; `make test-flips` 500 and 2,000 times.
"""

import os
import re
import subprocess
import sys

import pytest

from langmem_tiers import Turn
from tests.writers import BOXES, count, found_by_vector, opened, said

CHANGES = int(os.environ.get("WRITERS_CHANGES", "10"))
MESSAGES = int(os.environ.get("WRITERS_MESSAGES", "20"))


@pytest.fixture
def at_once(root, offline_environment):
    """Lets so many processes work on a folder; they must all end well."""
    environment = {**offline_environment, "PYTHONPATH": f"{offline_environment['PYTHONPATH']}{os.pathsep}{root}"}

    def run(work, folder, processes, rounds):
        command = [sys.executable, "-W", "error", "-m", "tests.writers", work, folder, str(processes), str(rounds)]
        done = subprocess.run(command, check=False, cwd=root, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    return run


def test_of_8_writers_none_loses_the_change_of_another(tmp_path, at_once):
    with opened(tmp_path, "change") as memory:
        for number in range(BOXES):
            memory.user("alice").knowledge.save(f"Box {number} in the cellar holds 0 screws.", category="fact")
    told = at_once("change", tmp_path, 8, CHANGES)
    with opened(tmp_path, "change") as memory:
        alice = memory.user("alice")
        assert sum(count(each.entry) for each in alice.knowledge.search(limit=BOXES)) == 8 * CHANGES
        lines = alice.documents.read("log.md").content.split()
        assert sorted(lines) == sorted(f"{who}.{number}" for who in range(8) for number in range(CHANGES))
        assert sorted(each.message_id for each in alice.drawers()) == sorted(f"m{each}" for each in range(CHANGES))
        assert [each.message for each in alice.doctor(deep=True) if each.level == "problem"] == []
    again = sum(map(int, re.findall(r"read (\d+) times", told)))
    print(f"8 writers x {CHANGES:,}: 0 changes lost, 0 locks; read again {again:,} times")


def test_of_4_processes_that_share_chroma_no_vector_is_lost(tmp_path, at_once):
    with opened(tmp_path, "say") as memory:
        reader = memory.user("alice")
        reader.track([Turn(role="user", content="The reader was here before.")], session="s")
        reader.flush()
        at_once("say", tmp_path, 4, MESSAGES)
        for who in range(4):
            for number in range(0, MESSAGES, max(1, MESSAGES // 20)):
                assert found_by_vector(reader, said(who, number))
    with opened(tmp_path, "say") as memory:
        alice = memory.user("alice")
        assert alice.flush()
        (chroma,) = [each for each in alice.doctor() if each.check == "Chroma"]
        assert chroma.message == f"{4 * MESSAGES + 1:,} vectors, as in the records"
