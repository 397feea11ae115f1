"""The dream as a graph: a memory consolidates itself in steps that a checkpointer can keep."""

import hashlib
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NotRequired, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from langmem_tiers import arguments
from langmem_tiers.dream.run import STEPS, DreamRunner, DreamState, report_end
from langmem_tiers.dream.types import DreamReport
from langmem_tiers.errors import AccessDenied, InvalidInput, InvalidSpace, MemoryTiersError, MissingUser, UnknownSpace
from langmem_tiers.graphs import node
from langmem_tiers.graphs.identity import SpaceChoice, authenticated_user, owner_of, resolve_scope
from langmem_tiers.graphs.messages import peek
from langmem_tiers.graphs.node import OnError
from langmem_tiers.graphs.runs import TracedCall, TracedNode, described
from langmem_tiers.graphs.state import MemoryContext
from langmem_tiers.naming import check_space, user_space
from langmem_tiers.telemetry.logs import say
from langmem_tiers.threads import to_thread

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.store import SpaceStore

EVENT = "dream"
"""The type of the events on the custom stream."""

_FIRST, *_, _LAST = STEPS
# Each space takes seven steps, and there may be thousands of spaces.
_MOST_STEPS = 1_000_000

logger = logging.getLogger(__name__)


class DreamInput(TypedDict, total=False):
    """Whose memory dreams: a space, a user, or all of them; by default the user of the run.

    With `dry_run`, nothing is changed: the report says what would be.
    """

    space: str | None
    user_id: str | None
    all: bool
    dry_run: bool


class DreamOutput(TypedDict, total=False):
    """The report of the dream as JSON (`DreamReport`), a list of reports where `all` were asked for."""

    dream_report: dict[str, Any] | list[dict[str, Any]]


class _State(DreamInput, DreamOutput):
    """What the steps pass on: the run, and the current dream with the material it works on."""

    dream_run: NotRequired[dict[str, Any]]
    dream_state: NotRequired[dict[str, Any] | None]
    dream_material: NotRequired[dict[str, Any] | None]


DreamGraph = CompiledStateGraph[Any, MemoryContext, DreamInput, DreamOutput]


def dream_graph(
    memory: "Memory",
    *,
    space: SpaceChoice | None = None,
    checkpointer: "BaseCheckpointSaver[Any] | bool | None" = None,
    on_error: OnError = "log",
    name: str = "dream",
) -> DreamGraph:
    """A compiled graph that consolidates a memory: gather, consolidate, preferences, synthesize, graph, gate, commit.

    It does what `Space.dream` does, for `invoke`, `stream` and their async twins, for a cron of a LangGraph server, and
    as a node of another graph, whose state may take up `dream_report`. Whose memory it is: the input says it (`space`,
    `user_id`, or `all` for every space in the folder, one after the other), else context or config, as for the other
    nodes. Of `all`, spaces that the settings turn off are left out. On a server with authentication nobody can name
    another one's.

    With a checkpointer a run that was killed goes on with `invoke(None, config)` where it was, also in another process:
    a dream is committed in one transaction and once. The checkpoints of its steps hold what it saw of the memory.

    On the custom stream it says `{"type": "dream", "step": "consolidate", "space": "users/alice", "dream": "0a1b…",
    "proposals": 3}` after each step, and `{…, "asked": 2}` after each answer of a model.

    Args:
        memory: the open memory; the graph does not close it.
        space: a space, or a function of config and runtime that names one; then the input is not asked.
        checkpointer: keeps the steps; None takes that of the graph it is a node of.
        on_error: "log" reports a dream that the memory failed as `failed` and goes on, "raise" ends the run.
        name: the graph's name in traces.

    Raises:
        InvalidInput: an argument is of another type, or none of the words there are.

    Example:
        >>> dream_graph(memory).invoke({"user_id": "alice"})["dream_report"]["status"]  # doctest: +SKIP
        'applied'
    """
    builder = StateGraph(_State, context_schema=MemoryContext, input_schema=DreamInput, output_schema=DreamOutput)
    arguments.one_of(on_error, "on_error", get_args(OnError))
    builder.add_node("spaces", _Spaces(node.memory_of(memory), node.space_of(space), on_error))
    for step in STEPS:
        builder.add_node(step, _Step(memory, step, on_error))
    builder.add_edge(START, "spaces")
    for here, there in pairwise(STEPS):
        builder.add_edge(here, there)
    for place in ("spaces", _LAST):
        builder.add_conditional_edges(place, _next, {"more": _FIRST, "done": END})
    return builder.compile(checkpointer=checkpointer, name=name).with_config(recursion_limit=_MOST_STEPS)


