"""Files that pictures are written to. No business logic."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from langmem_tiers.errors import InvalidInput, StorageError


def kind_of(path: Path, kinds: Sequence[str]) -> str:
    """What kind of file a name stands for.

    Raises:
        InvalidInput: for none of these.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in kinds:
        known = ", ".join(f".{each}" for each in kinds)
        raise InvalidInput(f"{path.name!a} names no kind of file that can be written.", way_out=f"End it in {known}.")
    return suffix


def save(path: Path, data: bytes) -> Path:
    """Write a file whole, or leave the one that is there.

    Raises:
        StorageError: it can not be written.
    """
    half = path.with_name(f".{path.name[:60]}.{uuid4().hex[:8]}")
    try:
        half.write_bytes(data)
        half.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(
            f"{path} can not be written: {reason}.", way_out="Name a file in a folder of yours."
        ) from error
    finally:
        with suppress(OSError):
            half.unlink(missing_ok=True)
    return path


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)
