"""The table of rules: clauses worth keeping as an entry, in the order in which they are tried."""

from __future__ import annotations

import re
from functools import partial

from langmem_tiers.language import vocabulary as lists
from langmem_tiers.language.calendar import MONTHS, WEEKDAY_NAMES
from langmem_tiers.language.clauses import COUNTED, I_AM, I_DO, IS, MY, NAMED, SOME_ADVERBS, WE_OR_I
from langmem_tiers.language.dates import SPOKEN
from langmem_tiers.language.numbers import cardinals
from langmem_tiers.language.rules import (
    Accept,
    Found,
    Listener,
    has_object,
    has_time,
    has_time_behind,
    is_deed,
    is_detailed,
    is_faint,
    is_first_name,
    is_fresh,
    is_habit,
    is_liking,
    is_plain,
    is_said_of_kin,
    is_told_of,
    is_under_way,
    names_a_person,
    names_a_place,
    rest_says_something,
    rule,
    says_something,
)

_of_user = partial(rule, "fact", "people/{me}")
_liking = partial(rule, "preference", "user-preferences/general")
_favourite = partial(rule, "preference", "user-preferences/{area}")
_habit = partial(rule, "preference", "user-preferences/habits")
_action = partial(rule, "action", "actions")
_decision = partial(rule, "decision", "decisions")
_of_project = partial(rule, "fact", "project-context/{what}")


def _does_other_than(verbs: str, *, timed: bool = False) -> Accept:
    """Accepts a deed with an object, by a verb other than these, with a time if it has to be `timed`."""
    vague = frozenset(verbs.split())
    return lambda match: has_object(match) and match["verb"] not in vague and (not timed or has_time(match))


IDENTITY = (
    _of_user(rf"[Mm]y (?:full |first |last |real |middle |maiden )?(?:name|surname|nickname){IS} (?:{NAMED}|[a-z]+$)"),
    rule(
        "preference",
        "people/{me}",
        "(?:[Yy]ou can |[Pp]lease |[Jj]ust |(?:[Mm]y )?(?:[Ff]riends|[Ee]veryone"
        f"|[Pp]eople) )?[Cc]all(?:s)? me (?P<name>{NAMED}(?: {NAMED})?)(?: instead| for short| please)?$",
        accept=names_a_person,
        form="{They} wants to be called {name}",
        timed=False,
    ),
    _of_user(
        rf"(?:I go by|I'm called|I am called|I'm|I am|[Tt]his is) (?P<name>{NAMED})(?: {NAMED})?$",
        accept=is_first_name,
        form="{Their} name is {name}",
        timed=False,
    ),
    _of_user(
        f"(?:{I_DO} (?:live|lived|grew up|moved|relocated|come from|reside|was born|was raised|immigrated"
        rf"|emigrated)|{I_AM} (?:living|from|based|born|raised|moving|relocating))\b",
        accept=names_a_place,
    ),
    _of_user(
        f"(?:{I_DO} (?:work|worked|have worked)|(?:I've|I have) (?:been working|worked)|{I_AM} working) (?:at"
        r"|for|as|in|part-time|full-time|remotely|nights)\b",
        accept=lambda match: (
            rest_says_something(match)
            and not re.match(r" (?:it|this|that|a (?:lot|while|way))\b", match.string[match.end() :])
        ),
    ),
    _of_user(rf"(?:{I_AM}|I used to be|I became|I'm not) an? (?:{lists.BEING})\b"),
    _of_user(rf"{I_AM}(?: not)? (?:{lists.STATES})\b"),
    _of_user(
        rf"(?:{I_AM}|I turned|I just turned|I'm turning|I'll be|I am turning) \d{{1,3}}(?! ?(?:%"
        rf"|percent|minutes|min|hours|km|miles))\b"
    ),
    _of_user(
        rf"(?:{I_DO} (?:have|had|suffer from|was diagnosed with|live with)"
        rf"|(?:I've|I have|I) (?:been|was) diagnosed with) (?:{lists.CONDITIONS})\b"
    ),
    _of_user(
        f"(?:{I_DO} (?:speak|studied|major|majored|minored|graduated)|{I_AM} (?:studying|learning|majoring|fluent"
        "|training)|I'm taking|I am taking) (?!about|up|out|to |so |how |a lot|a ton|tons|lots|more|from |care)",
        accept=rest_says_something,
    ),
)


