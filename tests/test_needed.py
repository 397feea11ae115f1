"""What a message needs of what is known of the user, though its words do not say so."""

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from tests.stating import say, user

ANNA = (
    "My name is Anna Winkler.",
    "I am allergic to hazelnuts.",
    "I live in Graz.",
    "I work at Norrholm Paper as a chemist.",
    "Never send emails without asking me first.",
    "The tram was late again today.",
)


@pytest.fixture
def anna(alice):
    """A space in which a user told of herself."""
    say(alice, *ANNA, session="told")
    alice.knowledge.save("The user loves lemon tart.", category="user-preferences/food")
    return alice


def known(space, message):
    """What a block says that is known; each message has a session of its own."""
    return [item.text for item in space.recall(message, session=message).known]


def shown(space, message):
    return space.recall(message, session=message).block


@pytest.mark.parametrize("message", ["What do you know about me?", "Tell me about myself.", "who am I"])
def test_who_asks_what_is_known_of_them_gets_the_standing_facts_and_no_chatter(anna, message):
    assert known(anna, message) == [
        "The user's name is Anna Winkler.",
        "The user is allergic to hazelnuts.",
        'The user said: "Never send emails without asking me first."',
        "The user lives in Graz.",
        "The user works at Norrholm Paper as a chemist.",
        "The user loves lemon tart.",
    ]
    assert "tram" not in shown(anna, message)


@pytest.mark.parametrize(
    "message", ["Can you suggest a cake?", "RECOMMEND A RECIPE", "SUGGEST A DİSH", "Where shall we eat?"]
)
def test_who_asks_for_food_is_served_by_their_diet_and_taste(anna, message):
    block = shown(anna, message)
    assert "hazelnuts" in block
    assert "lemon tart" in block


@pytest.mark.parametrize("message", ["What are my food preferences?", "which food do I like"])
def test_a_category_counts_by_its_words(anna, message):
    assert "The user loves lemon tart." in known(anna, message)


@pytest.mark.parametrize(
    "message", ["Please email Bob the report.", "Finish the report and e-mail it to Bob.", "Send Bob an email."]
)
def test_a_rule_for_the_agent_comes_with_the_request_to_do_that(anna, message):
    assert "Never send emails without asking me first." in shown(anna, message)


def test_a_category_counts_while_an_entry_of_it_holds(alice, clock):
    umami, session = "Umami before all else.", count()

    def counts() -> bool:
        # No word of it is said, nor is that of its category: only what the message needs brings it.
        block = alice.recall("Can you suggest a snack?", session=f"s{next(session)}")
        return umami in [item.text for item in block.known]

    assert not counts()
    saved = alice.knowledge.save(umami, category="food", expires_at=clock() + timedelta(days=5)).entry
    assert counts()
    alice.knowledge.deactivate(saved.id)
    assert not counts()
    alice.knowledge.reactivate(saved.id)
    assert counts()
    clock.tick(6 * 86_400)
    assert not counts()


def test_a_rule_counts_by_its_category_too_and_in_fallbacks(memory):
    rule = "Don't write without a draft because it was wrong."
    memory.space("teams/sales").knowledge.save(rule, category="anti-patterns/email", origin="user")
    bob = memory.user("bob", fallbacks=["teams/sales"])
    [item] = bob.recall("Please email Carla the report.").known
    assert (item.space, item.text) == ("teams/sales", rule)


@pytest.mark.parametrize(
    "message",
    [
        "capital of France",
        "write a haiku",
        "Who invented the sandwich?",
        "Write a regular expression that matches an email address.",
        "Tell me about yourself.",
    ],
)
def test_what_needs_nothing_gets_nothing(anna, message):
    assert shown(anna, message) == ""


@pytest.mark.parametrize(
    "message",
    ["Good morning, how are you today?", "hey, how was your day?", "What are you up to today?", "how was your week"],
)
def test_who_asks_how_the_other_is_gets_nothing(alice, message):
    say(alice, "Today is our wedding anniversary.", "What a day, the week is going to be long.")
    assert shown(alice, message) == ""


