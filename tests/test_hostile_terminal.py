"""Every command of the command line, found in the app itself: no text reaches the terminal as an order.

A new command fails the first test until it is put into one of the tables here or in `test_terminal`.
"""

import io
import re

import pytest
import typer

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.app import app
from langmem_tiers.cli.main import main
from langmem_tiers.wording import safe
from tests.test_terminal import HOSTILE, LOOKS, OBEYED

MARKUP = "[red]alarm[/red] [/nothing] [link=https://evil.example]here[/link] [bold :skull:"
SHORT = "\x1b[2J\x9b1m\u202egnp\u2066\u200b\x07"
WHOLE = " ".join((*HOSTILE.values(), MARKUP))
JOINED = re.compile("[\x00-\x7f][\u200c\u200d]|[\u200c\u200d][\x00-\x7f]|[\u200c\u200d]{2}")

# Those that `test_terminal` has not, with what makes them show what is stored or given.
SHOWS = {
    "chat": ["chat"],
    "import": ["import", "{file}", "--preview"],
    "mine": ["mine"],
    "edit": ["edit", "{entry}"],
    "undo": ["undo", "1"],
    "redo": ["redo", "1"],
    "sync": ["sync", "{folder}"],
    "rebuild": ["rebuild"],
    "export": ["export", "{folder}/export"],
    "backup": ["backup", "{folder}/backup"],
    "restore": ["restore", "{file}"],
    "knowledge show": ["knowledge", "show", "{entry}"],
    "knowledge add": ["knowledge", "add", WHOLE],
    "knowledge edit": ["knowledge", "edit", "{entry}", "--text", WHOLE],
    "knowledge confirm": ["knowledge", "confirm"],
    "knowledge delete": ["knowledge", "delete", "{entry}"],
    "knowledge unmerge": ["knowledge", "unmerge", "{entry}"],
    "episodes show": ["episodes", "show", "{episode}"],
    "episodes delete": ["episodes", "delete", "{episode}"],
    "relations add": ["relations", "add", SHORT, SHORT + "a", SHORT + "b"],
    "relations end": ["relations", "end", "{relation}"],
    "relations withdraw": ["relations", "withdraw", "{relation}"],
    "relations delete": ["relations", "delete", "{relation}"],
    "relations history": ["relations", "history", "{relation}"],
    "relations between": ["relations", "between", "Rosie", "{name}"],
    "relations changes": ["relations", "changes", "2020"],
    "relations import": ["relations", "import", "{file}"],
    "entities add": ["entities", "add", SHORT + " anew"],
    "entities merge": ["entities", "merge", "{name}", "Rosie"],
    "entities unmerge": ["entities", "unmerge", "{name}"],
    "entities merges": ["entities", "merges"],
    "entities pairs": ["entities", "pairs"],
    "entities apart": ["entities", "apart", "{name}", "Rosie"],
    "entities allow-merge": ["entities", "allow-merge", "{name}", "Rosie"],
    "entities delete": ["entities", "delete", "{name}"],
    "golden add": ["golden", "add", WHOLE, "--expects", SHORT],
    "golden remove": ["golden", "remove", "1"],
    "config show": ["config", "show"],
    "config set": ["config", "set", "recall.limit", SHORT],
    "config unset": ["config", "unset", "recall.limit"],
    "config check": ["config", "check"],
    "directives list": ["directives", "list"],
    "directives init": ["directives", "init"],
    "identity edit": ["identity", "edit"],
    "identity add": ["identity", "add", WHOLE],
    "identity remove": ["identity", "remove", "hostile"],
    "identity undo": ["identity", "undo"],
    "identity forget-history": ["identity", "forget-history"],
    "notes write": ["notes", "write", "notes/y.md", WHOLE],
    "notes import": ["notes", "import", "{folder}"],
    "notes export": ["notes", "export", "{folder}/notes"],
    "notes delete": ["notes", "delete", "notes/x.md"],
    "tasks start": ["tasks", "start", WHOLE],
    "tasks update": ["tasks", "update", "wiki", "--state", WHOLE],
    "tasks complete": ["tasks", "complete", "wiki", WHOLE],
    "tasks delete": ["tasks", "delete", "wiki"],
    "working save": ["working", "save", "session/monday/inbox", WHOLE],
    "working delete": ["working", "delete", "session/monday/inbox"],
    "signals record": ["signals", "record", "wrong", WHOLE],
    "bench score": ["bench", "score", "{file}"],
    "bench mine": ["bench", "mine", "--help"],
    "bench retrieval": ["bench", "retrieval", "--help"],
}
ELSEWHERE = {
    "browse": "tests/test_browse.py",
    "mcp": "it prints only the protocol: tests/test_mcp_garbage.py",
    "panel": "it prints only its link: tests/test_panel_command.py",
    "worker": "it prints only that it works: tests/test_workers.py",
    "move": "it prints names of spaces: tests/test_moving.py",
    "bench longmemeval": "benchmarks of public data: they print figures",
    "bench locomo": "likewise",
}


