"""Tombstones of entries: what was deleted does not come back by itself, in other words or out of the same words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection

from langmem_tiers.content import content_hash
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.passages import passages, without
from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.palace.words import meaningful_words, stem, words
from langmem_tiers.storage import drawers, tombstones
from langmem_tiers.types import Drawer
from langmem_tiers.writing.proposals import Evidence, Proposal

# Who is spoken of, and what says no, belong to what is said.
_KEPT = frozenset({"no", "not", "never", "nobody", "nothing", "without", "cannot"})
_CLAUSE = re.compile(r"[,;:–—]\s|\s(?:and|but|because|so|since)\s")
# Of the telling words of an entry that names no passage of its drawer, the share that the passage has.
_SHARE = 0.6
_LEAST_WORDS = 2
_MOST_MORE = 2  # times as many telling words: a longer text says something else
_AT_ONCE = 5000


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """The telling words of a text, and those that turn what it says."""

    telling: frozenset[str]
    turning: frozenset[str]

    def within(self, other: Meaning) -> bool:
        """Whether another text says this as well: one telling word alone is too little to tell."""
        if len(self.telling) < _LEAST_WORDS:
            return self == other
        says = self.telling <= other.telling and self.turning == other.turning
        return says and len(other.telling) <= _MOST_MORE * len(self.telling)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unsaid:
    """What is deleted: what the entries meant, and the passages of drawers that said it."""

    meanings: tuple[Meaning, ...]
    passages: Mapping[int, tuple[str, ...]]

    def holds(self, passage: str) -> bool:
        """Whether a passage of a text that was made of messages says what is deleted."""
        told = meaning(passage)
        clauses = [meaning(clause) for clause in _CLAUSE.split(passage)]
        if any(each.within(other) for each in self.meanings for other in (told, *clauses)):
            return True
        said = (each for held in self.passages.values() for each in held)
        return len(told.telling) >= _LEAST_WORDS and any(occurs(passage.rstrip(".…"), each) for each in said)


def meaning(content: str) -> Meaning:
    """What a text says, whatever stands between its telling words."""
    telling = frozenset(stem(word) for word in meaningful_words(content)) - {"user"}
    return Meaning(
        telling=telling,
        turning=frozenset(word for word in words(content) if word in _KEPT or word.endswith("n't")),
    )


def key(content: str) -> bytes:
    """The key of a text: the same for all that say it in the same telling words, whatever stands between them."""
    told = meaning(content)
    return content_hash(" ".join(sorted(told.telling | told.turning)) or content.casefold())


def quote_key(evidence: Evidence) -> bytes:
    """The key of words in a drawer."""
    return content_hash(f"{evidence.drawer} {' '.join(evidence.quote.casefold().split())}")


def unsaid(ledger: Ledger, gone: Sequence[Entry]) -> Unsaid:
    """What entries said that are deleted, and where messages say it."""
    cited = drawers.read(ledger.connection, ledger.space, {each.drawer for one in gone for each in one.evidence})
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


def bury(ledger: Ledger, gone: Sequence[Entry], said: Unsaid) -> int:
    """Set up the tombstones of entries that are deleted and of the passages that said so; how many."""
    texts = {key(entry.content) for entry in gone}
    texts |= {key(each) for found in said.passages.values() for each in found if _tells(each)}
    quotes = {
        quote_key(Evidence(drawer=each.drawer, quote=each.quote))
        for entry in gone
        for each in entry.evidence
        if each.quote
    }
    quotes |= {
        quote_key(Evidence(drawer=drawer, quote=each)) for drawer, found in said.passages.items() for each in found
    }
    connection, space, now = ledger.connection, ledger.space, ledger.now
    return tombstones.put(connection, space, "entry", texts, now) + tombstones.put(
        connection, space, "quote", quotes, now
    )


def unearth(ledger: Ledger, content: str) -> None:
    """Take away the tombstone of a text: somebody asks for it to be remembered again."""
    tombstones.lift(ledger.connection, ledger.space, "entry", {key(content)})


def deleted(ledger: Ledger, proposal: Proposal) -> bool:
    """Whether a proposal would bring back what was deleted: it says so, or all it rests on are those passages."""
    connection, space = ledger.connection, ledger.space
    if tombstones.among(connection, space, "entry", {key(proposal.content)}):
        return True
    quoted = [each for each in proposal.evidence if each.quote]
    cited = drawers.read(connection, space, {each.drawer for each in quoted})
    rests_on = [{quote_key(each), *_around(each, cited.get(each.drawer))} for each in quoted]
    buried = tombstones.among(connection, space, "quote", {each for keys in rests_on for each in keys})
    return bool(rests_on) and all(keys & buried for keys in rests_on)


def cleared(connection: Connection, space: str, texts: Sequence[tuple[int | None, str]]) -> list[str]:
    """Texts, each with the drawer whose words it is, without the passages that say what was deleted."""
    if not tombstones.there_are(connection, space):
        return [text for _, text in texts]
    keys = [{passage: frozenset(_keys(drawer, passage)) for passage in passages(text)} for drawer, text in texts]
    buried = _buried(connection, space, {key for held in keys for each in held.values() for key in each})
    gone = [{passage for passage, each in held.items() if each & buried} for held in keys]
    return [without(text, each.__contains__) for (_, text), each in zip(texts, gone, strict=True)]


def _buried(connection: Connection, space: str, keys: Iterable[bytes]) -> set[bytes]:
    left, found = iter(keys), set[bytes]()
    while batch := [*islice(left, _AT_ONCE)]:
        found |= tombstones.among(connection, space, "entry", batch)
        found |= tombstones.among(connection, space, "quote", batch)
    return found


def _saying(drawer: Drawer, quote: str, content: str) -> Iterator[str]:
    """The passages of a drawer that an entry rests on: those quoted, else those with most of its words."""
    told = meaning(content).telling
    for passage in passages(drawer.content):
        if quote.strip():
            rests = occurs(quote, passage) or occurs(passage, quote)
        else:
            shared = told & meaning(passage).telling
            rests = bool(told) and len(shared) >= _SHARE * len(told)
        if rests:
            yield passage


def _around(evidence: Evidence, drawer: Drawer | None) -> Iterator[bytes]:
    """The keys of the passages that hold a quote."""
    for passage in passages(drawer.content) if drawer is not None else ():
        if occurs(evidence.quote, passage):
            yield quote_key(Evidence(drawer=evidence.drawer, quote=passage))


def _keys(drawer: int | None, passage: str) -> Iterable[bytes]:
    """All keys under which a passage may be buried: as words of its drawer, by what it says, and by its clauses."""
    if drawer is not None:
        yield quote_key(Evidence(drawer=drawer, quote=passage))
    yield key(passage)
    yield from (key(clause) for clause in _CLAUSE.split(passage) if _tells(clause))


def _tells(text: str) -> bool:
    """Whether a text says enough to be known by its words alone, wherever they stand."""
    return len(meaning(text).telling) >= _LEAST_WORDS
