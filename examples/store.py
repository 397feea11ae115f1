"""The store that a LangGraph server uses instead of its own, named in `langgraph.json`.

    "store": {"path": "./examples/store.py:store"}

The folder of a server is $LANGMEM_TIERS_PATH, else the user's data folder. Run as a program it puts an item, and
finds it by a question and by recall, in a temporary folder unless one is named:

    python examples/store.py [folder]
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langmem_tiers import Memory
from langmem_tiers.integrations import TieredStore


@asynccontextmanager
async def store_in(folder: str | None) -> AsyncIterator[TieredStore]:
    memory = await asyncio.to_thread(Memory.open, folder)
    try:
        yield TieredStore(memory)
    finally:
        await asyncio.to_thread(memory.close)


@asynccontextmanager
async def store() -> AsyncIterator[TieredStore]:
    async with store_in(None) as opened:
        yield opened


async def main(folder: str) -> None:
    namespace, question = ("memories", "alice@example.com"), "Where does my sister Lena live?"
    async with store_in(folder) as opened:
        await opened.aput(namespace, "lena", {"content": "The user's sister Lena lives in Porto."})
        for item in await opened.asearch(namespace, query=question):
            print(f"{item.score:.2f} {item.value['content']}")
        print((await opened.memory.user("alice@example.com").arecall(question)).block)


if __name__ == "__main__":
    named = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("LANGMEM_TIERS_PATH")
    asyncio.run(main(named or tempfile.mkdtemp(prefix="store-")))
