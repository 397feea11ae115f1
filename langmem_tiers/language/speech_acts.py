"""What is not a statement of the speaker: questions, wishes, jokes, orders, and other people's words."""

from __future__ import annotations

import re

from langmem_tiers.language.names import KIN, names
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.word_lists import finds, named_pattern
from langmem_tiers.language.words import words

# 'she said', 'Anna told me'; the speaker's own "I said" does not count.
_REPORTED = named_pattern("speech_acts", "reported")
_I_SAID = re.compile(r"\bI (?:just |also |already )?(?:said|say|told|think|asked|wrote|mentioned)\b", re.IGNORECASE)
_DANGLING = named_pattern("speech_acts", "dangling")
_TIME_AFTER = named_pattern("speech_acts", "time_after")
# 'That' after these opens a clause: "I decided that …", "a group that helps …".
_POINTS = named_pattern("speech_acts", "points")
_ANTECEDENT = named_pattern("speech_acts", "antecedent")
_PREPOSITION = re.compile(r"\b(?:of|to|on|in|for|with|about|from|at) $", re.IGNORECASE)
_JOINT = re.compile(r"\b(?:and|that|which|who|but|so|when|where|because|since|to)\b|,", re.IGNORECASE)
_IN_COMPANY = re.compile(r"\b(?:we|us)\b.*\b(?:together|each other|one another)\b", re.IGNORECASE)
_LONG_AGO = named_pattern("speech_acts", "long_ago")
_CUT = named_pattern("speech_acts", "cut")


is_unreal = finds("speech_acts", "unreal")
"""Whether the sentence is hypothetical, a wish or an example."""

is_unsure = finds("speech_acts", "unsure")
"""Whether the speaker leaves open whether it is true."""

is_joking = finds("speech_acts", "joking")
"""Whether the sentence is marked as a joke or laughs."""

jokes_throughout = finds("speech_acts", "joke_about_all")
"""Whether the message says that all of it is a joke."""

is_task = finds("speech_acts", "task_or_order")
"""Whether the sentence orders a piece of work, so that what follows is material for it, or a role to play."""

is_taken_back = finds("speech_acts", "taken_back")
"""Whether the statement is withdrawn in the same sentence, or contains a masked part."""

takes_back = finds("speech_acts", "takes_back")
"""Whether a sentence corrects what its speaker said just before: "I mean my brother-in-law.", "No, that's unfair."."""


def is_question(sentence: str) -> bool:
    """Whether the sentence asks."""
    return sentence.rstrip(" \"')”’!").endswith(("?", "？"))


def is_stated(sentence: str, *, joking: bool = False) -> bool:
    """Whether the sentence says that something is so, and is no question, hypothetical, or joke (unless `joking`)."""
    return not (is_question(sentence) or is_unreal(sentence) or (is_joking(sentence) and not joking))


def is_reported(before: str) -> bool:
    """Whether the words before a clause make it someone else's: "Anna told me that", an open quotation mark."""
    return _REPORTED.search(_I_SAID.sub("", before)) is not None


speaks_to_somebody = finds("speech_acts", "second_person")
"""Whether the clause has a 'you' in it."""


def leaves_out_who(clause: str) -> bool:
    """Whether the clause is about being with people without saying who: "we love painting together"."""
    return _IN_COMPANY.search(clause) is not None and not _names_somebody(clause)


def asks_of_long_ago(text: str) -> bool:
    """Whether a question in the text is about the past."""
    return any(_LONG_AGO.search(sentence.text) for sentence in sentences(text) if is_question(sentence.text))


is_broken_off = finds("speech_acts", "open_end")
"""Whether the clause ends in a word that needs a continuation."""


def standing_alone(clause: str) -> str | None:
    """The part of a clause that makes sense alone; None if it refers to something outside from the start.

    Example:
        >>> standing_alone("I bought a guitar, and he hated that")
        'I bought a guitar'
    """
    dangling = (match.start() for match in _DANGLING.finditer(clause) if _dangles(match, clause))
    place = next(dangling, None)
    if place is None:
        return clause
    cuts = [cut.start() for cut in _CUT.finditer(clause, 0, place)]
    return clause[: cuts[-1]].rstrip(" ,;-–—") if cuts and cuts[-1] > 0 else None


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
