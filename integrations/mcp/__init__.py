"""A memory as an MCP server: its tools, resources and a prompt for any client that speaks the protocol."""

from langmem_tiers.integrations.mcp.server import mcp_server
from langmem_tiers.integrations.mcp.transport import MCP_TOKEN_VARIABLE, run_http, run_stdio

__all__ = ["MCP_TOKEN_VARIABLE", "mcp_server", "run_http", "run_stdio"]
