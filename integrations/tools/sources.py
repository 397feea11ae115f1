"""What a memory that a model saves rests on: the message in which the user said it, or the result of a tool."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from langmem_tiers.graphs.messages import is_synthetic, last_human
from langmem_tiers.graphs.track import turn_of
from langmem_tiers.integrations.tools.base import OPENING, Call
from langmem_tiers.knowledge.decide import SUPPORT, support
from langmem_tiers.storage import drawers
from langmem_tiers.types import Origin

Message = TypeVar("Message", bound=BaseMessage)


class Source(NamedTuple):
    """Who says it, the drawers that it rests on, and where it was said, for its metadata."""

    origin: Origin
    evidence: tuple[int, ...]
    metadata: dict[str, Any]


def source_of(call: Call, content: str) -> Source:
    """What a statement of the model rests on.

    That is the user's message that says most of it, by default the one that is being answered; or a tool's result
    since then, if that says more of it. What a tool brought in has the origin `tool` and no evidence, since such
    results are not stored: `tool` in the metadata names it.
    """
    asked = last_human(call.messages)
    said, read = _closest_of_both(call, content)
    where = {"session": call.scope.session}
    if read is not None:
        return Source("tool", (), _present({**where, "message_id": read.id, "tool": read.name}))
    if said is not None and said is not asked and (stored := _stored(call, call.scope.session, said)):
        return Source("assistant", stored, _present({**where, "message_id": said.id}))
    return Source("assistant", _answered(call, asked), _present({**where, "message_id": asked and asked.id}))


def origin_of(call: Call, content: str) -> Origin:
    """Whether a text of the model says what a tool has brought in since the user spoke, or something else."""
    return "assistant" if _closest_of_both(call, content)[1] is None else "tool"


def _closest_of_both(call: Call, content: str) -> tuple[HumanMessage | None, ToolMessage | None]:
    """The user's message that says most of a statement, and the result of a tool, if that says more of it."""
    humans = [each for each in call.messages if isinstance(each, HumanMessage) and not is_synthetic(each)]
    said, read = _closest(humans, content), _closest(_results(call.messages), content)
    if read is not None and said is not None and _share(read, content) <= _share(said, content):
        read = None
    return said, read


def _results(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    """What tools answered since the user spoke, except for those of the memory."""
    asked = last_human(messages)
    since = 0 if asked is None else messages.index(asked) + 1
    return [each for each in messages[since:] if isinstance(each, ToolMessage) and OPENING not in str(each.text)]


def _closest(messages: Sequence[Message], content: str) -> Message | None:
    """The message that says most of a statement, the latest of equals; None if none says enough of it."""
    best = max(reversed(messages), key=lambda each: _share(each, content), default=None)
    return best if best is not None and _share(best, content) >= SUPPORT else None


def _share(message: BaseMessage, content: str) -> float:
    return support([str(message.text)], content)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _answered(call: Call, asked: HumanMessage | None) -> tuple[int, ...]:
    """The drawer of the message that the model answers, nothing where there is no message or it cannot be stored.

    Tools run before a track node does. So that nothing is known without its evidence, the message is stored here if
    it is not yet; tracking it again stores nothing twice.
    """
    if asked is None:
        return ()
    report = call.space.track([turn_of(asked)], **call.scope.of_turns())
    return report.stored or report.revised or _stored(call, report.session, asked)


def _stored(call: Call, session: str | None, message: BaseMessage) -> tuple[int, ...]:
    """The drawer that holds a message of this space as it stands."""
    if session is None:
        return ()
    with call.space.context.open() as store, store.reading() as connection:
        numbers = drawers.of_messages(connection, store.key, session, [str(message.id)])
        found = drawers.read(connection, store.key, numbers)
    return tuple(number for number, drawer in found.items() if drawer.status == "active")
