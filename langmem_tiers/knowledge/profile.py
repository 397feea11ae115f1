"""The profile of a space: the few standing facts about the user that every conversation begins with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, get_args

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.knowledge import standing
from langmem_tiers.knowledge.earlier import active_entries
from langmem_tiers.knowledge.preferences import INFERRED, needs_permission, within
from langmem_tiers.knowledge.prompt_blocks import profile_block
from langmem_tiers.knowledge.results import ProfileLine
from langmem_tiers.knowledge_graph import outdated
from langmem_tiers.knowledge_graph.view import Asked
from langmem_tiers.knowledge_graph.wording import period_words
from langmem_tiers.language.periods import When, asked_moment
from langmem_tiers.language.standing_facts import StandingFact, Topic, in_relation, in_sentence, without_subject
from langmem_tiers.language.words import stems
from langmem_tiers.storage import drawers, identities, relations
from langmem_tiers.storage.change_log import Moment, moment
from langmem_tiers.trust import secrets
from langmem_tiers.twins import twin

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.records import Entry, IdentityVersion
    from langmem_tiers.storage.relations import RelationRow
    from langmem_tiers.store import SpaceStore

_TOPICS: tuple[Topic, ...] = get_args(Topic)
# The most lines of a topic.
_MOST = 6
# A longer sentence is a story and no standing fact.
_LONGEST = 200
_RELATIONS = 200
# So many entries on a topic are read, those changed last.
_LOOKED_AT = 100


class Profile:
    """The standing facts about a user: name, diet, rules for the agent, home, work, family, languages, preferences.

    They come in this order, of diet the allergies first. `Settings.profile.tokens` is a limit: the first line of each
    topic has room before the second of any, and then they are left out from the end.

    They are read from the active entries and the relations of the graph, and are not stored anywhere else: what is
    corrected, ended or deleted there is gone here. Of what can only be true once, such as home, the newest counts; what
    an assistant saved that rests on no message does not take the place of what the user said.
    Of entries on one topic, the 100 changed last are looked at. What the identity says already, what came from a tool
    or reads like an instruction, and secrets are left out.

    Example:
        >>> [line.text for line in memory.user("alice").profile.read()]
        ['name is Alice', 'is allergic to walnuts', 'lives in Porto']
    """

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"Profile({self._context.name!r})"

    def read(self, *, as_of: When | None = None) -> tuple[ProfileLine, ...]:
        """The lines, each with what it rests on: those of now, or of an earlier moment.

        Raises:
            InvalidPeriod, NaiveDatetime: `as_of` is no date, or a time without a zone.
        """
        now = self._context.now
        then = None if as_of is None else asked_moment(as_of, "as_of", now=now)
        until = None if then is None else to_millis(then)
        with self._context.open() as store, store.reading() as connection:
            identity = identities.newest(connection, store.key, until)
            found = standing_facts(store, moment(connection, store.key, until), then or now)
        return tuple(profile_lines(self._context, found, identity))

    def prompt_block(self) -> str:
        """The profile for a system prompt, fenced and escaped, with the date of each fact; empty if there is none."""
        return profile_block(self.read())

    aread = twin(read)
    aprompt_block = twin(prompt_block)


def profile_lines(
    context: SpaceContext, found: Sequence[ProfileLine], identity: IdentityVersion | None
) -> list[ProfileLine]:
    """Of these standing facts, those that the identity does not say already, as far as they fit."""
    known = [stems(line) for line in identity.text.splitlines()] if identity is not None else []
    lines = [line for line in found if not any(stems(line.text) <= said for said in known)]
    left, fitting = context.settings.profile.tokens, []
    for line in _by_worth(lines):
        left -= context.count_tokens(f"{line}\n")
        if left < 0:
            break
        fitting.append(line)
    return [line for line in lines if line in fitting]


class _Found(NamedTuple):
    """A line of what was found, with the fact it says; `target` is the object of a relation, in words.

    It is `told` if the user stands behind it, or it rests on a message.
    """

    line: ProfileLine
    fact: StandingFact
    told: bool
    target: str = ""

    @property
    def told_and_newest_first(self) -> tuple[bool, int, int, str, str]:
        """By what to sort: what an assistant says from nowhere does not take the place of the user's word."""
        line = self.line
        return not self.told, -to_millis(line.said_at), -max(line.drawers, default=0), line.kind, line.text

    def replaces(self, older: _Found) -> bool:
        """Whether an older one of the topic is not true beside it, or says nothing more."""
        if self.fact.single and self.fact == older.fact:
            return True
        return (older.target or older.line.text).casefold() in self.line.text.casefold()


