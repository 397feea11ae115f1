"""Shapes for what is so of a person: name, age, birthday, studies, favourites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from langmem_tiers.knowledge_graph.rules import when
from langmem_tiers.knowledge_graph.rules.claim import ME, Claim
from langmem_tiers.knowledge_graph.rules.shape import Fit, shape
from langmem_tiers.knowledge_graph.rules.wording import END, FIRST, HAS, IS, NAME, WHO, is_name, is_organisation

_FIELD = (
    "physics|maths|mathematics|applied mathematics|biology|marine biology|chemistry|biochemistry|medicine|nursing|law"
    "|economics|business|business administration|finance|accounting|marketing|psychology|sociology|anthropology"
    "|philosophy|history|art history|literature|linguistics|journalism|education|music|film|design|graphic design"
    "|architecture|computer science|data science|statistics|engineering|(?:mechanical|electrical|civil|chemical"
    "|software|aerospace|biomedical|environmental) engineering|environmental science|political science|social work"
    "|international relations|geography|geology|astronomy|theology|veterinary medicine|dentistry|pharmacy|fine arts?"
    "|theat(?:er|re)|counsell?ing|neuroscience"
)
_SCHOOL = rf"(?:the )?(?P<organisation>{NAME}|[A-Z]{{2,}}\b)(?!['’]s|\w)"
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = (
    rf"(?P<day>{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|(?:the )?\d{{1,2}}(?:st|nd|rd|th)? (?:of"
    rf" )?{_MONTH}(?:,? \d{{4}})?|\d{{4}}-\d\d-\d\d)"
)
_YEARS = r"(?P<age>\d{1,3})"
_GONE_ON = r"(?= ?$|[,;:.!?)]| (?:and|but|now|today|years?|yesterday|last|this|in|on)\b)"


def _about(fit: Fit, predicate: str, value: str, *, unit: str = "", since: str = "") -> Iterator[Claim]:
    yield from fit.of_all(
        Claim(subject="", subject_type="person", predicate=predicate, value=value, unit=unit, since=since)
    )


def _aged(fit: Fit) -> Iterator[Claim]:
    if 0 < int(fit["age"]) < 120 and "we" not in fit.clause.lower().split()[:1]:
        yield from _about(fit, "has age", fit["age"], unit="years", since=fit.event() if fit["turned"] else "")


def _birthday(fit: Fit) -> Iterator[Claim]:
    moment = _day_of_year(fit["day"], fit.said_at)
    if moment:
        yield from _about(fit, "has birthday", moment)


def _born(fit: Fit) -> Iterator[Claim]:
    moment = when.resolve(fit["day"], fit.said_at) if re.search(r"\d{4}", fit["day"]) else ""
    yield from _about(fit, "has birthday", moment) if moment else _birthday(fit)


def _born_in(fit: Fit) -> Iterator[Claim]:
    yield from _about(fit, "born on", fit["year"])


def _day_of_year(said: str, said_at: datetime) -> str:
    """A day without its year, such as "03-17"; with it where it is said and lies behind."""
    moment = when.resolve(said.removeprefix("the "), said_at)
    if len(moment) != len("2024-05-17"):
        return ""
    return moment if re.search(r"\d{4}", said) and moment[:4] < str(said_at.year) else moment[5:]


def _studies(fit: Fit) -> Iterator[Claim]:
    if field := fit["field"]:
        yield from _about(fit, "studies", field.lower(), since=fit.state.since)
    yield from _at_school(fit, "studies at", since=fit.state.since)


def _began_to_study(fit: Fit) -> Iterator[Claim]:
    if field := fit["field"]:
        yield from _about(fit, "studies", field.lower(), since=fit.event())
    yield from _at_school(fit, "studies at", since=fit.event())


def _graduated(fit: Fit) -> Iterator[Claim]:
    yield from _at_school(fit, "graduated from", since=fit.event())


def _studied(fit: Fit) -> Iterator[Claim]:
    span = fit.past
    yield from _at_school(fit, "studies at", since=span.since, until=span.until, ended="" if span.until else "said")


def _at_school(fit: Fit, predicate: str, *, since: str = "", until: str = "", ended: str = "") -> Iterator[Claim]:
    if fit["organisation"] and is_organisation(fit["organisation"]):
        yield from fit.of_all(
            Claim(
                subject="",
                subject_type="person",
                predicate=predicate,
                object=fit["organisation"],
                object_type="organisation",
                since=since,
                until=until,
                ended=ended,
            )
        )


def _favourite(fit: Fit) -> Iterator[Claim]:
    yield Claim(
        subject=ME, subject_type="person", predicate=f"favourite {fit['kind'].lower()}", value=fit["what"].strip(" .")
    )


def _called(fit: Fit) -> Iterator[Claim]:
    if is_name(fit["call"]):
        yield Claim(subject=ME, subject_type="person", predicate="is named", value=fit["call"])


def _not_called(fit: Fit) -> Iterator[Claim]:
    if is_name(fit["call"]):
        yield Claim(subject=ME, subject_type="person", predicate="is named", value=fit["call"], ended="never")


def _called_by(fit: Fit) -> Iterator[Claim]:
    """'Call me Cla': another name, where it can be nothing else."""
    if is_name(fit["call"]) and fit["call"].casefold() not in _NO_NICKNAME:
        yield Claim(subject=ME, subject_type="person", predicate="has nickname", value=fit["call"])


_CALLS = (
    r"(?:(?:(?:[Pp]lease|[Jj]ust) )*[Cc]all me|[Yy]ou (?:can|may) (?:just )?call me|I go by|(?:[Ee]verybody|[Ee]veryone"
    r"|[Pp]eople|[Ff]riends|[Mm]y (?:friends|family|colleagues|parents|mates|wife|husband)|[Tt]hey)"
    r"(?: all| usually| just)* calls? me)"
)
_NO_NICKNAME = frozenset({"maybe", "back", "later", "crazy", "old", "ishmael", "asap", "now", "god"})
_FAVOURITE = (
    "colou?r|book|film|movie|band|singer|song|album|artist|author|writer|dish|food|meal|fruit|drink|beer|wine|dessert"
    "|cuisine|restaurant|caf[eé]|city|country|season|animal|sport|team|game|board game|video game|series|tv show|show"
    "|podcast|flower|programming language|ice cream(?: flavou?r)?|holiday|subject"
)
SHAPES = (
    shape(rf"[Mm]y (?:full |first )?name is (?P<call>{NAME})(?!\w)", _called),
    shape(
        rf"[Mm]y (?:full |first )?name (?:is not|isn't|was never) (?P<call>{NAME})(?= ?$|[,;:.!)])",
        _not_called,
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
    shape(rf"{WHO} was born in (?P<year>(?:19|20)\d\d)\b", _born_in),
    shape(
        rf"{WHO} (?:stud(?:y|ies)|{IS} (?:studying|majoring in|doing (?:a|my) (?:degree|master's|masters|phd"
        rf"|bachelor's) in)|majors? in"
        rf"|{HAS} been studying) (?P<field>{_FIELD})(?: (?:at|in) {_SCHOOL})?{END}",
        _studies,
    ),
    shape(
        rf"{WHO} (?:stud(?:y|ies)|{IS} (?:studying|a (?:\w+ )?student|enrolled)|{HAS} been studying) at {_SCHOOL}{END}",
        _studies,
    ),
    shape(
        rf"{WHO} (?:{HAS} )?(?:started|began) (?:studying |to study )?(?P<field>{_FIELD})(?: at {_SCHOOL})?{END}",
        _began_to_study,
    ),
    shape(
        rf"{WHO} (?:go|goes) to (?:the )?(?P<organisation>{NAME} (?:University|College|School|Academy)){END}", _studies
    ),
    shape(rf"{WHO} (?:{HAS} )?(?:graduated|got (?:my|his|her) degree) from {_SCHOOL}{END}", _graduated),
    shape(rf"{WHO} (?:used to study|studied)(?: (?:{_FIELD}))? at {_SCHOOL}{END}", _studied),
    shape(
        rf"[Mm]y (?:all-time )?favou?rite (?P<kind>{_FAVOURITE}) is (?:the |an? )?(?P<what>[\w'’-]+(?:"
        rf" [\w'’-]+){{0,3}})(?= ?$|[,;:.!)])",
        _favourite,
    ),
)
