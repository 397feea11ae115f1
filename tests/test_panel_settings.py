"""The page Settings: values in force and where they come from, changes to the file, and who may change what."""

import pytest

from langmem_tiers import Memory
from langmem_tiers.settings_layers import FILE
from langmem_tiers.testing import HashEmbedder
from tests.paneling import Browser

WRITTEN = """format = 1
# Few are enough.
[recall]
limit = 6
[agents.patrol.recall]
limit = 2
[spaces."users/alice".sessions]
idle_minutes = 30
[spaces."users/bob".sessions]
idle_minutes = 31
"""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "memory"
    made.mkdir()
    (made / FILE).write_text(WRITTEN)
    return made


@pytest.fixture
def alice(folder, clock):
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock) as memory:
        yield memory.user("alice")


@pytest.fixture
def browser(alice):
    return Browser(alice)


def text_of(folder):
    return (folder / FILE).read_text()


def reopened(folder, agent=None):
    with Memory.open(folder, embedder=None, background=False) as memory:
        return memory.user("alice", agent=agent).context.settings


def test_every_setting_stands_there_with_its_value_and_where_that_comes_from(browser, monkeypatch):
    text = browser.get("/settings").text
    for part in ("recall.limit", "langmem-tiers.toml:4", "sessions.idle_minutes", "(space users/alice)", "default"):
        assert part in text
    assert "31" not in browser.get("/settings?find=idle").text


def test_settings_are_found_by_words(browser):
    seen = browser.get("/settings?find=price+input")
    assert "model.budget.input_price" in seen.text
    assert "recall.limit" not in seen.text
    assert "No setting holds these words." in browser.get("/settings?find=zzz").text
    assert "dream.turns" not in browser.get("/settings?changed=1").text


def test_a_setting_says_what_it_can_be(browser):
    text = browser.get("/settings/recall.limit").text
    for part in ("at least 1 and at most 200", "Default", "8", "In force", "6"):
        assert part in text
    assert "mask, keep" in browser.get("/settings/privacy.drawers").text
    assert browser.get("/settings/recall.nope").status == 404


def test_a_change_is_written_for_this_space_and_is_in_force_after_a_restart(folder, browser):
    seen = browser.post("/settings/recall.limit", value="5", scope="space")
    assert "once the memory is opened again" in seen.text
    assert "after a restart" in seen.text
    assert "# Few are enough." in text_of(folder)
    assert reopened(folder).recall.limit == 5
    with Memory.open(folder, embedder=None, background=False) as memory:
        assert memory.user("bob").context.settings.recall.limit == 6
    assert "no longer set there" in browser.post("/settings/recall.limit/unset", scope="space").text
    assert reopened(folder).recall.limit == 6


def test_an_agents_own_settings_are_listed_and_changed_for_this_space(folder, browser):
    assert "agent patrol 1" in browser.get("/settings").text
    assert "of this agent" in browser.get("/settings?agent=patrol").text
    seen = browser.post("/settings/recall.limit", value="3", scope="space-agent", agent="patrol")
    assert (seen.status, reopened(folder, "patrol").recall.limit) == (200, 3)
    assert reopened(folder).recall.limit == 6


@pytest.mark.parametrize(
    ("name", "given", "status"),
    [
        ("recall.limit", {"value": "0", "scope": "space"}, 422),
        ("recall.limit", {"value": "many", "scope": "space"}, 422),
        ("recall.limit", {"value": "", "scope": "space"}, 422),
        ("recall.limit", {"value": "5", "scope": "memory"}, 403),
        ("recall.limit", {"value": "5", "scope": "memory-agent", "agent": "patrol"}, 403),
        ("recall.limit", {"value": "5", "scope": "space", "agent": "patrol"}, 422),
        ("recall.limit", {"value": "5", "scope": "everything"}, 422),
        ("storage.synchronous", {"value": "NORMAL", "scope": "space"}, 422),
        ("dream.episodes", {"value": "3", "scope": "space-agent", "agent": "patrol"}, 422),
        ("privacy.drawers", {"value": "sell", "scope": "space"}, 422),
        ("recall.layers", {"value": '["x"]', "scope": "space"}, 422),
        ("recall.limit/unset", {"scope": "space"}, 422),
        ("recall.limit/unset", {"scope": "memory"}, 403),
    ],
)
def test_what_cannot_be_set_or_not_from_here_is_refused_and_the_file_stays(folder, browser, name, given, status):
    seen = browser.post(f"/settings/{name}", **given)
    assert (seen.status, "That did not work" in seen.text) == (status, True)
    assert text_of(folder) == WRITTEN


def test_what_was_typed_and_refused_stays_in_the_form(browser):
    assert 'value="many"' in browser.post("/settings/recall.limit", value="many", scope="space").html


def test_who_starts_the_panel_with_memory_settings_changes_those_of_everybody(folder, alice):
    browser = Browser(alice, memory_settings=True)
    assert browser.post("/settings/recall.limit", value="4", scope="memory").status == 200
    assert browser.post("/settings/storage.synchronous", value="NORMAL", scope="memory").status == 200
    assert (reopened(folder).recall.limit, reopened(folder).storage.synchronous) == (4, "NORMAL")


def test_what_goes_before_a_change_is_named(alice, monkeypatch):
    monkeypatch.setenv("LANGMEM_TIERS_RECALL__CANDIDATES", "70")
    browser = Browser(alice, memory_settings=True)
    covered = browser.post("/settings/recall.candidates", value="80", scope="memory").text
    assert "not in force here: what LANGMEM_TIERS_RECALL__CANDIDATES says goes before it" in covered
    covered = browser.post("/settings/sessions.idle_minutes", value="20", scope="memory").text
    assert "(space users/alice) says goes before it" in covered


def test_a_file_that_is_broken_meanwhile_is_an_error_on_the_page(folder, browser):
    (folder / FILE).write_text("[recall\nlimit = 1\n")
    seen = browser.get("/settings")
    assert "is no valid TOML" in seen.text
    assert "recall.limit" in seen.text
    refused = browser.post("/settings/recall.limit", value="5", scope="space")
    assert (refused.status, "is no valid TOML" in refused.text) == (422, True)


def test_secrets_in_a_setting_are_not_shown(folder, browser):
    secret = "sk-proj-qwfpgjluyarstdhneiozxcvbkm0123456789QWFPEFGH"
    (folder / FILE).write_text(f'[model]\nname = "openai:{secret}"\n')
    for path in ("/settings?find=model.name", "/settings/model.name"):
        assert secret not in browser.get(path).html


def test_a_panel_of_a_memory_that_is_off_still_shows_how_to_turn_it_on(folder, clock):
    (folder / FILE).write_text("enabled = false\n")
    with Memory.open(folder, embedder=None, background=False, clock=clock) as memory:
        browser = Browser(memory.user("alice"))
        assert browser.get("/settings/enabled").status == 200
        assert browser.post("/settings/enabled", value="true", scope="space").status == 200
    assert reopened(folder).enabled