def standing_facts(store: SpaceStore, seen: Moment, now: datetime) -> list[ProfileLine]:
    """All standing facts of a space by topic; of each single one only the newest that was told, else the newest."""
    found = [*_in_entries(store, seen, now), *_in_relations(store, seen, now)]
    chosen: dict[Topic, list[_Found]] = {topic: [] for topic in _TOPICS}
    for each in sorted(found, key=lambda each: each.told_and_newest_first):
        if not any(newer.replaces(each) for newer in chosen[each.fact.topic]):
            chosen[each.fact.topic].append(each)
    return [each.line for those in chosen.values() for each in sorted(those, key=lambda each: each.fact.kind)]


def _in_entries(store: SpaceStore, seen: Moment, now: datetime) -> Iterator[_Found]:
    left = dict.fromkeys(_TOPICS, _LOOKED_AT)

    def wanted(content: str, category: str) -> bool:
        fact = in_sentence(content, category) if len(content) <= _LONGEST else None
        if fact is None or not left[fact.topic]:
            return False
        left[fact.topic] -= 1
        return True

    found = {
        entry.id: (entry, fact)
        for entry in active_entries(seen, store.key, now, wanted)
        if _may_stand(entry) and (fact := in_sentence(entry.content, entry.category))
    }
    said = {ref: entry for ref, (entry, _) in found.items()}
    over = standing.in_entries(store, seen, said, now)
    for ref, (entry, fact) in found.items():
        if not over[ref]:
            line = ProfileLine(
                topic=fact.topic,
                text=without_subject(entry.content),
                said_at=entry.said_at,
                kind="entry",
                ref=ref,
                drawers=entry.drawers,
            )
            yield _Found(line, fact, entry.told or bool(entry.drawers))


def _may_stand(entry: Entry) -> bool:
    """Whether an entry may come before every conversation: learned from a person, and no secret."""
    trusted = not entry.from_tool and not entry.flags and not needs_permission(entry.metadata)
    stated = not within(entry.category, INFERRED)
    return trusted and stated and not secrets.find(entry.content)


def _in_relations(store: SpaceStore, seen: Moment, now: datetime) -> Iterator[_Found]:
    connection, at = seen.connection, to_millis(now)
    view = store.graph.view(seen)
    user = view.user()
    if user is None:
        return
    numbers, _ = view.edges(user, Asked(first=at), _RELATIONS)
    rows = [view.relations[number] for number in numbers]
    own = [row for row in rows if view.canonical(row.subject) == user and row.origin != "tool"]
    facts = {
        row.number: fact for row in own if (fact := in_relation(row.predicate)) and not outdated.asks_first(view, row)
    }
    rests = relations.evidence(connection, store.key, list(facts))
    said = drawers.read(connection, store.key, sorted({each.drawer for those in rests.values() for each in those}))
    if seen.until is not None:
        said = {number: drawer for number, drawer in said.items() if to_millis(drawer.said_at) <= seen.until}
    over = standing.in_relations(store, seen, {row.number: outdated.relation_line(view, row) for row in own}, now)
    planned = outdated.planned(connection, store.key, own)
    for row in own:
        coming = row.last.valid_from is not None and row.last.valid_from > at
        text = _worded(
            without_subject(outdated.relation_line(view, row)), row, planned=row.number in planned, coming=coming
        )
        if row.number in facts and row.number not in over and len(text) <= _LONGEST and not secrets.find(text):
            behind = [each.drawer for each in rests.get(row.number, ()) if each.drawer in said]
            line = ProfileLine(
                topic=facts[row.number].topic,
                text=text,
                said_at=max((said[drawer].said_at for drawer in behind), default=from_millis(row.created_at)),
                kind="relation",
                ref=row.id,
                drawers=tuple(behind),
            )
            fact = facts[row.number]
            told, single = row.told or bool(behind), fact.single and not coming
            yield _Found(line, fact._replace(single=single), told, outdated.target_words(view, row))


def _worded(text: str, row: RelationRow, *, planned: bool, coming: bool) -> str:
    """A relation as a line: before its day a plan, and later as planned if nobody said that it came about."""
    if not (coming or planned):
        return text
    when = period_words(replace(relations.period(row.last), end=None), planned=True)
    return f"{when}: {text}" if coming else f"{text}, as {when}"


def _by_worth(lines: Sequence[ProfileLine]) -> list[ProfileLine]:
    """The first line of each topic, then all others."""
    by_topic = [[line for line in lines if line.topic == topic][:_MOST] for topic in _TOPICS]
    return [*(those[0] for those in by_topic if those), *(line for those in by_topic for line in those[1:])]
