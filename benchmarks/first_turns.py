"""First turns: small talk and general requests get no block, and what needs something known gets it.

`judged/first_turns.tsv` has what an invented user told (`says` is the session), 60 messages that need nothing of it,
and 20 that need something (`says` has strings, of which the block must have one). Each opens a session of its own.
The 60 are also asked at the end of each development story of `life_stories.py`.

With `--conversations`, the messages of `judged/general_messages.tsv` are asked in a large memory, one that
`recall_of_conversations.py --work` has made: three lists by writers who saw no rules, each with messages that need
`nothing` of the user, and with others that `needs` something although they have no "I" or "my". The rules were written
with the first two lists in view. Of the latter kind is counted which are taken for messages that anybody might write.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from life_stories import HALVES, Story, StoryClock, stories, tell
from reporting import Row, parser, report, say

from langmem_tiers import Memory, Space, Turn
from langmem_tiers.language.impersonal import is_impersonal, is_of_agent

GENERAL = Path(__file__).parent / "judged" / "general_messages.tsv"
MESSAGES = Path(__file__).parent / "judged" / "first_turns.tsv"
BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)
BETWEEN_SESSIONS = timedelta(days=60)


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of the file: what was told, or a first message with what its block has to say."""

    kind: str
    message: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The block of a first message, and its size in tokens."""

    line: Line
    block: str
    tokens: int

    @property
    def right(self) -> bool:
        """No block where nothing is needed, else one that says it."""
        if self.line.kind == "nothing":
            return not self.block
        return any(string in self.block for string in self.line.says.split("|"))


def main() -> None:
    arguments = parser(__doc__ or "", "first_turns")
    arguments.add_argument("--embedder", default="minilm", help="as of Memory.open; none searches by keyword only")
    arguments.add_argument("--stories", type=int, default=30, help="how many life stories to ask in as well")
    arguments.add_argument("--conversations", type=Path, help="ask in this memory as well")
    asked = arguments.parse_args()
    lines = read()
    answers = list(of_user(lines, asked.embedder))
    told = [story for story in stories() if story.half == HALVES[0]][: asked.stories]
    nothing = [line for line in lines if line.kind == "nothing"]
    of_stories = [answer for story in told for answer in of_story(story, nothing, asked.embedder)]
    for answer in answers + of_stories:
        if not answer.right:
            say(f"{answer.line.kind}: {answer.line.message} ({answer.tokens} tokens)")
    rows = [
        row("need nothing, one user", [answer for answer in answers if answer.line.kind == "nothing"]),
        row("need something, one user", [answer for answer in answers if answer.line.kind == "needed"]),
        *([row(f"need nothing, {len(told)} life stories", of_stories)] if told else []),
        *([] if asked.conversations is None else of_conversations(asked.conversations, nothing, asked.embedder)),
    ]
    report(f"first turns, embedder {asked.embedder}", rows, asked.out)


def read() -> Sequence[Line]:
    """The lines of the file."""
    with MESSAGES.open(encoding="utf-8", newline="") as file:
        return [Line(**each) for each in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def of_user(lines: Sequence[Line], embedder: str) -> Iterator[Answer]:
    """Tell a memory what the user told, then ask it every message."""
    say("the invented user")
    clock = StoryClock(BEGAN)
    with TemporaryDirectory() as folder, opened(folder, embedder, clock) as memory:
        space = memory.user("mirjam")
        for session in dict.fromkeys(line.says for line in lines if line.kind == "told"):
            turns = [Turn(role="user", content=each.message) for each in lines if each.says == session]
            space.track(turns, session=session)
            space.end_session(session)
            space.mine()
            space.flush()
            clock.now += BETWEEN_SESSIONS
        yield from ask(space, [line for line in lines if line.kind != "told"])


def of_story(story: Story, lines: Sequence[Line], embedder: str) -> Iterator[Answer]:
    """Tell a memory a life story, then ask it every message."""
    say(story.id)
    end = max(turn.said_at for _, turns in story.sessions for turn in turns if turn.said_at)
    clock = StoryClock(end)
    with TemporaryDirectory() as folder, opened(folder, embedder, clock) as memory:
        space = memory.user(story.id)
        tell(story, space, clock, datetime.min.replace(tzinfo=UTC), end)
        clock.now = end + BETWEEN_SESSIONS
        yield from ask(space, lines)


def of_conversations(folder: Path, nothing: Sequence[Line], embedder: str) -> Iterator[Row]:
    """Ask a large memory what needs nothing of it, and see which messages that need something it would pass over."""
    with GENERAL.open(encoding="utf-8", newline="") as file:
        lists = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    with Memory.open(folder, embedder=embedder, background=False) as memory:
        space = memory.user("alice")
        say(f"{space.stats().drawers:,} messages of conversations")
        yield row("need nothing, conversations", [*ask(space, nothing)])
        for name in dict.fromkeys(each["list"] for each in lists):
            of_list = [each for each in lists if each["list"] == name]
            said = [each["message"] for each in of_list if each["kind"] == "nothing"]
            general = [Line(kind="nothing", message=each, says="") for each in said]
            yield row(f"need nothing, conversations, list {name}", [*ask(space, general)])
            needing = [each["message"] for each in of_list if each["kind"] == "needs"]
            kept = sum(not (is_impersonal(each) or is_of_agent(each)) for each in needing)
            yield {
                "messages that": f"need something, list {name}: not passed over",
                "asked": len(needing),
                "as they should": kept,
                "%": 100 * kept / len(needing),
                "tokens": "",
            }


def opened(folder: str, embedder: str, clock: StoryClock) -> Memory:
    """A new memory."""
    return Memory.open(folder, embedder=embedder, background=False, clock=clock)


def ask(space: Space, lines: Iterable[Line]) -> Iterator[Answer]:
    """Send each message as the first of a session."""
    for line in lines:
        recalled = space.recall(line.message, session=f"first: {line.message}", keep_receipt=False)
        yield Answer(line=line, block=recalled.block, tokens=recalled.receipt.tokens)


def row(kind: str, answers: Sequence[Answer]) -> Row:
    """The figures of one kind."""
    right = sum(answer.right for answer in answers)
    return {
        "messages that": kind,
        "asked": len(answers),
        "as they should": right,
        "%": 100 * right / len(answers),
        "tokens": sum(answer.tokens for answer in answers) / len(answers),
    }


if __name__ == "__main__":
    main()
