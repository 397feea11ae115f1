"""A conversation of LangChain messages in a space, as a chat message history."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from sqlalchemy import Connection

from langmem_tiers import arguments
from langmem_tiers.graphs.messages import is_synthetic, window_start, without_recalled
from langmem_tiers.graphs.node import one_space
from langmem_tiers.graphs.track import log_rejected, turns_of
from langmem_tiers.storage import drawers, rooms
from langmem_tiers.storage.write_queue import queue_of
from langmem_tiers.threads import to_thread
from langmem_tiers.trust.secrets import mask
from langmem_tiers.types import Drawer, TrackReport

if TYPE_CHECKING:
    from langmem_tiers.space import Space
    from langmem_tiers.storage.rooms import Room


_KINDS: dict[str, type[HumanMessage] | type[AIMessage]] = {"user": HumanMessage, "assistant": AIMessage}


@dataclass(frozen=True, kw_only=True)
class Look:
    """A session at a moment: what the space calls it, how many messages it holds, and the last of them."""

    session: str
    held: int
    messages: list[BaseMessage]


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The messages of a session.

    Where the session was ended, the messages that follow are a session of their own, `monday~2` after `monday`: they
    begin with nothing before them, and nothing is deleted.
    """

    space: "Space"
    session: str
    agent: str | None = None
    project: str | None = None
    task: str | None = None

    def look(self, turns: int | None = None) -> Look:
        """The session, with at most its last `turns` messages, beginning with one of the user where there is one."""
        if not self.space.enabled:
            return Look(session=self.session, held=0, messages=[])
        most = turns or self.space.memory.settings.window.turns
        with self.space.context.open() as store, store.reading() as connection:
            session, room = _current(connection, store.key, self.session)
            held = [] if room is None else _last(connection, store.key, room, most)
        messages: list[BaseMessage] = [
            _KINDS[each.role](each.content, id=each.message_id, name=each.speaker) for each in held
        ]
        shown = messages[window_start(messages, most) :]
        return Look(session=session, held=0 if room is None else room.drawers, messages=shown)

    def add(self, messages: Sequence[BaseMessage]) -> TrackReport:
        """Store what users and models said in these messages, without what the memory put into them."""
        said: list[BaseMessage] = [
            message.model_copy(update={"content": without_recalled(str(message.text))})
            for message in messages
            if isinstance(message, HumanMessage | AIMessage) and not is_synthetic(message)
        ]
        kept = [each for each in said if each.text.strip()]
        about: dict[str, Any] = {"agent": self.agent, "project": self.project, "task": self.task}
        # Of the messages that others add at the same time, each has a place of its own.
        with queue_of((self.space.context.folder, self.space.name, self.session)).turn():
            look = self.look(1)
            return self.space.track(turns_of(_identified(kept, look.held)), session=look.session, **about)

    def close(self) -> None:
        """End the session: what is said from now on has nothing before it."""
        if self.space.enabled:
            self.space.end_session(self.look(1).session)


def place_id(kind: str, place: int, text: str) -> str:
    """An id for a message without one: the same for the same text at the same place of a session."""
    # Of the text as it is stored: a short secret could be guessed from the hash of the whole.
    return f"{kind}-{place}-{hashlib.sha256(mask(text).encode('utf-8', 'replace')).hexdigest()[:24]}"


def _current(connection: Connection, space: str, session: str) -> "tuple[str, Room | None]":
    """The session that goes on under this name, and its room if anything was said in it."""
    later = rooms.latest_unnamed(connection, space, f"{session}~")
    name = session if later is None else later.session
    while (room := rooms.of_session(connection, space, name)) is not None and room.ended_at is not None:
        number = 1 if name == session else int(name.rpartition("~")[2])
        name = f"{session}~{number + 1}"
    return name, room


def _last(connection: Connection, space: str, room: "Room", most: int) -> list[Drawer]:
    """The last messages that stand in a room, oldest first."""
    found: list[Drawer] = []
    for place in range(room.drawers, 0, -1):
        drawer = drawers.at_place(connection, space, room.number, place)
        if drawer is not None and drawer.status == "active" and drawer.role in _KINDS:
            found.append(drawer)
            if len(found) == most:
                break
    return found[::-1]


def _identified(messages: Sequence[BaseMessage], held: int) -> list[BaseMessage]:
    """The messages, each with an id: one without takes it from the next that has one, else from its place.

    Hosts give ids to what models say, and none to what users say: a pair that is stored again is known by its reply.
    """
    identified: list[BaseMessage] = []
    following: str | None = None
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.id:
            following = message.id
        else:
            kind = "said" if following is None else f"before-{following}"
            at = held + place if following is None else len(messages) - place
            message = message.model_copy(update={"id": place_id(kind, at, str(message.text))})
        identified.append(message)
    return identified[::-1]


def _messages(given: Any) -> list[BaseMessage]:
    """A list of messages. What is none would be left out in silence like a system message, and its text be lost."""
    if isinstance(given, BaseMessage):  # pydantic lets it be iterated, field by field
        raise arguments.refused(given, "messages", "a list of messages, also for a single one")
    wanted = "a message, such as HumanMessage('Hello')"
    return [
        arguments.instance(each, f"messages[{place}]", BaseMessage, wanted)
        for place, each in enumerate(arguments.several(given, "messages", "messages"))
    ]


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
        self.space = one_space(space)
        self.session = arguments.text(session, "session")
        self.turns = arguments.optional_whole(turns, "turns", least=1)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # an attribute there, read and never set
        """The last messages of the session, oldest first, each with the id that it is stored under."""
        return self._conversation().look(self.turns).messages

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages: on disk when this returns. One with the id and text of a stored one changes nothing.

        Messages without an id are known by the id of the next one that has one, else by their place. What cannot be
        stored, such as a text that is too long, is logged.

        Raises:
            InvalidInput: it is no list of messages; nothing was stored.
            StorageError: nothing was stored.
        """
        log_rejected(self._conversation().add(_messages(messages)))

    def clear(self) -> None:
        """End the session: `messages` begins empty. Nothing is deleted, and all of it can be recalled."""
        self._conversation().close()

    async def aget_messages(self) -> list[BaseMessage]:
        """`messages` in a thread."""
        return await to_thread(lambda: self.messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """`add_messages` in a thread."""
        await to_thread(self.add_messages, messages)

    async def aclear(self) -> None:
        """`clear` in a thread."""
        await to_thread(self.clear)

    def _conversation(self) -> Conversation:
        return Conversation(space=self.space, session=self.session)
