"""The keyword index: one for drawers and one for notes, in the engine that keeps the records.

The rows hold normalised searchable text, not the verbatim text; the words of queries are normalised the same way.
`Postings` caches between recalls which drawers contain a word: SQLite's FTS5 rereads a common word's list for every
query, which takes most of a recall's time in a large space.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from sqlalchemy import Connection

from langmem_tiers.language.words import searchable
from langmem_tiers.matching import Held, Numbers
from langmem_tiers.storage import change_log, rooms
from langmem_tiers.storage.change_log import Change, Moment
from langmem_tiers.storage.database import engine_of

MOST_TERMS = 32
ALL = (1, 2**62)
"""The first and the last number that there can be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WordsRow:
    """A drawer or note to be indexed, in its original words."""

    number: int
    text: str
    tags: str = ""
    category: str = ""

    @property
    def searched(self) -> tuple[str, str, str]:
        """Text, tags and category as the index stores them."""
        return searchable(self.text), searchable(self.tags), searchable(self.category)


class KeywordIndex:
    """The words of all drawers, or of all notes, by their numbers, as the engine of the connection keeps them.

    Each engine has a subclass with every method.
    """

    def __init__(self, table: str) -> None:
        self._table = table

    def _in(self, connection: Connection) -> KeywordIndex:
        found: KeywordIndex = engine_of(connection).keyword(self._table)
        return found

    def create(self, connection: Connection) -> None:
        """Create the empty index if there is none."""
        self._in(connection).create(connection)

    def recreate(self, connection: Connection) -> None:
        """Empty the index, even a damaged one."""
        self._in(connection).recreate(connection)

    def add(self, connection: Connection, rows: Iterable[WordsRow]) -> None:
        """Add rows that are not in the index yet."""
        self._in(connection).add(connection, rows)

    def remove(self, connection: Connection, numbers: Iterable[int]) -> None:
        """Remove these numbers; unknown ones are ignored."""
        self._in(connection).remove(connection, numbers)

    def categorise(self, connection: Connection, categories: Iterable[tuple[int, str]]) -> None:
        """Set the wing and closet names of these numbers."""
        self._in(connection).categorise(connection, categories)

    def purge(self, connection: Connection) -> None:
        """Erase the words of removed rows, where the engine only marks them as removed."""
        self._in(connection).purge(connection)

    def merge(self, connection: Connection, pages: int) -> bool:
        """Bring the index into its best form, writing about so many pages; -pages begins with all there is now.

        Returns whether there was anything to do.
        """
        return self._in(connection).merge(connection, pages)

    def holding(self, connection: Connection, wanted: Sequence[tuple[str, int, int]]) -> list[Held]:
        """For each term, first and last number, what matches in text or tags and what in the category only.

        Ascending; for at most two hundred of them.
        """
        return self._in(connection).holding(connection, wanted) if wanted else []

    def with_phrase(self, connection: Connection, phrase: str, *, most: int = -1) -> set[int]:
        """The numbers of the rows whose text has these words one after the other."""
        return self._in(connection).with_phrase(connection, phrase, most=most)

    def held_by_others(self, connection: Connection, phrase: str, gone: Collection[int]) -> bool:
        """Whether a row besides these has these words in its text, one after the other."""
        return self._in(connection).held_by_others(connection, phrase, gone)

    def holding_between(
        self, connection: Connection, after: Mapping[str, int], *, upto: int, most: int
    ) -> dict[str, Held]:
        """Like `holding`, for each term after a number and up to another, with a limit for each kind."""
        return self._in(connection).holding_between(connection, after, upto=upto, most=most) if after else {}

    def count(self, connection: Connection) -> int:
        """How many rows are indexed."""
        return self._in(connection).count(connection)

    def numbers(self, connection: Connection) -> set[int]:
        """The numbers of all indexed rows."""
        return self._in(connection).numbers(connection)

    def every(self, connection: Connection) -> dict[int, tuple[str, str, str]]:
        """The content of the index, by number."""
        return self._in(connection).every(connection)

    def check(self, connection: Connection) -> None:
        """Have the engine compare the index with its rows; needs a connection that can write.

        Raises:
            DatabaseDamaged: they disagree.
        """
        self._in(connection).check(connection)


