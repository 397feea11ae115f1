"""Projects and tasks on what was said, on what is known and on summaries, and the filters by them."""

import json

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput
from langmem_tiers.graphs import flush_node
from langmem_tiers.integrations.retriever import TieredRetriever
from langmem_tiers.integrations.tools import space_tools
from langmem_tiers.testing import HashEmbedder
from tests.graphing import ask, chat_graph, run

MAST = "The mast of the boat is made of spruce."
PAINT = "We paint the hull of the boat in July."
ROOF = "The boat house needs a new roof of slate."
LIKES = "I prefer varnish with a matt finish."


def say(space, text, session="s", **about):
    """Store one message of the user."""
    return space.track([Turn(role="user", content=text, speaker="Alice")], session=session, **about)


@pytest.fixture
def boat(alice):
    """Two projects: in the first, one message was said in a task and one was not."""
    say(alice, MAST, project="boat", task="mast-7")
    say(alice, PAINT, project="boat")
    say(alice, ROOF, "t", project="house")
    return alice


def told(found):
    return [each.content for each in found]


def test_a_message_knows_its_project_and_its_task(boat):
    assert [(each.project, each.task) for each in boat.drawers()] == [
        ("boat", "mast-7"),
        ("boat", None),
        ("house", None),
    ]
    assert told(boat.drawers(project="boat")) == [MAST, PAINT]
    assert told(boat.drawers(task=" mast-7 ")) == [MAST]
    assert told(boat.drawers(project="boat", session="t")) == []


def test_a_session_stays_in_its_project_until_another_is_named(alice):
    for text, about in ((MAST, {"project": "boat"}), (PAINT, {}), (ROOF, {"project": "house"})):
        say(alice, text, **about)
    assert [each.project for each in alice.drawers()] == ["boat", "boat", "house"]
    assert [(each.project, each.wing) for each in alice.sessions()] == [("boat", "boat")]


def test_a_task_ends_with_the_call_that_names_it(alice):
    say(alice, MAST, task="mast-7")
    say(alice, PAINT)
    assert [each.task for each in alice.drawers()] == ["mast-7", None]


@pytest.mark.parametrize("name", ["project", "task"])
def test_a_project_or_task_that_is_no_text_is_refused_before_anything_is_stored(alice, name):
    with pytest.raises(InvalidInput, match=name):
        say(alice, MAST, **{name: 7})
    assert alice.drawers() == ()


def test_what_is_mined_belongs_to_the_project_and_task_it_was_said_in(alice):
    say(alice, LIKES, project="boat", task="paint-3")
    say(alice, "I live in Bergen.", "t", task="move-1")
    alice.mine()
    known = {entry.entry.content: entry.entry for entry in alice.knowledge.search(None)}
    (varnish,) = [entry for text, entry in known.items() if "varnish" in text]
    assert (varnish.project, varnish.task) == ("boat", "paint-3")
    assert [each.entry.id for each in alice.knowledge.search(None, task="paint-3")] == [varnish.id]
    assert [each.entry.id for each in alice.knowledge.search("matt varnish", project="boat")] == [varnish.id]
    assert {each.entry.task for each in alice.knowledge.search(None, task="move-1")} == {"move-1"}


def test_what_was_said_again_in_another_task_is_found_in_both(alice):
    say(alice, LIKES, "s", task="paint-3")
    alice.mine()
    say(alice, LIKES, "t", task="paint-4")
    alice.mine()
    found = {
        task: [each.entry.id for each in alice.knowledge.search(None, task=task)] for task in ("paint-3", "paint-4")
    }
    assert found["paint-3"] == found["paint-4"] != []


def test_what_an_agent_saves_is_of_the_task_it_names(alice):
    alice.knowledge.save("The mast is 9 m long.", project="boat", task="mast-7")
    alice.knowledge.save("The keel is made of oak.", project="boat")
    (found,) = alice.knowledge.search("mast", project="boat", task="mast-7")
    assert (found.entry.project, found.entry.task) == ("boat", "mast-7")
    assert alice.knowledge.search(None, task="mast-8") == ()


def test_the_summary_of_a_session_is_of_the_project_and_task_that_all_of_it_was_said_in(boat):
    say(boat, "The mast gets new shrouds of steel.", "u", project="boat", task="mast-7")
    for session in ("s", "t", "u"):
        boat.archive.write(session)
    found = {each.session: (each.project, each.task, each.of_task) for each in boat.archive.recent(9)}
    assert found == {"s": ("boat", None, False), "t": ("house", None, False), "u": ("boat", "mast-7", False)}
    assert {each.session for each in boat.archive.recent(9, project="boat")} == {"s", "u"}
    assert [each.episode.session for each in boat.archive.search("the boat", project="house")] == ["t"]
    assert [each.episode.session for each in boat.archive.search("the mast", task="mast-7")] == ["u"]
    assert {each.id for each in boat.search("the mast", project="boat", layer="L2")} == {
        each.id for each in boat.archive.recent(9, project="boat")
    }


