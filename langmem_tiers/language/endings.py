"""How messages say that something is over, fell through, was wrong, or is otherwise by now: "I quit Spotify".

What a clause says so of is a revision; `revisions` says which earlier assertions it concerns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import NamedTuple

from langmem_tiers.language import kinship, speech_acts, validity
from langmem_tiers.language.assertions import (
    NOBODY,
    USER,
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
    stems,
    subject,
    valued,
    values,
)
from langmem_tiers.language.clauses import clauses
from langmem_tiers.language.contrasts import Contrast, contrast, given
from langmem_tiers.language.dates import SPOKEN
from langmem_tiers.language.ellipsis import filled_in
from langmem_tiers.language.names import CALENDAR
from langmem_tiers.language.revisions import ANYBODY, LIGHT, VAGUE, Revision, names_in
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.turns import LONGEST, Reading
from langmem_tiers.language.word_lists import alternatives, table, word_set
from langmem_tiers.language.words import STOPWORDS, stem, words

_TABLE = table("revisions")
_PETS = alternatives("vocabulary", "pets")
_SPEAKER = speaker(USER)
_ALTERNATIVES = tuple(map(word_set, table("attributes")["alternatives"]))
_PLANNED = valued(_TABLE["ahead"])
_WRONG = tuple(compiled(_TABLE["wrong"][each], value=_TABLE["wrong"]["value"]) for each in ("behind", "before"))
_DAY_OF_MONTH = compiled(_TABLE["wrong"]["day"])
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
_TWO_WORDS = 2
# Of ways of saying that something is put off, whoever did that.
_PUT_OFF = "appointment"
# The time that something is put off to is not that of the change.
_PUT_OFF_TO = compiled(
    r"\b(?:postponed|pushed|delayed|moved|rescheduled|shifted|put off|brought forward|changed)\b.{0,80}?"
    r" (?:to|until|till) (?:the )?(?=@some_time@)"
)
_OF_CALENDAR = frozenset(map(stem, CALENDAR))
# What stands behind the words that say which meeting is put off.
_MEETINGS = frozenset(map(stem, ("meeting", "appointment", "call", "event", "session", "visit", "date", "time")))
# Behind these words, the thing that is over is only told of in more detail: "the book club at work".
_DETAIL = re.compile(r"(?:^| )(?:at|in|on|of|for|with|from|to|about|that|which|who|we|I)(?: |$)")
# What is no one thing, or an activity of which any word may tell.
_NO_THING = re.compile(r"\b(?:and|or)\b|^(?:[\w'-]+ )?[a-z]{2,20}ing\b")
# Turns back at which the speaker's own words still say whom "she" and what "it" means: behind one answer.
_JUST_BEFORE = 2


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
    who = _whose(clause, reading)
    ends = _ended(clause, reading)
    against = contrast(clause)
    made = [*ends, *_switched(clause, who), *_valued(clause if against is None else against.right, who)]
    yield from _dated(made, clause, reading.said.said_at)
    yield from _wrong(clause)
    if against is not None:
        yield from _contrasted(against, who, reading)
    yield from _planned(clause, who, reading)
    anew = _AGAIN.search(clause) and not ends and not _NOT_ANEW.search(clause)
    if anew and not (meant := _telling(_AGAIN.sub("", clause))) <= LIGHT | VAGUE:
        yield Revision(who=who, over=meant, again=True)


def _dated(made: Sequence[Revision], clause: str, said_at: datetime) -> Iterator[Revision]:
    """What a clause says is over or so by now, with since when."""
    if not made:
        return
    since = validity.of_event(clause, said_at) or validity.of_state(clause, said_at).since
    put_off = _PUT_OFF_TO.search(clause) is not None
    begins = _FIRST_DAY.search(clause) and _day_ahead(clause, said_at)
    for each in made:
        planned = bool(begins) and (bool(each.renewed) or each.slot is not None)
        began = "" if put_off and each.slot is None else since
        yield replace(each, since=begins if begins and planned else began or each.since, planned=planned)


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
            yield Revision(who=ANYBODY, over=wrong, strict=True, topic=topic)


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
        yield Revision(who=ANYBODY, over=against.wrong, strict=True, slip=True)


def _planned(clause: str, who: Who, reading: Reading) -> Iterator[Revision]:
    """What is so from a later day on, as planned."""
    slots_ahead = [slot for _, slot in values(clause, _PLANNED)]
    if slots_ahead and (since := _planned_for(clause, reading.said.said_at)):
        yield from (Revision(who=who, slot=slot, since=since, planned=True) for slot in slots_ahead)


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
    put_off = way.topic == _PUT_OFF
    # "Dentist moved to Monday": a capital at the beginning of a sentence makes no name.
    opens = put_off and bool(thing) and clause.startswith(thing)
    named = frozenset[str]() if owned or opens else names_in(what)
    if way.all:
        partners = names_in(clause) - {who.name} if way.topic == "partner" else frozenset[str]()
        return Revision(who=who, named=named or partners, topic=way.topic)
    if put_off and not (owned or thing):
        who = ANYBODY
    over = _meant(way, what, named, reading, whole=bool(thing) or owned)
    return Revision(who=who, over=over, named=named, topic=way.topic, strict=way.strict or owned) if over else None


def _meant(way: _Ending, what: str, named: frozenset[str], reading: Reading, *, whole: bool) -> frozenset[str]:
    """The stems of what is over, told in these words as a `whole` or in more detail; empty if that is nothing."""
    told = what if way.strict or way.topic == "wish" else _first_told(what)
    found = way.words or _telling(told) | named or _meant_before(what, reading)
    # Of the book club, it is the club that is over.
    as_it_is = whole or way.words or named or way.strict or len(found) != _TWO_WORDS
    over = found if as_it_is else frozenset({_head(what)}) & found or found
    if way.topic == "plan" and all(map(_is_of_date, over)):
        return frozenset()  # "They can't make it on the 17th" ends nothing of that day
    return over - _MEETINGS or over if way.topic == _PUT_OFF else over


def _is_of_date(word: str) -> bool:
    return word.isdigit() or word in _OF_CALENDAR


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
    return found - LIGHT or found


def _first_told(what: str) -> str:
    """What is over without the details behind it: "inseparable", but not "in college"."""
    for part in _DETAIL.split(what):
        if stems(part) - LIGHT - VAGUE:
            return part
    return what


def _head(what: str) -> str:
    """The stem of the last of two words for one thing, which says what it is; empty if they are no such words."""
    said = SPOKEN.sub(" ", what)
    if _NO_THING.search(said):
        return ""
    parts = ([stem(word) for word in words(part) if word not in STOPWORDS] for part in _DETAIL.split(said))
    telling = next(filter(None, ([word for word in part if word not in LIGHT] for part in parts)), [])
    return telling[-1] if len(telling) == _TWO_WORDS else ""


def _meant_before(what: str, reading: Reading) -> frozenset[str]:
    """What "it" means: the telling words of what was said just before."""
    if not _SAYS_NOTHING.fullmatch(what):
        return frozenset()
    if reading.own:
        return _telling(reading.own[-1].text)
    before = [each.text for turn in reading.behind[:1] for each in sentences(turn.content[:LONGEST])]
    return _telling(before[-1]) if before else frozenset()
