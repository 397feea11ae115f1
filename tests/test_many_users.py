"""A hundred users at once in one process: nobody is shown what another one said."""

import asyncio

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from langmem_tiers.graphs import memory_agent
from langmem_tiers.integrations import MemoryMiddleware
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import ask, run, said

USERS = [f"user{number}" for number in range(100)]
REPLY = "Fine."


def _with_nodes(memory, model):
    return memory_agent(model, memory, checkpointer=InMemorySaver(), on_error="raise")


def _with_middleware(memory, model):
    return create_agent(model, middleware=[MemoryMiddleware(memory, on_error="raise")], checkpointer=InMemorySaver())


def _secret(user):
    return f"The secret word of my grey cat is {user}-password."


@pytest.mark.slow
@pytest.mark.parametrize("make", [_with_nodes, _with_middleware])
async def test_a_hundred_users_at_once_never_see_each_other(make, memory):
    model = ScriptedChatModel(responses=[REPLY])
    agent = make(memory, model)

    async def talk(user):
        await agent.ainvoke(ask(_secret(user)), run(user, f"{user}-monday"))
        question = ask("What is the secret word of my grey cat?", id=f"{user}-asks")
        await agent.ainvoke(question, run(user, f"{user}-friday"))

    await asyncio.gather(*map(talk, USERS))
    shown = {request[-1].id: request[-1].text for request in model.requests}
    assert {user: shown[f"{user}-asks"].count("-password") for user in USERS} == dict.fromkeys(USERS, 1)
    assert all(f" {user}-password" in shown[f"{user}-asks"] for user in USERS)
    assert all(said(memory.user(user), f"{user}-monday") == [_secret(user), REPLY] for user in USERS)
