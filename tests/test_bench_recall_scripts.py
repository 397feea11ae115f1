"""The scripts that measure recall's ranking, its gate and its blocks: they run, and their arithmetic is right."""

import json
import subprocess
import sys

import numpy as np
import pytest
from bench_sets import LOCOMO, LONGMEMEVAL, write
from conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from calibration import calibration_error, logistic, platt, reliability
from signals import difference, without_statements
from token_economy import stands

from langmem_tiers import Turn


@pytest.fixture
def run(tmp_path, offline_environment):
    """Runs a script over both tiny sets; gives the rows of its results by the end of the file's name."""
    locomo, longmemeval = write(tmp_path / "lo.json", LOCOMO), write(tmp_path / "lm.json", LONGMEMEVAL)

    def script(name, *arguments):
        given = ["--dataset", "locomo", "--data", locomo, "--dataset", "longmemeval", "--data", longmemeval]
        more = ["--work", tmp_path / "work", "--embedder", "hash", "--out", tmp_path / "runs" / "made.json"]
        command = [sys.executable, ROOT / "benchmarks" / name, *given, *more, *arguments]
        ended = subprocess.run(
            [str(part) for part in command],
            env=offline_environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        made = (tmp_path / "runs").glob("*.json")
        return {path.stem.removeprefix("made"): json.loads(path.read_text())["rows"] for path in made}

    return script


@pytest.mark.slow
def test_a_ranking_without_a_signal_is_set_beside_that_of_all(run):
    rows = run("signals.py")[""]
    of_locomo = {row["ranking"]: row for row in rows if row["set"] == "locomo"}
    assert of_locomo["all signals"]["any@5"] == "100.0"
    assert of_locomo["without match"]["any@5"] == "+0.0 [+0.0, +0.0]"
    assert {"match: words only", "match: vectors only", "no statement vectors"} <= of_locomo.keys()
    assert {row["set"] for row in rows} == {"locomo", "longmemeval"}


@pytest.mark.slow
def test_a_higher_threshold_keeps_more_out_and_loses_more(run):
    rows = run("nothing_gate.py")
    curve = [row for row in rows[""] if row["set"] == "locomo" and row["opened by"] == "each item"]
    for name, direction in (("small talk: no block", 1), ("any gold shown", -1), ("tokens", -1)):
        found = [direction * row[name] for row in curve]
        assert found == sorted(found)
    assert curve[0]["any gold shown"] == 100
    assert curve[0]["adversarial: no block"] == 0
    assert [row["set"] for row in rows["_scaling"]][:2] == ["locomo", "longmemeval"]
    assert sum(row["candidates"] for row in rows["_reliability"] if row["set"] == "locomo") > 0


@pytest.mark.slow
def test_a_larger_budget_shows_no_less_of_the_evidence(run):
    rows = [row for row in run("token_economy.py", "--threshold", 0)[""] if row["set"] == "longmemeval"]
    own_order = [row for row in rows if (row["characters"], row["limit"], row["alpha"]) == ("whole", 50, "0")]
    small, middle, large = (row["evidence shown"] for row in own_order)
    assert 0 < small <= middle <= large
    assert [row["budget"] for row in own_order] == [200, 500, 1000]
    assert all(0 < row["tokens"] <= row["budget"] for row in own_order)
    assert own_order[-1]["answer stands there"] == "100.0 of 1"


@pytest.mark.slow
def test_a_sheet_for_a_reader_holds_no_answers_and_its_verdicts_are_counted_by_type(run, tmp_path):
    sheet, verdicts = tmp_path / "sheet.jsonl", tmp_path / "verdicts.jsonl"
    run("reading.py", "--sample", 3, "--sample", 3, "--sheet", sheet)
    read = [json.loads(line) for line in sheet.read_text().splitlines()]
    key = [json.loads(line) for line in sheet.with_suffix(".key.jsonl").read_text().splitlines()]
    assert [each.keys() for each in read] == [{"row", "asked_at", "question", "block"}] * len(read)
    assert {each["row"]: each["answer"] for each in key}.keys() == {each["row"] for each in read}
    cat = next(each for each in read if "cat" in each["question"])
    assert "has the name Mug" in cat["block"]
    assert key[cat["row"] - 1]["answer"] == "Mug"
    wrong = {"verdict": "wrong", "cause": "cut", "useful": 0, "items": 4}
    judged = [{"row": each["row"], **wrong} for each in read]
    judged[cat["row"] - 1] |= {"verdict": "right", "cause": "", "useful": 4}
    verdicts.write_text("\n".join(map(json.dumps, judged)))
    rows = run("reading.py", "--sheet", sheet, "--verdicts", verdicts)[""]
    assert (rows[0]["n"], rows[0]["wrong"], rows[0]["cut"]) == (len(read), len(read) - 1, len(read) - 1)
    assert rows[0]["right %"] == rows[0]["useful items %"] == pytest.approx(100 / len(read))
    assert sum(row["n"] for row in rows if row["questions of"] in ("list", "other")) == len(read)


def test_a_copy_without_statements_finds_an_aside_by_the_whole_message_only(alice):
    aside = "By the way, I moved to Lisbon."
    alice.track(
        [Turn(role="user", content=f"Any ideas for lunch at the office? {aside}")], session="s"
    ).raise_rejected()
    alice.flush()
    with without_statements(alice) as copied:
        nearer, farther = (
            space.recall(aside, keep_receipt=False).receipt.candidates[0].scores["vector"] for space in (alice, copied)
        )
    assert farther < nearer == pytest.approx(1)


def test_the_interval_of_a_difference_pairs_the_questions():
    base = {str(number): number % 2 for number in range(100)}
    assert difference(base, base, seed=1).high == 0
    better = {name: value + 0.25 for name, value in base.items()}
    found = difference(better, base, seed=1)
    assert (found.low, found.high) == (0.25, 0.25)  # the questions differ much, each pair by the same


def test_the_interval_of_a_difference_is_the_same_for_a_seed():
    one, base = {"a": 1.0, "b": 0.0, "c": 1.0}, {"a": 0.0, "b": 1.0, "c": 1.0}
    assert difference(one, base, seed=3) == difference(one, base, seed=3)


def test_the_scaling_of_made_up_sums_is_recovered():
    rng = np.random.default_rng(1)
    sums, known = rng.normal(10, 4, 200_000), rng.normal(0, 1, 200_000)
    right = (rng.random(200_000) < logistic(0.5 * sums - 6 + known)).astype(float)
    found = platt(sums, right, known)
    assert (found.slope, found.offset) == (pytest.approx(0.5, abs=0.01), pytest.approx(-6, abs=0.1))


def test_a_scaling_is_found_where_the_sums_part_right_from_wrong():
    found = platt(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.0, 1.0, 1.0]))
    assert 0 < found.slope < 2  # and not without bound


def test_a_weight_counts_as_so_many_of_the_same():
    sums, right = np.array([0.0, 1.0, 2.0, 3.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0, 0.0])
    once = platt(sums, right, weights=np.full(5, 1.0))
    assert platt(sums, right, weights=np.full(5, 7.0)).slope == pytest.approx(once.slope)
    assert platt(sums, right, weights=np.array([1.0, 9, 1, 1, 1])).offset > once.offset


def test_reliability_sets_predictions_beside_what_was_right():
    scores, right = np.array([0.1, 0.3, 0.5, 1.0]), np.array([0.0, 1.0, 1.0, 1.0])
    low, high = reliability(scores, right, (0, 0.5, 1))
    assert (low.count, low.predicted, low.right) == (2, pytest.approx(0.2), 0.5)
    assert (high.count, high.predicted, high.right) == (2, pytest.approx(0.75), 1.0)
    assert calibration_error([low, high]) == pytest.approx(0.275)


def test_an_answer_stands_in_a_text_as_whole_words():
    assert stands("Blue  Note", "we met at the blue\n  note in May")
    assert not stands("red", "he was hired")
    assert stands("$400,000", "for $400,000.")
