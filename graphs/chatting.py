"""Talking to an agent line by line; what the command line and the example chatbot share."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from langmem_tiers.graphs.messages import peek


def converse(agent: Pregel[Any, Any, Any, Any], text: str, *, user_id: str, thread_id: str) -> tuple[str, str]:
    """Say one thing to an agent; its reply, and the block that was recalled for it (empty if none was).

    The agent is a graph with a recall node, such as `memory_agent` makes.
    """
    message = HumanMessage(text, id=str(uuid4()))
    config: RunnableConfig = {"configurable": {"thread_id": thread_id, "user_id": user_id}}
    block = ""
    state: dict[str, Any] = {}
    steps: Any = agent.stream({"messages": [message]}, config, stream_mode=["updates", "values"])
    for mode, chunk in steps:
        if mode == "values":
            state = chunk
        else:
            block = _block_in(chunk, str(message.id)) or block
    return _reply(state), block


def chat(
    agent: Pregel[Any, Any, Any, Any],
    *,
    user_id: str,
    thread_id: str,
    show: bool = False,
    read: Callable[[str], str] = input,
    write: Callable[[str], object] = print,
) -> None:
    """Read a line, answer it, and so on until the input ends (Ctrl-D) or is broken off (Ctrl-C).

    With `show`, the block that was recalled is written before the reply.
    """
    with suppress(KeyboardInterrupt):
        for text in _lines(read):
            reply, block = converse(agent, text, user_id=user_id, thread_id=thread_id)
            if show and block:
                write(block)
            write(reply)


def _lines(read: Callable[[str], str]) -> Iterator[str]:
    with suppress(EOFError):
        while True:
            text = read("> ")
            if text.strip():
                yield text


def _block_in(updates: dict[str, Any], message_id: str) -> str:
    blocks = (peek(update, "memory_blocks") or {} for update in updates.values())
    return next((found[message_id] for found in blocks if message_id in found), "")


def _reply(state: dict[str, Any]) -> str:
    messages = state.get("messages") or []
    return next((str(message.text) for message in reversed(messages) if isinstance(message, AIMessage)), "")
