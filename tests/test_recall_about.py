"""What a block shows when somebody is asked all about: "What do you know about Nora?"."""

from datetime import UTC, datetime

import pytest

from langmem_tiers import Turn
from tests.stating import say

TOLD = (
    ("monday", "My sister Nora is a vet."),
    ("tuesday", "My sister is allergic to almonds."),
    ("wednesday", "Nora moved to Ghent."),
    ("thursday", "Dinner with Nora was long, and the tram was late."),
    ("friday", "We painted the fence."),
)


@pytest.fixture
def told(alice, clock):
    for session, text in TOLD:
        alice.track([Turn(role="user", content=text), Turn(role="assistant", content="Noted.")], session=session)
        alice.end_session(session)
        clock.tick(86_400)
    alice.mine()
    alice.flush()
    return alice


def lines(recalled):
    return [each.text for each in recalled.known], [each.drawer.content for each in recalled.items]


@pytest.mark.parametrize(
    "question",
    [
        "What do you know about Nora?",
        "Tell me everything about my sister.",
        "tell me about nora",
        "Who is Nora?",
        "What have I told you about Nora?",
        "Describe my sister Nora",
    ],
)
def test_all_that_is_known_of_somebody_is_gathered_over_the_sessions_each_thing_once(told, question):
    known, messages = lines(told.recall(question))
    assert known[:1] == ["The user's sister is allergic to almonds."]
    assert {"Nora moved to Ghent.", "The user's sister Nora is a vet."} < set(known)
    assert set(messages) <= {TOLD[3][1]}


def test_messages_that_say_more_of_them_stand_beside_the_entries(told):
    assert lines(told.recall("Tell me about Nora"))[1] == [TOLD[3][1]]


def test_what_does_not_fit_the_budget_as_an_entry_may_be_shown_as_a_message(told):
    short = told.recall("What do you know about Nora?", token_budget=90)
    known, messages = lines(short)
    assert known == ["The user's sister is allergic to almonds."]
    assert "Noted." not in messages


def test_as_of_an_earlier_day_nothing_said_later_is_known_of_them(told):
    known, messages = lines(told.recall("What do you know about Nora?", as_of=datetime(2026, 3, 3, 12, tzinfo=UTC)))
    assert "The user's sister is allergic to almonds." in known
    assert not any("Ghent" in each for each in [*known, *messages])


@pytest.mark.parametrize("question", ["What do you know about Zelda?", "Tell me about the fence gate code."])
def test_of_somebody_unknown_nothing_is_gathered(told, question):
    assert told.recall(question).known == ()


def test_two_with_a_kinship_are_told_apart_by_their_names(alice):
    for session, text in (
        ("monday", "My brother Ivo is a baker."),
        ("tuesday", "My brother Karl is a pilot."),
        ("friday", "My brother is allergic to almonds."),
    ):
        alice.track([Turn(role="user", content=text)], session=session)
        alice.end_session(session)
    alice.mine()
    alice.flush()
    known, messages = lines(alice.recall("What do you know about Ivo?"))
    assert known == ["The user's brother Ivo is a baker."]
    assert messages == []


@pytest.mark.parametrize(
    ("told", "later", "asked"),
    [
        ("My mum Wilma lives in Hove", "Mum moved to Lewes last week", "What do you know about my mum?"),
        (
            "my best friend Piet works at Norsk Data",
            "Piet left Oslo, he quit norsk data",
            "What do you know about Piet?",
        ),
        ("My girlfriend Marta lives in Braga", "Marta moved in yesterday", "What do you know about Marta?"),
        ("My girlfriend Marta is a nurse at Elm House", "Marta quit the hospital", "What do you know about Marta?"),
        ("My girlfriend Marta is a nurse at Elm House", "Marta and I got divorced", "What do you know about Marta?"),
        ("My girlfriend Marta is a nurse at Elm House", "we got married!! best day", "What do you know about Marta?"),
        ("My son Aled is 6", "It's Aled's birthday today, he's 7!", "What do you know about Aled?"),
    ],
)
def test_what_changed_for_others_is_shown_with_the_old_fact(alice, clock, told, later, asked):
    say(alice, told, session="a")
    clock.tick(90 * 86_400)
    say(alice, later, session="b")
    old = [item for item in alice.recall(asked).known if told.split()[-1] in item.text]
    assert old
    block = alice.recall(asked).block
    assert all(f'but later, {clock().date()}: "' in line for line in block.splitlines() if told.split()[-1] in line)


def test_what_happened_to_a_mate_is_not_the_users(alice, clock):
    say(alice, "I work at Norsk Data", session="a")
    clock.tick(86_400)
    say(alice, "my mate Piet got sacked from Norsk Data", session="b")
    [line] = alice.profile.read()
    assert line.text == "works at Norsk Data"


def test_a_trip_with_the_husband_is_no_standing_fact(alice):
    say(alice, "My husband Emlyn and I are going to Faro, flights booked for April 3rd", session="a")
    assert not [line for line in alice.profile.read() if "Faro" in line.text]


def test_what_only_acknowledges_is_no_line(alice):
    say(alice, "We adopted a parrot, called her Plum", session="a")
    alice.track([Turn(role="assistant", content="Got it, thanks for telling me!")], session="a")
    for question in ("What is our parrot called?", "What did I adopt?"):
        assert "Got it" not in alice.recall(question).block
