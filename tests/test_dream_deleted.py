"""What a dream made of entries and episodes follows them: said again, taken apart, deleted for good."""

import pytest
from dreaming import dreamt, known

from langmem_tiers import Turn
from langmem_tiers.dream.types import MergeEntries, Synthesis

TEA = "The user drinks green tea."
TEAS = "The user drinks a lot of green tea."
MERGED = "The user drinks much green tea."


@pytest.fixture
def two(alice):
    """The ids of two entries on tea that a dream has merged."""
    alice.track([Turn(role="user", content=text) for text in ("I drink tea.", "Tea again.", "Tea!")], session="monday")
    ids = known(alice, TEA, evidence=[1]), known(alice, TEAS, evidence=[2])
    dreamt(alice, MergeEntries(sources=ids, content=MERGED))
    return ids


@pytest.fixture
def holder(alice, two):
    """The id of the entry that holds instead."""
    return alice.knowledge.get(two[0]).successor


def test_what_is_said_again_in_the_words_of_a_source_is_known(alice, holder):
    saved = alice.knowledge.save(TEA, evidence=[3])
    assert (saved.outcome, saved.entry.id, len(saved.entry.evidence)) == ("known", holder, 3)


def test_a_source_is_taken_out_with_what_it_brought(alice, two, holder):
    assert alice.knowledge.unmerge(two[0]).active
    assert [each.drawer for each in alice.knowledge.get(holder).evidence] == [2]


def test_what_a_dream_merged_is_deleted_with_its_sources_and_the_dream_forgets_it(alice, two, holder):
    assert set(alice.knowledge.delete(holder).with_it) == set(two)
    assert alice.knowledge.search(status="all") == ()
    assert "green tea" not in alice.dreams()[0].model_dump_json()


def test_what_is_deleted_goes_from_what_dreams_made_of_episodes(alice, holder):
    summary = f"{MERGED} A trip was planned."
    episode = alice.archive.write("monday", summary=summary)
    text = f"## Project facts\n\n- {MERGED}\n- A trip was planned.\n"
    dreamt(alice, Synthesis(text=text, episodes=(episode.id,)))
    alice.knowledge.delete(holder)
    [document] = alice.documents.list("_system/dreaming/")
    assert alice.documents.read(document.path).content == "## Project facts\n\n- A trip was planned.\n"
    with alice.memory.use(alice.name) as store, store.reading() as connection:
        held = "SELECT count(*) FROM changesets WHERE instr(coalesce(before, '') || coalesce(after, ''), 'green tea')"
        assert connection.exec_driver_sql(held).scalar() == 0
