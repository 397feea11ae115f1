"""What a dream changed, as a person reads it: texts before and after, with the words that differ marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from langmem_tiers.knowledge_graph.wording import relation_words

if TYPE_CHECKING:
    from langmem_tiers.dream.types import DreamReport, Proposal
    from langmem_tiers.records import Evidence
    from langmem_tiers.space import Space

_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a text, and whether it is only here, before (`gone`) or after (`new`)."""

    text: str
    mark: Literal["", "gone", "new"] = ""


@dataclass(frozen=True, kw_only=True)
class Text:
    """What something said or says: its kind and id, and its text in parts."""

    kind: str
    ref: str
    parts: tuple[Part, ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that a dream did: what was there before, what is there after it, why, and what it rests on."""

    kind: str
    title: str
    path: str
    before: tuple[Text, ...] = ()
    after: tuple[Text, ...] = ()
    why: str = ""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """What a dream did not do, and why."""

    change: Change
    reason: str


def changes_of(space: Space, report: DreamReport) -> tuple[Change, ...]:
    """What a dream did or would do."""
    return tuple(_change(space, each) for each in report.decision.accepted)


def refusals_of(space: Space, report: DreamReport) -> tuple[Refusal, ...]:
    """What it refused."""
    rejected = report.decision.rejected
    return tuple(Refusal(change=_change(space, each.proposal), reason=each.reason) for each in rejected)


def _change(space: Space, proposal: Proposal) -> Change:
    kind = KINDS[proposal.kind]
    given = kind.told(space, proposal)
    why = getattr(proposal, "why", "")
    evidence = getattr(proposal, "evidence", ())
    about: dict[str, Any] = {"kind": proposal.kind, "title": kind.title, "path": proposal.path}
    return Change(**about, **{"why": why, "evidence": evidence, **given})


def _merge(space: Space, proposal: Any) -> Mapping[str, Any]:
    texts = {each: _entry_text(space, each) for each in proposal.sources}
    told = [text for text in texts.values() if text]
    before = tuple(_text("entry", each, text, against=[proposal.content], mark="gone") for each, text in texts.items())
    note = " ".join(filter(None, (proposal.category, *(f"#{tag}" for tag in proposal.tags))))
    return {
        "before": before,
        "after": (_text("entry", "", proposal.content, against=told, mark="new", note=note),),
    }


def _retire(space: Space, proposal: Any) -> Mapping[str, Any]:
    before = (_text("entry", proposal.id, _entry_text(space, proposal.id), against=[], mark="gone"),)
    after: tuple[Text, ...] = ()
    if proposal.successor:
        after = (_plain("entry", proposal.successor, _entry_text(space, proposal.successor), "holds instead"),)
    return {"before": before, "after": after}


def _refine(space: Space, proposal: Any) -> Mapping[str, Any]:
    category = [f"category {proposal.category}"] if proposal.category else []
    tags = [f"tags {', '.join(proposal.tags) or 'none'}"] if proposal.tags is not None else []
    text = _plain("entry", proposal.id, _entry_text(space, proposal.id), "; ".join(category + tags))
    return {"after": (text,)}


def _added(kind: str, field: str) -> Any:
    def added(space: Space, proposal: Any) -> Mapping[str, Any]:
        text = getattr(proposal, field)
        note = getattr(proposal, "category", "") or getattr(proposal, "domain", "")
        return {"after": (_text(kind, "", text, against=[], mark="new", note=note),) if text else ()}

    return added


def _synthesis(space: Space, proposal: Any) -> Mapping[str, Any]:
    found = ((each, space.archive.get(each)) for each in proposal.episodes)
    episodes = tuple(_plain("episode", each, "(gone since)" if got is None else got.abstract) for each, got in found)
    why = proposal.refused or ("" if proposal.text else "They say nothing that is not known already.")
    after = (_plain("document", "", proposal.text),) if proposal.text else ()
    return {"before": episodes, "after": after, "why": why}


def _merge_entities(space: Space, proposal: Any) -> Mapping[str, Any]:
    one, other = (_entity(space, each) for each in (proposal.source, proposal.target))
    return {
        "before": (_plain("entity", proposal.source, one),),
        "after": (_plain("entity", proposal.target, other, "holds for both"),),
    }


def _withdraw(space: Space, proposal: Any) -> Mapping[str, Any]:
    relation = space.graph.relation(proposal.id)
    text = "(gone since)" if relation is None else relation_words(relation)
    return {"before": (_text("relation", proposal.id, text, against=[], mark="gone"),)}


def _close(space: Space, proposal: Any) -> Mapping[str, Any]:
    return {"before": (_plain("entity", proposal.subject, _entity(space, proposal.subject), proposal.predicate),)}


class Kind(NamedTuple):
    """A kind of change: its title, what is counted of it, and what a proposal of it holds before and after."""

    title: str
    done: str
    told: Callable[[Space, Any], Mapping[str, Any]]


KINDS = {
    "merge": Kind("Merged into one", "merged", _merge),
    "retire": Kind("Retired", "retired", _retire),
    "refine": Kind("Filed elsewhere", "filed elsewhere", _refine),
    "anti_pattern": Kind("Learnt what not to do", "learnt what not to do", _added("entry", "content")),
    "preference": Kind("Inferred a preference", "inferred", _added("entry", "content")),
    "synthesis": Kind("Summed up episodes", "summed up", _synthesis),
    "merge_entities": Kind("Took two names for one", "names joined", _merge_entities),
    "withdraw_relation": Kind("Withdrew a relation", "relations withdrawn", _withdraw),
    "close_windows": Kind("Ended relations that others follow", "relations ended", _close),
}


def _entry_text(space: Space, entry_id: str) -> str:
    entry = space.knowledge.get(entry_id)
    return "" if entry is None else entry.content


def _entity(space: Space, entity_id: str) -> str:
    entity = space.graph.entity(entity_id)
    return "(gone since)" if entity is None else entity.name


def _plain(kind: str, ref: str, text: str, note: str = "") -> Text:
    return Text(kind=kind, ref=ref, parts=(Part(text=text or "(deleted since)"),), note=note)


def _text(
    kind: str, ref: str, text: str, *, against: Sequence[str], mark: Literal["gone", "new"], note: str = ""
) -> Text:
    """A text with the words marked that none of the others holds; all of them if there is no other."""
    if not text:
        return _plain(kind, ref, text, note)
    others = {word.casefold() for each in against for word in _WORD.findall(each)}
    return Text(kind=kind, ref=ref, parts=tuple(_joined(_marked(text, others, mark))), note=note)


def _marked(text: str, others: set[str], mark: Literal["gone", "new"]) -> Iterator[Part]:
    for word in _WORD.findall(text):
        known = word.isspace() or word.casefold() in others
        yield Part(text=word, mark="" if known else mark)


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Neighbours with the same mark as one, with the blanks between marked words."""
    held: list[Part] = []
    for part in parts:
        if held and (part.mark == held[-1].mark or (part.text.isspace() and held[-1].mark)):
            held[-1] = Part(text=held[-1].text + part.text, mark=held[-1].mark)
        else:
            held.append(part)
    yield from held
