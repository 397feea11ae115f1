"""The cite node: after the model, check what its reply cites."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NotRequired, get_args

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langmem_tiers import arguments
from langmem_tiers.citations import check_citations
from langmem_tiers.citations.types import Markup, Style
from langmem_tiers.graphs.identity import SpaceChoice
from langmem_tiers.graphs.messages import is_synthetic
from langmem_tiers.graphs.node import MemoryNode, NodeOutcome, OnError, reading
from langmem_tiers.graphs.state import MemoryState
from langmem_tiers.graphs.visit import Visit

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

CITATIONS = "memory_citations"


class CitedState(MemoryState):
    """`MemoryState` with what the cite node found in the last reply."""

    memory_citations: NotRequired[dict[str, Any]]


class CiteNode(MemoryNode):
    """Writes `memory_citations`: what the last reply cites, and the reply with that in words."""

    step = "cite"
    _door = "cite_node(memory, space='users/alice')"

    def __init__(self, memory: "Memory", *, style: Style, markup: Markup, **options: Any) -> None:
        super().__init__(memory, **options)
        self._style: Style = arguments.one_of(style, "style", get_args(Style))
        self._markup: Markup = arguments.one_of(markup, "markup", get_args(Markup))

    def _work(self, visit: Visit) -> NodeOutcome:
        reply = _last_reply(visit.messages)
        if reply is None:
            return NodeOutcome(update={CITATIONS: {}})
        seen = [str(each.text) for each in visit.messages if isinstance(each, ToolMessage)]
        seen += [*visit.blocks.values(), *filter(None, (visit.profile,))]
        checked = check_citations(visit.space, reply, session=visit.scope.session, seen=seen)
        told = {
            "ok": checked.ok,
            "found": [each.ref for each in checked.found],
            "not_shown": [each.ref for each in checked.not_shown],
            "unknown": [each.ref for each in checked.unknown],
        }
        text = checked.render(self._style, markup=self._markup)
        return NodeOutcome(
            update={CITATIONS: {"message": reply.id, **told, "text": text}},
            event={"type": "memory_cited", "message": reply.id, **told},
        )


def cite_node(
    memory: "Memory",
    *,
    name: str = "cite",
    style: Style = "notes",
    markup: Markup = "markdown",
    space: SpaceChoice | None = None,
    fallbacks: Sequence[str] | None = None,
    on_error: OnError = "log",
    messages_key: str = "messages",
    agent: str | None = None,
) -> CiteNode:
    """A node that checks what the model's last reply cites: put it after the model.

    It leaves the messages alone and writes one key of its own, which `CitedState` declares: `memory_citations`, with
    the id of the message, whether it is `ok`, the references `found`, `not_shown` and `unknown`, and `text`, the reply
    with these in words. What the session's blocks and the tools of the thread showed counts as shown. On the custom
    stream it says the same, without the text: `{"type": "memory_cited", "ok": true, "found": […], …}`.

    Args:
        memory: the open memory.
        name: the node's name in the graph.
        style: "notes" or "inline"; see `Citations.render`.
        markup: "markdown" or "text".
        space: a space, or a function of config and runtime that names one; by default the user's own.
        fallbacks: further spaces that may be cited, as the recall node has; by default those of the settings.
        on_error: "log" goes on when the memory fails, "raise" ends the run.
        messages_key: where the host's state keeps its messages.
        agent: whose settings are in force; by default the agent that the run names, if it names one.

    Raises:
        InvalidInput: an argument is of another type, or none of the words there are.

    Example:
        >>> builder.add_sequence([recall_node(memory), answer, track_node(memory), cite_node(memory)])  # doctest: +SKIP
    """
    kind = reading(messages_key, CiteNode, {CITATIONS: dict[str, Any]})
    options: dict[str, Any] = {"space": space, "fallbacks": fallbacks, "agent": agent, "on_error": on_error}
    return kind(memory, name=name, style=style, markup=markup, messages_key=messages_key, **options)


def _last_reply(messages: Sequence[BaseMessage]) -> AIMessage | None:
    """The reply that the conversation ends with, also one that an offline responder made."""
    last = messages[-1] if messages else None
    if not isinstance(last, AIMessage) or last.tool_calls:
        return None
    offline = last.additional_kwargs.get("lc_source") == "offline_responder"
    return last if offline or not is_synthetic(last) else None
