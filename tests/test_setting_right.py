"""Without a model: the right fact is written and the wrong one put aside; of long messages it is told what is left."""

import pytest

from langmem_tiers import Turn
from langmem_tiers.language.contradictions import differ
from langmem_tiers.language.turns import LONGEST


@pytest.fixture
def hears(alice):
    """Mines what the user says, one message after the other, and tells what holds and what was corrected by what."""

    def heard(*texts):
        for text in texts:
            alice.track([Turn(role="user", content=text), Turn(role="assistant", content="OK.")], session="s")
            alice.mine()
        entries = {found.entry.id: found.entry for found in alice.knowledge.search(status="all", limit=99)}
        holds = sorted(entry.content for entry in entries.values() if entry.active)
        wrong = {
            entry.content: entries[entry.successor].content for entry in entries.values() if entry.reason == "corrected"
        }
        return holds, wrong

    return heard


RIGHT = [
    ("I prefer tea to coffee.", "Actually I prefer coffee to tea", "The user prefers coffee to tea."),
    ("I prefer tea.", "Actually, I prefer coffee.", "The user prefers coffee."),
    ("I prefer window seats.", "No, I prefer aisle seats.", "The user prefers aisle seats."),
    ("I have two cats.", "No, I have three cats", "The user has three cats."),
    ("I have a dog.", "No. I have two dogs.", "The user has two dogs."),
    ("My birthday is 3 May.", "Sorry, my birthday is 4 May", "The user's birthday is 4 May."),
    ("I work at Siemens as an engineer.", "That's wrong, I work at Bosch", "The user works at Bosch."),
    ("I live in Porto.", "Correction: I live in Braga", "The user lives in Braga."),
    ("I live in Porto.", "I live in Braga, actually.", "The user lives in Braga."),
    ("I'm vegetarian.", "I am not vegetarian any more", "The user is no longer vegetarian."),
    ("I'm vegetarian.", "Actually, I'm vegan.", "The user is vegan."),
    ("I'm married.", "Sorry, I'm divorced.", "The user is divorced."),
    ("I work at Bosch as a welder.", "I no longer work at Bosch", "The user no longer works at Bosch."),
    ("I work at Bosch.", "No, I don't work at Bosch.", "The user doesn't work at Bosch."),
    ("My sister is called Anna.", "It's not Anna, it's Hanna", "The user's sister is called Hanna."),
    ("My sister Anna lives in Ulm.", "It's Hanna, not Anna.", "The user's sister Hanna lives in Ulm."),
    ("My appointment is on Thursday.", "I meant Tuesday", "The user's appointment is on Tuesday (2026-03-03)."),
    ("My favourite colour is green.", "Actually, my favourite colour is blue.", "The user's favourite colour is blue."),
    ("My name is Rob.", "No, my name is Bob.", "The user's name is Bob."),
    ("My wife works at Siemens.", "Actually, my wife works at Bosch.", "The user's wife works at Bosch."),
    ("The deadline is 3 April.", "Correction: the deadline is 5 April.", "The deadline is 5 April (2026-04-05)."),
    ("Our backend runs on Nomad.", "Actually our backend runs on Mesos.", "The user's backend runs on Mesos."),
]


@pytest.mark.parametrize(("first", "then", "right"), RIGHT)
def test_the_right_fact_is_written_and_the_wrong_one_put_aside(hears, first, then, right):
    holds, wrong = hears(first, then)
    assert holds == [right]
    assert list(wrong.values()) == [right]


@pytest.mark.parametrize(
    "said",
    [
        "My brother Martin lives in Aachen. I mean my brother-in-law.",
        "My brother Martin lives in Aachen. I mean Essen.",
        "My neighbour Mr Quint complained about the fence. Sorry, Mr Quist, with s",
        "I hate sheds. No, that's unfair.",
        "I work at Bosch. Scratch that, at Siemens.",
        "I live in Turin. Sorry, Milan.",
        "I live in Turin. Oops, I meant Milan.",
        "I'm allergic to peanuts. Wait, no, tree nuts.",
    ],
)
def test_of_what_the_next_sentence_takes_back_nothing_is_kept(hears, alice, said):
    hears(said)
    assert alice.flush()
    wrong = ("Aachen", "Quint", "sheds", "Bosch", "Turin", "peanuts")
    told = [found.entry.content for found in alice.knowledge.search(status="all", limit=99)]
    relations = [str(each) for entity in alice.graph.entities() for each in alice.graph.neighbours(entity.id).relations]
    assert [each for each in (*told, *relations) if any(value in each for value in wrong)] == []


@pytest.mark.parametrize(
    "said",
    [
        "I love jazz. I mean, who doesn't?",
        "I love jazz. I mean it.",
        "I love jazz. Sorry, I have to go.",
        "I love jazz. Sorry for the long message.",
        "I love jazz. Oh no, the bus is here.",
        "I love jazz. I meant to tell you earlier.",
    ],
)
def test_what_the_next_sentence_only_talks_on_about_is_kept(hears, said):
    holds, _ = hears(said)
    assert "The user loves jazz." in holds


def test_what_sets_something_right_has_the_authority_of_a_correction(hears, alice):
    hears("I live in Porto.", "Correction: I live in Braga")
    (found,) = alice.knowledge.search()
    assert found.entry.authority.name == "CORRECTION"


