"""Summaries and receipts on the command line: what earlier sessions were about, and why something was recalled."""

import io
import json
import re
from typing import get_args

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.recall import why_words
from langmem_tiers.testing import HashEmbedder
from langmem_tiers.types import CandidateVerdict, KnownVerdict, RecallVerdict

BOAT = "My sister Lena launched a wooden boat in Porto."
TEA = "I prefer green tea to coffee."


@pytest.fixture
def folder(tmp_path, clock, monkeypatch):
    """A memory with two sessions and a task, and three recalls."""
    monkeypatch.setenv("LANGMEM_TIERS_EMBEDDER", "none")
    with Memory.open(tmp_path / "memory", embedder=None, background=False, clock=clock) as memory:
        alice = memory.user("alice")
        for session, said, project in (("boats", BOAT, "harbour"), ("tea", TEA, None)):
            alice.track([Turn(role="user", content=said)], session=session, project=project)
            alice.end_session(session)
            alice.archive.write(session, summary=f"The user said: {said}")
            clock.tick(7 * 24 * 3600)
        alice.tasks.start("Repair the login", id="login")
        alice.tasks.complete("login", summary="The login failed on old cookies; they are cleared now.")
        for episode in alice.archive.recent():
            alice.archive.keep(episode.id)  # commands go by the real time
        alice.mine()
        alice.documents.write("MEMORY.md", "Lena has a wooden boat.")
        alice.recall("Which green tea do I like?", session="today", message_id="1")
        alice.recall("ok", session="today", message_id="2")
        alice.recall("Who launched a wooden boat?", session="today", message_id="3")
    return tmp_path / "memory"


@pytest.fixture
def run(folder, capsys):
    """Runs a command about alice; its exit code and what it printed."""

    def call(*arguments, user="alice"):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(folder), "--user", user, *arguments])
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return call


def ids(run, *arguments):
    """The ids of the episodes that a command finds."""
    return [each["episode"]["id"] for each in json.loads(run("episodes", *arguments, "--json")[1])]


def test_episodes_are_listed_newest_first_with_their_days_and_what_they_were_about(run):
    code, out, _ = run("episodes", "list")
    lines = out.splitlines()
    assert code == 0
    assert [line.partition("  ")[2] for line in lines[::2]] == [
        "2026-03-16  task login",
        "2026-03-09  session tea",
        "2026-03-02  session boats",
    ]
    assert lines[1] == "    The login failed on old cookies; they are cleared now."
    assert "There are more" in run("episodes", "list", "--limit", "2")[1]


def test_episodes_of_some_days_a_project_or_a_task_are_listed(run):
    login, tea, boats = ids(run, "list")
    assert ids(run, "list", "--since", "2026-03-03", "--until", "2026-03-10") == [tea]
    assert ids(run, "list", "--until", "2026-03-02") == [boats]
    assert ids(run, "list", "--project", "harbour") == [boats]
    assert ids(run, "list", "--task", "login") == [login]
    assert run("episodes", "list", "--since", "2027")[:2] == (0, "No episode fits.\n")


def test_episodes_are_searched(run):
    _, tea, boats = ids(run, "list")
    assert ids(run, "search", "wooden boat")[0] == boats
    code, out, _ = run("episodes", "search", "green tea", "--since", "2026-03-09")
    assert (code, tea in out.splitlines()[0], out[0]) == (0, True, "1")
    assert run("episodes", "search", "zebra")[:2] == (0, "No episode fits.\n")


def test_an_episode_is_shown_in_full(run):
    boats = ids(run, "list")[2]
    code, out, _ = run("episodes", "show", boats.upper())
    assert (code, out.startswith(f"The user said: {BOAT}\n")) == (0, True)
    shown = " ".join(out.split())
    for part in (f"id {boats}", "session boats", "project harbour", "began 2026-03-02 09:00 UTC", "recalled 1 time"):
        assert part in shown
    assert json.loads(run("episodes", "show", boats, "--json")[1])["ended"] == []


