"""Grown haystacks: which sessions may be added, in which order, how many, and what the log says of them."""

import json

import pytest

from langmem_tiers import Memory, RecallSettings, Settings, StorageSettings
from langmem_tiers.bench.asking import Plan
from langmem_tiers.bench.datasets import read_gold, read_grown_cases
from langmem_tiers.bench.grown import SPACE, Growth, ask_grown, base_for, survey
from langmem_tiers.bench.retrieval import GrownBy, Run, prepare_base, run_retrieval
from langmem_tiers.bench.scoring import Answered, read_answers, score
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput, StorageError, UnreadableFile
from langmem_tiers.models.embedder import resolve
from langmem_tiers.testing import HashEmbedder

# Every session matches every question, and enough candidates are taken for all of them to come back.
ALL = RecallSettings(candidates=1000, min_similarity=-1)


def question(name, sessions, answers, *, month, marked=()):
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": f"Which bicycle did I buy, was it {answers[0]}?",
        "question_date": "2023/05/30 (Tue) 10:00",
        "answer": "",
        "answer_session_ids": answers,
        "haystack_session_ids": sessions,
        "haystack_dates": [f"2023/{month:02}/{day:02} (Mon) 08:00" for day in range(1, len(sessions) + 1)],
        "haystack_sessions": [
            [
                {"role": "user", "content": f"My bicycle is called {session}.", "has_answer": session in marked},
                {"role": "assistant", "content": f"A bicycle of the name {session}, how nice."},
            ]
            for session in sessions
        ],
    }


QUESTIONS = [
    question("q2", ["s3", "both", "gold", "s4"], ["gold"], month=7),
    question("q1", ["answer_1", "s1", "s2", "both"], ["answer_1"], month=3),
    question("q3", ["marked", "s5", "answer_stray", "gold", "s6"], ["answer_3"], month=4, marked=["marked"]),
]
POOL = {"s1", "s2", "s3", "s4", "s5", "s6", "both"}


@pytest.fixture
def write(tmp_path):
    """Writes questions to a file."""

    def written(questions=QUESTIONS, name="data.json"):
        path = tmp_path / name
        path.write_text(json.dumps(questions))
        return path

    return written


@pytest.fixture
def plan(write, tmp_path):
    """A grown run by keywords alone, in which everything comes back."""

    def make(grow=3, *, questions=QUESTIONS, **options):
        choices = {"out": tmp_path / "out.jsonl", "work": tmp_path / "work", "settings": Settings(recall=ALL)}
        return Run(dataset="longmemeval", data=write(questions), vectors=False, grow=grow, **{**choices, **options})

    return make


def logged(run):
    return {line["question_id"]: line for line in map(json.loads, run.out.read_text().splitlines())}


def others(line):
    return {session for session in line["sessions"] if isinstance(session, str)}


def own(line):
    return {session for session in line["sessions"] if isinstance(session, int)}


def bases(run):
    return [folder for folder in (run.work / "grown").iterdir() if folder.is_dir()]


def contents(base, stop):
    return [[message.content for message in session.messages] for session in base.sessions.sessions(0, stop)]


# The pool


def test_what_may_answer_any_question_is_never_in_the_pool(write):
    assert set(survey(write(), seed=0).order) == POOL


def test_the_order_comes_from_names_and_seed_alone(write):
    order = survey(write(), seed=0).order
    assert order == ("s3", "s5", "s6", "s4", "both", "s1", "s2")
    assert survey(write(QUESTIONS[::-1]), seed=0).order == order
    assert survey(write(), seed=1).order != order


def test_a_smaller_growth_is_the_beginning_of_a_larger_one(write, tmp_path):
    small, large = (
        base_for(Growth(data=write(), others=many), work=tmp_path, settings=Settings(), embedder=None)
        for many in (2, 6)
    )
    assert contents(small, 2) == contents(large, 6)[:2]


@pytest.mark.parametrize("questions", [QUESTIONS, QUESTIONS[::-1]])
def test_a_shared_session_has_the_date_of_the_first_question_by_id(plan, questions):
    prepare_base(run := plan(grow=7, questions=questions))
    [base] = bases(run)
    with Memory.open(base / "memory", embedder=None, background=False) as memory:
        [said_at] = {d.said_at.date() for d in memory.space(SPACE).drawers() if "called both" in d.content}
    assert said_at.isoformat() == "2023-03-04"


def test_no_name_of_the_file_reaches_memory_or_log(plan):
    questions = json.loads(json.dumps(QUESTIONS).replace("called answer_", "called ").replace("name answer_", "name "))
    run_retrieval(run := plan(questions=questions))
    [base] = bases(run)
    with Memory.open(base / "memory", embedder=None, background=False) as memory:
        assert {session.session for session in memory.space(SPACE).sessions()} == {"other:0", "other:1", "other:2"}
    assert "answer_" not in run.out.read_text()


