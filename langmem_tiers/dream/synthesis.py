"""Writes one long-term document from several episodes, in up to four sections, each line with the days of its episodes.

A model writes the lines; a line is kept if an episode it cites supports it, word for word. Episodes with a rejected
line, or with none at all, contribute their own sentences instead, as all do without a model: the most
representative ones first. What an entry says already is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import NamedTuple

from pydantic import Field

from langmem_tiers.dream.questions import BUILT_IN, DreamQuestion, Numbers, Objects, PartialReply, Step, Words
from langmem_tiers.dream.types import Material, Proposal, Synthesis
from langmem_tiers.knowledge import document_text
from langmem_tiers.language import speech_acts, summaries
from langmem_tiers.language.characters import cut, one_line
from langmem_tiers.language.paraphrase import difference, same_fact
from langmem_tiers.language.salience import ENOUGH, Salience, decides
from langmem_tiers.language.sentences import sentences, straight
from langmem_tiers.language.word_lists import word_set
from langmem_tiers.language.wordings import wording
from langmem_tiers.language.words import occurs, stems
from langmem_tiers.models.directives import Directives
from langmem_tiers.models.tokens import estimate
from langmem_tiers.records import Entry, Episode, Said
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets
from langmem_tiers.trust.instructions import suspicious
from langmem_tiers.trust.safety import lowers
from langmem_tiers.types import Role

DIRECTIVE = "dreaming"
SECTIONS: Mapping[str, str] = {
    "preferences": "User preferences",
    "facts": "Project facts",
    "patterns": "Recurring patterns",
    "decisions": "Key decisions",
}
"""The sections of a synthesis, by the name that a model gives their lines under."""

_MOST_LINES = 15  # per section
_MOST_LOOKED_AT = 2 * _MOST_LINES
_LONGEST_SHOWN = 2000  # characters per summary
_LONGEST_BY_RULE = 4000
_PREFERS = re.compile(
    r"\b(?:prefer|like|love|enjoy|hate|dislike|avoid|want|favou?rite|fan of|always|never|rather)\w*\b", re.IGNORECASE
)
_MARKUP = str.maketrans({"#": "", "`": "'", "<": "(", ">": ")", "[": "(", "]": ")"})

_LONGEST_LINE = 400
_USER, _ASSISTANT = "User", "Assistant"
# The label of a line in a rule-based summary: "[2026-03-02] User: …".
_LABELLED = re.compile(r"^\[\d{4}-\d\d-\d\d\] (?P<who>[^:\n]{1,60}): (?P<said>.+)$")
_POINTS_BACK = re.compile(
    r"(?:(?:and|but|so|then|also|later|there|here|instead)\b,? ?)*"
    r"(?:they|she|he|it|this|that|these|those|her|his|their|its|both|there|one)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
# Function words that tell who does what to whom: a letter to Anna is not one from her.
_TIES = word_set("to of for at on in as with from by into onto than user")
_USER_SPEAKS = re.compile(r"\b(?:I|my|mine|me|myself)\b", re.IGNORECASE)
_SHORTENED = ((re.compile(r"\bI'm\b"), "I am"), (re.compile(r"\bI've\b"), "I have"))


class LineReply(PartialReply):
    """Something worth knowing, and which summaries say it."""

    text: Words = ""
    episodes: Numbers = Field(default_factory=list, description="numbers of the summaries that say it")


class SynthesisReply(PartialReply):
    """What stays of some conversations."""

    preferences: Objects[LineReply]
    facts: Objects[LineReply]
    patterns: Objects[LineReply]
    decisions: Objects[LineReply]


class SectionLine(NamedTuple):
    """A line of a section, and the episodes it rests on."""

    section: str
    text: str
    episodes: tuple[Episode, ...]


def propose(material: Material, settings: Settings, directives: Directives = BUILT_IN) -> Step[list[Proposal]]:
    """Ask for one synthesis of the waiting episodes; by rule if nothing the model says is supported.

    Raises:
        InvalidDirective: the memory's custom prompt cannot be used.
    """
    episodes = _taken_up(material, settings)
    if not episodes:
        return []
    told = (f"{_day(each)}: {cut(one_line(each.summary), _LONGEST_SHOWN)}" for each in episodes)
    user = "\n".join(f"[{number}] {line}" for number, line in enumerate(told, 1))
    prompt = directives.prompt(DIRECTIVE, SynthesisReply, user)
    answer = yield DreamQuestion(schema=SynthesisReply, prompt=prompt, output_tokens=settings.dream.synthesis_tokens)
    kept, refused = ([], []) if answer.value is None else _from_reply(answer.value, episodes)
    lines = _without_repetition(_unknown(kept, material.entries))
    if not lines:
        return [*by_rule(material, settings), *refused]
    # Sentences of the episodes that a reply leaves out or gets wrong.
    told_of = {episode.id for line in lines for episode in line.episodes}
    wrong = {each for proposal in refused for each in proposal.episodes}
    left = [each for each in episodes if each.id in wrong or each.id not in told_of]
    return [_document([*lines, *_unknown(_ranked(left), material.entries)], episodes, settings), *refused]


def by_rule(material: Material, settings: Settings) -> list[Synthesis]:
    """A synthesis in the episodes' own sentences, without a text if they say nothing new; none if no episode waits."""
    episodes = _taken_up(material, settings)
    lines = _unknown(_ranked(episodes), material.entries)
    return [_document(lines, episodes, settings).model_copy(update={"path": "rule"})] if episodes else []


