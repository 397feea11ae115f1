"""Recognises what is forgotten where something else repeats it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from langmem_tiers.knowledge.tombstones import Meaning, meaning
from langmem_tiers.language.sentences import passages
from langmem_tiers.language.words import STOPWORDS, words

# A passage with fewer telling words is said in too many places to be recognised by them.
_LEAST_TELLING = 2
_LEAST_LETTERS = 3
# Passages that share a word, at most so many are compared.
_MOST = 200
# A word that somebody made up: an account, a code, a number.
_CODE = re.compile(r"(?=.*\d)[^\W_]{5,}")

Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """What is forgotten, as words.

    Attributes:
        said: The passages of the messages and entries, as words.
        rare: Words of theirs that no remaining message has.
        codes: Those of the rare words that no dictionary has, such as an account number.
        names: Patterns of the names of a person who is forgotten.
        meanings: What the entries say that go.
        elsewhere: Whether a remaining message says a passage.
    """

    said: Sequence[Words] = ()
    rare: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    names: Sequence[re.Pattern[str]] = ()
    meanings: Sequence[Meaning] = ()
    elsewhere: Callable[[str], bool] = lambda passage: False
    _by_word: dict[str, list[str]] = field(init=False, default_factory=lambda: defaultdict(list))
    _enough: set[str] = field(init=False, default_factory=set)
    """The passages with enough telling words, as lines."""

    def __post_init__(self) -> None:
        for each in self.said:
            line, tell = _line(each), telling(each)
            for word in tell:
                self._by_word[word].append(line)
            if len(tell) >= _LEAST_TELLING:
                self._enough.add(line)

    def among(self, elsewhere: Callable[[str], bool]) -> Repetition:
        """The same, with the remaining messages looked up in another way."""
        return replace(self, elsewhere=elsewhere)

    def derived(self, passage: str) -> bool:
        """Whether a passage that the memory wrote itself repeats what is forgotten."""
        found = words(passage)
        return not self.rare.isdisjoint(found) or self._repeats(passage, found)

    def written(self, passage: str) -> bool:
        """Whether a passage that somebody wrote repeats what is forgotten: a rare word alone is not enough."""
        found = words(passage)
        return not self.codes.isdisjoint(found) or self._repeats(passage, found)

    def may(self, text: str) -> bool:
        """Whether a text has any word that could repeat it: a quick look before its passages are examined."""
        return any(name.search(text) for name in self.names) or any(word in self._by_word for word in words(text))

    def _repeats(self, passage: str, found: Sequence[str]) -> bool:
        if any(name.search(passage) for name in self.names):
            return True
        known = [word for word in telling(found) if word in self._by_word]
        if len(known) < _LEAST_TELLING:
            return False
        near = {each for word in known for each in self._by_word[word][:_MOST]}
        line = _line(found)
        same = any(line in each or (each in line and each in self._enough) for each in near) or self._means(passage)
        return same and not self.elsewhere(passage)

    def _means(self, passage: str) -> bool:
        said = meaning(passage) if self.meanings else None
        return said is not None and any(each.within(said) for each in self.meanings)


def telling(found: Iterable[str]) -> list[str]:
    """The words that say something by themselves, each once."""
    return [*dict.fromkeys(word for word in found if word not in STOPWORDS)]


def _line(found: Iterable[str]) -> str:
    """Words as a text that is in that of others if they stand there one after the other: no word has a space."""
    return f" {' '.join(found)} "


def of_texts(
    texts: Iterable[str],
    *,
    remains: Callable[[str], bool],
    names: Iterable[re.Pattern[str]] = (),
    entries: Iterable[str] = (),
    elsewhere: Callable[[str], bool],
) -> Repetition:
    """What is forgotten, from the texts of messages and entries; `remains`: whether a remaining message has a word."""
    known = [*texts]
    contents = [*entries]
    said = [tuple(words(passage)) for text in (*known, *contents) for passage in passages(text)]
    used = {word for passage in said for word in telling(passage) if len(word) >= _LEAST_LETTERS}
    rare = frozenset(word for word in used if not remains(word))
    return Repetition(
        said=[*dict.fromkeys(each for each in said if telling(each))],
        rare=rare,
        codes=frozenset(word for word in rare if _CODE.fullmatch(word)),
        names=[*names],
        meanings=[*dict.fromkeys(meaning(each) for each in contents)],
        elsewhere=elsewhere,
    )


def name_pattern(name: str) -> re.Pattern[str]:
    """Finds a name as a whole; one of a single word only as it is written, for many names are also other words."""
    found = r"\s+".join(re.escape(part) for part in name.split())
    return re.compile(rf"(?<!\w){found}(?!\w)", re.IGNORECASE if " " in name.strip() else 0)
