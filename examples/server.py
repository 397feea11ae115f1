"""What a LangGraph server serves: an agent with memory, and the dream that tidies it up.

    langgraph dev

`langgraph.json` names the two graphs; a cron of the server calls the second one with `{"all": true}`. The folder is
$LANGMEM_TIERS_PATH, else the user's data folder; the model is $LANGMEM_TIERS_MODEL, and without one the agent quotes
its memory, and rules dream.
"""

import os
import sys

from langmem_tiers import Memory
from langmem_tiers.graphs import chat_model, dream_graph, memory_agent
from langmem_tiers.integrations import model_or_offline

named = os.environ.get("LANGMEM_TIERS_MODEL")
memory = Memory.open(model=chat_model(named) if named else None)
print(f"The memory is in {memory.path}.", file=sys.stderr)

agent = memory_agent(model_or_offline(), memory)
dream = dream_graph(memory)
