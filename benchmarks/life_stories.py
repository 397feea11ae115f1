"""Life stories: is what recall shows still true? 60 invented users, whose jobs, homes, partners and plans change.

`judged/life_stories.jsonl` has one story a line: five to nine conversations over months, with five questions, asked at
stated moments. A story is told to a fresh memory up to the moment of each question. Then the block that is recalled for
the question is judged:

- Shown: each group of `current` has a string that is in the block.
- Outdated as current: a line of the block says what was no longer true at that moment, or never became true, as if it
  were: a sentence of the line has a string of `outdated`, and neither this sentence nor any brackets of the line have a
  word for an end (`ENDS`). Of what the memory wrote itself (entry, relation, summary, document, profile), each such
  line is an error, unless it has a string of `current` as well. A quoted message is an error only if nowhere in the
  block there is a string of `current`, or another line that says that the outdated one is over: an old message beside
  a newer one misleads nobody, since both are dated.

Strings are compared regardless of case, from the beginning of a word on; those of up to three letters to its end too.

Rules are written with the development half in view only, so `--show` is for that half. With `--model` the replies of
`judged/life_stories_replies.jsonl` stand in for a chat model: what a reader who was given the prompts for mining and
summaries wrote for each part of the conversations of the held-out half, without knowing the questions.
"""

from __future__ import annotations

import argparse
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import BaseMessage
from reporting import Row, report, say

from langmem_tiers import Memory, Space, Turn
from langmem_tiers.testing import ScriptedChatModel

STORIES = Path(__file__).parent / "judged" / "life_stories.jsonl"
REPLIES = Path(__file__).parent / "judged" / "life_stories_replies.jsonl"
HALVES = ("development", "held_out")
SHORT = 3

ENDS = re.compile(
    r"\b(?:no longer|not any ?more|not so|until|used to|former(?:ly)?|previous(?:ly)?|was|were|had|lived|worked|ended"
    r"|left|quit|resigned|retired|moved (?:away |out |back )?(?:from|out)|sold|lost|died|stopped|dropped|closed"
    r"|cancell?ed|broke up|split up|g[ai]ven? up|fell through|(?:do|does|did|is|are)(?: not|n't)|never)\b|\(but\b",
    re.IGNORECASE,
)
BRACKETS = re.compile(r"\[[^\]]*\]|\([^)]*\)")
NUMBER = re.compile(r"^\[\d+\] ", re.MULTILINE)
LABEL = re.compile(r"^[-*\s]*(\[[^\]]*\])")
SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?!\()")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked and when, what has to be shown, and what must not be said as if it were so."""

    id: str
    asked_at: datetime
    ask: str
    kind: str
    current: Sequence[Sequence[str]]
    outdated: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Whether the block shows what is so, and its first line that says what is not, or an empty text."""

    shown: bool
    outdated: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The block recalled for a question, and how it was judged."""

    question: Question
    block: str
    judgement: Judgement


@dataclass(frozen=True, kw_only=True)
class Story:
    """An invented user: what was said in which session, and the questions in order of time."""

    id: str
    half: str
    sessions: Sequence[tuple[str, Sequence[Turn]]]
    questions: Sequence[Question]


class Reader(ScriptedChatModel):
    """A model that replies what a reader wrote for each part of a conversation; it cannot be given a schema."""

    def with_structured_output(self, schema: Any, **_: Any) -> Any:  # noqa: D102
        raise NotImplementedError


class StoryClock:
    """The memory's clock: it shows the moment of the story."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The moment set last."""
        return self.now


def main() -> None:
    asked = arguments()
    model = reader() if asked.model else None
    answers = [*answered((story for story in stories() if story.half == asked.half), asked.embedder, model)]
    if asked.show == "wrong":
        show_wrong(answers)
    by = "a model's replies" if model else "no model"
    report(f"life stories, {asked.half}, embedder {asked.embedder}, {by}", table(answers), asked.json)


