"""Questions made from a user's own messages, and the file they are kept in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from langmem_tiers.clock import require_aware
from langmem_tiers.errors import InvalidInput, UnreadableFile
from langmem_tiers.storage.errors_border import translated

Kind = Literal["paraphrase", "cloze", "keywords", "gap", "model"]
LEAST = 5  # questions; the means of fewer say nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftQuestion:
    """A question proposed by a rule or a model; `answer` holds the words of the message that it asks for."""

    kind: Kind
    text: str
    answer: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MinedQuestion:
    """One question about one message of a space.

    The message is known by the hash of its content, so that a question outlives new numbers: every message that says
    the same answers it. `asked_at` is the moment that recency is counted from.
    """

    question_id: str
    kind: Kind
    text: str
    answer: str
    content_hash: bytes
    asked_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionSet:
    """A set of questions, and how it was made.

    `wanted` were asked for; `messages` of the user could be asked about; `dropped` replies of a model were of no use,
    and rules took their place.
    """

    space: str
    questions: tuple[MinedQuestion, ...]
    wanted: int
    messages: int
    dropped: int = 0

    def __iter__(self) -> Iterator[MinedQuestion]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)


_WAY_OUT = "Name a file that `langmem-tiers bench mine --out` wrote."
_MOST_CHARACTERS = 10_000


def write_questions(path: Path, questions: QuestionSet) -> None:
    """Write a question set; the file holds words of the user's messages.

    Raises:
        InvalidInput: there is such a file already.
        StorageError: it cannot be written.
    """
    require_new(path)
    lines = [json.dumps(_as_line(one, questions.space), ensure_ascii=False) + "\n" for one in questions]
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines), encoding="utf-8")


def require_new(path: Path) -> None:
    """Check that there is no such file yet.

    Raises:
        InvalidInput: there is one.
    """
    if path.exists():
        raise InvalidInput(
            f"There is a file {path} already.", way_out="Ask its questions again with --from, or name another file."
        )


def read_questions(path: Path) -> QuestionSet:
    """The question set in a file.

    Raises:
        UnreadableFile: it cannot be opened, or a line of it is no question.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{path} cannot be read as a set of questions: {error}.", way_out=_WAY_OUT) from error
    read = [_parsed(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not read:
        raise UnreadableFile(f"{path} holds no questions.", way_out=_WAY_OUT)
    questions = {question.question_id: question for _, question in read}
    return QuestionSet(
        space=read[0][0], questions=tuple(questions.values()), wanted=len(questions), messages=len(questions)
    )


def _as_line(question: MinedQuestion, space: str) -> dict[str, str]:
    return {
        "question_id": question.question_id,
        "kind": question.kind,
        "question": question.text,
        "answer": question.answer,
        "content_hash": question.content_hash.hex(),
        "asked_at": question.asked_at.isoformat(),
        "space": space,
    }


def _parsed(path: Path, number: int, line: str) -> tuple[str, MinedQuestion]:
    try:
        fields = json.loads(line)
        return _text(fields, "space"), _question(fields)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UnreadableFile(f"Line {number} of {path} is no question.", way_out=_WAY_OUT) from error


def _question(fields: Mapping[str, object]) -> MinedQuestion:
    return MinedQuestion(
        question_id=_text(fields, "question_id"),
        kind=_kind(_text(fields, "kind")),
        text=_text(fields, "question"),
        answer=_text(fields, "answer"),
        content_hash=bytes.fromhex(_text(fields, "content_hash")),
        asked_at=require_aware(datetime.fromisoformat(_text(fields, "asked_at")), "time of a question"),
    )


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not 0 < len(value) <= _MOST_CHARACTERS:
        raise ValueError(name)
    return value


def _kind(name: str) -> Kind:
    kinds: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}
    return kinds[name]
