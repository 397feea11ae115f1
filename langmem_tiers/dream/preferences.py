"""The preference pass: what the user keeps asking for without stating it as a fact, out of the turns since last time.

How often it has to show depends on how annoyed the user was, and is counted here, not by the model: of its reply, only
the sentences and the lines that it cites are taken. Whatever touches security, credentials or money is marked, so that
the agent asks before it acts upon it. What nothing bears out any more fades, and is put aside in the end.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from langmem_tiers.dream import anti_patterns, counting, grounds
from langmem_tiers.dream.asking import Question
from langmem_tiers.dream.occurrences import THRESHOLDS, Occurrences, firsts
from langmem_tiers.dream.replies import Number, Objects, Told, Words, Yes
from langmem_tiers.dream.types import (
    Cited,
    EntrySeen,
    InferredPreference,
    Material,
    Proposal,
    RetireEntry,
    TurnSeen,
)
from langmem_tiers.dream.wishes import wishes
from langmem_tiers.knowledge.learned import INFERRED, PERMISSION, left
from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge.wordings import plain
from langmem_tiers.llm.answers import Answer
from langmem_tiers.llm.directives import Directives
from langmem_tiers.palace.words import meaningful_words, stem, word_set
from langmem_tiers.settings import Settings

DIRECTIVE = "pref-dream"

_MOST_TOLD = 20  # preferences of one reply
_MOST_KNOWN = 20
_LONGEST_CONTENT = 300
_LONGEST_BATCH = 12_000  # characters of one question
_LONGEST_TURN = 300
_LONGEST_BEFORE = 100
_LEAST_LETTERS = 2
# What sentences about preferences have in common.
_EVERY_PREFERENCE = frozenset(
    map(
        stem, word_set("user prefer want wants wish like dislike hate need assistant answer reply response message use")
    )
)


class ToldEvidence(Told):
    """A line that shows a preference."""

    turn: Number = Field(default=0, description="number of the line")
    quote: Words = Field(default="", description="its words, copied letter by letter")


class ToldPreference(Told):
    """Something that the user keeps asking for."""

    content: Words = ""
    evidence: Objects[ToldEvidence] = Field(default_factory=list)
    sensitive: Yes = False


class ToldPreferences(Told):
    """What some lines show."""

    preferences: Objects[ToldPreference]


def flow(
    material: Material, settings: Settings, directives: Directives | None = None
) -> Generator[Question, Answer[Any], list[Proposal]]:
    """Ask about the corrections, then about the turns, some at a time; what the rules and the model propose.

    A model that can not be reached now is not asked about the other turns.

    Raises:
        InvalidDirective: the memory's own text in place of a prompt can not be used.
    """
    proposals = yield from anti_patterns.flow(material, settings, directives)
    if not settings.dream.preferences:
        return proposals
    told: list[tuple[ToldPreference, Mapping[int, TurnSeen]]] = []
    for lines, numbered in _batches(material.turns):
        user = "\n".join((*_known(material), *lines))
        prompt = (directives or Directives(None)).prompt(DIRECTIVE, ToldPreferences, user)
        answer = yield Question(schema=ToldPreferences, prompt=prompt)
        if answer.value is not None:
            told += ((each, numbered) for each in answer.value.preferences[:_MOST_TOLD])
        elif answer.temporary:
            break
    counted = by_count(material, settings)
    return [*proposals, *counted, *_by_model(told, counted, Occurrences(material, settings))]


def by_count(material: Material, settings: Settings) -> list[Proposal]:
    """What the user asked of the assistant in so many turns that it is a preference, and what has faded; by rule."""
    if not settings.dream.preferences:
        return []
    faded = (entry for entry in material.entries if grounds.has_faded(entry, material.at, settings.dream.fade_days))
    retired = [_put_aside(entry) for entry in faded if grounds.untouchable(entry) is None]
    return [*retired, *counting.repeated(material, settings)]


def metadata(preference: InferredPreference, held: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What is kept beside an inferred preference; `held` is that of the entry which says so already.

    Example:
        >>> preference = InferredPreference(content="…", evidence=(Cited(drawer=1), Cited(drawer=2), Cited(drawer=3)))
        >>> metadata(preference)
        {'source': 'inferred', 'sentiment': 'casual', 'confidence': 0.5}
    """
    before = (held or {}).get("confidence", 0.0)
    doubt = 1 - before if isinstance(before, float) and 0 <= before <= 1 else 1.0
    kept = {
        **(held or {}),
        "source": "inferred",
        "sentiment": preference.sentiment,
        # Each time that it would be enough to infer it halves what doubt there is.
        "confidence": round(1 - doubt * 0.5 ** (len(preference.evidence) / THRESHOLDS[preference.sentiment]), 4),
    }
    return {**kept, PERMISSION: True} if preference.sensitive else kept


