"""A conversation of three sessions, weeks apart; in a fourth, what is remembered of it.

    make demo
    python examples/demo.py --svg docs/images/demo.svg

The second command also draws the sessions and the last two questions into a file. No language model and no network are
needed: `OfflineResponder` stands in for a model, a clock that is set to each session's date for the weeks.
The memory is left in .demo, to look around in.
"""

import argparse
import logging
import os
import re
import shutil
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from langmem_tiers import Memory
from langmem_tiers.graphs import AgentGraph, converse, memory_agent
from langmem_tiers.integrations import OfflineResponder

FOLDER = Path(".demo")
USER = "mara"
PANEL: dict[str, Any] = {"title_align": "left", "border_style": "dim", "padding": (0, 1)}


@dataclass(frozen=True)
class Talk:
    """One session: its name, when it began, and what the user said."""

    name: str
    at: datetime
    lines: tuple[str, ...]


SESSIONS = (
    Talk(
        "first-evening",
        datetime(2026, 3, 2, 20, 15, tzinfo=UTC),
        (
            "Hi! I am Mara. I teach chemistry at a school in Ghent, and I live there with my partner Tobias.",
            "Our daughter Ines turns seven on the 14th of May, so I am collecting ideas for her birthday party.",
            "In the evenings I build a weather station for our roof. I call the project Swift.",
        ),
    ),
    Talk(
        "sensors",
        datetime(2026, 3, 24, 21, 5, tzinfo=UTC),
        (
            "The weather station has its first sensor: a BME280 for temperature, humidity and pressure.",
            "Please write answers short, without bullet points. I prefer to read them like a letter.",
            "It was Tobias's idea that Swift reports by LoRa radio, because the Wi-Fi does not reach our roof.",
        ),
    ),
    Talk(
        "corrections",
        datetime(2026, 4, 17, 19, 40, tzinfo=UTC),
        (
            "A correction: the birthday party of Ines is on Saturday the 16th of May, the 14th is a school day.",
            "I replaced the sensor of the weather station with an SHT45, the humidity was off by six percent.",
            "Lena from work gave me her old anemometer for Swift.",
        ),
    ),
)
QUESTIONS = Talk(
    "weeks-later",
    datetime(2026, 5, 8, 20, 30, tzinfo=UTC),
    (
        "When is the birthday party of Ines?",
        "Which sensor is in my weather station now?",
        "How do I prefer answers to be written?",
        "Why does Swift report by radio, and whose idea was that?",
        "Which football club do I support?",
    ),
)
# The three questions before them have long blocks, and a picture should be seen at a glance.
PICTURED = QUESTIONS.lines[-2:]


def main() -> None:
    picture = options().svg
    console = Console(markup=False, emoji=False, highlight=False, width=96 if picture else None, record=bool(picture))
    logging.getLogger("langmem_tiers").addHandler(logging.StreamHandler())
    shutil.rmtree(FOLDER, ignore_errors=True)
    today = SESSIONS[0].at
    with Memory.open(FOLDER, clock=lambda: today) as memory:
        agent = memory_agent(OfflineResponder(), memory)
        for talk in SESSIONS:
            today = talk.at
            play(console, agent, talk)
        memory.flush()
        today = QUESTIONS.at
        ask(console, agent, QUESTIONS)
        memory.flush()
        if picture:
            picture.write_text(drawn(console), encoding="utf-8")
        # Not wrapped: the commands are there to be copied.
        console.print(closing(memory), soft_wrap=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A conversation of four sessions, and what is remembered of it.")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also write a picture of it to FILE")
    return parser.parse_args()


def play(console: Console, agent: AgentGraph, talk: Talk) -> None:
    """Say the lines of a session. The responder's answers are left out here: it only quotes."""
    console.print(title(talk))
    for line in talk.lines:
        converse(agent, line, user_id=USER, thread_id=talk.name)
        console.print(said(line))


def ask(console: Console, agent: AgentGraph, talk: Talk) -> None:
    """Ask each question in the last session, and show the block that a model would be given for it."""
    console.print(title(talk))
    recording = console.record
    for question in talk.lines:
        console.record = recording and question in PICTURED
        _, block = converse(agent, question, user_id=USER, thread_id=talk.name)
        console.print(said(question))
        console.print(recalled(block))


def drawn(console: Console) -> str:
    """What the console recorded, as SVG, without the font that rich would fetch from a server."""
    picture = console.export_svg(title="make demo")
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    return picture.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


def title(talk: Talk) -> Rule:
    return Rule(Text(f"{talk.at:%A, %-d %B %Y}  ·  session {talk.name}", style="bold"), align="left")


def said(line: str) -> Table:
    """A line of the user's, hanging beside her name."""
    grid = Table.grid(padding=(0, 2))
    grid.add_row(Text("Mara", style="bold cyan"), line)
    return grid


def recalled(block: str) -> Panel:
    if not block:
        return Panel("Nothing comes close, so no block is put before the model.", title="not recalled", **PANEL)
    return Panel(block, title="recalled: what a model is given with this question", **PANEL)


def closing(memory: Memory) -> Text:
    stats = memory.user(USER).stats()
    kept = f"{stats.drawers} messages of {stats.sessions} sessions are in {FOLDER}/"
    how = f"by keywords and by meaning ({stats.embedding_model})" if stats.vectors else "by keywords only"
    command = os.path.relpath(Path(sys.executable).with_name("langmem-tiers"))
    tries = ("palace", 'recall "weather station" --explain', "chat --show", "stats")
    lines = "\n".join(f"  {command} --path {FOLDER} --user {USER} {one}" for one in tries)
    return Text(f"\n{kept}, recalled {how}.\n\nTry next:\n{lines}")


if __name__ == "__main__":
    main()
