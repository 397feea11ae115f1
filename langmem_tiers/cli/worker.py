"""`langmem-tiers worker`: does the background work of a memory on servers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from langmem_tiers.cli.target import target_of
from langmem_tiers.cli.terminal import print_error
from langmem_tiers.errors import InvalidInput
from langmem_tiers.wording import counted

_FOLDER = "A memory in a folder needs no worker: each process does the work of the spaces that it uses."
# Seconds that a worker may take to finish its step: longer than any, so that the lease is given back.
_DRAINING = 600.0


def worker(
    context: typer.Context,
    *,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Spaces to work on at the same time.")] = 1,
) -> None:
    """Do the background work of a memory on servers, beside any number of others, until Ctrl-C or SIGTERM."""
    target = target_of(context)
    with target.existing_memory() as memory:
        if memory.backend.queue is None:
            raise InvalidInput("There is no queue of work in a folder.", way_out=_FOLDER)
        with _until_stopped() as stopped:
            works = memory.worker(concurrency)
            at_once = counted(concurrency, "space")
            print_error(f"Working for {memory.backend.where}, {at_once} at a time. Ctrl-C ends it.")
            stopped.wait()
            print_error("Finishing the current step.")
            works.stop(_DRAINING)


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
