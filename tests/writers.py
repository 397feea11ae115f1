"""Many processes that change one memory at once: `python -m tests.writers WORK FOLDER PROCESSES ROUNDS`.

It ends with an error if one of them met an error, and prints how often a writer had to read again.
"""

import os
import sys
import tempfile
import time

import numpy as np

from langmem_tiers import Memory, RecallSettings, Settings, Turn
from langmem_tiers.errors import EntryChanged
from langmem_tiers.settings import StorageSettings
from langmem_tiers.testing import HashEmbedder

WORDS = "robot garden violin harbour bakery mountain kettle lantern saddle orchard compass velvet".split()  # noqa: SIM905
BOXES = 20
THINKING = 2.0
"""Seconds that a model takes between reading an entry and changing it."""
RECALL = RecallSettings(min_similarity=-1, candidates=10, recency_weight=0, trivial_words=0, later=0)
CHROMA = Settings(recall=RECALL, storage=StorageSettings(exact_below=0))


class Mirrored(HashEmbedder):
    """Understands questions in mirror writing, which share no word with what is stored."""

    def __init__(self):
        super().__init__(256)

    def embed_query(self, text):
        return super().embed_query(mirrored(text))


def mirrored(text):
    return " ".join(word[::-1] for word in text.split())


def opened(folder, work):
    embedder, settings = (Mirrored(), CHROMA) if work == "say" else (None, None)
    return Memory.open(folder, embedder=embedder, settings=settings, background=False)


def count(entry):
    """How many screws are in a box."""
    return int(entry.content.split()[-2])


def said(who, number):
    """Words that no other message has together."""
    return " ".join(np.random.default_rng((who, number)).choice(WORDS, 8)) + f" {who}.{number}"


def add_a_screw(space, entry_id, thinking):
    """Read, think, write; read again where another was quicker. Gives how often."""
    again = 0
    while True:
        entry = space.knowledge.get(entry_id)
        time.sleep(thinking)
        content = f"{entry.content.rsplit(' ', 2)[0]} {count(entry) + 1} screws."
        try:
            space.knowledge.update(entry_id, content=content, version=entry.version, origin="user")
        except EntryChanged:
            again, thinking = again + 1, 0
        else:
            return again


def change(space, who, rounds):
    """Count entries up, append to one document, and track the messages that all others track as well."""
    boxes = sorted(each.entry.id for each in space.knowledge.search(limit=BOXES))
    again = 0
    for number in range(rounds):
        thinking = THINKING if number % 100 == who + 1 else 0
        again += add_a_screw(space, boxes[(number + who) % len(boxes)], thinking)
        space.documents.append("log.md", f"{who}.{number}")
        space.track([Turn(role="user", content=f"Message {number}.", message_id=f"m{number}")], session="shared")
    return again


def say(space, who, rounds):
    """Track messages, ten at a time; after each flush, for which all compete, they are found by their vectors."""
    for first in range(0, rounds, 10):
        numbers = range(first, min(first + 10, rounds))
        turns = [Turn(role="user", content=said(who, each), message_id=f"{who}.{each}") for each in numbers]
        space.track(turns, session=f"s{who}")
        space.flush()
        assert found_by_vector(space, said(who, first)), (who, first)
    return 0


def found_by_vector(space, text):
    """Whether a question that shares no word with a message finds it."""
    candidates = space.recall(mirrored(text), keep_receipt=False).receipt.candidates
    return text in {space.drawer(each.drawer).content for each in candidates}


def warm_up(work):
    """What each of the forks would otherwise do once for itself: imports, and the compiling of statements."""
    with tempfile.TemporaryDirectory() as folder, opened(folder, work) as memory:
        space = memory.user("nobody")
        space.knowledge.save("Box 1 in the cellar holds 0 screws.", category="fact")
        {"change": change, "say": say}[work](space, 0, 1)


def work_at_once(work, folder, processes, rounds):
    """Whether all processes ended well."""
    warm_up(work)
    children = []
    for who in range(processes):
        child = os.fork()
        if not child:
            with opened(folder, work) as memory:
                again = {"change": change, "say": say}[work](memory.user("alice"), who, rounds)
            print(f"writer {who} read {again} times again", flush=True)
            os._exit(0)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in children] == [0] * processes


if __name__ == "__main__":
    work, folder, processes, rounds = sys.argv[1:]
    sys.exit(not work_at_once(work, folder, int(processes), int(rounds)))
