"""Reranking by a chat model: drives the steps of `rerank_prompt` and counts what they take."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from langmem_tiers.llm.guarded_model import model_name
from langmem_tiers.llm.runs import run_config
from langmem_tiers.recall import rerank_prompt
from langmem_tiers.recall.rerank import SOURCE, Attempt, Passage, Places, Question, Unclear
from langmem_tiers.recall.rerank_prompt import Prompt

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class ByChatModel:
    """The passages that a chat model names, in its order."""

    judges = True

    def __init__(self, model: BaseChatModel) -> None:
        self._model = model
        self.name = model_name(model)

    def rank(self, question: Question, passages: Sequence[Passage], most: int, attempt: Attempt) -> Places | Unclear:
        """The places of the passages named; a reply that can not be read is asked for once more."""
        return _drive(rerank_prompt.ranking(question, passages, most), partial(self._ask, attempt))

    def _ask(self, attempt: Attempt, prompt: Prompt) -> str:
        from langchain_core.messages import HumanMessage, SystemMessage

        if attempt.given_up:
            return ""
        attempt.calls += 1
        messages = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        reply = self._model.invoke(messages, run_config(SOURCE, attempt.callbacks))
        usage = getattr(reply, "usage_metadata", None) or {}
        attempt.count_tokens(usage.get("input_tokens"), usage.get("output_tokens"))
        return reply if isinstance(reply, str) else str(reply.text)


def _drive(steps: Generator[Prompt, str, Places | Unclear], ask: Callable[[Prompt], str]) -> Places | Unclear:
    try:
        prompt = next(steps)
        while True:
            prompt = steps.send(ask(prompt))
    except StopIteration as done:
        result: Places | Unclear = done.value
        return result
