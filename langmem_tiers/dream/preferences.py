"""The preference pass: finds what the user keeps asking for without stating it, in the turns since the last dream.

How often it must show up depends on how annoyed the user was, and is counted here, not by the model: only the sentences
and cited lines of a model's reply are used. Whatever touches security, credentials or money is marked, so that the
agent asks before acting on it. Preferences that nothing confirms any more fade, and are finally retired.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from langmem_tiers.dream import anti_patterns, retirement
from langmem_tiers.dream.grounding import Occurrences, first_of_each, times_needed, touches_sensitive
from langmem_tiers.dream.questions import BUILT_IN, DreamQuestion, Number, Objects, PartialReply, Step, Words, Yes
from langmem_tiers.dream.types import InferredPreference, Material, Proposal, RetireEntry
from langmem_tiers.knowledge.preferences import INFERRED, PERMISSION
from langmem_tiers.language.characters import one_line
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.wishes import Wish, wishes
from langmem_tiers.language.word_lists import word_set
from langmem_tiers.language.wordings import plain
from langmem_tiers.language.words import passage, stem, stems
from langmem_tiers.models.directives import Directives
from langmem_tiers.records import Evidence, SpokenTurn
from langmem_tiers.settings import Settings
from langmem_tiers.types import Sentiment

DIRECTIVE = "pref-dream"

_MOST_TOLD = 20  # preferences per reply
_MOST_KNOWN = 20
_LONGEST_CONTENT = 300
_LONGEST_BATCH = 12_000  # characters per question
_LONGEST_TURN = 300
_LONGEST_BEFORE = 100
_LEAST_LETTERS = 2
# Words common to all sentences about preferences.
_EVERY_PREFERENCE = frozenset(
    map(
        stem, word_set("user prefer want wants wish like dislike hate need assistant answer reply response message use")
    )
)


class EvidenceReply(PartialReply):
    """A line that shows a preference."""

    turn: Number = Field(default=0, description="number of the line")
    quote: Words = Field(default="", description="its words, copied letter by letter")


class PreferenceReply(PartialReply):
    """Something that the user keeps asking for."""

    content: Words = ""
    evidence: Objects[EvidenceReply] = Field(default_factory=list)
    sensitive: Yes = False


class PreferencesReply(PartialReply):
    """What some lines show."""

    preferences: Objects[PreferenceReply]


def propose(material: Material, settings: Settings, directives: Directives = BUILT_IN) -> Step[list[Proposal]]:
    """Ask about the corrections, then about the turns in batches; yields the proposals of rules and model.

    If the model cannot be reached, it is not asked about further turns.

    Raises:
        InvalidDirective: the memory's custom prompt cannot be used.
    """
    proposals = yield from anti_patterns.propose(material, settings, directives)
    if not settings.dream.preferences:
        return proposals
    told: list[tuple[PreferenceReply, Mapping[int, SpokenTurn]]] = []
    for lines, numbered in _batches(material.turns):
        prompt = directives.prompt(DIRECTIVE, PreferencesReply, "\n".join((*_known(material), *lines)))
        answer = yield DreamQuestion(schema=PreferencesReply, prompt=prompt)
        if answer.value is not None:
            told += ((each, numbered) for each in answer.value.preferences[:_MOST_TOLD])
        elif answer.temporary:
            break
    counted = by_count(material, settings)
    return [*proposals, *counted, *_by_model(told, counted, Occurrences(material, settings))]


def by_count(material: Material, settings: Settings) -> list[Proposal]:
    """Requests made in enough turns to be a preference, and faded preferences; by rule."""
    if not settings.dream.preferences:
        return []
    faded = (entry for entry in material.entries if retirement.has_faded(entry, material.at, settings.dream.fade_days))
    retired = [
        RetireEntry(id=entry.id, why="nothing has borne it out for long", path="rule")
        for entry in faded
        if retirement.untouchable(entry) is None
    ]
    return [*retired, *_repeated_wishes(material, settings)]


def metadata(
    preference: InferredPreference, settings: Settings, held: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The metadata of an inferred preference; `held` is that of the entry that already says so.

    Example:
        >>> preference = InferredPreference(content="…", evidence=tuple(Evidence(drawer=each) for each in (1, 2, 3)))
        >>> metadata(preference, Settings())
        {'source': 'inferred', 'sentiment': 'casual', 'confidence': 0.5}
    """
    before = (held or {}).get("confidence", 0.0)
    doubt = 1 - before if isinstance(before, float) and 0 <= before <= 1 else 1.0
    needed = times_needed(preference.sentiment, settings)
    kept = {
        **(held or {}),
        "source": "inferred",
        "sentiment": preference.sentiment,
        # Each multiple of the evidence needed to infer it halves the remaining doubt.
        "confidence": round(1 - doubt * 0.5 ** (len(preference.evidence) / needed), 4),
    }
    return {**kept, PERMISSION: True} if preference.sensitive else kept


