"""Anti-patterns: what the agent should not do again, in the form "Don't X because Y; instead Z".

They come only from corrections and cite their words. A rule applies only where the user says both what was wrong and
what to do instead; a model reads the other corrections, and the decider judges its proposals. If a mistake is
corrected again later, the same anti-pattern gets more evidence, which shows how often it came back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field

from langmem_tiers.dream.feedback import puts_fact_right
from langmem_tiers.dream.questions import BUILT_IN, DreamQuestion, Numbers, Objects, PartialReply, Step, Words
from langmem_tiers.dream.types import AntiPattern, Material, Proposal, Signal
from langmem_tiers.knowledge.preferences import ANTI_PATTERNS, within
from langmem_tiers.language import wishes
from langmem_tiers.language.characters import one_line
from langmem_tiers.language.sentences import straight
from langmem_tiers.language.word_lists import table, word_set
from langmem_tiers.language.words import stems
from langmem_tiers.models.directives import Directives
from langmem_tiers.records import Entry, Evidence
from langmem_tiers.settings import Settings

DIRECTIVE = "anti-patterns"
CAME_BACK = "came_back"
"""In the metadata of an entry: how often the mistake was corrected again after it was written down."""

_MOST_ASKED = 20  # corrections per question
_LONGEST_PART = 160
FORM = re.compile(
    r"^Don't (?P<do_not>(?:(?! because ).)+) because (?P<because>(?:(?!; instead ).)+); instead (?P<instead>.+?)\.?$"
)
"""The form of an anti-pattern."""
_NO_DOMAIN = re.compile(r"[^a-z0-9]+")
_CORRECTED = "the user corrected it"

_START = (
    r"^(?:(?:no|nope|ugh|hey|oh|ok(?:ay)?|come on|seriously|but|and|again|please|also|well)\b[,.!:;-]*+ *+)*"
    r"(?:(?:can|could|would|will) you (?:please |just |finally )*)?"
)
_BECAUSE = r"(?:,? (?:because|since|as) (?P<because>[^.;!?]{3,120}?))?"
_AGAIN = r"(?:,? (?:again|any ?more|please|ever|all the time|at once|already)){0,4}"
_JOINT = r"(?:\s{0,8}[,;.!–—-]{1,8}\s{0,8}|\s{1,8})(?:(?:but|and|please|just|always|rather|instead),? ){0,4}"
_DONE = (
    r"(?:use|write|send|show|call|give|make|put|run|keep|ask|answer|reply|say|take|search|read|open|add|format|check"
    r"|wait|leave|let|create|save|quote|cite|round|list|name|start|stick|go|work|look|try|tell|respond|explain|convert)"
)
_INSTEAD = rf"(?P<instead>{_DONE} [^.;!?]{{2,120}}?)(?:,? (?:instead|please|first please)){{0,4}}[.!]*$"
_TOLD = r"I(?:'ve| have)? (?:(?:already|just|explicitly|clearly) )*(?:told|asked) you"
_NOT_X = (
    re.compile(
        rf"{_START}(?:{_TOLD} to )?(?:stop|quit|avoid) (?P<gerund>[a-z]+ing) (?P<object>[^.;!?]{{2,80}}?)"
        rf"{_AGAIN}{_BECAUSE}{_JOINT}{_INSTEAD}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_START}(?:don't|do not|never) (?:ever )?(?P<verb>[a-z]+) (?P<object>[^.;!?]{{2,80}}?)"
        rf"{_AGAIN}{_BECAUSE}{_JOINT}{_INSTEAD}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_START}{_TOLD} (?:not to|never to) (?P<verb>[a-z]+) (?P<object>[^.;!?]{{2,80}}?)"
        rf"{_AGAIN}{_BECAUSE}{_JOINT}{_INSTEAD}",
        re.IGNORECASE,
    ),
)
# "Use pnpm, not npm": the same verb applies to both.
_RATHER = re.compile(
    rf"{_START}(?:{_TOLD} to )?(?:always )?(?P<verb>{_DONE}) "
    rf"(?P<wanted>[^.;!?,]{{2,60}}?)(?:, not| instead of| rather than|,? and not) (?P<object>[^.;!?]{{2,60}}?)"
    rf"{_AGAIN}{_BECAUSE}[.!]*$",
    re.IGNORECASE,
)
# Words that refer to the conversation and make no sense outside it.
_POINTS = re.compile(
    r"\b(?:this|that|these|those|it|its|them|they|here|there|now|today|he|she|him|her|one|ones|above|below|same|other)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|me|my|we|our|us)\b")
_DOMAINS: Mapping[str, frozenset[str]] = {name: word_set(words) for name, words in table("feedback")["domains"].items()}


class AntiPatternReply(PartialReply):
    """What is not to be done again."""

    domain: Words = ""
    do_not: Words = ""
    because: Words = ""
    instead: Words = ""
    signals: Numbers = Field(default_factory=list, description="numbers of the corrections that show it")


class AntiPatternsReply(PartialReply):
    """The mistakes that some corrections show."""

    anti_patterns: Objects[AntiPatternReply] = Field(alias="antiPatterns")


def propose(material: Material, settings: Settings, directives: Directives = BUILT_IN) -> Step[list[Proposal]]:
    """Ask the model about corrections that no rule can read; yields the proposals of rules and model.

    Raises:
        InvalidDirective: the memory's custom prompt cannot be used.
    """
    proposals: list[Proposal] = list(by_rule(material))
    left = _unanswered(material, proposals)
    if left:
        lines = (f"[{number}] {_shown(signal)}" for number, signal in enumerate(left, 1))
        prompt = directives.prompt(DIRECTIVE, AntiPatternsReply, "\n".join(lines))
        answer = yield DreamQuestion(schema=AntiPatternsReply, prompt=prompt)
        if answer.value is not None:
            proposals += (_from_reply(each, left) for each in answer.value.anti_patterns)
    return proposals


def by_rule(material: Material) -> list[AntiPattern]:
    """Recurring mistakes, and corrections that name both the mistake and what to do instead."""
    back = [found for entry in known_in(material) if (found := _recurrence(entry, _corrections(material))) is not None]
    heard = {cited.drawer for found in back for cited in found.evidence} | _cited(material)
    new = (from_correction(signal) for signal in _corrections(material) if signal.drawer not in heard)
    return [*back, *(found for found in new if found is not None)]


def from_correction(signal: Signal) -> AntiPattern | None:
    """The anti-pattern that a correction states outright, with what not to do and what to do instead, or None.

    Example:
        >>> from datetime import UTC, datetime
        >>> signal = Signal(
        ...     drawer=7,
        ...     session="s",
        ...     kind="correction",
        ...     sentiment="mildly_frustrated",
        ...     quote="Stop using tabs, use four spaces instead!",
        ...     at=datetime(2026, 3, 2, tzinfo=UTC),
        ... )
        >>> from_correction(signal).content
        "Don't use tabs because the user corrected it; instead use four spaces."
    """
    said = straight(one_line(signal.quote))
    parts = _stop_doing(said) or _use_instead(said, signal)
    if parts is None or any(_POINTS.search(part) or len(part) > _LONGEST_PART for part in parts[::2]):
        return None
    do_not, instead = _of_the_user(parts[0]), _of_the_user(parts[2])
    # A reason is rephrased for the agent too, or quoted where the user speaks of themselves.
    reason = f'the user said "{parts[1]}"' if _FIRST_PERSON.search(parts[1]) else parts[1] or _CORRECTED
    return AntiPattern(
        domain=domain(f"{do_not} {instead}"),
        content=f"Don't {do_not} because {reason}; instead {instead}.",
        evidence=(Evidence(drawer=signal.drawer, quote=signal.quote),),
        why="the user said so",
        path="rule",
    )


def domain(text: str) -> str:
    """The domain of a text, judged by its words; `general` if they do not show one."""
    said = {word.strip(".,'\"") for word in text.casefold().split()}
    return next((name for name, words in _DOMAINS.items() if not words.isdisjoint(said)), "general")


def came_back(metadata: Mapping[str, Any], times: int) -> dict[str, Any]:
    """The metadata of an anti-pattern whose mistake was corrected this many more times."""
    held = metadata.get(CAME_BACK, 0)
    return {**metadata, CAME_BACK: (held if isinstance(held, int) else 0) + times}


def known_in(material: Material) -> list[Entry]:
    """The anti-patterns that are known already."""
    return [entry for entry in material.entries if within(entry.category, ANTI_PATTERNS)]


def _cited(material: Material) -> set[int]:
    """The drawers that known anti-patterns rest on."""
    return {drawer for entry in known_in(material) for drawer in entry.drawers}


def _corrections(material: Material) -> list[Signal]:
    """The signals about the agent's behaviour, not about a wrong fact."""
    return [signal for signal in material.signals if signal.kind == "correction" and not puts_fact_right(signal.quote)]


