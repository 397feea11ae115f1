"""`langmem-tiers worker`: does the background work of a memory on servers."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import Target, target_of
from langmem_tiers.cli.terminal import print_error
from langmem_tiers.errors import InvalidInput, ServerBusy, ServerUnreachable
from langmem_tiers.telemetry.logs import say
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

log = logging.getLogger(__name__)

_FOLDER = "A memory in a folder needs no worker: each process does the work of the spaces that it uses."
# Seconds that a worker may take to finish its step: longer than any, so that the lease is given back.
_DRAINING = 600.0
# Seconds after which it looks up: a signal that comes right before it begins to wait does not end the waiting.
_LOOKING = 1.0


def worker(
    context: typer.Context,
    *,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Spaces to work on at the same time.")] = 1,
) -> None:
    """Do the background work of a memory on servers, beside any number of others, until Ctrl-C or SIGTERM."""
    with _until_stopped() as stopped, ExitStack() as last_to_first:
        memory = _opened(target_of(context), stopped, last_to_first)
        if memory is None:
            return
        if memory.backend.queue is None:
            raise InvalidInput("There is no queue of work in a folder.", way_out=_FOLDER)
        works = memory.worker(concurrency)
        at_once = counted(concurrency, "space")
        print_error(f"Working for {memory.backend.where}, {at_once} at a time. Ctrl-C ends it.")
        while not stopped.wait(_LOOKING):
            pass
        print_error("Finishing the current step.")
        works.stop(_DRAINING)


def _opened(target: Target, stopped: threading.Event, last_to_first: ExitStack) -> Memory | None:
    """The memory, once its databases answer; None if it is stopped before."""
    from langmem_tiers.background.leasing import backoff

    failures = 0
    while not stopped.is_set():
        try:
            return last_to_first.enter_context(target.existing_memory())
        except (ServerUnreachable, ServerBusy) as error:
            say(log, logging.WARNING, "no_work_from_server", error=error, reason=error)
        stopped.wait(backoff(failures))
        failures += 1
    return None


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set during the block; a second one ends the process as usual."""
    stopped = threading.Event()
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, before[signal.Signals(number)])
        stopped.set()

    for each in before:
        signal.signal(each, stop)
    try:
        yield stopped
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
