"""Checks a model's reply against the window: which proposals it supports, and why others are refused. Pure.

Some checks of facts are left to `knowledge.ingest`: whether the quote occurs in the drawer, and whether the
statement is a secret, an instruction, or already known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge.validation import refusal
from langmem_tiers.language.characters import one_line
from langmem_tiers.language.quotations import own_words
from langmem_tiers.language.sentences import is_latin
from langmem_tiers.language.words import occurs, passage
from langmem_tiers.records import Evidence, Proposal, ProposalKind, RefusedProposal, Said
from langmem_tiers.settings import Settings
from langmem_tiers.storage.feedback import FeedbackRow
from langmem_tiers.storage.progress import ProposalRow
from langmem_tiers.trust import instructions, secrets
from langmem_tiers.types import ANNOYED, SignalKind
from langmem_tiers.writing.mining_prompt import (
    MOST_NAMED,
    MinedWindow,
    ToldEntity,
    ToldFact,
    ToldRelation,
)
from langmem_tiers.writing.windows import Window

_LONGEST_NAME = 80
_LONGEST_WHEN = 40
_MOST_TOPICS = 3
_KINDS: dict[str, SignalKind] = {kind: kind for kind in get_args(SignalKind)}
# "3 irritation very", also as "[3] irritation, annoyed: very".
_JUDGED = re.compile(
    rf"\W{{0,3}}(?:line |turn )?(?P<turn>\d{{1,4}})\b\W{{1,4}}(?P<kind>{'|'.join(_KINDS)})\b"
    rf"(?:\W{{1,4}}(?:annoyed\W{{1,3}})?(?P<annoyed>no|{'|'.join(ANNOYED)})\b)?",
    re.IGNORECASE,
)
# A shorter quote proves nothing.
_LEAST_LETTERS = 2
_CATEGORIES: dict[ProposalKind, str] = {
    "fact": "general",
    "preference": "user-preferences/general",
    "correction": "general",
    "decision": "decisions",
    "action": "actions",
}
# Signs that the user corrects something; without any, a model's claim is not enough.
_CORRECTING = re.compile(
    r"\b(?:no|nope|not|wrong|incorrect|actually|instead|rather than|meant|correct(?:ion|ed)?|any ?more|no longer"
    r"|used to|by now|these days|changed|moved|switched|now|new|left|quit|stopped|ended|sold|lost|cancell?ed|since"
    r"|sorry|oops|typo|mistaken?|mixed up|misspoke)\b|n['’]t\b",
    re.IGNORECASE,
)


_SENTENCE_END = re.compile(r"[.!?…\n]+")
_THE_USERS = re.compile(r"(?:the )?user['’]s ", re.IGNORECASE)
# Of a name in a script whose names are inflected, at least so many letters stay, and at most so many change.
_STEM, _ENDING = 3, 2


@dataclass(kw_only=True, slots=True)
class Checked:
    """A checked reply."""

    proposals: list[Proposal] = field(default_factory=list)
    for_graph: list[ProposalRow] = field(default_factory=list)
    refused: list[RefusedProposal] = field(default_factory=list)


def check(told: MinedWindow, window: Window, settings: Settings) -> Checked:
    """The proposals of a reply that cite the user, up to a limit, and the refused others with reasons."""
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


def feedback(told: MinedWindow, window: Window) -> tuple[FeedbackRow, ...]:
    """The feedback in a reply: on lines of the user, said after the assistant spoke; one for each turn at most.

    The rest is left out: who reads the turns finds nothing of it there.
    """
    found: dict[int, FeedbackRow] = {}
    for judged in map(_JUDGED.match, told.feedback):
        turn = int(judged["turn"]) if judged else 0
        if judged and _is_told(turn, window) and _answers(turn, window):
            said, kind = window.turns[turn - 1], _KINDS[judged["kind"].lower()]
            row = FeedbackRow(
                number=0,
                kind=kind,
                strength="casual" if kind == "praise" else ANNOYED.get((judged["annoyed"] or "").lower(), "casual"),
                drawer=said.drawer,
                session=window.session,
                note="",
                origin="model",
                at=to_millis(said.said_at),
            )
            found.setdefault(said.drawer, row)
    return tuple(found.values())


def _is_told(turn: int, window: Window) -> bool:
    return 0 < turn <= len(window.turns) and window.turns[turn - 1].role == "user"


def _answers(turn: int, window: Window) -> bool:
    """Whether the assistant had spoken before a line."""
    return any(each.role == "assistant" for each in (*window.before, *window.turns[: turn - 1]))


def topics(told: MinedWindow) -> tuple[str, ...]:
    """The topics in a reply, each once, without unsuitable ones."""
    named = (one_line(topic) for topic in told.topics)
    return tuple(dict.fromkeys(filter(_is_plain, named)))[:_MOST_TOPICS]


def subject(told: MinedWindow) -> str:
    """The subject in a reply; an empty string if there is none."""
    named = one_line(told.subject)
    return named if _is_plain(named) else ""


def _unfounded(content: str, cited: ToldFact | ToldEntity | ToldRelation, window: Window) -> str | None:
    """Why a claim is not supported by words of the user, or None."""
    if not content.strip():
        return "it says nothing"
    if not 1 <= cited.turn <= len(window.turns):
        return f"there is no line {cited.turn}"
    turn = window.turns[cited.turn - 1]
    if turn.role != "user":
        return f"line {cited.turn} was said by the {turn.role}"
    if sum(map(str.isalnum, cited.quote)) < _LEAST_LETTERS:
        return "it quotes nothing"
    evidence = _evidence(cited, window)
    if not evidence:
        return f"its quote does not occur in line {cited.turn}"
    return _only_quoted(evidence, window)


def _only_quoted(evidence: Sequence[Evidence], window: Window) -> str | None:
    """Why words that a user quotes are no evidence, or None."""
    own = {turn.drawer: own_words(turn.content) for turn in (*window.before, *window.turns) if turn.role == "user"}
    quoted = (each for each in evidence if each.drawer in own and not occurs(each.quote, own[each.drawer]))
    return "its words are only quoted there" if next(quoted, None) else None


def _evidence(cited: ToldFact | ToldEntity | ToldRelation, window: Window) -> tuple[Evidence, ...]:
    """What a claim rests on, in the words of the messages; nothing if its quote does not occur in its line.

    A quote may join sentences of several lines, as long as one of them is in its line; only those of the user count.
    """
    turn = window.turns[cited.turn - 1]
    whole = passage(cited.quote, turn.content)
    if whole is not None:
        return (Evidence(drawer=turn.drawer, quote=whole),)
    shown = (turn, *(each for each in (*window.turns, *window.before) if each is not turn))
    found: dict[int, Evidence] = {}
    for piece in filter(_says_something, _SENTENCE_END.split(cited.quote)):
        place = next(((each, part) for each in shown if (part := passage(piece, each.content)) is not None), None)
        if place is None:
            return ()
        if place[0] in window.told:
            found.setdefault(place[0].drawer, Evidence(drawer=place[0].drawer, quote=place[1]))
    return tuple(sorted(found.values(), key=lambda each: each.drawer != turn.drawer)) if turn.drawer in found else ()


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))


def _proposal(fact: ToldFact, window: Window) -> Proposal:
    turn = window.turns[fact.turn - 1]
    kind = _kind(fact, turn)
    return Proposal(
        kind=kind,
        content=one_line(fact.content),
        category=_CATEGORIES[kind],
        evidence=_evidence(fact, window),
        corrects=one_line(fact.corrects) or None if kind == "correction" else None,
        path="model",
    )


def _kind(fact: ToldFact, turn: Said) -> ProposalKind:
    """The kind named, "fact" for an unknown one. A correction must be one in the user's words."""
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


