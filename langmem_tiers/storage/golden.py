"""Golden questions: what the user wants recall to keep answering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, delete, insert, select

from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import golden_questions

# The last number assigned: a question that was removed and added again gets a new one.
_NEWEST = "newest_golden_question"


class GoldenRow(NamedTuple):
    """A golden question, with the words and drawers that its block must contain."""

    number: int
    question: str
    words: tuple[str, ...]
    drawers: tuple[int, ...]
    at: int


def put(
    connection: Connection, space: str, question: str, *, words: Sequence[str], drawers: Sequence[int], at: int
) -> GoldenRow:
    """Store a question."""
    number = facts.count_up(connection, space, _NEWEST)
    expects = orjson.dumps({"words": list(words), "drawers": list(drawers)}).decode()
    row = {"number": number, "question": question, "expects": expects, "at": at}
    connection.execute(insert(golden_questions).values(space=space, **row))
    return GoldenRow(number, question, tuple(words), tuple(drawers), at)


def every(connection: Connection, space: str) -> list[GoldenRow]:
    """All questions, in the order they were added."""
    columns = (
        golden_questions.c.number,
        golden_questions.c.question,
        golden_questions.c.expects,
        golden_questions.c.at,
    )
    wanted = select(*columns).where(golden_questions.c.space == space).order_by(golden_questions.c.number)
    return [_read(*row) for row in connection.execute(wanted)]


def remove(connection: Connection, space: str, number: int) -> bool:
    """Remove a question; False if there is none with this number."""
    this = (golden_questions.c.space == space, golden_questions.c.number == number)
    return connection.execute(delete(golden_questions).where(*this)).rowcount == 1


def unsay(connection: Connection, space: str, without: Callable[[str], str]) -> int:
    """Delete the questions that contain or ask for deleted content. Returns how many.

    `without` returns a text without the passages in question.
    """

    def says(text: str) -> bool:
        return without(text) != text

    gone = [each for each in every(connection, space) if any(map(says, _texts(each)))]
    return sum(remove(connection, space, each.number) for each in gone)


def _texts(row: GoldenRow) -> tuple[str, ...]:
    """The texts of a question: alone, and combined with the words that it expects."""
    bare = row.question.rstrip("?")
    return (row.question, *row.words, " ".join((bare, *row.words)), *(f"{bare} {each}" for each in row.words))


def _read(number: int, question: str, expects: str, at: int) -> GoldenRow:
    held = orjson.loads(expects)
    return GoldenRow(number, question, tuple(held["words"]), tuple(held["drawers"]), at)
