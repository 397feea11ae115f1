"""The synthesis: one long-term document out of several episodes, in four sections, each line with its episodes' days.

A model writes the lines; a line is kept where the episodes that it names say it, by their words and numbers. Without a
model the lines are the episodes' own sentences, those first that share most with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any, NamedTuple

from pydantic import Field

from langmem_tiers.dream.asking import Question
from langmem_tiers.dream.replies import Numbers, Objects, Told, Words
from langmem_tiers.dream.types import EpisodeSeen, Material, Proposal, Synthesis
from langmem_tiers.knowledge.authority import supports
from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.llm.answers import Answer
from langmem_tiers.llm.directives import Directives
from langmem_tiers.palace.statements import statements
from langmem_tiers.palace.words import meaningful_words, stem
from langmem_tiers.recall.tokens import estimate
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets
from langmem_tiers.trust.instructions import suspicious
from langmem_tiers.writing import extractive
from langmem_tiers.writing.extractive import sifting
from langmem_tiers.writing.extractive.graphemes import cut
from langmem_tiers.writing.extractive.prose import sentences
from langmem_tiers.writing.proposals import Said

DIRECTIVE = "dreaming"
SECTIONS: Mapping[str, str] = {
    "preferences": "User preferences",
    "facts": "Project facts",
    "patterns": "Recurring patterns",
    "decisions": "Key decisions",
}
"""The sections of a synthesis, by the name that a model gives their lines under."""

_MOST_LINES = 15  # in a section
_LONGEST_LINE = 400
_LONGEST_SHOWN = 2000  # characters of one summary
_LONGEST_BY_RULE = 4000
_NUMBER = re.compile(r"\d+")
_PREFERS = re.compile(
    r"\b(?:prefer|like|love|enjoy|hate|dislike|avoid|want|favou?rite|fan of|always|never|rather)\w*\b", re.IGNORECASE
)
_DECIDES = re.compile(
    r"\b(?:decid|agreed|agree to|settled on|chose|chosen|going with|will use|moved to|approved|rejected|postponed"
    r"|cancel|resolved|plan(?:ned|s)? to|switch)\w*\b",
    re.IGNORECASE,
)
# The label of a line in a summary by rule: "[2026-03-02] User: …".
_LABELLED = re.compile(r"^\[\d{4}-\d\d-\d\d\] (?P<who>[^:\n]{1,60}): (?P<said>.+)$")
_POINTS_BACK = re.compile(
    r"(?:(?:and|but|so|then|also|later|there|here|instead)\b,? ?)*"
    r"(?:they|she|he|it|this|that|these|those|her|his|their|its|both|there|one)\b",
    re.IGNORECASE,
)
_MARKUP = str.maketrans({"#": "", "`": "'", "<": "(", ">": ")", "[": "(", "]": ")"})


class ToldLine(Told):
    """Something worth knowing, and which summaries say it."""

    text: Words = ""
    episodes: Numbers = Field(default_factory=list, description="numbers of the summaries that say it")


class ToldSynthesis(Told):
    """What stays of some conversations."""

    preferences: Objects[ToldLine]
    facts: Objects[ToldLine]
    patterns: Objects[ToldLine]
    decisions: Objects[ToldLine]


class Line(NamedTuple):
    """A line of a section, and the episodes that it rests on."""

    section: str
    text: str
    episodes: tuple[EpisodeSeen, ...]


def flow(
    material: Material, settings: Settings, directives: Directives | None = None
) -> Generator[Question, Answer[Any], list[Proposal]]:
    """Ask for one synthesis of the waiting episodes; by rule where the model says nothing that they bear out.

    Raises:
        InvalidDirective: the memory's own text in place of the prompt can not be used.
    """
    episodes = _taken_up(material, settings)
    if not episodes:
        return []
    user = "\n".join(f"[{number}] {_shown(each)}" for number, each in enumerate(episodes, 1))
    prompt = (directives or Directives(None)).prompt(DIRECTIVE, ToldSynthesis, user)
    answer = yield Question(schema=ToldSynthesis, prompt=prompt, output_tokens=settings.dream.synthesis_tokens)
    lines = [] if answer.value is None else _kept(_told(answer.value, episodes))
    if not lines:
        return by_rule(material, settings)
    return [Synthesis(text=_rendered(lines, episodes, settings), episodes=tuple(each.id for each in episodes))]


def by_rule(material: Material, settings: Settings) -> list[Proposal]:
    """A synthesis in the episodes' own sentences; none where no episode waits."""
    episodes = _taken_up(material, settings)
    lines = _kept(_ranked(episodes))
    if not lines:
        return []
    text = _rendered(lines, episodes, settings)
    return [Synthesis(text=text, episodes=tuple(each.id for each in episodes), path="rule")]


def _taken_up(material: Material, settings: Settings) -> tuple[EpisodeSeen, ...]:
    """The episodes of one synthesis that say something, the oldest first."""
    waiting = sorted(material.episodes, key=lambda each: (each.created_at, each.id))
    return tuple(each for each in waiting if _says_something(each))[: settings.dream.promoted]


def _says_something(episode: EpisodeSeen) -> bool:
    return any(map(str.isalnum, episode.summary))


def _shown(episode: EpisodeSeen) -> str:
    told = " ".join(episode.summary.split())
    return f"{_day(episode)}: {cut(told, _LONGEST_SHOWN)}"


# By a model.


def _told(told: ToldSynthesis, episodes: Sequence[EpisodeSeen]) -> Iterator[Line]:
    """The lines of a reply that the episodes named say."""
    for section in SECTIONS:
        for each in getattr(told, section):
            named = tuple(episodes[number - 1] for number in each.episodes if 1 <= number <= len(episodes))
            bearing = tuple(episode for episode in named if _shares(each.text, episode))
            if bearing and _borne_out(each.text, bearing):
                yield Line(section, each.text, bearing)


