"""What later words make of earlier ones: "I quit Spotify" ends "I work at Spotify", whatever a rule made of either.

A revision says that something is over, fell through, was wrong, or has another value by now. It concerns an assertion
about the same person and on the same thing: by its words, by a topic, or by an attribute with one value at a time.
Which of the two was said first is for the caller to compare.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from langmem_tiers.language import contradictions, kinship
from langmem_tiers.language.assertions import (
    ANY,
    USER,
    Assertion,
    Who,
    compiled,
    speaker,
    stem_of,
    stems,
    thing_clue,
    value_clues,
)
from langmem_tiers.language.contradictions import Slot
from langmem_tiers.language.contrasts import given
from langmem_tiers.language.names import CALENDAR
from langmem_tiers.language.word_lists import alternatives, table, word_set
from langmem_tiers.language.words import STOPWORDS, stem, words

_TABLE = table("revisions")
# What happens to the speaker and their partner together changes what the partner is.
_OF_COUPLES = frozenset({"partner", "unmarried", "pregnant"})
_PETS = alternatives("vocabulary", "pets")
_TOPICS = {name: compiled(said, re.IGNORECASE, pets=_PETS) for name, said in _TABLE["topics"].items()}
LIGHT = frozenset(map(stem_of, _TABLE["light"].split()))
"""Stems that tell nothing of what is meant, if others do."""
VAGUE = frozenset(map(stem_of, _TABLE["vague"].split()))
"""Stems of words that name no one thing."""
_SAME = {stem(word): frozenset(map(stem, others.split())) for word, others in _TABLE["same"].items()}
_KINDS = {stem(word): frozenset(map(stem, kinds.split())) for word, kinds in _TABLE["kinds"].items()}
_NAME = compiled("@named@")
_LEAST_SHARE = 0.5
# The boss of the speaker is theirs as long as the job is.
_BOSS = re.compile(
    r"^(?:[Mm]y|[Tt]he user's) (?:line )?(?:boss|manager|supervisor|team lead)(?:'s name)?(?:'s| is)\b"
    r"|(?:'s| is) (?:my|the user's) (?:line )?(?:boss|manager|supervisor|team lead)\b"
)
# Where one may live beside living in a town.
_ANYWHERE = word_set("area areas world region place places country countryside apartment apartments today society")
_AT = compiled(r"\b(?:at|from|of) @named@")
# Of these, what is over was told as a denial.
_TASTES = frozenset({"likes", "dislikes"})
_WISH = "wish"
_OF_DENIALS = frozenset({"dislikes", "diet", "lacking", _WISH, "single", "jobless", "missing"})
_FAVOURITE = re.compile(r"favou?rite|fan|go-to|obsessed|allergic|intolerant", re.IGNORECASE)
_BEHIND = 6  # words
_SPEAKER = speaker(USER)
ANYBODY = Who(owner="*")
"""Whoever it is: it is not said whose."""


@dataclass(frozen=True, kw_only=True)
class Revision:
    """What a clause says of earlier assertions.

    `over` are the stems of what is over, `named` those of them that are names; without any, all on the `topic` is.
    `strict` only concerns what has all the words, `being` whatever is said of `who`. As the wrong value of one of
    some `properties`, what is `over` is so of nothing else. Of the thing that is `renewed`, somebody has another one
    by now. A `slip` is the wrong value of something said shortly before. `slot` is what is so by now, and `again`
    says that what is `over` here is so once more, and was not given up for good. `since` is when, as a date, if the
    clause says so; what is `planned` holds from then on.
    """

    who: Who
    over: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    topic: str = ""
    strict: bool = False
    being: bool = False
    properties: frozenset[str] = frozenset()
    renewed: str = ""
    slip: bool = False
    again: bool = False
    slot: Slot | None = None
    since: str = ""
    planned: bool = False

    def is_about(self, who: Who) -> bool:
        """Whether it is about this person; "my new boss" is about the speaker's boss as well."""
        taken = who.kin == self.renewed != "" and self.who.kin in {"", who.kin}
        return (
            self.who == ANYBODY
            or self.who.is_same(who)
            or (who.owner == self.who.owner and (taken or stem(who.kin) in self.over))
            or (self.topic in _OF_COUPLES and Who(who.owner) == self.who and who.kin in kinship.PARTNERS)
        )

    def clues(self) -> Iterable[str]:
        """Of these, every assertion that it concerns has one too."""
        if self.slot is not None:
            return value_clues(self.who, self.slot)
        if self.renewed:
            return (thing_clue(self.renewed),)
        if self.words_on_topic:
            return [topic_clue(self.topic, word) for word in self.words_on_topic]
        return (ANY,) if self.being or not self.over else self._words()

    @property
    def words_on_topic(self) -> frozenset[str]:
        """If it only concerns what is on its topic: the words of which that has one; an empty one if that is all."""
        if self.slot is not None or self.renewed:
            return frozenset()
        if self._on_topic:
            return frozenset({""})
        if self.being or not self.topic or self.topic == "work" or self.properties or self.slip or self.again:
            return frozenset()
        # "I love hiking" only concerns that hiking is disliked, and not everything that has the word.
        return self._words()

    def _words(self) -> frozenset[str]:
        """The stems by which what is over may be told."""
        return frozenset[str]().union(*map(_said_otherwise, self.over), *(_KINDS.get(word, ()) for word in self.over))

    @property
    def _on_topic(self) -> bool:
        """Whether it concerns nothing but what is on its topic; that a job is over, says something of the boss too."""
        otherwise = self.over or self.being or self.properties or self.slip or self.again
        return bool(self.topic) and self.topic != "work" and not otherwise

    def body(self) -> dict[str, Any]:
        """The revision as it is stored."""
        told = {name: sorted(value) if isinstance(value, frozenset) else value for name, value in vars(self).items()}
        slot = self.slot and {**asdict(self.slot), "value": sorted(self.slot.value)}
        return {name: value for name, value in (told | {"slot": slot, "who": list(self.who)}).items() if value}


