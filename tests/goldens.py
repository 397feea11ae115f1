"""Golden files: what users see, kept in `tests/golden` and compared byte for byte.

`make golden` writes them anew; the difference is then read and committed with the change that made it.
"""

import dataclasses
import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tests import engines

FOLDER = Path(__file__).parent / "golden"
WRITES = os.environ.get("GOLDEN") == "write"
_WIDTH = 150
_ISSUED = re.compile(r"(?<![0-9a-f])a0a0[0-9a-f]{8}(?![0-9a-f])")
_SCORE = re.compile(r"(?<![\d.])0\.\d{4}(?!\d)")
# What depends on the machine, or on how the inside is made: the name stays, the value does not.
_SIZES = {"database_bytes", "chroma_bytes", "index_bytes"}
_VARYING = {"timings", *_SIZES, "log_position", "seconds", "duration", "latency_ms"}


class Ids:
    """Ids of 12 characters that count up, in place of random ones."""

    def __init__(self, start: int = 0) -> None:
        self.issued = start

    def __call__(self, size: int = 32) -> str:
        self.issued += 1
        return f"a0a0{self.issued:08x}"[-2 * size :] if size == 6 else f"{self.issued:0{2 * size}x}"


def steady_ids(monkeypatch, start: int = 0) -> None:
    """Have the product count its ids; `written` then numbers them by where they are first seen."""
    monkeypatch.setattr(secrets, "token_hex", Ids(start))
    monkeypatch.setattr(secrets, "choice", lambda signs: signs[0])


def plain(value: Any) -> Any:
    """A value as JSON can hold it: records without what is empty, numbers rounded."""
    if isinstance(value, BaseModel | Mapping) or dataclasses.is_dataclass(value):
        return _plain_items(_items(value))
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Iterable):
        found = [plain(each) for each in value]
        return sorted(found) if isinstance(value, set | frozenset) else found
    return value.isoformat() if isinstance(value, datetime | date) else str(value)


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, BaseModel):
        return value.model_dump().items()
    if isinstance(value, Mapping):
        return ((str(name), each) for name, each in value.items())
    return ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))


def _plain_items(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    kept = {name: "…" if _varies(name, each) else plain(each) for name, each in items}
    return {name: each for name, each in kept.items() if each is not None and each not in ({}, [])}


def _varies(name: str, value: Any) -> bool:
    """Whether it depends on the inside; versions of documents are positions in the change log."""
    return name in _VARYING or (name == "version" and isinstance(value, int) and value > 20)


def error(raised: BaseException) -> str:
    """The class of an error, the builtins that catch it, and its message."""
    builtin = [each.__name__ for each in type(raised).__mro__ if each.__module__ == "builtins"]
    kinds = ", ".join(each for each in builtin if each not in {"object", "BaseException", "Exception"})
    return f"{type(raised).__name__} ({kinds or 'Exception'}): {raised}"


def written(value: Any, *folders: Path) -> str:
    """A value as text, a small container to a line; ids by their order, and temporary folders by a word."""
    text = value if isinstance(value, str) else _laid_out(plain(value))
    for place, folder in enumerate(folders):
        text = text.replace(str(folder), f"FOLDER{place or ''}")
    seen: dict[str, str] = {}
    text = _ISSUED.sub(lambda found: seen.setdefault(found[0], f"id{len(seen) + 1:010d}"), text)
    return text.rstrip("\n") + "\n"


def _laid_out(value: Any, indent: str = "") -> str:
    line = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or len(indent) + len(line) <= _WIDTH:
        return line
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {_laid_out(each, inner)}" for name, each in value.items()]
    else:
        parts = [_laid_out(each, inner) for each in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(inner + part for part in parts) + "\n" + indent + closing


def _rounded_as(golden: str, text: str) -> str:
    """The text with the scores of the golden one where they are the same but for rounding.

    Chroma measures in single precision what a folder compares by itself.
    """
    scores = _SCORE.findall(golden)
    if len(scores) != len(_SCORE.findall(text)):
        return text
    each = iter(scores)
    near = ((found[0], next(each)) for found in _SCORE.finditer(text))
    taken = iter([other if abs(float(own) - float(other)) < 1.5e-4 else own for own, other in near])
    return _SCORE.sub(lambda _: next(taken), text)


def check(name: str, value: Any, *folders: Path) -> None:
    """Compare a value with the golden file of this name, or write it with `make golden`."""
    path, text = FOLDER / name, written(value, *folders)
    if WRITES:
        path.write_text(text, encoding="utf-8")
    golden = path.read_text(encoding="utf-8") if path.exists() else ""
    if engines.ENGINE != "folder":
        text = _rounded_as(golden, text)
    assert text.splitlines() == golden.splitlines(), f"{name} differs; if that is meant, `make golden` writes it anew"
