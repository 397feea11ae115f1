"""The options that commands of a benchmark share, and beginning a run with them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from langmem_tiers.cli.terminal import print_error

if TYPE_CHECKING:
    from langmem_tiers.bench.datasets import DatasetName
    from langmem_tiers.bench.pipeline.runs import BenchRun
    from langmem_tiers.settings import Settings


SetName = Literal["locomo", "longmemeval"]
OFFLINE = "offline"


class GrainChoice(StrEnum):
    """What `--grain` can be."""

    block = "block"
    drawer = "drawer"
    session = "session"


class FileChoice(StrEnum):
    """What `--file` can be."""

    s = "s"
    oracle = "oracle"
    m = "m"


NewRun = Annotated[
    str | None, typer.Option("--run", metavar="ID", help="A run to begin or to go on with. Default: a new one.")
]
KnownRun = Annotated[str | None, typer.Option("--run", metavar="ID", help="The run. Default: the one begun last.")]
Runs = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where runs and downloads are. Default: a folder here named like the set."),
]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="FILE", help="A local file, plain or gzipped, instead of the download.")
]
File = Annotated[
    FileChoice | None, typer.Option("--file", help="Which official file. Default: the first of these that is there.")
]
Limit = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Only the first N questions. Default: as the run was begun.")
]
Processes = Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Processes at once.")]
Calls = Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Model calls at once.")]
SettingsFile = Annotated[
    Path | None, typer.Option(metavar="FILE.json", help="Settings of the memory that differ from the defaults.")
]
KeywordOnly = Annotated[bool, typer.Option("--keyword-only", help="Without an embedding model.")]
Adversarial = Annotated[
    bool, typer.Option("--with-adversarial", help="Category 5 too: questions that the conversation does not answer.")
]

Grain = Annotated[
    GrainChoice,
    typer.Option(help="What the reader is given: the recalled block, the best drawers, or the best sessions whole."),
]
TopK = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Most items, drawers or sessions. Default: 50, 10 or 5 by --grain."),
]
TokenBudget = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Most tokens. Default: 4,000 for a block, else no limit.")
]
Threshold = Annotated[
    float, typer.Option(min=0, metavar="S", help="Give the reader nothing that scores less; an agent's is a setting.")
]

Reader = Annotated[
    str,
    typer.Option(metavar="MODEL", help="provider:model as init_chat_model names it; 'offline' quotes, with no model."),
]
MaybeReader = Annotated[
    str | None, typer.Option("--reader", metavar="MODEL", help="The model that answers: provider:model, or 'offline'.")
]
Judge = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="The model that judges: provider:model. Default: words are compared."),
]
Temperature = Annotated[
    float | None, typer.Option(min=0, metavar="T", help="Of the model. Default: the provider's; LongMemEval's is 0.")
]
Label = Annotated[
    str | None, typer.Option(metavar="NAME", help="Tells several sets of answers of one run apart, such as by reader.")
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed/--no-retry-failed", help="Ask again where the reader failed before.")
]
Audit = Annotated[
    Path | None,
    typer.Option(metavar="FILE.json", help="Questions with wrong gold answers, to leave out: see docs/benchmarks.md."),
]
PriceIn = Annotated[float | None, typer.Option(min=0, metavar="P", help="Price of a million tokens to the model.")]
PriceOut = Annotated[float | None, typer.Option(min=0, metavar="P", help="Price of a million tokens from it.")]


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
    from langmem_tiers.bench.pipeline.download import downloaded
    from langmem_tiers.bench.pipeline.runs import DATA_FOLDER

    if how.data is not None:
        return how.data
    if known is not None and how.file is None:
        return known.data
    return downloaded(dataset, runs / DATA_FOLDER, how.file and how.file.value)


def _with_vectors(how: Beginning, known: BenchRun | None) -> bool:
    from langmem_tiers.models.minilm import MiniLM

    if how.keyword_only:
        return False
    if known is not None:
        return known.vectors
    if how.offline and not MiniLM().available():
        print_error("The embedding model is not on this machine: going on by keywords alone.")
        return False
    return True


def settings_of(path: Path | None) -> Settings:
    """The settings in a file, or the defaults when there is none."""
    from pydantic import ValidationError

    from langmem_tiers.errors import InvalidSettings, UnreadableFile
    from langmem_tiers.settings import Settings

    if path is None:
        return Settings()
    try:
        return Settings.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UnreadableFile(f"{path} can not be read: {error.strerror}.", way_out="Check --settings.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidSettings(f"{path}: {where or 'the file'}: {first['msg']}.") from error
