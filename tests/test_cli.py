"""The command line, through its front door."""

import io
import json
import logging
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.app import app
from langmem_tiers.cli.main import main
from langmem_tiers.cli.terminal import progress
from langmem_tiers.telemetry.logs import say
from langmem_tiers.wording import safe
from tests import engines
from tests.openai_server import openai_server

SAID = "My sister Lena moved to Porto."


@pytest.fixture
def folder(tmp_path):
    """A memory of two users; somebody tried to say something to a terminal in it."""
    path = tmp_path / "memory"
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    with Memory.open(path, embedder=None, background=False) as memory:
        memory.user("alice").track([Turn(role="user", content=SAID, said_at=at)], session="monday")
        hostile = "Lena's \x1b[31mred\x1b]0;title\x07 [bold]house[/bold] \u202e in Porto"
        memory.user("bob").track([Turn(role="user", content=hostile, said_at=at)], session="s\x1b[2J")
        memory.flush()
    return path


@pytest.fixture
def run(folder, capsys):
    """Run a command line about `folder`: exit code, standard output, standard error."""

    def call(*arguments, path=folder):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(path), *arguments])
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return call


def _commands():
    return sorted(info.name or info.callback.__name__ for info in app.registered_commands) + sorted(
        info.name or info.typer_instance.info.name for info in app.registered_groups
    )


def test_recall_prints_the_block(run):
    code, out, _ = run("--user", "alice", "recall", "Where does Lena live?")
    assert code == 0
    assert SAID in out
    assert "<memory_context" in out


def test_one_word_is_enough_for_a_query_made_on_purpose(run):
    assert SAID in run("--user", "alice", "recall", "Porto")[1]


@pytest.mark.model
def test_recall_says_when_there_is_nothing(run):
    code, out, _ = run("--user", "alice", "recall", "quantum chromodynamics lattice")
    assert (code, out) == (0, "Nothing in the memory of alice comes close to this.\n")


@pytest.mark.model
def test_recall_within_a_session_says_that_it_has_what_matches_already(run):
    _, out, _ = run("--user", "alice", "recall", "Where does Lena live?", "--session", "monday")
    assert out == "Nothing new: what matches was said or shown in session monday already.\n"
    assert SAID in run("--user", "alice", "recall", "Where does Lena live?", "--session", "tuesday")[1]


def test_recall_explains_itself(run):
    _, out, _ = run("--user", "alice", "recall", "Where does Lena live?", "--explain")
    parts = (
        "1 candidate, best first",
        "keyword",
        "score",
        "verdict",
        "shown",
        "§W-001/R-01/D-001",
        "ms by stage",
        "total",
    )
    assert [part for part in parts if part not in out] == []


def test_recall_as_json_is_the_whole_receipt(run):
    found = json.loads(run("--user", "alice", "recall", "Where does Lena live?", "--json")[1])
    assert found["items"][0]["drawer"]["content"] == SAID
    assert found["receipt"]["candidates"][0]["verdict"] == "shown"
    assert found["receipt"]["timings"]["total"] > 0


def test_asking_leaves_no_trace(run):
    run("--user", "alice", "recall", "Where does Lena live?")
    assert json.loads(run("--user", "alice", "stats", "--json")[1])["spaces"][0]["recalls"] == 0


def test_the_palace_is_a_tree(run):
    _, out, _ = run("--user", "alice", "palace")
    assert "└── " in out
    assert "§W-001/R-01" in out
    assert SAID in out


def test_the_palace_can_be_shown_to_a_depth(run):
    _, out, _ = run("--user", "alice", "palace", "--depth", "2")
    assert "§W-001/R-01" in out
    assert SAID not in out


@pytest.mark.parametrize("which", ["1", "§W-001/R-01/D-001", "W-1/R-1/D-1"])
def test_show_prints_a_drawer_verbatim(run, which):
    code, out, _ = run("--user", "alice", "show", which)
    assert (code, out.endswith(f"\n{SAID}\n")) == (0, True)
    assert "2026-03-02T09:00:00+00:00" in out


