"""Rules for what is worth keeping: `data/rules.toml`, and checks beyond what a pattern can express."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from langmem_tiers.language.calendar import MONTHS
from langmem_tiers.language.clauses import OPENING_TIME
from langmem_tiers.language.dates import SPOKEN
from langmem_tiers.language.key_phrases import FILLER
from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.names import CALENDAR, FIRST_NAMES, KIN
from langmem_tiers.language.numbers import cardinals
from langmem_tiers.language.rewriting import Subject
from langmem_tiers.language.slugs import slugify
from langmem_tiers.language.speech_acts import standing_alone
from langmem_tiers.language.verbs import ADVERBS, is_past
from langmem_tiers.language.word_lists import COMMON_PARTS, finds, listed, named_pattern, table, word_set, written_out
from langmem_tiers.language.words import STOPWORDS, words
from langmem_tiers.records import ProposalKind

Listener = Literal["anyone", "agent", "people"]
Accept = Callable[[re.Match[str]], bool]

_RAW = COMMON_PARTS | table("vocabulary") | table("rules")["fragments"]
_RAW |= {
    # Atomic: "really" is both listed and an adverb in -ly, so several of them could otherwise match in two ways each.
    "some_adverbs": rf"(?: (?>(?:{'|'.join(sorted(ADVERBS))}|[a-z]{{3,20}}ly)\b)){{0,6}}",
    "one_to_ten": cardinals(1, 10),
    "two_to_ten": cardinals(2, 10),
    "sure_months": "|".join(month for month in MONTHS if month != "may"),
}
PARTS: dict[str, str] = {name: written_out(text, _RAW) for name, text in _RAW.items()}
"""Fragments of the patterns of rules, such as `@we_or_i@`."""
FAINT_ADJECTIVES = listed("vocabulary", "faint_adjectives")
_FELT = listed("vocabulary", "felt")
_FAINT = listed("vocabulary", "faint") | _FELT | FAINT_ADJECTIVES
_GUSH = listed("vocabulary", "gush")
_EVERYDAY = listed("vocabulary", "everyday")
_HABITUAL = listed("vocabulary", "habitual")
_COMPANY = KIN | word_set("friends fam folks gang crew everyone guys kiddos")
_LIKED = word_set("loved liked enjoyed hated disliked")
_LEAST_OF_NEWS = 2  # informative words
_LEAST_OF_DEEDS = 3
_LEAST_OF_LOOKING = 4
_LONGEST_TOLD = 12
_BESIDE = named_pattern("rules", "beside")
_LONG_AGO = re.compile(
    r"\b(?:[Ww]hen (?:I|we) (?:was|were) (?:younger|young|little|small|kids?|an? (?:kid|child|teenager|student)|\d+)"
    r"|[Aa]s an? (?:kid|child|teenager|student)|[Gg]rowing up|for the first time)\b"
)
_PICTURED = re.compile(r"\b(?:pics?|pictures?|photos?|snaps?|shots?|selfies?|peeks?|glimpses?|looks?|videos?|vids?)\b")
_NAMED = re.compile(r"[A-Z]\w|\d")
_GUSHING = named_pattern("rules", "gushing")
# Things that someone who is asking for something is 'interested in'.
_ERRAND = named_pattern("rules", "errand")
_UNLIKED = named_pattern("rules", "unliked")
_NO_FAVOURITE = word_set("part thing things moment way bit memory one ones time")
_VAGUE_PURPOSE = named_pattern("rules", "vague_purpose")
_AND = re.compile(r"(?P<and>,? and) (?P<verb>[a-z]+)\b")
_ADVICE = re.compile(r"\b(?:advice|help|tips|insights?)\b")
_AFTER_THAT = re.compile(r" (?:after|before|when|while|because) (?=I\b|we\b|my\b)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A shape of clause that is worth keeping; `data/rules.toml` says what its fields mean."""

    family: str
    kind: ProposalKind
    category: str
    pattern: re.Pattern[str]
    accept: tuple[Accept, ...] = ()
    form: str | None = None
    listener: Listener = "anyone"
    ahead: bool = False
    happened: bool = False
    quoted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleMatch:
    """A rule that matches a clause, and how."""

    rule: Rule
    match: re.Match[str]

    def category(self, subject: Subject) -> str:
        """The category; groups of the match and the speaker fill its placeholders."""
        groups = {name: slugify(value or "general") for name, value in self.match.groupdict().items()}
        return self.rule.category.format(**groups, me=slugify(subject.name or "user"))


def first_fitting(clause: str, listener: Listener) -> RuleMatch | None:
    """The first rule that matches the clause."""
    for rule in RULES:
        match = rule.pattern.match(clause) if rule.listener in {"anyone", listener} else None
        if match and all(accepts(match) for accepts in rule.accept):
            return RuleMatch(rule=rule, match=match)
    return None


def says_something(text: str) -> bool:
    """Whether the text has a word that is not a function word, filler or gushing."""
    return any(
        (word not in STOPWORDS and word not in FILLER and word not in _GUSH and len(word) > 2) or word.isdigit()
        for word in words(text)
    )


