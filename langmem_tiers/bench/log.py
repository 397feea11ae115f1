"""The log of a retrieval run: one JSON line for each question, appended as answers arrive."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from langmem_tiers.bench.scoring import Answered, Session
from langmem_tiers.errors import InvalidInput, UnreadableFile

_TIMINGS = ("recall_ms", "embed_ms")


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one question brought back, best first.

    `sessions` of the question's own conversation are numbers; one that was added to it has a name. `drawers` are
    numbers within the question's space, `turns` the message ids of the same drawers. `recall_ms` is the whole recall,
    `embed_ms` the embedding of the question within it. `others` counts the sessions that were added, None where the
    conversation was not to be grown.
    """

    question_id: str
    question_type: str
    sessions: tuple[Session, ...]
    drawers: tuple[int, ...]
    turns: tuple[str | None, ...]
    recall_ms: float
    embed_ms: float
    verdict: str
    abstention: bool = False
    others: int | None = None

    def as_line(self) -> str:
        """The line of the log."""
        fields: dict[str, object] = {
            "question_id": self.question_id,
            "question_type": self.question_type,
            "sessions": self.sessions,
            "drawers": self.drawers,
            "recall_ms": round(self.recall_ms, 3),
            "embed_ms": round(self.embed_ms, 3),
            "turns": self.turns,
            "verdict": self.verdict,
        }
        if self.abstention:
            fields["abstention"] = True
        if self.others is not None:
            fields["others"] = self.others
        return json.dumps(fields, ensure_ascii=False) + "\n"


class Line(Protocol):
    """What a log can take: one line about one question."""

    def as_line(self) -> str:
        """A JSON object with `question_id`, and the newline."""


class AnswerLog:
    """A log that an interrupted run is taken up from.

    What an interruption left of a last line is cut off. Beside the log lies `<name>.run.json`, which says how it is
    made: going on with other settings would mix two measurements in one file. `way_out` is what to do then.

    Raises:
        InvalidInput: the log was begun with other settings.
        UnreadableFile: a line of it is no answer.
    """

    def __init__(
        self, path: Path, run: Mapping[str, object], *, way_out: str = "Name another --out file, or delete this one."
    ) -> None:
        self._path = path
        self._way_out = way_out
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            cut_partial_line(path)
            self.answered = frozenset(str(line["question_id"]) for line in read_lines(path))
        else:
            self.answered = frozenset()
        self._require_same(run)

    def append(self, answer: Line) -> None:
        """Write one line; it is on its way to the disk when this returns."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(answer.as_line())

    def _require_same(self, run: Mapping[str, object]) -> None:
        beside = self._path.with_name(f"{self._path.name}.run.json")
        told = json.dumps(run, indent=2, sort_keys=True) + "\n"
        if self.answered and beside.exists() and beside.read_text(encoding="utf-8") != told:
            raise InvalidInput(
                f"{self._path} was begun with another dataset or other settings ({beside.name} says which).",
                way_out=self._way_out,
            )
        beside.write_text(told, encoding="utf-8")


def read_lines(path: Path) -> Iterator[Mapping[str, object]]:
    """The lines of a log as mappings that hold a question id.

    Raises:
        UnreadableFile: the log can not be opened, or a line is no answer.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                yield _parsed(path, number, line)
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{path} can not be read as a log of answers: {error}.") from error


def read_answers(path: Path) -> Iterator[Answered]:
    """What a log has for the scorer.

    Raises:
        UnreadableFile: the log can not be opened, or a line is no answer.
    """
    for number, line in enumerate(read_lines(path), 1):
        sessions, turns = line.get("sessions"), line.get("turns")
        if not isinstance(sessions, list):
            raise _no_answer(path, number)
        yield Answered(
            question_id=str(line["question_id"]),
            sessions=sessions,
            turns=turns if isinstance(turns, list) else None,
            timings={name: value for name in _TIMINGS if isinstance(value := line.get(name), int | float)},
        )


def _parsed(path: Path, number: int, line: str) -> Mapping[str, object]:
    with suppress(json.JSONDecodeError):
        parsed = json.loads(line)
        if isinstance(parsed, dict) and isinstance(parsed.get("question_id"), str):
            return parsed
    raise _no_answer(path, number)


def _no_answer(path: Path, number: int) -> UnreadableFile:
    return UnreadableFile(
        f"Line {number} of {path} is no answer of a retrieval run.",
        way_out="Name a file that `langmem-tiers bench retrieval` wrote.",
    )


def cut_partial_line(path: Path) -> None:
    """Cut off what an interruption left of a last line."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as stream:
            stream.truncate(whole)
