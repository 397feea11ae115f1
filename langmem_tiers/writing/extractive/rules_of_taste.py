"""Rules for what people like and do as a habit, and for how an agent is to treat them."""

from __future__ import annotations

import re

from langmem_tiers.writing.extractive import vocabulary as lists
from langmem_tiers.writing.extractive.patterns import I_AM, I_DO, IS, MY, SOME_ADVERBS, compiled
from langmem_tiers.writing.extractive.rule import Rule
from langmem_tiers.writing.extractive.telling import is_habit, is_liking, rest_says_something, says_something


def _is_plain_favourite(match: re.Match[str]) -> bool:
    said = match.string[match.end() :]
    vague = match["area"] in {"part", "thing", "things", "moment", "way", "bit", "memory", "one", "ones", "time"}
    return (
        not vague
        and says_something(said)
        and re.match(r"(?:definitely |probably )?(?:this|that|these|those|when|it|how|what)\b", said) is None
    )


PREFERENCES = (
    Rule(
        kind="preference",
        category="user-preferences/{area}",
        pattern=compiled(
            rf"{MY} (?:all-time |absolute |personal |current )?(?:fav(?:ou?rite"
            rf"|e)?s?) (?P<area>[a-z][\w-]+)(?: [\w' -]+?)??{IS} "
        ),
        accept=_is_plain_favourite,
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
        pattern=compiled(
            rf"(?:{I_DO}|{I_AM.replace('I was|', '')}|I've always|[Ww]e|[Ww]e've always){SOME_ADVERBS} (?:"
            rf"{lists.LIKING}|liked|loved|loving|enjoying)\b(?! (?:if|for))"
        ),
        accept=is_liking,
    ),
    Rule(
        kind="preference",
        category="user-preferences/general",
        pattern=compiled(r"(?:I'd|I would) (?:much |always )?(?:rather|prefer)\b"),
        accept=rest_says_something,
    ),
    Rule(
        kind="preference",
        category="user-preferences/general",
        pattern=compiled(
            rf"{I_AM}(?: (?:not|so|very|super|quite|pretty|a))*(?: (?:big|huge"
            rf"|massive|real))?(?: (?:fan of|into|fond of|obsessed with|passionate about"
            rf"|interested in|keen on|addicted to|afraid of|scared of|terrified of"
            rf"|crazy about))\b"
        ),
        accept=is_liking,
    ),
    Rule(
        kind="preference",
        category="user-preferences/habits",
        pattern=compiled(
            r"(?:I|[Ww]e) (?:always|never|usually|often|typically|normally"
            r"|rarely|seldom|hardly ever|mostly|generally|regularly) (?P<verb>[a-z]+)"
        ),
        accept=is_habit,
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
        accept=is_habit,
    ),
    Rule(
        kind="preference",
        category="user-preferences/habits",
        pattern=re.compile(
            r"(?:[Ee]very|[Ee]ach) (?:day|week|month|year|morning|evening"
            r"|night|weekend|summer|winter|[A-Z]?\w+day),? (?:I|[Ww]e)(?: also"
            r"| usually| still| try to)* (?P<verb>[a-z]+)"
        ),
        accept=is_habit,
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
