"""The conversation sets that can be measured, each with how its file is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from langmem_tiers.bench import locomo, longmemeval
from langmem_tiers.bench.questions import Cases, Gold, Golds
from langmem_tiers.transfer.formats import require_format

DatasetName = Literal["locomo", "longmemeval"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """How to read one set.

    `session_number` gives the number that logs and scorers know a stored session by.
    """

    cases: Callable[[Path], Cases]
    gold: Callable[[Path], Golds]
    session_number: Callable[[str], int]


DATASETS: Mapping[DatasetName, Dataset] = {
    "locomo": Dataset(cases=locomo.locomo_cases, gold=locomo.locomo_gold, session_number=locomo.session_number),
    "longmemeval": Dataset(cases=longmemeval.longmemeval_cases, gold=longmemeval.longmemeval_gold, session_number=int),
}


def read_gold(dataset: DatasetName, data: Path) -> Iterator[Gold]:
    """The gold of every question of a file; entries that can not be read are no questions.

    Raises:
        UnreadableFile: the file is not the set's own.
    """
    require_format(data, dataset)
    return (entry for entry in DATASETS[dataset].gold(data) if isinstance(entry, Gold))


def read_cases(dataset: DatasetName, data: Path) -> Cases:
    """The conversations of a file with their questions, lazily; problems in place of entries that can not be read.

    Raises:
        UnreadableFile: the file is not the set's own.
    """
    require_format(data, dataset)
    return DATASETS[dataset].cases(data)
