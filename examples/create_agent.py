"""Memory for an agent of LangChain's `create_agent`: one middleware, between what redacts and what summarizes.

    python examples/create_agent.py [folder]

The model is the one in $LANGMEM_TIERS_MODEL; without one it answers offline, by quoting its memory.
"""

import sys
import tempfile

from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware, SummarizationMiddleware

from langmem_tiers import Memory
from langmem_tiers.integrations import MemoryMiddleware, model_or_offline

TALK = [
    ("monday", "I moved to Lisbon in March. Write to me at alice@example.com."),
    ("friday", "Which city did I move to?"),
]

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="create-agent-")
model = model_or_offline()
with Memory.open(folder) as memory:
    agent = create_agent(
        model,
        system_prompt="You are a friend with a good memory.",
        middleware=[
            PIIMiddleware("email"),  # before the memory: what it redacts is not stored
            MemoryMiddleware(memory),
            SummarizationMiddleware(model, trigger=("messages", 60)),  # behind it: what it drops is stored already
        ],
    )
    for thread, text in TALK:
        print(f"{thread}: {text}")
        run = {"configurable": {"user_id": "alice", "thread_id": thread}}
        for mode, told in agent.stream({"messages": text}, run, stream_mode=["custom", "values"]):
            if mode == "custom":
                print("  *", ", ".join(f"{name}: {value}" for name, value in told.items()))
            else:
                state = told
        print(f"{state['messages'][-1].text}\n")
    print("stored:", *(drawer.content for drawer in memory.user("alice").drawers()), sep="\n  ")
