"""Checking a model's reply about an entry: what of it the entry itself bears out, and why the rest is not taken. Pure.

What the model says is nobody's word: it may say what the entry says, and find a place for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.dividing import difference
from langmem_tiers.knowledge.types import Authority, Entry
from langmem_tiers.knowledge.wordings import plain
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets
from langmem_tiers.trust.instructions import suspicious
from langmem_tiers.writing.enriching.prompt import MOST_MEMORIES, Ordered, Told
from langmem_tiers.writing.mining.prompt import one_line

_MOST_TAGS = 5
_LONGEST_TAG = 40
_LONGEST_CATEGORY = 80
_DEEPEST_CATEGORY = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One fact of an entry, as it will be kept."""

    content: str
    category: str
    tags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """What a reply came to: no parts where the entry stays as it is; and why the model's words are not taken.

    The reason quotes nothing: it is noted, and would outlive the entry where that is deleted.
    """

    parts: tuple[Part, ...] = ()
    refused: str = ""


def check(reply: Ordered, entry: Entry, settings: Settings) -> Checked:
    """The facts that an entry is to be kept as. The category and the tags that it was saved with stay."""
    if not 1 <= len(reply.memories) <= MOST_MEMORIES:
        return Checked(refused=f"{len(reply.memories)} memories were made of it")
    parts, reason = _parts(reply.memories, entry, settings)
    if reason:
        return Checked(refused=reason)
    reason = _unlike(entry, [part.content for part in parts])
    if reason is None:
        return Checked(parts=tuple(parts))
    # A single one stays in its words, and may be filed all the same.
    stays = tuple(replace(part, content=entry.content) for part in parts) if len(parts) == 1 else ()
    return Checked(parts=stays, refused=reason)


def _parts(told: Sequence[Told], entry: Entry, settings: Settings) -> tuple[list[Part], str | None]:
    """The facts of a reply, each once, or why none of them is taken."""
    found: dict[str, Part] = {}
    for each in told:
        if reason := _hostile(each):
            return [], reason
        try:
            part = _part(each, entry, settings)
        except InvalidInput as error:
            return [], error.message
        found.setdefault(plain(part.content), part)
    return list(found.values()), None


def _hostile(told: Told) -> str | None:
    """Why a fact is none, but addressed to the agent."""
    words = told.category.replace("-", " ").replace("_", " ").replace("/", " ")
    texts = (told.content, words, " ".join(told.tags))
    return next((reason for text in texts if (reason := suspicious(text))), None)


def _part(told: Told, entry: Entry, settings: Settings) -> Part:
    given = entry.category != checks.DEFAULT_CATEGORY
    return Part(
        content=checks.content(one_line(told.content), settings),
        category=entry.category if given else _category(told.category),
        tags=entry.tags or _tags(told.tags),
    )


def _category(named: str) -> str:
    """The category that a model names, the default one where it is none."""
    short = len(named) <= _LONGEST_CATEGORY and named.count("/") < _DEEPEST_CATEGORY
    if not short or secrets.find(named):
        return checks.DEFAULT_CATEGORY
    try:
        return checks.category(named.strip().strip("/"))
    except InvalidInput:
        return checks.DEFAULT_CATEGORY


def _tags(named: Iterable[str]) -> tuple[str, ...]:
    fit = [tag for tag in named if 0 < len(tag.strip()) <= _LONGEST_TAG and not secrets.find(tag)]
    return checks.tags(fit[:_MOST_TAGS])


def _unlike(entry: Entry, contents: Sequence[str]) -> str | None:
    """Why sentences are not what an entry says, None where they are."""
    if list(contents) == [entry.content]:
        return None
    if entry.authority is Authority.CORRECTION:
        return "the user corrected it in these words"
    return difference(entry.content, contents, by_user=entry.authority >= Authority.USER)
