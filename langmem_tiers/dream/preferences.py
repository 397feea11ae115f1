"""The preference pass: what the user keeps asking for without stating it as a fact, out of the turns since last time.

How often it has to show depends on how annoyed the user was, and is counted here, not by the model: of its reply, only
the sentences and the lines that it cites are taken. Whatever touches security, credentials or money is marked, so that
the agent asks before it acts upon it. What nothing bears out any more fades, and is put aside in the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from langmem_tiers.dream import anti_patterns, grounds, sensitive
from langmem_tiers.dream.asking import Question
from langmem_tiers.dream.founding import THRESHOLDS
from langmem_tiers.dream.replies import Number, Objects, Told, Words, Yes
from langmem_tiers.dream.types import (
    Cited,
    EntrySeen,
    InferredPreference,
    Material,
    Proposal,
    RetireEntry,
    Sentiment,
    TurnSeen,
)
from langmem_tiers.dream.wishes import Wish, wishes
from langmem_tiers.knowledge.learned import ANTI_PATTERNS, INFERRED, PERMISSION, left, within
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
_STRONGEST: tuple[Sentiment, ...] = tuple(sorted(THRESHOLDS, key=lambda sentiment: THRESHOLDS[sentiment]))


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
    return [*proposals, *counted, *_by_model(told, counted, material)]


def by_count(material: Material, settings: Settings) -> list[Proposal]:
    """What the user asked of the assistant in so many turns that it is a preference, and what has faded; by rule."""
    if not settings.dream.preferences:
        return []
    faded = (entry for entry in material.entries if grounds.has_faded(entry, material.at, settings.dream.fade_days))
    retired = [_put_aside(entry) for entry in faded if grounds.untouchable(entry) is None]
    return [*retired, *_repeated(material)]


def _corrected(material: Material) -> set[int]:
    """The drawers that anti-patterns rest on: what these say is no preference besides."""
    known = (entry for entry in material.entries if within(entry.category, ANTI_PATTERNS))
    found = (cited.drawer for each in anti_patterns.by_rule(material) for cited in each.evidence)
    return {drawer for entry in known for drawer in entry.evidence} | set(found)


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


# By count.


def _repeated(material: Material) -> Iterator[InferredPreference]:
    """The wishes that show in enough turns, and that the user has not taken back, nor stated."""
    heard = _heard(material)
    new = {turn.drawer for turn in material.turns}
    languages = [key for key in heard if key.startswith("language:")]
    for key, found in heard.items():
        contradicted = found[0][1].against in heard or (key in languages and len(languages) > 1)
        evidence = tuple(Cited(drawer=drawer, quote=wish.quote) for drawer, wish in found)
        sentiment = _sentiment(evidence, material)
        if sentiment is None or contradicted or new.isdisjoint(each.drawer for each in evidence):
            continue
        if not _stated(found[0][1].content, material.entries):
            yield _preference(found[0][1].content, evidence, sentiment, why="the user keeps asking for it")


def _heard(material: Material) -> dict[str, list[tuple[int, Wish]]]:
    """Each wish with the drawers of the turns that it shows in; what was sent twice counts once."""
    heard: dict[str, list[tuple[int, Wish]]] = {}
    corrected = _corrected(material)
    seen: set[tuple[str, str, str]] = set()
    for drawer, session, content in _said(material):
        for wish in wishes(content):
            if drawer not in corrected and (session, wish.key, plain(content)) not in seen:
                seen.add((session, wish.key, plain(content)))
                heard.setdefault(wish.key, []).append((drawer, wish))
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


def _sentiment(evidence: Iterable[Cited], material: Material) -> Sentiment | None:
    """The strongest feeling that a preference shows with often enough; None where it does not."""
    felt = {signal.drawer: signal.sentiment for signal in material.signals}
    shown = [THRESHOLDS[felt.get(drawer, "casual")] for drawer in {each.drawer for each in evidence}]
    needed = ((each, THRESHOLDS[each]) for each in _STRONGEST)
    return next((each for each, least in needed if sum(one <= least for one in shown) >= least), None)


def _stated(content: str, entries: Iterable[EntrySeen]) -> bool:
    """Whether it is known otherwise than by inference."""
    others = (entry for entry in entries if grounds.special(entry.category) != INFERRED)
    return any(same_fact(content, entry.content, None).same for entry in others)


def _preference(
    content: str,
    evidence: tuple[Cited, ...],
    sentiment: Sentiment,
    *,
    why: str,
    marked: bool = False,
) -> InferredPreference:
    return InferredPreference(
        content=content,
        sentiment=sentiment,
        evidence=evidence,
        sensitive=marked or sensitive.touches(content, *(each.quote for each in evidence)),
        why=why,
        path="rule",
    )


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
    told: Iterable[tuple[ToldPreference, Mapping[int, TurnSeen]]], counted: Sequence[Proposal], material: Material
) -> Iterator[InferredPreference]:
    """What a model told, each preference once, with the lines that really show it."""
    found: defaultdict[str, list[Cited]] = defaultdict(list)
    marked: set[str] = set()
    by_rule = [each for each in counted if isinstance(each, InferredPreference)]
    for each, numbered in told:
        content = next((one for one in found if same_fact(one, each.content, None).same), each.content)
        found[content] += _borne_out(each, numbered)
        if each.sensitive:
            marked.add(content)
    for content, cited in found.items():
        evidence = tuple({each.drawer: each for each in cited}.values()) if len(content) <= _LONGEST_CONTENT else ()
        if content and not any(_is_counted(content, evidence, each) for each in by_rule):
            yield _preference(
                content,
                evidence,
                _sentiment(evidence, material) or "casual",
                why="it shows in what the user said",
                marked=content in marked,
            ).model_copy(update={"path": "model"})


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
