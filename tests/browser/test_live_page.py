"""Pages follow along while an agent works, and leave their reader alone."""

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.testing import HashEmbedder
from tests.browser.conftest import PHONE, served

SOON = 60_000  # milliseconds that an update may take on a busy machine


@pytest.fixture(scope="module")
def ines(memory):
    """A user of whom something is known and was recalled."""
    space = memory.user("ines")
    space.track(
        [Turn(role="user", content="My sister Clara lives in Lisbon. I bind books in Porto.")], session="monday"
    )
    space.end_session("monday")
    space.flush()
    space.recall("Where does my sister Clara live?", session="tuesday", message_id="first", window=())
    return space


@pytest.fixture(scope="module")
def link(ines):
    with served(ines) as new_link:
        yield new_link


def follow(visit, link, path, **how):
    page = visit(link(), **how)
    page.goto(page.url.split("/enter")[0].rstrip("/") + path)
    return page


def test_a_new_turn_appears_at_the_top_without_a_reload_and_is_announced(visit, link, ines):
    page = follow(visit, link, "/activity")
    page.evaluate("window.kept = true")
    ines.recall("Who binds books in Porto?", session="tuesday", message_id="second", window=())
    page.get_by_role("link", name="Who binds books in Porto?").wait_for(timeout=SOON)
    assert "Porto" in page.locator("[data-live-item]").first.inner_text()
    assert page.evaluate("window.kept") is True
    page.get_by_text("Something new was added.").wait_for(timeout=SOON)


def test_what_another_process_writes_appears_too(visit, link, ines):
    page = follow(visit, link, "/activity")
    folder, clock = ines.memory.path, ines.memory.clock
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock) as other:
        other.user("ines").recall("What does Ines bind?", session="wednesday", message_id="x", window=())
    page.get_by_role("link", name="What does Ines bind?").wait_for(timeout=SOON)


def test_focus_stays_where_it_is(visit, link, ines):
    page = follow(visit, link, "/activity")
    page.keyboard.press("j")
    focused = page.evaluate("document.activeElement.textContent")
    ines.recall("Does Clara live in Lisbon?", session="thursday", message_id="y", window=())
    page.get_by_role("link", name="Does Clara live in Lisbon?").wait_for(timeout=SOON)
    assert page.evaluate("document.activeElement.textContent") == focused


def test_what_is_being_read_is_left_alone_until_asked(visit, link, ines):
    page = follow(visit, link, "/usage")
    page.locator("#usage").evaluate(
        "(part) => { part.tabIndex = -1; part.querySelector('a, table')?.scrollIntoView(); }"
    )
    page.evaluate("document.getSelection().selectAllChildren(document.querySelector('#usage'))")
    ines.knowledge.save("Clara brings bread on Fridays.")
    ines.flush()
    show = page.get_by_role("button", name="Show it")
    show.wait_for(timeout=SOON)
    show.click()
    show.wait_for(state="hidden", timeout=SOON)


def test_paused_nothing_moves(visit, link, ines):
    page = follow(visit, link, "/activity")
    page.get_by_role("button", name="Pause").click()
    assert page.get_by_text("Paused.").is_visible()
    ines.recall("Is this seen while paused?", session="paused", message_id="z", window=())
    with page.expect_response("**/live", timeout=SOON):
        page.get_by_role("button", name="Go on").click()
    page.get_by_role("link", name="Is this seen while paused?").wait_for(timeout=SOON)


def test_without_javascript_there_is_a_link_to_load_the_page_again(visit, link):
    page = follow(visit, link, "/activity", javascript=False)
    page.get_by_role("link", name="load the page again").click()
    assert page.url.endswith("/activity")


PATHS = ("activity", "activity/turns/1", "activity/done", "activity/feedback", "dreams", "dreams/golden", "usage")
PATHS += ("settings", "settings/recall.limit", "settings/recall.weights")


@pytest.mark.parametrize("path", PATHS)
def test_every_page_fits_on_a_phone(visit, link, path):
    page = follow(visit, link, f"/{path}", width=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_dream_is_previewed_approved_and_undone_with_the_keyboard(visit, link, ines):
    said = (("assistant", "I used a table."), ("user", "Stop using tables, use plain lines instead!"))
    ines.track([Turn(role=role, content=text) for role, text in said], session="feedback")
    ines.flush()
    page = follow(visit, link, "/dreams")
    page.get_by_role("button", name="Preview a dream").press("Enter")
    page.get_by_role("heading", name="Preview of a dream").wait_for()
    page.get_by_role("button", name="Approve").press("Enter")
    page.get_by_text("applied as it was previewed").wait_for()
    assert any("plain lines" in found.entry.content for found in ines.knowledge.search("tables"))
    page.get_by_role("button", name="Undo this dream").press("Enter")
    page.get_by_text("everything is as it was").wait_for()


def test_a_setting_is_changed_in_the_browser(visit, link, ines):
    page = follow(visit, link, "/settings?find=recall.limit")
    page.get_by_role("link", name="recall.limit", exact=True).click()
    page.get_by_label("Value").fill("5")
    page.get_by_role("button", name="Write it into the file").click()
    page.get_by_text("recall.limit is set in langmem-tiers.toml").wait_for()
    page.get_by_role("button", name="Set it no longer").click()
    page.get_by_text("is no longer set there").wait_for()
