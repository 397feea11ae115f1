"""Lets through only requests to this address, from no foreign page, from a browser that was let in.

It stands before everything else. What it refuses reaches no page; what it lets through has a `Visit` in its state, the
assets and the link excepted. Every answer gets the headers that keep browsers from running or storing what is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langmem_tiers.integrations.addresses import Addresses, Given, given_headers
from langmem_tiers.integrations.panel.visits import Visit, Visits
from langmem_tiers.integrations.serving import MOST_BODY

ENTRANCE = "/enter"
ASSETS = "/static/"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": then browsers would send "null" as the origin of our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_SAFE = {"GET", "HEAD"}
_METHODS = {*_SAFE, "POST"}
_FORM = b"application/x-www-form-urlencoded"


class Refusal(NamedTuple):
    """Why a request is not answered: the HTTP status and a sentence."""

    status: int
    text: str


WRONG_HOST = Refusal(421, "This panel is not at this address.")
WRONG_ORIGIN = Refusal(403, "The request comes from another page.")
WRONG_METHOD = Refusal(405, "Pages are read with GET and changed with POST.")
WRONG_TYPE = Refusal(415, "Only forms are accepted.")
TOO_LARGE = Refusal(413, f"A form may have {MOST_BODY:,} bytes at most.")
NO_VISIT = Refusal(401, "This browser has not been let in, or the panel was restarted since.")
NOT_HTTP = Refusal(400, "Only plain requests are answered.")

Answer = Callable[[Refusal], ASGIApp]


class Guard:
    """An ASGI application around the panel; `answer` makes the page of a refusal."""

    def __init__(
        self, application: ASGIApp, *, addresses: Addresses, visits: Visits, cookie: str, answer: Answer
    ) -> None:
        self._application = application
        self._visits = visits
        self._cookie = cookie
        self._answer = answer
        self._addresses = addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        given = given_headers(scope["headers"])
        visit = self._visit(given)
        refusal = self._refusal(scope, given, visit)
        answer = self._application if refusal is None else self._answer(refusal)
        state = {**scope.get("state", {}), "visit": visit}
        await answer({**scope, "state": state}, receive, _with_headers(scope, send))

    def _refusal(self, scope: Scope, given: Given, visit: Visit | None) -> Refusal | None:
        """Why the request is refused; None if it may pass."""
        if not self._addresses.has_host(given):
            return WRONG_HOST
        if scope["method"] not in _METHODS:
            return WRONG_METHOD
        if self._is_foreign(scope["method"], given):
            return WRONG_ORIGIN
        if scope["method"] == "POST" and (refusal := _unfit_body(given)):
            return refusal
        path = scope["path"]
        open_to_all = path == ENTRANCE or path.startswith(ASSETS)
        return None if visit is not None or (open_to_all and scope["method"] in _SAFE) else NO_VISIT

    def _is_foreign(self, method: str, given: Given) -> bool:
        if not self._addresses.has_origin(given):
            return True
        sites = given[b"sec-fetch-site"]
        if method not in _SAFE:
            return not given[b"origin"] or any(site != b"same-origin" for site in sites)
        # Another page may link to the panel, but not load anything from it.
        by_link = given[b"sec-fetch-mode"] == [b"navigate"] and given[b"sec-fetch-dest"] == [b"document"]
        return any(site not in {b"same-origin", b"none"} for site in sites) and not by_link

    def _visit(self, given: Given) -> Visit | None:
        """The visit that the cookie names. Several cookies of this name are suspicious, so they name none."""
        found = []
        for header in given[b"cookie"]:
            pairs = (pair.partition("=") for pair in header.decode("latin-1").split(";"))
            found += [value.strip() for name, _, value in pairs if name.strip() == self._cookie]
        return self._visits.of_cookie(found[0]) if len(found) == 1 else None


def _unfit_body(given: Given) -> Refusal | None:
    kinds = given[b"content-type"]
    if len(kinds) != 1 or kinds[0].partition(b";")[0].strip().lower() != _FORM or given[b"content-encoding"]:
        return WRONG_TYPE
    lengths = given[b"content-length"]
    if lengths and (not lengths[0].isdigit() or int(lengths[0][:20]) > MOST_BODY):
        return TOO_LARGE
    return None


def _with_headers(scope: Scope, send: Send) -> Send:
    storing = "no-cache" if scope["path"].startswith(ASSETS) else "no-store"

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**_HEADERS, "cache-control": storing}.items():
                headers[name] = value
        await send(message)

    return sending
