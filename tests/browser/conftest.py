"""A real browser on a real server: Debian's Chromium, driven by Playwright. Skipped where either is missing.

`make test-browser` runs these. They wait for what a person would see, never for a time.
"""

import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from langmem_tiers import Memory
from langmem_tiers.integrations.addresses import Addresses
from langmem_tiers.integrations.panel import panel_app
from langmem_tiers.integrations.panel.visits import Visits
from langmem_tiers.integrations.serving import LOOPBACK, bound
from langmem_tiers.testing import FrozenClock, HashEmbedder

CHROMIUM = Path("/usr/bin/chromium")
PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 860}


@pytest.fixture(scope="session")
def chromium():
    """The browser, one for all tests; each gets a context of its own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", f"--host-resolver-rules=MAP *.test {LOOPBACK}"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    """A memory for all tests of a module, empty at first."""
    clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    folder = tmp_path_factory.mktemp("panel") / "memory"
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock) as opened:
        yield opened


@contextmanager
def served(space, *, port=0):
    """Serve the panel of a space on a free port, or on this one; what comes back makes links into it."""
    import uvicorn

    with bound(port) as listener:
        addresses = Addresses.of_server("127.0.0.1", listener.getsockname()[1])
        visits = Visits()
        config = uvicorn.Config(panel_app(space, addresses=addresses, visits=visits), log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield lambda: f"{addresses.first}/enter?token={visits.new_link()}"
        server.should_exit = True
        thread.join(timeout=10)


def scroll_to(wanted):
    """Scroll down, again and again as a person does, until what loads on the way has brought this.

    Where it is busy, one turn of the wheel is not enough: it may reach the page before this one, or stop where the list
    ended before more of it came.
    """
    from playwright.sync_api import TimeoutError as NotThereYet

    for _ in range(60):
        wanted.page.mouse.wheel(0, 200_000)
        try:
            wanted.wait_for(timeout=500)
        except NotThereYet:
            continue
        return
    raise AssertionError("scrolling brought nothing more for half a minute")


@pytest.fixture
def visit(chromium):
    """Opens pages in a browser that was let in; what goes wrong in one (scripts, policy, requests) fails the test."""
    contexts, wrong = [], []

    def open_page(link, *, width=None, scheme="light", javascript=True):
        context = chromium.new_context(
            viewport=width or DESKTOP, color_scheme=scheme, java_script_enabled=javascript, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        own = link.split("/enter")[0]
        page.on("request", lambda asked: None if asked.url.startswith((own, "data:")) else wrong.append(asked.url))
        page.goto(link)
        page.wrong = wrong
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
