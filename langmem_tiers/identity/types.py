"""What callers of the identity get: frozen, keyword-only, documented."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from langmem_tiers.types import Origin


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityText:
    """The identity as it stands: its Markdown, and how many of the `most` characters it takes.

    `version` grows by one with every change; 0 means that none was ever written, and then nobody wrote it at any time.
    """

    text: str
    characters: int
    most: int
    version: int
    origin: Origin | None = None
    updated_at: datetime | None = None

    @property
    def share(self) -> float:
        """How full it is: 0 for empty, 1 for full."""
        return self.characters / self.most

    @property
    def usage(self) -> str:
        """How full it is, in words.

        Example:
            >>> IdentityText(text="…", characters=412, most=1000, version=3).usage
            '412 of 1,000 characters (41 %)'
        """
        return f"{self.characters:,} of {self.most:,} characters ({self.share * 100:.0f} %)"


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityVersion:
    """The identity as it stood from some moment on, and who wrote it."""

    version: int
    text: str
    origin: Origin
    at: datetime
