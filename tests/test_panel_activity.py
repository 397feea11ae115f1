"""The page Activity: what was recalled for each turn and why, what the memory did by itself, the feedback it heard."""

import pytest

from langmem_tiers import Turn
from tests.paneling import Browser


@pytest.fixture
def said(alice):
    """A conversation that was read, and three recalls, two of them in another one."""
    for role, text in (
        ("user", "My sister Clara lives in Lisbon. I'm allergic to walnuts."),
        ("assistant", "Her flat is in Porto, then."),
        ("user", "No, that's wrong! She lives in Lisbon."),
    ):
        alice.track([Turn(role=role, content=text)], session="monday")
    alice.end_session("monday")
    alice.flush()
    alice.recall("Where does my sister Clara live?", session="tuesday", message_id="q1", window=())
    alice.recall("ok", session="tuesday", message_id="q2", window=())
    alice.recall("What am I allergic to?", session="friday", message_id="q3", window=())
    return alice


@pytest.fixture
def browser(said):
    return Browser(said)


def test_an_empty_memory_says_what_will_be_there(alice):
    browser = Browser(alice)
    for path in ("/activity", "/activity/done", "/activity/feedback", "/usage"):
        seen = browser.get(path)
        assert (seen.status, "empty-title" in seen.html) == (200, True), path


def test_turns_are_listed_newest_first_with_tokens_and_milliseconds(browser):
    seen = browser.get("/activity")
    assert seen.text.index("allergic to?") < seen.text.index("sister Clara live?")
    assert " ms" in seen.text
    assert "nothing shown" in seen.text
    assert "/activity/turns/3" in seen.links


def test_turns_of_one_conversation_are_chosen(browser):
    text = browser.get("/activity?session=tuesday").text
    assert "sister Clara live?" in text
    assert "allergic to?" not in text
    assert "in this conversation" in browser.get("/activity?session=nope").text


def test_a_turn_shows_the_block_the_time_of_each_stage_and_why(said, browser):
    seen = browser.get("/activity/turns/1")
    assert said.receipt_block(1) in seen.html.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'")
    for part in ("What the model saw", "Embedding the message", "milliseconds", "shown", "Clara lives in Lisbon"):
        assert part in seen.text
    assert "/palace/drawers/1" in seen.links


def test_why_something_was_not_shown_is_answered(browser):
    seen = browser.get("/activity/turns/1?of=allergic+to+walnuts")
    assert "It was not shown" in seen.text
    assert browser.get("/activity/turns/1?of=zzzz+qqqq").status == 404


def test_a_turn_leads_to_the_ones_around_it_in_its_conversation(browser):
    assert "/activity/turns/2" in browser.get("/activity/turns/1").links
    assert "/activity/turns/3" not in browser.get("/activity/turns/2").links


def test_the_turn_after_one_is_the_next_also_in_a_conversation_of_many(said):
    rows = 510  # more than a page of the newest ones holds
    for number in range(rows):
        said.recall("ok", session="long", message_id=f"m{number}", window=())
    first = said.receipts(session="long", limit=1)[0].number - rows + 1
    assert f"/activity/turns/{first + 1}" in Browser(said).get(f"/activity/turns/{first}").links
    assert [each.number for each in said.receipts(session="long", after=first, limit=2)] == [first + 1, first + 2]


def test_a_receipt_that_there_is_not_is_a_page_that_says_so(browser):
    assert browser.get("/activity/turns/99").status == 404
    assert browser.get("/activity/turns/x").status == 404
    assert browser.get("/activity?before=x").status == 422


def test_older_turns_come_piece_by_piece(said):
    for number in range(35):
        said.recall(f"What about Clara, number {number}?", session="long", message_id=f"m{number}", window=())
    browser = Browser(said)
    first = browser.get("/activity?session=long")
    assert first.html.count("data-live-item") == 30
    more = next(link for link in first.links if "before=" in link)
    piece = browser.piece(more)
    assert piece.html.count("data-live-item") == 5
    assert "<html" not in piece.html
    assert browser.get(more).html.count("data-live-item") == 5


def test_what_the_memory_did_by_itself_stands_there_with_what_it_kept(browser):
    seen = browser.get("/activity/done")
    for part in ("Read a conversation", "kept", "The user is allergic to walnuts.", "by rule"):
        assert part in seen.text
    only = browser.get("/activity/done?kind=memory_archived").text
    assert "Summed up" in only
    assert "allergic to walnuts." not in only.replace("I'm allergic to walnuts.", "")
    assert browser.get("/activity/done?kind=nope").status == 422


def test_feedback_that_was_heard_stands_there_with_the_reply(said, browser):
    seen = browser.get("/activity/feedback")
    assert "She lives in Lisbon" in seen.text
    assert "heard in the words" in seen.text
    said.signals.record("praise", message=2, note="thumbs up <b>")
    praise = browser.get("/activity/feedback?kind=praise")
    assert "thumbs up <b>" in praise.text
    assert "<b>" not in praise.html


def test_hostile_words_of_a_turn_are_shown_and_not_run(said, browser):
    said.recall("<img src=x onerror=alert(1)> Clara\u202e?", session="<script>", message_id="q4", window=())
    for path in ("/activity", "/activity/turns/4", "/activity?session=%3Cscript%3E"):
        html = browser.get(path).html
        assert "<img" not in html.replace('<img src="/static/icon.svg"', "")
        assert "⟨U+202E⟩" in html


def test_what_came_in_between_is_told_by_numbers_and_the_pieces_of_a_space(said):
    before = said.positions()
    said.recall("Where does Clara live?", session="later", window=())
    after = said.positions()
    assert (after.receipt, after.activity) == (before.receipt + 1, before.activity)
    assert [each.number for each in said.receipts(before=3)] == [2, 1]
    assert [each.number for each in said.receipts(session="friday")] == [3]
    assert said.receipt_block(99) is None
