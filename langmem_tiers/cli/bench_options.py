"""The options that commands of a benchmark share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from langmem_tiers.settings import Settings


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
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}.", way_out="Check --settings.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidSettings(f"{path}: {where or 'the file'}: {first['msg']}.") from error