@pytest.mark.parametrize("message", ["What did you say today?", "How was my day today?"])
def test_who_asks_for_more_than_how_the_other_is_gets_what_fits(alice, message):
    say(alice, "Today is our wedding anniversary.", "What a day today, the week is going to be long.")
    assert shown(alice, message) != ""


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("We finally got the keys, moved into the cottage on Friday.", "where am I living these days?"),
        ("Signed with Halvorsen Freight, first shift tomorrow!", "who do I work for?"),
        ("Switched to marine biology in the end.", "whats my major"),
        ("GUESS WHAT, enrolled at the school of nursing, in Turku!!", "what am I studying"),
        ("Gave up the house, I'm at my brother's in Alesund for a while.", "where am I living these days?"),
        ("Signed the lease on a two bed in Malmesvik today.", "where's home these days?"),
        ("The new place is in Alnwick, third floor, no lift.", "what's home for me now"),
        ("work transferred me to Leuven, so we pack", "where are Ilse and I living now"),
        ("The bakery let me go, last in first out.", "where do I work now?"),
        ("My contract at Oslo Water ran out.", "what line of work am I in?"),
        ("I'm a beekeeper now, limited company and everything.", "what's my current gig?"),
        ("Picked up the old Saab from the garage, it's ours now.", "what car do we drive"),
    ],
)
def test_a_question_finds_the_users_own_words_in_other_terms(alice, told, asked):
    say(alice, "The lake was cold this morning.", "I was glad about the sun.", session="a")
    say(alice, told, session="b")
    assert told in shown(alice, asked)


@pytest.mark.parametrize(
    "said", ["Two nights at Asta's by now, the cat snores.", "The boat rocks me to sleep, home at last."]
)
def test_if_nothing_says_it_plainly_the_nearest_words_are_shown(alice, clock, said):
    say(alice, "What does a cat eat?", session="a")
    say(alice, said, session="b")
    assert said in shown(alice, "where am I living these days?")
    assert shown(alice, "What is the tallest mountain?") == ""


def test_what_they_only_imagine_is_not_told(alice):
    say(alice, "We rent a flat in Skagen.", session="a")
    say(alice, "If I won the lottery I would buy a house in Faenza.", session="b")
    found = alice.recall("Where am I living these days?").receipt.candidates
    assert [each.scores["needed"] for each in found if "needed" in each.scores] == [1.0]


def test_of_what_they_said_the_newest_is_shown(alice, clock):
    for home in ("Linz", "Ghent", "Porto", "Turku", "Bari", "Metz"):
        say(alice, f"We moved, this time to {home}, boxes everywhere.", session=home)
        clock.tick(90 * 86_400)
    block = shown(alice, "What town are we living in?")
    assert "Metz" in block
    assert "Linz" not in block


def test_what_a_fallback_knows_of_another_user_is_not_needed(memory):
    say(memory.user("bob"), "I live in Ghent.", session="a")
    assert shown(memory.user("carla", fallbacks=["users/bob"]), "Tell me about myself.") == ""


def test_what_is_known_only_later_is_not_needed_before(alice, clock):
    before = clock()
    clock.tick(86_400)
    say(alice, "I am allergic to hazelnuts.", session="a")
    assert alice.recall("Can you suggest a cake?", as_of=before).block == ""


def test_who_asks_what_is_known_gets_their_own_telling_words_where_little_is_read(alice, clock):
    told = ["hi i'm suvi, studying botany at uni", "gone vegetarian", "we adopted a parrot, called her Plum"]
    for at, said in enumerate(told):
        say(alice, said, "What is the capital of Peru?", "haha that's great, thanks", session=f"told {at}")
        clock.tick(86_400)
    for message in ("What do you know about me?", "Tell me about myself."):
        block = shown(alice, message)
        assert all(said in block for said in told)
        assert "Peru" not in block
        assert "haha" not in block


@pytest.mark.parametrize("message", ["Suggest a dinner.", "What should I not eat?", "recommend a recipe"])
def test_food_is_chosen_by_what_was_only_said_about_diet(alice, message):
    say(alice, "The tram was late again.", session="a")
    say(alice, "doc says I have to cut out salt. And no more bacon.", session="b")
    block = shown(alice, message)
    assert "no more bacon" in block
    assert "tram" not in block


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("I don't drink alcohol.", "suggest a cocktail"),
        ("I'm pregnant, 14 weeks.", "book a restaurant for Saturday"),
        ("So no alcohol and no raw fish for me.", "What should I cook tonight?"),
        ("yeah no beer either", "recommend a beer"),
        ("I hate coriander.", "recipe for salsa"),
        ("My son Theo is allergic to peanuts.", "christmas lunch menu?"),
    ],
)
def test_what_somebody_must_not_or_will_not_eat_or_drink_comes_with_food_and_drinks(alice, told, message):
    say(alice, told, session="a")
    assert told in shown(alice, message)


