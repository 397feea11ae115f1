"""The signals of ranking by hand-computed values, and what no text can do to them."""

import math
import time
from collections import defaultdict
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_tiers import Memory, RecallSettings, Turn
from langmem_tiers.language.first_person import PREFERS, TELLS, prefers, statements, tells
from langmem_tiers.language.questions import TimeSpan, asks_advice, spans
from langmem_tiers.matching import Covered, coverage, matched, rarity
from langmem_tiers.recall import scoring
from langmem_tiers.recall.scoring import DrawerSpeaker, asked, evidence, nearness
from langmem_tiers.writing import turns

DAY = 86_400_000
MONDAY = date(2026, 3, 2)
EVEN = RecallSettings(keyword_weight=0.5, vector_weight=0.5)


def held(said=(), place=()):
    return np.array(said, np.int64), np.array(place, np.int64)


# Coverage


def test_a_drawer_with_every_word_covers_the_query_and_one_with_the_rarer_word_more_of_it():
    rare, common = rarity(1, 1000), rarity(2, 1000)
    assert (rare, common) == pytest.approx((math.log(1 + 999.5 / 1.5), math.log(1 + 998.5 / 2.5)))
    found = coverage([held([7]), held([7, 9])], 1000).best(10)
    assert found == pytest.approx({7: 1.0, 9: common / (rare + common)})


def test_a_word_that_nothing_holds_is_a_part_of_the_query_all_the_same():
    (share,) = coverage([held([7]), held()], 1000).best(10).values()
    assert share == pytest.approx(rarity(1, 1000) / (rarity(1, 1000) + rarity(0, 1000)))


def test_a_word_in_the_name_of_a_place_counts_half_of_one_that_was_said():
    assert coverage([held([7], [8])], 1000).best(10) == pytest.approx({7: 1.0, 8: 0.5})


def test_in_a_small_memory_a_word_that_all_drawers_hold_still_tells():
    assert rarity(2, 2) == rarity(2, 200) > 0.7 * rarity(0, 2)


def test_the_rarity_of_a_word_falls_with_every_drawer_and_stays_above_zero():
    values = [rarity(holding, 1000) for holding in range(0, 1200, 100)]
    assert values == sorted(values, reverse=True)
    assert values[-1] > 0


def of(covered, drawers):
    """The share of each of these drawers."""
    return dict(zip(drawers, covered.of(np.array(drawers, np.int64)).tolist(), strict=True))


def test_no_words_and_words_that_are_nowhere_cover_nothing():
    for nothing in ([], [held()], [held(), held()]):
        found = coverage(nothing, 5)
        assert (found.best(10), of(found, [1, 2]), of(found, [])) == ({}, {1: 0.0, 2: 0.0}, {})


def test_the_best_come_first_and_of_equals_the_newest():
    found = coverage([held([1, 2, 3]), held([2])], 1000)
    assert list(found.best(10)) == [2, 3, 1]
    assert list(found.best(2)) == [2, 3]
    assert of(found, [9, 2, 0]) == pytest.approx({9: 0.0, 2: 1.0, 0: 0.0})


def plainly(words, total):
    """The same share, word by word and drawer by drawer."""
    weights = []
    gains = defaultdict(float)
    for said, place in words:
        having = len(said | place)
        rest = max(max(200, total) - having, 0)
        weight = math.log(1 + (rest + 0.5) / (having + 0.5))
        weights.append(weight)
        for drawer in said | place:
            gains[drawer] += weight if drawer in said else weight / 2
    return {drawer: gain / sum(weights) for drawer, gain in gains.items()}


DRAWERS = st.sets(st.integers(1, 40))


@given(st.lists(st.tuples(DRAWERS, DRAWERS), max_size=6), st.integers(0, 2000))
def test_coverage_is_that_of_a_plain_implementation(words, total):
    holding = [held(sorted(said), sorted(place - said)) for said, place in words]
    found = coverage(holding, total)
    expected = plainly(words, total)
    assert found.best(100) == pytest.approx(expected)
    assert of(found, range(45)) == pytest.approx({drawer: expected.get(drawer, 0.0) for drawer in range(45)})
    assert all(0 < share <= 1 + 1e-9 for share in expected.values())


