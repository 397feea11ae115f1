"""Rules for what is decided, to be done, and known of a project."""

from __future__ import annotations

import re

from langmem_tiers.writing.extractive import vocabulary as lists
from langmem_tiers.writing.extractive.dating import SPOKEN
from langmem_tiers.writing.extractive.patterns import IS, WE_OR_I, compiled
from langmem_tiers.writing.extractive.rule import Rule
from langmem_tiers.writing.extractive.telling import has_object, has_time, is_detailed, is_plain, rest_says_something

DECISIONS = (
    Rule(
        kind="decision",
        category="decisions",
        pattern=compiled(
            rf"{WE_OR_I} (?:decided|agreed|chose|settled on|opted|picked (?!up)"
            r"|went with(?! (?:my|our|him|her|them|an? friend|some|[A-Z]))|made up (?:my|our) minds?)\b"
        ),
        accept=is_detailed,
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
        pattern=compiled(
            r"(?:(?:I'll|[Ww]e'll|I will|[Ww]e will) (?:use|go with|take"
            r"|stick (?:with|to)|switch to|stay with)|(?:I'm|[Ww]e're|I am"
            r"|[Ww]e are) (?:going with|switching to|sticking with|going to (?:use"
            r"|go with|switch to))) (?!it|that|this|them|you|care|a (?:break"
            r"|look))"
        ),
        accept=rest_says_something,
        ahead=True,
    ),
    Rule(
        kind="decision",
        category="decisions",
        pattern=compiled(r"(?:[Tt]he|[Oo]ur|[Mm]y) (?:final )?decision(?:'s| is| was) "),
        accept=rest_says_something,
    ),
)


ACTIONS = (
    Rule(
        kind="action",
        category="actions",
        pattern=compiled(
            r"(?:I|[Ww]e)(?:'ll| will)?(?: also| still| really)? (?:have to"
            r"|need to|must|got to|should|am supposed to|promised to|shall"
            r"|'ll|will|'m going to|am going to)(?: also)? (?P<verb>\w+)"
        ),
        accept=lambda match: (
            has_object(match) and has_time(match) and match["verb"] not in {"be", "feel", "never", "always", "see"}
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
        accept=lambda match: rest_says_something(match) and (match["asked"] or SPOKEN.search(match.string)) is not None,
        listener="agent",
        ahead=True,
        quoted=True,
    ),
    Rule(
        kind="action",
        category="actions",
        pattern=re.compile(r"(?:TODO|To-?do|Action item|AI):? \w"),
        accept=rest_says_something,
        quoted=True,
        ahead=True,
    ),
)


PROJECTS = (
    Rule(
        kind="fact",
        category="project-context/{what}",
        pattern=compiled(
            rf"(?:[Tt]he|[Oo]ur|[Mm]y) (?:[\w-]+ ){{0,2}}?(?P<what>budget"
            rf"|deadline|rent|salary|price|cost|fee|deposit|flight|train|meeting"
            rf"|appointment|launch|release|delivery|invoice|total|exam|interview"
            rf"|wedding|contract|lease|ticket|due date|kick-?off|demo|surgery"
            rf"|operation|passport|visa|job|class|course|semester|school|term"
            rf"|office|train|bus)(?:{IS}| starts?| begins?| ends?| leaves?"
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
        pattern=compiled(
            rf"(?:[Oo]ur|[Mm]y) (?:[\w-]+ )?(?P<what>{lists.PROJECT})(?: (?:uses?"
            rf"|runs?|is (?:written|built|hosted|called|based|named|in|on"
            rf"|at|about|for|due)|has|consists|needs|opens?|launches|sells"
            rf"|starts)|'s (?:called|named|based))\b"
        ),
        accept=is_plain,
    ),
    Rule(
        kind="fact",
        category="project-context/general",
        pattern=compiled(
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
