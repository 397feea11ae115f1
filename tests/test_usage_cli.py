"""`langmem-tiers usage`: what models took, by source and by day."""

import json
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from pydantic import BaseModel

from langmem_tiers import Memory
from langmem_tiers.cli.main import main
from langmem_tiers.models.asker import ModelAsker
from langmem_tiers.models.calls import Prompt
from langmem_tiers.models.usage import UsageBook
from langmem_tiers.settings import BudgetSettings, ModelSettings
from langmem_tiers.testing import FrozenClock, ScriptedChatModel

TODAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Town(BaseModel):
    name: str


@pytest.fixture
def folder(tmp_path):
    """A memory where a model was asked for alice, today and ten days ago, with one failure; and never for bob."""
    path, clock = tmp_path / "memory", FrozenClock(TODAY - timedelta(days=10))
    settings = ModelSettings(budget=BudgetSettings(input_price=1000.0))
    model = ScriptedChatModel(responses=['{"name": "Porto"}', '{"name": "Faro"}', KeyError("choices")])
    with Memory.open(path, embedder=None, background=False) as memory:
        memory.user("bob").stats()
        with memory.use("users/alice") as store:
            asker = ModelAsker(model, settings, UsageBook(store.database), clock)
            asker.ask(Town, Prompt(system="s", user="u"), source="memory_extract\x1b[2J", session="s")
            clock.tick(10 * 86_400)
            for _ in range(2):
                asker.ask(Town, Prompt(system="s", user="u"), source="memory_dream")
    return path


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Run a command line about the memory today: what it prints."""
    monkeypatch.setattr(Memory, "open", partial(Memory.open, clock=FrozenClock(TODAY)))

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(folder), *arguments])
        assert not left.value.code
        return capsys.readouterr().out

    return call


def spaces(printed) -> dict:
    return {each["space"]: each for each in json.loads(printed)["spaces"]}


def test_it_is_a_table_by_source_and_one_by_day(run):
    out = run("usage")
    for part in ("users/alice, since", "memory_dream", "memory_extract\\x1b[2J", f"{TODAY:%Y-%m-%d}", "input tokens"):
        assert part in out
    assert "users/bob" not in out
    assert "\x1b" not in out


def test_as_json_it_has_every_number(run):
    found = spaces(run("usage", "--json"))
    dream, extract = found["users/alice"]["by_source"]
    assert (dream["name"], dream["calls"], dream["failures"]) == ("memory_dream", 2, 1)
    assert (extract["calls"], extract["failures"]) == (1, 0)
    assert extract["cost"] == pytest.approx(extract["input_tokens"] / 1000)
    assert extract["output_tokens"] > 0
    assert [(line["name"], line["calls"]) for line in found["users/alice"]["by_day"]] == [
        (f"{TODAY - timedelta(days=10):%Y-%m-%d}", 1),
        (f"{TODAY:%Y-%m-%d}", 2),
    ]
    assert found["users/bob"] == {"space": "users/bob", "by_source": [], "by_day": []}


def test_it_can_be_of_the_last_days_and_of_one_user(run):
    assert [line["name"] for line in spaces(run("usage", "--days", "10", "--json"))["users/alice"]["by_day"]] == [
        f"{TODAY:%Y-%m-%d}"
    ]
    assert len(spaces(run("usage", "--days", "11", "--json"))["users/alice"]["by_day"]) == 2
    assert [*spaces(run("--user", "bob", "usage", "--json"))] == ["users/bob"]


def test_it_says_when_no_model_was_asked(run):
    assert run("--user", "bob", "usage", "--days", "1") == f"No model was asked since {TODAY:%Y-%m-%d}.\n"
