"""Processor time of processes on Linux, which tells more than the clock does where others use the machine, too."""

from __future__ import annotations

import os
from pathlib import Path


def processor_seconds(process: int) -> float:
    """Seconds that a process took so far, with all that it started; 0 if it is gone."""
    try:
        while True:
            _, ended = _ticks(process)
            children = [
                int(child)
                for thread in Path(f"/proc/{process}/task").glob("*/children")
                for child in thread.read_text(encoding="utf-8").split()
            ]
            running = sum(map(processor_seconds, children))
            own, ended_since = _ticks(process)
            if ended_since == ended:  # else one of the children may be in both, or in neither
                return running + (own + ended) / os.sysconf("SC_CLK_TCK")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def _ticks(process: int) -> tuple[int, int]:
    """What it took itself, and what its children took that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    user, system, of_ended, system_of_ended = map(int, fields[11:15])
    return user + system, of_ended + system_of_ended
