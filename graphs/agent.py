"""The ready-made agent, its chat model by name, and talking with it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from langmem_tiers.errors import InvalidInput
from langmem_tiers.graphs.identity import SpaceChoice
from langmem_tiers.graphs.messages import peek
from langmem_tiers.graphs.node import OnError, memory_of
from langmem_tiers.graphs.prompt import DEFAULT_SYSTEM_PROMPT, Placement, build_prompt
from langmem_tiers.graphs.recall import RecallNode
from langmem_tiers.graphs.state import MemoryContext, MemoryState
from langmem_tiers.graphs.track import TrackNode
from langmem_tiers.graphs.working import READING_TOOLS, WorkingNode
from langmem_tiers.models import providers

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import Settings


def chat_model(model: str | BaseChatModel) -> BaseChatModel:
    """`model` itself, or the one a name such as "openai:gpt-5-mini" stands for in LangChain's `init_chat_model`.

    Raises:
        InvalidInput: it is neither a name nor a chat model.
        MissingExtra: the package `langchain`, which knows the names, or the provider's own one is not installed.
        InvalidSettings: no provider is known for it, or the provider's client refuses it, such as without a key.
    """
    if isinstance(model, str):
        return providers.chat_model(model)
    # Checked by its methods: a model with options bound to it has another class. And a class has the methods, too.
    if isinstance(model, type) or not callable(getattr(model, "invoke", None)):
        raise InvalidInput(
            f"{model!r} is not a chat model.",
            way_out="Give a name such as 'openai:gpt-5-mini', or a LangChain chat model.",
        )
    return model


_DOOR = "memory_agent(model, memory, space='users/alice')"


class _Recall(RecallNode):
    _door = _DOOR


class _Track(TrackNode):
    _door = _DOOR


class _Working(WorkingNode):
    _door = _DOOR


AgentGraph = CompiledStateGraph[MemoryState, MemoryContext, MessagesState, MessagesState]


def memory_agent(
    model: str | BaseChatModel,
    memory: "Memory",
    tools: Sequence[BaseTool] = (),
    *,
    system_prompt: str | None = None,
    checkpointer: "BaseCheckpointSaver[Any] | bool | None" = None,
    store: BaseStore | None = None,
    placement: Placement | None = None,
    space: SpaceChoice | None = None,
    fallbacks: Sequence[str] | None = None,
    namespace: SpaceChoice | None = None,
    agent: str | None = None,
    settings: "Settings | None" = None,
    on_error: OnError = "log",
    name: str = "memory_agent",
) -> AgentGraph:
    """A compiled graph that remembers, for `invoke`, `stream` and their async twins.

    Say whose memory it is with `context={"user_id": "alice"}` or in the config's `configurable`. The messages in its
    state and output hold what was said and nothing else. The user's message is stored before the model is asked: it
    stays even when the client leaves in mid-stream or the model fails.

    Args:
        model: a chat model, or a name for LangChain's `init_chat_model`.
        memory: the open memory; the graph does not close it.
        tools: what the model may call.
        system_prompt: instead of `DEFAULT_SYSTEM_PROMPT`.
        checkpointer: keeps the threads; without one every run starts an empty thread, with the same memory.
        store: handed on to the tools.
        placement: see `build_prompt`; by default the setting `recall.placement`.
        space: a space, or a function of config and runtime that names one; by default the user's own.
        fallbacks: further spaces to search; by default those of the settings.
        namespace: the agent's own part of working memory, as in `memory_tools`. With tools that read working memory,
            the agent sees what it holds at the end of its prompt, and large tool results are moved there.
        agent: whose settings are in force, such as `"patrol"`; by default the agent that the run names, if it does.
        settings: what is set in these goes before all other settings in its nodes, such as
            `Settings(recall=RecallSettings(limit=3))`; for its tools, give it to `memory_tools`, too.
        on_error: "log" answers even when the memory fails, "raise" ends the run.
        name: the graph's name in traces.

    Raises:
        InvalidInput: an argument is of another type, or none of the words there are.
        InvalidSettings: `settings` holds what is for the whole memory, such as `window`.
        MissingExtra: the model is given by name and `langchain` is not installed.

    Example:
        >>> agent = memory_agent("openai:gpt-5-mini", memory)  # doctest: +SKIP
        >>> agent.invoke({"messages": "Hello"}, context={"user_id": "alice"})  # doctest: +SKIP
    """
    builder = StateGraph(
        MemoryState, context_schema=MemoryContext, input_schema=MessagesState, output_schema=MessagesState
    )
    window = memory_of(memory).settings.window
    asked = chat_model(model)
    bound: Runnable[Any, AIMessage] = asked.bind_tools(tools) if tools else asked
    system = DEFAULT_SYSTEM_PROMPT if system_prompt is None else system_prompt

    def prompt(state: MemoryState) -> list[BaseMessage]:
        return build_prompt(state, system=system, window=window.turns, step=window.step, placement=placement)

    def answer(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [bound.invoke(prompt(state), config)]}

    async def aanswer(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(prompt(state), config)]}

    options: dict[str, Any] = {"space": space, "agent": agent, "settings": settings, "on_error": on_error}
    recall = _Recall(memory, name="recall", fallbacks=fallbacks, window=window.turns, placement=placement, **options)
    builder.add_node(recall)
    # If the client disconnects, the run ends: so what it said is stored before the model is asked.
    builder.add_node(_Track(memory, name="listen", **options))
    builder.add_node("agent", RunnableLambda(answer, afunc=aanswer, name="agent"))
    builder.add_node(_Track(memory, name="track", **options))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "listen")
    asking = "agent"
    if any(tool.name in READING_TOOLS for tool in tools):
        asking = "working"
        builder.add_node(_Working(memory, name=asking, namespace=namespace, move_results=True, **options))
        builder.add_edge(asking, "agent")
    builder.add_edge("listen", asking)
    _add_tools(builder, tools, asking)
    return builder.compile(checkpointer=checkpointer, store=store, name=name)


def _add_tools(
    builder: StateGraph[MemoryState, MemoryContext, MessagesState, MessagesState],
    tools: Sequence[BaseTool],
    asking: str,
) -> None:
    """Add the tools; `asking` is the node from which the model is asked again with their results."""
    if not tools:
        builder.add_edge("agent", "track")
        return
    from langgraph.prebuilt import ToolNode

    builder.add_node("tools", ToolNode(tools))
    builder.add_conditional_edges("agent", _next, ["tools", "track"])
    builder.add_edge("tools", asking)


def _next(state: MemoryState) -> str:
    last = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and last.tool_calls else "track"


def converse(
    agent: Pregel[Any, Any, Any, Any], text: str | HumanMessage, *, user_id: str, thread_id: str
) -> tuple[str, str]:
    """Say one thing to an agent; its reply, and the block that was recalled for it (empty if none was).

    The agent is a graph with a recall node, such as `memory_agent` makes. A message that has an id keeps it.
    """
    said = HumanMessage(text) if isinstance(text, str) else text
    message = said if said.id else said.model_copy(update={"id": str(uuid4())})
    config: RunnableConfig = {"configurable": {"thread_id": thread_id, "user_id": user_id}}
    block = ""
    state: dict[str, Any] = {}
    steps: Any = agent.stream({"messages": [message]}, config, stream_mode=["updates", "values"])
    for mode, chunk in steps:
        if mode == "values":
            state = chunk
        else:
            found = (peek(update, "memory_blocks") or {} for update in chunk.values())
            block = next((blocks[message.id] for blocks in found if message.id in blocks), block)
    replies = [each for each in state.get("messages") or () if isinstance(each, AIMessage)]
    return str(replies[-1].text) if replies else "", block


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
    with suppress(KeyboardInterrupt, EOFError):
        while True:
            text = read("> ")
            if not text.strip():
                continue
            reply, block = converse(agent, text, user_id=user_id, thread_id=thread_id)
            if show and block:
                write(block)
            write(reply)
