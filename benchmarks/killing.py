"""What the tests that kill a writing process again and again share: starting it, killing it, and counting."""

from __future__ import annotations

import random
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import ClassVar

from reporting import Row, parser, report, say

# Of the writers that die before they are ready, and when: mostly while they open the memory.
_EARLY = 0.2
_EARLY_SECONDS = (0.2, 1.2)


@dataclass
class KillTest(ABC):
    """All rounds, in one folder, and what they came to."""

    kills: int = 0
    before_ready: int = 0
    refused: int = 0
    lost: int = 0
    altered: int = 0
    problems: list[str] = field(default_factory=list)
    slowest_open: float = 0.0

    name: ClassVar[str]
    writer: ClassVar[str]
    """The script that writes. It says `ready`, then a line for what is acknowledged, or `error` and why."""
    writes: ClassVar[str]
    rounds: ClassVar[int]

    @property
    @abstractmethod
    def acknowledged(self) -> Collection[str]:
        """What was acknowledged so far."""

    @abstractmethod
    def acknowledge(self, line: str) -> None:
        """Remember what a line of the writer says was written."""

    @abstractmethod
    def examine(self, folder: str) -> None:
        """Open the memory and compare it with what was acknowledged."""

    def figures(self) -> Row:
        """What else is told."""
        return {}

    @property
    def failures(self) -> int:
        """How much is not as it must be."""
        return self.lost + self.altered + self.refused + len(self.problems)

    def main(self, description: str) -> int:
        """Run as a script; the exit code."""
        arguments = parser(description, self.name)
        arguments.add_argument("--kills", type=int, default=self.rounds)
        arguments.add_argument("--longest", type=float, default=1.0, help="seconds a writer lives at most once ready")
        arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
        chosen = arguments.parse_args()
        rng = random.Random(chosen.seed)
        with TemporaryDirectory(dir=chosen.work) as folder:
            for number in range(chosen.kills):
                self._write_and_die(folder, f"w{number}", rng, chosen.longest)
                self.examine(folder)
                say(f"kill {number + 1}: {len(self.acknowledged):,} acknowledged, {self.failures} failures so far")
        report(f"{chosen.kills} times kill -9 of a process that {self.writes}", [self._row()], chosen.out)
        return min(self.failures, 1)

    def _write_and_die(self, folder: str, name: str, rng: random.Random, longest: float) -> None:
        """One writer from start to kill; one in five dies early."""
        command = [sys.executable, str(Path(__file__).with_name(self.writer)), folder, "--name", name]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        early, ready = rng.random() < _EARLY, False
        if early:
            Timer(rng.uniform(*_EARLY_SECONDS), writer.kill).start()
        for line in writer.stdout:
            if line == "ready\n":
                ready = True
                if not early:
                    Timer(rng.uniform(0, longest), writer.kill).start()
            else:
                self._heard(line)
        writer.wait()
        writer.stdout.close()
        self.kills += writer.returncode == -9
        self.before_ready += not ready

    def _heard(self, line: str) -> None:
        if line.startswith("error"):
            self.refused += 1
            say(line.strip())
        elif line.endswith("\n"):  # else it was cut off in the pipe, and so not acknowledged
            self.acknowledge(line.rstrip("\n"))

    def _row(self) -> Row:
        return {
            "kills": self.kills,
            "while opening": self.before_ready,
            "acknowledged": len(self.acknowledged),
            "lost": self.lost,
            "altered": self.altered,
            **self.figures(),
            "errors": self.refused,
            "problems found": "; ".join(self.problems) or "none",
            "slowest reopening s": self.slowest_open,
        }
