"""A clause as it is understood: which rule it fits, and what it takes from the words before it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_tiers.writing.extractive import borrowing, dating, fillers, rules, sifting, telling
from langmem_tiers.writing.extractive.rewriting import spelled_out
from langmem_tiers.writing.extractive.rule import Found
from langmem_tiers.writing.extractive.turn import Reading

_LEAST_LETTERS = 6
_ELIDED = re.compile(
    r"^(?:[Jj]ust |[Rr]ecently |[Ff]inally )*(?:got|lost|started"
    r"|signed|bought|adopted|joined|moved|finished|went|won|quit"
    r"|graduated|took|visited|met|made|booked)\b"
    r"(?=.*\b(?:my|our|yesterday|last|ago|today|this)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A rule that fits a clause, the clause as it is told, and what it took from the words before."""

    found: Found
    clause: str
    time: str | None = None
    borrowed: bool = False

    @property
    def dated(self) -> str:
        """The clause with the time that it took from the words before."""
        return f"{self.clause} {self.time}" if self.time else self.clause


def understood(reading: Reading, clause: str, before: str) -> Told | None:
    """What a clause tells that is worth keeping; `before` are the words in front of it in its sentence."""
    whole = _with_subject(spelled_out(clause))
    if sifting.is_unsure(whole) or sum(map(str.isalpha, whole)) < _LEAST_LETTERS:
        return None
    found = rules.first_fitting(whole, reading.listener)
    if found is None or _is_for_a_task(reading, found):
        return None
    if found.rule.quoted or found.rule.form:
        return Told(found=found, clause=whole)
    alone = _alone(reading, whole)
    return _in_context(reading, alone, before) if alone else None


def _with_subject(clause: str) -> str:
    """The clause with the I that is left out in "Just got back from Oslo yesterday"."""
    return f"I {clause[0].lower()}{clause[1:]}" if _ELIDED.match(clause) else clause


def _is_for_a_task(reading: Reading, found: Found) -> bool:
    return reading.briefs and found.rule.quoted


def _alone(reading: Reading, whole: str) -> Found | None:
    """The rule that fits the clause as far as it can be understood by itself."""
    alone = None if sifting.speaks_to_somebody(whole) else sifting.standing_alone(whole)
    if not alone or sifting.is_broken_off(alone):
        return None
    found = rules.first_fitting(telling.without_vague_end(alone), reading.listener)
    return None if found is None or _is_for_a_task(reading, found) else found


def _in_context(reading: Reading, found: Found, before: str) -> Told | None:
    """The clause without what ties it to others, with what it takes from them; None where that leaves it open."""
    clause = found.match.string
    last = _stated_before(reading)
    time = _time(found, before, last)
    if _is_open_or_trivial(found) or (reading.asked and _is_undated_news(clause, time)):
        return None
    shown = fillers.without_fillers(clause)
    told = _with_topic(found, shown, last)
    borrowed = told != shown or (time is not None and time not in before)
    return Told(found=found, clause=told, time=time, borrowed=borrowed) if told else None


def _is_open_or_trivial(found: Found) -> bool:
    clause = found.match.string
    return fillers.rests_on_others(clause) or sifting.leaves_out_who(clause) or _is_trivial(found)


def _is_trivial(found: Found) -> bool:
    tells_of_a_day = found.rule.happened or found.rule.category == "people/{relation}"
    return tells_of_a_day and telling.is_everyday(found.match.string)


def _with_topic(found: Found, shown: str, last: str) -> str | None:
    """What is said of a project needs no topic from the sentence before: the project is it."""
    return shown if found.rule.category.startswith("project-context") else borrowing.with_topic(shown, last)


def _stated_before(reading: Reading) -> str:
    """The sentence before, empty where it states nothing."""
    return reading.before.text if reading.before and sifting.is_stated(reading.before.text) else ""


def _time(found: Found, before: str, last: str) -> str | None:
    """When it was, from the words before it or the sentence before."""
    clause = found.match.string
    if not found.rule.happened or dating.is_yearly(clause):
        return None
    return borrowing.time_before(clause, before) or borrowing.time_before(clause, last)


def _is_undated_news(clause: str, time: str | None) -> bool:
    """Whether only a "just" says when it was."""
    return fillers.claims_news(clause) and not (time or dating.SPOKEN.search(clause))
