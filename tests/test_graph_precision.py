"""What users say reaches the right one, with what has ended and what was corrected, and no time that nobody said."""

import pytest
from stating import everything, over, say, told


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("My brother Nils lives in Oslo.", "My oldest brother lives in Derby."),
        ("My brother Nils lives in Oslo.", "My oldest brother died in 2019."),
        ("My colleague Nils lives in Oslo.", "My new colleague lives in Ulm."),
        ("My brother Nils lives in Oslo.", "My other brother lives in Derby."),
        ("My brother Nils lives in Oslo.", "My older brother came by. He lives in Derby."),
        ("My dog Nils barks.", "My first dog died in 1999."),
        ("My dog Nils barks.", "My old dog died last year."),
    ],
)
def test_one_of_several_is_not_the_one_who_is_known(alice, before, said):
    say(alice, before)
    known = told(alice, "Nils")
    say(alice, said)
    assert told(alice, "Nils") == everything(alice) == known


@pytest.mark.parametrize("name", ["Hope", "May", "Will", "Faith"])
def test_a_capitalised_word_beside_a_word_of_kinship_is_a_name(alice, name):
    say(alice, "My brother Nils lives in Oslo.", f"My sibling and my brother {name} lives in Derby.")
    say(alice, f"My brother {name} works at Bosch.")
    assert told(alice, "Nils") == {"user has_brother Nils", "Nils lives_in Oslo"}
    assert told(alice, name) == {f"user has_brother {name}", f"{name} works_at Bosch"}


@pytest.mark.parametrize(
    ("said", "was"),
    [
        ("I started working at Google in 2018 and left in 2021.", {"user works_at Google": "2021-01-01"}),
        ("I moved to Paris in 2018 and left in 2021.", {"user lives_in Paris": "2021-01-01"}),
        ("I moved to Paris in 2018, but left again in 2021.", {"user lives_in Paris": "2021-01-01"}),
        ("I moved to Paris in 2018, then to Rome in 2021.", {"user lives_in Paris": "2021-01-01"}),
        ("I moved to Paris in 2018 and then to Rome in 2021.", {"user lives_in Paris": "2021-01-01"}),
        ("I married Tom in 2010 and divorced him in 2015.", {"user married_to Tom": "2015-01-01"}),
        ("I bought a camera in 2010 and sold it in 2015.", {"user owns camera": "2015-01-01"}),
        ("I started working at Google in 2018 and left the party in 2021.", {}),
        ("I moved to Paris in 2018 and retired in 2021.", {}),
        ("I moved to Paris in 2018 and my sister left in 2021.", {}),
        ("I bought a camera in 2010 and sold my soul in 2015.", {}),
    ],
)
def test_what_a_sentence_goes_on_with_ends_what_it_told(alice, said, was):
    say(alice, said)
    assert over(alice) == was


@pytest.mark.parametrize(
    "said",
    [
        "My girlfriend Lisa and I broke up.",
        "My girlfriend Lisa and I split up last week.",
        "My girlfriend Lisa and I are no longer together.",
        "My girlfriend and I broke up.",
        "My girlfriend Lisa left me last month.",
        "My ex-girlfriend Lisa works at Bosch.",
    ],
)
def test_a_couple_that_parted_is_none(alice, clock, said):
    say(alice, "I'm dating Lisa since 2019.", "My girlfriend Lisa lives in Ulm.")
    clock.tick(60)
    say(alice, said)
    assert not {each for each in told(alice) if ("girlfriend Lisa" in each and "former" not in each) or "dates" in each}


@pytest.mark.parametrize("said", ["My girlfriend Lisa left Bosch.", "My brother Tom and I broke up the fight."])
def test_who_left_something_else_is_no_former_partner(alice, said):
    say(alice, "My girlfriend Lisa lives in Ulm.", "My brother Tom lives in Rome.", said)
    assert {"user has_girlfriend Lisa", "user has_brother Tom"} <= told(alice)


@pytest.mark.parametrize(
    "said",
    [
        "I lived in Rome for two years when I was a student.",
        "I used to live in Rome for ten years.",
        "I lived in Rome for two years.",
    ],
)
def test_years_that_are_over_begin_at_no_date(alice, said):
    say(alice, said)
    (relation,) = alice.graph.timeline("user").relations
    assert relation.period.start is None
    assert told(alice) == set()


@pytest.mark.parametrize(
    "said", ["I moved to Rome in the 90s.", "I moved to Rome when I was 20.", "I started working at Bosch years ago."]
)
def test_a_beginning_that_nobody_can_date_is_not_the_day_it_is_told_on(alice, said):
    say(alice, said)
    assert everything(alice) == set()