def topic_clue(topic: str, word: str = "") -> str:
    """The clue of assertions on a topic, or of those of them that have a word."""
    return f"{word} on {topic}"


def topic_clues(assertion: Assertion, topics: Mapping[str, Collection[str]]) -> Iterator[str]:
    """The clues of those of the topics of its words that an assertion is on; an empty word stands for them all."""
    for word in ("", *assertion.stems):
        yield from (topic_clue(topic, word) for topic in topics.get(word, ()) if _is_on_topic(assertion, topic))


def _is_on_topic(assertion: Assertion, topic: str) -> bool:
    known = assertion.topics.get(topic)
    if known is None:
        known = assertion.topics[topic] = _TOPICS[topic].search(assertion.clause) is not None
    return known


def _said_otherwise(word: str) -> frozenset[str]:
    """The stems of words that may stand for a stem, itself included."""
    return _SAME.get(word, frozenset({word}))


def revision_of(body: dict[str, Any]) -> Revision:
    """The revision in a stored body."""
    slot = body.get("slot")
    return Revision(
        **body
        | {"who": Who(*body["who"])}
        | {name: frozenset(body.get(name, ())) for name in ("over", "named", "properties")}
        | {"slot": Slot(**slot | {"value": frozenset(slot["value"])}) if slot else None}
    )


def names_in(text: str) -> frozenset[str]:
    """The stems of the words that names in a text consist of."""
    every = {word for name in _NAME.findall(text) for word in words(name)}
    return frozenset(stem(word) for word in every if word not in STOPWORDS and word not in CALENDAR and word != "i")


def may_be_concerned(assertion: Assertion) -> bool:
    """Whether there may be revisions that concern an assertion."""
    of_somebody_or_wish = assertion.is_of_somebody or _is_on_topic(assertion, _WISH)
    return assertion.tells_a_stop or (assertion.may_end and of_somebody_or_wish)


def concerns(revision: Revision, assertion: Assertion) -> bool:
    """Whether a revision says that what an assertion says is no longer so."""
    if revision.again:
        return _starts_anew(revision, assertion)
    if not assertion.may_end or not (assertion.is_of_somebody or revision.topic == _WISH):
        return False
    if revision.being:
        return _tells_of(revision, assertion)
    if _leaves_boss(revision, assertion):
        return True
    if assertion.kin and not _is_on_kinship(revision, assertion):
        return False
    return any(map(revision.is_about, assertion.who)) and _is_on(revision, assertion)


def _starts_anew(revision: Revision, assertion: Assertion) -> bool:
    """Whether an assertion tells of the end of what is so once more: all that was given up."""
    of_same = any(map(revision.who.is_same, assertion.who)) and not revision.over <= LIGHT | VAGUE
    return of_same and assertion.tells_a_stop and revision.over <= assertion.stems


def _leaves_boss(revision: Revision, assertion: Assertion) -> bool:
    """Whether a job is over in which somebody is the boss; where the boss is somewhere by name, it is that job."""
    if revision.topic not in {"", "work"} or revision.who != _SPEAKER or not _BOSS.search(assertion.clause):
        return False
    shared = not revision.named.isdisjoint(assertion.stems)
    return shared or (revision.topic == "work" and not (revision.named and _AT.search(assertion.clause)))