def _stop_doing(said: str) -> tuple[str, str, str] | None:
    """'Stop using tabs, use spaces': what not to do, why, and what to do instead."""
    found = next((match for pattern in _NOT_X if (match := pattern.match(said))), None)
    if found is None:
        return None
    parts = found.groupdict()
    verb = wishes.base(parts["gerund"]) if parts.get("gerund") else parts["verb"].lower()
    instead = parts["instead"]
    return f"{verb} {parts['object']}", parts["because"] or "", f"{instead[:1].lower()}{instead[1:]}"


def _use_instead(said: str, signal: Signal) -> tuple[str, str, str] | None:
    """'Use pnpm, not npm', where the assistant had used npm, or the user says it for the second time."""
    found = _RATHER.match(said)
    if found is None or not (signal.sentiment != "casual" or stems(found["object"]) <= stems(signal.before)):
        return None
    verb = found["verb"].lower()
    return f"{verb} {found['object']}", found["because"] or "", f"{verb} {found['wanted']}"


def _recurrence(entry: Entry, signals: Sequence[Signal]) -> AntiPattern | None:
    """The same anti-pattern with the corrections since, or None.

    A correction is about the same mistake if it names it, or if the reply shows it and it names the remedy.
    """
    parts = FORM.match(entry.content)
    wrong, right = (stems(parts["do_not"]), stems(parts["instead"])) if parts else (set[str](), set[str]())
    cited: list[Evidence] = []
    for signal in signals if wrong else ():
        quoted = stems(signal.quote)
        same = wrong <= quoted or (wrong <= stems(f"{signal.before} {signal.quote}") and right & (quoted - wrong))
        if same and signal.drawer not in entry.drawers and signal.at > entry.created_at:
            cited.append(Evidence(drawer=signal.drawer, quote=signal.quote))
    if not cited:
        return None
    where = entry.category.removeprefix(f"{ANTI_PATTERNS}/")
    return AntiPattern(domain=where, content=entry.content, evidence=tuple(cited), why="it came back", path="rule")


