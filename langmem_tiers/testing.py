"""Doubles for tests of agents with memory: a clock that stands still, an embedder and a chat model without a network.

They are deterministic: the same texts, scripts and ticks give the same results in every process.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr

from langmem_tiers.clock import require_aware

__all__ = ["FrozenClock", "HashEmbedder", "ScriptedChatModel"]

Response = str | AIMessage | Exception | Callable[[list[BaseMessage]], str | AIMessage]


class FrozenClock:
    """A clock that stands still until it is told to move.

    Example:
        >>> from datetime import UTC, datetime
        >>> clock = FrozenClock(datetime(2024, 5, 8, tzinfo=UTC))
        >>> clock.tick(90).isoformat()
        '2024-05-08T00:01:30+00:00'
    """

    def __init__(self, start: datetime) -> None:
        self._now = require_aware(start)

    def __call__(self) -> datetime:
        """The moment it stands at, in UTC."""
        return self._now

    def tick(self, seconds: float = 1) -> datetime:
        """Move by so many seconds, back if negative; returns the new moment."""
        self._now += timedelta(seconds=seconds)
        return self._now


_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)$")
_COMMON_WORDS = """
    a an and are as at be by did do does for from had has have i in is it me my of on or that the to was were what
    when where which who with you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


class HashEmbedder(Embeddings):
    """LangChain `Embeddings` that need no model: texts with common words are similar, others nearly orthogonal.

    A text's vector is the sum of one pseudo-random vector for each of its words, without case, endings and very
    common words. `documents_embedded` and `queries_embedded` count texts. While `outage` is set, it is raised instead.
    """

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension
        self.model = f"hash-{dimension}"
        self.documents_embedded = 0
        self.queries_embedded = 0
        self.outage: Exception | None = None
        self._lock = Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text, at length 1; zeros for a text without words."""
        self._count(documents=len(texts))
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of `text`, at length 1; zeros for a text without words."""
        self._count(queries=1)
        return self._embed(text)

    def _count(self, *, documents: int = 0, queries: int = 0) -> None:
        if self.outage is not None:
            raise self.outage
        with self._lock:
            self.documents_embedded += documents
            self.queries_embedded += queries

    def _embed(self, text: str) -> list[float]:
        total = np.zeros(self.dimension)
        for word in _words(text):
            total += _word_vector(word, self.dimension)
        numbers: list[float] = (total / (np.linalg.norm(total) or 1)).tolist()
        return numbers


def _words(text: str) -> list[str]:
    words = [_ENDING.sub("", word) for word in _WORD.findall(text.lower()) if word not in _COMMON]
    return words or _WORD.findall(text.lower())


@cache
def _word_vector(word: str, dimension: int) -> NDArray[np.float64]:
    """A vector of +1 and -1, derived from the word's hash: the same in every process, unlike `hash`."""
    blocks = (
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), salt=block.to_bytes(16, "big")).digest()
        for block in range(-(-dimension // 512))
    )
    bits = np.unpackbits(np.frombuffer(b"".join(blocks), dtype=np.uint8))[:dimension]
    return np.where(bits == 1, 1.0, -1.0)


class ScriptedChatModel(BaseChatModel):
    """A chat model that answers from a script, in order; the last response repeats.

    A response is a text, an `AIMessage`, a callable that makes one from the messages, or an exception to raise.
    `requests` holds the messages of every call and `options` its keyword arguments, such as bound tools. Streams
    by words.

    Example:
        >>> model = ScriptedChatModel(responses=["Hello.", lambda messages: f"You said: {messages[-1].text}"])
        >>> model.invoke("Hi").text, model.invoke("Again").text
        ('Hello.', 'You said: Again')
    """

    responses: list[Any] = Field(min_length=1, description="Response objects, see the class.")
    requests: list[list[BaseMessage]] = Field(default_factory=list)
    options: list[dict[str, Any]] = Field(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=Lock)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with the tools among its `options`; it calls one when the script has a tool call."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(self._answer(messages, kwargs)):
            yield ChatGenerationChunk(message=chunk)

    def _answer(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        response = self._next(messages, options)
        if isinstance(response, Exception):
            raise response
        made = response(list(messages)) if callable(response) else response
        # Without an id, LangChain assigns a new one: a repeated answer must not replace the earlier one in a state.
        return AIMessage(made) if isinstance(made, str) else made.model_copy(update={"id": None})

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> Response:
        with self._lock:
            place = min(len(self.requests), len(self.responses) - 1)
            self.requests.append(list(messages))
            self.options.append(options)
        response: Response = self.responses[place]
        return response


def _chunks(message: AIMessage) -> Iterator[AIMessageChunk]:
    """The message in pieces that add up to it: words first, then tool calls and everything else."""
    text = message.content if isinstance(message.content, str) else ""
    for word in re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text):
        yield AIMessageChunk(content=word)
    yield AIMessageChunk(
        content="" if isinstance(message.content, str) else message.content,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        tool_call_chunks=[
            tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)
            for index, call in enumerate(message.tool_calls)
        ],
        chunk_position="last",
    )
