"""What is not a statement of the speaker: questions, wishes, jokes, orders, and other people's words."""

from __future__ import annotations

import re

from langmem_tiers.language.calendar import MONTH_NAMES, SHORT_WEEKDAYS, WEEKDAY_NAMES
from langmem_tiers.language.names import KIN, names
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.words import words

_UNREAL = re.compile(
    r"\b(?:if|unless|whether|wish(?:ed)?|imagin\w+|suppos(?:e|ing)|hypothetical\w*|would(?:n't)? have|would've"
    r"|could have|could've|should(?:n't)? have|pretend\w*|role-?play\w*|in theory|theoretically|another life"
    r"|let's say|say i|assum(?:e|ing)|as though|for (?:example|instance)|e\.g|dreamt|dreamed (?:that|about)"
    r"|in my dream|fictional|once upon)\b",
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
# 'she said', 'Anna told me'; the speaker's own "I said" does not count.
_REPORTED = re.compile(rf"(?<!\bI )(?<!\bwe )\b(?:{_VERBS_OF_SPEECH})\b|according to|\bquote\b|[\"“]", re.IGNORECASE)
_I_SAID = re.compile(r"\bI (?:just |also |already )?(?:said|say|told|think|asked|wrote|mentioned)\b", re.IGNORECASE)
# From here on the message contains a text to work on, or a role to play.
_TASK = re.compile(
    "^(?:(?:please|pls|now|ok(?:ay)?|hi|hey|hello|so|then|and|also|thanks)[,!.]? |(?:can|could|would|will) (?:you"
    "|u) (?:please )?|i (?:want|need|would like|'d like) you to |help me (?:to )?|i'd like you to )*+(?:translate"
    "|re-?write|rephrase|paraphrase|proof-?read|summari[sz]e|polish|edit|improve|fix|correct|review|check"
    "|analy[sz]e|explain|debug|refactor|continue|complete|finish|draft|compose|write|generate|create|make up"
    "|make me|tell me|give me|act as|behave|pretend|role-?play|imagine|you are|you're (?:an?|now)|from now on you"
    "|ignore|disregard|forget (?:all|every|your|the|previous)|suppose|let's (?:say|pretend|imagine|suppose|play)"
    "|say|repeat|read|classify|extract|format|convert|answer (?:as|the)|respond (?:as|to|with)|here(?:'s"
    "| is) (?:an?|the|my) (?:text|email|e-mail|essay|letter|story|poem|draft|article|log|code|error|message"
    r"|transcript|paragraph|conversation))\b",
    re.IGNORECASE,
)
_ORDER_TO_AGENT = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|reveal|print|output|delete|erase"
    r"|wipe)\b.{0,40}\b(?:instructions?|prompts?|rules|memor(?:y|ies)|everything|above|previous|system|guidelines"
    r"|safety|files|database)\b|\bsystem prompt\b|\bjailbreak|\byou (?:are|must|should|will|have to"
    r"|need to) (?:now|always|never|obey|ignore|act|behave|pretend|comply)\b|<\/?(?:system|instructions?|user"
    r"|assistant|tool)\b|\[(?:system|inst)\]|^(?:system|assistant|user|human|ai)\s*:",
    re.IGNORECASE,
)
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|yourself|u|ur|y'all|ya)\b", re.IGNORECASE)
_DANGLING = re.compile(
    r"\b(?:(?P<person>he|she|him|his|her|hers|he's|she's)|(?P<thing>it|its|it's|they|them|their|they're|they've"
    "|one|ones)|(?P<pointing>this|that|these|those)|(?P<place>here|there|same|such|else|too|either|some(?= (?:for"
    r"|from|in|at|to)\b| ?$)))\b",
    re.IGNORECASE,
)
_TIME_AFTER = re.compile(
    r"\s+(?:(?:past|coming|very) )?(?:week|weekend|month|year|summer"
    r"|winter|spring|fall|autumn|morning|afternoon|evening"
    rf"|{WEEKDAY_NAMES}|{'|'.join(SHORT_WEEKDAYS[:7])}|{MONTH_NAMES}|time of year)\b",
    re.IGNORECASE,
)
# 'That' after these opens a clause: "I decided that …", "a group that helps …".
_POINTS = re.compile(
    r"(?:^|\b(?:love|like|hate|enjoy|do|did|done|doing|for|about|of|with|in|on|at|from|to|after|before|by|than|all"
    "|is|was|see|like|and|but|or|have|had|make|made|want|wanted|need|needed|use|used|get|got|told|said|know|knew"
    "|saw|tried|try|take|took|bought|keep|kept|find|found|finish|finished|start|started|painted|drew|baked|cooked"
    r"|visited|wore|built|joined|attended|sent|gave|met|played|watched|dropped off|picked up))\s*$",
    re.IGNORECASE,
)
_ANTECEDENT = re.compile(
    r"\b(?:an?|my|our|the|some|two|three|four|five|six|several|many|few|every|each|no|\d+"
    r"|new) (?:[\w'-]+ ){0,3}[a-z]{3,}|\b[a-z]{3,}(?<!ss)s\b(?<!was)(?<!has)",
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
    r"\s{0,8}(?:,|;|\s-|\s–|—|\s\band\b(?= (?:it|its|it\'s|he|she|they|them|this|that|these|those|the|my|i|we"
    r"|to)\b)|\s\bbut\b|\s\bbecause\b|\s\bso\b|\s\bas\b|\s\bwhen\b|\s\bwhile\b|\s\bto see\b)\s{0,8}"
)

