"""A claim: what one clause says of somebody or something, before anybody knows which entities are meant."""

from __future__ import annotations

from dataclasses import dataclass, fields

from langmem_tiers.storage.mined import NewProposal

ME = "user"
"""Whoever speaks."""
ANY_OTHER = "*"
"""Whatever else was said of the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A relation as it was said: `ME`, names, "my sister", "my dog", or the noun of a thing that is owned.

    `since` and `until` are dates such as "2024-05". `ended` says that it holds no longer: "known" ends only what is
    known to hold, "former" as well, and is no news where nothing is, "others" ends what is known of others than the
    object, "said" is also news of what held before, "died" ends what ends with the life of the subject, and "never"
    says that it never was so. `instead` is the value that is wrong where this one is right, `ANY_OTHER` where
    that was not said. `owned` names the side that is a thing of the one who speaks: "subject", "object", or "new" for
    an object that they got just then. `kind` is "mentioned" for two that were only spoken of together.
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
    kind: str = ""


def proposal(claim: Claim, drawer: int, quote: str) -> NewProposal:
    """The claim as it is stored until the graph takes it up."""
    told = {each.name: getattr(claim, each.name) for each in fields(claim)}
    return NewProposal(
        kind="relation", body={name: said for name, said in told.items() if said}, drawer=drawer, quote=quote
    )


def of_person(predicate: str, **told: str) -> Claim:
    """What is said of people; of whom is filled in for each of them."""
    return Claim(subject="", subject_type="person", predicate=predicate, **told)


def claim(body: dict[str, str]) -> Claim:
    """The claim of a stored proposal; what it has beyond a claim is left out."""
    known = {each.name for each in fields(Claim)}
    told = {name: said for name, said in body.items() if name in known and isinstance(said, str)}
    return Claim(**{"subject": "", "predicate": "", **told})