class _Node(TracedNode):
    def __init__(self, memory: "Memory", name: str, on_error: OnError) -> None:
        self.memory = memory
        self.name = self.step = name
        self.on_error = on_error

    def _log(self, space: str, error: Exception) -> None:
        """Log an error; an unexpected one with its traceback."""
        foreseen = isinstance(error, MemoryTiersError)
        told = {"reason": error} if foreseen else {"trace": error}
        say(logger, logging.ERROR, "dream_failed", space=space or None, step=self.name, error=error, **told)


class _Spaces(_Node):
    """Finds out which spaces dream, and clears what an earlier run of the thread left."""

    def __init__(self, memory: "Memory", space: SpaceChoice | None, on_error: OnError) -> None:
        super().__init__(memory, "spaces", on_error)
        self._space = space

    def _called(self, state: Any, config: RunnableConfig, runtime: Runtime[Any] | None) -> TracedCall:
        return _Asked(self, state, config, runtime)

    def begun(self, state: Any, config: RunnableConfig, runtime: Runtime[Any] | None) -> dict[str, Any]:
        """The update to the state at the beginning of a run."""
        refused: dict[str, Any] = {}
        try:
            waiting = self._wanted(state, config, runtime)
            # A run that names no user is the host's own, such as that of a cron job.
            for name in waiting:
                self.memory.access.require_writable(owner_of(config, runtime), name)
        except (MissingUser, InvalidInput, AccessDenied) as error:
            if self.on_error == "raise":
                raise
            self._log("", error)
            waiting, refused = [], self._refused(error)
        several = peek(state, "all") is True and self._space is None
        run = {"waiting": waiting, "several": several, "dry_run": bool(peek(state, "dry_run")), "reports": []}
        asked = {"space": None, "user_id": None, "all": False, "dry_run": False}
        told: list[Any] | dict[str, Any] = [refused] * bool(refused) if several else refused
        return {**asked, "dream_run": run, "dream_state": None, "dream_material": None, "dream_report": told}

    def _refused(self, error: MemoryTiersError) -> dict[str, Any]:
        """The report of a run that names no space that could dream."""
        now = self.memory.clock()
        space = error.space if isinstance(error, UnknownSpace) else ""
        report = DreamReport.begun(space, now).but(status="failed", finished_at=now, notes=(str(error),))
        return report.model_dump(mode="json")

    def _wanted(self, state: Any, config: RunnableConfig, runtime: Runtime[Any] | None) -> list[str]:
        """The spaces that dream in this run.

        Raises:
            MissingUser: no user is named.
            InvalidInput: what was said is of the wrong kind, or names two.
            InvalidSpace: what was said cannot name a space, names one that there is not, or that of somebody else.
        """
        for flag in ("all", "dry_run"):
            given = peek(state, flag)
            arguments.flag(False if given is None else given, flag)
        if self._space is not None:
            return [self._there(resolve_scope(config, runtime, remembered=None, space=self._space).space)]
        everybody = bool(peek(state, "all"))
        if everybody and (peek(state, "space") or peek(state, "user_id")):
            raise InvalidInput("The input names a user and also `all`.", way_out="Leave one of the two out.")
        named = _named(state)
        mine = authenticated_user(config, runtime)
        if mine is not None and (everybody or named not in {None, user_space(mine)}):
            raise InvalidSpace(f"{mine!r} may only start a dream of their own memory.")
        if everybody:
            return [name for name in self.memory.spaces() if self.memory.context(name).settings.enabled]
        try:
            return [self._there(named or resolve_scope(config, runtime, remembered=None).space)]
        except MissingUser:
            way_out = "Give the input a user_id, a space, or all; or the graph a space: dream_graph(memory, space=…)."
            raise MissingUser("No user was named for the dream.", way_out=way_out) from None

    def _there(self, space: str) -> str:
        if space in self.memory.spaces():
            return space
        raise UnknownSpace(f"There is no space {space!r} in the memory.", space=space)