def test_show_says_when_there_is_no_such_drawer(run):
    code, out, err = run("--user", "alice", "show", "99")
    assert (code, out) == (1, "")
    assert "There is no drawer 99 in users/alice" in err


def test_show_explains_what_a_pointer_is(run):
    code, _, err = run("--user", "alice", "show", "last one")
    assert code == 1
    assert "§W-042/R-11/D-007" in err


def test_stats_cover_every_space_or_the_one_named(run):
    everything = json.loads(run("stats", "--json")[1])["spaces"]
    assert [space["space"] for space in everything] == ["users/alice", "users/bob"]
    assert json.loads(run("--user", "bob", "stats", "--json")[1])["spaces"] == [everything[1]]


def test_stats_are_readable(run):
    _, out, _ = run("--user", "alice", "stats")
    assert "users/alice" in out
    assert "drawers" in out


@pytest.mark.folder
def test_stats_of_spaces_that_cannot_be_read_say_their_errors_alone(run, folder):
    for database in folder.glob("spaces/*/memory.db"):
        database.write_bytes(b"no database" * 1000)
    code, out, err = run("stats")
    assert (code, out.strip()) == (1, "")
    assert "users/alice: " in err
    assert "users/bob: " in err


@pytest.mark.folder
@pytest.mark.parametrize("command", ["stats", "palace"])
def test_the_folder_of_the_space_is_named(run, folder, command):
    _, out, _ = run("--user", "alice", command)
    assert f"Folder: {next(folder.glob('spaces/*alice*'))}\n" in out


def test_the_doctor_finds_nothing_wrong(run):
    code, out, _ = run("doctor")
    assert (code, "PROBLEM" in out) == (0, False)


@pytest.mark.folder
def test_a_damaged_space_is_a_problem_and_does_not_hide_the_others(run, folder):
    database = next(folder.glob("spaces/*alice*/memory.db"))
    database.write_bytes(b"this is no database" * 1000)
    for extra in folder.glob("spaces/*alice*/memory.db-*"):
        extra.unlink()
    code, out, _ = run("doctor")
    assert (code, "PROBLEM" in out, "users/bob" in out) == (1, True, True)


@pytest.mark.folder
def test_the_doctor_speaks_of_sqlite_once(run):
    assert run("doctor")[1].count("sqlite: ") == 1


@pytest.mark.folder
def test_a_space_that_can_not_be_told_by_name_is_a_problem_with_a_way_out(run, folder):
    damaged = next(folder.glob("spaces/*alice*"))
    (damaged / "space.json").write_text("{")
    code, out, _ = run("doctor")
    assert (code, f"PROBLEM  space: {damaged}" in out, "Open it once under its name" in out) == (1, True, True)
    assert json.loads(run("doctor", "--json")[1])["unreadable_spaces"] == [str(damaged)]
    assert f"Not counted: {damaged}" in run("stats")[2]
    assert run("--user", "alice", "doctor")[0] == 0
    assert run("doctor")[0] == 0


def test_rebuild_says_what_it_did(run):
    code, out, _ = run("rebuild")
    assert (code, "users/alice" in out, "users/bob" in out) == (0, True, True)
    assert run("doctor")[0] == 0


@pytest.mark.parametrize("command", [("recall", "anything at all"), ("palace",), ("show", "1"), ("chat",)])
def test_a_command_about_a_user_needs_one(run, command):
    code, out, err = run(*command)
    assert (code, out) == (1, "")
    assert "langmem-tiers --user ID" in err


@pytest.mark.parametrize("user", ["", " "])
@pytest.mark.parametrize("command", ["palace", "stats", "chat"])
def test_an_empty_user_is_refused_in_words_for_the_command_line(run, user, command):
    code, out, err = run("--user", user, command)
    assert (code, out) == (1, "")
    assert "langmem-tiers --user ID" in err


LOOKING = [("recall", "Lena"), ("palace",), ("show", "1"), ("stats",), ("doctor",), ("rebuild",)]


