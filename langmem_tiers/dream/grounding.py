"""What a dream may add: anti-patterns, inferred preferences, a synthesis. Each must cite what was said. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, timedelta
from types import MappingProxyType

from langmem_tiers.dream import feedback, retirement
from langmem_tiers.dream.types import (
    AntiPattern,
    Cited,
    EntrySeen,
    InferredPreference,
    Material,
    Sentiment,
    Signal,
    Synthesis,
)
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import validation
from langmem_tiers.knowledge.preferences import ANTI_PATTERNS
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.word_lists import table
from langmem_tiers.language.words import meaningful_words, occurs, stem
from langmem_tiers.models.tokens import estimate
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets
from langmem_tiers.trust.instructions import suspicious

_FORM = re.compile(
    r"Don't (?P<do_not>(?:(?! because ).)+) because (?P<because>(?:(?!; instead ).)+); instead (?P<instead>.+)"
)
_DOMAIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PREFERENCES = "user-preferences/"
_NUMBER = re.compile(r"\d+")
_NAMED = re.compile(r"[A-Z@/\\]|[^\W_]\.[^\W_]")
_OWN_WORDS = 0.25  # of what not to do, and of what to do instead; one own word is always allowed


def unfit(text: str, what: str, settings: Settings) -> str | None:
    """Why a text written by a dream is refused, or None."""
    if not text.strip():
        return f"the {what} says nothing"
    if settings.privacy.derived != "keep" and (found := secrets.find(text)):
        return f"the {what} holds what looks like a secret ({found[0].kind})"
    if reason := suspicious(text):
        return f"the {what} reads like an instruction to the agent: it {reason}"
    return None


def content(text: str, settings: Settings) -> str | None:
    """Why a text cannot be the content of an entry, or None."""
    if reason := unfit(text, "content", settings):
        return reason
    try:
        validation.content(text, settings)
    except InvalidInput as error:
        return error.message
    return None


def anti_pattern(proposal: AntiPattern, material: Material, settings: Settings) -> str | None:
    """Why an anti-pattern is refused; None if corrections support it."""
    signals = {signal.drawer: signal for signal in material.signals if signal.kind == "correction"}
    reason = _no_correction(proposal.evidence, signals) or content(proposal.content, settings) or _ill_formed(proposal)
    if reason:
        return reason
    known = _known(proposal, material.entries)
    if known is not None:  # the mistake came back
        rests = {cited.drawer for cited in proposal.evidence} <= set(known.evidence)
        return f"entry {known.id} says it already" if rests else None
    return _unsaid(proposal, signals)


def preference(proposal: InferredPreference, material: Material, settings: Settings) -> str | None:
    """Why a preference is refused; None if it shows in as many turns as its sentiment requires."""
    said = _said_by_user(material)
    reason = _no_words(proposal.evidence, said) or content(proposal.content, settings)
    if reason:
        return reason
    category = proposal.category.strip("/").casefold()
    if not f"{category}/".startswith(_PREFERENCES):
        return f"{proposal.category[:40]!r} is no category of preferences"
    if not proposal.sensitive and touches_sensitive(proposal.content):
        return "it touches security, credentials or money, and would not have the user asked"
    needed = THRESHOLDS[proposal.sentiment]
    drawers = {each.drawer for each in proposal.evidence}
    shown = Occurrences(material, settings).count(drawers, proposal.sentiment)
    if shown < needed:
        felt = proposal.sentiment.replace("_", " ")
        return f"it shows {shown} times as {felt}, and needs {needed}"
    return _new_numbers(proposal.content, [said[each.drawer] for each in proposal.evidence])


def synthesis(proposal: Synthesis, material: Material, settings: Settings) -> str | None:
    """Why a synthesis is refused; None if it rests on episodes of this dream."""
    if proposal.refused:
        return proposal.refused
    episodes = {episode.id: episode for episode in material.episodes}
    reason = _no_episodes(proposal, episodes, settings) or unfit(proposal.text, "synthesis", settings)
    if reason:
        return reason
    if estimate(proposal.text) > settings.dream.synthesis_tokens:
        return f"it is longer than {settings.dream.synthesis_tokens:,} tokens"
    told = [episodes[each] for each in proposal.episodes]
    dates = [f"{each.held_at.astimezone(UTC):%Y-%m-%d} {material.at:%Y-%m-%d} {len(told)}" for each in told]
    return _new_numbers(proposal.text, [*(f"{each.summary} {each.abstract} {each.topics}" for each in told), *dates])


def _ill_formed(proposal: AntiPattern) -> str | None:
    found = _FORM.match(proposal.content)
    if found is None or not all(map(meaningful_words, found.groups())):
        return 'it is not of the form "Don\'t X because Y; instead Z"'
    return None if _DOMAIN.fullmatch(proposal.domain) else f"{proposal.domain[:40]!r} is no domain"


def _unsaid(proposal: AntiPattern, signals: Mapping[int, Signal]) -> str | None:
    """The part of it that none of its corrections says, or None."""
    found = _FORM.match(proposal.content)
    parts = {} if found is None else found.groupdict()
    said = [text for cited in proposal.evidence for text in _words(signals[cited.drawer])]
    unsaid = next((part for name, part in parts.items() if _beyond(part, said, name)), None)
    return f"nobody said {unsaid[:80]!r}" if unsaid else None


def _no_episodes(proposal: Synthesis, episodes: Collection[str], settings: Settings) -> str | None:
    if not proposal.episodes:
        return "it rests on no episode"
    unknown = next((each for each in proposal.episodes if each not in episodes), None)
    if unknown is not None:
        return f"there is no episode {unknown[:40]!r} to take up"
    if len(set(proposal.episodes)) < len(proposal.episodes) or len(proposal.episodes) > settings.dream.promoted:
        return f"it takes up an episode twice, or more than {settings.dream.promoted}"
    return None


def _no_correction(evidence: Sequence[Cited], signals: Mapping[int, Signal]) -> str | None:
    unknown = next((each for each in evidence if each.drawer not in signals), None)
    if unknown is not None or not evidence:
        return "it rests on nothing" if unknown is None else f"drawer {unknown.drawer} is no correction by the user"
    fact = next((each.drawer for each in evidence if feedback.puts_fact_right(signals[each.drawer].quote)), None)
    if fact is not None:
        return f"drawer {fact} puts a fact right, and says nothing of how to behave"
    return next((_misquoted(each) for each in evidence if not occurs(each.quote, signals[each.drawer].quote)), None)


def _no_words(evidence: Sequence[Cited], said: Mapping[int, str]) -> str | None:
    unknown = next((each for each in evidence if each.drawer not in said), None)
    if unknown is not None or not evidence:
        return "it rests on nothing" if unknown is None else f"drawer {unknown.drawer} is no turn of the user"
    return next((_misquoted(each) for each in evidence if not occurs(each.quote, said[each.drawer])), None)


def _misquoted(cited: Cited) -> str:
    return f"its quote does not occur in drawer {cited.drawer}"


def _said_by_user(material: Material) -> dict[int, str]:
    """What the user said, by drawer: in the turns since the last dream, and in the signals."""
    said = {signal.drawer: signal.quote for signal in material.signals}
    return said | {turn.drawer: turn.content for turn in material.turns if turn.role == "user"}


def _words(signal: Signal) -> tuple[str, str]:
    return signal.quote, signal.before


def _beyond(part: str, said: Sequence[str], name: str) -> bool:
    """Whether a part goes beyond the signals; a reason may be in the model's own words, but may not add names."""
    if _new_numbers(part, said) or _new_names(part, said):
        return True
    wanted, held = _stems([part]), _stems(said)
    own = wanted - held
    return name != "because" and (own == wanted or len(own) > max(1, _OWN_WORDS * len(wanted)))


