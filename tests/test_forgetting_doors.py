"""Forgetting through the doors: the tool in two steps, the command, the store, and the doctor that watches it."""

import json
import os
import pty
import re
import subprocess

import pytest
from typer.testing import CliRunner

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.app import app
from langmem_tiers.integrations.store import TieredStore
from langmem_tiers.integrations.tools import FORGETTING_TOOLS, memory_tools, space_tools
from tests import engines

CANARY = "kz77qx41"


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as opened:
        alice = opened.user("alice")
        said = [f"My badge is {CANARY}.", "I play the cello."]
        alice.track([Turn(role="user", content=text, message_id=f"a{n}") for n, text in enumerate(said)], session="s")
        opened.flush()
        yield opened


def _run(memory, *words, given=None):
    memory.close()
    where = ["--path", str(memory.path), "--user", "alice", "--embedder", "none"]
    return CliRunner().invoke(app, [*where, *words], input=given)


def test_the_tool_shows_first_and_deletes_when_it_is_called_again(memory):
    (tool,) = space_tools(memory.user("alice"), only=FORGETTING_TOOLS)
    shown = tool.invoke({"query": "badge"})
    assert CANARY in shown
    assert len(memory.user("alice").drawers()) == 2
    token = re.search(r"confirm=(\w+)", shown)[1]
    assert "1 drawers" in tool.invoke({"query": "badge", "confirm": token})
    assert CANARY.encode() not in engines.kept(memory.path)


def test_the_tool_is_made_only_where_it_is_named(memory):
    assert "forget_memory" not in {tool.name for tool in memory_tools(memory)}


def test_a_member_who_may_only_read_cannot_forget(tmp_path):
    roles = {"teams/research": {"ana": "leader", "ben": "member"}}
    with Memory.open(tmp_path / "memory", embedder=None, background=False, roles=roles) as memory:
        turn = Turn(role="user", content=f"The badge is {CANARY}.", message_id="a1")
        memory.space("teams/research", caller="ana").track([turn], session="s")
        (tool,) = space_tools(memory.space("teams/research", caller="ben"), only=FORGETTING_TOOLS)
        told = tool.invoke({"query": "badge"})
        assert "read-only" in told
        assert "leader" in told
        assert "Save" not in told
        assert len(memory.space("teams/research").drawers()) == 1


def test_the_command_prints_what_would_go_and_deletes_nothing(memory):
    result = _run(memory, "forget", "--query", "badge", "--dry-run")
    assert result.exit_code == 0
    assert CANARY in result.output
    assert CANARY.encode() in engines.kept(memory.path)


def test_the_command_refuses_where_nobody_can_be_asked(memory):
    result = _run(memory, "forget", "--query", "badge")
    assert result.exit_code == 1
    assert CANARY.encode() in engines.kept(memory.path)


def test_the_command_forgets_with_yes(memory):
    result = _run(memory, "forget", "--message", "a0", "--yes", "--json")
    assert json.loads(result.stdout)["counts"]["drawers"] == 1
    assert CANARY.encode() not in engines.kept(memory.path)


@pytest.mark.folder
def test_what_would_go_is_shown_beside_the_json_and_agreed_to(memory, offline_environment):
    path, (parent, child) = memory.path, pty.openpty()
    memory.close()
    os.write(parent, b"y\n")
    command = ["langmem-tiers", "--path", str(path), "--user", "alice", "--embedder", "none", "--json"]
    given = {"stdin": child, "capture_output": True, "text": True, "env": offline_environment}
    done = subprocess.run([*command, "forget", "--message", "a0"], check=True, **given)
    os.close(parent)
    os.close(child)
    assert json.loads(done.stdout)["counts"]["drawers"] == 1
    assert CANARY in done.stderr


def test_the_command_needs_a_choice(memory):
    assert _run(memory, "forget", "--yes").exit_code == 1
    assert _run(memory, "forget", "--everything", "--query", "badge", "--yes").exit_code == 1


def test_the_command_forgets_a_whole_user(memory):
    assert "alice" in _run(memory, "forget", "--everything", "--dry-run").output
    assert _run(memory, "forget", "--everything", "--yes").exit_code == 0
    assert _run(memory, "show", "a0").exit_code == 1
    assert b"alice" not in engines.kept(memory.path)


def test_what_is_deleted_from_the_store_goes_from_the_files_in_a_quiet_moment(memory, tmp_path):
    store = TieredStore(memory)
    namespace = ("users", "alice", "notes")
    store.put(namespace, "n1", {"text": f"The spare code is {CANARY}77."})
    store.delete(namespace, "n1")
    alice = memory.user("alice")
    assert "wait to be erased" in str(alice.doctor())


def test_the_doctor_says_when_the_files_hold_nothing_of_it_any_more(memory):
    alice = memory.user("alice")
    alice.forget(messages="a0", confirm=True)
    assert "hold nothing of what was deleted" in str(alice.doctor())
