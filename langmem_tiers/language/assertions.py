"""What a message or an entry asserts, clause by clause: of whom, with which words, and as which value of an attribute.

`revisions` compares it with what is said later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from langmem_tiers.language import contradictions, kinship, speech_acts
from langmem_tiers.language.clauses import clauses, with_subject
from langmem_tiers.language.contradictions import Slot
from langmem_tiers.language.ellipsis import filled_in
from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.names import FIRST_NAMES, NO_PLACES, names
from langmem_tiers.language.rewriting import Subject, spelled_out, third_person
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.turns import LONGEST
from langmem_tiers.language.verbs import BARE, is_past
from langmem_tiers.language.verbs import third_person as third_person_of
from langmem_tiers.language.word_lists import COMMON_PARTS, alternatives, table, word_set, written_out
from langmem_tiers.language.words import STOPWORDS, stem, words
from langmem_tiers.lazy_property import lazy_property

USER = "user"
"""Whoever speaks, unless several named people do."""

ANY = ""
"""The clue that every assertion has."""

_TABLE = table("revisions")
_OPENING = word_set(_TABLE["opening"])
_BEINGS = f"{alternatives('vocabulary', 'kin')}|{alternatives('vocabulary', 'pets')}|mate|buddy|pal"
_BEINGS += "|mates|buddies|pals|friends|folks|gf|bf|hubby|missus|sis|bro|bestie|in-laws"
_NAMED = _TABLE["fragments"]["named"]
_APART = {
    form: word
    for word in _TABLE["apart"].split()
    for form in ((word, f"{word}s", f"{word}d", f"{word[:-1]}ing") if word.endswith("e") else (word,))
}
_OF_KIN = lazy_pattern(
    rf"^(?:(?P<mine>[Mm]y|[Oo]ur|[Tt]he(?! user))|(?P<user>[Tt]he user)'s|(?P<owner>{_NAMED})'s)"
    r" (?:(?P<which>little|big|older|younger|elder|eldest|oldest|youngest|twin|other|late|dear|lovely|new|old"
    r"|good|close|former|childhood|work|gym|school|uni|college) )?"
    rf"(?P<kin>{_BEINGS})\b(?!'s| and I\b)(?:,? (?P<name>{_NAMED})(?!'s))?"
)
# Kin of kin: "my sister's husband".
_OF_THEIR_KIN = lazy_pattern(
    rf"^(?:[Mm]y|[Oo]ur|[Tt]he user's) (?:[a-z]{{1,20}} )?(?P<owner>{_BEINGS})(?: {_NAMED})?'s (?:[a-z]{{1,20}} )?"
    rf"(?P<kin>{_BEINGS})\b(?!'s| and I\b)(?:,? (?P<name>{_NAMED})(?!'s))?"
)
_OTHERS = lazy_pattern(
    r"^(?:(?:(?:an?|one|some|this|that|these|those|the|another|half|most|many|several|two|three|both|all|every|each|few"
    r"|lots|none|of|my|our) ){1,4}(?:[a-z]{1,20} )?(?:friends?|mates?|colleagues?|co-?workers?|guys?|girls?|wom[ae]n"
    r"|m[ae]n|people|person|team|folks|classmates?|students?|neighbou?rs?)"
    r"|(?:every|some|any|no ?)(?:one|body)|people)(?:,|\b(?! and I\b)(?: (?P<next>[\w']{1,30})|$))",
    re.IGNORECASE,
)
_BEHIND_PEOPLE = word_set("of from at in on with who that called named are were have and else here there I")
_HE_OR_SHE = lazy_pattern(r"^(?:[Hh]e|[Ss]he)\b")
_MENTIONED = lazy_pattern(rf"\b[Mm]y (?:(?:little|big|older|younger) )?(?P<kin>{_BEINGS})\b(?:,? (?P<name>{_NAMED}))?")
# What people call their own parents and grandparents like a name: "Mum moved to Bath".
_CALLED_AS_KIN = lazy_pattern(
    r"^(?P<kin>mum|mom|mama|dad|papa|grandma|granny|gran|grandpa)\b(?!'s| and I\b)", re.IGNORECASE
)
_HAS_BIRTHDAY = lazy_pattern(r"(?<![\w-])(?P<name>[A-Z][\w-]{0,30})'s (?:\w{1,20} )?birthday\b")
_OF_ONE = word_set("little big older younger elder eldest oldest youngest twin other")
# Clauses that say nothing but that somebody is kin, and perhaps their name.
_MERELY_KIN = lazy_pattern(
    r"^(?:(?:I|[Ww]e|[Tt]he user)(?:'ve| have| has)(?: got)? (?:an? |one )?"
    rf"(?P<had>{kinship.WORDS})(?:,? (?:called |named )?{_NAMED})?"
    rf"|(?:[Mm]y|[Oo]ur|[Tt]he user's) (?P<whose>{kinship.WORDS})(?:'s name)?(?:'s| is) (?:called |named )?{_NAMED}"
    rf"|{_NAMED}(?:'s| is) (?:my|our|the user's) (?P<mine>{kinship.WORDS}))[.!]?$"
)
_BY_NAME = lazy_pattern(
    r"^(?!(?:I|We|The|My|Our|It|That|This|He|She|They|You)\b)(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?"
    rf"(?P<name>{_NAMED})(?:'s| (?:just |now |also |finally |recently )?(?P<verb>[a-z']+))\b"
)
_FINITE = frozenset(map(third_person_of, BARE)) | word_set(
    "is was has had does doesn't isn't will won't can died can't quit put cut let split"
)
# Words before whom a clause is about.
_LEADING_IN = lazy_pattern(
    r"(?:(?:but|and|so|also|then|well|oh|yes|yeah|yep|no|nope|btw|fyi|by the way|actually|apparently|anyway|ok|okay|hey"
    r"|hi|honestly|sadly|luckily|fortunately|unfortunately|sorry|funny|important|update|correction|wait|hold on|ps)\b"
    r"[,:!]? )+",
    re.IGNORECASE,
)
# Who speaks, as the subject of what follows, or as its owner: "my new job".
_SPEAKING = lazy_pattern(
    r"\b(?:I|[Ww]e|[Tt]he user(?: and others)?(?!')|(?:[Mm]y|[Oo]ur) (?:whole )?family)\b(?:'[a-z]+)?"
)
_MY = lazy_pattern(r"^(?:[Mm]y|[Oo]ur)\b")
# "My deadline" and "the new deadline" are the deadline.
_NEW = lazy_pattern(r"^the (?:user's )?(?:(?:new|final|revised|updated|current) )?(?=.)")
_MINE = lazy_pattern(r"(?:[Mm]y|[Oo]ur|[Tt]he user's)\b")
_HAD = lazy_pattern(r"(?:home|flat|apartment|place|house|job|position|role|internship|gig|employer)\b")
_WHOSE = lazy_pattern(r"\b(?:[Mm]y|[Oo]ur|[Tt]he user's) (?:[\w-]+ ){0,2}$")
_DETERMINED = lazy_pattern(r"\b(?:an?|the|this|that|another|some|new)(?: [\w-]+){0,2} $")
# Words that say when or how, and not who: "Since last year now".
_NO_SUBJECT = lazy_pattern(
    r"(?:\W*(?:\w+ly|now|still|just|also|so|and|but|back|again|yes|yeah|ok|okay|hi|hey|well|oh|btw|since|in|last|this|early"
    r"|late|today|yesterday|years?|months?|weeks?|spring|summer|autumn|fall|winter|\d+)\b)*\W*",
    re.IGNORECASE,
)
# Who else may come between: "I think the client is", "I heard Emma".
_ANOTHER = lazy_pattern(
    r"\b(?:he|she|they|it|you|who|that|which|these|those|there|people|(?:every|some)(?:one|body)"
    r"|(?:the|my|our|your|his|her|their|an?|some|one|another|every|each|both|most|all) (?:[\w'-]+ ){0,2}?[\w'-]+"
    r"|[A-Z][\w'-]*)\b"
)
_PARTS = lazy_pattern(r"\b(?:and|but|then|so)\b|[,;:–—]")
# "My sister, who lives in".
_WHICH = lazy_pattern(r"^ (?:who|that)\b")
_BEFORE_A_NAME = lazy_pattern(rf"{_BEINGS}|named|called|name")
_QUOTED = lazy_pattern(r'^[\w ]{1,60} (?:said|corrected "[^"]{1,300}"): "(?P<said>[^"]*)"')
_DATES = lazy_pattern(r" \((?:about )?[\d, -]+\)")
_ORDINAL = lazy_pattern(r"(?<=\d)(?:st|nd|rd|th)$")
# Clauses whose "I" is left out: "Sold the car", "Can't stand it any more", "Not vegetarian any more".
_ELIDED = lazy_pattern(
    r"^(?:(?:Just|Finally|Recently) )?(?:Can't|Cannot|Don't(?=.*\bany ?(?:more|longer)\b)|Doesn't|Haven't"
    r"|Didn't|Won't|No longer|Not|Never|Stopped"
    r"|Gave|Back|Went|Moving|Staying|Living|Working|Going|Used to|(?P<verb>[A-Z][a-z]+))\b(?!,)"
)
_IS_OVER = lazy_pattern(
    r"\b(?:no longer|any ?more|used to|los(?:t|ing) (?:my|our|his|her|their) job"
    r"|quit|stopped|gave up|sold|died|passed away|former|ex-|got rid of|cancell?ed"
    r"|postponed|broke up|split up|divorced|separated|laid off|resigned|fell through)\b"
    r"|(?:not|n't) .{0,80}\bafter all\b",
    re.IGNORECASE,
)
# What tells of somebody or of a thing of theirs; not "Nice job", "Your words mean a lot" or a caption.
_OF_SOMEBODY = lazy_pattern(
    r"^(?!\[|(?:(?:and|but|so|because) )?you(?:r|rs|'\w+)?\b)"
    r"(?:.*\b(?:I|we|me|my|us|our|he|she|they|his|her|their|user|user's)\b"
    r"|(?:(?:and|but|so|because|since) )?(?:the|this|that|it|an?|one|both|all|no|some|most|every|nobody|nothing)\b"
    r"|(?-i:[A-Z])[\w-]*'?s?\b(?= (?:is|was|has|had|and|\w+s|\w+ed|will|can|does|(?-i:[A-Z])\w*)\b)|.*\d)",
    re.IGNORECASE,
)
_DENIES = lazy_pattern(r"n't\b|\b(?:not|never|no)\b", re.IGNORECASE)
# What may begin again: "quit smoking", "don't play".
_STOPPED = lazy_pattern(
    r"\b(?:no longer|any ?more|quit|stopped|gave up|given up|went off|swore off|broke up|split up"
    r"|(?:do|does)(?:n't| not))\b",
    re.IGNORECASE,
)
# Words that make what follows unreal: "I might quit", "I never quit", "I'm thinking of quitting".
_UNREAL = lazy_pattern(
    r"(?:\b(?:not|never|almost|nearly|wants?(?: to)?|wanted to|wanna|going to|gonna|will|would|might|may|should|could"
    r"|can|must|plan(?:s|ning|ned)? to|thinking (?:of|about)|hop(?:e|es|ing) to|considering|about to"
    r"|tr(?:y|ied|ying) to|needs? to|ha(?:ve|s) to|used to|refuse to)|n't|'ll|'d)(?: \w+ly| just| even| ever| be)*$",
    re.IGNORECASE,
)
_SOMEONE = rf"(?:[A-Z]\w+|[Mm]y {_BEINGS}(?: [A-Z]\w+)?)"
_VERB = lazy_pattern(
    rf"^(?:{_SOMEONE}(?:, {_SOMEONE}){{0,3}},? and (?:I|{_SOMEONE})|I|[Ww]e|[Tt]he user(?: and others)?|[A-Z]\w+)"
    r"(?:'ve| have| has)?(?: (?:\w+ly|just|also|finally))*"
    r" (?P<verb>[a-z]+)\b"
)
_CAPITALS_OF_ALL = lazy_pattern(r"\bI\b|^The(?= user\b)")
# In a clause without other capitals, any word may be a name.
_ANY_NAME = (
    r"(?!(?:an?|the|my|our|his|her|this|that|it|me|us|here|there|bed|town|work|school|home|love|you)\b)[a-z][\w'-]+"
)


_OTHER_NAMES = {"number": "phone number", "email address": "email"}


class Who(NamedTuple):
    """Whom something is said of: the owner of a kinship or pet, its word, "older" or "younger", and a first name."""

    owner: str = ""
    kin: str = ""
    which: str = ""
    name: str = ""

    def is_same(self, other: Who) -> bool:
        """Whether it is certainly the same person."""
        if NOBODY in {self, other}:
            return False
        if self.name and other.name:
            return self.name == other.name
        if self.kin and other.kin:
            which = not (self.which and other.which) or self.which == other.which
            return self.owner == other.owner and self.kin == other.kin and which
        return self == other


NOBODY = Who(owner="?")
"""Somebody of whom it is not known who they are."""


class Valued(NamedTuple):
    """An attribute whose value is a name, and how clauses say it; `small` finds names without capitals."""

    attribute: str
    pattern: re.Pattern[str]
    small: re.Pattern[str]


@dataclass(frozen=True, kw_only=True)
class Assertion:
    """What a clause asserts: who it may be about, and the stems of its words."""

    clause: str
    who: tuple[Who, ...]
    stems: frozenset[str]

    @lazy_property
    def slots(self) -> tuple[Slot, ...]:
        """The attributes that it gives a value to."""
        return tuple(slots(self.clause))

    @lazy_property
    def topics(self) -> dict[str, bool]:
        """Whether it is on a topic, for each that was asked for."""
        return {}

    @lazy_property
    def things(self) -> frozenset[str]:
        """What it names of the things that somebody has one of at a time: phone, phone number, boss."""
        return frozenset(same_thing(found[0]) for found in _THING.finditer(self.clause))

    @lazy_property
    def kin(self) -> str:
        """What somebody is to the speaker, such as "sister", if it says no more; otherwise empty."""
        match = _MERELY_KIN.match(self.clause)
        return kinship.canonical(next(filter(None, match.groups()))) if match else ""

    @lazy_property
    def may_end(self) -> bool:
        """Whether it tells of a state, a plan or a habit, rather than of an end or a single event."""
        if says_the_end(self.clause):
            return False
        verb = _VERB.match(self.clause)
        return verb is None or not is_past(verb["verb"]) or verb["verb"] in _OPENING

    @lazy_property
    def is_small(self) -> bool:
        """Whether it is written without capitals, names included."""
        return _CAPITALS_OF_ALL.sub("", self.clause).islower()

    @lazy_property
    def is_of_somebody(self) -> bool:
        """Whether it tells of somebody who is no listener, or of a thing."""
        return _OF_SOMEBODY.search(self.clause) is not None

    @property
    def denies(self) -> bool:
        """Whether it tells that something is not so."""
        return _DENIES.search(self.clause) is not None

    @property
    def tells_a_stop(self) -> bool:
        """Whether it tells that a habit or a bond is over, which may begin again."""
        return bool(_STOPPED.search(self.clause))

    def introduces(self, name: str) -> bool:
        """Whether it gives somebody this first name: "a dog called bruno", "my sister ada"."""
        said = [word for word in words(self.clause) if word != "is"]
        return any(word == name and _BEFORE_A_NAME.fullmatch(before) for before, word in pairwise(said))

    def clues(self) -> set[str]:
        """Its words and attributes, to look up revisions by."""
        return {
            ANY,
            *self.stems,
            *map(thing_clue, self.things),
            *(clue for slot in self.slots for each in self.who for clue in value_clues(each, slot)),
        }


def thing_clue(thing: str) -> str:
    """The clue of assertions that name a thing."""
    return f"one {thing}"


def same_thing(named: str) -> str:
    """A thing by one name: a number is a phone number."""
    return _OTHER_NAMES.get(named.casefold(), named.casefold())


def value_clues(who: Who, slot: Slot) -> list[str]:
    """The clues that say whose attribute it is; two that may be of the same person share one."""
    kin = f"{who.owner}'s {who.kin}" if who.kin else ""
    keys = [each for each in (who.name, kin) if each] or [who.owner]
    return [f"{slot.attribute} of {key}" for key in keys]


@lru_cache(maxsize=4096)
def assertions(text: str, me: tuple[str, ...] = (USER,)) -> tuple[Assertion, ...]:
    """What a message or an entry asserts; `me` are the names of its speaker."""
    quoted = _QUOTED.match(text)
    said = quoted["said"] if quoted else text[:LONGEST]
    told = [each.text for each in sentences(said)]
    around = zip(told, ["", *told], [*told[1:], ""], strict=False)
    full = (filled_in(text, before, after) or text for text, before, after in around)
    stated = (text for text in full if speech_acts.is_stated(text, joking=True))
    asserted = (in_full(_DATES.sub("", clause)) for text in stated for clause, _ in clauses(text))
    return tuple(_with_subjects(asserted, me))


def _with_subjects(told: Iterable[str], me: Sequence[str]) -> Iterator[Assertion]:
    """What each clause asserts; "he" and "she" are whoever was named last."""
    before: list[str] = []
    for clause in told:
        before.append(clause)
        if _HE_OR_SHE.match(clause):
            named = (somebody(each, me[0]) for each in reversed(before))
            who = [next(filter(None, named), NOBODY)]
        else:
            who = [subject(clause, each) for each in me]
        yield Assertion(clause=clause, who=tuple(dict.fromkeys(who)), stems=frozenset(stems(clause)))


def in_full(clause: str) -> str:
    """The clause spelled out, with an "I" that is left out."""
    told = with_subject(spelled_out(clause))
    elided = _ELIDED.match(told)
    if elided is None or (elided["verb"] and not is_past(elided["verb"].casefold())):
        return told
    return f"I {told[0].lower()}{told[1:]}"


def stems(text: str) -> set[str]:
    """The stems of the words that mean something, ordinals as numbers."""
    return {stem_of(word) for word in words(text) if word not in STOPWORDS} - {USER}


def stem_of(word: str) -> str:
    """The stem of a word; of an ordinal, its number."""
    return _APART.get(word) or stem(_ORDINAL.sub("", word))


def says_the_end(clause: str) -> bool:
    """Whether a clause says itself that something is over."""
    return bool(_IS_OVER.search(clause))


def is_unreal(before: str) -> bool:
    """Whether what follows these words is a wish, a thought, a plan or denied."""
    return bool(_UNREAL.search(before.rstrip()))


def being(clause: str, me: str) -> Who:
    """Whom a clause is about that only a being can be about, also by a name in small letters: "bruno died"."""
    who = subject(clause, me)
    return subject(clause[:1].upper() + clause[1:], me) if who == speaker(me) else who


def subject(clause: str, me: str) -> Who:
    """Whom a clause is about: the speaker, unless it begins with somebody else."""
    return _about(clause, me)[0]


def _about(clause: str, me: str) -> tuple[Who, int]:
    """Whom a clause is about, and the place behind the words at its beginning that say so; 0 if there are none."""
    opened = _LEADING_IN.match(clause)
    start = opened.end() if opened else 0
    who, end = _named_first(clause[start:], me)
    return who, start + end if end else 0


def _named_first(clause: str, me: str) -> tuple[Who, int]:
    if kin := _OF_KIN.match(clause):
        owner = USER if kin["user"] else (kin["owner"] or me).casefold()
        which = kin["which"] if kin["which"] in _OF_ONE else ""
        return Who(owner, kinship.canonical(kin["kin"]), which, _first(kin["name"])), kin.end()
    if theirs := _OF_THEIR_KIN.match(clause):
        owner = f"{me.casefold()}'s {kinship.canonical(theirs['owner'])}"
        return Who(owner, kinship.canonical(theirs["kin"]), "", _first(theirs["name"])), theirs.end()
    if (others := _OTHERS.match(clause)) and _is_of_others(others):
        return NOBODY, others.end()
    if called := _CALLED_AS_KIN.match(clause):
        return Who(me.casefold(), kinship.canonical(called["kin"])), called.end()
    small = clause.split(" ", 1)[0] in FIRST_NAMES
    named = _BY_NAME.match(clause[:1].upper() + clause[1:] if small else clause)
    if named and named["verb"] and (named["verb"] in _FINITE or is_past(named["verb"])):
        first = _first(named["name"])
        if first not in STOPWORDS and not is_past(first):
            return Who(name=first), named.end("name")
    return speaker(me), 0


def _is_of_others(match: re.Match[str]) -> bool:
    """Whether a clause is about people who are not named: "half my team quit", but not "my team meeting is off"."""
    following = match["next"] or "of"
    verb = following in _FINITE or following in BARE or is_past(following)
    return verb or following in _BEHIND_PEOPLE or following[0].isupper()


def is_held(clause: str, start: int) -> bool:
    """Whether what follows in a clause is so of whoever it is about: "I moved to", but not "the boss moved to".

    Of the speaker, it is if they say "I", "my new job", or nothing but when.
    """
    _, end = _about(clause, USER)
    pronoun = None if end else _HE_OR_SHE.match(clause)
    own, before = not (end or pronoun), clause[:start]
    if own and _MINE.match(clause, start):
        return True
    if _HAD.match(clause, start):  # "a flat in Rome"
        if _WHOSE.search(before):
            return own
        before = _DETERMINED.sub("", before)
    if pronoun:
        end = pronoun.end()
    elif own:
        spoken = [*_SPEAKING.finditer(clause, 0, start + 4)]
        if not spoken:
            return _NO_SUBJECT.fullmatch(before) is not None
        end = spoken[-1].end()
    between = _WHICH.sub("", _PARTS.split(before[end:])[-1])
    return _ANOTHER.search(between) is None and (own or _SPEAKING.search(between) is None)


def speaker(me: str) -> Who:
    """The one who speaks."""
    return Who(owner=USER) if me == USER else Who(name=_first(me))


def somebody(clause: str, me: str) -> Who | None:
    """The person a clause is about, or mentions as kin or by name; None if it is only about the speaker."""
    first = subject(clause, me)
    if first.kin or (first.name and first != speaker(me)):
        return first
    if kin := _MENTIONED.search(clause):
        return Who(me, kinship.canonical(kin["kin"]), "", _first(kin["name"]))
    if celebrated := _HAS_BIRTHDAY.search(clause):
        return Who(name=_first(celebrated["name"]))
    named = [each for each in names(clause) if each.folded.split()[0] in FIRST_NAMES]
    return Who(name=named[-1].folded.split()[0]) if named else None


def _first(name: str | None) -> str:
    return (name or "").casefold().split(" ")[0]


def compiled(text: str, flags: int = 0, **parts: str) -> re.Pattern[str]:
    """A pattern of revisions.toml, with its fragments and these parts."""
    return lazy_pattern(written_out(text, COMMON_PARTS | _TABLE["fragments"] | parts), flags)


def valued(listed: Sequence[dict[str, str]]) -> tuple[Valued, ...]:
    """The attributes in a list of revisions.toml."""
    return tuple(
        Valued(each["slot"], compiled(each["said"]), compiled(each["said"], named=_ANY_NAME)) for each in listed
    )


_THING = compiled(r"\b@renewed@\b", re.IGNORECASE)
_STATES = valued(_TABLE["state"])


def slots(clause: str) -> Iterator[Slot]:
    """The attributes that a clause gives a value to, in the first or third person; not what is unreal.

    They are of whoever the clause is about; those of anybody or anything else have its name: "Mum's birthday".
    """
    for before, slot in values(clause, _STATES):
        if not is_unreal(before) and is_held(clause, len(before)) and _may_be(slot):
            yield slot
    if contradictions.says_several(clause):
        return
    told = clause if clause.startswith("The user") else third_person(clause, Subject())
    if told and (found := contradictions.slot(told)) is not None:
        holder = _LEADING_IN.sub("", found.subject)
        own = holder == "the user" or _is_first(holder, clause)
        attribute = found.attribute if own else f"{_NEW.sub('the ', holder)} {found.attribute}"
        yield Slot("", attribute, found.value, found.kind, "")


def _is_first(holder: str, clause: str) -> bool:
    """Whether this is whom a clause is about, and nothing of theirs: "my sister", but not "my sister's flight"."""
    end = _about(clause, USER)[1]
    if not end:
        return _HE_OR_SHE.match(clause) is not None and " " not in holder
    named = _MY.sub("the user's", _LEADING_IN.sub("", clause[:end]))
    return holder.replace(",", "") == named.casefold().replace(",", "")


def _may_be(slot: Slot) -> bool:
    """Whether this may be the value: nobody lives in Plan B."""
    return slot.attribute != "live" or slot.value.isdisjoint(NO_PLACES)


def values(clause: str, attributes: Sequence[Valued]) -> Iterator[tuple[str, Slot]]:
    """The values that a clause gives to these attributes, each with the words before it."""
    plain = _CAPITALS_OF_ALL.sub("", clause).islower()
    for attribute, pattern, small in attributes:
        match = (small if plain else pattern).search(clause)
        if match and (value := frozenset(words(match["value"])) - STOPWORDS):
            yield clause[: match.start()], Slot("", attribute, value, "name", "")
