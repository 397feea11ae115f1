"""What a pattern alone does not see: whether the words that fit it tell anything."""

from __future__ import annotations

import re

from langmem_tiers.palace.names import CALENDAR
from langmem_tiers.palace.phrases import FILLER
from langmem_tiers.palace.tag_people import FIRST_NAMES, KIN
from langmem_tiers.palace.words import STOPWORDS, word_set, words
from langmem_tiers.writing.extractive import vocabulary as lists
from langmem_tiers.writing.extractive.dating import SPOKEN
from langmem_tiers.writing.extractive.grammar import is_past

_LEAST_OF_NEWS = 2  # telling words
_LEAST_OF_DEEDS = 3
_LEAST_OF_LOOKING = 5


def says_something(text: str) -> bool:
    """Whether there is a word in it that is neither function word, filler nor gush."""
    return any(
        (word not in STOPWORDS and word not in FILLER and word not in lists.GUSH and len(word) > 2) or word.isdigit()
        for word in words(text)
    )


def tells(text: str) -> bool:
    """As `says_something`, where neither a time nor what is vague ("some things", "a day out") counts."""
    return _count(text) > 0


def _count(text: str) -> int:
    shown = _BESIDE.sub(" ", SPOKEN.sub(" ", text))
    return sum(
        word not in lists.FAINT and word not in lists.FAINT_ADJECTIVES and says_something(word) for word in words(shown)
    )


_BESIDE = re.compile(
    r"\b(?:(?:[a-z]+ )?(?:day|night|evening) out"
    r"|on (?:my|our|the) way(?: home| back)?|at (?:work|home)|(?:regular |normal )?work(?:ing)? hours)\b"
)


def is_everyday(clause: str) -> bool:
    """Whether the clause tells of nothing but what anybody does on a free day: a picnic, games, dinner with kids."""
    if re.search(r"(?<=.)\b(?!I\b)[A-Z]|\d", SPOKEN.sub("", clause)):
        return False
    told = [word for word in words(SPOKEN.sub(" ", clause)) if _count(word) and word not in _COMPANY]
    return bool(told) and all(word in lists.EVERYDAY for word in told)


def without_vague_end(clause: str) -> str:
    """The clause without a last part that leaves open what was done, or what for.

    Example:
        >>> without_vague_end("I visited a hospital and met some amazing people")
        'I visited a hospital'
    """
    told = _VAGUE_PURPOSE.sub("", clause)
    joints = [joint for joint in _AND.finditer(told) if is_past(joint["verb"]) and joint["verb"] not in _LIKED]
    if not joints or tells(_ADVICE.sub("", told[joints[-1].end("and") :])):
        return told
    time = SPOKEN.search(told, joints[-1].start())
    return f"{told[: joints[-1].start()]} {time.group()}" if time else told[: joints[-1].start()]


_VAGUE_PURPOSE = re.compile(
    r",? (?:to raise (?:money|funds|awareness)(?: and (?:money|funds|awareness))? )?for (?:an?|the) (?:\w+ )?cause$"
)
_AND = re.compile(r"(?P<and>,? and) (?P<verb>[a-z]+)\b")
_LIKED = word_set("loved liked enjoyed hated disliked")
_ADVICE = re.compile(r"\b(?:advice|help|tips|insights?)\b")
_COMPANY = KIN | word_set("friends fam folks gang crew everyone guys kiddos")


def rest_says_something(match: re.Match[str]) -> bool:
    """Whether the words behind the match tell something."""
    return tells(match.string[match.end() :])


def is_liking(match: re.Match[str]) -> bool:
    """A liking of something by name, not of what is on a picture ("the colors") or how somebody does."""
    liked = match.string[match.end() :].strip()
    if re.match(_UNLIKED, liked, re.IGNORECASE) or len(liked.split()) > 25:
        return False
    if re.search(r"interested in$", match.group()) and re.match(_ERRAND, liked):
        return False
    return says_something(re.split(r"\b(?:and how|because|when|as|with how)\b", liked)[0])


# What somebody is 'interested in' who asks for it.
_ERRAND = (
    r"(?:learning|exploring|knowing|trying|reading|doing|finding"
    r"|hearing|getting|seeing|buying|staying|visiting|checking)\b"
)


_UNLIKED = (
    r"(?:the (?!beach|ocean|sea|mountains?|outdoors|water|piano|countryside"
    r"|color|colour|rain|cold|heat|snow|gym|city|forest|smell of)"
    r"|this|that|those|these|it|how|when|what|your|you|him|her|them"
    r"|to (?:see|hear|know|think|be|say|hang|have|get|do|go (?:back"
    r"|there))\b|seeing how|seeing you|hearing"
    r"|knowing|being|spending (?:quality )?time|doing something|having"
    r"|getting|giving|making|sharing|helping|supporting|every (?:minute"
    r"|second|bit|moment)|all|everything|each|both|so|to$|learning"
    r"|what's|talking|chatting|the$|watching (?:them|him|her)"
    r"|to (?:just )?(?:take a look|look|relax|chill)\b"
    r"|my (?:new |own )?(?:job|life|family|kids|work|new|place|home)$"
    r"|(?:for|and|more|even|about|as|at|of|on|in|with|by|him|us|me)\b)"
)


