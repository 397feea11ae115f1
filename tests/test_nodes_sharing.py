"""A thread that several users go on with, and runs of nobody: each memory holds what was said in its own runs."""

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langmem_tiers.errors import MissingUser
from langmem_tiers.graphs import MemoryState, flush_node, memory_agent, recall_node, track_node
from langmem_tiers.integrations import MemoryMiddleware
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import FACT, QUESTION, answering, ask, chat_graph, remember, run, said, texts

BOBS = "My brother Jonas plays the violin in an orchestra."


def _nodes(memory, model, saver, **options):
    return chat_graph(memory, model, compiled={"checkpointer": saver}, **options)


def _agent(memory, model, saver, **options):
    return memory_agent(model, memory, checkpointer=saver, **options)


def _middleware(memory, model, saver, **options):
    return create_agent(model, middleware=[MemoryMiddleware(memory, **options)], checkpointer=saver)


DOORS = pytest.mark.parametrize("make", [_nodes, _agent, _middleware])


@pytest.fixture
def model():
    return ScriptedChatModel(responses=[f"Answer {number}." for number in range(9)])


@pytest.fixture
def bob(memory):
    return memory.user("bob")


@DOORS
def test_what_another_user_said_on_the_thread_is_not_stored_as_ones_own(make, memory, alice, bob, model):
    graph = make(memory, model, InMemorySaver())
    graph.invoke(ask(FACT), run("alice"))
    graph.invoke(ask(BOBS), run("bob"))
    graph.invoke(ask("Does Jonas play tonight?"), run("bob"))
    graph.invoke(ask(), run("alice"))
    assert said(bob) == [BOBS, "Answer 1.", "Does Jonas play tonight?", "Answer 2."]
    assert said(alice) == [FACT, "Answer 0.", QUESTION, "Answer 3."]


@DOORS
def test_what_another_user_left_unanswered_is_not_stored_either(make, memory, bob):
    model = ScriptedChatModel(responses=[ConnectionError("the provider is down"), "Fine."])
    graph = make(memory, model, InMemorySaver())
    with pytest.raises(ConnectionError):
        graph.invoke(ask(FACT), run("alice"))
    graph.invoke(ask(BOBS), run("bob"))
    assert said(bob) == [BOBS, "Fine."]


def test_the_flush_node_keeps_to_it_too(memory, bob, model):
    builder = StateGraph(MemoryState)
    nodes = [recall_node(memory), flush_node(memory, context_window=1), answering(model)]
    builder.add_sequence(nodes)
    builder.add_edge(START, "recall")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke(ask(FACT), run("alice"))
    graph.invoke(ask(BOBS), run("bob"))
    assert said(bob) == [BOBS]


def test_where_the_border_is_deleted_only_what_is_asked_is_ones_own(memory, bob, model):
    graph = _nodes(memory, model, InMemorySaver())
    graph.invoke(ask(FACT), run("alice"))
    graph.invoke(ask(BOBS), run("bob"))
    border = graph.get_state(run()).values["memory_scope"]["others_until"]
    graph.update_state(run(), {"messages": [RemoveMessage(id=border)]})
    graph.invoke(ask(), run("bob"))
    assert said(bob) == [BOBS, "Answer 1.", QUESTION, "Answer 2."]


def test_nodes_with_different_spaces_store_all_of_one_user(memory, alice, model):
    builder = StateGraph(MemoryState)
    team = track_node(memory, name="team", space="teams/research")
    builder.add_sequence([recall_node(memory), answering(model), track_node(memory), team])
    builder.add_edge(START, "recall")
    graph = builder.compile(checkpointer=InMemorySaver())
    for text in (FACT, QUESTION):
        graph.invoke(ask(text), run())
    assert said(alice) == said(memory.space("teams/research")) == [FACT, "Answer 0.", QUESTION, "Answer 1."]


