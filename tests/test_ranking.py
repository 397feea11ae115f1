"""Ranking: what each signal does to the order in which a recall finds things, through the front door."""

from datetime import timedelta

import numpy as np
import pytest
from meanings import Meanings, assistant, user

from langmem_tiers import Memory, RecallSettings, Settings
from langmem_tiers.testing import HashEmbedder

QUESTION = "Tell what came of the project, please?"


@pytest.fixture
def asked(tmp_path, clock):
    """A function that puts sessions into a memory and asks: the candidates, best first.

    Only the match counts, and the signals given as weights; meanings decide the match alone.
    """
    opened = []

    def ask(sessions, query=QUESTION, *, embedder=None, keyword_weight=0, **weights):
        chosen = RecallSettings(
            weights={"match": 1, **weights},
            keyword_weight=keyword_weight,
            recency_weight=0,
            own_space_boost=1,
            trust={},
            min_similarity=-1,
        )
        folder = tmp_path / f"memory-{len(opened)}"
        memory = Memory.open(folder, embedder=embedder, settings=Settings(recall=chosen), background=False, clock=clock)
        opened.append(memory)
        alice = memory.user("alice")
        for name, turns in sessions.items():
            alice.track(turns, session=name)
        assert memory.flush()
        return alice.recall(query, threshold=0).receipt.candidates

    yield ask
    for memory in opened:
        memory.close()


def order(candidates):
    return [each.drawer for each in candidates]


def signal(name, candidates):
    return {each.drawer: each.signals[name] for each in candidates}


# One signal each, without it and with it


def test_what_matches_best_comes_first(asked):
    said = {"a": [user("tin")], "b": [user("gold")], "c": [user("iron")]}
    found = asked(said, embedder=Meanings(tin=0.4, gold=0.8, iron=0.6))
    assert (order(found), signal("match", found)) == ([2, 3, 1], {1: 0.4, 2: 0.8, 3: 0.6})


def test_the_answer_to_a_question_is_lifted_by_the_question_before_it(asked):
    said = {"a": [user("the question"), assistant("the answer")], "b": [user("a rival")]}
    meanings = Meanings(question=0.8, answer=0.3, rival=0.4)
    assert order(asked(said, embedder=meanings)) == [1, 3, 2]
    found = asked(said, embedder=meanings, previous=1)
    assert (order(found), signal("previous", found)) == ([2, 1, 3], {1: 0, 2: 0.8, 3: 0})


def test_what_comes_before_in_the_same_session_lifts_though_another_session_came_between(alice):
    for session, text in (("a", "About robots"), ("b", "The robot?"), ("a", "It is red, that robot.")):
        alice.track([user(text)], session=session)
    found = alice.recall("Which colour has the robot?", threshold=0).receipt.candidates
    assert signal("previous", found) == {1: 0, 2: 0, 3: signal("match", found)[1]}


def test_what_was_replaced_lifts_nothing(alice):
    alice.track([user("The robot?", "1"), assistant("It is red, that robot.", "2")], session="a")
    for text, lifted in (("The robot?", True), ("The oven?", False), ("The robot?", True)):
        alice.track([user(text, "1")], session="a")
        alice.flush()
        found = alice.recall("Which colour has the robot?", threshold=0).receipt.candidates
        assert (signal("previous", found)[2] > 0) is lifted


def test_the_best_hit_of_a_session_lifts_all_that_was_said_there(asked):
    said = {"a": [user("the hit"), user("beside it")], "b": [user("a rival")]}
    meanings = Meanings(hit=0.9, beside=0.3, rival=0.5)
    assert order(asked(said, embedder=meanings)) == [1, 3, 2]
    found = asked(said, embedder=meanings, session=1)
    assert (order(found), signal("session", found)) == ([1, 2, 3], {1: 0.9, 2: 0.9, 3: 0.5})


def test_several_modest_hits_in_one_session_beat_a_lucky_one_elsewhere(asked):
    said = {"a": [user("modest 1"), user("modest 2"), user("modest 3")], "b": [user("lucky")]}
    meanings = Meanings(modest=0.5, lucky=0.6)
    assert order(asked(said, embedder=meanings))[0] == 4
    found = asked(said, embedder=meanings, support=1)
    assert sorted(order(found)[:3]) == [1, 2, 3]
    assert signal("support", found) == pytest.approx({1: 1 / 3, 2: 1 / 3, 3: 1 / 3, 4: 0}, abs=1e-4)


