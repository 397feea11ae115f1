"""Extractive abstracts and summaries: sentences chosen by how much they share with the whole.

Sentences are ranked by the cosine to the tf-idf centroid of all (Radev et al. 2004, MEAD), and those that repeat a
chosen one are skipped (Carbonell and Goldstein 1998, MMR).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from math import log, sqrt

from langmem_tiers.language import speech_acts
from langmem_tiers.language.characters import cut
from langmem_tiers.language.clauses import trimmed
from langmem_tiers.language.key_phrases import FILLER, key_phrases
from langmem_tiers.language.names import addressed, names
from langmem_tiers.language.salience import ENOUGH, Salience
from langmem_tiers.language.sentences import is_latin, sentences
from langmem_tiers.language.slugs import subject_key
from langmem_tiers.language.words import meaningful_words, stem
from langmem_tiers.records import Said

_MOST_SENTENCES = 3000
_LONGEST_SENTENCE = 400  # characters; a longer one fills a summary alone
_ALIKE = 0.5  # cosine from which two sentences say the same
_ROLES = {"user": "User", "assistant": "Assistant"}
_TOLD = 1.3  # weight of a user's sentence over an assistant's
_ASKED = 0.4  # weight of a question
_MOST_LINES = 10
_MOST_OF_ASSISTANT = 3
_SHARED = 2  # words that an assistant's sentence takes up
_WORDS_OF_A_SENTENCE = 8  # meaningful words; shorter sentences say less


@dataclass(frozen=True, kw_only=True, slots=True)
class Extract:
    """A sentence of a conversation, verbatim but for its opening words."""

    place: int
    """Its position among all sentences."""
    text: str
    label: str
    """When and by whom it was said: "[2023-05-08] Judith: "."""
    by_user: bool
    salience: float
    stems: Counter[str]
    weight: float

    @property
    def line(self) -> str:
        """The sentence as a line of a summary."""
        return f"{self.label}{self.text}"


def abstract(text: str, most: int = 200) -> str:
    """The most representative sentence of the text, in at most `most` characters; "" if there is no prose.

    A sentence that is too long is cut at a word, in scripts without blanks at a whole character.
    """
    candidates = [_extract(place, sentence.text) for place, sentence in enumerate(sentences(text)[:_MOST_SENTENCES])]
    if not candidates:
        return ""
    ranked = _ranked([candidate for candidate in candidates if candidate.stems] or candidates[:1])
    best = next((candidate for candidate in ranked if len(candidate.text) <= most), ranked[0])
    return cut(best.text, most)


def summary(said: Sequence[Said], most_characters: int) -> tuple[Extract, ...]:
    """At most ten sentences that carry a fact, a decision, a name or a date, in order; none if there are none.

    Those of assistants are taken if they take up what a user stated, and are at most three.
    """
    told = _candidates(said, Salience.of(said))
    worthwhile = sorted((each for each in _ranked(told) if each.salience >= ENOUGH), key=lambda each: -each.salience)
    of_user = _fitting([each for each in worthwhile if each.by_user], _MOST_LINES, most_characters)
    answers = [each for each in worthwhile if not each.by_user and _takes_up(each, of_user)]
    rest = most_characters - sum(len(each.line) + 1 for each in of_user)
    left = min(_MOST_LINES - len(of_user), _MOST_OF_ASSISTANT)
    chosen = [*of_user, *_fitting(answers, left, rest, known=of_user)]
    return tuple(_in_order(chosen))


def _takes_up(answer: Extract, stated: Sequence[Extract]) -> bool:
    """Whether an assistant's sentence is about what the user stated, rather than about the world."""
    return any(len(answer.stems.keys() & each.stems.keys()) >= _SHARED for each in stated)


def representative(texts: Sequence[str], most_characters: int) -> list[str]:
    """Those of some texts that share most with all of them, in order, in at most so many characters."""
    if sum(map(len, texts)) <= most_characters:
        return [*texts]
    ranked = _ranked([_extract(place, text) for place, text in enumerate(texts)])
    return [texts[each.place] for each in _in_order(_fitting(ranked, len(texts), most_characters))]


def condensed(said: Sequence[Said], most_characters: int) -> str:
    """The most representative sentences as lines such as "[2023-05-08] Judith: I moved to Oslo."; "" without prose."""
    chosen = _fitting(_ranked(_candidates(said, None)), _MOST_SENTENCES, most_characters)
    return "\n".join(each.line for each in _in_order(chosen))


def _in_order(chosen: Iterable[Extract]) -> list[Extract]:
    return sorted(chosen, key=lambda each: each.place)


