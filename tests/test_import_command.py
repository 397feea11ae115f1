"""`langmem-tiers import` from the outside."""

import json
import re

import pytest

from langmem_tiers import Memory
from langmem_tiers.cli.main import main
from tests.interrupting import interrupted

LINES = [
    {"session": "monday", "role": "user", "content": "My cat is called Mug.", "at": "2024-05-08T10:00:00Z"},
    {"session": "monday", "role": "assistant", "content": "What a name!", "at": "2024-05-08T10:00:05Z"},
]
LOCOMO = [
    {
        "sample_id": f"conv-{number}",
        "qa": [],
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "4:07 pm on 8 May, 2023",
            "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": f"My cat number {number} is called Mug."}],
        },
    }
    for number in (1, 2)
]
LONGMEMEVAL = {
    "question_id": "q1",
    "question_date": "2023/05/30 (Tue) 22:36",
    "haystack_session_ids": ["answer_7"],
    "haystack_dates": ["2023/05/20 (Sat) 04:48"],
    "haystack_sessions": [[{"role": "user", "content": "My cat is called Mug."}]],
}


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Runs a command line on a memory folder that has no model; gives exit code, output and errors."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LANGMEM_TIERS_PATH", str(tmp_path / "memory"))

    def command(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return left.value.code, told.out, told.err

    return command


@pytest.fixture
def save(tmp_path):
    """Writes a file: entries as lines, other values as one JSON document."""

    def write(content, lines=False):
        path = tmp_path / "conversations"
        text = "".join(json.dumps(entry) + "\n" for entry in content) if lines else json.dumps(content)
        path.write_text(text)
        return path

    return write


def drawers(tmp_path, space):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        return memory.space(space).drawers()


def test_a_file_goes_into_the_space_of_the_user(run, save, tmp_path):
    code, out, _ = run("--user", "alice", "import", save(LINES, lines=True), "--format", "jsonl")
    assert code == 0
    command = f"langmem-tiers --path {tmp_path / 'memory'} --user alice"
    assert out.splitlines() == [
        "2 messages of 1 sessions into users/alice: 2 stored, 0 known before, 0 refused.",
        "Found in them: 1 entry, 2 relations.",
        "Try:",
        f"  {command} recall 'What do you know about Mug?'",
        f"  {command} knowledge list",
        f"  {command} graph",
    ]
    assert [drawer.content for drawer in drawers(tmp_path, "users/alice")] == [line["content"] for line in LINES]


def test_the_format_may_be_left_out(run, save, tmp_path):
    command = f"langmem-tiers --path {tmp_path / 'memory'} --user alice"
    code, out, _ = run("--user", "alice", "--json", "import", save(LOCOMO))
    assert code == 0
    assert json.loads(out) == {
        "spaces": ["users/alice"],
        "dry_run": False,
        "sessions": 2,
        "messages": 2,
        "stored": 2,
        "known": 0,
        "entries": {"read": 0, "stored": 0, "known": 0},
        "documents": {"read": 0, "stored": 0, "known": 0},
        "rejected": [],
        "refused": [],
        "left_behind": {},
        "speakers": {"Ann": 2},
        "user_speakers": [],
        "renamed": {},
        "records": {},
        "identical": False,
        "problems": [],
        "found": {"entries": 0, "relations": 0, "by_speaker": {}},
        "try": [f"{command} recall 'What did we talk about last time?'", f"{command} palace"],
    }


def test_again_stores_nothing(run, save):
    run("--user", "alice", "import", save(LOCOMO))
    _, out, _ = run("--user", "alice", "import", save(LOCOMO), "--json")
    assert (json.loads(out)["stored"], json.loads(out)["known"]) == (0, 2)


@pytest.mark.parametrize("options", [["--user", "alice"], []])
def test_locomo_conversations_may_have_spaces_of_their_own(run, save, tmp_path, options):
    _, out, _ = run(*options, "import", save(LOCOMO), "--space-per-conversation", "--json")
    assert json.loads(out)["spaces"] == ["locomo/conv-1", "locomo/conv-2"]
    assert len(drawers(tmp_path, "locomo/conv-2")) == 1


def test_locomo_without_a_user_has_a_space_for_each_conversation(run, save):
    _, out, _ = run("import", save(LOCOMO), "--json")
    assert json.loads(out)["spaces"] == ["locomo/conv-1", "locomo/conv-2"]


def test_longmemeval_questions_have_spaces_of_their_own(run, save):
    _, out, _ = run("import", save([LONGMEMEVAL], lines=True), "--json")
    assert json.loads(out)["spaces"] == ["longmemeval/q1"]


def test_skipped_lines_are_counted_and_named(run, save):
    entries = [LINES[0], {"session": 7}, LINES[1], *[{}] * 30]
    code, out, err = run("--user", "alice", "import", save(entries, lines=True), "--format", "jsonl")
    assert code == 0
    assert "2 stored" in out
    assert "31 skipped:" in err
    assert "line 2: 'session' is a number, expected text" in err
    assert "and 11 more" in err


@pytest.mark.parametrize("options", [[], ["--format", "jsonl"]])
@pytest.mark.parametrize(
    "broken", [b'{"session": "monday", "role": "user", "content": "A\0B"}', b"\0\0", b'{"session"\0']
)
def test_a_line_with_a_nul_byte_is_skipped_and_named(run, tmp_path, broken, options):
    file = tmp_path / "broken.jsonl"
    first, second = (json.dumps(each).encode() for each in LINES)
    file.write_bytes(b"\n".join((first, broken, second)))
    code, out, err = run("--user", "alice", "import", file, "--no-mine", *options)
    assert code == 0
    assert "2 messages of 1 sessions into users/alice: 2 stored" in out
    assert "langmem-tiers: line 2: not JSON: " in err


def test_of_lines_with_dates_those_are_skipped_whose_date_cannot_be_read(run, save, tmp_path):
    told = ["2024-03-01", 1_709_251_200, "yesterday", None]
    entries = [{**LINES[0], "content": f"Message {place}.", "at": at} for place, at in enumerate(told)]
    _, out, err = run("--user", "alice", "import", save(entries, lines=True), "--format", "jsonl")
    assert "3 stored" in out
    assert "line 3: 'at' is no ISO 8601 time: 'yesterday'" in err
    assert [f"{drawer.said_at:%Y-%m-%d}" for drawer in drawers(tmp_path, "users/alice")][:2] == 2 * ["2024-03-01"]


def test_a_message_may_have_a_million_characters_whatever_they_take_in_bytes(run, save):
    entries = [{**LINES[0], "content": "😀" * length} for length in (1_000_000, 1_000_001)]
    _, out, err = run("--user", "alice", "import", save(entries, lines=True))
    assert "1 stored, 0 known before, 1 refused." in out
    assert "langmem-tiers: line 2: The turn has 1,000,001 characters; the limit is 1,000,000" in err


def test_a_refused_message_of_a_record_is_named_by_its_place(run, save):
    questions = [LONGMEMEVAL, {**LONGMEMEVAL, "question_id": "q2"}]
    questions[1]["haystack_sessions"] = [[{"role": "user", "content": "a" * 1_000_001}]]
    _, out, _ = run("import", save(questions), "--json")
    (refused,) = json.loads(out)["rejected"]
    assert (refused["unit"], refused["line"]) == ("record", 2)


@pytest.mark.folder
def test_ctrl_c_says_what_is_stored_and_again_goes_on_from_there(run, save, tmp_path, offline_environment):
    file = save([{**LINES[0], "session": f"day {day}"} for day in range(500)], lines=True)
    code, err = interrupted(
        *("--user", "alice", "import", file),
        memory=tmp_path / "memory",
        table="drawers",
        rows=10,
        environment=offline_environment,
    )
    said = int(re.search(r"Stopped: at least (\d+) messages are stored\.", err)[1])
    assert code == 130
    assert 0 < said <= len(drawers(tmp_path, "users/alice")) < 500
    assert json.loads(run("--user", "alice", "import", file, "--json")[1])["known"] >= said


def test_nothing_but_bad_lines_is_a_failure(run, save):
    code, _, err = run("--user", "alice", "import", save([{}], lines=True), "--format", "jsonl")
    assert code == 1
    assert "line 1" in err


def test_no_user_is_an_error_with_the_way_out(run, save):
    code, _, err = run("import", save(LINES, lines=True))
    assert code == 1
    assert "--user" in err


@pytest.mark.parametrize(("format", "hint"), [("locomo", "--format jsonl"), (None, None)])
def test_a_wrong_format_leaves_no_folder(run, save, tmp_path, format, hint):
    arguments = ["--format", format] if format else []
    content = LINES if format else ["once upon a time"]
    code, _, err = run("--user", "alice", "import", save(content, lines=True), *arguments)
    assert code == 1
    assert (hint or "looks like none") in err
    assert not (tmp_path / "memory").exists()


def test_a_missing_file_is_named(run, tmp_path):
    code, _, err = run("--user", "alice", "import", tmp_path / "nothing-here")
    assert code == 1
    assert "nothing-here" in err