@pytest.mark.parametrize("command", LOOKING, ids=lambda command: command[0])
def test_a_mistyped_user_is_an_error_and_makes_no_space(run, folder, command):
    code, out, err = run("--user", "alicee", *command)
    assert (code, out) == (1, "")
    assert "There is no user 'alicee'" in err
    assert "It has: alice, bob." in err
    assert engines.spaces(folder) == 2


def test_of_many_users_ten_like_the_mistyped_one_are_named(run, folder):
    with Memory.open(folder, embedder=None, background=False) as memory:
        for name in ("ali/ce@home", *"abcdefghijkl"):
            memory.user(name).track([])
    _, _, err = run("--user", "ali/ce@hom", "palace")
    named = err.partition("among them: ")[2].rstrip(".\n").split(", ")
    assert (named[0], len(named), "It has 15" in err) == ("ali/ce@home", 10, True)


def test_an_empty_path_is_wrong_usage(run):
    code, _, err = run("--user", "alice", "stats", path="")
    assert (code, "path is" in err) == (2, True)


def test_an_empty_folder_is_no_memory_and_stays_empty(run, tmp_path):
    (tmp_path / "empty").mkdir()
    assert run("stats", path=tmp_path / "empty")[0] == 1
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize("command", ["stats", "doctor", "palace"])
def test_a_mistyped_path_is_an_error_and_makes_no_folder(run, tmp_path, command):
    code, _, err = run("--user", "alice", command, path=tmp_path / "memroy")
    assert (code, "There is no memory at" in err) == (1, True)
    assert not (tmp_path / "memroy").exists()