# How many


@pytest.mark.parametrize("grow", [1, 2, 4])
def test_as_many_others_are_there_as_asked_for_whatever_is_shared(plan, grow):
    report = run_retrieval(run := plan(grow))
    assert [len(others(line)) for line in logged(run).values()] == [grow] * 3
    assert [line["others"] for line in logged(run).values()] == [grow] * 3
    assert report.grown == GrownBy(fewest=grow, most=grow, pool=7)


@pytest.mark.parametrize("grow", [1, 7])
def test_the_own_haystack_is_whole_and_in_numbers(plan, grow):
    run_retrieval(run := plan(grow))
    assert {name: own(line) for name, line in logged(run).items()} == {
        "q1": {0, 1, 2, 3},
        "q2": {0, 1, 2, 3},
        "q3": {0, 1, 2, 3, 4},
    }


def test_no_message_is_there_twice(plan):
    run_retrieval(run := plan(7))
    assert all(len(line["drawers"]) == 2 * len(line["sessions"]) for line in logged(run).values())


def test_a_session_that_a_haystack_has_twice_stays_there_twice(plan):
    twice = question("q4", ["s1", "answer_4", "s1"], ["answer_4"], month=1)
    run_retrieval(run := plan(7, questions=[*QUESTIONS, twice]))
    assert own(logged(run)["q4"]) == {0, 1, 2}
    assert len(others(logged(run)["q4"])) == 6


def test_more_than_there_are_means_all_there_are(plan):
    report = run_retrieval(run := plan(100))
    assert {name: len(others(line)) for name, line in logged(run).items()} == {"q1": 4, "q2": 4, "q3": 5}
    assert report.grown == GrownBy(fewest=4, most=5, pool=7)


def test_sessions_after_the_question_compete_as_well(plan):
    run_retrieval(run := plan(1))
    assert own(logged(run)["q2"]) == {0, 1, 2, 3}  # of July, asked in May


# The log


def test_turns_name_own_messages_as_ever_and_others_differently(plan):
    run_retrieval(run := plan(7))
    line = logged(run)["q1"]
    mine = {turn for turn in line["turns"] if turn[0].isdigit()}
    assert mine == {f"{session}:{place}" for session in range(4) for place in (0, 1)}
    assert {turn.rpartition(":")[0] for turn in line["turns"]} - {"0", "1", "2", "3"} == others(line)


def test_a_log_with_others_is_scored(plan):
    run_retrieval(run := plan())
    scores = score(read_answers(run.out), read_gold("longmemeval", run.data))
    assert scores.overall.scores["recall_any@10"] == 1
    [answered] = [answer for answer in read_answers(run.out) if answer.question_id == "q1"]
    assert answered.sessions == logged(run)["q1"]["sessions"]


def test_others_take_places_and_are_never_gold(write):
    gold = [each for each in read_gold("longmemeval", write()) if each.question_id == "q1"]
    answer = Answered(question_id="q1", sessions=["other:0", "other:1", 0], turns=["other:0:0", None, "0:0"])
    assert score([answer], gold).overall.scores["MRR"] == pytest.approx(1 / 3)


def test_a_limit_is_for_questions_and_not_for_the_pool(plan):
    report = run_retrieval(run := plan(limit=1))
    assert list(logged(run)) == ["q2"]
    assert report.grown.pool == 7


def test_a_run_goes_on_where_the_log_ends(plan):
    run_retrieval(plan(limit=1))
    report = run_retrieval(run := plan())
    assert (report.asked, report.answered_before) == (2, 1)
    assert list(logged(run)) == ["q2", "q1", "q3"]


@pytest.mark.parametrize("other", [{"grow": 2}, {"seed": 5}, {"grow": None}])
def test_a_log_is_not_gone_on_with_under_another_growth(plan, other):
    run_retrieval(plan(limit=1))
    with pytest.raises(InvalidInput, match="other settings"):
        run_retrieval(plan(**other))


@pytest.mark.slow
def test_several_processes_give_the_same_answers(plan, tmp_path):
    run_retrieval(alone := plan())
    run_retrieval(together := plan(jobs=2, out=tmp_path / "together.jsonl"))
    assert {name: line["turns"] for name, line in logged(alone).items()} == {
        name: line["turns"] for name, line in logged(together).items()
    }


# The base


def test_progress_of_the_base_is_told(plan):
    told = []
    prepare_base(plan(), on_progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (3, 3)]


def test_the_base_is_built_once_and_serves_other_settings_of_recall(plan, tmp_path):
    run_retrieval(plan())
    told = []
    again = plan(out=tmp_path / "again.jsonl", settings=Settings(recall=RecallSettings(limit=1)))
    prepare_base(again, on_progress=lambda *count: told.append(count))
    assert told == []


