"""The lines of a block: each earns its place, chatter never does, questions for several things get more of them."""

from datetime import UTC, datetime

import pytest
from meanings import user

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.language.questions import asks_for_several
from langmem_tiers.settings import RecallSettings

LISTS = """
Which cities did I visit last year?
What books has Ingrid read?
What kinds of tea do I like?
What types of plants have we grown?
What are the names of my cousins?
How many times did I go to the dentist?
How many bicycles do I own?
Where has Ingrid travelled?
Where have we been on holiday?
Who have I met in Ghent?
What have I tried against the headache so far?
What do my nephews like?
What does Ingrid do to relax?
What are my hobbies?
Who were the guests at the wedding?
Which of the lakes in Finland did we swim in?
What instruments does my brother play?
List my trips of this year.
Name all the restaurants we tried.
Tell me everything you know about Ingrid.
What else did I buy for the kitchen?
Who else came along?
What do Ingrid and Tomas have in common?
In what ways did the course help me?
What sports and other activities did I take up?
Which people did I work with at the museum?
How much did I spend in total on the boat?
Which came first, the piano or the cello?
What is the average age of my sisters?
What classes have both of them taken?
"""
SINGLE = """
Which city did I visit in May?
What book did Ingrid lend me?
When did I last see the dentist?
Where did I park the car?
Where have I put my keys?
What is the name of my cousin?
Who is my boss?
Why did we sell the boat?
How long have I worked at the museum?
How far is it to the lake?
What was the password hint?
What colour is the new sofa?
How did Ingrid fix the printer?
Is my sister allergic to nuts?
What did Tomas say about the contract?
Who lent me the ladder?
What did I give Ingrid for her birthday?
When does the course start?
Where does my brother live?
How old is my nephew?
What is this about?
Does Ingrid like coffee?
Can you suggest a cake?
What was the address of the hotel?
Which train did I take to Ghent?
How many days ago did I call the plumber?
What happened to the old piano?
Did I ever tell you about the flood?
What kind of car did we rent in Porto?
Please email Tomas the report.
"""


def said(recalled) -> list[str]:
    return [item.drawer.content for item in recalled.items]


def verdicts(recalled) -> dict[str, int]:
    return {candidate.drawer: candidate.verdict for candidate in recalled.receipt.candidates}


@pytest.mark.parametrize("question", LISTS.strip().splitlines())
def test_questions_for_several_things_are_recognised(question):
    assert asks_for_several(question)


@pytest.mark.parametrize("question", SINGLE.strip().splitlines())
def test_other_questions_are_not_taken_for_lists(question):
    assert not asks_for_several(question)


@pytest.mark.parametrize("chatter", ["haha that's great, the robot!", "Thanks for the robot, wow!"])
def test_what_the_question_asks_for_is_no_chatter(alice, chatter):
    alice.track([user(chatter)], session="s")
    assert said(alice.recall("What about the robot?", threshold=0.001)) == [chatter]


_MUCH_CHATTER = "Haha, that's great! " * 12


@pytest.mark.parametrize(
    "chatter", ["lol", "brb", "ok thanks!", "Haha, that's great!", "So happy to hear that.", "👍", _MUCH_CHATTER]
)
def test_chatter_of_the_session_that_matches_is_not_shown(alice, chatter):
    said_there = [user("The kayak is stored in the barn at Loenen."), Turn(role="assistant", content=chatter)]
    alice.track([*said_there, user(chatter)], session="s")
    assert said(alice.recall("Where is the kayak stored?")) == ["The kayak is stored in the barn at Loenen."]


def test_what_is_told_behind_much_chatter_is_a_line(alice):
    told = f"{_MUCH_CHATTER}The kayak is stored in the barn at Loenen."
    alice.track([user(told)], session="s")
    assert said(alice.recall("Where is the kayak stored?")) == [told]


@pytest.mark.parametrize(
    "reply",
    [
        "What a great kayak!",
        "That's wonderful, congratulations on the kayak!",
        "Nice to meet you! Stored in a barn, lovely. How can I help you today?",
    ],
)
def test_a_reply_that_only_reacts_to_what_was_told_is_no_line(alice, reply):
    told = "The kayak is stored in the barn at Loenen."
    alice.track([user(told), Turn(role="assistant", content=reply)], session="s")
    assert said(alice.recall("Where is the kayak stored?")) == [told]


