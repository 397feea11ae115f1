"""What a memory that is saved in a conversation rests on: the user's message, kept with it."""

from typing import Any

from langmem_tiers.graphs.messages import last_human
from langmem_tiers.graphs.track import turn_of
from langmem_tiers.integrations.tools.calls import Call
from langmem_tiers.storage import drawers


def of_call(call: Call) -> tuple[int, ...]:
    """The drawer of the message that the model answers, nothing where there is no message or it can not be stored.

    Tools run before a track node does. So that nothing is known without its evidence, the message is stored here if
    it is not yet; tracking it again stores nothing twice.
    """
    asked = last_human(call.messages)
    if asked is None:
        return ()
    scope = call.scope
    report = call.space.track([turn_of(asked)], session=scope.session, project=scope.project, agent=scope.agent)
    return report.stored or report.revised or _known(call, report.session, str(asked.id))


def said_in(call: Call) -> dict[str, Any]:
    """Where a memory was saved, for its metadata."""
    asked = last_human(call.messages)
    named = {"session": call.scope.session, "message_id": None if asked is None else asked.id}
    return {key: value for key, value in named.items() if value is not None}


def _known(call: Call, session: str, message_id: str) -> tuple[int, ...]:
    """The drawer that holds the message as it stands."""
    with call.space.memory.use(call.space.name) as store, store.reading() as connection:
        numbers = drawers.of_messages(connection, store.key, session, [message_id])
        found = drawers.read(connection, store.key, numbers)
    return tuple(number for number, drawer in found.items() if drawer.status == "active")
