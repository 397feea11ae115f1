"""What users set right or say is over, without a model: it ends, or never was so; what only sounds like it does not."""

from datetime import UTC, datetime

import pytest
from stating import everything, one, over, refused, say, told

ALIVE = "My brother Bruno lives in Porto and works at Bosch."


@pytest.mark.parametrize(
    "died",
    [
        "Bruno died last week.",
        "Sadly, Bruno passed away last week.",
        "Bruno died of cancer last week.",
        "Bruno died in a terrible accident last week.",
        "My brother died last week.",
        "My brother Bruno died last week.",
    ],
)
def test_with_a_life_ends_where_somebody_lived_and_worked_but_not_whose_brother_he_was(alice, died):
    say(alice, ALIVE)
    say(alice, died)
    assert told(alice, "Bruno") == {"user has_brother Bruno", "Bruno died_on 2026-02"}
    assert over(alice, "Bruno") == dict.fromkeys(["Bruno lives_in Porto", "Bruno works_at Bosch"], "2026-02-23")


def test_what_ended_with_a_life_rests_on_the_message_that_tells_of_it(alice, clock):
    say(alice, ALIVE)
    clock.tick(60)
    say(alice, "Bruno has died.")
    home = alice.graph.relation(one(alice, "Bruno", "lives_in").id)
    assert (home.reason, home.period.end) == ("ended", clock())
    assert [each.quote for each in home.evidence] == [ALIVE, "Bruno has died."]


@pytest.mark.parametrize(
    "died",
    ["Bruno died last week.", "My dog Bruno died last week.", "My dog died last week.", "Poor Bruno died last week."],
)
def test_nobody_has_a_pet_that_died(alice, died):
    say(alice, "My dog Bruno loves long walks.", "My cat Luna loves to sleep.")
    say(alice, died)
    assert told(alice) == {"user has_pet Luna"}
    assert over(alice) == {"user has_pet Bruno": "2026-02-23"}


NOBODY_DIED = [
    "My neighbour's cat died.",
    "My neighbour's dog Bruno died.",
    "Anna's dog Bruno died.",
    "My phone died yesterday.",
    "My dog nearly died yesterday.",
    "Bruno died laughing.",
    "Bruno died of boredom yesterday.",
    "Bruno is dead tired.",
    "Bruno died in the last episode.",
    "Did Bruno die last week?",
    "If Bruno died I would cry.",
    "Bruno died last week, just kidding.",
    "My sister said that Bruno died last week.",
    'The first line is "Bruno died last week" and I love it.',
    "Bruno Mars died last week.",
    "I died yesterday.",
    "Bruno didn't die last week.",
    "Bruno might have died last week.",
]


def test_of_what_only_sounds_like_a_death_nothing_ends(alice, clock):
    say(alice, "My dog Bruno loves long walks.")
    before = told(alice, "Bruno")
    clock.tick(60)
    say(alice, *NOBODY_DIED, session="tuesday")
    clock.tick(60)
    assert told(alice, "Bruno") == before
    assert not any("died_on" in each for each in everything(alice))


def test_an_edit_takes_a_death_back(alice):
    say(alice, "My dog Bruno loves long walks.")
    say(alice, "Bruno died last week.", message_id="1")
    say(alice, "Bruno was ill last week.", message_id="1")
    assert told(alice) == {"user has_pet Bruno"}
    assert told(alice, "Bruno") == {"user has_pet Bruno", "Bruno is_a dog"}


@pytest.mark.parametrize(
    ("before", "parted", "ended"),
    [
        ("My sister Anna is married to Carl.", "Anna and Carl got divorced.", "Anna married_to Carl"),
        ("My sister Anna is married to Carl.", "Carl and Anna split up in January.", "Anna married_to Carl"),
        ("My friend Anna is dating Carl.", "Anna and Carl are no longer together.", "Anna dates Carl"),
        ("Anna's husband Carl works at Bosch.", "Carl and Anna separated last year.", "Anna has_husband Carl"),
        ("My sister Anna is married to Carl.", "Anna got divorced.", "Anna married_to Carl"),
    ],
)
def test_a_couple_that_parts_is_none_any_more(alice, clock, before, parted, ended):
    say(alice, before)
    clock.tick(60)
    say(alice, parted)
    assert list(over(alice, "Anna")) == [ended]


