"""Who may come in: links that work once, and the browsers that came in by one."""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from threading import Lock
from typing import Literal, NamedTuple

NoticeKind = Literal["done", "problem"]

_BYTES = 32
_MOST_NOTICES = 10


class Notice(NamedTuple):
    """One sentence for the user, shown at the top of the next page."""

    kind: NoticeKind
    text: str


@dataclass(frozen=True, slots=True)
class Visit:
    """One browser that came in: the token in its cookie, the token in its forms, and what it is to be told next."""

    token: str
    form_token: str
    notices: deque[Notice] = field(default_factory=lambda: deque(maxlen=_MOST_NOTICES))

    @property
    def mark(self) -> str:
        """Tells this visit from others, and lets nobody in."""
        return _hash(self.form_token).hex()[:12]

    def tell(self, *notices: Notice) -> None:
        """Have sentences shown on the next page."""
        self.notices.extend(notices)

    def told(self) -> tuple[Notice, ...]:
        """What is to be shown now; each is shown once."""
        found = []
        while self.notices:
            found.append(self.notices.popleft())
        return tuple(found)

    def made_form(self, token: str) -> bool:
        """Whether this is the token in the forms of this browser."""
        return compare_digest(token.encode(), self.form_token.encode())


class Visits:
    """The links not used yet and the browsers let in; both end with the process.

    Tokens are looked up by their hash, so that the time this takes says nothing about them.
    """

    def __init__(self) -> None:
        self._links: set[bytes] = set()
        self._visits: dict[bytes, Visit] = {}
        self._lock = Lock()

    def new_link(self) -> str:
        """The token of a new link that lets one browser in."""
        token = secrets.token_urlsafe(_BYTES)
        with self._lock:
            self._links.add(_hash(token))
        return token

    def enter(self, link: str) -> Visit | None:
        """Let a browser in by a link, which is used up; None if there is no such link, or no longer."""
        with self._lock:
            if _hash(link) not in self._links:
                return None
            self._links.remove(_hash(link))
            visit = Visit(secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES))
            self._visits[_hash(visit.token)] = visit
            return visit

    def of_cookie(self, token: str) -> Visit | None:
        """The visit with this token; None if it is wrong."""
        return self._visits.get(_hash(token))

    def leave(self, visit: Visit) -> None:
        """End a visit: its cookie is worth nothing any more."""
        with self._lock:
            self._visits.pop(_hash(visit.token), None)


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
