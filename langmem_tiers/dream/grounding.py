"""What a dream may add: anti-patterns, inferred preferences, a synthesis. Each must cite what was said. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, timedelta

from langmem_tiers.dream import feedback, retirement
from langmem_tiers.dream.anti_patterns import FORM
from langmem_tiers.dream.types import AntiPattern, InferredPreference, Material, ProposalRefused, Synthesis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import validation
from langmem_tiers.knowledge.preferences import ANTI_PATTERNS
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.word_lists import any_of, table
from langmem_tiers.language.words import meaningful_words, occurs, stems
from langmem_tiers.models.tokens import estimate
from langmem_tiers.records import Entry, Evidence
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets
from langmem_tiers.trust.instructions import suspicious
from langmem_tiers.types import Sentiment
from langmem_tiers.wording import beginning

_DOMAIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PREFERENCES = "user-preferences/"
_NUMBER = re.compile(r"\d+")
_NAMED = re.compile(r"[A-Z@/\\]|[^\W_]\.[^\W_]")
_OWN_WORDS = 0.25  # of what not to do, and of what to do instead; one own word is always allowed


def require_fit(text: str, what: str, settings: Settings) -> None:
    """Refuse a text written by a dream that says nothing, holds a secret or reads like an instruction."""
    if not text.strip():
        raise ProposalRefused(f"the {what} says nothing")
    if settings.privacy.derived != "keep" and (found := secrets.find(text)):
        raise ProposalRefused(f"the {what} holds what looks like a secret ({found[0].kind})")
    if reason := suspicious(text):
        raise ProposalRefused(f"the {what} reads like an instruction to the agent: it {reason}")


def require_content(text: str, settings: Settings) -> None:
    """Refuse a text that cannot be the content of an entry."""
    require_fit(text, "content", settings)
    try:
        validation.content(text, settings)
    except InvalidInput as error:
        raise ProposalRefused(error.message) from error


def require_anti_pattern(proposal: AntiPattern, material: Material, settings: Settings) -> None:
    """Refuse an anti-pattern that no correction supports, or that is known from the same ones."""
    signals = {signal.drawer: signal for signal in material.signals if signal.kind == "correction"}
    cited = {drawer: signal.quote for drawer, signal in signals.items()}
    _require_said(proposal.evidence, cited, "correction by the user")
    if facts := [each.drawer for each in proposal.evidence if feedback.puts_fact_right(cited[each.drawer])]:
        raise ProposalRefused(f"drawer {facts[0]} puts a fact right, and says nothing of how to behave")
    require_content(proposal.content, settings)
    parts = FORM.match(proposal.content)
    if parts is None or not all(map(meaningful_words, parts.groups())):
        raise ProposalRefused('it is not of the form "Don\'t X because Y; instead Z"')
    if not _DOMAIN.fullmatch(proposal.domain):
        raise ProposalRefused(f"{beginning(proposal.domain, 40)!r} is no domain")
    drawers = {each.drawer for each in proposal.evidence}
    known = _known(proposal, drawers, material.entries)
    if known is None:
        said = [text for each in proposal.evidence for text in (cited[each.drawer], signals[each.drawer].before)]
        beyond = next((part for name, part in parts.groupdict().items() if _beyond(part, said, name)), None)
        if beyond:
            raise ProposalRefused(f"nobody said {beginning(beyond, 80)!r}")
    elif drawers <= set(known.drawers):  # otherwise the mistake came back
        raise ProposalRefused(f"entry {known.id} says it already")


def require_preference(proposal: InferredPreference, material: Material, settings: Settings) -> None:
    """Refuse a preference that does not show in as many turns as its sentiment requires."""
    said = {signal.drawer: signal.quote for signal in material.signals}
    said |= {turn.drawer: turn.content for turn in material.turns if turn.role == "user"}
    _require_said(proposal.evidence, said, "turn of the user")
    require_content(proposal.content, settings)
    if not f"{proposal.category.strip('/').casefold()}/".startswith(_PREFERENCES):
        raise ProposalRefused(f"{beginning(proposal.category, 40)!r} is no category of preferences")
    if not proposal.sensitive and touches_sensitive(proposal.content):
        raise ProposalRefused("it touches security, credentials or money, and would not have the user asked")
    needed, drawers = times_needed(proposal.sentiment, settings), {each.drawer for each in proposal.evidence}
    shown = Occurrences(material, settings).count(drawers, proposal.sentiment)
    if shown < needed:
        raise ProposalRefused(f"it shows {shown} times as {proposal.sentiment.replace('_', ' ')}, and needs {needed}")
    _require_numbers(proposal.content, [said[drawer] for drawer in drawers])


def require_synthesis(proposal: Synthesis, material: Material, settings: Settings) -> None:
    """Refuse a synthesis that does not rest on episodes of this dream."""
    if proposal.refused:
        raise ProposalRefused(proposal.refused)
    episodes = {episode.id: episode for episode in material.episodes}
    if not proposal.episodes:
        raise ProposalRefused("it rests on no episode")
    if unknown := [each for each in proposal.episodes if each not in episodes]:
        raise ProposalRefused(f"there is no episode {beginning(unknown[0], 40)!r} to take up")
    most = settings.dream.promoted
    if len(set(proposal.episodes)) < len(proposal.episodes) or len(proposal.episodes) > most:
        raise ProposalRefused(f"it takes up an episode twice, or more than {most}")
    if proposal.text:
        require_fit(proposal.text, "synthesis", settings)
    if estimate(proposal.text) > settings.dream.synthesis_tokens:
        raise ProposalRefused(f"it is longer than {settings.dream.synthesis_tokens:,} tokens")
    told = [episodes[each] for each in proposal.episodes]
    dates = [f"{each.ended_at.astimezone(UTC):%Y-%m-%d} {material.at:%Y-%m-%d} {len(told)}" for each in told]
    _require_numbers(proposal.text, [*(f"{each.summary} {each.abstract} {each.topics}" for each in told), *dates])


def _require_said(evidence: Sequence[Evidence], said: Mapping[int, str], what: str) -> None:
    """Refuse evidence that is not what was said in these drawers."""
    if not evidence:
        raise ProposalRefused("it rests on nothing")
    if unknown := [each.drawer for each in evidence if each.drawer not in said]:
        raise ProposalRefused(f"drawer {unknown[0]} is no {what}")
    if misquoted := [each.drawer for each in evidence if not occurs(each.quote, said[each.drawer])]:
        raise ProposalRefused(f"its quote does not occur in drawer {misquoted[0]}")


def _beyond(part: str, said: Sequence[str], name: str) -> bool:
    """Whether a part goes beyond the signals; a reason may be in the model's own words, but may not add names."""
    told = " ".join(said).casefold()
    named = (word.strip(".,;:!?\"'()") for word in part.split())
    if _new_numbers(part, said) or any(_NAMED.search(word) and word.casefold() not in told for word in named):
        return True
    wanted = stems(part) - {"user"}
    own = wanted.difference(*map(stems, said))
    return name != "because" and (own == wanted or len(own) > max(1, _OWN_WORDS * len(wanted)))


