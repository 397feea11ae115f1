"""The retrieval benchmark: every question once, real recall, a log that can be gone on with."""

import json

import pytest

from langmem_tiers import RecallSettings, Settings
from langmem_tiers.bench.datasets import end_of_day, read_cases, read_gold
from langmem_tiers.bench.logs import AnswerLog
from langmem_tiers.bench.retrieval import Run, run_retrieval
from langmem_tiers.bench.scoring import RetrievalAnswer, read_answers, score
from langmem_tiers.errors import InvalidInput, UnreadableFile
from langmem_tiers.transfer.formats import locomo_time

FIELDS = {"question_id", "question_type", "sessions", "drawers", "recall_ms", "embed_ms", "turns", "verdict"}


def turn(speaker, place, text):
    return {"speaker": speaker, "dia_id": place, "text": text}


def question(text, category, *evidence):
    return {"question": text, "answer": "", "evidence": list(evidence), "category": category}


LOCOMO = [
    {
        "sample_id": "conv-1",
        "qa": [
            question("What is the name of Ann's cat?", 4, "D1:1"),
            question("When did Bo travel to Lisbon?", 2, "D3:1"),
            question("Which planet did Ann walk on?", 5, "D1:1"),
            question("Which guitar did Bo buy last year?", 4),
        ],
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "4:07 pm on 8 May, 2023",
            "session_1": [turn("Ann", "D1:1", "My cat has the name Mug."), turn("Bo", "D1:2", "What a lovely name!")],
            "session_3_date_time": "9:00 am on 1 June, 2023",
            "session_3": [turn("Bo", "D3:1", "I will travel to Lisbon next week."), turn("Ann", "D3:2", "Enjoy it!")],
        },
    },
    {
        "sample_id": "conv-2",
        "qa": [question("Where does Cy keep the violin?", 1, "D1:1; D2:1")],
        "conversation": {
            "speaker_a": "Cy",
            "speaker_b": "Di",
            "session_1_date_time": "4:07 pm on 8 May, 2023",
            "session_1": [turn("Cy", "D1:1", "I keep the violin in the attic.")],
            "session_2_date_time": "2:56 pm on 9 May, 2023",
            "session_2": [turn("Cy", "D2:1", "The violin is in the cellar now."), turn("Di", "D2:2", "Not again.")],
        },
    },
]


def haystack(question_id, *dates):
    return {
        "question_id": question_id,
        "question_type": "single-session-user",
        "question": "Which colour has my new bicycle?",
        "question_date": "2023/05/30 (Tue) 10:00",
        "answer": "red",
        "answer_session_ids": ["answer_2"],
        "haystack_session_ids": [f"answer_{place}" for place in range(len(dates))],
        "haystack_dates": list(dates),
        "haystack_sessions": [
            [{"role": "user", "content": f"My new bicycle number {place} has a colour: red.", "has_answer": place == 2}]
            for place in range(len(dates))
        ],
    }


LONGMEMEVAL = [
    haystack("q1", "2023/05/31 (Wed) 00:00", "2023/05/30 (Tue) 23:59", "2023/05/01 (Mon) 08:00"),
    haystack("q2_abs", "2023/05/01 (Mon) 08:00"),
]


@pytest.fixture
def plan(tmp_path):
    """A run over a tiny set, by keywords alone."""

    def make(dataset="locomo", **options):
        data = tmp_path / f"{dataset}.json"
        data.write_text(json.dumps(LOCOMO if dataset == "locomo" else LONGMEMEVAL))
        choices = {"out": tmp_path / "out.jsonl", "work": tmp_path / "work", "vectors": False, **options}
        return Run(dataset=dataset, data=data, **choices)

    return make


def logged(run):
    return {line["question_id"]: line for line in map(json.loads, run.out.read_text().splitlines())}


def test_each_locomo_question_of_categories_1_to_4_is_asked_once(plan):
    report = run_retrieval(run := plan())
    assert (report.asked, report.answered_before, report.problems) == (4, 0, ())
    assert list(logged(run)) == ["conv-1:0", "conv-1:1", "conv-1:3", "conv-2:0"]


def test_a_line_has_the_agreed_fields_and_no_gold(plan):
    run_retrieval(run := plan())
    assert all(line.keys() == FIELDS for line in logged(run).values())
    assert logged(run)["conv-1:1"]["question_type"] == "temporal"


def test_sessions_are_numbers_best_first_and_turns_name_the_drawers(plan):
    run_retrieval(run := plan())
    line = logged(run)["conv-1:1"]
    assert line["sessions"][0] == 3
    assert line["turns"][0] == "D3:1"
    assert len(line["drawers"]) == len(line["turns"])
    assert line["recall_ms"] > line["embed_ms"] >= 0


def test_a_conversation_is_asked_about_itself_only(plan):
    run_retrieval(run := plan())
    assert set(logged(run)["conv-2:0"]["turns"]) <= {"D1:1", "D2:1", "D2:2"}
    assert set(logged(run)["conv-2:0"]["sessions"]) == {1, 2}