def tells(text: str) -> bool:
    """Like `says_something`, ignoring times and vague words ("some things", "a day out")."""
    return _count(text) > 0


def _count(text: str) -> int:
    shown = _BESIDE.sub(" ", SPOKEN.sub(" ", text))
    return sum(word not in _FAINT and says_something(word) for word in words(shown))


is_faint = finds("rules", "faintly")
"""Whether the clause is about chances, fun and plenty."""


def is_everyday(clause: str) -> bool:
    """Whether the clause only describes what anyone does on a free day: a picnic, games, dinner with kids."""
    if re.search(r"(?<=.)\b(?!I\b)[A-Z]|\d", SPOKEN.sub("", clause)):
        return False
    told = [word for word in words(SPOKEN.sub(" ", clause)) if _count(word) and word not in _COMPANY]
    return bool(told) and all(word in _EVERYDAY for word in told)


def without_vague_end(clause: str) -> str:
    """The clause without a last part that leaves open what was done, or what for.

    Example:
        >>> without_vague_end("I visited a museum and met some lovely people")
        'I visited a museum'
    """
    told = _VAGUE_PURPOSE.sub("", clause)
    joints = [joint for joint in _AND.finditer(told) if is_past(joint["verb"]) and joint["verb"] not in _LIKED]
    if not joints or tells(_ADVICE.sub("", told[joints[-1].end("and") :])):
        return told
    time = SPOKEN.search(told, joints[-1].start())
    return f"{told[: joints[-1].start()]} {time.group()}" if time else told[: joints[-1].start()]


# The checks that rules name; each is given the match of a rule's pattern with a clause.


def _rest(match: re.Match[str]) -> str:
    """The words after the match."""
    return match.string[match.end() :]


def says_when(match: re.Match[str]) -> bool:
    """Whether the clause says when."""
    return SPOKEN.search(match.string) is not None


def rest_says_something(match: re.Match[str]) -> bool:
    """Whether the words after the match are informative."""
    return tells(_rest(match))


def is_asked_or_timed(match: re.Match[str]) -> bool:
    """'Remind me to …', or any other order with a time."""
    return bool(match["asked"]) or says_when(match)


def is_turning_point(match: re.Match[str]) -> bool:
    """Whether the clause says what changed, or when."""
    return not is_faint(match.string) and (rest_says_something(match) or says_when(match))


def is_recent(match: re.Match[str]) -> bool:
    """A date, or "I just baked two loaves …": that is as good, given some detail and more than mere having."""
    fresh = re.search(r"\b(?:just|recently|finally)\b", match.group(), re.IGNORECASE) is not None
    mere = match["verb"] in {"had", "got", "saw", "did", "made", "gave", "lost"}
    told = is_detailed(match) and (not mere or _count(_rest(match)) >= _LEAST_OF_DEEDS)
    return says_when(match) or _LONG_AGO.search(match.string) is not None or (fresh and told)


def is_liking(match: re.Match[str]) -> bool:
    """A liking for something specific, not for what is in a picture ("the colors") or how someone does."""
    liked = _rest(match).strip()
    if _UNLIKED.match(liked) or len(liked.split()) > 25:
        return False
    if match.group().endswith("interested in") and _ERRAND.match(liked):
        return False
    return says_something(re.split(r"\b(?:and how|because|when|as|with how)\b", liked)[0])


def is_favourite(match: re.Match[str]) -> bool:
    """A favourite of some kind that is named, not a moment or how something is done."""
    said = _rest(match)
    points = re.match(r"(?:definitely |probably )?(?:this|that|these|those|when|it|how|what)\b", said)
    return match["area"] not in _NO_FAVOURITE and says_something(said) and points is None


def is_habit(match: re.Match[str]) -> bool:
    """Whether the verb describes something that people do repeatedly, with some detail."""
    told = match["verb"].casefold() in _HABITUAL and tells(match.string[match.start("verb") :])
    return told and len(match.string.split()) > 4


def names_the_class(match: re.Match[str]) -> bool:
    """Whether the class, course or test is of something."""
    return tells(match["what"].rpartition(" ")[0])


def names_the_occasion(match: re.Match[str]) -> bool:
    """Whether the occasion is more than "the park" or "my birthday": two informative words, or a name."""
    return _count(match["what"]) >= _LEAST_OF_NEWS or (
        tells(match["what"]) and _NAMED.search(match["what"]) is not None
    )


def shows_a_thing(match: re.Match[str]) -> bool:
    """Whether it is said what the thing is that was made, and nothing is meant by a picture of it alone."""
    thing, told = match["thing"], match["when"] or ""
    alone = standing_alone(told) == told and len(told.split()) <= _LONGEST_TOLD
    return tells(thing) and not _PICTURED.search(thing) and alone


