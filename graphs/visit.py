"""What a memory node finds when it is called: whose memory it works on, and what of the thread is theirs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from langmem_tiers.graphs.identity import (
    Scope,
    SpaceChoice,
    in_a_tool,
    marks,
    own_messages,
    resolve_scope,
    working_namespace,
)
from langmem_tiers.graphs.messages import BLOCKS, SCOPE, kept_in, last_human, peek, read_messages
from langmem_tiers.graphs.state import ASKED, HEARD, OTHERS_UNTIL, PROFILE, PROFILE_READ, RECALLED_FOR, SEEN
from langmem_tiers.knowledge.tasks import Tasks
from langmem_tiers.pointers import beside
from langmem_tiers.storage import drawers

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import Settings
    from langmem_tiers.space import Space


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One call of a node: the scope, and the messages and blocks of the state.

    The `blocks` are those of the thread that may be shown: none where it worked on another space before, such as that
    of another user, or where the user has no role any more; `blocks_are_ours` if they are all that it has. The
    `profile` is what the prompt of this session begins with, None where the session begins now; `profile_read` says
    since when.
    `heard` is the last activity that the thread was told of, and `seen` the session's last drawer when the run began,
    None if it has not recalled. `own` are the messages that may be stored, `marks` what `memory_scope` keeps besides
    the scope, and `recalled_for` is the message that the middleware recalled for last. `remembered` is what this run's
    `memory_scope` holds so far, if it is ours, and `namespace` finds the run's own namespace of working memory.
    """

    scope: Scope
    space: "Space"
    messages: Sequence[BaseMessage]
    own: Sequence[BaseMessage]
    marks: dict[str, str]
    blocks: dict[str, str]
    blocks_are_ours: bool
    profile: str | None = None
    profile_read: Mapping[str, str] = field(default_factory=dict)
    heard: int | None = None
    seen: int | None = None
    recalled_for: str | None = None
    remembered: Mapping[str, Any] = field(default_factory=dict)
    namespace: Callable[[SpaceChoice | None], str]

    def as_state(self) -> dict[str, Any]:
        """The scope as `memory_scope` keeps it."""
        return {**self.scope.as_state(), **self.marks}


def visit_of(
    memory: "Memory",
    state: Any,
    config: RunnableConfig,
    runtime: Runtime[Any] | None,
    *,
    messages_key: str,
    space: SpaceChoice | None,
    fallbacks: Sequence[str] | None,
    agent: str | None,
    settings: "Settings | None",
) -> Visit:
    """The visit of a node that works on `space`; `agent` goes before the one that the run names.

    Raises:
        MissingUser: no user is named, or only by an earlier run with another message.
        InvalidSpace: what was said cannot name a space.
    """
    left: Mapping[str, Any] = peek(state, SCOPE) or {}
    blocks: dict[str, str] = peek(state, BLOCKS) or {}
    messages = read_messages(state, messages_key)
    goes_on = partial(goes_on_with, memory, state, messages, agent=agent)
    resolve = partial(resolve_scope, config, runtime, space=space, stands_in=goes_on)
    scope, remembered = _scope_of(memory, left, messages, resolve)
    scope = scope if agent is None else replace(scope, agent=agent)
    # A node with a fixed space stores whatever is said in its graph; the recall node may look into another space.
    whole = not scope.caller and isinstance(space, str)
    kept = marks(scope, messages, {} if whole else remembered)
    whose = memory.space(scope.space, agent=scope.agent, fallbacks=fallbacks, settings=settings, caller=scope.caller)
    ours = remembered.get("space") == scope.space and whose.context.role() is not None
    shown = _still_readable(blocks, whose.context) if ours else {}
    all_shown = ours and len(shown) == len(blocks)
    same_session = ours and all(remembered.get(key) == value for key, value in scope.as_state().items())
    same_profile = same_session and left.get("task") == scope.task
    heard = remembered.get(HEARD)
    seen = remembered.get(SEEN)
    return Visit(
        scope=scope,
        space=whose,
        messages=messages,
        own=() if in_a_tool(config) else own_messages(messages, kept.get(OTHERS_UNTIL)),
        marks=kept,
        blocks=shown,
        blocks_are_ours=all_shown,
        profile=remembered.get(PROFILE) if same_profile else None,
        profile_read=(remembered.get(PROFILE_READ) or {}) if same_profile else {},
        heard=heard if same_session and isinstance(heard, int) else None,
        seen=seen.get(kept.get(ASKED)) if ours and isinstance(seen, Mapping) else None,
        recalled_for=remembered.get(RECALLED_FOR) if all_shown else None,
        remembered=remembered if ours else {},
        namespace=partial(working_namespace, config, runtime, scope),
    )


def _scope_of(
    memory: "Memory", left: Mapping[str, Any], messages: Sequence[BaseMessage], resolve: Callable[..., Scope]
) -> tuple[Scope, Mapping[str, Any]]:
    """The scope of a run, and what it goes on from: what an earlier run left, without a task that is closed by now.

    The run that closes a task belongs to it to its end. One that was never begun here stays until another is named.
    """
    scope, asked = resolve(remembered=left), last_human(messages)
    same_run = asked is None or asked.id == left.get(ASKED)
    if same_run or scope.task is None or "task" not in left or not memory.backend.has(scope.space):
        return scope, left
    context = memory.context(scope.space)
    task = Tasks(context).get(scope.task) if context.settings.enabled else None
    if task is None or task.status == "open":
        return scope, left
    remembered = {key: left[key] for key in left if key != "task"}
    without = resolve(remembered=remembered)
    return (scope, left) if without.task else (without, remembered)  # the run itself may name it


def _still_readable(blocks: Mapping[str, str], context: "SpaceContext") -> dict[str, str]:
    """The blocks without those that show a fallback in which whoever it is for has no role any more."""
    lost = [f"{beside('', each.name)}]" for each in context.fallbacks if blocks and each.role() is None]
    return {key: block for key, block in blocks.items() if not any(label_end in block for label_end in lost)}


def goes_on_with(
    memory: "Memory", state: Any, messages: Sequence[BaseMessage], scope: Scope, *, agent: str | None
) -> bool:
    """Whether a run goes on with the last message of the thread, as when it is resumed or replayed.

    Then an earlier run has recalled for it, or the memory has it already; not if that is off.
    """
    asked = last_human(messages)
    if asked is None or asked.id in (kept_in(state, SCOPE).get(ASKED), *kept_in(state, BLOCKS)):
        return True
    context = memory.context(scope.space, agent=agent or scope.agent)
    if not (context.settings.enabled and memory.backend.has(scope.space)):
        return False
    with context.open() as store, store.reading() as connection:
        return bool(drawers.of_messages(connection, store.key, scope.session, [str(asked.id)]))
