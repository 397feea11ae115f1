"""The files of a backup: its manifest, and folders, tar and zip files of them, which are trusted in nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from langmem_tiers import private_files
from langmem_tiers.errors import BackupDamaged, MemoryTiersError, NewerSchema
from langmem_tiers.json_bounds import is_crowded
from langmem_tiers.storage.errors_border import translated

MANIFEST = "backup.json"
FORMAT = "langmem-tiers-backup"
VERSION = 1
_CHUNK = 1 << 20
_LARGEST_MANIFEST = 64 << 20
_MOST_FILES = 500_000
# Databases shrink to a fifth, empty ones to a sixtieth.
_MOST_SHRUNK = 500
_SMALL = 64 << 20
_PART = r"[^/\\\x00-\x1f\x7f]{1,255}"
# Nothing but spaces is below spaces/, and Windows takes `C:` for a drive.
_PROMPT = rf"(?!spaces/|[A-Za-z]:)({_PART}/){{1,8}}{_PART}(?<=\.md)"
_NAME = re.compile(rf"langmem-tiers\.(json|toml)|spaces/[a-z0-9-]{{1,100}}/(memory\.db|space\.json)|{_PROMPT}")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BackedUpSpace(_Strict):
    """A space in a backup: its name, its folder, the id of its canary, and how many rows each table has."""

    name: str = Field(max_length=512)
    folder: str = Field(max_length=100)
    canary: str = Field(max_length=64)
    rows: dict[str, int]


class BackedUpFile(_Strict):
    """A file in a backup, with the BLAKE2b-256 of its bytes."""

    path: str = Field(max_length=640)
    bytes: int = Field(ge=0)
    blake2b: str = Field(max_length=64)


class Manifest(_Strict):
    """What a backup holds; `complete` is False if it was made of some spaces only, or some could not be copied."""

    format: Literal["langmem-tiers-backup"]
    version: Literal[1]
    id: str = Field(pattern="^[0-9a-f]{12}$")
    made_at: str = Field(max_length=40)
    package: str = Field(max_length=40)
    # `schema` is taken by pydantic.
    steps: int = Field(alias="schema", ge=0)
    complete: bool
    spaces: tuple[BackedUpSpace, ...] = Field(strict=False)
    files: tuple[BackedUpFile, ...] = Field(strict=False)


def sealed(manifest: Manifest) -> bytes:
    """A manifest as it stands in its file, with a checksum of itself."""
    told = manifest.model_dump(mode="json", by_alias=True)
    return json.dumps({**told, "checksum": _checksum(told)}, indent=1).encode()


def _checksum(told: dict[str, object]) -> str:
    return hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=32).hexdigest()


def digest(file: Path) -> BackedUpFile:
    """The size and the hash of a file, with its name as its path."""
    with file.open("rb") as stream:
        size, found = _digest(stream)
    return BackedUpFile(path=file.name, bytes=size, blake2b=found)


def _digest(stream: IO[bytes], copy: IO[bytes] | None = None, *, most: int | None = None) -> tuple[int, str]:
    """Size and hash of a stream, which is copied meanwhile; it is read to `most` + 1 bytes."""
    told, size = hashlib.blake2b(digest_size=32), 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if most is not None and size > most:
            break
        told.update(chunk)
        if copy is not None:
            copy.write(chunk)
    return size, told.hexdigest()


# Writing.


class Container(ABC):
    """Where the files of a backup go; use it as a context manager, and `finish` it at the end."""

    @abstractmethod
    def add(self, name: str, file: Path) -> None:
        """Move a file into it."""

    @abstractmethod
    def finish(self) -> None:
        """Make sure that everything is on disk."""

    def close(self) -> None:  # noqa: B027 - a folder has nothing to close
        """Let go of the file, finished or not."""

    def __enter__(self) -> Container:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Folder(Container):
    def __init__(self, at: Path) -> None:
        at.mkdir(mode=0o700)
        self._at = at

    def add(self, name: str, file: Path) -> None:
        target = self._at / name
        private_files.make_folder(target.parent)
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
        file.replace(target)

    def finish(self) -> None:
        pass


class _Tar(Container):
    def __init__(self, at: Path, mode: Literal["w", "w:gz"]) -> None:
        self._file = private_files.create(at)
        self._tar = tarfile.open(fileobj=self._file, mode=mode)  # noqa: SIM115 - `close` closes it

    def add(self, name: str, file: Path) -> None:
        self._tar.add(file, arcname=name, filter=_anonymous)
        file.unlink()

    def finish(self) -> None:
        self._tar.close()
        _flush(self._file)

    def close(self) -> None:
        _let_go(self._tar, self._file)


class _Zip(Container):
    def __init__(self, at: Path) -> None:
        self._file = private_files.create(at)
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, file: Path) -> None:
        self._zip.write(file, name)
        file.unlink()

    def finish(self) -> None:
        self._zip.close()
        _flush(self._file)

    def close(self) -> None:
        _let_go(self._zip, self._file)


def container(target: Path, at: Path) -> Container:
    """The kind of container that the name of `target` asks for, made at `at`: a tar or zip file, else a folder."""
    name = target.name.lower()
    if name.endswith(".zip"):
        return _Zip(at)
    if name.endswith((".tar.gz", ".tgz")):
        return _Tar(at, "w:gz")
    return _Tar(at, "w") if name.endswith(".tar") else _Folder(at)


def private_copy(file: Path, copy: Path) -> Path:
    """A copy of a file that only its owner may read."""
    with file.open("rb") as source, private_files.create(copy) as target:
        shutil.copyfileobj(source, target)
    return copy


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the names of the user and the group on this machine."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _flush(stream: IO[bytes]) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _let_go(*opened: tarfile.TarFile | zipfile.ZipFile | IO[bytes]) -> None:
    for each in opened:
        with suppress(OSError, ValueError):  # what could not be written was said before
            each.close()


# Reading.


def read_manifest(backup: Path) -> Manifest:
    """What a backup says of itself.

    Raises:
        BackupDamaged: it is none, or its manifest cannot be read or was changed.
        NewerSchema: a newer version made it.
    """
    with _reading(backup):
        for name, size, stream in _members(backup):
            if name == MANIFEST and stream is not None:
                if size > _LARGEST_MANIFEST:
                    raise damaged(backup, "its manifest is too large")
                return _manifest(backup, stream.read(_LARGEST_MANIFEST))
    raise damaged(backup, f"it has no {MANIFEST}")


def _manifest(backup: Path, data: bytes) -> Manifest:
    if is_crowded(data):
        raise damaged(backup, "its manifest holds far more than what is in a backup")
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        raise damaged(backup, "its manifest is no JSON") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise damaged(backup, f"it does not say that it is a {FORMAT}")
    if isinstance(told.get("version"), int) and told["version"] > VERSION:
        raise NewerSchema(f"{backup} is a backup of version {told['version']}; this one reads up to {VERSION}.")
    if told.pop("checksum", None) != _checksum(told):
        raise damaged(backup, "its manifest does not fit its checksum")
    try:
        found = Manifest.model_validate(told)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise damaged(backup, f"its manifest says something odd of {ascii(where)[1:81]}") from error
    _require_sound(backup, found)
    return found


def _require_sound(backup: Path, manifest: Manifest) -> None:
    paths = [each.path for each in manifest.files]
    folders = {each.folder for each in manifest.spaces}
    wanted = {f"spaces/{folder}/{name}" for folder in folders for name in ("memory.db", "space.json")}
    odd = next((path for path in paths if not _NAME.fullmatch(path) or {".", ".."} & {*path.split("/")}), None)
    if odd is not None:
        raise damaged(backup, f"it holds {ascii(odd)[:80]}, which is no file of a memory")
    of_spaces = {path for path in paths if path.startswith("spaces/")}
    if len(set(paths)) != len(paths) or of_spaces != wanted or len(folders) != len(manifest.spaces):
        raise damaged(backup, "its manifest contradicts itself")


def unpack(backup: Path, manifest: Manifest, target: Path | None) -> None:
    """Check every file of a backup against its manifest, and write them below `target` meanwhile.

    Raises:
        BackupDamaged: a file is missing, too many, or not as it was.
    """
    wanted = {each.path: each for each in manifest.files}
    left, room = set(wanted), _room(backup)
    with _reading(backup):
        for name, size, stream in _members(backup):
            if name == MANIFEST:
                continue
            if stream is None or name not in left or size != wanted[name].bytes:
                raise damaged(backup, f"{ascii(name)[:80]} is not as its manifest says")
            room -= size
            if room < 0:
                raise damaged(backup, "it would unpack to far more than it is")
            if _taken(stream, size, None if target is None else target / name) != (size, wanted[name].blake2b):
                raise damaged(backup, f"{name} was changed since the backup was made")
            left.discard(name)
    if left:
        raise damaged(backup, f"{min(left)} is missing")


def _taken(stream: IO[bytes], size: int, target: Path | None) -> tuple[int, str]:
    if target is None:
        return _digest(stream, most=size)
    private_files.make_folder(target.parent)
    with private_files.create(target) as copy:
        found = _digest(stream, copy, most=size)
        copy.flush()
        os.fsync(copy.fileno())
    return found


def _room(backup: Path) -> int:
    """How many bytes a backup may unpack to."""
    return 1 << 62 if backup.is_dir() else max(_SMALL, backup.stat().st_size * _MOST_SHRUNK)


def _members(backup: Path) -> Iterator[tuple[str, int, IO[bytes] | None]]:
    """Name, size and bytes of each member in its order; no bytes of what is no regular file."""
    kind = _members_of_folder if backup.is_dir() else _members_of_zip if zipfile.is_zipfile(backup) else _members_of_tar
    for count, member in enumerate(kind(backup)):
        if count > _MOST_FILES:
            raise damaged(backup, f"it holds more than {_MOST_FILES:,} files")
        yield member


def _members_of_folder(backup: Path) -> Iterator[tuple[str, int, IO[bytes] | None]]:
    for folder, folders, names in os.walk(backup):
        folders.sort()
        for each in sorted(names):
            file = Path(folder) / each
            name = file.relative_to(backup).as_posix()
            if file.is_symlink() or not file.is_file():
                yield name, 0, None
            else:
                with file.open("rb") as stream:
                    yield name, os.fstat(stream.fileno()).st_size, stream


def _members_of_zip(backup: Path) -> Iterator[tuple[str, int, IO[bytes] | None]]:
    with zipfile.ZipFile(backup) as opened:
        for info in opened.infolist():
            if not info.is_dir():
                with opened.open(info) as stream:
                    yield info.filename, info.file_size, stream


def _members_of_tar(backup: Path) -> Iterator[tuple[str, int, IO[bytes] | None]]:
    with tarfile.open(backup, "r:*") as opened:
        for info in opened:
            if not info.isdir():
                yield info.name, info.size, opened.extractfile(info) if info.isreg() else None


@contextmanager
def _reading(backup: Path) -> Iterator[None]:
    """Name what goes wrong with a damaged file."""
    if not backup.exists():
        raise damaged(backup, "there is no such file or folder")
    with translated(backup):
        try:
            yield
        except MemoryTiersError:
            raise
        except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise damaged(backup, str(error) or "it is cut off") from error
        except (NotImplementedError, RuntimeError, ValueError) as error:
            raise damaged(backup, f"it cannot be unpacked ({error})") from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise damaged(backup, str(error)) from error  # such as a damaged gzip file


def damaged(backup: Path, reason: str) -> BackupDamaged:
    """The error that names a backup and what is wrong with it."""
    return BackupDamaged(f"{backup} cannot be used as a backup: {reason.rstrip('.')}.")
