"""The consolidation pass: what a model is asked about a batch of entries, and what its reply proposes.

The model sees small numbers and never an id, so that it can not name what it was not shown. What it proposes is judged
by the decider; what is wrong in form is left out here, or kept under a name that no entry has, to be refused there.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from langmem_tiers.dream import rules
from langmem_tiers.dream.asking import Question
from langmem_tiers.dream.batching import batches
from langmem_tiers.dream.blending import says
from langmem_tiers.dream.replies import MOST, Objects, Told, Words
from langmem_tiers.dream.types import EntrySeen, Material, MergeEntries, Proposal, RefineEntry, RetireEntry
from langmem_tiers.knowledge.checks import DEFAULT_CATEGORY
from langmem_tiers.llm.answers import Answer
from langmem_tiers.llm.directives import Directives
from langmem_tiers.settings import Settings

DIRECTIVE = "dream"

_LONGEST_NAME = 40
_NUMBER = re.compile(r"[\s\[(#]*(?:entry|number|no\.?)?[\s\[(#]*0*(\d{1,6})(?:\.0)?[\s\]).]*", re.IGNORECASE | re.ASCII)


def _listed(given: Any) -> list[Any]:
    return (given if isinstance(given, list) else [given])[:MOST]


def _named(said: list[str]) -> list[str]:
    """The numbers of entries as they were shown, each once; what is no number stays as it was said, and names none."""
    read = ((_NUMBER.fullmatch(each), each) for each in said if each)
    return list(dict.fromkeys(number[1] if number else each[:_LONGEST_NAME] for number, each in read))


Texts = Annotated[list[Words], BeforeValidator(_listed), AfterValidator(lambda said: [each for each in said if each])]
Named = Annotated[
    list[Words],
    BeforeValidator(_listed),
    AfterValidator(_named),
    PlainSerializer(lambda said: [int(each) if each.isdecimal() else each for each in said]),
    WithJsonSchema({"type": "array", "items": {"type": "integer"}}),
]


class ToldMerge(Told):
    """Entries that become one."""

    sources: Named = Field(default=[], description="numbers of the entries, two or more")
    content: Words = Field(default="", description="one sentence with all that they tell")
    category: Words = ""
    tags: Texts = Field(default=[])


class ToldRefinement(Told):
    """A place for an entry that has none."""

    entry: Named = Field(default=[], description="number of the entry")
    category: Words = ""
    tags: Texts = Field(default=[])


class Tidied(Told):
    """What a model would tidy up."""

    model_config = ConfigDict(serialize_by_alias=True)

    to_delete: Named = Field(
        default=[], alias="toDelete", description="numbers of entries that say nothing of their own"
    )
    merges: Objects[ToldMerge] = Field(default=[])
    refine: Objects[ToldRefinement] = Field(default=[])


def flow(
    material: Material, settings: Settings, directives: Directives | None = None
) -> Generator[Question, Answer[Any], list[Proposal]]:
    """Ask about one batch after the other; what the rules and the model propose.

    The rules come first, and the model is not asked about what they put aside. Where it gives no answer, theirs is all
    that there is. A model that can not be reached now is not asked about the other batches.

    Raises:
        InvalidDirective: the memory's own text in place of the prompt can not be used.
    """
    proposals = rules.consolidation(material, settings)
    put_aside = rules.put_aside(proposals)
    left = [entry for entry in material.entries if entry.id not in put_aside]
    for batch in batches(left, settings.dream.batch_entries):
        if len(batch) == 1:  # there is nothing to compare it with
            continue
        prompt = (directives or Directives(None)).prompt(DIRECTIVE, Tidied, lines(batch, material.at))
        answer = yield Question(schema=Tidied, prompt=prompt)
        if answer.value is not None:
            proposals += proposed(answer.value, batch)
        elif answer.temporary:
            break
    return proposals


def lines(batch: Sequence[EntrySeen], at: datetime) -> str:
    """A batch as numbered lines."""
    shown = (f"[{number}] {_shown(entry)}" for number, entry in enumerate(batch, 1))
    return "\n".join((f"Today is {at:%Y-%m-%d}.", "Entries:", *shown))


def proposed(told: Tidied, batch: Sequence[EntrySeen]) -> list[Proposal]:
    """What a reply proposes for the entries that it was shown."""
    shown = {str(number): entry for number, entry in enumerate(batch, 1)}
    return [
        *(each for merge in told.merges for each in _yielding(_merge(merge, shown), batch)),
        *(RetireEntry(id=_id(each, shown), why="the model takes it for noise") for each in told.to_delete),
        *(refined for each in told.refine for refined in _refined(each, shown)),
    ]


def _shown(entry: EntrySeen) -> str:
    """An entry on one line, so that nothing in it looks like another."""
    about = "; ".join((entry.category, *entry.tags, f"{entry.created_at:%Y-%m-%d}", f"{len(entry.evidence)} messages"))
    return " ".join(f"({about}) {entry.content}".split())


def _id(number: str, shown: Mapping[str, EntrySeen]) -> str:
    """The id of an entry, for a number that was not shown a name that no entry has."""
    return shown[number].id if number in shown else f"[{number}]"


def _yielding(merge: MergeEntries, shown: Iterable[EntrySeen]) -> list[Proposal]:
    """A merge; or where one that is trusted more says all of it, the others give way to that one, which stays."""
    sources = [entry for entry in shown if entry.id in merge.sources]
    lowest = min((entry.authority for entry in sources), default=0)
    above = [entry for entry in sources if entry.authority > lowest and says(entry.content, merge.content)]
    best = max(above, key=lambda entry: entry.authority, default=None)
    if best is None or len(sources) < len(merge.sources):
        return [merge]
    why = f"entry {best.id} says all of it"
    return [RetireEntry(id=each, successor=best.id, why=why) for each in merge.sources if each != best.id]


def _merge(told: ToldMerge, shown: Mapping[str, EntrySeen]) -> MergeEntries:
    sources = [shown[number] for number in told.sources if number in shown]
    tags = dict.fromkeys(tag for each in sources for tag in each.tags) or told.tags
    filed = (each.category for each in sources if each.category != DEFAULT_CATEGORY)
    return MergeEntries(
        sources=tuple(_id(number, shown) for number in told.sources),
        content=told.content,
        category=next(filed, "") or told.category or next((each.category for each in sources), ""),
        tags=tuple(tags),
        why="the model takes them for one",
    )


def _refined(told: ToldRefinement, shown: Mapping[str, EntrySeen]) -> Iterator[RefineEntry]:
    for number in told.entry:
        category, tags = told.category or None, tuple(told.tags) or None
        entry = shown.get(number)
        fills = entry is not None and {"category": entry.category == DEFAULT_CATEGORY, "tags": not entry.tags}
        if fills and any(fills.values()):  # of what is there already, only this is left out
            category, tags = category if fills["category"] else None, tags if fills["tags"] else None
        yield RefineEntry(id=_id(number, shown), category=category, tags=tags, why="the model would file it elsewhere")
