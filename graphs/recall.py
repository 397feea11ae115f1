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
from langmem_tiers.graphs.state import PLACEMENT, PROFILE, PROFILE_READ, SEEN
from langmem_tiers.graphs.track import turns_of
from langmem_tiers.graphs.visit import Visit
from langmem_tiers.recall.pipeline import embedding
from langmem_tiers.recall.recalled_early import receipt_so_far
from langmem_tiers.settings import LAYERS, RecallSettings, Settings
from langmem_tiers.writing.tracking import Conversation, KnownHistory, known_history

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import RecallLayer
    from langmem_tiers.types import Recalled


class RecallNode(MemoryNode):
    """Writes `memory_blocks` (one block of text for each human message in the window) and `memory_scope`."""

    step = "recall"
    _door = "recall_node(memory, space='users/alice')"
    _tells_news = True
    _is_awaited = True

    def __init__(self, memory: "Memory", *, window: int | None, placement: Placement | None, **options: Any) -> None:
        super().__init__(memory, **options)
        self._window = window
        self._placement = placement_of(placement)

    def _work(self, visit: Visit) -> NodeOutcome:
        settings = self.memory.settings.window
        turns = self._window or settings.turns
        shown = visit.messages[window_start(visit.messages, turns, settings.step or turns) :]
        window = [str(m.id) for m in shown]
        blocks = {key: visit.blocks[key] for key in window if key in visit.blocks}
        asked = last_human(visit.messages)
        # The system message holds the last message's block only, and a state that was not kept holds none: what the
        # others showed is out of sight again.
        placement = self._placement or visit.space.context.settings.recall.placement
        in_sight = blocks if placement == "message" else {}
        bare = [key for key in window if key not in in_sight]
        text = "" if asked is None else without_recalled(str(asked.text))
        with embedding(visit.space.context, text):
            known = _known(visit, shown)
            profile = self._profile(visit, window)
            recalled = _recall(visit, asked, text, window, bare, known.stored_as)
        if asked is not None:
            # Looked up each time: after an edit, the block of the first wording is no longer this message's.
            blocks[str(asked.id)] = recalled.block if recalled else ""
        return NodeOutcome(
            update={
                "memory_blocks": {key: block for key, block in blocks.items() if block},
                "memory_scope": {**visit.as_state(), **profile, **_placed(placement), **_seen(visit, asked, known)},
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
        most = timedelta(hours=visit.space.context.settings.profile.refresh_hours)
        fresh = read.get("begins") == begins and now - datetime.fromisoformat(read["at"]) < most
        if visit.profile is not None and fresh:
            return {PROFILE: visit.profile, PROFILE_READ: dict(read)}
        block = visit.space.prompt_block(task=visit.scope.task)
        return {PROFILE: block, PROFILE_READ: {"at": now.isoformat(), "begins": begins}}

    def _at_least(self, visit: Visit) -> NodeOutcome:
        if visit.blocks_are_ours:
            return NodeOutcome()
        # One user's profile and recalled blocks never reach the model for another user, nor for who has lost a role.
        return NodeOutcome(update={"memory_blocks": visit.blocks, "memory_scope": visit.as_state()})


def recall_node(
    memory: "Memory",
    *,
    name: str = "recall",
    space: SpaceChoice | None = None,
    fallbacks: Sequence[str] | None = None,
    on_error: OnError = "log",
    messages_key: str = "messages",
    window: int | None = None,
    placement: Placement | None = None,
    agent: str | None = None,
    limit: int | None = None,
    threshold: float | None = None,
    token_budget: int | None = None,
    layers: "Sequence[RecallLayer] | None" = None,
) -> RecallNode:
    """A node that recalls for the last human message: put it before the model.

    It writes two keys of its own into the state and leaves the messages alone: `memory_blocks`, from the id of a human
    message to the block recalled for it, and `memory_scope`, whose memory it was. `build_prompt` puts the blocks
    before the model. Run again for the same message, it gives the same bytes and counts once. On the custom stream it
    says `{"type": "memory_recalled", "items": 2, "pointers": ["§W-001/R-01/D-001", …], "receipt": 7}`, after what the
    memory did by itself since the thread last heard of it; see `track_node`. The receipt is 0 while it is not stored
    yet, since somebody else was writing.

    Args:
        memory: the open memory.
        name: the node's name in the graph.
        space: a space, or a function of config and runtime that names one; by default the user's own.
        fallbacks: further spaces to search, such as `("teams/research",)`; by default those of the settings.
        on_error: "log" goes on without recall when the memory fails, "raise" ends the run.
        messages_key: where the host's state keeps its messages.
        window: how many turns go to the model, the same number as `build_prompt` gets; by default the setting.
        placement: where `build_prompt` puts the blocks. With "message" a drawer that an earlier block in the window
            shows is not recalled again; with "system" it may be, as the model sees only the block of the last message.
            By default the setting `recall.placement`, which `build_prompt` then knows of, too.
        agent: whose settings are in force; by default the agent that the run names, if it names one.
        limit: the most items in a block, instead of the setting `recall.limit`.
        threshold: the score that the best must reach, 0 to 1, instead of `recall.threshold`.
        token_budget: the most tokens in a block, instead of `recall.token_budget`.
        layers: what the model is shown, such as `("identity", "entries")`, instead of `recall.layers`.

    Raises:
        InvalidInput: an argument is of another type, out of range, or none of the words there are.

    Example:
        >>> builder.add_node(recall_node(memory, limit=3))  # doctest: +SKIP
    """
    kind = reading(messages_key, RecallNode)
    options: dict[str, Any] = {"space": space, "fallbacks": fallbacks, "agent": agent, "on_error": on_error}
    options |= {"messages_key": messages_key, "settings": _own_settings(limit, threshold, token_budget, layers)}
    shown = arguments.optional_whole(window, "window", least=1)
    return kind(memory, name=name, window=shown, placement=placement, **options)


def placement_of(given: Any) -> Placement | None:
    """Where blocks go, None for where the settings say.

    Raises:
        InvalidInput: it is neither of the two places.
    """
    found: Placement | None = None if given is None else arguments.one_of(given, "placement", get_args(Placement))
    return found


def _placed(placement: Placement) -> dict[str, Any]:
    return {} if placement == "message" else {PLACEMENT: placement}


def _own_settings(
    limit: int | None, threshold: float | None, token_budget: int | None, layers: "Sequence[RecallLayer] | None"
) -> Settings | None:
    """What a node is told about recall, as settings of its own."""
    given = {
        "limit": arguments.optional_whole(limit, "limit", least=1, most=200),
        "threshold": None if threshold is None else arguments.share(threshold, "threshold"),
        "token_budget": arguments.optional_whole(token_budget, "token_budget", least=1),
        "layers": None if layers is None else [arguments.one_of(each, "layers", LAYERS) for each in layers],
    }
    told = {name: value for name, value in given.items() if value is not None}
    return Settings(recall=RecallSettings(**told)) if told else None


def _recall(
    visit: Visit,
    asked: HumanMessage | None,
    text: str,
    window: Sequence[str],
    bare: Sequence[str],
    stored_as: Mapping[str, str],
) -> "Recalled | None":
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


def _seen(visit: Visit, asked: HumanMessage | None, known: KnownHistory) -> dict[str, Any]:
    """The last drawer as the run began: a loop may come by here again."""
    seen = known.last if visit.seen is None else visit.seen
    return {} if asked is None or seen is None else {SEEN: {str(asked.id): seen}}


def _known(visit: Visit, shown: Sequence[BaseMessage]) -> KnownHistory:
    """What the session holds of the messages, which the host may send again under new ids."""
    own = {message.id for message in visit.own}
    turns = turns_of(message for message in shown if message.id in own)
    memory, conversation = visit.space.memory, Conversation(session=visit.scope.session, history=True)
    if not turns:
        return KnownHistory(None, {})
    with visit.space.context.open() as store:
        return known_history(store.database, turns, conversation, settings=memory.settings, now=memory.clock())


def _event(recalled: "Recalled") -> dict[str, Any]:
    return {
        "type": "memory_recalled",
        "items": len(recalled.items),
        "pointers": [item.drawer.pointer for item in recalled.items],
        "receipt": receipt_so_far(recalled).number,
    }
