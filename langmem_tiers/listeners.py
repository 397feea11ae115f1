"""Calling the listeners for what the memory did on its own, once it is stored."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from langmem_tiers.records import Activity, Listener
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)


def notify(listeners: Iterable[Listener], activity: Activity) -> None:
    """Call each listener; one that fails affects neither the others nor the memory."""
    for listener in tuple(listeners):
        try:
            listener(activity)
        except BaseException as error:
            # Foreign code: what is stored stays stored, and the work goes on. Ctrl-C, which arrives in the main thread,
            # is not the listener's failure.
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise
            say(log, logging.WARNING, "activity_listener_failed", kind=activity.kind, error=error, trace=True)
