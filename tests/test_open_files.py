"""A process has a limit of open files: open spaces keep below it, and what goes beyond it is told as that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.folder,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc"),
]
RUN = """
import os, resource, sys
from langmem_tiers import Memory, Turn
from langmem_tiers.errors import TooManyFiles
from langmem_tiers.testing import HashEmbedder

def opened():
    return len(os.listdir("/proc/self/fd"))

def use(memory, users):
    for number in range(users):
        space = memory.user(f"user-{number}")
        said = f"My boat is called Nadia {number}, and it is registered as PT-1234567890123-SAIL."
        space.track([Turn(role="user", content=said)], session="s")
        most.append(opened())

most = []
resource.setrlimit(resource.RLIMIT_NOFILE, (160, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
with Memory.open(sys.argv[1], embedder=HashEmbedder(), background=False) as memory:
"""
MANY = """
    use(memory, 60)
    assert memory.flush()
    found = [memory.user(f"user-{number}").recall("What is my boat called?").block for number in range(60)]
    print(max(most), sum(f"Nadia {number}," in block for number, block in enumerate(found)))
"""
NONE_LEFT = """
    use(memory, 1)
    taken = []
    while True:
        try:
            taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            break
    try:
        memory.user("another").track([Turn(role="user", content="I sail.")], session="s")
    except TooManyFiles as error:
        print(error)
    for each in taken:
        os.close(each)
    use(memory, 2)
    print(memory.user("user-1").stats().drawers)
"""


def _run(code, folder):
    run = [sys.executable, "-c", RUN + code, folder]
    done = subprocess.run(run, check=False, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_spaces_are_closed_before_a_process_has_all_the_files_open_that_it_may(tmp_path):
    (printed,) = _run(MANY, tmp_path / "memory")
    most, found = map(int, printed.split())
    assert 30 < most < 160
    assert found == 60


def test_no_file_left_to_open_is_an_error_with_a_way_out_and_passes(tmp_path):
    told, drawers = _run(NONE_LEFT, tmp_path / "memory")
    assert "No further file can be opened" in told
    assert "ulimit -n" in told
    assert drawers == "1"
