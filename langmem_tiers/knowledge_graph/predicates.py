"""Predicates: the many ways to say a relation become one word, and which of them hold one value at a time. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from langmem_tiers.errors import InvalidRelation
from langmem_tiers.knowledge_graph import kinship
from langmem_tiers.settings import GraphSettings

_LONGEST_SAID = 200
_LONGEST = 64

# Phrases begin with the base form of a verb and stand for all its forms; "be located in" is "located in" too.
_SINGLE = {
    "lives_in": "live in, live at, reside in, reside at, dwell in, be based in, move to, move into, relocate to"
    ", settle in, be living in, be a resident of, be resident in, have home in, home is in, home is",
    "works_at": "work at, work for, work in the company, be employed by, be employed at, be employed with"
    ", have a job at, have a job with, have job at, get a job at, start at, start working at, start working for"
    ", be working at, be working for, be an employee of, employer is, have employer, company is",
    "works_as": "work as, be employed as, be working as, have job, have the job, have job title, job is, job title is"
    ", have occupation, occupation is, have profession, profession is, have title, title is",
    "studies_at": "study at, be a student at, be a student of, be enrolled at, be enrolled in, go to university at"
    ", attend university, attend school at, go to school at, be studying at",
    "married_to": "marry, be married to, be married with, get married to, wed",
    "engaged_to": "be engaged to, get engaged to",
    "dates": "date, be dating, go out with, be going out with, see romantically, be in a relationship with"
    ", be together with, have relationship with",
    "reports_to": "report to, be managed by, be supervised by, work under, have manager, have boss, have supervisor",
    "born_in": "be born in, be born at, birthplace is, have birthplace, have place of birth",
    "born_on": "be born on, birth date is, date of birth is, have birth date, have date of birth",
    "died_on": "die on, have date of death, be dead since",
    "died_in": "die in, die at, have place of death",
    "has_birthday": "have birthday, have birthday on, birthday is, birthday is on, celebrate birthday on",
    "has_age": "have age, be aged, age is, be years old, turn",
    "has_height": "have height, height is, be tall, measure",
    "has_weight": "have weight, weight is, weigh",
    "has_size": "have size, size is, wear size, be of size",
    "has_colour": "have colour, have color, colour is, color is, be coloured, be colored, be painted",
    "has_battery": "have battery, battery is, use battery, use a battery, run on battery, be powered by battery"
    ", have battery capacity, battery capacity is, have a battery, have a battery of, be equipped with battery",
    "has_capacity": "have capacity, capacity is, have a capacity of, hold up to",
    "has_range": "have range, range is, have a range of",
    "has_price": "cost, have price, price is, be priced at, have cost, cost is, sell for, be worth",
    "has_version": "have version, version is, be at version, be on version, run version, use version",
    "has_status": "have status, status is, have state, state is, be in state, be in status",
    "has_email": "have email, email is, have email address, email address is, be reached by email at",
    "has_phone": "have phone, have phone number, phone is, phone number is"
    ", have telephone number, be reached by phone at",
    "has_address": "have address, address is, live at address",
    "has_timezone": "have timezone, have time zone, timezone is, time zone is, be in timezone, be in time zone",
    "has_salary": "have salary, salary is, earn, be paid, make a salary of",
    "has_budget": "have budget, budget is, have a budget of",
    "has_deadline": "have deadline, deadline is, be due, be due on, be due by, have due date, due date is",
    "has_score": "have score, score is, have rating, rating is, be rated",
    "located_in": "be located in, be located at, be located on, be situated in, be situated at, lie in, be in, be at"
    ", be found in, have location, location is, stand in",
    "headquartered_in": "be headquartered in, be headquartered at, have headquarters in, headquarters is"
    ", headquarters is in, have head office in",
    "kept_in": "be kept in, be kept at, be stored in, be stored at, be parked in, be parked at",
    "assigned_to": "be assigned to, have assignee, assignee is",
    "happens_on": "happen on, take place on, be on, be scheduled for, be scheduled on, be held on, have date, date is"
    ", start on, begin on",
    "happens_in": "happen in, happen at, take place in, take place at, be held in, be held at, have venue, venue is",
    "prefers_language": "have preferred language, preferred language is, prefer language",
}
_SEVERAL = {
    "also_lives_in": "also live in, also lives in, also be based in, have second home in, have a second home in",
    "also_works_at": "also work at, also works at, also work for, also works for, have side job at",
    "owns": "own, possess, be the owner of, have ownership of, have bought",
    "bought": "buy, purchase, order, acquire",
    "sold": "sell",
    "drives": "drive",
    "rides": "ride",
    "uses": "use, utilise, utilize, make use of, be using, work with tool, rely on",
    "likes": "like, enjoy, be fond of, be a fan of, be into, appreciate",
    "loves": "love, adore, be in love with",
    "dislikes": "dislike, hate, can not stand, detest",
    "prefers": "prefer, favour, favor, have preference, have a preference for",
    "wants": "want, wish for, would like, desire",
    "plans": "plan, plan to, intend to, be planning",
    "needs": "need, require",
    "knows": "know, be acquainted with, meet, have met",
    "works_on": "work on, be working on, develop on, contribute to",
    "works_with": "work with, collaborate with, be working with, cooperate with, partner with",
    "works_in": "work in, work in the field of, be working in, have industry, be active in",
    "studies": "study, be studying, major in, learn, be learning",
    "graduated_from": "graduate from, be an alumnus of, have a degree from, study formerly at",
    "teaches": "teach, give lessons in",
    "teaches_at": "teach at, be a teacher at, be a professor at, lecture at",
    "speaks": "speak, speak language, be fluent in, have language",
    "plays": "play, play instrument",
    "practises": "practise, practice, do sport, have hobby, hobby is, have a hobby",
    "member_of": "be a member of, be member of, belong to, be in the team, be on the team, be in the band, join"
    ", have membership in, be affiliated with",
    "part_of": "be part of, be a part of, be a component of, be included in, be a subsidiary of, be a branch of",
    "manages": "manage, supervise, be the manager of, be the boss of, oversee",
    "leads": "lead, head, be the head of, be head of, be the leader of, be in charge of, be the ceo of, be ceo of, run",
    "founded": "found, co-found, cofound, establish, be the founder of, be a founder of, be founder of, start company",
    "created": "create, make, build, develop, design, invent, produce, be the creator of, be the maker of",
    "wrote": "write, author, be the author of, compose",
    "responsible_for": "be responsible for, take care of, be accountable for",
    "participates_in": "participate in, take part in, compete in, be a participant in",
    "attends": "attend, go to, be attending",
    "visited": "visit, travel to, fly to, take a trip to, go on a trip to, have been to, be visiting",
    "stays_at": "stay at, stay in, stay with",
    "has_pet": "have pet, have a pet, have a dog, have a cat, have dog, have cat, keep a pet",
    "has_nationality": "have nationality, nationality is, be a citizen of, have citizenship",
    "has_role": "have role, role is, have position, position is, hold position",
    "has_nickname": "be nicknamed, go by, have nickname, nickname is, be also known as, be known as"
    ", be called, have alias",
    "has_goal": "have goal, goal is, aim for, aim to",
    "has_part": "have part, contain, include, consist of, be composed of, comprise, have component",
    "allergic_to": "be allergic to, have allergy to, have an allergy to, have allergy",
    "diagnosed_with": "be diagnosed with, suffer from, have condition, have diagnosis, have illness",
    "takes": "take medication, be on medication, be prescribed, take medicine",
    "interested_in": "be interested in, have interest in, have an interest in, be curious about",
    "supports": "support, be a supporter of, back",
    "follows": "follow, subscribe to, be subscribed to",
    "depends_on": "depend on, be dependent on, be blocked by",
    "supplies": "supply, provide, deliver, offer",
    "sponsors": "sponsor, fund, finance, invest in",
    "causes": "cause, lead to, result in",
    "about": "be about, concern, deal with, be on the topic of, have topic",
    "is_a": "be a, be an, be a kind of, be a type of, be an instance of, have type, have kind",
    "related_to": "be related to, be connected to, be associated with, be linked to, have to do with",
    "mentioned_with": "be mentioned with, be mentioned together with, co-occur with",
}
# What is said the other way round: "Acme employs Anna" is kept as "Anna works_at Acme".
_TURNED = {
    "works_at": "employ, hire, have employee, have as employee",
    "lives_in": "be home to, be the home of, have resident",
    "studies_at": "have student, enrol, enroll",
    "owns": "be owned by, belong to owner, have owner, owner is, be the property of",
    "drives": "be driven by",
    "bought": "be bought by, be purchased by",
    "uses": "be used by",
    "likes": "be liked by",
    "loves": "be loved by",
    "manages": "have as manager",
    "leads": "be led by, be headed by, be run by, have leader, have head, have ceo, leader is, ceo is",
    "founded": "be founded by, be established by, have founder, founder is",
    "created": "be created by, be made by, be built by, be developed by, be designed by, be produced by"
    ", be manufactured by, have creator, have maker, have manufacturer, manufacturer is",
    "wrote": "be written by, be authored by, have author, author is, be composed by",
    "responsible_for": "be the responsibility of",
    "member_of": "have member, have as member",
    "participates_in": "have participant",
    "attends": "be attended by, have attendee, have guest",
    "visited": "be visited by",
    "teaches": "be taught by",
    "has_pet": "be the pet of, be pet of, be the dog of, be the cat of",
    "has_part": "be contained in",
    "depends_on": "block, be a dependency of, be required by",
    "supplies": "be supplied by, be provided by, be delivered by",
    "sponsors": "be sponsored by, be funded by, be financed by",
    "causes": "be caused by, result from",
    "born_in": "be the birthplace of",
    "part_of": "have branch, have subsidiary",
}
_SYMMETRIC_WORDS = (
    "married_to engaged_to dates knows works_with related_to mentioned_with has_friend has_colleague"
    " has_neighbour has_sibling has_spouse has_partner has_cousin has_roommate has_twin"
    " has_best_friend"
)
_SYMMETRIC = frozenset(_SYMMETRIC_WORDS.split())

# Third person, past, participle, -ing of the verbs that are not regular.
_IRREGULAR = {
    "be": "is are was were am been being",
    "have": "has had having",
    "wed": "weds wedded wedding",
    "see": "sees saw seen seeing",
    "go": "goes went gone going",
    "get": "gets got gotten getting",
    "take": "takes took taken taking",
    "make": "makes made making",
    "lie": "lies lay lain lying",
    "die": "dies died dying",
    "run": "runs ran running",
    "cost": "costs costing",
    "sell": "sells sold selling",
    "buy": "buys bought buying",
    "drive": "drives drove driven driving",
    "ride": "rides rode ridden riding",
    "know": "knows knew known knowing",
    "meet": "meets met meeting",
    "learn": "learns learned learnt learning",
    "teach": "teaches taught teaching",
    "speak": "speaks spoke spoken speaking",
    "lead": "leads led leading",
    "build": "builds built building",
    "write": "writes wrote written writing",
    "fly": "flies flew flown flying",
    "keep": "keeps kept keeping",
    "give": "gives gave given giving",
    "hold": "holds held holding",
    "wear": "wears wore worn wearing",
    "stand": "stands stood standing",
    "begin": "begins began begun beginning",
    "deal": "deals dealt dealing",
    "back": "backs backed backing",
    "plan": "plans planned planning",
    "do": "does did done doing",
    "can": "could cannot",
    "would": "would'd",
    "can not": "cannot can't",
    "job": "",
}
_NOUNS = re.compile(r"^(?:[a-z-]+ ){1,3}is(?: in| on)?$")
_BLANKS = re.compile(r"[\s_\W]+")
# What says no more than that it is so, or is so now; what says no ("no longer", "never") is no part of this.
_EMPTY_WORDS = (
    "currently now still also just already recently presently today officially actually really the a"
    " an their his her its my our your"
)
_EMPTY = frozenset(_EMPTY_WORDS.split())
_AUXILIARY_WORDS = "is are was were am be been being has have had having do does did"
_AUXILIARY = frozenset(_AUXILIARY_WORDS.split())


class Reading(NamedTuple):
    """A predicate as it is stored, and whether subject and object change places for it."""

    predicate: str
    turned: bool = False


def normalise(text: str) -> str:
    """The stored word for a predicate in any words; one that is not known becomes its own words, joined by "_".

    See `reading` for those that are said the other way round.

    Raises:
        InvalidRelation: it holds no letter or digit, or is longer than 200 characters.

    Example:
        >>> normalise("is currently employed by"), normalise("hires"), normalise("is afraid of")
        ('works_at', 'works_at', 'afraid_of')
    """
    return reading(text).predicate


def reading(text: str) -> Reading:
    """The stored word for a predicate in any words, and whether subject and object change places.

    Raises:
        InvalidRelation: it holds no letter or digit, or is longer than 200 characters.

    Example:
        >>> reading("employs")
        Reading(predicate='works_at', turned=True)
    """
    if not isinstance(text, str):
        raise InvalidRelation(f"A {type(text).__name__} is no predicate.")
    if len(text) > _LONGEST_SAID:
        raise InvalidRelation(f"The predicate has {len(text):,} characters; the limit is {_LONGEST_SAID}.")
    return _reading(text)


def single_valued(predicate: str, settings: GraphSettings) -> bool:
    """Whether a stored predicate holds one value at a time."""
    if predicate in _own(settings.several_valued):
        return False
    return predicate in _SINGLE or predicate in _own(settings.single_valued) or _one_of_kin(predicate)


@cache
def single_by_default(predicate: str) -> bool:
    """Whether a stated predicate holds one value at a time, where no settings say otherwise."""
    return single_valued(predicate, GraphSettings())


def symmetric(predicate: str) -> bool:
    """Whether a stored predicate says the same of both: who is married to Anna, Anna is married to."""
    return predicate in _SYMMETRIC


def known() -> tuple[str, ...]:
    """The predicates that there are words for, by name."""
    return tuple(sorted({*_SINGLE, *_SEVERAL}))


@lru_cache(maxsize=4096)
def _reading(text: str) -> Reading:
    plain = _plain(text)
    if not plain:
        raise InvalidRelation(f"{text[:40]!a} is no predicate: it holds no letter or digit.")
    found = next((each for form in _forms(plain) if (each := phrases().get(form))), None)
    if found is not None:
        return found
    kin = kinship.read(plain) or kinship.read(" ".join(text.casefold().split()))
    if kin is not None:
        return Reading(kinship.predicate(kin.word), kin.turned)
    return Reading(_joined(plain))


def _plain(text: str) -> str:
    """Small letters and digits with single blanks; accents stay."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    marks = "".join(sign if _is_part(sign) else " " for sign in folded if unicodedata.category(sign) != "Cf")
    return " ".join(marks.split())


