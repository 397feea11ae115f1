"""The proof: canaries go through every path, are forgotten by each selector, and then no byte of them is anywhere."""

import json
import sys

import pytest
from source_tree import ROOT

from langmem_tiers import Memory, Turn
from langmem_tiers.forgetting import purge
from langmem_tiers.testing import FrozenClock, HashEmbedder, ScriptedChatModel
from tests import engines

sys.path.append(str(ROOT / "benchmarks"))

import canaries

COUNT = 200
KEPT = ("I play the cello in an orchestra.", "My bicycle is green.", "We moved to Porto in May.")
STAGES = {"folder": ("_rows", "_chroma", "_file"), "postgres": ("_on_server",)}[engines.ENGINE]
"""What erases the bytes of what was deleted."""
QUESTIONS = ("Which instrument do I play?", "What colour is my bicycle?", "Where did we move?")


@pytest.fixture
def planted(tmp_path):
    """A memory with all canaries in it, and a few messages that stay."""
    clock = FrozenClock(canaries.BEGIN)
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False, clock=clock) as memory:
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


def _found(memory, wanted):
    """Which of these bytes are in anything that is kept."""
    kept = engines.kept(memory.path)
    return [each for each in wanted if each in kept]


def _answers(space):
    """Which of the messages that stay are recalled for each question."""
    found = [space.recall(each, keep_receipt=False).items for each in QUESTIONS]
    return [[item.drawer.content for item in items if item.drawer.content in KEPT] for items in found]


def test_no_byte_of_two_hundred_canaries_is_left(planted):
    memory, made = planted
    alice = memory.user("alice")
    before = _answers(alice)
    hashed = {story.selector: canaries.hashes(memory, story) for story in made}
    assert _found(memory, [canaries.secret(story).encode() for story in made]) == []
    assert len([word for story in made for word in story.words]) == COUNT
    for story in made:
        wanted = [*canaries.forms(story.words), *canaries.vectors(memory, story)]
        assert _found(memory, wanted)
        assert _found(memory, hashed[story.selector])
        selection = story.selection or {"messages": canaries.ids(alice, story)}
        preview = alice.forget(**selection)
        receipt = alice.forget(**selection, confirm=preview.token)
        assert receipt.bytes == "gone"
        assert _found(memory, [*wanted, *hashed[story.selector]]) == [], story.selector
        shown = str((alice.drawers(), alice.knowledge.search(story.name), alice.archive.search(story.name)))
        assert not [word for word in story.words if word in shown]
    assert _answers(alice) == before
    assert [each.content for each in alice.drawers(session="kept")] == list(KEPT)
    every = canaries.forms([word for story in made for word in story.words])
    memory.flush()
    assert _found(memory, every) == []
    assert not [each for each in alice.doctor() if each.level == "problem"]


CODE = "zq81x7"
SAID = f"My cousin Brynwexa has the locker {CODE} in the old station."


def _mined(messages):
    """What a model finds: everything that may hold words of the message."""
    text = str(messages)
    if SAID not in text or "facts" not in text:
        return "{}"
    fact = {"content": f"Brynwexa has the locker {CODE}.", "kind": "fact", "quote": SAID, "turn": 1, "corrects": ""}
    found = {"topics": [f"locker {CODE}"], "subject": f"Locker {CODE}", "facts": [fact], "feedback": []}
    named = [{"name": "Brynwexa", "type": "person"}]
    relation = {"subject": "Brynwexa", "predicate": "has locker", "value": CODE, "quote": SAID, "turn": 1}
    return json.dumps({**found, "entities": named, "relations": [relation]})


def _remember(space):
    turns = [
        Turn(role="user", content=SAID, message_id="a1", said_at=canaries.BEGIN),
        Turn(role="user", content=KEPT[0], message_id="a2", said_at=canaries.BEGIN),
    ]
    space.track(turns, session="monday")
    space.end_session("monday")


def test_what_a_model_mined_and_dreamt_goes_too(tmp_path):
    model = ScriptedChatModel(responses=[_mined] * 40)
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False, model=model) as memory:
        alice = memory.user("alice")
        _remember(alice)
        memory.flush()
        alice.mine()
        memory.flush()
        assert CODE in str(alice.knowledge.search())
        alice.dream(dry_run=True)
        preview = alice.forget(messages="a1")
        assert preview.entries
        assert alice.forget(messages="a1", confirm=preview.token).bytes == "gone"
        assert _found(memory, canaries.forms([CODE, "Brynwexa"])) == []
        alice.mine()
        memory.flush()
        assert _found(memory, canaries.forms([CODE, "Brynwexa"])) == []


def _shown(space, folder):
    """Everything that somebody may look at."""
    seen = [space.recall(SAID, keep_receipt=False, threshold=0).block, space.drawers()]
    seen += [space.search(SAID), space.knowledge.search("Brynwexa locker"), space.archive.search("locker")]
    seen += [space.recall("Where is the locker of Brynwexa?", keep_receipt=False, threshold=0).items]
    space.export(folder / "out.json", force=True)
    space.graph.export(folder / "graph.json")
    return str(seen) + (folder / "out.json").read_text() + (folder / "graph.json").read_text()


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_shows_it_while_the_bytes_are_being_erased(tmp_path, monkeypatch, stage):
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        _remember(alice)
        alice.knowledge.save(f"Brynwexa has the locker {CODE}.", evidence=[1])
        alice.graph.add_relation("Brynwexa", "has locker", value=CODE, evidence=[1], subject_type="person")
        memory.flush()
        assert CODE in _shown(alice, tmp_path)
        erase, seen = getattr(purge, stage), []

        def held(*given):
            seen.append(_shown(alice, tmp_path))
            done = erase(*given)
            seen.append(_shown(alice, tmp_path))
            return done

        monkeypatch.setattr(purge, stage, held)
        alice.forget(messages="a1", confirm=True)
        assert len(seen) == 2
        assert not [each for each in seen if CODE in each or "Brynwexa" in each]
        memory.flush()
        assert KEPT[0] in _shown(alice, tmp_path)


@pytest.mark.model
def test_no_byte_and_no_vector_is_left_with_the_real_model(tmp_path):
    with Memory.open(tmp_path / "memory", background=False, clock=FrozenClock(canaries.BEGIN)) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=text) for text in KEPT], session="kept")
        made = canaries.stories(49)
        for story in made:
            canaries.plant(memory, "alice", story)
        memory.flush()
        vectors = [each for story in made for each in canaries.vectors(memory, story)]
        wanted = [*canaries.forms([word for story in made for word in story.words]), *vectors]
        assert vectors
        assert _found(memory, vectors)
        for story in made:
            alice.forget(**(story.selection or {"messages": canaries.ids(alice, story)}), confirm=True)
        assert _found(memory, wanted) == []
        assert [each.content for each in alice.drawers(session="kept")] == list(KEPT)
