"""Rules for what is worth keeping: the shape of a clause, and checks beyond what its pattern can express."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from langmem_tiers.language import vocabulary as lists
from langmem_tiers.language.clauses import OPENING_TIME
from langmem_tiers.language.dates import SPOKEN
from langmem_tiers.language.key_phrases import FILLER
from langmem_tiers.language.names import CALENDAR, FIRST_NAMES, KIN
from langmem_tiers.language.rewriting import Subject
from langmem_tiers.language.slugs import slugify
from langmem_tiers.language.verbs import is_past
from langmem_tiers.language.word_lists import word_set
from langmem_tiers.language.words import STOPWORDS, words
from langmem_tiers.records import ProposalKind

Listener = Literal["anyone", "agent", "people"]


Accept = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A shape of clause that is worth keeping.

    `form` builds the sentence from the groups of the match if rewriting the clause would not read well; `{They}` and
    `{Their}` in it are the subject. `listener` restricts the rule to talks with an agent, or among people; `ahead` says
    that its dates are in the future, `happened` that it is about a single occasion, `quoted` that its words are never
    rewritten.
    """

    kind: ProposalKind
    category: str
    pattern: re.Pattern[str]
    accept: Accept = lambda match: True
    form: str | None = None
    listener: Listener = "anyone"
    ahead: bool = False
    happened: bool = False
    quoted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A rule that matches a clause, and how."""

    rule: Rule
    match: re.Match[str]

    def category(self, subject: Subject) -> str:
        """The category; groups of the match and the speaker fill its placeholders."""
        groups = {name: slugify(value or "general") for name, value in self.match.groupdict().items()}
        return self.rule.category.format(**groups, me=slugify(subject.name or "user"))


def rule(kind: ProposalKind, category: str, pattern: str, *, timed: bool = True, **more: Any) -> Rule:
    """A rule from a pattern; if `timed`, a time may come first: "Last week I …"."""
    compiled = re.compile(f"{OPENING_TIME}{pattern}" if timed else pattern)
    return Rule(kind=kind, category=category, pattern=compiled, **more)


_LEAST_OF_NEWS = 2  # informative words
_LEAST_OF_DEEDS = 3
_LEAST_OF_LOOKING = 5


def says_something(text: str) -> bool:
    """Whether the text has a word that is not a function word, filler or gushing."""
    return any(
        (word not in STOPWORDS and word not in FILLER and word not in lists.GUSH and len(word) > 2) or word.isdigit()
        for word in words(text)
    )


def tells(text: str) -> bool:
    """Like `says_something`, ignoring times and vague words ("some things", "a day out")."""
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
    """Whether the clause only describes what anyone does on a free day: a picnic, games, dinner with kids."""
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
    """Whether the words after the match are informative."""
    return tells(match.string[match.end() :])


def is_liking(match: re.Match[str]) -> bool:
    """A liking for something specific, not for what is in a picture ("the colors") or how someone does."""
    liked = match.string[match.end() :].strip()
    if re.match(_UNLIKED, liked, re.IGNORECASE) or len(liked.split()) > 25:
        return False
    if re.search(r"interested in$", match.group()) and re.match(_ERRAND, liked):
        return False
    return says_something(re.split(r"\b(?:and how|because|when|as|with how)\b", liked)[0])


# Things that someone who is asking for something is 'interested in'.
_ERRAND = (
    r"(?:learning|exploring|knowing|trying|reading|doing|finding"
    r"|hearing|getting|seeing|buying|staying|visiting|checking)\b"
)


_UNLIKED = (
    "(?:the (?!beach|ocean|sea|mountains?|outdoors|water|piano|countryside|color|colour|rain|cold|heat|snow|gym"
    "|city|forest|smell of)|this|that|those|these|it|how|when|what|your|you|him|her|them|to (?:see|hear|know"
    r"|think|be|say|hang|have|get|do|go (?:back|there))\b|seeing how|seeing you|hearing|knowing|being"
    "|spending (?:quality )?time|doing something|having|getting|giving|making|sharing|helping|supporting"
    "|every (?:minute|second|bit|moment)|all|everything|each|both|so|to$|learning|what's|talking|chatting|the$"
    r"|watching (?:them|him|her)|to (?:just )?(?:take a look|look|relax|chill)\b|my (?:new |own )?(?:job|life"
    r"|family|kids|work|new|place|home)$|(?:for|and|more|even|about|as|at|of|on|in|with|by|him|us|me)\b)"
)


def is_habit(match: re.Match[str]) -> bool:
    """Whether the verb describes something that people do repeatedly, with some detail."""
    verb = match["verb"].casefold()
    return verb in lists.HABITUAL and tells(match.string[match.start("verb") :]) and len(match.string.split()) > 4


def has_time(match: re.Match[str]) -> bool:
    """Whether the clause says when, and something else."""
    return SPOKEN.search(match.string) is not None and rest_says_something(match)


def has_time_behind(match: re.Match[str]) -> bool:
    """Whether the clause says when."""
    return SPOKEN.search(match.string) is not None


def is_fresh(match: re.Match[str]) -> bool:
    """'I just baked two loaves …': as good as a date, given some detail and more than mere having and seeing."""
    fresh = re.search(r"\b(?:just|recently|finally)\b", match.group(), re.IGNORECASE)
    return (
        fresh is not None
        and is_detailed(match)
        and match["verb"] not in {"had", "got", "saw", "did", "made", "gave", "lost"}
    )


def is_told_of(match: re.Match[str]) -> bool:
    """Whether the clause says what was done; going somewhere or meeting people needs a time or some detail."""
    rest = match.string[match.end() :]
    open_to_all = re.match(r"went to (?:the|my)$|met some$", match["verb"]) is not None
    return tells(rest) and (not open_to_all or _count(rest) >= _LEAST_OF_NEWS or SPOKEN.search(rest) is not None)


def is_detailed(match: re.Match[str]) -> bool:
    """Whether the words after the match contain a name or some detail."""
    rest = match.string[match.end() :]
    return _count(rest) >= _LEAST_OF_NEWS or (tells(rest) and _NAMED.search(rest) is not None)


def is_under_way(match: re.Match[str]) -> bool:
    """Something in progress, with some detail; merely looking around passes, so it needs more."""
    rest = match.string[match.end() :]
    looks = re.search(r"\b(?:looking into|researching|trying out)\b", match.group()) is not None
    told = _count(rest) >= _LEAST_OF_LOOKING or (is_detailed(match) and _NAMED.search(rest)) if looks else tells(rest)
    return bool(told) and not is_faint(match.string) and len(match.string.split()) > 4


_NAMED = re.compile(r"[A-Z]\w|\d")


def is_deed(match: re.Match[str]) -> bool:
    """Something done, with detail, that is not a feeling."""
    verb, rest = match["verb"].casefold(), match.string[match.end() :]
    return is_past(verb) and verb not in lists.FELT and _count(rest) >= _LEAST_OF_DEEDS and not is_faint(match.string)


def has_object(match: re.Match[str]) -> bool:
    """Whether the verb has an informative object."""
    done = _AFTER_THAT.split(match.string[match.start("verb") :])[0]
    return tells(done.partition(" ")[2]) and not is_faint(match.string)


_AFTER_THAT = re.compile(r" (?:after|before|when|while|because) (?=I\b|we\b|my\b)")


def is_faint(clause: str) -> bool:
    """Whether the clause is about chances, fun and plenty."""
    return (
        re.search(
            r"\b(?:a chance|a shot|the best|a break|a lot of fun|so much|a great time|great memories|a blast"
            r"|a ball|something similar|a ton|tons|loads|plenty|similar (?:issue|problem|situation|experience)s?)\b",
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
    """A fact about kin or a thing, not praise."""
    said = match.string[match.end() :]
    return says_something(said) and re.match(_GUSHING, said) is None


def is_said_of_kin(match: re.Match[str]) -> bool:
    """Like `is_plain`, but the verb alone may say it all: "my aunt died"."""
    gushes = re.match(_GUSHING, match.string[match.end() :])
    return says_something(match.string[match.end("relation") :]) and gushes is None


def names_a_place(match: re.Match[str]) -> bool:
    """Whether a place, or whom with, follows the match; in a message without capitals, anything may."""
    rest = match.string[match.end() :]
    rest = re.sub(r"^ in the (?:city|country|town|village)$", "", rest)
    told = re.search(r"[A-Z]|\b(?:alone|with|\d+|city|town|country|village|farm|house|apartment|flat)\b", rest)
    return rest_says_something(match) and (told is not None or match.string.replace("I", "i").islower())


_GUSHING = (
    " ?(?:been )?(?:so|such|my|the|all|always|really|super|very|absolutely|incredibly|everything|there|here"
    "|here's|like|what|who|how|why|kind|great|awesome|amazing|proud|excited|happy|thrilled|important|worth|about"
    "|still|doing|getting|going (?:great|well|good|to be)|definitely|mine|crazy|tough|hard|cute|beautiful|lovely"
    r"|fun|cool|gorgeous|stressful|wonderful)\b"
)
