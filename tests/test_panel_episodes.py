"""Episodes in the panel: found, read with the messages they sum up, kept and deleted."""

import pytest

from langmem_tiers import Turn
from tests.paneling import Browser

DAY = 86_400


@pytest.fixture
def browser(alice):
    alice.track(
        [Turn(role="user", content="The kiln broke."), Turn(role="assistant", content="Oh no.")], session="kiln"
    )
    alice.archive.write("kiln", summary="The kiln of the pottery broke, and a technician comes on Friday.")
    alice.tasks.start("Repair the kiln", id="repair")
    alice.track([Turn(role="user", content="The coil was worn.")], session="shed", task="repair", project="pottery")
    alice.tasks.complete("repair", summary="A new coil was put into the kiln.")
    alice.flush()
    return Browser(alice)


def _of(space, **filters):
    return space.archive.recent(5, **filters)[-1]


def test_without_episodes_the_page_says_where_they_come_from(alice):
    assert "No episodes yet." in Browser(alice).get("/episodes").text


def test_the_list_says_what_each_is_about_and_how_long_it_is_kept(browser):
    text = browser.get("/episodes").text
    assert "The kiln of the pottery broke" in text
    assert "expires in 90 days" in text
    assert "Repair the kiln" in text
    assert "kept for ever" in text


def test_what_expires_soon_is_marked(alice, browser, clock):
    clock.tick(85 * DAY)
    assert "expires in 5 days" in browser.get("/episodes").text


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ("q=technician", "technician", "No episode"),
        ("session=kiln", "technician", "Repair the kiln"),
        ("task=repair", "Repair the kiln", "technician"),
        ("session=kiln&project=pottery", "No episode is like that.", "technician"),
        ("session=kiln&task=repair", "No episode is like that.", "technician"),
        ("session=kiln&since=2030", "No episode is like that.", "technician"),
        ("session=kiln&until=2020", "No episode is like that.", "technician"),
        ("session=kiln&since=2026-03-02&until=2026-03-02", "technician", "No episode"),
        ("since=2030", "No episode is like that.", "technician"),
    ],
)
def test_episodes_are_searched_and_narrowed_down(browser, query, there, not_there):
    text = browser.get(f"/episodes?{query}").text
    assert there in text
    assert not_there not in text


def test_an_episode_leads_to_the_messages_that_it_sums_up(alice, browser):
    kiln, repair = _of(alice), _of(alice, task="repair")
    seen = browser.get(f"/episodes/{kiln.id}")
    assert "The kiln broke." in seen.text
    assert "The coil was worn." not in seen.text
    assert "/palace/drawers/1" in seen.links
    assert "The coil was worn." in browser.get(f"/episodes/{repair.id}").text


def test_an_episode_of_a_part_of_a_conversation_has_the_messages_of_that_part(alice):
    for text in ("The clay is grey.", "The glaze is blue."):
        alice.track([Turn(role="user", content=text)], session="studio")
        alice.archive.write("studio")
    first, second = (Browser(alice).get(f"/episodes/{each.id}") for each in alice.archive.of_session("studio"))
    assert "1 message" in first.text
    assert "/palace/drawers/2" not in first.links
    assert "/palace/drawers/2" in second.links


def test_an_episode_is_kept_for_ever_and_deleted_for_good(alice, browser, clock):
    which = _of(alice).id
    assert "kept for ever" in browser.post(f"/episodes/{which}/keep").text
    clock.tick(200 * DAY)
    assert browser.get(f"/episodes/{which}").status == 200
    assert "The messages are still there." in browser.post(f"/episodes/{which}/delete").text
    gone = browser.get(f"/episodes/{which}")
    assert "no longer" in gone.text
    assert gone.status == 422
    assert alice.drawer(1).content == "The kiln broke."


def test_long_lists_come_in_pieces(alice):
    for number in range(30):
        alice.track([Turn(role="user", content=f"Firing {number} of the kiln went well.")], session=f"s{number}")
        alice.archive.write(f"s{number}", summary=f"Firing {number} of the kiln.")
    browser = Browser(alice)
    first = browser.get("/episodes")
    (more,) = [each for each in first.links if "after=25" in (each or "")]
    piece = browser.piece(more)
    assert piece.text.count("of the kiln.") == 5
    assert "Memory" not in piece.text


def test_a_long_conversation_comes_in_pieces(alice):
    alice.track([Turn(role="user", content=f"Word {number}.") for number in range(100)], session="long")
    which = alice.archive.write("long", summary="A hundred words.").id
    browser = Browser(alice)
    assert f"/episodes/{which}?after=40" in browser.get(f"/episodes/{which}").links
    assert "Word 99." in browser.piece(f"/episodes/{which}?after=80").text


def test_what_is_no_date_or_number_is_an_error_in_the_page(browser):
    for path in ("/episodes?since=whenever", "/episodes?after=x", "/episodes/nope"):
        seen = browser.get(path)
        assert seen.status == 422
        assert "That did not work" in seen.text


def test_hostile_summaries_are_shown_and_not_run(alice):
    alice.track([Turn(role="user", content="<script>alert(1)</script>")], session="x")
    which = alice.archive.write("x", summary="<img src=x onerror=alert(2)>").id
    for path in ("/episodes", f"/episodes/{which}"):
        html = Browser(alice).get(path).html
        assert "<img src=x" not in html
        assert "<script>alert" not in html
