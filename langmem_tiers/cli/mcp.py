"""`langmem-tiers mcp`: the memory as an MCP server."""

from __future__ import annotations

import os
import secrets
import sys
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from langmem_tiers.cli.target import OfSpace, target_of
from langmem_tiers.cli.terminal import print_error
from langmem_tiers.types import ToolGroup

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

_PORT = 8765


def mcp(
    context: typer.Context,
    *,
    http: Annotated[bool, typer.Option("--http", help="Serve HTTP on 127.0.0.1, instead of standard input.")] = False,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="With --http: 8765, or 0 for a free one.")] = None,
    tools: Annotated[
        str,
        typer.Option(
            "--tools",
            metavar="NAMES",
            help=f"{', '.join(get_args(ToolGroup))}, or single tools; with commas.",
        ),
    ] = "memory,graph",
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace", metavar="PATH", help="Where clients write in working memory. Default: session/mcp."
        ),
    ] = None,
    space: OfSpace = None,
) -> None:
    """Serve a memory to MCP clients: over standard input and output, or over HTTP on this machine."""
    from langmem_tiers.integrations.mcp.server import MCP_NAMESPACE, mcp_server, require_mcp
    from langmem_tiers.integrations.tools import tools_named
    from langmem_tiers.working import keys

    if port is not None and not http:
        raise typer.BadParameter("it goes with --http.", param_hint="--port")
    require_mcp()
    target = target_of(context, space=space)
    # Whatever may be refused is looked at before a folder is made.
    name = target.space_name()
    token = _token() if http else ""
    wanted = tools_named([each.strip() for each in tools.split(",") if each.strip()])
    own = keys.namespace(MCP_NAMESPACE if namespace is None else namespace)
    with target.memory() as memory:
        server = mcp_server(target.open(memory, name), only=wanted, namespace=own)
        if http:
            _serve_http(server, name, _PORT if port is None else port, token)
        else:
            _serve_stdio(server)


def _token() -> str:
    """The token from the environment; empty if there is none, so that one is made."""
    from langmem_tiers.integrations.mcp.transport import MCP_TOKEN_VARIABLE, require_token

    given = os.environ.get(MCP_TOKEN_VARIABLE, "")
    if given:
        require_token(given)
    return given


def _serve_stdio(server: Server[Any]) -> None:
    from langmem_tiers.integrations.mcp import run_stdio

    if sys.stdin.isatty():
        print_error("This is for an MCP client to start, see docs/mcp.md. It waits for its messages; Ctrl-C ends it.")
    run_stdio(server)


def _serve_http(server: Server[Any], space: str, port: int, given: str) -> None:
    from langmem_tiers.integrations.mcp import MCP_TOKEN_VARIABLE, run_http

    token = given or secrets.token_urlsafe(32)

    def listening(address: str) -> None:
        print_error(f"Serving {space} on {address}. Ctrl-C ends it.")
        if not given:
            print_error(f"Token, new each time unless {MCP_TOKEN_VARIABLE} is set: {token}")

    run_http(server, port=port, token=token, listening=listening)
