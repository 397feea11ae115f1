"""The unused room in the files of Chroma's HNSW index, which holds whatever was in the memory of the process before.

hnswlib allocates room for more vectors than there are. At first it writes all of it to `data_level0.bin` and
`length.bin`, without having cleared it: parts of texts and vectors of the process end up there, deleted ones too.
"""

from __future__ import annotations

import logging
import os
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

from langmem_tiers.storage.errors_border import translated
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

# The beginning of header.bin: version, offset, elements there is room for, elements there are, bytes of each.
_HEADER = struct.Struct("<iQQQQ")
_VERSION = 1
_VECTORS, _LENGTHS = "data_level0.bin", "length.bin"
_LENGTH = 4  # bytes
_PART = 1 << 20


class _Header(NamedTuple):
    version: int
    offset: int
    room: int
    held: int
    size: int


def blank_unused(folder: Path) -> None:
    """Overwrite the unused room of every index in a Chroma folder with zeros.

    It is not read by anybody, so Chroma may have the folder open.
    """
    for path in sorted(folder.glob(f"*/{_VECTORS}")):
        with translated(path):
            header = _read(path.parent)
            held, room = (0, 0) if header is None else (header.held * header.size, header.room * header.size)
            if header is None or path.stat().st_size not in (held, room):
                say(log, logging.WARNING, "index_not_blanked", file=path)
                continue
            _blank(path, held)
            _blank(path.with_name(_LENGTHS), header.held * _LENGTH)


def sizes(folder: Path) -> tuple[int, ...]:
    """The sizes of the files of all indexes: they change when one gets more room."""
    return tuple(path.stat().st_size for path in sorted(folder.glob(f"*/{_VECTORS}")))


def _read(folder: Path) -> _Header | None:
    stored = (folder / "header.bin").read_bytes()[: _HEADER.size]
    header = _Header(*_HEADER.unpack(stored)) if len(stored) == _HEADER.size else None
    return header if header is not None and header.version == _VERSION else None


def _blank(path: Path, start: int) -> None:
    """Overwrite a file with zeros from a place on."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        for place in range(start, end, _PART):
            _blank_part(file, place, min(_PART, end - place))
        file.flush()
        os.fsync(file.fileno())


def _blank_part(file: BinaryIO, place: int, length: int) -> None:
    file.seek(place)
    if any(file.read(length)):
        file.seek(place)
        file.write(bytes(length))