@pytest.mark.parametrize(
    ("said", "start", "unit"),
    [
        ("I moved to Rome at the end of 2023.", "2023-12-01", "month"),
        ("I live in Rome (since 2023-01).", "2023-01-01", "month"),
        ("I moved to Rome on 05/06/2023.", "2023-01-01", "year"),
        ("I moved to Rome on 25/06/2023.", "2023-06-25", "day"),
    ],
)
def test_a_date_is_as_exact_as_it_was_said(alice, said, start, unit):
    say(alice, said)
    (relation,) = alice.graph.timeline("user").relations
    assert (relation.period.start.date().isoformat(), relation.period.start_unit) == (start, unit)


@pytest.mark.parametrize(
    "said",
    [
        "Correction: Nils lives in Bergen.",
        "Forget that, Nils lives in Bergen.",
        "That was wrong: Nils lives in Bergen.",
        "I was wrong, Nils lives in Bergen.",
        "I made a mistake. Nils lives in Bergen.",
    ],
)
def test_what_corrects_all_before_is_no_move(alice, said):
    say(alice, "My brother Nils lives in Oslo.")
    say(alice, said, session="later")
    assert told(alice, "Nils") == {"user has_brother Nils", "Nils lives_in Bergen"}
    assert over(alice, "Nils") == {}


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("My brother Nils lives in Oslo.", "Nils never lived in Oslo."),
        ("My brother Nils lives in Oslo.", "My brother Nils has never lived in Oslo."),
        ("My brother Nils lives in Oslo.", "It's not true that Nils lives in Oslo."),
        ("My brother Nils moved to Oslo.", "Nils didn't move to Oslo after all."),
        ("My brother Nils is moving to Oslo in June.", "Nils isn't moving to Oslo after all."),
        ("My brother Nils lives in Oslo.", "Nils never lived in Oslo, that was my sister."),
    ],
)
def test_what_never_was_is_withdrawn_and_kin_stays_kin(alice, before, said):
    say(alice, before)
    say(alice, said, session="later")
    assert told(alice, "Nils") == {"user has_brother Nils"}


@pytest.mark.parametrize(
    "said",
    [
        "Nils never lived in Oslo before 2019.",
        "Nils never worked in Oslo.",
        "I was wrong about Nils.",
        "Nils didn't live in Oslo in 2012.",
    ],
)
def test_what_denies_something_else_leaves_what_is_known(alice, said):
    say(alice, "My brother Nils lives in Oslo.")
    say(alice, said, session="later")
    assert told(alice, "Nils") == {"user has_brother Nils", "Nils lives_in Oslo"}


def test_a_laugh_at_what_was_said_sets_it_right(alice):
    say(alice, "I live in Hamburg. lol no I live in Kiel.")
    assert everything(alice) == told(alice) == {"user lives_in Kiel"}


@pytest.mark.parametrize(
    ("said", "relation"),
    [
        ("My name is Dr. Clara Neumann.", "user named Dr. Clara Neumann"),
        ("My landlord Mr. Brown lives in Leeds.", "user has_landlord Mr. Brown"),
        ("I work at St. Mary's Hospital.", "user works_at St. Mary's Hospital"),
        ("I have a daughter called Mia and a son named Jonas.", "user has_son Jonas"),
        ("I have two sisters, Anna and Maria.", "user has_sister Maria"),
    ],
)
def test_names_are_whole_and_none_is_left_out(alice, said, relation):
    say(alice, said)
    assert relation in told(alice)
    assert not {each for each in everything(alice) if each.endswith((" Dr", " Mr", " St"))}


def test_two_sisters_of_whom_three_are_named_are_not_taken(alice):
    say(alice, "I have two sisters, Anna, Maria and Eva.")
    assert told(alice) == set()


@pytest.mark.parametrize("said", ["My new boss is Anna.", "My boss is now Anna."])
def test_a_new_boss_is_there_instead_of_the_one_before(alice, clock, said):
    say(alice, "My boss is Martin.")
    clock.tick(60)
    say(alice, said)
    assert told(alice) == {"user reports_to Anna"}


def test_the_message_that_ends_something_is_not_marked_as_out_of_date(alice, clock):
    say(alice, "I work at Bosch.")
    clock.tick(60)
    say(alice, "I no longer work at Bosch. I now work for SAP.", session="later")
    block = alice.recall("Do I work at Bosch?", session="t").block
    assert block.count("no longer: works at Bosch") <= 1
    assert "I no longer work at Bosch" in block
    assert "): I no longer work at Bosch" not in block
