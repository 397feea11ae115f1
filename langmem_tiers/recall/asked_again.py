"""Messages that ask what is asked now, or the same as another one: they hold no answer and would fill the block."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from langmem_tiers.palace.statements import TELLS
from langmem_tiers.palace.words import STOPWORDS, searchable, stem, words
from langmem_tiers.recall.packing import Key, read
from langmem_tiers.recall.selection import key

if TYPE_CHECKING:
    from langmem_tiers.recall.candidates import Found
    from langmem_tiers.recall.query import Query
    from langmem_tiers.recall.sources import Snapshot

_ASKS = re.compile(r"[?？][\s\d()\"'”’]*$")
# What fits less does not repeat the question, and what stands behind so many others is shown by nobody.
_LEAST_MATCH = 0.5
_LOOKED_AT = 100
_LONGEST = 300


def find(sources: Sequence[Snapshot], ranked: Sequence[Found], query: Query) -> frozenset[Key]:
    """Those of the candidates that ask what the query asks, or what a better one asks, with no telling word more."""
    likely = [key(found) for found in ranked[:_LOOKED_AT] if _can_repeat(found)]
    texts = read(sources, likely)
    told = ((at, _question(texts[at].content)) for at in likely if at in texts)
    questions = {at: telling for at, telling in told if telling is not None}
    best = {telling: at for at, telling in reversed(questions.items())}
    asked = set(map(stem, query.terms))
    return frozenset(at for at, telling in questions.items() if telling <= asked or best[telling] != at)


def _can_repeat(found: Found) -> bool:
    facts = found.facts
    return facts.role == "user" and not facts.states & TELLS and found.signals.get("match", 0.0) >= _LEAST_MATCH


def _question(content: str) -> frozenset[str] | None:
    """The telling words of a message that asks, but for numbers; None where it is none."""
    if len(content) > _LONGEST or not _ASKS.search(content):
        return None
    return frozenset(stem(word) for word in words(searchable(content)) if word not in STOPWORDS and not word.isdigit())