def test_a_divorce_ends_the_marriage_when_it_was(alice):
    say(alice, "My wife is Anna.")
    say(alice, "We divorced in January.")
    assert over(alice) == {"user has_wife Anna": "2026-01-01"}


PARTED_NOBODY = [
    "We separated the eggs.",
    "We split up into two groups.",
    "We broke up the old shed.",
    "Are Anna and Carl divorced?",
    "Anna and Carl nearly got divorced.",
    "Tom and Carl got divorced.",
    "My neighbour and Carl broke up the fight.",
    "Anna and Carl got divorced, haha.",
    "If we divorced in January, I would be alone.",
]


def test_who_did_not_part_is_still_a_couple(alice, clock):
    say(alice, "My sister Anna is married to Carl.", "My wife is Maria.")
    clock.tick(60)
    say(alice, *PARTED_NOBODY, session="tuesday")
    clock.tick(60)
    assert told(alice, "Anna") == {"user has_sister Anna", "Anna married_to Carl"}
    assert told(alice) == {"user has_sister Anna", "user has_wife Maria"}


@pytest.mark.parametrize(
    "said",
    [
        "Nils isn't my brother.",
        "Nils is not my brother, he is a neighbour.",
        "I don't have a brother.",
        "I have no brother.",
    ],
)
def test_who_is_said_not_to_be_a_brother_never_was_one(alice, clock, said):
    say(alice, "My brother Nils lives in Ulm.")
    clock.tick(60)
    before = clock()
    clock.tick(60)
    say(alice, said)
    assert everything(alice) == {"Nils lives_in Ulm"}
    assert everything(alice, known_at=before) == {"Nils lives_in Ulm", "user has_brother Nils"}


def test_who_is_no_boss_any_more_was_one(alice, clock):
    say(alice, "My boss Nils lives in Ulm.")
    clock.tick(60)
    say(alice, "Nils isn't my boss any more.")
    assert (told(alice), everything(alice)) == (set(), {"user reports_to Nils", "Nils lives_in Ulm"})


DENIED_NOTHING = [
    "Isn't Nils my brother?",
    "Nils isn't my brother's friend.",
    "I don't have a brother who helps me.",
    "I don't have a brother-in-law.",
    "My friend said: Nils isn't my brother.",
    "Maybe Nils isn't my brother.",
    "I have no brother like that, lol",
    "I don't have a sister.",
    "Tom isn't my brother.",
    "Nils is not only my brother but my best friend.",
]


def test_a_brother_whom_nobody_denies_is_one(alice, clock):
    say(alice, "My brother Nils lives in Ulm.")
    clock.tick(60)
    say(alice, *DENIED_NOTHING, session="tuesday")
    clock.tick(60)
    assert "user has_brother Nils" in told(alice)


def test_a_denial_that_is_taken_back_lets_it_be_so_again(alice, clock):
    say(alice, "My brother Nils lives in Ulm.")
    clock.tick(60)
    say(alice, "Nils isn't my brother.", message_id="1")
    assert told(alice) == set()
    say(alice, "Nils isn't here.", message_id="1")
    assert told(alice) == {"user has_brother Nils"}


def test_what_was_denied_stays_so_when_the_message_is_taken_up_again(alice, clock):
    say(alice, "My brother Nils lives in Ulm.")
    clock.tick(60)
    say(alice, "Nils isn't my brother.")
    say(alice, "Nils left Ulm.", message_id="1")
    say(alice, "Nils likes Ulm.", message_id="1")
    assert everything(alice) == {"Nils lives_in Ulm"}


def test_what_the_user_said_by_hand_is_not_denied_by_what_is_mined(alice):
    alice.graph.add_relation("user", "has brother", "Nils")
    say(alice, "Nils isn't my brother.")
    assert told(alice) == {"user has_brother Nils"}
    assert len(refused(alice)) == 1


# Things.


