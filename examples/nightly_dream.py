"""A memory that tidies up at night: look at what a dream would do, have it done, and take it back.

    python examples/nightly_dream.py [folder]

The graph is what a scheduler calls: cron, or a LangGraph server (see langgraph.json). The doubles of
`langmem_tiers.testing` stand in for an embedder and the clock, so that this runs offline; without a model, rules dream.
"""

import sys
import tempfile
from datetime import UTC, datetime

from langmem_tiers import Memory, Settings, Space, Turn
from langmem_tiers.graphs import dream_graph
from langmem_tiers.settings import DreamSettings
from langmem_tiers.testing import FrozenClock, HashEmbedder

DAY = 86_400
SAID = {
    "I live in Porto.": "The user lives in Porto.",
    "I work for Bosch as an engineer.": "The user works for Bosch as an engineer.",
    "I have two cats, Tom and Miso.": "The user has two cats, Tom and Miso.",
    "I moved: I live in Lisbon now.": "The user lives in Lisbon.",
    "I drink tea, never coffee.": "The user drinks tea, never coffee.",
}


def fill(alice: Space, clock: FrozenClock) -> None:
    """A week of conversation, and what an agent noted of it."""
    for day, (said, noted) in enumerate(SAID.items(), 1):
        alice.track([Turn(role="user", content=said)], session=f"day-{day}")
        alice.knowledge.save(noted, evidence=[day])
        clock.tick(DAY)


def known(alice: Space) -> str:
    return "\n".join(f"  {found.entry.content}" for found in alice.knowledge.search())


def main(folder: str) -> None:
    clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    # By hand alone; and of so small a memory, more than the tenth that one dream retires at most.
    settings = Settings(dream=DreamSettings(enabled=False, retire_share=0.5))
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock, settings=settings) as memory:
        alice = memory.user("alice")
        fill(alice, clock)
        memory.flush()
        alice.golden.add("How many cats does the user have?", expects="two cats")

        night = dream_graph(memory)
        looked = night.invoke({"user_id": "alice", "dry_run": True})["dream_report"]
        print(f"{looked['status']}:\n{looked['diff']}\n")

        for event in night.stream({"user_id": "alice"}, stream_mode="custom"):
            print(", ".join(f"{name}: {value}" for name, value in event.items() if name not in {"type", "dream"}))
        report = alice.dreams(limit=1)[0]
        print(f"\n{report.status}:\n{known(alice)}\n")

        print(f"{alice.undo_dream(report.id).status}:\n{known(alice)}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="nightly-dream-"))
