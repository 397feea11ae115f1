"""Turns that come again under new ids are recognised by their words and their place."""

import pytest

from langmem_tiers import Turn
from langmem_tiers.writing.history_matching import Utterance, match_history


def _said(script: str) -> list[Utterance]:
    """Lower-case letters are what a user says, upper-case ones are replies."""
    return [Utterance("assistant" if sign.isupper() else "user", sign.encode()) for sign in script]


@pytest.mark.parametrize(
    ("given", "stored", "known", "found"),
    [
        pytest.param("a", "", {}, {}, id="nothing is stored"),
        pytest.param("aAb", "aA", {}, {0: 0, 1: 1}, id="the whole history and a new message"),
        pytest.param("bBc", "aAbB", {}, {0: 2, 1: 3}, id="a history without its oldest turns"),
        pytest.param("Bc", "aAbB", {}, {0: 3}, id="one that begins with a reply"),
        pytest.param("xBc", "aAbB", {}, {}, id="another history"),
        pytest.param("a", "aA", {}, {0: 0}, id="a client's retry"),
        pytest.param("aAb", "aAbB", {}, {0: 0, 1: 1, 2: 2}, id="a retry with its history"),
        pytest.param("aAbC", "aAbB", {}, {0: 0, 1: 1, 2: 2}, id="a retry that is answered otherwise"),
        pytest.param("aBc", "aAB", {}, {0: 0, 1: 2}, id="a reply before the last one is not sent again"),
        pytest.param("bCc", "aAb", {}, {0: 2}, id="only the beginning is the same"),
        pytest.param("ab", "aAcC", {}, {}, id="what a user said is missing"),
        pytest.param("yAy", "yA", {}, {0: 0, 1: 1}, id="the same words a second time"),
        pytest.param("yAyAy", "yAyA", {}, {0: 0, 1: 1, 2: 2, 3: 3}, id="and a third time"),
        pytest.param("A", "aA", {}, {}, id="a reply alone may be said twice"),
        pytest.param("aAy", "aA", {0: 0, 1: 1}, {}, id="known by id, and a new message"),
        pytest.param("yAy", "yA", {0: 0, 1: 1}, {}, id="known by id, and the same words"),
        pytest.param("aAbB", "aAb", {2: 2}, {0: 0, 1: 1}, id="sent again, and the last is stored"),
        pytest.param("yAyA", "yAyBA", {3: 4}, {0: 0, 1: 1, 2: 2}, id="sent again, and answered a second time"),
        pytest.param("xb", "aAb", {1: 2}, {}, id="what is sent before the known is new"),
        pytest.param("aA", "aA", {0: 0}, {1: 1}, id="a replay that says the same"),
        pytest.param("aB", "aA", {0: 0}, {}, id="a replay that says something else"),
        pytest.param("aAbB", "aAbB", {0: 0, 1: 1}, {2: 2, 3: 3}, id="a replay from the beginning of a turn"),
        pytest.param("aA", "aAbA", {0: 0, 1: 3}, {}, id="the reply is known elsewhere"),
        pytest.param("aA", "abA", {0: 0}, {}, id="that reply was to another message"),
        pytest.param("aA", "aA", {0: None}, {}, id="the message was edited"),
    ],
)
def test_which_turns_are_the_same(given, stored, known, found):
    assert match_history(_said(given), _said(stored), known) == found


def test_a_history_is_recognised_by_those_who_call_it_one(alice):
    turns = [Turn(role="user", content="yes", message_id="1"), Turn(role="assistant", content="Fine.", message_id="2")]
    again = [Turn(role="user", content="yes", message_id="3"), Turn(role="assistant", content="Fine.", message_id="4")]
    alice.track(turns, session="monday")
    report = alice.track(again, session="monday", history=True)
    assert (report.stored, report.known) == ((), 2)
    assert len(alice.track(again, session="monday").stored) == 2