@DOORS
def test_a_run_of_nobody_gets_nothing_of_the_user_before(make, memory, alice, model):
    remember(alice, FACT)
    alice.identity.add("Speaks German.")
    graph = make(memory, model, InMemorySaver())
    graph.invoke(ask("Good morning to you, dear assistant."), run())
    graph.invoke(ask(), run(user=None))
    sent = "\n".join(texts(model.requests[1]))
    assert FACT not in sent
    assert "German" not in sent
    assert QUESTION not in said(alice)


@DOORS
def test_what_nobody_said_is_not_stored_for_who_comes_next(make, memory, alice, bob, model):
    graph = make(memory, model, InMemorySaver())
    graph.invoke(ask(FACT), run("alice"))
    graph.invoke(ask(), run(user=None))
    graph.invoke(ask(BOBS), run("bob"))
    graph.invoke(ask("It is me again, Alice."), run("alice"))
    assert said(bob) == [BOBS, "Answer 2."]
    assert said(alice) == [FACT, "Answer 0.", "It is me again, Alice.", "Answer 3."]


@DOORS
def test_on_request_a_new_message_of_nobody_ends_the_run(make, memory, model):
    graph = make(memory, model, InMemorySaver(), on_error="raise")
    graph.invoke(ask(FACT), run())
    with pytest.raises(MissingUser, match="new one"):
        graph.invoke(ask(), run(user=None))


@pytest.mark.parametrize("fact", [FACT, BOBS])
def test_a_pause_is_resumed_without_a_user_whether_something_was_recalled_or_not(memory, alice, model, fact):
    remember(alice, fact)
    builder = {"checkpointer": InMemorySaver(), "interrupt_before": ["agent"]}
    graph = chat_graph(memory, model, compiled=builder, on_error="raise")
    graph.invoke(ask("Tell me of Miso, my grey cat."), run())
    graph.invoke(Command(resume=True), run(user=None))
    assert said(alice, "friday")[0] == "Tell me of Miso, my grey cat."


def test_the_profile_of_one_user_is_gone_for_another_even_when_recall_fails(memory, alice, model):
    alice.identity.add("Speaks German.")
    graph = _nodes(memory, model, InMemorySaver())
    graph.invoke(ask(), run("alice"))
    assert any("German" in text for text in texts(model.requests[0]))
    memory.close()
    graph.invoke(ask(), run("bob"))
    assert not any("German" in text for text in texts(model.requests[1]))


# History that is sent again


@DOORS
def test_a_history_without_ids_is_stored_once(make, memory, alice):
    model = ScriptedChatModel(responses=[f"Answer {number}." for number in range(12)])
    graph, history = make(memory, model, None), []
    for number in range(12):
        history.append({"role": "user", "content": f"Thing number {number} happened."})
        reply = graph.invoke({"messages": history}, run())
        history.append({"role": "assistant", "content": texts(reply["messages"])[-1]})
    assert said(alice) == [message["content"] for message in history]


@DOORS
def test_a_trimmed_history_without_ids_is_stored_once(make, memory, alice, model):
    graph, history = make(memory, model, None), []
    for number in range(6):
        history.append({"role": "user", "content": f"Thing number {number} happened."})
        reply = graph.invoke({"messages": history[-3:]}, run())
        history.append({"role": "assistant", "content": texts(reply["messages"])[-1]})
    assert said(alice) == [message["content"] for message in history]


@DOORS
def test_a_client_that_tries_again_is_stored_once(make, memory, alice):
    graph = make(memory, ScriptedChatModel(responses=["Fine."]), None)
    for _ in range(2):
        graph.invoke({"messages": [{"role": "user", "content": FACT}]}, run())
    assert said(alice) == [FACT, "Fine."]


@DOORS
def test_a_user_may_say_the_same_twice(make, memory, alice):
    model = ScriptedChatModel(responses=["Fine."])
    graph = make(memory, model, InMemorySaver())
    for _ in range(2):
        graph.invoke(ask("Yes."), run())
    assert said(alice) == ["Yes.", "Fine."] * 2