def arguments() -> argparse.Namespace:
    """The arguments of the command line, checked."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--half", choices=HALVES, default=HALVES[0])
    made.add_argument("--show", choices=["wrong"], help="print the questions answered wrongly, with their blocks")
    made.add_argument("--embedder", default="minilm", help="as of Memory.open; none searches by keyword only")
    made.add_argument("--model", action="store_true", help="with the replies of a reader in the place of a model")
    made.add_argument("--json", type=Path, default=Path("runs/life_stories.json"), help="where the results go")
    asked = made.parse_args()
    if asked.show and asked.half != HALVES[0]:
        made.error("--show is for the development half")
    if asked.model and asked.half != HALVES[1]:
        made.error("--model is for the held-out half")
    return asked


def stories() -> Iterator[Story]:
    """All stories of the file."""
    for line in STORIES.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        yield Story(
            id=told["id"],
            half=told["half"],
            sessions=[(session["id"], [_turn(**turn) for turn in session["turns"]]) for session in told["sessions"]],
            questions=sorted((_question(**question) for question in told["questions"]), key=lambda each: each.asked_at),
        )


def _turn(role: str, content: str, said_at: str) -> Turn:
    return Turn(role=role, content=content, said_at=datetime.fromisoformat(said_at))


def _question(asked_at: str, **told: object) -> Question:
    return Question(asked_at=datetime.fromisoformat(asked_at), **told)


def reader() -> Reader:
    """The model that knows the replies to all parts of the stories.

    Raises:
        SystemExit: asked about a part that nobody wrote a reply for.
    """
    written = [json.loads(line) for line in REPLIES.read_text(encoding="utf-8").splitlines()]

    def reply(messages: Sequence[BaseMessage]) -> str:
        asked = "\n".join(str(message.content) for message in messages)
        sums_up = asked.startswith("Sum up")
        for part in written:
            if (part["lines"] if not sums_up else NUMBER.sub("", part["lines"])) in asked:
                told = {"summary": part["summary"], "topics": []} if sums_up else part["reply"]
                return json.dumps(told, ensure_ascii=False)
        raise SystemExit(f"No reply was written for {asked[-300:]!r}")

    return Reader(responses=[reply])


def answered(told: Iterable[Story], embedder: str, model: Reader | None) -> Iterator[Answer]:
    """Tell each story to a memory of its own, asking its questions on the way."""
    for story in told:
        say(story.id)
        clock = StoryClock(story.questions[0].asked_at)
        with (
            TemporaryDirectory() as folder,
            Memory.open(folder, embedder=embedder, background=False, clock=clock, model=model) as memory,
        ):
            yield from _asked(story, memory.user(story.id), clock)


def _asked(story: Story, space: Space, clock: StoryClock) -> Iterator[Answer]:
    since = datetime.min.replace(tzinfo=UTC)
    for question in story.questions:
        tell(story, space, clock, since, question.asked_at)
        since = clock.now = question.asked_at
        block = space.recall(question.ask, session=f"question-{question.id}", now=question.asked_at).block
        yield Answer(question=question, block=block, judgement=judge(block, question))


def tell(story: Story, space: Space, clock: StoryClock, since: datetime, until: datetime) -> None:
    """Track what was said after the last question and before this one, session by session."""
    for session, turns in story.sessions:
        new = [turn for turn in turns if since < turn.said_at <= until]
        if new:
            clock.now = new[-1].said_at
            space.track(new, session=session)
            space.end_session(session)
            space.mine()
            space.flush()


def judge(block: str, question: Question) -> Judgement:
    """Judge a recalled block, as described above."""
    lines = [line for line in html.unescape(block).splitlines() if not line.startswith(("<", "</"))]
    shown = all(_holds("\n".join(lines), group) for group in question.current)
    return Judgement(shown=shown, outdated=_outdated_line(lines, question))


def _outdated_line(lines: Sequence[str], question: Question) -> str:
    current = [string for group in question.current for string in group]
    said = [line for line in lines if _holds(line, question.outdated)]
    excused = _holds("\n".join(lines), current) or any(_is_over(line, question.outdated) for line in said)
    quotes = _quoted(lines)
    for line in said:
        beside = excused if line in quotes else _holds(line, current)
        if not beside and not _is_over(line, question.outdated):
            return line
    return ""


def _quoted(lines: Sequence[str]) -> Sequence[str]:
    """The lines of messages: further lines belong to the message above."""
    quotes, quoted = [], False
    for line in lines:
        label = LABEL.match(line)
        quoted = label[1].startswith("[§") if label else quoted and not line.startswith("-")
        if quoted:
            quotes.append(line)
    return quotes


def _is_over(line: str, outdated: Iterable[str]) -> bool:
    """Whether the line says that the outdated is: in the sentence that names it, or in brackets."""
    if any(ENDS.search(part) for part in BRACKETS.findall(line)):
        return True
    return all(ENDS.search(sentence) for sentence in SENTENCE_END.split(line) if _holds(sentence, outdated))


def _holds(text: str, strings: Iterable[str]) -> bool:
    return any(re.search(_pattern(string), text, re.IGNORECASE) for string in strings)


def _pattern(string: str) -> str:
    """From the beginning of a word, and to its end if the string is so short that it begins many other words."""
    return rf"(?<!\w){re.escape(string)}" + (r"(?!\w)" if len(string) <= SHORT else "")


def table(answers: Sequence[Answer]) -> Sequence[Row]:
    """The figures by kind of question, and of all."""
    kinds = sorted({answer.question.kind for answer in answers})
    rows = [_row(kind, [answer for answer in answers if answer.question.kind == kind]) for kind in kinds]
    return [*rows, _row("all", answers)]


def _row(kind: str, answers: Sequence[Answer]) -> Row:
    shown = sum(answer.judgement.shown for answer in answers)
    return {
        "kind": kind,
        "questions": len(answers),
        "shown": shown,
        "shown %": 100 * shown / len(answers),
        "outdated as current": sum(bool(answer.judgement.outdated) for answer in answers),
    }


def show_wrong(answers: Sequence[Answer]) -> None:
    """Print each question that was answered wrongly, with what is so, what is not, and the block."""
    for answer in answers:
        asked, judged = answer.question, answer.judgement
        if not judged.shown or judged.outdated:
            print(f"\n== {asked.id} {asked.asked_at:%Y-%m-%d} {asked.kind}: {asked.ask}")
            print(f"   {'shown' if judged.shown else 'NOT SHOWN'}: {asked.current}")
            print(
                f"   outdated: {asked.outdated}"
                + (f"\n   SAID AS CURRENT: {judged.outdated}" if judged.outdated else "")
            )
            print(answer.block or "(no block)")


if __name__ == "__main__":
    main()
