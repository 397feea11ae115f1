"""A chain in LCEL with memory: what other sessions hold is recalled, what this one holds is its history.

    python examples/lcel_chain.py [folder]

The model is the one in $LANGMEM_TIERS_MODEL; without one it answers offline, by quoting its memory.
"""

import sys
import tempfile

from langchain_core.messages import HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnablePassthrough

from langmem_tiers import Memory
from langmem_tiers.integrations import TieredChatMessageHistory, model_or_offline, recall_runnable

PROMPT = ChatPromptTemplate(
    [
        ("system", "You are a friend with a good memory."),
        MessagesPlaceholder("history"),
        (
            "human",
            "{memory}\n\n{input}",
        ),  # with the message: requests keep their beginning
    ]
)


def say(memory: Memory, chain: Runnable, user: str, session: str, text: str) -> str:
    """One turn: the chain recalls, and the history keeps what was said."""
    history = TieredChatMessageHistory(memory.user(user), session)
    run = {"configurable": {"user_id": user, "thread_id": session}}
    reply = chain.invoke({"input": text, "history": history.messages}, run)
    history.add_messages([HumanMessage(text), reply])
    return reply.text


folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="lcel-chain-")
with Memory.open(folder) as memory:
    chain = RunnablePassthrough.assign(memory=recall_runnable(memory)) | PROMPT | model_or_offline()
    for session, text in [("monday", "I moved to Lisbon in March."), ("friday", "Which city did I move to?")]:
        print(f"{session}: {text}\n{say(memory, chain, 'alice', session, text)}\n")
