"""The arguments of the tools, with the descriptions that a model reads."""

import math
import re
from typing import Annotated, Any, Literal

from langchain_core.tools import InjectedToolArg
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic.json_schema import SkipJsonSchema

_AROUND_ID = " \t\r\n[](){}<>\"'`.,;"
_BETWEEN_TAGS = re.compile(r"[,;\n\[\]\"']")


def _listed(value: Any) -> Any:
    """A list, also where a model wrote 'a, b' or '["a", "b"]' instead of one."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in _BETWEEN_TAGS.split(value) if part.strip()]


def bare(value: Any) -> Any:
    """An id or pointer without the brackets that it is shown in, None for an empty one."""
    return _present(value.strip(_AROUND_ID).lower() if isinstance(value, str) else value)


def _present(value: Any) -> Any:
    """None for an empty text: so models leave an argument out."""
    return None if isinstance(value, str) and not value.strip() else value


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _upper(value: Any) -> Any:
    return value.strip().upper() if isinstance(value, str) else value


def _layer(value: Any) -> Any:
    """The layer of memories where a model leaves it out."""
    return _upper(value) if _present(value) is not None else "L1"


Words = Annotated[str | None, BeforeValidator(_present)]
Tags = Annotated[list[str] | None, BeforeValidator(_listed)]
Id = Annotated[str, BeforeValidator(bare)]
# What `ToolNode` and `create_agent` put in; no model sees it. A tool dumps its arguments to learn their names: that
# must not copy the whole state of the graph.
Injected = Annotated[SkipJsonSchema[Any], PlainSerializer(lambda _: None), InjectedToolArg]


def _injected() -> Any:
    return Field(default=None, repr=False)


class Arguments(BaseModel):
    """What a tool takes, and nothing else: a name that it does not know would be lost without a word."""

    model_config = ConfigDict(extra="forbid")


class SaveArguments(Arguments):
    """Arguments of save_memory."""

    content: str = Field(description="One fact, as a sentence: 'The user prefers tea.'")
    category: Words = Field(default=None, description="Such as 'preferences/drinks'.")
    tags: Tags = Field(default=None, description="A few words to find it by.")
    runtime: Injected = _injected()


class SearchArguments(Arguments):
    """Arguments of search_memory."""

    query: Words = Field(default=None, description="What to look for.")
    category: Words = Field(default=None, description="Only this category and those below it.")
    tags: Tags = Field(default=None, description="Only memories that have all of these.")
    since: Words = Field(default=None, description="First day: YYYY-MM-DD.")
    until: Words = Field(default=None, description="Last day: YYYY-MM-DD.")
    layer: Annotated[Literal["L0", "L1", "L2"], BeforeValidator(_layer)] = Field(
        default="L1", description="L0: profile. L1: memories. L2: summaries."
    )
    runtime: Injected = _injected()


class UpdateArguments(Arguments):
    """Arguments of update_memory."""

    id: Id = Field(description="The memory's id, as shown in [brackets].")
    content: Words = Field(default=None, description="What it says from now on.")
    category: Words = Field(default=None, description="Its new category.")
    tags: Tags = Field(default=None, description="Its new tags, instead of all that it has.")
    runtime: Injected = _injected()


class DeleteArguments(Arguments):
    """Arguments of delete_memory."""

    id: Id = Field(description="The memory's id, as shown in [brackets].")
    runtime: Injected = _injected()


class NoArguments(Arguments):
    """Arguments of a tool that needs none."""

    runtime: Injected = _injected()


class WriteArguments(Arguments):
    """Arguments of memory_write."""

    action: Annotated[Literal["add", "update", "remove"], BeforeValidator(_lower)]
    layer: Annotated[Literal["L0", "L1"], BeforeValidator(_upper)] = Field(
        description="L0: the short profile that is always before you. L1: all other memories."
    )
    content: Words = Field(default=None, description="The new text, to add or update.")
    target_id: Words = Field(
        default=None, description="To update or remove. L1: the memory's id. L0: a section's title, or a line."
    )
    tags: Tags = Field(default=None, description="For L1: a few words to find it by.")
    runtime: Injected = _injected()


class GetArguments(Arguments):
    """Arguments of get_memory."""

    id_or_pointer: Id = Field(description="An id as shown in [brackets], or a pointer such as §W-001/R-02/D-003.")
    runtime: Injected = _injected()


class HistoryArguments(Arguments):
    """Arguments of search_history."""

    query: str = Field(description="What was said or done, in a few words.")
    since: Words = Field(default=None, description="Not said before this day: YYYY-MM-DD.")
    until: Words = Field(default=None, description="Not said after this day: YYYY-MM-DD.")
    runtime: Injected = _injected()


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
