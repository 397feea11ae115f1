"""A recall that looks through what is known, such as who somebody is or what to suggest, by how much was told.

The messages are made, and mined by rules. The floor is one embedding of the question; a recall asked again has its
vector at hand, so what it takes is what comes on top.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

from reporting import Row, parser, report, say

from langmem_tiers import Memory, Turn
from langmem_tiers.models.minilm import MiniLM
from langmem_tiers.space import Space

QUESTIONS = (
    "Who is Ana?",
    "Who is my boss?",
    "What do you know about Ben Carver?",
    "What do you know about me?",
    "Can you suggest a snack?",
    "Where do I live?",
    "Please email Ben",
)
FIRST = """
Ana Ben Carl Dora Emil Fay Gus Hana Ivo Jana Karl Lena Milo Nora Otto Pia Quin Rosa Sven Tara Ugo
Vera
"""
LAST = """
Adler Brook Carver Dunn Elm Finch Gray Holt Irwin Jarvis Kerr Lund Moss Nash Olsen Park Reed Stone
Vance
"""
THINGS = """
tea coffee chess rowing opera jazz hiking pottery tennis sushi poetry sailing baking knitting
fencing
"""
TOWNS = """
Delft Porto Bergen Tartu Ghent Leeds Turku Graz Brno Cadiz
"""
SAYINGS = (
    "My boss is {who} now.",
    "I love {thing} with {who}.",
    "{who} lives in {town}.",
    "{who} works at the {thing} club of {town}.",
    "I moved to {town} last week.",
    "I prefer {thing} to going out in {town}.",
    "My friend {who} is allergic to {thing}.",
    "I met {who} in {town} for {thing} number {number}.",
    "Project {number} is due in {town}, and {who} runs it.",
)
IN_A_SESSION = 20


def main() -> None:
    arguments = parser(__doc__ or "", "recall_of_knowledge")
    arguments.add_argument("--messages", type=int, nargs="+", default=[500, 2000, 8000])
    arguments.add_argument("--rounds", type=int, default=9, help="how often each question is asked")
    arguments.add_argument("--work", type=Path, help="keep the memories there, and use those that are there")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as made:
        work = chosen.work or Path(made)
        rows = [row for size in chosen.messages for row in asked(work / str(size), size, chosen.rounds, chosen.seed)]
    report("Recall of what is known, by messages told", rows, chosen.out)


def asked(folder: Path, size: int, rounds: int, seed: int) -> Iterator[Row]:
    """Each question, and reading the profile, beside one embedding."""
    new, embedder = not folder.exists(), MiniLM()
    with Memory.open(folder, background=False) as memory:
        alice = memory.user("alice")
        if new:
            tell(alice, size, seed)
            memory.flush()
        known = alice.stats().entries
        doors: dict[str, Callable[[], object]] = {
            question: partial(alice.recall, question, keep_receipt=False) for question in QUESTIONS
        }
        for name, door in {**doors, "(the profile)": alice.profile.read}.items():
            taken = [seconds(door) for _ in range(rounds)]
            floor = median(seconds(partial(embedder.embed_query, f"{name} {place}")) for place in range(rounds))
            yield {
                "messages": size,
                "entries": known,
                "asked": name,
                "first ms": taken[0] * 1000,
                "then ms": median(taken[1:]) * 1000,
                "times one embedding": median(taken[1:]) / floor,
            }


def tell(alice: Space, size: int, seed: int) -> None:
    """So many messages of many people, tastes, homes and plans, mined by rules."""
    say(f"{size} messages")
    told = random.Random(seed)
    for start in range(0, size, IN_A_SESSION):
        turns = [Turn(role="user", content=saying(told, number)) for number in range(start, start + IN_A_SESSION)]
        alice.track(turns, session=f"s{start}")
    alice.mine()


def saying(told: random.Random, number: int) -> str:
    """One of the sayings."""
    first, last, thing, town = (told.choice(words.split()) for words in (FIRST, LAST, THINGS, TOWNS))
    return told.choice(SAYINGS).format(who=f"{first} {last}", thing=thing, town=town, number=number)


def seconds(door: Callable[[], object]) -> float:
    """How long a call takes."""
    began = perf_counter()
    door()
    return perf_counter() - began


if __name__ == "__main__":
    main()
