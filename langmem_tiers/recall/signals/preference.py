"""The preference signal: a query that asks for advice finds what the user said of likes, dislikes and habits."""

from __future__ import annotations

import re

from langmem_tiers.palace.words import LOOKED_AT

_ADVICE = re.compile(
    r"\b(?:recommend(?:ations?|ed)?|suggest(?:ions?|ed)?|advi[cs]e|tips?|ideas?|inspiration|should i"
    r"|what (?:to|can i|could i)|any (?:good|thoughts)|help me (?:choose|pick|decide|find|plan)|looking for|what would"
    r"|can you help|thinking (?:of|about)|which .{0,40}should)\b",
    re.IGNORECASE,
)


def asks_advice(query: str) -> bool:
    """Whether a query asks for advice, so that preferences bear on the answer.

    Example:
        >>> asks_advice("Any tips for dinner tonight?"), asks_advice("When did I move?")
        (True, False)
    """
    return _ADVICE.search(query[:LOOKED_AT]) is not None
