"""Conversations made from a seed: everyday sentences of realistic lengths.

Common words (a first name, a thing, a verb) come up in one drawer of seven to thirty, rare ones (720 surnames and
places) in one of about two hundred, and a question asks with some of each. The vocabulary is still smaller than
people's, so keyword search has more to rank than in real memories, not less.
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


_FIRST_NAMES = _phrases(
    "Anna, Ben, Carla, David, Elena, Felix, Grace, Hugo, Ines, Jonas, Klara, Leo, Maria, Nils, Olga, Paul, Rosa, Sam"
)
_STEMS = _phrases(
    "Ash, Black, Brook, Clay, Cross, Elm, Fair, Gold, Green, Hart, Hazel, Hill, Kings, Lang, Long, Marsh, Mill, New, "
    "North, Oak, Old, Red, Rock, Rose, South, Stan, Stone, Sutter, Thorn, Wal, West, Whit, Wind, Winter, Wood, York"
)
_SURNAMES = [stem + end for stem in _STEMS for end in _phrases("er, man, son, by, wright, smith, ward, low, kin, ley")]
_PLACES = [
    stem + end for stem in _STEMS for end in _phrases("ford, ham, ton, field, bury, haven, mouth, gate, dale, port")
]
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
    "When did {name} {surname} say that the {thing} was {activity}?",
    "What happened to the {adjective} {thing} that {name} {surname} {activity}?",
    "Where is the {thing} from {place} that {name} {surname} told me about?",
)


def sentence(rng: random.Random) -> str:
    told = (
        rng.choice(words)
        for words in (_FIRST_NAMES, _SURNAMES, _ACTIVITIES, _ADJECTIVES, _THINGS, _PLACES, _TIMES, _REASONS)
    )
    name, surname, activity, adjective, thing, place, time, reason = told
    return f"{name} {surname} {activity} the {adjective} {thing} in {place} {time} {reason}."


def message(rng: random.Random, length: int | None = None) -> str:
    """So many sentences, of about 19 tokens each; by default one to three mostly, eight now and then, as in a chat."""
    drawn = rng.choices((1, 2, 3, 8), weights=(50, 30, 15, 5))[0]
    return " ".join(sentence(rng) for _ in range(length or drawn))


def question(rng: random.Random) -> str:
    words = {
        "name": _FIRST_NAMES,
        "surname": _SURNAMES,
        "place": _PLACES,
        "adjective": _ADJECTIVES,
        "thing": _THINGS,
        "activity": _ACTIVITIES,
    }
    return rng.choice(_QUESTIONS).format(**{key: rng.choice(choices) for key, choices in words.items()})


def sessions(start: int, stop: int, *, seed: int = 1, length: int | None = None) -> Iterator[tuple[str, list[Turn]]]:
    """The turns numbered `start` to `stop` in sessions of 20; the same numbers are always the same turns."""
    for first in range(start, stop, SESSION_TURNS):
        numbers = range(first, min(first + SESSION_TURNS, stop))
        yield f"session-{first // SESSION_TURNS}", [turn(number, seed, length) for number in numbers]


def turn(number: int, seed: int = 1, length: int | None = None) -> Turn:
    rng = random.Random(f"{seed}/{number}")
    return Turn(
        role="assistant" if number % 2 else "user",
        content=message(rng, length),
        message_id=f"m{number}",
        said_at=FIRST_DAY + timedelta(minutes=7 * number),
    )
