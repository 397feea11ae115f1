"""Bad input at the doors to LangChain and LangGraph: foreign states, missing packages, wrong arguments of a model."""

import importlib
import sys
from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from langmem_tiers.errors import InvalidInput, MissingExtra, MissingUser
from langmem_tiers.graphs import build_prompt, chat_model, dream_graph, memory_agent, recall_node, track_node
from langmem_tiers.integrations import MemoryMiddleware, memory_tools, recall_runnable
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import FACT, QUESTION, ask, remember, run, said, texts


class OwnScope(MessagesState):
    """A host that uses the name of a key of ours for something else."""

    memory_scope: str


class OwnBlocks(MessagesState):
    """The same for the other key."""

    memory_blocks: list[str]


class OwnAgentKeys(AgentState[Any]):
    """The same for an agent."""

    memory_blocks: list[str]
    memory_scope: str


class OtherKey(TypedDict):
    """A host that keeps its messages where nobody looks for them."""

    chat: list[AnyMessage]


def _host(memory, state, **options):
    def answer(given: state):
        return {"messages": [ScriptedChatModel(responses=["Fine."]).invoke(build_prompt(given))]}

    builder = StateGraph(state)
    builder.add_sequence([recall_node(memory, **options), answer, track_node(memory, **options)])
    return builder.add_edge(START, "recall").compile()


FOREIGN = pytest.mark.parametrize(
    ("state", "own"), [(OwnScope, {"memory_scope": "mine"}), (OwnBlocks, {"memory_blocks": ["mine"]})]
)


@FOREIGN
def test_a_host_that_uses_the_name_of_our_key_is_told_to_rename_it(state, own, memory):
    with pytest.raises(InvalidInput, match=f"under '{next(iter(own))}'.*another name"):
        _host(memory, state, on_error="raise").invoke({**ask(), **own}, run())


@FOREIGN
def test_by_default_it_gets_its_reply_and_keeps_what_is_its_own(state, own, memory, caplog):
    result = _host(memory, state).invoke({**ask(), **own}, run())
    assert result["messages"][-1].text == "Fine."
    assert {key: result[key] for key in own} == own
    assert "error=InvalidInput" in caplog.text


def test_an_agent_that_uses_the_names_of_our_keys_gets_its_reply_and_its_tools(memory, alice):
    saving = {"name": "save_memory", "args": {"content": "Alice's cat is called Miso."}, "id": "1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[saving]), "Fine."])
    agent = create_agent(model, middleware=[MemoryMiddleware(memory, tools=True)], state_schema=OwnAgentKeys)
    own = {"memory_blocks": ["mine"], "memory_scope": "mine"}
    assert agent.invoke({**ask(), **own}, run())["messages"][-1].text == "Fine."
    assert [found.entry.content for found in alice.knowledge.search("cat")] == ["Alice's cat is called Miso."]


def test_a_host_that_keeps_its_messages_elsewhere_is_told_to_name_the_key(memory):
    builder = StateGraph(OtherKey)
    builder.add_node(track_node(memory, on_error="raise")).add_edge(START, "track")
    with pytest.raises(InvalidInput, match=r"no 'messages'.*messages_key"):
        builder.compile().invoke({"chat": ask()["messages"]}, run())


def test_a_run_of_nobody_is_refused_at_every_door(memory):
    model = ScriptedChatModel(responses=["Fine."])
    doors = [
        (memory_agent(model, memory, on_error="raise"), ask()),
        (create_agent(model, middleware=[MemoryMiddleware(memory, on_error="raise")]), ask()),
        (recall_runnable(memory, on_error="raise"), QUESTION),
        (dream_graph(memory, on_error="raise"), {}),
    ]
    for door, given in doors:
        with pytest.raises(MissingUser, match="user"):
            door.invoke(given, run(user=None))
    assert memory.spaces() == ()


def test_without_mcp_the_extra_is_named(monkeypatch, alice):
    _without(monkeypatch, "mcp", ours="langmem_tiers.integrations.mcp")
    with pytest.raises(MissingExtra, match=r"'mcp'.*pip install 'langmem-tiers\[mcp\]'"):
        importlib.import_module("langmem_tiers.integrations.mcp").mcp_server(alice)


def test_without_the_package_of_a_provider_it_is_named(monkeypatch):
    _without(monkeypatch, "langchain_openai")
    with pytest.raises(MissingExtra, match=r"'langchain-openai'.*pip install 'langmem-tiers\[openai\]'"):
        chat_model("openai:gpt-5-mini")


def _without(monkeypatch, package, ours=None):
    """As if the package were not installed, for modules that are imported from now on."""
    for name in [*sys.modules]:
        if name == package or name.startswith(f"{package}."):
            monkeypatch.setitem(sys.modules, name, None)
        if ours and (name == ours or name.startswith(f"{ours}.")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


def _with_nodes(memory, model):
    return memory_agent(model, memory, memory_tools(memory), checkpointer=InMemorySaver())


def _with_middleware(memory, model):
    return create_agent(model, middleware=[MemoryMiddleware(memory, tools=True)], checkpointer=InMemorySaver())


@pytest.mark.parametrize("make", [_with_nodes, _with_middleware])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("save_memory", {}),
        ("save_memory", {"content": ["no", "text"]}),
        ("search_memory", {"query": "cat", "limit": "many"}),
        ("delete_memory", {"id": "nobody"}),
        ("no_such_tool", {}),
    ],
)
async def test_wrong_arguments_of_a_model_are_answered_and_the_run_goes_on(name, arguments, make, memory, alice):
    remember(alice, FACT)
    calls = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1"}])
    agent = make(memory, ScriptedChatModel(responses=[calls, "I could not do that."]))
    messages = (await agent.ainvoke(ask(), run()))["messages"]
    assert texts(messages)[-1] == "I could not do that."
    assert len(messages[-2].text) < 600
    assert "Traceback" not in messages[-2].text
    assert said(alice, "friday") == [QUESTION, "I could not do that."]
    assert alice.knowledge.search() == ()
