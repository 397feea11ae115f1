"""Shapes for what people took part in, visited, practise and like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from langmem_tiers.knowledge_graph.rules.claim import Claim, of_person
from langmem_tiers.knowledge_graph.rules.shape import Fit, shape
from langmem_tiers.knowledge_graph.rules.wording import END, HAS, IS, PLACE, WHO, is_person, is_place
from langmem_tiers.palace.names import names
from langmem_tiers.palace.tag_places import places
from langmem_tiers.palace.words import word_set
from langmem_tiers.writing.extractive.telling import is_faint, tells

_HEADS = {
    "event": (
        "wedding|conference|interviews?|concert|marathon|half marathon|triathlon|graduation|funeral|festival|parade"
        "|party"
        "|reunion|trip|vacation|holiday|honeymoon|surgery|exam|workshop|webinar|retreat|hackathon|meetup|tournament"
        "|championship|race|competition|contest|exhibition|show|fair|gala|ceremony|picnic|barbecue|hike|fundraiser"
        "|protest"
        "|audition|recital|premiere|play|game|match|seminar|lecture|talk|event|rally|march|meeting|drive|sale|auction"
        "|sleepover|camp|shower|cook-off|bake sale|poetry reading|open mic|summit|expo|convention|run|walk"
    ),
    "organisation": (
        "group|club|choir|band|orchestra|team|gym|studio|shelter|agency|agencies|charity|brigade|society|association"
        "|league"
        "|church|food bank|soup kitchen|community|network"
    ),
    "topic": "class|classes|course|courses|lessons|programme|program|training|bootcamp|degree",
    "place": (
        "museum|gallery|park|zoo|aquarium|library|beach|castle|temple|cathedral|market|center|centre|farm|garden|lake"
        "|island|theme park|national park|planetarium|observatory|winery|brewery|school|hospital"
    ),
}
_HEAD = "(?:" + "|".join(f"(?P<{kind}>{heads})" for kind, heads in _HEADS.items()) + ")"
# What stands before the noun and belongs to it: no verb, no preposition, nothing that only praises.
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
# Organisations that one attends; to the others one only goes.
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
_SAID = (*_TOOK_PART,)
_PRACTICE = (
    "yoga|pilates|karate|judo|taekwondo|kickboxing|boxing|aikido|jiu-jitsu|crossfit|swimming|running|jogging|cycling"
    "|climbing|bouldering|hiking|surfing|skiing|snowboarding|skateboarding|tennis|badminton|squash|golf|football|soccer"
    "|basketball|volleyball|baseball|hockey|rugby|cricket|rowing|kayaking|sailing|fencing|archery|ballet|salsa|tango"
    "|dancing|pottery|painting|drawing|photography|knitting|crocheting|sewing|woodworking|gardening|baking|cooking"
    "|calligraphy|origami|chess|meditation|horseback riding|fishing|birdwatching|camping|reading|writing|singing|acting"
)
_INSTRUMENT = (
    "(?:acoustic |electric |bass |classical )?guitar|piano|violin|cello|viola|ukulele|flute|clarinet|trumpet|trombone"
    "|saxophone|accordion|banjo|drums|harp|harmonica|keyboard|organ|double bass"
)
_LIKED = (
    rf"(?:{_PRACTICE}|(?!being|having|going|doing|getting|making|seeing|helping|hearing|knowing|living"
    rf"|giving|using|trying)[a-z]+ing(?: [a-z]+s)?|[a-z]{{4,}}s|[A-Z][\w-]+ (?:food|cuisine|music)|coffee"
    rf"|tea|chocolate|jazz|rock|pizza|pasta|sushi|wine|beer|cheese)"
)
_END = r"(?= ?$|[,;:.!)]| (?:and|but|because|since|with|at|in|on|so)\b)"


def _took_part(fit: Fit) -> Iterator[Claim]:
    kind = next(kind for kind in _HEADS if fit[kind])
    if tells(fit["what"]) and fit["what"].lower() not in _NOWHERE:
        said = next(_SAID[place] for place in range(len(_SAID)) if fit[f"v{place}"])
        what = _name(fit["what"])
        yield from fit.of_all(
            of_person(_of_kind(said, kind, fit["what"]), object=what, object_type=kind, since=fit.event())
        )


def _of_kind(said: str, kind: str, what: str) -> str:
    """What was done, as it is said of this kind: one takes part in an event that one joined, and visits a museum."""
    if said == "joined" and kind == "event":
        return "participated in"
    only_visited = kind == "place" or (kind == "organisation" and not _MET.search(what))
    return "visited" if said == "attended" and only_visited else said


def _name(phrase: str) -> str:
    return phrase.replace("’", "'").strip(" '")


def _visited_named(fit: Fit) -> Iterator[Claim]:
    """A town or country by name; what else has a name may be anything."""
    place = fit["place"]
    known = {each.split(",")[0] for each in places(names(f"We went to {place} then."))}
    if is_place(place) and not is_person(place) and place.split(",")[0].casefold() in known:
        yield from fit.of_all(
            Claim(
                subject="",
                subject_type="person",
                predicate="visited",
                object=place,
                object_type="place",
                since=fit.event(),
            )
        )


def _visited(fit: Fit) -> Iterator[Claim]:
    yield from fit.of_all(
        Claim(
            subject="",
            subject_type="person",
            predicate="visited",
            object=_name(fit["what"]),
            object_type="place",
            since=fit.event(),
        )
    )


def _practises(fit: Fit) -> Iterator[Claim]:
    since = fit.state.since or (fit.event() if fit["began"] else "")
    yield from fit.of_all(
        Claim(subject="", subject_type="person", predicate="practises", value=fit["practice"].lower(), since=since)
    )


def _plays(fit: Fit) -> Iterator[Claim]:
    since = fit.state.since or (fit.event() if fit["began"] else "")
    yield from fit.of_all(
        Claim(subject="", subject_type="person", predicate="plays", value=fit["instrument"].lower(), since=since)
    )


def _likes(fit: Fit) -> Iterator[Claim]:
    if tells(fit["liked"]):
        predicate = "dislikes" if fit["hates"] else "likes"
        yield from fit.of_all(Claim(subject="", subject_type="person", predicate=predicate, value=fit["liked"]))


def _dated(claims: Callable[[Fit], Iterator[Claim]]) -> Callable[[Fit], Iterator[Claim]]:
    """The claims of a clause that says when it was: what needs no more words to be told from others."""
    return lambda fit: claims(fit) if fit.event() else iter(())


def _made(fit: Fit) -> Iterator[Claim]:
    """What was done to a thing on some day."""
    what, since = _name(fit["thing"]), fit.event()
    if (
        not since
        or _FOR_THEN.search(fit.clause)
        or not tells(what)
        or is_faint(what)
        or not _ABSTRACT.isdisjoint(what.lower().split())
    ):
        return
    yield from fit.of_all(
        Claim(
            subject="",
            subject_type="person",
            predicate=fit["verb"].lower(),
            object=what,
            object_type="item",
            since=since,
        )
    )


def _goes(fit: Fit) -> Iterator[Claim]:
    if since := fit.event():
        yield from fit.of_all(
            Claim(subject="", subject_type="person", predicate="goes", value=fit["practice"].lower(), since=since)
        )


# What is booked for a day is not booked on it.
_FOR_THEN = re.compile(r"\bfor (?:the )?(?:\d|next|this|tomorrow|[A-Z][a-z]+ \d)")
_VERBS = (
    "launched|opened|created|made|built|painted|drew|wrote|published|finished|completed|started|bought|received|planted"
    "|renovated|designed|recorded|set up|knitted|sewed|crocheted|baked|restored|repaired|fixed|ordered|booked|rented"
    "|submitted|passed|adopted|founded"
)
_ABSTRACT = word_set(
    """
    progress decision difference step steps mistake call choice effort plan plans point way time times thing things
    stuff lot bit one ones dinner lunch breakfast meal meals chance
    break friend friends fun memories memory wish wishes mess sense sure offer
    change
    changes day week life most news idea ideas thought thoughts conversation business it this that them
    online extra more others
    """
)
_THING_NP = rf"{_THE} {_PRAISE}(?P<thing>(?:{_PART} ){{0,3}}?{_PART})"
_OUTING = (
    "camping|hiking|biking|swimming|kayaking|fishing|surfing|skiing|snowboarding|climbing|bowling|shopping|dancing"
    "|horseback riding|sailing|ice skating|skating|canoeing|rafting|birdwatching|sightseeing|diving|snorkeling"
)
SHAPES = (
    shape(rf"{WHO} (?:{HAS} )?(?:{_DONE}) {_NP}{END}", _took_part),
    shape(rf"{WHO} (?:{HAS} )?(?:{_DONE}) {_NP0}{END}", _dated(_took_part)),
    shape(
        rf"{WHO} (?:{HAS} )?took (?:my|our|the|his|her) (?:kids|children|family|fam|son|daughter|dog|wife"
        rf"|husband|parents"
        rf"|mom|mum|dad|friends?|students|grandkids) to {_PLACE_NP}{END}",
        _visited,
    ),
    shape(rf"{WHO} (?:{HAS} )?went (?P<practice>{_OUTING})\b", _goes),
    shape(rf"{WHO} (?:{HAS} )?visited {_PLACE_NP}{END}", _dated(_visited)),
    shape(
        rf"{WHO} (?:{HAS} )?(?:visited|went to|travell?ed to|flew to|took a trip to|(?:went|was|were) on (?:a"
        rf" trip|holiday|vacation) (?:to|in)) {PLACE}{END}",
        _visited_named,
    ),
    shape(
        rf"{WHO} (?:(?:do|does|practi[cs]es?)|{IS} (?:doing|practi[cs]ing)|{HAS} been (?:doing|practi[cs]ing)"
        rf"|(?P<began>(?:started|began|took up|picked up)(?: doing| practi[cs]ing| learning)?))"
        rf" (?P<practice>{_PRACTICE}){_END}",
        _practises,
    ),
    shape(
        rf"{WHO} (?:plays?|{HAS} been (?:playing|learning)|{IS} (?:learning|playing)|(?P<began>(?:started"
        rf"|began|took up)"
        rf"(?: playing| learning| to (?:learn|play))?)) (?:to play )?(?:the )?(?P<instrument>{_INSTRUMENT}){END}",
        _plays,
    ),
    shape(
        rf"{WHO} (?:loves?|likes?|enjoys?|adores?|(?P<hates>hates?|dislikes?)) (?P<liked>{_LIKED})(?= ?$|[,;:.!)])",
        _likes,
    ),
    shape(rf"{WHO} (?:{HAS} )?(?P<verb>{_VERBS}) {_THING_NP}{END}", _made),
)
