"""Measuring recall on somebody's own messages: questions made from a space, asked of it, scored, compared.

    >>> from langmem_tiers import Memory
    >>> from langmem_tiers.bench.mine import measure, mine_questions
    >>> with Memory.open("memory", background=False) as memory:
    ...     alice = memory.user("alice")
    ...     print(measure(alice, mine_questions(alice)).recall_at_5)

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langmem_tiers.bench.mine.choosing import mine_questions
    from langmem_tiers.bench.mine.measuring import (
        Comparison,
        Measured,
        Place,
        Row,
        compare,
        existing_space,
        measure,
        open_space,
    )
    from langmem_tiers.bench.mine.questions import MinedQuestion, QuestionSet, read_questions, write_questions

__all__ = [
    "Comparison",
    "Measured",
    "MinedQuestion",
    "Place",
    "QuestionSet",
    "Row",
    "compare",
    "existing_space",
    "measure",
    "mine_questions",
    "open_space",
    "read_questions",
    "write_questions",
]

_HOMES = {
    "Comparison": "measuring",
    "Measured": "measuring",
    "MinedQuestion": "questions",
    "Place": "measuring",
    "QuestionSet": "questions",
    "Row": "measuring",
    "compare": "measuring",
    "existing_space": "measuring",
    "measure": "measuring",
    "mine_questions": "choosing",
    "open_space": "measuring",
    "read_questions": "questions",
    "write_questions": "questions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
