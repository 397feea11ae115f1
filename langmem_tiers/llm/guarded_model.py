"""The chat model of a memory as the background sees it: limited in length, and left in peace when it fails."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from langmem_tiers.errors import InvalidSettings
from langmem_tiers.llm.breaker import Breaker
from langmem_tiers.telemetry.figures import provider_of
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    from langmem_tiers.settings import ModelSettings

log = logging.getLogger(__name__)

# What providers' classes call their name, and the length of a reply.
_NAMES = ("model_name", "model", "model_id", "deployment_name")
_LENGTHS = ("max_tokens", "max_output_tokens", "num_predict")
# Of a model that thinks first, the thoughts count as well.
_ROOM_FOR_THOUGHTS = 4


class GuardedModel:
    """One for a model in a process: knows whether it fails now, and which schemas it can not be given."""

    def __init__(self, model: BaseChatModel, settings: ModelSettings) -> None:
        self._model = model
        self.name = model_name(model)
        self.provider = provider_of(model)
        self.breaker = Breaker(settings.failures, settings.rest_seconds)
        self._in_words: set[str] = set()

    def longest(self, tokens: int) -> int:
        """Most tokens that a reply of so many may take."""
        profile = getattr(self._model, "profile", None) or {}
        return tokens * _ROOM_FOR_THOUGHTS if profile.get("reasoning_output") else tokens

    def plain(self, tokens: int) -> Runnable[Any, Any]:
        """The model, for a reply in words."""
        return self._limited(tokens)

    def structured(self, schema: type[BaseModel], tokens: int) -> Runnable[Any, Any] | None:
        """The model, made to reply with an object; None where it can not be, or did not when it was asked so."""
        if _key(schema) in self._in_words:
            return None
        try:
            return self._limited(tokens).with_structured_output(schema, include_raw=True)  # type: ignore[attr-defined, no-any-return]
        except Exception as error:  # noqa: BLE001 - there are as many ways to say this as there are providers
            say(log, logging.DEBUG, "structured_output_missing", model=self.name, error=error)
            self.ask_in_words(schema)
            return None

    def ask_in_words(self, schema: type[BaseModel]) -> None:
        """Note that structured output does not work for this schema."""
        self._in_words.add(_key(schema))

    def _limited(self, tokens: int) -> Runnable[Any, Any]:
        """The model with a limit to its replies, where its class has one and nothing tighter is set."""
        if getattr(self._model, "thinking", None):
            return self._model  # has a limit for its thoughts that must be below the one for all
        most = self.longest(tokens)
        for name in _LENGTHS:
            if name in getattr(type(self._model), "model_fields", ()):
                chosen = getattr(self._model, name)
                tight = isinstance(chosen, int) and 0 < chosen <= most
                return self._model if tight else self._model.model_copy(update={name: most})
        return self._model


def guarded(model: BaseChatModel | GuardedModel, settings: ModelSettings) -> GuardedModel:
    """The chat model that is meant; one that is guarded already stays as it is.

    Raises:
        InvalidSettings: it is no chat model.
    """
    if isinstance(model, GuardedModel):
        return model
    # By what it can do: importing its class would cost a tenth of a second. A class has the method too.
    if isinstance(model, type) or not callable(getattr(model, "invoke", None)):
        raise InvalidSettings(f"{model!r} is no chat model.", way_out="Give a LangChain chat model, or None.")
    return GuardedModel(model, settings)


def model_name(model: object) -> str:
    """What a model calls itself, else the name of its class."""
    inner = getattr(model, "bound", model)  # of a model with options bound to it
    names = (getattr(inner, name, None) for name in _NAMES)
    return next((name for name in names if isinstance(name, str) and name), type(inner).__name__)


def _key(schema: type[BaseModel]) -> str:
    return f"{schema.__module__}.{schema.__qualname__}"
