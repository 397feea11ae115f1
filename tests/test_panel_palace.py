"""The palace page: wings, rooms, closets and drawers, and the verbatim text of a message with what came of it."""

import pytest

from langmem_tiers import Turn
from tests.paneling import Browser


@pytest.fixture
def told(alice):
    turns = [
        Turn(role="user", content="My sister Anna lives in Lisbon."),
        Turn(role="assistant", content="How nice!"),
        Turn(role="user", content="<script>alert(1)</script>\u202eevil\nSecond line", speaker="<b>Al</b>"),
    ]
    alice.track(turns, session="monday <i>", project="Holidays")
    return alice


@pytest.fixture
def browser(told):
    return Browser(told)


def test_wings_lead_to_rooms_these_to_drawers_and_these_to_the_verbatim_text(browser, told):
    seen = browser.get("/palace")
    assert "Holidays 1 conversation · 3 messages" in seen.text
    holidays = next(wing for wing in told.browse.wings() if wing.name == "Holidays")
    for get in (browser.get, browser.piece):
        rooms = get(f"/palace/wings/{holidays.number}")
        assert "monday <i>" in rooms.text
        room = next(link for link in rooms.links if link.startswith("/palace/rooms/"))
        drawers = get(room)
        assert "§W-001/R-01/D-001 @p anna" in drawers.text
        opened = get(next(link for link in drawers.links if link.startswith("/palace/drawers/")))
        for part in (
            "My sister Anna lives in Lisbon.",
            "User",
            "2 Mar 2026, 09:00",
            "§W-001/R-01/D-001",
            "Recalled never",
        ):
            assert part in opened.text


def test_a_drawer_shows_what_came_of_it(browser, told):
    told.end_session("monday <i>")
    told.mine()
    told.flush()
    drawer = told.drawer("§W-001/R-01/D-001")
    entry = told.knowledge.save("The user has a sister.", evidence=[drawer.number]).entry
    seen = browser.get(f"/palace/drawers/{drawer.number}")
    assert f"known {entry.content}" in seen.text
    assert "relation" in seen.text
    assert "episode" in seen.text
    assert "After: How nice!" in seen.text


def test_a_long_room_is_loaded_in_pieces(browser, told):
    told.track([Turn(role="user", content=f"Step {number} is done.") for number in range(1, 121)], session="long")
    room = next(each for each in told.browse.rooms() if each.session == "long")
    seen, path = [], f"/palace/rooms/{room.number}"
    while path:
        page = browser.piece(path)
        seen += [each for each in range(1, 121) if f"Step {each} is done." in page.text]
        path = next((link for link in page.links if "after=" in link), None)
    assert seen == list(range(1, 121))
    assert "Step 60 is done." not in browser.get(f"/palace/rooms/{room.number}").text


def test_stored_text_is_shown_and_not_run(browser, told):
    drawer = told.drawer("§W-001/R-01/D-003")
    for path in (f"/palace/drawers/{drawer.number}", f"/palace/rooms/{told.browse.room_of(drawer.number).number}"):
        seen = browser.get(path)
        assert "<script>alert(1)</script>⟨U+202E⟩evil" in seen.text
        assert "<b>Al</b>" in seen.text
        assert "<script>alert" not in seen.html
        assert "\u202e" not in seen.html


@pytest.mark.parametrize("pointer", ["§W-001/R-01/D-003", "w-1/r-1/d-3", "3"])
def test_a_pointer_leads_to_its_drawer(browser, told, pointer):
    assert "Second line" in browser.get(f"/palace?pointer={pointer}").text


def test_a_pointer_to_a_room_leads_to_the_room(browser):
    assert "monday <i>" in browser.get("/palace?pointer=W-001/R-01").text


def test_a_pointer_to_a_room_leads_there_also_without_its_first_message(browser, told):
    told.forget(messages=[1], confirm=True)
    assert "monday <i>" in browser.get("/palace?pointer=W-001/R-01").text
    assert browser.get("/palace?pointer=W-001/R-01@users/bob").status == 422


def test_a_list_behind_what_was_forgotten_meanwhile_is_not_empty_but_says_so(browser, told):
    for session in ("shed", "kiln"):
        told.track([Turn(role="user", content="It broke.")], session=session)
    kiln, holidays = told.browse.rooms()[0], told.browse.room_at("W-001/R-01")
    told.forget(messages=[1], confirm=True)
    told.forget(session="kiln", confirm=True)
    for path in (f"/palace/rooms/{holidays.number}?after=1", f"/palace/wings/{kiln.wing}?after={kiln.number}"):
        seen = browser.piece(path)
        assert (seen.status, "Load the list again." in seen.text) == (404, True), path


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/palace/wings/99", 404),
        ("/palace/rooms/99", 404),
        ("/palace/drawers/999", 404),
        ("/palace/drawers/" + "9" * 40, 404),
        ("/palace/rooms/" + "9" * 40, 422),
        ("/palace/rooms/1?after=x", 422),
        ("/palace?pointer=nonsense", 422),
        ("/palace?pointer=§W-009/R-09/D-009", 422),
        ("/palace?pointer=§W-001/R-01/D-001@users/bob", 422),
        ("/palace/drawers/x", 404),
    ],
)
def test_what_is_not_there_is_said_in_the_page(browser, path, status):
    seen = browser.get(path)
    assert seen.status == status
    assert "That did not work" in seen.text
    assert browser.piece(path).status == status


def test_the_drawers_of_another_user_lead_nowhere(browser, memory):
    memory.user("bob").track([Turn(role="user", content="Bob's secret.")] * 1, session="bobs")
    for path in ("/palace", "/palace?pointer=bobs", "/palace/rooms/9", "/palace/drawers/900"):
        assert "Bob" not in browser.get(path).text


def test_an_empty_palace_says_what_to_do(memory):
    assert "langmem-tiers import FILE" in Browser(memory.user("new")).get("/palace").text
