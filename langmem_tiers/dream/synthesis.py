"""The synthesis: one long-term document out of several episodes, in four sections, each line with its episodes' days.

A model writes the lines; a line is kept where an episode that it names says it, in its words. An episode of which a
line is left out, or that no line tells of, has its own sentences instead, as all have without a model: those first that
share most with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any, NamedTuple

from pydantic import Field

from langmem_tiers.dream.asking import Question
from langmem_tiers.dream.replies import Numbers, Objects, Told, Words
from langmem_tiers.dream.summaries import DECIDES, LONGEST_LINE, Sentence, says, sentences_of
from langmem_tiers.dream.types import EpisodeSeen, Material, Proposal, Synthesis
from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.llm.answers import Answer
from langmem_tiers.llm.directives import Directives
from langmem_tiers.recall.tokens import estimate
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets
from langmem_tiers.trust.instructions import suspicious
from langmem_tiers.writing import extractive
from langmem_tiers.writing.extractive.graphemes import cut
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
_MOST_LOOKED_AT = 2 * _MOST_LINES
_LONGEST_SHOWN = 2000  # characters of one summary
_LONGEST_BY_RULE = 4000
_PREFERS = re.compile(
    r"\b(?:prefer|like|love|enjoy|hate|dislike|avoid|want|favou?rite|fan of|always|never|rather)\w*\b", re.IGNORECASE
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
    told = [] if answer.value is None else list(_told(answer.value, episodes))
    refused = [each for each in told if isinstance(each, Synthesis)]
    lines = _kept(each for each in told if isinstance(each, Line))
    if not lines:
        return [*by_rule(material, settings), *refused]
    return [_document([*lines, *_left_over(lines, refused, episodes)], episodes, settings), *refused]


def by_rule(material: Material, settings: Settings) -> list[Proposal]:
    """A synthesis in the episodes' own sentences; none where no episode waits."""
    episodes = _taken_up(material, settings)
    lines = list(_ranked(episodes)) if episodes else []
    document = _document(lines, episodes, settings) if _kept(lines) else None
    return [] if document is None else [document.model_copy(update={"path": "rule"})]


def _taken_up(material: Material, settings: Settings) -> tuple[EpisodeSeen, ...]:
    """The episodes of one synthesis that say something, the oldest first."""
    waiting = sorted(material.episodes, key=lambda each: (each.held_at, each.id))
    return tuple(each for each in waiting if _says_something(each))[: settings.dream.promoted]


def _says_something(episode: EpisodeSeen) -> bool:
    return any(map(str.isalnum, episode.summary))


def _shown(episode: EpisodeSeen) -> str:
    told = " ".join(episode.summary.split())
    return f"{_day(episode)}: {cut(told, _LONGEST_SHOWN)}"


# By a model.


def _told(told: ToldSynthesis, episodes: Sequence[EpisodeSeen]) -> Iterator[Line | Synthesis]:
    """The lines of a reply that an episode named says; the others as proposals that say why they are refused."""
    for section in SECTIONS:
        for each in getattr(told, section)[:_MOST_LOOKED_AT]:
            named = tuple(episodes[number - 1] for number in each.episodes if 1 <= number <= len(episodes))
            bearing = tuple(episode for episode in named if says(episode, each.text))
            if bearing and _is_fit(each.text):
                yield Line(section, each.text, bearing)
            elif each.text:
                ids = tuple(episode.id for episode in named)
                yield Synthesis(text=cut(each.text, LONGEST_LINE), episodes=ids, refused=_why_not(named, bearing))


def _why_not(named: Sequence[EpisodeSeen], bearing: Sequence[EpisodeSeen]) -> str:
    if not named:
        return "the line names no summary"
    if not bearing:
        return "no summary that the line names says it in these words"
    return "the line reads like an instruction to the agent, or holds a secret"


def _left_over(lines: Sequence[Line], refused: Sequence[Synthesis], episodes: Sequence[EpisodeSeen]) -> list[Line]:
    """The own sentences of the episodes that the lines of a reply do not tell, or told wrong."""
    kept = {episode.id for line in lines for episode in line.episodes}
    wrong = {each for proposal in refused for each in proposal.episodes}
    left = [each for each in episodes if each.id in wrong or each.id not in kept]
    return list(_ranked(left)) if left else []


# By rule.


