"""A chatbot in the terminal that remembers across sessions.

    python examples/chatbot.py --user alice --model openai:gpt-5-mini

Without --model and $LANGMEM_TIERS_MODEL it answers offline, by quoting its memory. Ctrl-D ends it.
The memory is kept in --path, else in $LANGMEM_TIERS_PATH, else in your data folder.
"""

import argparse
from datetime import datetime

from langgraph.checkpoint.memory import InMemorySaver

from langmem_tiers import Memory
from langmem_tiers.graphs import chat, memory_agent
from langmem_tiers.integrations import model_or_offline


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Chat with an agent that remembers across sessions.")
    parser.add_argument("--model", help="provider:name for init_chat_model; default $LANGMEM_TIERS_MODEL, else offline")
    parser.add_argument("--path", help="the memory's folder; default $LANGMEM_TIERS_PATH, else the user's data folder")
    parser.add_argument("--user", default="me", help="whose memory it is")
    parser.add_argument("--session", help="the conversation to file this under; default a new one")
    parser.add_argument("--show", action="store_true", help="print what was recalled before each reply")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    session = chosen.session or f"chat-{datetime.now().astimezone():%Y-%m-%d-%H%M%S}"
    with Memory.open(chosen.path) as memory:
        print(f"The memory is in {memory.path}.")
        agent = memory_agent(model_or_offline(chosen.model), memory, checkpointer=InMemorySaver())
        chat(agent, user_id=chosen.user, thread_id=session, show=chosen.show)


if __name__ == "__main__":
    main()
