"""Ctrl-C to a command in a process of its own, once it has stored something."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from time import monotonic, sleep

_CODE = "from langmem_tiers.cli.main import main; main()"


def interrupted(*arguments, memory, table, rows, environment, seconds=120):
    """Runs `langmem-tiers` until a table has more than so many rows; gives its exit code and errors."""
    command = [sys.executable, "-c", _CODE, "--path", str(memory), *map(str, arguments)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        until = monotonic() + seconds
        while _count(memory, table) <= rows:
            assert monotonic() < until
            sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=seconds)
    return process.returncode, err


def _count(memory, table):
    database = next(memory.glob("spaces/*/memory.db"), None)
    if database is None:
        return 0
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection, suppress(sqlite3.Error):
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return 0