def _new_names(text: str, said: Sequence[str]) -> bool:
    """Whether a text contains names or addresses that no one mentioned."""
    told = " ".join(said).casefold()
    named = (word.strip(".,;:!?\"'()") for word in text.split())
    return any(_NAMED.search(word) and word.casefold() not in told for word in named)


def _stems(texts: Iterable[str]) -> set[str]:
    return {stem(word) for text in texts for word in meaningful_words(text)} - {"user"}


def _new_numbers(text: str, said: Iterable[str]) -> str | None:
    known = {number.lstrip("0") for each in said for number in _NUMBER.findall(each)}
    new = [number for number in _NUMBER.findall(text) if number.lstrip("0") not in known]
    return f"nobody said {new[0][:40]}" if new else None


def _known(proposal: AntiPattern, entries: Iterable[EntrySeen]) -> EntrySeen | None:
    """The entry that already says it, in these words or from the same corrections."""
    there = [entry for entry in entries if retirement.special(entry.category) == ANTI_PATTERNS]
    drawers = {cited.drawer for cited in proposal.evidence}
    same = (each for each in there if same_fact(each.content, proposal.content, None).same)
    return next(same, None) or next((each for each in there if drawers <= set(each.evidence)), None)


# How often a preference has to show up.

THRESHOLDS: Mapping[Sentiment, int] = MappingProxyType({"very_irritated": 1, "mildly_frustrated": 2, "casual": 3})
"""How often a preference has to show, by how the user felt (RockBot)."""

