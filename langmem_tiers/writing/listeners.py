"""Telling those who listen what the memory did by itself, once it is stored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from langmem_tiers.knowledge.types import Activity
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

Listener = Callable[[Activity], None]
"""Called with each activity, in the thread that did the work."""


def tell(listeners: Iterable[Listener], activity: Activity) -> None:
    """Call each listener; one that fails keeps neither the others nor the memory from theirs."""
    for listener in listeners:
        try:
            listener(activity)
        except Exception as error:  # noqa: BLE001 - it is logged
            # Somebody else's code: what is stored is stored, and the work at hand goes on.
            say(log, logging.WARNING, "activity_listener_failed", kind=activity.kind, error=error, trace=True)