OWNED = (
    _of_user(
        rf"(?:{WE_OR_I} )(?:have|own|had|got|adopted|am getting) (?:{COUNTED}) (?:[\w-]+ ){{0,2}}?(?:"
        rf"{lists.KIN})\b(?! (?:of|day|time|moment))"
    ),
    _of_user(
        f"(?:{WE_OR_I} )(?:have|own|had|got|adopted|bought|drive|ride|play) (?:{COUNTED}|the) (?:(?!with|of"
        rf"|in|for|my|on|about|to\b)[\w-]+ ){{0,3}}?(?:{lists.PETS}|{lists.THINGS})\b"
    ),
    rule(
        "fact",
        "people/{relation}",
        rf"{MY} (?:\w+ )?(?P<relation>{lists.KIN})(?:'s (?:name|birthday|job|dog|cat|house|wedding|phone number"
        f"|email))?(?:,? {NAMED},?)?"
        "(?: (?:is|are|was|were|'s) (?!about|in need)|'s (?=(?:an?|named|called|allergic|turning|from|coming"
        r"|getting|\d)\b)| (?:lives?|lived|works?|worked|moved|died|passed away|studies|studied|goes to|attends?"
        "|plays?|likes?|loves?|hates?|prefers?|turned|turns|got (?:married|engaged|a|an|promoted|divorced|into"
        r"|diagnosed)|has an?|have an?|has (?:\w+ )?(?:allerg|asthma|diabetes)|owns?|bought|adopted|started (?:a"
        "|an|school|college|university|[a-z]+ing)|graduated|retired|gave me|made me an?|taught me|came|is coming"
        "|are coming|is visiting|visited|runs an?|opened|and I (?:went|visited|made|took|finished|painted|moved"
        r"|bought|have|are|live|got|hiked|camped|had|adopted|planted|built|started|like|love|enjoy|play))\b)",
        accept=is_said_of_kin,
    ),
    _of_user(
        rf"{MY} (?P<pet>{lists.PETS})(?:,? {NAMED},?)?(?:'s name)?(?:{IS}"
        rf"| (?:has|have|loves?|likes?|eats?|hates?|died|got|turned)\b)",
        accept=is_plain,
    ),
    _of_user(rf"{MY} (?:new |old |current |next )?(?:{lists.FACTS}|{lists.THINGS}){IS}\b", accept=is_plain),
)


def _is_plain_favourite(match: re.Match[str]) -> bool:
    said = match.string[match.end() :]
    vague = match["area"] in {"part", "thing", "things", "moment", "way", "bit", "memory", "one", "ones", "time"}
    return (
        not vague
        and says_something(said)
        and re.match(r"(?:definitely |probably )?(?:this|that|these|those|when|it|how|what)\b", said) is None
    )


