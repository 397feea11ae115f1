"""Who may talk to the server over HTTP: whoever has the token, and no web page.

A page that a browser shows can send requests to this machine, and by rebinding its own name to 127.0.0.1 even read the
answers. It can neither forge Host and Origin nor know the token. Both lists are compared whole, never by prefix.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from hmac import compare_digest
from typing import Any, NamedTuple

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

_HTTP_PORT = 80


class _Refusal(NamedTuple):
    status: int
    text: bytes


_WRONG_HOST = _Refusal(421, b"Not for this host.")
_WRONG_ORIGIN = _Refusal(403, b"Not from this origin.")
_WRONG_TOKEN = _Refusal(401, b"The token is missing or wrong.")


class Guard:
    """An ASGI application that hands on only what was sent to this address, from no foreign page, with the token."""

    def __init__(self, application: Application, *, port: int, token: str) -> None:
        self._application = application
        self._token = token.encode()
        hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
        if port == _HTTP_PORT:  # clients leave this one out
            hosts += ["127.0.0.1", "localhost"]
        self._hosts = frozenset(host.encode() for host in hosts)
        self._origins = frozenset(f"http://{host}".encode() for host in hosts)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Refuse a request, or hand it on."""
        refusal = None if scope["type"] == "lifespan" else self._refusal(scope["headers"])
        if refusal is None:
            await self._application(_with_plain_host(scope), receive, send)
        else:
            await _refuse(send, refusal)

    def _refusal(self, headers: Headers) -> _Refusal | None:
        given = list(headers)
        host, origins = _values(given, b"host"), _values(given, b"origin")
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return _WRONG_HOST
        if not self._origins.issuperset(origins):
            return _WRONG_ORIGIN
        return None if self._has_token(_values(given, b"authorization")) else _WRONG_TOKEN

    def _has_token(self, given: list[bytes]) -> bool:
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(b" ")
        return scheme.lower() == b"bearer" and compare_digest(token.strip(), self._token)


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value for each, value in headers if each.lower() == name]


def _with_plain_host(scope: Message) -> Message:
    """The request with its host in small letters: names of hosts have no case, and the application compares them."""
    if "headers" not in scope:
        return scope
    plain = [(name, value.lower() if name.lower() == b"host" else value) for name, value in scope["headers"]]
    return {**scope, "headers": plain}


async def _refuse(send: Send, refusal: _Refusal) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(refusal.text)).encode())]
    if refusal is _WRONG_TOKEN:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.text})
