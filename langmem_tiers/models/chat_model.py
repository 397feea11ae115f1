"""The memory's chat model as the background uses it: replies are limited, and failures cause a pause."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from langmem_tiers.errors import InvalidSettings
from langmem_tiers.models.rest import Rest
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    from langmem_tiers.settings import ModelSettings

log = logging.getLogger(__name__)

_LONGEST_REST = 3600.0  # seconds

# Attributes that providers' classes use for the model's name and the length of a reply.
_NAMES = ("model_name", "model", "model_id", "deployment_name")
_LENGTHS = ("max_tokens", "max_output_tokens", "num_predict")
# For a reasoning model, its thoughts count as well.
_ROOM_FOR_THOUGHTS = 4

# Provider names in OpenTelemetry's conventions, by the package of the LangChain client.
_PROVIDERS = {"google_genai": "gcp.gemini", "google_vertexai": "gcp.vertex_ai", "aws": "aws.bedrock"}


class GuardedModel:
    """One per model and process: knows whether it is failing, and which schemas it does not support."""

    def __init__(self, model: BaseChatModel, settings: ModelSettings) -> None:
        self._model = model
        self.name = model_name(model)
        package = type(model).__module__.partition(".")[0].removeprefix("langchain_")
        self.provider = _PROVIDERS.get(package, package)
        self.rest = Rest(settings.rest_seconds, _LONGEST_REST, settings.failures)
        self._in_words: set[str] = set()

    def failed(self, now: datetime, reason: str, loggable: str) -> None:
        """Record a failure: one warning per series, with the reason in a form that may be logged."""
        level = self.rest.failed(now.timestamp(), reason)
        left = round(self.rest.left(now.timestamp()))
        say(log, level, "model_unavailable", work="without_model", rest=left or None, reason=loggable or reason)

    def works(self) -> None:
        """Record a reply."""
        if failures := self.rest.works():
            say(log, logging.INFO, "model_available", failures=failures)

    def longest(self, tokens: int) -> int:
        """The maximum tokens that a reply of this length may use."""
        profile = getattr(self._model, "profile", None) or {}
        return tokens * _ROOM_FOR_THOUGHTS if profile.get("reasoning_output") else tokens

    def structured(self, schema: type[BaseModel], tokens: int) -> Runnable[Any, Any] | None:
        """The model with structured output; None if it does not support that, or ignored it before."""
        if _key(schema) in self._in_words:
            return None
        try:
            answering: Runnable[Any, Any] = self.limited(tokens).with_structured_output(schema, include_raw=True)  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - there are as many ways to say this as there are providers
            say(log, logging.DEBUG, "structured_output_missing", model=self.name, error=error)
            self.ask_in_words(schema)
            return None
        return _in_one_thread(answering)

    def ask_in_words(self, schema: type[BaseModel]) -> None:
        """Remember that structured output does not work for this schema."""
        self._in_words.add(_key(schema))

    def limited(self, tokens: int) -> Runnable[Any, Any]:
        """The model with a limit on its replies, if its class supports one and no tighter one is set."""
        if getattr(self._model, "thinking", None):
            return self._model  # has a limit for its thoughts that must be below the total
        most = self.longest(tokens)
        for name in _LENGTHS:
            if name in getattr(type(self._model), "model_fields", ()):
                chosen = getattr(self._model, name)
                tight = isinstance(chosen, int) and 0 < chosen <= most
                return self._model if tight else self._model.model_copy(update={name: most})
        return self._model


def guarded(model: BaseChatModel | GuardedModel, settings: ModelSettings) -> GuardedModel:
    """The guarded chat model; one that is guarded already is returned as it is.

    Raises:
        InvalidSettings: it is not a chat model.
    """
    if isinstance(model, GuardedModel):
        return model
    # By its methods: importing its class would cost a tenth of a second. A class has the method too.
    if isinstance(model, type) or not callable(getattr(model, "invoke", None)):
        raise InvalidSettings(f"{model!r} is not a chat model.", way_out="Give a LangChain chat model, or None.")
    return GuardedModel(model, settings)


def model_name(model: object) -> str:
    """The model's own name, or else the name of its class."""
    inner = getattr(model, "bound", model)  # a model with options bound to it
    names = (getattr(inner, name, None) for name in _NAMES)
    return next((name for name in names if isinstance(name, str) and name), type(inner).__name__)


def _in_one_thread(answering: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The same, with the model called in the thread that asks: exit waits for those that LangChain takes for it."""
    from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnableSequence

    first = getattr(answering, "first", None)
    if not (isinstance(answering, RunnableSequence) and isinstance(first, RunnableParallel)):
        return answering
    asking = first.steps__

    def ask(messages: Any, config: Any) -> dict[str, Any]:
        return {name: step.invoke(messages, config) for name, step in asking.items()}

    return RunnableSequence(RunnableLambda(ask, name=first.get_name()), *answering.steps[1:])


def _key(schema: type[BaseModel]) -> str:
    return f"{schema.__module__}.{schema.__qualname__}"
