"""A client that leaves in mid-stream: what was said is stored, nothing hangs, and the next turn goes on."""

import asyncio
import threading
from contextlib import suppress

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from langmem_tiers.graphs import memory_agent
from langmem_tiers.integrations import MemoryMiddleware
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import FACT, QUESTION, ask, run, said

ANSWER = "On the warm radiator, as every winter."


def _with_nodes(memory, model):
    return memory_agent(model, memory, checkpointer=InMemorySaver(), on_error="raise")


def _with_middleware(memory, model):
    middleware = [MemoryMiddleware(memory, on_error="raise")]
    return create_agent(model, middleware=middleware, checkpointer=InMemorySaver())


AGENTS = pytest.mark.parametrize("make", [_with_nodes, _with_middleware])


class Waiting:
    """A reply that is not there before it is let go."""

    def __init__(self):
        self.asked, self.let_go = threading.Event(), threading.Event()

    def __call__(self, _messages):
        self.asked.set()
        assert self.let_go.wait(30)
        return ANSWER


@AGENTS
def test_a_stream_that_is_closed_after_its_first_word(make, memory, alice):
    agent = make(memory, ScriptedChatModel(responses=[ANSWER]))
    stream = agent.stream(ask(FACT), run(), stream_mode="messages")
    next(stream)
    stream.close()
    assert said(alice)[0] == FACT
    agent.invoke(ask(), run())
    assert [text for text in said(alice) if text != ANSWER] == [FACT, QUESTION]


@AGENTS
async def test_an_async_stream_that_is_closed_after_its_first_word(make, memory, alice):
    agent = make(memory, ScriptedChatModel(responses=[ANSWER]))
    stream = agent.astream(ask(FACT), run(), stream_mode="messages")
    await anext(stream)
    await stream.aclose()
    assert said(alice)[0] == FACT
    await agent.ainvoke(ask(), run())
    assert [text for text in said(alice) if text != ANSWER] == [FACT, QUESTION]


@AGENTS
async def test_a_task_that_is_cancelled_while_the_model_answers(make, memory, alice):
    waiting = Waiting()
    agent = make(memory, ScriptedChatModel(responses=[waiting, ANSWER]))
    task = asyncio.create_task(agent.ainvoke(ask(FACT), run()))
    await asyncio.to_thread(waiting.asked.wait, 30)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(task, 30)
    waiting.let_go.set()
    assert task.cancelled()
    assert said(alice) == [FACT]
    await agent.ainvoke(ask(), run())
    assert said(alice) == [FACT, QUESTION, ANSWER]


@AGENTS
async def test_many_clients_that_leave_at_once_keep_nobody_from_going_on(make, memory):
    agent = make(memory, ScriptedChatModel(responses=[ANSWER]))
    users = [f"user{number}" for number in range(20)]

    async def leave(user):
        stream = agent.astream(ask(f"{FACT} So says {user}."), run(user, user), stream_mode="messages")
        await anext(stream)
        await stream.aclose()

    await asyncio.gather(*map(leave, users))
    await asyncio.gather(*(agent.ainvoke(ask(), run(user, user)) for user in users))
    memory.flush()
    for user in users:
        own = said(memory.user(user))
        assert [text for text in own if text != ANSWER] == [f"{FACT} So says {user}.", QUESTION]
