"""What the memory does in the background reaches the custom stream with the node that runs next, once a thread."""

import json

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from langmem_tiers import FlushSettings, Memory, Settings
from langmem_tiers.graphs import MemoryState, flush_node, recall_node, track_node
from langmem_tiers.graphs.runs import feed_of
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import FACT, ask, chat_graph, remember, run
from tests.tasking import archived

TEN_MINUTES = 600


def heard(graph, config, *, question=None) -> list[str]:
    asked = ask() if question is None else ask(question)
    return [event["type"] for event in graph.stream(asked, config, stream_mode="custom")]


@pytest.fixture
def graph(memory):
    """A graph whose thread was there before anything was mined."""
    made = chat_graph(memory, compiled={"checkpointer": InMemorySaver()})
    heard(made, run())
    return made


def test_the_next_node_says_what_was_mined_since_and_no_other_does(memory, alice, graph, clock):
    remember(alice, FACT)
    clock.tick(TEN_MINUTES)
    alice.flush()
    mined = len(alice.knowledge.activity(kind="memory_mined"))
    assert mined >= 1
    assert heard(graph, run()).count("memory_mined") == mined
    assert "memory_mined" not in heard(graph, run())


def test_an_event_says_what_landed_in_plain_json(memory, alice, graph, clock):
    remember(alice, FACT)
    clock.tick(TEN_MINUTES)
    alice.flush()
    events = [event for event in graph.stream(ask(), run(), stream_mode="custom") if event["type"] == "memory_mined"]
    told = {event["number"]: event for event in json.loads(json.dumps(events))}
    for activity in alice.knowledge.activity(kind="memory_mined"):
        assert told[activity.number] == {
            **activity.body,
            "type": "memory_mined",
            "number": activity.number,
            "session": activity.session,
        }


def test_what_lands_while_the_model_answers_is_said_by_the_track_node(memory, alice, clock):
    def answer(state):
        archived(alice, "robot", "The robot has a new battery.")
        return {"messages": [("ai", "Done.")]}

    builder = StateGraph(MemoryState).add_node("agent", answer).add_node(recall_node(memory))
    builder.add_node(track_node(memory)).add_edge(START, "recall").add_edge("recall", "agent")
    graph = builder.add_edge("agent", "track").add_edge("track", END).compile()
    assert heard(graph, run()) == ["memory_recalled", "memory_archived", "memory_tracked"]


def test_a_new_thread_is_not_told_of_the_past(memory, alice, clock):
    remember(alice, FACT)
    clock.tick(TEN_MINUTES)
    alice.flush()
    assert "memory_mined" not in heard(chat_graph(memory), run())


def test_a_thread_hears_in_another_process_what_it_has_not_heard(tmp_path, clock):
    saver = InMemorySaver()
    options = {"embedder": None, "background": False, "clock": clock}
    with Memory.open(tmp_path / "m", **options) as memory:
        archived(memory.user("alice"), "one", "The robot has a battery.")
        heard(chat_graph(memory, compiled={"checkpointer": saver}), run())
    with Memory.open(tmp_path / "m", **options) as memory:
        archived(memory.user("alice"), "two", "The robot has a wheel.")
        assert heard(chat_graph(memory, compiled={"checkpointer": saver}), run()).count("memory_archived") == 1


def test_enriching_is_told_too(tmp_path, clock):
    model = ScriptedChatModel(responses=[json.dumps({"memories": [{"content": "The user likes tea."}]})])
    with Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock, model=model) as memory:
        graph = chat_graph(memory)
        heard(graph, run())
        memory.user("alice").knowledge.save("likes tea")
        memory.flush()
        assert "memory_enriched" in heard(graph, run())


def test_what_a_flush_node_said_itself_is_not_said_again(tmp_path, clock):
    settings = Settings(flush=FlushSettings(messages=1))
    with Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock, settings=settings) as memory:
        builder = StateGraph(MemoryState).add_node(flush_node(memory)).add_node(track_node(memory))
        graph = builder.add_edge(START, "flush").add_edge("flush", "track").add_edge("track", END).compile()
        heard(graph, run())
        said = {"messages": [HumanMessage("My sister Anna lives in Lisbon."), HumanMessage("I prefer green tea.")]}
        events = [event["type"] for event in graph.stream(said, run(), stream_mode="custom")]
    assert events.count("memory_flushed") == 1
    assert "memory_mined" in events


@pytest.mark.folder
def test_activities_that_can_not_be_read_cost_nobody_the_recall(memory, alice, graph, caplog):
    remember(alice, FACT)
    with memory.use("users/alice") as store, store.writing() as connection:
        connection.exec_driver_sql("DROP TABLE activities")
    assert heard(graph, run()) == ["memory_recalled", "memory_tracked"]
    assert "activities_not_told node=recall" in caplog.text


def test_outside_of_a_graph_nothing_is_read_or_told(memory, alice):
    update = recall_node(memory).invoke(ask(), run())
    assert "heard" not in update["memory_scope"]
    assert feed_of(memory)._heard == {}
