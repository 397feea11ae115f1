"""The rules: a table of what a clause must look like to be worth keeping, and what it is then."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from langmem_tiers.palace.names import CALENDAR
from langmem_tiers.palace.phrases import FILLER
from langmem_tiers.palace.slugs import slugify
from langmem_tiers.palace.tag_people import FIRST_NAMES
from langmem_tiers.palace.words import STOPWORDS, words
from langmem_tiers.writing.extractive import vocabulary as lists
from langmem_tiers.writing.extractive.clauses import OPENING_TIME
from langmem_tiers.writing.extractive.dating import SPOKEN
from langmem_tiers.writing.extractive.grammar import ADVERBS, is_past
from langmem_tiers.writing.extractive.rewriting import Subject
from langmem_tiers.writing.proposals import ProposalKind

_ADVERBS = f"(?: (?:{'|'.join(sorted(ADVERBS))}|[a-z]{{3,}}ly))*"
_NUMBER = r"(?:[$€£]\s?)?\d[\d.,:/]*"
_COUNTED = r"(?:an?|another|one|two|three|four|five|six|seven|eight|nine|ten|no|twin|some|\d+|several|many)"
_NAMED = r"[A-Z][\w'-]+"

Listener = Literal["anyone", "agent", "people"]
Accept = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A shape of clause that is worth keeping.

    `form` writes the sentence from the groups of the match where rewriting the clause would not read well; `{they}`
    and `{their}` in it are the subject. `listener` restricts the rule to talks with nobody but an agent, or of people; `ahead` says that
    its dates lie in the future, `quoted` that its words are never turned.
    """

    kind: ProposalKind
    category: str
    pattern: re.Pattern[str]
    accept: Accept = lambda match: True
    form: str | None = None
    listener: Listener = "anyone"
    ahead: bool = False
    quoted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A rule that fits a clause, and how."""

    rule: Rule
    match: re.Match[str]

    def category(self, subject: Subject) -> str:
        """Where it belongs; groups of the match and the speaker fill what is left open."""
        groups = {name: slugify(value or "general") for name, value in self.match.groupdict().items()}
        return self.rule.category.format(**groups, me=slugify(subject.name or "user"))


def first_fitting(clause: str, listener: Listener) -> Found | None:
    """The first rule of the table that fits the clause."""
    for rule in RULES:
        match = rule.pattern.match(clause) if rule.listener in {"anyone", listener} else None
        if match and rule.accept(match):
            return Found(rule=rule, match=match)
    return None


def says_something(text: str) -> bool:
    """Whether there is a word in it that is neither function word, filler nor gush."""
    return any(
        (word not in STOPWORDS and word not in FILLER and word not in lists.GUSH and len(word) > 2) or word.isdigit()
        for word in words(text)
    )


def _rest_says_something(match: re.Match[str]) -> bool:
    return says_something(match.string[match.end() :])


def _is_liking(match: re.Match[str]) -> bool:
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
    r"|my (?:job|life|family|kids|work|new)$|(?:for|and|more|even|about|as|at|of|on|in|with|by|him|us|me)\b)"
)


def _is_habit(match: re.Match[str]) -> bool:
    verb = match["verb"].casefold()
    return (
        verb in lists.HABITUAL and says_something(match.string[match.start("verb") :]) and len(match.string.split()) > 4
    )


def _has_time(match: re.Match[str]) -> bool:
    return SPOKEN.search(match.string) is not None and _rest_says_something(match)


def _has_time_behind(match: re.Match[str]) -> bool:
    return SPOKEN.search(match.string) is not None


def _is_fresh(match: re.Match[str]) -> bool:
    """'I just baked …': as good as a date, when it tells of more than having and seeing."""
    fresh = re.search(r"\b(?:just|recently|finally)\b", match.group(), re.IGNORECASE)
    return fresh is not None and match["verb"] not in {"had", "got", "saw", "did", "made", "gave", "lost"}


def _is_deed(match: re.Match[str]) -> bool:
    """Something done that is told in detail, and is no feeling."""
    verb, rest = match["verb"].casefold(), match.string[match.end() :]
    telling = [word for word in words(rest) if says_something(word)]
    return is_past(verb) and verb not in lists.FELT and len(telling) >= 3 and not _is_faint(match.string)


def _has_object(match: re.Match[str]) -> bool:
    return says_something(match.string[match.start("verb") :].partition(" ")[2]) and not _is_faint(match.string)


def _is_faint(clause: str) -> bool:
    return (
        re.search(
            r"\b(?:a chance|a shot|the best|a break|a lot of fun|so much"
            r"|a great time|a blast|a ball|something similar|a ton|tons|loads"
            r"|plenty|similar (?:issue|problem|situation|experience)s?)\b",
            clause,
        )
        is not None
    )


def _names_a_person(match: re.Match[str]) -> bool:
    name = match["name"]
    return name.casefold() not in CALENDAR and not name.isupper() and name.casefold() not in STOPWORDS


def _is_first_name(match: re.Match[str]) -> bool:
    return match["name"].casefold() in FIRST_NAMES


def _is_plain(match: re.Match[str]) -> bool:
    """What is said of kin or a thing is a fact, not how great it is."""
    said = match.string[match.end() :]
    return says_something(said) and re.match(_GUSHING, said) is None


def _is_said_of_kin(match: re.Match[str]) -> bool:
    """As `_is_plain`, where the verb itself may be all that is said: "my aunt died"."""
    gushes = re.match(_GUSHING, match.string[match.end() :])
    return says_something(match.string[match.end("relation") :]) and gushes is None


def _names_a_place(match: re.Match[str]) -> bool:
    rest = match.string[match.end() :]
    told = re.search(r"[A-Z]|\b(?:alone|with|\d+|city|town|country|village|farm|house|apartment|flat)\b", rest)
    return _rest_says_something(match) and (told is not None or match.string.replace("I", "i").islower())


_GUSHING = (
    r" ?(?:been )?(?:so|such|my|the|all|always|really|super|very"
    r"|absolutely|incredibly|everything|there|here|here's|like|what"
    r"|who|how|why|kind|great"
    r"|awesome|amazing|proud|excited|happy|thrilled|important|worth"
    r"|about|still|doing|getting|going (?:great|well|good|to be)"
    r"|definitely|mine"
    r"|crazy|tough|hard|cute|beautiful|lovely|fun|cool|gorgeous|stressful|wonderful)\b"
)


def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(f"{OPENING_TIME}{pattern}", flags)


_I = rf"I{_ADVERBS}"
_IM = rf"(?:I'm|I am|I was|I've been|I have been){_ADVERBS}"
_WE_OR_I = rf"(?:I|[Ww]e)(?:'ve|'d| have| had)?{_ADVERBS}"
_MY = "(?:[Mm]y|[Oo]ur)"
_IS = r"(?:'s(?= (?:an?|the|not|in|on|at|due|called|named|from|my|\$?\d|[A-Z]))| is| are| was| were| will be| has been)"

_IDENTITY = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"[Mm]y (?:full |first |last |real |middle |maiden )?(?:name|surname|nickname){_IS} (?:{_NAMED}|[a-z]+$)"
        ),
    ),
    Rule(
        kind="preference",
        category="people/{me}",
        pattern=re.compile(
            rf"(?:[Yy]ou can |[Pp]lease |[Jj]ust |(?:[Mm]y )?(?:[Ff]riends"
            rf"|[Ee]veryone|[Pp]eople) )?[Cc]all(?:s)? me (?P<name>{_NAMED}(?: {_NAMED})?)(?: instead"
            rf"| for short| please)?$"
        ),
        accept=_names_a_person,
        form="{They} wants to be called {name}",
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=re.compile(
            rf"(?:I go by|I'm called|I am called|I'm|I am|[Tt]his is) (?P<name>{_NAMED})(?: {_NAMED})?$"
        ),
        accept=_is_first_name,
        form="{Their} name is {name}",
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"(?:{_I} (?:live|lived|grew up|moved|relocated|come from|reside|was born|was raised|immigrated|emigrated)"
            rf"|{_IM} (?:living|from|based|born|raised|moving|relocating))\b"
        ),
        accept=_names_a_place,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"(?:{_I} (?:work|worked|have worked)|(?:I've|I have) (?:been working"
            rf"|worked)|{_IM} working) (?:at|for|as|in|part-time|full-time"
            rf"|remotely|nights)\b"
        ),
        accept=lambda match: (
            _rest_says_something(match)
            and not re.match(r" (?:it|this|that|a (?:lot|while|way))\b", match.string[match.end() :])
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(rf"(?:{_IM}|I used to be|I became|I'm not) an? (?:{lists.BEING})\b"),
    ),
    Rule(kind="fact", category="people/{me}", pattern=_compiled(rf"{_IM}(?: not)? (?:{lists.STATES})\b")),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"(?:{_IM}|I turned|I just turned|I'm turning|I'll be|I am turning) \d{{1,3}}(?! ?(?:%"
            rf"|percent|minutes|min|hours|km|miles))\b"
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"(?:{_I} (?:have|had|suffer from|was diagnosed with|live with)"
            rf"|(?:I've|I have|I) (?:been|was) diagnosed with) (?:{lists.CONDITIONS})\b"
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"(?:{_I} (?:speak|studied|major|majored|minored|graduated)|{_IM} (?:studying"
            rf"|learning|majoring|fluent|training)|I'm taking|I am taking) (?!about"
            rf"|up|out|to |so |how |a lot|a ton|tons|lots|more|from |care)"
        ),
        accept=_rest_says_something,
    ),
)
_OWNED = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"(?:{_WE_OR_I} )(?:have|own|had|got|adopted|am getting) (?:{_COUNTED}) (?:[\w-]+ ){{0,2}}?(?:"
            rf"{lists.KIN})\b(?! (?:of|day|time|moment))"
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"(?:{_WE_OR_I} )(?:have|own|had|got|adopted|bought|drive|ride"
            rf"|play) (?:{_COUNTED}|the) (?:(?!with|of|in|for|my|on|about"
            rf"|to\b)[\w-]+ ){{0,3}}?(?:{lists.PETS}|{lists.THINGS})\b"
        ),
    ),
    Rule(
        kind="fact",
        category="people/{relation}",
        pattern=_compiled(
            rf"{_MY} (?:\w+ )?(?P<relation>{lists.KIN})(?:'s (?:name|birthday"
            rf"|job|dog|cat|house|wedding|phone number|email))?(?:,? {_NAMED},?)?"
            r"(?: (?:is|are|was|were|'s) (?!about|in need)|'s (?=(?:an?|named"
            r"|called|allergic|turning|from|coming|getting|\d)\b)| (?:lives?"
            r"|lived|works?|worked|moved|died|passed away|studies|studied"
            r"|goes to|attends?|plays?|likes?|loves?|hates?|prefers?|turned"
            r"|turns"
            r"|got (?:married|engaged|a|an|promoted|divorced|into|diagnosed)"
            r"|has an?|have an?|has (?:\w+ )?(?:allerg|asthma|diabetes)|owns?"
            r"|bought|adopted|started (?:a|an|school|college|university|[a-z]+ing)"
            r"|graduated|retired"
            r"|gave me|made me an?|taught me|came|is coming|are coming|is visiting"
            r"|visited|runs an?|opened|and I (?:went|visited|made|took|finished"
            r"|painted|moved|bought|have|are|live|got|hiked|camped|had|adopted"
            r"|planted|built|started|like|love|enjoy|play))\b)"
        ),
        accept=_is_said_of_kin,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"{_MY} (?P<pet>{lists.PETS})(?:,? {_NAMED},?)?(?:'s name)?(?:{_IS}"
            rf"| (?:has|have|loves?|likes?|eats?|hates?|died|got|turned)\b)"
        ),
        accept=_is_plain,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(rf"{_MY} (?:new |old |current |next )?(?:{lists.FACTS}|{lists.THINGS}){_IS}\b"),
        accept=_is_plain,
    ),
)
_PREFERENCES = (
    Rule(
        kind="preference",
        category="user-preferences/{area}",
        pattern=_compiled(
            rf"{_MY} (?:all-time |absolute |personal |current )?(?:fav(?:ou?rite"
            rf"|e)?s?) (?P<area>[a-z][\w-]+)(?: [\w' -]+?)??{_IS} "
        ),
        accept=lambda match: _is_plain_favourite(match),
    ),
    Rule(
        kind="preference",
        category="user-preferences/{area}",
        pattern=re.compile(
            r"(?!(?:[Ii]t|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Tt]hey|[Hh]e"
            r"|[Ss]he|[Yy]ou|[Tt]here|[Oo]ne|[Ww]hat)\b)[\w'&-]+(?: [\w'&-]+?){0,5}(?: is"
            r"| are|(?<=\w)'s) (?:one of )?(?:my|our) (?:all-time |absolute )?fav(?:ou?rite"
            r"|e)?s?(?: (?P<area>[a-z][\w-]+))?"
        ),
    ),
    Rule(
        kind="preference",
        category="user-preferences/general",
        pattern=_compiled(
            rf"(?:{_I}|{_IM.replace('I was|', '')}|I've always|[Ww]e|[Ww]e've always){_ADVERBS} (?:"
            rf"{lists.LIKING}|liked|loved|loving|enjoying)\b(?! (?:if|for))"
        ),
        accept=_is_liking,
    ),
    Rule(
        kind="preference",
        category="user-preferences/general",
        pattern=_compiled(r"(?:I'd|I would) (?:much |always )?(?:rather|prefer)\b"),
        accept=_rest_says_something,
    ),
    Rule(
        kind="preference",
        category="user-preferences/general",
        pattern=_compiled(
            rf"{_IM}(?: (?:not|so|very|super|quite|pretty|a))*(?: (?:big|huge"
            rf"|massive|real))?(?: (?:fan of|into|fond of|obsessed with|passionate about"
            rf"|interested in|keen on|addicted to|afraid of|scared of|terrified of"
            rf"|crazy about))\b"
        ),
        accept=_is_liking,
    ),
    Rule(
        kind="preference",
        category="user-preferences/habits",
        pattern=_compiled(
            r"(?:I|[Ww]e) (?:always|never|usually|often|typically|normally"
            r"|rarely|seldom|hardly ever|mostly|generally|regularly) (?P<verb>[a-z]+)"
        ),
        accept=_is_habit,
    ),
    Rule(
        kind="preference",
        category="user-preferences/habits",
        pattern=re.compile(
            r"(?:[Ee]very (?:day|week|month|year|morning|evening|night|weekend"
            r"|summer|winter|\w+day),? )?(?:I|[Ww]e)(?: also| usually| still"
            r"| try to)* (?P<verb>[a-z]+)\b(?=.*\b(?:every (?:day|other day"
            r"|week|month|year|morning|evening|night|weekend|summer|winter"
            r"|spring|fall|\w+day)|each (?:day|morning|night|week)|(?:once"
            r"|twice|three times|\d times) a (?:day|week|month|year)|on (?:weekends"
            r"|\w+days)|daily|weekly))"
        ),
        accept=_is_habit,
    ),
    Rule(
        kind="preference",
        category="user-preferences/habits",
        pattern=re.compile(
            r"(?:[Ee]very|[Ee]ach) (?:day|week|month|year|morning|evening"
            r"|night|weekend|summer|winter|[A-Z]?\w+day),? (?:I|[Ww]e)(?: also"
            r"| usually| still| try to)* (?P<verb>[a-z]+)"
        ),
        accept=_is_habit,
    ),
    Rule(
        kind="preference",
        category="user-preferences/assistant",
        pattern=re.compile(
            r"(?:[Pp]lease )?(?:[Nn]ever|[Aa]lways|[Ff]rom now on,?|[Ii]n (?:the )?future,?"
            r"|[Dd]o not ever|[Dd]on't ever) (?:please )?(?!(?:give|mind"
            r"|forget|say|know|be|been|mine|had|have|thought|knew|stop|i"
            r"|a|the|wanted|loved|gets?|happy|good|nice)\b)[a-z]+ \w+"
        ),
        listener="agent",
        quoted=True,
    ),
)
_DECISIONS = (
    Rule(
        kind="decision",
        category="decisions",
        pattern=_compiled(
            rf"{_WE_OR_I} (?:decided|agreed|chose|settled on|opted|picked (?!up)|went with|made up (?:my|our) minds?)\b"
        ),
        accept=_rest_says_something,
    ),
    Rule(
        kind="decision",
        category="decisions",
        pattern=re.compile(
            r"(?:[Ll]et's|[Ll]et us) (?P<choice>(?:go with|use|stick (?:with"
            r"|to)|switch to|stay with|settle on) (?!it|that|this|the flow"
            r"|them|your)[\w].*)"
        ),
        form="{They} decided to {choice}",
        listener="agent",
        ahead=True,
    ),
    Rule(
        kind="decision",
        category="decisions",
        pattern=_compiled(
            r"(?:(?:I'll|[Ww]e'll|I will|[Ww]e will) (?:use|go with|take"
            r"|stick (?:with|to)|switch to|stay with)|(?:I'm|[Ww]e're|I am"
            r"|[Ww]e are) (?:going with|switching to|sticking with|going to (?:use"
            r"|go with|switch to))) (?!it|that|this|them|you|care|a (?:break"
            r"|look))"
        ),
        accept=lambda match: _rest_says_something(match),
        ahead=True,
    ),
    Rule(
        kind="decision",
        category="decisions",
        pattern=_compiled(r"(?:[Tt]he|[Oo]ur|[Mm]y) (?:final )?decision(?:'s| is| was) "),
        accept=_rest_says_something,
    ),
)
_ACTIONS = (
    Rule(
        kind="action",
        category="actions",
        pattern=_compiled(
            r"(?:I|[Ww]e)(?:'ll| will)?(?: also| still| really)? (?:have to"
            r"|need to|must|got to|should|am supposed to|promised to|shall"
            r"|'ll|will|'m going to|am going to)(?: also)? (?P<verb>\w+)"
        ),
        accept=lambda match: (
            _has_object(match) and _has_time(match) and match["verb"] not in {"be", "feel", "never", "always", "see"}
        ),
        ahead=True,
    ),
    Rule(
        kind="action",
        category="actions",
        pattern=re.compile(
            r"(?:[Pp]lease )?(?:(?P<asked>[Rr]emind me (?:to|that|about))"
            r"|(?:[Dd]on't|[Dd]o not) (?:let me )?forget to) "
        ),
        accept=lambda match: (
            _rest_says_something(match) and (match["asked"] or SPOKEN.search(match.string)) is not None
        ),
        listener="agent",
        ahead=True,
        quoted=True,
    ),
    Rule(
        kind="action",
        category="actions",
        pattern=re.compile(r"(?:TODO|To-?do|Action item|AI):? \w"),
        accept=_rest_says_something,
        quoted=True,
        ahead=True,
    ),
)
_PROJECTS = (
    Rule(
        kind="fact",
        category="project-context/{what}",
        pattern=_compiled(
            rf"(?:[Tt]he|[Oo]ur|[Mm]y) (?:[\w-]+ ){{0,2}}?(?P<what>budget"
            rf"|deadline|rent|salary|price|cost|fee|deposit|flight|train|meeting"
            rf"|appointment|launch|release|delivery|invoice|total|exam|interview"
            rf"|wedding|contract|lease|ticket|due date|kick-?off|demo|surgery"
            rf"|operation|passport|visa|job|class|course|semester|school|term"
            rf"|office|train|bus)(?:{_IS}| starts?| begins?| ends?| leaves?"
            rf"| departs?| arrives?| expires?| costs?| closes?| opens?) (?=.*(?i:\d"
            rf"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow"
            rf"|january|february|march|april|june|july|august|september|october"
            rf"|november|december))",
        ),
        accept=lambda match: re.match(r" ?(?:that|which|we|you|i)\b", match.string[match.end() :].lower()) is None,
        ahead=True,
    ),
    Rule(
        kind="fact",
        category="project-context/{what}",
        pattern=_compiled(
            rf"(?:[Oo]ur|[Mm]y) (?:[\w-]+ )?(?P<what>{lists.PROJECT})(?: (?:uses?"
            rf"|runs?|is (?:written|built|hosted|called|based|named|in|on"
            rf"|at|about|for|due)|has|consists|needs|opens?|launches|sells"
            rf"|starts)|'s (?:called|named|based))\b"
        ),
        accept=_is_plain,
    ),
    Rule(
        kind="fact",
        category="project-context/general",
        pattern=_compiled(
            r"(?:I|[Ww]e)(?:'re|'m| are| am)? (?:use|run|deploy|host|using"
            r"|running|deploying|migrating|building|developing|working on)\b (?!it"
            r"|this|that|out|into|around|some|my|so|on|how|ways|making)"
        ),
        accept=lambda match: (
            re.search(
                r"[A-Z]\w|\d|\b(?:app|api|project|website|book|thesis|game|database|server|library|novel|album)\b",
                match.string[match.end() :],
            )
            is not None
        ),
    ),
)
_EVENTS = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(rf"{_WE_OR_I} (?:{lists.TURNING_POINTS})\b(?!')"),
        accept=lambda match: (
            not _is_faint(match.string) and (_rest_says_something(match) or SPOKEN.search(match.string) is not None)
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(rf"(?:{_WE_OR_I}|{_MY} [\w-]+ and I) (?P<verb>{lists.HAPPENINGS})\b(?! to\b)"),
        accept=lambda match: _has_object(match) and (SPOKEN.search(match.string) is not None or _is_fresh(match)),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(rf"(?:I'm|I am|[Ww]e're|[Ww]e are){_ADVERBS} (?P<verb>{lists.UPCOMING})\b"),
        accept=lambda match: _has_object(match) and SPOKEN.search(match.string) is not None,
        ahead=True,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"(?:{_MY} (?:big |biggest |main |ultimate |long-term )?(?:goal"
            rf"|dream|plan|ambition|hobby|hobbies|resolution){_IS} |(?:I|[Ww]e){_ADVERBS} (?:plan"
            rf"|hope|intend|aim|want) to (?:become|learn|start|open|move|write"
            rf"|visit|adopt|buy|build|study|run a|launch|volunteer|get (?:a"
            rf"|an|my|married)|go to|create|teach)|(?:I'm|I am|[Ww]e're|[Ww]e are){_ADVERBS} (?:saving (?:up )?"
            rf"for|planning to|hoping to (?!get|find|hear|see|have|learn)"
            rf"|applying|training for|preparing for|researching|expecting a) )"
        ),
        accept=_rest_says_something,
        ahead=True,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            r"(?:I've|[Ww]e've|I have|[Ww]e have)(?: been| always| also| only"
            r"| just| already| actually)* (?P<verb>[a-z]+(?:ed|ing|en|t|n"
            r"|d))\b(?=.*\b(?:for (?:\d+|an?|two|three|four|five|six|seven"
            r"|eight|nine|ten|many|several|a few|almost|over|about|nearly"
            r"|years)|since)\b)"
        ),
        accept=lambda match: (
            _has_object(match)
            and match["verb"]
            not in {
                "waiting",
                "wanted",
                "looking",
                "known",
                "had",
                "thinking",
                "meant",
                "feeling",
                "chatting",
                "talking",
            }
        ),
    ),
)
_PURSUITS = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(rf"(?:{_WE_OR_I}|{_MY} [\w-]+ and I) (?P<verb>{lists.DEEDS})\b"),
        accept=lambda match: _rest_says_something(match) and not _is_faint(match.string),
    ),
    Rule(
        kind="preference",
        category="user-preferences/general",
        pattern=_compiled(
            r"(?:I've|I have) always (?:had an? (?:love|passion|soft spot"
            r"|thing|weakness|fascination) for|been (?:into|interested in"
            r"|fascinated by|fond of|good at|drawn to))"
        ),
        accept=_is_liking,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"(?:{_IM}|I've been|[Ww]e're|[Ww]e've been){_ADVERBS} (?:starting"
            rf"|opening|launching|writing|building|creating|designing|developing"
            rf"|setting up|putting together|renovating|remodell?ing|planning"
            rf"|organi[sz]ing|looking into|searching for|expanding|turning"
            rf"|writing|teaching|running|hosting|researching|working on|working with"
            rf"|restoring|volunteering|studying|taking|practi[sc]ing|learning"
            rf"|trying out|training|saving)(?: (?:an?|my|our|the|some|for"
            rf"|at|with|as|new))*+ (?!it\b|to\b|this|that|on\b|how|out|up\b"
            rf"|so|break|hard|lots?\b|ton\b|care)"
        ),
        accept=lambda match: (
            _rest_says_something(match) and not _is_faint(match.string) and len(match.string.split()) > 4
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            rf"{_I} (?:play|teach|coach|mentor|manage|collect|study|volunteer"
            rf"|foster|raise|breed|used to) (?!with|this|that|it\b|them|you"
            rf"|think|be |feel|a (?:big|huge|key|part|role)|around|love)"
        ),
        accept=_rest_says_something,
    ),
)
_OBLIGED = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            r"(?:I|[Ww]e) (?:have|'ve got) (?:an?|my|our) (?:(?!chance|question"
            r"|feeling|good|great|blast|lot|bit|problem|idea|issue)[\w-]+)"
        ),
        accept=_has_time_behind,
        ahead=True,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(
            r"(?:I weigh|(?:I'm|I am) (?:about )?\d[\d.,]* ?(?:cm|m|feet"
            r"|ft|kg|pounds|lbs)|(?:I|[Ww]e) (?:drive|ride|own|have) an? (?:(?:new"
            r"|used|old|\d{4}|[a-z]+) )?[A-Z]\w+)\b"
        ),
    ),
    Rule(
        kind="preference",
        category="user-preferences/tools",
        pattern=re.compile(
            r"(?:I|[Ww]e)(?: mostly| usually| only| mainly| always)? use (?!it"
            r"|this|that|them|my|the|to|you|some|a)[\w.+#-]+(?: (?:for|as"
            r"|on|at) .+)?$"
        ),
        listener="agent",
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(rf"{_WE_OR_I} had to (?P<verb>[a-z]+(?: (?:down|up|off|out))?) (?:my|our|the|a|an)\b"),
        accept=lambda match: (
            _has_object(match) and match["verb"] not in {"do", "take", "be", "make", "find", "have", "see", "say"}
        ),
    ),
    Rule(
        kind="preference",
        category="user-preferences/general",
        pattern=re.compile(
            r"(?!(?:[Ii]t|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Tt]hey|[Hh]e"
            r"|[Ss]he|[Yy]ou|[Tt]here|[Oo]ne|[Ww]hat)\b)[\w'&-]+(?: [\w'&-]+?){0,5} (?:is"
            r"|are)(?: \w+ly)? (?:my|our) (?:top pick|go-to|hobby|hobbies"
            r"|stress relief|stress reliever|comfort food|guilty pleasure"
            r"|favou?rites?|fave)\b"
        ),
    ),
)
_PAST = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=_compiled(rf"{_WE_OR_I} (?P<verb>[a-z]+)\b(?! to\b)"),
        accept=lambda match: _is_deed(match),
        listener="people",
    ),
)
_GIVEN = (
    Rule(
        kind="fact",
        category="general",
        pattern=re.compile(
            rf"(?:[Tt]he|[A-Z])[\w' -]{{2,40}} (?:is|are|costs?|was) (?:at "
            rf"|on |due |about )?{_NUMBER}(?: ?(?:€|euros?|dollars?|usd|eur"
            rf"|%|kg|km|miles|percent))?$"
        ),
        listener="agent",
    ),
)


def _is_plain_favourite(match: re.Match[str]) -> bool:
    said = match.string[match.end() :]
    vague = match["area"] in {"part", "thing", "things", "moment", "way", "bit", "memory", "one", "ones", "time"}
    return (
        not vague
        and says_something(said)
        and re.match(r"(?:definitely |probably )?(?:this|that|these|those|when|it|how|what)\b", said) is None
    )


RULES = (
    *_IDENTITY,
    *_PREFERENCES[:2],
    *_OWNED,
    *_DECISIONS,
    *_ACTIONS,
    *_PROJECTS,
    *_PREFERENCES[2:],
    *_EVENTS,
    *_PURSUITS,
    *_OBLIGED,
    *_PAST,
    *_GIVEN,
)