def _taken_up(material: Material, settings: Settings) -> tuple[Episode, ...]:
    """The episodes to promote that have any content, oldest first."""
    waiting = sorted(material.episodes, key=lambda each: (each.ended_at, each.id))
    return tuple(each for each in waiting if any(map(str.isalnum, each.summary)))[: settings.dream.promoted]


# By a model.


def _from_reply(told: SynthesisReply, episodes: Sequence[Episode]) -> tuple[list[SectionLine], list[Synthesis]]:
    """The lines of a reply that one of their episodes supports; the others as refused proposals."""
    kept, refused = [], []
    lines = [(section, each) for section in SECTIONS for each in getattr(told, section)[:_MOST_LOOKED_AT] if each.text]
    for section, each in lines:
        named = tuple(episodes[number - 1] for number in each.episodes if 1 <= number <= len(episodes))
        bearing = tuple(episode for episode in named if _supports(episode, each.text))
        if bearing and _is_fit(each.text):
            kept.append(SectionLine(section, each.text, bearing))
            continue
        why = "the line reads like an instruction to the agent, or holds a secret"
        if not bearing:
            why = "no summary that the line names says it in these words" if named else "the line names no summary"
        ids = tuple(episode.id for episode in named)
        refused.append(Synthesis(text=cut(each.text, _LONGEST_LINE), episodes=ids, refused=why))
    return kept, refused


# By rule.


def _ranked(episodes: Sequence[Episode]) -> list[SectionLine]:
    """The most representative sentences of the episodes, each in the section that its words suggest."""
    found: dict[str, tuple[str, dict[str, Episode]]] = {}
    for episode in episodes:
        for each in _sentences_of(episode):
            found.setdefault(each.said, (each.shown, {}))[1][episode.id] = episode
    lines = []
    for said in summaries.representative([*found], _LONGEST_BY_RULE):
        shown, bearing = found[said]
        section = "patterns" if len(bearing) > 1 else "facts"
        section = "preferences" if _PREFERS.search(said) else section
        section = "decisions" if decides(said) else section
        lines.append(SectionLine(section, shown, tuple(bearing.values())))
    return lines


# The document.


def _unknown(lines: Iterable[SectionLine], entries: Sequence[Entry]) -> list[SectionLine]:
    """The lines that no entry says already, or rests on."""
    known = [(entry, stems(entry.content)) for entry in entries if entry.active]
    return [line for line in lines if not any(_says(*each, line.text) for each in known)]


def _says(entry: Entry, words: set[str], line: str) -> bool:
    said = document_text.statement(line).said.rstrip(" .!")
    if any(each.quote and occurs(said, each.quote) for each in entry.evidence):
        return True
    told = stems(line)
    return 2 * len(told & words) >= len(told) and same_fact(line, entry.content, None).same


def _without_repetition(lines: Iterable[SectionLine]) -> list[SectionLine]:
    """The lines to keep: each statement once, with all its episodes, and no section too long."""
    kept: list[SectionLine] = []
    for line in lines:
        text = cut(one_line(line.text.translate(_MARKUP)).lstrip("-*+ "), _LONGEST_LINE)
        same = next((place for place, each in enumerate(kept) if same_fact(text, each.text, None).same), None)
        if same is not None:
            both = {each.id: each for each in (*kept[same].episodes, *line.episodes)}
            kept[same] = kept[same]._replace(episodes=tuple(both.values()))
        elif sum(each.section == line.section for each in kept) < _MOST_LINES and _is_fit(text):
            kept.append(line._replace(text=text))
    return kept


def _is_fit(text: str) -> bool:
    harmless = suspicious(text) is None and lowers(text) is None and not secrets.find(text)
    return harmless and any(map(str.isalnum, text))


def _document(lines: Sequence[SectionLine], episodes: Sequence[Episode], settings: Settings) -> Synthesis:
    """The document up to its maximum length; episodes without a line in it are left to the next one."""
    shown = _fitting(_without_repetition(lines), _head(episodes), settings)
    told = {each.id for line in shown for each in line.episodes}
    tellable = {each.id for line in lines if _is_fit(line.text) for each in line.episodes}
    left = {each.id for each in episodes if each.id in tellable - told} if shown else set()
    taken = [each for each in episodes if each.id not in left]
    parts = [_head(taken)]
    for section, title in SECTIONS.items():
        if held := [_line(line) for line in shown if line.section == section]:
            parts.append("\n".join((f"## {title}", "", *held)))
    return Synthesis(text="\n\n".join(parts) + "\n" if shown else "", episodes=tuple(each.id for each in taken))


