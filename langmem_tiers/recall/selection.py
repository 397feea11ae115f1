"""Selection: a verdict for every candidate, best first, until the limit or the budget is reached.

An item has to earn its place: it must come near the best one, by its own words as well, and say something. Questions
and their answers stay together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from langmem_tiers.clock import to_millis
from langmem_tiers.language import predicates
from langmem_tiers.language.chatter import asks
from langmem_tiers.language.first_person import TELLS
from langmem_tiers.language.questions import TimeSpan, spans
from langmem_tiers.language.words import STOPWORDS, searchable, stem, words
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.recall import conversations, later
from langmem_tiers.recall.candidates import FoundDrawer
from langmem_tiers.recall.lines import Lines, speakers
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import Key, SpaceSnapshot, read_texts
from langmem_tiers.types import CandidateVerdict

# Minimum fit to count as repeating the question, and the rank beyond which nothing is shown anyway.
_LEAST_MATCH = 0.5
_QUESTIONS_LOOKED_AT = 100
_LONGEST_QUESTION = 300
_DAY = 86_400_000
# What makes no other question of one: "What have I read so far?"
_UNTIL_NOW = {"far", "already", "currently", "again", "still", "actually"}


@dataclass(frozen=True, kw_only=True)
class Before:
    """What the model already has: drawers shown in the session, as (space, number), and those in its window.

    `window` are numbers of the space itself; None stands for the last turns of the session. `asked_again` are messages
    that repeat this question, or a better candidate's.
    """

    shown: Collection[tuple[str, int | str]] = ()
    window: Collection[int] | None = None
    query_hash: bytes = b""
    asked_again: Collection[Key] = ()


@dataclass(kw_only=True)
class Chosen:
    """Candidates that passed all rules except the budget, and the verdicts on the others.

    `added` are those that were no candidates but belong to one that passed. `names` are the words of the names of
    those who speak, `outside` the candidates that do not belong to the time asked about.
    """

    passed: list[FoundDrawer] = field(default_factory=list)
    verdicts: dict[Key, CandidateVerdict] = field(default_factory=dict)
    added: list[FoundDrawer] = field(default_factory=list)
    names: frozenset[str] = frozenset()
    outside: frozenset[Key] = frozenset()

    def of_asked(self) -> list[bool]:
        """For each that passed, whether the one said it whose words are asked for; all if they may be anybody's."""
        asked = [found.signals.get("asked", 0.0) > 0 for found in self.passed]
        return asked if any(asked) else [True] * len(asked)


def choose(
    sources: Sequence[SpaceSnapshot],
    ranked: Sequence[FoundDrawer],
    query: Query,
    request: RecallRequest,
    before: Before,
    *,
    none_fits: bool = False,
) -> Chosen:
    """Judge the candidates; at most `request.limit` pass, and none if a reranker found that `none_fits`.

    A message that belongs to one that passed comes right after it.
    """
    times = times_asked(query, request)
    outside = _outside(sources, ranked, query, times) if times else frozenset[Key]()
    chosen, best = Chosen(names=speakers(ranked), outside=outside), _Best(ranked, request, before)
    fitting: list[FoundDrawer] = []
    least = request.threshold
    for found in ranked:
        verdict = best.not_new(found) or ("outside_dates" if found.key in outside else None)
        if verdict is None:
            verdict = "judged_unfit" if none_fits else _below_threshold(found, request.threshold, least)
        if verdict is None and best.is_copy(found):
            verdict = "duplicate"
        if verdict is None:
            fitting.append(found)
            if found.score >= request.threshold:
                least = request.threshold * request.settings.threshold_share
        else:
            chosen.verdicts[found.key] = verdict
    lines = Lines(sources, fitting, query, request, chosen.names)
    for found, judged in lines.judged():
        if judged == "shown":
            chosen.passed.append(found)
        else:
            chosen.verdicts[found.key] = judged
    _add_partners(chosen, ranked, lines, best, room=request.limit - len(chosen.passed))
    if request.selective and not times and not any(need.every or need.ahead for need in query.needs):
        _add_later(sources, chosen, ranked, request, best)
    return chosen


def times_asked(query: Query, request: RecallRequest) -> Sequence[TimeSpan]:
    """The months and seasons of the past that a message asks about, if it asks about no other times."""
    past = request.selective and not any(need.ahead for need in query.needs)
    asked = spans(query.text, request.now.date()) if past else ()
    return asked if all(span.strict for span in asked) else ()


def _outside(
    sources: Sequence[SpaceSnapshot], ranked: Sequence[FoundDrawer], query: Query, asked: Sequence[TimeSpan]
) -> frozenset[Key]:
    """The candidates that do not belong to the times asked about; none if no other does.

    What a relation names, or the message needs, may have been said long before, unless events are asked for.
    """
    tells = {(source.name, number) for source in sources for number in conversations.about(source, asked)}
    days = ((found.key, found.facts.said_at / _DAY) for found in ranked)
    inside = tells | {key for key, day in days if any(span.start <= day < span.stop for span in asked)}
    events = predicates.asks_of_events(words(query.text)) or any(
        need.every and not need.lasting for need in query.needs
    )
    known = set() if events else {found.key for found in ranked if _is_named(found)}
    others = frozenset(found.key for found in ranked if found.key not in inside | known)
    return others if len(others) + len(known) < len(ranked) else frozenset()


def _is_named(found: FoundDrawer) -> bool:
    return found.signals.get("graph", 0.0) > 0 or found.signals.get("needed", 0.0) > 0


