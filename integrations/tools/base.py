"""What all memory tools share: finding the memory, answering in both colours, and telling errors to the model."""

import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, Field

from langmem_tiers.errors import MemoryClosed, MemoryTiersError, MissingUser, StorageError
from langmem_tiers.graphs.runs import TAGS
from langmem_tiers.integrations.tools import lines
from langmem_tiers.integrations.tools.arguments import Injected
from langmem_tiers.integrations.tools.calls import Call, Reach
from langmem_tiers.integrations.tools.telling import told
from langmem_tiers.telemetry.logs import say

logger = logging.getLogger(__name__)

_FAULTS_SHOWN = 5
_NAME_SHOWN = 40
# What whoever runs the program should see; slips of a model are part of the day.
_FAULTS = (MissingUser, MemoryClosed, StorageError)


class Answer(NamedTuple):
    """What the model reads, and the same for code, as plain JSON."""

    text: str
    artifact: Mapping[str, Any]


def _invalid(known: Sequence[str], error: Any) -> str:
    """Which arguments are wrong and how, without repeating them: they may be of any size."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)[:_FAULTS_SHOWN]
    named = "; ".join(_fault(known, fault) for fault in faults)
    return f"Not done: {lines.plain(named)}. Correct the arguments and call again."


def _fault(known: Sequence[str], fault: Mapping[str, Any]) -> str:
    where = ".".join(str(part)[:_NAME_SHOWN] for part in fault["loc"]) or "arguments"
    if fault["type"] != "extra_forbidden":
        return f"{where}: {fault['msg']}"
    return f"{where}: there is no such argument, there " + (f"are {', '.join(known)}" if known else "are none")


class MemoryTool(BaseTool):
    """A tool over a memory, for sync and async agents, `ToolNode`, LCEL and use alone.

    Errors of the memory and of the arguments come back to the model as messages that say what to do.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True
    handle_validation_error: Any = True
    tags: list[str] | None = Field(default_factory=lambda: [*TAGS, "tool"])
    metadata: dict[str, Any] | None = Field(default_factory=lambda: {"memory_step": "tool"})
    reach: Reach = Field(exclude=True, repr=False)

    def model_post_init(self, context: Any, /) -> None:
        """Have wrong arguments answered with those that there are."""
        super().model_post_init(context)
        schema: Any = self.args_schema
        self.handle_validation_error = partial(_invalid, [name for name in schema.model_fields if name != "runtime"])

    @abstractmethod
    def _answer(self, call: Call, given: Any) -> Answer:
        """What this tool is for; `given` are its arguments."""

    def _run(self, *first: str, config: RunnableConfig, runtime: Injected = None, **given: Any) -> tuple[str, Any]:
        arguments = self._arguments(first, given)
        try:
            answer = self._answer(self.reach(config, runtime), arguments)
        except MemoryTiersError as error:
            level = logging.WARNING if isinstance(error, _FAULTS) else logging.INFO
            say(logger, level, "memory_tool_refused", tool=self.name, error=error, reason=error)
            raise ToolException(told(error)) from error
        return answer.text, dict(answer.artifact)

    def _arguments(self, first: tuple[str, ...], given: dict[str, Any]) -> BaseModel:
        """The arguments as one object; a bare text is the first of them."""
        schema: Any = self.args_schema
        named = dict(zip(schema.model_fields, first, strict=False))
        arguments: BaseModel = schema.model_validate(named | given)
        return arguments
