"""Rules for what people are and have: names, homes, jobs, health, kin, pets and things."""

from __future__ import annotations

import re

from langmem_tiers.writing.extractive import vocabulary as lists
from langmem_tiers.writing.extractive.patterns import COUNTED, I_AM, I_DO, IS, MY, NAMED, WE_OR_I, compiled
from langmem_tiers.writing.extractive.rule import Rule
from langmem_tiers.writing.extractive.telling import (
    is_first_name,
    is_plain,
    is_said_of_kin,
    names_a_person,
    names_a_place,
    rest_says_something,
)

IDENTITY = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"[Mm]y (?:full |first |last |real |middle |maiden )?(?:name|surname|nickname){IS} (?:{NAMED}|[a-z]+$)"
        ),
    ),
    Rule(
        kind="preference",
        category="people/{me}",
        pattern=re.compile(
            rf"(?:[Yy]ou can |[Pp]lease |[Jj]ust |(?:[Mm]y )?(?:[Ff]riends"
            rf"|[Ee]veryone|[Pp]eople) )?[Cc]all(?:s)? me (?P<name>{NAMED}(?: {NAMED})?)(?: instead"
            rf"| for short| please)?$"
        ),
        accept=names_a_person,
        form="{They} wants to be called {name}",
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=re.compile(rf"(?:I go by|I'm called|I am called|I'm|I am|[Tt]his is) (?P<name>{NAMED})(?: {NAMED})?$"),
        accept=is_first_name,
        form="{Their} name is {name}",
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"(?:{I_DO} (?:live|lived|grew up|moved|relocated|come from|reside|was born"
            rf"|was raised|immigrated|emigrated)"
            rf"|{I_AM} (?:living|from|based|born|raised|moving|relocating))\b"
        ),
        accept=names_a_place,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"(?:{I_DO} (?:work|worked|have worked)|(?:I've|I have) (?:been working"
            rf"|worked)|{I_AM} working) (?:at|for|as|in|part-time|full-time"
            rf"|remotely|nights)\b"
        ),
        accept=lambda match: (
            rest_says_something(match)
            and not re.match(r" (?:it|this|that|a (?:lot|while|way))\b", match.string[match.end() :])
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(rf"(?:{I_AM}|I used to be|I became|I'm not) an? (?:{lists.BEING})\b"),
    ),
    Rule(kind="fact", category="people/{me}", pattern=compiled(rf"{I_AM}(?: not)? (?:{lists.STATES})\b")),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"(?:{I_AM}|I turned|I just turned|I'm turning|I'll be|I am turning) \d{{1,3}}(?! ?(?:%"
            rf"|percent|minutes|min|hours|km|miles))\b"
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"(?:{I_DO} (?:have|had|suffer from|was diagnosed with|live with)"
            rf"|(?:I've|I have|I) (?:been|was) diagnosed with) (?:{lists.CONDITIONS})\b"
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"(?:{I_DO} (?:speak|studied|major|majored|minored|graduated)|{I_AM} (?:studying"
            rf"|learning|majoring|fluent|training)|I'm taking|I am taking) (?!about"
            rf"|up|out|to |so |how |a lot|a ton|tons|lots|more|from |care)"
        ),
        accept=rest_says_something,
    ),
)


OWNED = (
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"(?:{WE_OR_I} )(?:have|own|had|got|adopted|am getting) (?:{COUNTED}) (?:[\w-]+ ){{0,2}}?(?:"
            rf"{lists.KIN})\b(?! (?:of|day|time|moment))"
        ),
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"(?:{WE_OR_I} )(?:have|own|had|got|adopted|bought|drive|ride"
            rf"|play) (?:{COUNTED}|the) (?:(?!with|of|in|for|my|on|about"
            rf"|to\b)[\w-]+ ){{0,3}}?(?:{lists.PETS}|{lists.THINGS})\b"
        ),
    ),
    Rule(
        kind="fact",
        category="people/{relation}",
        pattern=compiled(
            rf"{MY} (?:\w+ )?(?P<relation>{lists.KIN})(?:'s (?:name|birthday"
            rf"|job|dog|cat|house|wedding|phone number|email))?(?:,? {NAMED},?)?"
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
        accept=is_said_of_kin,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(
            rf"{MY} (?P<pet>{lists.PETS})(?:,? {NAMED},?)?(?:'s name)?(?:{IS}"
            rf"| (?:has|have|loves?|likes?|eats?|hates?|died|got|turned)\b)"
        ),
        accept=is_plain,
    ),
    Rule(
        kind="fact",
        category="people/{me}",
        pattern=compiled(rf"{MY} (?:new |old |current |next )?(?:{lists.FACTS}|{lists.THINGS}){IS}\b"),
        accept=is_plain,
    ),
)
