"""The pictures of the panel in the docs are what it shows; `make screenshots` takes them anew."""

import os
import runpy
from datetime import UTC, datetime
from pathlib import Path

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests.browser.conftest import served
from tests.tidying import by_hand, fill, tidying

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "images"
SIZE = {"width": 1200, "height": 760}
NARROW = {"width": 390, "height": 780}


@pytest.fixture(scope="module")
def mara(memory):
    """What the demo tells, and something about it that is related."""
    mara = memory.user("mara")
    for talk in runpy.run_path(str(ROOT / "examples" / "demo.py"))["SESSIONS"]:
        memory.clock.tick((talk.at - memory.clock()).total_seconds())
        mara.track([Turn(role="user", content=line, said_at=talk.at) for line in talk.lines], session=talk.name)
        mara.end_session(talk.name)
    mara.mine()
    mara.identity.write("## About\n- Name: Mara\n- Teaches chemistry in Ghent\n\n## Answers\n- Short, like a letter")
    mara.graph.add_relation("user", "has partner", "Tobias", object_type="person", subject_type="person")
    mara.graph.add_relation("user", "has daughter", "Ines", object_type="person")
    mara.graph.add_relation("user", "works with", "Lena", object_type="person")
    mara.graph.add_relation("user", "lives in", "Antwerp", valid_from="2019", object_type="place")
    mara.graph.add_relation("user", "lives in", "Ghent", valid_from="2022-08", object_type="place")
    mara.graph.add_relation("Tobias", "lives in", "Ghent", valid_from="2022-08", object_type="place")
    mara.graph.add_relation("Lena", "gave", "anemometer", valid_from="2026-04", object_type="thing")
    mara.flush()
    mara.recall("Who is Tobias?", keep_receipt=False)  # the first one reads word lists, and takes longer
    mara.recall("Which sensor is in my weather station now?", session="today", message_id="first", window=())
    return mara


@pytest.fixture(scope="module")
def dreaming(tmp_path_factory):
    """A memory with something to tidy up, and a model that does."""
    folder = tmp_path_factory.mktemp("dreaming") / "memory"
    doubles = {
        "embedder": HashEmbedder(),
        "model": tidying(),
        "clock": FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC)),
    }
    with Memory.open(folder, background=False, settings=by_hand(), **doubles) as memory:
        space = memory.user("mara")
        fill(space)
        space.dream(dry_run=True)
        yield space


SEARCH = "search?q=Which+sensor+is+in+my+weather+station+now%3F"
PAGES = {
    "search": (SEARCH, SIZE, "light"),
    "palace": ("palace/rooms/3", SIZE, "light"),
    "memories": ("memories", SIZE, "light"),
    "graph": ("graph", SIZE, "light"),
    "turn": ("activity/turns/1", SIZE, "light"),
    "dream": ("dreams", SIZE, "dark"),
    "phone": ("palace/rooms/3", NARROW, "light"),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_docs_have_a_picture_of_it(mara, dreaming, visit, name):
    path, size, scheme = PAGES[name]
    with served(dreaming if name == "dream" else mara) as link:
        page = visit(link(), width=size, scheme=scheme)
        page.goto(page.url + path, wait_until="networkidle")
        if name == "dream":
            page.locator("main ul a, main ol a").first.click()
        if name == "graph":
            page.locator(".graph-stage canvas").first.wait_for()
            page.wait_for_timeout(1500)  # for the eye only: the picture comes to rest
        picture = page.screenshot()
    file = PICTURES / f"panel-{name}.png"
    if os.environ.get("PICTURES") == "write":
        file.write_bytes(picture)
    assert _size(file.read_bytes()) == _size(picture)


def _size(png):
    """Width and height, from the head of a PNG."""
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
