"""What a model is asked, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

T = TypeVar("T", bound=BaseModel)

Failure = Literal["budget", "resting", "timeout", "error", "refused", "empty", "invalid"]
"""Why there is no value: first those that pass by themselves, then what the model did with this question."""

_PASSING: frozenset[Failure] = frozenset({"budget", "resting", "timeout", "error"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """What a model is told and asked; `example` shows one that can not take a schema what a good reply looks like."""

    system: str
    user: str
    example: BaseModel | None = None


@dataclass(frozen=True, slots=True)
class Unclear:
    """A reply that gives no object, and why."""

    reason: str
    failure: Failure = "invalid"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer(Generic[T]):
    """The object asked for, or None with the `failure` and a `reason` that begins with it; and what it took.

    Tokens are the provider's count, an estimate where it gives none. `raised` is the class of the error that it failed
    by, empty where it is none.
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
        """Whether the same question may be answered later: the model was not reached, or not to be asked now."""
        return self.failure in _PASSING
