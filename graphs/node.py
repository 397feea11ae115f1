"""What all memory nodes share: their options, what they do about faults, and being called."""

import logging
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from langmem_tiers import arguments, naming, replies
from langmem_tiers.errors import AccessDenied, InvalidInput, InvalidSpace, MemoryTiersError, MissingUser
from langmem_tiers.graphs.identity import SpaceChoice
from langmem_tiers.graphs.messages import last_human, peek, read_messages
from langmem_tiers.graphs.runs import TracedCall, TracedNode, described, feed_of
from langmem_tiers.graphs.state import ASKED, HEARD, MemoryInput, memory_input, require_fitting
from langmem_tiers.graphs.visit import Visit, visit_of
from langmem_tiers.settings import Settings, fitting
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space


OnError = Literal["log", "raise"]


def memory_of(given: Any) -> "Memory":
    """An open memory.

    Raises:
        InvalidInput: it is something else.
    """
    from langmem_tiers.memory import Memory

    return arguments.instance(given, "memory", Memory, "what Memory.open gives")


def one_space(given: Any) -> "Space":
    """A space.

    Raises:
        InvalidInput: it is something else, such as the memory that holds it.
    """
    from langmem_tiers.space import Space

    return arguments.instance(given, "space", Space, "a space, such as memory.user('alice')")


def settings_of(given: Any) -> "Settings | None":
    """Settings of nodes and tools, or None.

    Raises:
        InvalidSettings: one of them is for the whole memory.
        InvalidInput: it is something else.
    """
    if given is None:
        return None
    return fitting(arguments.instance(given, "settings", Settings, "a Settings"), "nodes and tools")


def space_of(given: Any) -> Any:
    """The name of a space, a function that names one, or None.

    Raises:
        InvalidSpace: the name cannot be one.
        InvalidInput: it is something else.
    """
    if given is None or callable(given):
        return given
    if not isinstance(given, str):
        raise arguments.refused(
            given, "space", "the name of a space, such as 'users/alice', or a function that names one"
        )
    try:
        return naming.check_space(given)
    except InvalidSpace as error:
        raise InvalidSpace(f"The argument `space`: {error.message}", way_out=error.way_out) from None


def fallbacks_of(given: Any) -> tuple[str, ...] | None:
    """The names of spaces; None for those of the settings.

    Raises:
        InvalidInput: it is no list of such.
    """
    if given is None:
        return None
    names: Sequence[Any] = tuple(arguments.several(given, "fallbacks", "names of spaces"))
    try:
        return tuple(naming.check_space(each) for each in names)
    except InvalidSpace as error:
        raise InvalidSpace(f"The argument `fallbacks`: {error.message}", way_out=error.way_out) from None


logger = logging.getLogger(__name__)

_WAY_OUT = (
    "Pass context={{'user_id': ...}} or config={{'configurable': {{'user_id': ...}}}}, or name a fixed space: {door}."
)


@dataclass(frozen=True, kw_only=True)
class NodeOutcome:
    """What a node did: the update to the state, and what it tells the custom stream of that and of activities.

    `failed` is the class of a fault that was logged.
    """

    update: dict[str, Any] = field(default_factory=dict)
    event: dict[str, Any] | None = None
    news: tuple[dict[str, Any], ...] = ()
    failed: str = ""