Task = tuple[str, int]
"""A session, and which of its tasks."""
_STRONGEST: tuple[Sentiment, ...] = tuple(sorted(THRESHOLDS, key=lambda sentiment: THRESHOLDS[sentiment]))


class Occurrences:
    """Counts how often something shows up in what the user said in these drawers.

    Someone who writes a letter with the assistant asks three times for a shorter one, and means that letter. So a calm
    request counts once per task: whatever is said in a session without a pause long enough to end the task. Annoyance
    counts in every turn: the user would rather not have said it again.
    """

    def __init__(self, material: Material, settings: Settings) -> None:
        self._felt = {signal.drawer: signal.sentiment for signal in material.signals}
        self._tasks = _tasks(material, timedelta(minutes=settings.sessions.idle_minutes))

    def once(self, drawer: int) -> int | Task:
        """The unit in which a turn is counted: its task if it is calm, else the turn itself."""
        return self._tasks.get(drawer, drawer) if self._feeling(drawer) == "casual" else drawer

    def count(self, drawers: Collection[int], sentiment: Sentiment) -> int:
        """How often it shows up at least this strongly."""
        least = THRESHOLDS[sentiment]
        return len({self.once(each) for each in drawers if THRESHOLDS[self._feeling(each)] <= least})

    def strongest(self, drawers: Collection[int]) -> Sentiment | None:
        """The strongest sentiment with which it shows up often enough, or None."""
        return next((each for each in _STRONGEST if self.count(drawers, each) >= THRESHOLDS[each]), None)

    def _feeling(self, drawer: int) -> Sentiment:
        return self._felt.get(drawer, "casual")


def _tasks(material: Material, pause: timedelta) -> dict[int, Task]:
    """The task of each drawer."""
    signals = ((signal.session, signal.at, signal.drawer) for signal in material.signals)
    turns = ((turn.session, turn.said_at, turn.drawer) for turn in material.turns)
    found: dict[int, Task] = {}
    session, last, place = None, None, 0
    for each, at, drawer in sorted({*signals, *turns}):
        if each != session:
            session, place = each, 0
        elif last is not None and at - last >= pause:
            place += 1
        last = at
        found[drawer] = (each, place)
    return found


def firsts(drawers: Iterable[int], occurrences: Occurrences) -> list[int]:
    """The first drawer of each counted occurrence, in order."""
    found: dict[int | Task, int] = {}
    for drawer in drawers:
        found.setdefault(occurrences.once(drawer), drawer)
    return list(found.values())


# What the agent asks about first.

_SENSITIVE = table("feedback")["sensitive"]
_WORDS = "|".join(_SENSITIVE["words"].replace(".", "[ _-]?").split())
_TOUCHES = re.compile(rf"[$€£¥₿]|(?<!\w)(?:{_WORDS})(?!\w)", re.IGNORECASE)
_UNSPACED = re.compile(_SENSITIVE["unspaced"])


def touches_sensitive(*texts: str) -> bool:
    """Whether texts touch security, credentials or money, so that the agent should ask before acting on them.

    One word is enough, and false positives do no harm. In English, and the commonest words of some other languages.

    Example:
        >>> touches_sensitive("The user does not want the assistant to ask before it pays.")
        True
    """
    return any(_TOUCHES.search(text) or _UNSPACED.search(text) for text in texts)
