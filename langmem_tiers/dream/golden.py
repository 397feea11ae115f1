"""Golden questions: what recall answers today and must still answer after a dream.

Users add some; others are generated from the space without a model: the words of an entry, or of a sentence someone
said, minus the fact in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import validation
from langmem_tiers.language.names import names
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.speech_acts import is_question
from langmem_tiers.language.words import is_trivial, meaningful_words, stem, words
from langmem_tiers.palace.lookup import find_drawer
from langmem_tiers.records import GoldenQuestion
from langmem_tiers.storage import drawers, dreams, entries
from langmem_tiers.storage.entries import Filters
from langmem_tiers.twins import twin

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.settings import Settings
    from langmem_tiers.store import SpaceStore

_LONGEST_QUESTION = 1000
MOST_KEPT = 100
"""Questions that a user may keep: each of them is asked in every dream."""

_MOST_WORDS = 6  # of a generated question
_LOOKED_AT = 10  # drawers per question wanted
_WITH_DIGIT = re.compile(r"(?<![\w.,:-])[\w.,:/-]*\d[\w.,:/-]*(?<![.,:/-])")


class Golden:
    """The questions of a space that a dream must not make worse; each method has a twin named `a…`.

    Before a dream is applied, recall is asked each of them with and without its changes. If one is answered before and
    not after, what touches it is left out of the dream, or the whole dream is.

    Example:
        >>> golden.add("Where does my sister live?", expects="Lisbon").number
        1
    """

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"Golden({self._context.name!r})"

    def add(self, question: str, *, expects: str | int | Sequence[str | int]) -> GoldenQuestion:
        """Add a question.

        Args:
            question: As a user would ask it.
            expects: Words that the block must contain, such as "Lisbon"; or drawers that must be in it, by number or
                pointer; or several of these, all of which must be present.

        Raises:
            InvalidInput: the question has more than 1,000 characters or is too short to recall anything by, nothing is
                expected, a drawer does not exist, or there are 100 questions already.
            SecretRefused: there is a secret in it, and `Settings.privacy.derived` refuses these.
        """
        context = self._context
        asked = " ".join(
            validation.text(arguments.any_text(question, "question"), "question", context.settings).split()
        )
        if len(asked) > _LONGEST_QUESTION:
            raise InvalidInput(
                f"The question has {len(asked):,} characters.", way_out=f"Ask in at most {_LONGEST_QUESTION:,}."
            )
        if is_trivial(asked, context.settings.recall.trivial_words):
            raise InvalidInput(f"The question {asked!r} recalls nothing.", way_out="Ask with more telling words.")
        told, cited = self._expected(expects)
        with context.open() as store, store.writing() as connection:
            if len(dreams.questions(connection, store.key)) >= MOST_KEPT:
                raise InvalidInput(
                    f"{MOST_KEPT} questions are kept already.", way_out="Remove one that matters less first."
                )
            at = to_millis(context.clock())
            return dreams.put_question(connection, store.key, asked, words=told, drawers=cited, at=at)

    def list(self) -> tuple[GoldenQuestion, ...]:
        """All questions, in the order they were added."""
        with self._context.open() as store, store.reading() as connection:
            return tuple(dreams.questions(connection, store.key))

    def remove(self, number: int) -> bool:
        """Delete a question; False if there is none with this number."""
        which = arguments.whole(number, "number")
        with self._context.open() as store, store.writing() as connection:
            return dreams.remove_question(connection, store.key, which)

    aadd = twin(add)
    alist = twin(list)
    aremove = twin(remove)

    def _expected(self, expects: str | int | Sequence[str | int]) -> tuple[tuple[str, ...], tuple[int, ...]]:
        given = (
            [expects] if isinstance(expects, str | int) else arguments.several(expects, "expects", "words or drawers")
        )
        told: dict[str, None] = {}
        cited: dict[int, None] = {}
        for each in given:
            if isinstance(each, str) and not each.lstrip().startswith("§"):
                clean = validation.text(each, "expected text", self._context.settings).strip()
                if not words(clean):
                    raise arguments.refused(each, "expects", "words that the block has to hold")
                told[clean] = None
            else:
                known = each if isinstance(each, str) else arguments.whole(each, "expects", least=1)
                drawer = find_drawer(self._context, known)
                if drawer is None:
                    raise InvalidInput(f"The argument `expects` names a drawer that does not exist: {each}.")
                cited[drawer.number] = None
        if not told and not cited:
            raise arguments.refused(expects, "expects", "words that the block has to hold, or drawers")
        return tuple(told), tuple(cited)


def questions(
    store: SpaceStore, settings: Settings, *, touched: Collection[str] = (), besides: Collection[str] = ()
) -> tuple[GoldenQuestion, ...]:
    """The user's questions, and up to `settings.dream.golden` generated ones.

    Up to half of these are about the entries `touched`; the others are about entries and drawers in turn, none of them
    about the entries in `besides`. The same space gives the same questions.
    """
    with store.reading() as connection:
        kept = dreams.questions(connection, store.key)
        most = settings.dream.golden
        held = entries.find(connection, store.key, Filters(status="active"), settings.dream.entries) if most else []
        named = entries.by_ids(connection, store.key, touched)
        said = drawers.recent(connection, store.key, most=most * _LOOKED_AT)
    touching = [(each.content, f"entry {each.id}") for each in named.values()]
    of_touched = list(islice(_made(touching, settings), most // 2))
    left = [(each.content, f"entry {each.id}") for each in held if each.id not in named and each.id not in besides]
    spoken = [(content, f"drawer {number}") for number, content in said]
    in_turn = chain.from_iterable(zip_longest(_made(left, settings), _made(spoken, settings)))
    made = chain(of_touched, (each for each in in_turn if each is not None))
    return (*kept, *islice(made, most))


def _made(texts: Iterable[tuple[str, str]], settings: Settings) -> Iterator[GoldenQuestion]:
    """Questions from texts and what these are from, drawn by hash, so that new texts do not reorder the others."""
    for text, about in sorted(texts, key=lambda each: _draw(each[0])):
        for sentence in sentences(text):
            if is_question(sentence.text):
                continue
            fact = _fact(sentence.text)
            taken = {stem(word) for word in words(fact)}
            telling = [word for word in meaningful_words(sentence.text) if stem(word) not in taken]
            asked = f"{' '.join(telling[:_MOST_WORDS])}?"
            if fact and len(telling) > 1 and not is_trivial(asked, settings.recall.trivial_words):
                yield GoldenQuestion(question=asked, words=(fact,), about=about)
                break


def _draw(content: str) -> bytes:
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).digest()


def _fact(sentence: str) -> str:
    """The fact in a sentence: its last number or name, else its last meaningful word."""
    named = [name.text for name in names(sentence) if not name.opens]
    candidates = [match[0] for match in _WITH_DIGIT.finditer(sentence)] + named + meaningful_words(sentence)[-1:]
    last = max(candidates[:-1], key=sentence.rfind, default="")
    return last or "".join(candidates[-1:])
