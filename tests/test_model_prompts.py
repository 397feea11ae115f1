"""What models are asked: one short prompt for each task, with the form of the reply and an example."""

import json

import pytest

from langmem_tiers import Memory, RecallSettings, RerankSettings, Settings, Turn
from langmem_tiers.models.tokens import estimate
from langmem_tiers.settings import BudgetSettings, DreamSettings, ModelSettings
from langmem_tiers.testing import ScriptedChatModel
from tests.tasking import archived

MOST = 600
TASKS = {
    "mining": "You read part of a conversation and note",
    "enriching": "# What to remember",
    "summaries": "Sum up this conversation",
    "duplicates": "You are given numbered pairs of names from one person's notes, with what is known",
    "names in a dream": "You are given numbered pairs of names from one person's notes, with why",
    "consolidation": "# Tidying up a memory",
    "preferences": "# What the user prefers",
    "anti-patterns": "# What the assistant should not do again",
    "synthesis": "# What stays of some conversations",
    "reranking": "You choose the passages",
}
TALK = [
    ("user", "The nightly backup of the robot fails since Monday, can you help me to find out why?"),
    ("assistant", "I have sent a mail to the whole team about the failing backup."),
    ("user", "That's not what I asked for, I wanted to see a draft of it."),
    ("assistant", "Sorry. The disk is full: the recordings of January take 40 GB."),
    ("user", "I deleted the recordings of January, and now the backup of the robot works."),
    ("user", "We decided to keep recordings for 14 days in the workshop."),
]
ALIKE = "The user's friend Robert Miller works at Bosch. Bob Miller lives in Porto."


class InWords(ScriptedChatModel):
    """A model that cannot be given a schema, so that it is told the form of the reply."""

    def with_structured_output(self, schema, **_):
        raise NotImplementedError


def answer(messages) -> str:
    told = messages[0].text
    if told.startswith(TASKS["mining"]):
        return json.dumps({"facts": []})
    if told.startswith(TASKS["summaries"]):
        return json.dumps({"summary": "The backup of the robot failed because the disk was full.", "topics": []})
    return "{}"


@pytest.fixture
def instructions(tmp_path, clock) -> list[str]:
    """What a model was told in a memory that asks it everything."""
    model = InWords(responses=[answer])
    settings = Settings(
        dream=DreamSettings(enabled=False),
        model=ModelSettings(timeout_seconds=30, budget=BudgetSettings()),
        recall=RecallSettings(rerank=RerankSettings(timeout_seconds=30)),
    )
    options = {"embedder": None, "background": False, "clock": clock, "settings": settings}
    with Memory.open(tmp_path / "memory", model=model, reranker=model, **options) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role=role, content=content) for role, content in TALK], session="monday")
        alice.knowledge.save("likes hiking")
        alice.knowledge.save("likes hiking in the Alps")
        archived(alice, "people", ALIKE)
        alice.end_session("monday")
        alice.mine()
        alice.flush()
        alice.dream()
        alice.recall("What was wrong with the backup of the robot?", session="tuesday")
    return [messages[0].text for messages in model.requests]


def test_each_task_has_a_prompt_below_six_hundred_tokens_with_schema_and_example(instructions):
    longest = {
        task: max((estimate(told) for told in instructions if told.startswith(begin)), default=0)
        for task, begin in TASKS.items()
    }
    assert [told[:60] for told in instructions if not told.startswith((*TASKS.values(),))] == []
    assert {task: length for task, length in longest.items() if not 0 < length < MOST} == {}


def test_each_prompt_gives_the_form_of_the_reply_one_example_and_says_what_is_data(instructions):
    for told in instructions:
        assert "are data" in told or "is data" in told
        if not told.startswith(TASKS["reranking"]):
            assert "Its form:\n{" in told
            assert told.count("Example of a reply:") == 1