def test_longmemeval_looks_no_further_than_the_day_of_the_question(plan):
    run_retrieval(run := plan("longmemeval"))
    assert set(logged(run)["q1"]["sessions"]) == {1, 2}
    assert "answer" not in run.out.read_text()


def test_abstention_is_marked(plan):
    run_retrieval(run := plan("longmemeval"))
    assert logged(run)["q2_abs"]["abstention"] is True
    assert "abstention" not in logged(run)["q1"]


def test_the_day_ends_just_before_midnight():
    assert end_of_day(locomo_time("4:07 pm on 8 May, 2023")).isoformat() == "2023-05-08T23:59:59.999000+00:00"


def test_a_limit_counts_questions_from_the_start(plan):
    run_retrieval(run := plan(limit=2))
    assert list(logged(run)) == ["conv-1:0", "conv-1:1"]


def test_a_run_goes_on_where_the_log_ends(plan):
    run_retrieval(plan(limit=2))
    report = run_retrieval(run := plan())
    assert (report.asked, report.answered_before) == (2, 2)
    assert list(logged(run)) == ["conv-1:0", "conv-1:1", "conv-1:3", "conv-2:0"]


def test_a_line_cut_off_half_way_is_asked_again(plan):
    run_retrieval(run := plan())
    whole = run.out.read_text()
    run.out.write_text(whole[:-30])
    assert run_retrieval(run).asked == 1
    assert list(logged(run)) == ["conv-1:0", "conv-1:1", "conv-1:3", "conv-2:0"]


def test_a_log_is_not_gone_on_with_under_other_settings(plan):
    run_retrieval(plan(limit=1))
    other = Settings(recall=RecallSettings(limit=3))
    with pytest.raises(InvalidInput, match="other settings"):
        run_retrieval(plan(settings=other))


def test_memories_are_gone_afterwards_unless_kept(plan):
    run_retrieval(run := plan(limit=1))
    assert list(run.work.glob("memory-*")) == []
    run_retrieval(kept := plan(keep=True))
    assert len(list((kept.work / "kept").iterdir())) == 2


def test_progress_is_told_from_the_start(plan):
    told = []
    run_retrieval(plan(), on_progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.slow
def test_several_processes_give_the_same_answers(plan, tmp_path):
    run_retrieval(alone := plan())
    run_retrieval(together := plan(jobs=2, out=tmp_path / "together.jsonl"))
    assert {name: line["turns"] for name, line in logged(alone).items()} == {
        name: line["turns"] for name, line in logged(together).items()
    }


def test_what_can_not_be_read_is_reported(plan):
    run = plan()
    samples = json.loads(json.dumps(LOCOMO))
    samples[1]["conversation"]["session_1"][0]["speaker"] = "Zed"
    run.data.write_text(json.dumps([*samples, {"sample_id": "conv-3"}]))
    problems = [problem.reason for problem in run_retrieval(run).problems]
    assert len(problems) == 2
    assert "Zed" in problems[0]


def test_the_log_is_scored_against_the_data(plan):
    run_retrieval(run := plan())
    scores = score(read_answers(run.out), read_gold("locomo", run.data))
    assert {row.name: row.questions for row in scores.rows} == {"multi-hop": 1, "single-hop": 1, "temporal": 1}
    assert scores.without_evidence == 1
    assert scores.overall.scores["R@1"] == 1
    assert scores.overall.scores["recall_all@5"] == 1
    assert scores.timings["recall_ms"].p50 > 0


def test_longmemeval_gold_is_told_by_place(plan):
    first, second = read_gold("longmemeval", plan("longmemeval").data)
    assert (first.sessions, first.turns, first.abstention) == ({2}, {"2:0"}, False)
    assert second.abstention


def test_the_wrong_set_is_refused(plan):
    with pytest.raises(UnreadableFile, match="looks like locomo"):
        read_cases("longmemeval", plan().data)


# The log


def answer(name):
    return RetrievalAnswer(
        question_id=name,
        question_type="a",
        sessions=(1,),
        drawers=(7,),
        turns=("D1:1",),
        recall_ms=2.0,
        embed_ms=1.0,
        verdict="recalled",
    )


def test_a_log_knows_what_it_holds(tmp_path):
    AnswerLog(tmp_path / "new" / "log.jsonl", {}).append(answer("q1").as_fields())
    assert AnswerLog(tmp_path / "new" / "log.jsonl", {}).answered == {"q1"}


@pytest.mark.parametrize("line", ["{", "[]", '{"question_id": 7}'])
def test_another_file_is_no_log(tmp_path, line):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(answer("q1").as_fields()) + "\n" + line + "\n")
    with pytest.raises(UnreadableFile, match="Line 2"):
        AnswerLog(path, {})


def test_a_line_without_sessions_can_not_be_scored(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"question_id": "q1"}\n')
    with pytest.raises(UnreadableFile, match="Line 1"):
        list(read_answers(path))


def test_a_missing_log_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"nothing\.jsonl"):
        list(read_answers(tmp_path / "nothing.jsonl"))
