"""Memory as a middleware of `create_agent`."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.runtime import Runtime

from langmem_tiers import arguments
from langmem_tiers.errors import MissingExtra
from langmem_tiers.graphs.flush import FlushNode
from langmem_tiers.graphs.identity import SpaceChoice
from langmem_tiers.graphs.messages import kept_in, last_human
from langmem_tiers.graphs.node import MemoryNode, NodeOutcome, OnError, memory_of
from langmem_tiers.graphs.prompt import Placement, build_prompt, latest_block, placement_in, with_inventory
from langmem_tiers.graphs.recall import RecallNode, placement_of
from langmem_tiers.graphs.state import HEARD, PLACEMENT, PROFILE, PROFILE_READ, RECALLED_FOR
from langmem_tiers.graphs.track import TrackNode
from langmem_tiers.graphs.visit import Visit
from langmem_tiers.graphs.working import WorkingNode
from langmem_tiers.integrations.tools import MEMORY_TOOLS, WORKING_TOOLS, memory_tools

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import Settings


_DOOR = "MemoryMiddleware(memory, space='users/alice')"


class TurnRecall(RecallNode):
    """Recalls once per message, even if that fails: the prompt stays the same for a whole turn.

    An agent sends all that its state holds, so blocks stay as long as their messages do.
    """

    _door = _DOOR

    def __init__(self, memory: "Memory", *, placement: Placement | None, **options: Any) -> None:
        super().__init__(memory, window=arguments.MOST, placement=placement, **options)

    def _work(self, visit: Visit) -> NodeOutcome:
        if visit.recalled_for == _asked(visit):
            return NodeOutcome()
        outcome = super()._work(visit)
        scope = {**outcome.update["memory_scope"], RECALLED_FOR: _asked(visit)}
        return replace(outcome, update={**outcome.update, "memory_scope": scope})

    def _at_least(self, visit: Visit) -> NodeOutcome:
        if visit.recalled_for == _asked(visit):
            return NodeOutcome()
        kept = {PROFILE: visit.profile, PROFILE_READ: visit.profile_read or None, HEARD: visit.heard}
        kept[PLACEMENT] = visit.remembered.get(PLACEMENT)
        known = {key: value for key, value in kept.items() if value is not None}
        scope = {**visit.as_state(), **known, RECALLED_FOR: _asked(visit)}
        return NodeOutcome(update={**super()._at_least(visit).update, "memory_scope": scope})


class TurnTrack(TrackNode):
    """Stores what is not stored yet, and reports it only if there was anything."""

    _door = _DOOR

    def _work(self, visit: Visit) -> NodeOutcome:
        outcome = super()._work(visit)
        event = outcome.event or {}
        return outcome if event.get("stored") or event.get("revised") else replace(outcome, event=None)


class CallWorking(WorkingNode):
    """Looks into working memory before each call of the model."""

    _door = _DOOR


class TurnFlush(FlushNode):
    """Saves the facts of a long history."""

    _door = _DOOR


def _asked(visit: Visit) -> str:
    """A key for the last human message as it is worded now."""
    asked = last_human(visit.messages)
    if asked is None:
        return ""
    return f"{asked.id}:{hashlib.sha256(str(asked.text).encode('utf-8', 'replace')).hexdigest()[:16]}"


def _types() -> Any:
    try:
        from langchain.agents.middleware import types
    except ImportError as error:
        raise MissingExtra("langchain", "openai") from error
    return types


if TYPE_CHECKING:
    from langchain.agents.middleware.types import (
        AgentMiddleware,
        AgentState,
        ModelCallResult,
        ModelRequest,
        ModelResponse,
        PrivateStateAttr,
    )
else:
    _found = _types()
    AgentMiddleware, AgentState, PrivateStateAttr = _found.AgentMiddleware, _found.AgentState, _found.PrivateStateAttr
    ModelCallResult, ModelRequest, ModelResponse = _found.ModelCallResult, _found.ModelRequest, _found.ModelResponse


class MemoryAgentState(AgentState[Any]):
    """What the memory keeps beside an agent's messages; neither the agent's input nor its output shows it."""

    memory_blocks: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    memory_scope: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class MemoryMiddleware(AgentMiddleware[MemoryAgentState, Any, Any]):
    """Gives an agent of `create_agent` its memory: it recalls before the model, and keeps what was said.

    - Before the first call of the model in a turn it recalls for the last human message, once: not again in a loop of
      tools, nor when a run is resumed.
    - Before every call it stores what is not stored yet, before a summarizer that follows in the list can drop it.
    - Into the call it puts the recalled blocks, each in front of its message, and the profile at the end of the system
      message. The messages in the state stay as they were said.
    - When the agent is done it stores the reply.

    Whose memory it is, the run says: `agent.invoke(..., {"configurable": {"user_id": "alice"}})`, the context, or the
    authenticated user. On the custom stream it says what `recall_node`, `track_node` and `flush_node` say.

    Of the list of middleware, put before it what redacts messages or caches prompts, and behind it what summarizes. An
    agent has one of it; for several spaces there are `fallbacks`.

    Args:
        memory: the open memory; the agent does not close it.
        tools: what the model may do to its memory: True for `MEMORY_TOOLS`, or names of tools, such as `("save_memory",
            *GRAPH_TOOLS)`. Tell it when to, with `WRITING_GUIDANCE` in the system prompt.
        placement: "message" as above; "system" puts the block of the last message, if it has one, behind the profile,
            which breaks prompt caches. By default the setting `recall.placement`.
        flush: save the facts of a long history, too, as `flush_node` does. For agents with a summarizer.
        context_window: how many tokens the model takes, for `flush`; None goes by the number of messages alone.
        space: a space, or a function of config and runtime that names one; by default the user's own.
        fallbacks: further spaces that recall and tools search; by default those of the settings.
        working: give the agent `WORKING_TOOLS`, show it what working memory holds at the end of each call, and move
            large tool results there; see `working_node`.
        namespace: the agent's own part of working memory, as in `memory_tools`.
        agent: whose settings are in force, such as `"patrol"`; by default the agent that the run names, if it does.
        settings: what is set in these goes before all other settings in its steps and tools, such as
            `Settings(recall=RecallSettings(limit=3))`.
        on_error: "log" answers even when the memory fails or no user is named, "raise" ends the run.

    Raises:
        InvalidInput: `tools` names a tool that there is not, or an argument is of another type.
        InvalidSettings: `context_window` is no positive number, or `settings` holds what is for the whole memory.

    Example:
        >>> agent = create_agent("openai:gpt-5-mini", middleware=[MemoryMiddleware(memory)])  # doctest: +SKIP
    """

    state_schema = MemoryAgentState

    def __init__(
        self,
        memory: "Memory",
        *,
        tools: bool | Sequence[str] = False,
        placement: Placement | None = None,
        flush: bool = False,
        context_window: int | None = None,
        space: SpaceChoice | None = None,
        fallbacks: Sequence[str] | None = None,
        working: bool = False,
        namespace: SpaceChoice | None = None,
        agent: str | None = None,
        settings: "Settings | None" = None,
        on_error: OnError = "log",
    ) -> None:
        super().__init__()
        self.memory = memory_of(memory)
        wanted = () if tools is False else MEMORY_TOOLS if tools is True else arguments.texts(tools, "tools")
        more = WORKING_TOOLS if arguments.flag(working, "working") else ()
        names = dict.fromkeys((*wanted, *more))
        self.tools: list[BaseTool] = memory_tools(
            memory,
            space=space,
            fallbacks=fallbacks,
            only=[*names],
            namespace=namespace,
            agent=agent,
            settings=settings,
        )
        self._placement = placement_of(placement)
        whose: dict[str, Any] = {"space": space, "agent": agent, "settings": settings, "on_error": on_error}
        self._track = TurnTrack(memory, name="track", **whose)
        recall = TurnRecall(memory, name="recall", placement=placement, fallbacks=fallbacks, **whose)
        flushing = TurnFlush(memory, name="flush", context_window=context_window, **whose)
        looking = CallWorking(memory, name="working", namespace=namespace, move_results=True, **whose)
        steps = ((recall, True), (self._track, True), (flushing, flush), (looking, working))
        self._before_model: tuple[MemoryNode, ...] = tuple(step for step, wanted in steps if wanted)

    @property
    def name(self) -> str:
        """The name of its steps in the graph. Not that of the class, which other packages use as well."""
        return "TieredMemory"

    def before_model(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Recall for a new message, and store what is not stored yet."""
        update: dict[str, Any] = {}
        for step in self._before_model:
            update |= step.invoke({**state, **update})
        return update or None

    async def abefore_model(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`before_model` without holding up the event loop."""
        update: dict[str, Any] = {}
        for step in self._before_model:
            update |= await step.ainvoke({**state, **update})
        return update or None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> "ModelCallResult[Any]":
        """Ask the model with the profile and what was recalled in its prompt."""
        return handler(_with_memory(request, self._placement))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> "ModelCallResult[Any]":
        """`wrap_model_call` for async agents."""
        return await handler(_with_memory(request, self._placement))

    def after_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store the reply."""
        return self._track.invoke(state) or None

    async def aafter_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`after_agent` without holding up the event loop."""
        return await self._track.ainvoke(state) or None


def _with_memory(request: ModelRequest[Any], placement: Placement | None) -> ModelRequest[Any]:
    """The request with the profile and the blocks; the state is not changed."""
    state: Mapping[str, Any] = dict(request.state)
    blocks = kept_in(state, "memory_blocks")
    system = _behind(request.system_message, kept_in(state, "memory_scope").get(PROFILE) or "")
    if (placement or placement_in(state)) == "system":
        system = _behind(system, latest_block(request.messages, blocks))
        return request.override(system_message=system, messages=with_inventory(request.messages, state))
    shown = [_with_block(m, blocks) for m in request.messages]
    return request.override(system_message=system, messages=with_inventory(shown, state))


def _with_block(message: AnyMessage, blocks: Mapping[str, str]) -> Any:
    """One message as `build_prompt` shows it: an agent sends all its messages, not just the last turns."""
    if message.id not in blocks:
        return message
    [shown] = build_prompt({"messages": [message], "memory_blocks": blocks})
    return shown


def _behind(system: SystemMessage | None, text: str) -> SystemMessage | None:
    """The system message with a text block at its end, after what is the same for all users."""
    if not text:
        return system
    said = [] if system is None else system.content
    before = [{"type": "text", "text": said}] if isinstance(said, str) else said
    content: list[Any] = [*before, {"type": "text", "text": text}]
    return SystemMessage(content) if system is None else system.model_copy(update={"content": content})