@pytest.mark.parametrize(
    "reply", ["The kayak is best stored upside down.", "Kayak racks at Decathlon fit the barn.", "The kayak: 24 kg."]
)
def test_a_reply_that_says_more_may_be_a_line(alice, reply):
    alice.track(
        [user("The kayak is stored in the barn at Loenen."), Turn(role="assistant", content=reply)], session="s"
    )
    assert reply in said(alice.recall("What about the kayak?", threshold=0.001))


def test_a_short_question_at_the_end_of_a_line_is_left_out_unless_what_follows_is_shown(alice):
    told = "The kayak is stored in the barn at Loenen. Which barn would you rent?"
    alice.track([user(told), Turn(role="assistant", content="My knee hurts.")], session="s")
    assert "The kayak is stored in the barn at Loenen. […]\n" in alice.recall("Where is the kayak stored?").block
    told = "The canoe is stored in the shed at Goor. Which shed would you rent?"
    alice.track([user(told), Turn(role="assistant", content="My canoe is stored in the attic.")], session="t")
    assert "Goor. Which shed would you rent?\n" in alice.recall("Where is the canoe stored?").block


def test_what_others_said_is_cut_shorter_where_the_users_own_words_are_asked_for(alice):
    mine = [user(f"I keep kayak number {number} in barn {number} at the lake.") for number in range(3)]
    advice = "A kayak is best kept in a dry barn. " * 20
    alice.track([*mine, Turn(role="assistant", content=advice)], session="s")
    lines = alice.recall("Where did I put my kayak, in which barn?", threshold=0.001).block.splitlines()
    (advised,) = [line for line in lines if " assistant: " in line]
    assert len(advised) < 250
    lines = alice.recall("Where is a kayak best kept, in which barn?", threshold=0.001, session="t").block.splitlines()
    (advised,) = [line for line in lines if " assistant: " in line]
    assert len(advised) > 300


def test_an_earlier_question_that_only_asks_until_when_is_no_line(alice):
    asked = Turn(role="user", content="Which kayaks have I owned so far?")
    alice.track([asked, Turn(role="assistant", content="You have not told me.")], session="s")
    alice.track([user("I owned a red kayak and a folding kayak.")], session="t")
    assert "so far" not in alice.recall("Which kayaks have I owned?").block


def test_neighbours_of_what_matches_have_to_match_themselves(alice):
    weather = ["It rained all day in the valley.", "My knee hurts since the hike.", "The bakery was closed again."]
    alice.track([user("The kayak is stored in the barn."), *map(user, weather)], session="s")
    recalled = alice.recall("Where is the kayak stored, in which barn?")
    assert said(recalled) == ["The kayak is stored in the barn."]
    assert set(verdicts(recalled).values()) <= {"shown", "below_best", "below_threshold"}


def test_the_share_of_the_best_is_a_setting(memory_with):
    alice = memory_with(best_share=0, match_share=0).user("alice")
    alice.track([user("The kayak is stored in the barn."), user("The barn is red.")], session="s")
    both = {"The kayak is stored in the barn.", "The barn is red."}
    assert set(said(alice.recall("Where is the kayak stored, in which barn?"))) == both
    strict = memory_with(best_share=0.9).user("bob")
    strict.track([user("The kayak is stored in the barn."), user("The barn is red.")], session="s")
    assert said(strict.recall("Where is the kayak stored, in which barn?")) == ["The kayak is stored in the barn."]


def test_a_question_that_matches_is_shown_with_its_short_answer(alice):
    turns = [Turn(role="assistant", content="Which colour is the kayak?"), user("Turquoise.")]
    alice.track([*turns, user("We had lunch at the harbour.")], session="s")
    assert said(alice.recall("What was the colour of my kayak?")) == ["Which colour is the kayak?", "Turquoise."]


def test_a_short_answer_is_shown_with_the_question_before_it(alice):
    turns = [Turn(role="assistant", content="And what will you call the new kayak?"), user("Sigrun.")]
    alice.track(turns, session="s")
    assert sorted(said(alice.recall("Who or what is Sigrun?"))) == [turn.content for turn in turns]