def is_habit(match: re.Match[str]) -> bool:
    """Whether the verb is something that people do again and again, told in some detail."""
    verb = match["verb"].casefold()
    return verb in lists.HABITUAL and tells(match.string[match.start("verb") :]) and len(match.string.split()) > 4


def has_time(match: re.Match[str]) -> bool:
    """Whether the clause says when, and something else."""
    return SPOKEN.search(match.string) is not None and rest_says_something(match)


def has_time_behind(match: re.Match[str]) -> bool:
    """Whether the clause says when."""
    return SPOKEN.search(match.string) is not None


def is_fresh(match: re.Match[str]) -> bool:
    """'I just baked two loaves …': as good as a date, when it tells of more than having and seeing, in some detail."""
    fresh = re.search(r"\b(?:just|recently|finally)\b", match.group(), re.IGNORECASE)
    return (
        fresh is not None
        and is_detailed(match)
        and match["verb"] not in {"had", "got", "saw", "did", "made", "gave", "lost"}
    )


def is_told_of(match: re.Match[str]) -> bool:
    """Whether it is told what was done; of where somebody went and whom they met, when or in some detail."""
    rest = match.string[match.end() :]
    open_to_all = re.match(r"went to (?:the|my)$|met some$", match["verb"]) is not None
    return tells(rest) and (not open_to_all or _count(rest) >= _LEAST_OF_NEWS or SPOKEN.search(rest) is not None)


def is_detailed(match: re.Match[str]) -> bool:
    """Whether what stands behind the match tells by name or in some detail."""
    rest = match.string[match.end() :]
    return _count(rest) >= _LEAST_OF_NEWS or (tells(rest) and _NAMED.search(rest) is not None)


def is_under_way(match: re.Match[str]) -> bool:
    """Something being done, told in some detail; looking around passes, and is told at length where it matters."""
    rest = match.string[match.end() :]
    looks = re.search(r"\b(?:looking into|researching|trying out)\b", match.group()) is not None
    told = _count(rest) >= _LEAST_OF_LOOKING or (is_detailed(match) and _NAMED.search(rest)) if looks else tells(rest)
    return bool(told) and not is_faint(match.string) and len(match.string.split()) > 4


_NAMED = re.compile(r"[A-Z]\w|\d")


def is_deed(match: re.Match[str]) -> bool:
    """Something done that is told in detail, and is no feeling."""
    verb, rest = match["verb"].casefold(), match.string[match.end() :]
    return is_past(verb) and verb not in lists.FELT and _count(rest) >= _LEAST_OF_DEEDS and not is_faint(match.string)


def has_object(match: re.Match[str]) -> bool:
    """Whether the verb has an object worth a word."""
    done = _AFTER_THAT.split(match.string[match.start("verb") :])[0]
    return tells(done.partition(" ")[2]) and not is_faint(match.string)


_AFTER_THAT = re.compile(r" (?:after|before|when|while|because) (?=I\b|we\b|my\b)")


def is_faint(clause: str) -> bool:
    """Whether the clause speaks of chances, fun and plenty."""
    return (
        re.search(
            r"\b(?:a chance|a shot|the best|a break|a lot of fun|so much"
            r"|a great time|great memories|a blast|a ball|something similar|a ton|tons|loads"
            r"|plenty|similar (?:issue|problem|situation|experience)s?)\b",
            clause,
        )
        is not None
    )


def names_a_person(match: re.Match[str]) -> bool:
    """Whether the name is neither a day nor a common word."""
    name = match["name"]
    return name.casefold() not in CALENDAR and not name.isupper() and name.casefold() not in STOPWORDS


def is_first_name(match: re.Match[str]) -> bool:
    """Whether the name is a known first name."""
    return match["name"].casefold() in FIRST_NAMES


def is_plain(match: re.Match[str]) -> bool:
    """What is said of kin or a thing is a fact, not how great it is."""
    said = match.string[match.end() :]
    return says_something(said) and re.match(_GUSHING, said) is None


def is_said_of_kin(match: re.Match[str]) -> bool:
    """As `is_plain`, where the verb itself may be all that is said: "my aunt died"."""
    gushes = re.match(_GUSHING, match.string[match.end() :])
    return says_something(match.string[match.end("relation") :]) and gushes is None


def names_a_place(match: re.Match[str]) -> bool:
    """Whether a place, or whom with, stands behind the match; in a message without capitals anything may."""
    rest = match.string[match.end() :]
    rest = re.sub(r"^ in the (?:city|country|town|village)$", "", rest)
    told = re.search(r"[A-Z]|\b(?:alone|with|\d+|city|town|country|village|farm|house|apartment|flat)\b", rest)
    return rest_says_something(match) and (told is not None or match.string.replace("I", "i").islower())


_GUSHING = (
    r" ?(?:been )?(?:so|such|my|the|all|always|really|super|very"
    r"|absolutely|incredibly|everything|there|here|here's|like|what"
    r"|who|how|why|kind|great"
    r"|awesome|amazing|proud|excited|happy|thrilled|important|worth"
    r"|about|still|doing|getting|going (?:great|well|good|to be)"
    r"|definitely|mine"
    r"|crazy|tough|hard|cute|beautiful|lovely|fun|cool|gorgeous|stressful|wonderful)\b"
)