# By count.


def _repeated_wishes(material: Material, settings: Settings) -> Iterator[InferredPreference]:
    """Wishes that show up often enough, and that the user has neither taken back nor stated."""
    occurrences = Occurrences(material, settings)
    heard = _wishes_heard(material, occurrences)
    languages = sum(key.startswith("language:") for key in heard)
    new = {turn.drawer for turn in material.turns}
    stated = [each.content for each in material.entries if retirement.special(each.category) != INFERRED]
    for key, found in heard.items():
        drawers = {drawer for drawer, _ in found}
        sentiment, wish = occurrences.strongest(drawers), found[0][1]
        # Who also asks for the opposite, or for answers in several languages, means each for once.
        contradicted = wish.against in heard or (key.startswith("language:") and languages > 1)
        if sentiment is None or new.isdisjoint(drawers) or contradicted:
            continue
        if not any(same_fact(wish.content, content, None).same for content in stated):
            evidence = tuple(Evidence(drawer=drawer, quote=said.quote) for drawer, said in found)
            yield _inferred(wish.content, evidence, sentiment, why="the user keeps asking for it")


def _wishes_heard(material: Material, occurrences: Occurrences) -> dict[str, list[tuple[int, Wish]]]:
    """Each wish with the drawers it shows up in, one per occurrence; what was sent twice counts once."""
    heard: dict[str, list[tuple[int, Wish]]] = {}
    # What anti-patterns cite does not also count as a preference.
    cited = {each.drawer for found in anti_patterns.by_rule(material) for each in found.evidence}
    corrected = cited.union(*(entry.drawers for entry in anti_patterns.known_in(material)))
    seen: set[tuple[str, Hashable]] = set()
    for drawer, session, content in _spoken_by_user(material):
        for wish in () if drawer in corrected else wishes(content):
            times = {(wish.key, occurrences.unit(drawer)), (wish.key, (session, plain(content)))}
            if seen.isdisjoint(times):
                heard.setdefault(wish.key, []).append((drawer, wish))
            seen |= times
    return heard


def _spoken_by_user(material: Material) -> Iterator[tuple[int, str, str]]:
    """What the user said in the turns since the last dream, and the annoyance before."""
    turns = {turn.drawer for turn in material.turns}
    for signal in material.signals:
        if signal.drawer not in turns:
            yield signal.drawer, signal.session, signal.quote
    for turn in material.turns:
        if turn.role == "user":
            yield turn.drawer, turn.session, turn.content


def _inferred(
    content: str,
    evidence: tuple[Evidence, ...],
    sentiment: Sentiment,
    *,
    why: str,
    marked: bool = False,
) -> InferredPreference:
    """A preference in its standard form, by rule; marked if its words touch something sensitive."""
    return InferredPreference(
        content=content,
        sentiment=sentiment,
        evidence=evidence,
        sensitive=marked or touches_sensitive(content, *(each.quote for each in evidence)),
        why=why,
        path="rule",
    )


# By a model.


