"""Every page passes the checks of axe in light, in dark and on a phone, and what matters is done without a mouse."""

import re
from datetime import UTC, datetime

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.integrations.panel.pages import PAGES
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests.browser.conftest import DESKTOP, PHONE, served
from tests.tidying import by_hand, fill, tidying

# Rules that are one's own to keep; experimental ones are not among them.
RUN = """async (rules) => {
  const found = await axe.run(document, { runOnly: rules, resultTypes: ["violations"] });
  return found.violations.flatMap((each) => each.nodes.map(
    (node) => `${each.id} (${each.impact}): ${node.target} ${node.html.slice(0, 120)} ${node.failureSummary}`));
}"""
ALL = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="module")
def alice(tmp_path_factory):
    """A user about whom every page has something to show."""
    folder = tmp_path_factory.mktemp("panel") / "memory"
    doubles = {
        "embedder": HashEmbedder(),
        "model": tidying(),
        "clock": FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC)),
    }
    with Memory.open(folder, background=False, settings=by_hand(), **doubles) as memory:
        alice = memory.user("alice")
        _live(alice)
        yield alice


def _live(alice):
    alice.identity.write("## About\n- Name: Alice\n- Lives in Porto")
    alice.identity.write("## About\n- Name: Alice\n- Lives in Lisbon")
    fill(alice)
    alice.track([Turn(role="user", content="My sister Anna lives in Lisbon. " * 30)], session="monday", project="eFoil")
    alice.knowledge.save("The user plays chess.", category="hobbies", tags=["games"], origin="user", pinned=True)
    alice.graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2021", subject_type="person")
    alice.graph.add_relation("Anna", "lives in", "Porto", valid_from="2024-05", object_type="place")
    alice.graph.add_relation("Ana", "knows", "Ben", subject_type="person", object_type="person")
    alice.archive.write("monday", summary="About work, tea and Anna.")
    alice.working.save("session/monday/inbox", '{"unread": 3}', ttl_minutes=60, tags=["unread"])
    alice.recall("Where does my sister Anna live?", session="monday")
    alice.dream(dry_run=True)
    alice.flush()


@pytest.fixture(scope="module")
def link(alice):
    with served(alice) as link:
        yield link


def _addresses(space):
    """An address for each that a page answers, with something of this space in it."""
    given = {
        "/palace/wings/{wing:int}": "1",
        "/palace/rooms/{room:int}": "1",
        "/palace/drawers/{drawer:int}": "1",
        "/memories/{id}": space.knowledge.page().entries[0].id,
        "/memories/{id}/edit": space.knowledge.page().entries[0].id,
        "/graph/entities/{id}": space.graph.entity("Anna").id,
        "/graph/entities/{id}/delete": space.graph.entity("Anna").id,
        "/graph/relations/{id}": space.graph.timeline("Anna").relations[0].id,
        "/episodes/{id}": space.archive.recent(1)[0].id,
        "/activity/turns/{number:int}": "1",
        "/dreams/{id}": space.dreams()[0].id if space.dreams() else "",
        "/settings/{name}": "recall.limit",
    }
    ids = [space.graph.entity(name).id for name in ("Anna", "Ana")]
    queries = {
        "/search": ("", "?q=Where+does+my+sister+Anna+live%3F&of=chess"),
        "/memories": ("", "?q=nothing+has+this", "?layer=identity", "?layer=archive", "?status=inactive"),
        "/forget": ("", "?session=monday", "?since=not+a+day"),
        "/working/entry": ("?key=session/monday/inbox",),
        "/graph": ("", "?ever=1"),
        "/graph/merge": (f"?kept={ids[0]}&merged={ids[1]}", f"?keep={ids[0]}"),
    }
    paths = [action.path for page in PAGES for action in page.actions if action.method == "GET"]
    for path in paths:
        if path != "/graph/data":
            filled = re.sub(r"\{.*?\}", given.get(path, ""), path)
            yield from (filled + query for query in queries.get(path, ("",)))
    yield "/nowhere"


def _axe(page):
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)


def test_axe_finds_nothing_on_any_page_in_light_in_dark_and_on_a_phone(alice, link, visit):
    pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    page = visit(link())
    origin, found = page.url.rstrip("/"), []
    for address in _addresses(alice):
        page.set_viewport_size(DESKTOP)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(origin + address)
        _axe(page)
        found += [f"{address} {each}" for each in page.evaluate(RUN, ALL)]
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        found += [f"{address} dark {each}" for each in page.evaluate(RUN, COLOURS)]
        page.set_viewport_size(PHONE)
        found += [f"{address} phone {each}" for each in page.evaluate(RUN, ALL)]
        if page.evaluate("document.documentElement.scrollWidth") > PHONE["width"]:
            found.append(f"{address} scrolls sideways on a phone")
    page.wrong[:] = [said for said in page.wrong if "404" not in said and "422" not in said]
    assert "\n".join(found) == ""


def test_axe_finds_what_is_wrong_so_that_the_check_means_something(link, visit):
    pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    page = visit(link())
    page.evaluate("document.querySelector('main').innerHTML = '<img src=/static/icon.svg><input><a href=/></a>'")
    _axe(page)
    assert len(page.evaluate(RUN, ALL)) >= 3


def test_without_a_mouse_a_memory_is_found_edited_and_forgotten(alice, link, visit):
    page = visit(link())
    _keys(page, "g", "p")
    page.wait_for_url("**/palace")
    _keys(page, "j", "Enter")
    page.locator(".shelf .inside ol").first.wait_for()
    _keys(page, "g", "s")
    page.wait_for_url("**/search")
    _keys(page, "/")
    page.keyboard.type("Where does my sister Anna live?")
    page.keyboard.press("Enter")
    page.get_by_text("As a prompt shows it").wait_for()
    _keys(page, "g", "m")
    page.wait_for_url("**/memories")
    _tab_to(page, "Edit")
    page.keyboard.press("Enter")
    page.get_by_label("What is known").wait_for()
    page.wait_for_function("document.activeElement.matches('textarea')")
    page.keyboard.press("Control+a")
    page.keyboard.type("The user plays go.")
    _tab_to(page, "Save")
    page.keyboard.press("Enter")
    page.get_by_text("Saved.").wait_for()
    entry = next(each for each in alice.knowledge.page().entries if each.content == "The user plays go.")
    page.goto(page.url.split("/memories")[0] + f"/memories/{entry.id}")
    _tab_to(page, "Forget…")
    page.keyboard.press("Enter")
    page.get_by_text("The user plays go.").first.wait_for()
    _tab_to(page, "Forget this for good")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Forgotten").wait_for()
    assert alice.knowledge.get(entry.id) is None


def test_without_a_mouse_a_dream_is_previewed_approved_and_undone(alice, link, visit):
    page, before = visit(link()), _known(alice)
    _keys(page, "g", "d")
    page.wait_for_url("**/dreams")
    _press(page, "Preview a dream", then="This is a preview.")
    _press(page, "Approve: apply exactly this", then="The dream was applied")
    assert _known(alice) != before
    _press(page, "Undo this dream", then="The dream was undone")
    assert _known(alice) == before


def _known(space):
    return {each.content for each in space.knowledge.page(limit=1_000).entries}


def _press(page, name, *, then):
    _tab_to(page, name)
    page.keyboard.press("Enter")
    page.get_by_text(then).wait_for()


def _keys(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def _tab_to(page, name):
    """Press Tab until what has the focus is called so, and can be seen to have it."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText?.trim()") == name:
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"{name} is not reached by Tab")
