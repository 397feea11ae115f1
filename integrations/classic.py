"""The memory class for the chains and agents of `langchain_classic`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, get_buffer_string
from pydantic import Field, PrivateAttr

from langmem_tiers.errors import MissingExtra
from langmem_tiers.graphs.messages import without_recalled
from langmem_tiers.graphs.node import OnError
from langmem_tiers.graphs.track import log_rejected
from langmem_tiers.integrations.inputs import (
    ANSWERED,
    ASKED,
    FallbacksField,
    SpaceField,
    UserField,
    faults,
    pick,
    scope_of,
    with_profile,
)
from langmem_tiers.integrations.message_history import Conversation, Look, place_id
from langmem_tiers.memory import Memory
from langmem_tiers.threads import to_thread


def _base_memory() -> type[Any]:
    try:
        from langchain_classic.base_memory import BaseMemory
    except ImportError as error:
        raise MissingExtra("langchain-classic", "classic") from error
    return BaseMemory


if TYPE_CHECKING:
    from langchain_classic.base_memory import BaseMemory
else:
    BaseMemory = _base_memory()


_WAY_OUT = (
    "Say whose it is: TieredMemory(memory=memory, user_id=…). The config given to a chain does not reach its memory, "
    "unless the chain is a step of a runnable or a graph that gets it."
)


class TieredMemory(BaseMemory):
    """The last turns of a conversation, and what is recalled from all others, for a classic chain or agent executor.

    Before the chain it provides one variable: the session's last turns, then what is known about the user and
    recalled for the current message. After the chain it stores the message and the reply, without what the memory
    put into them.

    `space` or `user_id` says whose memory it is, otherwise the run that the chain is part of; such a memory serves many
    users. The config given to the chain itself does not reach its memory: LangChain does not pass it on.

    Attributes:
        memory: the open memory.
        user_id: whose it is; a function is asked each time.
        space: instead of the user's own one; as for `recall_node`.
        session: the conversation; a function is asked each time. By default the run's thread, else one of this object.
        memory_key: the variable's name in the prompt.
        input_key: which input is the message; by default `input`, `question` or `query`, else the longest.
        output_key: which output is the reply; by default `output`, `response`, `answer`, `text` or `result`, else the
            longest.
        return_messages: give messages, for a `MessagesPlaceholder`, instead of one text. What was recalled is then the
            last of them: a human message, as it belongs to the one that follows.
        human_prefix: what stands before a message of the user in the text.
        ai_prefix: what stands before a reply.
        turns: how many messages of the session are given; by default `Settings.window.turns`.
        profile: give identity, profile and `MEMORY.md`, too.
        fallbacks: further spaces to search; by default those of the settings.
        on_error: "log" goes on without memory if it fails or no user is named, "raise" ends the chain.

    Example:
        >>> chain = ConversationChain(llm=model, memory=TieredMemory(memory=memory, user_id="alice"))  # doctest: +SKIP
    """

    memory: Memory = Field(exclude=True, repr=False)
    user_id: UserField = None
    space: SpaceField = None
    session: str | Callable[[], str | None] | None = None
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    turns: int | None = Field(default=None, ge=1)
    profile: bool = True
    fallbacks: FallbacksField = None
    on_error: OnError = "log"
    _own_session: str = PrivateAttr(default_factory=lambda: f"session-{uuid4().hex[:12]}")

    @property
    def memory_variables(self) -> list[str]:
        """The one variable."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The last turns of the session, and what is recalled for the message among the inputs."""
        with faults("load_memory_variables", self.on_error):
            return {self.memory_key: self._history(inputs)}
        return {self.memory_key: [] if self.return_messages else ""}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Store the message and the reply: on disk when this returns."""
        with faults("save_context", self.on_error):
            asked = pick(inputs, self.input_key, ASKED, but=self.memory_variables)
            answered = pick(outputs, self.output_key, ANSWERED)
            report = self._conversation().add([HumanMessage(asked), AIMessage(answered)])
            if self.on_error == "raise":
                report.raise_rejected()
            log_rejected(report)

    def clear(self) -> None:
        """End the session: the next turn has none before it. Nothing is deleted, and all of it can be recalled."""
        self._conversation().close()

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """`load_memory_variables` in a thread."""
        return await to_thread(self.load_memory_variables, inputs)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """`save_context` in a thread."""
        await to_thread(self.save_context, inputs, outputs)

    async def aclear(self) -> None:
        """`clear` in a thread."""
        await to_thread(self.clear)

    def _conversation(self) -> Conversation:
        scope = scope_of(space=self.space, user_id=self.user_id, way_out=_WAY_OUT)
        space = self.memory.space(scope.space, agent=scope.agent, fallbacks=self.fallbacks, caller=scope.caller)
        session = (self.session() if callable(self.session) else self.session) or scope.session or self._own_session
        return Conversation(space=space, session=session, agent=scope.agent, project=scope.project, task=scope.task)

    def _history(self, inputs: dict[str, Any]) -> Any:
        conversation = self._conversation()
        look = conversation.look(self.turns)
        recalled = self._recalled(conversation, look, inputs)
        if self.return_messages:
            return [*look.messages, *([_beside(recalled)] if recalled else [])]
        said_before = get_buffer_string(look.messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return "\n\n".join(part for part in (said_before, recalled) if part)

    def _recalled(self, conversation: Conversation, look: Look, inputs: dict[str, Any]) -> str:
        asked = without_recalled(pick(inputs, self.input_key, ASKED, but=self.memory_variables)) if inputs else ""
        if not asked.strip():
            return with_profile(conversation.space, "", profile=self.profile, task=conversation.task)
        recalled = conversation.space.recall(
            asked,
            session=look.session,
            # Not the message's own id: its block is gone by the next turn, so what it showed may be shown again.
            message_id=place_id("asked", look.held, asked),
            window=[str(message.id) for message in look.messages],
        )
        return with_profile(conversation.space, recalled.block, profile=self.profile, task=conversation.task)


def _beside(recalled: str) -> BaseMessage:
    """The recalled text as a message that is marked as no turn."""
    return HumanMessage(recalled, additional_kwargs={"lc_source": "memory_recall"})
