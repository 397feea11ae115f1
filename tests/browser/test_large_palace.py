"""A palace of many thousand messages: each page shows some, scrolling and the wing bring the rest, and search answers.

How fast that is with 50,000 messages is measured by `benchmarks/panel_palace.py`.
"""

import pytest

from langmem_tiers import Turn
from tests.browser.conftest import scroll_to, served

ROOMS, LONG = 400, 2_000


@pytest.fixture(scope="module")
def alice(memory):
    alice = memory.user("alice")
    for number in range(ROOMS):
        memory.clock.tick(60)
        said = [Turn(role="user", content=f"Conversation {number}, message {each}.") for each in range(4)]
        alice.track(said, session=f"talk-{number}")
    memory.clock.tick(60)
    said = [Turn(role="user", content=f"Step {number} of the eFoil is done.") for number in range(LONG)]
    alice.track([*said, Turn(role="user", content="My sister Anna lives in Lisbon.")], session="long")
    return alice


@pytest.fixture
def page(alice, visit):
    with served(alice) as link:
        yield visit(link())


def _scroll(page, items, all_of_them):
    """Scroll down until all are there; each time more come."""
    while (before := items.count()) < all_of_them:
        scroll_to(items.nth(before))


def test_a_wing_opens_with_some_conversations_and_scrolling_brings_all(page):
    page.goto(page.url + "palace")
    page.locator(".shelf summary").first.click()
    rooms = page.locator(".shelf .inside li:not(.more)")
    rooms.first.wait_for()
    assert rooms.count() < 100
    _scroll(page, rooms, ROOMS + 1)
    page.get_by_role("link", name="talk-0", exact=True).wait_for()


def test_a_long_conversation_is_scrolled_to_its_end(page):
    page.goto(page.url + "palace/wings/1")
    page.get_by_role("link", name="long", exact=True).click()
    drawers = page.locator(".drawer")
    drawers.first.wait_for()
    assert drawers.count() == 50
    _scroll(page, drawers, LONG + 1)
    page.locator("summary", has_text="My sister Anna").click()
    page.locator(".drawer-open").get_by_text("My sister Anna lives in Lisbon.").wait_for()


def test_one_of_them_is_found_and_opened(page):
    page.goto(page.url + "search?q=Where+does+my+sister+Anna+live%3F")
    page.locator(".candidate", has_text="Anna").get_by_role("link").first.click()
    page.wait_for_url("**/palace/drawers/*")
    page.get_by_text("My sister Anna lives in Lisbon.").first.wait_for()
