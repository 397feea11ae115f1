"""The consolidation pass: what a model is asked about a batch of entries, and what its reply proposes.

The model sees small numbers and never an id, so that it can not name what it was not shown. What it proposes is judged
by the decider; what is wrong in form is left out here, or kept under a name that no entry has, to be refused there.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from langmem_tiers.dream import rules
from langmem_tiers.dream.asking import Question
from langmem_tiers.dream.batching import batches
from langmem_tiers.dream.types import (
    AntiPattern,
    Cited,
    EntrySeen,
    Material,
    MergeEntries,
    Proposal,
    RefineEntry,
    RetireEntry,
    Signal,
)
from langmem_tiers.llm.answers import Answer, Prompt
from langmem_tiers.llm.directives import Directives
from langmem_tiers.settings import Settings

DIRECTIVE = "dream"

_MOST_PROPOSED = 100  # of one kind, in one reply
_MOST_NUMBERS = 200
_LONGEST_SHOWN = 300  # characters of what was said
_NUMBER = re.compile(r"[\s\[(#]*(?:entry|signal|number|no\.?)?[\s\[(#]*0*(\d{1,6})[\s\]).]*", re.IGNORECASE | re.ASCII)
_DO_NOT = re.compile(r"^(?:don['’]t|do not|never)\s+", re.IGNORECASE)
_BECAUSE, _INSTEAD = (re.compile(rf"^{word}[\s,:]+", re.IGNORECASE) for word in ("because", "instead"))
_NO_DOMAIN = re.compile(r"[^a-z0-9]+")


def _numbers(given: Any) -> list[str]:
    """Numbers as they were shown, each once; what is none stays as it was said, and names nothing."""
    said = (text for each in as_list(given) if (text := one_line(each)))
    return list(dict.fromkeys((found[1] if (found := _NUMBER.fullmatch(text)) else text[:40]) for text in said))


Numbers = Annotated[
    list[str],
    BeforeValidator(_numbers),
    PlainSerializer(lambda said: [int(each) if each.isdecimal() else each for each in said]),
    WithJsonSchema({"type": "array", "items": {"type": "integer"}}),
]


class ToldMerge(_Told):
    """Entries that become one."""

    sources: Numbers = Field(default=[], description="numbers of the entries, two or more")
    content: Words = Field(default="", description="one sentence with all that they tell")
    category: Words = ""
    tags: Tags = []


class ToldRefinement(_Told):
    """A better place for an entry."""

    entry: Numbers = Field(default=[], description="number of the entry")
    category: Words = ""
    tags: Tags = []


class Tidied(Told):
    """What a model would tidy up."""

    to_delete: Numbers = Field(
        default=[], alias="toDelete", description="numbers of entries that say nothing of their own"
    )
    merges: Objects[ToldMerge] = []
    refine: Objects[ToldRefinement] = []


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
    system = (directives or Directives(None)).text(DIRECTIVE)
    for batch, signals in _asked(material, rules.put_aside(proposals), settings):
        answer = yield Question(schema=Tidied, prompt=prompt(system, batch, signals, material))
        if answer.value is not None:
            proposals += proposed(answer.value, batch, signals)
        elif answer.temporary:
            break
    return proposals


def prompt(system: str, batch: Sequence[EntrySeen], signals: Sequence[Signal], material: Material) -> Prompt:
    """The question about a batch: its entries and the signals as numbered lines."""
    lines = [f"Today is {material.at:%Y-%m-%d}.", "Entries:"]
    lines += [f"[{number}] {_shown(entry)}" for number, entry in enumerate(batch, 1)]
    if signals:
        lines += ["Signals:", *(f"[{number}] {_told(signal)}" for number, signal in enumerate(signals, 1))]
    return Prompt(system=system, user="\n".join(lines), example=_EXAMPLE)


def proposed(told: Tidied, batch: Sequence[EntrySeen], signals: Sequence[Signal]) -> list[Proposal]:
    """What a reply proposes for the entries that it was shown."""
    shown = {str(number): entry for number, entry in enumerate(batch, 1)}
    heard = {str(number): signal for number, signal in enumerate(signals, 1)}
    return [
        *(_merge(each, shown) for each in told.merges),
        *(RetireEntry(id=_id(each, shown), why="the model takes it for noise") for each in told.to_delete),
        *(refined for each in told.refine for refined in _refined(each, shown)),
        *(_anti_pattern(each, heard) for each in told.anti_patterns),
    ]


def _asked(
    material: Material, put_aside: set[str], settings: Settings
) -> Iterator[tuple[tuple[EntrySeen, ...], tuple[Signal, ...]]]:
    """Batches with something to compare; the signals go with the first one, and are asked about without any, too."""
    left = [entry for entry in material.entries if entry.id not in put_aside]
    signals = tuple(signal for signal in material.signals if signal.kind == "correction")
    for batch in batches(left, settings.dream.batch_entries):
        if len(batch) > 1 or signals:
            yield batch, signals
        signals = ()
    if signals:
        yield (), signals


def _shown(entry: EntrySeen) -> str:
    """An entry on one line, so that nothing in it looks like another."""
    about = [entry.category, *entry.tags, f"{entry.created_at:%Y-%m-%d}", f"{len(entry.evidence)} messages"]
    return f"({'; '.join(map(_text, about))}) {_text(entry.content)}"


def _told(signal: Signal) -> str:
    before = f'the assistant said "{_text(signal.before)[:_LONGEST_SHOWN]}", ' if signal.before else ""
    return f'{signal.at:%Y-%m-%d}: {before}the user said "{_text(signal.quote)[:_LONGEST_SHOWN]}"'


def _id(number: str, shown: Mapping[str, EntrySeen]) -> str:
    """The id of an entry, for a number that was not shown a name that no entry has."""
    return shown[number].id if number in shown else f"[{number}]"


def _merge(told: ToldMerge, shown: Mapping[str, EntrySeen]) -> MergeEntries:
    sources = [shown[number] for number in told.sources if number in shown]
    tags = told.tags or dict.fromkeys(tag for each in sources for tag in each.tags)
    return MergeEntries(
        sources=tuple(_id(number, shown) for number in told.sources),
        content=told.content,
        category=told.category or next((each.category for each in sources), ""),
        tags=tuple(tags),
        why="the model takes them for one",
    )


def _refined(told: ToldRefinement, shown: Mapping[str, EntrySeen]) -> Iterator[RefineEntry]:
    for number in told.entry:
        tags = tuple(told.tags) or None
        yield RefineEntry(id=_id(number, shown), category=told.category or None, tags=tags, why="the model refined it")


def _anti_pattern(told: ToldAntiPattern, heard: Mapping[str, Signal]) -> AntiPattern:
    return AntiPattern(
        domain=_NO_DOMAIN.sub("-", told.domain.lower()).strip("-")[:64],
        content=f"Don't {_part(told.do_not, _DO_NOT)} because {_part(told.because, _BECAUSE)}; "
        f"instead {_part(told.instead, _INSTEAD)}.",
        evidence=tuple(_cited(number, heard) for number in told.signals),
    )


def _part(said: str, opening: re.Pattern[str]) -> str:
    return opening.sub("", said).rstrip(".!; ")


def _cited(number: str, heard: Mapping[str, Signal]) -> Cited:
    """The words of a signal; those of no drawer for a number that was not shown."""
    signal = heard.get(number)
    return Cited(drawer=0) if signal is None else Cited(drawer=signal.drawer, quote=signal.quote)
