"""Tombstones of entries: deleted statements are not derived again, in other words or from the same messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection

from langmem_tiers.content import content_hash
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.language.sentences import passages, without
from langmem_tiers.language.words import occurs, stems, words
from langmem_tiers.records import Entry, Proposal
from langmem_tiers.storage import drawers, entries
from langmem_tiers.storage import tombstones as stones
from langmem_tiers.types import Drawer

# An entry retired for one of these reasons is not brought back just because it was derived again.
_FINAL = frozenset({"corrected", "updated", "removed"})
# Pronouns and negations are part of the statement.
_KEPT = frozenset({"no", "not", "never", "nobody", "nothing", "without", "cannot"})
_CLAUSE = re.compile(r"[,;:–—]\s|\s(?:and|but|because|so|since)\s")
# For an entry that cites no passage of its drawer: the share of its content words that the passage must have.
_SHARE = 0.6
_LEAST_WORDS = 2
_MOST_MORE = 2  # times as many content words: a longer text says something else
_AT_ONCE = 5000


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """The content words of a text, and the words that negate it."""

    telling: frozenset[str]
    turning: frozenset[str]

    def within(self, other: Meaning) -> bool:
        """Whether another text also says this. A single content word is too little to tell."""
        if len(self.telling) < _LEAST_WORDS:
            return self == other
        says = self.telling <= other.telling and self.turning == other.turning
        return says and len(other.telling) <= _MOST_MORE * len(self.telling)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unsaid:
    """What is being deleted: the meanings of the entries, and the source passages in drawers."""

    meanings: tuple[Meaning, ...]
    passages: Mapping[int, tuple[str, ...]]

    def holds(self, passage: str) -> bool:
        """Whether a passage of a derived text repeats what is deleted."""
        told = meaning(passage)
        clauses = [meaning(clause) for clause in _CLAUSE.split(passage)]
        if any(each.within(other) for each in self.meanings for other in (told, *clauses)):
            return True
        said = (each for held in self.passages.values() for each in held)
        return len(told.telling) >= _LEAST_WORDS and any(occurs(passage.rstrip(".…"), each) for each in said)


def meaning(content: str) -> Meaning:
    """The meaning of a text: its content words, regardless of order."""
    telling = frozenset(stems(content)) - {"user"}
    return Meaning(
        telling=telling,
        turning=frozenset(word for word in words(content) if word in _KEPT or word.endswith("n't")),
    )


def key(content: str) -> bytes:
    """The key of a meaning: the same for all texts with the same content words and negations."""
    told = meaning(content)
    return content_hash(" ".join(sorted(told.telling | told.turning)) or content.casefold())


def unsaid(writer: EntryWriter, gone: Sequence[Entry]) -> Unsaid:
    """The statements of entries to be deleted, and where messages make them."""
    cited = drawers.read(writer.connection, writer.space, {each.drawer for one in gone for each in one.evidence})
    said: dict[int, dict[str, None]] = {}
    for one in gone:
        for each in one.evidence:
            if each.drawer in cited:
                found = _saying(cited[each.drawer], each.quote, one.content)
                said.setdefault(each.drawer, {}).update(dict.fromkeys(found))
    return Unsaid(
        meanings=tuple(dict.fromkeys(meaning(one.content) for one in gone)),
        passages={drawer: tuple(found) for drawer, found in said.items()},
    )


def bury(writer: EntryWriter, gone: Sequence[Entry], said: Unsaid) -> int:
    """Write tombstones for deleted entries and their source passages; returns their number."""
    texts = {key(entry.content) for entry in gone}
    texts |= {key(each) for found in said.passages.values() for each in found if _tells(each)}
    quotes = {_quote_key(each.drawer, each.quote) for entry in gone for each in entry.evidence if each.quote}
    quotes |= {_quote_key(drawer, each) for drawer, found in said.passages.items() for each in found}
    connection, space, now = writer.connection, writer.space, writer.now
    return stones.put(connection, space, "entry", texts, now) + stones.put(connection, space, "quote", quotes, now)


def put_aside(writer: EntryWriter) -> dict[bytes, str]:
    """Why entries that nothing derived may bring back were retired, by the keys of what they say."""
    found: dict[bytes, str] = {}
    for reason, content in entries.put_aside(writer.connection, writer.space, _FINAL):
        found.setdefault(key(content), reason)
    return found


def lift(writer: EntryWriter, content: str) -> None:
    """Remove the tombstone of a text, because someone wants it remembered again."""
    stones.lift(writer.connection, writer.space, "entry", map(key, [content]))


def there_are(writer: EntryWriter) -> bool:
    """Whether any entry was ever deleted; if not, nothing can bring one back."""
    return stones.there_are(writer.connection, writer.space)


def is_buried(writer: EntryWriter, content: str) -> bool:
    """Whether a text's statement has a tombstone."""
    return bool(buried(writer, [content]))