@pytest.mark.parametrize(
    ("content", "owned"),
    [
        ("I bought a Canon EOS 80D camera.", {"user owns Canon EOS 80D", "Canon EOS 80D is_a camera"}),
        ("I own a Canon EOS 80D.", {"user owns Canon EOS 80D"}),
        ("I have an iPhone 15.", {"user owns iPhone 15"}),
        ("I have a Trek bike.", {"user owns Trek bike", "Trek bike is_a bike"}),
        ("I have a German car.", {"user owns car"}),
        ("I have a Q3 meeting.", set()),
        ("I got a B2 certificate.", set()),
        ("I got a B2 in English.", set()),
        ("I have a Level 3 on Monday.", set()),
        ("I bought a ticket to Oslo.", set()),
    ],
)
def test_a_thing_goes_by_its_own_name(alice, content, owned):
    say(alice, content)
    assert everything(alice) == owned


@pytest.mark.parametrize(
    "sold",
    [
        "I sold my Canon EOS 80D.",
        "I sold my Canon.",
        "I sold my camera.",
        "I sold my Canon camera.",
        "I gave away my Canon EOS 80D.",
        "I no longer own the camera.",
    ],
)
def test_what_is_sold_is_owned_no_more_however_it_is_called(alice, clock, sold):
    say(alice, "I bought a Canon EOS 80D camera.", "I have a Trek bike.")
    clock.tick(60)
    say(alice, sold)
    assert told(alice) == {"user owns Trek bike"}
    assert one(alice, "Canon EOS 80D", "owns").period.end == clock()


@pytest.mark.parametrize(
    ("old", "replaced", "new"),
    [
        ("Trek bike", "I replaced my Trek bike with a Giant bike.", "Giant bike"),
        ("Trek bike", "I replaced my bike with a Giant bike.", "Giant bike"),
        ("Canon EOS 80D", "I swapped my Canon EOS 80D for a Nikon Z6.", "Nikon Z6"),
        ("iPhone 12", "I switched from my iPhone 12 to a Pixel 8.", "Pixel 8"),
    ],
)
def test_what_is_replaced_gives_way_to_the_new_one(alice, clock, old, replaced, new):
    say(alice, f"I have a {old}.")
    clock.tick(60)
    say(alice, replaced)
    assert told(alice) == {f"user owns {new}"}
    assert over(alice) == {f"user owns {old}": "2026-03-02"}


NOT_SOLD = [
    "I might sell my Trek bike.",
    "I want to replace my Trek bike with a Giant bike.",
    "Should I replace my Trek bike with a Giant bike?",
    "My brother sold my Trek bike's lock.",
    "Anna sold her Trek bike.",
    "I replaced my Trek bike's tyre with a new one.",
    "I replaced my Java code with a Python script.",
    "I sold my Nikon Z6.",
    "I almost sold my Trek bike.",
]


def test_what_is_not_sold_is_still_owned(alice, clock):
    say(alice, "I have a Trek bike.")
    clock.tick(60)
    say(alice, *NOT_SOLD, session="tuesday")
    clock.tick(60)
    assert told(alice) == {"user owns Trek bike"}


def test_a_thing_with_a_name_is_found_by_what_it_is(alice):
    say(alice, "I bought a Canon EOS 80D camera.", "My camera has a 2 GB card.")
    assert alice.graph.resolve("my camera").entity.name == "Canon EOS 80D"
    assert told(alice, "Canon EOS 80D") >= {"Canon EOS 80D has_card 2 GB"}


def test_which_of_two_bikes_was_sold_is_not_guessed(alice):
    say(alice, "I have a Trek bike.", "I bought a Giant bike.")
    say(alice, "I sold my bike.")
    assert told(alice) == {"user owns Trek bike", "user owns Giant bike"}
    assert refused(alice) == {"user owns bike": "several may be meant by 'bike'"}


# Corrections.