def _leaves(command, path=()):
    """The commands below one, each with how many arguments it needs."""
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path), sum(each.param_type_name == "argument" and each.required for each in command.params)
        return
    for name, each in below.items():
        yield from _leaves(each, (*path, name))


COMMANDS = dict(_leaves(typer.main.get_command(app)))
SERVING = [name for name in COMMANDS if name in {"mcp", "panel", "browse"}]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A memory in which somebody tried to say everything, and what the commands name in it."""
    folder = tmp_path_factory.mktemp("hostile")
    file = folder / "in.json"
    file.write_text('[{"role": "user", "content": "' + WHOLE.encode("unicode_escape").decode() + '"}]')
    with Memory.open(folder / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=f"Something hostile: {WHOLE}. I like tea.")], session=f"s{SHORT}")
        entry = alice.knowledge.save(f"Something hostile: {WHOLE}", category="texts", tags=["hostile"])
        name = "Bob [red] [/x] [link=https://evil.example]"  # a name can hold no control characters
        relation = alice.graph.add_relation(name, "knows [red]", "Rosie")
        alice.documents.write("notes/x.md", f"# Hostile\n{WHOLE}")
        alice.tasks.start(f"Wiki {MARKUP}", id="wiki", state=f"hostile {WHOLE}")
        alice.working.save("session/monday/inbox", f"hostile {WHOLE}", ttl_minutes=1000)
        alice.identity.write(f"# Me\n- hostile: {WHOLE}")
        episode = alice.archive.write(f"s{SHORT}", summary=f"Hostile summary: {WHOLE}")
        alice.golden.add(f"Something hostile {SHORT}?", expects=["hostile"])
        alice.signals.record("wrong", text=f"hostile {WHOLE}")
        alice.recall(f"What about something hostile {WHOLE}", session=f"t{SHORT}")
    named = {"file": file, "folder": folder, "name": name}
    return {**named, "entry": entry.entry.id, "relation": relation.relation.id, "episode": episode.id}


@pytest.fixture
def run(place, capsys, monkeypatch, tmp_path):
    """Run a command line with hostile lines on standard input: exit code, and all that it printed."""
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.chdir(tmp_path)  # some hostile text is a path to write to

    def call(*arguments):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"Something hostile {WHOLE}\ny\n"))
        with pytest.raises(SystemExit) as left:
            main(["--path", str(place["folder"] / "memory"), "--user", "alice", "--embedder", "none", *arguments])
        output = capsys.readouterr()
        return left.value.code or 0, output.out + output.err

    return call


def _harmless(printed):
    return OBEYED.search(printed) is None and JOINED.search(printed) is None


def test_each_command_is_shown_hostile_text():
    looks = {name for name in COMMANDS for line in LOOKS if line.split()[: len(name.split())] == name.split()}
    elsewhere = {name for name in COMMANDS for other in ELSEWHERE if name == other or name.startswith(f"{other} ")}
    assert set(COMMANDS) - looks - elsewhere == set(SHOWS)


@pytest.mark.parametrize(
    "command",
    ["knowledge show {entry}", "recall hostile", "show notes/x.md", "episodes show {episode}", "identity show"],
)
def test_markup_of_rich_is_shown_as_it_was_written(run, place, command):
    _, printed = run(*(each.format(**place) for each in command.split()))
    assert "[red]alarm[/red]" in printed


@pytest.mark.parametrize("name", SHOWS)
def test_no_command_hands_on_what_is_stored(run, place, name):
    code, printed = run(*(each.format(**place) if "{" in each else each for each in SHOWS[name]))
    assert code in {0, 1, 2}
    assert _harmless(printed), printed


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SERVING])
def test_no_command_hands_on_what_it_is_given(run, name):
    for arguments in (
        [SHORT + MARKUP] * COMMANDS[name] or ["--" + SHORT],
        ["x"] * (COMMANDS[name] + 4) + [SHORT + MARKUP],
        ["--limit", SHORT + MARKUP],
        [f"--{SHORT}={MARKUP}"],
    ):
        code, printed = run(*name.split(), *arguments)
        assert code in {0, 1, 2}
        assert _harmless(printed), printed


def test_what_is_before_the_command_is_not_handed_on_either(run, capsys):
    for arguments in ([SHORT], ["--" + SHORT], ["--embedder", SHORT, "stats"], ["--user", SHORT, "stats"]):
        _, printed = run(*arguments)
        assert _harmless(printed), printed


@pytest.mark.parametrize(
    "text", ["a\u200db", "pay\u200cpal", "\u200c\u200d\u200c", "می\u200c\u200cخ", "x\ufe0f\ufe0e\ufe0f", "\u200dx"]
)
def test_joiners_and_selectors_that_join_nothing_are_shown(text):
    assert "\\u" in safe(text)


@pytest.mark.parametrize("text", ["👩\u200d🚀", "❤\ufe0f\u200d🔥", "می\u200cخواهم", "1\ufe0f\u20e3", "क\u094d\u200dष"])
def test_joiners_and_selectors_of_scripts_and_emoji_stay(text):
    assert safe(text) == text