def test_the_profile_is_of_no_project(boat):
    boat.identity.write("Alice builds boats.")
    assert [each.layer for each in boat.search("boats")] == ["L0"]
    assert boat.search("boats", project="boat") == ()


def test_messages_are_searched_within_a_project_or_a_task(boat):
    boat.flush()
    tools = {tool.name: tool for tool in space_tools(boat)}

    def found(**about):
        return tools["search_history"].invoke({"query": "the boat", **about})

    assert [text in found() for text in (MAST, PAINT, ROOF)] == [True, True, True]
    assert [text in found(project="boat") for text in (MAST, PAINT, ROOF)] == [True, True, False]
    assert [text in found(task="mast-7") for text in (MAST, PAINT, ROOF)] == [True, False, False]
    assert "Nothing was said" in found(task="mast-8")


def test_messages_of_a_small_project_are_found_among_many_others(alice):
    turns = [Turn(role="user", content=f"The boat number {number} has a mast.") for number in range(150)]
    say(alice, "The boat of my aunt is green.", "one", project="aunt")
    alice.track(turns, session="many", project="yard")
    alice.flush()
    retriever = TieredRetriever(memory=alice.memory, user_id="alice", project="aunt")
    assert [each.page_content for each in retriever.invoke("a boat with a mast")] == ["The boat of my aunt is green."]


def test_the_tool_searches_memories_within_a_project_or_a_task(alice):
    alice.knowledge.save("The mast is 9 m long.", project="boat", task="mast-7")
    alice.knowledge.save("The mast of the flag is 6 m long.", project="house")
    tools = {tool.name: tool for tool in space_tools(alice)}
    answers = [
        tools["search_memory"].invoke({"query": "mast", **about}) for about in ({}, {"project": "boat"}, {"task": "x"})
    ]
    assert [("9 m" in each, "6 m" in each) for each in answers] == [(True, True), (True, False), (False, False)]


def test_a_run_of_a_graph_names_project_and_task(memory, alice):
    graph = chat_graph(memory, compiled={"checkpointer": InMemorySaver()})
    config = run(thread="s")
    config["configurable"] |= {"project": "boat", "task_id": "mast-7"}
    graph.invoke(ask(MAST), config)
    graph.invoke(ask(PAINT), run(thread="s"))  # the thread stays in its task
    later = run(thread="s")
    later["configurable"]["task"] = "paint-3"
    graph.invoke(ask(ROOF), later)
    said = [(each.project, each.task) for each in alice.drawers() if each.role == "user"]
    assert said == [("boat", "mast-7"), ("boat", "mast-7"), ("boat", "paint-3")]


def test_what_a_flush_stores_is_of_the_task_of_the_run(tmp_path, alice):
    node = flush_node(alice.memory, context_window=10)
    config = run()
    config["configurable"] |= {"task_id": "mast-7"}
    node.invoke(ask(MAST), config)
    assert [each.task for each in alice.drawers()] == ["mast-7"]


@pytest.fixture
def command(tmp_path, capsys):
    """Run a command line about the memory of alice: exit code and standard output."""

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(tmp_path / "m"), "--user", "alice", "--embedder", "none", *arguments])
        return left.value.code or 0, capsys.readouterr().out

    return call


def test_commands_save_and_find_within_a_project_or_a_task(command):
    command("knowledge", "add", "The mast is 9 m long.", "--project", "boat", "--task", "mast-7")
    command("knowledge", "add", "The flag needs a mast.", "--project", "house")
    for words in (("list",), ("search", "mast")):
        found = json.loads(command("knowledge", *words, "--task", "mast-7", "--json")[1])
        entries = [each.get("entry", each) for each in found]
        assert [(each["content"], each["project"], each["task"]) for each in entries] == [
            ("The mast is 9 m long.", "boat", "mast-7")
        ]
        assert "No entry fits" in command("knowledge", *words, "--project", "car")[1]


@pytest.mark.folder
def test_a_memory_of_an_earlier_version_has_the_projects_of_its_sessions(tmp_path):
    with Memory.open(tmp_path / "m", embedder=HashEmbedder(), background=False) as memory:
        say(memory.user("alice"), MAST, project="boat")
        memory.user("alice").archive.write("s")
        with memory.use("users/alice") as opened, opened.writing() as connection:
            for column in ("drawers.project", "drawers.task", "entries.task", "episodes.project"):
                connection.exec_driver_sql("ALTER TABLE {} DROP COLUMN {}".format(*column.split(".")))
            which = "SELECT position FROM migrations WHERE name = 'projects and tasks'"
            steps = connection.exec_driver_sql(which).scalar_one()
            connection.exec_driver_sql(f"DELETE FROM migrations WHERE position >= {steps}")
            connection.exec_driver_sql(f"PRAGMA user_version={steps}")
    with Memory.open(tmp_path / "m", embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        assert told(alice.drawers(project="boat")) == [MAST]
        assert [each.project for each in alice.archive.recent()] == ["boat"]