def _for_graph(each: ToldEntity | ToldRelation, window: Window) -> ProposalRow:
    fields = ("name", "type") if isinstance(each, ToldEntity) else ("subject", "predicate", "object")
    body = {name: one_line(getattr(each, name)) for name in fields}
    if isinstance(each, ToldRelation):
        body |= _when(each)
    kind: Literal["entity", "relation"] = "entity" if isinstance(each, ToldEntity) else "relation"
    said = _evidence(each, window)[0]
    return ProposalRow(kind=kind, body=body, drawer=said.drawer, quote=said.quote)


def _when(each: ToldRelation) -> dict[str, str]:
    """The start and end of validity as worded in the reply, if they may be dates."""
    said = {name: one_line(getattr(each, name)) for name in ("since", "until")}
    return {name: words for name, words in said.items() if 0 < len(words) <= _LONGEST_WHEN}


def _unfit(each: ToldEntity | ToldRelation, window: Window) -> str | None:
    """Why an entity or relation is refused, or None."""
    parts = _parts(each)
    if not all(part.strip() for part in parts):
        return "a part of it is missing"
    reason = _unfounded(" ".join(parts), each, window)
    if reason is not None:
        return reason
    if any(len(part) > _LONGEST_NAME for part in parts):
        return "a name in it is too long"
    said = "\n".join(f"{turn.speaker or ''}\n{turn.content}" for turn in (*window.before, *window.turns))
    named = (each.name,) if isinstance(each, ToldEntity) else (each.subject, each.object)
    if strange := next((name for name in named if not _is_named(name, said)), None):
        return f"nobody names {strange!r}"
    text = f"{' '.join(parts)} {each.quote}"
    return instructions.suspicious(text) or ("it holds a secret" if secrets.find(text) else None)


def _parts(each: ToldEntity | ToldRelation) -> tuple[str, ...]:
    return (each.name, each.type) if isinstance(each, ToldEntity) else (each.subject, each.predicate, each.object)


def _is_named(name: str, said: str) -> bool:
    if name.strip().casefold() in {"user", "the user"}:
        return True
    words = _THE_USERS.sub("", name, count=1)
    return passage(words, said) is not None or _is_inflected(words, said)


def _is_inflected(name: str, said: str) -> bool:
    """Whether a name occurs with other endings, as names do in Russian or Greek."""
    if is_latin(name):
        return False
    stems = [word[: max(_STEM, len(word) - _ENDING)] for word in name.split()]
    return all(any(word.startswith(stem) for word in said.split()) for stem in stems)


def _is_plain(named: str) -> bool:
    return 0 < len(named) <= _LONGEST_NAME and not instructions.suspicious(named) and not secrets.find(named)