PREFERENCES = (
    _favourite(
        rf"{MY} (?:all-time |absolute |personal |current )?(?:fav(?:ou?rite"
        rf"|e)?s?) (?P<area>[a-z][\w-]+)(?: [\w' -]+?)??{IS} ",
        accept=_is_plain_favourite,
    ),
    _favourite(
        "(?!(?:[Ii]t|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Tt]hey|[Hh]e|[Ss]he|[Yy]ou|[Tt]here|[Oo]ne"
        r"|[Ww]hat)\b)[\w'&-]+(?: [\w'&-]+?){0,5}(?: is| are|(?<=\w)'s) (?:one of )?(?:my|our) (?:all-time "
        r"|absolute )?fav(?:ou?rite|e)?s?(?: (?P<area>[a-z][\w-]+))?",
        timed=False,
    ),
    _liking(
        rf"(?:{I_DO}|{I_AM.replace('I was|', '')}|I've always|[Ww]e|[Ww]e've always){SOME_ADVERBS} (?:"
        rf"{lists.LIKING}|liked|loved|loving|enjoying)\b(?! (?:if|for))",
        accept=is_liking,
    ),
    _liking(r"(?:I'd|I would) (?:much |always )?(?:rather|prefer)\b", accept=rest_says_something),
    _liking(
        f"{I_AM}(?: (?:not|so|very|super|quite|pretty|a))*(?: (?:big|huge|massive|real))?(?: (?:fan of|into"
        "|fond of|obsessed with|passionate about|interested in|keen on|addicted to|afraid of|scared of"
        r"|terrified of|crazy about))\b",
        accept=is_liking,
    ),
    _habit(
        r"(?:I|[Ww]e) (?:always|never|usually|often|typically|normally"
        r"|rarely|seldom|hardly ever|mostly|generally|regularly) (?P<verb>[a-z]+)",
        accept=is_habit,
    ),
    _habit(
        r"(?:[Ee]very (?:day|week|month|year|morning|evening|night|weekend|summer|winter|\w+day),? )?(?:I"
        r"|[Ww]e)(?: also| usually| still| try to){0,3} (?P<verb>[a-z]+)\b(?=.*\b(?:every (?:day|other day"
        r"|week|month|year|morning|evening|night|weekend|summer|winter|spring|fall|\w+day)|each (?:day|morning"
        r"|night|week)|(?:once|twice|three times|\d times) a (?:day|week|month|year)|on (?:weekends|\w+days)"
        "|daily|weekly))",
        accept=is_habit,
        timed=False,
    ),
    _habit(
        "(?:[Ee]very|[Ee]ach) (?:day|week|month|year|morning|evening|night|weekend|summer|winter"
        r"|[A-Z]?\w+day),? (?:I|[Ww]e)(?: also| usually| still| try to){0,3} (?P<verb>[a-z]+)",
        accept=is_habit,
        timed=False,
    ),
    rule(
        "preference",
        "user-preferences/assistant",
        "(?:[Pp]lease )?(?:[Nn]ever|[Aa]lways|[Ff]rom now on,?|[Ii]n (?:the )?future,?|[Dd]o not ever"
        "|[Dd]on't ever) (?:please )?(?!(?:give|mind|forget|say|know|be|been|mine|had|have|thought|knew|stop"
        r"|i|a|the|wanted|loved|gets?|happy|good|nice)\b)[a-z]+ \w+",
        listener="agent",
        quoted=True,
        timed=False,
    ),
)


_SURE_MONTHS = "|".join(month for month in MONTHS if month != "may")


DECISIONS = (
    _decision(
        rf"{WE_OR_I} (?:decided|agreed|chose|settled on|opted|picked (?!up)"
        r"|went with(?! (?:my|our|him|her|them|an? friend|some|[A-Z]))|made up (?:my|our) minds?)\b",
        accept=is_detailed,
    ),
    _decision(
        "(?:[Ll]et's|[Ll]et us) (?P<choice>(?:go with|use|stick (?:with|to)|switch to|stay with"
        r"|settle on) (?!it|that|this|the flow|them|your)[\w].*)",
        form="{They} decided to {choice}",
        listener="agent",
        ahead=True,
        timed=False,
    ),
    _decision(
        "(?:(?:I'll|[Ww]e'll|I will|[Ww]e will) (?:use|go with|take|stick (?:with|to)|switch to|stay with)"
        "|(?:I'm|[Ww]e're|I am|[Ww]e are) (?:going with|switching to|sticking with|going to (?:use|go with"
        "|switch to))) (?!it|that|this|them|you|care|a (?:break|look))",
        accept=rest_says_something,
        ahead=True,
    ),
    _decision(r"(?:[Tt]he|[Oo]ur|[Mm]y) (?:final )?decision(?:'s| is| was) ", accept=rest_says_something),
)


ACTIONS = (
    _action(
        "(?:I|[Ww]e)(?:'ll| will)?(?: also| still| really)? (?:have to|need to|must|got to|should"
        r"|am supposed to|promised to|shall|'ll|will|'m going to|am going to)(?: also)? (?P<verb>\w+)",
        accept=_does_other_than("be feel never always see", timed=True),
        ahead=True,
    ),
    _action(
        "(?:[Pp]lease )?(?:(?P<asked>[Rr]emind me (?:to|that|about))|(?:[Dd]on't|[Dd]o not) (?:let me )?forget to) ",
        accept=lambda match: rest_says_something(match) and (match["asked"] or SPOKEN.search(match.string)) is not None,
        listener="agent",
        ahead=True,
        quoted=True,
        timed=False,
    ),
    _action(r"(?:TODO|To-?do|Action item|AI):? \w", accept=rest_says_something, quoted=True, ahead=True, timed=False),
)


