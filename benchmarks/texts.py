"""Conversations made from a seed: everyday sentences of realistic lengths over a vocabulary of some 250 words.

The vocabulary is smaller than people's, so words are found in more drawers than in real memories: keyword search
has more to rank, not less.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from langmem_tiers import Turn

FIRST_DAY = datetime(2024, 1, 1, 8, tzinfo=UTC)
SESSION_TURNS = 20


def _phrases(listed: str) -> list[str]:
    return [phrase.strip() for phrase in listed.split(",")]


_NAMES = _phrases(
    "Anna, Ben, Carla, David, Elena, Felix, Grace, Hugo, Ines, Jonas, Klara, Leo, Maria, Nils, Olga, Paul, Rosa, Sam"
)
_PLACES = _phrases("Lisbon, Porto, Berlin, Oslo, Madrid, Prague, Vienna, Athens, Dublin, Helsinki, Turin, Lyon, Bergen")
_ADJECTIVES = _phrases("old, new, small, red, blue, heavy, cheap, noisy, gentle, broken, favourite, wooden, bright")
_THINGS = _phrases(
    "guitar, bicycle, garden, kitchen, novel, recipe, camera, ticket, passport, window, lamp, piano, violin, backpack, "
    "kettle, carpet, mirror, sofa, printer, laptop, phone, watch, coat, scarf, sweater, bottle, basket, ladder, "
    "candle, painting, map, tent, canoe, drone, puzzle, notebook, calendar, invoice, contract, password, server, "
    "dashboard, plant, cactus, rose, tomato, pumpkin, bread, cheese, soup, salad, coffee, tea, juice, cake, cat, dog"
)
_ACTIVITIES = _phrases(
    "repaired, painted, bought, sold, lost, found, cleaned, photographed, borrowed, returned, packed, ordered, "
    "carried, designed, planned, cancelled, moved, described, compared, tested, watered, cooked, baked, practised"
)
_TIMES = _phrases("yesterday, last week, on Monday, in March, two days ago, this morning, after work, at the weekend")
_REASONS = _phrases(
    "because it was too expensive, since nobody else had the time, and it took the whole afternoon, "
    "although the weather was terrible, so that we can use it in summer, but the shop was already closed, "
    "and everybody was surprised, which reminded me of my grandmother, and I would do it again"
)
_QUESTIONS = (
    "Who {activity} the {adjective} {thing} in {place}?",
    "When did {name} say that the {thing} was {activity}?",
    "What happened to the {adjective} {thing} that {name} {activity}?",
    "Where is the {thing} from {place} that {name} told me about?",
)


def sentence(rng: random.Random) -> str:
    told = (rng.choice(words) for words in (_NAMES, _ACTIVITIES, _ADJECTIVES, _THINGS, _PLACES, _TIMES, _REASONS))
    name, activity, adjective, thing, place, time, reason = told
    return f"{name} {activity} the {adjective} {thing} in {place} {time} {reason}."


def message(rng: random.Random) -> str:
    """One to three sentences mostly, eight now and then, as in a chat."""
    return " ".join(sentence(rng) for _ in range(rng.choices((1, 2, 3, 8), weights=(50, 30, 15, 5))[0]))


def question(rng: random.Random) -> str:
    words = {
        "name": _NAMES,
        "place": _PLACES,
        "adjective": _ADJECTIVES,
        "thing": _THINGS,
        "activity": _ACTIVITIES,
    }
    return rng.choice(_QUESTIONS).format(**{key: rng.choice(choices) for key, choices in words.items()})


def sessions(start: int, stop: int, *, seed: int = 1) -> Iterator[tuple[str, list[Turn]]]:
    """The turns numbered `start` to `stop` in sessions of 20; the same numbers are always the same turns."""
    for first in range(start, stop, SESSION_TURNS):
        numbers = range(first, min(first + SESSION_TURNS, stop))
        yield f"session-{first // SESSION_TURNS}", [turn(number, seed) for number in numbers]


def turn(number: int, seed: int = 1) -> Turn:
    rng = random.Random(f"{seed}/{number}")
    return Turn(
        role="assistant" if number % 2 else "user",
        content=message(rng),
        message_id=f"m{number}",
        said_at=FIRST_DAY + timedelta(minutes=7 * number),
    )