def test_an_episode_is_deleted_once_somebody_agrees(run, monkeypatch):
    _, tea, boats = ids(run, "list")
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    code, _, error = run("episodes", "delete", boats)
    assert (code, BOAT in error, boats in ids(run, "list")) == (1, True, True)
    assert run("episodes", "delete", boats.upper(), "--yes")[:2] == (0, f"{boats} is deleted.\n")
    assert boats not in ids(run, "list")
    assert tea in ids(run, "list")


def test_what_the_user_said_later_stands_beside_a_summary(run, folder, clock):
    with Memory.open(folder, embedder=None, background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="I work at Bosch.")], session="work")
        work = alice.archive.write("work", summary="The user works at Bosch.").id
        alice.archive.keep(work)
        clock.tick(60)
        alice.track([Turn(role="user", content="I quit Bosch.")], session="later")
        alice.mine()
    for command in (("list",), ("show", work)):
        assert 'but later, 2026-03-16: "I quit Bosch."' in run("episodes", *command)[1]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("episodes", "show", "nothing"), 1, "There is no episode nothing. `langmem-tiers episodes list`"),
        (("episodes", "delete", "nothing", "--yes"), 1, "There is no episode nothing. `langmem-tiers episodes list`"),
        (("episodes", "search", " "), 1, "The query is empty."),
        (("episodes", "list", "--since", "2026-05", "--until", "2026-03"), 1, "is after `until`"),
        (("episodes", "list", "--since", "someday"), 1, "'someday' is no date"),
        (("episodes", "list", "--limit", "0"), 2, "--limit"),
        (("receipts", "show", "4711"), 1, "There is no receipt 4711 (any more). `langmem-tiers receipts list`"),
        (("receipts", "show", "0"), 2, "N"),
        (("receipts", "show", "three"), 2, "N"),
        (("receipts", "list", "--limit", "-1"), 2, "--limit"),
    ],
)
def test_wrong_usage_is_told(run, arguments, code, says):
    left, out, error = run(*arguments)
    assert (left, out, says in error) == (code, "", True)


def test_a_mistyped_user_is_an_error_for_both(run):
    for command in ("episodes", "receipts"):
        code, _, error = run(command, "list", user="alcie")
        assert (code, "There is no user 'alcie'" in error) == (1, True)


def test_receipts_are_listed_newest_first_with_what_was_shown(run):
    code, out, _ = run("receipts", "list")
    lines = out.splitlines()
    assert code == 0
    assert [line.split("  ")[:3] for line in lines[::2]] == [
        [number, "2026-03-16 09:00", "session today"] for number in "321"
    ]
    assert lines[1::2] == ["    Who launched a wooden boat?", "    ok", "    Which green tea do I like?"]
    assert "0 of 0 shown" in lines[2]
    assert " ms" in lines[0]
    assert "There are more" in run("receipts", "list", "--limit", "2")[1]
    assert [each["number"] for each in json.loads(run("receipts", "list", "--json")[1])] == [3, 2, 1]


def test_a_receipt_says_what_was_shown_what_was_left_out_and_why(run):
    code, out, _ = run("receipts", "show", "1")
    assert code == 0
    head, _, looked_at = out.partition("known, best first")
    for part in ("query  Which green tea do I like?", "session  today", "message  1", "result  recalled", "took  "):
        assert part in head
    entry = looked_at.partition("\n  entry ")[2]
    assert ": score 0." in entry.splitlines()[0]
    assert entry.splitlines()[1] == "      The user prefers green tea to coffee."
    assert "1 candidate, best first\n  §W-" in looked_at
    assert f"verdict shown\n      {TEA}\n      found by keyword 1.000; signals match 1.000" in looked_at
    assert "ms by stage: " in looked_at
    assert json.loads(run("receipts", "show", "1", "--json")[1])["query"] == "Which green tea do I like?"


def test_why_something_was_left_out_is_said_in_words(run):
    assert "verdict quoted instead: the message it was found in is shown" in run("receipts", "show", "1")[1]
    assert "document MEMORY.md: score " in run("receipts", "show", "3")[1]