def test_having_asked_the_same_before_is_no_evidence_for_the_session_where_it_was_asked(asked):
    said = {"a": [user(QUESTION), user("the weather")], "b": [user("a rival")]}
    found = asked(said, embedder=Meanings(project=1.0, weather=0.3, rival=0.4), session=1)
    assert signal("session", found) == {1: 0.3, 2: 0.3, 3: 0.4}


def test_a_question_about_last_month_finds_what_was_said_last_month(asked, clock):
    now = clock()
    days = {"a": 20, "b": 1, "c": 60}
    said = {name: [user(f"dinner {name}", said_at=now - timedelta(days=day))] for name, day in days.items()}
    query = "Which dinner was it last month?"
    assert order(asked(said, query, embedder=Meanings(dinner=0.5))) == [2, 1, 3]
    found = asked(said, query, embedder=Meanings(dinner=0.5), time=1)
    assert order(found) == [1, 2, 3]
    assert signal("time", found)[1] == 1.0
    assert set(signal("time", asked(said, embedder=Meanings(dinner=0.5), time=1)).values()) == {0}


def test_what_somebody_tells_of_themselves_goes_before_what_they_ask(asked):
    said = {"a": [user("Where is my robot?")], "b": [user("I built a robot.")], "c": [assistant("I am a robot.")]}
    assert order(asked(said, embedder=Meanings(robot=0.5))) == [1, 2, 3]
    found = asked(said, embedder=Meanings(robot=0.5), statement=1)
    assert (order(found), signal("statement", found)) == ([2, 1, 3], {1: 0, 2: 1, 3: 0})


def test_advice_finds_a_preference(asked):
    said = {"a": [user("I cooked a dinner.")], "b": [user("I love a spicy dinner.")]}
    advice, fact = "Any tips for the dinner tonight?", "When was the dinner?"
    assert order(asked(said, advice, embedder=Meanings(dinner=0.5))) == [1, 2]
    found = asked(said, advice, embedder=Meanings(dinner=0.5), preference=1)
    assert (order(found), signal("preference", found)) == ([2, 1], {1: 0, 2: 1})
    assert order(asked(said, fact, embedder=Meanings(dinner=0.5), preference=1)) == [1, 2]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Which cheese did you recommend?", 2),
        ("Which cheese do I buy?", 1),
        ("Which cheese did Lena bring?", 3),
    ],
)
def test_who_is_asked_about_goes_first(asked, query, first):
    said = {"a": [user("cheese a")], "b": [assistant("cheese b")], "c": [user("cheese c", speaker="Lena")]}
    assert order(asked(said, query, embedder=Meanings(cheese=0.5))) == [1, 2, 3]
    found = asked(said, query, embedder=Meanings(cheese=0.5), asked=1)
    assert order(found)[0] == first
    assert signal("asked", found)[first] == 1


def test_of_two_speakers_named_neither_goes_first(asked):
    said = {name: [user(f"cheese {name}", speaker=name)] for name in ("Tom", "Lena")}
    found = asked(said, "What cheese did Lena and Tom bring?", embedder=Meanings(cheese=0.5), asked=1)
    assert signal("asked", found) == {1: 0, 2: 0}


# Words


def test_a_rare_word_counts_for_more_than_a_common_one(asked):
    said = {"a": [user("the kettle and the robot")], "b": [user("kettle")], "c": [user("robot")], "d": [user("robot!")]}
    found = asked(said, "kettle robot?", keyword_weight=1)
    assert order(found) == [1, 2, 3, 4]
    assert signal("match", found)[1] == 1.0


def test_saying_a_word_often_or_among_many_others_changes_nothing(asked):
    said = {"a": [user("robot robot robot")], "b": [user("robot " + "and so it goes on " * 30)]}
    assert signal("match", asked(said, "the robot?", keyword_weight=1)) == {1: 1.0, 2: 1.0}


def test_what_says_a_word_goes_before_what_is_only_filed_under_it(memory, alice):
    alice.track([user("The garden is green."), user("The robot is red.")], session="a", project="Robot")
    assert memory.flush()
    found = alice.recall("Where is the robot?", threshold=0).receipt.candidates
    assert (order(found)[0], {each.drawer: each.scores["keyword"] for each in found}) == (2, {1: 0.5, 2: 1.0})


