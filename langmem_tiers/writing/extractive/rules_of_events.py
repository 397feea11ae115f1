"""Rules for what happened, is going on or is to come."""

from __future__ import annotations

import re

from langmem_tiers.writing.extractive import vocabulary as lists
from langmem_tiers.writing.extractive.dating import SPOKEN
from langmem_tiers.writing.extractive.patterns import I_AM, I_DO, IS, MY, SOME_ADVERBS, WE_OR_I, compiled
from langmem_tiers.writing.extractive.rule import Rule
from langmem_tiers.writing.extractive.telling import (
    has_object,
    has_time_behind,
    is_deed,
    is_faint,
    is_fresh,
    is_liking,
    is_told_of,
    is_under_way,
    rest_says_something,
)

EVENTS = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(rf"{WE_OR_I} (?:{lists.TURNING_POINTS})\b(?!')"),
        accept=lambda match: (
            not is_faint(match.string) and (rest_says_something(match) or SPOKEN.search(match.string) is not None)
        ),
        happened=True,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(rf"(?:{WE_OR_I}|{MY} [\w-]+ and I) (?P<verb>{lists.HAPPENINGS})\b(?! to\b)"),
        accept=lambda match: has_object(match) and (SPOKEN.search(match.string) is not None or is_fresh(match)),
        happened=True,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(rf"(?:I'm|I am|[Ww]e're|[Ww]e are){SOME_ADVERBS} (?P<verb>{lists.UPCOMING})\b"),
        accept=lambda match: has_object(match) and SPOKEN.search(match.string) is not None,
        ahead=True,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"(?:{MY} (?:big |biggest |main |ultimate |long-term )?(?:goal"
            rf"|dream|plan|ambition|hobby|hobbies|resolution){IS} |(?:I|[Ww]e){SOME_ADVERBS} (?:plan"
            rf"|hope|intend|aim|want) to (?:become|learn|start|open|move|write"
            rf"|visit|adopt|buy|build|study|run a|launch|volunteer|get (?:a"
            rf"|an|my|married)|go to|create|teach)|(?:I'm|I am|[Ww]e're|[Ww]e are){SOME_ADVERBS} (?:saving (?:up )?"
            rf"for|planning to|hoping to (?!get|find|hear|see|have|learn)"
            rf"|applying|training for|preparing for|expecting a) )"
        ),
        accept=rest_says_something,
        ahead=True,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            r"(?:I've|[Ww]e've|I have|[Ww]e have)(?: been| always| also| only"
            r"| just| already| actually)* (?P<verb>[a-z]+(?:ed|ing|en|t|n"
            r"|d))\b(?=.*\b(?:for (?:\d+|an?|two|three|four|five|six|seven"
            r"|eight|nine|ten|many|several|a few|almost|over|about|nearly"
            r"|years)|since)\b)"
        ),
        accept=lambda match: (
            has_object(match)
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


PURSUITS = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(rf"(?:{WE_OR_I}|{MY} [\w-]+ and I) (?P<verb>{lists.DEEDS})\b"),
        accept=lambda match: is_told_of(match) and not is_faint(match.string),
        happened=True,
    ),
    Rule(
        kind="preference",
        category="user-preferences/general",
        pattern=compiled(
            r"(?:I've|I have) always (?:had an? (?:love|passion|soft spot"
            r"|thing|weakness|fascination) for|been (?:into|interested in"
            r"|fascinated by|fond of|good at|drawn to))"
        ),
        accept=is_liking,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"(?:{I_AM}|I've been|[Ww]e're|[Ww]e've been){SOME_ADVERBS} (?:starting"
            rf"|opening|launching|writing|building|creating|designing|developing"
            rf"|setting up|putting together|renovating|remodell?ing|planning"
            rf"|organi[sz]ing|looking into|searching for|expanding|turning"
            rf"|writing|teaching|running|hosting|researching|working on|working with"
            rf"|restoring|volunteering|studying|taking|practi[sc]ing|learning"
            rf"|trying out|training|saving)(?: (?:an?|my|our|the|some|for"
            rf"|at|with|as|new))*+ (?!it\b|to\b|this|that|on\b|how|out|up\b"
            rf"|so|break|hard|lots?\b|ton\b|care|notes|photos|pictures|steps|time\b)"
        ),
        accept=is_under_way,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"{I_DO} (?:play|teach|coach|mentor|manage|collect|study|volunteer"
            rf"|foster|raise|breed|used to) (?!with|this|that|it\b|them|you"
            rf"|think|be |feel|a (?:big|huge|key|part|role)|around|love)"
        ),
        accept=rest_says_something,
    ),
)


OBLIGED = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            r"(?:I|[Ww]e) (?:have|'ve got) (?:an?|my|our) (?:(?!chance|question"
            r"|feeling|good|great|blast|lot|bit|problem|idea|issue)[\w-]+)"
        ),
        accept=has_time_behind,
        ahead=True,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
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
        pattern=compiled(rf"{WE_OR_I} had to (?P<verb>[a-z]+(?: (?:down|up|off|out))?) (?:my|our|the|a|an)\b"),
        accept=lambda match: (
            has_object(match) and match["verb"] not in {"do", "take", "be", "make", "find", "have", "see", "say"}
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


PAST = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(rf"{WE_OR_I} (?P<verb>[a-z]+)\b(?! to\b)"),
        accept=is_deed,
        listener="people",
        happened=True,
    ),
)
