"""`langmem-tiers bench longmemeval` and `bench locomo`: every step, taken up where it stopped."""

import json
import sys
import types
from dataclasses import replace
from functools import cache

import pytest
from bench_sets import LOCOMO, LONGMEMEVAL, PROVIDER, write

from langmem_tiers.bench.asking import stored
from langmem_tiers.bench.datasets import BenchQuestion, Cases, gold_answers
from langmem_tiers.bench.pipeline import contexts
from langmem_tiers.bench.pipeline.answering import Answering, answer, model_reader, offline_reader
from langmem_tiers.bench.pipeline.calls import LONGEST, Prices, asking, with_temperature
from langmem_tiers.bench.pipeline.ingest import ingest
from langmem_tiers.bench.pipeline.runs import BenchRun, begin, data_hash
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput
from langmem_tiers.testing import ScriptedChatModel

STEPS = ["ingest", "retrieve", "score-retrieval", "qa --reader offline", "score-qa"]


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "data.json", LONGMEMEVAL)


@pytest.fixture
def run(tmp_path, capsys, data):
    """Runs `bench` with a line of arguments in a folder of runs; gives exit code, output and errors."""

    def command(line, dataset="longmemeval"):
        with pytest.raises(SystemExit) as left:
            main(["bench", dataset, *line.format(data=data).split(), "--runs", str(tmp_path / "runs")])
        told = capsys.readouterr()
        return left.value.code or 0, told.out, told.err

    return command


@pytest.fixture
def provider():
    """The package of a model provider that `--reader ollama:NAME` and `--judge ollama:NAME` come from."""
    real = sys.modules.get("langchain_ollama")
    sys.modules["langchain_ollama"] = module = _stand_in()
    module.asked.clear()
    yield module
    module.broken.clear()
    del sys.modules["langchain_ollama"]
    if real is not None:
        sys.modules["langchain_ollama"] = real


@cache
def _stand_in():
    """One for the whole run: LangChain keeps the classes that it made models of."""
    module = types.ModuleType("langchain_ollama")
    exec(PROVIDER, module.__dict__)  # the source of a package, written for these tests
    return module


@pytest.fixture
def begun(tmp_path, data):
    """A run by keywords, with its memories."""

    def make(data=data, dataset="longmemeval", **options):
        new = BenchRun(
            dataset=dataset, runs=tmp_path / "runs", run_id="r1", data=data, sha256=data_hash(data), vectors=False
        )
        ingest(begin(new), limit=None)
        return new

    return make


def given(run, **reading):
    return contexts.read_contexts(contexts.make_contexts(run, contexts.ReaderScope(**reading), limit=None))


def answered(run, model, **options):
    """The answers of a model, as `qa` makes them."""
    how = Answering(run=run, reader=model_reader(asking(model)), reader_name="scripted", **options)
    made = contexts.make_contexts(run, how.reading, limit=how.limit)
    return answer(how, made)


def asked(text):
    return BenchQuestion(question_id="q1", question_type="multi-session", text=text, asked_at=None)


def lines(run, kind="generation_logs", label=None):
    return [json.loads(line) for line in run.log(kind, label).read_text().splitlines()]


# The commands


def test_smoke_runs_every_step_with_no_model_and_no_network(run, tmp_path):
    code, out, err = run("smoke --data {data} --run r1 --keyword-only")
    assert (code, err) == (0, "")
    assert "recall_any@5" in out
    assert "not the official metric" in out
    folder = tmp_path / "runs" / "r1"
    logs = [folder / kind / "r1.jsonl" for kind in ("retrieval_logs", "generation_logs")]
    assert [len(log.read_text().splitlines()) for log in logs] == [5, 5]
    assert json.loads((folder / "run.json").read_text())["data"]["sha256"] == data_hash(tmp_path / "data.json")


def test_each_step_names_the_next_one_and_finds_the_run(run):
    following = "ingest --data {data} --keyword-only"
    for step in STEPS:
        assert following.startswith(step.split()[0])
        code, out, _ = run(following)
        assert code == 0
        following = out.partition("Next: langmem-tiers bench longmemeval ")[2].partition(" --runs")[0]
        following += " --reader offline" if following.startswith("qa") else ""


