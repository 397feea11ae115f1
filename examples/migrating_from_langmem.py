"""Moving in from langmem: the items of a LangGraph store become knowledge of their users, and are recalled.

    python examples/migrating_from_langmem.py [folder]

It runs offline. Items are put into two stores as langmem does: by its tools, and by its store manager with a schema.
A `SqliteStore` is imported as a file; any other store is dumped to JSONL first.
"""

import json
import sys
import tempfile
from pathlib import Path

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_tiers import Memory


def fill(store: BaseStore) -> None:
    """What langmem leaves in a store."""
    store.put(("memories", "alice"), "k1", {"content": "Alice's sister Lena lives in Porto."})
    store.put(("memories", "alice"), "k2", {"kind": "Memory", "content": {"content": "Alice prefers green tea."}})
    store.put(("memories", "bob"), "k3", {"kind": "Profile", "content": {"name": "Bob", "city": "Oslo"}})


def dump(store: BaseStore, path: Path) -> None:
    """Every item of a store, one a line."""
    with path.open("w") as file:
        for item in store.search((), limit=1_000_000):
            print(json.dumps(item.dict()), file=file)


folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="migrating-"))
folder.mkdir(parents=True, exist_ok=True)
store = InMemoryStore()
fill(store)
dump(store, folder / "store.jsonl")
files = [folder / "store.jsonl"]
try:
    from langgraph.store.sqlite import SqliteStore
except ImportError:  # pip install langgraph-checkpoint-sqlite
    pass
else:
    with SqliteStore.from_conn_string(str(folder / "store.db")) as stored:
        stored.setup()
        fill(stored)
    files.append(folder / "store.db")

with Memory.open(folder / "memory", embedder=None) as memory:
    for file in files:
        counted = memory.import_file(file, dry_run=True)
        report = memory.import_file(file)
        print(f"{file.name}: {counted.entries} there, {report.entries_stored} stored, {report.entries_known} known")
    for user, question in (("alice", "Where does my sister Lena live?"), ("bob", "Which city does Bob live in?")):
        print(f"{user}: {question}")
        print(memory.user(user).recall(question, session="first").block)