SET_RIGHT = [
    ("I live in Rome.", "Correction: I live in Turin, not Rome.", "user lives_in Turin"),
    ("I live in Rome.", "I live in Turin, not Rome.", "user lives_in Turin"),
    ("I live in Rome.", "No, I live in Turin.", "user lives_in Turin"),
    ("I live in Rome.", "It's Turin, not Rome.", "user lives_in Turin"),
    ("I live in Rome.", "I live in Turin, actually.", "user lives_in Turin"),
    ("I live in Augsburg.", "Actually, I don't live in Augsburg, I live in Ulm.", "user lives_in Ulm"),
    ("I live in Augsburg.", "I don't live in Augsburg, I live in Ulm.", "user lives_in Ulm"),
    ("My name is Clara.", "My name is Klara, not Clara.", "user named Klara"),
    ("My name is Rob.", "No, my name is Bob.", "user named Bob"),
    ("I work at Siemens.", "That's wrong, I work at Bosch.", "user works_at Bosch"),
    ("Nils is my brother.", "Nils is my cousin, not my brother.", "user has_cousin Nils"),
    ("I'm 34 years old.", "Sorry, I'm 35 years old.", "user has_age 35 years"),
]


@pytest.mark.parametrize(("first", "then", "right"), SET_RIGHT)
def test_what_is_set_right_was_never_so(alice, clock, first, then, right):
    say(alice, first)
    clock.tick(60)
    say(alice, then)
    assert told(alice) == everything(alice) == {right}


def test_what_is_right_takes_the_time_of_what_was_wrong(alice, clock):
    say(alice, "I live in Oslo since 2015.", "I live in Rome since 2019.")
    clock.tick(60)
    say(alice, "Correction: I live in Turin, not Rome.")
    assert told(alice, as_of="2020") == {"user lives_in Turin"}
    assert over(alice) == {"user lives_in Oslo": "2019-01-01"}
    assert one(alice, "Turin", "lives_in").period.start == datetime(2019, 1, 1, tzinfo=UTC)


def test_a_wrong_name_is_nobodys(alice, clock):
    say(alice, "My name is Clara.")
    clock.tick(60)
    say(alice, "My name is Klara, not Clara.")
    assert alice.graph.entity("Clara") is None
    assert alice.graph.entity("Klara").name == "user"


def test_a_name_that_is_denied_is_nobodys(alice, clock):
    say(alice, "My name is Clara.")
    clock.tick(60)
    say(alice, "My name isn't Clara.")
    assert (everything(alice), alice.graph.entity("Clara")) == (set(), None)


def test_who_says_only_what_is_wrong_leaves_nothing(alice, clock):
    say(alice, "I live in Augsburg.")
    clock.tick(60)
    say(alice, "Actually, I don't live in Augsburg.")
    assert everything(alice) == set()


def test_an_edit_takes_a_correction_back(alice, clock):
    say(alice, "I live in Rome.")
    clock.tick(60)
    say(alice, "Correction: I live in Turin, not Rome.", message_id="1")
    say(alice, "Correction: it was on Monday.", message_id="1")
    assert told(alice) == everything(alice) == {"user lives_in Rome"}


@pytest.mark.parametrize(
    "then",
    [
        "I don't live in Rome any more, I live in Turin.",
        "Actually, I moved to Turin.",
        "No, I live in Turin now.",
        "I live in Turin these days, not in Rome.",
    ],
)
def test_who_moved_lived_there_before(alice, clock, then):
    say(alice, "I live in Rome.")
    clock.tick(60)
    say(alice, then)
    assert everything(alice) == {"user lives_in Rome", "user lives_in Turin"}
    assert told(alice) == {"user lives_in Turin"}


NOTHING_RIGHT = [
    "No, my sister lives in Turin, not Rome.",
    "Actually, do I live in Turin?",
    "No, if I lived in Turin, I would ski.",
    "I live in Turin, not Rome, haha.",
    "Actually, I also live in Turin.",
    "Sorry, I was late.",
    "It's Tom, not Anna.",
    "Correction: my brother lives in Turin.",
    "Not Rome!",
]


def test_nothing_is_set_right_on_a_mere_maybe(alice, clock):
    say(alice, "I live in Rome.")
    clock.tick(60)
    say(alice, *NOTHING_RIGHT, session="tuesday")
    clock.tick(60)
    assert "user lives_in Rome" in told(alice)