def _is_part(sign: str) -> bool:
    """Letters, digits, and the marks that many scripts write their vowels with."""
    return sign.isalnum() or unicodedata.category(sign)[0] == "M"


def _forms(plain: str) -> Iterator[str]:
    """A phrase as it is, without what adds nothing, and without the auxiliaries in front."""
    yield plain
    words = [word for word in plain.split() if word not in _EMPTY]
    yield " ".join(words)
    while words and words[0] in _AUXILIARY:
        words = words[1:]
        yield " ".join(words)


def _joined(plain: str) -> str:
    """The words of an unknown predicate as one; "is" and the like in front say nothing, a "no" does."""
    words = plain.split()
    while (
        len(words) > 1
        and words[0] in {"is", "are", "was", "were", "am", "be", "been"}
        and words[1] not in {"not", "no"}
    ):
        words = words[1:]
    return "_".join(words)[:_LONGEST].strip("_")


@cache
def phrases() -> dict[str, Reading]:
    """Every known phrase in every form, with what it means."""
    made: dict[str, Reading] = {}
    for turned, table in ((False, _SINGLE), (False, _SEVERAL), (True, _TURNED)):
        for predicate, listed in table.items():
            for phrase in listed.split(", "):
                for form in _inflected(phrase):
                    made.setdefault(_plain(form), Reading(predicate, turned))
    for predicate in (*_SINGLE, *_SEVERAL):
        made[predicate.replace("_", " ")] = Reading(predicate)
    return made