def _is_on_kinship(revision: Revision, assertion: Assertion) -> bool:
    """Whether a revision may be about what somebody is to the speaker, rather than about them or their things."""
    if revision.slot is not None:
        return revision.slot.attribute in {"partner", assertion.kin}
    if revision.renewed or revision.properties or revision.topic == "partner":
        return True
    by_name = assertion.kin not in kinship.BY_BLOOD or stem(assertion.kin) in revision.over
    return by_name and bool(revision.over) and revision.over <= assertion.stems


def _is_on(revision: Revision, assertion: Assertion) -> bool:
    """Whether an assertion is on what is over: its topic, and its words or names; or has another value."""
    if revision.slot is not None:
        return any(_other_value(revision.slot, each) for each in assertion.slots)
    if revision.renewed:
        return revision.renewed in assertion.things
    if revision.slip or revision.properties:
        held = given(assertion.clause, revision.over)
        return bool(held & revision.properties if revision.properties else held)
    by_name = revision.topic == "work" and bool(revision.named) and _is_named(revision.named, assertion)
    if revision.topic and not (by_name or _is_on_topic(assertion, revision.topic)):
        return False
    if revision.over:
        return _shares(revision, assertion) and _is_told_alike(revision, assertion)
    return not revision.named or not names_in(assertion.clause) or not revision.named.isdisjoint(assertion.stems)


def _is_told_alike(revision: Revision, assertion: Assertion) -> bool:
    """Whether an assertion that has the words says that it is so, and of a taste that it is of these words."""
    if assertion.denies and revision.topic not in _OF_DENIALS:
        return False
    return revision.topic not in _TASTES or _is_liked(revision, assertion)


def _is_liked(revision: Revision, assertion: Assertion) -> bool:
    """Whether what is liked or not, or has a word for that, is what a revision is about."""
    every = [*_TOPICS[revision.topic].finditer(assertion.clause)]
    if any(_FAVOURITE.search(found[0]) for found in every):
        return True
    behind = (stems(" ".join(assertion.clause[found.end() :].split()[:_BEHIND])) for found in every)
    return any(not revision._words().isdisjoint(said) for said in behind)


def affirms(revision: Revision, assertion: Assertion) -> bool:
    """Whether a revision says that what an assertion says is so once more."""
    if not any(map(revision.who.is_same, assertion.who)):
        return False
    if revision.again:
        return _shares(revision, assertion) and not assertion.tells_a_stop
    slot = revision.slot
    same = (each for each in assertion.slots if slot and each.attribute == slot.attribute)
    return slot is not None and any(slot.value & each.value and not _other_value(slot, each) for each in same)


def _tells_of(revision: Revision, assertion: Assertion) -> bool:
    """Whether an assertion tells of a being, as its subject or as somebody's."""
    if any(map(revision.who.is_same, assertion.who)):
        return True
    if revision.who.name:
        by_name = revision.named and revision.who.name in {*words(assertion.clause)}
        return bool(by_name) or assertion.introduces(revision.who.name)
    owners = {each.owner for each in assertion.who if not each.kin}
    return revision.who.owner in owners and stem(revision.who.kin) in assertion.stems


def _other_value(new: Slot, old: Slot) -> bool:
    is_vague = new.attribute == "live" and not _ANYWHERE.isdisjoint(new.value | old.value)
    return new.attribute == old.attribute and not is_vague and contradictions.exclude(new, old)


def _shares(revision: Revision, assertion: Assertion) -> bool:
    """Whether an assertion has the words of what a revision is about: one of the names, or half of the others."""
    telling = revision.over - LIGHT - VAGUE
    if not (telling or revision.topic or revision.over <= LIGHT):
        return False
    told = revision.over - LIGHT if telling and revision.strict else telling or revision.over
    held = {word for word in told if _is_told_of(word, assertion)}
    if revision.named:
        others = told - revision.named if revision.strict else frozenset[str]()
        return others <= held and _is_named(revision.named, assertion)
    if told <= LIGHT:
        return not revision.strict and held == told and assertion.stems <= LIGHT | told
    if revision.strict:
        return held == told
    return len(held) >= max(1.0, _LEAST_SHARE * len(told))


def _is_named(named: frozenset[str], assertion: Assertion) -> bool:
    """Whether an assertion has one of these names, as a name unless it is written without capitals."""
    return not named.isdisjoint(assertion.stems if assertion.is_small else names_in(assertion.clause))


def _is_told_of(word: str, assertion: Assertion) -> bool:
    """Whether an assertion has a word, in whatever form, or likes something of this kind: espresso is coffee."""
    if not _said_otherwise(word).isdisjoint(assertion.stems):
        return True
    kinds = _KINDS.get(word, frozenset())
    return not kinds.isdisjoint(assertion.stems) and _is_on_topic(assertion, "likes")
