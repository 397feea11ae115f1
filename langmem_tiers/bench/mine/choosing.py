"""Choosing fair questions out of many drafts."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import ceil
from random import Random
from typing import TYPE_CHECKING

from langmem_tiers.bench.mine.drafts import cloze, gap, keywords, paraphrase, reworded
from langmem_tiers.bench.mine.questions import LEAST, Draft, Kind, MinedQuestion, QuestionSet
from langmem_tiers.bench.mine.reading import Vocabulary, vocabulary
from langmem_tiers.content import content_hash
from langmem_tiers.errors import InvalidInput
from langmem_tiers.language.words import is_trivial, meaningful_words, stem, words

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.space import Space
    from langmem_tiers.types import Drawer


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


FairnessRule = Callable[[Draft, str, Ground], bool]
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


_EVERY: tuple[FairnessRule, ...] = (_is_odd, _has_too_few_words, _gives_the_answer_away, _is_a_copy)
_OF_KIND: dict[str, tuple[FairnessRule, ...]] = {"model": (_copies_words,)}


Progress = Callable[[int, int], None]
Rule = Callable[[str, Vocabulary, Random], Iterator[Draft]]
# The rarest kind first: most messages have words, few fit a pattern.
RULES: Mapping[Kind, Rule] = {"paraphrase": paraphrase, "cloze": cloze, "keywords": keywords, "gap": gap}
_MOST_CALLS = 2  # of a model for each question wanted
_ALIKE = ("paraphrase", "cloze", "keywords")  # kinds of which there are equally many; others fill up
_ORIGINS = frozenset({"user", "import"})
_NEVER = datetime.min.replace(tzinfo=UTC)
_LOOKED_AT = 10  # messages for each question wanted, before other kinds fill up what a rare one leaves open


@dataclass(frozen=True, kw_only=True, slots=True)
class _Message:
    """What somebody said, and what its questions are drawn from."""

    content: str
    digest: bytes
    seed: int

    @property
    def order(self) -> bytes:
        """Its place in the draw: by hash, so that new messages leave the order of the others as it is."""
        return hashlib.sha256(f"{self.seed}/{self.digest.hex()}".encode()).digest()

    def rng(self, kind: Kind) -> Random:
        return Random(f"{self.seed}/{kind}/{self.digest.hex()}")


def mine_questions(
    space: Space,
    *,
    questions: int = 100,
    seed: int = 1,
    model: BaseChatModel | None = None,
    on_progress: Progress | None = None,
) -> QuestionSet:
    """Questions about what the user of a space said, each of which one message answers.

    Without a model, rules make them of the messages' own words: sentences turned into questions, gaps to be filled,
    key words. With one, the model is asked once for each message; a reply that is no fair question is counted, and the
    rules take its place. Every question holds out a fact of its message, and none is a copy of it.

    Args:
        space: The space; it is only read.
        questions: How many are wanted; there may be fewer.
        seed: Another one draws other messages.
        model: Any chat model of LangChain that can give structured output. It is sent the user's messages.
        on_progress: Is told how many questions there are, and how many are wanted.

    Raises:
        InvalidInput: fewer than five questions can be made.
    """
    told = on_progress or (lambda _done, _wanted: None)
    ground, messages, asked_at = _read(space.drawers(), seed)
    drawn = _Draw(ground, asked_at)
    made: list[MinedQuestion] = []
    for question in drawn.by_model(messages, model, questions) if model else drawn.by_rules(messages, questions):
        made.append(question)
        told(len(made), questions)
        if len(made) >= questions:
            break
    if len(made) < LEAST:
        raise _too_few(space.name, len(made), len(messages), modelled=model is not None)
    return QuestionSet(
        space=space.name, questions=tuple(made), wanted=questions, messages=len(messages), dropped=drawn.dropped
    )


class _Draw:
    """Makes the questions; `dropped` counts the replies of a model that were of no use."""

    def __init__(self, ground: Ground, asked_at: datetime) -> None:
        self._ground = ground
        self._asked_at = asked_at
        self.dropped = 0

    def by_rules(self, messages: Sequence[_Message], wanted: int) -> Iterator[MinedQuestion]:
        """One question a message, of every kind alike as far as there are any; then others of the same messages."""
        left: Counter[str] = Counter(dict.fromkeys(_ALIKE, ceil(wanted / len(_ALIKE))))
        spare: list[MinedQuestion] = []
        for place, message in enumerate(messages):
            if place == _LOOKED_AT * wanted:
                yield from spare
                spare = []
            made = list(self._of(message))
            first = next((question for question in made if left[question.kind]), None)
            if first is not None:
                left[first.kind] -= 1
                yield first
            spare += [question for question in made if question is not first]
        yield from spare

    def by_model(self, messages: Sequence[_Message], model: BaseChatModel, wanted: int) -> Iterator[MinedQuestion]:
        """One question a message: the model's, else that of a rule."""
        from langmem_tiers.bench.mine.drafts import question_by_model

        asked = messages[: _MOST_CALLS * wanted]
        for message in asked:
            draft = question_by_model(model, message.content)
            if draft is not None and is_fair(draft, message.content, self._ground):
                yield self._question(draft, message)
            else:
                self.dropped += 1
                yield from list(self._of(message))[:1]
        yield from self.by_rules(messages[len(asked) :], wanted)

    def _of(self, message: _Message) -> Iterator[MinedQuestion]:
        """The first fair question of each kind."""
        for kind, rule in RULES.items():
            rng = message.rng(kind)
            drafts = rule(message.content, self._ground.vocabulary, rng)
            fair = next((draft for draft in drafts if is_fair(draft, message.content, self._ground)), None)
            if fair is not None:
                varied = replace(fair, text=reworded(fair.text, rng))
                yield self._question(varied if is_fair(varied, message.content, self._ground) else fair, message)

    def _question(self, draft: Draft, message: _Message) -> MinedQuestion:
        return MinedQuestion(
            question_id=f"{draft.kind}-{message.digest.hex()[:12]}",
            kind=draft.kind,
            text=draft.text,
            answer=draft.answer,
            content_hash=message.digest,
            asked_at=self._asked_at,
        )


def _read(drawers: Iterable[Drawer], seed: int) -> tuple[Ground, list[_Message], datetime]:
    """Everything that is said in the space, the user's own messages in the order of the draw, and the last moment."""
    standing = [(content_hash(drawer.content), drawer) for drawer in drawers if drawer.status == "active"]
    said = {digest: drawer.content for digest, drawer in standing}
    own = {digest: drawer.content for digest, drawer in standing if _is_own(drawer)}
    messages = [_Message(content=content, digest=digest, seed=seed) for digest, content in own.items()]
    ground = Ground(vocabulary=vocabulary(said.values()), hashes=frozenset(said))
    last = max((drawer.said_at for _, drawer in standing), default=_NEVER)
    return ground, sorted(messages, key=lambda message: message.order), last


def _is_own(drawer: Drawer) -> bool:
    return drawer.role == "user" and drawer.origin in _ORIGINS and not is_trivial(drawer.content)


def _too_few(space: str, made: int, messages: int, *, modelled: bool) -> InvalidInput:
    way_out = "Measure it when more has been said."
    found = f"Only {made} questions could be made of the {messages:,} telling messages of the user in {space}"
    return InvalidInput(
        f"{found}; at least {LEAST} are needed.",
        way_out=way_out if modelled else f"{way_out[:-1]}, or let a model write the questions (--model).",
    )
