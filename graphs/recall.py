"""The recall node: before the model, look up what earlier conversations say about this message."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, get_args

from langchain_core.messages import BaseMessage, HumanMessage

from langmem_tiers import arguments
from langmem_tiers.graphs.identity import SpaceChoice
from langmem_tiers.graphs.messages import last_human, window_start, without_recalled
from langmem_tiers.graphs.node import MemoryNode, NodeOutcome, OnError, reading
from langmem_tiers.graphs.prompt import Placement
from langmem_tiers.graphs.state import PROFILE, PROFILE_READ
from langmem_tiers.graphs.track import turns_of
from langmem_tiers.graphs.visit import Visit
from langmem_tiers.writing.tracking import Conversation, stored_as

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.types import Recalled


class RecallNode(MemoryNode):
    """Writes `memory_blocks` (one block of text for each human message in the window) and `memory_scope`."""

    step = "recall"
    _door = "recall_node(memory, space='users/alice')"
    _tells_news = True

    def __init__(self, memory: "Memory", *, window: int | None, placement: Placement, **options: Any) -> None:
        super().__init__(memory, **options)
        self._window = window
        self._placement: Placement = arguments.one_of(placement, "placement", get_args(Placement))

    def _work(self, visit: Visit) -> NodeOutcome:
        settings = self.memory.settings.window
        turns = self._window or settings.turns
        shown = visit.messages[window_start(visit.messages, turns, settings.step or turns) :]
        window = [str(m.id) for m in shown]
        blocks = {key: visit.blocks[key] for key in window if key in visit.blocks and visit.blocks_are_ours}
        asked = last_human(visit.messages)
        # The system message holds the last message's block only, and a state that was not kept holds none: what the
        # others showed is out of sight again.
        in_sight = blocks if self._placement == "message" else {}
        bare = [key for key in window if key not in in_sight]
        recalled = _recall(visit, asked, window, bare, _stored_as(visit, shown))
        if asked is not None:
            # Looked up each time: after an edit, the block of the first wording is no longer this message's.
            blocks[str(asked.id)] = recalled.block if recalled else ""
        return NodeOutcome(
            update={
                "memory_blocks": {key: block for key, block in blocks.items() if block},
                "memory_scope": {**visit.as_state(), **self._profile(visit, window)},
            },
            event=_event(recalled) if recalled else None,
        )

    def _profile(self, visit: Visit, window: Sequence[str]) -> dict[str, Any]:
        """The profile and when it was read: it stays as it is, so that prompts keep their beginning.

        It is read when a session begins, when the window has moved on, as the prompt is another one then, and when it
        is too old, for those who stay in one thread for ever.
        """
        now, begins = self.memory.clock(), next(iter(window), "")
        read = visit.profile_read
        most = timedelta(hours=self.memory.settings.profile.refresh_hours)
        fresh = read.get("begins") == begins and now - datetime.fromisoformat(read["at"]) < most
        if visit.profile is not None and fresh:
            return {PROFILE: visit.profile, PROFILE_READ: dict(read)}
        return {PROFILE: visit.space.prompt_block(), PROFILE_READ: {"at": now.isoformat(), "begins": begins}}

    def _at_least(self, visit: Visit) -> NodeOutcome:
        if visit.blocks_are_ours:
            return NodeOutcome()
        # One user's profile and recalled blocks never reach the model for another user.
        return NodeOutcome(update={"memory_blocks": {}, "memory_scope": visit.as_state()})


def recall_node(
    memory: "Memory",
    *,
    name: str = "recall",
    space: SpaceChoice | None = None,
    fallbacks: Sequence[str] = (),
    on_error: OnError = "log",
    messages_key: str = "messages",
    window: int | None = None,
    placement: Placement = "message",
) -> RecallNode:
    """A node that recalls for the last human message: put it before the model.

    It writes two keys of its own into the state and leaves the messages alone: `memory_blocks`, from the id of a human
    message to the block recalled for it, and `memory_scope`, whose memory it was. `build_prompt` puts the blocks
    before the model. Run again for the same message, it gives the same bytes and counts once. On the custom stream it
    says `{"type": "memory_recalled", "items": 2, "pointers": ["§W-001/R-01/D-001", …], "receipt": 7}`, after what the
    memory did by itself since the thread last heard of it; see `track_node`.

    Args:
        memory: the open memory.
        name: the node's name in the graph.
        space: a space, or a function of config and runtime that names one; by default the user's own.
        fallbacks: further spaces to search, such as `("teams/research",)`.
        on_error: "log" goes on without recall when the memory fails, "raise" ends the run.
        messages_key: where the host's state keeps its messages.
        window: how many turns go to the model, the same number as `build_prompt` gets; by default the setting.
        placement: where `build_prompt` puts the blocks. With "message" a drawer that an earlier block in the window
            shows is not recalled again; with "system" it may be, as the model sees only the block of the last message.

    Raises:
        InvalidInput: an argument is of another type, or none of the words there are.

    Example:
        >>> builder.add_node(recall_node(memory))  # doctest: +SKIP
    """
    kind = reading(messages_key, RecallNode)
    options = {"space": space, "fallbacks": fallbacks, "on_error": on_error, "messages_key": messages_key}
    shown = arguments.optional_whole(window, "window", least=1)
    return kind(memory, name=name, window=shown, placement=placement, **options)


def _recall(
    visit: Visit,
    asked: HumanMessage | None,
    window: Sequence[str],
    bare: Sequence[str],
    stored_as: Mapping[str, str],
) -> "Recalled | None":
    text = "" if asked is None else without_recalled(str(asked.text))
    if asked is None or not text.strip():
        return None
    sent_again = [stored_as[each] for each in window if each in stored_as]
    return visit.space.recall(
        text,
        session=visit.scope.session,
        message_id=stored_as.get(str(asked.id), asked.id),
        window=[*window, *sent_again],
        bare=[*bare, *sent_again],
    )


def _stored_as(visit: Visit, shown: Sequence[BaseMessage]) -> dict[str, str]:
    """New ids of messages that the host sends again, mapped to the ids under which they are stored."""
    own = {message.id for message in visit.own}
    turns = turns_of(message for message in shown if message.id in own)
    memory, conversation = visit.space.memory, Conversation(session=visit.scope.session, history=True)
    if not turns:
        return {}
    with memory.use(visit.space.name) as store:
        return stored_as(store.database, turns, conversation, settings=memory.settings, now=memory.clock())


def _event(recalled: "Recalled") -> dict[str, Any]:
    return {
        "type": "memory_recalled",
        "items": len(recalled.items),
        "pointers": [item.drawer.pointer for item in recalled.items],
        "receipt": recalled.receipt.number,
    }