def _fitting(
    ranked: Sequence[Extract], most: int, most_characters: int, known: Sequence[Extract] = ()
) -> list[Extract]:
    """The first sentences that fit and do not repeat a chosen or `known` one."""
    chosen: list[Extract] = []
    left = most_characters
    for each in ranked:
        needed = len(each.line) + 1
        has_room = len(chosen) < most and needed <= left + 1
        if has_room and not any(_cosine(each.stems, other.stems) > _ALIKE for other in (*known, *chosen)):
            chosen.append(each)
            left -= needed
    return chosen


def _candidates(said: Sequence[Said], salience: Salience | None) -> list[Extract]:
    found: list[Extract] = []
    for turn in said:
        if turn.role not in _ROLES or turn.origin in {"tool", "system"}:
            continue
        label = f"[{turn.said_at.astimezone(UTC).date().isoformat()}] {turn.speaker or _ROLES[turn.role]}: "
        for sentence in sentences(turn.content):
            if len(sentence.text) <= _LONGEST_SENTENCE:
                carries = 0.0 if salience is None else salience.weigh(turn, sentence)
                by_user = turn.role == "user"
                found.append(_extract(len(found), sentence.text, label=label, by_user=by_user, salience=carries))
    return [each for each in found[-_MOST_SENTENCES:] if each.stems]


def _extract(place: int, text: str, *, label: str = "", by_user: bool = False, salience: float = 0.0) -> Extract:
    """A sentence without its opening ("By the way, Anna,"), otherwise unchanged, since it may be a command."""
    shown = " ".join(text.split())
    told = trimmed(shown) if shown.isascii() else shown
    shown = shown[max(0, shown.find(told)) :] if told else ""
    asked = _ASKED if speech_acts.is_question(text) else 1.0
    return Extract(
        place=place,
        text=shown,
        label=label,
        by_user=by_user,
        salience=salience,
        stems=Counter(stem(word) for word in meaningful_words(shown) if word not in FILLER),
        weight=(_TOLD if by_user else 1.0) * asked,
    )


def _ranked(candidates: Sequence[Extract]) -> list[Extract]:
    """The sentences, ranked by how much they share with all of them; earlier first among equals."""
    spread = Counter(key for candidate in candidates for key in candidate.stems)
    weights = {key: log(1 + len(candidates) / count) for key, count in spread.items()}
    centroid: Counter[str] = Counter()
    for candidate in candidates:
        centroid.update(candidate.stems)
    return sorted(candidates, key=lambda candidate: (-_worth(candidate, centroid, weights), candidate.place))


def _worth(candidate: Extract, centroid: Counter[str], weights: dict[str, float]) -> float:
    """How close the sentence is to the centroid of all; a short one may be close by chance."""
    dot = sum(count * centroid[key] * weights[key] ** 2 for key, count in candidate.stems.items())
    norm = _norm(count * weights[key] for key, count in candidate.stems.items())
    long_enough = min(1.0, len(candidate.stems) / _WORDS_OF_A_SENTENCE)
    return candidate.weight * long_enough * dot / norm if norm else 0.0


def _cosine(first: Counter[str], second: Counter[str]) -> float:
    dot = sum(count * second[key] for key, count in first.items())
    norms = _norm(first.values()) * _norm(second.values())
    return dot / norms if norms else 0.0


def _norm(values: Iterable[float]) -> float:
    return sqrt(sum(value * value for value in values))


_LEAST_TEXTS = 2  # number of texts in which a name must occur to rank as a topic before the phrases
_SHARE_OF_NAMES = 2  # at most one in this many topics is a name


def key_topics(texts: Sequence[str], most: int) -> tuple[str, ...]:
    """Up to this many names and key phrases, as written, best first; none from code, logs and non-Latin scripts.

    Example:
        >>> key_topics(["We fly to Lisbon in May.", "Lisbon has good battery shops."], 2)
        ('Lisbon', 'battery shops')
    """
    latin = (" ".join(sentence.text for sentence in sentences(text)) for text in texts if is_latin(text))
    prose = [shown for shown in latin if shown]
    named = _names(prose)[: max(1, most // _SHARE_OF_NAMES)]
    found: dict[str, str] = {}
    for topic in (*named, *key_phrases(prose, limit=2 * most)):
        # A topic that shares a word with an earlier one repeats it.
        key = subject_key(topic)
        if not any({*key.split("-")} & {*known.split("-")} for known in found):
            found[key] = topic
    return tuple(found.values())[:most]


def _names(texts: Sequence[str]) -> list[str]:
    """The names in several texts, without people who are addressed."""
    spoken_to = frozenset[str]().union(*(addressed(text) for text in texts))
    counted = Counter(name for text in texts for name in {each.text for each in names(text)})
    return [
        name
        for name, count in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
        if count >= _LEAST_TEXTS and name.casefold() not in spoken_to and name.isascii()
    ]