def _head(episodes: Sequence[Episode]) -> str:
    days = " to ".join(dict.fromkeys((min(map(_day, episodes)), max(map(_day, episodes)))))
    return f"# What stays of {len(episodes)} conversation{'s' * (len(episodes) > 1)}, {days}"


def _fitting(lines: Sequence[SectionLine], head: str, settings: Settings) -> list[SectionLine]:
    """The first lines, as many as there is room for."""
    left = (
        settings.dream.synthesis_tokens - estimate(head) - sum(estimate(f"\n\n## {name}") for name in SECTIONS.values())
    )
    taken: list[SectionLine] = []
    for line in lines:
        left -= estimate(f"{_line(line)}\n")
        if left < 0:
            break
        taken.append(line)
    return taken


def _line(line: SectionLine) -> str:
    days = dict.fromkeys(sorted(map(_day, line.episodes)))
    return document_text.statement_line(line.text, days)


def _day(episode: Episode) -> str:
    """The day of a session; the last one, if it took several."""
    return f"{episode.ended_at.astimezone(UTC):%Y-%m-%d}"


# The sentences of a summary.


class SummarySentence(NamedTuple):
    """A sentence of a summary as it was `said`, and as it is `shown`, with its speaker if known."""

    said: str
    shown: str
    by_user: bool = False


def _sentences_of(episode: Episode) -> Iterator[SummarySentence]:
    """The sentences of a summary; of verbatim speech, only what people tell or decide is worth keeping."""
    spoken = [*_spoken(episode.summary)]
    turns = [_turn(place, who, said, episode) for place, (who, said) in enumerate(spoken)]
    salience = Salience.of([turn for turn, (who, _) in zip(turns, spoken, strict=True) if who])
    for turn, (who, said) in zip(turns, spoken, strict=True):
        if not who:
            yield from (SummarySentence(each, each) for each in _whole_sentences(said))
        elif who != _ASSISTANT and any(salience.weigh(turn, each) >= ENOUGH for each in sentences(said)):
            yield SummarySentence(said, f"{who}: {said}", by_user=who == _USER)


def _turn(place: int, who: str, said: str, episode: Episode) -> Said:
    """A line of a summary as the turn it was said in."""
    speaker = None if who in {_USER, _ASSISTANT} else who
    role: Role = "assistant" if who == _ASSISTANT else "user"
    at = episode.ended_at
    return Said(drawer=place, place=place, role=role, origin=role, speaker=speaker, content=said, said_at=at)


def _supports(episode: Episode, line: str) -> bool:
    """Whether an episode's summary contains a line, sentence by sentence and word for word.

    A line may not repeat what the assistant said, nor a question or a request.
    """
    there = [
        SummarySentence(each, each, by_user=who == _USER)
        for who, said in _spoken(episode.summary)
        if who != _ASSISTANT
        for each in [said] * bool(who) + _whole_sentences(said)
        if not (who and _wants(each))
    ]
    wanted = _whole_sentences(line)
    return bool(wanted) and all(any(_is_same_statement(each, part) for each in there) for part in wanted)


def _spoken(summary: str) -> Iterator[tuple[str, str]]:
    """The lines of a summary with who said them: nobody, where it is prose."""
    for line in summary.splitlines():
        labelled = _LABELLED.match(line)
        yield ("", line) if labelled is None else (labelled["who"], labelled["said"])


def _is_same_statement(sentence: SummarySentence, line: str) -> bool:
    """Whether a line matches a sentence: the strict check of wordings, plus the function words that it ignores."""
    said = straight(sentence.said)
    for short, whole in _SHORTENED:
        said = short.sub(whole, said)
    if sentence.by_user:
        said = _USER_SPEAKS.sub("user", said)
    here, there = wording(line), wording(said)
    ties = [[word for word in _WORD.findall(text.casefold()) if word in _TIES] for text in (line, said)]
    in_same_way = (here.being, here.asks) == (there.being, there.asks) and ties[0] == ties[1]
    return in_same_way and difference(said, [line], by_user=False) is None


def _whole_sentences(line: str) -> list[str]:
    """The sentences of a line of prose, each preceded by the one before if it depends on it."""
    found: list[str] = []
    for each in sentences(line):
        said = one_line(each.text)
        if found and _POINTS_BACK.match(said) and len(found[-1]) + len(said) < _LONGEST_LINE:
            found[-1] = f"{found[-1]} {said}"
        else:
            found.append(said)
    return found


def _wants(said: str) -> bool:
    return speech_acts.is_question(said) or speech_acts.is_task(said)
