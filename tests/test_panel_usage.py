"""The page Usage: tokens and calls by source, day, conversation and model, a chart of them, and the cost."""

import re

import pytest

from langmem_tiers import BudgetSettings, Memory, ModelSettings, Settings
from langmem_tiers.storage.usages import Usage, UsageKey
from langmem_tiers.testing import HashEmbedder
from tests.paneling import Browser


def use(space, *, day="2026-03-02", session="", source="memory_extract", model="gpt", **took):
    """Book that a model was used."""
    key = UsageKey(day=day, session=session, source=source, model=model)
    space.context.tally.add(space.name, key, Usage(**took))


@pytest.fixture
def used(alice):
    use(alice, day="2026-03-01", session="monday", calls=3, input_tokens=3000, output_tokens=200, cost_micros=1500)
    use(alice, source="memory_embed", model="minilm", calls=5, failures=1, input_tokens=700)
    use(alice, session="dream/abc", source="memory_dream", calls=1, input_tokens=900, output_tokens=50)
    use(alice, day="2025-12-01", calls=1, input_tokens=10)
    return alice


def test_figures_stand_by_source_model_conversation_and_day(used):
    text = Browser(used).get("/usage").text
    for part in ("4,850", "Reading conversations", "minilm", "monday", "a dream", "2026-03-01", "3,000", "(1 failed)"):
        assert part in text
    assert "2025-12-01" not in text


def test_a_period_is_chosen(used):
    browser = Browser(used)
    assert "2025-12-01" in browser.get("/usage?days=all").text
    assert browser.get("/usage?days=8").status == 422


def test_the_chart_has_a_bar_for_each_day_with_some_and_a_sentence_for_those_who_cannot_see_it(used):
    html = Browser(used).get("/usage").html
    bars = re.findall(r'<rect class="bar-mark"[^>]* height="([\d.]+)"[^>]*><title>([^<]+)</title>', html)
    assert [title for _, title in bars] == ["2026-03-01: 3,200 tokens", "2026-03-02: 1,650 tokens"]
    assert float(bars[0][0]) > float(bars[1][0])
    assert "the table By day has the numbers" in html


def test_cost_is_shown_where_there_are_prices(used, tmp_path, clock):
    assert "Cost" in Browser(used).get("/usage").text
    budget = BudgetSettings(input_price=1.0)
    settings = Settings(model=ModelSettings(budget=budget))
    given = {"embedder": HashEmbedder(), "background": False, "clock": clock}
    with Memory.open(tmp_path / "priced", settings=settings, **given) as memory:
        space = memory.user("bob")
        use(space, calls=1, input_tokens=10)
        assert "currency of your prices" in Browser(space).get("/usage").text
    with Memory.open(tmp_path / "free", **given) as memory:
        space = memory.user("bob")
        use(space, calls=1, input_tokens=10)
        assert "Set the prices of tokens" in Browser(space).get("/usage").text
