"""A process that writes turns into a space and says on standard output, one line each, which are acknowledged.

Lines: `ready` once the space is open, then the ids of every call of `track` that returned, or `error` with the reason.
`kill_test.py` and `two_writers.py` start it; it goes on until it has written enough, or is killed.
"""

from __future__ import annotations

import argparse
import random
import sys

from texts import message

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import MemoryTiersError
from langmem_tiers.testing import HashEmbedder

SPACE = "users/bench"
TURNS_A_CALL = 4
CALLS_A_SESSION = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--name", required=True, help="begins every message id")
    parser.add_argument("--turns", type=int, default=1_000_000)
    chosen = parser.parse_args()
    with Memory.open(chosen.folder, embedder=HashEmbedder()) as memory:
        memory.space(SPACE).stats()
        say("ready")
        write(memory, chosen.name, chosen.turns)
        memory.flush()


def write(memory: Memory, name: str, most: int) -> None:
    rng = random.Random(name)
    space = memory.space(SPACE)
    written = calls = 0
    while written < most:
        count = min(rng.randint(1, TURNS_A_CALL), most - written)
        turns = [made_turn(name, written + place) for place in range(count)]
        try:
            space.track(turns, session=f"{name}-{calls // CALLS_A_SESSION}").raise_rejected()
        except MemoryTiersError as error:
            say(f"error {type(error).__name__}: {error}")
        else:
            say(" ".join(turn.message_id or "" for turn in turns))
        written += count
        calls += 1


def made_turn(name: str, number: int) -> Turn:
    """A turn that can be told from all others by one word of it."""
    word = unique_word(f"{name}-{number}")
    return Turn(role="user", content=f"{message(random.Random(word))} {word}", message_id=f"{name}-{number}")


def unique_word(message_id: str) -> str:
    return f"mark{message_id.replace('-', 'x')}"


def say(line: str) -> None:
    """One line, at once: what is in the pipe survives the process."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
