"""The palace in a browser: what is opened is loaded, with the mouse, the keyboard, on a phone and without scripts."""

import pytest

from langmem_tiers import Turn
from tests.browser.conftest import PHONE, scroll_to, served


@pytest.fixture(scope="module")
def alice(memory):
    alice = memory.user("alice")
    said = ["My sister Anna lives in Lisbon.", *(f"Step {number} of the eFoil is done." for number in range(1, 121))]
    alice.track([Turn(role="user", content=text) for text in said], session="monday", project="eFoil")
    alice.track([Turn(role="user", content="<img src=x onerror=alert(1)>")], session="hostile")
    return alice


@pytest.fixture
def panel(alice):
    with served(alice) as link:
        yield link


def test_opening_a_wing_a_room_and_a_drawer_shows_the_whole_message(panel, visit):
    page = visit(panel())
    page.get_by_role("link", name="Palace", exact=True).click()
    page.get_by_text("eFoil", exact=True).click()
    page.get_by_role("link", name="monday").click()
    page.locator("summary", has_text="My sister Anna").click()
    page.locator(".drawer-open").get_by_text("My sister Anna lives in Lisbon.").wait_for()
    assert page.locator(".drawer-open").count() == 1


def test_scrolling_loads_what_follows(panel, visit):
    page = visit(panel())
    page.goto(page.url + "palace/rooms/1")
    assert page.locator(".drawer").count() == 50
    for shown in (51, 101):
        scroll_to(page.locator(".drawer").nth(shown))
    page.get_by_text("Step 120 of the eFoil is done.").wait_for()
    assert page.locator(".drawer").count() == 121


def test_the_keys_move_through_a_list_open_what_is_marked_and_lead_to_pages(panel, visit):
    page = visit(panel())
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.wait_for_url("**/palace")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.locator(".shelf .inside ol").first.wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "pointer"
    page.keyboard.type("w-1/r-1/d-1")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="§W-001/R-01/D-001").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("This list").wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").count() == 0


def test_it_works_without_scripts(panel, visit):
    page = visit(panel(), javascript=False)
    page.get_by_role("link", name="Palace", exact=True).click()
    page.get_by_text("eFoil", exact=True).click()
    page.get_by_role("link", name="Its conversations").first.click()
    page.get_by_role("link").filter(has_text="monday").or_(page.get_by_role("link", name="hostile")).first.click()
    page.locator("summary").first.click()
    page.get_by_role("link", name="The whole message").first.click()
    page.get_by_text("Said by").wait_for()


def test_a_phone_shows_everything_without_scrolling_sideways(panel, visit):
    page = visit(panel(), width=PHONE)
    origin = page.url
    for path in ("", "palace", "palace/rooms/1", "palace/drawers/1"):
        page.goto(origin + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    link = page.locator("nav#nav").get_by_role("link", name="Palace", exact=True)
    assert not link.is_visible()
    page.get_by_role("button", name="Menu").click()
    link.click()
    page.get_by_role("heading", name="Palace").wait_for()


def test_stored_text_does_not_run(panel, visit):
    page = visit(panel())
    page.on("dialog", lambda dialog: page.wrong.append(dialog.message))
    page.goto(page.url + "palace/rooms/2")
    page.locator("summary").first.click()
    page.locator(".drawer-open").get_by_text("<img src=x onerror=alert(1)>").wait_for()


def test_the_colours_can_be_chosen(panel, visit):
    page = visit(panel(), scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Dark").click()
    page.locator("html[data-theme=dark]").wait_for()
    assert page.evaluate(paper) != light
