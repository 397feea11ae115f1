"""How fast the panel shows a large palace in a real browser: Debian's Chromium, driven by Playwright.

For each page: how long the server took to answer, how long after that the browser painted something first, and how
long until everything was there. Then what follows is scrolled into view, some pages of messages one after the other,
and a message is searched, by its words: the memory is filled without vectors. Server and browser are on this machine.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import uvicorn
from recall_latency import SPACE
from reporting import Row, parser, report, say
from texts import sessions, turn

from langmem_tiers import Memory, Settings, Space
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.integrations.addresses import Addresses
from langmem_tiers.integrations.panel import panel_app
from langmem_tiers.integrations.panel.visits import Visits
from langmem_tiers.integrations.serving import bound

LONG = "the long one"
CHROMIUM = "/usr/bin/chromium"
# What the browser measured of the page that is open, in milliseconds since it began to ask for it.
TIMES = """async () => {
  const [asked] = performance.getEntriesByType("navigation");
  while (!asked.loadEventEnd) await new Promise((done) => setTimeout(done, 10));
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
  while (!painted()) await new Promise((done) => setTimeout(done, 10));
  return [asked.responseStart, painted().startTime - asked.responseStart, asked.loadEventEnd, asked.decodedBodySize];
}"""


def main() -> None:
    arguments = parser(__doc__ or "", "panel_palace")
    arguments.add_argument("--drawers", type=int, default=50_000)
    arguments.add_argument("--repeats", type=int, default=10, help="how often each page is opened")
    arguments.add_argument("--scrolls", type=int, default=10, help="pages of messages to scroll through")
    arguments.add_argument("--long-room", type=int, default=5_000, help="messages of one more, long conversation")
    chosen = arguments.parse_args()
    with TemporaryDirectory() as folder:
        say(f"filling up to {chosen.drawers:,} drawers")
        with Memory.open(folder, embedder=None, background=False, settings=verbatim(Settings())) as memory:
            space = memory.space(SPACE)
            for session, turns in sessions(0, chosen.drawers, seed=chosen.seed):
                space.track(turns, session=session).raise_rejected()
            long = long_room(space, chosen.long_room)
            with served(space) as link, browser() as page:
                page.goto(link)
                rows = measured(page, link.split("/enter")[0], long, chosen.repeats, chosen.scrolls)
    report(f"The panel with {chosen.drawers:,} drawers", rows, chosen.out)


def long_room(space: Space, messages: int) -> int:
    """One conversation with so many messages; its number."""
    space.track([turn(number) for number in range(messages)], session=LONG)
    room = space.browse.room_of(space.drawers(session=LONG)[0].number)
    assert room is not None
    return room.number


@contextmanager
def served(space: Space) -> Iterator[str]:
    """Serve the panel of a space; a link into it."""
    with bound(0) as listener:
        addresses, visits = Addresses.of_server("127.0.0.1", listener.getsockname()[1]), Visits()
        application = panel_app(space, addresses=addresses, visits=visits)
        server = uvicorn.Server(uvicorn.Config(application, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"{addresses.first}/enter?token={visits.new_link()}"
        server.should_exit = True
        thread.join()


@contextmanager
def browser() -> Iterator[Any]:
    """A page of a new browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium.new_page(viewport={"width": 1280, "height": 860})
        chromium.close()


def measured(page: Any, origin: str, long: int, repeats: int, scrolls: int) -> list[Row]:
    pages = {
        "overview": "/",
        "palace: the wings": "/palace",
        "a wing with all its conversations": "/palace/wings/1",
        "a long conversation": f"/palace/rooms/{long}",
        "one message": "/palace/drawers/1",
        "search: what an agent would recall": "/search?q=Where+is+the+old+guitar+of+Anna+Ashford%3F",
        "memories": "/memories",
    }
    rows = [opened(page, name, origin + path, repeats) for name, path in pages.items()]
    page.goto(f"{origin}/palace/rooms/{long}")
    return [*rows, scrolled(page, scrolls)]


def opened(page: Any, name: str, address: str, repeats: int) -> Row:
    taken = []
    for _ in range(repeats):
        page.goto(address)
        taken.append(page.evaluate(TIMES))
    answer, paint, whole, size = zip(*taken, strict=True)
    return {
        "page": name,
        "answer ms, p50": median(answer),
        "first paint after it ms, p50": median(paint),
        "first paint after it ms, worst": max(paint),
        "all of it ms, p50": median(whole),
        "KB": size[0] / 1000,
    }


def scrolled(page: Any, scrolls: int) -> Row:
    """How long what follows takes to be there, once the end of what is there comes into view."""
    taken = []
    for _ in range(scrolls):
        before = page.locator(".drawer").count()
        started = perf_counter()
        page.mouse.wheel(0, 100_000)
        page.locator(".drawer").nth(before).wait_for()
        taken.append((perf_counter() - started) * 1000)
    return {
        "page": f"the next messages of it, {scrolls} times",
        "answer ms, p50": "",
        "first paint after it ms, p50": median(taken),
        "first paint after it ms, worst": max(taken),
        "all of it ms, p50": median(taken),
        "KB": "",
    }


if __name__ == "__main__":
    main()
