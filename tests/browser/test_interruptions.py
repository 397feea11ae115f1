"""What is open in the browser while something else happens: a second tab, a deletion, a restart, a lost cookie."""

import pytest

from langmem_tiers import Turn
from tests.browser.conftest import served


@pytest.fixture
def alice(memory):
    """A user with one message, one memory, a relation, an episode and a value; each test has its own user."""
    alice = memory.user(f"alice-{len(memory.spaces())}")
    alice.track([Turn(role="user", content="My sister Anna lives in Lisbon.")], session="monday")
    alice.knowledge.save("The user prefers tea.", origin="user", evidence=[1])
    alice.graph.add_relation("Anna", "lives in", "Lisbon", subject_type="person", object_type="place")
    alice.archive.write("monday", summary="About Anna.")
    alice.working.save("session/monday/inbox", "3 unread", ttl_minutes=60)
    alice.identity.write("Lives in Porto.")
    return alice


def _expecting(page, *statuses):
    """Leave out what the browser logs about answers that are as they should be."""
    known = ("htmx:", "Response Status Error", *map(str, statuses))
    page.wrong[:] = [said for said in page.wrong if not any(each in said for each in known)]


def _open(page, path):
    page.goto("/".join(page.url.split("/")[:3]) + path)
    return page


def test_of_two_tabs_with_the_identity_the_second_sees_the_conflict_and_keeps_its_text(alice, visit):
    with served(alice) as link:
        first, second = (_open(visit(link()), "/identity") for _ in range(2))
        first.get_by_label("The text").fill("Lives in Lisbon.")
        second.get_by_label("The text").fill("Lives in Ghent.")
        first.get_by_role("button", name="Save").click()
        first.get_by_text("Conversations that begin from now on have it.").wait_for()
        second.get_by_role("button", name="Save").click()
        second.get_by_text("Lives in Lisbon.").first.wait_for()
        assert second.get_by_label("The text").first.input_value() == "Lives in Ghent."
        assert alice.identity.read().text == "Lives in Lisbon."
        _expecting(second, 409)


def test_of_two_tabs_with_a_value_the_second_sees_the_conflict_and_keeps_its_text(alice, visit):
    with served(alice) as link:
        first, second = (_open(visit(link()), "/working/entry?key=session/monday/inbox") for _ in range(2))
        for page, text in ((first, "2 unread"), (second, "1 unread")):
            page.get_by_text("Change it").click()
            page.get_by_role("textbox", name="Value").fill(text)
        alice.memory.clock.tick(1)
        first.get_by_role("button", name="Save").click()
        first.locator("pre", has_text="2 unread").wait_for()
        second.get_by_role("button", name="Save").click()
        second.get_by_text("has been saved by somebody else since you opened it").wait_for()
        assert second.get_by_role("textbox", name="Value").input_value() == "1 unread"
        assert alice.working.get("session/monday/inbox").value == "2 unread"
        _expecting(second, 409)


def test_what_is_forgotten_while_its_page_is_open_says_so(alice, visit):
    entry, entity = alice.knowledge.page().entries[0], alice.graph.entity("Anna")
    relation, episode = alice.graph.timeline("Anna").relations[0], alice.archive.recent(1)[0]
    with served(alice) as link:
        pages = {
            path: _open(visit(link()), path)
            for path in (
                "/memories",
                "/palace/rooms/1",
                f"/graph/entities/{entity.id}",
                f"/graph/relations/{relation.id}",
                f"/episodes/{episode.id}",
            )
        }
        alice.forget(session="monday", confirm=True)
        alice.graph.delete_entity(entity.id)
        memories, room, anna, lives, about = pages.values()
        memories.get_by_role("link", name="Edit").click()
        memories.get_by_text(f"There is no memory {entry.id} here, or no longer.").wait_for()
        room.locator("summary").first.click()
        room.get_by_text("or no longer").wait_for()
        for page in (anna, lives, about):
            page.reload()
            page.get_by_role("alert").get_by_text("There is no").wait_for()
        for page in pages.values():
            _expecting(page, 404, 422)


@pytest.mark.parametrize("javascript", [True, False])
def test_a_memory_that_goes_while_it_is_edited_leaves_what_was_typed_in_the_form(alice, visit, javascript):
    entry = alice.knowledge.page().entries[0]
    with served(alice) as link:
        page = _open(visit(link(), javascript=javascript), "/memories")
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("What is known").fill("The user prefers green tea.")
        alice.forget(entries=[entry.id], confirm=True)
        page.get_by_role("button", name="Save").click()
        page.get_by_text(f"There is no memory {entry.id} here, or no longer.").wait_for()
        assert page.get_by_label("What is known").input_value() == "The user prefers green tea."
        _expecting(page, 404)


def test_a_panel_that_is_gone_says_so_and_after_a_restart_nothing_typed_is_lost(alice, visit):
    with served(alice) as link:
        page = _open(visit(link()), "/memories")
        port = int(page.url.split(":")[2].split("/")[0])
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("What is known").fill("The user prefers green tea.")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The panel does not answer.").first.wait_for()
    with served(alice, port=port) as link:
        page.get_by_role("button", name="Save").click()
        page.get_by_text("open the new link").wait_for()
        page.context.new_page().goto(link())
        page.get_by_role("button", name="Save").click()
        page.get_by_text("do it again, it works now").wait_for()
        assert page.get_by_label("What is known").input_value() == "The user prefers green tea."
        assert alice.knowledge.page().entries[0].content == "The user prefers tea."
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved.").wait_for()
    assert alice.knowledge.page().entries[0].content == "The user prefers green tea."
    _expecting(page, 401, 403, "ERR_", "sendError")


@pytest.mark.parametrize("javascript", [True, False])
def test_a_form_from_before_a_restart_is_sent_again_by_a_button(alice, visit, javascript):
    typed = 'Lives in Ghent.\n\n- Likes "tea" & <b>cake</b>'
    with served(alice) as link:
        page = _open(visit(link(), javascript=javascript), "/identity")
        port = int(page.url.split(":")[2].split("/")[0])
    with served(alice, port=port) as link:
        page.get_by_label("The text").fill(typed)
        page.get_by_role("button", name="Save").click()
        page.get_by_role("heading", name="This browser is not let in").wait_for()
        page.get_by_text("What you sent is here still").wait_for()
        page.context.new_page().goto(link())
        page.get_by_role("button", name="Send it again").click()
        page.get_by_role("heading", name="Not done yet").wait_for()
        page.get_by_role("button", name="Send it again").click()
        page.get_by_role("heading", name="Identity").wait_for()
    assert alice.identity.read().text == typed
    _expecting(page, 401, 403, "ERR_")


def test_a_cookie_that_is_lost_or_wrong_leads_to_the_page_that_says_how_to_come_in(alice, visit):
    with served(alice) as link:
        page = visit(link())
        origin = page.url
        page.context.clear_cookies()
        page.goto(origin + "memories")
        page.get_by_role("heading", name="This browser is not let in").wait_for()
        page.context.add_cookies([{"name": "langmem-tiers-panel-1", "value": "x", "url": origin}])
        page.goto(origin + "enter?token=wrong")
        page.get_by_text("This link is wrong, or was used already.").wait_for()
        assert "Porto" not in page.content()
        page.goto(link())
        page.get_by_text("Porto").first.wait_for()
        _expecting(page, 401)