def test_all_steps_with_a_reader_and_a_judge(run, provider):
    line = "full --data {data} --keyword-only --reader ollama:echo --judge ollama:judge --jobs 3 --json"
    code, out, _ = run(line)
    told = json.loads(out)
    assert code == 0
    assert told["ingest"]["conversations"] == told["retrieve"]["asked"] == told["qa"]["asked"] == 5
    assert told["score_qa"]["scores"]["overall"] == {"name": "all", "questions": 5, "scores": {"accuracy": 1.0}}
    assert [name for name, _ in provider.asked].count("judge") == 5


def test_full_without_a_reader_ends_with_retrieval(run):
    _, out, _ = run("full --data {data} --keyword-only --json")
    assert list(json.loads(out)) == ["run", "folder", "ingest", "retrieve", "score_retrieval", "next"]


def test_a_model_that_can_not_be_used_is_said_before_the_work(run, tmp_path):
    code, _, err = run("full --data {data} --keyword-only --reader nobody:knows-this")
    assert (code, "cannot be used" in err) == (1, True)
    assert not list(tmp_path.glob("runs/*/work"))


def test_a_reader_that_fails_is_exit_code_1_and_is_asked_again_by_the_same_command(run, provider):
    run("ingest --data {data} --keyword-only --run r1")
    provider.broken.set()
    code, _, err = run("qa --run r1 --reader ollama:echo")
    assert (code, "failed on 1: q5_abs" in err) == (1, True)
    provider.broken.clear()
    provider.asked.clear()
    assert run("qa --run r1 --reader ollama:echo")[0] == 0
    assert len(provider.asked) == 1


def test_a_judge_without_a_verdict_is_exit_code_1_and_is_asked_again(run, provider):
    run("smoke --data {data} --keyword-only --run r1")
    code, out, err = run("score-qa --run r1 --judge ollama:vague")
    assert (code, "no verdict on 5" in err, "judge: 10 calls" in out) == (1, True, True)
    assert run("score-qa --run r1 --judge ollama:vague")[0] == 1
    assert len(provider.asked) == 20


def test_another_judge_does_not_mix_with_the_first(run, provider):
    run("smoke --data {data} --keyword-only --run r1 --judge ollama:judge")
    code, _, err = run("score-qa --run r1 --judge ollama:strict")
    assert (code, "Delete that file" in err) == (1, True)


def test_a_temperature_is_for_models_that_have_one(provider):
    assert with_temperature(provider.ChatOllama("echo"), 0.0).temperature == 0
    with pytest.raises(InvalidInput, match="no temperature"):
        with_temperature(ScriptedChatModel(responses=["a"]), 0.0)


@pytest.mark.parametrize(
    "line", ["retrieve", "retrieve --run other", "ingest", "ingest --run ../r1 --data {data}", "ingest --run data"]
)
def test_what_can_not_be_run_is_said_with_the_way_out(run, line, tmp_path):
    code, _, err = run(line)
    assert (code, err.count("\n")) == (1, 1)
    assert not list(tmp_path.glob("**/run.json"))


def test_a_run_keeps_its_data_and_settings(run, tmp_path):
    run("ingest --data {data} --keyword-only --run r1 --limit 1")
    other = write(tmp_path / "other.json", LONGMEMEVAL[:2])
    assert "begun with another data file" in run(f"ingest --run r1 --data {other}")[2]
    assert "is not what the run r1 was begun with" in run(f"retrieve --run r1 --data {other}")[2]
    settings = write(tmp_path / "settings.json", {"recall": {"limit": 3}})
    assert "begun with other settings" in run(f"ingest --run r1 --settings {settings}")[2]


def test_a_moved_data_file_is_named_anew(run, data, tmp_path):
    run("ingest --data {data} --keyword-only")
    moved = data.rename(tmp_path / "moved.json")
    assert run("retrieve")[0] == 1
    assert run(f"retrieve --data {moved}")[0] == 0


def test_the_limit_of_a_run_holds_for_its_steps_and_can_be_raised(run):
    run("ingest --data {data} --keyword-only --run r1 --limit 2")
    assert json.loads(run("retrieve --json")[1])["retrieve"]["asked"] == 2
    assert json.loads(run("ingest --run r1 --limit 4 --json")[1])["ingest"]["before"] == 2
    assert json.loads(run("retrieve --json")[1])["retrieve"] == {"asked": 2, "answered_before": 2, "problems": []} | {
        "grown": None
    }


@pytest.mark.parametrize(("dataset", "option"), [("longmemeval", "--with-adversarial"), ("locomo", "--file s")])
def test_a_set_has_only_the_options_that_it_has_a_use_for(run, dataset, option):
    assert run(f"smoke {option}", dataset)[0] == 2


