"""What is new since a page was shown, asked every few seconds by `static/live.js` while the page can be seen.

To follow along, an element of a page needs an id and `data-live` with what it shows: `change` (all that is stored),
`receipt`, `activity` or `dream`. When one of these numbers has grown, the script loads the page again and puts the new
element in the place of the old one; of a list, whose items have ids and `data-live-item`, only what is new or differs.

The positions are read from the database, so that what another process writes is seen, too. Asking is a request of a
millisecond that holds no connection: nothing is to be counted, kept open or found again after a restart.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from langmem_tiers.errors import MemoryOff

if TYPE_CHECKING:
    from langmem_tiers.integrations.panel.page import View
    from langmem_tiers.space import Space

PATH = "/live"


def tell(view: View) -> Response:
    """The newest numbers, as JSON; `panel` changes with a restart, after which forms of before are refused."""
    return JSONResponse({**seen(view.space), "panel": view.visit.mark})


def seen(space: Space) -> dict[str, int]:
    """How far the space has come; nothing where the memory is off, which has nothing new."""
    try:
        return asdict(space.positions())
    except MemoryOff:
        return {}