def _inflected(phrase: str) -> Iterator[str]:
    yield phrase
    verb, _, rest = phrase.partition(" ")
    if phrase.endswith((" is", " is in", " is on")):
        return
    tail = f" {rest}" if rest else ""
    for form in _verb_forms(verb):
        yield form + tail
        # Articles are dropped from what is looked up, too.
        yield " ".join(word for word in (form + tail).split() if word not in _EMPTY)
    if verb == "be" and rest and rest not in {"a", "an", "in", "at", "on", "about"}:
        yield rest
        yield " ".join(word for word in rest.split() if word not in _EMPTY)


def _verb_forms(verb: str) -> tuple[str, ...]:
    if verb in _IRREGULAR:
        return tuple(_IRREGULAR[verb].split())
    if verb.endswith("e"):
        return (f"{verb}s", f"{verb}d", f"{verb[:-1]}ing")
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return (f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing")
    if verb.endswith(("s", "x", "ch", "sh")):
        return (f"{verb}es", f"{verb}ed", f"{verb}ing")
    return (f"{verb}s", f"{verb}ed", f"{verb}ing")


@lru_cache(maxsize=64)
def _own(predicates: Collection[str]) -> frozenset[str]:
    """Predicates of a setting as they are stored."""
    return frozenset(_reading(each).predicate for each in predicates if _plain(each))


def _one_of_kin(predicate: str) -> bool:
    return predicate.startswith("has_") and kinship.only_one(predicate.removeprefix("has_"))
