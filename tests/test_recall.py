"""Recall: what is found, how it is ranked, what is shown, and the receipt that says why."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from meanings import Meanings, user

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import InvalidText, NaiveDatetime
from langmem_tiers.settings import RecallSettings, StorageSettings
from langmem_tiers.testing import HashEmbedder

# No factors: scores are those of the channels.
PLAIN = {"recency_weight": 0, "own_space_boost": 1.0}
ROBOT = "What about the robot?"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def numbers(recalled) -> list[int]:
    return [item.drawer.number for item in recalled.items]


def verdicts(recalled) -> dict[int, str]:
    return {candidate.drawer: candidate.verdict for candidate in recalled.receipt.candidates}


@pytest.fixture
def opened(tmp_path, clock):
    """A function that opens a memory with some recall settings, closed after the test."""
    memories = []

    def open_it(embedder=None, storage=None, **recall):
        chosen = Settings(recall=RecallSettings(**recall), storage=storage or StorageSettings())
        folder = tmp_path / f"memory-{len(memories)}"
        memories.append(Memory.open(folder, embedder=embedder, settings=chosen, background=False, clock=clock))
        return memories[-1]

    yield open_it
    for memory in memories:
        memory.close()


# What is asked


@pytest.mark.parametrize("query", ["", " \n", "hi", "Thanks!", "ok, great", "👍", "yes please", "你好", "...", "\x00"])
def test_a_trivial_message_recalls_nothing_and_says_so(alice, query):
    alice.track([user("hi, thanks, ok, great, yes please 你好")], session="s")
    recalled = alice.recall(query, session="t")
    assert (recalled.block, recalled.items) == ("", ())
    assert (recalled.receipt.verdict, recalled.receipt.candidates) == ("trivial", ())


@pytest.mark.parametrize(
    "query", ["Where is Tom?", "back from Oslo", "robot 7", "里斯本在哪里", "tell robots apart quickly"]
)
def test_a_short_message_that_asks_or_names_something_is_no_trifle(alice, query):
    assert alice.recall(query, session="t").receipt.verdict == "nothing_found"


def test_recall_can_be_switched_off(opened):
    alice = opened(enabled=False).user("alice")
    alice.track([user("The robot is red.")], session="s")
    recalled = alice.recall(ROBOT, session="t")
    assert (recalled.block, recalled.receipt.verdict) == ("", "disabled")


@pytest.mark.parametrize(
    "query",
    [
        'robot" OR "a?',
        "robot NEAR( the AND?",
        "NOT robot * ^ - + ?",
        "content: robot }{ ?",
        "robot'; DROP TABLE drawers; --",
        "((((robot?",
        "robot\x00robot?",
        "robot \ud800 here?",
        "ＲＯＢＯＴ?",
        "the rôbot?",
        "robot o'clock isn't?",
    ],
)
def test_nothing_in_a_query_is_syntax(alice, query):
    alice.track([user("The robot is red.")], session="s")
    assert numbers(alice.recall(query, session="t", threshold=0)) == [1]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_any_text_may_be_asked(alice, query):
    assert alice.recall(query, session="t", keep_receipt=False).receipt.verdict in {"trivial", "nothing_found"}


def test_a_query_of_a_megabyte_is_answered_by_its_beginning(alice):
    alice.track([user("The robot is red.")], session="s")
    assert numbers(alice.recall("Where is the robot? " + "padding " * 125_000, session="t", threshold=0)) == [1]


def test_a_session_with_a_lone_surrogate_is_refused(alice):
    with pytest.raises(InvalidText):
        alice.recall(ROBOT, session="\ud800")


# Channels


def test_without_an_embedder_words_find_and_a_drawer_matches_by_the_share_of_them_that_it_holds(opened):
    alice = opened(**PLAIN).user("alice")
    alice.track([user("The red robot!"), user("A robot among many other things in the cellar.")], session="s")
    first, second = alice.recall("What about the red robot?", session="t", threshold=0).receipt.candidates
    assert (first.drawer, first.scores, first.signals["match"]) == (1, {"keyword": 1.0}, 1.0)
    assert 0 < second.scores["keyword"] == second.signals["match"] < 1


def test_meaning_finds_what_shares_no_word_and_it_matches_by_the_cosine(opened):
    memory = opened(Meanings(feline=0.7), **PLAIN)
    alice = memory.user("alice")
    alice.track([user("The feline dozes."), user("Bread rises.")], session="s")
    memory.flush()
    (found,) = alice.recall("Where did my cat sleep?", session="t", threshold=0).receipt.candidates
    assert (found.drawer, found.scores, found.signals["match"], found.verdict) == (1, {"vector": 0.7}, 0.7, "shown")


def test_candidates_are_the_union_of_both_channels(opened):
    memory = opened(Meanings(machine=0.9, robot=0.1), **PLAIN, later=0)
    alice = memory.user("alice")
    alice.track([user("The robot is red.")], session="r")
    alice.track([user("The machine is blue."), user("Bread rises.")], session="s")
    memory.flush()
    found = alice.recall(ROBOT, session="t").receipt.candidates
    assert {each.drawer: (each.scores, each.signals["match"]) for each in found} == {
        1: ({"keyword": 1.0, "vector": 0.1}, pytest.approx(0.46)),
        2: ({"keyword": 0.0, "vector": 0.9}, pytest.approx(0.54)),
    }


def test_a_drawer_that_has_no_vector_yet_keeps_the_scale_of_its_words(opened):
    memory = opened(Meanings(old=0.5), **PLAIN)
    alice = memory.user("alice")
    alice.track([user("An old robot.")], session="s")
    memory.flush()
    alice.track([user("A new robot.")], session="s")
    found = {each.drawer: each for each in alice.recall(ROBOT, session="t").receipt.candidates}
    assert found[1].signals["match"] == pytest.approx(0.4 * 1.0 + 0.6 * 0.5)
    assert found[2].signals["match"] == found[2].scores["keyword"] == 1.0


@pytest.mark.parametrize(("keyword", "vector", "match"), [(0.5, 0.5, 0.6), (3, 1, 0.8), (0, 1, 0.2), (1, 0, 1.0)])
def test_channels_are_weighed_as_set(opened, keyword, vector, match):
    memory = opened(Meanings(robot=0.2), keyword_weight=keyword, vector_weight=vector, **PLAIN)
    alice = memory.user("alice")
    alice.track([user("The robot is red.")], session="s")
    memory.flush()
    (found,) = alice.recall(ROBOT, session="t").receipt.candidates
    assert found.signals["match"] == pytest.approx(match)


def test_a_vector_hit_below_the_least_similarity_is_no_candidate(opened):
    memory = opened(Meanings(near=0.31, far=0.29), **PLAIN)
    alice = memory.user("alice")
    alice.track([user("It is near."), user("It is far.")], session="s")
    memory.flush()
    assert verdicts(alice.recall(ROBOT, session="t", threshold=0)) == {1: "shown"}


def test_a_superseded_drawer_is_found_by_neither_channel(opened):
    memory = opened(Meanings(robot=0.9))
    alice = memory.user("alice")
    alice.track([user("The robot is red.", "1")], session="s")
    memory.flush()
    alice.recall(ROBOT, session="t")
    alice.track([user("The oven is red.", "1")], session="s")
    assert alice.recall(ROBOT, session="u").receipt.candidates == ()


# Factors


def test_newer_words_go_first_among_equals_and_now_may_be_given(opened):
    alice = opened(recency_weight=0.5, recency_half_life_days=10).user("alice")
    dates = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 21, 11)]
    turns = [user(f"robot {name}", said_at=date) for name, date in zip("abc", dates, strict=True)]
    alice.track(turns, session="s")
    recalled = alice.recall(ROBOT, session="t", now=datetime(2026, 1, 21, tzinfo=UTC))
    assert numbers(recalled) == [2, 3, 1]
    assert [each.factors["recency"] for each in recalled.receipt.candidates] == pytest.approx([1.5, 1.25, 1.125])


def test_what_the_user_said_is_trusted_before_tools(alice):
    alice.track([Turn(role="tool", content="robot x"), user("robot y"), user("robot z", origin="system")], session="s")
    recalled = alice.recall(ROBOT, session="t")
    assert {each.drawer: each.factors["trust"] for each in recalled.receipt.candidates} == {1: 0.9, 2: 1.0, 3: 0.9}
    assert numbers(recalled)[0] == 2


def test_the_own_space_goes_before_its_fallbacks(memory):
    team, alice = memory.space("teams/a"), memory.user("alice", fallbacks=["teams/a"])
    team.track([user("The robot is red.")], session="s")
    alice.track([user("The robot is old.")], session="s")
    recalled = alice.recall(ROBOT, session="t")
    assert [(item.space, item.drawer.number) for item in recalled.items] == [("users/alice", 1), ("teams/a", 1)]
    assert [each.factors["own_space"] for each in recalled.receipt.candidates] == [1.2, 1.0]


def test_without_a_declared_fallback_nothing_is_read_across_spaces(memory):
    memory.user("bob").track([user("The robot is red.")], session="s")
    assert memory.user("alice").recall(ROBOT, session="t").receipt.candidates == ()


def test_a_fallback_is_read_and_never_written(memory):
    team, alice = memory.space("teams/a"), memory.user("alice", fallbacks=["teams/a"])
    team.track([user("The robot is red.")], session="s")
    before = team.drawers(), team.stats().log_position
    assert len(alice.recall(ROBOT, session="t", message_id="1").items) == 1
    assert (team.drawers(), team.stats().log_position, team.receipts()) == (*before, ())


def test_of_two_copies_the_own_one_is_shown_even_where_the_other_ranks_higher(memory):
    team, alice = memory.space("teams/a"), memory.user("alice", fallbacks=["teams/a"])
    team.track([user("The robot is red and heavy, and it stands in the corner of the cellar.")], session="s")
    alice.track([user("The robot is red and heavy, and it stands in the corner of the cellar.")], session="s")
    alice.track([user("robot robot robot")], session="s")
    found = alice.recall(ROBOT, session="t").receipt.candidates
    assert {(each.space, each.drawer): each.verdict for each in found} == {
        ("users/alice", 1): "shown",
        ("users/alice", 2): "shown",
        ("teams/a", 1): "duplicate",
    }


def test_a_space_that_is_its_own_fallback_is_read_once(memory):
    alice = memory.space("a", fallbacks=["a", "b", "b"])
    alice.track([user("The robot is red.")], session="s")
    memory.space("b").track([user("The robot is old.")], session="s")
    found = alice.recall(ROBOT, session="t").receipt.candidates
    assert [(each.space, each.verdict) for each in found] == [("a", "shown"), ("b", "shown")]


# Choosing


@pytest.mark.parametrize("share", [1, 0.9, 0.25])
def test_the_best_item_has_to_reach_the_threshold_and_others_a_share_of_it(opened, share):
    memory = opened(Meanings(near=0.5, far=0.35), **PLAIN, threshold_share=share, best_share=0, match_share=0, later=0)
    alice = memory.user("alice")
    alice.track([user("It is near.")], session="r")
    alice.track([user("It is far.")], session="s")
    memory.flush()
    everything = alice.recall(ROBOT, session="t", threshold=0)
    near, far = (item.score for item in everything.items)
    assert (numbers(everything), near > far) == ([1, 2], True)
    for threshold in (far, (near + far) / 2, near, near + 0.001):
        both = [1, 2] if far >= share * threshold else [1]
        assert numbers(alice.recall(ROBOT, threshold=threshold)) == (both if near >= threshold else [])


def test_a_question_about_oneself_opens_a_block_with_less(opened):
    alice = opened(Meanings(robot=0.5), **PLAIN).user("alice")
    alice.track([user("The robot is red.")], session="s")
    assert alice.flush()
    threshold = alice.recall(ROBOT, threshold=0.001).items[0].score * 1.1
    assert numbers(alice.recall(ROBOT, threshold=threshold)) == []
    assert numbers(alice.recall("What about my robot?", threshold=threshold)) == [1]


def test_no_scale_but_the_score_opens_the_threshold(opened):
    alice = opened(weights={}, **PLAIN).user("alice")
    alice.track([user("The robot is red.")], session="s")
    (found,) = alice.recall(ROBOT, threshold=0.5).receipt.candidates
    assert (found.scores, found.score < 0.5, found.verdict) == ({"keyword": 1.0}, True, "below_threshold")


def test_the_same_words_are_shown_once_and_those_of_the_question_not_at_all(alice):
    alice.track([user("The robot is red."), user(ROBOT)], session="s")
    alice.track([user("The robot is red.")], session="r")
    recalled = alice.recall(ROBOT, session="t")
    assert sorted(verdicts(recalled).values()) == ["duplicate", "duplicate", "shown"]
    assert verdicts(recalled)[2] == "duplicate"


def test_questions_asked_again_and_again_do_not_take_the_room_of_the_answer(alice):
    alice.track([user("My dentist is Dr. Okafor in Ghent.")], session="s0")
    for count in range(20):
        asked = "What's my dentist called again?" if count % 2 else f"What is the name of my dentist? ({count})"
        alice.track([user(asked)], session=f"s{1 + count % 3}")
    recalled = alice.recall("What's the name of my dentist?")
    shown = [item.drawer.content for item in recalled.items]
    assert shown[0] == "What's my dentist called again?" or shown[0].startswith("My dentist is")
    assert "My dentist is Dr. Okafor in Ghent." in shown
    assert len(shown) == 2
    assert "asked_again" in verdicts(recalled).values()


def test_a_question_that_tells_something_besides_is_recalled(alice):
    alice.track([user("Is there a dentist near the red house in Ghent where I moved?")], session="s")
    assert [item.drawer.number for item in alice.recall("Which dentist is near?").items] == [1]


def test_at_most_the_limit_is_shown_best_first(opened):
    alice = opened(limit=3, **PLAIN).user("alice")
    colours = ["red", "green", "blue", "black", "white"]
    for count in range(6):
        alice.track([user(f"robot {' '.join(colours[:count])}")], session=f"s{count}")
    query = f"The robot in {', '.join(colours)}?"
    recalled = alice.recall(query, session="t", threshold=0)
    assert numbers(recalled) == [6, 5, 4]
    assert verdicts(recalled)[3] == "over_limit"
    assert numbers(alice.recall(query, session="u", threshold=0, limit=1)) == [6]


@pytest.mark.parametrize(
    "question",
    [
        "Which message mentioned Wexler?",
        "Remind me what happened with Wexler",
        "In which conversations did we discuss Wexler?",
        "Which things were said in that chat about Wexler?",
    ],
)
def test_whoever_is_named_is_found_however_the_question_asks_for_messages(opened, question):
    alice = opened().user("alice")
    alice.track([user(f"On day {day} the garden and the boat were wet.") for day in range(300)], session="s")
    alice.track([user("Wexler painted the fence.")], session="s")
    assert alice.recall(question, session="t").items[0].drawer.content == "Wexler painted the fence."


def test_words_that_ask_for_messages_are_looked_for_where_there_are_no_others(opened):
    alice = opened().user("alice")
    alice.track([user("Olga left me a message."), user("The robot is late.")], session="s")
    assert numbers(alice.recall("Any message?", session="t"))[:1] == [1]


def test_until_leaves_out_what_was_said_later(alice):
    days = [NOON - timedelta(days=day) for day in (3, 2, 1)]
    alice.track([user(f"robot {place}", said_at=day) for place, day in enumerate(days)], session="s")
    recalled = alice.recall(ROBOT, session="t", as_of=days[1])
    assert verdicts(recalled) == {1: "shown", 2: "shown", 3: "outside_dates"}


def test_an_own_copy_said_too_late_does_not_hide_an_earlier_one_of_a_fallback(memory):
    team, alice = memory.space("teams/a"), memory.user("alice", fallbacks=["teams/a"])
    team.track([user("The robot is red.", said_at=NOON - timedelta(days=9))], session="s")
    alice.track([user("The robot is red.", said_at=NOON)], session="s")
    assert [item.space for item in alice.recall(ROBOT, session="t", as_of=NOON - timedelta(days=1)).items] == [
        "teams/a"
    ]


@pytest.mark.parametrize("which", ["now", "as_of"])
def test_moments_without_a_zone_are_refused(alice, which):
    with pytest.raises(NaiveDatetime):
        alice.recall(ROBOT, **{which: NOON.replace(tzinfo=None)})


# Delta


def test_what_was_shown_in_a_session_is_not_shown_again_there_but_in_another(alice):
    alice.track([user("The robot is red.")], session="s")
    assert numbers(alice.recall(ROBOT, session="t", message_id="1")) == [1]
    again = alice.recall("Is the robot still red?", session="t", message_id="2")
    assert (again.block, again.receipt.verdict, verdicts(again)) == ("", "nothing_new", {1: "already_shown"})
    assert numbers(alice.recall(ROBOT, session="u", message_id="1")) == [1]


def test_what_was_shown_for_a_message_that_left_the_window_is_shown_again(alice):
    alice.track([user("The robot is red.")], session="s")
    alice.recall(ROBOT, session="t", message_id="1")
    assert alice.recall("Is the robot red?", session="t", message_id="2", window=["1", "2"]).items == ()
    assert numbers(alice.recall("Is the robot red?", session="t", message_id="3", window=["2", "3"])) == [1]


def test_the_session_itself_is_before_the_model_and_not_recalled(alice):
    alice.track([user("The robot is red.", "1"), user("The robot is old.", "2")], session="s")
    assert verdicts(alice.recall(ROBOT, session="s", message_id="3")) == {1: "in_window", 2: "in_window"}
    assert numbers(alice.recall(ROBOT, session="s", message_id="4", window=["2", "4"])) == [1]


@pytest.mark.folder
def test_turns_that_were_forgotten_count_for_a_process_that_was_not_there(alice):
    alice.track([user("The robot is red."), *(user(f"Day {day} was fine.") for day in range(24))], session="s")
    alice.forget(messages=list(range(16, 26)), confirm=True)
    with Memory.open(alice.memory.path, embedder=None, background=False, clock=alice.memory.clock) as memory:
        assert verdicts(memory.user("alice").recall(ROBOT, session="s")) == {1: "shown"}


def test_a_message_that_was_edited_is_recalled_for_anew(alice):
    alice.track([user("The robot is red.")], session="s")
    assert numbers(alice.recall("Is the robot red?", session="t", message_id="1")) == [1]
    assert numbers(alice.recall("Was the robot red?", session="t", message_id="1")) == [1]


# The first turn


@pytest.fixture
def gadgets(alice, clock):
    for number in range(1, 8):
        clock.tick(60)
        alice.track([user(f"I bought gadget number {number} for {number} dollars.")], session=f"s{number}")
    return alice


UNRELATED = "Zebras gallop through savannas."


def test_a_first_turn_that_nothing_matches_gets_no_block_just_like_a_later_one(gadgets):
    first = gadgets.recall(UNRELATED, session="t", message_id="1")
    assert (first.block, first.receipt.verdict, first.receipt.candidates) == ("", "nothing_found", ())
    assert gadgets.recall("What about gadget number 7?", session="t", message_id="2").items
    assert gadgets.recall(UNRELATED, session="t", message_id="3").block == ""


# The block


def test_a_block_tells_pointer_date_and_speaker_oldest_first(alice):
    turns = [
        user("The robot is red.", speaker="Ann", said_at=NOON),
        Turn(role="assistant", content="A red robot, robot, robot!", said_at=NOON - timedelta(days=2)),
    ]
    alice.track(turns, session="s")
    assert alice.recall(ROBOT, session="t").block.split("\n")[2:-1] == [
        "- [§W-001/R-01/D-002] 2026-02-28 assistant: A red robot, robot, robot!",
        "- [§W-001/R-01/D-001] 2026-03-02 Ann: The robot is red.",
    ]


@pytest.mark.parametrize("budget", [60, 90, 200, 400])
@pytest.mark.parametrize("size", [2, 3, 4, 17, 38])
def test_a_block_never_takes_more_tokens_than_its_budget(opened, budget, size):
    alice = opened(limit=50).user("alice")
    alice.track([user(f"robot {number:03d} {'x' * size}") for number in range(30)], session="s")
    recalled = alice.recall(ROBOT, session="t", token_budget=budget)
    assert recalled.receipt.tokens <= budget
    assert recalled.receipt.tokens == (alice.memory.count_tokens(recalled.block) if recalled.block else 0)


@pytest.mark.parametrize("budget", range(50, 130, 4))
def test_a_block_of_the_fallback_keeps_to_its_budget_as_well(gadgets, budget):
    assert gadgets.recall(UNRELATED, session="t", token_budget=budget).receipt.tokens <= budget


def test_an_item_over_the_budget_is_left_out_and_a_smaller_one_still_fits(alice):
    alice.track([user("robot robot robot " + "and more words " * 30), user("The robot is red.")], session="s")
    recalled = alice.recall(ROBOT, session="t", token_budget=100)
    assert verdicts(recalled) == {1: "over_budget", 2: "shown"}


def test_when_nothing_fits_there_is_no_block_at_all(alice):
    alice.track([user("The robot is red.")], session="s")
    recalled = alice.recall(ROBOT, session="t", token_budget=10)
    assert (recalled.block, recalled.items, recalled.receipt.tokens) == ("", (), 0)
    assert verdicts(recalled) == {1: "over_budget"}


def test_a_long_drawer_is_shown_as_an_excerpt_around_the_words_word_by_word(opened):
    alice = opened(item_characters=120).user("alice")
    content = "Rain fell all day. " * 50 + "The robot climbed the tower at noon. " + "Snow fell all night. " * 50
    alice.track([user(content)], session="s")
    line = alice.recall(ROBOT, session="t").block.split("\n")[2]
    shown = line.partition("user: ")[2].removeprefix("[…] ").removesuffix(" […]")
    assert "The robot climbed the tower at noon." in shown
    assert shown in content
    assert len(shown) <= 300
    assert len(shown) > 120


def test_only_the_best_item_may_be_longer(opened):
    alice = opened(item_characters=120).user("alice")
    told = ["The robot climbed the tower at noon. ", "The robot left the tower. "]
    for place, text in enumerate(told):
        alice.track([user(text + "Rain fell all day. " * 50)], session=f"s{place}")
    recalled = alice.recall(ROBOT, session="t")
    shown = {line.partition("user: ")[2].removesuffix(" […]") for line in recalled.block.split("\n")[2:-1]}
    lengths = {text: len(each) for text in told for each in shown if each.startswith(text)}
    assert recalled.items[0].drawer.content.startswith(told[0])
    assert 120 < lengths[told[0]] <= 300
    assert 60 < lengths[told[1]] <= 120


# The same call again


def test_the_same_call_again_gives_the_same_bytes_and_counts_once(alice, clock):
    alice.track([user(f"The robot is {colour}.") for colour in ("red", "green", "blue")], session="s")
    first = alice.recall(ROBOT, session="t", message_id="1")
    clock.tick(3600)
    alice.track([user("The robot is gone, robot robot.")], session="s")
    again = alice.recall(ROBOT, session="t", message_id="1")
    assert (again.block, again.receipt.verdict) == (first.block, "repeated")
    assert [item.drawer.number for item in again.items] == [item.drawer.number for item in first.items]
    assert [drawer.recall_count for drawer in alice.drawers()] == [1, 1, 1, 0]
    assert alice.stats().recalls == 1


def test_the_same_call_made_many_times_at_once_counts_once(alice):
    alice.track([user("The robot is red.")], session="s")
    with ThreadPoolExecutor(8) as pool:
        recalled = list(pool.map(lambda _: alice.recall(ROBOT, session="t", message_id="1"), range(8)))
    assert len({each.block for each in recalled}) == 1
    assert sorted(each.receipt.verdict for each in recalled) == ["recalled"] + ["repeated"] * 7
    assert (alice.drawer(1).recall_count, alice.stats().recalls) == (1, 1)


def test_a_fallback_repeated_gives_its_items_in_the_same_order(gadgets):
    first = gadgets.recall(UNRELATED, session="t", message_id="1")
    again = gadgets.recall(UNRELATED, session="t", message_id="1")
    assert (again.block, numbers(again)) == (first.block, numbers(first))


def test_without_a_message_id_every_call_is_another(alice):
    alice.track([user("The robot is red.")], session="s")
    for session in ("t", "u"):
        alice.recall(ROBOT, session=session)
    assert alice.drawer(1).recall_count == 2


def test_a_recall_that_keeps_no_receipt_leaves_no_trace(alice):
    alice.track([user("The robot is red.")], session="s")
    for _ in range(2):
        assert numbers(alice.recall(ROBOT, session="t", message_id="1", keep_receipt=False)) == [1]
    assert (alice.receipts(), alice.stats().recalls, alice.drawer(1).recall_count) == ((), 0, 0)


def test_a_drawer_knows_when_it_was_recalled_last(alice, clock):
    alice.track([user("The robot is red.")], session="s")
    alice.recall(ROBOT, session="t")
    moment = clock.tick(60)
    alice.recall(ROBOT, session="u")
    assert (alice.drawer(1).recall_count, alice.drawer(1).last_recalled_at) == (2, moment)


# Receipts


def test_a_receipt_is_kept_as_it_was_given(alice, clock):
    alice.track([user("The robot is red."), user("Robots, robots.")], session="s")
    given = alice.recall("  What about the robot? ", session="t", message_id="1", limit=1).receipt
    kept = alice.receipt(given.number)
    assert (kept.query, kept.session, kept.message_id, kept.at) == (ROBOT, "t", "1", clock())
    assert (kept.candidates, kept.tokens, kept.verdict, kept.notes) == (given.candidates, given.tokens, "recalled", ())
    assert alice.receipts() == (kept,)


def test_timings_name_every_stage(alice):
    alice.track([user("The robot is red.")], session="s")
    receipt = alice.recall(ROBOT, session="t").receipt
    assert {"embed", "keyword", "vector", "fuse", "render", "store", "total"} <= set(receipt.timings)
    assert all(0 <= spent <= receipt.timings["total"] for spent in receipt.timings.values())


def test_a_receipt_notes_that_the_model_was_away(opened):
    embedder = HashEmbedder()
    alice = opened(embedder).user("alice")
    alice.track([user("The robot is red.")], session="s")
    embedder.outage = ConnectionError("unplugged")
    receipt = alice.recall(ROBOT, session="t").receipt
    assert receipt.verdict == "recalled"
    assert "unplugged" in receipt.notes[0]
    assert alice.receipt(receipt.number).notes == receipt.notes


def test_only_so_many_receipts_are_kept_and_numbers_are_never_used_twice(opened):
    alice = opened(storage=StorageSettings(receipts_kept=3)).user("alice")
    alice.track([user("The robot is red.")], session="s")
    for number in range(64):
        alice.recall(ROBOT, session=f"t{number}")
    assert [receipt.number for receipt in alice.receipts()] == [64, 63, 62]
    assert (alice.receipt(61), alice.receipt(65), alice.stats().recalls) == (None, None, 64)
    assert [receipt.number for receipt in alice.receipts(limit=1)] == [64]


def test_having_asked_before_does_not_make_the_answer_match_less(opened):
    alice = opened(None, **PLAIN).user("alice")
    alice.track([user("The robot in the hall was built by Ada.")], session="s")
    first = alice.recall("Who built the robot in the hall?", session="t", keep_receipt=False).receipt.candidates
    alice.track([user("Who built the robot in the hall?")], session="t")
    again = alice.recall("Who built the robot in the hall?", session="u").receipt.candidates
    assert {each.drawer: each.scores["keyword"] for each in again}[1] == first[0].scores["keyword"] == 1.0
