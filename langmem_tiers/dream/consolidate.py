"""Consolidates entries: duplicates, expired and outdated ones, twin categories; by rules and by a model.

The rules prefer to miss something: two entries too many are a nuisance, one too few is a loss. A model sees numbers and
never ids, so that it cannot name what it was not shown. The decider judges its proposals; malformed ones are dropped
here, or keep a name that no entry has, so that they are refused there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from langmem_tiers.dream import retirement
from langmem_tiers.dream.batching import batches
from langmem_tiers.dream.faithfulness import says
from langmem_tiers.dream.questions import BUILT_IN, MOST, DreamQuestion, Objects, PartialReply, Step, Words
from langmem_tiers.dream.retirement import ByWord
from langmem_tiers.dream.types import Material, MergeEntries, Proposal, RefineEntry, RetireEntry
from langmem_tiers.knowledge.validation import DEFAULT_CATEGORY
from langmem_tiers.language.characters import one_line
from langmem_tiers.language.contradictions import slot
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.synonyms import CLASSES, spelled
from langmem_tiers.language.wordings import forms
from langmem_tiers.models.directives import Directives
from langmem_tiers.records import Entry
from langmem_tiers.settings import Settings

DIRECTIVE = "dream"

_LONGEST_NAME = 40
_MOST_TAGS = 20
_MOST_FOLDED = 100  # further ones are left to later dreams
_NUMBER = re.compile(
    r"[\s\[(#]*+(?:entry|number|no\.?)?[\s\[(#]*+0*(\d{1,6})(?:\.0)?[\s\]).]*", re.IGNORECASE | re.ASCII
)
# Synonymous category names; the first of each line stands for all of them.
_TWINS = """
    work job career employment
    family relatives
    hobby pastime
    food meal cuisine
    health wellness
    travel trip journey
    finance money
    preference pref
    location place