def confidence(held: Mapping[str, Any], borne_out: datetime, now: datetime, fade_days: float) -> float:
    """How sure an inferred preference is now: half as sure after each `fade_days` without anything that bears it out.

    Example:
        >>> from datetime import UTC, timedelta
        >>> begun = datetime(2026, 1, 1, tzinfo=UTC)
        >>> confidence({"confidence": 0.5}, begun, begun + timedelta(days=90), fade_days=90)
        0.25
    """
    first = held.get("confidence", 1.0)
    return round((first if isinstance(first, float) else 1.0) * left(borne_out, now, fade_days), 4)


def _put_aside(entry: EntrySeen) -> RetireEntry:
    return RetireEntry(id=entry.id, why="nothing has borne it out for long", path="rule")


# By a model.


def _batches(turns: Sequence[TurnSeen]) -> Iterator[tuple[list[str], dict[int, TurnSeen]]]:
    """Turns as lines, so many as fit one question, with the numbers that those of the user have there."""
    lines: list[str] = []
    numbered: dict[int, TurnSeen] = {}
    before: str | None = None
    for turn in turns:
        if turn.role != "user":
            before = f"[-] {turn.role}: {_short(turn.content, _LONGEST_BEFORE)}"
            continue
        lines += [before] if before else []
        before = None
        numbered[len(numbered) + 1] = turn
        lines.append(f"[{len(numbered)}] user: {_short(turn.content, _LONGEST_TURN)}")
        if sum(map(len, lines)) > _LONGEST_BATCH:
            yield lines, numbered
            lines, numbered = [], {}
    if numbered:
        yield lines, numbered


def _known(material: Material) -> list[str]:
    inferred = [entry for entry in material.entries if grounds.special(entry.category) == INFERRED]
    held = [f"- {_short(entry.content, _LONGEST_CONTENT)}" for entry in inferred[:_MOST_KNOWN]]
    return ["Known:", *held, "Lines:"] if held else []


def _by_model(
    told: Iterable[tuple[ToldPreference, Mapping[int, TurnSeen]]],
    counted: Sequence[Proposal],
    occurrences: Occurrences,
) -> Iterator[InferredPreference]:
    """What a model told, each preference once, with the lines that really show it."""
    by_rule = [each for each in counted if isinstance(each, InferredPreference)]
    for content, (cited, marked) in _gathered(told).items():
        first = {each.drawer: each for each in cited}
        evidence = tuple(first[drawer] for drawer in firsts(first, occurrences))
        sentiment = occurrences.strongest({each.drawer for each in evidence}) or "casual"
        if not any(_is_counted(content, evidence, each) for each in by_rule):
            why = "it shows in what the user said"
            found = counting.preference(content, evidence, sentiment, why=why, marked=marked)
            yield found.model_copy(update={"path": "model"})


def _gathered(
    told: Iterable[tuple[ToldPreference, Mapping[int, TurnSeen]]],
) -> dict[str, tuple[list[Cited], bool]]:
    """Each preference with all lines that show it, and whether it was marked as sensitive."""
    found: dict[str, tuple[list[Cited], bool]] = {}
    for each, numbered in told:
        content = next((one for one in found if same_fact(one, each.content, None).same), each.content)
        if not content:
            continue
        cited, marked = found.get(content, ([], False))
        lines = _borne_out(each, numbered) if len(content) <= _LONGEST_CONTENT else ()
        found[content] = ([*cited, *lines], marked or each.sensitive)
    return found


def _borne_out(told: ToldPreference, numbered: Mapping[int, TurnSeen]) -> Iterator[Cited]:
    """The cited lines of the user that show it; what was sent twice counts once."""
    seen: set[tuple[str, str]] = set()
    for each in told.evidence:
        turn = numbered.get(each.turn)
        if turn is None or sum(map(str.isalnum, each.quote)) < _LEAST_LETTERS or not occurs(each.quote, turn.content):
            continue
        same = (turn.session, plain(turn.content))
        if same not in seen and _shows(told.content, turn.content):
            seen.add(same)
            yield Cited(drawer=turn.drawer, quote=each.quote)


def _shows(content: str, said: str) -> bool:
    """Whether a turn speaks of what a preference is about: in a word of it, or by asking for the same."""
    wanted = _stems(content) - _EVERY_PREFERENCE
    if not wanted.isdisjoint(_stems(said)):
        return True
    return any(same_fact(content, wish.content, None).same for wish in wishes(said))


def _is_counted(content: str, evidence: Sequence[Cited], counted: InferredPreference) -> bool:
    """Whether a preference by rule is the same: in other words, or out of the same wishes."""
    if same_fact(content, counted.content, None).same:
        return True
    asked = [_keys(each.quote) for each in counted.evidence]
    same = asked[0].intersection(*asked)
    return bool(evidence) and all(not same.isdisjoint(_keys(each.quote)) for each in evidence)


def _keys(said: str) -> set[str]:
    return {wish.key for wish in wishes(said)}


def _short(text: str, most: int) -> str:
    """A turn on one line, so that nothing in it looks like another."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _stems(text: str) -> set[str]:
    return {stem(word) for word in meaningful_words(text)}