PROJECTS = (
    _of_project(
        rf"(?:[Tt]he|[Oo]ur|[Mm]y) (?:[\w-]+ ){{0,2}}?(?P<what>budget|deadline|rent|salary|price|cost|fee"
        "|deposit|flight|train|meeting|appointment|launch|release|delivery|invoice|total|exam|interview"
        "|wedding|contract|lease|ticket|due date|kick-?off|demo|surgery|operation|passport|visa|job|class"
        f"|course|semester|school|term|office|train|bus)(?:{IS}| starts?| begins?| ends?| leaves?| departs?"
        rf"| arrives?| expires?| costs?| closes?| opens?) (?=.*(?i:\d|{WEEKDAY_NAMES}|tomorrow|{_SURE_MONTHS}))",
        accept=lambda match: re.match(r" ?(?:that|which|we|you|i)\b", match.string[match.end() :].lower()) is None,
        ahead=True,
    ),
    _of_project(
        rf"(?:[Oo]ur|[Mm]y) (?:[\w-]+ )?(?P<what>{lists.PROJECT})(?: (?:uses?|runs?|is (?:written|built|hosted"
        "|called|based|named|in|on|at|about|for|due)|has|consists|needs|opens?|launches|sells|starts)"
        r"|'s (?:called|named|based))\b",
        accept=is_plain,
    ),
    rule(
        "fact",
        "project-context/general",
        "(?:I|[Ww]e)(?:'re|'m| are| am)? (?:use|run|deploy|host|using|running|deploying|migrating|building"
        r"|developing|working on)\b (?!it|this|that|out|into|around|some|my|so|on|how|ways|making)",
        accept=lambda match: (
            re.search(
                r"[A-Z]\w|\d|\b(?:app|api|project|website|book|thesis|game|database|server|library|novel|album)\b",
                match.string[match.end() :],
            )
            is not None
        ),
    ),
)


EVENTS = (
    _of_user(
        rf"{WE_OR_I} (?:{lists.TURNING_POINTS})\b(?!')",
        accept=lambda match: (
            not is_faint(match.string) and (rest_says_something(match) or SPOKEN.search(match.string) is not None)
        ),
        happened=True,
    ),
    _of_user(
        rf"(?:{WE_OR_I}|{MY} [\w-]+ and I) (?P<verb>{lists.HAPPENINGS})\b(?! to\b)",
        accept=lambda match: has_object(match) and (SPOKEN.search(match.string) is not None or is_fresh(match)),
        happened=True,
    ),
    _of_user(
        rf"(?:I'm|I am|[Ww]e're|[Ww]e are){SOME_ADVERBS} (?P<verb>{lists.UPCOMING})\b",
        accept=lambda match: has_object(match) and SPOKEN.search(match.string) is not None,
        ahead=True,
    ),
    _of_user(
        f"(?:{MY} (?:big |biggest |main |ultimate |long-term )?(?:goal|dream|plan|ambition|hobby|hobbies"
        f"|resolution){IS} |(?:I|[Ww]e){SOME_ADVERBS} (?:plan|hope|intend|aim|want) to (?:become|learn|start"
        "|open|move|write|visit|adopt|buy|build|study|run a|launch|volunteer|get (?:a|an|my|married)|go to"
        f"|create|teach)|(?:I'm|I am|[Ww]e're|[Ww]e are){SOME_ADVERBS} (?:saving (?:up )?for|planning to"
        "|hoping to (?!get|find|hear|see|have|learn)|applying|training for|preparing for|expecting a) )",
        accept=rest_says_something,
        ahead=True,
    ),
    _of_user(
        r"(?:I've|[Ww]e've|I have|[Ww]e have)(?: been| always| also| only"
        r"| just| already| actually)* (?P<verb>[a-z]+(?:ed|ing|en|t|n"
        rf"|d))\b(?=.*\b(?:for (?:\d+|an?|{cardinals(2, 10)}|many|several|a few|almost|over|about|nearly"
        r"|years)|since)\b)",
        accept=_does_other_than("waiting wanted looking known had thinking meant feeling chatting talking"),
    ),
)


