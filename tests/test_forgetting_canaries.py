"""The proof: canaries go through every path, are forgotten by each selector, and then no byte of them is anywhere."""

import sys

import pytest
from source_tree import ROOT

from langmem_tiers import Memory, Turn
from langmem_tiers.testing import FrozenClock, HashEmbedder

sys.path.append(str(ROOT / "benchmarks"))

import canaries

COUNT = 200
KEPT = ("I play the cello in an orchestra.", "My bicycle is green.", "We moved to Porto in May.")
QUESTIONS = ("Which instrument do I play?", "What colour is my bicycle?", "Where did we move?")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A memory with all canaries in it, and a few messages that stay."""
    folder = tmp_path_factory.mktemp("canaries") / "memory"
    clock = FrozenClock(canaries.BEGIN)
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=text, said_at=canaries.BEGIN) for text in KEPT], session="kept")
        made = canaries.stories(COUNT)
        for story in made:
            canaries.plant(memory, "alice", story)
        memory.flush()
        alice.mine()
        for story in made:
            canaries.edit(memory, "alice", story)
        memory.flush()
        memory.dream()
        memory.flush()
        yield memory, made


def _answers(space):
    """Which of the messages that stay are recalled for each question."""
    found = [space.recall(each, keep_receipt=False).items for each in QUESTIONS]
    return [[item.drawer.content for item in items if item.drawer.content in KEPT] for items in found]


def test_no_byte_of_two_hundred_canaries_is_left(planted):
    memory, made = planted
    alice = memory.user("alice")
    before = _answers(alice)
    assert len([word for story in made for word in story.words]) == COUNT
    for story in made:
        wanted = [*canaries.forms(story.words), *canaries.vectors(memory.path, story)]
        assert canaries.found(memory.path, wanted)
        selection = story.selection or {"messages": canaries.ids(alice, story)}
        preview = alice.forget(**selection)
        receipt = alice.forget(**selection, confirm=preview.token)
        assert receipt.bytes == "gone"
        assert canaries.found(memory.path, wanted) == [], story.selector
        shown = str((alice.drawers(), alice.knowledge.search(story.name), alice.archive.search(story.name)))
        assert not [word for word in story.words if word in shown]
    assert _answers(alice) == before
    assert [each.content for each in alice.drawers(session="kept")] == list(KEPT)
    every = canaries.forms([word for story in made for word in story.words])
    memory.flush()
    assert canaries.found(memory.path, every) == []
    assert not [each for each in alice.doctor() if each.level == "problem"]