def _add_later(
    sources: Sequence[SpaceSnapshot],
    chosen: Chosen,
    ranked: Sequence[FoundDrawer],
    request: RecallRequest,
    best: _Best,
) -> None:
    """Put what was said later on the same subjects behind the lines, as long as there is room."""
    room = min(request.limit - len(chosen.passed), request.settings.later)
    if room <= 0:
        return
    candidates, shown = {found.key: found for found in ranked}, {found.key for found in chosen.passed}
    fitting = {key for key, verdict in chosen.verdicts.items() if verdict == "below_best"}
    found = later.find(sources, chosen.passed, chosen.names, request, fitting=fitting)
    new = [
        each
        for each in found
        if each.key not in shown and best.not_new(each) is None and _is_new_text(each, chosen, best)
    ]
    for each in new[:room]:
        chosen.passed.append(candidates.get(each.key, each))
        chosen.verdicts.pop(each.key, None)
        if each.key not in candidates:
            chosen.added.append(each)


def _add_partners(
    chosen: Chosen,
    ranked: Sequence[FoundDrawer],
    lines: Lines,
    best: _Best,
    *,
    room: int,
) -> None:
    """Put what a line says nothing without right after it, unless the model has it; at most `room` are new."""
    candidates = {found.key: found for found in ranked}
    shown, passed = {found.key for found in chosen.passed}, dict[Key, FoundDrawer]()
    partners = lines.partners(chosen.passed, candidates)
    for found in chosen.passed:
        passed.setdefault(found.key, found)
        partner = partners.get(found.key)
        if partner is None or partner.key in passed:
            continue
        if best.not_new(partner) is not None or (partner.key not in shown and not room):
            continue
        passed[partner.key] = partner
        room -= partner.key not in shown
        chosen.verdicts.pop(partner.key, None)
        if partner.key not in candidates:
            chosen.added.append(partner)
    chosen.passed = list(passed.values())


def _is_new_text(found: FoundDrawer, chosen: Chosen, best: _Best) -> bool:
    """Whether no candidate before it says the same; what earned no line was compared with them."""
    return chosen.verdicts.get(found.key) == "below_best" or not best.is_copy(found)


def showable(ranked: Sequence[FoundDrawer], request: RecallRequest, before: Before) -> list[FoundDrawer]:
    """The candidates that only their score, the limit or the budget could exclude."""
    best = _Best(ranked, request, before)
    return [found for found in ranked if best.not_new(found) is None and not best.is_copy(found)]


class _Best:
    """Tracks duplicates among the candidates, which are examined best first."""

    def __init__(self, ranked: Sequence[FoundDrawer], request: RecallRequest, before: Before) -> None:
        self._request, self._before = request, before
        self._until = None if request.until is None else to_millis(request.until)
        self._contents = {before.query_hash}
        self._ranked = ranked

    def not_new(self, found: FoundDrawer) -> CandidateVerdict | None:
        """Why the model does not need such a candidate, whatever its score, or None."""
        if self._until is not None and self._is_later(found):
            return "outside_dates"
        if found.own and self._is_in_window(found):
            return "in_window"
        if found.key in self._before.shown:
            return "already_shown"
        if found.key in self._before.asked_again and found.facts.content_hash not in self._contents:
            return "asked_again"
        return None

    def is_copy(self, found: FoundDrawer) -> bool:
        """Whether a better one says the same. The space's own come before those of a fallback."""
        content = found.facts.content_hash
        if content in self._contents or (not found.own and content in self._own_contents):
            return True
        self._contents.add(content)
        return False

    @lazy_property
    def _own_contents(self) -> set[bytes]:
        return {found.facts.content_hash for found in self._ranked if found.own and not self._is_later(found)}

    def _is_later(self, found: FoundDrawer) -> bool:
        return self._until is not None and found.facts.said_at > self._until

    def _is_in_window(self, found: FoundDrawer) -> bool:
        if self._before.window is not None:
            return found.facts.number in self._before.window
        return found.facts.session == self._request.session and found.facts.turns_back < self._request.window_turns


def _below_threshold(found: FoundDrawer, threshold: float, least: float) -> CandidateVerdict | None:
    """Its verdict if its score is not the `least` that is enough now."""
    # A reranker's choice always fits; a candidate it was sent but did not choose must fit by its own score.
    if found.score < least and not found.scores.get("rerank"):
        return "below_threshold"
    return "below_threshold" if found.score < threshold and found.scores.get("rerank") == 0 else None


def asked_again(sources: Sequence[SpaceSnapshot], ranked: Sequence[FoundDrawer], query: Query) -> frozenset[Key]:
    """The candidates that repeat the question, or a better candidate's, without any further content word.

    They hold no answer and would only fill the block.
    """
    likely = [
        found.key
        for found in ranked[:_QUESTIONS_LOOKED_AT]
        if found.facts.role == "user"
        and not found.facts.states & TELLS
        and found.signals.get("match", 0.0) >= _LEAST_MATCH
    ]
    if not likely:
        return frozenset()
    texts = read_texts(sources, likely)
    questions: dict[Key, frozenset[str]] = {}
    for key in likely:
        telling = _question(texts[key]) if key in texts else None
        if telling is not None:
            questions[key] = telling
    best = {telling: key for key, telling in reversed(questions.items())}
    asked = set(map(stem, query.terms))
    return frozenset(key for key, telling in questions.items() if telling <= asked or best[telling] != key)


def _question(content: str) -> frozenset[str] | None:
    """The content words of a message that asks, without numbers; None if it is not a question."""
    if len(content) > _LONGEST_QUESTION or not asks(content):
        return None
    said = (word for word in words(searchable(content)) if word not in STOPWORDS and not word.isdigit())
    return frozenset(stem(word) for word in said if word not in _UNTIL_NOW)