def _batches(turns: Sequence[SpokenTurn]) -> Iterator[tuple[list[str], dict[int, SpokenTurn]]]:
    """Turns as lines, as many as fit one question, with the line numbers of the user's turns."""
    lines: list[str] = []
    numbered: dict[int, SpokenTurn] = {}
    before: str | None = None
    for turn in turns:
        if turn.role != "user":
            before = f"[-] {turn.role}: {one_line(turn.content, _LONGEST_BEFORE)}"
            continue
        lines += [before] if before else []
        before = None
        numbered[len(numbered) + 1] = turn
        lines.append(f"[{len(numbered)}] user: {one_line(turn.content, _LONGEST_TURN)}")
        if sum(map(len, lines)) > _LONGEST_BATCH:
            yield lines, numbered
            lines, numbered = [], {}
    if numbered:
        yield lines, numbered


def _known(material: Material) -> list[str]:
    inferred = [entry for entry in material.entries if retirement.special(entry.category) == INFERRED]
    held = [f"- {one_line(entry.content, _LONGEST_CONTENT)}" for entry in inferred[:_MOST_KNOWN]]
    return ["Known:", *held, "Lines:"] if held else []


def _by_model(
    told: Iterable[tuple[PreferenceReply, Mapping[int, SpokenTurn]]],
    counted: Sequence[Proposal],
    occurrences: Occurrences,
) -> Iterator[InferredPreference]:
    """A model's preferences, each once, with the lines that really show it."""
    by_rule = [each for each in counted if isinstance(each, InferredPreference)]
    for content, (cited, marked) in _without_repetition(told).items():
        first = {each.drawer: each for each in cited}
        evidence = tuple(first[drawer] for drawer in first_of_each(first, occurrences))
        sentiment = occurrences.strongest({each.drawer for each in evidence}) or "casual"
        if not any(_is_counted(content, evidence, each) for each in by_rule):
            why = "it shows in what the user said"
            found = _inferred(content, evidence, sentiment, why=why, marked=marked)
            yield found.model_copy(update={"path": "model"})


def _without_repetition(
    told: Iterable[tuple[PreferenceReply, Mapping[int, SpokenTurn]]],
) -> dict[str, tuple[list[Evidence], bool]]:
    """Each preference with all lines that show it, and whether it was marked as sensitive."""
    found: dict[str, tuple[list[Evidence], bool]] = {}
    for each, numbered in told:
        content = next((one for one in found if same_fact(one, each.content, None).same), each.content)
        if not content:
            continue
        cited, marked = found.get(content, ([], False))
        lines = _supporting_lines(each, numbered) if len(content) <= _LONGEST_CONTENT else ()
        found[content] = ([*cited, *lines], marked or each.sensitive)
    return found


def _supporting_lines(told: PreferenceReply, numbered: Mapping[int, SpokenTurn]) -> Iterator[Evidence]:
    """The cited lines of the user that show it; what was sent twice counts once.

    A line shows it if it is about the same subject, by a word that they share, or if it asks for the same.
    """
    wanted = stems(told.content) - _EVERY_PREFERENCE
    seen: set[tuple[str, str]] = set()
    for each in told.evidence:
        turn = numbered.get(each.turn)
        quote = None if turn is None else passage(each.quote, turn.content)
        if turn is None or quote is None or sum(map(str.isalnum, quote)) < _LEAST_LETTERS:
            continue
        same = (turn.session, plain(turn.content))
        asked = (wish.content for wish in wishes(turn.content))
        shows = wanted & stems(turn.content) or any(same_fact(told.content, wish, None).same for wish in asked)
        if same not in seen and shows:
            seen.add(same)
            yield Evidence(drawer=turn.drawer, quote=quote)


def _is_counted(content: str, evidence: Sequence[Evidence], counted: InferredPreference) -> bool:
    """Whether a preference by rule is the same, in other words or from the same wishes."""
    if same_fact(content, counted.content, None).same:
        return True
    asked = [_keys(each.quote) for each in counted.evidence]
    same = asked[0].intersection(*asked)
    return bool(evidence) and all(not same.isdisjoint(_keys(each.quote)) for each in evidence)


def _keys(said: str) -> set[str]:
    return {wish.key for wish in wishes(said)}
