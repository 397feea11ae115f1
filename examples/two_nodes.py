"""The smallest graph with memory: one node before the model, one after it.

    python examples/two_nodes.py [folder]

The model is the one in $LANGMEM_TIERS_MODEL; without one it answers offline, by quoting its memory.
"""

import sys
import tempfile

from langgraph.graph import START, StateGraph

from langmem_tiers import Memory
from langmem_tiers.graphs import MemoryState, build_prompt, recall_node, track_node
from langmem_tiers.integrations import model_or_offline

model = model_or_offline()


def answer(state: MemoryState) -> dict:
    return {"messages": [model.invoke(build_prompt(state, system="You have a long-term memory."))]}


folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="two-nodes-")
with Memory.open(folder) as memory:
    builder = StateGraph(MemoryState)
    builder.add_sequence([recall_node(memory), answer, track_node(memory)])
    builder.add_edge(START, "recall")
    graph = builder.compile()

    for thread, text in [("monday", "I moved to Lisbon in March."), ("friday", "Which city did I move to?")]:
        run = {"configurable": {"user_id": "alice", "thread_id": thread}}
        reply = graph.invoke({"messages": text}, run)["messages"][-1]
        print(f"{thread}: {text}\n{reply.text}\n")
