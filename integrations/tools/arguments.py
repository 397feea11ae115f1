"""What a model may say to each tool: small models read the descriptions, so they are short, and slips are forgiven."""

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