def is_said_of_somebody(match: re.Match[str]) -> bool:
    """Whether somebody with a first name is meant, and it is no liking for something unspecific."""
    if not _is_first_name(match["relation"]):
        return False
    said = says_something(match.string[match.end("relation") :])
    return is_liking(match) if match["liking"] else said


def is_told_of(match: re.Match[str]) -> bool:
    """Whether the clause says what was done; going somewhere or meeting people needs a time or some detail."""
    rest = _rest(match)
    open_to_all = re.match(r"went to (?:the|my)$|met some$", match["verb"]) is not None
    told = tells(rest) and (not open_to_all or _count(rest) >= _LEAST_OF_NEWS or SPOKEN.search(rest) is not None)
    return told and not is_faint(match.string)


def is_detailed(match: re.Match[str]) -> bool:
    """Whether the words after the match contain a name or some detail."""
    rest = _rest(match)
    return _count(rest) >= _LEAST_OF_NEWS or (tells(rest) and _NAMED.search(rest) is not None)


def is_under_way(match: re.Match[str]) -> bool:
    """Something in progress, with some detail; merely looking around passes, so it needs more."""
    rest = _rest(match)
    looks = re.search(r"\b(?:looking into|researching|trying out)\b", match.group()) is not None
    told = _count(rest) >= _LEAST_OF_LOOKING or (is_detailed(match) and _NAMED.search(rest)) if looks else tells(rest)
    return bool(told) and not is_faint(match.string) and len(match.string.split()) > 4


def is_deed(match: re.Match[str]) -> bool:
    """Something done, with detail, that is not a feeling."""
    verb = match["verb"].casefold()
    done = is_past(verb) and verb not in _FELT and _count(_rest(match)) >= _LEAST_OF_DEEDS
    return done and not is_faint(match.string)


def has_object(match: re.Match[str]) -> bool:
    """Whether the verb has an informative object."""
    done = _AFTER_THAT.split(match.string[match.start("verb") :])[0]
    return tells(done.partition(" ")[2]) and not is_faint(match.string)


def names_a_person(match: re.Match[str]) -> bool:
    """Whether the name is neither a day nor a common word."""
    name = match["name"]
    return not name.isupper() and name.casefold() not in CALENDAR | STOPWORDS


def is_first_name(match: re.Match[str]) -> bool:
    """Whether the name is a known first name."""
    return _is_first_name(match["name"])


def _is_first_name(word: str) -> bool:
    """Whether a word is a first name, and no abbreviation that looks like one: "DAN loves …"."""
    return word.casefold() in FIRST_NAMES and not word.isupper()


def names_a_place(match: re.Match[str]) -> bool:
    """Whether a place, or whom with, follows the match; in a message without capitals, anything may."""
    rest = re.sub(r"^ in the (?:city|country|town|village)$", "", _rest(match))
    told = re.search(r"[A-Z]|\b(?:alone|with|\d+|city|town|country|village|farm|house|apartment|flat)\b", rest)
    return rest_says_something(match) and (told is not None or match.string.replace("I", "i").islower())


def names_a_tool(match: re.Match[str]) -> bool:
    """Whether what is used or built has a name, or is something that people build."""
    tools = r"[A-Z]\w|\d|\b(?:app|api|project|website|book|thesis|game|database|server|library|novel|album)\b"
    return re.search(tools, _rest(match)) is not None


def is_no_spending_limit(match: re.Match[str]) -> bool:
    """Whether it is more than what a request may cost: "our budget", "my wedding budget", not "my budget is $500"."""
    return re.match(r"my budget\b", match.string[match.start() :], re.IGNORECASE) is None


def is_plain(match: re.Match[str]) -> bool:
    """A fact about kin or a thing, not praise."""
    return says_something(_rest(match)) and _GUSHING.match(_rest(match)) is None


def is_said_of_kin(match: re.Match[str]) -> bool:
    """Like `is_plain`, but the verb alone may say it all: "my aunt died"."""
    return says_something(match.string[match.end("relation") :]) and _GUSHING.match(_rest(match)) is None


_CHECKS: dict[str, Accept] = {
    check.__name__: check
    for check in (
        *(says_when, rest_says_something, is_asked_or_timed, is_turning_point, is_recent, is_liking, is_favourite),
        *(is_habit, is_told_of, is_detailed, is_under_way, is_deed, has_object, names_a_person, is_first_name),
        *(names_the_class, names_the_occasion, shows_a_thing, is_said_of_somebody, is_said_of_kin, is_plain),
        *(names_a_place, names_a_tool, is_no_spending_limit),
    )
}


def _rule(said: str, accept: str = "", other_than: str = "", *, timed: bool = True, **more: Any) -> Rule:
    checks = [_CHECKS[name] for name in accept.split()]
    if verbs := word_set(other_than):
        checks.append(lambda match: match["verb"] not in verbs)
    shape = lazy_pattern(f"{OPENING_TIME if timed else ''}{written_out(said, PARTS)}")
    return Rule(pattern=shape, accept=tuple(checks), **more)


RULES = tuple(_rule(**each, family=family) for family, rules in table("rules")["rule"].items() for each in rules)
