"""Lines: which of the candidates that fit a message earn a line in its block, and which messages belong together.

A line has to say something, and to come near the best one, by its own words as well: that others of its session match
is no reason to show it. A short answer stands with the question before it, and a question that matches with its answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import log

from langmem_tiers.language.chatter import acknowledges, adds_nothing, asks, is_chatter, says_more_than
from langmem_tiers.language.first_person import TELLS
from langmem_tiers.language.needs import is_list
from langmem_tiers.language.words import stem, words
from langmem_tiers.recall.candidates import FoundDrawer
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import Key, SpaceSnapshot, read_texts
from langmem_tiers.storage import drawers
from langmem_tiers.storage.drawers import DrawerFacts
from langmem_tiers.storage.trips import one_trip
from langmem_tiers.types import CandidateVerdict

# The best score and match are looked for among so many of the first candidates.
_BEST_OF = 20
# A drawer answers the message before it if that one has this share of the best match.
_ANSWERING = 0.8
# The share of the least score that is enough for it if that message asks.
_OF_ANSWERS = 0.5
# Most telling words of an answer that needs its question, and of a question that is nothing without its answer.
_SHORT_ANSWER, _SHORT_QUESTION = 3, 5
_NEARLY = 1e-9


class Lines:
    """The candidates that fit a message, best first, with what they say; `names` are words of the speakers' names."""

    def __init__(
        self,
        sources: Sequence[SpaceSnapshot],
        fitting: Sequence[FoundDrawer],
        query: Query,
        request: RecallRequest,
        names: Collection[str],
    ) -> None:
        self._sources = {source.name: source for source in sources}
        self._request, self._names = request, names
        self._asked = frozenset(map(stem, query.terms))
        self._of_list = is_list(query.needs)
        first = fitting[:_BEST_OF]
        self._known_before: dict[Key, DrawerFacts] = {}
        # Mostly the texts of all that turn out to be near, in one go.
        looked_at = fitting[: 2 * _BEST_OF]
        self._ask_ahead(looked_at, [found for found in first if _is_reply(found)])
        self._texts = read_texts(sources, [found.key for found in looked_at])
        leading = [found for found in first if self._may_lead(found)] or first
        self._best_score = max((found.score for found in leading), default=0.0)
        self._best_match = max((found.signals.get("match", 0.0) for found in leading), default=0.0)
        self._questions = {_place(found) for found in first if asks(self._texts.get(found.key, ""))}
        self._near, self._far = _parted(fitting, self._is_near)
        self._texts |= read_texts(sources, [found.key for found in self._near if found.key not in self._texts])
        self._before: dict[Key, DrawerFacts] = {}

    def judged(self) -> Iterator[tuple[FoundDrawer, CandidateVerdict]]:
        """Every candidate with its verdict; those that are `shown` in the order in which they get a line."""
        yield from ((found, "below_best") for found in self._far)
        self._read_before()
        chatter, telling = _parted(self._near, self._is_chatter)
        yield from ((found, "chatter") for found in chatter)
        for place, found in enumerate(_spread(telling, self._request.settings.spread)):
            yield found, "shown" if place < self._request.limit else "over_limit"

    def partners(self, lines: Sequence[FoundDrawer], known: Mapping[Key, FoundDrawer]) -> dict[Key, FoundDrawer]:
        """By line, the message without which it says nothing: the question of a short answer, the answer to a question.

        Somebody else said it, right before or after. `known` are the candidates, in the place of which none is read.
        """
        sought = [(line, steps) for line in lines if (steps := self._lacks(line))]
        found = dict[Key, FoundDrawer]()
        for source in self._sources.values():
            if here := [(line, steps) for line, steps in sought if line.space == source.name]:
                found |= _beside(source, here, known)
        before = [found[line.key].key for line, steps in sought if steps < 0 and line.key in found]
        texts = self._texts | read_texts([*self._sources.values()], set(before) - self._texts.keys())
        return {
            line.key: found[line.key]
            for line, steps in sought
            if line.key in found and (steps > 0 or asks(texts.get(found[line.key].key, "")))
        }

    def _lacks(self, found: FoundDrawer) -> int:
        """How many messages on the one stands without which it says nothing; 0 if it says something by itself."""
        text = self._texts.get(found.key)
        if text is None or not self._request.selective:
            return 0
        if asks(text):
            whole = found.facts.states & TELLS or says_more_than(text, _SHORT_QUESTION, self._names)
            return 0 if whole else +1
        return 0 if says_more_than(text, _SHORT_ANSWER, self._names) else -1

    def _may_lead(self, found: FoundDrawer) -> bool:
        """Whether others are compared with it.

        A bare question or chatter may match well and yet tell nothing; what is needed is so whatever its words, but
        what else belongs to a list comes near to what surely does.
        """
        if found.signals.get("needed", 0.0) > 0:
            return self._of_list
        bare = asks(self._texts.get(found.key, "")) and not found.facts.states & TELLS
        return not bare and not self._says_nothing(found)

    def _is_near(self, found: FoundDrawer) -> bool:
        """Whether it comes near the best score, and by its own words near the best match."""
        settings, signals = self._request.settings, found.signals
        named = signals.get("graph", 0.0) > 0 or signals.get("needed", 0.0) > 0
        if not self._request.selective or found.scores.get("rerank") or named:
            return True
        own, least = signals.get("match", 0.0) >= settings.match_share * self._best_match, settings.best_share
        if self._answers(found):
            own, least = True, least * (_OF_ANSWERS if self._follows_question(found) else 1)
        return own and found.score >= least * self._best_score

    def _answers(self, found: FoundDrawer) -> bool:
        """Whether the message before it matches so well that this one may answer it."""
        return found.signals.get("previous", 0.0) >= max(_ANSWERING * self._best_match, _NEARLY)

    def _follows_question(self, found: FoundDrawer) -> bool:
        """Whether the message right before it asks, and is among the best."""
        space, room, place = _place(found)
        return (space, room, place - 1) in self._questions

    def _is_chatter(self, found: FoundDrawer) -> bool:
        if not self._request.selective or found.scores.get("rerank"):
            return False
        if acknowledges(self._texts.get(found.key, "")) or self._only_reacts(found):
            return True
        return self._says_nothing(found) and not (self._best_match and self._answers(found))

    def _says_nothing(self, found: FoundDrawer) -> bool:
        text = self._texts.get(found.key)
        if text is None or found.facts.states & TELLS:
            return False
        return is_chatter(text, self._asked, self._names)

    def _only_reacts(self, found: FoundDrawer) -> bool:
        """Whether it is a reply of the assistant that adds nothing to the message before it: "What a great novel!"."""
        before = self._before.get(found.key)
        if before is None or before.said_at > found.facts.said_at or not _by_others(before, found.facts):
            return False
        said = self._texts.get((found.space, before.number), "")
        return not asks(said) and adds_nothing(self._texts[found.key], said, self._names)

    def _read_before(self) -> None:
        """Read what was said before those replies of the assistant that may only react to it."""
        replies = [found for found in self._near if self._may_react(found)]
        self._read_facts([found for found in replies if _previous(found) not in self._known_before])
        known = ((found.key, self._known_before.get(_previous(found))) for found in replies)
        self._before = {key: each for key, each in known if each is not None}
        wanted = {(space, each.number) for (space, _), each in self._before.items()}
        self._texts |= read_texts([*self._sources.values()], wanted - self._texts.keys())

    def _ask_ahead(self, looked_at: Sequence[FoundDrawer], replies: Sequence[FoundDrawer]) -> None:
        """Have servers answer in one trip what would be three: these texts, and what was said before the replies."""
        for source in self._sources.values():
            before = [found.facts.previous for found in replies if found.space == source.name]
            texts = [found.facts.number for found in looked_at if found.space == source.name]
            with one_trip(source.connection) as trip:
                trip.ask(source.read, [*texts, *before])
                if before:
                    trip.ask(source.store.columns.rows, source.drawers_at, before)
            if not trip.idle:
                source.read([*texts, *before])
                self._read_facts([found for found in replies if found.space == source.name])

    def _read_facts(self, replies: Sequence[FoundDrawer]) -> None:
        """Read the facts of what was said before these."""
        for source in self._sources.values():
            before = [found.facts.previous for found in replies if found.space == source.name]
            for each in source.store.columns.rows(source.drawers_at, before).facts() if before else ():
                self._known_before[source.name, each.number] = each

    def _may_react(self, found: FoundDrawer) -> bool:
        """Whether it is a reply of the assistant of which nothing but its words says that it adds something."""
        return _is_reply(found) and found.key in self._texts


