"""The chat history for `RunnableWithMessageHistory`."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from langmem_tiers import arguments
from langmem_tiers.integrations.conversation import Conversation, log_rejected

if TYPE_CHECKING:
    from langmem_tiers.space import Space


class TieredChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session of a space, to be made anew for every run.

    Messages that are added are stored as turns: those of users and models, without tool messages, system messages
    and what the memory itself put before the model. What other sessions hold is not among `messages`: put a
    `recall_runnable` into the chain for that.

    Args:
        space: whose memory it is, such as `memory.user("alice")`.
        session: the conversation.
        turns: how many messages are given; by default `Settings.window.turns`.

    Raises:
        InvalidInput: `space` is none, `session` is no text, or `turns` below 1.

    Example:
        >>> history = TieredChatMessageHistory(alice, "monday")
        >>> history.add_user_message("My sister Lena moved to Porto.")
        >>> [message.text for message in history.messages]
        ['My sister Lena moved to Porto.']
    """

    def __init__(self, space: "Space", session: str, *, turns: int | None = None) -> None:
        # Made anew for every run, and the type is known to whoever has one.
        from langmem_tiers.space import Space

        self.space = arguments.instance(space, "space", Space, "a space, such as memory.user('alice')")
        self.session = arguments.text(session, "session")
        self.turns = arguments.optional_whole(turns, "turns", least=1)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # an attribute there, read and never set
        """The last messages of the session, oldest first, each with the id that it is stored under."""
        return self._conversation().look(self.turns).messages

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages: on disk when this returns. One with the id and text of a stored one changes nothing.

        Messages without an id are known by the id of the next one that has one, else by their place. What can not be
        stored, such as a text that is too long, is logged.

        Raises:
            StorageError: nothing was stored.
        """
        log_rejected(self._conversation().add(messages))

    def clear(self) -> None:
        """End the session: `messages` begins empty. Nothing is deleted, and all of it can be recalled."""
        self._conversation().close()

    async def aget_messages(self) -> list[BaseMessage]:
        """`messages` in a thread."""
        return await asyncio.to_thread(lambda: self.messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """`add_messages` in a thread."""
        await asyncio.to_thread(self.add_messages, messages)

    async def aclear(self) -> None:
        """`clear` in a thread."""
        await asyncio.to_thread(self.clear)

    def _conversation(self) -> Conversation:
        return Conversation(space=self.space, session=self.session)
