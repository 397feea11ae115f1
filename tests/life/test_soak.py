"""A long life: thousands of turns with recalls, dreams and forgetting, and nothing that only ever grows.

`make test-life` lives through 30,000 turns, `make test` through 1,500.
"""

import ctypes
import gc
import os
import re
import threading
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.settings import DreamSettings, StorageSettings
from langmem_tiers.testing import FrozenClock, HashEmbedder

TURNS = int(os.environ.get("LIFE_TURNS", "1500"))
USERS, SESSION, CALL = 6, 60, 10
"""Users that talk in turn, turns of a session, and turns that one call stores."""
# What may be more at the end than when a third is over, and the bytes in memory and on disk that each turn since then
# may cost: all spaces stay open, with their vectors, word lists and graphs.
MOST_MEMORY, MOST_HANDLES, MOST_THREADS, MOST_FILES = 30_000_000, 40, 8, 60
TURN_MEMORY, TURN_BYTES = 2_500, 12_000

ROLES = ("user", "assistant")
NAMES = ("Lena", "Tom", "Ana", "Ben", "Mia", "Paul", "Olga", "Rita", "Igor", "Nora")
TOWNS = ("Porto", "Bergen", "Lisbon", "Graz", "Oslo", "Turin", "Ghent", "Malmo", "Basel", "Gdansk")


def said(number):
    name, town = NAMES[number % 10], TOWNS[number * 7 % 10]
    return (
        f"My friend {name} told me of box {number} in {town}.",
        f"{name} moved to {town} in week {number % 52}.",
        f"Did you see the report {number} that {name} wrote?",
        f"I like dish {number % 97} of {town} best.",
    )[number % 4]


def held_bytes():
    """The bytes that this process holds, without pages of mapped files, which the system may take back.

    The C library keeps freed blocks for later, scattered over the areas of many threads: after 30 rebuilds of one
    vector index 56 MB, of which none is in use. They are given back first, so that what is left is really held.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024


def resources(folder):
    """Bytes in memory, open handles, threads, and files in the folder with their bytes."""
    files = [each.stat().st_size for each in folder.rglob("*") if each.is_file()]
    handles = len([*Path("/proc/self/fd").iterdir()])
    return {
        "memory": held_bytes(),
        "handles": handles,
        "threads": threading.active_count(),
        "files": len(files),
        "bytes": sum(files),
    }


class Life:
    """A memory whose users talk in turn; what was said and forgotten is counted."""

    def __init__(self, folder, clock):
        settings = Settings(dream=DreamSettings(enabled=False), storage=StorageSettings(synchronous="NORMAL"))
        given = {"embedder": HashEmbedder(), "background": False, "clock": clock, "settings": settings}
        self.memory, self.clock = Memory.open(folder, **given), clock
        self.number = 0
        self.held = defaultdict(int)

    def talk(self):
        """One session of a user."""
        user = f"user{self.number // SESSION % USERS}"
        space, session = self.memory.user(user), f"s{self.number // SESSION}"
        for _ in range(SESSION // CALL):
            space.recall(f"Where does {NAMES[self.number % 10]} live?", session=session)
            turns = [
                Turn(role=ROLES[each % 2], content=said(each), message_id=f"m{each}")
                for each in range(self.number, self.number + CALL)
            ]
            assert len(space.track(turns, session=session).stored) == CALL
            self.number += CALL
            self.held[user] += CALL
            self.clock.tick(60)
        self.clock.tick(7200)
        space.flush()
        return user, space, session

    def tidy(self, user, space, session):
        """What happens now and then after a session."""
        round_ = self.number // SESSION
        if round_ % 15 == 0:
            space.dream()
        if round_ % 11 == 0:
            receipt = space.forget(session=session, confirm=True)
            self.held[user] -= receipt.counts.get("drawers", 0)
        if round_ % 50 == 0:
            assert [each.message for each in space.doctor() if each.level == "problem"] == []


@pytest.mark.slow
def test_a_long_life_holds_its_bounds(tmp_path):
    clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    life, begun = Life(tmp_path / "memory", clock), perf_counter()
    early = None
    while life.number < TURNS:
        life.tidy(*life.talk())
        if early is None and life.number >= TURNS / 3:
            early = resources(tmp_path)
    late = resources(tmp_path)
    for user, held in life.held.items():
        assert len(life.memory.user(user).drawers()) == held
        assert life.memory.user(user).stats().pending == 0
    life.memory.close()
    print(f"{life.number:,} turns in {perf_counter() - begun:.0f} s: a third {early}, all {late}")
    grown = {each: late[each] - early[each] for each in late}
    since = TURNS * 2 / 3
    assert grown["memory"] <= MOST_MEMORY + TURN_MEMORY * since
    assert grown["handles"] <= MOST_HANDLES
    assert grown["threads"] <= MOST_THREADS
    assert grown["files"] <= MOST_FILES
    assert grown["bytes"] <= TURN_BYTES * since