PURSUITS = (
    _of_user(
        rf"(?:{WE_OR_I}|{MY} [\w-]+ and I) (?P<verb>{lists.DEEDS})\b",
        accept=lambda match: is_told_of(match) and not is_faint(match.string),
        happened=True,
    ),
    _liking(
        "(?:I've|I have) always (?:had an? (?:love|passion|soft spot|thing|weakness|fascination) for"
        "|been (?:into|interested in|fascinated by|fond of|good at|drawn to))",
        accept=is_liking,
    ),
    _of_user(
        f"(?:{I_AM}|I've been|[Ww]e're|[Ww]e've been){SOME_ADVERBS} (?:starting|opening|launching|writing"
        "|building|creating|designing|developing|setting up|putting together|renovating|remodell?ing"
        "|planning|organi[sz]ing|looking into|searching for|expanding|turning|writing|teaching|running"
        "|hosting|researching|working on|working with|restoring|volunteering|studying|taking|practi[sc]ing"
        r"|learning|trying out|training|saving)(?: (?:an?|my|our|the|some|for|at|with|as|new))*+ (?!it\b|to\b"
        r"|this|that|on\b|how|out|up\b|so|break|hard|lots?\b|ton\b|care|notes|photos|pictures|steps|time\b)",
        accept=is_under_way,
    ),
    _of_user(
        f"{I_DO} (?:play|teach|coach|mentor|manage|collect|study|volunteer|foster|raise|breed"
        r"|used to) (?!with|this|that|it\b|them|you|think|be |feel|a (?:big|huge|key|part|role)|around|love)",
        accept=rest_says_something,
    ),
)


OBLIGED = (
    _of_user(
        r"(?:I|[Ww]e) (?:have|'ve got) (?:an?|my|our) (?:(?!chance|question"
        r"|feeling|good|great|blast|lot|bit|problem|idea|issue)[\w-]+)",
        accept=has_time_behind,
        ahead=True,
    ),
    _of_user(
        r"(?:I weigh|(?:I'm|I am) (?:about )?\d[\d.,]* ?(?:cm|m|feet|ft|kg|pounds|lbs)|(?:I|[Ww]e) (?:drive"
        r"|ride|own|have) an? (?:(?:new|used|old|\d{4}|[a-z]+) )?[A-Z]\w+)\b"
    ),
    rule(
        "preference",
        "user-preferences/tools",
        "(?:I|[Ww]e)(?: mostly| usually| only| mainly| always)? use (?!it|this|that|them|my|the|to|you|some"
        r"|a)[\w.+#-]+(?: (?:for|as|on|at) .+)?$",
        listener="agent",
        timed=False,
    ),
    _of_user(
        rf"{WE_OR_I} had to (?P<verb>[a-z]+(?: (?:down|up|off|out))?) (?:my|our|the|a|an)\b",
        accept=_does_other_than("do take be make find have see say"),
    ),
    _liking(
        "(?!(?:[Ii]t|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Tt]hey|[Hh]e|[Ss]he|[Yy]ou|[Tt]here|[Oo]ne"
        r"|[Ww]hat)\b)[\w'&-]+(?: [\w'&-]+?){0,5} (?:is|are)(?: \w+ly)? (?:my|our) (?:top pick|go-to|hobby"
        r"|hobbies|stress relief|stress reliever|comfort food|guilty pleasure|favou?rites?|fave)\b",
        timed=False,
    ),
)


PAST = (_of_user(rf"{WE_OR_I} (?P<verb>[a-z]+)\b(?! to\b)", accept=is_deed, listener="people", happened=True),)


def first_fitting(clause: str, listener: Listener) -> Found | None:
    """The first rule of the table that matches the clause."""
    for each in RULES:
        match = each.pattern.match(clause) if each.listener in {"anyone", listener} else None
        if match and each.accept(match):
            return Found(rule=each, match=match)
    return None


RULES = (
    *(*IDENTITY, *PREFERENCES[:2], *OWNED, *DECISIONS, *ACTIONS, *PROJECTS),
    *(*PREFERENCES[2:], *EVENTS, *PURSUITS, *OBLIGED, *PAST),
)
