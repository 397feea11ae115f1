"""A claim: what one clause says of somebody or something, before anybody knows which entities are meant."""

from __future__ import annotations

from dataclasses import dataclass, fields

from langmem_tiers.storage.mined import NewProposal

ME = "user"
"""Whoever speaks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A relation as it was said: `ME`, names, "my sister", or the noun of a thing that is owned.

    `since` and `until` are dates such as "2024-05". `ended` says that it holds no longer: "known" ends only what is
    known to hold, "said" is also news of what held before. `owned` names the side ("subject" or "object") that is a
    thing of the one who speaks. `kind` is "mentioned" for two that were only spoken of together.
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
    owned: str = ""
    kind: str = ""


def proposal(claim: Claim, drawer: int, quote: str) -> NewProposal:
    """The claim as it is stored until the graph takes it up."""
    told = {each.name: getattr(claim, each.name) for each in fields(claim)}
    return NewProposal(
        kind="relation", body={name: said for name, said in told.items() if said}, drawer=drawer, quote=quote
    )


def claim(body: dict[str, str]) -> Claim:
    """The claim of a stored proposal; what it has beyond a claim is left out."""
    known = {each.name for each in fields(Claim)}
    told = {name: said for name, said in body.items() if name in known and isinstance(said, str)}
    return Claim(**{"subject": "", "predicate": "", **told})
