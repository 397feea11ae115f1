"""A memory of every kind of record, and a script that says in a process of its own what a damaged copy of it serves."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from langmem_tiers import Memory, Turn
from langmem_tiers.integrations import TieredStore
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests.looking import QUESTIONS

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
SUBJECTS = ("violin", "lighthouse", "marzipan", "kayak", "greenhouse", "telescope", "harpsichord", "bicycle")
SAID = [
    f"My {subject} number {place} stands in the cellar behind the {SUBJECTS[(at + 3) % 8]} and needs varnish."
    for place in range(25)
    for at, subject in enumerate(SUBJECTS)
]


def grown(folder, now=NOW):
    """Fills a folder with a memory that has a record of every kind."""
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=FrozenClock(now)) as memory:
        alice = memory.user("alice")
        facts = ["My sister Lena lives in Porto.", "My favourite colour is turquoise.", "I work at Brightwater."]
        alice.track([Turn(role="user", content=each) for each in facts], session="facts")
        for start in range(0, len(SAID), 40):
            told = [Turn(role="user", content=each) for each in SAID[start : start + 40]]
            alice.track(told, session=f"s{start}")
        for at in range(30):
            alice.knowledge.save(f"The {SUBJECTS[at % 8]} of shed {at} was painted crimson.", category="fact")
        alice.identity.write("# About\n- Alice restores old instruments in Lisbon.")
        alice.documents.write(
            "notes/workshop.md", "# Workshop\nThe glue is kept beside the harpsichord, not above it.\n"
        )
        alice.working.within("session/facts").save(
            "plan", "Buy varnish before Thursday and call the luthier.", ttl_minutes=600
        )
        TieredStore(memory).put(("memories", "alice"), "tea", {"content": "Alice keeps the oolong in the pantry."})
        alice.tasks.start("Restore the spinet", id="spinet", state="The soundboard is glued.")
        alice.graph.add_entity("Bruno Tavares", type="person", aliases=["Uncle Bruno"])
        alice.flush()
        for session in ("facts", "s0"):
            alice.end_session(session)
        alice.flush()
        for question in QUESTIONS:
            alice.recall(question, session="asked", message_id=question)
    return folder


class Looking:
    """The process of `looking.py`, seen from the tests."""

    def __init__(self, environment):
        command = [sys.executable, str(Path(__file__).with_name("looking.py"))]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def at(self, folder, seconds=60):
        """What a process of its own serves out of a folder: see `looking.Look`; or `crash`, or `hang`."""
        self._process.stdin.write(f"{folder} {seconds}\n")
        return json.loads(self._process.stdout.readline())

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()
