"""One call of a chat model: what goes out, and what comes back in terms of this package."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from langmem_tiers.llm.answers import Failure, Prompt
from langmem_tiers.llm.runs import run_config
from langmem_tiers.recall.tokens import estimate
from langmem_tiers.telemetry.faults import loggable, status_of
from langmem_tiers.telemetry.logs import without_quotes

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

# Of an error's message, what goes into a reason.
_MESSAGE = 200
_PAUSE = 1.0

_CUT_OFF = frozenset({"length", "max_tokens"})
_FILTERED = frozenset({"content_filter", "refusal", "safety"})
_BUSY = re.compile(
    r"rate.?limit|too many requests|overloaded|internal.?server|service.?unavailable|resource.?exhausted", re.IGNORECASE
)
# What providers say to a request with tools or a response format that they do not have.
_UNSUPPORTED = frozenset({400, 404, 405, 415, 422, 501})
_AT_FAULT = frozenset(range(500, 600)) - _UNSUPPORTED


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request; `sent` is all the text of it, `pause` the seconds to wait before."""

    model: Runnable[Any, Any]
    prompt: Prompt
    sent: str
    pause: float = 0.0

    def made(self, source: str, callbacks: Any = None) -> Reply | Failed:
        """What the provider gives; nothing that its client raises comes through."""
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

    def _counted(self, reply: Reply) -> Reply:
        """The reply with an estimate where the provider does not tell."""
        made = reply.output_tokens or estimate(reply.text + "".join(map(str, reply.objects)))
        told = reply.output_tokens > 0
        return replace(reply, input_tokens=reply.input_tokens or estimate(self.sent), output_tokens=made, told=told)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a model said: `objects` by structured output, `text` in words. Tokens are 0 where a provider tells none."""

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
    """A call that brought no reply.

    `retry_after` says in how many seconds another attempt makes sense, None that none does at once; `unsupported` that
    the provider may have refused the form of the request; not `answered` that nobody waits any more for what it does.
    `raised` is the class of the error behind it, `loggable` what a log may say of that: the reason may quote.
    """

    failure: Failure
    reason: str
    retry_after: float | None = None
    unsupported: bool = False
    answered: bool = True
    raised: str = ""
    loggable: str = ""


def _reply(result: Any) -> Reply:
    wrapped = isinstance(result, Mapping) and "raw" in result
    message = result["raw"] if wrapped else result
    parsed = result.get("parsed") if wrapped else None
    counted = getattr(message, "usage_metadata", None) or {}
    ended = _how_it_ended(message)
    return Reply(
        text=_text(message),
        objects=_called(message) or (() if parsed is None else (parsed,)),
        refusal=_refusal(message, result.get("parsing_error") if wrapped else None, ended),
        cut_off=ended in _CUT_OFF,
        input_tokens=_number(counted.get("input_tokens")),
        output_tokens=_number(counted.get("output_tokens")),
    )


def _unparsed(error: BaseException) -> Reply | None:
    """The reply behind an error of a client that parses replies itself, and raises when it can not."""
    from langchain_core.exceptions import OutputParserException

    if isinstance(error, ValidationError):
        given = error.errors(include_url=False, include_context=False)[0]["input"]
        return Reply(text=given if isinstance(given, str) else _json(given))
    if isinstance(error, OutputParserException):
        return Reply(text=error.llm_output or str(error))
    # OpenAI's client carries the reply in the error where it was cut off or filtered.
    completion = getattr(error, "completion", None)
    return _completed(completion) if getattr(completion, "choices", None) else None


def _completed(completion: Any) -> Reply:
    choice, counted = completion.choices[0], completion.usage
    return Reply(
        text=choice.message.content or "",
        refusal=choice.finish_reason if choice.finish_reason in _FILTERED else "",
        cut_off=choice.finish_reason in _CUT_OFF,
        input_tokens=_number(getattr(counted, "prompt_tokens", None)),
        output_tokens=_number(getattr(counted, "completion_tokens", None)),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _called(message: Any) -> tuple[object, ...]:
    return tuple(call["args"] for call in getattr(message, "tool_calls", None) or ())


def _text(message: Any) -> str:
    """What was said in words; the arguments of a call that could not be parsed are words too."""
    if isinstance(message, str):
        return message
    broken = [call.get("args") or "" for call in getattr(message, "invalid_tool_calls", None) or ()]
    return broken[0] if broken else str(getattr(message, "text", "") or "")


def _how_it_ended(message: Any) -> str:
    about = getattr(message, "response_metadata", None) or {}
    ended = about.get("finish_reason") or about.get("stop_reason") or about.get("done_reason") or ""
    return str(ended).lower()


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
    """The seconds a provider asks for, or one."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, TypeError, ValueError):
        return _PAUSE
