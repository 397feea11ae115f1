"""Tombstones of entries: what was deleted does not come back by itself, in other words or out of the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langmem_tiers.content import content_hash
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.palace.words import meaningful_words, stem, words
from langmem_tiers.storage import tombstones
from langmem_tiers.writing.proposals import Evidence, Proposal

# Who is spoken of, and what says no, belong to what is said.
_KEPT = frozenset({"no", "not", "never", "nobody", "nothing", "without", "cannot"})


def key(content: str) -> bytes:
    """The key of a text: the same for all that say it in the same telling words, whatever stands between them."""
    telling = {stem(word) for word in meaningful_words(content)} - {"user"}
    turning = {word for word in words(content) if word in _KEPT or word.endswith("n't")}
    return content_hash(" ".join(sorted(telling | turning)) or content.casefold())


def quote_key(evidence: Evidence) -> bytes:
    """The key of words in a drawer."""
    return content_hash(f"{evidence.drawer} {' '.join(evidence.quote.casefold().split())}")


def bury(ledger: Ledger, gone: Sequence[Entry]) -> int:
    """Set up the tombstones of entries that are deleted; how many."""
    texts = {key(entry.content) for entry in gone}
    quotes = {
        quote_key(Evidence(drawer=each.drawer, quote=each.quote))
        for entry in gone
        for each in entry.evidence
        if each.quote
    }
    connection, space, now = ledger.connection, ledger.space, ledger.now
    return tombstones.put(connection, space, "entry", texts, now) + tombstones.put(
        connection, space, "quote", quotes, now
    )


def unearth(ledger: Ledger, content: str) -> None:
    """Take away the tombstone of a text: somebody asks for it to be remembered again."""
    tombstones.lift(ledger.connection, ledger.space, "entry", {key(content)})


def deleted(ledger: Ledger, proposal: Proposal) -> bool:
    """Whether a proposal would bring back what was deleted: it says so, or all it rests on are those words."""
    connection, space = ledger.connection, ledger.space
    if tombstones.among(connection, space, "entry", {key(proposal.content)}):
        return True
    quotes = _quotes(proposal.evidence)
    return bool(quotes) and quotes == tombstones.among(connection, space, "quote", quotes)


def _quotes(evidence: Iterable[Evidence]) -> set[bytes]:
    return {quote_key(each) for each in evidence if each.quote}
