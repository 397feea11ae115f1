"""What a clause says in context: which rule it fits, and what it takes from the words before it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_tiers.language import dates, rewriting, rules, speech_acts
from langmem_tiers.language.clauses import OPENING_TIME, with_subject
from langmem_tiers.language.dates import SPOKEN
from langmem_tiers.language.rewriting import spelled_out
from langmem_tiers.language.rules import FAINT_ADJECTIVES, PARTS, RuleMatch, first_fitting, says_something, tells
from langmem_tiers.language.turns import Reading
from langmem_tiers.language.word_lists import named_pattern

_PAST_TIME = named_pattern("discourse", "past_time")
_BY_ITSELF = re.compile(rf"^{OPENING_TIME}{PARTS['we_or_i']}(?: (?:{PARTS['turning_points']}))")
_OWN_TIME = named_pattern("discourse", "own_time")
_SPEAKER = re.compile(r"\b(I|we)\b", re.IGNORECASE)
_SOMEBODY = re.compile(r"\b(?:my|our|he|she|they|you|your|his|her|their)\b|\b[A-Z][a-z]+ [a-z]+ed\b", re.IGNORECASE)
_VAGUE_ADJECTIVES = rf"(?:(?:{'|'.join(sorted(FAINT_ADJECTIVES))}) )*"
_NEEDY = named_pattern("discourse", "needy", faint="|".join(sorted(FAINT_ADJECTIVES)))
_COMPLEMENT = named_pattern("discourse", "complement")
_LEARNED = ("lesson", "class", "course", "session", "competition", "contest", "show", "workshop")
_PLAYED = named_pattern("discourse", "played")
_DOING = named_pattern("discourse", "doing")


def time_before(clause: str, before: str) -> str | None:
    """The time named earlier that also applies to the clause; None if the clause has its own, or it is unclear."""
    if SPOKEN.search(clause) or _OWN_TIME.search(clause):
        return None
    found = {match.group() for match in _PAST_TIME.finditer(before)}
    if len(found) != 1 or _OWN_TIME.search(_PAST_TIME.sub("", before)):
        return None
    speakers = {match[1].lower() for match in _SPEAKER.finditer(before)}
    of_speaker = speakers and not _BY_ITSELF.match(clause)
    return found.pop() if of_speaker or not (speakers or _SOMEBODY.search(before)) else None


def with_topic(clause: str, before: str) -> str | None:
    """The clause with "the event" or "lessons" completed from the sentence before, if that names the topic.

    Example:
        >>> with_topic("I loved taking lessons", "I played the cello.")
        'I loved taking cello lessons'
    """
    for match in _NEEDY.finditer(clause):
        if not _is_explained(match, clause):
            return _explained(clause, match, before)
    return clause


def _is_explained(match: re.Match[str], clause: str) -> bool:
    """Whether the clause itself says which one, after the noun or before it."""
    noun = _noun(match)
    named_before = re.search(rf"\b(?:an?|my|our) (?:[\w'-]+ ){{1,3}}{noun}s?\b", clause[: match.start()])
    complement = _COMPLEMENT.match(clause, match.end())
    if complement is None:
        return named_before is not None
    what = complement["what"]
    hangs_on_with = clause[match.end() :].startswith(" with ")
    return what is None or (tells(_NEEDY.sub("", what)) and not hangs_on_with) or named_before is not None


def _noun(match: re.Match[str]) -> str:
    """Roughly in the singular; enough to find it in either number."""
    noun = match["noun"] or match["any"] or match["bare"]
    return re.sub(r"(?<=ss)es$|(?<!s)s$", "", noun)


def _explained(clause: str, match: re.Match[str], before: str) -> str | None:
    """The clause with what earlier words say of the same noun ("a charity" event), or the activity they name."""
    noun = _noun(match)
    modifiers = re.findall(rf"\b(?:an?|my|our|the|some) ((?:[\w'&+-]+ ){{1,3}}?){noun}(?:e?s)?\b", before)
    found = {each for each in (_VAGUE_START.sub("", said).strip() for said in modifiers) if says_something(each)}
    if not found and noun in _LEARNED:
        found = {each for pattern in (_PLAYED, _DOING) for each in pattern.findall(before) if tells(each)}
    if len(found) != 1:
        return None
    place = match.start("noun") if match["noun"] else match.start("any") if match["any"] else match.start("bare")
    return f"{clause[:place]}{found.pop()} {clause[place:]}"


_VAGUE_START = re.compile(rf"^{_VAGUE_ADJECTIVES}")
_LEAST_LETTERS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Understood:
    """A rule that fits a clause, the clause as completed, and what it took from the words before."""

    found: RuleMatch
    clause: str
    time: str | None = None
    borrowed: bool = False

    @property
    def dated(self) -> str:
        """The clause with the time that it took from the words before."""
        return f"{self.clause} {self.time}" if self.time else self.clause


def understood(reading: Reading, clause: str, before: str) -> Understood | None:
    """What a clause says that is worth keeping; `before` are the words before it in its sentence."""
    whole = with_subject(spelled_out(clause))
    if speech_acts.is_unsure(whole) or sum(map(str.isalpha, whole)) < _LEAST_LETTERS:
        return None
    found = first_fitting(whole, reading.listener)
    if found is None or (reading.briefs and found.rule.quoted):
        return None
    if found.rule.quoted or found.rule.form:
        return Understood(found=found, clause=whole)
    alone = None if speech_acts.speaks_to_somebody(whole) else speech_acts.standing_alone(whole)
    if not alone or speech_acts.is_broken_off(alone):
        return None
    # The rule that fits the clause as far as it makes sense alone.
    found = first_fitting(rules.without_vague_end(alone), reading.listener)
    return None if found is None or (reading.briefs and found.rule.quoted) else _in_context(reading, found, before)


def _in_context(reading: Reading, found: RuleMatch, before: str) -> Understood | None:
    """The clause without connectives, plus what it takes from other sentences; None if that leaves it unclear."""
    clause, rule = found.match.string, found.rule
    last = reading.before.text if reading.before and speech_acts.is_stated(reading.before.text) else ""
    dated = rule.happened and not dates.is_yearly(clause)
    time = (time_before(clause, before) or time_before(clause, last)) if dated else None
    everyday = (rule.happened or rule.category == "people/{relation}") and rules.is_everyday(clause)
    if everyday or rewriting.rests_on_others(clause) or speech_acts.leaves_out_who(clause):
        return None
    if reading.asked and rewriting.claims_news(clause) and not (time or SPOKEN.search(clause)):
        return None  # a mere "just", in answer to a question about the past
    shown = rewriting.without_fillers(clause)
    # A statement about a project needs no topic from the sentence before: the project is its topic.
    told = shown if rule.category.startswith("project-context") else with_topic(shown, last)
    borrowed = told != shown or (time is not None and time not in before)
    return Understood(found=found, clause=told, time=time, borrowed=borrowed) if told else None
