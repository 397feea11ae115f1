"""Two measurements of the same questions: which became better, which worse, and whether chance would do the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import comb, inf

from langmem_tiers.bench.mine.measuring import Measured, Row
from langmem_tiers.errors import InvalidInput


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What a change did: ids of the questions whose message came further to the front or to the back.

    `differences` are those of the means by name, after less before. `chance` is how likely so unequal a split is
    when the change does nothing (two-sided sign test): above 0.05 there is nothing to conclude.
    """

    better: tuple[str, ...]
    worse: tuple[str, ...]
    same: int
    differences: Mapping[str, float]
    chance: float


def compare(before: Measured, after: Measured) -> Comparison:
    """The difference that other settings, or another version, make on the same questions.

    Raises:
        InvalidInput: the two were not asked the same.
    """
    first, second = (
        {place.question_id: place.rank or inf for place in measured.places} for measured in (before, after)
    )
    if first.keys() != second.keys():
        raise InvalidInput(
            "These are measurements of different questions.", way_out="Measure one question set under both settings."
        )
    better = tuple(name for name, rank in second.items() if rank < first[name])
    worse = tuple(name for name, rank in second.items() if rank > first[name])
    return Comparison(
        better=better,
        worse=worse,
        same=len(first) - len(better) - len(worse),
        differences=_differences(before.overall, after.overall),
        chance=sign_test(len(better), len(worse)),
    )


def sign_test(better: int, worse: int) -> float:
    """How likely chance alone splits so many changes at least as unequally.

    Example:
        >>> sign_test(5, 5), round(sign_test(9, 1), 3)
        (1.0, 0.021)
    """
    changed, fewer = better + worse, min(better, worse)
    tail = sum(comb(changed, count) for count in range(fewer + 1))
    return min(1.0, float(2 * tail / 2**changed))


def _differences(before: Row, after: Row) -> dict[str, float]:
    means = [field.name for field in fields(Row) if field.name not in {"kind", "questions"}]
    return {name: getattr(after, name) - getattr(before, name) for name in means}