@given(st.data())
def test_the_best_of_very_many_records_are_those_of_all_sorted(data):
    shares = np.array(data.draw(st.lists(st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0]), max_size=200)))
    found, most = Covered(np.arange(len(shares)) + 1, shares), data.draw(st.integers(1, 60))
    expected = sorted(zip((-shares).tolist(), (-found.numbers).tolist(), strict=True))[:most]
    assert list(found.best(most).items()) == [(-number, -share) for share, number in expected]


# Nonsense that neither the stemmer changes nor the palace tags.
WORDS = "bilox cramp dorv fump gliv hoxt jurb kliz mowd nurf plov quib".split()  # noqa: SIM905


@pytest.mark.parametrize("seed", range(5))
def test_keyword_scores_are_the_shares_of_a_plain_implementation(tmp_path, seed):
    drawn = np.random.default_rng(seed)
    odds = np.array([3 if place < 3 else 1 for place in range(len(WORDS))])
    corpus = [drawn.choice(WORDS, drawn.integers(3, 20), p=odds / odds.sum()).tolist() for _ in range(60)]
    query = drawn.choice(WORDS, 3, replace=False).tolist()
    with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=" ".join(said), message_id=str(n)) for n, said in enumerate(corpus)])
        found = alice.recall(" ".join(query), session="t", threshold=0).receipt.candidates
    holding = [({n for n, said in enumerate(corpus, 1) if word in said}, set()) for word in query]
    assert {each.drawer: each.scores["keyword"] for each in found} == pytest.approx(plainly(holding, 60), abs=1e-4)


# Who is asked about

LENA, TOM = DrawerSpeaker(role="user", speaker="Lena"), DrawerSpeaker(role="user", speaker="Tom")
USER, ASSISTANT, TOOL = (DrawerSpeaker(role=role, speaker=None) for role in ("user", "assistant", "tool"))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("What did Lena paint?", LENA),
        ("what did LENA’S sister say to me?", LENA),
        ("What did Lena and Tom do?", None),
        ("What did Lena and Tom tell me?", None),
        ("What did you recommend?", ASSISTANT),
        ("Can you remind me of the book you told me about?", ASSISTANT),
        ("What was it in our last conversation?", ASSISTANT),
        ("What did I tell you of my job?", USER),
        ("Where do I live?", USER),
        ("Where’s my key?", USER),
        ("When did we move?", USER),
        ("I'm hungry: any ideas for dinner?", None),
        ("Who painted the fence?", None),
        ("Is Lenard here?", None),
        ("", None),
    ],
)
def test_a_query_is_after_the_words_of_one_voice_or_of_none(query, wanted):
    about = asked(query, {"Lena", "Tom"})
    assert {voice for voice in (LENA, TOM, USER, ASSISTANT, TOOL) if about(voice)} == (
        {LENA, TOM, USER} if wanted is USER else {wanted} - {None}
    )


def test_a_speaker_without_a_word_in_the_name_is_never_named():
    assert asked("Who is it?", {"", "...", "👍"})(DrawerSpeaker(role="user", speaker="👍")) == 0


# Advice


@pytest.mark.parametrize(
    "query",
    [
        "Can you recommend a restaurant?",
        "Any tips for Lisbon?",
        "What should I cook tonight?",
        "Should I take the train?",
        "I am looking for a new phone.",
        "which of these two hotels should we book?",
        "any good books?",
    ],
)
def test_these_ask_for_advice(query):
    assert asks_advice(query)


@pytest.mark.parametrize("query", ["", "Where do I live?", "What is the advisory board?", "Which year was it?"])
def test_these_do_not(query):
    assert not asks_advice(query)


# Sessions


def test_the_evidence_of_a_session_is_its_best_match_and_the_mean_of_the_three_behind_it():
    rooms = np.array([1, 2, 1, 1, 1, 1, 3, 3], np.int32)
    best, support = evidence(rooms, np.array([0.3, 0.9, 0.6, 0.9, 0.3, 0.2, 0.5, 0.4]))
    of_each = {1: (0.9, (0.6 + 0.3 + 0.3) / 3), 2: (0.9, 0.0), 3: (0.5, 0.4 / 3)}
    assert best.tolist() == [of_each[room][0] for room in rooms.tolist()]
    assert support.tolist() == pytest.approx([of_each[room][1] for room in rooms.tolist()])
    assert [len(each) for each in evidence(np.zeros(0, np.int32), np.zeros(0))] == [0, 0]


