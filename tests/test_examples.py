"""The examples run as they stand, offline, in a process of their own."""

import re
import subprocess
import sys

import pytest

from langmem_tiers import Memory


def _example(root, environment, name, *arguments, lines=""):
    done = subprocess.run(
        [sys.executable, root / "examples" / name, *map(str, arguments)],
        input=lines,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def example(root, offline_environment):
    """Runs an example; what it printed."""
    return lambda *arguments, **options: _example(root, offline_environment, *arguments, **options)


def test_two_nodes_quotes_on_friday_what_was_said_on_monday(example, tmp_path):
    shown = example("two_nodes.py", tmp_path / "memory")
    assert "user: “I moved to Lisbon in March.”" in shown.partition("friday:")[2]


def test_two_nodes_makes_its_own_folder(example):
    assert "Lisbon" in example("two_nodes.py")


def test_the_async_agent_keeps_its_users_apart(example, tmp_path):
    shown = example("async_agent.py", tmp_path / "memory")
    alice, bob, carol = re.split(r"^(?:bob|carol): ", shown, flags=re.MULTILINE)
    assert [re.findall("Lisbon|Oslo|Kyoto", reply) for reply in (alice, bob, carol)] == [
        ["Lisbon"],
        ["Oslo"],
        ["Kyoto"],
    ]


def test_the_chatbot_remembers_across_sessions(example, tmp_path):
    at = ("--path", tmp_path / "memory", "--user", "alice")
    example("chatbot.py", *at, "--session", "monday", lines="My sister Lena moved to Porto last year.\n")
    shown = example("chatbot.py", *at, "--show", lines="Which city did my sister Lena move to?\n")
    assert "<memory_context>" in shown
    assert "My sister Lena moved to Porto last year." in shown
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        assert len(memory.user("alice").sessions()) == 2


def test_the_chatbot_names_its_options(example):
    assert "--session" in example("chatbot.py", "--help")


def test_the_tools_correct_what_was_wrong_and_explain_what_was_recalled(example, tmp_path):
    shown = example("tools.py", tmp_path / "memory")
    monday, tuesday, friday = re.split(r"^(?:tuesday|friday): ", shown, flags=re.MULTILINE)
    assert "Saved as [" in monday
    assert "The user's sister Lena lives in Lisbon." in tuesday.partition("Updated [")[2]
    assert re.search(r"\[entry \w{12}\] The user's sister Lena lives in Lisbon\.\n +because: ", friday)
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        (found,) = memory.user("alice").knowledge.search()
        assert found.entry.content == "The user's sister Lena lives in Lisbon."


def test_the_nightly_dream_is_looked_at_applied_and_undone(example, tmp_path):
    shown = example("nightly_dream.py", tmp_path / "memory")
    previewed, applied, undone = re.split(r"^(?:applied|undone):\n", shown, flags=re.MULTILINE)
    assert re.search(r"^- entry \w{12} The user lives in Porto\.", previewed, flags=re.MULTILINE)
    assert "status: applied" in previewed
    assert "The user lives in Porto." not in applied
    assert "The user has two cats" in applied
    assert "The user lives in Porto." in undone
