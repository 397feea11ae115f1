"""Working memory in the panel: what is there, how long yet, saved, changed and deleted by hand."""

import pytest

from tests.paneling import Browser

INBOX = "/working/entry?key=session%2Fmonday%2Finbox"


@pytest.fixture
def browser(alice):
    alice.working.save("session/monday/inbox", "3 unread: the bank", ttl_minutes=4, category="email", tags=["unread"])
    alice.working.save("patrol/heartbeat/last", "Nothing new.", ttl_minutes=1500)
    return Browser(alice)


def test_an_empty_working_memory_says_what_it_is_for(alice):
    assert "Nothing is kept at the moment." in Browser(alice).get("/working").text


def test_entries_are_listed_by_namespace_with_the_time_they_have_left(browser, clock):
    clock.tick(28)
    text = browser.get("/working").text
    assert "session/monday" in text
    assert "3m 32s" in text
    assert "1d 0h" in text
    clock.tick(300)
    assert "inbox" not in browser.get("/working").text


def test_the_time_left_is_there_for_the_script_in_seconds(browser):
    assert 'data-left="240"' in browser.get("/working").html


def test_a_value_is_shown_as_it_is(browser):
    seen = browser.get(INBOX)
    assert "3 unread: the bank" in seen.text
    assert seen.fields["tags"] == "unread"


def test_a_long_value_is_shown_by_its_outline_and_in_parts(alice, browser):
    alice.working.save("subagent/r7/report", "\n\n".join(f"# Part {n}\n" + "The hall is dry. " * 280 for n in range(3)))
    seen = browser.get("/working/entry?key=subagent/r7/report")
    assert "characters in 3 parts" in seen.text
    assert "To change it, open all of it." in seen.text
    assert "# Part 1" in browser.get("/working/entry?key=subagent/r7/report-2").text
    assert "value" in browser.get("/working/entry?key=subagent/r7/report&all=1").fields


def test_something_is_left_for_an_agent(alice, browser):
    seen = browser.post(
        "/working/save",
        namespace="session/monday",
        key="note",
        value="Call Ilse\r\nfirst",
        minutes="30",
        tags="call, ilse",
    )
    assert "Saved for 30m 0s." in seen.text
    found = alice.working.get("session/monday/note")
    assert (found.value, found.tags) == ("Call Ilse\nfirst", ("call", "ilse"))


def test_an_entry_is_changed_and_deleted(alice, browser):
    saved_at = browser.get(INBOX).fields["saved_at"]
    seen = browser.post("/working/save", key="session/monday/inbox", value="2 unread", saved_at=saved_at, minutes="9")
    assert "Saved for 9m 0s." in seen.text
    assert alice.working.get("session/monday/inbox").value == "2 unread"
    assert "is deleted" in browser.post("/working/delete", key="session/monday/inbox").text
    assert alice.working.get("session/monday/inbox") is None
    assert "was gone already" in browser.post("/working/delete", key="session/monday/inbox").text


def test_what_an_agent_saved_meanwhile_is_not_overwritten(alice, browser, clock):
    saved_at = browser.get(INBOX).fields["saved_at"]
    clock.tick(1)
    alice.working.save("session/monday/inbox", "4 unread")
    seen = browser.post("/working/save", key="session/monday/inbox", value="2 unread", saved_at=saved_at)
    assert seen.status == 409
    assert "saved by somebody else" in seen.text
    assert "4 unread" in seen.text
    assert "2 unread" in seen.html
    assert alice.working.get("session/monday/inbox").value == "4 unread"
    again = browser.post("/working/save", namespace="session/monday", key="inbox", value="mine")
    assert again.status == 409
    clock.tick(3600)
    expired = browser.post("/working/save", key="session/monday/inbox", value="2 unread", saved_at=saved_at)
    assert "has expired" in expired.text
    assert "saved_at" not in expired.fields


def test_a_text_that_is_saved_again_after_that_counts(alice, browser, clock):
    saved_at = browser.get(INBOX).fields["saved_at"]
    clock.tick(1)
    alice.working.save("session/monday/inbox", "4 unread")
    seen = browser.post("/working/save", key="session/monday/inbox", value="2 unread", saved_at=saved_at)
    browser.post("/working/save", key="session/monday/inbox", value="2 unread", saved_at=seen.fields["saved_at"])
    assert alice.working.get("session/monday/inbox").value == "2 unread"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"namespace": "nowhere", "key": "a", "value": "what was typed"}, "whose working memory"),
        ({"namespace": "session/m", "key": "../a", "value": "what was typed"}, "relative part"),
        ({"namespace": "session/m", "key": "the-key", "value": " "}, "nothing to keep"),
        (
            {"namespace": "session/m", "key": "the-key", "value": "what was typed", "minutes": "soon"},
            "no number of minutes",
        ),
        ({"namespace": "session/m", "key": "the-key", "value": "what was typed", "minutes": "nan"}, "ttl_minutes"),
        ({"namespace": "session/m", "key": "the-key", "value": "what was typed", "minutes": "-1"}, "more than 0"),
    ],
)
def test_what_cannot_be_saved_is_an_error_in_the_page(alice, browser, fields, said):
    seen = browser.post("/working/save", **fields)
    assert seen.status == 422
    assert said in seen.text
    assert (seen.fields["namespace"], seen.fields["key"]) == (fields["namespace"], fields["key"])
    assert f"{fields['value']}</textarea>" in seen.html
    assert len(alice.working.list("")) == 2


def test_entries_are_searched_and_narrowed_down(browser):
    assert "inbox" in browser.get("/working?q=bank").text
    tagged = browser.get("/working?tag=unread").text
    assert "inbox" in tagged
    assert "last" not in tagged.partition("Leave something")[0].partition("Search")[2]
    assert "Nothing there is like that." in browser.get("/working?category=nothing").text


def test_hostile_keys_and_values_are_shown_and_not_run(alice):
    alice.working.save("session/<b>x/<img src=x onerror=alert(1)>", "</pre><script>alert(2)</script>", tags=["<i>"])
    browser = Browser(alice)
    for path in ("/working", "/working/entry?key=session%2F%3Cb%3Ex%2F%3Cimg+src%3Dx+onerror%3Dalert(1)%3E"):
        seen = browser.get(path)
        assert seen.status == 200
        assert "<img src=x" not in seen.html
        assert "<script>alert" not in seen.html


def test_what_is_not_there_is_an_error_in_the_page(browser):
    for path in ("/working/entry?key=session/monday/none", "/working/entry", "/working/entry?key=x"):
        assert browser.get(path).status == 422