def test_a_question_and_its_answer_are_within_the_limit(alice):
    turns = [Turn(role="assistant", content="Which colour is the kayak?"), user("Turquoise.")]
    alice.track(turns, session="s")
    assert said(alice.recall("What was the colour of my kayak?", limit=1)) == ["Which colour is the kayak?"]


def test_greetings_around_what_is_told_are_left_out_of_a_line(alice):
    alice.track([user("Hey, great to hear from you! The kayak is stored in the barn. Talk to you soon!")], session="s")
    block = alice.recall("Where is the kayak stored?").block
    assert "user: […] The kayak is stored in the barn. […]\n" in block


def test_lines_of_a_session_stand_together(alice):
    hours = [datetime(2026, 2, 1, hour, tzinfo=UTC) for hour in (9, 10, 11)]
    for session, hour, text in zip("aba", hours, ["red", "blue", "old"], strict=True):
        alice.track([user(f"The kayak was {text}.", said_at=hour)], session=session)
    lines = [line for line in alice.recall("How was the kayak?").block.splitlines() if line.startswith("- ")]
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["red.", "old.", "blue."]


def test_a_list_is_gathered_over_sessions_up_to_the_budget(alice):
    places = [
        "Aarhus",
        "Bilbao",
        "Cork",
        "Dresden",
        "Evora",
        "Faro",
        "Genoa",
        "Hanko",
        "Izola",
        "Jesi",
        "Kotka",
        "Lund",
    ]
    for place in places:
        alice.track([user(f"I visited {place} and liked it there.")], session=place)
        alice.track([user(f"The visit to {place} was long and I took pictures.")], session=place)
    recalled = alice.recall("Which places did I visit?", token_budget=450)
    assert {item.drawer.session for item in recalled.items} == set(places)
    assert len(recalled.items) > 8
    assert recalled.receipt.tokens <= 450
    assert "There may be more." in recalled.block
    assert len(alice.recall("Which places did I visit?", limit=3).items) == 3


def test_a_list_of_few_shows_them_as_long_as_others_are(alice):
    alice.track([user(f"I visited Aarhus {'and its harbour ' * 20}in May.")], session="s")
    assert "[…]" not in alice.recall("Which places did I visit?").block


def test_lists_show_nothing_known_where_that_is_turned_off(memory_with):
    alice = memory_with(knowledge=0).user("alice")
    alice.knowledge.save("The user visited Aarhus.")
    assert alice.recall("Which places did the user visit?").known == ()


def test_a_block_that_left_nothing_out_does_not_say_that_there_may_be_more(alice):
    alice.track([user("I visited Aarhus.")], session="s")
    assert "There may be more." not in alice.recall("Which places did I visit?").block


def test_the_same_fact_of_two_tiers_is_shown_once(alice):
    alice.knowledge.save("The user lives in Porto.")
    alice.graph.add_relation("user", "lives in", "Porto", subject_type="person", object_type="place")
    alice.flush()
    recalled = alice.recall("Where do I live, in Porto?", session="t")
    assert len(recalled.known) == 1
    assert "duplicate" in {each.verdict for each in recalled.receipt.known}


@pytest.mark.parametrize(("share", "verdict"), [(0.3, "below_best"), (0.0, "shown")])
def test_what_is_known_of_messages_far_from_the_best_has_to_earn_its_line_as_well(memory_with, share, verdict):
    alice = memory_with(threshold=0.001, best_share=share).user("alice")
    alice.track([user("My violin teacher Ada Lund gave me a concerto to learn for my exam in June.")], session="s")
    alice.track([user("I love violin music.")], session="t")
    alice.flush()
    alice.mine()
    found = alice.recall("Which concerto did my violin teacher Ada Lund give me to learn for the exam?", session="u")
    assert [each.verdict for each in found.receipt.known] == [verdict]


@pytest.fixture
def memory_with(tmp_path, clock):
    """A function that opens a memory with some recall settings."""
    opened = []

    def open_it(**recall):
        folder, settings = tmp_path / f"memory-{len(opened)}", Settings(recall=RecallSettings(**recall))
        opened.append(Memory.open(folder, embedder=None, settings=settings, background=False, clock=clock))
        return opened[-1]

    yield open_it
    for memory in opened:
        memory.close()
