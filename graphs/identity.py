"""Whose memory a run is about, and what others may see of a shared conversation."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

from langmem_tiers.access import NOBODY
from langmem_tiers.errors import InvalidSettings, MissingUser
from langmem_tiers.graphs.messages import last_human, peek
from langmem_tiers.graphs.state import ASKED, OTHERS_UNTIL, OWNER
from langmem_tiers.naming import check_space, user_space
from langmem_tiers.working.keys import namespace, namespace_of

SpaceChoice = str | Callable[[RunnableConfig, Runtime[Any] | None], str | None]
"""A fixed space, or a function that names one for each run (None: this run does not say)."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_TOOLS = "tools"
# The session of runs outside of any thread.
_UNNAMED = "unnamed"
_USER = ("user_id", "langgraph_user_id")


@dataclass(frozen=True)
class Scope:
    """The space and the conversation that a memory node works on, and what that is about."""

    space: str
    session: str | None = None
    agent: str | None = None
    project: str | None = None
    task: str | None = None
    caller: str = field(default=NOBODY, compare=False, repr=False)
    """The own space of the user whom the run names, or went on with; empty if there is none."""

    def of_turns(self) -> dict[str, Any]:
        """Where the turns of this run belong, as `Space.track` takes it."""
        return {"session": self.session, "project": self.project, "agent": self.agent, "task": self.task}

    def as_state(self) -> dict[str, str]:
        """What a later run gets as `remembered`: plain JSON, without what is unknown, and without who called."""
        return {key: value for key, value in asdict(self).items() if value is not None and key != "caller"}


def resolve_scope(
    config: RunnableConfig | None,
    runtime: Runtime[Any] | None,
    *,
    remembered: Mapping[str, Any] | None,
    space: SpaceChoice | None = None,
    stands_in: Callable[[Scope], bool] | None = None,
) -> Scope:
    """Find out whose memory this is.

    The space is the one given, else the user's: the authenticated user, `runtime.context.user_id`, and in the
    `configurable` of the config `user_id` or `langgraph_user_id`, in this order. `remembered` is the scope an earlier
    run of the thread left in its state; it stands in for what this run does not say, because the configs of
    LangGraph's history name neither user nor context. `stands_in` says whether the space and the user of an earlier run
    may be this one's. Nothing of an earlier run counts where that worked on another space. The session is the thread
    id, else `session_id`.

    Raises:
        MissingUser: no user is named.
        InvalidSpace: what was said cannot name a space.
    """
    run = _Run(config, runtime)
    earlier = remembered or {}
    named = _space_of(run, space)
    caller = owner_of(run.config, runtime)
    name = named or _text(earlier.get("space"))
    if name is None:
        raise MissingUser("The run names no user.")
    if earlier.get("space") != name:
        earlier = {}
    scope = Scope(
        space=check_space(name),
        session=run.thread() or run.said("session_id") or _text(earlier.get("session")),
        agent=run.said("agent_id") or _text(earlier.get("agent")),
        project=run.said("project") or _text(earlier.get("project")),
        task=run.said("task_id") or run.said("task") or _text(earlier.get("task")),
        caller=caller or NOBODY,
    )
    before = None if caller else _text(earlier.get(OWNER))
    if named and before is None:
        return scope
    if stands_in is None or stands_in(scope):
        return scope if before is None else replace(scope, caller=before)
    if not named:
        raise MissingUser("The run names no user, and its message is a new one.")
    return scope


def working_namespace(
    config: RunnableConfig | None, runtime: Runtime[Any] | None, scope: Scope, chosen: SpaceChoice | None
) -> str:
    """Where in working memory a run writes: the namespace chosen, else that of its session.

    Raises:
        InvalidKey: what was chosen is no namespace.
        InvalidSettings: what was chosen names none for this run.
    """
    if chosen is None:
        return namespace_of("session", scope.session or _UNNAMED)
    named = chosen(config or {}, runtime) if callable(chosen) else chosen
    if named is None:
        raise InvalidSettings(
            "The run does not say which namespace of working memory is its own.",
            way_out="Give what the template names in the run's context or in its config's configurable.",
        )
    return namespace(named)


def owner_of(config: RunnableConfig, runtime: Runtime[Any] | None) -> str | None:
    """The space of the user that the run names, whichever space it works on; None if it names none.

    Raises:
        InvalidSpace: the user's id can name no space, as it is too long.
    """
    user = _Run(config, runtime).user()
    return user_space(user) if user else None


def agent_of(config: RunnableConfig, runtime: Runtime[Any] | None) -> str | None:
    """The agent that the run names, None if it names none."""
    return _Run(config, runtime).said("agent_id")


def in_a_tool(config: RunnableConfig) -> bool:
    """Whether the graph of this run was called by a tool of another one, as an agent calls another.

    LangGraph's namespace has the nodes on the way to the running one; agents run their tools in one called "tools".
    """
    namespace = str((config.get("configurable") or {}).get("checkpoint_ns") or "")
    return any(step.partition(":")[0] == _TOOLS for step in namespace.split("|")[:-1])