def buried(writer: EntryWriter, contents: Iterable[str]) -> set[str]:
    """The texts whose statement has a tombstone."""
    keys = {content: key(content) for content in contents}
    found = stones.among(writer.connection, writer.space, "entry", {*keys.values()})
    return {content for content, each in keys.items() if each in found}


def brings_back(writer: EntryWriter, proposal: Proposal, cited: Mapping[int, Drawer]) -> bool:
    """Whether a proposal repeats deleted content, by its statement or because all its evidence was deleted."""
    if is_buried(writer, proposal.content):
        return True
    rests_on: list[set[bytes]] = []
    said: dict[int, set[str]] = {}
    for drawer, quote in {(each.drawer, each.quote) for each in proposal.evidence if each.quote}:
        if drawer in cited and drawer not in said:
            said[drawer] = {*passages(cited[drawer].content)}
        quotes = (quote, *(passage for passage in said.get(drawer, ()) if occurs(quote, passage)))
        rests_on.append({_quote_key(drawer, each) for each in quotes})
    buried = stones.among(writer.connection, writer.space, "quote", {each for keys in rests_on for each in keys})
    return bool(rests_on) and all(keys & buried for keys in rests_on)


def cleared(connection: Connection, space: str, texts: Sequence[tuple[int | None, str]]) -> list[str]:
    """Texts, each with its drawer if any, without the passages that repeat deleted content."""
    if not stones.there_are(connection, space):
        return [text for _, text in texts]
    keys = [{passage: frozenset(_keys(drawer, passage)) for passage in passages(text)} for drawer, text in texts]
    left, buried = iter({key for held in keys for each in held.values() for key in each}), set[bytes]()
    while batch := [*islice(left, _AT_ONCE)]:
        buried |= stones.among(connection, space, "entry", batch) | stones.among(connection, space, "quote", batch)
    gone = [{passage for passage, each in held.items() if each & buried} for held in keys]
    return [without(text, each.__contains__) for (_, text), each in zip(texts, gone, strict=True)]


def _quote_key(drawer: int, quote: str) -> bytes:
    return content_hash(f"{drawer} {' '.join(quote.casefold().split())}")


def _saying(drawer: Drawer, quote: str, content: str) -> Iterator[str]:
    """The source passages of an entry in a drawer: those quoted, else those with most of its words."""
    told = meaning(content).telling
    for passage in passages(drawer.content):
        if quote.strip():
            rests = occurs(quote, passage) or occurs(passage, quote)
        else:
            shared = told & meaning(passage).telling
            rests = bool(told) and len(shared) >= _SHARE * len(told)
        if rests:
            yield passage


def _keys(drawer: int | None, passage: str) -> Iterable[bytes]:
    """The keys under which a passage may be buried: as a quote of its drawer, by its meaning, or by a clause's."""
    if drawer is not None:
        yield _quote_key(drawer, passage)
    yield key(passage)
    yield from (key(clause) for clause in _CLAUSE.split(passage) if _tells(clause))


def _tells(text: str) -> bool:
    """Whether a text has enough content words to be recognised elsewhere."""
    return len(meaning(text).telling) >= _LEAST_WORDS