def _shares(text: str, episode: EpisodeSeen) -> bool:
    """Whether an episode speaks of what a line says."""
    return not _stems(text).isdisjoint(_stems(episode.summary))


def _borne_out(text: str, episodes: Sequence[EpisodeSeen]) -> bool:
    """Whether a line says what its episodes say: in their words, with their numbers and days."""
    said = [f"{each.summary} {each.abstract} {_day(each)}" for each in episodes]
    numbers = set(_NUMBER.findall(text)) <= set(_NUMBER.findall(" ".join(said)))
    return numbers and supports(said, text)


# By rule.


def _ranked(episodes: Sequence[EpisodeSeen]) -> Iterator[Line]:
    """The sentences of the episodes that say most of all of them, each in the section that its words belong to."""
    told: dict[str, tuple[str, list[EpisodeSeen]]] = {}
    for episode in episodes:
        for said, shown in [*_sentences(episode.summary)] or [_about(episode)]:
            told.setdefault(said, (shown, []))[1].append(episode)
    for said in _chosen(episodes, told):
        shown, bearing = told[said]
        found = tuple({each.id: each for each in bearing}.values())
        yield Line(_section(said, found), shown, found)


def _chosen(episodes: Sequence[EpisodeSeen], told: Collection[str]) -> list[str]:
    """The sentences that say most of all of them, in their order; all where there is room for them."""
    if sum(map(len, told)) <= _LONGEST_BY_RULE:
        return list(told)
    at = episodes[0].created_at
    said = [
        Said(drawer=0, place=place, role="user", origin="user", speaker=None, content=each, said_at=at)
        for place, each in enumerate(told)
    ]
    label = len(f"[{at.astimezone(UTC):%Y-%m-%d}] User: ")
    chosen = [line[label:] for line in extractive.summary(said, _LONGEST_BY_RULE).splitlines()]
    # A sentence is chosen without what opens it.
    return [each for each in told if not chosen or any(line in each for line in chosen)]


def _sentences(summary: str) -> Iterator[tuple[str, str]]:
    """The sentences of a summary, as they were said and as they are shown: with who said it, where that is told.

    Of what was said word for word, only what somebody tells of themselves or decides will be worth knowing.
    """
    for line in summary.splitlines():
        labelled = _LABELLED.match(line)
        if labelled is None:
            yield from ((said, said) for said in _standing(line))
        elif _tells(labelled["who"], labelled["said"]):
            yield labelled["said"], f"{labelled['who']}: {labelled['said']}"


def _standing(line: str) -> list[str]:
    """The sentences of a line of prose, each with the one before where it is not understood without."""
    found: list[str] = []
    for each in sentences(line):
        said = " ".join(each.text.split())
        if found and _POINTS_BACK.match(said) and len(found[-1]) + len(said) < _LONGEST_LINE:
            found[-1] = f"{found[-1]} {said}"
        else:
            found.append(said)
    return found


def _about(episode: EpisodeSeen) -> tuple[str, str]:
    return episode.abstract, f"Said: “{episode.abstract}”"


def _tells(who: str, said: str) -> bool:
    if who == "Assistant" or sifting.is_question(said) or sifting.is_task(said):
        return False
    return bool(statements(said)) or _DECIDES.search(said) is not None


def _section(text: str, episodes: Sequence[EpisodeSeen]) -> str:
    if _DECIDES.search(text):
        return "decisions"
    if _PREFERS.search(text):
        return "preferences"
    return "patterns" if len(episodes) > 1 else "facts"


# The document.


def _kept(lines: Iterable[Line]) -> list[Line]:
    """The lines that may be kept, each thing said once and no section over-long."""
    kept: list[Line] = []
    for line in lines:
        text = cut(" ".join(line.text.translate(_MARKUP).split()).lstrip("-*+ "), _LONGEST_LINE)
        told = sum(each.section == line.section for each in kept)
        if told < _MOST_LINES and _is_fit(text) and not any(same_fact(text, each.text, None).same for each in kept):
            kept.append(line._replace(text=text))
    return kept


def _is_fit(text: str) -> bool:
    return any(map(str.isalnum, text)) and suspicious(text) is None and not secrets.find(text)


def _rendered(lines: Sequence[Line], episodes: Sequence[EpisodeSeen], settings: Settings) -> str:
    """The document: a title, then the four sections, as far as it may be long."""
    days = " to ".join(dict.fromkeys((_day(episodes[0]), _day(episodes[-1]))))
    head = f"# What stays of {len(episodes)} conversation{'s' * (len(episodes) > 1)}, {days}"
    left = (
        settings.dream.synthesis_tokens - estimate(head) - sum(estimate(f"\n\n## {name}") for name in SECTIONS.values())
    )
    taken: list[str] = []
    for line in lines:
        shown = _line(line)
        left -= estimate(f"{shown}\n")
        if left < 0:
            break
        taken.append(shown)
    body = (_body(section, lines[: len(taken)]) for section in SECTIONS)
    return "\n\n".join((head, *body)) + "\n"


def _body(section: str, lines: Sequence[Line]) -> str:
    held = [_line(line) for line in lines if line.section == section]
    return "\n".join((f"## {SECTIONS[section]}", "", *(held or ["Nothing."])))


def _line(line: Line) -> str:
    days = dict.fromkeys(_day(each) for each in line.episodes)
    return f"- {line.text} ({', '.join(days)})"


def _day(episode: EpisodeSeen) -> str:
    return f"{episode.created_at.astimezone(UTC):%Y-%m-%d}"


def _stems(text: str) -> set[str]:
    return {stem(word) for word in meaningful_words(text)}
