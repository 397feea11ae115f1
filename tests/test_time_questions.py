"""Questions about a time: what a conversation was about, and what was said last of several."""

from datetime import UTC, date, datetime, timedelta

import pytest
from meanings import user

from langmem_tiers import Turn
from langmem_tiers.language.questions import asked_conversations, asks_for_latest, spans

THURSDAY = date(2026, 3, 5)
TODAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
SESSIONS = {
    datetime(2025, 10, 4, 9, tzinfo=UTC): ["Hi there!", "I planted tulips along the fence.", "The gutter leaks again."],
    datetime(2025, 10, 20, 9, tzinfo=UTC): ["We repainted the hallway green.", "lol"],
    datetime(2026, 1, 9, 9, tzinfo=UTC): [
        "My bicycle got a flat tyre near Utrecht.",
        "I left my umbrella in the tram.",
    ],
    datetime(2026, 2, 25, 9, tzinfo=UTC): ["I left my umbrella at the bakery.", "My choir sings in Leiden on Friday."],
}
OCTOBER = ["I planted tulips along the fence.", "The gutter leaks again.", "We repainted the hallway green."]
LATEST = ["I left my umbrella at the bakery.", "My choir sings in Leiden on Friday."]


@pytest.fixture
def talked(alice):
    """A space with four conversations, of October, January and February."""
    for number, (start, texts) in enumerate(SESSIONS.items()):
        turns = [user(text, said_at=start + timedelta(minutes=minute)) for minute, text in enumerate(texts)]
        alice.track(turns, session=f"s{number}")
    return alice


def said(recalled) -> list[str]:
    """What is shown, in the order of the block."""
    return [line.rpartition("user: ")[2] for line in recalled.block.splitlines() if line.startswith("- ")]


@pytest.mark.parametrize(
    "question",
    [
        "What did we talk about last time?",
        "Where did we leave off?",
        "What was our last conversation about?",
        "When did we last talk?",
        "What did I tell you last week?",
        "Can you recap our previous session?",
    ],
)
def test_the_last_conversation_is_shown_when_it_is_meant(talked, question):
    assert said(talked.recall(question, session="new", now=TODAY)) == LATEST


@pytest.mark.parametrize(
    "question",
    ["What did we talk about in October?", "What did I say before 2026?", "What did we discuss last October?"],
)
def test_the_conversations_of_a_period_are_shown_without_their_chatter(talked, question):
    assert said(talked.recall(question, session="new", now=TODAY)) == OCTOBER


def test_a_period_without_a_conversation_has_no_block(talked):
    assert talked.recall("What did we talk about in July?", session="new", now=TODAY).block == ""


def test_recently_means_the_last_three_conversations(talked):
    shown = talked.recall("What have we talked about recently?", session="new", now=TODAY)
    assert {item.drawer.session for item in shown.items} == {"s1", "s2", "s3"}


def test_the_conversation_that_goes_on_is_not_the_last_one(talked):
    assert said(talked.recall("What did we talk about last time?", session="s3", now=TODAY)) == [
        "My bicycle got a flat tyre near Utrecht.",
        "I left my umbrella in the tram.",
    ]


def test_what_was_said_after_the_moment_asked_for_is_not_the_last_conversation(talked):
    until = datetime(2025, 12, 1, tzinfo=UTC)
    shown = talked.recall("What did we talk about last time?", session="new", now=TODAY, as_of=until)
    assert said(shown) == ["We repainted the hallway green."]


def test_of_several_places_the_last_one_comes_first(talked):
    first = talked.recall("Where did I last leave my umbrella?", session="new", now=TODAY).items[0]
    assert first.drawer.content == "I left my umbrella at the bakery."
    assert talked.recall("Where did I last leave my umbrella?", now=TODAY).receipt.candidates[0].signals["latest"] == 1


def test_a_question_about_what_is_not_the_latest_has_no_such_signal(talked):
    assert "latest" not in talked.recall("Where did I leave my umbrella?", now=TODAY).receipt.candidates[0].signals


