"""`langmem-tiers import` of what other memories and chat programs wrote down, from the outside."""

import json
import signal
import subprocess
import sys
from time import monotonic, sleep

import pytest

from langmem_tiers import Memory
from langmem_tiers.cli.main import main
from langmem_tiers.transfer import FORMATS
from tests import import_samples as samples
from tests.import_samples import SAMPLES


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


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_a_dry_run_counts_and_makes_no_folder(run, tmp_path, sample):
    (tmp_path / "from").mkdir()
    code, out, _ = run("--user", "ann", "import", sample(tmp_path / "from"), "--dry-run", "--json")
    told = json.loads(out)
    assert (code, told["dry_run"], told["spaces"]) == (0, True, ["users/ann"])
    assert (told["messages"], told["entries"]["read"], told["documents"]["read"]) == SAMPLES[sample][1:]
    assert not (tmp_path / "memory").exists()


def test_the_counts_are_told_in_words(run, tmp_path):
    code, out, err = run("--user", "ann", "import", samples.letta(tmp_path))
    assert code == 0
    command = f"langmem-tiers --path {tmp_path / 'memory'} --user ann"
    assert out.splitlines() == [
        "3 messages of 1 sessions, 1 entries, 2 documents into users/ann: 6 stored, 0 known before, 0 refused.",
        "Left behind: 2 messages of tools and the system, 2 events, tool calls and inner monologue.",
        "Found in them: 0 entries, 0 relations.",
        "Try:",
        f"  {command} recall 'What did we talk about last time?'",
        f"  {command} knowledge list",
        f"  {command} palace",
    ]
    assert "skipped" not in err


def test_a_dry_run_is_told_in_words(run, tmp_path):
    _, out, _ = run("import", samples.mem0_json(tmp_path), "--dry-run")
    assert out == "2 entries into 2 spaces: nothing was written.\n"


def test_a_dry_run_counts_what_was_deleted_in_the_memory_there_is(run, tmp_path):
    run("--user", "ann", "import", samples.letta(tmp_path))
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        memory.user("ann").documents.delete("imported/letta/sam/persona.md")
    _, counted, _ = run("--user", "ann", "import", samples.letta(tmp_path), "--dry-run")
    _, out, _ = run("--user", "ann", "import", samples.letta(tmp_path))
    assert "1 documents that were deleted here" in counted
    assert counted.splitlines()[1:] == out[: out.index("Found in them")].splitlines()[1:]


def test_again_stores_nothing(run, tmp_path):
    run("--user", "ann", "import", samples.letta(tmp_path))
    _, out, _ = run("--user", "ann", "import", samples.letta(tmp_path))
    assert "0 stored, 6 known before, 0 refused." in out


def test_without_a_user_the_users_of_the_file_are_taken(run, tmp_path):
    _, out, _ = run("import", samples.mem0_json(tmp_path), "--json")
    assert json.loads(out)["spaces"] == ["users/alice", "users/bob"]


def test_with_a_user_all_is_of_that_one(run, tmp_path):
    _, out, _ = run("--user", "ann", "import", samples.mem0_json(tmp_path), "--json")
    assert json.loads(out)["spaces"] == ["users/ann"]


def test_a_file_that_names_nobody_needs_a_user_and_leaves_no_folder(run, tmp_path):
    code, _, err = run("import", samples.chatgpt(tmp_path))
    assert code == 1
    assert "langmem-tiers --user ID import" in err
    assert not (tmp_path / "memory").exists()


def test_malformed_files_are_counted_and_named(run, tmp_path):
    code, out, err = run("--user", "ann", "import", samples.rockbot(tmp_path))
    assert code == 0
    assert "2 entries" in out
    assert "1 skipped:" in err
    assert "broken.json" in err


def test_what_is_of_nobody_is_named(run, tmp_path):
    memories = [{**each, "user_id": None} for each in samples.MEM0_GET_ALL["results"]]
    code, _, err = run("import", samples.save(tmp_path / "m.json", memories), "--format", "mem0")
    assert code == 0
    assert "2 refused:" in err
    assert "m2: " in err


def test_another_format_is_refused_naming_what_it_looks_like(run, tmp_path):
    code, _, err = run("--user", "ann", "import", samples.chatgpt(tmp_path), "--format", "claude")
    assert code == 1
    assert "looks like chatgpt" in err
    assert not (tmp_path / "memory").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_can_be_said(run, tmp_path, format):
    code, _, err = run("--user", "ann", "import", tmp_path / "nothing-here", "--format", format)
    assert code == 1
    assert "nothing-here" in err


@pytest.mark.folder
def test_ctrl_c_says_what_is_stored_and_again_goes_on_from_there(run, tmp_path, offline_environment):
    items = [
        {**samples.LANGMEM_ITEMS[0], "key": str(n), "value": {"content": f"Fact {n} is of number {n}."}}
        for n in range(20_000)
    ]
    file = samples.save(tmp_path / "store.jsonl", tuple(items))
    code = "from langmem_tiers.cli.main import main; main()"
    command = [sys.executable, "-c", code, "--path", tmp_path / "memory", "import", file]
    with subprocess.Popen(command, env=offline_environment, stderr=subprocess.PIPE, text=True) as importing:
        _wait_until(lambda: len(_facts(tmp_path)) > 5)
        importing.send_signal(signal.SIGINT)
        _, err = importing.communicate(timeout=120)
    assert importing.returncode == 130
    assert "Stopped: at least 0 messages and " in err
    held = len(_facts(tmp_path))
    assert 5 < held < 20_000
    few = samples.save(tmp_path / "few.jsonl", tuple(items[: held + 10]))
    told = json.loads(run("import", few, "--json")[1])
    assert (told["entries"]["known"], told["entries"]["stored"]) == (held, 10)


def _facts(tmp_path):
    if not next(tmp_path.glob("memory/spaces/*/memory.db"), None):
        return ()
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        return memory.user("alice").knowledge.search(limit=20_000)


def _wait_until(true, seconds=120):
    until = monotonic() + seconds
    while not true():
        assert monotonic() < until
        sleep(0.02)
