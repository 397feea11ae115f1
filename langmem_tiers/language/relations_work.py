"""Shapes for facts about a person: name, age, birthday, studies, work, favourites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from langmem_tiers.language import validity, vocabulary
from langmem_tiers.language.calendar import MONTH_NAMES
from langmem_tiers.language.claims import ME, Claim
from langmem_tiers.language.relation_patterns import (
    END,
    FIRST,
    HAS,
    IS,
    NAME,
    ORGANISATION,
    WHO,
    Fit,
    is_name,
    is_organisation,
    is_person,
    person_claim,
    shape,
)

_FIELD = vocabulary.FIELDS_OF_STUDY
_SCHOOL = rf"(?:the )?(?P<organisation>{NAME}|[A-Z]{{2,}}\b)(?!['’]s|\w)"
_MONTH = f"(?:{MONTH_NAMES.title()})"
_DAY = (
    rf"(?P<day>{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|(?:the )?\d{{1,2}}(?:st|nd|rd|th)? (?:of"
    rf" )?{_MONTH}(?:,? \d{{4}})?|\d{{4}}-\d\d-\d\d)"
)
_YEARS = r"(?P<age>\d{1,3})"
_GONE_ON = r"(?= ?$|[,;:.!?)]| (?:and|but|now|today|years?|yesterday|last|this|in|on)\b)"


def _aged(fit: Fit) -> Iterator[Claim]:
    if 0 < int(fit["age"]) < 120 and "we" not in fit.clause.lower().split()[:1]:
        yield from fit.says("has age", value=fit["age"], unit="years", since=fit.event() if fit["turned"] else "")


def _birthday(fit: Fit) -> Iterator[Claim]:
    if moment := _day_of_year(fit["day"], fit.said_at):
        yield from fit.says("has birthday", value=moment)


def _born(fit: Fit) -> Iterator[Claim]:
    moment = validity.resolve(fit["day"], fit.said_at) if re.search(r"\d{4}", fit["day"]) else ""
    yield from fit.says("has birthday", value=moment) if moment else _birthday(fit)


def _day_of_year(said: str, said_at: datetime) -> str:
    """A day without its year, such as "03-17"; with the year if it is given and in the past."""
    moment = validity.resolve(said.removeprefix("the "), said_at)
    if len(moment) != len("2024-05-17"):
        return ""
    return moment if re.search(r"\d{4}", said) and moment[:4] < str(said_at.year) else moment[5:]


def _studies(fit: Fit) -> Iterator[Claim]:
    since = fit.event() if fit["began"] else fit.state.since
    if field := fit["field"]:
        yield from fit.says("studies", value=field.lower(), since=since)
    yield from _at_school(fit, "studies at", since=since)


def _at_school(fit: Fit, predicate: str, **told: str) -> Iterator[Claim]:
    if fit["organisation"] and is_organisation(fit["organisation"]):
        yield from fit.says(predicate, fit["organisation"], "organisation", **told)


def _favourite(fit: Fit) -> Iterator[Claim]:
    yield person_claim(ME, f"favourite {fit['kind'].lower()}", value=fit["what"].strip(" ."))


def _called(fit: Fit, ended: str = "") -> Iterator[Claim]:
    if is_name(fit["call"]):
        yield person_claim(ME, "is named", value=fit["call"], ended=ended)


def _called_by(fit: Fit) -> Iterator[Claim]:
    """'Call me Cla': an alias, if it can be nothing else."""
    if is_name(fit["call"]) and fit["call"].casefold() not in _NO_NICKNAME:
        yield person_claim(ME, "has nickname", value=fit["call"])


_CALLS = (
    r"(?:(?:(?:[Pp]lease|[Jj]ust) )*[Cc]all me|[Yy]ou (?:can|may) (?:just )?call me|I go by|(?:[Ee]verybody|[Ee]veryone"
    r"|[Pp]eople|[Ff]riends|[Mm]y (?:friends|family|colleagues|parents|mates|wife|husband)|[Tt]hey)"
    r"(?: all| usually| just)* calls? me)"
)
_NO_NICKNAME = frozenset({"maybe", "back", "later", "crazy", "old", "ishmael", "asap", "now", "god"})
SELF = (
    shape(rf"[Mm]y (?:full |first )?name is (?P<call>{NAME})(?!\w)", _called),
    shape(
        rf"[Mm]y (?:full |first )?name (?:is not|isn't|was never) (?P<call>{NAME})(?= ?$|[,;:.!)])",
        lambda fit: _called(fit, "never"),
        ends=True,
    ),
    shape(rf"{_CALLS} (?:just )?(?P<call>{FIRST}(?: {FIRST})?)(?= ?$|[,;.!)]| (?:for short|instead)\b)", _called_by),
    shape(rf"{WHO} {IS} {_YEARS}(?: years? old| y/?o| years? of age)\b", _aged),
    shape(rf"{WHO} (?:am|is) {_YEARS}(?= ?$|[,;:.!)]| (?:and|but|now)\b)", _aged),
    shape(rf"{WHO} (?:{HAS} )?(?P<turned>turned) {_YEARS}{_GONE_ON}", _aged),
    shape(rf"[Mm]y birthday (?:is|falls) (?:on )?{_DAY}", _birthday),
    shape(rf"(?P<me>I) have my birthday on {_DAY}", _birthday),
    shape(rf"{WHO}['’]s birthday (?:is|falls) (?:on )?{_DAY}", _birthday),
    shape(rf"{WHO} was born on {_DAY}", _born),
    shape(rf"{WHO} was born in (?P<year>(?:19|20)\d\d)\b", lambda fit: fit.says("born on", value=fit["year"])),
    shape(
        f"{WHO} (?:stud(?:y|ies)|{IS} (?:studying|majoring in|doing (?:a|my) (?:degree|master's|masters|phd"
        f"|bachelor's) in)|majors? in|{HAS} been studying) (?P<field>{_FIELD})(?: (?:at|in) {_SCHOOL})?{END}",
        _studies,
    ),
    shape(
        rf"{WHO} (?:stud(?:y|ies)|{IS} (?:studying|a (?:\w+ )?student|enrolled)|{HAS} been studying) at {_SCHOOL}{END}",
        _studies,
    ),
    shape(
        f"{WHO} (?:{HAS} )?(?P<began>started|began) (?:studying |to study )?(?P<field>{_FIELD})(?: at {_SCHOOL})?{END}",
        _studies,
    ),
    shape(
        rf"{WHO} (?:go|goes) to (?:the )?(?P<organisation>{NAME} (?:University|College|School|Academy)){END}", _studies
    ),
    shape(
        rf"{WHO} (?:{HAS} )?(?:graduated|got (?:my|his|her) degree) from {_SCHOOL}{END}",
        lambda fit: _at_school(fit, "graduated from", since=fit.event()),
    ),
    shape(
        rf"{WHO} (?:used to study|studied)(?: (?:{_FIELD}))? at {_SCHOOL}{END}",
        lambda fit: _at_school(fit, "studies at", **fit.over),
    ),
    shape(
        rf"[Mm]y (?:all-time )?favou?rite (?P<kind>{vocabulary.FAVOURITES}) is (?:the |an? )?(?P<what>[\w'’-]+(?:"
        rf" [\w'’-]+){{0,3}})(?= ?$|[,;:.!)])",
        _favourite,
    ),
)


ROLE = rf"(?P<role>(?:(?:{vocabulary.KINDS_OF_JOB}) ){{0,3}}(?:{vocabulary.JOBS}))"
_AT = r"(?:at|for|with)"
_WORKS = rf"(?:works?|{IS} (?:working|employed))"
_JOB_AT = r"(?:an? |my |his |her |the )?(?:new )?(?:job|position|role|internship|apprenticeship)"


def _employed(fit: Fit, **told: str) -> Iterator[Claim]:
    if is_organisation(fit["organisation"]):
        yield from fit.says("also works at" if fit["also"] else "works at", fit["organisation"], "organisation", **told)


def _works(fit: Fit) -> Iterator[Claim]:
    yield from _employed(fit, since=fit.state.since, until=fit.state.until)
    yield from _in_role(fit)


def _started(fit: Fit) -> Iterator[Claim]:
    yield from _employed(fit, since=fit.event())
    yield from _in_role(fit)


def _began_at(fit: Fit) -> Iterator[Claim]:
    """'I started at Bosch last week': at places of study or sports, people "start" as well."""
    if fit["role"] or not _NO_EMPLOYER.search(fit["organisation"]):
        yield from _started(fit)


def _unless_person(fit: Fit, **told: str) -> Iterator[Claim]:
    """People can be "with" a person, or leave one, as well as a company."""
    if not is_person(fit["organisation"]):
        yield from _employed(fit, **told)


def _no_longer(fit: Fit) -> Iterator[Claim]:
    yield from _employed(fit, until=fit.state.since or fit.event(), ended="said")


def _in_role(fit: Fit) -> Iterator[Claim]:
    if fit["role"]:
        yield from _role(fit, since=fit.state.since)


def _role(fit: Fit, **told: str) -> Iterator[Claim]:
    yield from fit.says("works as", value=fit["role"].lower(), **told)


def _jobless(fit: Fit) -> Iterator[Claim]:
    """Ends the one known job, whichever it is."""
    for predicate in ("works at", "works as"):
        yield from fit.says(predicate, until=fit.event(), ended="said")


_NO_EMPLOYER = re.compile(
    r"\b(?:University|College|School|Academy|Uni|Institute|Harvard|Stanford|MIT|Oxford|Cambridge|Yale|Princeton|Gym"
    r"|Fitness|Yoga|Crossfit|CrossFit|Pilates|Club|Studio|Dojo|Kindergarten|Daycare|Church|Chapter|Level|Page|Stage|Room"
    r"|Gate|Track|Terminal|Exit|Mile|Museum|Gallery|Park|Zoo|Market|Castle|Louvre)\b"
)
# A time must follow: someone who only "began to look around" has no job.
_BEGUN = r"(?= (?:last|this|yesterday|today|two|three|in (?:\d|[A-Z])|on [A-Z]|a (?:few|couple|week|month|year))\b)"
_ALSO = r"(?P<also>also )?"
_HOW = r"(?:full-time |part-time |remotely )?"
WORK = (
    shape(rf"{WHO} {_ALSO}{_WORKS} {_HOW}{_AT} {ORGANISATION} as (?:an?|the|their) {ROLE}\b", _works),
    shape(rf"{WHO} {_ALSO}{_WORKS} {_HOW}(?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}", _works),
    shape(
        rf"{WHO} {HAS} worked (?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}",
        lambda fit: _works(fit) if fit.state.since else iter(()),
    ),
    shape(rf"{WHO} {HAS} been working (?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}", _works),
    shape(rf"{WHO} {IS} an? {ROLE} (?:at|for|with) {ORGANISATION}{END}", _works),
    shape(
        rf"{WHO} {IS} with {ORGANISATION} (?:now|these days|since)\b",
        lambda fit: _unless_person(fit, since=fit.state.since),
    ),
    shape(rf"{WHO} {IS} now with {ORGANISATION}{END}", lambda fit: _unless_person(fit, since=fit.state.since)),
    shape(
        f"{WHO} (?:{HAS} )?(?:(?:started|began) (?:working |{_JOB_AT} )|(?:got|took|accepted|landed"
        f"|found) {_JOB_AT} )(?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}",
        _started,
    ),
    shape(rf"{WHO} (?:{HAS} )?joined {ORGANISATION} as (?:an?|the|their) {ROLE}\b", _started),
    shape(
        rf"{WHO} (?:{HAS} )?(?:started|began) at {ORGANISATION}(?: as (?:an?|the|their) {ROLE}\b|{_BEGUN})", _began_at
    ),
    shape(rf"{WHO} (?:works?|{IS} working|{HAS} been working) as an? {ROLE}{END}", _in_role),
    shape(rf"{WHO} {IS} an? {ROLE}(?= ?$|[,;:.!?)]| (?:and|but|in|since|for|by)\b)", _in_role),
    shape(rf"{WHO} (?:became|{HAS} become) an? {ROLE}{END}", _in_role),
    shape(
        rf"{WHO} (?:{IS} no longer (?:with|at|employed (?:at|by)|working (?:at|for))|no longer works? {_AT}"
        rf"|stopped working {_AT}) {ORGANISATION}{END}",
        _no_longer,
        ends=True,
    ),
    shape(
        rf"{WHO} (?:(?:do not|does not|don't|doesn't) work|(?:am not|is not|isn't|'m not) working) {_AT} {ORGANISATION}"
        r" any ?more\b",
        _no_longer,
        ends=True,
    ),
    shape(rf"{WHO} {IS} no longer an? {ROLE}{END}", lambda fit: _role(fit, ended="said"), ends=True),
    # Without "any more", it says nothing about the past.
    shape(rf"{WHO} {IS} not an? {ROLE}(?= ?$|[,;:.!)])", lambda fit: _role(fit, ended="known"), ends=True),
    shape(rf"{WHO} {IS} not an? {ROLE} any ?more\b", lambda fit: _role(fit, ended="said"), ends=True),
    shape(rf"{WHO} used to work (?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}", lambda fit: _employed(fit, **fit.over)),
    shape(
        rf"{WHO} (?:worked|was working|were working|was employed) (?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}",
        lambda fit: _employed(fit, **fit.over),
    ),
    shape(
        rf"{WHO} (?:{HAS} )?(?:(?:quit|left|lost) (?:my|his|her|the) job at|resigned from|retired from"
        rf"|(?:was|were|got) (?:fired|laid off|let go) (?:from|by)) {ORGANISATION}{END}",
        lambda fit: _employed(fit, until=fit.event(), ended="said"),
    ),
    shape(
        rf"{WHO} (?:{HAS} )?(?:left|quit) {ORGANISATION}{END}",
        lambda fit: _unless_person(fit, until=fit.event(), ended="known"),
    ),
    shape(
        rf"{WHO} (?:{HAS} )?(?:lost|quit|left) (?:my|his|her) job as an? {ROLE}{END}",
        lambda fit: _role(fit, until=fit.event(), ended="said"),
    ),
    shape(
        rf"{WHO} (?:{HAS} )?(?:lost|quit|left) (?:my|his|her) job"
        r"(?= ?$|[,;:.!)]| (?:and|but|because|yesterday|today|last|this|in|on)\b)",
        _jobless,
    ),
)
