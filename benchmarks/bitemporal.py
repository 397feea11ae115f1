"""A naive model of relations with two times, and random sequences of writes to hold the graph against it.

The model keeps what was said, and answers from the definitions, one moment at a time: it knows no periods that end, no
versions and no order of writing beyond who spoke last. What was known before is a copy of the model of then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple

from langmem_tiers import Space
from langmem_tiers.errors import AuthorityTooLow, InvalidPeriod, InvalidRelation, MergeRefused
from langmem_tiers.knowledge_graph.deletion import delete_relation
from langmem_tiers.knowledge_graph.entities import NamedEntity, standing, upsert_entity
from langmem_tiers.knowledge_graph.merging import merge_entities, unmerge_entities
from langmem_tiers.knowledge_graph.relations import NewRelation, add_relation, end_relation, withdraw_relation
from langmem_tiers.knowledge_graph.transaction import GraphTransaction, writing
from langmem_tiers.records import Authority
from langmem_tiers.testing import FrozenClock

FIRST = datetime(2024, 1, 1, tzinfo=UTC)
DAYS = 12
EVER = float("-inf")
SINGLE, SEVERAL = "lives_in", "likes"
SUBJECTS, OBJECTS = 2, 4


class Write(NamedTuple):
    """One call; numbers choose among what there is, so that any of them mean something."""

    kind: str
    subject: int = 0
    object: int = 0
    predicate: str = SINGLE
    start: int | None = None
    length: int | None = None
    said: bool = True
    by: int = 2
    which: int = 0
    later: int = 1


@dataclass
class Fact:
    """What was said of a relation."""

    number: int
    subject: str
    predicate: str
    target: str
    start: float
    end: float | None
    said: bool
    authority: int
    believed: bool = True
    stay: bool = False


@dataclass
class Model:
    """Facts, and which names are one."""

    facts: dict[int, Fact] = field(default_factory=dict)
    into: dict[str, str] = field(default_factory=dict)

    def now(self, name: str) -> str:
        """The name that one goes by now."""
        return self.now(self.into[name]) if name in self.into else name

    def beside(self, fact: Fact) -> Iterator[Fact]:
        """Believed facts that cannot hold at once with this one, also those that say the same."""
        for other in self.facts.values():
            if other.believed and self._bear_on(fact, other):
                yield other

    def rivals(self, fact: Fact) -> Iterator[Fact]:
        """Those of them that say something else."""
        return (other for other in self.beside(fact) if self.now(other.target) != self.now(fact.target))

    def void(self, fact: Fact) -> bool:
        """Whether a fact holds at no time."""
        return self.over(fact) is not None

    def over(self, fact: Fact) -> Fact | None:
        """What makes a fact hold at no time; of several that which begins last."""
        higher = [other for other in self.beside(fact) if _rank(other) > _rank(fact) and not self.void(other)]
        same = [other for other in higher if other.start == fact.start and not self._one_within(other, fact)]
        over = same or [other for other in higher if self._outranks(other, fact)]
        return max(over, key=lambda other: (other.start, *_rank(other)), default=None)

    def lasts(self, fact: Fact, at: float) -> bool:
        """Whether a moment lies in its time: said then, and nothing that ends it has begun since."""
        if not fact.believed or self.void(fact) or at < fact.start or (fact.end is not None and at >= fact.end):
            return False
        begun = (other for other in self.beside(fact) if fact.start < other.start <= at and not self.void(other))
        return not any(self._ends(other, fact) for other in begun)

    def holds(self, fact: Fact, at: float, there: Collection[int] | None = None) -> bool:
        """Whether it is so at a moment: in its time, and in that of none that lies within it.

        Only those `there` may lie within it: what was deleted since hides nothing, not even in what was known before.
        """
        if not self.lasts(fact, at):
            return False
        within = (other for other in self.beside(fact) if there is None or other.number in there)
        return not any(_inner(other, fact) and self.lasts(other, at) for other in within)

    def answer(self, at: float, there: Collection[int]) -> set[int]:
        """The facts that hold at a moment, of those that are still there."""
        return {number for number, fact in self.facts.items() if number in there and self.holds(fact, at, there)}

    def lasting(self, at: float) -> set[int]:
        """The facts in whose time a moment lies."""
        return {number for number, fact in self.facts.items() if self.lasts(fact, at)}

    def _ends(self, other: Fact, fact: Fact) -> bool:
        """Whether what begins later ends a fact: all but a stay within it, and a stay too that such a one follows."""
        if not _within(other, fact):
            return True
        following = (each for each in self.beside(other) if each.start == other.end and not self.void(each))
        return any(self._ends(each, fact) for each in following)

    def _one_within(self, one: Fact, other: Fact) -> bool:
        return _within(one, other) or _within(other, one)

    def _bear_on(self, one: Fact, other: Fact) -> bool:
        return (
            one is not other
            and one.predicate == other.predicate == SINGLE
            and self.now(one.subject) == self.now(other.subject)
        )

    def _outranks(self, other: Fact, fact: Fact) -> bool:
        both_said = other.said and other.start != EVER and other.end is not None
        return both_said and other.authority > fact.authority and other.start <= fact.start < (other.end or 0)

    # What becomes of something said.

    def same(self, new: Fact) -> list[Fact]:
        """The believed facts that say the same, earliest first."""
        found = [
            fact
            for fact in self.facts.values()
            if fact.believed
            and (self.now(fact.subject), fact.predicate) == (self.now(new.subject), new.predicate)
            and self.now(fact.target) == self.now(new.target)
        ]
        # What nobody knows the beginning of, and something else excludes, is as if it had not been said.
        return sorted(
            (fact for fact in found if not (self.void(fact) and fact.start == EVER)),
            key=lambda fact: (fact.start, fact.number),
        )

    def add(self, new: Fact, now: float) -> str:
        """Take in what is said; what became of it."""
        same = self.same(new)
        if new.start == EVER and new.end is None:
            here = [fact for fact in same if self.holds(fact, now)]
            if here:
                return self._known(here[-1], new)
            begun = [fact for fact in (*same, *self.rivals(new)) if not self.void(fact) and fact.start <= now]
            if begun:
                new.start, new.said = now, False
        if new.start == EVER and new.end is not None:
            here = [fact for fact in same if not self.void(fact) and fact.start < new.end]
        else:
            here = [fact for fact in same if self.holds(fact, new.start)]
        if here:
            return self._again(here[-1], new)
        if new.start == EVER and new.end is not None:
            return self._new(new)
        known = self._void_again(new, same) or self._moved(new, same)
        if known is not None:
            return known
        self._begin_before(new, now)
        return self._new(new)

    def _begin_before(self, new: Fact, now: float) -> None:
        """What was only said to hold, since the beginning of news and before these were told, was so before them.

        All that is said in a trial is news: it began less than two months ago.
        """
        if new.said and new.end is None:
            for other in self.beside(new):
                mentioned = not other.said and other.end is None and new.start <= other.start < now
                if mentioned and other.authority <= new.authority:
                    other.start = EVER

    def _again(self, fact: Fact, new: Fact) -> str:
        if new.start != EVER and fact.start == EVER and new.said:
            if new.end is not None and new.end != fact.end:
                self._require(fact, new)
                fact.end = new.end
            fact.start, fact.said, fact.authority = new.start, True, max(fact.authority, new.authority)
            return "moved"
        later = new.said and new.start not in {EVER, fact.start} and new.end is None
        if later and fact.end is not None and new.authority >= max(fact.authority, int(Authority.AGENT)):
            fact.end, fact.authority = None, new.authority
            return "moved"
        return self._known(fact, new) if new.end in {None, fact.end} else self._ended(fact, new)

    def _void_again(self, new: Fact, same: Sequence[Fact]) -> str | None:
        for fact in reversed(same):
            over = self.over(fact)
            if fact.start == new.start and over is not None and over.authority > new.authority:
                return self._known(fact, new)
        return None

    def _moved(self, new: Fact, same: Sequence[Fact]) -> str | None:
        later = [fact for fact in same if not self.void(fact) and fact.start > new.start]
        if not later:
            return None
        here = later[0]
        if here.said and not (new.said and new.authority >= here.authority):
            return None
        if new.end is not None and new.end < here.start:
            return None
        for other in self.rivals(new):
            ended_later = other.end is not None and other.start < new.start < other.end
            if not self.void(other) and (ended_later or new.start <= other.start < here.start):
                return None
        if new.end is not None and new.end != here.end:
            self._require(here, new)
            here.end = new.end
        here.start, here.said = new.start, new.said
        here.authority = max(here.authority, new.authority)
        return "moved"

    def _known(self, fact: Fact, new: Fact) -> str:
        fact.authority = max(fact.authority, new.authority)
        return "known"

    def _ended(self, fact: Fact, new: Fact) -> str:
        self._require(fact, new)
        fact.end = new.end
        fact.authority = max(fact.authority, new.authority)
        return "ended"

    def _new(self, new: Fact) -> str:
        self.facts[new.number] = new
        return "added"

    def _require(self, fact: Fact, new: Fact) -> None:
        if new.authority < fact.authority:
            raise AuthorityTooLow("The model says no.")


def _rank(fact: Fact) -> tuple[int, int]:
    return (fact.authority, fact.number)


def _within(one: Fact, other: Fact) -> bool:
    """Whether one was told of as a stay, and is over before the other one is said to be."""
    return one.stay and one.end is not None and (other.end is None or one.end < other.end)


def _inner(one: Fact, other: Fact) -> bool:
    """Whether of two in whose time a moment lies it is this one that counts."""
    return one.start > other.start or (one.start == other.start and _within(one, other))


class Difference(AssertionError):
    """Graph and model disagree."""


class Trial:
    """One sequence of writes, made in the graph and in the model; its names are its own."""

    def __init__(self, space: Space, clock: FrozenClock, name: str) -> None:
        self.space = space
        self.clock = clock
        self.model = Model()
        self.then: list[tuple[datetime, Model]] = []
        self.ids: dict[int, str] = {}
        self.merges: list[tuple[int, str]] = []
        self.name = name
        self.refused = 0
        self.given = 0

    def subject(self, number: int) -> str:
        """The name of a subject."""
        return f"Subject {number % SUBJECTS} of {self.name}"

    def object(self, number: int) -> str:
        """The name of an object."""
        return f"Object {number % OBJECTS} of {self.name}"

    def run(self, writes: Iterable[Write]) -> None:
        """Make the writes in both.

        Raises:
            Difference: one became of them here, another there.
        """
        for write in writes:
            self.clock.tick(write.later * 3600)
            self._write(write)
            self.then.append((self.clock(), deepcopy(self.model)))

    def _write(self, write: Write) -> None:
        before = deepcopy(self.model)
        expected = self._modelled(write)
        try:
            with writing(self.space.context) as graph:
                outcome = self._made(graph, write, before)
        except (AuthorityTooLow, InvalidPeriod, InvalidRelation, MergeRefused) as error:
            outcome = type(error).__name__
            self.refused += 1
        if outcome != expected:
            raise Difference(f"{write}: the graph says {outcome}, the model {expected}")
        if outcome[0].isupper():
            self.model = before

    # In the model.

    def _modelled(self, write: Write) -> str:
        try:
            return str(getattr(self, f"_model_{write.kind}")(write))
        except (AuthorityTooLow, InvalidPeriod, InvalidRelation, MergeRefused) as error:
            return type(error).__name__

    def _model_add(self, write: Write) -> str:
        start = EVER if write.start is None else _millis(day(write.start))
        end = _end(write)
        new = Fact(
            number=self.given + 1,
            subject=self.subject(write.subject),
            predicate=write.predicate,
            target=self.object(write.object),
            start=start,
            end=None if end is None else _millis(end),
            said=write.said and write.start is not None,
            authority=write.by,
            stay=end is not None,
        )
        return self.model.add(new, _millis(self.clock()))

    def _model_end(self, write: Write) -> str:
        fact = self._chosen(write, self.model)
        if fact is None:
            return "nothing"
        if write.by < fact.authority:
            raise AuthorityTooLow("")
        if not fact.believed or (fact.start == EVER and self.model.void(fact)):
            raise InvalidRelation("")
        at = _millis(day(write.start or 0))
        if at <= fact.start:
            if fact.said:
                raise InvalidPeriod("")
            fact.start = EVER
        if fact.end != at:
            fact.end = at
            fact.authority = max(fact.authority, write.by)
        return "done"

    def _model_withdraw(self, write: Write) -> str:
        fact = self._chosen(write, self.model)
        if fact is None:
            return "nothing"
        if write.by < fact.authority:
            raise AuthorityTooLow("")
        fact.believed = False
        return "done"

    def _model_delete(self, write: Write) -> str:
        fact = self._chosen(write, self.model)
        if fact is None:
            return "nothing"
        if write.by < fact.authority:
            raise AuthorityTooLow("")
        del self.model.facts[fact.number]
        return "done"

    def _model_merge(self, write: Write) -> str:
        one, other = self._pair(write)
        if self.model.now(one) == self.model.now(other):
            raise MergeRefused("")
        self.model.into[self.model.now(one)] = self.model.now(other)
        return "done"

    def _model_unmerge(self, write: Write) -> str:
        if not self.merges:
            return "nothing"
        del self.model.into[self.merges[write.which % len(self.merges)][1]]
        return "done"

    # In the graph.

    def _made(self, graph: GraphTransaction, write: Write, before: Model) -> str:
        by = Authority(write.by)
        if write.kind == "add":
            return self._added(graph, write)
        if write.kind == "merge":
            one, other = (standing(graph, upsert_entity(graph, NamedEntity(name=name))) for name in self._pair(write))
            merge = merge_entities(graph, one, other, reason="trial", path="user")
            self.merges.append((merge.id, merge.source.name))
            return "done"
        if write.kind == "unmerge":
            if not self.merges:
                return "nothing"
            unmerge_entities(graph, self.merges.pop(write.which % len(self.merges))[0])
            return "done"
        fact = self._chosen(write, before)
        if fact is None:
            return "nothing"
        relation = self.ids[fact.number]
        if write.kind == "end":
            end_relation(graph, relation, day(write.start or 0), unit="day", by=by)
        elif write.kind == "withdraw":
            withdraw_relation(graph, relation, by=by)
        else:
            delete_relation(graph, relation, by=by)
            del self.ids[fact.number]
        return "done"

    def _added(self, graph: GraphTransaction, write: Write) -> str:
        landed = add_relation(
            graph,
            NewRelation(
                subject=upsert_entity(graph, NamedEntity(name=self.subject(write.subject))),
                predicate=write.predicate,
                object=upsert_entity(graph, NamedEntity(name=self.object(write.object))),
                valid_from=None if write.start is None else day(write.start),
                from_unit="day",
                from_stated=write.said,
                valid_to=_end(write),
                to_unit="day",
                authority=Authority(write.by),
            ),
        )
        if landed.outcome == "added":
            self.given += 1
            self.ids[self.given] = landed.relation.id
        return landed.outcome

    def _chosen(self, write: Write, model: Model) -> Fact | None:
        numbers = sorted(model.facts)
        return model.facts[numbers[write.which % len(numbers)]] if numbers else None

    def _pair(self, write: Write) -> tuple[str, str]:
        if write.said:
            return self.object(write.subject), self.object(write.object)
        return self.subject(write.subject), self.subject(write.object)

    # The answers.

    def compare(self, chance: Random, questions: int) -> int:
        """Ask for random moments of both times; how many answers were equal."""
        graph = self.space.graph
        beliefs = {number: graph.history(relation) for number, relation in self.ids.items()}
        moments = [at for at, _ in self.then]
        for _ in range(questions):
            at = day(chance.randint(-1, 2 * DAYS)) + timedelta(hours=chance.choice((0, 0, 12)))
            known = chance.choice(moments) + timedelta(seconds=chance.choice((-1, 0, 0, 1)))
            then = next((model for moment, model in reversed(self.then) if moment <= known), Model())
            expected = then.lasting(_millis(at)) & self.ids.keys()
            found = {number for number, each in beliefs.items() if _believed(each, at, known)}
            if found != expected:
                raise Difference(f"as of {at}, known at {known}: the graph says {found}, the model {expected}")
            self._compare_answer(then, at, known, chance)
        return questions

    def _compare_answer(self, then: Model, at: datetime, known: datetime, chance: Random) -> None:
        """The same by the question that callers ask; there, what is said of two that are one is told once."""
        name = self.subject(chance.randrange(SUBJECTS))
        if self.space.graph.entity(name) is None:
            return
        facts = {number: then.facts[number] for number in then.answer(_millis(at), self.ids.keys())}
        of_it = {number: fact for number, fact in facts.items() if then.now(fact.subject) == then.now(name)}
        around = self.space.graph.neighbours(name, as_of=at, known_at=known).relations
        found = {(each.predicate, each.target) for each in around}
        wanted = {(fact.predicate, then.now(fact.target)) for fact in of_it.values()}
        if found != wanted or not {each.id for each in around} <= {self.ids[number] for number in of_it}:
            raise Difference(f"neighbours as of {at}, known at {known}: {found}, the model {wanted}")
        if sum(each.predicate == SINGLE for each in around) > 1:
            raise Difference(f"{name} has two of {SINGLE} as of {at}, known at {known}: {found}")


def random_writes(chance: Random, most: int) -> list[Write]:
    """A sequence of writes."""
    return [random_write(chance) for _ in range(chance.randint(2, most))]


def random_write(chance: Random) -> Write:
    """One write; most add something."""
    kinds = ["add"] * 12 + ["end", "end", "withdraw", "withdraw", "delete", "merge", "merge", "unmerge"]
    return Write(
        kind=chance.choice(kinds),
        subject=chance.randrange(8),
        object=chance.randrange(8),
        predicate=chance.choice((SINGLE, SINGLE, SINGLE, SEVERAL)),
        start=chance.choice((None, *range(DAYS))),
        length=chance.choice((None, None, None, 1, 2, 5)),
        said=chance.random() < 0.7,
        by=chance.choice((0, 1, 2, 2)),
        which=chance.randrange(8),
        later=chance.choice((0, 1, 1)),
    )


def day(number: int) -> datetime:
    """A day of the trial; its writes are made on the sixth and after."""
    return FIRST + timedelta(days=number)


def _end(write: Write) -> datetime | None:
    return None if write.length is None else day((write.start or 0) + write.length)


def _believed(beliefs: Sequence[object], at: datetime, known: datetime) -> bool:
    then = [each for each in beliefs if each.recorded_at <= known]  # type: ignore[attr-defined]
    return bool(then) and not then[-1].withdrawn and then[-1].period.holds(at)  # type: ignore[attr-defined]


def _millis(moment: datetime) -> float:
    return moment.timestamp()