class MemoryNode(TracedNode):
    """A LangGraph node over a memory, for sync and async graphs.

    With `on_error="log"` a fault of the memory is logged and the run goes on; with `"raise"` it ends the run. Where a
    run does not say whose memory it is, its first memory node logs that, and the others keep quiet.
    """

    step = ""
    """The name of its work in traces."""
    _door = ""
    """How callers make it with a fixed space, for the way out of a run that names nobody."""
    _tells_news = False
    _is_awaited = False
    """Whether the model waits for it."""

    def __init__(
        self,
        memory: "Memory",
        *,
        name: str,
        space: SpaceChoice | None = None,
        fallbacks: Sequence[str] | None = None,
        agent: str | None = None,
        settings: Settings | None = None,
        on_error: OnError = "log",
        messages_key: str = "messages",
    ) -> None:
        self.memory = memory_of(memory)
        # `add_node` reads one, `add_sequence` the other.
        self.name = self.__name__ = arguments.text(name, "name")
        self.on_error: OnError = arguments.one_of(on_error, "on_error", get_args(OnError))
        self._space: SpaceChoice | None = space_of(space)
        self._fallbacks = fallbacks_of(fallbacks)
        self._agent = arguments.optional_text(agent, "agent")
        self._settings = settings_of(settings)
        self._messages_key = arguments.text(messages_key, "messages_key")

    def __call__(self, state: MemoryInput) -> dict[str, Any]:
        """The node as a function; `add_node` reads from its signature which keys of the state it needs."""
        return self.invoke(state)

    @abstractmethod
    def _work(self, visit: Visit) -> NodeOutcome:
        """The work of this node."""

    def _at_least(self, visit: Visit) -> NodeOutcome:
        """What the node does even if its work fails; by default nothing."""
        return NodeOutcome()

    def _off(self, visit: Visit) -> NodeOutcome:
        """What the node does where the memory is off: what it showed before is out of sight."""
        update = self._without_blocks()
        return NodeOutcome(update={**update, "memory_scope": visit.as_state()} if update else {})

    def _called(self, state: Any, config: RunnableConfig, runtime: Runtime[Any] | None) -> "_Call":
        try:
            require_fitting(state, self._messages_key, config)
            with self._awaited():
                visit: Visit | Exception = visit_of(
                    self.memory,
                    state,
                    config,
                    runtime,
                    messages_key=self._messages_key,
                    space=self._space,
                    fallbacks=self._fallbacks,
                    agent=self._agent,
                    settings=self._settings,
                )
        except GraphBubbleUp:
            raise  # an interrupt is LangGraph's way to pause, no fault
        except MissingUser as error:
            visit = MissingUser(error.message, way_out=_WAY_OUT.format(door=self._door))
        except Exception as error:  # noqa: BLE001 - raised or logged by `visited`, in the run that traces show
            visit = error
        return _Call(self, state, config, runtime, visit)

    def visited(self, state: Any, visit: Visit | Exception, runtime: Runtime[Any] | None) -> NodeOutcome:
        """The outcome of the node's work on a state; errors are raised or logged, as `on_error` says."""
        # What cannot be used may belong to the host, and is left alone.
        ours = peek(state, "memory_blocks") is None and not isinstance(visit, InvalidInput)
        update = self._without_blocks() if ours else {}
        failed: list[Exception] = []
        with self._faults(failed), self._awaited():
            if isinstance(visit, MissingUser | InvalidSpace):
                return self._nobody(state, visit)
            if isinstance(visit, Exception):
                raise visit
            if not visit.space.enabled:
                return self._off(visit)
            update |= self._at_least(visit).update
            outcome = self._work(visit)
            return outcome if runtime is None else self._with_news(visit, outcome)
        [error] = failed
        refused = {"type": "memory_refused", "node": self.name, "reason": str(error)}
        event = refused if isinstance(error, AccessDenied) else None
        return NodeOutcome(update=update, event=event, failed=type(error).__name__)

    def _awaited(self) -> AbstractContextManager[None]:
        return replies.running() if self._is_awaited else nullcontext()

    def _with_news(self, visit: Visit, outcome: NodeOutcome) -> NodeOutcome:
        """The outcome with the activities that are new to the thread; unchanged if these cannot be read."""
        if not self._tells_news:
            return outcome
        try:
            news, upto = feed_of(self.memory).news(visit.space, visit.scope.session, visit.heard)
        except MemoryTiersError as error:
            say(logger, logging.WARNING, "activities_not_told", node=self.name, error=error, reason=error)
            return outcome
        scope = outcome.update.get("memory_scope")
        kept = {**outcome.update, "memory_scope": {**scope, HEARD: upto}} if scope and upto else outcome.update
        return replace(outcome, update=kept, news=news)

    def _nobody(self, state: Any, error: MemoryTiersError) -> NodeOutcome:
        """The outcome without a user: logged once per message, and what belongs to an earlier user is removed."""
        if self.on_error == "raise":
            raise error
        asked = last_human(read_messages(state, self._messages_key))
        if asked is None or feed_of(self.memory).first_without_user(str(asked.id)):
            say(logger, logging.ERROR, "memory_node_failed", node=self.name, error=error, reason=error)
        update = self._without_blocks()
        # It stays known that the thread had a user: the next one did not say what was said until now.
        scope = {"space": "", **({} if asked is None else {ASKED: asked.id})} if peek(state, "memory_scope") else {}
        return NodeOutcome(update={**update, "memory_scope": scope} if update else {}, failed=type(error).__name__)

    def _without_blocks(self) -> dict[str, Any]:
        """No blocks, of the node that answers for them: `build_prompt` takes a state that lacks the key for a mistake.

        Of the others nothing: two nodes of one step must not write the same key.
        """
        answers = type(self)._at_least is not MemoryNode._at_least
        return {"memory_blocks": {}} if answers else {}

    @contextmanager
    def _faults(self, failed: list[Exception]) -> Iterator[None]:
        try:
            yield
        except GraphBubbleUp:
            raise  # an interrupt is LangGraph's way to pause, no fault
        except Exception as error:
            if self.on_error == "raise":
                raise
            failed.append(error)
            if isinstance(error, AccessDenied):
                say(logger, logging.WARNING, "memory_refused", node=self.name, error=error, reason=error)
                return
            # Whatever goes wrong here, a broken disk or a custom embedder: the user gets the reply all the same.
            reason = error if isinstance(error, MemoryTiersError) else None
            told: dict[str, Any] = {"error": error, "reason": reason, "trace": reason is None}
            say(logger, logging.ERROR, "memory_node_failed", node=self.name, **told)


