"""The conversation sets that can be measured, each with how its file is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from langmem_tiers.bench import locomo, longmemeval
from langmem_tiers.bench.questions import Cases, Gold, Golds
from langmem_tiers.errors import InvalidInput
from langmem_tiers.transfer.formats import require_format

DatasetName = Literal["locomo", "longmemeval"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """How to read one set.

    `session_number` gives the number that logs and scorers know a stored session by. `grown_cases` reads cases to be
    asked over more than their own conversation, where the set has any to add.
    """

    cases: Callable[[Path], Cases]
    gold: Callable[[Path], Golds]
    session_number: Callable[[str], int]
    grown_cases: Callable[[Path], Cases] | None = None


DATASETS: Mapping[DatasetName, Dataset] = {
    "locomo": Dataset(cases=locomo.locomo_cases, gold=locomo.locomo_gold, session_number=locomo.session_number),
    "longmemeval": Dataset(
        cases=longmemeval.longmemeval_cases,
        gold=longmemeval.longmemeval_gold,
        session_number=int,
        grown_cases=longmemeval.longmemeval_grown_cases,
    ),
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


def read_grown_cases(dataset: DatasetName, data: Path) -> Cases:
    """The same conversations and questions, to be asked over more than their own conversation.

    Raises:
        InvalidInput: the set has no conversations to add.
        UnreadableFile: the file is not the set's own.
    """
    read = DATASETS[dataset].grown_cases
    if read is None:
        raise InvalidInput(
            f"The conversations of {dataset} can not be grown: the set has too few that others could be added from.",
            way_out="Use --grow with --dataset longmemeval.",
        )
    require_format(data, dataset)
    return read(data)