# Times


def days(start, stop, margin, **more):
    return TimeSpan(start=(start - date(1970, 1, 1)).days, stop=(stop - date(1970, 1, 1)).days, margin=margin, **more)


@pytest.mark.parametrize(
    ("query", "span"),
    [
        ("What did I do yesterday?", days(date(2026, 3, 1), date(2026, 3, 2), 4)),
        ("What did I do last week?", days(date(2026, 2, 23), date(2026, 2, 24), 4)),
        ("Who called two weeks ago?", days(date(2026, 2, 16), date(2026, 2, 17), 4)),
        ("What did I cook on 7 May 2025?", days(date(2025, 5, 7), date(2025, 5, 8), 4)),
        ("What did I read last month?", days(date(2026, 2, 1), date(2026, 3, 1), 10, strict=True)),
        ("What did I read in December?", days(date(2025, 12, 1), date(2026, 1, 1), 10, strict=True)),
        ("Where did I live in 2024?", days(date(2024, 1, 1), date(2025, 1, 1), 20)),
        ("the last 3 days", days(date(2026, 2, 27), date(2026, 3, 3), 2)),
        ("over the past two weeks", days(date(2026, 2, 16), date(2026, 3, 3), 3.5)),
        ("in the PAST COUPLE OF weeks", days(date(2026, 2, 16), date(2026, 3, 3), 3.5)),
        ("during the last few days", days(date(2026, 2, 26), date(2026, 3, 3), 2)),
        ("How much since the start of the year?", days(date(2026, 1, 1), date(2026, 3, 3), 10)),
        ("How many books this year?", days(date(2026, 1, 1), date(2026, 3, 3), 10)),
    ],
)
def test_a_time_in_a_query_is_resolved_against_the_day_of_asking(query, span):
    assert spans(query, MONDAY) == (span,)


@pytest.mark.parametrize("query", ["", "Where do I live?", "What am I to do tomorrow?", "next month", "the last day"])
def test_a_query_that_speaks_of_no_past_time_has_no_span(query):
    assert spans(query, MONDAY) == ()


def test_several_times_in_a_query_are_several_spans_each_once():
    found = spans("In January or in February? In January? Over the past 2 years? Over the past 2 years?", MONDAY)
    assert sorted(span.margin for span in found) == [10, 10, pytest.approx(365.25 / 2)]


def test_only_the_beginning_of_a_very_long_query_is_read_for_times():
    assert spans("so it goes " * 2000 + "yesterday or over the past 2 years", MONDAY) == ()


@pytest.mark.parametrize("asked_on", [date.min, date(4, 2, 29), date(2026, 12, 31), date.max])
@pytest.mark.parametrize("query", ["12 years ago", "last December", "the last 999 years", "in 12 months", "yesterday"])
def test_no_day_of_asking_is_too_early_or_too_late(query, asked_on):
    assert all(math.isfinite(span.start) and span.margin > 0 for span in spans(query, asked_on))


def test_nearness_is_one_within_a_span_and_falls_to_zero_at_its_margin():
    said_at = np.array([day * DAY for day in (10, 12, 15, 17, 19, 25, 5, 0)], np.int64)
    (near, either) = (
        nearness([TimeSpan(start=10, stop=15, margin=4)], said_at),
        nearness([TimeSpan(start=10, stop=15, margin=4), TimeSpan(start=24, stop=26, margin=2)], said_at),
    )
    assert near.tolist() == pytest.approx([1, 1, 1, 0.5, 0, 0, 0, 0])
    assert either.tolist() == pytest.approx([1, 1, 1, 0.5, 0, 1, 0, 0])
    assert nearness([], said_at).tolist() == [0] * 8


# Statements


