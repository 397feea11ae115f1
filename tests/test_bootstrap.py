"""Bootstrap intervals: deterministic, around the mean, narrower with more questions."""

import json
from statistics import fmean

import pytest

from langmem_tiers.bench.datasets import Gold
from langmem_tiers.bench.scoring import Answered, interval, score
from langmem_tiers.cli.main import main

VALUES = [0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0, 1.0]


def test_the_interval_is_around_the_mean_and_within_the_values():
    found = interval(VALUES)
    assert 0 < found.low < fmean(VALUES) < found.high < 1


def test_the_same_seed_gives_the_same_interval():
    assert interval(VALUES, seed=3) == interval(VALUES, seed=3)
    assert interval(VALUES, resamples=50, seed=3) != interval(VALUES, resamples=50, seed=4)


def test_more_questions_make_it_narrower():
    few, many = interval(VALUES), interval(VALUES * 20)
    assert many.high - many.low < (few.high - few.low) / 3


def test_it_is_as_wide_as_the_normal_approximation_says():
    found = interval([0.0, 1.0] * 200)
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / 400**0.5, rel=0.1)


def test_one_value_leaves_no_room():
    found = interval([0.25])
    assert (found.low, found.high) == (0.25, 0.25)


def test_every_mean_of_a_table_has_its_interval_if_asked_for():
    golds = [Gold(question_id=str(n), question_type="a", sessions=frozenset({1})) for n in range(8)]
    answers = [Answered(question_id=str(n), sessions=[1, 2] if n % 4 else [2, 1]) for n in range(8)]
    assert score(answers, golds).overall.intervals == {}
    row = score(answers, golds, resamples=200).overall
    assert row.intervals.keys() == row.scores.keys()
    assert row.intervals["R@1"].low < row.scores["R@1"] < row.intervals["R@1"].high


def test_the_command_prints_them_below_the_means(tmp_path, capsys):
    data, log = tmp_path / "data.json", tmp_path / "log.jsonl"
    talk = {"session_1_date_time": "4:07 pm on 8 May, 2023", "session_1": []}
    asked = {"question": "Where?", "evidence": ["D1:1"], "category": 4}
    data.write_text(json.dumps([{"sample_id": "c", "qa": [asked], "conversation": talk}]))
    log.write_text(json.dumps({"question_id": "c:0", "sessions": [1]}) + "\n")
    with pytest.raises(SystemExit) as left:
        main(["bench", "score", "--dataset", "locomo", "--data", str(data), str(log), "--bootstrap"])
    assert left.value.code == 0
    assert "1.00-1.00" in capsys.readouterr().out
