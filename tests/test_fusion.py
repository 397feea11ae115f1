"""Fusion by hand-computed values, and BM25 against an implementation of its own."""

import math
import random
from collections import Counter

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.recall.fusion import factors, fused, normalised
from langmem_tiers.settings import RecallSettings

EVEN = RecallSettings(keyword_weight=0.5, vector_weight=0.5)
DAY = 86_400_000


# Normalisation


def test_the_largest_score_becomes_one_and_the_others_their_share_of_it():
    assert normalised({1: 8.0, 2: 2.0, 3: 0.0}, "max", 3) == {1: 1.0, 2: 0.25, 3: 0.0}


def test_scores_that_are_all_zero_or_none_at_all_have_no_largest():
    assert normalised({1: 0.0, 2: -0.5}, "max", 1) == {1: 0.0, 2: 0.0}
    assert normalised({}, "max", 1) == normalised({}, "saturation", 1) == normalised({}, "rank", 1) == {}


def test_saturation_is_a_half_at_twice_the_root_of_the_words_asked_for():
    assert normalised({1: 2.0, 2: 6.0, 3: -1.0}, "saturation", 1) == {1: 0.5, 2: 0.75, 3: 0.0}
    assert normalised({1: 4.0}, "saturation", 4) == {1: 0.5}
    assert normalised({1: 2.0}, "saturation", 0) == {1: 0.5}


def test_rank_is_the_reciprocal_of_sixty_and_the_place_on_a_scale_to_one():
    ranked = normalised({7: 0.1, 8: 9.0, 9: 3.0}, "rank", 1)
    assert ranked == {8: 1.0, 9: 61 / 62, 7: 61 / 63}


@pytest.mark.parametrize("how", ["max", "saturation", "rank"])
def test_every_normalisation_keeps_the_order_and_stays_between_zero_and_one(how):
    scores = dict(enumerate([0.3, 7.2, 1.1, 4.4]))
    after = normalised(scores, how, 2)
    assert sorted(scores, key=scores.__getitem__) == sorted(after, key=after.__getitem__)
    assert all(0 <= value <= 1 for value in after.values())


# Fusion


def test_two_channels_are_weighed():
    assert fused(1.0, 0.5, EVEN) == pytest.approx(0.75)
    assert fused(1.0, 0.5, RecallSettings(keyword_weight=3, vector_weight=1)) == pytest.approx(0.875)
    assert fused(0.8, 0.4, RecallSettings(keyword_weight=0, vector_weight=2)) == pytest.approx(0.4)


def test_a_lone_channel_keeps_its_own_scale_whatever_its_weight():
    assert fused(0.8, None, EVEN) == pytest.approx(0.8)
    assert fused(None, 0.3, RecallSettings(keyword_weight=9, vector_weight=0.1)) == pytest.approx(0.3)


def test_a_channel_that_says_no_counts_and_one_that_can_not_judge_does_not():
    assert fused(0.0, 0.6, EVEN) == pytest.approx(0.3)
    assert fused(None, 0.6, EVEN) == pytest.approx(0.6)


def test_opposite_vectors_count_as_none_and_no_channel_as_zero():
    assert fused(1.0, -0.4, EVEN) == pytest.approx(0.5)
    assert fused(None, None, EVEN) == 0.0


def test_without_any_weight_the_best_channel_decides():
    assert fused(0.2, 0.9, RecallSettings(keyword_weight=0, vector_weight=0)) == pytest.approx(0.9)


# Factors


def test_recency_halves_with_every_half_life():
    settings = RecallSettings(recency_weight=0.1, recency_half_life_days=30)
    ages = [0, 30 * DAY, 60 * DAY, 3_000_000 * DAY]
    found = [factors(own=True, origin="user", age=age, settings=settings)["recency"] for age in ages]
    assert found == pytest.approx([1.1, 1.05, 1.025, 1.0])


def test_what_is_said_in_the_future_is_as_recent_as_now():
    assert factors(own=True, origin="user", age=-5 * DAY, settings=EVEN)["recency"] == 1.05


def test_the_own_space_is_boosted_and_others_are_not():
    assert factors(own=True, origin="user", age=0, settings=EVEN)["own_space"] == 1.2
    assert factors(own=False, origin="user", age=0, settings=EVEN)["own_space"] == 1.0


def test_trust_goes_by_origin_and_what_is_unknown_is_trusted_least():
    settings = RecallSettings(trust={"user": 1.0, "tool": 0.7})
    trusted = [factors(own=True, origin=origin, age=0, settings=settings)["trust"] for origin in ("user", "tool", "?")]
    assert trusted == [1.0, 0.7, 0.7]
    assert factors(own=True, origin="user", age=0, settings=RecallSettings(trust={}))["trust"] == 1.0


# BM25 against an implementation of its own


def bm25(corpus: list[list[str]], query: list[str], k1: float = 1.2, b: float = 0.75) -> dict[int, float]:
    """Okapi BM25 with the idf of FTS5: never below a millionth."""
    average = sum(map(len, corpus)) / len(corpus)
    scores = {}
    for number, document in enumerate(corpus, 1):
        held = Counter(document)
        score = 0.0
        for term in query:
            having = sum(term in other for other in corpus)
            idf = max(math.log((len(corpus) - having + 0.5) / (having + 0.5)), 1e-6)
            frequency = held[term]
            score += idf * frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * len(document) / average))
        if set(query) & set(document):
            scores[number] = score
    return scores


# Nonsense that neither the stemmer changes nor the palace tags.
WORDS = "bilox cramp dorv fump gliv hoxt jurb kliz mowd nurf plov quib".split()  # noqa: SIM905


@pytest.mark.parametrize("seed", range(5))
def test_keyword_scores_are_those_of_okapi_bm25(tmp_path, seed):
    drawn = random.Random(seed)
    common = [3 if place < 3 else 1 for place in range(len(WORDS))]
    corpus = [drawn.choices(WORDS, common, k=drawn.randint(3, 20)) for _ in range(60)]
    query = drawn.sample(WORDS, 3)
    settings = Settings(recall=RecallSettings(recency_weight=0, own_space_boost=1, candidates=100))
    with Memory.open(tmp_path / "m", embedder=None, settings=settings, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=" ".join(words), message_id=str(n)) for n, words in enumerate(corpus)])
        found = alice.recall(" ".join(query), session="t").receipt.candidates
    expected = bm25(corpus, query)
    largest = max(expected.values())
    assert {each.drawer: each.scores["keyword"] for each in found} == pytest.approx(
        {number: score / largest for number, score in expected.items()}, abs=2e-4
    )
