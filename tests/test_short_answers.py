"""Short answers: what they say in full is read as if it had been said, and rests on the answer's own words."""

from __future__ import annotations

import pytest

from langmem_tiers import Turn

ANSWERS = [
    ("Nice to meet you. Where do you live?", "In Porto.", "The user lives in Porto.", "In Porto."),
    ("Where do you work these days?", "At Nordkraft. It's fine.", "The user works at Nordkraft.", "At Nordkraft."),
    ("Where are you from originally?", "Latvia.", "The user is from Latvia.", "Latvia."),
    ("Oh! How long have you been married?", "Five years now!", "The user has been married for five years.", None),
    (
        "How long have you been into falconry?",
        "Oh, about 7 years.",
        "The user has been into falconry for 7 years.",
        None,
    ),
    ("What instrument do you play?", "The cello.", "The user plays the cello.", "The cello."),
    ("How many kids do you have?", "Three.", "The user has three kids.", "Three."),
]


def entries(alice, asked: str, answer: str):
    alice.track([Turn(role="assistant", content=asked), Turn(role="user", content=answer)], session="s")
    alice.mine()
    alice.flush()
    return [found.entry for found in alice.knowledge.search()]


@pytest.mark.parametrize(("asked", "answer", "content", "quote"), ANSWERS)
def test_a_short_answer_says_what_it_was_asked(alice, asked, answer, content, quote):
    (entry,) = entries(alice, asked, answer)
    assert (entry.content, entry.evidence[0].quote) == (content, quote or answer)


def test_a_short_answer_becomes_a_relation(alice):
    entries(alice, "Where do you live?", "In Porto.")
    assert [str(each) for each in alice.graph.neighbours("user").relations] == ["user lives_in Porto"]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Where do you live?", "In a dream."),
        ("Where do you live?", "In Porto?"),
        ("Where do you live?", "In Porto, I wish."),
        ("Where would you live?", "In Porto."),
        ("Where does she live?", "In Porto."),
        ("Where do you live? Anyway, tell me about it later.", "In Porto."),
        ("I know where you live.", "In Porto."),
        ("How long have you been married?", "Not long."),
        ("How long have you been here?", "Two weeks."),
        ("How many kids do you have?", "None."),
        ("What instrument do you play?", "The fool, mostly."),
    ],
)
def test_any_other_answer_is_read_as_it_stands(alice, asked, answer):
    assert entries(alice, asked, answer) == []
