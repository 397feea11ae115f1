"""The store that a LangGraph server uses instead of its own, named in `langgraph.json`.

    "store": {"path": "./examples/store.py:store"}

The folder is $LANGMEM_TIERS_PATH. Run as a program it puts an item, and finds it by a question and by recall.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langmem_tiers import Memory
from langmem_tiers.integrations import TieredStore


@asynccontextmanager
async def store() -> AsyncIterator[TieredStore]:
    memory = await asyncio.to_thread(Memory.open)
    try:
        yield TieredStore(memory)
    finally:
        await asyncio.to_thread(memory.close)


async def main() -> None:
    namespace, question = ("memories", "alice@example.com"), "Where does my sister Lena live?"
    async with store() as opened:
        await opened.aput(namespace, "lena", {"content": "The user's sister Lena lives in Porto."})
        for item in await opened.asearch(namespace, query=question):
            print(f"{item.score:.2f} {item.value['content']}")
        print((await opened.memory.user("alice@example.com").arecall(question)).block)


if __name__ == "__main__":
    asyncio.run(main())
