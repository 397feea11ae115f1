"""The page Dreams: what each changed, previews that are approved, undoing and redoing, golden questions."""

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.storage.leases import DREAM, Lease
from langmem_tiers.testing import HashEmbedder
from tests.paneling import Browser
from tests.tidying import AT_WORK, ONE_JOB, by_hand, fill, known, tidying


@pytest.fixture
def alice(tmp_path, clock):
    """A space with entries that a model merges, and a correction to learn from."""
    with Memory.open(
        tmp_path / "memory", embedder=HashEmbedder(), background=False, clock=clock, settings=by_hand(), model=tidying()
    ) as memory:
        space = memory.user("alice")
        fill(space)
        for role, text in (
            ("user", "Format my config, please."),
            ("assistant", "Done, I used tabs."),
            ("user", "Stop using tabs, use four spaces instead!"),
        ):
            space.track([Turn(role=role, content=text)], session="tuesday")
        space.flush()
        clock.tick(60)
        yield space


@pytest.fixture
def browser(alice):
    return Browser(alice)


def previewed(browser):
    """The page of a new preview."""
    seen = browser.post("/dreams/preview")
    assert seen.status == 200
    return seen


def test_before_the_first_dream_the_page_says_what_there_will_be(memory):
    seen = Browser(memory.user("bob")).get("/dreams")
    assert "The memory has not dreamt yet." in seen.text
    assert "Preview a dream" in seen.text


def test_a_preview_shows_before_and_after_and_approving_applies_exactly_that(alice, browser):
    seen = previewed(browser)
    assert known(alice) >= set(AT_WORK)
    for text in (
        "Preview of a dream",
        "Nothing was changed",
        *AT_WORK,
        ONE_JOB,
        "Learnt what not to do",
        "four spaces",
    ):
        assert text in seen.text
    approved = browser.post(f"{seen.path}/approve")
    assert (approved.status, approved.path) == (200, seen.path)
    assert "applied as it was previewed" in approved.text
    assert ONE_JOB in known(alice)
    assert alice.dreams()[0].status == "applied"


def test_words_that_differ_are_marked_by_elements_and_not_by_colour_alone(alice, browser):
    alice.knowledge.save("The user sings.")
    html = previewed(browser).html
    assert "<ins>Don&#39;t use tabs" in html
    assert "<del>" in html


def test_what_was_refused_stands_there_with_its_reason(alice, browser):
    alice.golden.add("Who does the user work for?", expects="works at Bosch.")
    seen = previewed(browser)
    assert "What it refused" in seen.text
    assert "recall would not answer" in seen.text.lower()
    assert "Who does the user work for?" in seen.text


def test_a_dream_is_undone_and_redone(alice, browser):
    path = browser.post(f"{previewed(browser).path}/approve").path
    assert "everything is as it was" in browser.post(f"{path}/undo").text
    assert ONE_JOB not in known(alice)
    assert "holds again" in browser.post(f"{path}/redo").text
    assert ONE_JOB in known(alice)


def test_a_conflict_is_shown_on_the_page_with_the_records_in_the_way(alice, browser):
    path = browser.post(f"{previewed(browser).path}/approve").path
    merged = next(found.entry for found in alice.knowledge.search(limit=100) if found.entry.content == ONE_JOB)
    alice.knowledge.update(merged.id, content="The user works at Siemens.", origin="user")
    seen = browser.post(f"{path}/undo")
    assert (seen.status, f"entry {merged.id}" in seen.text) == (409, True)
    assert "Undo the later changes first" in seen.text


def test_a_preview_of_a_memory_that_has_changed_is_not_applied(alice, browser):
    path = previewed(browser).path
    entry = next(found.entry for found in alice.knowledge.search(limit=100) if found.entry.content == AT_WORK[0])
    alice.knowledge.update(entry.id, pinned=True)
    seen = browser.post(f"{path}/approve")
    assert (seen.status, "has changed since" in seen.text) == (409, True)
    assert "Make a new preview" in seen.text
    assert ONE_JOB not in known(alice)


def test_a_replaced_preview_is_not_approved_and_it_is_said_why(alice, browser):
    path = previewed(browser).path
    previewed(browser)
    seen = browser.post(f"{path}/approve")
    assert (seen.status, "A newer preview may have taken its place" in seen.text) == (404, True)


def test_no_preview_is_approved_while_another_dream_is_under_way_but_one_is_made(alice, browser):
    path = previewed(browser).path
    with alice.memory.use(alice.name) as store:
        Lease(store.database, DREAM, "another process", 300, alice.memory.clock).acquire()
    seen = browser.post(f"{path}/approve")
    assert (seen.status, "under way" in seen.text) == (409, True)
    seen = browser.post("/dreams/preview")
    assert (seen.status, "Nothing was changed" in seen.text) == (200, True)
    assert ONE_JOB not in known(alice)


def test_dreams_are_listed_with_counts_and_cost(alice, browser):
    alice.dream()
    text = browser.get("/dreams").text
    for part in ("applied", "2 merged", "learnt what not to do", "by hand", "calls"):
        assert part in text


def test_a_dream_that_there_is_not_is_a_page_that_says_so(browser):
    assert browser.get("/dreams/nope").status == 404
    assert browser.post("/dreams/nope/undo").status == 404


def test_golden_questions_are_kept_and_removed(alice, browser):
    seen = browser.post("/dreams/golden", question="Where does the user live?", expects="Lisbon\r\n\r\n")
    assert "Question 1 is kept" in seen.text
    assert "“Lisbon”" in seen.text
    assert [each.words for each in alice.golden.list()] == [("Lisbon",)]
    assert "is not kept any more" in browser.post("/dreams/golden/remove", number="1").text
    assert alice.golden.list() == ()


@pytest.mark.parametrize(("question", "expects"), [("", "x"), ("ok", "x"), ("Where do I live?", ""), ("x" * 1001, "x")])
def test_a_question_that_cannot_be_kept_is_refused_with_a_way_out(alice, browser, question, expects):
    seen = browser.post("/dreams/golden", question=question, expects=expects)
    assert seen.status == 422
    assert "That did not work" in seen.text
    assert alice.golden.list() == ()


def test_stored_text_in_a_dream_is_not_run(alice, browser):
    alice.golden.add("<script>alert(1)</script> lives in which town?", expects="Lisbon")
    html = previewed(browser).html + browser.get("/dreams/golden").html
    assert "<script>alert" not in html
    assert "&lt;script&gt;" in html
