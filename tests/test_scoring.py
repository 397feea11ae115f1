"""Scores of rankings, against figures worked out by hand."""

from math import isclose, log2

import pytest

from langmem_tiers.bench.datasets import Gold, evidence_turns
from langmem_tiers.bench.scoring import (
    Answered,
    ndcg,
    recall_all,
    recall_any,
    reciprocal_rank,
    score,
    share_found,
    spread,
)

RANKED = [4, 4, 9, 4, 1, 9, 7, 2]  # distinct: 4, 9, 1, 7, 2


def gold(name, sessions, *, kind="a", turns=(), abstention=False):
    return Gold(
        question_id=name,
        question_type=kind,
        sessions=frozenset(sessions),
        turns=frozenset(turns),
        abstention=abstention,
    )


@pytest.mark.parametrize(("k", "found"), [(1, 0), (2, 0), (3, 1), (5, 1)])
def test_recall_any_counts_distinct_sessions(k, found):
    assert recall_any(RANKED, {1, 2}, k) == found


@pytest.mark.parametrize(("k", "found"), [(3, 0), (4, 0), (5, 1)])
def test_recall_all_wants_every_one(k, found):
    assert recall_all(RANKED, {1, 2}, k) == found


def test_the_share_found_is_a_share():
    assert share_found(RANKED, {1, 2, 3, 9}, 3) == 0.5


@pytest.mark.parametrize(("wanted", "value"), [({4}, 1), ({9}, 1 / 2), ({1, 2}, 1 / 3), ({5}, 0)])
def test_the_reciprocal_rank_is_that_of_the_first_gold(wanted, value):
    assert reciprocal_rank(RANKED, wanted) == value


def test_ndcg_by_hand():
    # Gold at places 3 and 5 of the distinct ranking; at best they would be at 1 and 2.
    by_hand = (1 / 2 + 1 / log2(6)) / (1 + 1 / log2(3))
    assert isclose(ndcg(RANKED, {1, 2}, 10), by_hand)
    assert isclose(ndcg(RANKED, {1, 2}, 3), (1 / 2) / (1 + 1 / log2(3)))


def test_ndcg_is_one_when_the_gold_comes_first_even_if_there_is_more_than_k():
    assert ndcg([1, 2, 3], {1, 2, 3}, 2) == 1


def test_an_empty_ranking_scores_nothing():
    assert [recall_any([], {1}, 5), recall_all([], {1}, 5), reciprocal_rank([], {1}), ndcg([], {1}, 5)] == [0] * 4


def test_means_are_taken_by_type_and_over_all():
    answers = [Answered(question_id="q1", sessions=[1, 2]), Answered(question_id="q2", sessions=[3, 2])]
    answers.append(Answered(question_id="q3", sessions=[]))
    scores = score(answers, [gold("q1", {1}), gold("q2", {2}), gold("q3", {1}, kind="b")])
    assert [(row.name, row.questions) for row in scores.rows] == [("a", 2), ("b", 1)]
    assert scores.rows[0].scores["MRR"] == 0.75
    assert scores.rows[1].scores["MRR"] == 0
    assert scores.overall.scores["MRR"] == 0.5
    assert scores.overall.scores["R@1"] == pytest.approx(1 / 3)


def test_questions_with_nothing_to_find_are_counted_apart():
    golds = [gold("q1", {1}), gold("q2", ()), gold("q3_abs", {1}, abstention=True), gold("q4", {1})]
    answers = [Answered(question_id=name, sessions=[1]) for name in ("q1", "q2", "q3_abs", "q9")]
    scores = score(answers, golds)
    assert scores.overall.questions == 1
    assert (scores.without_evidence, scores.abstention, scores.unanswered, scores.unknown) == (1, 1, 1, 1)


def test_turns_are_scored_where_log_and_data_name_them():
    golds = [gold("q1", {1}, turns={"1:1", "1:2"}), gold("q2", {1}, turns={"1:1"}), gold("q3", {1})]
    answers = [
        Answered(question_id="q1", sessions=[1], turns=["1:2"]),
        Answered(question_id="q2", sessions=[1]),
        Answered(question_id="q3", sessions=[1], turns=["1:2"]),
    ]
    assert score(answers, golds).overall.scores["turn R@10"] == 0.5


def test_an_answer_that_found_nothing_counts_as_a_miss_at_turn_level():
    scores = score([Answered(question_id="q1", sessions=[], turns=[])], [gold("q1", {1}, turns={"1:1"})])
    assert scores.overall.scores["turn R@10"] == 0


def test_an_empty_log_has_no_scores():
    scores = score([], [gold("q1", {1})])
    assert (scores.rows, scores.overall.questions, dict(scores.overall.scores)) == ((), 0, {})


@pytest.mark.parametrize(
    ("labels", "turns"),
    [
        (["D1:3"], {"D1:3"}),
        (["D8:6; D9:17"], {"D8:6", "D9:17"}),
        (["D9:1 D4:4 D4:6"], {"D9:1", "D4:4", "D4:6"}),
        (["D:11:26"], {"D11:26"}),
        (["D30:05"], {"D30:5"}),
        (["D"], set()),
        ([], set()),
        (None, set()),
        ("D1:2", {"D1:2"}),
    ],
)
def test_evidence_is_read_however_it_is_written(labels, turns):
    assert evidence_turns(labels) == turns


def test_percentiles_are_of_the_nearest_rank():
    times = spread([3, 1, 2, *range(4, 101)])
    assert (times.p50, times.p95) == (50, 95)
    assert spread([7]).p95 == 7