drawers = KeywordIndex("keyword")
"""What was said."""
notes = KeywordIndex("note_words")
"""Everything that is searched and is no drawer."""


def drawer_words(number: int, content: str, tags: Sequence[str], category: str = "") -> WordsRow:
    """A drawer as the index takes it: tags without their prefix, and the names of wing and closet as its category."""
    return WordsRow(
        number=number, text=content, tags=" ".join(tag.partition(" ")[2] for tag in tags), category=category
    )


def held(said: Sequence[int] | Numbers, place: Sequence[int] | Numbers) -> Held:
    """The rows that hold a word in what they say, and those that hold it in the name of their place only."""
    numbers, there = np.asarray(said, np.int64), np.asarray(place, np.int64)
    return numbers, np.setdiff1d(there, numbers, assume_unique=True) if len(there) else there


# A word in more drawers than this says little, and is left out if another one says more.
_COMMON = 50_000
# Numbers kept in memory, all words together, 8 bytes each: so many, or this multiple of the drawers of a larger space.
_KEPT, _KEPT_A_DRAWER = 4_000_000, 16
# Overhead of a list, counted in numbers.
_LIST = 40
_NOTHING: Held = (np.zeros(0, np.int64), np.zeros(0, np.int64))
# So many drawers that are no longer found are taken out of lists one by one; beyond that, lists are read again.
_MOST_GONE = 1000
_KINDS: set[change_log.Kind] = {
    "drawers.added",
    "drawers.filed",
    "room.refiled",
    "keyword.rebuilt",
    *change_log.OUT_OF_INDEX,
}


class Words(Protocol):
    """Answers which drawers contain a word."""

    def holding(self, moment: Moment, terms: Sequence[str]) -> tuple[list[Held], int]:
        """For each of the first 32 terms, the drawers that contain it, ascending; and how many drawers there are.

        A word that very many drawers contain is left out if others say more.
        """


class ServerWords:
    """Answers which drawers contain a word by asking the engine each time; nothing is kept."""

    def __init__(self, space: str, *, common: int = _COMMON) -> None:
        self._space = space
        self._common = common

    def holding(self, moment: Moment, terms: Sequence[str]) -> tuple[list[Held], int]:
        """For each of the first 32 terms, the drawers that contain it; see `Words`."""
        read = moment.last_drawer
        total = rooms.last_drawer(moment.connection, self._space) if read is None else read
        after = dict.fromkeys(terms[:MOST_TERMS], 0)
        known = drawers.holding_between(moment.connection, after, upto=total, most=self._common)
        found = [known[term] for term in terms[:MOST_TERMS]]
        return _telling(found, self._common), total


class _List(NamedTuple):
    """The drawers with a word, up to which one, and of how many that are no longer found it is free."""

    held: Held = _NOTHING
    upto: int = 0
    free_of: int = 0