def _unanswered(material: Material, proposals: Iterable[Proposal]) -> list[Signal]:
    """The latest corrections that are not evidence for anything yet."""
    taken = {cited.drawer for each in proposals if isinstance(each, AntiPattern) for cited in each.evidence}
    taken |= _cited(material)
    return [signal for signal in _corrections(material) if signal.drawer not in taken][-_MOST_ASKED:]


def _from_reply(told: AntiPatternReply, heard: Sequence[Signal]) -> AntiPattern:
    """A model's reply as an anti-pattern; without evidence if it cites corrections it was not shown."""
    shown = all(1 <= number <= len(heard) for number in told.signals)
    cited = (heard[number - 1] for number in told.signals) if shown else ()
    do_not = _part(told.do_not, "don't|do not|never")
    because, instead = _part(told.because, "because"), _part(told.instead, "instead")
    return AntiPattern(
        domain=_NO_DOMAIN.sub("-", told.domain.lower()).strip("-")[:64],
        content=f"Don't {do_not} because {because}; instead {instead}.",
        evidence=tuple(Evidence(drawer=each.drawer, quote=each.quote) for each in cited),
    )


def _part(said: str, opening: str) -> str:
    return re.sub(rf"^(?:{opening})\b[\s,:]*", "", straight(said), flags=re.IGNORECASE).rstrip(".!; ")


def _shown(signal: Signal) -> str:
    before, quote = (one_line(text).replace('"', "'") for text in (signal.before, signal.quote))
    return f'the assistant said "{before}", the user said "{quote}"' if before else f'the user said "{quote}"'


def _of_the_user(part: str) -> str:
    """The user's words, rephrased for the agent."""
    told = re.sub(r"\bmy\b", "the user's", part.strip(" ,"))
    return re.sub(r"\b(?:me|I)\b", "the user", told)