def _beside(
    source: SpaceSnapshot, lines: Sequence[tuple[FoundDrawer, int]], known: Mapping[Key, FoundDrawer]
) -> dict[Key, FoundDrawer]:
    """By line, the current message so many messages on, if somebody else said it: as if found with the line."""
    following = {line.key: (line.facts.room, line.facts.place + steps) for line, steps in lines if steps > 0}
    at = drawers.numbers_at(source.connection, source.key, following.values()) if following else {}
    numbers = {line.key: at.get(following[line.key], 0) if steps > 0 else line.facts.previous for line, steps in lines}
    unknown = {number for number in numbers.values() if number and (source.name, number) not in known}
    facts = {each.number: each for each in source.store.columns.rows(source.drawers_at, sorted(unknown)).facts()}
    found = dict[Key, FoundDrawer]()
    for line, _ in lines:
        key = source.name, numbers[line.key]
        other = known[key].facts if key in known else facts.get(key[1])
        # Caches may be slightly behind: what is missing in them is left to the next recall.
        if other is not None and _by_others(other, line.facts):
            found[line.key] = known.get(key) or FoundDrawer(*line[:2], other, key, {}, score=line.score)
    return found


def _is_reply(found: FoundDrawer) -> bool:
    """Whether the assistant said it after something else, and nothing speaks for it but its words."""
    facts, signals = found.facts, found.signals
    named = signals.get("graph", 0.0) > 0 or signals.get("needed", 0.0) > 0
    replies = facts.role == "assistant" and not facts.speaker and facts.previous and not facts.states & TELLS
    return bool(replies) and not named


