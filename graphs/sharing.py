"""Which messages of a thread were said in runs of this user: a thread may go from one to another."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langmem_tiers.graphs.identity import Scope
from langmem_tiers.graphs.messages import last_human
from langmem_tiers.graphs.state import ASKED, OTHERS_UNTIL, OWNER


def marks(
    scope: Scope, owner: str | None, messages: Sequence[BaseMessage], remembered: Mapping[str, Any]
) -> dict[str, str]:
    """What `memory_scope` keeps of this run besides the scope: whose it is, what was asked, and where it begins."""
    asked = last_human(messages)
    kept = {
        OWNER: None if owner == scope.space else owner,
        ASKED: None if asked is None else asked.id,
        OTHERS_UNTIL: _others_until(scope, owner, messages, remembered),
    }
    return {key: value for key, value in kept.items() if value is not None}


def own_messages(messages: Sequence[BaseMessage], others_until: str | None) -> Sequence[BaseMessage]:
    """The messages that came after the others' last one."""
    place = next((place for place, message in enumerate(messages) if message.id == others_until), -1)
    return messages[place + 1 :]


def _others_until(
    scope: Scope, owner: str | None, messages: Sequence[BaseMessage], remembered: Mapping[str, Any]
) -> str | None:
    if not remembered:
        return None
    ours = _is_ours(scope, owner, remembered)
    known = remembered.get(OTHERS_UNTIL)
    if ours and (known is None or any(message.id == known for message in messages)):
        return known
    # The first run of this user here, or the message at the border has gone: only what is asked now is theirs for sure.
    asked = last_human(messages)
    if asked is None or (not ours and asked.id == remembered.get(ASKED)):
        return messages[-1].id if messages else None
    place = next(place for place, message in enumerate(messages) if message is asked)
    return messages[place - 1].id if place else None


def _is_ours(scope: Scope, owner: str | None, remembered: Mapping[str, Any]) -> bool:
    """Whether the run before was of the same user; where neither names one, of the same space."""
    if owner is None:
        return bool(remembered.get("space") == scope.space)
    return bool((remembered.get(OWNER) or remembered.get("space")) == owner)