def test_errors_are_one_line(run, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("miaow")
    code, out, err = run("--user", "alice", "stats", path=tmp_path / "photos")
    assert (code, out, err.count("\n")) == (1, "", 1)


@pytest.mark.skipif(not Path("/proc").exists(), reason="there is no folder that nobody can write to")
def test_an_error_of_the_disk_tells_its_cause_on_the_same_line(run):
    code, out, err = run("--user", "alice", "knowledge", "add", "I like tea.", path="/proc/x")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "(No such file or directory)" in err.replace("[Errno 2] ", "").replace(": '/proc/x'", "")
    assert "below" not in err


def test_wrong_usage_is_exit_code_2(run):
    assert run("--user", "alice", "recall")[0] == 2


@pytest.mark.parametrize("option", ["--user", "--path"])
def test_an_option_after_the_command_is_told_its_place(run, option):
    code, _, err = run("palace", option, "alice")
    assert code == 2
    assert f"--path and --user go before the command: langmem-tiers {option} " in err


@pytest.mark.parametrize(
    "command",
    [
        ("recall", "house in Porto"),
        ("recall", "house in Porto", "--explain"),
        ("recall", "house in Porto", "--json"),
        ("palace",),
        ("palace", "--json"),
        ("show", "1"),
        ("show", "1", "--json"),
    ],
    ids=" ".join,
)
def test_stored_text_can_not_talk_to_the_terminal(run, command):
    _, out, _ = run("--user", "bob", *command)
    assert "[bold]house[/bold]" in out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_safe_keeps_lines_tabs_and_every_script():
    assert safe("a\tb\nRødgrød 日本語 👩‍👩‍👧 \x9b \ud800") == "a\tb\nRødgrød 日本語 👩‍👩‍👧 \\x9b \\ud800"


def test_chat_answers_from_memory_and_remembers(run, monkeypatch):
    said = "Where does my sister Lena live?\nLena has a daughter named Ines.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    code, out, err = run("--user", "alice", "chat", "--session", "tuesday", "--show")
    assert code == 0, err
    assert "no model" in out
    assert SAID in out
    assert "Ines" in run("--user", "alice", "recall", "daughter Ines")[1]


def _space_folder(memory):
    return next(memory.glob("spaces/users-alice-*"))


@pytest.mark.folder
@pytest.mark.parametrize("command", ["stats", "usage", "rebuild", "stats --json", "doctor"])
def test_one_damaged_space_does_not_hide_the_others(run, folder, command):
    (_space_folder(folder) / "memory.db").write_bytes(b"garbage" * 2000)
    code, out, err = run("--embedder", "none", *command.split())
    assert code == 1
    assert "users/bob" in out or command == "usage"
    told = err if command != "doctor" else " ".join(out.split())
    assert "users/alice" in told
    assert "The file is not a database" in told
    assert "Put a backup in its place" in told


@pytest.mark.folder
def test_the_doctor_does_not_refer_to_itself(run, folder):
    (_space_folder(folder) / "memory.db").write_bytes(b"garbage" * 2000)
    _, out, _ = run("--user", "alice", "doctor")
    assert "Put a backup in its place: `langmem-tiers restore`.\n" in out
    assert "langmem-tiers doctor" not in out


@pytest.mark.parametrize("query", ["", "   "])
def test_recall_refuses_an_empty_query(run, query):
    told = "langmem-tiers: The query is empty. Say what to look for.\n"
    assert run("--user", "alice", "recall", query) == (1, "", told)


@pytest.mark.folder
@pytest.mark.parametrize("text", [b"garbage", None])
def test_a_chat_does_not_begin_where_the_space_can_not_be_opened(run, folder, monkeypatch, text):
    database = _space_folder(folder) / "memory.db"
    database.write_bytes(text * 2000) if text else database.unlink()
    monkeypatch.setattr("sys.stdin", io.StringIO("Lena has a daughter named Ines.\n"))
    code, out, err = run("--user", "alice", "chat")
    assert (code, "Session" in out) == (1, False)
    assert err == run("--user", "alice", "recall", "Lena")[2]
    assert "Put a backup in its place" in err


def test_a_chat_says_which_message_was_refused_and_goes_on(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("\udcff\udcfe bad bytes\nLena has a daughter named Ines.\n"))
    code, _, err = run("--user", "alice", "chat")
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("langmem-tiers: Not stored, and not answered: ")
    assert "lone surrogate" in err
    assert err.endswith("Write it in UTF-8.\n")
    assert "Ines" in run("--user", "alice", "recall", "daughter Ines")[1]


def test_ctrl_c_while_a_chat_recalls_keeps_the_message(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("Lena has a daughter named Ines.\nShe is three.\n"))
    with openai_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        server.interrupts = True
        code, _, _ = run("--embedder", "openai:text-embedding-3-small", "--user", "alice", "chat")
    assert code == 130
    assert "Ines" in run("--user", "alice", "recall", "daughter Ines")[1]
    assert "three" not in run("--user", "alice", "palace")[1]


@pytest.mark.parametrize("model", ["nonsense", "nobody:knows-this"])
def test_chat_says_in_one_line_what_is_wrong_with_a_model_and_makes_no_folder(run, tmp_path, model):
    code, out, err = run("--user", "alice", "chat", "--model", model, path=tmp_path / "new")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"langmem-tiers: The model '{model}' cannot be used: ")
    assert "pip install 'langmem-tiers[openai]'" in err
    assert not (tmp_path / "new").exists()


def test_a_model_without_a_key_is_said_once_with_the_variable_to_set(run, tmp_path, monkeypatch):
    pytest.importorskip("langchain_openai")
    for variable in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(variable, raising=False)
    _, _, err = run("--user", "alice", "chat", "--model", "openai:gpt-5-mini", path=tmp_path / "new")
    assert err.count("openai:gpt-5-mini") == 1
    assert re.search(r"Set the environment variable OPENAI_API_KEY( or \w+)?\.$", err)


def test_a_model_that_nobody_provides_is_named_once(run):
    _, _, err = run("--user", "alice", "recall", "Lena", "--rerank", "nobody:x")
    assert err.startswith("langmem-tiers: The model 'nobody:x' cannot be used: no provider is known for it. Name it")
    assert err.count("nobody:x") == 1


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(capsys):
    lines = [
        r"langmem-tiers: Read: 1,200 so far, [\d,]+ a second\.",
        r"langmem-tiers: Read: 1,200 of 19,400, [\d,]+ a second, \d+:\d\d:\d\d left\.",
    ]
    told, end = "", time.monotonic() + 60
    with progress("Vectors", shown=False, every=0.01), progress("Read", every=0.05) as advance:
        for line, total in zip(lines, (None, 19_400), strict=True):
            advance(1200, total)
            while not re.search(line, told) and time.monotonic() < end:
                time.sleep(0.01)
                told += capsys.readouterr().err
    others = [line for line in told.splitlines() if line != "langmem-tiers: Read: 0 so far."]
    assert all(any(re.fullmatch(line, other) for line in lines) for other in others)
    assert all(any(re.fullmatch(line, other) for other in others) for line in lines)