def _new_numbers(text: str, said: Iterable[str]) -> list[str]:
    """The numbers in a text that nobody said."""
    known = {number.lstrip("0") for each in said for number in _NUMBER.findall(each)}
    return [number for number in _NUMBER.findall(text) if number.lstrip("0") not in known]


def _require_numbers(text: str, said: Iterable[str]) -> None:
    if new := _new_numbers(text, said):
        raise ProposalRefused(f"nobody said {new[0][:40]}")


def _known(proposal: AntiPattern, drawers: set[int], entries: Iterable[Entry]) -> Entry | None:
    """The entry that already says it, in these words or from the same corrections."""
    there = [entry for entry in entries if retirement.special(entry.category) == ANTI_PATTERNS]
    same = (each for each in there if same_fact(each.content, proposal.content, None).same)
    return next(same, None) or next((each for each in there if drawers <= set(each.drawers)), None)


# How often a preference has to show up.

Task = tuple[str, int]
"""A session, and which of its tasks."""


def times_needed(sentiment: Sentiment, settings: Settings) -> int:
    """In how many turns a preference has to show, by how the user felt."""
    needed: int = getattr(settings.dream, sentiment)
    return needed


class Occurrences:
    """Counts how often something shows up in what the user said in these drawers.

    Someone who writes a letter with the assistant asks three times for a shorter one, and means that letter. So a calm
    request counts once per task: whatever is said in a session without a pause long enough to end the task. Annoyance
    counts in every turn: the user would rather not have said it again.
    """

    def __init__(self, material: Material, settings: Settings) -> None:
        self._settings = settings
        self._felt = {signal.drawer: signal.sentiment for signal in material.signals}
        self._tasks = _tasks(material, timedelta(minutes=settings.sessions.idle_minutes))

    def unit(self, drawer: int) -> int | Task:
        """The unit in which a turn is counted: its task if it is calm, else the turn itself."""
        return self._tasks.get(drawer, drawer) if self._feeling(drawer) == "casual" else drawer

    def count(self, drawers: Collection[int], sentiment: Sentiment) -> int:
        """How often it shows up at least this strongly."""
        least = feedback.LEVELS.index(sentiment)
        return len({self.unit(each) for each in drawers if feedback.LEVELS.index(self._feeling(each)) >= least})

    def strongest(self, drawers: Collection[int]) -> Sentiment | None:
        """The strongest sentiment with which it shows up often enough, or None."""
        felt = reversed(feedback.LEVELS)
        return next((each for each in felt if self.count(drawers, each) >= times_needed(each, self._settings)), None)

    def _feeling(self, drawer: int) -> Sentiment:
        return self._felt.get(drawer, "casual")


def _tasks(material: Material, pause: timedelta) -> dict[int, Task]:
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


def first_of_each(drawers: Iterable[int], occurrences: Occurrences) -> list[int]:
    """The first drawer of each counted occurrence, in order."""
    found: dict[int | Task, int] = {}
    for drawer in drawers:
        found.setdefault(occurrences.unit(drawer), drawer)
    return list(found.values())


# What the agent asks about first.

_SENSITIVE = table("feedback")["sensitive"]
_WORDS = any_of(each.replace(".", "[ _-]?") for each in _SENSITIVE["words"].split())
_TOUCHES = re.compile(rf"[$€£¥₿]|(?<!\w)(?=\w){_WORDS}(?!\w)", re.IGNORECASE)
_UNSPACED = re.compile(_SENSITIVE["unspaced"])


def touches_sensitive(*texts: str) -> bool:
    """Whether texts touch security, credentials or money, so that the agent should ask before acting on them.

    One word is enough, and false positives do no harm. In English, and the commonest words of some other languages.

    Example:
        >>> touches_sensitive("The user does not want the assistant to ask before it pays.")
        True
    """
    return any(_TOUCHES.search(text) or _UNSPACED.search(text) for text in texts)
