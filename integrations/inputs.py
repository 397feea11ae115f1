"""What chains are given: whose memory it is, what is asked, and what happens when the memory fails."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.errors import GraphBubbleUp
from pydantic import BeforeValidator

from langmem_tiers import arguments
from langmem_tiers.errors import InvalidInput, MissingUser
from langmem_tiers.graphs.identity import Scope, SpaceChoice, current_runtime, resolve_scope
from langmem_tiers.graphs.messages import last_human
from langmem_tiers.graphs.node import OnError, fallbacks_of, space_of
from langmem_tiers.naming import user_space
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from langmem_tiers.space import Space


logger = logging.getLogger(__name__)


@contextmanager
def faults(step: str, on_error: OnError) -> Iterator[None]:
    """With "log", an error ends the block and is logged; with "raise", it is passed on to the caller."""
    try:
        yield
    except GraphBubbleUp:
        raise  # an interrupt is LangGraph's way to pause, no fault
    except Exception as error:
        if on_error == "raise":
            raise
        # Whatever goes wrong here, a broken disk or a custom embedder: the user gets the reply all the same.
        trace = not isinstance(error, MissingUser | InvalidInput)  # these say all there is to say
        say(logger, logging.ERROR, "memory_step_failed", step=step, error=error, reason=error, trace=trace)


UserId = str | int | UUID


def _user_of(given: Any) -> Any:
    known = given is None or callable(given) or isinstance(given, UserId)
    if not known or isinstance(given, bool):
        raise arguments.refused(given, "user_id", "a text, a whole number, a UUID, or a function that gives one")
    return given


# Fields of the adapters that are pydantic models. Checked before pydantic does, which converts and says less.
UserField = Annotated[UserId | Callable[[], UserId | None] | None, BeforeValidator(_user_of)]
SpaceField = Annotated[str | Callable[..., str | None] | None, BeforeValidator(space_of)]
FallbacksField = Annotated[tuple[str, ...] | None, BeforeValidator(fallbacks_of)]


def scope_of(
    config: RunnableConfig | None = None,
    *,
    way_out: str,
    space: SpaceChoice | None = None,
    user_id: "UserId | Callable[[], UserId | None] | None" = None,
) -> Scope:
    """The space and the session of the current run, or of `config`.

    `space` takes precedence over `user_id`, and both over what the run says. The caller is the user given, also where
    the space is another one.

    Raises:
        MissingUser: no user is named; `way_out` says how to name one here.
        InvalidSpace: what was said cannot name a space.
    """
    user = user_id() if callable(user_id) else user_id
    try:
        choice = user_space(user) if space is None and user is not None else space
        scope = resolve_scope(ensure_config(config), current_runtime(), remembered=None, space=choice)
        return scope if user in (None, "") else replace(scope, caller=user_space(user))
    except MissingUser as error:
        raise MissingUser(error.message, way_out=way_out) from error


def with_profile(space: "Space", block: str, *, profile: bool, task: str | None) -> str:
    """A recalled block, after what is always known of the user, and of the task, if that is wanted."""
    parts = (space.prompt_block(task=task) if profile else "", block)
    return "\n\n".join(part for part in parts if part)


ASKED = ("input", "question", "query")
ANSWERED = ("output", "response", "answer", "text", "result")
# What chains and agents add to their inputs on their own.
_MACHINERY = frozenset({"stop", "agent_scratchpad", "intermediate_steps"})

# How LangChain calls the kinds of messages, in pairs and dicts.
_KINDS = frozenset({"human", "user", "ai", "assistant", "system", "developer", "tool", "function"})

_NAME_IT = "name it with input_key or output_key"


def pick(values: Mapping[str, Any], key: str | None, usual: Sequence[str], but: Collection[str] = ()) -> str:
    """The text under `key`; without a key the only text, else the one under a usual name, else the longest.

    Raises:
        InvalidInput: there is no `key`, no text at all, or something else than a text where the message should be.
    """
    if not isinstance(values, Mapping):
        raise arguments.refused(values, "inputs", "the inputs or outputs of a chain by their names")
    if key is not None:
        if key not in values:
            raise InvalidInput(f"There is no {key!r} here.", way_out=f"There are {', '.join(values)}.")
        return text_of(_textual(values[key], key))
    candidates = {name: value for name, value in values.items() if name not in _MACHINERY and name not in but}
    # A list of messages counts only under a usual name: elsewhere it may be the history.
    found = {name: text_of(value) if name in usual else _single_text(value) for name, value in candidates.items()}
    texts = {name: text for name, text in found.items() if text.strip()}
    if not texts:
        return _nothing(candidates, usual)
    named = next((name for name in usual if name in texts), None)
    if named is None:
        named = max(texts, key=lambda name: len(texts[name]))
        if len(texts) > 1:
            _guessed(named, tuple(sorted(texts)))
    return texts[named]


def _nothing(candidates: Mapping[str, Any], usual: Sequence[str]) -> str:
    """An empty message is allowed; anything else without a text is a mistake."""
    for name in usual:
        if name in candidates:
            _textual(candidates[name], name)
    if any(isinstance(value, str) for value in candidates.values()):
        return ""
    raise InvalidInput("There is no text here.", way_out="Name the key of the message: input_key or output_key.")


def text_of(value: Any) -> str:
    """The text of a string, a message, content blocks, or the last of several messages."""
    found = [] if isinstance(value, Mapping) and not _is_message(value) else messages_in(value)
    return str(found[-1].text) if found else _single_text(value)


def messages_in(value: Any) -> list[BaseMessage]:
    """The messages in the input of a chain, directly or under any key, in every form that LangChain accepts."""
    if isinstance(value, PromptValue):
        return value.to_messages()
    if _is_message(value):
        return convert_to_messages([value])
    if isinstance(value, list | tuple):
        return convert_to_messages([each for each in value if _is_message(each)])
    return [each for part in value.values() for each in messages_in(part)] if isinstance(value, Mapping) else []


def asked_in(value: Any, key: str | None) -> tuple[str, str | None]:
    """What a chain is asked, and the id of the message that asks it if that is known.

    Raises:
        InvalidInput: `key` is missing, or there is nothing that could be asked.
    """
    named = isinstance(value, Mapping) and not _is_message(value)
    if named and (key is not None or any(_single_text(each).strip() for each in value.values())):
        chosen = value.get(key) if key is not None else None
        found = [] if chosen is None else messages_in(chosen)
        return pick(value, key, ASKED), found[-1].id if found else None
    asked = last_human(messages_in(value))
    if asked is not None:
        return str(asked.text), asked.id
    if named:
        raise InvalidInput("There is no text here.", way_out="Name the key of the message: input_key.")
    return text_of(_textual(value, "input")), None


def _textual(value: Any, name: str) -> Any:
    """The value, if it can be a message."""
    known = isinstance(value, str | PromptValue) or _is_message(value)
    if not known and not (isinstance(value, list | tuple) and all(map(_part, value))):
        raise arguments.refused(value, name, "a text, or messages")
    return value


def _part(value: Any) -> bool:
    return isinstance(value, str | dict) or _is_message(value)


def _is_message(value: Any) -> bool:
    """Whether it is a message, possibly written as a pair or a dict."""
    if isinstance(value, Mapping):
        return "content" in value and ("role" in value or value.get("type") in _KINDS)
    if isinstance(value, tuple):
        return len(value) == 2 and isinstance(value[0], str) and value[0] in _KINDS
    return isinstance(value, BaseMessage)


def _single_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if _is_message(value):
        return str(convert_to_messages([value])[0].text)
    blocks = isinstance(value, list) and all(isinstance(each, str | dict) and not _is_message(each) for each in value)
    return str(HumanMessage(value).text) if blocks else ""


@cache
def _guessed(named: str, names: tuple[str, ...]) -> None:
    say(logger, logging.WARNING, "key_guessed", key=named, among=",".join(names), hint=_NAME_IT)
