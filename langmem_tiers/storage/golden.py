"""Golden questions: what a user wants recall to answer tomorrow as it does today."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, delete, insert, select

from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import golden_questions

# The number last given out: one that was removed comes back under another.
_NEWEST = "newest_golden_question"


class GoldenRow(NamedTuple):
    """A question of the user, with the words and the drawers that its block has to hold."""

    number: int
    question: str
    words: tuple[str, ...]
    drawers: tuple[int, ...]
    at: int


def put(
    connection: Connection, space: str, question: str, *, words: Sequence[str], drawers: Sequence[int], at: int
) -> GoldenRow:
    """Keep a question."""
    number = int(facts.get(connection, space, _NEWEST) or 0) + 1
    facts.put(connection, space, _NEWEST, str(number))
    expects = orjson.dumps({"words": list(words), "drawers": list(drawers)}).decode()
    row = {"number": number, "question": question, "expects": expects, "at": at}
    connection.execute(insert(golden_questions).values(space=space, **row))
    return GoldenRow(number, question, tuple(words), tuple(drawers), at)


def every(connection: Connection, space: str) -> list[GoldenRow]:
    """All questions, in the order they were kept."""
    columns = (
        golden_questions.c.number,
        golden_questions.c.question,
        golden_questions.c.expects,
        golden_questions.c.at,
    )
    wanted = select(*columns).where(golden_questions.c.space == space).order_by(golden_questions.c.number)
    return [_read(*row) for row in connection.execute(wanted)]


def remove(connection: Connection, space: str, number: int) -> bool:
    """Keep a question no longer; False where there is none of this number."""
    this = (golden_questions.c.space == space, golden_questions.c.number == number)
    return connection.execute(delete(golden_questions).where(*this)).rowcount == 1


def unsay(connection: Connection, space: str, without: Callable[[str], str]) -> int:
    """Delete the questions that hold what is deleted, or ask for it; how many.

    `without` gives a text without the passages that say so.
    """

    def says(text: str) -> bool:
        return without(text) != text

    gone = [each for each in every(connection, space) if any(map(says, _texts(each)))]
    return sum(remove(connection, space, each.number) for each in gone)


def _texts(row: GoldenRow) -> tuple[str, ...]:
    """What a question says, by itself and with the words that it expects."""
    bare = row.question.rstrip("?")
    return (row.question, *row.words, " ".join((bare, *row.words)), *(f"{bare} {each}" for each in row.words))


def _read(number: int, question: str, expects: str, at: int) -> GoldenRow:
    held = orjson.loads(expects)
    return GoldenRow(number, question, tuple(held["words"]), tuple(held["drawers"]), at)
