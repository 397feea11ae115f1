"""Reading a model's reply: what of it is borne out by the window, and why the rest is not. Pure.

What of a fact is left to the knowledge's own way in: whether the quote occurs in the drawer, whether what is said is a
secret, an instruction, or known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.settings import Settings
from langmem_tiers.storage.mined import NewProposal
from langmem_tiers.trust import instructions, secrets
from langmem_tiers.writing.mining.prompt import (
    MOST_NAMED,
    Told,
    ToldEntity,
    ToldFact,
    ToldRelation,
    one_line,
)
from langmem_tiers.writing.mining.types import RefusedProposal, Window
from langmem_tiers.writing.proposals import Evidence, Proposal, ProposalKind, Said

_LONGEST_NAME = 80
_LONGEST_WHEN = 40
_LONGEST_SHOWN = 200
# Of what was refused, so much is looked at for secrets.
_MOST_READ = 4000
_MOST_TOPICS = 3
# A quote of less says nothing.
_LEAST_LETTERS = 2
_CATEGORIES: dict[ProposalKind, str] = {
    "fact": "general",
    "preference": "user-preferences/general",
    "correction": "general",
    "decision": "decisions",
    "action": "actions",
}
# What a user says who corrects something; without any of it a model's word for it is not enough.
_CORRECTING = re.compile(
    r"\b(?:no|nope|not|wrong|incorrect|actually|instead|rather than|meant|correct(?:ion|ed)?|any ?more|no longer"
    r"|used to|by now|these days|changed|moved|switched|now)\b|n['’]t\b",
    re.IGNORECASE,
)


@dataclass(kw_only=True, slots=True)
class Checked:
    """What a reply came to."""

    proposals: list[Proposal] = field(default_factory=list)
    for_graph: list[NewProposal] = field(default_factory=list)
    refused: list[RefusedProposal] = field(default_factory=list)


def check(told: Told, window: Window, settings: Settings) -> Checked:
    """The proposals of a reply that cite the user, bounded in number, and the rest with the reason why not."""
    checked = Checked()
    for fact in told.facts:
        reason = _unfounded(fact.content, fact, window)
        if reason is None and len(checked.proposals) == settings.mining.facts_per_window:
            reason = f"more than {settings.mining.facts_per_window} facts of one window"
        if reason is None:
            checked.proposals.append(_proposal(fact, window))
        else:
            checked.refused.append(refusal(fact.content, reason))
    _take_named(checked, told.entities, window)
    _take_named(checked, told.relations, window)
    return checked


def topics(told: Told) -> tuple[str, ...]:
    """The topics that a reply names, each once, without what is no topic."""
    named = (one_line(topic) for topic in told.topics)
    return tuple(dict.fromkeys(filter(_is_plain, named)))[:_MOST_TOPICS]


def subject(told: Told) -> str:
    """The subject that a reply names, empty where it is none."""
    named = one_line(told.subject)
    return named if _is_plain(named) else ""


def refusal(content: str, reason: str) -> RefusedProposal:
    """What was not kept, as it may be shown."""
    shown = secrets.mask(one_line(content[:_MOST_READ]))[:_LONGEST_SHOWN]
    return RefusedProposal(content=shown, reason=secrets.mask(reason))


def _unfounded(content: str, cited: ToldFact | ToldEntity | ToldRelation, window: Window) -> str | None:
    """Why something told is borne out by no words of the user, None where it may be."""
    if not content.strip():
        return "it says nothing"
    if not 1 <= cited.turn <= len(window.turns):
        return f"there is no line {cited.turn}"
    turn = window.turns[cited.turn - 1]
    if turn.role != "user":
        return f"line {cited.turn} was said by the {turn.role}"
    if sum(map(str.isalnum, cited.quote)) < _LEAST_LETTERS:
        return "it quotes nothing"
    return None if occurs(cited.quote, turn.content) else f"its quote does not occur in line {cited.turn}"


def _proposal(fact: ToldFact, window: Window) -> Proposal:
    turn = window.turns[fact.turn - 1]
    kind = _kind(fact, turn)
    return Proposal(
        kind=kind,
        content=one_line(fact.content),
        category=_CATEGORIES[kind],
        evidence=(Evidence(drawer=turn.drawer, quote=fact.quote.strip()),),
        corrects=one_line(fact.corrects) or None if kind == "correction" else None,
        path="model",
    )


def _kind(fact: ToldFact, turn: Said) -> ProposalKind:
    """The kind named, a plain fact for none that there is. A correction has to be one in the user's words."""
    named = fact.kind.strip().lower()
    kind: ProposalKind = next((known for known in _CATEGORIES if known == named), "fact")
    if kind == "correction" and not (fact.corrects.strip() and _CORRECTING.search(turn.content)):
        return "fact"
    return kind


def _take_named(checked: Checked, told: Sequence[ToldEntity] | Sequence[ToldRelation], window: Window) -> None:
    kept = 0
    for each in told:
        shown = " ".join(_parts(each))
        reason = _unfit(each, window)
        if reason is None and kept == MOST_NAMED:
            reason = f"more than {MOST_NAMED} of one window"
        if reason is not None:
            checked.refused.append(refusal(shown, reason))
            continue
        kept += 1
        checked.for_graph.append(_for_graph(each, window))


def _for_graph(each: ToldEntity | ToldRelation, window: Window) -> NewProposal:
    fields = ("name", "type") if isinstance(each, ToldEntity) else ("subject", "predicate", "object")
    body = {name: one_line(getattr(each, name)) for name in fields}
    if isinstance(each, ToldRelation):
        body |= _when(each)
    return NewProposal(
        kind="entity" if isinstance(each, ToldEntity) else "relation",
        body=body,
        drawer=window.turns[each.turn - 1].drawer,
        quote=each.quote.strip(),
    )


def _when(each: ToldRelation) -> dict[str, str]:
    """Since and until when it holds, in the words of the reply, as far as that may be a date."""
    said = {name: one_line(getattr(each, name)) for name in ("since", "until")}
    return {name: words for name, words in said.items() if 0 < len(words) <= _LONGEST_WHEN}


def _unfit(each: ToldEntity | ToldRelation, window: Window) -> str | None:
    """Why an entity or a relation is not kept, None where it is."""
    parts = _parts(each)
    if not all(part.strip() for part in parts):
        return "a part of it is missing"
    reason = _unfounded(" ".join(parts), each, window)
    if reason is not None:
        return reason
    if any(len(part) > _LONGEST_NAME for part in parts):
        return "a name in it is too long"
    said = "\n".join(turn.content for turn in (*window.before, *window.turns))
    named = (each.name,) if isinstance(each, ToldEntity) else (each.subject, each.object)
    if strange := next((name for name in named if not _is_named(name, said)), None):
        return f"nobody names {strange!r}"
    text = f"{' '.join(parts)} {each.quote}"
    return instructions.suspicious(text) or ("it holds a secret" if secrets.find(text) else None)


def _parts(each: ToldEntity | ToldRelation) -> tuple[str, ...]:
    return (each.name, each.type) if isinstance(each, ToldEntity) else (each.subject, each.predicate, each.object)


def _is_named(name: str, said: str) -> bool:
    return name.strip().casefold() in {"user", "the user"} or occurs(name, said)


def _is_plain(named: str) -> bool:
    return 0 < len(named) <= _LONGEST_NAME and not instructions.suspicious(named) and not secrets.find(named)
