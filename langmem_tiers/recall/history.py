"""Does a message ask about history: what was done, said or decided before, rather than what is the case?"""

from __future__ import annotations

import re

from langmem_tiers.palace.words import LOOKED_AT

_ASKS = re.compile(
    r"\b(?:what|how|when|where|why|which|who) (?:\w+ )?did (?:we|i|you)\b"
    r"|\b(?:what|how) (?:have|had) (?:we|i|you)\b"
    r"|\bdid (?:we|i|you)\b|\bhave (?:we|i|you) (?:ever |already )?\w+(?:ed|en|ne|lt|ken|ught)\b"
    r"|\b(?:last|previous|earlier|past) (?:time|session|conversation|chat|discussion|week|month|year)\b"
    r"|\b(?:remember|recall|remind me)\b|\b(?:history|recap|so far)\b|\bwhere (?:were|did) we\b",
    re.IGNORECASE,
)


def asks_history(text: str) -> bool:
    """Whether a message asks what was done, said or decided before.

    Example:
        >>> asks_history("How did we fix that bug last week?"), asks_history("Fix that bug, please.")
        (True, False)
    """
    return _ASKS.search(text[:LOOKED_AT]) is not None
