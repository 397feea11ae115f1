"""`langmem-tiers bench` from the outside."""

import json

import pytest

from langmem_tiers.cli.main import main

LOCOMO = [
    {
        "sample_id": "conv-1",
        "qa": [{"question": "What is the name of Ann's cat?", "evidence": ["D1:1"], "category": 4}],
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "4:07 pm on 8 May, 2023",
            "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "My cat has the name Mug."}],
        },
    }
]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps(LOCOMO))
    return path


@pytest.fixture
def run(capsys):
    """Runs `bench` with arguments; gives exit code, output and errors."""

    def command(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["bench", *(str(argument) for argument in arguments)])
        told = capsys.readouterr()
        return left.value.code, told.out, told.err

    return command


def ask(run, data, out, *more):
    return run("retrieval", "--dataset", "locomo", "--data", data, "--out", out, "--keyword-only", *more)


def test_questions_are_asked_and_scored(run, data, tmp_path):
    log = tmp_path / "log.jsonl"
    assert ask(run, data, log) == (0, f"1 questions asked: {log}\n", "")
    code, out, _ = run("score", "--dataset", "locomo", "--data", data, log)
    assert code == 0
    assert "single-hop" in out
    assert "recall_any@5" in out
    assert "recall_ms: p50" in out


def test_json_is_for_scripts(run, data, tmp_path):
    log = tmp_path / "log.jsonl"
    _, out, _ = ask(run, data, log, "--json")
    assert json.loads(out) == {"out": str(log), "asked": 1, "answered_before": 0, "problems": []}
    _, out, _ = run("score", "--dataset", "locomo", "--data", data, log, "--json")
    assert json.loads(out)["overall"]["scores"]["MRR"] == 1


def test_settings_come_from_a_file(run, data, tmp_path):
    settings = tmp_path / "settings.json"
    settings.write_text('{"recall": {"enabled": false}}')
    ask(run, data, tmp_path / "log.jsonl", "--settings", settings)
    assert json.loads((tmp_path / "log.jsonl").read_text())["sessions"] == []


@pytest.mark.parametrize("text", ["{", '{"recall": {"limit": 0}}', '{"recal": {}}'])
def test_bad_settings_are_refused(run, data, tmp_path, text):
    settings = tmp_path / "settings.json"
    settings.write_text(text)
    code, _, err = ask(run, data, tmp_path / "log.jsonl", "--settings", settings)
    assert code == 1
    assert "settings.json" in err


def test_missing_settings_are_named(run, data, tmp_path):
    code, _, err = ask(run, data, tmp_path / "log.jsonl", "--settings", tmp_path / "nothing.json")
    assert code == 1
    assert "nothing.json" in err


def test_a_wrong_dataset_is_said(run, data, tmp_path):
    code, _, err = run("retrieval", "--dataset", "longmemeval", "--data", data, "--out", tmp_path / "log.jsonl")
    assert code == 1
    assert "looks like locomo" in err


FETCH = "Name the set's own file with --data; `langmem-tiers bench locomo download` fetches it."


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (None, "No such file"),
        ('{"role": "user", "content": "Hello."}\n', "looks like jsonl"),
        ("hello", "neither a JSON list"),
        ('[{"sample_id": "conv-1", "qa": [{"evidence"', "at character"),
    ],
)
def test_a_file_of_something_else_is_told_the_options_of_a_benchmark(run, tmp_path, text, wrong):
    data = tmp_path / "set.json"
    if text is not None:
        data.write_text(text)
    for code, _, err in (
        ask(run, data, tmp_path / "log.jsonl"),
        run("score", "--dataset", "locomo", "--data", data, _log(tmp_path)),
    ):
        assert (code, wrong in err, FETCH in err) == (1, True, True)
        assert "import" not in err


def _log(tmp_path):
    log = tmp_path / "answers.jsonl"
    log.write_text("")
    return log


def test_a_missing_log_is_told_who_writes_one(run, data, tmp_path):
    code, _, err = run("score", "--dataset", "locomo", "--data", data, tmp_path / "nothing.jsonl")
    assert code == 1
    assert "Name a file that `langmem-tiers bench` wrote." in err
