"""Backups made while several processes write, each restored and compared: rows, checksums, canary, nothing lost."""

from __future__ import annotations

import hashlib
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

from reporting import parser, report, say
from writer import SPACE

from langmem_tiers import Memory
from langmem_tiers.testing import HashEmbedder
from langmem_tiers.transfer import backup_files

WRITER = Path(__file__).with_name("writer.py")
TURNS_BETWEEN = 40
ENDINGS = ("", ".tar.gz", ".zip", ".tar")
NO_RECORDS = "sqlite_%"


def main() -> int:
    arguments = parser(__doc__ or "", "backup_restore")
    arguments.add_argument("--restores", type=int, default=50)
    arguments.add_argument("--writers", type=int, default=4, help="processes that write meanwhile")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    with TemporaryDirectory(dir=chosen.work) as folder:
        row = drill(Path(folder), chosen.restores, chosen.writers)
    report(f"{chosen.restores} backups made while {chosen.writers} processes write, restored", [row], chosen.out)
    return int(bool(row["lost"] or row["other rows"] or row["without canary"] or row["problems"]))


def drill(folder: Path, restores: int, writers: int) -> dict[str, float | int | str]:
    """Back up and restore again and again, and compare."""
    with Memory.open(folder / "memory", embedder=HashEmbedder()) as memory:
        memory.space(SPACE).stats()
        writing = Writing(folder / "memory", writers)
        lost = other = no_canary = problems = rows = 0
        backing, restoring = 0.0, 0.0
        try:
            for place in range(restores):
                copy = folder / f"copy{place}{ENDINGS[place % len(ENDINGS)]}"
                before = writing.wait_for_more()
                started = perf_counter()
                made = memory.backup(copy)
                backing += perf_counter() - started
                writing.pause()
                started = perf_counter()
                Memory.restore(copy, folder / "back")
                restoring += perf_counter() - started
                wanted, canary = unpacked(copy, folder / "unpacked")
                no_canary += not canary
                other += digests(folder / "back") != wanted
                lost += len(before - ids(folder / "back"))
                problems += found_by_doctor(folder / "back") if place % 10 == 0 else 0
                rows = sum(made.rows.values())
                subprocess.run(["rm", "-rf", copy, folder / "back", folder / "unpacked"], check=True)
                say(f"{place + 1} of {restores}: {rows:,} rows, {len(before):,} acknowledged before")
                writing.go_on()
        finally:
            acknowledged = len(writing.stop())
    return {
        "restores": restores,
        "acknowledged": acknowledged,
        "rows in the last": rows,
        "lost": lost,
        "other rows": other,
        "without canary": no_canary,
        "problems": problems,
        "backup ms": 1000 * backing / restores,
        "restore ms": 1000 * restoring / restores,
    }


class Writing:
    """Processes that write, and which of their turns were acknowledged so far."""

    def __init__(self, folder: Path, writers: int) -> None:
        self._running = [
            subprocess.Popen(
                [sys.executable, str(WRITER), str(folder), "--name", f"w{number}"], stdout=subprocess.PIPE, text=True
            )
            for number in range(writers)
        ]
        self._known: set[str] = set()
        self._waited = 0
        self._lock = threading.Lock()
        self._readers = [threading.Thread(target=self._read, args=(each,)) for each in self._running]
        for reader in self._readers:
            reader.start()

    def acknowledged(self) -> set[str]:
        """The ids of the turns."""
        with self._lock:
            return set(self._known)

    def wait_for_more(self) -> set[str]:
        """Wait until some more turns are acknowledged; the ids of all."""
        while (len(self.acknowledged()) - self._waited) < TURNS_BETWEEN:
            sleep(0.01)
        self._waited = len(self.acknowledged())
        return self.acknowledged()

    def pause(self) -> None:
        """Let the processes wait: they are to write during backups, not to fill the disk during comparisons."""
        for each in self._running:
            each.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let the processes write again, until every one has been heard of."""
        for each in self._running:
            each.send_signal(signal.SIGCONT)

    def stop(self) -> set[str]:
        """Kill the processes; the ids of the turns."""
        for each in self._running:
            each.kill()
        for each, reader in zip(self._running, self._readers, strict=True):
            each.wait()
            reader.join()
        return self.acknowledged()

    def _read(self, writer: subprocess.Popen[str]) -> None:
        assert writer.stdout is not None
        for line in writer.stdout:
            if line.endswith("\n") and not line.startswith(("ready", "error")):
                with self._lock:
                    self._known.update(line.split())


def unpacked(copy: Path, folder: Path) -> tuple[dict[str, str], bool]:
    """The digests of a backup by table, without the canary, and whether that was in it."""
    manifest = backup_files.read_manifest(copy)
    backup_files.unpack(copy, manifest, folder)
    [space] = manifest.spaces
    with closing(sqlite3.connect(folder / "spaces" / space.folder / "memory.db")) as opened:
        gone = opened.execute("DELETE FROM facts WHERE name = ?", (f"canary:{space.canary}",)).rowcount
        opened.commit()
    return digests(folder), gone == 1


def digests(memory: Path) -> dict[str, str]:
    """A checksum of all rows of each table of the only space."""
    [file] = memory.glob("spaces/*/memory.db")
    with closing(sqlite3.connect(file)) as opened:
        named = opened.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE ?", (NO_RECORDS,))
        made = {}
        for (name,) in named.fetchall():
            told = hashlib.blake2b()
            for row in opened.execute(f'SELECT * FROM "{name}"'):
                told.update(repr(row).encode())
            made[name] = told.hexdigest()
    return made


def ids(memory: Path) -> set[str]:
    """The ids of all messages in the only space."""
    [file] = memory.glob("spaces/*/memory.db")
    with closing(sqlite3.connect(file)) as opened:
        return {name for (name,) in opened.execute("SELECT message_id FROM turns")}


def found_by_doctor(folder: Path) -> int:
    """How many problems the doctor finds once the restored memory has caught up."""
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        memory.flush()
        return sum(each.level == "problem" for each in memory.space(SPACE).doctor())


if __name__ == "__main__":
    sys.exit(main())