"""
_CLASSES = CLASSES | {name: line.split()[0] for line in _TWINS.strip().splitlines() for name in line.split()}
_PARTS = re.compile(r"[-_]+")


# By a model.


def _listed(given: Any) -> list[Any]:
    return (given if isinstance(given, list) else [given])[:MOST]


def _numbers(said: list[str]) -> list[str]:
    """The numbers of entries as shown, each once; anything else is kept, and matches no entry."""
    read = ((_NUMBER.fullmatch(each), each) for each in said if each)
    return list(dict.fromkeys(number[1] if number else each[:_LONGEST_NAME] for number, each in read))


Texts = Annotated[list[Words], BeforeValidator(_listed), AfterValidator(lambda said: [each for each in said if each])]
Numbered = Annotated[
    list[Words],
    BeforeValidator(_listed),
    AfterValidator(_numbers),
    PlainSerializer(lambda said: [int(each) if each.isdecimal() else each for each in said]),
    WithJsonSchema({"type": "array", "items": {"type": "integer"}}),
]


class MergeReply(PartialReply):
    """Entries that become one."""

    sources: Numbered = Field(default=[], description="numbers of the entries, two or more")
    content: Words = Field(default="", description="one sentence with all that they tell")
    category: Words = ""
    tags: Texts = Field(default=[])


class RefinementReply(PartialReply):
    """A place for an entry that has none."""

    entry: Numbered = Field(default=[], description="number of the entry")
    category: Words = ""
    tags: Texts = Field(default=[])


class ConsolidationReply(PartialReply):
    """What a model would tidy up."""

    model_config = ConfigDict(serialize_by_alias=True)

    to_delete: Numbered = Field(
        default=[], alias="toDelete", description="numbers of entries that say nothing of their own"
    )
    merges: Objects[MergeReply] = Field(default=[])
    refine: Objects[RefinementReply] = Field(default=[])


def propose(material: Material, settings: Settings, directives: Directives = BUILT_IN) -> Step[list[Proposal]]:
    """Ask about each batch; yields the proposals of rules and model.

    The rules come first, and the model is not asked about entries they would retire. If the model cannot be reached, it
    is not asked about further batches.

    Raises:
        InvalidDirective: the memory's custom prompt cannot be used.
    """
    proposals = by_rule(material)
    aside = put_aside(proposals)
    left = [entry for entry in material.entries if entry.id not in aside]
    for batch in batches(left, settings.dream.batch_entries):
        if len(batch) == 1:  # nothing to compare it with
            continue
        prompt = directives.prompt(DIRECTIVE, ConsolidationReply, lines(batch, material.at))
        answer = yield DreamQuestion(schema=ConsolidationReply, prompt=prompt)
        if answer.value is not None:
            proposals += proposed(answer.value, batch)
        elif answer.temporary:
            break
    return proposals


def lines(batch: Sequence[Entry], at: datetime) -> str:
    """A batch as numbered lines."""
    shown = (f"[{number}] {_shown(entry)}" for number, entry in enumerate(batch, 1))
    return "\n".join((f"Today is {at:%Y-%m-%d}.", "Entries:", *shown))


def proposed(reply: ConsolidationReply, batch: Sequence[Entry]) -> list[Proposal]:
    """The proposals in a reply about these entries."""
    shown = {str(number): entry for number, entry in enumerate(batch, 1)}
    return [
        *(each for merge in reply.merges for each in _giving_way(_merge_of(merge, shown), batch)),
        *(RetireEntry(id=_id(each, shown), why="the model takes it for noise") for each in reply.to_delete),
        *(refined for each in reply.refine for refined in _refined(each, shown)),
    ]


def _shown(entry: Entry) -> str:
    """An entry on one line, so that no part of it looks like another entry."""
    about = "; ".join((entry.category, *entry.tags, f"{entry.said_at:%Y-%m-%d}", f"{len(entry.evidence)} messages"))
    return one_line(f"({about}) {entry.content}")


def _id(number: str, shown: Mapping[str, Entry]) -> str:
    """The id of an entry; for a number that was not shown, a name that no entry has."""
    return shown[number].id if number in shown else f"[{number}]"


def _giving_way(merge: MergeEntries, shown: Iterable[Entry]) -> list[Proposal]:
    """The merge; or, if a more trusted entry already covers it, the retirement of the others in its favour."""
    sources = [entry for entry in shown if entry.id in merge.sources]
    lowest = min((entry.rank for entry in sources), default=0)
    above = [entry for entry in sources if entry.rank > lowest and says(entry.content, merge.content)]
    best = max(above, key=lambda entry: entry.rank, default=None)
    if best is None or len(sources) < len(merge.sources):
        return [merge]
    why = f"entry {best.id} says all of it"
    return [RetireEntry(id=each, successor=best.id, why=why) for each in merge.sources if each != best.id]


def _merge_of(reply: MergeReply, shown: Mapping[str, Entry]) -> MergeEntries:
    sources = [shown[number] for number in reply.sources if number in shown]
    tags = dict.fromkeys(tag for each in sources for tag in each.tags) or reply.tags
    filed = (each.category for each in sources if each.category != DEFAULT_CATEGORY)
    return MergeEntries(
        sources=tuple(_id(number, shown) for number in reply.sources),
        content=reply.content,
        category=next(filed, "") or reply.category or next((each.category for each in sources), ""),
        tags=tuple(tags),
        why="the model takes them for one",
    )


def _refined(reply: RefinementReply, shown: Mapping[str, Entry]) -> Iterator[RefineEntry]:
    for number in reply.entry:
        category, tags = reply.category or None, tuple(reply.tags) or None
        entry = shown.get(number)
        if entry is not None and (entry.category == DEFAULT_CATEGORY or not entry.tags):
            # If an entry is partly filed, only the missing part is proposed.
            category = category if entry.category == DEFAULT_CATEGORY else None
            tags = None if entry.tags else tags
        yield RefineEntry(id=_id(number, shown), category=category, tags=tags, why="the model would file it elsewhere")


# By rule.


def by_rule(material: Material) -> list[Proposal]:
    """What the rules propose for these entries, most certain first."""
    expired = {entry.id for entry in material.entries if retirement.has_expired(entry, material.at)}
    holding = [entry for entry in material.entries if entry.id not in expired]
    ended: list[Proposal] = [
        RetireEntry(id=entry.id, why="it has expired", path="rule")
        for entry in material.entries
        if entry.id in expired and not retirement.untouchable(entry)
    ]
    doubled = list(_duplicates(holding))
    aside = put_aside(doubled)
    left = [entry for entry in holding if entry.id not in aside]
    # What a duplicate gives way to stays in this dream; if it is outdated too, the next one retires it.
    needed = {each.successor for each in doubled if isinstance(each, RetireEntry)}
    outdated = [each for each in _outdated(left) if each.id not in needed]
    return [*ended, *doubled, *outdated, *_refiled(left)[:_MOST_FOLDED]]


def put_aside(proposals: Iterable[Proposal]) -> set[str]:
    """The entries that these proposals would retire, as deletions or as sources of merges."""
    found: set[str] = set()
    for proposal in proposals:
        if isinstance(proposal, MergeEntries):
            found.update(proposal.sources)
        elif isinstance(proposal, RetireEntry):
            found.add(proposal.id)
    return found


def _duplicates(entries: Sequence[Entry]) -> Iterator[Proposal]:
    """A merge for each group of duplicates; if one entry is more trusted, the others are retired instead."""
    for group in _groups(entries):
        best = max(group, key=_standing)
        equal = [each for each in group if each.rank == best.rank and not retirement.untouchable(each)]
        if len(equal) == len(group):
            yield _merge(best, group)
            continue
        for each in group:
            if each is not best and not retirement.untouchable(each):
                yield RetireEntry(id=each.id, successor=best.id, why=f"entry {best.id} says the same", path="rule")


def _groups(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Groups of two or more entries that say the same; each entry is in one group."""
    by_word = ByWord(entries)
    taken: set[str] = set()
    for entry in entries:
        if entry.id in taken:
            continue
        group = [entry]
        for other in by_word.with_words_of(entry.content):
            if other.id not in taken and all(_one(other, each) for each in group):
                group.append(other)
        taken.update(each.id for each in group)
        if len(group) > 1:
            yield group


