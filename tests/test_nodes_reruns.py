"""Nothing is stored or counted twice when LangGraph runs a node again."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

from langmem_tiers.graphs import MemoryInput, MemoryState, recall_node, track_node
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import FACT, QUESTION, answering, ask, chat_graph, remember, run, said, texts


def _failing_once(node):
    """The node, made to fail after its work the first time."""
    failures = [ConnectionError("the reply of the node was lost")]

    def rerun(state: MemoryInput):
        update = node.invoke(state)
        if failures:
            raise failures.pop()
        return update

    return rerun


@pytest.fixture
def saved():
    return {"checkpointer": InMemorySaver()}


@pytest.fixture
def model():
    return ScriptedChatModel(responses=[f"Answer {number}." for number in range(9)])


def test_an_interrupt_between_recall_and_model_keeps_the_block_and_recalls_once(memory, alice, model, saved):
    def approve(state: MemoryState):
        interrupt("go on?")
        return {}

    remember(alice, FACT)
    graph = chat_graph(memory, model, between=[approve], compiled=saved)
    graph.invoke(ask(), run())
    assert model.requests == []
    graph.invoke(Command(resume=True), run())
    assert FACT in model.requests[0][-1].text
    assert len(alice.receipts()) == 1


def test_a_pause_before_the_model_is_resumed_without_saying_who_it_is(memory, alice, model, saved):
    remember(alice, FACT)
    graph = chat_graph(memory, model, compiled={**saved, "interrupt_before": ["agent"]})
    graph.invoke(ask(), run())
    graph.invoke(None, run(user=None))
    assert FACT in model.requests[0][-1].text
    assert said(alice, "friday") == [QUESTION, "Answer 0."]


def test_a_retried_recall_gives_the_same_block_and_counts_once(memory, alice):
    remember(alice, FACT)
    builder = StateGraph(MemoryState)
    retry = RetryPolicy(initial_interval=0, jitter=False)
    builder.add_node("recall", _failing_once(recall_node(memory)), retry_policy=retry)
    builder.add_edge(START, "recall")
    result = builder.compile().invoke(ask(), run())
    assert FACT in "".join(result["memory_blocks"].values())
    assert [drawer.recall_count for drawer in alice.drawers()] == [1]


def test_a_retried_track_stores_once(memory, alice):
    builder = StateGraph(MemoryState)
    retry = RetryPolicy(initial_interval=0, jitter=False)
    builder.add_node("track", _failing_once(track_node(memory)), retry_policy=retry)
    builder.add_edge(START, "track")
    builder.compile().invoke(ask(FACT), run())
    assert said(alice) == [FACT]


def _before(graph, node, human):
    """The checkpoint at which `node` was next, after the human message of this id."""
    history = graph.get_state_history(run())
    return next(s for s in history if s.next == (node,) and texts(s.values["messages"])[-1:] and _asked(s) == human)


def _asked(snapshot):
    return [message.id for message in snapshot.values["messages"] if message.type == "human"][-1]


def test_a_replay_knows_whose_memory_it_is_and_stores_the_question_once(memory, alice, model, saved):
    graph = chat_graph(memory, model, compiled=saved)
    graph.invoke(ask(FACT, id="1"), run())
    graph.invoke(ask(id="2"), run())
    old = _before(graph, "agent", "1")
    assert "user_id" not in old.config["configurable"]
    graph.invoke(None, old.config)
    assert said(alice) == [FACT, "Answer 2."]
    assert [drawer.content for drawer in alice.drawers()] == [FACT, "Answer 0.", QUESTION, "Answer 1.", "Answer 2."]


def test_a_replayed_recall_gives_the_same_bytes_and_counts_once(memory, alice, model, saved):
    remember(alice, FACT)
    graph = chat_graph(memory, model, compiled=saved)
    graph.invoke(ask("Good morning to you, dear assistant.", id="1"), run())
    blocks = graph.invoke(ask(id="2"), run())["memory_blocks"]
    remember(alice, "My grey cat Miso sleeps in the wardrobe in winter.")
    again = graph.invoke(None, _before(graph, "recall", "2").config)["memory_blocks"]
    assert again == blocks
    assert alice.drawers(session="monday")[0].recall_count == 1


def test_an_edited_message_is_stored_as_a_revision_and_recalled_for_anew(memory, alice, model, saved):
    remember(alice, FACT, "My brother Jonas plays the violin in an orchestra.")
    graph = chat_graph(memory, model, compiled=saved)
    graph.invoke(ask("Good morning to you, dear assistant.", id="1"), run())
    graph.invoke(ask(id="2"), run())
    edited = "Which orchestra does my brother Jonas play the violin in?"
    fork = graph.update_state(
        _before(graph, "recall", "2").config, {"messages": [HumanMessage(edited, id="2")]}, as_node="__start__"
    )
    result = graph.invoke(None, fork)
    assert "Jonas" in result["memory_blocks"]["2"]
    assert "Miso" not in result["memory_blocks"]["2"]
    assert edited in said(alice)
    assert QUESTION not in said(alice)
    assert [drawer.content for drawer in alice.drawers() if drawer.status == "superseded"] == [QUESTION]


def test_an_edit_may_still_recall_what_its_first_wording_recalled(memory, alice, model, saved):
    remember(alice, FACT)
    graph = chat_graph(memory, model, compiled=saved)
    graph.invoke(ask("Good morning to you, dear assistant.", id="1"), run())
    graph.invoke(ask(id="2"), run())
    edited = "Where does my grey cat Miso sleep in summer?"
    fork = graph.update_state(
        _before(graph, "recall", "2").config, {"messages": [HumanMessage(edited, id="2")]}, as_node="__start__"
    )
    assert FACT in graph.invoke(None, fork)["memory_blocks"]["2"]


def test_the_block_of_a_first_wording_does_not_stay_with_an_edit_that_recalls_nothing(memory, alice, model, saved):
    remember(alice, FACT)
    graph = chat_graph(memory, model, compiled=saved)
    graph.invoke(ask(id="1"), run())
    graph.update_state(run(), {"messages": [HumanMessage("Thanks!", id="1")]})
    assert "1" not in graph.invoke({"messages": []}, run())["memory_blocks"]


def test_a_message_is_not_recalled_for_itself(memory, alice, saved):
    graph = chat_graph(memory, compiled=saved)
    graph.invoke(ask(FACT, id="1"), run())
    memory.flush()
    graph.update_state(run(), {"messages": [HumanMessage(FACT + " Always.", id="1")]})
    assert graph.invoke({"messages": []}, run())["memory_blocks"] == {}


def test_an_abandoned_stream_is_caught_up_by_the_next_turn(memory, alice, model, saved):
    graph = chat_graph(memory, model, compiled=saved)
    for update in graph.stream(ask(FACT), run(), stream_mode="updates"):
        if "agent" in update:
            break
    assert said(alice) == []
    graph.invoke(ask(), run())
    assert said(alice) == [FACT, "Answer 0.", QUESTION, "Answer 1."]


def test_a_turn_whose_model_fails_is_caught_up_by_the_next(memory, alice, saved):
    model = ScriptedChatModel(responses=[ConnectionError("the provider is down"), "Fine."])
    graph = chat_graph(memory, model, compiled=saved)
    with pytest.raises(ConnectionError):
        graph.invoke(ask(FACT), run())
    graph.invoke(ask(), run())
    assert said(alice) == [FACT, QUESTION, "Fine."]


def test_a_client_that_repeats_a_request_with_its_own_ids_stores_once(memory, alice):
    graph = chat_graph(memory, ScriptedChatModel(responses=[AIMessage("Fine.")]))
    messages = [HumanMessage(FACT, id="1"), AIMessage("Noted.", id="2")]
    for _ in range(2):
        graph.invoke({"messages": messages}, run())
    assert said(alice).count(FACT) == said(alice).count("Noted.") == 1


def test_track_inside_a_loop_stores_each_message_once(memory, alice, saved):
    builder = StateGraph(MemoryState)
    builder.add_node("agent", answering(ScriptedChatModel(responses=["Again."])))
    builder.add_node(track_node(memory))
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "track")
    builder.add_conditional_edges("track", lambda state: "agent" if len(state["messages"]) < 4 else "__end__")
    builder.compile(**saved).invoke(ask(FACT), run())
    assert said(alice) == [FACT, "Again.", "Again.", "Again."]
