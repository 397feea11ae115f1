"""Codes, such as the number of an order, are found however they are asked for, and small talk is not by them."""

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.language.words import codes
from langmem_tiers.testing import HashEmbedder

BOOKED = "We are planning the trip with Nadia in two weeks, the booking is V00050."


@pytest.fixture(params=[None, HashEmbedder()], ids=["words", "vectors"])
def alice(request, tmp_path):
    with Memory.open(tmp_path / "memory", embedder=request.param, background=False) as memory:
        yield _told(memory)


def _told(memory):
    space = memory.user("alice")
    talk = (
        f"On day {day} we talked about the garden, the boat and the weather of week {day % 7}." for day in range(60)
    )
    lunch = (f"Then we had soup number {day} for lunch." for day in range(60))
    space.track([Turn(role="user", content=said) for said in (*talk, BOOKED, *lunch)], session="s")
    assert memory.flush()
    return space


@pytest.mark.parametrize(
    "question",
    [
        "V00050",
        "What is v00050?",
        "What do you remember about number V00050?",
        "Which message mentioned the reference V00050, and what else was arranged there?",
    ],
)
def test_a_message_with_the_code_that_is_asked_for_is_shown_first(alice, question):
    candidates = alice.recall(question, session="other").receipt.candidates
    assert (alice.drawer(candidates[0].drawer).content, candidates[0].verdict) == (BOOKED, "shown")


def test_another_code_finds_nothing(alice):
    assert BOOKED not in alice.recall("Which message mentioned the reference V00051?", session="other").block


@pytest.mark.parametrize("word", ["x03646", "a1b2", "us1549", "4f2k9", "90210", "10115"])
def test_letters_with_digits_and_long_numbers_are_codes(word):
    assert codes(["the", word]) == (1,)


@pytest.mark.parametrize("word", ["2024", "1990s", "19th", "30pm", "mp3", "b12", "100gb", "10000", "345000", "ab"])
def test_years_times_amounts_and_names_of_things_are_none(word):
    assert codes(["the", word]) == ()
