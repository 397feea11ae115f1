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

from langmem_tiers.bench.mine.drafts import cloze, gap, keywords, paraphrase, question_by_model, reworded
from langmem_tiers.bench.mine.questions import LEAST, DraftQuestion, Kind, MinedQuestion, QuestionSet
from langmem_tiers.bench.mine.reading import Vocabulary, vocabulary
from langmem_tiers.bench.workers import Progress, unwatched
from langmem_tiers.content import content_hash
from langmem_tiers.errors import InvalidInput
from langmem_tiers.language.words import is_trivial, meaningful_words, stem, stems, words

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
    """What the fairness of questions is checked against: the words of the space, and hashes of all its messages."""

    vocabulary: Vocabulary
    hashes: AbstractSet[bytes]


def is_fair(draft: DraftQuestion, message: str, ground: Ground) -> bool:
    """Whether a question made of a message may be asked."""
    if len(draft.text) > _LONGEST or _ODD.search(draft.text):
        return False
    if len(set(meaningful_words(draft.text))) < _LEAST_WORDS:
        return False
    if _gives_the_answer_away(draft, message) or _is_a_copy(draft, message, ground):
        return False
    shared = stems(draft.text) & stems(message)
    if draft.kind == "model":
        return len(shared) <= _MOST_COPIED
    return ground.vocabulary.holding_all(shared) <= _FEW


def _gives_the_answer_away(draft: DraftQuestion, message: str) -> bool:
    """Whether it holds words of its answer, or the answer is not in the message at all."""
    answer = stems(draft.answer) or {stem(word) for word in words(draft.answer)}
    said, asked = ({stem(word) for word in words(text)} for text in (message, draft.text))
    return not answer or not answer <= said or bool(answer & asked)


def _is_a_copy(draft: DraftQuestion, message: str, ground: Ground) -> bool:
    if content_hash(draft.text) in ground.hashes:
        return True
    return f" {' '.join(words(draft.text))} " in f" {' '.join(words(message))} "


Rule = Callable[[str, Vocabulary, Random], Iterator[DraftQuestion]]
# The rarest kind first: most messages have words, few fit a pattern.
RULES: Mapping[Kind, Rule] = {"paraphrase": paraphrase, "cloze": cloze, "keywords": keywords, "gap": gap}
_MOST_CALLS = 2  # of a model for each question wanted
_ALIKE = ("paraphrase", "cloze", "keywords")  # kinds of which there are equally many; others fill up
_ORIGINS = frozenset({"user", "import"})
_NEVER = datetime.min.replace(tzinfo=UTC)
_LOOKED_AT = 10  # messages for each question wanted, before other kinds fill up what a rare one leaves open


@dataclass(frozen=True, kw_only=True, slots=True)
class _Message:
    """A message of the user, with its own source of randomness."""

    content: str
    digest: bytes
    seed: int

    @property
    def order(self) -> bytes:
        """The sort key of the draw: a hash, so that new messages do not change the order of the others."""
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
    progress = on_progress or unwatched
    ground, messages, asked_at = _read(space.drawers(), seed)
    drawn = _Draw(ground, asked_at)
    made: list[MinedQuestion] = []
    for question in drawn.by_model(messages, model, questions) if model else drawn.by_rules(messages, questions):
        made.append(question)
        progress(len(made), questions)
        if len(made) >= questions:
            break
    if len(made) < LEAST:
        told = f"{len(messages):,} telling messages of the user in {space.name}"
        raise InvalidInput(
            f"Only {len(made)} questions could be made of the {told}; at least {LEAST} are needed.",
            way_out="Measure it when more has been said"
            + ("." if model else ", or let a model write the questions (--model)."),
        )
    return QuestionSet(
        space=space.name, questions=tuple(made), wanted=questions, messages=len(messages), dropped=drawn.dropped
    )


class _Draw:
    """Makes the questions; `dropped` counts the replies of a model that could not be used."""

    def __init__(self, ground: Ground, asked_at: datetime) -> None:
        self._ground = ground
        self._asked_at = asked_at
        self.dropped = 0

    def by_rules(self, messages: Sequence[_Message], wanted: int) -> Iterator[MinedQuestion]:
        """One question per message, the kinds balanced as far as possible; then more from the same messages."""
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
        """One question per message: the model's, or else one made by rules."""
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

    def _question(self, draft: DraftQuestion, message: _Message) -> MinedQuestion:
        return MinedQuestion(
            question_id=f"{draft.kind}-{message.digest.hex()[:12]}",
            kind=draft.kind,
            text=draft.text,
            answer=draft.answer,
            content_hash=message.digest,
            asked_at=self._asked_at,
        )


def _read(drawers: Iterable[Drawer], seed: int) -> tuple[Ground, list[_Message], datetime]:
    """The ground of the space, the user's own messages in the order of the draw, and the time of the latest message."""
    standing = [(content_hash(drawer.content), drawer) for drawer in drawers if drawer.status == "active"]
    said = {digest: drawer.content for digest, drawer in standing}
    own = {
        digest: drawer.content
        for digest, drawer in standing
        if drawer.role == "user" and drawer.origin in _ORIGINS and not is_trivial(drawer.content)
    }
    messages = [_Message(content=content, digest=digest, seed=seed) for digest, content in own.items()]
    ground = Ground(vocabulary=vocabulary(said.values()), hashes=frozenset(said))
    last = max((drawer.said_at for _, drawer in standing), default=_NEVER)
    return ground, sorted(messages, key=lambda message: message.order), last
