"""A claim: what one clause says about someone or something, before it is resolved to entities."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

ME = "user"
"""Whoever speaks."""
ANY_OTHER = "*"
"""Whatever else was said of the same."""
SOMEBODY_ELSE = "is somebody else than"
"""The predicate of two names in one sentence, of which one is a part of the other: no relation, but no one person."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A relation as it was said, between `ME`, names, "my sister", "my dog", or the noun of a thing that is owned.

    `since` and `until` are dates such as "2024-05". `ended` says that the relation is over: "known" only ends what is
    known to hold; "former" does too, and is not stored if nothing is known; "others" ends what is known with another
    object; "said" is also stored as a past relation; "died" ends what ends with the life of the subject; "planned"
    takes back what was to begin later; "put off" says that this begins on another day; and "never" says that it
    never was true. `instead` is the wrong value that this one replaces, `ANY_OTHER` if none was named. `owned`
    names the side that is one of the speaker's things: "subject", "object", or "new" for an object that they just
    got. `drawer` and `quote` are the evidence, the message and the words that say so; they are ignored in
    comparisons.
    """

    subject: str
    predicate: str
    object: str = ""
    value: str = ""
    unit: str = ""
    subject_type: str = ""
    object_type: str = ""
    since: str = ""
    until: str = ""
    ended: str = ""
    instead: str = ""
    owned: str = ""
    drawer: int = field(default=0, compare=False)
    quote: str = field(default="", compare=False)

    def body(self) -> dict[str, str]:
        """The claim as it is stored until the graph processes it."""
        return {name: said for name in _SAID if (said := getattr(self, name))}


_SAID = tuple(each.name for each in fields(Claim) if each.compare)


def claim_of(body: dict[str, str]) -> Claim:
    """The claim in a stored body; unknown fields are ignored."""
    told: dict[str, Any] = {name: said for name in _SAID if isinstance(said := body.get(name, ""), str)}
    return Claim(**{"subject": "", "predicate": "", **told})
