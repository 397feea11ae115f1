"""How long forgetting takes, and that no byte is left: canaries in a memory with very many other messages."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import canaries
from reporting import Row, parser, report, say

from langmem_tiers import Memory, MiningSettings, Settings, Turn
from langmem_tiers.testing import HashEmbedder

_AT_ONCE = 2_000
_WORDS = ("river", "garden", "violin", "train", "market", "letter", "window", "summer", "coffee", "story", "bridge")


def main() -> int:
    """Run as a script; the exit code says whether something was left."""
    arguments = parser(str(__doc__), "forgetting")
    arguments.add_argument("--drawers", type=int, default=20_000)
    arguments.add_argument("--canaries", type=int, default=200)
    chosen = arguments.parse_args()
    with TemporaryDirectory() as folder:
        row = _measured(Path(folder) / "memory", chosen.drawers, chosen.canaries)
    report("forgetting one message, then all canaries by each selector, among many messages", [row], chosen.out)
    return int(bool(row["bytes left"]))


def _measured(folder: Path, count: int, wanted: int) -> Row:
    row: Row = {"drawers": count, "canaries": wanted}
    # Mining would take most of the time, and is looked at in tests.
    settings = Settings(mining=MiningSettings(enabled=False))
    with Memory.open(folder, embedder=HashEmbedder(), background=False, settings=settings) as memory:
        _fill(memory, count)
        made = canaries.stories(wanted)
        for story in made:
            canaries.plant(memory, "alice", story)
        memory.flush()
        every = canaries.forms([word for story in made for word in story.words])
        vectors = [vector for story in made for vector in canaries.vectors(memory, story)]
        say("planted")
        row |= _one(memory, f"{made[0].selector}-m1")
        row |= _all(memory, made)
        row["bytes left"] = len(canaries.found(folder, [*every, *vectors]))
    return row


def _fill(memory: Memory, count: int) -> None:
    alice = memory.user("alice")
    for first in range(0, count, _AT_ONCE):
        turns = [
            Turn(role="user", content=_text(number), message_id=str(number), said_at=canaries.BEGIN)
            for number in range(first, min(first + _AT_ONCE, count))
        ]
        alice.track(turns, session=f"s{first}")
    memory.flush()


def _text(number: int) -> str:
    words = [_WORDS[(number * step) % len(_WORDS)] for step in (1, 3, 5, 7)]
    return f"In chapter {number} the {words[0]} and the {words[1]} met the {words[2]} by the {words[3]}."


def _one(memory: Memory, message: str) -> Row:
    """One message: the preview, and the deletion with the purge."""
    alice = memory.user("alice")
    deleted: list[float] = []
    began = perf_counter()
    preview = alice.forget(messages=message)
    shown = perf_counter()
    # Listeners are told between the transaction and the purge.
    stop = memory.on_activity(lambda _: deleted.append(perf_counter()))
    alice.forget(messages=message, confirm=preview.token)
    erased = perf_counter()
    stop()
    return {
        "preview ms": round((shown - began) * 1000, 1),
        "deletion ms": round((deleted[0] - shown) * 1000, 1),
        "bytes s": round(erased - deleted[0], 2),
    }


def _all(memory: Memory, made: list[canaries.Story]) -> Row:
    alice = memory.user("alice")
    slowest = 0.0
    for story in made:
        began = perf_counter()
        selection = story.selection or {"messages": canaries.ids(alice, story)}
        alice.forget(**selection, confirm=True)
        slowest = max(slowest, perf_counter() - began)
        say(f"{story.selector}: {perf_counter() - began:.2f} s")
    return {"slowest selector s": round(slowest, 2)}


if __name__ == "__main__":
    sys.exit(main())