def _previous(found: FoundDrawer) -> Key:
    return found.space, found.facts.previous


def _by_others(before: DrawerFacts, facts: DrawerFacts) -> bool:
    return (before.role, before.speaker) != (facts.role, facts.speaker)


def _place(found: FoundDrawer) -> tuple[str, int, int]:
    return found.space, found.facts.room, found.facts.place


def speakers(found: Sequence[FoundDrawer]) -> frozenset[str]:
    """The words of the names of those who speak."""
    return frozenset(word for name in {each.facts.speaker for each in found} if name for word in words(name))


def _parted(
    found: Sequence[FoundDrawer], test: Callable[[FoundDrawer], bool]
) -> tuple[list[FoundDrawer], list[FoundDrawer]]:
    """Those that pass the test, and the others."""
    passed, others = list[FoundDrawer](), list[FoundDrawer]()
    for each in found:
        (passed if test(each) else others).append(each)
    return passed, others


def _spread(found: Sequence[FoundDrawer], discount: float) -> list[FoundDrawer]:
    """The candidates in an order in which each further one of a session counts for less, if there is a discount."""
    if not discount or any(each.scores.get("rerank") for each in found):
        return list(found)
    worth, met = dict[Key, float](), Counter[tuple[str, int]]()
    for each in found:
        session = each.space, each.facts.room
        worth[each.key] = log((each.score + _NEARLY) / (1 - each.score + _NEARLY)) - discount * met[session]
        met[session] += 1
    return sorted(found, key=lambda each: -worth[each.key])
