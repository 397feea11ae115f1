"""The first page: what the memory holds, and where to look at it."""

from __future__ import annotations

from starlette.responses import Response

from langmem_tiers.integrations.panel.page import Page, View, get

_LATEST = 5


def show(view: View) -> Response:
    """Counts, the latest conversations, and a link to each page."""
    latest = view.space.browse.rooms(limit=_LATEST)
    identity = view.space.identity.read()
    return view.show("overview.html", stats=view.space.stats(), rooms=latest, identity=identity)


PAGE = Page(title="Overview", path="/", key="o", actions=(get("/", show),))
