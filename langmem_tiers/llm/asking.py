"""The steps of one question to a model: structured output where it works, else in words, and one repair round.

Written once, as a generator that yields calls and takes what came of them; `asker` drives it in both colours.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Generic

from langmem_tiers.llm import reading
from langmem_tiers.llm.answers import Prompt, T, Unclear
from langmem_tiers.llm.calling import Call, Failed, Reply
from langmem_tiers.llm.guarded_model import GuardedModel
from langmem_tiers.llm.shape import again, schema_text, shaped

Outcome = Reply | Failed


@dataclass(frozen=True, kw_only=True, slots=True)
class Question(Generic[T]):
    """What is asked of which model, in at most so many tokens; `left` says the seconds until nobody waits any more."""

    schema: type[T]
    prompt: Prompt
    model: GuardedModel
    tokens: int
    left: Callable[[], float]

    def structured(self) -> Call | None:
        """The request by structured output, if that is worth trying."""
        model = self.model.structured(self.schema, self.tokens)
        sent = self.prompt.system + self.prompt.user + schema_text(self.schema)
        return None if model is None else Call(model=model, prompt=self.prompt, sent=sent)

    def in_words(self) -> Call:
        """The request with the schema in the prompt."""
        prompt = shaped(self.schema, self.prompt)
        return Call(model=self.model.plain(self.tokens), prompt=prompt, sent=prompt.system + prompt.user)


def asking(question: Question[T]) -> Generator[Call, Outcome, T | Failed]:
    """Ask, read, and where the reply is of no use ask once more with the reason."""
    call, outcome = yield from _asked(question)
    if isinstance(outcome, Failed):
        return outcome
    value = _read(question, outcome)
    if isinstance(value, Unclear):
        call = call if outcome.objects else question.in_words()
        outcome = yield from _patiently(_repeated(call, value.reason), question.left)
        value = outcome if isinstance(outcome, Failed) else _read(question, outcome)
    return Failed(failure=value.failure, reason=value.reason) if isinstance(value, Unclear) else value


def _asked(question: Question[T]) -> Generator[Call, Outcome, tuple[Call, Outcome]]:
    """The first reply, and the call that brought it."""
    call = question.structured()
    if call is not None:
        outcome = yield from _patiently(call, question.left)
        if not (isinstance(outcome, Failed) and outcome.unsupported):
            return call, outcome
    in_words = question.in_words()
    outcome = yield from _patiently(in_words, question.left)
    if call is not None and isinstance(outcome, Reply):
        question.model.ask_in_words(question.schema)  # it replies to all but the schema
    return in_words, outcome


def _patiently(call: Call, left: Callable[[], float]) -> Generator[Call, Outcome, Outcome]:
    """What comes of a call; a busy provider gets a second one if there is time for the pause it needs."""
    outcome = yield call
    if isinstance(outcome, Failed) and outcome.retry_after is not None and outcome.retry_after < left():
        outcome = yield replace(call, pause=outcome.retry_after)
    return outcome


def _repeated(call: Call, reason: str) -> Call:
    prompt = again(call.prompt, reason)
    return replace(call, prompt=prompt, sent=call.sent + prompt.user[len(call.prompt.user) :])


def _read(question: Question[T], reply: Reply) -> T | Failed | Unclear:
    """The object of a reply; a refusal that the provider itself declares is not argued with."""
    if reply.refusal:
        return Failed(failure="refused", reason=reply.refusal)
    if reply.objects:
        return reading.fitting(question.schema, reply.objects)
    value = reading.read(question.schema, reply.text)
    if isinstance(value, Unclear):
        return replace(value, reason=f"{value.reason}, at its longest") if reply.cut_off else value
    question.model.ask_in_words(question.schema)  # it keeps to what is said, not to the schema it was given
    return value