def test_an_allergy_at_home_comes_before_newer_diets_of_others(alice, clock):
    for told in (
        "My son Theo is allergic to peanuts.",
        "Nadia's daughter is allergic to eggs.",
        "My colleague Ben is vegan.",
        "My sister gave up sugar.",
        "My neighbour is vegetarian now.",
        "My cousin stopped eating meat.",
    ):
        say(alice, told, session=told)
        clock.tick(86_400)
    assert "Theo" in shown(alice, "What should I cook tonight?")


def test_a_bar_of_a_chart_and_a_glass_are_no_food(alice):
    say(alice, "I'm allergic to peanuts.", session="a")
    assert shown(alice, "Give me a bar chart of these numbers: 3, 4, 5.") == ""


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("My wife is called Elif, she likes gardening.", "gift for elif"),
        ("Kettleworks pays 95 euros an hour.", "Draft an invoice for Kettleworks"),
        ("My landlord Mr. Haas has not fixed the heating.", "write to my landlord"),
        ("Holly does the pickups until Christmas.", "text Holly that I'm late"),
        ("My brother Emre broke his leg.", "call emre"),
        ("We fly to Istanbul on December 22.", "packing list for istanbul"),
    ],
)
def test_an_errand_for_somebody_or_something_gets_what_is_known_of_them(alice, told, message):
    say(alice, "The tram was late again.", "I painted the shed green.", session="a")
    say(alice, told, session="b")
    assert told in shown(alice, message)
    assert "tram" not in shown(alice, message)


@pytest.mark.parametrize("message", ["call me", "write a poem", "send it to me", "make a plan for the weekend"])
def test_an_errand_that_names_nobody_gets_nothing(alice, message):
    say(alice, "My brother Emre broke his leg.", "Kettleworks pays 95 euros an hour.", session="a")
    assert shown(alice, message) == ""


def test_who_never_told_of_their_diet_gets_nothing_with_a_dinner(alice):
    say(alice, "I quit my choir on Friday, we eat at eight.", "We stopped at Riga.", session="a")
    assert shown(alice, "Suggest a dinner.") == ""


MONTHS = {
    datetime(2025, 6, 3, 9, tzinfo=UTC): ["Before Bruges I lived in Namur.", "I'd love to live in Oslo one day."],
    datetime(2025, 7, 8, 9, tzinfo=UTC): ["We went to Bergen last week.", "I'd love to see Kyoto one day."],
    datetime(2025, 8, 4, 9, tzinfo=UTC): ["I just finished Moby-Dick.", "My knee hurts."],
    datetime(2025, 9, 2, 9, tzinfo=UTC): ["I used to work as a barista in a small cafe.", "I live in Bruges."],
    datetime(2025, 10, 4, 9, tzinfo=UTC): ["Bought a cargo bike today.", "The heating is broken."],
    datetime(2025, 10, 21, 9, tzinfo=UTC): ["I ordered new boots.", "I got a cold.", "I was a clerk at Norrholm."],
    datetime(2025, 11, 5, 9, tzinfo=UTC): ["We're going to Madeira in February.", "I bought a lamp."],
    datetime(2025, 11, 20, 9, tzinfo=UTC): [
        "The Madeira trip is off.",
        "I work as a nurse.",
        "I want to run more this year.",
    ],
    datetime(2026, 1, 20, 9, tzinfo=UTC): [
        "Spent three days in Ulm with my aunt.",
        "I read The Waves in the holidays.",
    ],
    datetime(2026, 2, 2, 9, tzinfo=UTC): ["I see the dentist on 12 June.", "We're going to Lisbon in August."],
    datetime(2026, 2, 20, 9, tzinfo=UTC): ["I'm starting a pottery course on April 7th.", "Did you know?"],
}
THIS_MARCH = datetime(2026, 3, 5, 9, tzinfo=UTC)


