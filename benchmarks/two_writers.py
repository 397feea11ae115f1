"""Several processes write into one space at the same time: no error, nothing lost, everything found by its words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from reporting import parser, report, say
from writer import SPACE, unique_word

from langmem_tiers import Memory
from langmem_tiers.testing import HashEmbedder

WRITER = Path(__file__).with_name("writer.py")


def main() -> int:
    arguments = parser(__doc__ or "", "two_writers")
    arguments.add_argument("--writers", type=int, default=2)
    arguments.add_argument("--turns", type=int, default=1_000, help="of each writer")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    with TemporaryDirectory(dir=chosen.work) as folder:
        started = perf_counter()
        lines = written(folder, chosen.writers, chosen.turns)
        seconds = perf_counter() - started
        errors = [line for line in lines if line.startswith("error")]
        for error in errors[:5]:
            say(error)
        acknowledged = {name for line in lines if line != "ready" and line not in errors for name in line.split()}
        lost, unfound, problems = compared(folder, acknowledged)
    row = {
        "writers": chosen.writers,
        "acknowledged": len(acknowledged),
        "expected": chosen.writers * chosen.turns,
        "errors": len(errors),
        "lost": lost,
        "not found by search": unfound,
        "problems found": "; ".join(problems) or "none",
        "seconds": seconds,
    }
    report(f"{chosen.writers} processes write into one space", [row], chosen.out)
    return int(bool(errors or lost or unfound or problems or len(acknowledged) != chosen.writers * chosen.turns))


def written(folder: str, writers: int, turns: int) -> list[str]:
    """What all writers said, once they are done."""
    running = [
        subprocess.Popen(
            [sys.executable, str(WRITER), folder, "--name", f"w{number}", "--turns", str(turns)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(writers)
    ]
    lines = []
    for writer in running:
        told, _ = writer.communicate()
        lines += told.splitlines()
        if writer.returncode:
            lines.append(f"error the writer ended with code {writer.returncode}")
    return lines


def compared(folder: str, acknowledged: set[str]) -> tuple[int, int, list[str]]:
    """Acknowledged turns that are missing, those that search does not find, and what the doctor complains about."""
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        space = memory.space(SPACE)
        space.flush()
        numbers = {drawer.message_id: drawer.number for drawer in space.drawers()}
        unfound = 0
        for name in acknowledged & numbers.keys():
            query = f"What was said about {unique_word(name)} please?"
            recalled = space.recall(query, threshold=0, keep_receipt=False)
            unfound += numbers[name] not in {candidate.drawer for candidate in recalled.receipt.candidates}
        problems = [finding.message for finding in space.doctor() if finding.level == "problem"]
        stats = space.stats()
        if stats.pending or stats.vectors != stats.chunks:
            problems.append(f"{stats.vectors} vectors for {stats.chunks} chunks")
    return len(acknowledged - numbers.keys()), unfound, problems


if __name__ == "__main__":
    sys.exit(main())
