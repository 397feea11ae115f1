"""What a dream made of entries and episodes follows them: said again, taken apart, deleted for good."""

import pytest
from dreaming import begun, dreamt, known, seen

from langmem_tiers import Turn
from langmem_tiers.dream.apply import keep_report
from langmem_tiers.dream.types import (
    AntiPattern,
    Decision,
    DreamReport,
    GoldenResult,
    InferredPreference,
    MergeEntries,
    Rejected,
    RetireEntry,
    Synthesis,
)
from langmem_tiers.errors import DreamConflict
from langmem_tiers.records import Evidence

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
        held = "SELECT coalesce(before, '') || coalesce(after, '') FROM changesets"
        assert not [row for row in connection.exec_driver_sql(held).scalars() if "green tea" in row]


# What was proposed in vain, and what dreams keep besides.


LISBON = "The user's sister lives in Lisbon."


def kept(space) -> str:
    """All that the memory keeps of dreams and golden questions, as text."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        tables = ("dreams", "changesets", "golden_questions")
        return "\n".join(str(row) for name in tables for row in connection.exec_driver_sql(f"SELECT * FROM {name}"))


def noted(space, decision, **report) -> DreamReport:
    """A dream that changed nothing, with what it had decided."""
    memory, material = space.memory, seen(space)
    draft = begun(space, decision=decision, **report)
    with memory.use(space.name) as store:
        keep_report(store, material, draft)
    return draft


@pytest.fixture
def sister(alice):
    """The id of an entry that rests on what was said."""
    alice.track([Turn(role="user", content="My sister lives in Lisbon. I like tea.")], session="monday")
    return known(alice, LISBON, evidence=[1])


@pytest.mark.parametrize(
    "proposal",
    [
        InferredPreference(content="The sister of the user lives in Lisbon.", evidence=(Evidence(drawer=1),)),
        InferredPreference(
            content="The user tells.", evidence=(Evidence(drawer=1, quote="My sister lives in Lisbon."),)
        ),
        Synthesis(text=f"## Project facts\n\n- 2026-03-02: {LISBON}\n", episodes=("p1",)),
        MergeEntries(sources=("a" * 12, "b" * 12), content=LISBON),
        AntiPattern(domain="x", content=f"Don't ask because {LISBON[:-1]}; instead wait.", evidence=()),
    ],
    ids=lambda each: each.kind,
)
def test_what_was_proposed_in_vain_does_not_keep_what_is_deleted(alice, sister, proposal):
    rest = InferredPreference(content="The user prefers tea.", evidence=(Evidence(drawer=1, quote="I like tea."),))
    for status, decision in (
        (
            "nothing",
            Decision(rejected=(Rejected(proposal=proposal, reason="no"), Rejected(proposal=rest, reason="no"))),
        ),
        ("gated", Decision(accepted=(proposal, rest))),
    ):
        noted(alice, decision, status=status, diff=f"+ entry x {LISBON}\n+ entry y tea", notes=(LISBON, "tea"))
    assert "Lisbon" in kept(alice)
    alice.knowledge.delete(sister)
    assert "Lisbon" not in kept(alice)
    for report in alice.dreams():
        assert "prefers tea" in report.model_dump_json()
        assert (report.diff, report.notes[0]) == ("+ entry y tea", "tea")
        assert "some of its words were deleted" in report.notes[1]


def test_a_reason_or_a_question_that_quotes_what_is_deleted_goes_with_it(alice, sister):
    merge = MergeEntries(sources=("a" * 12, "b" * 12), content="The user rows.")
    broken = GoldenResult(question="Where does my sister live in Lisbon?", before=True, after=False)
    noted(alice, Decision(rejected=(Rejected(proposal=merge, reason=f"it would lose {LISBON}"),)), golden=(broken,))
    alice.knowledge.delete(sister)
    assert "Lisbon" not in kept(alice)


def test_a_dream_whose_report_alone_held_it_can_still_be_undone(alice, two, sister, holder):
    coffee = known(alice, "The user hates coffee.")
    report = dreamt(alice, RetireEntry(id=coffee), RetireEntry(id=sister, successor="0" * 12))
    assert sister in report.model_dump_json()
    alice.knowledge.delete(sister)
    assert sister not in alice.dreams()[0].model_dump_json()
    assert alice.dreams()[0].changes == "kept"
    alice.undo_dream(report.id)
    assert alice.knowledge.get(coffee).active


def test_what_an_undone_dream_would_bring_back_is_forgotten_with_what_is_deleted(alice):
    alice.track([Turn(role="user", content="My sister lives in Lisbon. I like tea.")], session="monday")
    report = dreamt(alice, InferredPreference(content=LISBON, evidence=(Evidence(drawer=1),)))
    alice.undo_dream(report.id)
    alice.knowledge.delete(known(alice, "The sister of the user lives in Lisbon!", evidence=[1]))
    assert "Lisbon" not in kept(alice)
    assert alice.dreams()[0].changes == "forgotten"
    with pytest.raises(DreamConflict, match="deleted for good"):
        alice.redo_dream(report.id)


@pytest.mark.parametrize(
    ("question", "expects", "stays"),
    [
        ("Where does my sister live?", "Lisbon", False),
        ("Who lives in Lisbon?", "sister", False),
        ("My sister lives in Lisbon, doesn't she?", 1, False),
        ("What do I drink?", "tea", True),
        ("Where does my sister work?", ["office", "harbour"], True),
    ],
)
def test_a_golden_question_goes_with_the_words_that_it_asks_for(alice, sister, question, expects, stays):
    alice.golden.add(question, expects=expects)
    alice.knowledge.delete(sister)
    assert bool(alice.golden.list()) == stays
