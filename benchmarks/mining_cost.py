"""What mining and archiving ask of a model: calls and tokens for each session of the LoCoMo conversations.

The model is a script that replies to a window with up to eight facts and six entities that quote it, and to a session
with a summary of 150 words, so that replies are as long as long ones of a model are. Its tokens are estimated. Sessions
are mined once, at their end, and a second time with a pause after every few turns, which cuts the windows short.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from reporting import Row, parser, report, say

from langmem_tiers import Memory, Settings, Space, Turn
from langmem_tiers.settings import BudgetSettings, ModelSettings
from langmem_tiers.testing import FrozenClock, ScriptedChatModel
from langmem_tiers.transfer.formats import read_samples, sample_sessions
from langmem_tiers.transfer.records import ImportedSession, LineProblem

LINE = re.compile(r"^\[(\d+)\] user[^:]*: (.+)$", re.MULTILINE)
FACTS, NAMED, WORDS = 8, 6, 150
HOUR = 3600
# All of it is to be measured: nothing is cut short by the day's end.
SETTINGS = Settings(model=ModelSettings(budget=BudgetSettings(day_calls=None, day_tokens=None)))


def main() -> None:
    arguments = parser(__doc__ or "", "mining_cost")
    arguments.add_argument("--data", type=Path, required=True, help="the LoCoMo file")
    arguments.add_argument("--pauses", type=int, nargs="*", default=[4], help="a pause after so many turns")
    chosen = arguments.parse_args()
    sessions = [*read(chosen.data)]
    rows = [measure(sessions, pause) for pause in (None, *chosen.pauses)]
    report("What a model is asked for each session", rows, chosen.out)


def read(data: Path) -> Iterator[tuple[str, ImportedSession]]:
    """The sessions, each with the space it belongs to."""
    for sample in read_samples(data):
        if not isinstance(sample, LineProblem):
            for entry in sample_sessions(sample):
                if isinstance(entry, ImportedSession):
                    yield f"users/{sample.sample_id}", entry


def measure(sessions: Sequence[tuple[str, ImportedSession]], pause: int | None) -> Row:
    say("mining at the end of sessions" if pause is None else f"mining with a pause after {pause} turns")
    clock = FrozenClock(datetime(2026, 3, 2, tzinfo=UTC))
    model = ScriptedChatModel(responses=[answer])
    with (
        TemporaryDirectory() as folder,
        Memory.open(folder, embedder=None, background=False, clock=clock, settings=SETTINGS, model=model) as memory,
    ):
        for name, session in sessions:
            talk(memory.space(name), clock, session, pause)
        return told(memory, sessions, pause)


def talk(space: Space, clock: FrozenClock, session: ImportedSession, pause: int | None) -> None:
    """Hold a session, with the background at work whenever it pauses, and at its end."""
    turns = [
        Turn(role=message.role, content=message.content, message_id=message.message_id, speaker=message.speaker)
        for message in session.messages
    ]
    step = pause or len(turns)
    for start in range(0, len(turns), step):
        space.track(turns[start : start + step], session=session.session)
        clock.tick(HOUR / 6)
        space.flush()
    space.end_session(session.session)
    clock.tick(HOUR)
    space.flush()


def told(memory: Memory, sessions: Sequence[tuple[str, ImportedSession]], pause: int | None) -> Row:
    spaces = [memory.space(name) for name in memory.spaces()]
    lines = [line for space in spaces for line in space.usage(by="session")]
    turns = sum(len(session.messages) for _, session in sessions)
    given, made = sum(line.input_tokens for line in lines), sum(line.output_tokens for line in lines)
    return {
        "pause after": "the end" if pause is None else f"{pause} turns",
        "sessions": len(sessions),
        "turns": turns,
        "calls a session": sum(line.calls for line in lines) / len(sessions),
        "most": max(line.calls for line in lines),
        "tokens in a session": given / len(sessions),
        "tokens out": made / len(sessions),
        "tokens a turn": (given + made) / turns,
        "entries": sum(len(space.knowledge.search(limit=100_000)) for space in spaces),
    }


def answer(messages: Sequence[object]) -> str:
    """A long reply to a window, or to a session."""
    asked = str(getattr(messages[-1], "text", ""))
    if "Sum up" in str(getattr(messages[0], "text", "")):
        return json.dumps({"summary": " ".join(asked.split()[:WORDS]), "topics": ["one topic", "another topic"]})
    lines = [(int(number), " ".join(text.split()[:12])) for number, text in LINE.findall(asked)]
    facts = [
        {"content": f"The user said: {quote}", "kind": "fact", "quote": quote, "turn": number, "corrects": ""}
        for number, quote in lines[:FACTS]
    ]
    named = [
        {"name": quote.split()[0], "type": "thing", "quote": quote, "turn": number} for number, quote in lines[:NAMED]
    ]
    return json.dumps(
        {"topics": ["a topic"], "subject": "a subject", "facts": facts, "entities": named, "relations": []}
    )


if __name__ == "__main__":
    main()
