"""Under which addresses clients reach a server: the values of Host and Origin that are allowed, and no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations.serving import LOOPBACK

Given = dict[bytes, list[bytes]]
"""The headers of a request: the values of each name, in lower case."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_WAY_OUT = "Write it as a browser shows it, without a path: https://memory.example.com."


@dataclass(frozen=True, slots=True)
class Addresses:
    """The origins that a server answers to, such as `http://127.0.0.1:8766`; the first one is in its link."""

    origins: tuple[str, ...]

    @classmethod
    def of_server(cls, host: str, port: int, *, tls: bool = False, public: Sequence[str] = ()) -> Addresses:
        """Those of a server that listens on a host and port, and what a proxy before it is reached by.

        Raises:
            InvalidInput: one of `public` is no origin.
        """
        scheme = "https" if tls else "http"
        names = (LOOPBACK, "localhost") if host in {LOOPBACK, "localhost"} else (_in_url(host),)
        own = (_origin(scheme, name, port) for name in names)
        return cls((*map(_checked, public), *own))

    @property
    def first(self) -> str:
        """The origin to give to the user."""
        return self.origins[0]

    def has_host(self, given: Given) -> bool:
        """Whether a request names one of these addresses as its Host, and nothing else besides."""
        hosts = given.get(b"host", [])
        return len(hosts) == 1 and hosts[0].lower() in {each.partition("://")[2].encode() for each in self.origins}

    def has_origin(self, given: Given) -> bool:
        """Whether a request comes from a page of this server, or from no page."""
        origins = given.get(b"origin", [])
        return len(origins) <= 1 and {each.encode() for each in self.origins}.issuperset(origins)

    @property
    def secure(self) -> bool:
        """Whether the link is to TLS, so that the cookie may be for nothing else."""
        return self.first.startswith("https://")


def given_headers(headers: Iterable[tuple[bytes, bytes]]) -> Given:
    """The headers of an ASGI scope by their names; a name that was not sent has no values."""
    given: Given = defaultdict(list)
    for name, value in headers:
        given[name.lower()].append(value)
    return given


def _in_url(host: str) -> str:
    return f"[{host.lower()}]" if ":" in host else host.lower()


def _origin(scheme: str, name: str, port: int) -> str:
    return f"{scheme}://{name}" if _DEFAULT_PORTS[scheme] == port else f"{scheme}://{name}:{port}"


def _checked(origin: str) -> str:
    """An origin as browsers send it."""
    try:
        parts = urlsplit(origin.strip().rstrip("/"))
        port = parts.port
    except ValueError as error:
        raise InvalidInput(f"{origin!a} is no address: {error}.", way_out=_WAY_OUT) from error
    bare = not (parts.path or parts.query or parts.fragment or parts.username)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or not bare:
        raise InvalidInput(f"{origin!a} is no address of a panel.", way_out=_WAY_OUT)
    return _origin(parts.scheme, _in_url(parts.hostname), port or _DEFAULT_PORTS[parts.scheme])
