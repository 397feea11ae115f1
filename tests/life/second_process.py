"""Another process that works on a memory, with its own files open; killed while it writes, another takes its place.

Run as a program, it reads a request a line, and answers with a line.
"""

import atexit
import json
import subprocess
import sys
from datetime import datetime
from functools import cache
from pathlib import Path
from time import sleep


class SecondProcess:
    """The process, seen from the tests."""

    def __init__(self):
        self._process = None
        atexit.register(self.end)

    @classmethod
    @cache
    def shared(cls):
        """One for all tests of this process."""
        return cls()

    def ask(self, **request):
        if self._process is None:
            command = [sys.executable, "-W", "error", "-m", "tests.life.second_process"]
            root = Path(__file__).parents[2]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._process = subprocess.Popen(command, cwd=root, **pipes, text=True, bufsize=1)
        self._process.stdin.write(json.dumps(request) + "\n")
        answer = self._process.stdout.readline()
        assert answer, "the other process ended"
        return json.loads(answer)

    def work(self, folder, at, *, dies, **what):
        """Track, save and write there; gives the id of the entry. It may go on to write and be killed, in `dies` ms."""
        told = self.ask(folder=str(folder), at=at.isoformat(), dies=dies, **what)
        if dies is not None:
            sleep(dies / 1000)
            self._process.kill()
            self.end()
        return told

    def drop(self, folder):
        """Close a memory there."""
        if self._process is not None:
            self.ask(folder=str(folder))

    def end(self):
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait(30)
            self._process.stdout.close()
            self._process = None


def answer(request, memories):
    """What is asked for, done; memories stay open."""
    from langmem_tiers import Turn
    from tests.life.test_memory_machine import FrozenClock, opened

    folder = request["folder"]
    if "at" not in request:
        memory = memories.pop(folder, None)
        return memory and memory[0].close()
    at = datetime.fromisoformat(request["at"])
    if folder not in memories:
        clock = FrozenClock(at)
        memories[folder] = opened(folder, clock), clock
    memory, clock = memories[folder]
    clock.tick((at - clock()).total_seconds())
    alice = memory.user("alice")
    name, content = request["message"]
    alice.track([Turn(role="user", content=content, message_id=name)], session=request["session"])
    alice.documents.write(*request["note"])
    return alice.knowledge.save(request["entry"], origin="user").entry.id


def go_on(memory):
    """Work that is killed: what is there already, made ready for recall, again and again."""
    while True:
        memory.user("alice").rebuild()
        memory.user("alice").flush()


if __name__ == "__main__":
    held = {}
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(answer(asked, held)), flush=True)
        if asked.get("dies") is not None:
            go_on(held[asked["folder"]][0])
    for each, _ in held.values():
        each.close()