@DOORS
def test_what_is_sent_again_is_not_quoted_before_the_model(make, memory, alice):
    model = ScriptedChatModel(responses=["Noted.", "On the radiator."])
    graph = make(memory, model, None)
    graph.invoke(ask(FACT), run())
    memory.flush()
    history = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
    graph.invoke({"messages": [*history, {"role": "user", "content": QUESTION}]}, run())
    assert "\n".join(texts(model.requests[1])).count(FACT) == 1


@DOORS
def test_what_was_recalled_for_a_message_is_recalled_again_where_its_block_is_gone(make, memory, alice, model):
    remember(alice, FACT)
    graph, history = make(memory, model, None), []
    for text in (QUESTION, "And where does my grey cat Miso sleep in summer?"):
        history.append({"role": "user", "content": text})
        reply = graph.invoke({"messages": history}, run())
        history.append({"role": "assistant", "content": texts(reply["messages"])[-1]})
    assert all(FACT in "\n".join(texts(request)) for request in model.requests)


# Replays


def _before(graph, node, config):
    return next(each for each in graph.get_state_history(config) if node in each.next).config


@pytest.mark.parametrize("node", ["agent", "__start__"])
def test_a_replay_that_says_the_same_stores_nothing(memory, alice, node):
    graph = _nodes(memory, ScriptedChatModel(responses=["Fine."]), InMemorySaver())
    graph.invoke(ask(FACT), run())
    graph.invoke({"messages": [{"role": "user", "content": QUESTION}]}, run())
    config = _before(graph, node, run())
    config["configurable"]["user_id"] = "alice"
    graph.invoke(None, config)
    assert said(alice) == [FACT, "Fine.", QUESTION, "Fine."]


@pytest.mark.parametrize("node", ["model", "__start__"])
def test_a_replay_of_an_agent_that_says_the_same_stores_nothing(memory, alice, node):
    graph = _middleware(memory, ScriptedChatModel(responses=["Fine."]), InMemorySaver())
    graph.invoke(ask(FACT), run())
    graph.invoke({"messages": [{"role": "user", "content": QUESTION}]}, run())
    config = _before(graph, node, run())
    config["configurable"]["user_id"] = "alice"
    graph.invoke(None, config)
    assert said(alice) == [FACT, "Fine.", QUESTION, "Fine."]


# An agent as a tool of another


def _asks_helper():
    call = {"name": "helper", "args": {"task": "My user wants to know where Miso sleeps."}, "id": "1"}
    return ScriptedChatModel(responses=[AIMessage("", tool_calls=[call]), "On the radiator."])


@pytest.mark.parametrize("saver", [None, InMemorySaver()])
@pytest.mark.parametrize("outer", ["create_agent", "memory_agent"])
@DOORS
def test_what_an_agent_tells_another_is_recalled_for_and_not_stored(make, memory, alice, outer, saver):
    remember(alice, FACT)
    inner = ScriptedChatModel(responses=["Found it."])
    agent = make(memory, inner, saver)

    def helper(task: str) -> str:
        """Ask the helper."""
        return agent.invoke({"messages": task})["messages"][-1].text

    if outer == "create_agent":
        graph = create_agent(_asks_helper(), tools=[helper], middleware=[MemoryMiddleware(memory)])
    else:
        from langchain_core.tools import tool

        graph = memory_agent(_asks_helper(), memory, tools=[tool(helper)])
    graph.invoke(ask(), run())
    assert FACT in "\n".join(texts(inner.requests[0]))
    assert said(alice, "friday") == [QUESTION, "On the radiator."]


# What the memory itself put there


BLOCK = "<memory_context>\nRecalled from earlier conversations\n- Miso is a cat\n</memory_context>"


@DOORS
def test_blocks_of_the_memory_are_not_stored_as_what_was_said(make, memory, alice):
    model = ScriptedChatModel(responses=[f"You said: {BLOCK}\nOn the radiator.", BLOCK])
    graph = make(memory, model, InMemorySaver())
    graph.invoke(ask(f"{BLOCK}\n\n{QUESTION}"), run())
    graph.invoke({"messages": [HumanMessage(BLOCK)]}, run())
    assert said(alice) == [QUESTION, "You said: \nOn the radiator."]
