"""Beginning a run of a benchmark from what was said on the command line, or going on with one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from langmem_tiers.cli.bench_options import FileChoice
from langmem_tiers.cli.terminal import print_error

if TYPE_CHECKING:
    from langmem_tiers.bench.datasets import DatasetName
    from langmem_tiers.bench.pipeline.runs import BenchRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Beginning:
    """What a run is to be begun with, as far as it was said. With `offline`, nothing is fetched for it."""

    run: str | None = None
    data: Path | None = None
    file: FileChoice | None = None
    limit: int | None = None
    settings: Path | None = None
    keyword_only: bool = False
    prefix: str = ""
    offline: bool = False


def begun(dataset: DatasetName, runs: Path, how: Beginning) -> BenchRun:
    """The run, with its `run.json` written; of one that is there, what was not said anew stays."""
    from langmem_tiers.bench.pipeline.runs import BenchRun, begin, data_hash, new_id
    from langmem_tiers.cli.bench import settings_of
    from langmem_tiers.transfer.formats import require_format

    known = _known(dataset, runs, how.run)
    data = _data(dataset, runs, how, known)
    require_format(data, dataset)
    run = BenchRun(
        dataset=dataset,
        runs=runs,
        run_id=how.run or new_id(how.prefix),
        data=data,
        sha256=data_hash(data),
        settings=known.settings if known and not how.settings else settings_of(how.settings),
        vectors=_with_vectors(how, known),
        limit=how.limit or (known.limit if known else None),
    )
    return begin(run)


def _known(dataset: DatasetName, runs: Path, run_id: str | None) -> BenchRun | None:
    from langmem_tiers.bench.pipeline.runs import require_id, taken_up

    if run_id is None or not (runs / require_id(run_id) / "run.json").exists():
        return None
    return taken_up(dataset, runs, run_id)


def _data(dataset: DatasetName, runs: Path, how: Beginning, known: BenchRun | None) -> Path:
    from langmem_tiers.bench.pipeline.runs import DATA_FOLDER
    from langmem_tiers.bench.pipeline.sources import downloaded

    if how.data is not None:
        return how.data
    if known is not None and how.file is None:
        return known.data
    return downloaded(dataset, runs / DATA_FOLDER, how.file and how.file.value)


def _with_vectors(how: Beginning, known: BenchRun | None) -> bool:
    from langmem_tiers.embeddings.minilm import MiniLM

    if how.keyword_only:
        return False
    if known is not None:
        return known.vectors
    if how.offline and not MiniLM().available():
        print_error("The embedding model is not on this machine: going on by keywords alone.")
        return False
    return True