@dataclass
class _Asked(TracedCall):
    """One call of `_Spaces`: traces show the number of spaces, not their names."""

    node: _Spaces
    state: Any
    config: RunnableConfig
    runtime: Runtime[Any] | None
    begun: dict[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> dict[str, Any]:
        return {}

    @property
    def described(self) -> RunnableConfig:
        return described(self.node.memory, "dream", self.config)

    def answered(self, given: dict[str, Any], /) -> dict[str, Any]:
        self.begun = self.node.begun(self.state, self.config, self.runtime)
        return {"spaces": len(self.begun["dream_run"]["waiting"])}

    def update(self) -> dict[str, Any]:
        return self.begun


class _Step(_Node):
    """A step of a dream; the first one takes the next space, the last one reports."""

    def _called(self, state: Any, config: RunnableConfig, runtime: Runtime[Any] | None) -> TracedCall:
        """Continues the dream of the previous step; the first step begins a new one."""
        if self.step != _FIRST:
            dream = DreamState.model_validate({**state["dream_state"], "material": state["dream_material"]})
        else:
            run = state["dream_run"]
            context = self.memory.context(run["waiting"][0])
            dream = DreamState.new(context, dry_run=run["dry_run"], dream_id=_id(runtime))
        return _Call(self, state, config, runtime, dream)

    def taken(self, given: DreamState, runtime: Runtime[Any] | None) -> DreamState:
        """The dream after this step."""
        if given.over:
            return given
        try:
            with self.memory.use(given.report.space) as store:
                return self._dreaming(store, runtime).step(self.step, given)
        except GraphBubbleUp:
            raise
        except Exception as error:
            if self.on_error == "raise":
                raise
            # Whatever goes wrong here, a broken disk or a custom embedder, ends up in the report.
            return self._failed(given, error)

    async def ataken(self, given: DreamState, runtime: Runtime[Any] | None) -> DreamState:
        """`taken`, while the event loop goes on."""
        if given.over:
            return given
        try:
            held = self.memory.use(given.report.space)
            store = await to_thread(held.__enter__)
            try:
                return await self._dreaming(store, runtime).astep(self.step, given)
            finally:
                await to_thread(held.__exit__, None, None, None)
        except GraphBubbleUp:
            raise
        except Exception as error:
            if self.on_error == "raise":
                raise
            return await to_thread(self._failed, given, error)

    def _dreaming(self, store: "SpaceStore", runtime: Runtime[Any] | None) -> DreamRunner:
        def told(progress: Mapping[str, Any]) -> None:
            if runtime is not None:
                runtime.stream_writer({"type": EVENT, **progress})

        return DreamRunner(self.memory.context(store.name), store, told)

    def _failed(self, given: DreamState, error: Exception) -> DreamState:
        """A dream that ends here; the space is free for another one."""
        with suppress(MemoryTiersError), self.memory.use(given.report.space) as store:
            DreamRunner(self.memory.context(given.report.space), store).release(given)
        self._log(given.report.space, error)
        begun = DreamReport.begun(given.report.space, given.report.started_at, dream_id=given.report.id)
        notes = (*given.report.notes, f"{type(error).__name__}: {error}")
        report = begun.but(status="failed", finished_at=self.memory.clock(), notes=notes)
        report_end(report)
        return given.but(report=report)

    def left(self, before: Any, dream: DreamState) -> dict[str, Any]:
        """The update to the state for the next step."""
        if self.step == _LAST:
            return _reported(before["dream_run"], dream.report)
        update: dict[str, Any] = {"dream_state": dream.model_dump(mode="json", exclude={"material"})}
        if self.step == _FIRST:
            update["dream_material"] = None if dream.material is None else dream.material.model_dump(mode="json")
        return update


@dataclass
class _Call(TracedCall):
    """One call of a step."""

    step: _Step
    state: Any
    config: RunnableConfig
    runtime: Runtime[Any] | None
    dream: DreamState
    left: dict[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> dict[str, Any]:
        status = {"status": self.dream.report.status} if self.dream.over else {}
        return {"dream": self.dream.report.id, "proposals": len(self.dream.proposals), **status}

    @property
    def described(self) -> RunnableConfig:
        return described(self.step.memory, "dream", self.config, space=self.dream.report.space)

    def answered(self, given: dict[str, Any], /) -> dict[str, Any]:
        self.dream = self.step.taken(self.dream, self.runtime)
        self.left = self.step.left(self.state, self.dream)
        return self.given

    async def aanswered(self, given: dict[str, Any], /) -> dict[str, Any]:
        self.dream = await self.step.ataken(self.dream, self.runtime)
        self.left = await to_thread(self.step.left, self.state, self.dream)
        return self.given

    def update(self) -> dict[str, Any]:
        return self.left


def _reported(run: Mapping[str, Any], report: DreamReport) -> dict[str, Any]:
    """The update to the state once a dream is over: its material goes, its report stays."""
    reports = [*run["reports"], report.model_dump(mode="json")]
    left = {**run, "waiting": run["waiting"][1:], "reports": reports if run["several"] else []}
    told = reports if run["several"] else reports[0]
    return {"dream_run": left, "dream_state": None, "dream_material": None, "dream_report": told}


def _next(state: Any) -> str:
    return "more" if state["dream_run"]["waiting"] else "done"


def _named(state: Any) -> str | None:
    """The space that the input names, None if it names none."""
    space, user = peek(state, "space"), peek(state, "user_id")
    if space is not None and space != "":
        return check_space(space)
    return None if user is None or user == "" else user_space(user)


def _id(runtime: Runtime[Any] | None) -> str | None:
    """An id from the current task: if that is killed and resumed, it is still the same dream."""
    execution = getattr(runtime, "execution_info", None)
    task = getattr(execution, "task_id", None) if getattr(execution, "thread_id", None) else None
    return None if task is None else hashlib.sha256(task.encode()).hexdigest()[:12]
