"""Shapes for where people live and come from, and what they take part in, visit, practise, like and make."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langmem_tiers.language import vocabulary
from langmem_tiers.language.claims import Claim
from langmem_tiers.language.names import names, places
from langmem_tiers.language.relation_patterns import (
    END,
    HAS,
    IS,
    NAME,
    PLACE,
    WHO,
    Claims,
    Fit,
    is_person,
    is_place,
    shape,
)
from langmem_tiers.language.rules import is_faint, tells
from langmem_tiers.language.word_lists import phrases

_LIVES = rf"(?:lives?|resides?|{IS} (?:living|based|residing))"
_BACK = r"(?:back |over |out |down |up |away )?"


def _at(fit: Fit, predicate: str, place: str = "", **told: str) -> Iterator[Claim]:
    where = place or fit["place"]
    if is_place(where) and not is_person(where):
        yield from fit.says(predicate, where, "place", **told)


def _lives(fit: Fit) -> Iterator[Claim]:
    """In one place, or in two at once: the second is stored as such, so that it does not replace the first."""
    first, second = fit["place"], fit["second"]
    times = {"since": fit.state.since, "until": fit.state.until}
    if second and f"{first} and {second}" in _ONE_PLACE:
        yield from _at(fit, "lives in", f"{first} and {second}", **times)
        return
    yield from _at(fit, "also lives in" if fit["also"] else "lives in", first, **times)
    if second and len(fit.subjects) == 1:
        yield from _at(fit, "also lives in", second, **times)


def _moved(fit: Fit) -> Iterator[Claim]:
    at = fit.event()
    if not at and not fit.state.until and fit.event(ahead=True):
        return  # A future year cannot date a past move.
    if fit["before"]:
        yield from _at(fit, "lives in", fit["before"], until=at, ended="" if at else "said")
    yield from _at(fit, "lives in", since=at)


def _will_move(fit: Fit) -> Iterator[Claim]:
    """A future move counts if its date is given."""
    if at := fit.event(ahead=True):
        yield from _at(fit, "lives in", since=at)


def _no_longer(fit: Fit) -> Iterator[Claim]:
    yield from _at(fit, "lives in", until=fit.event(), ended="said")


_ONE_PLACE = phrases(
    """
    Antigua and Barbuda, Bosnia and Herzegovina, Brighton and Hove, Newfoundland and Labrador, Saint Kitts and Nevis,
    Trinidad and Tobago, Tyne and Wear
    """
)
_SECOND = (
    rf"(?: (?:and|as well as) (?:(?:also|partly|sometimes) )?(?:in )?(?P<second>{NAME})(?!['’]s|\w)"
    r"(?= ?$|[,;:.!)]| (?:now|at the moment|these days|since|depending|for|right)\b))?"
)
HOMES = (
    shape(rf"{WHO} (?P<also>also )?{_LIVES} (?:both )?in {PLACE}{_SECOND}{END}", _lives),
    shape(
        rf"{WHO} (?:{_LIVES} between|(?:split|splits|divide|divides) (?:my|our|his|her|their) time between)"
        rf" {PLACE}{_SECOND}{END}",
        lambda fit: _lives(fit) if fit["second"] else iter(()),
    ),
    shape(
        rf"{WHO} {HAS} (?:lived|been living|been based) in {PLACE}{END}",
        lambda fit: _lives(fit) if fit.state.since else iter(()),
    ),
    shape(
        f"{WHO} (?:{HAS} )?(?:moved|relocated|emigrated|immigrated) {_BACK}(?:from (?:the )?(?P<before>{NAME})"
        f" )?to {PLACE}{END}",
        _moved,
    ),
    shape(rf"{WHO} (?:{IS} (?:moving|relocating)|will (?:move|relocate|be moving)) {_BACK}to {PLACE}{END}", _will_move),
    shape(
        rf"{WHO} (?:used to live|lived|was living|were living|was based) in {PLACE}{END}",
        lambda fit: _at(fit, "lives in", **fit.over),
    ),
    shape(
        rf"{WHO} (?:{IS} no longer (?:living|based)|no longer lives?) in {PLACE}{END}",
        _no_longer,
        ends=True,
    ),
    shape(
        rf"{WHO} (?:(?:do not|does not|don't|doesn't) live|(?:am not|is not|isn't) living) in {PLACE} any ?more\b",
        _no_longer,
        ends=True,
    ),
    shape(
        rf"{WHO} (?:{IS}|comes?) from {PLACE}(?= ?$|[,;:.!?)]| (?:and|but|originally)\b)",
        lambda fit: _at(fit, "is from"),
    ),
    shape(rf"{WHO} (?:was|were) born (?:and raised )?in {PLACE}{END}", lambda fit: _at(fit, "born in")),
    shape(rf"{WHO} (?:grew up|was raised|were raised) in {PLACE}{END}", lambda fit: _at(fit, "grew up in")),
    shape(rf"[Mm]y home ?town (?:is|was) {PLACE}{END}", lambda fit: _at(fit, "is from")),
)


_INSTRUMENT = vocabulary.INSTRUMENTS
_HEADS = {
    "event": (
        "wedding|conference|interviews?|concert|marathon|half marathon|triathlon|graduation|funeral|festival"
        "|parade|party|reunion|trip|vacation|holiday|honeymoon|surgery|exam|workshop|webinar|retreat|hackathon"
        "|meetup|tournament|championship|race|competition|contest|exhibition|show|fair|gala|ceremony|picnic"
        "|barbecue|hike|fundraiser|protest|audition|recital|premiere|play|game|match|seminar|lecture|talk|event"
        "|rally|march|meeting|drive|sale|auction|sleepover|camp|shower|cook-off|bake sale|poetry reading|open mic"
        "|summit|expo|convention|run|walk"
    ),
    "organisation": (
        "group|club|choir|band|orchestra|team|gym|studio|shelter|agency|agencies|charity|brigade|society"
        "|association|league|church|food bank|soup kitchen|community|network"
    ),
    "topic": "class|classes|course|courses|lessons|programme|program|training|bootcamp|degree",
    "place": (
        "museum|gallery|park|zoo|aquarium|library|beach|castle|temple|cathedral|market|center|centre|farm|garden|lake"
        "|island|theme park|national park|planetarium|observatory|winery|brewery|school|hospital"
    ),
}
_HEAD = "(?:" + "|".join(f"(?P<{kind}>{heads})" for kind, heads in _HEADS.items()) + ")"
# Words before the noun that belong to it: no verb, no preposition, no mere praise.
_PART = (
    r"(?!(?:to|of|for|with|in|on|at|and|or|that|which|who|was|were|is|are|my|our|the|a|an|this|some|from|by|about|it"
    r"|really|very|so|such)\b)[\w+&'’-]+"
)
_PRAISE = (
    r"(?:(?:great|amazing|awesome|cool|fun|nice|lovely|new|local|big|small|little|huge|really|super"
    r"|another|first|second|last|few|certain|beautiful|wonderful|couple of) )*"
)
_THE = r"(?:an?|the|my|our|his|her|their|another|some)"
_NP = rf"{_THE} {_PRAISE}(?P<what>(?:{_PART} ){{1,4}}?{_HEAD})(?![\w-])"
_NP0 = rf"{_THE} {_PRAISE}(?P<what>{_HEAD})(?![\w-])"
_PLACE_NP = rf"(?:the|an?) {_PRAISE}(?P<what>(?:{_PART} ){{0,3}}?(?P<place>{_HEADS['place']}))(?![\w-])"
_NOWHERE = frozenset({"my place", "other side"})
# Organisations that people attend; to the others they just go.
_MET = re.compile(r"\b(?:group|club|choir|band|orchestra|society|church|community)$")
_TOOK_PART = {
    "attended": r"attended|went to|was at|were at",
    "participated in": r"participated in|took part in|competed in|performed (?:at|in)|spoke at|ran",
    "joined": r"joined|signed up for|enrolled in|registered for",
    "organised": r"hosted|organi[sz]ed|held|ran|put on",
    "volunteers at": r"(?:volunteered|volunteers?|(?:started|am|is|have been|has been) volunteering) (?:at|for|with)",
    "applied to": r"applied (?:to|for)",
    "won": r"won",
    "passed": r"passed",
}
_DONE = "|".join(f"(?P<v{place}>{verbs})" for place, verbs in enumerate(_TOOK_PART.values()))
_LIKED = (
    rf"(?:{vocabulary.PRACTICES}|(?!being|having|going|doing|getting|making|seeing|helping|hearing|knowing|living"
    rf"|giving|using|trying)[a-z]+ing(?: [a-z]+s)?|[a-z]{{4,}}s|[A-Z][\w-]+ (?:food|cuisine|music)|coffee"
    rf"|tea|chocolate|jazz|rock|pizza|pasta|sushi|wine|beer|cheese)"
)
_END = r"(?= ?$|[,;:.!)]| (?:and|but|because|since|with|at|in|on|so)\b)"


def _took_part(fit: Fit) -> Iterator[Claim]:
    kind = next(kind for kind in _HEADS if fit[kind])
    if tells(fit["what"]) and fit["what"].lower() not in _NOWHERE:
        said = next(said for place, said in enumerate(_TOOK_PART) if fit[f"v{place}"])
        yield from fit.says(_of_kind(said, kind, fit["what"]), _thing_name(fit["what"]), kind, since=fit.event())


def _of_kind(said: str, kind: str, what: str) -> str:
    """The verb that fits the kind: one takes part in an event that one joined, and visits a museum."""
    if said == "joined" and kind == "event":
        return "participated in"
    only_visited = kind == "place" or (kind == "organisation" and not _MET.search(what))
    return "visited" if said == "attended" and only_visited else said


def _thing_name(phrase: str) -> str:
    return phrase.replace("’", "'").strip(" '")


def _visited_named(fit: Fit) -> Iterator[Claim]:
    """A town or country by name; other names could be anything."""
    place = fit["place"]
    known = {each.split(",")[0] for each in places(names(f"We went to {place} then."))}
    if is_place(place) and not is_person(place) and place.split(",")[0].casefold() in known:
        yield from fit.says("visited", place, "place", since=fit.event())


def _visited(fit: Fit) -> Iterator[Claim]:
    yield from fit.says("visited", _thing_name(fit["what"]), "place", since=fit.event())


def _does(predicate: str, group: str) -> Claims:
    """What someone practises or plays, since when they do or began."""
    return lambda fit: fit.says(
        predicate, value=fit[group].lower(), since=fit.state.since or (fit.event() if fit["began"] else "")
    )


def _likes(fit: Fit) -> Iterator[Claim]:
    if tells(fit["liked"]):
        yield from fit.says("dislikes" if fit["hates"] else "likes", value=fit["liked"])


def _dated(claims: Claims) -> Claims:
    """Keep the claims only if the clause has a date, which sets them apart even without further detail."""
    return lambda fit: claims(fit) if fit.event() else iter(())


def _made(fit: Fit) -> Iterator[Claim]:
    """What was done to a thing on some day."""
    what, since = _thing_name(fit["thing"]), fit.event()
    told = tells(what) and not is_faint(what) and vocabulary.ABSTRACT.isdisjoint(what.lower().split())
    if since and told and not _FOR_THEN.search(fit.clause):
        yield from fit.says(fit["verb"].lower(), what, "item", since=since)


def _goes(fit: Fit) -> Iterator[Claim]:
    if since := fit.event():
        yield from fit.says("goes", value=fit["practice"].lower(), since=since)


# What is booked for a day does not happen on the day of booking.
_FOR_THEN = re.compile(r"\bfor (?:the )?(?:\d|next|this|tomorrow|[A-Z][a-z]+ \d)")
_THING_NP = rf"{_THE} {_PRAISE}(?P<thing>(?:{_PART} ){{0,3}}?{_PART})"
DEEDS = (
    shape(rf"{WHO} (?:{HAS} )?(?:{_DONE}) {_NP}{END}", _took_part),
    shape(rf"{WHO} (?:{HAS} )?(?:{_DONE}) {_NP0}{END}", _dated(_took_part)),
    shape(
        f"{WHO} (?:{HAS} )?took (?:my|our|the|his|her) (?:kids|children|family|fam|son|daughter|dog|wife|husband"
        f"|parents|mom|mum|dad|friends?|students|grandkids) to {_PLACE_NP}{END}",
        _visited,
    ),
    shape(rf"{WHO} (?:{HAS} )?went (?P<practice>{vocabulary.OUTINGS})\b", _goes),
    shape(rf"{WHO} (?:{HAS} )?visited {_PLACE_NP}{END}", _dated(_visited)),
    shape(
        rf"{WHO} (?:{HAS} )?(?:visited|went to|travell?ed to|flew to|took a trip to|(?:went|was|were) on (?:a"
        rf" trip|holiday|vacation) (?:to|in)) {PLACE}{END}",
        _visited_named,
    ),
    shape(
        rf"{WHO} (?:(?:do|does|practi[cs]es?)|{IS} (?:doing|practi[cs]ing)|{HAS} been (?:doing|practi[cs]ing)"
        rf"|(?P<began>(?:started|began|took up|picked up)(?: doing| practi[cs]ing| learning)?))"
        rf" (?P<practice>{vocabulary.PRACTICES}){_END}",
        _does("practises", "practice"),
    ),
    shape(
        rf"{WHO} (?:plays?|{HAS} been (?:playing|learning)|{IS} (?:learning|playing)|(?P<began>(?:started"
        rf"|began|took up)"
        rf"(?: playing| learning| to (?:learn|play))?)) (?:to play )?(?:the )?(?P<instrument>{_INSTRUMENT}){END}",
        _does("plays", "instrument"),
    ),
    shape(
        rf"{WHO} (?:loves?|likes?|enjoys?|adores?|(?P<hates>hates?|dislikes?)) (?P<liked>{_LIKED})(?= ?$|[,;:.!)])",
        _likes,
    ),
    shape(rf"{WHO} (?:{HAS} )?(?P<verb>{vocabulary.MAKING}) {_THING_NP}{END}", _made),
)
