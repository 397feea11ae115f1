"""The signal of who is asked about: drawers said by the one whose words a query is after.

A query that names a speaker is after that speaker's words, one that speaks of earlier answers ("you recommended")
after the assistant's, one in the first person after the user's own, unless it asks for advice: then "I" says who is to
be helped, not who said what is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from langmem_tiers.palace.words import FIRST_PERSON, LOOKED_AT, words
from langmem_tiers.recall.signals.preference import asks_advice

_ANSWERS = re.compile(
    r"\b(?:you (?:\w+ )?(?:told|gave|said|suggested|recommended|mentioned|provided|listed|made|wrote|shared|explained"
    r"|advised)|did you (?:\w+ )?(?:tell|give|say|suggest|recommend|mention|provide|list|make|write|share|explain"
    r"|advise)"
    r"|our (?:previous|last|earlier|past) (?:conversation|chat|discussion|session)"
    r"|(?:we|previously) (?:discussed|talked)"
    r"|remind me|your (?:recommendations?|suggestions?|answer|advice|list))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Voice:
    """Who said a drawer."""

    role: str
    speaker: str | None


Asked = Callable[[Voice], float]


def asked(query: str, speakers: Collection[str]) -> Asked:
    """A function that gives 1 for the voice that the query is after and 0 for any other; `speakers` are those named.

    Example:
        >>> about = asked("What did Lena paint?", {"Lena", "Tom"})
        >>> about(Voice(role="user", speaker="Lena")), about(Voice(role="user", speaker="Tom"))
        (1.0, 0.0)
    """
    said = set(words(query))
    named = {speaker for speaker in speakers if not said.isdisjoint(words(speaker))}
    if len(named) == 1:
        name = named.pop()
        return lambda voice: float(voice.speaker == name)
    if named:  # several: each of them may have said it
        return lambda _: 0.0
    if _ANSWERS.search(query[:LOOKED_AT]):
        return lambda voice: float(voice.role == "assistant")
    if not FIRST_PERSON.isdisjoint(_without_clitics(said)) and not asks_advice(query):
        return lambda voice: float(voice.role == "user")
    return lambda _: 0.0


def _without_clitics(said: Collection[str]) -> set[str]:
    return {word.partition("'")[0] for word in said}
