"""Handing over: a patrol and a subagent leave what they found in working memory, and the user's session picks it up.

    python examples/handover.py [folder]

The patrol runs on a schedule beside the session (here: every second; elsewhere cron does as well), the subagent when
the session asks for research. Both write to their own namespace only; the session sees the keys at the end of its
prompt and reads what it needs. Nothing of it becomes long-term memory, and it expires by itself: tracking is off for
the agent "patrol", as what it is told is nothing that the user said, and the subagent has no track node. It runs
offline: scripts stand in for chat models.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langmem_tiers import Memory, Settings, TrackingSettings
from langmem_tiers.graphs import memory_agent, space_template
from langmem_tiers.integrations import WORKING_TOOLS, memory_tools
from langmem_tiers.testing import ScriptedChatModel

GUIDE = "\n\n".join(
    f"## {plant}\n" + f"The {plant.lower()} likes a bed in the sun and water every second day. " * 120
    for plant in ("Tomato", "Basil", "Chard")
)


def calls(name: str, **arguments) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])


@tool
def read_sensors() -> str:
    """Read the sensors of the greenhouse."""
    return "soil: dry, temperature: 31 °C"


def patrol(memory: Memory) -> None:
    """Looks at the greenhouse and leaves a finding for four hours; the next round replaces it."""
    script = [
        calls("read_sensors"),
        calls(
            "save_to_working_memory",
            key="alerts",
            data="The soil in the greenhouse is dry, at 31 °C.",
            ttl_minutes=240,
            category="patrol-finding",
            tags=["urgent"],
        ),
        "Done.",
    ]
    tools = [read_sensors, *memory_tools(memory, only=WORKING_TOOLS, namespace="patrol/greenhouse")]
    model = ScriptedChatModel(responses=script)
    agent = memory_agent(model, memory, tools, agent="patrol", namespace="patrol/greenhouse")
    agent.invoke({"messages": "Look after the greenhouse."}, {"configurable": {"user_id": "alice"}})


@contextmanager
def on_schedule(memory: Memory, *, seconds: float) -> Iterator[None]:
    """Has the patrol go its rounds, the first at once, until the block ends."""
    over, looked = Event(), Event()

    def rounds() -> None:
        while not over.is_set():
            patrol(memory)
            looked.set()
            over.wait(seconds)

    thread = Thread(target=rounds)
    thread.start()
    looked.wait(60)
    try:
        yield
    finally:
        over.set()
        thread.join()


def researcher(memory: Memory):
    """A subagent, as a tool of the session's agent: it answers with a key, not with the whole text."""
    script = [calls("save_to_working_memory", key="plants", data=GUIDE, ttl_minutes=60), "The guide is saved."]
    tools = memory_tools(memory, only=WORKING_TOOLS, namespace=space_template("subagent/{research_id}"))
    agent = create_agent(ScriptedChatModel(responses=script), tools)

    @tool
    def research(question: str) -> str:
        """Let a subagent find something out; it leaves its results in working memory."""
        run = {"configurable": {"user_id": "alice", "research_id": "t1"}}
        return agent.invoke({"messages": question}, run)["messages"][-1].text

    return research


folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="handover-")
settings = Settings(agents={"patrol": Settings(tracking=TrackingSettings(enabled=False))})
with Memory.open(folder, settings=settings) as memory, on_schedule(memory, seconds=1):
    model = ScriptedChatModel(
        responses=[
            calls("research", question="How is chard watered?"),
            calls("get_from_working_memory", key="subagent/t1/plants-index"),
            calls("get_from_working_memory", key="patrol/greenhouse/alerts"),
            "Water the chard today, and then every second day: the soil in the greenhouse is dry.",
        ]
    )
    tools = [researcher(memory), *memory_tools(memory, only=WORKING_TOOLS)]
    agent = memory_agent(model, memory, tools, checkpointer=InMemorySaver())
    run = {"configurable": {"user_id": "alice", "thread_id": "monday"}}
    answer = agent.invoke({"messages": "When shall I water the chard?"}, run)["messages"][-1].text
    print("The first request ended with:", model.requests[0][-1].text.partition("\n\n")[2], sep="\n")
    print("\nAfter the research it ended with:", model.requests[1][-1].text.partition("\n\n")[2], sep="\n")
    print("\nThe outline that it read:", model.requests[2][-1].text.partition("\n\n")[0], sep="\n")
    print(f"\n{answer}")
