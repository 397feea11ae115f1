"""How many tokens a text has: tiktoken's count once its tables are loaded, a script-aware estimate until then.

tiktoken downloads its tables on first use and raises on every call without a network, so it is tried once, in the
background, and never on the way to a reply.
"""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Callable

from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

# Characters per token, on average, in English text; other alphabetic scripts have fewer.
_LATIN, _OTHER = 4.0, 2.0
_WIDE = re.compile("[\u2e80-\U0010ffff]")


class TokenCounter:
    """Counts tokens; `prepare` may be called from any thread."""

    def __init__(self, encoding: str = "cl100k_base") -> None:
        self._encoding = encoding
        self._encode: Callable[[str], list[int]] | None = None
        self._tried = False

    def prepare(self) -> None:
        """Start loading tiktoken's tables, once; until they are there, or without them, the estimate is used."""
        if not self._tried:
            self._tried = True
            # A thread of its own: a download over a network that drops packets has no time limit.
            threading.Thread(target=self._load, name="langmem-tiers-tokens", daemon=True).start()

    def _load(self) -> None:
        try:
            import tiktoken

            encoding = tiktoken.get_encoding(self._encoding)
        # A RuntimeError is what an import raises that needs a thread pool while the interpreter shuts down.
        except (OSError, ValueError, RuntimeError) as error:
            say(log, logging.INFO, "token_tables_unavailable", encoding=self._encoding, error=error, reason=error)
            return
        self._encode = encoding.encode_ordinary

    def __call__(self, text: str) -> int:
        """Tokens in `text`."""
        if self._encode is not None:
            return len(self._encode(text))
        return estimate(text)


def estimate(text: str) -> int:
    """Estimate the tokens in `text` by its scripts: about one per CJK character, one per four Latin letters."""
    plain = len(text.encode("ascii", "ignore"))
    wide = 0 if plain == len(text) else len(_WIDE.findall(text))
    return math.ceil(wide + plain / _LATIN + (len(text) - wide - plain) / _OTHER)
