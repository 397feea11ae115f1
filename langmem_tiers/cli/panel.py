"""`langmem-tiers panel`: one user's memory as a web page on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import OfSpace, target_of
from langmem_tiers.cli.terminal import print_error, print_text
from langmem_tiers.errors import InvalidInput

if TYPE_CHECKING:
    from langmem_tiers.integrations.serving import Certificate


def panel(
    context: typer.Context,
    *,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Default: 8766, or a free one if that is taken.")
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; others than this machine need TLS.")
    ] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the link, and open no browser.")] = False,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Serve HTTPS with this certificate.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the certificate.")] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Where browsers reach a proxy before it: https://memory.example.com."),
    ] = None,
    unencrypted: Annotated[
        bool, typer.Option("--i-know-it-is-not-encrypted", help="Allow another address than this machine without TLS.")
    ] = False,
    memory_settings: Annotated[
        bool, typer.Option("--memory-settings", help="Let it also change the settings of the whole memory.")
    ] = False,
    space: OfSpace = None,
) -> None:
    """Open a web page to look at a memory, ask it and correct it: for one browser on this machine."""
    from langmem_tiers.integrations.panel import require_panel, run_panel

    require_panel()
    certificate = _certificate(tls_cert, tls_key)
    target = target_of(context, space=space)
    with target.existing_memory(background=True) as memory:
        opened = target.only_space(memory)
        run_panel(
            opened,
            listening=lambda link: _tell(opened.name, link, opening=not no_open),
            host=host,
            port=port,
            tls=certificate,
            public=origin or (),
            unencrypted=unencrypted,
            memory_settings=memory_settings,
        )


def _certificate(certificate: Path | None, key: Path | None) -> Certificate | None:
    from langmem_tiers.integrations.serving import Certificate

    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        missing = "--tls-cert" if certificate is None else "--tls-key"
        raise typer.BadParameter("a certificate and its key go together.", param_hint=missing)
    for option, file in (("--tls-cert", certificate), ("--tls-key", key)):
        if not file.is_file():
            raise typer.BadParameter(f"{file} is no file.", param_hint=option)
    _try_out(certificate, key)
    return Certificate(certificate=certificate, key=key)


def _try_out(certificate: Path, key: Path) -> None:
    """Load a certificate before a port is taken.

    Raises:
        InvalidInput: it cannot be used, or its key does not fit.
    """
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        way_out = "Give a certificate and its key in PEM."
        raise InvalidInput(f"{certificate} with {key} cannot be used for TLS: {error}.", way_out=way_out) from error


def _tell(space: str, link: str, *, opening: bool) -> None:
    print_text(f"The memory of {space}: {link}")
    print_error("The link lets one browser in, once. Ctrl-C ends the panel.")
    if opening and _has_screen():
        import webbrowser

        webbrowser.open(link)


def _has_screen() -> bool:
    """Whether a browser would have a window: one in the terminal would use up the link."""
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
