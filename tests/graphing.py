"""Graphs with memory for the tests, and short ways to look at what they did."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph

from langmem_tiers import Turn
from langmem_tiers.graphs import MemoryInput, MemoryState, build_prompt, recall_node, track_node
from langmem_tiers.testing import ScriptedChatModel

FACT = "My grey cat Miso sleeps on the radiator."
QUESTION = "Where does my grey cat Miso sleep in winter?"


def run(user: str | None = "alice", thread: str | None = "friday") -> dict[str, Any]:
    """The config of a run."""
    named = {"user_id": user, "thread_id": thread}
    return {"configurable": {key: value for key, value in named.items() if value is not None}}


def remember(space, *texts: str, session: str = "monday") -> None:
    """Put what a user said in an earlier session into memory."""
    space.track([Turn(role="user", content=text) for text in texts], session=session)
    space.flush()


def answering(model: BaseChatModel, **options: Any):
    """A node that asks the model, for a host that keeps its messages under `messages`."""

    def agent(state: MemoryInput) -> dict[str, Any]:
        return {"messages": [model.invoke(build_prompt(state, **options))]}

    return agent


def chat_graph(memory, model=None, *, state=MemoryState, between: Sequence[Any] = (), compiled=None, **options: Any):
    """START -> recall -> whatever comes between -> agent -> track, with options for both memory nodes."""
    agent = answering(model or ScriptedChatModel(responses=["Fine."]))
    builder = StateGraph(state)
    builder.add_sequence([recall_node(memory, **options), *between, agent, track_node(memory, **options)])
    builder.add_edge(START, "recall")
    return builder.compile(**(compiled or {}))


def ask(text: str = QUESTION, **fields: Any) -> dict[str, Any]:
    """The input of a graph: one human message."""
    return {"messages": [HumanMessage(text, **fields)]}


def said(space, session: str | None = None) -> list[str]:
    """The texts that stand in a space, without superseded ones, oldest first."""
    return [drawer.content for drawer in space.drawers(session=session) if drawer.status == "active"]


def texts(messages) -> list[str]:
    """The text of each message."""
    return [str(message.text) for message in messages]