def space_template(template: str) -> SpaceChoice:
    """A space that each run names, such as `teams/{team_id}`: for nodes, tools and whatever takes a space.

    What stands in braces is looked up in the run's context, then in the `configurable` of its config; `user_id` is the
    user as `resolve_scope` finds them. Values are escaped: none reaches into another part of the name.

    Raises:
        InvalidSettings: nothing stands in braces.

    Example:
        >>> research = space_template("teams/{team_id}")
        >>> research({"configurable": {"team_id": "r/d"}}, None)
        'teams/r%2Fd'
    """
    names = _PLACEHOLDER.findall(template)
    if not names:
        raise InvalidSettings(f"{template!r} has no field to fill in.", way_out="Add one, such as teams/{team_id}.")

    def choose(config: RunnableConfig, runtime: Runtime[Any] | None) -> str | None:
        run = _Run(config, runtime)
        values = {name: run.user() if name in _USER else run.said(name) for name in names}
        if not all(values.values()):
            return None
        return _PLACEHOLDER.sub(lambda place: user_space(values[place[1]]).removeprefix("users/"), template)

    return choose


def authenticated_user(config: RunnableConfig | None, runtime: Runtime[Any] | None) -> str | None:
    """The user as the server authenticated them; None if it runs without authentication."""
    return _Run(config, runtime).authenticated()


def in_a_run() -> bool:
    """Whether a graph or a chain is running, and not the host's own code outside of them."""
    try:
        get_config()
    except RuntimeError:
        return False
    return True


def current_runtime() -> Runtime[Any] | None:
    """The runtime of the node that is running; None outside of a graph."""
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None


class _Run:
    """What one run says about itself."""

    def __init__(self, config: RunnableConfig | None, runtime: Runtime[Any] | None) -> None:
        self.config: RunnableConfig = config or {}
        self.runtime = runtime
        self._configurable: Mapping[str, Any] = self.config.get("configurable") or {}

    def authenticated(self) -> str | None:
        server = getattr(self.runtime, "server_info", None)
        identity = _text(getattr(getattr(server, "user", None), "identity", None))
        return identity or _text(self._configurable.get("langgraph_auth_user_id"))

    def user(self) -> str | None:
        of_context = peek(getattr(self.runtime, "context", None), "user_id")
        said = (of_context, self._configurable.get("user_id"), self._configurable.get("langgraph_user_id"))
        return self.authenticated() or next((user for user in map(_user, said) if user), None)

    def thread(self) -> str | None:
        execution = getattr(self.runtime, "execution_info", None)
        return _text(getattr(execution, "thread_id", None)) or _text(self._configurable.get("thread_id"))

    def said(self, key: str) -> str | None:
        """What the context says, or else the configurable."""
        return _text(peek(getattr(self.runtime, "context", None), key)) or _text(self._configurable.get(key))


def _space_of(run: _Run, space: SpaceChoice | None) -> str | None:
    if space is None:
        return owner_of(run.config, run.runtime)
    return space(run.config, run.runtime) if callable(space) else space


def _user(value: Any) -> str | None:
    """A user id as text; other types are refused, as they would name a space that nobody meant."""
    if value is not None and value != "":
        user_space(value)
    return _text(value)


def _text(value: Any) -> str | None:
    """An id as text, since it may be a number or a UUID; a server without authentication sends an empty one."""
    return None if value is None or value == "" else str(value)


def marks(scope: Scope, messages: Sequence[BaseMessage], remembered: Mapping[str, Any]) -> dict[str, str]:
    """What `memory_scope` keeps of this run besides the scope: its user, the message asked, and where it begins."""
    asked = last_human(messages)
    kept = {
        OWNER: scope.caller or None,
        ASKED: None if asked is None else asked.id,
        OTHERS_UNTIL: _others_until(scope, messages, remembered),
    }
    return {key: value for key, value in kept.items() if value is not None}


def own_messages(messages: Sequence[BaseMessage], others_until: str | None) -> Sequence[BaseMessage]:
    """The messages after the last one of another user."""
    place = next((place for place, message in enumerate(messages) if message.id == others_until), -1)
    return messages[place + 1 :]


def _others_until(scope: Scope, messages: Sequence[BaseMessage], remembered: Mapping[str, Any]) -> str | None:
    if not remembered:
        return None
    ours = _is_ours(scope, remembered)
    known = remembered.get(OTHERS_UNTIL)
    if ours and (known is None or any(message.id == known for message in messages)):
        return known
    # This user's first run here, or the message at the border is gone: only what is asked now is surely theirs.
    asked = last_human(messages)
    if asked is None or (not ours and asked.id == remembered.get(ASKED)):
        return messages[-1].id if messages else None
    place = next(place for place, message in enumerate(messages) if message is asked)
    return messages[place - 1].id if place else None


def _is_ours(scope: Scope, remembered: Mapping[str, Any]) -> bool:
    """Whether the previous run had the same user or, if none is named, the same space."""
    if not scope.caller:
        return bool(remembered.get("space") == scope.space)
    return bool((remembered.get(OWNER) or remembered.get("space")) == scope.caller)