_TAKEN_BACK = re.compile(r"\bno,? wait\b|\bwait,? no\b|\bscratch that\b|\[secret:", re.IGNORECASE)


def is_unreal(sentence: str) -> bool:
    """Whether the sentence is hypothetical, a wish or an example."""
    return _UNREAL.search(sentence) is not None


def is_unsure(clause: str) -> bool:
    """Whether the speaker leaves open whether it is true."""
    return _UNSURE.search(clause) is not None


def is_joking(sentence: str) -> bool:
    """Whether the sentence is marked as a joke or laughs."""
    return _JOKING.search(sentence) is not None


def jokes_throughout(text: str) -> bool:
    """Whether the message says that all of it is a joke."""
    return _JOKE_ABOUT_ALL.search(text) is not None


def is_task(sentence: str) -> bool:
    """Whether the sentence orders a piece of work, so that what follows is material for it."""
    return _TASK.search(sentence) is not None or _ORDER_TO_AGENT.search(sentence) is not None


def is_taken_back(sentence: str) -> bool:
    """Whether the statement is withdrawn in the same sentence, or contains a masked part."""
    return _TAKEN_BACK.search(sentence) is not None


def is_question(sentence: str) -> bool:
    """Whether the sentence asks."""
    return sentence.rstrip(" \"')”’!").endswith(("?", "？"))


def is_stated(sentence: str, *, joking: bool = False) -> bool:
    """Whether the sentence says that something is so, and is no question, hypothetical, or joke (unless `joking`)."""
    return not (is_question(sentence) or is_unreal(sentence) or (is_joking(sentence) and not joking))


def is_reported(before: str) -> bool:
    """Whether the words before a clause make it someone else's: "Anna told me that", an open quotation mark."""
    return _REPORTED.search(_I_SAID.sub("", before)) is not None


def speaks_to_somebody(clause: str) -> bool:
    """Whether the clause has a 'you' in it."""
    return _SECOND_PERSON.search(clause) is not None


def leaves_out_who(clause: str) -> bool:
    """Whether the clause is about being with people without saying who: "we love painting together"."""
    return _IN_COMPANY.search(clause) is not None and not _names_somebody(clause)


def asks_of_long_ago(text: str) -> bool:
    """Whether a question in the text is about the past."""
    return any(_LONG_AGO.search(sentence.text) for sentence in sentences(text) if is_question(sentence.text))


def is_broken_off(clause: str) -> bool:
    """Whether the clause ends in a word that needs a continuation."""
    return _OPEN_END.search(clause) is not None


def standing_alone(clause: str) -> str | None:
    """The part of a clause that makes sense alone; None if it refers to something outside from the start.

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
    """Whether an 'it' or 'them' refers to something in the clause, rather than outside it ("a song to it")."""
    named = [*_ANTECEDENT.finditer(before)]
    if not named:
        return False
    hangs_on = _PREPOSITION.search(before)
    return hangs_on is None or any(_JOINT.search(before, each.end(), hangs_on.start()) for each in named)


def _names_somebody(text: str) -> bool:
    return not KIN.isdisjoint(words(text)) or bool(names(text))
