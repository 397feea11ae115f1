"""Measuring recall on somebody's own messages: questions made from a space, asked of it, scored, compared.

>>> from langmem_tiers import Memory
>>> from langmem_tiers.bench.mine import measure, mine_questions
>>> with Memory.open("memory", background=False) as memory:
...     alice = memory.user("alice")
...     print(measure(alice, mine_questions(alice)).recall_at_5)
"""

from langmem_tiers.bench.mine.choosing import mine_questions
from langmem_tiers.bench.mine.measuring import (
    Comparison,
    Measured,
    MeasuredRow,
    Place,
    compare,
    existing_space,
    measure,
    open_space,
)
from langmem_tiers.bench.mine.questions import MinedQuestion, QuestionSet, read_questions, write_questions

__all__ = [
    "Comparison",
    "Measured",
    "MeasuredRow",
    "MinedQuestion",
    "Place",
    "QuestionSet",
    "compare",
    "existing_space",
    "measure",
    "mine_questions",
    "open_space",
    "read_questions",
    "write_questions",
]