def _ranked(episodes: Sequence[EpisodeSeen]) -> Iterator[Line]:
    """The sentences of the episodes that say most of all of them, each in the section that its words belong to."""
    found: dict[str, tuple[str, list[EpisodeSeen]]] = {}
    for episode in episodes:
        for each in [*sentences_of(episode.summary)] or [_about(episode)]:
            found.setdefault(each.said, (each.shown, []))[1].append(episode)
    for said in _chosen(episodes, found):
        shown, bearing = found[said]
        of = tuple({each.id: each for each in bearing}.values())
        yield Line(_section(said, of), shown, of)


def _chosen(episodes: Sequence[EpisodeSeen], told: Collection[str]) -> list[str]:
    """The sentences that say most of all of them, in their order; all where there is room for them."""
    if sum(map(len, told)) <= _LONGEST_BY_RULE:
        return list(told)
    at = episodes[0].held_at
    said = [
        Said(drawer=0, place=place, role="user", origin="user", speaker=None, content=each, said_at=at)
        for place, each in enumerate(told)
    ]
    label = len(f"[{at.astimezone(UTC):%Y-%m-%d}] User: ")
    chosen = [line[label:] for line in extractive.summary(said, _LONGEST_BY_RULE).splitlines()]
    # A sentence is chosen without what opens it.
    return [each for each in told if not chosen or any(line in each for line in chosen)]


def _about(episode: EpisodeSeen) -> Sentence:
    return Sentence(episode.abstract, f"Said: “{episode.abstract}”")


def _section(text: str, episodes: Sequence[EpisodeSeen]) -> str:
    if DECIDES.search(text):
        return "decisions"
    if _PREFERS.search(text):
        return "preferences"
    return "patterns" if len(episodes) > 1 else "facts"


# The document.


def _kept(lines: Iterable[Line]) -> list[Line]:
    """The lines that may be kept, each thing said once, for all episodes that say it, and no section over-long."""
    kept: list[Line] = []
    for line in lines:
        text = cut(" ".join(line.text.translate(_MARKUP).split()).lstrip("-*+ "), LONGEST_LINE)
        same = next((place for place, each in enumerate(kept) if same_fact(text, each.text, None).same), None)
        if same is not None:
            both = {each.id: each for each in (*kept[same].episodes, *line.episodes)}
            kept[same] = kept[same]._replace(episodes=tuple(both.values()))
        elif sum(each.section == line.section for each in kept) < _MOST_LINES and _is_fit(text):
            kept.append(line._replace(text=text))
    return kept


def _is_fit(text: str) -> bool:
    return any(map(str.isalnum, text)) and suspicious(text) is None and not secrets.find(text)


def _document(lines: Iterable[Line], episodes: Sequence[EpisodeSeen], settings: Settings) -> Synthesis:
    """The document as far as it may be long; episodes that it has no line of are left to the next one."""
    given = list(lines)
    shown = _fitting(_kept(given), _head(episodes), settings)
    told = {each.id for line in shown for each in line.episodes}
    tellable = {each.id for line in given if _is_fit(line.text) for each in line.episodes}
    left = {each.id for each in episodes if each.id in tellable - told} if shown else set()
    taken = [each for each in episodes if each.id not in left]
    text = "\n\n".join((_head(taken), *(_body(section, shown) for section in SECTIONS))) + "\n"
    return Synthesis(text=text, episodes=tuple(each.id for each in taken))


def _head(episodes: Sequence[EpisodeSeen]) -> str:
    days = " to ".join(dict.fromkeys((min(map(_day, episodes)), max(map(_day, episodes)))))
    return f"# What stays of {len(episodes)} conversation{'s' * (len(episodes) > 1)}, {days}"


def _fitting(lines: Sequence[Line], head: str, settings: Settings) -> list[Line]:
    """The first lines, as many as there is room for."""
    left = (
        settings.dream.synthesis_tokens - estimate(head) - sum(estimate(f"\n\n## {name}") for name in SECTIONS.values())
    )
    taken: list[Line] = []
    for line in lines:
        left -= estimate(f"{_line(line)}\n")
        if left < 0:
            break
        taken.append(line)
    return taken


def _body(section: str, lines: Sequence[Line]) -> str:
    held = [_line(line) for line in lines if line.section == section]
    return "\n".join((f"## {SECTIONS[section]}", "", *(held or ["Nothing."])))


def _line(line: Line) -> str:
    days = dict.fromkeys(sorted(map(_day, line.episodes)))
    return f"- {line.text} ({', '.join(days)})"


def _day(episode: EpisodeSeen) -> str:
    """The day that a session was held; the last one, where it took several."""
    return f"{episode.held_at.astimezone(UTC):%Y-%m-%d}"
