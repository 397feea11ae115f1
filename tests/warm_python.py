"""A Python process that has its heavy imports behind it, and runs each script in a fork of itself.

A script still has an interpreter of its own, with its own working folder, output, threads and way to end; only the
imports and the compiling of rules and statements, which take longer than most scripts, are paid for once. Imports that
start threads are left to the scripts.
"""

import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path


class WarmPython:
    """The process, seen from the tests; start it with the environment that the scripts are to have."""

    def __init__(self, environment):
        command = [sys.executable, "-W", "error", __file__]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def run(self, script):
        """Run a script in its own folder, as `python -W error script` does there; gives its exit code and output."""
        folder = Path(script).parent
        self._process.stdin.write(f"{script}\n")
        code = int(self._process.stdout.readline())
        printed = [(folder / name).read_text() for name in ("stdout.txt", "stderr.txt")]
        return subprocess.CompletedProcess(script, code, *printed)

    def close(self):
        """End the process, which has nothing under way."""
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


def _become(script):
    """In a fork: take on what the script would have as a process of its own."""
    os.chdir(script.parent)
    for name, stream in (("stdout.txt", 1), ("stderr.txt", 2)):
        opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, stream)
        os.close(opened)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.stdin = open(0)  # noqa: SIM115 - as long as the process lives
    sys.argv[:] = [script.name]
    sys.path[0] = str(script.parent)


if __name__ == "__main__":
    import chromadb  # noqa: F401
    import langchain.agents  # noqa: F401

    from langmem_tiers import Memory, Turn

    with tempfile.TemporaryDirectory() as folder, Memory.open(folder, embedder=None, background=False) as memory:
        space = memory.user("nobody")
        space.track([Turn(role="user", content="My sister Lena moved to Porto.")], session="one")
        space.flush()
        space.recall("Where does my sister Lena live?", session="two")
    wanted = None
    for line in sys.stdin:
        child = os.fork()
        if not child:
            wanted = Path(line.strip())
            break
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    if wanted is not None:
        _become(wanted)
        runpy.run_path(wanted.name, run_name="__main__")
