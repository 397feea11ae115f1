"""A run of a benchmark: its folder, and `run.json`, which says what it is made of.

RUNS/data/                       the official files that were downloaded
RUNS/embeddings.db               vectors of texts embedded before, shared by all runs
RUNS/{run}/run.json              data file and hash, version, settings, limit
RUNS/{run}/work/                 the memories
RUNS/{run}/retrieval_logs/       what recall found
RUNS/{run}/contexts/             what the reader is given
RUNS/{run}/generation_logs/      what it answered
RUNS/{run}/judgements/           what the judge said
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from langmem_tiers.bench.asking import Plan
from langmem_tiers.bench.datasets import DatasetName
from langmem_tiers.bench.pipeline.download import file_hash
from langmem_tiers.bench.retrieval import Run
from langmem_tiers.errors import InvalidInput, UnreadableFile
from langmem_tiers.settings import Settings
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.version import __version__
from langmem_tiers.wording import beginning

_ID = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)
_FILE = "run.json"
DATA_FOLDER = "data"  # of the downloaded files, so that no run may be called so


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchRun:
    """One run. `sha256` is that of the data file; `limit` the number of questions from the start of the file."""

    dataset: DatasetName
    runs: Path
    run_id: str
    data: Path
    sha256: str
    settings: Settings = field(default_factory=Settings)
    vectors: bool = True
    limit: int | None = None

    @property
    def folder(self) -> Path:
        """Everything of this run is in here."""
        return self.runs / self.run_id

    @property
    def work(self) -> Path:
        """Where its memories are."""
        return self.folder / "work"

    def log(self, kind: str, label: str | None = None) -> Path:
        """The log of a step; a label tells several of one run apart."""
        name = f"{self.run_id}.jsonl" if label is None else f"{self.run_id}-{require_id(label)}.jsonl"
        return self.folder / kind / name

    @property
    def retrieval_log(self) -> Path:
        """What recall found."""
        return self.log("retrieval_logs")

    def retrieval(self, *, limit: int | None, jobs: int) -> Run:
        """The retrieval step, over memories that are kept."""
        return Run(
            dataset=self.dataset,
            data=self.data,
            out=self.retrieval_log,
            work=self.work,
            settings=self.settings,
            limit=limit,
            jobs=jobs,
            vectors=self.vectors,
            keep=True,
            embeddings=self.runs / "embeddings.db",
        )

    def plan(self) -> Plan:
        """How its memories are stored and asked."""
        return self.retrieval(limit=None, jobs=1)

    def described(self) -> dict[str, object]:
        """What must be the same when any log of the run is continued later."""
        return {"version": __version__, "dataset": self.dataset, "sha256": self.sha256, "vectors": self.vectors}


def begin(run: BenchRun) -> BenchRun:
    """Write `run.json` of a new run, or continue the run with this id if its data and settings are the same.

    Raises:
        InvalidInput: the id cannot be one, or that run is made of something else.
        StorageError: the folder cannot be written.
    """
    require_id(run.run_id)
    path = run.folder / _FILE
    begun = datetime.now(UTC).isoformat(timespec="milliseconds")
    if path.exists():
        _require_same(run, _read(path, run.dataset, run.runs))
        begun = _begun_at(path)
    fields = {
        "run": run.run_id,
        "dataset": run.dataset,
        "data": {"name": run.data.name, "path": str(run.data.absolute()), "sha256": run.sha256},
        "version": __version__,
        "vectors": run.vectors,
        "limit": run.limit,
        "settings": run.settings.model_dump(),
        "begun_at": begun,
    }
    with translated(run.folder):
        run.folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
        temporary.replace(path)
    return run


def taken_up(dataset: DatasetName, runs: Path, run_id: str | None = None) -> BenchRun:
    """The run with this id, or the latest one.

    Raises:
        InvalidInput: there is no such run.
        UnreadableFile: its `run.json` cannot be read.
    """
    # The latest by the time inside the file, not of the file: a copied folder keeps its order.
    begun = [(runs / require_id(run_id) / _FILE)] if run_id else sorted(runs.glob(f"*/{_FILE}"), key=_begun_at)
    if not begun or not begun[-1].exists():
        which = f"no run {run_id!r}" if run_id else "no run"
        raise InvalidInput(
            f"There is {which} in {runs}.",
            way_out=f"Begin one: langmem-tiers bench {dataset} ingest; or name its folder with --runs.",
        )
    return _read(begun[-1], dataset, runs)


def new_id(prefix: str = "") -> str:
    """An id made from date and time."""
    return f"{prefix}{datetime.now(UTC):%Y%m%d-%H%M%S}"


def require_id(told: str) -> str:
    """`told` itself, if it can be the name of a folder.

    Raises:
        InvalidInput: it cannot.
    """
    if not _ID.fullmatch(told) or told == DATA_FOLDER:
        raise InvalidInput(
            f"{beginning(told, 100)!r} cannot be a run's name.",
            way_out="Use up to 100 letters, digits, '-', '_' and '.', not beginning with a dot.",
        )
    return told


def data_hash(data: Path) -> str:
    """The SHA-256 of a data file.

    Raises:
        UnreadableFile: it cannot be read.
    """
    try:
        return file_hash(data)
    except OSError as error:
        raise UnreadableFile(f"{data} cannot be read: it is missing or not permitted.", way_out="Check --data.") from (
            error
        )


def _begun_at(path: Path) -> str:
    return str(_fields(path).get("begun_at", ""))


def with_data(run: BenchRun, data: Path | None = None) -> BenchRun:
    """The run with its data file, which may have been moved since.

    Raises:
        InvalidInput: the file is another one.
        UnreadableFile: it cannot be read.
    """
    data = data or run.data
    found = data_hash(data)
    if found != run.sha256:
        raise InvalidInput(
            f"{data} is not what the run {run.run_id} was begun with: its SHA-256 is {found}, not {run.sha256}.",
            way_out="Name that file with --data, or begin another run.",
        )
    return replace(run, data=data)


def _require_same(run: BenchRun, known: BenchRun) -> None:
    kept = ("sha256", "settings", "vectors", "dataset")
    other = [name for name in kept if getattr(run, name) != getattr(known, name)]
    if other:
        what = {"sha256": "another data file", "settings": "other settings", "vectors": "another --keyword-only"}
        told = " and ".join(what.get(name, f"another {name}") for name in other)
        raise InvalidInput(
            f"The run {run.run_id} in {run.runs} was begun with {told}.", way_out="Name another --run, or none."
        )


def _read(path: Path, dataset: DatasetName, runs: Path) -> BenchRun:
    told = _fields(path)
    data = told.get("data")
    limit = told.get("limit")
    try:
        if told["dataset"] != dataset or not isinstance(data, dict):
            raise _no_run(path, f"it is of {told['dataset']}")
        return BenchRun(
            dataset=dataset,
            runs=runs,
            run_id=path.parent.name,
            data=Path(data["path"]),
            sha256=str(data["sha256"]),
            settings=Settings.model_validate(told["settings"]),
            vectors=bool(told["vectors"]),
            limit=limit if isinstance(limit, int) else None,
        )
    except ValidationError as error:
        raise UnreadableFile(
            f"{path} has settings that this version does not know: it was begun with {told.get('version')}.",
            way_out="Begin another run, or go on with it with that version of langmem-tiers.",
        ) from error
    except KeyError as error:
        raise _no_run(path, f"{error} is missing") from error


def _fields(path: Path) -> dict[str, object]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _no_run(path, str(error)) from error
    if not isinstance(told, dict):
        raise _no_run(path, "it is no JSON object")
    return told


def _no_run(path: Path, reason: str) -> UnreadableFile:
    return UnreadableFile(
        f"{path} does not describe a run of this benchmark: {' '.join(reason.split())[:200].rstrip('.')}.",
        way_out="Name another --run or --runs folder.",
    )
