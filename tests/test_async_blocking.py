"""Nothing of the memory blocks the event loop: blockbuster raises at every call that would."""

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langmem_tiers.graphs import memory_agent
from langmem_tiers.integrations import MemoryMiddleware, memory_tools
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import FACT, QUESTION, ask, remember, run

blockbuster = pytest.importorskip("blockbuster", reason="blockbuster is not installed")

ANSWER = "On the radiator."


@pytest.fixture
def watched():
    """Has blocking calls on an event loop raise `BlockingError`, from the first call to it on."""
    buster = blockbuster.BlockBuster()
    yield buster.activate
    buster.deactivate()


def _calls(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])


def _script():
    return ScriptedChatModel(
        responses=[
            _calls("save_memory", content="Alice's cat is called Miso."),
            _calls("search_memory", query="cat"),
            _calls("explain_recall"),
            ANSWER,
        ]
    )


def _with_nodes(memory, model):
    return memory_agent(model, memory, memory_tools(memory), checkpointer=InMemorySaver(), on_error="raise")


def _with_middleware(memory, model):
    middleware = [MemoryMiddleware(memory, tools=True, flush=True, on_error="raise")]
    return create_agent(model, middleware=middleware, checkpointer=InMemorySaver())


async def test_it_would_be_noticed(watched, alice):
    watched()
    with pytest.raises(blockbuster.BlockingError):
        alice.recall(QUESTION)


@pytest.mark.parametrize("make", [_with_nodes, _with_middleware])
async def test_an_agent_with_its_tools(make, memory, alice, watched):
    remember(alice, FACT)
    agent = make(memory, _script())
    watched()
    told = [event async for event in agent.astream(ask(), run(), stream_mode="custom")]
    state = await agent.ainvoke(ask("Thank you."), run())
    assert told[0]["type"] == "memory_recalled"
    assert len([message for message in state["messages"] if message.type == "tool" and message.status != "error"]) == 3


async def test_the_tools_of_an_mcp_server(memory, alice, watched):
    pytest.importorskip("mcp", reason="mcp is not installed")
    from mcp import Client

    from langmem_tiers.integrations.mcp import mcp_server

    server = mcp_server(alice)
    watched()
    async with Client(server) as client:
        await client.call_tool("save_memory", {"content": "Alice's cat is called Miso."})
        found = await client.call_tool("search_memory", {"query": "cat"})
        assert "Miso" in found.content[0].text
        for resource in (await client.list_resources()).resources:
            assert (await client.read_resource(resource.uri)).contents
