"""The gate: a dream that makes recall worse is not carried out, and says which question it would have broken."""

import pytest
from sqlalchemy import select

from langmem_tiers import Memory, Turn
from langmem_tiers.dream import golden, recall_gate
from langmem_tiers.dream.gather import gather
from langmem_tiers.dream.recall_gate import trial
from langmem_tiers.dream.types import Decision, MergeEntries
from langmem_tiers.errors import InvalidInput, InvalidText, SecretRefused
from langmem_tiers.recall.sources import snapshots
from langmem_tiers.storage.schema import metadata
from langmem_tiers.testing import HashEmbedder
from tests.tidying import AT_WORK, FACTS, HIKING, HOLDS, ONE_JOB, OUTDATED, TIDIED, by_hand, fill, known, tidying

BROKEN = "What does the user work as?"


@pytest.fixture
def dreamer(tmp_path, clock):
    """The space of a user with something to dream of, and a model that tidies it up."""
    settings = by_hand()
    with Memory.open(
        tmp_path / "memory", embedder=HashEmbedder(), background=False, clock=clock, model=tidying(), settings=settings
    ) as memory:
        alice = memory.user("alice")
        fill(alice)
        yield alice


def rows(space) -> dict[str, list]:
    """Everything that the records hold."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        return {name: connection.execute(select(table)).all() for name, table in metadata.tables.items()}


def made(space, **options):
    with space.memory.use(space.name) as store:
        return golden.questions(store, space.memory.settings, **options)


def entry_id(space, content) -> str:
    return next(found.entry.id for found in space.knowledge.search(limit=100) if found.entry.content == content)


def seen(space):
    """What a dream sees, without a lease."""
    with space.memory.use(space.name) as store:
        return gather(store, space.memory.settings, space.memory.clock(), 0)


def merge(space, sources, content) -> MergeEntries:
    return MergeEntries(sources=tuple(entry_id(space, each) for each in sources), content=content)


# Questions that the user keeps.


def test_questions_are_kept_and_removed(alice):
    alice.track([Turn(role="user", content="My sister Anna lives in Lisbon.")])
    first = alice.golden.add("Where does my sister live?", expects="Lisbon")
    second = alice.golden.add("Where does\n my sister  live?", expects=["Lisbon", 1, "§W-001/R-01/D-001"])
    assert (second.question, second.words, second.drawers) == ("Where does my sister live?", ("Lisbon",), (1,))
    assert alice.golden.list() == (first, second)
    assert (alice.golden.remove(first.number), alice.golden.remove(first.number)) == (True, False)
    assert alice.golden.list() == (second,)
    assert alice.golden.add("Where does my sister live?", expects="Lisbon").number == 3


async def test_questions_are_kept_and_removed_without_holding_up_the_event_loop(alice):
    kept = await alice.golden.aadd("Where does my sister live?", expects="Lisbon")
    assert await alice.golden.alist() == (kept,)
    assert await alice.golden.aremove(kept.number)


@pytest.mark.parametrize(
    ("question", "expects", "told"),
    [
        ("Ok, thanks!", "Lisbon", "recalls nothing"),
        (None, "Lisbon", "question"),
        ("Where does my sister live?", "", "expects"),
        ("Where does my sister live?", [], "expects"),
        ("Where does my sister live?", None, "expects"),
        ("Where does my sister live?", True, "expects"),
        ("Where does my sister live?", 7, "does not exist"),
        ("Where does my sister live?", "§W-009/R-01/D-001", "does not exist"),
        ("Where does my sister live?", "§nowhere", "pointer"),
    ],
)
def test_a_question_that_can_not_be_asked_is_refused(alice, question, expects, told):
    with pytest.raises(InvalidInput, match=told):
        alice.golden.add(question, expects=expects)
    assert alice.golden.list() == ()


def test_no_secret_and_no_broken_text_is_kept(alice):
    with pytest.raises(SecretRefused):
        alice.golden.add("What is my key sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56Qr78St90?", expects="key")
    with pytest.raises(InvalidText):
        alice.golden.add("Where does my \ud800 sister live?", expects="Lisbon")


def test_only_so_many_are_kept(alice):
    for _ in range(golden.MOST_KEPT):
        alice.golden.add("Where does my sister live?", expects="Lisbon")
    with pytest.raises(InvalidInput, match="100 questions"):
        alice.golden.add("Where does my sister live?", expects="Lisbon")


# Questions that are made.


def test_questions_are_made_of_entries_and_drawers_and_hold_out_what_they_ask_for(dreamer):
    questions = made(dreamer)
    assert {each.about.split()[0] for each in questions} == {"entry", "drawer"}
    assert made(dreamer) == questions
    for each in questions:
        (fact,) = each.words
        assert fact.casefold() not in each.question.casefold()
    assert ("user lives?", ("Lisbon",)) in {(each.question, each.words) for each in questions}


def test_what_a_dream_touches_is_asked_about_first_and_what_it_retires_is_not(dreamer):
    at_work = [entry_id(dreamer, each) for each in AT_WORK]
    gone = entry_id(dreamer, OUTDATED)
    about = [each.about for each in made(dreamer, touched=at_work, besides=[gone])]
    assert set(about[: len(at_work)]) == {f"entry {each}" for each in at_work}
    assert f"entry {gone}" not in about
    assert f"entry {gone}" in [each.about for each in made(dreamer)]


@pytest.mark.parametrize("most", [0, 1, 3])
def test_no_more_are_made_than_the_settings_want(tmp_path, clock, most):
    with Memory.open(
        tmp_path / "memory", embedder=None, background=False, clock=clock, settings=by_hand(golden=most)
    ) as memory:
        fill(memory.user("alice"))
        assert len(made(memory.user("alice"))) == most


def test_of_an_empty_space_and_of_small_talk_none_is_made(alice):
    assert made(alice) == ()
    alice.track([Turn(role="user", content="Hello! How are you? ❤️"), Turn(role="user", content="?? …")])
    assert made(alice) == ()


# The gate.


def test_a_dream_that_leaves_recall_as_good_is_applied(dreamer):
    dreamer.golden.add("Where does the user hike?", expects="Alps")
    report = dreamer.dream()
    assert report.status == "applied"
    assert known(dreamer) == TIDIED
    assert report.golden[0].question == "Where does the user hike?"
    assert all(each.after for each in report.golden if each.before)


def test_what_would_break_a_question_is_left_out_and_the_rest_is_applied(dreamer):
    dreamer.golden.add(BROKEN, expects="works as an engineer")
    report = dreamer.dream()
    assert report.status == "applied"
    assert known(dreamer) == {*AT_WORK, HIKING[1], HOLDS, FACTS[-1]}
    (rejected,) = [each for each in report.decision.rejected if each.proposal.kind == "merge"]
    assert rejected.proposal.content == ONE_JOB
    assert BROKEN in rejected.reason
    assert any(BROKEN in note for note in report.notes)


def test_where_nothing_else_is_left_the_dream_is_gated_and_changes_nothing(tmp_path, clock):
    with Memory.open(
        tmp_path / "memory", embedder=HashEmbedder(), background=False, clock=clock, model=tidying(), settings=by_hand()
    ) as memory:
        alice = memory.user("alice")
        fill(alice, AT_WORK)
        alice.golden.add(BROKEN, expects="works as an engineer")
        report = alice.dream()
        assert (report.status, report.decision.accepted, report.diff) == ("gated", (), "")
        assert known(alice) == set(AT_WORK)
        assert [(each.question, each.before, each.after) for each in report.golden if not each.after] == []
        assert [each.status for each in alice.dreams()] == ["gated"]
        assert any(BROKEN in note for note in alice.dreams()[0].notes)


def test_a_preview_is_gated_as_well_and_says_so(dreamer):
    dreamer.golden.add(BROKEN, expects="works as an engineer")
    report = dreamer.dream(dry_run=True)
    assert report.status == "previewed"
    assert any(BROKEN in note for note in report.notes)
    assert ONE_JOB not in report.diff


def test_a_question_that_recall_does_not_answer_now_stops_no_dream(dreamer):
    dreamer.golden.add("What is the capital of the moon called?", expects="Lunapolis")
    report = dreamer.dream()
    assert report.status == "applied"
    (result,) = [each for each in report.golden if each.question.startswith("What is the capital")]
    assert (result.before, result.after) == (False, False)


def test_a_question_may_ask_for_a_drawer(dreamer):
    dreamer.golden.add("Where do I hike in the Alps?", expects=4)
    (result,) = [each for each in dreamer.dream().golden if each.question.startswith("Where do I hike")]
    assert (result.before, result.after) == (True, True)


def test_trying_a_dream_out_leaves_nothing_behind(dreamer):
    material = seen(dreamer)
    decision = Decision(accepted=(merge(dreamer, AT_WORK, ONE_JOB),))
    before = rows(dreamer)
    with dreamer.memory.use(dreamer.name) as store:
        results = recall_gate.passing(dreamer.context, store, material, decision).results
    assert any(each.before for each in results)
    assert rows(dreamer) == before


def test_recall_follows_what_comes_after_a_trial(dreamer):
    dreamer.dream(dry_run=True)
    dreamer.track([Turn(role="user", content="My green bicycle stands in Tavira.")], session="tuesday")
    dreamer.knowledge.save("The user owns a green bicycle.")
    dreamer.flush()
    recalled = dreamer.recall("Where does my green bicycle stand?", session="friday")
    assert "Tavira" in recalled.block
    dreamer.dream(dry_run=True)
    assert "works at Bosch." in dreamer.recall("Who does the user work for at Bosch?", session="saturday").block
    assert [each.message for each in dreamer.doctor() if each.level == "problem"] == []


def test_what_a_dream_adds_is_found_by_meaning_where_it_is_tried_out(dreamer):
    """Vectors are made in the background, later: until then it would be found by its words only."""
    material, memory = seen(dreamer), dreamer.memory
    decision = Decision(accepted=(merge(dreamer, AT_WORK, ONE_JOB),))
    vector = dreamer.context.embedder.query(ONE_JOB)[0]
    for vectors, found in (({ONE_JOB: vector}, True), ({}, False)):
        with (
            memory.use(dreamer.name) as store,
            trial(store, material, decision, memory.settings, vectors) as tried,
            snapshots([tried]) as (moment,),
        ):
            hits = moment.store.notes.search(moment.moment, (), vector, 20)
            assert (ONE_JOB in {hit.text for hit in hits}) == found


def test_reports_name_made_questions_by_what_they_are_about(dreamer):
    report = dreamer.dream()
    named = [each.question for each in report.golden]
    assert named
    assert all(name.startswith(("[entry ", "[drawer ")) for name in named)


def test_the_gate_works_without_vectors(tmp_path, clock):
    with Memory.open(
        tmp_path / "memory", embedder=None, background=False, clock=clock, model=tidying(), settings=by_hand()
    ) as memory:
        alice = memory.user("alice")
        fill(alice)
        alice.golden.add(BROKEN, expects="works as an engineer")
        assert alice.dream().status == "applied"
        assert set(AT_WORK) <= known(alice)
