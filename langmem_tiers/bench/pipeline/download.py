"""Fetching the official files, checked by their hash."""

from __future__ import annotations

import hashlib
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from langmem_tiers.bench.datasets import DatasetName
from langmem_tiers.errors import DownloadFailed, InvalidInput, UnreadableFile
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.version import __version__

_LONGMEMEVAL = (
    "https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned/resolve/98d7416c24c778c2fee6e6f3006e7a073259d48f"
)
_LOCOMO = "https://raw.githubusercontent.com/snap-research/locomo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376/data"


@dataclass(frozen=True, kw_only=True, slots=True)
class OfficialFile:
    """An official file: its name, the address of its folder, its size in bytes and its SHA-256."""

    name: str
    folder: str
    size: int
    sha256: str


SOURCES: Mapping[DatasetName, Mapping[str, OfficialFile]] = {
    "longmemeval": {
        "s": OfficialFile(
            name="longmemeval_s_cleaned.json",
            folder=_LONGMEMEVAL,
            size=277_383_467,
            sha256="d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
        ),
        "oracle": OfficialFile(
            name="longmemeval_oracle.json",
            folder=_LONGMEMEVAL,
            size=15_388_478,
            sha256="821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c",
        ),
        "m": OfficialFile(
            name="longmemeval_m_cleaned.json",
            folder=_LONGMEMEVAL,
            size=2_737_100_077,
            sha256="9d79e5524794a2e6900a3aa9cb7d9152c5a3e8319c9a87c25494ba1eacee495f",
        ),
    },
    "locomo": {
        "10": OfficialFile(
            name="locomo10.json",
            folder=_LOCOMO,
            size=2_805_274,
            sha256="79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
        ),
    },
}


def source_of(dataset: DatasetName, which: str | None) -> OfficialFile:
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


RECORD = "download.json"
_CHUNK = 1 << 20
_SILENCE = 60.0  # seconds without a byte
_MOVED = "If the file has moved, name the folder it is in with --url; or fetch it by hand and use --data."
_PARTIAL, _NOT_FOUND, _RANGE_NOT_SATISFIABLE = 206, 404, 416

