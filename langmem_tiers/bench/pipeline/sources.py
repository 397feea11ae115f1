"""The official files of the sets: where they are, and what they must be.

Addresses name a fixed revision. Sizes and hashes of LongMemEval are those of the files' Git LFS pointers; LoCoMo's is
the one that dial481/locomo-audit was made for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from langmem_tiers.bench.datasets import DatasetName
from langmem_tiers.errors import InvalidInput, UnreadableFile

_LONGMEMEVAL = (
    "https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned/resolve/98d7416c24c778c2fee6e6f3006e7a073259d48f"
)
_LOCOMO = "https://raw.githubusercontent.com/snap-research/locomo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376/data"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """An official file: its name, the address of its folder, its size in bytes and its SHA-256."""

    name: str
    folder: str
    size: int
    sha256: str


SOURCES: Mapping[DatasetName, Mapping[str, Source]] = {
    "longmemeval": {
        "s": Source(
            name="longmemeval_s_cleaned.json",
            folder=_LONGMEMEVAL,
            size=277_383_467,
            sha256="d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
        ),
        "oracle": Source(
            name="longmemeval_oracle.json",
            folder=_LONGMEMEVAL,
            size=15_388_478,
            sha256="821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c",
        ),
        "m": Source(
            name="longmemeval_m_cleaned.json",
            folder=_LONGMEMEVAL,
            size=2_737_100_077,
            sha256="9d79e5524794a2e6900a3aa9cb7d9152c5a3e8319c9a87c25494ba1eacee495f",
        ),
    },
    "locomo": {
        "10": Source(
            name="locomo10.json",
            folder=_LOCOMO,
            size=2_805_274,
            sha256="79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
        ),
    },
}


def source_of(dataset: DatasetName, which: str | None) -> Source:
    """The file of a set by its short name; the first one by default.

    Raises:
        InvalidInput: the set has no such file.
    """
    files = SOURCES[dataset]
    chosen = which or next(iter(files))
    if chosen not in files:
        raise InvalidInput(f"{dataset} has no file {chosen!r}.", way_out=f"Say one of: {', '.join(files)}.")
    return files[chosen]


def downloaded(dataset: DatasetName, folder: Path, which: str | None) -> Path:
    """The file of a set that `download` put into `folder`: the one named, or the first that is there.

    Raises:
        InvalidInput: the set has no such file.
        UnreadableFile: it is not there.
    """
    wanted = [source_of(dataset, which)] if which else [*SOURCES[dataset].values()]
    found = next((folder / source.name for source in wanted if (folder / source.name).is_file()), None)
    if found is None:
        names = " or ".join(source.name for source in wanted)
        raise UnreadableFile(
            f"There is no {names} in {folder}.",
            way_out=f"Fetch it with `langmem-tiers bench {dataset} download`, or name a file with --data.",
        )
    return found