@dataclass
class _Call(TracedCall):
    """One call of a memory node."""

    node: MemoryNode
    state: Any
    config: RunnableConfig
    runtime: Runtime[Any] | None
    visit: Visit | Exception
    outcome: NodeOutcome = field(default_factory=NodeOutcome)

    @property
    def given(self) -> dict[str, Any]:
        return {"messages": len(self.visit.messages)} if isinstance(self.visit, Visit) else {}

    @property
    def described(self) -> RunnableConfig:
        space = self.visit.scope.space if isinstance(self.visit, Visit) else None
        return described(self.node.memory, self.node.step, self.config, space=space)

    def answered(self, given: dict[str, Any], /) -> dict[str, Any]:
        self.outcome = self.node.visited(self.state, self.visit, self.runtime)
        failed = {"failed": self.outcome.failed} if self.outcome.failed else {}
        return {**(self.outcome.event or {}), **failed}

    def update(self) -> dict[str, Any]:
        if self.runtime is not None:
            own = self.outcome.event
            for event in (*self.outcome.news, *([] if own is None else [own])):
                self.runtime.stream_writer(event)
        return self.outcome.update


NodeT = TypeVar("NodeT", bound=MemoryNode)


def reading(messages_key: str, kind: type[NodeT], more: Mapping[str, Any] | None = None) -> type[NodeT]:
    """`kind`, made to ask its host for the messages under `messages_key`, and for the keys in `more`."""
    if arguments.text(messages_key, "messages_key") == "messages" and not more:
        return kind

    def call(self: NodeT, state: Any) -> dict[str, Any]:
        return self.invoke(state)

    call.__annotations__ = {"state": memory_input(messages_key, more), "return": dict[str, Any]}
    return cast("type[NodeT]", type(kind.__name__, (kind,), {"__call__": call}))
