"""An agent that writes its own memory: it saves, corrects and deletes with tools, and says which memories it used.

    python examples/tools.py [folder]

It runs offline: a script stands in for a chat model. Give `memory_agent` any model that calls tools, such as
"openai:gpt-5-mini", and say what you like.
"""

import sys
import tempfile

from langchain_core.messages import AIMessage, ToolMessage

from langmem_tiers import Memory
from langmem_tiers.graphs import DEFAULT_SYSTEM_PROMPT, memory_agent
from langmem_tiers.integrations import WRITING_GUIDANCE, memory_tools
from langmem_tiers.testing import ScriptedChatModel


def calls(name: str, **arguments) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])


def corrects(messages) -> AIMessage:
    """What a model does with the id that search_memory gave it."""
    found = messages[-1].artifact["ids"]
    return calls("update_memory", id=found[0], content="The user's sister Lena lives in Lisbon.")


SCRIPT = [
    calls("save_memory", content="The user's sister Lena lives in Porto.", category="people/family"),
    "I will remember that Lena lives in Porto.",
    calls("search_memory", query="sister Lena lives"),
    corrects,
    "I corrected it: Lena lives in Lisbon.",
    calls("explain_recall"),
    "I used what you told me about Lena.",
]
TALK = [
    ("monday", "My sister Lena lives in Porto."),
    ("tuesday", "I was wrong: my sister Lena lives in Lisbon, not in Porto."),
    ("friday", "Where does my sister Lena live, and which memories do you use?"),
]

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="tools-")
with Memory.open(folder) as memory:
    agent = memory_agent(
        ScriptedChatModel(responses=SCRIPT),
        memory,
        tools=memory_tools(memory),
        system_prompt=f"{DEFAULT_SYSTEM_PROMPT}\n\n{WRITING_GUIDANCE}",
    )
    for thread, text in TALK:
        run = {"configurable": {"user_id": "alice", "thread_id": thread}}
        print(f"{thread}: {text}")
        for message in agent.invoke({"messages": text}, run)["messages"][1:]:
            for call in getattr(message, "tool_calls", []):
                print(f"  -> {call['name']} {call['args']}")
            if message.text:
                print(
                    "  " + ("<- " if isinstance(message, ToolMessage) else "") + message.text.replace("\n", "\n     ")
                )
        memory.flush()
