"""How many tokens a text has: a script-aware estimate, or tiktoken's count where that is wished.

tiktoken downloads its tables on first use and raises on every call without a network, so it is asked for only if the
settings say so, once, in the background, and never on the way to a reply.
"""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Callable
from importlib.util import find_spec

from langmem_tiers.errors import MissingExtra
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

# Characters per token, on average, in English text; other alphabetic scripts have fewer.
_LATIN, _OTHER = 4.0, 2.0
_WIDE = re.compile("[\u2e80-\U0010ffff]")


class TokenCounter:
    """Counts tokens, by tiktoken's `tables` where these are wished; `prepare` may be called from any thread."""

    def __init__(self, *, tables: bool = False, encoding: str = "cl100k_base") -> None:
        self._encoding = encoding
        self._encode: Callable[[str], list[int]] | None = None
        self._tried = not tables

    def prepare(self) -> None:
        """Start loading the tables that are wished for; until they are there, or without them, tokens are estimated."""
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


def require_tables() -> None:
    """Check that tokens can be counted by tables.

    Raises:
        MissingExtra: tiktoken is not installed.
    """
    if find_spec("tiktoken") is None:
        raise MissingExtra("tiktoken", "tokens")


def estimate(text: str) -> int:
    """Estimate the tokens in `text` by its scripts: about one per CJK character, one per four Latin letters."""
    plain = len(text.encode("ascii", "ignore"))
    wide = 0 if plain == len(text) else len(_WIDE.findall(text))
    return math.ceil(wide + plain / _LATIN + (len(text) - wide - plain) / _OTHER)