Told = Callable[[int, int | None], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Downloaded:
    """A verified file. `fetched` is false if it was there before."""

    path: Path
    url: str
    bytes: int
    sha256: str
    fetched: bool


def download(
    source: OfficialFile,
    folder: Path,
    *,
    url: str | None = None,
    sha256: str | None = None,
    on_progress: Told | None = None,
) -> Downloaded:
    """The file of a source in `folder`, downloaded if it is missing; `download.json` beside it records its origin.

    Args:
        source: What to fetch.
        folder: Where to; made if it is not there.
        url: The address of another folder that has the file, such as a mirror's.
        sha256: What the file's hash must be, instead of the one known.
        on_progress: Told the bytes there are and the bytes to come to, if known.

    Raises:
        DownloadFailed: it could not be fetched, or is not the file expected.
        InvalidInput: `url` or `sha256` is none.
        StorageError: the disk is full or the folder cannot be written.
    """
    address = f"{_web_address(url or source.folder).rstrip('/')}/{source.name}"
    expected = source.sha256 if sha256 is None else _hash(sha256)
    path = folder / source.name
    with translated(folder):
        folder.mkdir(parents=True, exist_ok=True)
    there = path.exists()
    if not there:
        size = source.size if expected == source.sha256 else None
        _fetch(address, part := folder / f"{source.name}.part", size, on_progress or (lambda _done, _total: None))
        _require(part, expected, address)
        with translated(path):
            part.replace(path)
    elif (found := file_hash(path)) != expected:
        raise DownloadFailed(
            f"{path} is not the file expected: its SHA-256 is {found}, not {expected}.",
            way_out="Move it away and run the command again, or give its hash with --sha256 if you know it is right.",
        )
    done = Downloaded(path=path, url=address, bytes=path.stat().st_size, sha256=expected, fetched=not there)
    _record(folder / RECORD, done)
    return done


def file_hash(path: Path) -> str:
    """The SHA-256 of a file."""
    with translated(path), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch(url: str, part: Path, size: int | None, told: Told) -> None:
    """Download the rest of `part`."""
    there = part.stat().st_size if part.exists() else 0
    if size is not None and there > size:
        there = 0
    if there == size:
        return
    answer = _answer(url, there)
    if answer is None:  # nothing is left to come
        return
    with answer:
        # Servers that know no ranges send the whole file, and say so.
        start = there if answer.status == _PARTIAL else 0
        length = answer.headers.get("Content-Length", "")
        total = start + int(length) if length.isdecimal() else size
        done = _save(_chunks(answer, url), part, start, lambda done: told(done, total))
    if total is not None and done < total:
        raise DownloadFailed(f"The connection ended after {done:,} of {total:,} bytes of {url}.")


def _save(chunks: Iterator[bytes], part: Path, start: int, told: Callable[[int], None]) -> int:
    """Write the chunks from byte `start` on, and return the length of the file."""
    done = start
    with translated(part):
        stream = part.open("r+b" if start else "wb")
    with stream:
        stream.seek(start)
        told(done)
        for chunk in chunks:
            with translated(part):
                stream.write(chunk)
                stream.flush()  # a full disk is noticed here
            done += len(chunk)
            told(done)
    return done


def _answer(url: str, start: int) -> http.client.HTTPResponse | None:
    """The server's response for the bytes from `start` on; None if there are no more."""
    headers = {"User-Agent": f"langmem-tiers/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        answer: http.client.HTTPResponse = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=_SILENCE
        )
    except urllib.error.HTTPError as error:
        error.close()
        if start and error.code == _RANGE_NOT_SATISFIABLE:
            return None
        raise DownloadFailed(
            f"{url} could not be fetched: the server answered {error.code} {error.reason}.",
            way_out=_MOVED if error.code == _NOT_FOUND else None,
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise DownloadFailed(
            f"{url} cannot be reached: {_reason(error)}.",
            way_out="Check the network and run the command again; or fetch the file elsewhere and name it with --data.",
        ) from error
    return answer


def _chunks(answer: http.client.HTTPResponse, url: str) -> Iterator[bytes]:
    while True:
        try:
            chunk = answer.read(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise DownloadFailed(f"The connection to {url} broke: {_reason(error)}.") from error
        if not chunk:
            return
        yield chunk


def _require(part: Path, expected: str, url: str) -> None:
    found = file_hash(part)
    if found != expected:
        with translated(part):
            part.unlink()  # no part of it can be used again
        raise DownloadFailed(
            f"What came from {url} is not the file expected: its SHA-256 is {found}, not {expected}.",
            way_out="Run the command again; if it stays so and you know the file to be right, give its hash with"
            " --sha256.",
        )


def _reason(error: Exception) -> str:
    cause = getattr(error, "reason", error)
    return (getattr(cause, "strerror", None) or str(cause) or type(cause).__name__).rstrip(".")


def _record(path: Path, done: Downloaded) -> None:
    """Record in `download.json` what was fetched from where; entries about other files stay."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    noted = known if isinstance(known, dict) else {}
    if done.fetched or done.path.name not in noted:
        told = asdict(done) | {"path": done.path.name, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        del told["fetched"]
        with translated(path):
            path.write_text(json.dumps({**noted, done.path.name: told}, indent=2) + "\n", encoding="utf-8")


def _web_address(url: str) -> str:
    if not url.startswith(("https://", "http://")):
        raise InvalidInput(f"{url!r} is no web address.", way_out="Give one that begins with https:// or http://.")
    return url


def _hash(told: str) -> str:
    digest = told.strip().lower().removeprefix("sha256:")
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise InvalidInput(f"{told!r} is no SHA-256.", way_out="Give its 64 hexadecimal digits.")
    return digest
