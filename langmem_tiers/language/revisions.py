"""What later words make of earlier ones: "I quit Spotify" ends "I work at Spotify", whatever a rule made of either.

A revision says that something is over, fell through, was wrong, or has another value by now. It concerns an assertion
about the same person and on the same thing: by its words, by a topic, or by an attribute with one value at a time.
Which of the two was said first is for the caller to compare.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, NamedTuple

from langmem_tiers.language import contradictions, kinship, speech_acts, validity
from langmem_tiers.language.assertions import (
    ANY,
    NOBODY,
    USER,
    Assertion,
    Who,
    being,
    compiled,
    in_full,
    is_unreal,
    same_thing,
    says_the_end,
    slots,
    somebody,
    speaker,
    stem_of,
    stems,
    subject,
    thing_clue,
    value_clues,
    valued,
    values,
)
from langmem_tiers.language.clauses import clauses
from langmem_tiers.language.contradictions import Slot
from langmem_tiers.language.contrasts import Contrast, contrast, given
from langmem_tiers.language.dates import SPOKEN
from langmem_tiers.language.ellipsis import filled_in
from langmem_tiers.language.names import CALENDAR
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.turns import LONGEST, Reading
from langmem_tiers.language.word_lists import alternatives, table, word_set
from langmem_tiers.language.words import STOPWORDS, stem, words

_TABLE = table("revisions")
# What happens to the speaker and their partner together changes what the partner is.
_OF_COUPLES = frozenset({"partner", "unmarried", "pregnant"})
_PETS = alternatives("vocabulary", "pets")
_TOPICS = {name: compiled(said, re.IGNORECASE, pets=_PETS) for name, said in _TABLE["topics"].items()}
_LIGHT = frozenset(map(stem_of, _TABLE["light"].split()))
_VAGUE = frozenset(map(stem_of, _TABLE["vague"].split()))
_SAME = {stem(word): frozenset(map(stem, others.split())) for word, others in _TABLE["same"].items()}
_KINDS = {stem(word): frozenset(map(stem, kinds.split())) for word, kinds in _TABLE["kinds"].items()}
_ALTERNATIVES = tuple(map(word_set, table("attributes")["alternatives"]))
_PLANNED = valued(_TABLE["ahead"])
_WRONG = tuple(compiled(_TABLE["wrong"][each], value=_TABLE["wrong"]["value"]) for each in ("behind", "before"))
_DAY_OF_MONTH = compiled(_TABLE["wrong"]["day"])
_NAME = compiled("@named@")
# Whose thing is over: "Theo's cast".
_OWNER = re.compile(rf"(?<![\w&'-])(?:(?:[A-Z][\w&-]{{0,30}} ){{0,2}}[A-Z][\w&-]{{0,30}}|{kinship.WORDS})'s ")
# "It's Braga, not Porto": not just any word, as in "It's tea, not coffee".
_OF_NAMES = re.compile(r"(?:'s|'re| is| are) [A-Z\d][^,;:.!?]{0,80},? not (?:in |at |to |on )?[A-Z\d]")
_MEANT = re.compile(r"\bI (?:said|wrote|told you)\b.{1,80}\bI (?:actually |really )?(?:meant|mean)\b")
_PRONOUN = re.compile(r"^(?:[Hh]e|[Ss]he|[Tt]hey|[Hh]is|[Hh]er|[Tt]heir)\b")
_HIM = {"him": "He", "her": "She", "them": "They"}
_POSSESSIVE = re.compile(r"^(?:[Hh]is|[Hh]er|[Tt]heir)\b")
_OF_ANOTHER = re.compile(r"\b(?:his|her|their) \w")
# Whoever a clause is told of stands right before its verb: "I", "he", and not "people who" or "when I".
_BY_SOMEBODY = compiled(_TABLE["by_somebody"], re.IGNORECASE)
_FEW_WORDS = 6
# What is more than the name of a thing: "It was a match that".
_TELLS_MORE = re.compile(
    r"^(?:I(?! \w+ing\b)|we|you|he|she|they|it|there|these|those) |\b(?:is|are|was|were|am|it's|that's|i'm|has|have|had"
    r"|do|does|did|that|which|who|if|when|where|whether|so|but|because)\b",
    re.IGNORECASE,
)
# Before whom a clause is about: "Last week, my grandma".
_TIME_BEFORE = re.compile(
    r"^(?:(?:last|this|early|late|yesterday|today|tonight|on|in|about|back|sadly|sorry|unfortunately)\b[^,]{0,40}"
    r"|[^,]{1,20} (?:days?|weeks?|months?|years?) ago), ",
    re.IGNORECASE,
)
# Who else breaks up: "my favourite band".
_COMPANY = re.compile(
    r"^(?:my|our|the|this|that|an?) (?:[a-z-]{1,20} ){0,2}"
    r"(?:bands?|groups?|duo|trio|team|club|couple|party|firm|company)\b",
    re.IGNORECASE,
)
_OF_THINGS = re.compile(r"^(?:it|its|this|that|these|those)\b|^the (?!user\b)", re.IGNORECASE)
_SAYS_NOTHING = re.compile(
    r"(?:it|that|this|them|those|there|him|her|these|things?|all that|either|the whole thing)?", re.IGNORECASE
)
# Opens a sentence that takes back what was said before it.
_TAKING_BACK = re.compile(
    r"^(?:(?:no|nope|ah|oh|oops|sorry)[,.]? )?(?:(?:wait|hold on|scratch that|correction)\b(?:,? no\b)?"
    r"|(?:what )?I meant?(?: to say)?(?: earlier| before| last time)?(?: (?:was|is)(?: that)?)?(?=[:,]))[,.:;!–— -]*",
    re.IGNORECASE,
)
_SWITCHED_TO = re.compile(
    r"\b(?:switched|changed|converted|went over|moved over|gone over) (?:over )?to (?P<new>[a-z]+)\b"
)
_AHEAD = re.compile(
    r"\b(?:going to|will|won't|plan\w*|want\w*|hop(?:e|es|ing)|might|may|would|should|could|(?:am|'m) moving)\b|'ll\b"
)
_UNDER_WAY = re.compile(r"(?:'m|'re|'s|\b(?:am|are|is)) (?:moving|relocating|starting|joining)\b")
# What begins then is not so yet: "I start my new job on 1 June".
_FIRST_DAY = re.compile(r"\b(?:starts?|starting|begins?|beginning|will|going to)\b|'ll\b")
_SOON = timedelta(days=30)
# What is called new may have been so for that long: it is no news.
_NEW_FOR = validity.NEWS + timedelta(days=1)
_IS_NAMED = re.compile(r"(?:'s|,| is)(?: now| called| named)? [A-Z\d]")
_MENTIONS = compiled(r"(?:@my@|with my|into my) ")
_WHENEVER = re.compile(r"\b(?:when(?:ever)?|if|unless|once|until|in case)\b[^,]*$", re.IGNORECASE)
_PRESENT = re.compile(r"\W*(?:am|is|are|do|does|[a-z]*'(?:m|s|re|t))\b")
_AGAIN = re.compile(r"\b(?:again|back (?:together|at|with|in|to)|resumed|restarted|still)\b", re.IGNORECASE)
_NOT_ANEW = re.compile(rf"{_AHEAD.pattern}|n't\b|'d\b|\b(?:not|never|wish\w*|love to|tempted|used to)\b")
_LEAST_SHARE = 0.5
_TWO_WORDS = 2
# Behind these words, the thing that is over is only told of in more detail: "the book club at work".
_DETAIL = re.compile(r"(?:^| )(?:at|in|on|of|for|with|from|to|about|that|which|who|we|I)(?: |$)")
# What is no one thing, or an activity of which any word may tell.
_NO_THING = re.compile(r"\b(?:and|or)\b|^(?:[\w'-]+ )?[a-z]{2,20}ing\b")
# Turns back at which the speaker's own words still say whom "she" and what "it" means: behind one answer.
_JUST_BEFORE = 2
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
_OF_DENIALS = frozenset({"dislikes", "diet", "lacking", "wish", "single", "jobless", "missing"})
_FAVOURITE = re.compile(r"favou?rite|fan|go-to|obsessed|allergic|intolerant", re.IGNORECASE)
_BEHIND = 6  # words
_SPEAKER = speaker(USER)
_ANYBODY = Who(owner="*")


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
            self.who == _ANYBODY
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


class Revised(NamedTuple):
    """The revisions that a sentence makes, its place in a drawer, and its words, with the sentence that it leans on."""

    revisions: tuple[Revision, ...]
    drawer: int
    start: int
    stop: int
    quote: str


@dataclass(frozen=True, kw_only=True)
class _Ending:
    """One way of saying that something is over, as revisions.toml describes it."""

    said: re.Pattern[str]
    topic: str = ""
    words: frozenset[str] = frozenset()
    all: bool = False
    strict: bool = False
    alone: bool = False
    being: bool = False
    whole: bool = False
    personal: bool = False


_ENDINGS = tuple(
    _Ending(
        **each
        | {"said": compiled(each["said"], pets=_PETS), "words": frozenset(map(stem, each.get("words", "").split()))}
    )
    for each in _TABLE["over"]
)


def of_turn(read: Iterable[Reading]) -> Iterator[Revised]:
    """The revisions that the sentences of a turn make, up to a task: whatever follows that is material for it."""
    made: dict[int, Revised] = {}
    for reading in takewhile(lambda each: not speech_acts.is_task(each.text), read):
        text = _TAKING_BACK.sub("", reading.text)
        if not speech_acts.is_stated(text, joking=True) or speech_acts.is_taken_back(text):
            continue
        found = [each for clause, _ in clauses(text) for each in _of_clause(in_full(clause), reading)]
        found += (each for each in _ended(reading.text, reading, whole=True))
        if found:
            # "I got the job at Bosch! | I start on Monday": what begins then stands before it.
            before = reading.leans_on if any(each.planned for each in found) and _leans(reading) else None
            start = (before or reading.sentence).start
            already = made[start].revisions if start in made else ()
            said, stop = reading.said, reading.sentence.stop
            made[start] = Revised(
                tuple(dict.fromkeys((*already, *found))), said.drawer, start, stop, said.content[start:stop]
            )
    yield from made.values()


def _leans(reading: Reading) -> bool:
    """Whether a sentence only says in full with the one before it what it says."""
    return bool(reading.full) and not filled_in(reading.sentence.text, "")


def _of_clause(clause: str, reading: Reading) -> Iterator[Revision]:
    """What a clause says is over, or is so by now."""
    if speech_acts.is_unsure(clause):
        return
    said_at = reading.said.said_at
    since = validity.of_event(clause, said_at) or validity.of_state(clause, said_at).since
    who = _whose(clause, reading)
    ends = _ended(clause, reading)
    against = contrast(clause)
    begins = _FIRST_DAY.search(clause) and _day_ahead(clause, said_at)
    for each in (*ends, *_switched(clause, who), *_valued(clause if against is None else against.right, who)):
        planned = bool(begins) and (bool(each.renewed) or each.slot is not None)
        yield replace(each, since=begins if begins and planned else since or each.since, planned=planned)
    yield from _wrong(clause)
    if against is not None:
        yield from _contrasted(against, who, reading)
    yield from _planned(clause, who, reading)
    anew = _AGAIN.search(clause) and not ends and not _NOT_ANEW.search(clause)
    if anew and not (meant := _telling(_AGAIN.sub("", clause))) <= _LIGHT | _VAGUE:
        yield Revision(who=who, over=meant, again=True)


def _switched(clause: str, who: Who) -> Iterator[Revision]:
    """That the alternatives of what somebody switched to are over: tea ends coffee."""
    if switched := _SWITCHED_TO.search(clause):
        group = next((each for each in _ALTERNATIVES if switched["new"] in each), frozenset())
        if over := frozenset(map(stem, group)) - {stem(switched["new"])}:
            yield Revision(who=who, over=over)


def _valued(clause: str, who: Who) -> Iterator[Revision]:
    """What a clause says has this value by now."""
    if not _AHEAD.search(clause) and not says_the_end(clause):
        yield from (Revision(who=who, slot=slot) for slot in slots(clause))


def _wrong(clause: str) -> Iterator[Revision]:
    """The value that a clause gives as the wrong one beside the right one."""
    for match in filter(None, (pattern.search(clause) for pattern in _WRONG)):
        if wrong := frozenset(stems(match["wrong"])):
            topic = "day" if _DAY_OF_MONTH.search(match["wrong"]) else ""
            yield Revision(who=_ANYBODY, over=wrong, strict=True, topic=topic)


def _contrasted(against: Contrast, who: Who, reading: Reading) -> Iterator[Revision]:
    """The value that a clause sets the right one against; "it" has the property of what was said with that value."""
    if against.properties:
        yield Revision(who=who, over=against.wrong, properties=against.properties)
        return
    said = (each.sentence.text for each in reading.earlier() if each.mine and each.ago <= _JUST_BEFORE)
    before = (told for text in said for told, _ in clauses(text))
    found = next(((told, held) for told in before if (held := given(told, against.wrong))), None)
    if found is not None:
        yield Revision(who=subject(found[0], _me(reading)), over=against.wrong, properties=found[1])
    elif _OF_NAMES.search(reading.text) or _MEANT.search(reading.sentence.text):
        yield Revision(who=_ANYBODY, over=against.wrong, strict=True, slip=True)


def _planned(clause: str, who: Who, reading: Reading) -> Iterator[Revision]:
    """What is so from a later day on, as planned."""
    if since := _planned_for(clause, reading.said.said_at):
        for _, slot in values(clause, _PLANNED):
            yield Revision(who=who, slot=slot, since=since, planned=True)


def _planned_for(clause: str, said_at: datetime) -> str:
    """From when on a plan holds: its date, or soon if it is under way; empty if neither is said."""
    if validity.of_event(clause, said_at, ahead=True):
        return _day_ahead(clause, said_at)
    return (said_at + _SOON).date().isoformat() if _UNDER_WAY.search(clause) else ""


def _day_ahead(clause: str, said_at: datetime) -> str:
    """The date in a clause, if it is still to come."""
    date = validity.of_event(clause, said_at, ahead=True)
    return date if date > said_at.date().isoformat() else ""


def _ended(text: str, reading: Reading, *, whole: bool = False) -> list[Revision]:
    """What a clause or a whole sentence says is over; what it merely denies counts if it ends nothing else."""
    read = ((way, _ending(way, text, reading)) for way in _ENDINGS if way.whole or not whole)
    found = [(way, each) for way, each in read if each is not None]
    return [each for way, each in found if not way.alone] or [each for _, each in found]


def _ending(way: _Ending, clause: str, reading: Reading) -> Revision | None:
    """What a clause says is over in one way of saying so; None if it does not."""
    match = way.said.search(clause)
    if match is None or not _is_meant(way, match, clause):
        return None
    groups = match.groupdict()
    thing = groups.get("thing") or ""
    what = (groups.get("what") or groups.get("given") or thing).strip()
    who = _speaker_of(reading) if thing and not _POSSESSIVE.match(clause) else _whose(clause, reading)
    if not thing and who == _speaker_of(reading) and _OF_ANOTHER.search(match[0]):
        return None
    if way.being:
        return _of_being(what, clause, reading)
    if renewed := groups.get("renewed"):
        # "My new flat" only mentions it: what was said of late may be of this one.
        mentions = _MENTIONS.match(match[0]) and not _IS_NAMED.match(clause, match.end())
        since = (reading.said.said_at - _NEW_FOR).date().isoformat() if mentions else ""
        return Revision(who=who, renewed=same_thing(renewed), since=since)
    owned = _OWNER.search(what) is not None
    named = frozenset[str]() if owned else _names(what)
    if way.all:
        partners = _names(clause) - {who.name} if way.topic == "partner" else frozenset[str]()
        return Revision(who=who, named=named or partners, topic=way.topic)
    told = what if way.strict or way.topic == "wish" else _first_told(what)
    meant = way.words or _telling(told) | named or _meant_before(what, reading)
    # Of the book club, it is the club that is over.
    whole = thing or way.words or named or way.strict or owned
    head = "" if whole or len(meant) != _TWO_WORDS else _head(what)
    over = frozenset({head}) & meant or meant
    return Revision(who=who, over=over, named=named, topic=way.topic, strict=way.strict or owned) if over else None


def _is_meant(way: _Ending, match: re.Match[str], clause: str) -> bool:
    """Whether a clause says so of somebody, and as a fact."""
    before, thing = clause[: match.start()], match.groupdict().get("thing") or ""
    now_and_then = _WHENEVER.search(before) and _PRESENT.match(match[0])
    if is_unreal(before) or now_and_then or (way.alone and SPOKEN.search(clause)):
        return False
    if way.topic == "partner" and (_COMPANY.match(clause) or _OF_THINGS.match(clause)):
        return False
    return not _TELLS_MORE.search(thing) and (not way.personal or _is_by_somebody(before, clause))


def _is_by_somebody(before: str, clause: str) -> bool:
    """Whether what follows these words of a clause is told of a person, and not of whatever stands before it."""
    if _BY_SOMEBODY.search(before):
        return True
    who = subject(clause, USER)
    return who not in {_SPEAKER, NOBODY} and len(before.split()) <= _FEW_WORDS


def _of_being(named: str, clause: str, reading: Reading) -> Revision | None:
    """That a person or an animal lives no more: whoever is named, or the subject of a clause."""
    told = f"{_HIM.get(named, named)} died" if named else _TIME_BEFORE.sub("", clause)
    who = _whose(told, reading) if _PRONOUN.match(told) else being(told, _me(reading))
    if who == _speaker_of(reading):  # who is alive: it is told of somebody within the clause, or of a thing
        return None
    over = frozenset(filter(None, (stem(who.kin), who.name)))
    by_name = {who.name} if who.name and who.name.capitalize() in told else ()
    return Revision(who=who, over=over, named=frozenset(by_name), being=True) if over else None


def _speaker_of(reading: Reading) -> Who:
    return speaker(_me(reading))


def _me(reading: Reading) -> str:
    return (reading.subject.name or USER).casefold()


def _whose(clause: str, reading: Reading) -> Who:
    """Whom a clause is about; "she" is whoever was named last."""
    if not _PRONOUN.match(clause):
        return subject(clause, _me(reading))
    said = (each.sentence.text for each in reading.earlier() if each.mine and each.ago <= _JUST_BEFORE)
    before = (told for text in said for told, _ in reversed([*clauses(text)]))
    beside = [*takewhile(lambda told: in_full(told) != clause, (told for told, _ in clauses(reading.text)))]
    named = filter(None, (somebody(told, _me(reading)) for told in (*reversed(beside), *before)))
    return next(named, NOBODY)


def _telling(text: str) -> frozenset[str]:
    """The stems that tell what is meant: without times, and without light words if there are others."""
    found = frozenset(stems(SPOKEN.sub(" ", text)))
    return found - _LIGHT or found


def _first_told(what: str) -> str:
    """What is over without the details behind it: "inseparable", but not "in college"."""
    for part in _DETAIL.split(what):
        if stems(part) - _LIGHT - _VAGUE:
            return part
    return what


def _head(what: str) -> str:
    """The stem of the last of two words for one thing, which says what it is; empty if they are no such words."""
    said = SPOKEN.sub(" ", what)
    if _NO_THING.search(said):
        return ""
    parts = ([stem(word) for word in words(part) if word not in STOPWORDS] for part in _DETAIL.split(said))
    telling = next(filter(None, ([word for word in part if word not in _LIGHT] for part in parts)), [])
    return telling[-1] if len(telling) == _TWO_WORDS else ""


def _names(text: str) -> frozenset[str]:
    every = {word for name in _NAME.findall(text) for word in words(name)}
    return frozenset(stem(word) for word in every if word not in STOPWORDS and word not in CALENDAR and word != "i")


def _meant_before(what: str, reading: Reading) -> frozenset[str]:
    """What "it" means: the telling words of what was said just before."""
    if not _SAYS_NOTHING.fullmatch(what):
        return frozenset()
    if reading.own:
        return _telling(reading.own[-1].text)
    before = [each.text for turn in reading.behind[:1] for each in sentences(turn.content[:LONGEST])]
    return _telling(before[-1]) if before else frozenset()


def concerns(revision: Revision, assertion: Assertion) -> bool:
    """Whether a revision says that what an assertion says is no longer so."""
    if revision.again:
        return _starts_anew(revision, assertion)
    if not assertion.may_end or not (assertion.is_of_somebody or revision.topic == "wish"):
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
    of_same = any(map(revision.who.is_same, assertion.who)) and not revision.over <= _LIGHT | _VAGUE
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
    return not revision.named or not _names(assertion.clause) or not revision.named.isdisjoint(assertion.stems)


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
    telling = revision.over - _LIGHT - _VAGUE
    if not (telling or revision.topic or revision.over <= _LIGHT):
        return False
    told = revision.over - _LIGHT if telling and revision.strict else telling or revision.over
    held = {word for word in told if _is_told_of(word, assertion)}
    if revision.named:
        others = told - revision.named if revision.strict else frozenset[str]()
        return others <= held and _is_named(revision.named, assertion)
    if told <= _LIGHT:
        return not revision.strict and held == told and assertion.stems <= _LIGHT | told
    if revision.strict:
        return held == told
    return len(held) >= max(1.0, _LEAST_SHARE * len(told))


def _is_named(named: frozenset[str], assertion: Assertion) -> bool:
    """Whether an assertion has one of these names, as a name unless it is written without capitals."""
    return not named.isdisjoint(assertion.stems if assertion.is_small else _names(assertion.clause))


def _is_told_of(word: str, assertion: Assertion) -> bool:
    """Whether an assertion has a word, in whatever form, or likes something of this kind: espresso is coffee."""
    if not _said_otherwise(word).isdisjoint(assertion.stems):
        return True
    kinds = _KINDS.get(word, frozenset())
    return not kinds.isdisjoint(assertion.stems) and _is_on_topic(assertion, "likes")
