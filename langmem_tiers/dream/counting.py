"""Preferences by count: what the user asks of the assistant often enough without stating it as a fact. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from langmem_tiers.dream import anti_patterns, grounds, sensitive
from langmem_tiers.dream.occurrences import Occurrences
from langmem_tiers.dream.types import Cited, EntrySeen, InferredPreference, Material, Sentiment
from langmem_tiers.dream.wishes import Wish, wishes
from langmem_tiers.knowledge.learned import ANTI_PATTERNS, INFERRED, within
from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.knowledge.wordings import plain
from langmem_tiers.settings import Settings


def repeated(material: Material, settings: Settings) -> Iterator[InferredPreference]:
    """The wishes that show often enough, and that the user has not taken back, nor stated."""
    occurrences = Occurrences(material, settings)
    heard = _heard(material, occurrences)
    new = {turn.drawer for turn in material.turns}
    for key, found in heard.items():
        evidence = tuple(Cited(drawer=drawer, quote=wish.quote) for drawer, wish in found)
        drawers = {each.drawer for each in evidence}
        sentiment, content = occurrences.strongest(drawers), found[0][1].content
        if sentiment is None or new.isdisjoint(drawers) or _contradicted(key, heard):
            continue
        if not _stated(content, material.entries):
            yield preference(content, evidence, sentiment, why="the user keeps asking for it")


def _contradicted(key: str, heard: Mapping[str, Sequence[tuple[int, Wish]]]) -> bool:
    """Whether the user asks for the opposite as well, or for answers in several languages."""
    if key.startswith("language:") and sum(each.startswith("language:") for each in heard) > 1:
        return True
    return heard[key][0][1].against in heard


def _heard(material: Material, occurrences: Occurrences) -> dict[str, list[tuple[int, Wish]]]:
    """Each wish with the drawers that it shows in, one for each time; what was sent twice counts once."""
    heard: dict[str, list[tuple[int, Wish]]] = {}
    corrected = _corrected(material)
    seen: set[tuple[str, Hashable]] = set()
    for drawer, session, content in _said(material):
        for wish in () if drawer in corrected else wishes(content):
            times = {(wish.key, occurrences.once(drawer)), (wish.key, (session, plain(content)))}
            if seen.isdisjoint(times):
                heard.setdefault(wish.key, []).append((drawer, wish))
            seen |= times
    return heard


def _said(material: Material) -> Iterator[tuple[int, str, str]]:
    """What the user said: in the turns since the last dream, and what annoyed them before."""
    turns = {turn.drawer for turn in material.turns}
    for signal in material.signals:
        if signal.drawer not in turns:
            yield signal.drawer, signal.session, signal.quote
    for turn in material.turns:
        if turn.role == "user":
            yield turn.drawer, turn.session, turn.content


def _stated(content: str, entries: Iterable[EntrySeen]) -> bool:
    """Whether it is known otherwise than by inference."""
    others = (entry for entry in entries if grounds.special(entry.category) != INFERRED)
    return any(same_fact(content, entry.content, None).same for entry in others)


def preference(
    content: str,
    evidence: tuple[Cited, ...],
    sentiment: Sentiment,
    *,
    why: str,
    marked: bool = False,
) -> InferredPreference:
    """A preference in its form, by rule; it is marked where its words touch what is sensitive."""
    return InferredPreference(
        content=content,
        sentiment=sentiment,
        evidence=evidence,
        sensitive=marked or sensitive.touches(content, *(each.quote for each in evidence)),
        why=why,
        path="rule",
    )


def _corrected(material: Material) -> set[int]:
    """The drawers that anti-patterns rest on: what these say is no preference besides."""
    known = (entry for entry in material.entries if within(entry.category, ANTI_PATTERNS))
    found = (cited.drawer for each in anti_patterns.by_rule(material) for cited in each.evidence)
    return {drawer for entry in known for drawer in entry.evidence} | set(found)
