"""Answering without a model: what was recalled, quoted."""

import html
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

from langmem_tiers.block_lines import MESSAGE_LINE, message_parts
from langmem_tiers.fencing import CLOSING, OPENING

MODEL_VARIABLE = "LANGMEM_TIERS_MODEL"

_FENCED = rf"{OPENING}\n(.*?)\n{CLOSING}"
# In a message the block stands in front, in the system message at the end: nowhere else is it one.
_IN_FRONT = re.compile(rf"\A{_FENCED}", re.DOTALL)
_AT_END = re.compile(rf"{_FENCED}\Z", re.DOTALL)

_LONGEST = 300  # characters of a quotation
_FOUND = "I am not a language model: I can only quote what memory holds about this."
_NOTHING = "I found nothing about this in earlier conversations."
_WAY_OUT = f"For real answers, name a chat model: --model or ${MODEL_VARIABLE}, such as openai:gpt-5-mini."

# LangChain's mark for messages that a feature made, not a participant.
_NO_TURN = {"lc_source": "offline_responder"}


class OfflineResponder(BaseChatModel):
    """A chat model without a model: it quotes what was recalled for the last message, and says what it is.

    Same messages, same answer; no network, no key. Tools may be bound and are never called. Its answers are marked as
    no turn of the conversation, so that `track_node` does not store quotations of what is stored.

    Example:
        >>> OfflineResponder().invoke("Where do I live?").text.partition(".")[0]
        'I found nothing about this in earlier conversations'
    """

    @property
    def _llm_type(self) -> str:
        return "offline-responder"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The responder itself: it calls no tools."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(
            generations=[ChatGeneration(message=AIMessage(_answer(messages), additional_kwargs=dict(_NO_TURN)))]
        )

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for place, word in enumerate(re.findall(r"\S+\s*", _answer(messages))):
            # Said once: the pieces of a streamed message are added up.
            marks = dict(_NO_TURN) if place == 0 else {}
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=word, additional_kwargs=marks))
            if run_manager is not None:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk


def model_or_offline(name: str | None = None) -> BaseChatModel:
    """The chat model of this name, else of the one in `$LANGMEM_TIERS_MODEL`, else an `OfflineResponder`.

    Raises:
        MissingExtra: a model is named and `langchain` is not installed.
    """
    from langmem_tiers.graphs.agent import chat_model

    chosen = name or os.environ.get(MODEL_VARIABLE)
    return chat_model(chosen) if chosen else OfflineResponder()


def _answer(messages: Sequence[BaseMessage]) -> str:
    asked = next((message for message in reversed(messages) if isinstance(message, HumanMessage)), None)
    system = next((message for message in messages if isinstance(message, SystemMessage)), None)
    found = (asked and _IN_FRONT.search(asked.text)) or (system and _AT_END.search(system.text))
    quotes = []
    for pointer, day, said in MESSAGE_LINE.findall(found[1]) if found else ():
        speaker, text = message_parts(said)
        quotes.append(f"{pointer}, {day}, {html.unescape(speaker)}: “{_cut(html.unescape(text))}”")
    return "\n".join([_FOUND, "", *quotes, "", _WAY_OUT]) if quotes else f"{_NOTHING}\n\n{_WAY_OUT}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
