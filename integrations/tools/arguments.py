"""What the arguments of the tools may be: models leave them out, quote them and write numbers for texts."""

import inspect
import json
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, get_type_hints

from langchain_core.tools import InjectedToolArg
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema, create_model
from pydantic.json_schema import SkipJsonSchema

from langmem_tiers.trust.secrets import mask

_AROUND_ID = " \t\r\n[](){}<>\"'`.,;"
_AROUND_NAME = " \t\r\n[]\"'`"
_BETWEEN_TAGS = re.compile(r"[,;\n\[\]\"']")
_LONGEST_NUMBER = 100


def _present(value: Any) -> Any:
    """None for an empty text: so models leave an argument out."""
    return None if isinstance(value, str) and not value.strip() else value


def _listed(value: Any) -> Any:
    """A list, also where a model wrote 'a, b' or '["a", "b"]' instead of one."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in _BETWEEN_TAGS.split(value) if part.strip()]


def bare(value: Any) -> Any:
    """An id or pointer without the brackets that it is shown in, None for an empty one."""
    if not isinstance(value, str):
        return value
    # Names of spaces differ by their case, ids do not. In small letters, no answer could tell that it quotes a secret.
    name, at, space = mask(value.strip(_AROUND_ID)).partition("@")
    return _present(f"{name.lower()}{at}{space}")


def _name(value: Any) -> Any:
    """A name or an id without the brackets and quotes that a model may put around it, None for an empty one."""
    return (value.strip(_AROUND_NAME) or None) if isinstance(value, str) else value


def _value(value: Any) -> Any:
    """A value as text, None for an empty one: models write 20 and "20"."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a value; give a finite number")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)[:_LONGEST_NUMBER]
    return _present(value)


def _data(value: Any) -> Any:
    """A text; what a model hands over as JSON instead is written as such."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _upper(value: Any) -> Any:
    return value.strip().upper() if isinstance(value, str) else value


# What may be left out says only what it is else, since every call of a model pays for the schema; null is taken, too.
_TEXT = WithJsonSchema({"type": "string"})
Words = Annotated[str | None, BeforeValidator(_present), _TEXT]
Tags = Annotated[
    list[str] | None, BeforeValidator(_listed), WithJsonSchema({"type": "array", "items": {"type": "string"}})
]
Id = Annotated[str, BeforeValidator(bare)]
Name = Annotated[str | None, BeforeValidator(_name), _TEXT]
Named = Annotated[str, BeforeValidator(_name)]
Value = Annotated[str | None, BeforeValidator(_value)]
Data = Annotated[str, BeforeValidator(_data)]
Minutes = Annotated[float | None, BeforeValidator(_present)]
Depth = Annotated[int | None, BeforeValidator(_present)]
Number = Annotated[
    Annotated[int, Field(ge=0)] | None, BeforeValidator(_present), WithJsonSchema({"type": "integer", "minimum": 0})
]
LOWER, UPPER = BeforeValidator(_lower), BeforeValidator(_upper)
# L1 where a model leaves the layer out.
LAYER = BeforeValidator(lambda value: _upper(value) if _present(value) is not None else "L1")
# What `ToolNode` and `create_agent` put in; no model sees it. A tool dumps its arguments to learn their names: that
# must not copy the whole state of the graph.
Injected = Annotated[SkipJsonSchema[Any], PlainSerializer(lambda _: None), InjectedToolArg]


class Arguments(BaseModel):
    """What a tool takes, and nothing else: a name that it does not know would be lost without a word."""

    model_config = ConfigDict(extra="forbid")


@cache
def arguments_of(tool: Callable[..., Any]) -> type[Arguments]:
    """The arguments that a function takes behind its first one, with the descriptions that a model reads."""
    hints = get_type_hints(tool, include_extras=True)
    _, *parameters = inspect.signature(tool).parameters.values()
    fields: dict[str, Any] = {
        each.name: (hints[each.name], ... if each.default is inspect.Parameter.empty else each.default)
        for each in parameters
    }
    fields["runtime"] = (Injected, Field(default=None, repr=False))  # a bare text is taken for the first field
    return create_model(f"{tool.__name__}_arguments", __base__=Arguments, __module__=__name__, **fields)


def names_of(schema: type[Arguments]) -> list[str]:
    """The names of the arguments, without what hosts put in."""
    return [name for name in schema.model_fields if name != "runtime"]
