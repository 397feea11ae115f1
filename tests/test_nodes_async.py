"""The same nodes in async graphs: off the event loop, and apart."""

import asyncio
import threading

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langmem_tiers import Memory
from langmem_tiers.errors import MissingUser
from langmem_tiers.graphs import MemoryInput, MemoryState, build_prompt, memory_agent, recall_node, track_node
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests.graphing import FACT, QUESTION, ask, chat_graph, remember, run, said, texts


class NotingEmbedder(HashEmbedder):
    """Notes the threads that it works in."""

    def __init__(self) -> None:
        super().__init__()
        self.threads = set()

    def embed_query(self, text):
        self.threads.add(threading.get_ident())
        return super().embed_query(text)


def _async_graph(memory, model, **compiled):
    async def agent(state: MemoryInput):
        return {"messages": [await model.ainvoke(build_prompt(state))]}

    builder = StateGraph(MemoryState)
    builder.add_sequence([recall_node(memory), agent, track_node(memory)])
    builder.add_edge(START, "recall")
    return builder.compile(**compiled)


async def test_ainvoke_recalls_and_stores(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["On the radiator."])
    await _async_graph(memory, model).ainvoke(ask(), run())
    assert FACT in model.requests[0][-1].text
    assert said(alice, "friday") == [QUESTION, "On the radiator."]


async def test_astream_tells_what_was_recalled_and_leaks_nothing(memory, alice):
    remember(alice, FACT)
    graph = _async_graph(memory, ScriptedChatModel(responses=["On the radiator."]))
    streamed = [item async for item in graph.astream(ask(), run(), stream_mode=["custom", "messages"])]
    assert [chunk["type"] for mode, chunk in streamed if mode == "custom"] == ["memory_recalled", "memory_tracked"]
    assert "".join(str(chunk[0].text) for mode, chunk in streamed if mode == "messages") == "On the radiator."


async def test_the_memory_never_works_on_the_event_loop(tmp_path, clock):
    embedder = NotingEmbedder()
    with Memory.open(tmp_path / "noted", embedder=embedder, background=False, clock=clock) as memory:
        remember(memory.user("alice"), FACT)
        await _async_graph(memory, ScriptedChatModel(responses=["Fine."])).ainvoke(ask(), run())
    assert embedder.threads
    assert threading.get_ident() not in embedder.threads


async def test_a_fault_under_ainvoke_is_logged_and_the_reply_comes(memory, caplog):
    result = await _async_graph(memory, ScriptedChatModel(responses=["Fine."])).ainvoke(ask(FACT), run(user=None))
    assert texts(result["messages"]) == [FACT, "Fine."]
    assert caplog.text.count("error=MissingUser") == 1


async def test_on_request_a_fault_under_ainvoke_ends_the_run(memory):
    with pytest.raises(MissingUser):
        await chat_graph(memory, on_error="raise").ainvoke(ask(FACT), run(user=None))


async def test_an_abandoned_async_stream_is_caught_up(memory, alice):
    graph = _async_graph(memory, ScriptedChatModel(responses=["Fine."]), checkpointer=InMemorySaver())
    stream = graph.astream(ask(FACT), run(), stream_mode="updates")
    async for update in stream:
        if "agent" in update:
            break
    await stream.aclose()
    await graph.ainvoke(ask(), run())
    assert said(alice) == [FACT, "Fine.", QUESTION, "Fine."]


async def test_twenty_users_at_once_never_see_each_other(memory):
    model = ScriptedChatModel(responses=["Fine."])
    agent = memory_agent(model, memory, checkpointer=InMemorySaver())
    users = [f"user{number}" for number in range(20)]

    async def tell(user):
        await agent.ainvoke(ask(f"The secret word of my grey cat is {user}-password."), run(user, f"{user}-monday"))

    async def recall(user):
        config = run(user, f"{user}-friday")
        await agent.ainvoke(ask("What is the secret word of my grey cat?"), config)
        return "".join((await agent.aget_state(config)).values["memory_blocks"].values())

    await asyncio.gather(*map(tell, users))
    memory.flush()
    for user, block in zip(users, await asyncio.gather(*map(recall, users)), strict=True):
        assert f"{user}-password" in block
        assert block.count("-password") == 1
