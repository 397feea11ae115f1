"""What a model may say to the tools for the knowledge graph."""

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from langmem_tiers.integrations.tools.arguments import Arguments, Id, Injected, Words

_AROUND_NAME = " \t\r\n[]\"'`"
_LONGEST_NUMBER = 100


def _name(value: Any) -> Any:
    """A name or an id without the brackets and quotes that a model may put around it, None for an empty one."""
    return (value.strip(_AROUND_NAME) or None) if isinstance(value, str) else value


def _value(value: Any) -> Any:
    """A value as text, None for an empty one: models write 20 and "20"."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no value; give a finite number")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)[:_LONGEST_NUMBER]
    return None if isinstance(value, str) and not value.strip() else value


def _depth(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


Name = Annotated[str | None, BeforeValidator(_name)]
Value = Annotated[str | None, BeforeValidator(_value)]
Depth = Annotated[int | None, BeforeValidator(_depth)]


class GraphSearchArguments(Arguments):
    """Arguments of knowledge_graph_search."""

    query: Words = Field(default=None, description="What you want to know, with the names in it.")
    entity: Name = Field(default=None, description="A name or id to look around, such as 'Anna' or 'user'.")
    as_of: Words = Field(default=None, description="What held then: YYYY, YYYY-MM or YYYY-MM-DD. Default: now.")
    depth: Depth = Field(default=None, description="Steps from it: 1, or 2 for what those relate to.")
    runtime: Injected = Field(default=None, repr=False)


class TimelineArguments(Arguments):
    """Arguments of entity_timeline."""

    entity: Annotated[str, BeforeValidator(_name)] = Field(description="A name or id, such as 'Anna' or 'user'.")
    runtime: Injected = Field(default=None, repr=False)


class AddRelationArguments(Arguments):
    """Arguments of add_relation."""

    subject: Annotated[str, BeforeValidator(_name)] = Field(description="A name, or 'user'.")
    predicate: str = Field(description="Such as 'lives in' or 'has battery'.")
    object: Name = Field(default=None, description="A name; or give value.")
    value: Value = Field(default=None, description="Such as 20.")
    unit: Words = Field(default=None, description="Such as Ah.")
    valid_from: Words = Field(default=None, description="YYYY, YYYY-MM or YYYY-MM-DD, if known.")
    valid_to: Words = Field(default=None, description="First day it holds no more.")
    runtime: Injected = Field(default=None, repr=False)


class EndRelationArguments(Arguments):
    """Arguments of end_relation."""

    relation_id: Id = Field(description="The relation's id, as shown in [brackets].")
    at: Words = Field(default=None, description="The first day it holds no more: YYYY-MM-DD. Default: now.")
    runtime: Injected = Field(default=None, repr=False)
