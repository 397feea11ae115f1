"""A process of a memory on servers, which `server_kills.py` starts: it tracks turns, or does the background's work.

A writer says on standard output, one line each and with the time, which turns were acknowledged, and which call ended
in which error. It goes on until SIGTERM, and repeats half of the calls that fail until they succeed.
"""

from __future__ import annotations

import argparse
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import time

from writer import made_turn, say, unique_word

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import MemoryTiersError
from langmem_tiers.testing import HashEmbedder

MOST_AT_ONCE = 4


def space_of(number: int) -> str:
    return f"users/u{number}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--chroma", required=True)
    parser.add_argument("--name", default="", help="of a writer: begins every message id; without it, it is a worker")
    parser.add_argument("--spaces", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between two calls of a writer")
    chosen = parser.parse_args()
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with opened(chosen.address, chosen.chroma) as memory:
        if chosen.name:
            Writer(memory, chosen.name, chosen.spaces).write(stopped, chosen.pause)
            return
        works = memory.worker(2)
        say("ready")
        stopped.wait()
        works.stop(60)


@contextmanager
def opened(address: str, chroma: str, *, background: bool = False) -> Iterator[Memory]:
    """The memory as all processes open it."""
    with Memory.open(address, chroma=chroma, embedder=HashEmbedder(), background=background) as memory:
        yield memory


class Writer:
    """Tracks turns in some spaces, and asks for what it tracked."""

    def __init__(self, memory: Memory, name: str, spaces: int) -> None:
        self._memory = memory
        self._name = name
        self._spaces = spaces
        self._rng = random.Random(name)
        self._written = 0

    def write(self, stopped: threading.Event, pause: float) -> None:
        """Go on until told to stop."""
        while not stopped.wait(pause):
            space, turns = space_of(self._rng.randrange(self._spaces)), self._made()
            insists = self._rng.random() < 0.5
            while not self._track(space, turns) and insists and not stopped.wait(pause):
                pass
            if self._rng.random() < 0.2:
                self._ask(space, turns[0])

    def _made(self) -> list[Turn]:
        first = self._written
        self._written += self._rng.randint(1, MOST_AT_ONCE)
        return [made_turn(self._name, number) for number in range(first, self._written)]

    def _track(self, space: str, turns: list[Turn]) -> bool:
        ids = " ".join(str(each.message_id) for each in turns)
        try:
            self._memory.space(space).track(turns, session=f"{self._name}-{self._written // 20}").raise_rejected()
        except MemoryTiersError as error:
            say(f"{time()} {type(error).__name__} {space} {ids}")
            return False
        say(f"{time()} acknowledged {space} {ids}")
        return True

    def _ask(self, space: str, turn: Turn) -> None:
        try:
            self._memory.space(space).recall(f"What of {unique_word(str(turn.message_id))}?", keep_receipt=False)
        except MemoryTiersError as error:
            say(f"{time()} {type(error).__name__} {space}")
        else:
            say(f"{time()} recalled {space}")


if __name__ == "__main__":
    main()
