"""The examples run as they stand, offline, in a process of their own."""

import re
import subprocess
import sys

import pytest

from langmem_tiers import Memory


def _run(root, environment, name, *arguments, lines=""):
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
    return done


def _example(*arguments, **options):
    return _run(*arguments, **options).stdout


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


def test_a_patrol_and_a_subagent_hand_over_what_they_found(example, tmp_path):
    shown = example("handover.py", tmp_path / "memory")
    assert "- patrol/greenhouse/alerts: expires in 3h 59m" in shown
    assert "subagent/t1/plants-3: 7,329 characters, Chard" in shown
    assert "the soil in the greenhouse is dry" in shown.rpartition("\n\n")[2]


def test_the_store_finds_and_recalls_what_was_put(root, offline_environment, tmp_path):
    environment = offline_environment | {"LANGMEM_TIERS_PATH": str(tmp_path / "memory")}
    shown = _example(root, environment, "store.py")
    assert shown.count("The user's sister Lena lives in Porto.") == 2
    assert "[item lena]" in shown


def _of_a_new_user(environment, home):
    """The environment of a user who has no memory yet, with a data folder and a temporary one of their own."""
    (home / "temporary").mkdir(parents=True)
    folders = {
        "HOME": home,
        "XDG_DATA_HOME": home / "data",
        "TMPDIR": home / "temporary",
        "LOCALAPPDATA": home / "data",
    }
    return environment | {name: str(folder) for name, folder in folders.items()}


def test_the_store_leaves_the_memory_of_the_user_alone(root, offline_environment, tmp_path):
    shown = _example(root, _of_a_new_user(offline_environment, tmp_path), "store.py")
    assert "[item lena]" in shown
    assert [*tmp_path.rglob("spaces")] == [*(tmp_path / "temporary").glob("store-*/spaces")] != []


def test_the_store_uses_the_folder_that_is_named(example, tmp_path):
    example("store.py", tmp_path / "memory")
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        assert memory.spaces() == ("users/alice@example.com",)


@pytest.mark.parametrize(("name", "stream"), [("chatbot.py", "stdout"), ("server.py", "stderr")])
def test_what_is_for_real_use_says_where_the_memory_is(root, offline_environment, tmp_path, name, stream):
    environment = offline_environment | {"LANGMEM_TIERS_PATH": str(tmp_path / "memory")}
    assert f"The memory is in {tmp_path / 'memory'}." in getattr(_run(root, environment, name), stream)


def test_the_tools_correct_what_was_wrong_and_explain_what_was_recalled(example, tmp_path):
    shown = example("tools.py", tmp_path / "memory")
    monday, tuesday, friday = re.split(r"^(?:tuesday|friday): ", shown, flags=re.MULTILINE)
    assert "Saved as [" in monday
    assert "The user's sister Lena lives in Lisbon." in tuesday.partition("Updated [")[2]
    assert re.search(r"\[entry \w{12}\] The user's sister Lena lives in Lisbon\.\n +because: ", friday)
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        (found,) = memory.user("alice").knowledge.search()
        assert found.entry.content == "The user's sister Lena lives in Lisbon."


def test_what_langmem_knew_is_imported_once_and_recalled(example, tmp_path):
    shown = example("migrating_from_langmem.py", tmp_path)
    assert "store.jsonl: 3 there, 3 stored, 0 known" in shown
    assert "store.db: 3 there, 0 stored, 3 known" in shown
    alice, bob = shown.split("bob: ")
    assert "lives in Porto" in alice
    assert "city: Oslo" in bob
    assert "Oslo" not in alice


def test_the_nightly_dream_is_looked_at_applied_and_undone(example, tmp_path):
    shown = example("nightly_dream.py", tmp_path / "memory")
    previewed, applied, undone = re.split(r"^(?:applied|undone):\n", shown, flags=re.MULTILINE)
    assert re.search(r"^- entry \w{12} The user lives in Porto\.", previewed, flags=re.MULTILINE)
    assert "status: applied" in previewed
    assert "The user lives in Porto." not in applied
    assert "The user has two cats" in applied
    assert "The user lives in Porto." in undone


def test_create_agent_redacts_before_it_remembers(example, tmp_path):
    monday, _, friday = example("create_agent.py", tmp_path / "memory").partition("friday:")
    assert "type: memory_tracked, stored: 1" in monday
    assert "user: “I moved to Lisbon in March. Write to me at [REDACTED_EMAIL].”" in friday
    assert "alice@example.com" not in friday


def test_the_lcel_chain_quotes_another_session_and_stores_both_turns(example, tmp_path):
    shown = example("lcel_chain.py", tmp_path / "memory")
    assert "user: “I moved to Lisbon in March.”" in shown.partition("friday:")[2]
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        said = [(drawer.session, drawer.content) for drawer in memory.user("alice").drawers()]
    assert said == [("monday", "I moved to Lisbon in March."), ("friday", "Which city did I move to?")]


def test_the_classic_chain_goes_on_with_its_session_and_recalls_the_other(example, tmp_path):
    shown = example("classic_chain.py", tmp_path / "memory")
    first, second, friday = shown.split("before the model stood:\n")[1:]
    assert first.startswith("(nothing)")
    assert "Human: I moved to Lisbon in March.\nAI: How do you like it?" in second
    assert re.search(r"<memory_context>.*user: I moved to Lisbon in March\.", friday, flags=re.DOTALL)


def test_the_research_team_shares_one_memory_and_stores_each_message_once(example, tmp_path):
    shown = example("research_team.py", tmp_path / "memory")
    block = shown.partition("before the writer on friday stood:")[2].partition("</memory_context>")[0]
    assert "researcher: Cherry tomatoes take the least sun" in block
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        speakers = [(drawer.session, drawer.speaker) for drawer in memory.user("alice").drawers()]
    assert speakers == [
        ("monday", None),
        ("monday", "researcher"),
        ("monday", "writer"),
        ("friday", None),
        ("friday", "writer"),
    ]


def test_each_example_stands_in_the_table(root):
    examples = {path.name for path in (root / "examples").glob("*.py")}
    listed = re.findall(
        r"^\| \[(\w+\.py)\]\(\1\) \|", (root / "examples" / "README.md").read_text(), flags=re.MULTILINE
    )
    assert sorted(listed) == sorted(examples)