def test_a_summary_that_nobody_asked_for_is_explained(run, folder, clock):
    with Memory.open(folder, embedder=None, background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.archive.write("lamp", summary="The old lantern of the boat was mended with copper wire.")
        number = alice.recall("The lantern of the boat needs copper wire.", session="today").receipt.number
    code, out, _ = run("receipts", "show", str(number))
    assert (code, "verdict not asked for: a summary, shown only to questions" in out) == (0, True)


def test_every_verdict_has_its_words():
    assert set(why_words.VERDICTS) == {*get_args(KnownVerdict), *get_args(CandidateVerdict)}
    assert set(why_words.RESULTS) == {*get_args(RecallVerdict)}


def test_a_receipt_of_small_talk_says_that_nothing_was_looked_up(run):
    out = run("receipts", "show", "2")[1]
    assert "nothing: it says too little to look anything up for" in out
    assert "No candidates" not in out


def test_what_expired_since_is_gone_from_a_receipt(run, folder, clock):
    with Memory.open(folder, embedder=None, background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="The bees swarmed.")], session="bees")
        bees = alice.archive.write("bees", summary="The bees swarmed in the old orchard.").id
        number = alice.recall("When did the bees swarm in the old orchard?", session="today").receipt.number
        clock.tick(91 * 24 * 3600)
        assert alice.archive.prune() == 1
    after = run("receipts", "show", str(number))[1].partition(f"episode {bees}: score ")[2]
    assert after.splitlines()[1] == "      (gone)"


def test_with_a_summary_or_a_note_the_recalls_that_showed_it_are_deleted(run, folder, clock):
    with Memory.open(folder, embedder=None, background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.documents.write('memory/"bees".md', "The bees swarmed in the old orchard.")
        alice.recall("When did the bees swarm in the old orchard?", session="today")
        alice.track([Turn(role="user", content="A flood!")], session="cave")
        cave = alice.archive.write("cave", summary="The cave was flooded by the spring tide.").id
        assert "flooded" in alice.recall("What flooded the cave, the spring tide?", session="today").block
        assert alice.documents.delete('memory/"bees".md')
        assert alice.archive.delete(cave)
    assert [each["number"] for each in json.loads(run("receipts", "list", "--json")[1])] == [3, 2, 1]


def test_recall_explains_with_signals_in_the_same_way(run):
    explained = run("recall", "Which green tea do I like?", "--explain")[1].partition("known, best first")[2]
    shown = run("receipts", "show", "1")[1].partition("known, best first")[2]
    assert "signals match 1.000" in explained
    numbers = re.compile(r"score [\d.]+|recency [\d.]+|ms by stage.*", re.DOTALL)
    assert numbers.sub("", explained) == numbers.sub("", shown)


def test_at_80_columns_nothing_is_wider(run, monkeypatch):
    monkeypatch.setattr("langmem_tiers.cli.terminal.console", _narrow)
    for command in (("receipts", "show", "3"), ("receipts", "list"), ("episodes", "list")):
        assert max(map(len, run(*command)[1].splitlines())) <= 80


def _narrow():
    from rich.console import Console

    return Console(width=80, markup=False, emoji=False, highlight=False)


def test_stored_text_can_not_talk_to_the_terminal(tmp_path, capsys, clock):
    with Memory.open(tmp_path / "m", embedder=HashEmbedder(), background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="The \x1b[31mred\x07 boat of Lena sank.")], session="a\x1b[2J")
        alice.archive.write("a\x1b[2J", summary="The \x1b[31mred boat sank.")
        alice.recall("Which red boat of Lena sank?", session="b\x1b[2J")
    for command in (("episodes", "list"), ("receipts", "list"), ("receipts", "show", "1")):
        with pytest.raises(SystemExit):
            main(["--path", str(tmp_path / "m"), "--user", "alice", "--embedder", "none", *command])
        assert not {"\x1b", "\x07"} & set(capsys.readouterr().out)