@pytest.fixture
def ten_months(alice):
    """A space with conversations of ten months, of two messages each."""
    for number, (moment, texts) in enumerate(MONTHS.items()):
        alice.track([user(text, at=moment) for text in texts], session=f"s{number}")
    alice.mine()
    assert alice.flush()
    return alice


def words_of(space, question):
    """What a block says, known or said; each question has a session of its own."""
    return space.recall(question, session=question, now=THIS_MARCH).block


@pytest.mark.parametrize(
    "question",
    ["What do I have coming up?", "What are my plans?", "Do I have any plans?", "What's on my calendar this year?"],
)
def test_what_is_still_to_come_is_shown_the_nearest_first_without_what_fell_through(ten_months, question):
    lines = [line.rpartition("user: ")[2] for line in words_of(ten_months, question).splitlines() if "user: " in line]
    assert lines == [
        "I'm starting a pottery course on April 7th.",
        "I see the dentist on 12 June.",
        "We're going to Lisbon in August.",
    ]


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("Anything planned for next month?", "pottery"),
        ("What am I doing in June?", "dentist"),
        ("What are my plans for June?", "dentist"),
        ("Anything on in August?", "Lisbon"),
        ("What are my plans for this spring?", "pottery"),
        ("Where are we going in August?", "Lisbon"),
    ],
)
def test_of_what_is_to_come_only_the_time_asked_about_is_shown(ten_months, question, shown):
    block = words_of(ten_months, question)
    assert [word for word in ("pottery", "dentist", "Lisbon", "Madeira") if word in block] == [shown]


@pytest.mark.parametrize("question", ["What's coming up?", "What do I have coming up?", "What are my plans?"])
def test_where_nothing_is_planned_the_words_of_the_question_are_no_reason_to_show_anything(alice, question):
    said = (
        "Each row coming from the parser is split by the first function and stored in a table of the archive.",
        "The plans of the old mill are kept in the attic of the town hall, beside the maps of the river.",
    )
    alice.track([user(text) for text in said], session="s")
    assert alice.flush()
    assert alice.recall(question, session="t", now=THIS_MARCH).block == ""


@pytest.mark.parametrize("message", ["What's happening?", "What's on your mind?", "What are my plans for the shed?"])
def test_what_only_sounds_like_a_question_about_days_to_come_gets_no_plans(ten_months, message):
    assert "dentist" not in words_of(ten_months, message)


@pytest.mark.parametrize(
    ("question", "all_of_them", "none_of_them"),
    [
        ("Which cities have I lived in?", ["Namur", "Bruges"], ["Oslo"]),
        ("Which trips did I make?", ["Bergen", "Ulm"], ["Kyoto", "Madeira", "Lisbon"]),
        ("What jobs have I had?", ["barista", "nurse", "clerk"], ["Kyoto", "heating"]),
        ("Which books have I read?", ["Moby-Dick", "The Waves"], ["knee", "pottery"]),
        ("What did I buy in October?", ["cargo bike", "boots"], ["lamp", "heating", "cold"]),
        ("What have I bought?", ["cargo bike", "boots", "lamp"], ["heating", "cold"]),
    ],
)
def test_a_list_has_all_that_was_told_of_it_and_no_wishes_or_plans(ten_months, question, all_of_them, none_of_them):
    block = words_of(ten_months, question)
    assert [each for each in all_of_them if each not in block] == []
    assert [each for each in none_of_them if each in block] == []


def test_what_was_moved_elsewhere_is_not_where_somebody_lived(ten_months):
    ten_months.track([user("I moved it to the attic folder."), user("We moved this year, to Ghent.")], session="moved")
    assert ten_months.flush()
    block = words_of(ten_months, "Which cities have I lived in?")
    assert "Ghent" in block
    assert "attic" not in block


def test_who_asks_for_their_wishes_gets_wishes(ten_months):
    assert "Kyoto" in words_of(ten_months, "Which places would I love to see?")
    assert "Kyoto" in words_of(ten_months, "Which cities do I want to see one day?")


def test_behind_another_sentence_what_was_bought_is_the_one_thing_it_tells_of(ten_months):
    asked = "I told you what I want to keep warm with in the snow. What did I buy?"
    assert "cargo bike" not in words_of(ten_months, asked)
    assert "cargo bike" in words_of(ten_months, "Hey, what did I buy?")
