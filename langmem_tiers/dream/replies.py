"""Fields of what a model replies with, read leniently: small models give a number as text, and one thing for a list."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

MOST = 200
"""Of a list that is longer, the rest is not looked at."""

_NUMBER = re.compile(
    r"[\s\[(#]*(?:line|turn|pair|signal|correction|summary|episode|number|no\.?)?[\s\[(#:]*0*(\d{1,6})(?:\.0)?[\s\]).:]*",
    re.IGNORECASE | re.ASCII,
)
Listed = TypeVar("Listed")


def _text(given: Any) -> str:
    """A text on one line, as a database can hold it; empty for what is none."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return ""
    return " ".join(str(given).encode("utf-8", "replace").decode().split())


def _number(given: Any) -> int:
    """The number in 3, "[3]" or "line 3"; 0, which nothing has, where there is none."""
    found = _NUMBER.fullmatch(_text(given))
    return int(found[1]) if found else 0


def _several(given: Any) -> list[Any]:
    listed = given if isinstance(given, list) else [given]
    return [each for each in listed[:MOST] if each is not None and each != ""]


def _numbers(given: Any) -> list[int]:
    return list(dict.fromkeys(filter(None, map(_number, _several(given)))))


def _objects(given: Any) -> list[Any]:
    return [each for each in _several(given) if isinstance(each, dict)]


def _yes(given: Any) -> bool:
    return given is True or _text(given).casefold() in {"true", "yes", "1"}


def _bare(schema: dict[str, Any]) -> None:
    """A schema without the titles that pydantic makes of names: it goes out with each question."""
    for part in schema.get("properties", {}).values():
        part.pop("title", None)


class Told(BaseModel):
    """An object of which a model may leave parts out."""

    model_config = ConfigDict(json_schema_extra=_bare)


Words = Annotated[str, BeforeValidator(_text)]
Number = Annotated[int, BeforeValidator(_number)]
Numbers = Annotated[
    list[int], BeforeValidator(_numbers), WithJsonSchema({"type": "array", "items": {"type": "integer"}})
]
Yes = Annotated[bool, BeforeValidator(_yes)]
Objects = Annotated[list[Listed], BeforeValidator(_objects)]
