"""The terminal: what is stored never gives it an order, and it may be narrow, or no terminal at all."""

import json
import re
import subprocess
from datetime import UTC, datetime

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.cli.terminal import print_shown
from langmem_tiers.wording import safe
from tests.terminals import Terminal, in_terminal

HOSTILE = {
    "colour": "\x1b[31mred\x1b[0m",
    "clears the screen": "\x1b[2J\x1b[H",
    "moves up and overwrites": "\x1b[1A\x1b[2Kforged",
    "title": "\x1b]0;title\x07",
    "link": "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;aGk=\x07",
    "device report": "\x1b[6n\x1bP$q\x1b\\",
    "c1": "\x9b31m\x9d0;t\x9c\x90x\x85",
    "carriage return": "shown\rforged",
    "backspace": "a\x08\x08b\x7f",
    "bell": "\x07",
    "bidi override": "\u202egnp.exe\u202c",
    "bidi isolate": "\u2066x\u2069\u200f\u200e\u061c",
    "line separators": "a\u2028b\u2029c\x0bd\x0ce",
    "tags": "\U000e0041\U000e0042\U000e007f",
    "variation selectors": "a\U000e0100\U000e01efb\ufe00",
    "no width": "a\u200bb\ufeffc\u2060d\xade",
    "blank letters": "\u3164\uffa0\u115f\u180e\u2800",
}
# What may not reach a terminal, whatever is stored.
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u2800\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\U000e0000-\U000e0fff]"
)
LOOKS = [
    "recall hostile --explain",
    "recall hostile --session monday",
    "why last",
    "why last hostile",
    "why last 1",
    "palace",
    "show 1",
    "show notes/x.md",
    "show session/monday/inbox",
    "show wiki",
    "show receipt:1",
    "show identity",
    "profile",
    "report 2026-03",
    "graph",
    "graph Rosie",
    "timeline Rosie",
    "entities list",
    "entities show Rosie",
    "activity",
    "knowledge list",
    "knowledge search hostile",
    "knowledge categories",
    "episodes list",
    "episodes search hostile",
    "receipts list",
    "receipts show 1",
    "identity show --history",
    "notes list",
    "notes show notes/x.md",
    "working list",
    "working get session/monday/inbox",
    "working search hostile",
    "tasks list",
    "tasks show wiki",
    "signals list",
    "forget --query hostile --dry-run",
    "golden list",
    "dream --dry-run",
    "dreams",
    "stats",
    "usage",
    "doctor",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A memory in which somebody tried to say everything to a terminal that one obeys."""
    path = tmp_path_factory.mktemp("hostile") / "memory"
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    whole = " ".join(HOSTILE.values())
    with Memory.open(path, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track(
            [
                Turn(role="user", content=f"Something hostile: {text}. I like hostile texts.", said_at=at)
                for text in (whole, *HOSTILE.values())
            ],
            session="s\x1b[2J\u202e",
        )
        alice.mine()
        alice.knowledge.save(f"Something hostile: {whole}", category="texts", tags=["hostile"])
        alice.graph.add_relation("Rosie", "lives in", "Porto")
        alice.documents.write("notes/x.md", f"# Hostile\n{whole}")
        alice.tasks.start("Wiki", id="wiki", state=f"hostile {whole}")
        alice.working.save("session/monday/inbox", f"hostile {whole}", ttl_minutes=1000)
        alice.identity.write(f"# Me\nHostile: {HOSTILE['bidi override']} {HOSTILE['tags']}")
        alice.archive.write("s\x1b[2J\u202e", summary=f"Hostile summary: {whole}")
        alice.golden.add("Something hostile?", expects=["hostile"])
        alice.signals.record("wrong", text=f"hostile {HOSTILE['colour']}{HOSTILE['tags']}")
        alice.recall(f"What about something hostile {whole}", session="t\x1b[2J")
        memory.flush()
    return path


@pytest.fixture
def run(folder, capsys):
    """Run a command line: exit code, standard output, standard error."""

    def call(*arguments, user="alice"):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(folder), "--user", user, "--embedder", "none", *arguments])
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return call


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_nothing_that_a_terminal_obeys_is_left(text):
    assert OBEYED.search(safe(text)) is None


@pytest.mark.parametrize(
    "text", ["Tom & Ána", "日本語", "👩\u200d🚀", "❤\ufe0f", "می\u200cخواهم", "a\tb\nc", "§W-001 – “x”"]
)
def test_what_people_write_stays_as_it_is(text):
    assert safe(text) == text


@pytest.mark.parametrize("command", LOOKS)
def test_no_command_hands_on_what_is_stored(run, command):
    code, out, err = run(*command.split())
    assert code == 0, err
    assert OBEYED.search(out + err) is None


@pytest.mark.parametrize("command", LOOKS)
def test_json_is_one_value_in_ascii(run, command):
    _, out, _ = run(*command.split(), "--json")
    assert out.isascii()
    assert OBEYED.search(out) is None
    json.loads(out)


@pytest.mark.parametrize("what", ["show", "knowledge show", "notes show", "tasks show", "timeline", "why 999", "edit"])
@pytest.mark.parametrize("text", [HOSTILE["title"], HOSTILE["bidi override"] + HOSTILE["tags"]])
def test_errors_hand_on_nothing_either(run, what, text):
    code, out, err = run(*what.split(), f"no such {text}")
    assert code == 1
    assert OBEYED.search(out + err) is None


def test_a_table_is_made_safe_whoever_filled_it(capsys):
    from rich.table import Table
    from rich.tree import Tree

    table, tree = Table("name"), Tree("\x1b[2J")
    table.add_row("\x1b]0;title\x07")
    tree.add("\u202ex")
    print_shown([table, tree])
    assert OBEYED.search(capsys.readouterr().out) is None


@pytest.mark.parametrize(
    "command", ["palace", "graph", "receipts show 1", "stats", "doctor", "why last", "config show recall"]
)
@pytest.mark.parametrize("columns", [40, 100])
def test_a_terminal_shows_ids_whole_and_obeys_nothing(folder, offline_environment, command, columns):
    arguments = ["langmem-tiers", "--path", str(folder), "--user", "alice", "--embedder", "none", *command.split()]
    code, out = in_terminal(arguments, columns=columns, environment=offline_environment)
    assert code == 0
    assert OBEYED.search(out.replace("\r", "")) is None
    whole = subprocess.run(arguments, env=offline_environment, capture_output=True, text=True, check=True).stdout
    named = set(re.findall(r"§W-\d+/R-\d+/D-\d+|\b[0-9a-f]{12}\b|\brecall\.[a-z_.]+", whole))
    assert {each for each in named if each not in out} == set()


def test_a_table_is_a_list_in_a_narrow_terminal(folder, offline_environment):
    arguments = ["langmem-tiers", "--path", str(folder), "config", "show", "recall.lists"]
    narrow = in_terminal(arguments, columns=40, environment=offline_environment)[1]
    wide = in_terminal(arguments, columns=100, environment=offline_environment)[1]
    assert "recall.lists.item_characters\n  value: 200\n  from: default\n" in narrow
    assert "│ recall.lists.item_characters │ 200" in wide


def test_a_pipe_gets_a_row_on_a_line_without_lines_around_it(run):
    _, out, _ = run("config", "show", "recall")
    assert re.search(r"^recall\.limit +8 +default$", out, re.M)
    assert not re.search("[│┃─━]", out)
    assert re.search("^recall.weights .*needed.* default$", out, re.M)


def test_a_pipe_gets_long_texts_on_one_line(run):
    run("knowledge", "add", "The user knows " + "very " * 60 + "long texts.", "--category", "long")
    _, out, _ = run("knowledge", "list", "--category", "long")
    assert max(map(len, out.splitlines())) > 280


def test_what_happens_is_followed_and_ctrl_c_is_the_way_out(tmp_path, offline_environment):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="I like tea.")], session="s")
        alice.mine()
    arguments = ["langmem-tiers", "--path", str(tmp_path / "memory"), "--user", "alice", "--embedder", "none"]
    terminal = Terminal([*arguments, "activity", "--follow"], columns=100, environment=offline_environment)
    terminal.read_until("memory_mined  session s")
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="My sister Lena lives in Porto.")], session="t")
        alice.recall("Where does my sister Lena live?", session="u")
        alice.mine()
    terminal.read_until("memory_mined  session t")
    terminal.interrupt()
    assert terminal.finish() == 0
    told = terminal.output
    assert "message_stored  session t" in told
    assert "recalled  session u\n  receipt 1, 1 of " in told
    assert "I like tea." not in told


def test_followed_as_json_it_is_a_value_a_line(tmp_path, offline_environment):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="I like tea.")], session="s")
        alice.mine()
    arguments = ["langmem-tiers", "--path", str(tmp_path / "memory"), "--user", "alice", "--embedder", "none"]
    terminal = Terminal([*arguments, "activity", "-f", "--json"], columns=40, environment=offline_environment)
    terminal.read_until("memory_mined")
    terminal.interrupt()
    assert terminal.finish() == 0
    lines = [json.loads(line) for line in terminal.output.splitlines() if line.startswith("{")]
    assert lines[0]["kind"] == "memory_mined"
    assert set(lines[0]) == {"at", "kind", "session", "data"}
