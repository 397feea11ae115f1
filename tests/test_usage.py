"""What models took on the way to a reply is booked, by nobody who waits for it, and takes nothing of other budgets."""

import json

import pytest
from langchain_core.messages import AIMessage

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.settings import BudgetSettings, ModelSettings
from langmem_tiers.storage.schema import usages
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel

ROBOT = "Which new battery does the robot number three have?"
SAID = [Turn(role="user", content=f"The robot number {n} has a new battery.") for n in range(4)]


@pytest.fixture
def opened(tmp_path, clock):
    """Opens a space without a worker, with options of `Memory.open`; all are closed in the end."""
    memories = []

    def open_it(**options):
        given = {"embedder": None, "background": False, "clock": clock} | options
        memories.append(Memory.open(tmp_path / "m", **given))
        return memories[-1].user("alice")

    yield open_it
    for memory in memories:
        memory.close()


def booked(space) -> dict[str, tuple[int, int]]:
    """Calls and input tokens by source, as the book has them."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        rows = connection.execute(usages.select()).all()
    return {row.source: (row.calls, row.input_tokens) for row in rows}


def used(space) -> dict[str, tuple[int, int, int]]:
    return {line.name: (line.calls, line.failures, line.input_tokens) for line in space.usage()}


def test_what_is_embedded_in_the_background_is_booked_and_what_has_its_vector_is_not_again(opened):
    embedder = HashEmbedder()
    alice = opened(embedder=embedder)
    alice.track(SAID, session="s")
    alice.flush()
    calls, failures, tokens = used(alice)["memory_embed"]
    assert (calls >= 1, failures, tokens >= embedder.documents_embedded * 5) == (True, 0, True)
    alice.track([Turn(role="user", content=SAID[0].content)], session="t")
    alice.flush()
    assert used(alice)["memory_embed"] == (calls, failures, tokens)


def test_a_query_is_counted_and_booked_only_when_nobody_waits(opened):
    alice = opened(embedder=HashEmbedder())
    alice.recall(ROBOT, session="t")
    alice.knowledge.search(ROBOT)
    assert booked(alice) == {}
    alice.flush()
    assert booked(alice) == {"memory_embed": (2, 26)}
    alice.recall("Where does the robot sleep?", keep_receipt=False)
    assert used(alice)["memory_embed"][0] == 3


def test_what_was_counted_is_booked_when_the_memory_is_closed(opened):
    alice = opened(embedder=HashEmbedder())
    alice.recall(ROBOT, session="t")
    alice.memory.close()
    assert booked(opened()) == {"memory_embed": (1, 13)}


def test_an_embedder_that_fails_is_a_failure_and_took_nothing(opened):
    embedder = HashEmbedder()
    alice = opened(embedder=embedder)
    embedder.outage = RuntimeError("away")
    alice.recall(ROBOT, session="t")
    assert used(alice) == {"memory_embed": (1, 1, 0)}


def test_a_reranker_is_booked_by_session_with_the_count_of_its_provider(opened):
    counted = AIMessage("1", usage_metadata={"input_tokens": 70, "output_tokens": 2, "total_tokens": 72})
    alice = opened(reranker=ScriptedChatModel(responses=[counted]))
    alice.track(SAID, session="s")
    receipt = alice.recall(ROBOT, session="t").receipt
    assert booked(alice) == {}
    assert used(alice) == {"memory_rerank": (1, 0, 70)}
    assert receipt.usage["memory_rerank"]["input_tokens"] == 70
    assert [(line.name, line.output_tokens, line.cost) for line in alice.usage(by="session")] == [("t", 2, 0.0)]


def test_a_reranker_that_tells_no_count_is_estimated_and_one_that_fails_is_a_failure(opened):
    alice = opened(reranker=ScriptedChatModel(responses=["1", RuntimeError("away")]))
    alice.track(SAID, session="s")
    alice.recall(ROBOT, session="t")
    (_, _, tokens) = used(alice)["memory_rerank"]
    assert tokens > 40
    alice.recall(ROBOT, session="u")
    assert used(alice)["memory_rerank"][:2] == (2, 1)


def test_what_replies_take_leaves_the_budget_of_the_background_whole(opened):
    budget = ModelSettings(budget=BudgetSettings(day_calls=2, session_calls=2))
    model = ScriptedChatModel(responses=[json.dumps({"memories": [{"content": "The user likes tea."}]})])
    alice = opened(
        embedder=HashEmbedder(),
        reranker=ScriptedChatModel(responses=["1"]),
        model=model,
        settings=Settings(model=budget),
    )
    alice.track(SAID, session="s")
    for session in "tuvw":
        alice.recall(ROBOT, session=session)
    assert {"memory_embed", "memory_rerank"} <= used(alice).keys()  # and so they are booked
    alice.knowledge.save("likes tea")
    alice.flush()
    assert used(alice)["memory_extract"][0] == 1
    assert [found.entry.content for found in alice.knowledge.search("tea")] == ["The user likes tea."]