def _one(here: Entry, there: Entry) -> bool:
    return (
        here.id != there.id
        and retirement.alike_kept(here, there) is None
        and same_fact(here.content, there.content, None).same
    )


def _standing(entry: Entry) -> tuple[int, bool, bool, int, float, str]:
    """Whose wording is kept: higher authority, then not in capitals, then longer, then earlier."""
    spoken = not entry.content.isupper()
    return (entry.rank, entry.pinned, spoken, len(entry.content), -entry.created_at.timestamp(), entry.id)


def _merge(best: Entry, group: Sequence[Entry]) -> MergeEntries:
    tags = dict.fromkeys(tag for each in (best, *group) for tag in each.tags)
    return MergeEntries(
        sources=tuple(each.id for each in group),
        content=best.content,
        category=best.category,
        tags=tuple(tags)[:_MOST_TAGS],
        why="they say the same",
        path="rule",
    )


def _outdated(entries: Sequence[Entry]) -> Iterator[RetireEntry]:
    """Entries with an earlier value of a single-valued property."""
    by_slot: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        told = slot(entry.content)
        if told is not None:
            by_slot.setdefault((told.subject, told.attribute), []).append(entry)
    for rivals in by_slot.values():
        newest = max(rivals, key=lambda each: (each.created_at, each.id))
        for entry in rivals:
            if entry is not newest and not retirement.untouchable(entry) and retirement.outdates(newest, entry):
                why = f"entry {newest.id} tells what holds now"
                yield RetireEntry(id=entry.id, successor=newest.id, why=why, path="rule")


def _refiled(entries: Sequence[Entry]) -> list[RefineEntry]:
    """Move entries to the most used twin category, then the shortest: of `food`, `foods` and `Food`, one stays."""
    used = Counter(entry.category for entry in entries)
    twins: dict[tuple[str, ...], list[str]] = {}
    for name in used:
        twins.setdefault(_twin_key(name), []).append(name)
    best = {key: min(names, key=lambda name: (-used[name], len(name), name)) for key, names in twins.items()}
    kept = {name: name if retirement.special(name) else best[_twin_key(name)] for name in used}
    moved = [each for each in entries if kept[each.category] != each.category and not retirement.filed_on_purpose(each)]
    why = {name: f"{name} is {other}" for name, other in kept.items()}
    return [
        RefineEntry(id=each.id, category=kept[each.category], why=why[each.category], path="rule") for each in moved
    ]


def _twin_key(category: str) -> tuple[str, ...]:
    """The normal form that twins share: path parts with the same case, number, spelling and synonym."""
    return tuple(" ".join(map(_canonical, filter(None, _PARTS.split(part)))) for part in category.casefold().split("/"))


def _canonical(word: str) -> str:
    found = sorted(forms(spelled(word)), key=len)
    return next((_CLASSES[form] for form in found if form in _CLASSES), found[0])