class Postings:
    """Answers which drawers contain a word.

    Lists are kept up to the last drawer that has been filed in a closet, when the index has its category words.
    A word in `common` drawers or more is left out if others say more. About `kept` numbers stay in memory; by default
    four million, or as many as sixteen words have that stand in every drawer.
    """

    def __init__(self, space: str, *, common: int = _COMMON, kept: int | None = None) -> None:
        self._space = space
        self._common = common
        self._kept = kept
        self._position = 0
        self._filed = 0
        self._newest = 0
        self._lists: OrderedDict[str, _List] = OrderedDict()
        self._gone: list[int] = []  # drawers that were superseded or forgotten since, which lists may still have
        self._size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many words have their list in memory."""
        return len(self._lists)

    def bytes_held(self) -> int:
        """How much memory the lists take, about."""
        return self._size * np.dtype(np.int64).itemsize

    def holding(self, moment: Moment, terms: Sequence[str]) -> tuple[list[Held], int]:
        """For each of the first 32 terms, the drawers that contain it, ascending; and how many drawers there are.

        A word that very many drawers contain is left out if others say more.
        """
        with self._lock:
            known = self._refresh(moment)
            found = (self._held if known else self._looked_up)(moment.connection, terms[:MOST_TERMS])
            total = self._newest
        return _telling(found, self._common), total

    def _refresh(self, moment: Moment) -> bool:
        """Follow the log; False if this moment is older than the one already reached."""
        if not self._position:  # nothing is kept yet that a change could touch
            self._filed = change_log.reached(moment, self._space, "drawers.filed")
            self._newest = change_log.reached(moment, self._space, "drawers.added")
            self._position = moment.head
        if moment.head > self._position:
            for change in change_log.follow(moment, self._space, after=self._position, kinds=_KINDS):
                self._follow(change)
            self._position = moment.head
        return moment.head == self._position

    def _follow(self, change: Change) -> None:
        if change.kind == "drawers.filed":
            self._filed = max(self._filed, change.until)
        elif change.kind == "drawers.added" and change.subject > self._newest:
            self._newest = change.until
        elif change.kind in change_log.OUT_OF_INDEX and len(self._gone) < _MOST_GONE:
            self._gone.append(change.subject)
        else:  # an old drawer was reinstated, or got other words
            self._lists.clear()
            self._gone.clear()
            self._size = 0

    def _looked_up(self, connection: Connection, terms: Sequence[str]) -> list[Held]:
        """The lists of words, of which none is kept: a moment before the one reached."""
        found = self._after(connection, dict.fromkeys(terms, 0))
        return [found[term] for term in terms]

    def _held(self, connection: Connection, terms: Sequence[str]) -> list[Held]:
        """The lists of words: those of filed drawers are kept, and the few newer drawers are looked up each time."""
        for term in terms:
            self._take_out(term)
        rare = [term for term in terms if _length(self._kept_of(term).held) < self._common]
        after = {term: start for term in rare if (start := self._kept_of(term).upto) < self._newest}
        new = self._after(connection, after)
        held = {term: self._with_new(term, new.get(term, _NOTHING)) for term in dict.fromkeys(terms)}
        return [held[term] for term in terms]

    def _with_new(self, term: str, new: Held) -> Held:
        """The list of a word with what was just looked up, of which that of filed drawers is kept from now on."""
        kept = self._kept_of(term).held
        (said, place), (said_upto, place_upto) = new, (int(np.searchsorted(each, self._filed, "right")) for each in new)
        filed, newer = (said[:said_upto], place[:place_upto]), (said[said_upto:], place[place_upto:])
        self._size += _length(filed) + (0 if term in self._lists else _LIST)
        kept = _joined(kept, filed) if _length(filed) else kept
        self._lists[term] = _List(kept, self._filed, len(self._gone))
        self._lists.move_to_end(term)
        most = max(_KEPT, _KEPT_A_DRAWER * self._newest) if self._kept is None else self._kept
        while self._size > most and len(self._lists) > 1:  # the least recently used go
            _, dropped = self._lists.popitem(last=False)
            self._size -= _length(dropped.held) + _LIST
        return _joined(kept, newer) if _length(newer) else kept

    def _kept_of(self, term: str) -> _List:
        """The list of a word that is kept."""
        return self._lists.get(term, _List())

    def _take_out(self, term: str) -> None:
        """Free the list of a word from drawers that are no longer found.

        They would take the places of others among the best, and the word would count as more common than it is. The
        list of a common word stays as it is: it may end early, and would look whole if it got shorter.
        """
        known = self._kept_of(term)
        if not 0 < _length(known.held) < self._common or known.free_of == len(self._gone):
            return
        gone = np.array(self._gone[known.free_of :], np.int64)
        said, place = (each[~np.isin(each, gone)] for each in known.held)
        self._size -= _length(known.held) - len(said) - len(place)
        self._lists[term] = known._replace(held=(said, place), free_of=len(self._gone))

    def _after(self, connection: Connection, after: Mapping[str, int]) -> dict[str, Held]:
        return drawers.holding_between(connection, after, upto=self._newest, most=self._common)


def _telling(found: list[Held], common: int) -> list[Held]:
    """The lists without those of words that very many have, if others say more."""
    telling = [held for held in found if _length(held) < common]
    return telling if any(map(_length, telling)) else found


def _length(held: Held) -> int:
    return len(held[0]) + len(held[1])


def _joined(kept: Held, new: Held) -> Held:
    return np.concatenate([kept[0], new[0]]), np.concatenate([kept[1], new[1]])
