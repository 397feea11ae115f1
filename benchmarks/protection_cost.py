"""What protecting costs: how much of writing and recall goes into secrets, pasted text and the hashes of words.

The messages of LoCoMo are tracked one by one, mined by rules, and recalled with, all without an embedder: so no other
work hides the shares. Time is that of the processor; parts and whole are taken in one run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from mining_cost import read
from reporting import Row, parser, report, say

from langmem_tiers import Memory, Turn
from langmem_tiers.language import quotations
from langmem_tiers.storage import seals
from langmem_tiers.trust import instructions, safety, secrets

PARTS: dict[str, tuple[Callable[..., Any], ...]] = {
    "secrets": (secrets.find,),
    "pasted text": (quotations.quotations, quotations.own_words),
    "instructions": (safety.lowers, instructions.suspicious),
    "hashes": (seals._digest, seals._has_digest),
}


class Parts:
    """Seconds spent in each part, and whether one is running: a call inside another one is not counted twice."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(PARTS, 0.0)
        self._running = False

    def watch(self) -> None:
        """Put a clock around the parts wherever the library has imported them. Do it before a memory is opened."""
        for name, functions in PARTS.items():
            for function in functions:
                watched = self._watched(name, function)
                for module in [each for key, each in sys.modules.items() if key.startswith("langmem_tiers")]:
                    for bound in [key for key, value in vars(module).items() if value is function]:
                        setattr(module, bound, watched)

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            if self._running:
                return function(*given, **named)
            self._running, began = True, process_time()
            try:
                return function(*given, **named)
            finally:
                self.spent[name] += process_time() - began
                self._running = False

        return run


def main() -> None:
    arguments = parser(__doc__ or "", "protection_cost")
    arguments.add_argument("--data", type=Path, required=True, help="the LoCoMo file")
    arguments.add_argument("--sessions", type=int, default=60)
    chosen = arguments.parse_args()
    sessions = [session for _, session in read(chosen.data)][: chosen.sessions]
    said = [
        (session.session, Turn(role="user", content=message.content))
        for session in sessions
        for message in session.messages
    ]
    parts = Parts()
    parts.watch()
    with TemporaryDirectory() as folder, Memory.open(folder, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="Good morning.")], session="warming up")
        alice.recall("Good morning")
        say(f"{len(said):,} turns")
        names = list(dict(said))
        rows = [
            measure(parts, "track", [partial(alice.track, [turn], session=name) for name, turn in said]),
            measure(parts, "mine", [*(partial(alice.end_session, name) for name in names), alice.flush]),
            measure(parts, "recall", [partial(alice.recall, turn.content) for _, turn in said[::5]]),
        ]
    report("Shares of processor time that protection takes", rows, chosen.out)


def measure(parts: Parts, name: str, calls: list[Callable[[], object]]) -> Row:
    parts.spent = dict.fromkeys(PARTS, 0.0)
    began = process_time()
    for call in calls:
        call()
    whole = process_time() - began
    shares = {f"{part} %": 100 * spent / whole for part, spent in parts.spent.items()}
    return {"what": name, "calls": len(calls), "ms a call": 1000 * whole / len(calls), **shares}


if __name__ == "__main__":
    main()
