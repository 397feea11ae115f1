"""Working memory and episodes in a browser: times that run, values that are changed by hand, episodes that are kept."""

import pytest

from langmem_tiers import Turn
from tests.browser.conftest import PHONE, scroll_to, served


@pytest.fixture(scope="module")
def alice(memory):
    alice = memory.user("alice")
    alice.working.save("session/monday/inbox", "3 unread", ttl_minutes=60, tags=["unread"])
    alice.track([Turn(role="user", content=f"Kiln firing number {number}.") for number in range(90)], session="kiln")
    alice.archive.write("kiln", summary="The kiln was fired ninety times.")
    return alice


@pytest.fixture
def panel(alice):
    with served(alice) as link:
        yield link


def test_the_time_left_runs_and_what_is_over_is_marked(alice, panel, visit):
    alice.working.save("session/monday/soon", "quickly", ttl_minutes=0.05)
    page = visit(panel())
    page.goto(page.url + "working")
    row = page.locator("li", has_text="soon")
    row.get_by_text("expired").wait_for(timeout=60_000)
    assert row.get_attribute("data-expired") is not None
    assert page.locator("li", has_text="inbox").get_by_text("59m").is_visible()


@pytest.mark.parametrize("javascript", [True, False])
def test_a_value_is_left_changed_and_deleted_on_a_phone(alice, panel, visit, javascript):
    page = visit(panel(), width=PHONE, javascript=javascript)
    page.goto(page.url + "working")
    page.get_by_text("Leave something").click()
    page.get_by_role("textbox", name="Key").fill("note")
    page.get_by_role("textbox", name="Value").fill("Call Ilse")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved for 5m 0s.").wait_for()
    page.get_by_text("Change it").click()
    page.get_by_role("textbox", name="Value").fill("Call Ilse first")
    page.get_by_role("button", name="Save").click()
    page.locator("pre", has_text="Call Ilse first").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_text("Delete it now").click()
    page.get_by_role("button", name="Delete it").click()
    page.get_by_text("is deleted.").wait_for()


def test_an_episode_is_read_to_its_last_message_and_kept(panel, visit):
    page = visit(panel())
    page.get_by_role("link", name="Episodes", exact=True).click()
    page.get_by_role("link", name="The kiln was fired ninety times.").click()
    for shown in (41, 81):
        scroll_to(page.locator(".message").nth(shown))
    page.get_by_role("button", name="Keep it for ever").click()
    page.get_by_text("It is kept for ever now.").wait_for()
