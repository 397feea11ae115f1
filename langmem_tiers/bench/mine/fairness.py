"""Which questions are fair: they hold something to search by, hold out what they ask for, and copy nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from langmem_tiers.bench.mine.questions import Draft
from langmem_tiers.bench.mine.vocabulary import Vocabulary
from langmem_tiers.content import content_hash
from langmem_tiers.palace.words import meaningful_words, stem, words

_LONGEST = 200
_FEW = 3  # messages that may hold all the words of a question
_LEAST_WORDS = 2
_MOST_COPIED = 6  # words of the message that a model may use
# What no plain question holds, and a text that wants more than to be a question does.
_ODD = re.compile(r"[<>{}\[\]`|\\\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]|://")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """What questions are judged against: the words of the space, and the hashes of everything said in it."""

    vocabulary: Vocabulary
    hashes: AbstractSet[bytes]


def is_fair(draft: Draft, message: str, ground: Ground) -> bool:
    """Whether a question made of a message may be asked."""
    return not any(rule(draft, message, ground) for rule in (*_EVERY, *_OF_KIND.get(draft.kind, (_is_common,))))


Rule = Callable[[Draft, str, Ground], bool]
"""Whether there is something against a question."""


def _is_odd(draft: Draft, _message: str, _ground: Ground) -> bool:
    return len(draft.text) > _LONGEST or bool(_ODD.search(draft.text))


def _has_too_few_words(draft: Draft, _message: str, _ground: Ground) -> bool:
    return len(set(meaningful_words(draft.text))) < _LEAST_WORDS


def _gives_the_answer_away(draft: Draft, message: str, _ground: Ground) -> bool:
    """Or holds out nothing that the message says."""
    answer = _stems(draft.answer) or {stem(word) for word in words(draft.answer)}
    said, asked = ({stem(word) for word in words(text)} for text in (message, draft.text))
    return not answer or not answer <= said or bool(answer & asked)


def _is_a_copy(draft: Draft, message: str, ground: Ground) -> bool:
    if content_hash(draft.text) in ground.hashes:
        return True
    return f" {' '.join(words(draft.text))} " in f" {' '.join(words(message))} "


def _is_common(draft: Draft, message: str, ground: Ground) -> bool:
    """Whether the words that it shares with its message are together in many others, too."""
    return ground.vocabulary.holding_all(_stems(draft.text) & _stems(message)) > _FEW


def _copies_words(draft: Draft, message: str, _ground: Ground) -> bool:
    return len(_stems(draft.text) & _stems(message)) > _MOST_COPIED


def _stems(text: str) -> set[str]:
    return {stem(word) for word in meaningful_words(text)}


_EVERY: tuple[Rule, ...] = (_is_odd, _has_too_few_words, _gives_the_answer_away, _is_a_copy)
_OF_KIND: dict[str, tuple[Rule, ...]] = {"model": (_copies_words,)}