@pytest.mark.parametrize("other", [{"grow": 2}, {"seed": 5}, {"settings": Settings(text={"chunk_characters": 200})}])
def test_another_growth_has_another_base(plan, tmp_path, other):
    run_retrieval(run := plan(limit=1))
    run_retrieval(plan(limit=1, out=tmp_path / "other.jsonl", **other))
    assert len(bases(run)) == 2


def test_changed_data_has_another_base(plan, tmp_path):
    run_retrieval(run := plan(limit=1))
    run_retrieval(plan(limit=1, questions=QUESTIONS[:2], out=tmp_path / "other.jsonl"))
    assert len(bases(run)) == 2


def test_what_a_killed_build_left_is_thrown_away(plan, tmp_path):
    run_retrieval(run := plan(limit=1))
    [base] = bases(run)
    killed = base.rename(base.with_name(f"{base.name}.building"))
    (killed / "memory" / "langmem-tiers.json").write_text("half of")
    run_retrieval(plan(limit=1, out=tmp_path / "again.jsonl"))
    assert bases(run) == [base]


def test_the_base_is_not_changed_by_asking_and_copies_are_gone(plan):
    prepare_base(run := plan())
    [base] = bases(run)
    before = {path: path.read_bytes() for path in base.rglob("*") if path.is_file()}
    run_retrieval(run)
    assert {path: path.read_bytes() for path in base.rglob("*") if path.is_file()} == before
    assert list(run.work.glob("memory-*")) == []


def test_an_answered_log_needs_no_base(plan):
    run_retrieval(run := plan())
    [base] = bases(run)
    base.rename(run.work / "elsewhere")
    prepare_base(run)
    assert run_retrieval(run).grown is None
    assert bases(run) == []


# Vectors


@pytest.mark.parametrize("exact_below", [0, 20_000])
def test_recall_in_a_copy_sees_the_base_and_what_was_added(write, tmp_path, exact_below):
    embedder = HashEmbedder()
    settings = Settings(recall=ALL, storage=StorageSettings(exact_below=exact_below))
    growth = Growth(data=write(), others=4)
    base = base_for(growth, work=tmp_path, settings=settings, embedder=resolve(embedder))
    case = next(iter(read_grown_cases("longmemeval", growth.data)))
    plan = Plan(work=tmp_path, settings=settings)
    [answer] = ask_grown(case, plan, base, resolve(embedder))
    assert embedder.documents_embedded == 2 * 8  # four own sessions and four others, each once
    assert {session for session in answer.sessions if isinstance(session, int)} == {0, 1, 2, 3}
    assert len(answer.sessions) == 8
    assert answer.embed_ms > 0


def test_a_base_without_all_its_vectors_is_no_base(write, tmp_path):
    embedder = HashEmbedder()
    embedder.outage = ConnectionError("unplugged")
    with pytest.raises(StorageError, match="without vectors"):
        base_for(Growth(data=write(), others=2), work=tmp_path, settings=Settings(), embedder=resolve(embedder))


# What cannot be grown


def test_locomo_can_not_be_grown(plan, write):
    with pytest.raises(InvalidInput, match="locomo cannot be grown"):
        read_grown_cases("locomo", write())


@pytest.mark.parametrize("grow", [0, -1])
def test_less_than_one_session_is_refused(plan, grow):
    with pytest.raises(InvalidInput, match="cannot be grown by"):
        run_retrieval(plan(grow))


def test_a_file_of_evidence_alone_has_nothing_to_add(plan):
    with pytest.raises(InvalidInput, match="no sessions to grow"):
        run_retrieval(plan(questions=[question("q1", ["answer_1"], ["answer_1"], month=3)]))


def test_a_missing_file_is_named(plan):
    run = plan()
    run.data.unlink()
    with pytest.raises(UnreadableFile, match=r"data\.json"):
        run_retrieval(run)


def test_a_haystack_whose_sessions_have_no_names_is_reported(plan):
    nameless = {**QUESTIONS[1], "question_id": "q4", "haystack_session_ids": ["s1"]}
    report = run_retrieval(run := plan(questions=[*QUESTIONS, nameless]))
    assert "4 haystack_sessions, but 1 haystack_session_ids" in report.problems[0].reason
    assert set(logged(run)) == {"q1", "q2", "q3"}


# The command


def test_the_command_grows_and_says_by_how_much(plan, tmp_path, capsys):
    out, data = tmp_path / "cli.jsonl", plan().data
    command = ["bench", "retrieval", "--dataset", "longmemeval", "--data", str(data), "--out", str(out)]
    with pytest.raises(SystemExit) as left:
        main([*command, "--keyword-only", "--grow", "100", "--seed", "2"])
    told = capsys.readouterr()
    assert (left.value.code, told.err) == (0, "")
    assert "Haystacks grown by 4 to 5 sessions; the file has 7 for it." in told.out
