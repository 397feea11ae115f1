"""Questions about something of the user's own that was never told get no block; what was told is still found."""

import pytest

from langmem_tiers import Turn

TOLD = (
    "Our dog Pixel is 4 years old.",
    "My boss is called Ruth.",
    "My brother Ivo has a kitten.",
    "We hiked up a hill.",
)


@pytest.fixture
def told(alice):
    for place, text in enumerate(TOLD):
        alice.track([Turn(role="user", content=text), Turn(role="assistant", content="Noted.")], session=f"s{place}")
        alice.end_session(f"s{place}")
    alice.mine()
    alice.flush()
    return alice


@pytest.mark.parametrize(
    "question",
    [
        "What is my sister's name?",
        "How old is my son?",
        "Where does my mother live?",
        "Do I have a boat?",
    ],
)
def test_what_was_never_told_gets_no_block(told, question):
    recalled = told.recall(question)
    assert (recalled.block, recalled.receipt.verdict) == ("", "nothing_found")


def test_asking_again_makes_it_no_better_known(told):
    told.track([Turn(role="user", content="What is my sister's name?")], session="asked")
    told.flush()
    assert told.recall("What is my sister's name?").block == ""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is my dog's name?", TOLD[0]),
        ("What is my cat's name?", TOLD[2]),  # whose kitten it is, the reader sees
        ("What is my brother's name?", TOLD[2]),
        ("Who is my boss?", TOLD[1]),
    ],
)
def test_what_was_told_is_found(told, question, answer):
    assert answer in told.recall(question).block


def test_with_a_threshold_of_0_whatever_is_found_is_shown(told):
    assert told.recall("What is my sister's name?", threshold=0).block
