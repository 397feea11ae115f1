"""Recall as a step of a chain: `RunnablePassthrough.assign(memory=recall_runnable(memory)) | prompt | model`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from langchain_core.runnables import Runnable, RunnableConfig

from langmem_tiers import arguments
from langmem_tiers.graphs import node
from langmem_tiers.graphs.identity import SpaceChoice
from langmem_tiers.graphs.messages import without_recalled
from langmem_tiers.graphs.node import OnError
from langmem_tiers.graphs.runs import described
from langmem_tiers.integrations.inputs import asked_in, faults, messages_in, scope_of, with_profile
from langmem_tiers.threads import to_thread

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

_WAY_OUT = (
    "Pass config={'configurable': {'user_id': ...}} to the chain, or give the step a fixed space: "
    "recall_runnable(memory, space='users/alice')."
)


class RecallRunnable(Runnable[Any, str]):
    """Turns the input of a chain into the text that memory adds to its prompt; see `recall_runnable`."""

    def __init__(
        self,
        memory: "Memory",
        *,
        input_key: str | None,
        space: SpaceChoice | None,
        fallbacks: Sequence[str] | None,
        profile: bool,
        on_error: OnError,
        name: str,
    ) -> None:
        self.memory = node.memory_of(memory)
        self.name = arguments.text(name, "name")
        self._input_key = arguments.optional_text(input_key, "input_key")
        self._space: SpaceChoice | None = node.space_of(space)
        self._fallbacks = node.fallbacks_of(fallbacks)
        self._profile = arguments.flag(profile, "profile")
        self._on_error: OnError = arguments.one_of(on_error, "on_error", get_args(OnError))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:
        """The recalled text; empty if nothing fits."""
        return self._call_with_config(self._recalled, input, described(self.memory, "recall", config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:
        """`invoke` in a thread."""
        return await self._acall_with_config(self._arecalled, input, described(self.memory, "recall", config))

    async def _arecalled(self, given: Any, run_manager: Any, config: RunnableConfig) -> str:
        return await to_thread(self._recalled, given, run_manager, config)

    def _recalled(self, given: Any, run_manager: Any, config: RunnableConfig) -> str:
        with faults(str(self.name), self._on_error):
            scope = scope_of(config, space=self._space, way_out=_WAY_OUT)
            space = self.memory.space(scope.space, agent=scope.agent, fallbacks=self._fallbacks, caller=scope.caller)
            asked, message_id = asked_in(given, self._input_key)
            recalled = space.recall(
                without_recalled(asked),
                session=scope.session,
                # Not the message's own id: its block is gone by the next run, so what it showed may be shown again.
                message_id=None if message_id is None else f"asked-{message_id}",
                window=[str(message.id) for message in messages_in(given) if message.id],
            )
            return with_profile(space, recalled.block, profile=self._profile, task=scope.task)
        return ""


def recall_runnable(
    memory: "Memory",
    *,
    input_key: str | None = None,
    space: SpaceChoice | None = None,
    fallbacks: Sequence[str] | None = None,
    profile: bool = True,
    on_error: OnError = "log",
    name: str = "recall",
) -> RecallRunnable:
    """A step that gives what memory recalls for the question a chain is asked, as text for its prompt.

    It takes a text, messages, or a mapping that holds such. The run says whose memory it is, just as for
    `recall_node`: `chain.invoke(..., {"configurable": {"user_id": "alice", "thread_id": "monday"}})`. Messages of the
    session that the mapping holds, such as a chat history, are not recalled again. It stores nothing but its receipt.

    Args:
        memory: the open memory.
        input_key: which value of a mapping is the message; by default `input`, `question` or `query`, else the longest
            text, else the last human message.
        space: a space, or a function of config and runtime that names one; by default the user's own.
        fallbacks: further spaces to search; by default those of the settings.
        profile: give identity, profile and `MEMORY.md`, too.
        on_error: "log" gives an empty text when the memory fails or no user is named, "raise" ends the chain.
        name: its name in traces.

    Raises:
        InvalidInput: an argument is of another type, or none of the words there are.

    Example:
        >>> chain = RunnablePassthrough.assign(memory=recall_runnable(memory)) | prompt | model  # doctest: +SKIP
    """
    return RecallRunnable(
        memory,
        input_key=input_key,
        space=space,
        fallbacks=fallbacks,
        profile=profile,
        on_error=on_error,
        name=name,
    )