def test_progress_never_goes_back(capsys):
    told, end = "", time.monotonic() + 60
    with progress("Vectors", every=0.05) as advance:
        advance(7, 9)
        advance(5, 9)
        while " of 9, " not in told and time.monotonic() < end:
            time.sleep(0.01)
            told += capsys.readouterr().err
    assert "Vectors: 7 of 9, " in told


def test_a_chat_with_nobody_makes_no_folder(run, tmp_path):
    assert run("chat", path=tmp_path / "new")[0] == 1
    assert not (tmp_path / "new").exists()


def _ran(command, environment):
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, shell=isinstance(command, str)
    )


def _output(command, environment):
    done = _ran(command, environment)
    done.check_returncode()
    return done.stdout, done.stderr


def test_the_command_is_installed(offline_environment):
    assert _output(["langmem-tiers", "--version"], offline_environment)[0].startswith("langmem-tiers 0.")


@pytest.mark.folder
def test_it_can_be_cut_off_by_a_pipe(folder, offline_environment):
    assert _output(f"langmem-tiers --path '{folder}' stats --json | true", offline_environment) == ("", "")


@pytest.mark.folder
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("command", ["palace", "show 1", "stats --json", "chat", "--help"])
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_output_that_can_not_be_written_is_one_line(folder, offline_environment, command, where):
    done = _ran(f"langmem-tiers --path '{folder}' --user alice {command} {where} </dev/null", offline_environment)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("langmem-tiers: The output could not be written: ")


@pytest.mark.folder
@pytest.mark.parametrize("where", ["2>&-", "<&-"])
def test_other_closed_streams_do_no_harm(folder, offline_environment, where):
    assert SAID in _output(f"langmem-tiers --path '{folder}' --user alice show 1 {where}", offline_environment)[0]


@pytest.mark.folder
def test_a_terminal_that_knows_ascii_only_gets_escapes_and_valid_json(folder, offline_environment):
    ascii_only = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    command = ["langmem-tiers", "--path", str(folder), "--user", "alice"]
    environment = offline_environment | ascii_only
    assert json.loads(_output([*command, "show", "1", "--json"], environment)[0])["pointer"] == "§W-001/R-01/D-001"
    assert "\\xa7W-001/R-01/D-001" in _output([*command, "palace"], environment)[0]
    assert "\\xa7W-001/R-01/D-001" in _output([*command, "recall", "Lena", "--explain"], environment)[0]


def test_warnings_of_the_library_are_shown_once_with_their_values(run, capsys):
    run("stats")
    for _ in range(2):
        say(logging.getLogger("langmem_tiers.storage"), logging.WARNING, "rows_skipped", count=3)
    assert capsys.readouterr().err == "langmem-tiers: rows_skipped count=3\n"


@pytest.mark.parametrize("command", _commands())
def test_every_command_is_documented(root, command):
    assert f"\n## {command}\n" in (root / "docs" / "cli.md").read_text()


@pytest.mark.parametrize("command", _commands())
def test_every_command_helps(run, command):
    code, out, _ = run(command, "--help")
    assert (code, "Usage: langmem-tiers" in out) == (0, True)


def test_help_loads_nothing_heavy(offline_environment):
    code = """
        import atexit, sys
        from langmem_tiers.cli.main import main
        atexit.register(lambda: print([name for name in ("chromadb", "langgraph", "numpy") if name in sys.modules]))
        main(["--help"])
    """
    assert _output([sys.executable, "-c", dedent(code)], offline_environment)[0].endswith("[]\n")
