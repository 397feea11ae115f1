"""Several users of one agent at the same time, async and with a tool; nobody sees another's memory.

    python examples/async_agent.py [folder]

The model is the one in $LANGMEM_TIERS_MODEL; without one it answers offline, by quoting its memory.
"""

import asyncio
import sys
import tempfile
from datetime import UTC, datetime

from langchain_core.tools import tool

from langmem_tiers import Memory
from langmem_tiers.graphs import AgentGraph, memory_agent
from langmem_tiers.integrations import model_or_offline


@tool
def today() -> str:
    """Today's date."""
    return datetime.now(UTC).date().isoformat()


async def ask(agent: AgentGraph, user: str, session: str, text: str) -> str:
    run = {"configurable": {"user_id": user, "thread_id": f"{user}-{session}"}}
    state = await agent.ainvoke({"messages": [("user", text)]}, run)
    return state["messages"][-1].text


async def main(folder: str) -> None:
    cities = {"alice": "Lisbon", "bob": "Oslo", "carol": "Kyoto"}
    with Memory.open(folder) as memory:
        agent = memory_agent(model_or_offline(), memory, [today])
        await asyncio.gather(*(ask(agent, user, "monday", f"I moved to {city}.") for user, city in cities.items()))
        replies = await asyncio.gather(*(ask(agent, user, "friday", "Which city did I move to?") for user in cities))
    for user, reply in zip(cities, replies, strict=True):
        print(f"{user}: {reply}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="async-agent-")))