def told(text):
    return [text[slice(*span)] for span in statements(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Any ideas for lunch? By the way, I moved to Lisbon.", ["By the way, I moved to Lisbon."]),
        ("It rained. My dog hated it!\nWe’re home.  Is ours dry?", ["My dog hated it!", "Is ours dry?"]),
        ("I’ve got a cat and a dog", ["I’ve got a cat and a dog"]),
        (
            "I moved to Lisbon\nMy dog is Rex\r\nWe like it\n\nit rains",
            ["I moved to Lisbon", "My dog is Rex", "We like it"],
        ),
        ("My tastes:\n- I like tea\n* I hate rain.\n • We own a boat", ["I like tea", "I hate rain.", "We own a boat"]),
        ("1. I like tea\n2. I hate rain", ["I like tea", "I hate rain"]),
        ("- my dog\n- our two dogs", ["our two dogs"]),
        (f"I {'really ' * 8}like\ntea. It rained.", [f"I {'really ' * 8}like\ntea."]),
        (f"I {'really ' * 8}like it\nI hate tea", [f"I {'really ' * 8}like it", "I hate tea"]),
        ("I see. Oh my.", []),
        ("In Italy it rained all day. Tim won his game.", []),
        ("Ich wohne in Bonn. J’habite à Paris. 我住在北京。", []),
        ("", []),
        (" \n ", []),
    ],
)
def test_statements_are_the_first_person_sentences_of_a_text(text, found):
    assert told(text) == found


def test_a_pasted_text_has_no_statements_and_a_long_list_of_them_is_cut():
    assert statements("I like tea. " * 400) == ()
    assert len(statements("I like tea. " * 300)) == 40


@given(st.text(alphabet=st.sampled_from("I my we . ? ! \n ’ x 你 \u0301 👍"), max_size=200))
def test_spans_of_statements_are_in_order_apart_and_within_the_text(text):
    found = statements(text)
    places = [place for span in found for place in span]
    assert places == sorted(places)
    assert all(0 <= start < stop <= len(text) for start, stop in found)


def test_a_question_in_the_first_person_tells_nothing():
    assert (tells("I moved to Lisbon."), tells("Where is my key? "), tells("")) == (True, False, True)


@pytest.mark.parametrize("sentence", ["I love tea.", "My favourite is jazz", "I always walk.", "We can't stand noise."])
def test_these_speak_of_a_like_a_dislike_or_a_habit(sentence):
    assert prefers(sentence)


@pytest.mark.parametrize("sentence", ["I moved to Lisbon.", "My glove is lost.", ""])
def test_these_do_not_speak_of_one(sentence):
    assert not prefers(sentence)


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("It rained.", 0),
        ("Do I love tea?", 0),
        ("I moved to Lisbon.", TELLS),
        ("I moved to Lisbon. Do I love it?", TELLS),
        ("I moved to Lisbon. I love it.", TELLS | PREFERS),
    ],
)
def test_what_a_message_states_is_kept_as_bits(text, bits):
    assert turns.states(text, statements(text)) == bits


def test_only_users_and_who_has_a_name_speak_of_themselves():
    text = "I moved to Lisbon."
    speakers = [("user", None), ("assistant", None), ("assistant", "Lena"), ("tool", None)]
    assert [len(turns.statements_of(text, role=role, origin=None, speaker=name)) for role, name in speakers] == [
        1,
        0,
        1,
        0,
    ]


# The match of a drawer

NOT_JUDGED = math.nan


def test_two_channels_are_weighed():
    assert matched(1.0, 0.5, EVEN) == pytest.approx(0.75)
    assert matched(1.0, 0.5, RecallSettings(keyword_weight=3, vector_weight=1)) == pytest.approx(0.875)
    assert matched(0.8, 0.4, RecallSettings(keyword_weight=0, vector_weight=2)) == pytest.approx(0.4)


def test_a_channel_that_could_not_judge_leaves_the_other_its_own_scale_whatever_its_weight():
    assert matched(0.8, NOT_JUDGED, EVEN) == pytest.approx(0.8)
    assert matched(NOT_JUDGED, 0.3, RecallSettings(keyword_weight=9, vector_weight=0.1)) == pytest.approx(0.3)


def test_a_channel_that_says_no_counts():
    assert matched(0.0, 0.6, EVEN) == pytest.approx(0.3)


def test_opposite_vectors_count_as_none_and_no_channel_as_zero():
    assert matched(1.0, -0.4, EVEN) == pytest.approx(0.5)
    assert matched(NOT_JUDGED, NOT_JUDGED, EVEN) == 0.0


def test_without_any_weight_the_best_channel_decides():
    assert matched(0.2, 0.9, RecallSettings(keyword_weight=0, vector_weight=0)) == pytest.approx(0.9)


# The score


def odds(signals, factors=None, **weights):
    score = scoring.score(signals, factors or {}, RecallSettings(weights=weights))
    assert 0 < score < 1
    return score / (1 - score)


