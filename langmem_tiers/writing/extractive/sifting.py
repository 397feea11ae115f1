"""What mining must not take for a statement of the speaker: questions, wishes, jokes, orders, the words of others."""

from __future__ import annotations

import re

from langmem_tiers.palace.names import names
from langmem_tiers.palace.tag_people import KIN
from langmem_tiers.palace.words import words
from langmem_tiers.writing.extractive.prose import sentences

_UNREAL = re.compile(
    r"\b(?:if|unless|whether|wish(?:ed)?|imagin\w+|suppos(?:e|ing)"
    r"|hypothetical\w*|would(?:n't)? have|would've|could have"
    r"|could've|should(?:n't)? have|pretend\w*|role-?play\w*|in theory"
    r"|theoretically|another life|let's say|say i|assum(?:e|ing)"
    r"|as though|for (?:example|instance)|e\.g|dreamt|dreamed (?:that|about)|in my dream|fictional|once upon)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|i guess|i suppose|not sure|unsure|no idea|don't know|dunno|i think"
    r"|i thought|i believe|i doubt|i forget|i feel like|seems?|apparently|supposedly|who knows|almost)\b",
    re.IGNORECASE,
)
_JOKING = re.compile(
    r"\b(?:just kidding|i'?m kidding|kidding|jk|joking|just joking|a joke|sarcas\w+|lol|lmao|rofl|ha(?:ha)+|hehe)\b"
    r"|(?:^|\s)/[sj]\b|😂|🤣|😜|😝|🙃",
    re.IGNORECASE,
)
_JOKE_ABOUT_ALL = re.compile(
    r"\b(?:just kidding|i'?m kidding|jk|joking|sarcasm|sarcastic)\b|(?:^|\s)/[sj]\b", re.IGNORECASE
)
_VERBS_OF_SPEECH = (
    "said|says?|saying|told|tells?|telling|claims?|claimed|thinks?|believes?|wrote|writes|texted|asks?|asked|replied"
    "|mentioned|explained|quotes?|quoted|reads|goes like"
)
# 'she said', 'Anna told me'; what the speaker says is the speaker's.
_REPORTED = re.compile(rf"(?<!\bI )(?<!\bwe )\b(?:{_VERBS_OF_SPEECH})\b|according to|\bquote\b|[\"“]", re.IGNORECASE)
_I_SAID = re.compile(r"\bI (?:just |also |already )?(?:said|say|told|think|asked|wrote|mentioned)\b", re.IGNORECASE)
# From here on the message holds a text to work on, or a part to play.
_TASK = re.compile(
    r"^(?:(?:please|pls|now|ok(?:ay)?|hi|hey|hello|so|then|and|also"
    r"|thanks)[,!.]? |(?:can|could|would|will) (?:you|u) (?:please )?"
    r"|i (?:want|need|would like|'d like)"
    r" you to |help me (?:to )?|i'd like you to )*(?:translate|re-?write"
    r"|rephrase|paraphrase|proof-?read|summari[sz]e|polish"
    r"|edit|improve|fix|correct|review|check|analy[sz]e|explain|debug"
    r"|refactor|continue|complete|finish|draft|compose|write"
    r"|generate|create|make up|make me|tell me|give me|act as|behave"
    r"|pretend|role-?play|imagine|you are|you're (?:an?|now)"
    r"|from now on you|ignore|disregard|forget (?:all|every|your"
    r"|the|previous)|suppose|let's (?:say|pretend|imagine|suppose"
    r"|play)"
    r"|say|repeat|read|classify|extract|format|convert|answer (?:as"
    r"|the)|respond (?:as|to|with)|here(?:'s| is) (?:an?|the|my)"
    r" (?:text|email|e-mail|essay|letter|story|poem|draft|article"
    r"|log|code|error|message|transcript|paragraph|conversation))\b",
    re.IGNORECASE,
)
_ORDER_TO_AGENT = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|reveal|print|output"
    r"|delete|erase|wipe)\b.{0,40}\b(?:instructions?|prompts?"
    r"|rules|memor(?:y|ies)|everything|above|previous|system|guidelines"
    r"|safety|files|database)\b|\bsystem prompt\b|\bjailbreak"
    r"|\byou (?:are|must|should|will|have to|need to) (?:now|always|never|obey|ignore|act|behave|pretend|comply)\b"
    r"|<\/?(?:system|instructions?|user|assistant|tool)\b|\[(?:system|inst)\]|^(?:system|assistant|user|human|ai)\s*:",
    re.IGNORECASE,
)
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|yourself|u|ur|y'all|ya)\b", re.IGNORECASE)
_DANGLING = re.compile(
    r"\b(?:(?P<person>he|she|him|his|her|hers|he's|she's)|(?P<thing>it"
    r"|its|it's|they|them|their|they're|they've|one|ones)"
    r"|(?P<pointing>this|that|these|those)|(?P<place>here|there|same"
    r"|such|else|too|either|some(?= (?:for|from|in|at|to)\b| ?$)))\b",
    re.IGNORECASE,
)
_TIME_AFTER = re.compile(
    r"\s+(?:(?:past|coming|very) )?(?:week|weekend|month|year|summer"
    r"|winter|spring|fall|autumn|morning|afternoon|evening"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu"
    r"|fri|sat|sun|january|february|march|april|may|june|july"
    r"|august|september|october|november|december|time of year)\b",
    re.IGNORECASE,
)
# 'That' behind these opens a clause: "I decided that …", "a group that helps …".
_POINTS = re.compile(
    r"(?:^|\b(?:love|like|hate|enjoy|do|did|done|doing|for|about"
    r"|of|with|in|on|at|from|to|after|before|by|than|all|is|was|see"
    r"|like|and|but|or|have|had|make|made|want|wanted|need|needed"
    r"|use|used|get|got|told|said|know|knew|saw|tried|try|take"
    r"|took|bought|keep|kept|find|found|finish|finished|start|started|painted|drew|baked|cooked|visited"
    r"|wore|built|joined|attended|sent|gave|met|played|watched|dropped off|picked up))\s*$",
    re.IGNORECASE,
)
_ANTECEDENT = re.compile(
    r"\b(?:an?|my|our|the|some|two|three|four|five|six|several|many"
    r"|few|every|each|no|\d+|new) (?:[\w'-]+ ){0,3}[a-z]{3,}"
    r"|\b[a-z]{3,}(?<!ss)s\b(?<!was)(?<!has)",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(r"\b(?:of|to|on|in|for|with|about|from|at) $", re.IGNORECASE)
_JOINT = re.compile(r"\b(?:and|that|which|who|but|so|when|where|because|since|to)\b|,", re.IGNORECASE)
_IN_COMPANY = re.compile(r"\b(?:we|us)\b.*\b(?:together|each other|one another)\b", re.IGNORECASE)
_LONG_AGO = re.compile(
    r"\b(?:were you|was (?:it|that|your|the)|(?:have|had) you ever|did you (?:ever|use to|first)|used to|when you were"
    r"|as a (?:kid|child|teen\w*)|back (?:then|in)|years? ago|remember|memory|childhood|growing up|grew up)\b",
    re.IGNORECASE,
)
_OPEN_END = re.compile(
    r"\b(?:the|an?|my|our|for|to|of|with|in|on|at|from|by|and|or|as|than|even|is|are|was|were)$", re.IGNORECASE
)
_CUT = re.compile(
    r"\s*(?:,|;|\s-|\s–|—|\s\band\b(?= (?:it|its|it\'s|he|she|they"
    r"|them|this|that|these|those|the|my|i|we|to)\b)|\s\bbut\b|\s\bbecause\b"
    r"|\s\bso\b|\s\bas\b|\s\bwhen\b|\s\bwhile\b|\s\bto see\b)\s*"
)

_TAKEN_BACK = re.compile(r"\bno,? wait\b|\bwait,? no\b|\bscratch that\b|\[secret:", re.IGNORECASE)


def is_unreal(sentence: str) -> bool:
    """Whether the sentence supposes, wishes or gives an example."""
    return _UNREAL.search(sentence) is not None


def is_unsure(clause: str) -> bool:
    """Whether the speaker leaves open what they say."""
    return _UNSURE.search(clause) is not None


def is_joking(sentence: str) -> bool:
    """Whether the sentence is marked as a joke or laughs."""
    return _JOKING.search(sentence) is not None


def jokes_throughout(text: str) -> bool:
    """Whether the message takes back what it says."""
    return _JOKE_ABOUT_ALL.search(text) is not None


def is_task(sentence: str) -> bool:
    """Whether the sentence orders a piece of work, so that what follows is material for it."""
    return _TASK.search(sentence) is not None or _ORDER_TO_AGENT.search(sentence) is not None


def is_taken_back(sentence: str) -> bool:
    """What is taken back in the same breath is no statement, and neither is what a mask stands in for."""
    return _TAKEN_BACK.search(sentence) is not None


def is_question(sentence: str) -> bool:
    """Whether the sentence asks."""
    return sentence.rstrip(" \"')”’!").endswith(("?", "？"))


def is_stated(sentence: str) -> bool:
    """Whether the sentence says that something is so, and is no question, supposition or joke."""
    return not (is_question(sentence) or is_unreal(sentence) or is_joking(sentence))


def is_reported(before: str) -> bool:
    """Whether the words before a clause make it somebody else's: "Anna told me that", an open quotation mark."""
    return _REPORTED.search(_I_SAID.sub("", before)) is not None


def speaks_to_somebody(clause: str) -> bool:
    """Whether the clause has a 'you' in it."""
    return _SECOND_PERSON.search(clause) is not None


def leaves_out_who(clause: str) -> bool:
    """Whether the clause is about being with people whom it does not tell: "we love painting together"."""
    return _IN_COMPANY.search(clause) is not None and not _names_somebody(clause)


def asks_of_long_ago(text: str) -> bool:
    """Whether a question in the text is about a time that is over."""
    return any(_LONG_AGO.search(sentence.text) for sentence in sentences(text) if is_question(sentence.text))


def is_broken_off(clause: str) -> bool:
    """Whether the clause ends in a word that something must follow."""
    return _OPEN_END.search(clause) is not None


def standing_alone(clause: str) -> str | None:
    """The clause as far as it can be understood alone; None where it points outside itself from the first.

    Example:
        >>> standing_alone("I bought a guitar, and he hated that")
        'I bought a guitar'
    """
    place = _first_dangling(clause)
    if place is None:
        return clause
    cuts = [cut.start() for cut in _CUT.finditer(clause, 0, place)]
    return clause[: cuts[-1]].rstrip(" ,;-–—") if cuts and cuts[-1] > 0 else None


def _first_dangling(clause: str) -> int | None:
    return next((match.start() for match in _DANGLING.finditer(clause) if _dangles(match, clause)), None)


def _dangles(match: re.Match[str], clause: str) -> bool:
    before, after = clause[: match.start()], clause[match.end() :]
    if match["person"]:
        return not _names_somebody(before)
    if match["thing"]:
        return not _is_resolved(before)
    if match["place"]:
        return not (match["place"].lower() == "there" and re.match(r" (?:is|are|was|were)\b", after))
    if _TIME_AFTER.match(after):
        return False
    return match["pointing"].lower() != "that" or _POINTS.search(before) is not None or not after.strip(" .!,")


def _is_resolved(before: str) -> bool:
    """Whether an 'it' or 'them' means something named before, rather than being added to it: "a song to it"."""
    named = [*_ANTECEDENT.finditer(before)]
    if not named:
        return False
    hangs_on = _PREPOSITION.search(before)
    return hangs_on is None or any(_JOINT.search(before, each.end(), hangs_on.start()) for each in named)


def _names_somebody(text: str) -> bool:
    return not KIN.isdisjoint(words(text)) or bool(names(text))