def test_before_a_month_means_all_the_time_before_it(talked):
    signals = {
        candidate.session: candidate.signals["time"]
        for candidate in talked.recall("Where did I leave my umbrella before February?", now=TODAY).receipt.candidates
    }
    assert (signals["s2"], signals["s3"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    "question",
    [
        "What did we say about the boat last time?",
        "What is the plan for October?",
        "How are you this week?",
        "What are you doing this week?",
        "What do you think about this?",
        "What will we talk about next time?",
        "What did Ingrid paint in October?",
        "Which films did we see last week?",
    ],
)
def test_a_question_with_a_topic_or_about_what_lies_ahead_is_searched_for(question):
    assert asked_conversations(question, THURSDAY) is None


@pytest.mark.parametrize(
    ("question", "latest"),
    [
        ("Where did I last see my keys?", True),
        ("What is the latest on the roof?", True),
        ("How long has it been since my visit to the dentist?", True),
        ("What have I been reading lately?", True),
        ("What did I eat last night?", False),
        ("What is my last name?", False),
        ("What did I do in the last three weeks?", False),
        ("My phone is slow lately. Any tips?", False),
    ],
)
def test_questions_for_the_latest_are_recognised(question, latest):
    assert asks_for_latest(question) is latest


@pytest.mark.parametrize(
    ("question", "start", "stop"),
    [
        ("What did I plan this week?", date(2026, 3, 2), date(2026, 3, 6)),
        ("What did I paint in July?", date(2025, 7, 1), date(2025, 8, 1)),
        ("What did I paint before 2025?", date(1970, 1, 1), date(2025, 1, 1)),
        ("What have I painted since January?", date(2026, 1, 1), date(2026, 3, 6)),
    ],
)
def test_the_period_that_a_question_names(question, start, stop):
    (span,) = spans(question, THURSDAY)
    assert (span.start, span.stop) == ((start - date(1970, 1, 1)).days, (stop - date(1970, 1, 1)).days)


def test_answers_are_shown_with_what_the_user_told(alice):
    turns = [user("I planted tulips along the fence."), Turn(role="assistant", content="Water them twice a week.")]
    alice.track(turns, session="s")
    shown = alice.recall("What did we talk about last time?", session="new")
    assert {item.drawer.content for item in shown.items} == {turn.content for turn in turns}


YEAR = {
    datetime(2025, 1, 20, 9, tzinfo=UTC): "We went skiing near the lake.",
    datetime(2025, 3, 9, 9, tzinfo=UTC): "I planted the first peas.",
    datetime(2025, 5, 15, 9, tzinfo=UTC): "I booked the ferry to Gotland for July 20th.",
    datetime(2025, 7, 5, 9, tzinfo=UTC): "The hen has hatched four chicks.",
    datetime(2025, 9, 2, 9, tzinfo=UTC): "I harvested the plums on August 30th.",
    datetime(2025, 12, 15, 9, tzinfo=UTC): "I carved a spoon out of birch.",
    datetime(2026, 1, 10, 9, tzinfo=UTC): "I signed up for a pottery class.",
}
SUMMER = [
    "I booked the ferry to Gotland for July 20th.",
    "The hen has hatched four chicks.",
    "I harvested the plums on August 30th.",
]
WINTER = ["I carved a spoon out of birch.", "I signed up for a pottery class."]
SEASONS = {
    "What did I do in summer?": SUMMER,
    "What did I do last summer?": SUMMER,
    "What happened in the summer of 2025?": SUMMER,
    "What did I do in winter?": WINTER,
    "What did we talk about this winter?": WINTER,
    "What did I do last winter?": ["We went skiing near the lake."],
    "What did I do in winter 2025?": ["We went skiing near the lake.", *WINTER],
    "What happened in spring?": ["I planted the first peas.", "I booked the ferry to Gotland for July 20th."],
    "What happened in July 2025?": ["I booked the ferry to Gotland for July 20th.", "The hen has hatched four chicks."],
    "What did I do in autumn?": ["I harvested the plums on August 30th."],
}


@pytest.fixture
def year(alice):
    """A space with one message in each of seven conversations of a year."""
    for number, (moment, text) in enumerate(YEAR.items()):
        alice.track([user(text, said_at=moment)], session=f"s{number}")
    return alice


@pytest.mark.parametrize("question", SEASONS)
def test_a_season_or_a_month_has_what_was_said_in_it_and_what_tells_of_a_day_in_it(year, question):
    asked = datetime(2026, 1, 20, 9, tzinfo=UTC)
    assert said(year.recall(question, session="new", now=asked)) == SEASONS[question]


@pytest.mark.parametrize("month", ["July", "December", "May"])
def test_a_question_on_a_subject_in_a_month_gets_no_line_of_another(alice, month):
    for number in range(3, 13):
        turns = [
            user(f"I baked {number} rye loaves for the neighbours.", said_at=datetime(2025, number, 6, tzinfo=UTC))
        ]
        alice.track(turns, session=f"s{number}")
    recalled = alice.recall(f"How many rye loaves did I bake in {month}?", now=datetime(2026, 1, 20, tzinfo=UTC))
    assert {item.drawer.said_at.strftime("%B") for item in recalled.items} == {month}


def test_what_was_said_in_the_month_asked_about_is_found_among_many_of_other_months(alice):
    for number in range(90):
        day = datetime(2025, 8, 1, tzinfo=UTC) + timedelta(hours=number)
        alice.track([user(f"Which sourdough rye failed? Number {number} failed.", said_at=day)], session=f"a{number}")
    told = "A rye with raisins failed."
    alice.track([user(told, said_at=datetime(2025, 10, 6, tzinfo=UTC))], session="o")
    assert alice.flush()
    asked = "Which sourdough rye failed in October?"
    assert said(alice.recall(asked, now=datetime(2026, 1, 20, tzinfo=UTC))) == [told]


def test_a_summer_job_is_no_time():
    assert spans("Where was my summer job?", THURSDAY) == ()
    assert spans("Do I like the spring rolls?", THURSDAY) == ()


TRAVELS = {
    "We spent the weekend in Zermatt, the snow was great.": "Zermatt",
    "I was in Rome last week.": "Rome",
    "We flew to Oslo for the midsummer party.": "Oslo",
    "Just back from Lisbon, so hot there.": "Lisbon",
    "We visited Kyoto and ate far too much ramen.": "Kyoto",
    "Our trip to Porto was wonderful.": "Porto",
    "I've been to Tartu and it snowed all week.": "Tartu",
}


@pytest.fixture
def travelled(alice):
    """A space in which one place is told in each conversation, a month apart, between others about home."""
    for number, text in enumerate(TRAVELS):
        moment = datetime(2025, 1 + number, 9, 9, tzinfo=UTC)
        alice.track([user(text, said_at=moment)], session=f"t{number}")
        alice.track([user("I repaired the kitchen tap and painted a shelf.", said_at=moment)], session=f"h{number}")
    alice.track(
        [user("My sister was in Paris with her husband.", said_at=datetime(2025, 10, 9, 9, tzinfo=UTC))], session="o"
    )
    alice.mine()
    return alice


@pytest.mark.parametrize(
    "question",
    [
        "How many cities have I been to?",
        "Which cities have I been to?",
        "Where have I travelled?",
        "List all the places we visited.",
        "What places have I seen so far?",
    ],
)
def test_the_places_somebody_has_been_to_are_gathered_over_all_conversations(travelled, question):
    block = travelled.recall(question, now=TODAY).block
    assert [place for place in TRAVELS.values() if place not in block] == []
    assert "kitchen tap" not in block


def test_the_places_of_a_season_are_those_told_in_it(travelled):
    block = travelled.recall("Which cities did I visit last summer?", now=TODAY).block
    assert {place for place in [*TRAVELS.values(), "Paris"] if place in block} == {"Porto", "Tartu"}


def test_a_place_that_only_the_graph_knows_belongs_to_the_list(travelled):
    travelled.graph.add_relation("me", "visited", "Ghent")
    assert "visited Ghent" in travelled.recall("Which cities have I been to?", now=TODAY).block


def test_what_was_found_in_the_words_of_another_month_is_left_out(alice):
    for moment, text in (
        (datetime(2025, 3, 9, tzinfo=UTC), "I travelled to Rome with Ida."),
        (datetime(2026, 1, 9, tzinfo=UTC), "I'm going to travel to Vienna in March."),
    ):
        alice.track([user(text, said_at=moment)], session=text)
    alice.mine()
    block = alice.recall("Where did I travel to in March?", now=datetime(2026, 1, 20, tzinfo=UTC)).block
    assert "Rome" in block
    assert "Vienna" not in block
