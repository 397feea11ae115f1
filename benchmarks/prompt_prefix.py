"""How much of a request a prompt cache of the provider could serve: the beginning it has in common with the last one.

Some turns with a call of a tool in each, of the ready-made agent and of an agent with the middleware, each time with
other messages to recall. The text of the requests is compared, no provider is asked. The ready-made agent sends a
window of 20 to 39 messages of users and models, which moves on by 20 at a time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import cycle, islice, pairwise
from tempfile import TemporaryDirectory
from typing import Any

from langchain.agents import create_agent
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from reporting import Row, parser, report

from langmem_tiers import Memory, Turn
from langmem_tiers.graphs import DEFAULT_SYSTEM_PROMPT, memory_agent
from langmem_tiers.integrations import MemoryMiddleware
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel

SUBJECTS = ("cat", "brother", "garden", "bicycle", "violin", "kitchen", "holiday", "dentist", "neighbour", "novel")
PLACEMENTS = ("message", "system")


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}, with wind from the west, eleven degrees, and more of it tomorrow."


def main() -> None:
    arguments = parser(__doc__ or "", "prompt_prefix")
    arguments.add_argument("--turns", type=int, default=6)
    chosen = arguments.parse_args()
    rows = [
        measured(door, placement, chosen.turns) for door in ("memory_agent", "middleware") for placement in PLACEMENTS
    ]
    report(f"Requests of {chosen.turns} turns with a tool call in each", rows, chosen.out)


def measured(door: str, placement: str, turns: int) -> Row:
    model = ScriptedChatModel(responses=[step for number in range(turns) for step in replies(number)])
    with TemporaryDirectory() as folder, Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        alice.identity.write("## About\n- Name: Alice\n- Short answers, please")
        alice.track([Turn(role="user", content=fact(subject)) for subject in SUBJECTS], session="before")
        alice.flush()
        agent = agent_of(door, memory, model, placement)
        for subject in islice(cycle(SUBJECTS), turns):
            question = f"Tell me what odd thing happened to my {subject}, and how the weather is in Oslo, please."
            agent.invoke({"messages": question}, {"configurable": {"user_id": "alice", "thread_id": "today"}})
    requests = [written(request) for request in model.requests]
    return {"agent": door, "placement": placement, **shares(list(pairwise(requests)))}


def agent_of(door: str, memory: Memory, model: ScriptedChatModel, placement: Any) -> Any:
    saver = InMemorySaver()
    if door == "memory_agent":
        return memory_agent(model, memory, [weather], checkpointer=saver, placement=placement, on_error="raise")
    middleware = [MemoryMiddleware(memory, placement=placement, on_error="raise")]
    return create_agent(
        model, [weather], system_prompt=DEFAULT_SYSTEM_PROMPT, middleware=middleware, checkpointer=saver
    )


def replies(number: int) -> Sequence[str | AIMessage]:
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": f"call-{number}"}
    return AIMessage("", tool_calls=[call]), f"It is as you said then, answer number {number}, and it rains in Oslo."


def fact(subject: str) -> str:
    return f"Long ago something quite odd happened to my {subject}: it was gone for a week, and then back again."


def written(request: Sequence[BaseMessage]) -> str:
    """A request as one text, without what ends the list."""
    return json.dumps([dumpd(message) for message in request])[:-1]


def shares(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Of the requests in a loop of tools and of those that begin a turn: what is kept of the last one, what is new."""
    kept = sum(later.startswith(earlier) for earlier, later in pairs)
    told = {"whole requests kept": f"{kept} of {len(pairs)}"}
    for name, some in (("in the loop", pairs[::2]), ("next turn", pairs[1::2])):
        common = [(in_common(earlier, later), earlier, later) for earlier, later in some]
        told[f"{name}: of the last request kept %"] = spanned([100 * n / len(earlier) for n, earlier, _ in common])
        told[f"{name}: of the new one known %"] = spanned([100 * n / len(later) for n, _, later in common])
    return told


def in_common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    alike = zip(one, other, strict=False)
    return next((place for place, (here, there) in enumerate(alike) if here != there), min(len(one), len(other)))


def spanned(values: Sequence[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}"


if __name__ == "__main__":
    main()