def test_signals_add_up_in_the_log_odds_by_their_weights():
    base = odds({}, match=2, time=1)
    one = math.log(odds({"time": 1}, match=2, time=1) / base)
    assert one > 0
    assert math.log(odds({"match": 1}, match=2, time=1) / base) == pytest.approx(2 * one)
    assert math.log(odds({"match": 0.5, "time": 0.25}, match=2, time=1) / base) == pytest.approx(1.25 * one)


def test_a_signal_without_a_weight_and_a_weight_without_a_signal_count_for_nothing():
    assert odds({"match": 0.5, "other": 1}, match=2, time=9) == pytest.approx(odds({"match": 0.5}, match=2))


def test_factors_multiply_the_odds():
    plain = odds({"match": 0.5}, match=8)
    assert odds({"match": 0.5}, {"own_space": 1.2, "trust": 0.5}, match=8) == pytest.approx(0.6 * plain)


@pytest.mark.parametrize(("weight", "expected"), [(1e9, 1.0), (-1e9, 0.0)])
def test_no_weight_is_too_large(weight, expected):
    assert scoring.score({"match": 1}, {}, RecallSettings(weights={"match": weight})) == pytest.approx(expected)


def test_what_is_not_trusted_at_all_scores_nothing():
    for weight in (-1e9, 8, 1e9):
        assert scoring.score({"match": 1}, {"trust": 0.0}, RecallSettings(weights={"match": weight})) == 0


# Factors


def test_recency_halves_with_every_half_life():
    chosen = RecallSettings(recency_weight=0.1, recency_half_life_days=30)
    ages = [0, 30 * DAY, 60 * DAY, 3_000_000 * DAY]
    found = [scoring.factors(own=True, trust=1.0, age=age, settings=chosen)["recency"] for age in ages]
    assert found == pytest.approx([1.1, 1.05, 1.025, 1.0])


def test_what_is_said_in_the_future_is_as_recent_as_now():
    assert scoring.factors(own=True, trust=1.0, age=-5 * DAY, settings=EVEN)["recency"] == 1.05


def test_the_own_space_is_boosted_and_others_are_not():
    assert scoring.factors(own=True, trust=1.0, age=0, settings=EVEN)["own_space"] == 1.2
    assert scoring.factors(own=False, trust=1.0, age=0, settings=EVEN)["own_space"] == 1.0


def test_trust_goes_by_origin_and_what_is_unknown_is_trusted_least():
    chosen = RecallSettings(trust={"user": 1.0, "tool": 0.7})
    assert [scoring.trust(each, chosen) for each in ("user", "tool", "?")] == [1.0, 0.7, 0.7]
    assert scoring.trust("user", RecallSettings(trust={})) == 1.0


# No text is too much

REPEATED = [
    "a",
    " ",
    "\n",
    "I ",
    "i'",
    "you ",
    "which ",
    "last ",
    "the last 3 days ",
    "2023-05-07 ",
    ". ",
    "你",
    "\u0301",
]


@pytest.mark.parametrize("size", [100_000, 1_000_000])
@pytest.mark.parametrize("unit", REPEATED)
def test_no_repetition_takes_long(unit, size):
    text = (unit * size)[:size]
    started = time.process_time()
    asks_advice(text)
    asked(text, {"Lena", "you", ""})
    nearness(spans(text, MONDAY), np.zeros(100, np.int64))
    statements(text)
    statements(text[:4000])
    prefers(text[:4000])
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "\ud800", "我上周做了什么?", "Что я ел вчера?", "١٢ مارس", "\u0301" * 99, "last ٣ days"]
)
def test_any_script_is_read(text):
    assert isinstance(asks_advice(text), bool)
    assert asked(text, {"Ли", "我"})(USER) in {0, 1}
    assert all(span.start < span.stop for span in spans(text, MONDAY))
    assert told(text) == []


@pytest.mark.parametrize("padding", ["the last 3 days ", "did you recommend ", "Lena ", "你"])
def test_a_question_of_a_megabyte_is_answered_in_time(tmp_path, padding):
    with Memory.open(tmp_path, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="The robot is red.")])
        started = time.process_time()
        alice.recall(f"Where is the robot? {padding * (1_000_000 // len(padding))}", session="t", keep_receipt=False)
        assert time.process_time() - started < 3