# Ingest and contexts


def test_what_is_stored_is_not_stored_again(begun):
    run = begun()
    assert ingest(run, limit=None).before == 5
    case = next(iter(Cases("longmemeval", run.data)))
    write(run.data, json.loads(run.data.read_text().replace("My new bicycle", "My old bicycle")))
    changed = next(iter(Cases("longmemeval", run.data)))
    assert changed != case
    with stored(changed, run.plan(), None) as space:
        assert not any("My old bicycle" in drawer.content for drawer in space.drawers())


def test_an_ingest_that_was_killed_goes_on(begun):
    run = begun()
    record = run.work / "ingested.jsonl"
    record.write_text(record.read_text()[:-10])
    done = ingest(run, limit=None)
    assert (done.conversations, done.before) == (1, 4)


@pytest.mark.slow
def test_several_processes_store_and_read_the_same(begun, tmp_path):
    alone = begun()
    together = replace(alone, run_id="r2")
    assert ingest(together, limit=None, jobs=2).conversations == 5
    path = contexts.make_contexts(together, contexts.ReaderScope(), limit=None, jobs=2)
    assert contexts.read_contexts(path) == given(alone)


def test_the_reader_is_given_the_block_with_dates_and_nothing_of_later_days(begun):
    block = given(begun())["q1"]
    assert "2023-05-01 user: My new bicycle has the colour red." in block
    assert "green" not in block


def test_whole_sessions_come_in_order_of_time_with_their_dates(begun):
    found = given(begun(), grain="session", top_k=2)["q2"]
    assert found.startswith("[session of 2023-05-01 (Monday) 08:00]\nuser: My new bicycle has the colour red.\nassist")
    assert found.index("2023-05-01") < found.index("2023-05-20")
    assert "user: It rained on my tent all night.\nassistant: Did the tent stay dry?" in found


def test_drawers_are_as_many_as_asked_for(begun):
    assert given(begun(), grain="drawer", top_k=1)["q2"] == (
        "[session of 2023-05-20 (Saturday) 09:00]\nuser: It rained on my tent all night."
    )


@pytest.mark.parametrize("grain", ["block", "drawer", "session"])
def test_nothing_below_a_threshold_is_given(begun, grain):
    assert given(begun(), grain=grain, threshold=1)["q1"] == ""


def test_what_does_not_fit_the_tokens_is_left_out_whole(begun):
    assert given(begun(), grain="session", token_budget=12)["q1"] == ""


def test_a_reader_is_told_the_day_and_what_to_do_when_nothing_is_known():
    model = ScriptedChatModel(responses=["I do not know."])
    model_reader(asking(model))(asked("Who am I?"), "")
    assert "(nothing was found)" in model.requests[0][0].text


def test_the_offline_reader_quotes_the_sentence_with_most_words_of_the_question():
    said = "- [§W-001/R-01/D-001] 2023-05-01 user: Hello there. Tom &amp; Ann bought a red bicycle."
    reply = offline_reader(asked("Who bought a bicycle?"), f"<memory_context>\n{said}\n")
    assert reply.text == "Tom & Ann bought a red bicycle."


# Answers


def test_the_prompt_has_memory_question_and_day(begun):
    answered(begun(), model := ScriptedChatModel(responses=["red"]))
    prompt = model.requests[0][0].text
    assert "My new bicycle has the colour red." in prompt
    assert "Today is 2023-05-30 (Tuesday) 10:00.\nQuestion: Which colour has my new bicycle?" in prompt


def test_a_line_has_question_gold_answer_and_what_it_took(begun):
    run = begun()
    usage = {"input_tokens": 100, "output_tokens": 5, "total_tokens": 105}
    reply = ScriptedChatModel(responses=["red"])._answer([], {}).model_copy(update={"usage_metadata": usage})
    done = answered(run, ScriptedChatModel(responses=[reply]), prices=Prices(tokens_in=2.0, tokens_out=10.0))
    line = next(line for line in lines(run) if line["question_id"] == "q2")
    assert (line["answer"], line["hypothesis"], line["prompt_tokens"], line["completion_tokens"]) == (
        "1",
        "red",
        100,
        5,
    )
    assert (done.usage.source, done.usage.prompt_tokens, done.usage.cost) == ("memory_qa", 500, pytest.approx(0.00125))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (RuntimeError("rate limit"), "RuntimeError: rate limit"),
        ("", "an empty reply"),
        ("<think>I wonder</think> ", "an empty reply"),
        ("a" * (LONGEST + 1), "a reply of 20,001 characters"),
    ],
)
def test_a_failure_is_a_line_and_the_run_goes_on(begun, bad, reason):
    run = begun()
    done = answered(run, ScriptedChatModel(responses=["red", bad, "blue"]))
    assert [line.get("error") for line in lines(run)] == [None, reason, None, None, None]
    assert (done.asked, done.failed) == (5, ("q2",))