# Statements have vectors of their own

REQUEST = (
    "Please write a formal letter to the council about noise from the road works near the school, politely worded. "
)
ASIDE = "By the way, I adopted a parrot."


def similarity(text, query):
    one, other = (np.array(HashEmbedder().embed_query(each)) for each in (text, query))
    return float(one @ other)


def test_an_aside_in_a_long_request_is_found_by_its_own_vector(asked):
    query = "Which parrot was adopted?"
    (found,) = asked({"a": [user(REQUEST + ASIDE)]}, query, embedder=HashEmbedder())
    assert found.scores["vector"] == pytest.approx(similarity(ASIDE, query), abs=1e-3)
    assert similarity(ASIDE, query) > 0.8
    assert similarity(REQUEST + ASIDE, query) < 0.5


def test_an_assistant_speaks_of_itself_in_no_vector_of_its_own_unless_it_has_a_name(asked):
    query = "Which parrot was adopted?"
    (found,) = asked({"a": [assistant(REQUEST + ASIDE)]}, query, embedder=HashEmbedder())
    assert found.scores["vector"] == pytest.approx(similarity(REQUEST + ASIDE, query), abs=1e-3)
    (found,) = asked({"a": [assistant(REQUEST + ASIDE, speaker="Ann")]}, query, embedder=HashEmbedder())
    assert found.scores["vector"] == pytest.approx(similarity(f"Ann: {ASIDE}", query), abs=1e-3)


def test_the_vectors_of_statements_come_behind_those_of_the_pieces(memory, alice):
    alice.track([user(REQUEST + ASIDE), user(ASIDE), assistant(ASIDE)], session="a")
    alice.track([user("I like tea. " * 300)], session="b")
    assert memory.flush()
    with memory.use(alice.name) as store, store.reading() as connection:
        rows = connection.exec_driver_sql("SELECT drawer, ordinal, start, stop FROM chunks ORDER BY 1, 2").fetchall()
    assert rows[:4] == [
        (1, 0, 0, len(REQUEST + ASIDE)),
        (1, 1, len(REQUEST), len(REQUEST + ASIDE)),
        (2, 0, 0, len(ASIDE)),
        (3, 0, 0, len(ASIDE)),
    ]
    assert len(rows) == 4 + 4 + 40
    assert alice.stats().vectors == alice.stats().chunks == 48


# Weights


def test_weights_are_those_of_the_settings_and_a_negative_one_turns_a_signal_round(asked):
    said = {"a": [user("Where is my robot?")], "b": [user("I built a robot.")]}
    assert order(asked(said, embedder=Meanings(robot=0.5), statement=2)) == [2, 1]
    assert order(asked(said, embedder=Meanings(robot=0.5), statement=-2)) == [1, 2]


def test_every_candidate_says_in_the_receipt_by_what_it_was_ranked(memory, alice):
    alice.track([user("I built a robot.")], session="a")
    memory.flush()
    given = alice.recall("Where is the robot?", session="t", threshold=0).receipt
    (found,) = given.candidates
    # These are told where the graph knows anything of it, where it is needed, and where the latest is asked for.
    assert set(found.signals) == set(RecallSettings().weights) - {"graph", "needed", "latest"}
    (found,) = alice.recall("Where is the latest robot?", session="t", threshold=0).receipt.candidates
    assert set(found.signals) == set(RecallSettings().weights) - {"graph", "needed"}
    assert all(0 <= value <= 1 for value in (*found.signals.values(), found.score))
    assert alice.receipt(given.number).candidates == given.candidates


def test_a_score_is_of_one_scale_whatever_was_said_and_found(asked):
    said = {"a": [user("I love the robot, it is my favourite."), assistant("The robot is red.")]}
    weights = dict.fromkeys(RecallSettings().weights, 1e6)
    assert all(0 <= each.score <= 1 for each in asked(said, "my robot?", embedder=HashEmbedder(), **weights))


def test_a_query_whose_vector_has_another_length_is_answered_by_words(asked):
    class Longer(Meanings):
        def embed_query(self, text):
            return [1.0, 0.0, 0.0]

    (found,) = asked({"a": [user("The robot is red.")]}, "the robot?", embedder=Longer(robot=0.9), keyword_weight=1)
    assert found.scores == {"keyword": 1.0}
