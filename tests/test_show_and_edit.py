"""Showing anything by whatever it is named, editing texts by hand, and what commands say when they do nothing."""

import io
import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main


@pytest.fixture
def folder(tmp_path):
    """A memory with one of each."""
    path = tmp_path / "memory"
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    with Memory.open(path, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="My sister Lena moved to Porto.", said_at=at)], session="monday")
        alice.mine()
        memory.flush()
        alice.documents.write("notes/x.md", "# Plans\nPaint the fence.\n")
        alice.tasks.start("Wiki", id="wiki", state="Script written.")
        alice.working.save("session/monday/inbox", "3 unread", ttl_minutes=60, tags=["mail"])
        alice.identity.write("Speaks German.")
        alice.archive.write("monday", summary="They talked of Lena.")
        alice.recall("Where does my sister live?", session="tuesday")
    return path


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Run a command line: exit code, standard output, standard error."""

    def call(*arguments, path=folder, user="alice", typed=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as left:
            main(["--path", str(path), "--user", user, "--embedder", "none", *arguments])
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return call


@pytest.fixture
def opened(folder):
    """A function that opens Alice's space and calls another one with it."""

    def use(ask):
        with Memory.open(folder, embedder=None, background=False) as memory:
            return ask(memory.user("alice"))

    return use


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Sets an editor that replaces one text by another, and may do something else meanwhile."""

    def set_editor(old, new, meanwhile=""):
        script = tmp_path / "editor.py"
        script.write_text(
            f"import sys, pathlib\n{meanwhile}\nfile = pathlib.Path(sys.argv[1])\n"
            f"file.write_text(file.read_text().replace({old!r}, {new!r}))\n"
        )
        monkeypatch.setenv("VISUAL", shlex.join([sys.executable, str(script)]))

    return set_editor


def entry_id(space):
    return space.knowledge.search("Lena")[0].entry.id


def relation_id(space):
    return space.graph.timeline("Lena").relations[0].id


def episode_id(space):
    return space.archive.search("")[0].episode.id


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("1", "My sister Lena moved to Porto."),
        ("W-1/R-1/D-1", "My sister Lena moved to Porto."),
        (entry_id, "The user's sister Lena moved to Porto."),
        (relation_id, "Lena"),
        (episode_id, "They talked of Lena."),
        ("notes/x.md", "Paint the fence."),
        ("note:notes/x.md", "Paint the fence."),
        ("wiki", "Script written."),
        ("task:wiki", "Script written."),
        ("session/monday/inbox", "3 unread"),
        ("Lena", "person"),
        ("receipt:1", "Where does my sister live?"),
        ("identity", "Speaks German."),
    ],
)
def test_anything_is_shown_by_what_it_is_named(run, opened, named, told):
    which = named if isinstance(named, str) else opened(named)
    code, out, err = run("show", which)
    assert (code, told in out) == (0, True), err
    json.loads(run("show", which, "--json")[1])


@pytest.mark.parametrize("which", ["nobody", "0123456789ab", "999", "receipt:7", "receipt:x", "task:none", "", "a/b"])
def test_what_is_nowhere_is_one_line_and_exit_code_1(run, which):
    code, out, err = run("show", which)
    assert (code, out, err.count("\n")) == (1, "", 1)


def test_an_entry_is_edited_in_the_editor_and_says_what_changed(run, opened, editor):
    editor("Porto", "Braga")
    code, out, _ = run("edit", opened(entry_id))
    assert (code, out.splitlines()[-1]) == (0, "Saved: version 2.")
    assert "- The user's sister Lena moved to Porto.\n+ The user's sister Lena moved to Braga." in out
    assert "Braga" in run("show", opened(entry_id))[1]


@pytest.mark.parametrize("which", ["identity", "notes/x.md", "wiki", "session/monday/inbox"])
def test_other_texts_are_edited_without_an_editor(run, which):
    assert run("edit", which, "--text", "New words.")[0] == 0
    assert "New words." in run("show", which)[1]


def test_a_key_of_working_memory_keeps_its_time_and_tags(run, opened):
    before = opened(lambda space: space.working.get("session/monday/inbox"))
    run("edit", "session/monday/inbox", "--text", "none unread")
    after = opened(lambda space: space.working.get("session/monday/inbox"))
    assert after.tags == ("mail",)
    assert abs((after.expires_at - before.expires_at).total_seconds()) < 5


def test_an_edit_that_changes_nothing_says_so(run, editor):
    editor("nothing", "else")
    assert run("edit", "identity")[:2] == (0, "Nothing was changed.\n")


@pytest.mark.folder
def test_an_edit_that_somebody_else_outran_is_kept_in_a_file(run, folder, editor):
    other = (
        "from langmem_tiers import Memory\n"
        f"with Memory.open({str(folder)!r}, embedder=None, background=False) as memory:\n"
        "    memory.user('alice').documents.write('notes/x.md', 'Written meanwhile.')\n"
    )
    editor("fence", "shed", other)
    code, _, err = run("edit", "notes/x.md")
    assert code == 1
    kept = err.split("kept in ")[1].split(": change it")[0]
    assert Path(kept).read_text(encoding="utf-8") == "# Plans\nPaint the shed.\n"
    assert run("show", "notes/x.md")[1] == "Written meanwhile.\n"


def test_an_edit_of_another_version_is_refused(run):
    code, _, err = run("edit", "wiki", "--text", "x", "--version", "7")
    assert (code, "kept in" in err) == (1, True)


@pytest.mark.parametrize(
    ("which", "why"), [("1", "as it was said"), ("receipt:1", "no text of yours"), ("Lena", "no text")]
)
def test_what_is_no_text_of_the_user_is_not_edited(run, which, why):
    code, _, err = run("edit", which, "--text", "x")
    assert (code, why in err) == (1, True)


def test_without_a_terminal_and_an_editor_the_way_out_is_named(run, monkeypatch):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    code, _, err = run("edit", "identity")
    assert (code, "--text TEXT" in err) == (1, True)


@pytest.mark.parametrize("word", ["quit", "exit", "Exit.", "/quit", " QUIT! ", ":q", "/bye", "exit()"])
def test_words_that_end_a_chat_are_not_remembered(run, opened, word):
    before = opened(lambda space: space.stats().drawers)
    code, out, _ = run("chat", typed=f"{word}\nI like plums.\n")
    assert (code, "I found nothing" in out) == (0, False)
    assert opened(lambda space: space.stats().drawers) == before


@pytest.mark.parametrize("line", ["I quit my job.", "bye", "Where is the exit?"])
def test_what_only_holds_such_a_word_is_remembered(run, opened, line):
    before = opened(lambda space: space.stats().drawers)
    run("chat", typed=f"{line}\n")
    assert opened(lambda space: space.stats().drawers) > before


@pytest.mark.parametrize(
    ("key", "told"),
    [("tracking.enabled", "Nothing that is said is stored."), ("enabled", "Nothing is recalled or stored")],
)
def test_a_chat_says_when_nothing_of_it_is_stored(run, folder, key, told):
    run("config", "set", key, "false")
    code, out, err = run("chat", typed="hello there my friend\n")
    assert told in out + err
    assert f"config show {key} --space users/alice" in out + err
    assert code == 0


def test_nobody_new_is_begun_by_a_mistyped_name(run, folder):
    for command in (("entities", "add", "Rosie"), ("signals", "record", "praise", "Well done!")):
        code, _, err = run(*command, user="alcie")
        assert (code, "There is no user 'alcie'" in err, "add --new" in err) == (1, True, True)
        assert run(*command, "--new", user=f"new-{command[0]}")[0] == 0


def test_a_task_is_deleted_only_if_somebody_agrees(run):
    assert run("tasks", "delete", "wiki", typed="n\n")[0] == 1
    assert "Wiki" in run("tasks", "list")[1]
    assert run("tasks", "delete", "wiki", "--yes")[:2] == (0, "wiki is deleted.\n")


def test_a_task_that_was_begun_or_closed_before_says_so(run):
    assert "It was begun before: nothing has changed." in run("tasks", "start", "Wiki", "--id", "wiki")[1]
    run("tasks", "complete", "wiki", "Done.")
    assert "It was completed before: nothing has changed." in run("tasks", "complete", "wiki")[1]
    assert "It is completed already: nothing has changed." in run("tasks", "start", "Wiki", "--id", "wiki")[1]


def test_models_that_nobody_provides_are_found_by_the_check(run):
    run("config", "set", "embedder", "nobody:x")
    code, _, err = run("config", "check")
    assert (code, "embedder: The embedder 'nobody:x' cannot be used" in err) == (1, True)


def test_all_that_spaces_and_agents_have_of_their_own_is_listed(run):
    run("config", "set", "recall.limit", "5", "--space", "users/alice")
    run("config", "set", "recall.limit", "6", "--agent", "patrol")
    assert "for agent patrol; space users/alice: --all shows it." in run("config", "show", "recall.limit")[1]
    rows = json.loads(run("config", "show", "recall.limit", "--all", "--json")[1])
    assert [row["value"] for row in rows] == [8, 6, 5]
    assert [row["source"].split("(")[-1] for row in rows[1:]] == ["agent patrol)", "space users/alice)"]


def test_without_a_memory_the_first_step_is_named(run, tmp_path):
    code, _, err = run("recall", "x", path=tmp_path / "none", user="bob")
    assert (code, f"Begin one with `langmem-tiers --path {tmp_path / 'none'} --user bob" in err) == (1, True)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("recall", "nothing of the sort"), 0),
        (("knowledge", "list", "--category", "none"), 0),
        (("knowledge", "show", "0123456789ab"), 1),
        (("why", "99"), 1),
        (("why", "last", "0123456789ab"), 1),
        (("why", "first"), 2),
        (("recall",), 2),
        (("recall", "x", "--limit", "0"), 2),
        (("nonsense",), 2),
        (("show",), 2),
        (("edit", "identity", "--text", "x", "--file", "y"), 2),
    ],
)
def test_exit_codes_are_those_of_the_table(run, command, code):
    assert run(*command)[0] == code


@pytest.mark.folder
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("--path {folder} --user al", "alice"),
        ("--path {folder} palace --space users/", "users/alice"),
        ("config show recall.rerank.en", "recall.rerank.enabled"),
        ("config set recall.li", "recall.limit"),
    ],
)
def test_a_shell_completes_names(folder, offline_environment, typed, offered):
    words = ["langmem-tiers", *typed.format(folder=folder).split()]
    environment = {
        **offline_environment,
        "_LANGMEM_TIERS_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(["langmem-tiers"], env=environment, capture_output=True, text=True, check=False)
    assert offered in done.stdout.split(), done.stderr
