"""What becomes of a fault of the memory where a chain should go on without it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from langgraph.errors import GraphBubbleUp

from langmem_tiers.errors import InvalidInput, MissingUser
from langmem_tiers.graphs.node import OnError
from langmem_tiers.telemetry.logs import say

logger = logging.getLogger(__name__)


@contextmanager
def faults(step: str, on_error: OnError) -> Iterator[None]:
    """With "log" a fault ends the block and is logged, with "raise" it goes on to the caller."""
    try:
        yield
    except GraphBubbleUp:
        raise  # an interrupt is LangGraph's way to pause, no fault
    except Exception as error:
        if on_error == "raise":
            raise
        # Whatever goes wrong here, a broken disk or a custom embedder: the user gets the reply all the same.
        trace = not isinstance(error, MissingUser | InvalidInput)  # these say all there is to say
        say(logger, logging.ERROR, "memory_step_failed", step=step, error=error, reason=error, trace=trace)