def test_only_what_failed_or_is_missing_is_asked_again(begun):
    run = begun()
    answered(run, ScriptedChatModel(responses=["red", RuntimeError("no"), "blue"]))
    log = run.log("generation_logs")
    log.write_text(log.read_text()[:-10])
    done = answered(run, again := ScriptedChatModel(responses=["green"]))
    assert (done.asked, done.before, done.failed, len(again.requests)) == (2, 3, (), 2)
    assert [line["hypothesis"] for line in lines(run)] == ["red", "green", "blue", "blue", "green"]
    assert lines(run)[1]["calls"] == 2


def test_failures_can_be_left_as_they_are(begun):
    run = begun()
    answered(run, ScriptedChatModel(responses=[RuntimeError("no")]))
    done = answered(run, again := ScriptedChatModel(responses=["red"]), retry_failed=False)
    assert (len(done.failed), again.requests) == (5, [])


def test_the_log_is_in_the_order_of_the_file_however_many_answer(begun):
    run = begun()
    answered(run, ScriptedChatModel(responses=["red"]), jobs=4)
    assert [line["question_id"] for line in lines(run)] == ["q1", "q2", "q3", "q4", "q5_abs"]
    assert [line.get("abstention", False) for line in lines(run)] == [False] * 4 + [True]


def test_characters_that_no_file_can_hold_do_no_harm(begun):
    run = begun()
    answered(run, ScriptedChatModel(responses=["red \ud800\u2028"]))
    assert lines(run)[0]["hypothesis"] == "red \ud800"


def test_two_readers_of_one_run_are_told_apart_by_label(begun):
    run = begun()
    answered(run, ScriptedChatModel(responses=["red"]))
    answered(run, ScriptedChatModel(responses=["blue"]), label="other", temperature=0.5)
    with pytest.raises(InvalidInput, match="--label"):
        answered(run, ScriptedChatModel(responses=["blue"]), temperature=0.5)
    assert [lines(run, label=label)[0]["hypothesis"] for label in (None, "other")] == ["red", "blue"]


def test_a_question_without_a_gold_answer_is_named_and_not_asked(tmp_path, begun):
    without = [{key: value for key, value in LONGMEMEVAL[0].items() if key != "answer"}, LONGMEMEVAL[1]]
    done = answered(begun(write(tmp_path / "without.json", without)), ScriptedChatModel(responses=["red"]))
    assert (done.asked, done.without_gold) == (1, ("q1",))


def test_the_gold_answers_are_in_the_words_of_the_set(data, tmp_path):
    assert gold_answers("longmemeval", data)["q2"] == "1"
    assert gold_answers("locomo", write(tmp_path / "locomo.json", LOCOMO))["conv-26:1"] == "2023"


# LoCoMo


@pytest.mark.parametrize(("adversarial", "asked"), [(False, ["0", "1"]), (True, ["0", "1", "2"])])
def test_adversarial_questions_are_asked_when_wanted(tmp_path, begun, adversarial, asked):
    run = begun(write(tmp_path / "locomo.json", LOCOMO), "locomo")
    answered(run, ScriptedChatModel(responses=["red"]), reading=contexts.ReaderScope(adversarial=adversarial))
    assert [line["question_id"] for line in lines(run)] == [f"conv-26:{place}" for place in asked]
    if adversarial:
        assert (lines(run)[2]["question_type"], lines(run)[2]["abstention"]) == ("adversarial", True)


def test_locomo_has_the_same_steps(run, provider, tmp_path):
    data = write(tmp_path / "locomo.json", LOCOMO)
    line = f"full --data {data} --keyword-only --reader ollama:echo --judge ollama:strict --with-adversarial --json"
    scores = json.loads(run(line, "locomo")[1])["score_qa"]["scores"]
    assert [row["name"] for row in scores["rows"]] == ["adversarial", "single-hop", "temporal"]
    assert (scores["overall"]["scores"]["accuracy"], scores["abstention"]["questions"]) == (0, 1)