def test_what_contradicts_nothing_known_has_no_more_authority_than_other_facts(hears, alice):
    hears("Correction: I live in Braga")
    (found,) = alice.knowledge.search()
    assert found.entry.authority.name == "SYSTEM"


def test_a_pinned_entry_is_not_contradicted_in_the_background(hears, alice):
    pinned = alice.knowledge.save("The user lives in Porto.", pinned=True).entry
    holds, wrong = hears("Correction: I live in Braga")
    assert (holds, wrong) == ([pinned.content], {})


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I work at Bosch.", "No, I have to go"),
        ("I prefer coffee to tea.", "Actually I like tea too"),
        ("I live in Oslo.", "Sorry, I was late"),
        ("I live in Oslo.", "I live in Oslo, actually."),
        ("I live in Oslo.", "Actually, do I live in Bergen?"),
        ("I live in Oslo.", "No, if I lived in Bergen I would ski."),
        ("I live in Oslo.", "No, my sister lives in Bergen, not Oslo."),
        ("My sister lives in Oslo.", "Actually, I live in Bergen."),
        ("My sister lives in Oslo.", "Actually, I live in Bergen, not Oslo."),
        ("I prefer tea to coffee.", "Actually I prefer trains to planes."),
        ("I prefer window seats.", "Actually, I prefer vegan meals."),
        ("I have two cats.", "No, I have three dogs."),
        ("I have two cats and a dog named Rex.", "No, I have three cats."),
        ("I worked at Bosch in 2019.", "I no longer work at Bosch."),
        ("I work at Bosch.", "No, I worked at Siemens in 2010."),
        ("I work at Siemens.", "Actually, I also work at Bosch."),
        ("My dog is brown.", "Actually, my dog is fast."),
        ("My name is Rob.", "No, my cat's name is Bob."),
        ("I like coffee.", "I don't like tea any more."),
        ("I eat fish and meat every day.", "I don't eat fish any more."),
        ("I don't eat meat.", "I don't eat meat any more."),
        ("I have a meeting on Friday.", "I meant well."),
        ("My sister is called Anna.", "It's not the heat, it's the humidity."),
        ("My sister is called Anna.", "It's not Elsa, it's Olaf."),
        ("My flight leaves at 14:00.", "No, I have to go by 5."),
    ],
)
def test_nothing_is_put_aside_on_a_mere_maybe(hears, first, then):
    assert hears(first, then)[1] == {}


@pytest.mark.parametrize(
    ("right", "other"),
    [
        ("The user's birthday is 4 June.", "The user's birthday is on June 3rd."),
        ("The user is 35.", "The user is 34 years old."),
        ("The user weighs 80 kg.", "The user weighs 82 kg."),
        ("The call is on Friday.", "The call is on Monday (2026-03-09)."),
        ("Sushi is the user's favorite food.", "The user's favourite food is pizza."),
        ("Bo lives in Ulm.", "Bo lives in Oslo with Bo's cat."),
        ("The user has no cats.", "The user has a cat."),
    ],
)
def test_two_values_of_one_thing_differ_whichever_way_they_are_told(right, other):
    assert differ(right, other)
    assert differ(other, right)


@pytest.mark.parametrize(
    ("right", "other"),
    [
        ("The user lives in Braga.", "The user lives in Braga, Portugal."),
        ("The user's birthday is 4 June.", "The user's birthday is 4 June 1990."),
        ("The user lives in Braga.", "Bo lives in Oslo."),
        ("The user lives in Braga.", "The user lives in a flat."),
        ("The user lives in Braga.", "The user lives with the user's brother."),
        ("The user works at Bosch.", "The user works as a welder."),
        ("The user is at the dentist on Tuesday.", "The user is on leave on Monday."),
        ("The user likes tea.", "The user likes coffee."),
        ("The user has a red car.", "The user has two cats."),
        ("The user weighs 80 kg.", "The user's bag weighs 8 kg."),
        ("The user lives in Braga.", "The user used to live in Oslo."),
        ("The user works at Bosch.", "The user works at Siemens and in a bakery."),
    ],
)
def test_what_may_both_hold_does_not_differ(right, other):
    assert not differ(right, other)
    assert not differ(other, right)


def test_of_a_message_of_facts_without_end_the_first_part_is_mined_and_the_rest_is_told_of(alice):
    text = "I live in Oslo. My sister Anna lives in Lisbon. " + "Nothing happened on that day. " * 30_000
    alice.track([Turn(role="user", content=text)], session="s")
    (report,) = alice.mine()
    assert len(report.kept) == 2
    reason = f"longer than {LONGEST:,} characters: the rest was not looked at"
    assert [each.reason for each in report.refused] == [reason]
    (activity,) = alice.knowledge.activity()
    assert [each["reason"] for each in activity.body["refused"]] == [reason]


def test_a_message_of_a_window_before_is_told_of_once(alice):
    alice.track([Turn(role="user", content="I live in Oslo. " * 400)], session="s")
    alice.mine()
    alice.track([Turn(role="user", content="I work at Bosch.")], session="s")
    (report,) = alice.mine()
    assert report.refused == ()
