"""Forgetting after dreams and previews of dreams: no undo, redo or approval brings back what is forgotten."""

import pytest
from dreaming import dreamt
from tidying import by_hand, fill

from langmem_tiers import Memory, Turn
from langmem_tiers.dream.types import MergeEntries
from langmem_tiers.errors import DreamConflict
from langmem_tiers.forgetting import forget
from langmem_tiers.testing import HashEmbedder
from tests import engines

CANARY = "kz77qx41"
HOME = "Quenbyraville"
SAID = (
    f"My badge for the library is {CANARY}.",
    "My badge for the library is blue.",
    "I play the cello every evening.",
)


@pytest.fixture
def alice(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False) as memory:
        space = memory.user("alice")
        turns = [Turn(role="user", content=text, message_id=f"a{n}") for n, text in enumerate(SAID)]
        space.track(turns, session="monday")
        space.knowledge.save(f"The library badge of the user is {CANARY}.", evidence=[1])
        space.knowledge.save(f"The library badge of the user is {CANARY}", evidence=[1])
        space.end_session("monday")
        memory.flush()
        yield space


@pytest.fixture
def moved(tmp_path, clock):
    """A memory that knows two homes, of which a dream retires the first, by rule."""
    about = {"embedder": HashEmbedder(), "background": False, "settings": by_hand(), "clock": clock}
    with Memory.open(tmp_path / "memory", **about) as memory:
        space = memory.user("alice")
        fill(space, (f"The user lives in {HOME}.", "The user lives in Lisbon."))
        yield space


def _left(space, canary=CANARY):
    return canary.encode() in engines.kept(space.memory.path)


@pytest.mark.parametrize("confirmed", ["token", True])
def test_a_message_is_forgotten_after_a_dream_read_it(alice, confirmed):
    alice.dream()
    preview = alice.forget(messages="a0")
    receipt = alice.forget(messages="a0", confirm=preview.token if confirmed == "token" else True)
    assert receipt.bytes == "gone"
    assert not _left(alice)


def test_what_is_written_between_planning_and_deletion_is_seen(alice, monkeypatch):
    alice.dream()
    planned = forget._planned

    def then_more(*given):
        found = planned(*given)
        monkeypatch.setattr(forget, "_planned", planned)
        alice.documents.write("late.md", f"My badge for the library is {CANARY}.\n")
        alice.dream()
        return found

    monkeypatch.setattr(forget, "_planned", then_more)
    assert alice.forget(messages="a0", confirm=True).counts["documents"] == 1
    assert not _left(alice)


def _recorded(space):
    """How many of the rows that dreams changed hold the first home, as they were or as they became."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        rows = connection.exec_driver_sql("SELECT before, after FROM changesets").all()
    return sum(HOME in str(row) for row in rows)


@pytest.mark.parametrize("undone", [False, True])
def test_neither_undoing_nor_redoing_a_dream_brings_it_back(moved, undone):
    dream = moved.dream()
    assert (dream.status, _recorded(moved) > 0) == ("applied", True)
    if undone:
        moved.undo_dream(dream.id)
    moved.forget(messages=1, confirm=True)
    with pytest.raises(DreamConflict, match="deleted for good"):
        (moved.redo_dream if undone else moved.undo_dream)(dream.id)
    assert HOME not in str((moved.knowledge.search(status="all"), moved.archive.recent(), moved.dreams()))
    assert not _left(moved, HOME)


def test_approving_a_previewed_dream_does_not_bring_it_back(moved):
    preview = moved.dream(dry_run=True)
    assert (preview.status, _recorded(moved) > 0) == ("previewed", True)
    moved.forget(messages=1, confirm=True)
    with pytest.raises(DreamConflict, match="deleted for good"):
        moved.approve_dream(preview.id)
    assert HOME not in str((moved.knowledge.search(status="all"), moved.archive.recent(), moved.dreams()))
    assert not _left(moved, HOME)


def test_a_dream_that_says_it_in_common_words_is_looked_through_as_well(alice):
    alice.track([Turn(role="user", content="The badge of the library was there, blue as the sky.")], session="tuesday")
    alice.knowledge.save("The user spoke of a sky.", evidence=[3])
    entries = [each.entry.id for each in alice.knowledge.search()][:2]
    dreamt(alice, MergeEntries(sources=tuple(entries), content="My badge for the library is blue."))
    preview = alice.forget(messages="a1")
    assert preview.dreams == 1
    assert alice.forget(messages="a1", confirm=preview.token).counts["dreams"] == 1
    assert "library is blue" not in str(alice.dreams())
