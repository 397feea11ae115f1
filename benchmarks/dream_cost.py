"""What a dream costs by the size of its space: calls, tokens and seconds, with a scripted model and without one.

The model is a script that proposes for each batch a few merges, deletions and refinements, so that replies are as long
as those of a model that has something to do; its tokens are estimated and its calls take no time. Of the entries one in
ten says what another one says. Beyond `settings.dream.entries` a dream takes no more: figures have to be flat there.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from time import perf_counter

from reporting import Row, parser, report, say

from langmem_tiers import Memory, Settings, Space, Turn
from langmem_tiers.clock import to_millis
from langmem_tiers.dream import consolidate
from langmem_tiers.dream.decide import decide
from langmem_tiers.dream.gather import gather
from langmem_tiers.dream.types import DreamReport
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.records import Authority, Evidence
from langmem_tiers.settings import BudgetSettings, ModelSettings
from langmem_tiers.storage.entries import NewEntry
from langmem_tiers.testing import FrozenClock, HashEmbedder, ScriptedChatModel

SIZES = (100, 1000, 5000)
DRAWERS = 200
DOUBLED = 10  # one entry in so many says what another one says
LINE = re.compile(r"^\[(\d+)\] \((.+?);.*?\) (.+)$", re.MULTILINE)
# All of it is to be measured: nothing is cut short by a budget.
BUDGET = BudgetSettings(session_calls=None, session_tokens=None, day_calls=None, day_tokens=None)
WHO = ("The user", "Anna", "Ben", "The user's sister", "Carla", "David", "The user's neighbour", "Elena")
DOES = ("likes", "collects", "repairs", "paints", "grows", "sells", "photographs", "describes")
WHAT = ("maps", "violins", "tomatoes", "canoes", "lamps", "cactuses", "tents", "mirrors", "cheese", "ladders", "novels")
WHERE = ("Ashford", "Blackton", "Clayhaven", "Elmgate", "Fairdale", "Goldport", "Hartfield", "Kingsham", "Millbury")
CATEGORIES = ("people/friends", "hobbies", "hobby", "work/habits", "user-preferences/food", "general")


def main() -> None:
    arguments = parser(__doc__ or "", "dream_cost")
    arguments.add_argument("--entries", type=int, nargs="*", default=SIZES)
    arguments.add_argument("--dreams", type=int, default=3, help="in a row; the figures are of one")
    arguments.add_argument("--tokens", type=int, help="the budget of a session, instead of none")
    chosen = arguments.parse_args()
    budget = BUDGET if chosen.tokens is None else BUDGET.model_copy(update={"session_tokens": chosen.tokens})
    rows = []
    for entries in chosen.entries:
        for with_model in (True, False):
            say(f"{entries:,} entries, {'a' if with_model else 'no'} model")
            rows.append(measure(entries, chosen, Settings(model=ModelSettings(budget=budget)), with_model=with_model))
    report("What a dream costs", rows, chosen.out)


def measure(entries: int, chosen, settings: Settings, *, with_model: bool) -> Row:
    clock = FrozenClock(datetime(2026, 3, 2, tzinfo=UTC))
    model = ScriptedChatModel(responses=[answer]) if with_model else None
    options = {"embedder": HashEmbedder(), "background": False, "clock": clock, "settings": settings, "model": model}
    with TemporaryDirectory() as folder, Memory.open(folder, **options) as memory:
        space = memory.user("alice")
        fill(space, entries, random.Random(chosen.seed))
        parts = timed_parts(space)
        reports, seconds = [], []
        for _ in range(chosen.dreams):
            clock.tick(24 * 3600)
            start = perf_counter()
            reports.append(space.dream())
            seconds.append(perf_counter() - start)
    return told(entries, reports, seconds, parts, with_model=with_model)


def fill(space: Space, entries: int, rng: random.Random) -> None:
    """Turns, and entries that rest on them: written at once, since this is no benchmark of saving."""
    for first in range(0, DRAWERS, 20):
        turns = [Turn(role="user", content=f"{fact(rng)} That was number {first + each}.") for each in range(20)]
        space.track(turns, session=f"s{first}")
    texts: list[str] = []
    with space.memory.use(space.name) as store, store.writing() as connection:
        ledger = EntryWriter(connection, store.key, to_millis(space.memory.clock()))
        for place in range(entries):
            doubled = texts and place % DOUBLED == 0
            texts.append(
                rng.choice(texts).upper() if doubled else f"{fact(rng)[:-1]} since {1950 + rng.randrange(75)}."
            )
            cited = [Evidence(drawer=rng.randint(1, DRAWERS), quote="")]
            ledger.add(new(texts[-1], rng), cited)
    space.flush()


def fact(rng: random.Random) -> str:
    what, other = rng.sample(WHAT, 2)
    return f"{rng.choice(WHO)} {rng.choice(DOES)} {what} and {other} in {rng.choice(WHERE)}."


def new(content: str, rng: random.Random) -> NewEntry:
    return NewEntry(
        id=f"{rng.getrandbits(48):012x}",
        content=content,
        category=rng.choice(CATEGORIES),
        tags=(),
        origin="user",
        path="rule",
        authority=Authority.SYSTEM,
    )


def timed_parts(space: Space) -> dict[str, float]:
    """Seconds of what the consolidation pass does by itself."""
    settings, now = space.memory.settings, space.memory.clock()
    start = perf_counter()
    with space.memory.use(space.name) as store:
        seen = gather(store, settings, now, 0)
    gathered = perf_counter()
    proposals = consolidate.by_rule(seen)
    proposed = perf_counter()
    decide(seen, proposals, settings)
    return {"gather s": gathered - start, "rules s": proposed - gathered, "decide s": perf_counter() - proposed}


def answer(messages: Sequence[object]) -> str:
    """A reply about a batch, whatever is asked else nothing."""
    asked = str(getattr(messages[-1], "text", ""))
    lines = LINE.findall(asked.partition("Signals:")[0]) if "Entries:" in asked else []
    if not lines:
        return "{}"
    numbers = [int(number) for number, _, _ in lines]
    merges = [
        {"sources": numbers[each : each + 2], "content": lines[each][2], "category": lines[each][1], "tags": ["merged"]}
        for each in range(0, min(6, len(lines) - 1), 2)
    ]
    refine = [{"entry": each, "category": "people/friends", "tags": ["seen"]} for each in numbers[6:9]]
    return json.dumps({"toDelete": numbers[9:12], "merges": merges, "refine": refine, "antiPatterns": []})


def told(
    entries: int, reports: Sequence[DreamReport], seconds: Sequence[float], parts: dict[str, float], *, with_model: bool
) -> Row:
    took = [report.usage.get("memory_dream", {}) for report in reports]
    count = len(reports)
    return {
        "entries": entries,
        "model": "scripted" if with_model else "none",
        "calls": sum(each.get("calls", 0) for each in took) / count,
        "tokens in": sum(each.get("input_tokens", 0) for each in took) / count,
        "tokens out": sum(each.get("output_tokens", 0) for each in took) / count,
        "seconds": sum(seconds) / count,
        **parts,
        "accepted": sum(len(report.decision.accepted) for report in reports) / count,
        "rejected": sum(len(report.decision.rejected) for report in reports) / count,
        "status": ", ".join(dict.fromkeys(report.status for report in reports)),
    }


if __name__ == "__main__":
    main()
