"""Serving the panel on this machine, with a link that lets one browser in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from langmem_tiers.errors import InvalidInput, MissingExtra
from langmem_tiers.integrations.addresses import Addresses
from langmem_tiers.integrations.panel.visits import Visits
from langmem_tiers.integrations.serving import LOOPBACK, Certificate, bound, serve_http

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

    from langmem_tiers.space import Space

DEFAULT_PORT = 8766
_EVERYWHERE = {"0.0.0.0", "::", ""}


def require_panel() -> None:
    """Check that the packages of the extra `panel` are installed.

    Raises:
        MissingExtra: one is not.
    """
    for package in ("starlette", "jinja2", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtra(package, "panel")


def panel_app(space: Space, *, addresses: Addresses, visits: Visits, memory_settings: bool = False) -> ASGIApp:
    """The panel of one space as an ASGI application; see `app.py`.

    Raises:
        MissingExtra: the extra `panel` is not installed.
    """
    require_panel()
    from langmem_tiers.integrations.panel import app

    return app.panel_app(space, addresses=addresses, visits=visits, memory_settings=memory_settings)


def run_panel(
    space: Space,
    *,
    listening: Callable[[str], None],
    host: str = LOOPBACK,
    port: int | None = None,
    tls: Certificate | None = None,
    public: Sequence[str] = (),
    unencrypted: bool = False,
    memory_settings: bool = False,
) -> None:
    """Serve the panel of a space until a signal ends it.

    Args:
        space: What it shows and changes.
        listening: Is called, once browsers can connect, with a link that lets one browser in.
        host: The address to listen at; only this machine can reach the default.
        port: Where to listen; 0 takes one that is free, and None does if 8766 is taken.
        tls: A certificate, to serve HTTPS.
        public: The addresses that a proxy before the panel is reached by, such as `https://memory.example.com`.
        unencrypted: Allow another `host` without TLS: others in the network can read along.
        memory_settings: Let it change settings of the whole memory, not only those of the space.

    Raises:
        MissingExtra: the extra `panel` is not installed.
        InvalidInput: `host` is not this machine and there is no TLS, it is every address and `public` names none,
            `public` has something else than addresses, or the port cannot be had.
    """
    require_panel()
    if not is_loopback(host) and tls is None and not unencrypted:
        raise InvalidInput(
            f"At {host}, others in the network could read the memory along: the panel would not be encrypted.",
            way_out="Give --tls-cert and --tls-key, or stay at 127.0.0.1 behind a proxy with TLS (--origin https://…).",
        )
    if host in _EVERYWHERE and not public:
        raise InvalidInput(
            f"At {host}, the panel cannot know by which address browsers reach it.",
            way_out="Say it with --origin, such as https://memory.example.com:8766, or give one address as --host.",
        )
    with _listener(host, port) as listener:
        addresses = Addresses.of_server(host, listener.getsockname()[1], tls=tls is not None, public=public)
        visits = Visits()
        app = panel_app(space, addresses=addresses, visits=visits, memory_settings=memory_settings)
        link = f"{addresses.first}/enter?token={visits.new_link()}"
        serve_http(app, listener, lambda: listening(link), tls=tls)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host in {LOOPBACK, "localhost", "::1"}


def _listener(host: str, port: int | None) -> socket.socket:
    if port is not None:
        return bound(port, host=host)
    try:
        return bound(DEFAULT_PORT, host=host)
    except InvalidInput:  # taken, perhaps by the panel of somebody else
        return bound(0, host=host)