def test_what_the_user_said_by_hand_is_not_set_right_by_what_is_mined(alice):
    alice.graph.add_relation("user", "lives in", "Rome", valid_from="2019")
    say(alice, "Correction: I live in Turin, not Rome.")
    assert "user lives_in Rome" in everything(alice)


# Names, and two at once.


@pytest.mark.parametrize(
    "content", ["Call me Cla.", "Please call me Cla!", "You can call me Cla.", "My friends call me Cla."]
)
def test_what_the_user_is_called_is_a_name_of_theirs(alice, content):
    say(alice, content)
    assert alice.graph.entity("Cla").name == "user"
    assert told(alice) == {"user has_nickname Cla"}


NO_NAMES = [
    "Call me tomorrow.",
    "Call me Monday.",
    "Call me in May.",
    "Call me maybe.",
    "Don't call me Cla.",
    "Should you call me Cla?",
    "He said: call me Cla.",
    "You can call me Anna's biggest fan.",
    "If you like, call me Cla.",
    "Call me Cla, just kidding.",
]


def test_what_is_no_name_of_the_user_is_none(alice):
    say(alice, *NO_NAMES)
    assert everything(alice) == set()


def test_a_new_boyfriend_is_the_only_one(alice, clock):
    say(alice, "My boyfriend is Tom.")
    clock.tick(60)
    say(alice, "My new boyfriend is Jan.")
    assert told(alice) == {"user has_boyfriend Jan"}


@pytest.mark.parametrize(
    ("content", "relations"),
    [
        ("I started at Bosch as a team lead.", {"user works_at Bosch", "user works_as team lead"}),
        ("I started at Bosch last week.", {"user works_at Bosch"}),
        ("I started at Stanford.", set()),
        ("I started at Crossfit Porto yesterday.", set()),
        ("I started at page 5.", set()),
        ("Should I have started at Bosch?", set()),
        ("We adopted a cat, her name is Minka.", {"user has_pet Minka", "Minka is_a cat"}),
        ("We adopted a cat. Her name is Minka.", {"user has_pet Minka", "Minka is_a cat"}),
        ("We adopted a cat and called her Minka.", {"user has_pet Minka", "Minka is_a cat"}),
        ("I have a sister. Her name is Anna.", {"user has_sister Anna"}),
        ("Her name is Minka.", set()),
        ("The neighbours' cat had kittens. Her name is Minka.", set()),
        ("Should we adopt a cat? Her name is Minka.", set()),
    ],
)
def test_a_start_at_work_and_a_name_that_comes_after_are_understood(alice, content, relations):
    say(alice, content)
    assert everything(alice) == relations


@pytest.mark.parametrize(
    ("content", "homes"),
    [
        ("I live in Berlin and Rome.", {"user lives_in Berlin", "user also_lives_in Rome"}),
        ("I live in Berlin and in Rome.", {"user lives_in Berlin", "user also_lives_in Rome"}),
        ("I live between Berlin and Rome.", {"user lives_in Berlin", "user also_lives_in Rome"}),
        ("I live in Berlin and Rome is far.", {"user lives_in Berlin"}),
        ("I live in Berlin and Tom in Rome.", {"user lives_in Berlin"}),
        ("I live in Trinidad and Tobago.", {"user lives_in Trinidad and Tobago"}),
        ("Do I live in Berlin and Rome?", set()),
    ],
)
def test_two_homes_at_once_do_not_end_each_other(alice, content, homes):
    say(alice, content)
    assert told(alice) == everything(alice) == homes


def test_another_home_ends_none_and_may_end_itself(alice, clock):
    say(alice, "I live in Berlin.")
    clock.tick(60)
    say(alice, "I also live in Rome.")
    assert told(alice) == {"user lives_in Berlin", "user also_lives_in Rome"}
    clock.tick(60)
    say(alice, "I no longer live in Rome.")
    assert told(alice) == {"user lives_in Berlin"}


def test_which_of_two_sisters_is_meant_is_not_guessed_and_told_of(alice):
    say(alice, "My sister Anna is a nurse.", "My sister Maria is a vet.")
    before = everything(alice)
    say(alice, "My sister moved to Porto.")
    assert everything(alice) == before
    assert refused(alice) == {"my sister lives in Porto": "several may be meant by 'my sister'"}
