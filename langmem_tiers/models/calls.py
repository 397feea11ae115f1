"""One call of a chat model: the prompt, the request that goes out, and what comes back."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from langmem_tiers.models.provider_errors import loggable, status_of, without_quotes
from langmem_tiers.models.tokens import estimate

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManager
    from langchain_core.runnables import Runnable, RunnableConfig

T = TypeVar("T", bound=BaseModel)

Failure = Literal["budget", "resting", "timeout", "error", "refused", "empty", "invalid"]
"""Why there is no value: first those that pass by themselves, then what the model did with this question."""

_PASSING: frozenset[Failure] = frozenset({"budget", "resting", "timeout", "error"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """What a model is told and asked; `example` shows one without structured output what a good reply looks like."""

    system: str
    user: str
    example: BaseModel | None = None


@dataclass(frozen=True, slots=True)
class UnclearReply:
    """A reply without a usable object, and why."""

    reason: str
    failure: Failure = "invalid"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelAnswer(Generic[T]):
    """The requested object, or None with the `failure` and a `reason` that begins with it; and the usage.

    Tokens are the provider's count, or an estimate if it gives none. `raised` is the class of the error behind a
    failure, if there was one.
    """

    value: T | None = None
    failure: Failure | None = None
    reason: str = ""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    raised: str = ""

    @property
    def temporary(self) -> bool:
        """Whether retrying later may help: the model was not reached, or must not be asked now."""
        return self.failure in _PASSING


# LangGraph's tag for a model whose tokens are not part of the agent's stream.
_NOT_STREAMED = "nostream"


def run_config(source: str, callbacks: Any = None) -> RunnableConfig:
    """The config of a question booked under `source`, as a child of the run that the callbacks belong to."""
    named: RunnableConfig = {
        "run_name": source,
        "tags": ["langmem-tiers", "memory", source, _NOT_STREAMED],
        "metadata": {"memory_step": "ask", "memory_source": source},
    }
    return named if callbacks is None else {**named, "callbacks": callbacks}


def parents() -> CallbackManager | None:
    """The callbacks of the current LangChain run, None outside of one.

    Streaming callbacks are left out: to users, the memory's questions would look like the agent's reply. So are
    asynchronous ones: a question runs in a thread of its own, away from the loop that they belong to.
    """
    config = sys.modules.get("langchain_core.runnables.config")
    if config is None:
        return None
    given = (config.var_child_runnable_config.get() or {}).get("callbacks")
    parent = getattr(given, "parent_run_id", None)
    return None if parent is None else _without_streams(given)


def _without_streams(given: Any) -> CallbackManager:
    from langchain_core.callbacks import AsyncCallbackHandler, CallbackManager

    def tells(handler: Any) -> bool:
        # By the names of their marker classes, which are private to LangChain.
        streams = any("StreamingCallbackHandler" in kind.__name__ for kind in type(handler).__mro__)
        return not streams and not isinstance(handler, AsyncCallbackHandler)

    handlers = [handler for handler in given.inheritable_handlers if tells(handler)]
    return CallbackManager(
        handlers,
        list(handlers),
        given.parent_run_id,
        inheritable_tags=list(given.inheritable_tags),
        inheritable_metadata=dict(given.inheritable_metadata),
    )


# How much of an error's message goes into a reason.
_MESSAGE = 200
_PAUSE = 1.0

_CUT_OFF = frozenset({"length", "max_tokens"})
_FILTERED = frozenset({"content_filter", "refusal", "safety"})
_BUSY = re.compile(
    r"rate.?limit|too many requests|overloaded|internal.?server|service.?unavailable|resource.?exhausted", re.IGNORECASE
)
# Providers' messages about requests with tools or a response format that they do not support.
_UNSUPPORTED = frozenset({400, 404, 405, 415, 422, 501})
_AT_FAULT = frozenset(range(500, 600)) - _UNSUPPORTED


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request; `sent` is its entire text, `pause` the seconds to wait first."""

    model: Runnable[Any, Any]
    prompt: Prompt
    sent: str
    pause: float = 0.0

    def made(self, source: str, callbacks: Any = None) -> ModelReply | Failed:
        """Make the call; errors of the provider's client are returned, never raised."""
        from langchain_core.messages import HumanMessage, SystemMessage

        named = run_config(source, callbacks)
        messages = [SystemMessage(self.prompt.system), HumanMessage(self.prompt.user)]
        try:
            return self._counted(_reply(self.model.invoke(messages, named)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - clients raise what they like
            reply = _unparsed(error)
            return _failed(error, self.prompt) if reply is None else self._counted(reply)

    def _counted(self, reply: ModelReply) -> ModelReply:
        """The reply, with an estimate of the tokens if the provider gives no count."""
        made = reply.output_tokens or estimate(reply.text + "".join(map(str, reply.objects)))
        told = reply.output_tokens > 0
        return replace(reply, input_tokens=reply.input_tokens or estimate(self.sent), output_tokens=made, told=told)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReply:
    """A model's reply: `objects` from structured output, or `text`. Tokens are 0 if the provider gives no count."""

    text: str = ""
    objects: tuple[object, ...] = ()
    refusal: str = ""
    cut_off: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    told: bool = False
    """Whether the provider says how long it is; else that is an estimate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """A call without a reply.

    `retry_after` says in how many seconds another attempt makes sense, None if none does soon; `unsupported` that
    the provider may have rejected the form of the request; `answered` is False if the call was given up while running.
    `raised` is the class of the error behind it, `loggable` what a log may say about that: the reason may quote.
    """

    failure: Failure
    reason: str
    retry_after: float | None = None
    unsupported: bool = False
    answered: bool = True
    raised: str = ""
    loggable: str = ""


def _reply(result: Any) -> ModelReply:
    wrapped = isinstance(result, Mapping) and "raw" in result
    message = result["raw"] if wrapped else result
    parsed = result.get("parsed") if wrapped else None
    called = tuple(call["args"] for call in getattr(message, "tool_calls", None) or ())
    counted = getattr(message, "usage_metadata", None) or {}
    about = getattr(message, "response_metadata", None) or {}
    ended = str(about.get("finish_reason") or about.get("stop_reason") or about.get("done_reason") or "").lower()
    return ModelReply(
        text=_text(message),
        objects=called or (() if parsed is None else (parsed,)),
        refusal=_refusal(message, result.get("parsing_error") if wrapped else None, ended),
        cut_off=ended in _CUT_OFF,
        input_tokens=_number(counted.get("input_tokens")),
        output_tokens=_number(counted.get("output_tokens")),
    )


def _unparsed(error: BaseException) -> ModelReply | None:
    """The reply behind an error of a client that parses replies itself, and raises if it cannot."""
    from langchain_core.exceptions import OutputParserException

    if isinstance(error, ValidationError):
        given = error.errors(include_url=False, include_context=False)[0]["input"]
        return ModelReply(text=given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str))
    if isinstance(error, OutputParserException):
        return ModelReply(text=error.llm_output or str(error))
    # OpenAI's client puts the reply into the error if it was cut off or filtered.
    completion: Any = getattr(error, "completion", None)
    if not getattr(completion, "choices", None):
        return None
    choice, counted = completion.choices[0], completion.usage
    return ModelReply(
        text=choice.message.content or "",
        refusal=choice.finish_reason if choice.finish_reason in _FILTERED else "",
        cut_off=choice.finish_reason in _CUT_OFF,
        input_tokens=_number(getattr(counted, "prompt_tokens", None)),
        output_tokens=_number(getattr(counted, "completion_tokens", None)),
    )


def _text(message: Any) -> str:
    """The text of a reply, including the arguments of a tool call that could not be parsed."""
    if isinstance(message, str):
        return message
    broken = [call.get("args") or "" for call in getattr(message, "invalid_tool_calls", None) or ()]
    return broken[0] if broken else str(getattr(message, "text", "") or "")


def _refusal(message: Any, parsing_error: BaseException | None, ended: str) -> str:
    if told := (getattr(message, "additional_kwargs", None) or {}).get("refusal"):
        return str(told)[:_MESSAGE]
    if parsing_error is not None and "Refusal" in type(parsing_error).__name__:
        return str(parsing_error)[:_MESSAGE]
    return ended if ended in _FILTERED else ""


def _number(told: object) -> int:
    return told if isinstance(told, int) and told > 0 else 0


def _failed(error: BaseException, prompt: Prompt) -> Failed:
    name, status = type(error).__name__, status_of(error)
    busy = status == 429 or (status or 0) in _AT_FAULT or bool(_BUSY.search(f"{name} {error}"))
    return Failed(
        failure="timeout" if "Timeout" in name else "error",
        reason=without_quotes(error, (prompt.user,), _MESSAGE),
        retry_after=_retry_after(error) if busy else None,
        unsupported=status in _UNSUPPORTED or isinstance(error, NotImplementedError | TypeError | ValueError),
        raised=name,
        loggable=loggable(error),
    )


def _retry_after(error: BaseException) -> float:
    """The seconds that a provider asks to wait, or one."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, TypeError, ValueError):
        return _PAUSE
