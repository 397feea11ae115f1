"""A research team: a supervisor and two subagents who share one user's memory.

    python examples/research_team.py [folder]

Each subagent is an agent of `create_agent` with memory, and a node of the team's graph. Both recall for the user's
message and store what was said; a message is known by its id, so it is stored once. What the supervisor says to
itself is no message and is not stored. It runs offline: scripts stand in for chat models.
"""

import sys
import tempfile
from typing import Literal

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from langmem_tiers import Memory
from langmem_tiers.integrations import MemoryMiddleware
from langmem_tiers.testing import ScriptedChatModel

WHO_IS_NEXT = "You lead a team. Who is next? Answer with one word: researcher, writer, or done."
TALK = [
    ("monday", "I want to plant tomatoes on my shady balcony in Ghent. Which sort would grow there?"),
    ("friday", "Which tomatoes did you find for my balcony in Ghent?"),
]
lead = ScriptedChatModel(responses=["researcher", "writer", "done", "writer", "done"])
researching = ScriptedChatModel(responses=["Cherry tomatoes take the least sun: four hours a day."])
writing = ScriptedChatModel(
    responses=["Plant cherry tomatoes, at the sunny end.", "Cherry tomatoes: four hours of sun will do."]
)


def supervisor(state: MessagesState) -> Command[Literal["researcher", "writer", "__end__"]]:
    """Says who works next."""
    word = lead.invoke([SystemMessage(WHO_IS_NEXT), *state["messages"]], {"tags": ["nostream"]}).text
    return Command(goto="__end__" if word == "done" else word)


def team(memory: Memory):
    def member(name: str, model: BaseChatModel, task: str):
        return create_agent(model, system_prompt=task, middleware=[MemoryMiddleware(memory)], name=name)

    builder = StateGraph(MessagesState)
    builder.add_node(supervisor)
    builder.add_node("researcher", member("researcher", researching, "Find out what the user needs to know."))
    builder.add_node("writer", member("writer", writing, "Write the answer from what is there."))
    builder.add_edge(START, "supervisor")
    builder.add_edge("researcher", "supervisor")
    builder.add_edge("writer", "supervisor")
    return builder.compile(checkpointer=InMemorySaver())


folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="research-team-")
with Memory.open(folder) as memory:
    graph = team(memory)
    for thread, text in TALK:
        run = {"configurable": {"user_id": "alice", "thread_id": thread}}
        print(f"{thread}: {text}")
        for message in graph.invoke({"messages": text}, run)["messages"][1:]:
            print(f"  {message.name}: {message.text}")
    print("\nbefore the writer on friday stood:", writing.requests[-1][-1].text, sep="\n")
    print("\nstored:")
    for drawer in memory.user("alice").drawers():
        print(f"  {drawer.session}, {drawer.speaker or drawer.role}: {drawer.content}")
