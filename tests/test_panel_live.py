"""Live updates: what is new since a page was shown, also if another process wrote it."""

import json

from langmem_tiers import Memory, Turn
from langmem_tiers.testing import HashEmbedder
from tests.paneling import Browser


def numbers(browser):
    return json.loads(browser.get("/live").html)


def test_numbers_grow_with_what_is_stored_recalled_and_dreamt(alice):
    browser = Browser(alice)
    before = numbers(browser)
    alice.track([Turn(role="user", content="I live in Porto.")], session="monday")
    alice.recall("Where do I live?", session="tuesday")
    alice.dream(dry_run=True)
    after = numbers(browser)
    assert [after[name] - before[name] for name in ("receipt", "dream")] == [1, 1]
    assert after["change"] > before["change"]
    assert after["panel"] == before["panel"]


def test_what_another_process_writes_is_seen(alice):
    browser = Browser(alice)
    before = numbers(browser)
    with Memory.open(alice.memory.path, embedder=HashEmbedder(), background=False, clock=alice.memory.clock) as other:
        other.user("alice").knowledge.save("Lives in Porto.")
    assert numbers(browser)["change"] > before["change"]


def test_a_page_knows_how_far_it_has_come_before_it_was_read(alice):
    alice.recall("Where do I live?", session="tuesday")
    browser = Browser(alice)
    html = browser.get("/activity").html
    seen = json.loads(html.partition('data-seen="')[2].partition('"')[0].replace("&#34;", '"'))
    assert seen == {name: value for name, value in numbers(browser).items() if name != "panel"}
    assert 'data-live="receipt"' in html
    assert "<noscript>" in html


def test_another_panel_is_told_apart_and_nobody_is_let_in_by_its_mark(alice):
    first, second = Browser(alice), Browser(alice)
    assert numbers(first)["panel"] != numbers(second)["panel"]
    assert numbers(first)["panel"] not in first.form_token


def test_nobody_follows_without_having_been_let_in(alice):
    browser = Browser(alice)
    browser.client.cookies.clear()
    assert browser.get("/live").status == 401
    assert Browser(alice).get("/live", **{"Sec-Fetch-Site": "cross-site"}).status == 403


def test_a_memory_that_is_off_has_nothing_new(tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "langmem-tiers.toml").write_text("enabled = false\n")
    with Memory.open(folder, embedder=None, background=False) as memory:
        assert set(numbers(Browser(memory.user("alice")))) == {"panel"}
