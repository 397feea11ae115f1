"""The sentences of a message that questions can be made of."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LOOKED_AT = 4_000  # characters of a message; what is longer is mostly pasted
_SHORTEST, _LONGEST = 12, 300
# Not behind 'Dr.', 'Mrs.' or an initial.
_END = re.compile(r"(?<=[.!?。！？])(?<![A-Z]\.)(?<!Dr\.)(?<!Mr\.)(?<!Ms\.)(?<!rs\.)(?<!St\.)\s+|\n+")
# Code, addresses, quotations and markup say nothing that somebody would ask for in words.
_NO_PROSE = re.compile(r"[{}<>|=\\]|://|```|^\s*[>#]|\[shared a photo:")


def sentences(text: str) -> Iterator[str]:
    """The sentences in prose, with their marks at the end.

    Example:
        >>> list(sentences("I met Dr. Okafor today. Nice! See https://example.org for more of it."))
        ['I met Dr. Okafor today.']
    """
    for part in _END.split(text[:_LOOKED_AT]):
        sentence = " ".join(part.split())
        if _SHORTEST <= len(sentence) <= _LONGEST and not _NO_PROSE.search(part):
            yield sentence


def statements(text: str) -> Iterator[str]:
    """The sentences that state something: those that ask hold no answer."""
    return (sentence for sentence in sentences(text) if sentence[-1] not in "?？")
