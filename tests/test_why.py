"""Why a recall showed a memory, or why not, also one that was no candidate."""

import asyncio

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import InvalidInput, InvalidPointer, UnknownMemory, UnknownReceipt
from langmem_tiers.settings import RecallSettings
from langmem_tiers.testing import HashEmbedder

HOUR, DAY = 3600, 86_400
LENA = "My sister Lena moved to Porto."
TEA = "I prefer green tea to coffee."
SOFA = "Rosie the vacuum cleaner got stuck under the sofa."


def said(*texts):
    return [Turn(role="user", content=text) for text in texts]


@pytest.fixture
def talked(alice, clock):
    """A memory of a conversation on Monday, and one recall on Tuesday."""
    alice.track(said(LENA, TEA, SOFA), session="monday")
    alice.mine()
    alice.memory.flush()
    clock.tick(DAY)
    alice.recall("Where does my sister Lena live?", session="tuesday", message_id="m1")
    return alice


def text(explanation):
    return "\n".join(explanation.sentences)


def test_a_memory_that_was_shown_has_its_place_and_its_scores(talked):
    found = talked.why(1, "§W-001/R-01/D-001")
    assert (found.shown, found.stage, found.place, found.repeated) == (True, "shown", 1, False)
    assert found.score >= found.threshold
    assert found.scores["graph"] == 1.0
    assert "a relation of somebody named in the message rests on it" in text(found)


@pytest.mark.parametrize("of", [1, "1", "§W-1/R-1/D-1", "w-001/r-01/d-001", "moved to Porto"])
def test_a_memory_is_named_by_number_pointer_or_words(talked, of):
    assert talked.why(1, of).text in {LENA, "The user's sister Lena moved to Porto."}


def test_without_a_number_it_is_about_the_last_recall(talked):
    talked.recall("Which tea do I like?", session="tuesday", message_id="m2")
    assert talked.why(of=2).receipt == 2
    assert talked.why().query == "Which tea do I like?"


def test_a_message_that_was_no_candidate_is_told_what_it_lacked(talked):
    found = talked.why(1, 3)
    assert (found.shown, found.stage, found.repeated) == (False, "not_found", True)
    assert "Words: it has none of sister, lena, live." in text(found)
    assert "Graph: the message names Lena, and no relation asked for rests on it." in text(found)


def test_asking_why_leaves_no_trace(talked):
    before = talked.stats().recalls, talked.drawer(3).recall_count, len(talked.receipts())
    talked.why(1, 3)
    talked.why(1, "sofa")
    assert (talked.stats().recalls, talked.drawer(3).recall_count, len(talked.receipts())) == before


def test_an_entry_whose_message_was_quoted_names_that_message(talked):
    (entry,) = [each.entry for each in talked.knowledge.search("Lena") if "Lena" in each.entry.content]
    found = talked.why(1, entry.id)
    assert (found.kind, found.stage) == ("entry", "quoted_instead")
    assert "§W-001/R-01/D-001 was shown, which says it." in text(found)


def test_an_entry_that_was_no_candidate_lacks_the_words(talked):
    (entry,) = [each.entry for each in talked.knowledge.search("tea") if "tea" in each.entry.content]
    assert talked.why(1, entry.id).stage == "not_found"


@pytest.mark.parametrize("change", ["end_relation", "withdraw_relation"])
def test_a_relation_that_was_ended_or_withdrawn_since_is_judged_as_it_was(talked, clock, change):
    (lives,) = [each for each in talked.graph.timeline("Lena").relations if each.predicate == "lives_in"]
    before = talked.why(1, lives.id)
    clock.tick(DAY)
    getattr(talked.graph, change)(lives.id)
    assert talked.why(1, lives.id).stage == before.stage


def test_an_entity_is_explained_by_its_relations(talked):
    lena = talked.graph.entity("Lena")
    found = talked.why(1, lena.id)
    assert found.kind == "entity"
    assert {each.text for each in found.parts} == {"user has sister Lena", "Lena lives in Porto"}


def test_a_whole_recall_says_what_it_looked_at(talked):
    found = talked.why(1)
    assert found.kind is None
    assert [each.ref for each in found.parts if each.shown] == ["§W-001/R-01/D-001"]
    assert "1 shown" in text(found)


def test_a_trivial_message_looked_nothing_up(alice):
    alice.track(said(LENA), session="monday")
    alice.recall("ok", session="tuesday")
    assert "meaningful words" in text(alice.why())
    assert alice.why(None, 1).stage == "not_looked_up"


def test_what_nobody_ever_told_of_is_said_to_be_so(alice):
    alice.track(said("I have a dog called Bruno and a name for everything."), session="monday")
    alice.memory.flush()
    alice.recall("What is the name of my cat?", session="tuesday", threshold=0.01)
    assert "nobody ever told of" in text(alice.why())


def test_what_was_recorded_later_was_not_there_yet(talked, clock):
    clock.tick(HOUR)
    talked.track(said("Lena my sister does live in Braga now."), session="wednesday")
    found = talked.why(1, 4)
    assert found.stage == "recorded_later"
    assert "after the recall of 2026-03-03 09:00 UTC" in text(found)


def test_what_was_edited_since_says_so(talked, clock):
    alice = talked
    clock.tick(HOUR)
    alice.track([Turn(role="user", content="I like the colour blue.", message_id="x")], session="blue")
    clock.tick(HOUR)
    alice.recall("Where does my sister Lena live?", session="friday")
    clock.tick(HOUR)
    alice.track([Turn(role="user", content="I like the colour red.", message_id="x")], session="blue")
    found = alice.why(None, 4)
    assert found.stage == "superseded"
    assert "has taken its place since" in text(found)


def test_an_entry_that_was_deleted_since_keeps_its_verdict(talked):
    (entry,) = [each.entry for each in talked.knowledge.search("Lena") if "Lena" in each.entry.content]
    talked.knowledge.delete(entry.id)
    found = talked.why(1, entry.id)
    assert (found.stage, found.text) == ("quoted_instead", "")
    assert "It has been deleted since." in found.changed


def test_an_entry_put_aside_before_the_recall_was_no_longer_true(talked, clock):
    (entry,) = [each.entry for each in talked.knowledge.search("tea") if "tea" in each.entry.content]
    talked.knowledge.deactivate(entry.id, reason="tired of it")
    clock.tick(HOUR)
    talked.recall("Which tea do I like?", session="wednesday")
    found = talked.why(None, entry.id)
    assert found.stage == "no_longer_true"
    assert "tired of it" in text(found)


def test_an_entry_put_aside_after_the_recall_is_judged_as_it_was_then(talked, clock):
    (entry,) = [each.entry for each in talked.knowledge.search("tea") if "tea" in each.entry.content]
    clock.tick(HOUR)
    talked.knowledge.deactivate(entry.id, reason="tired of it")
    found = talked.why(1, entry.id)
    assert found.stage == "not_found"
    assert "tired of it" in found.changed[0]


def test_what_the_session_was_shown_already_names_that_recall(talked):
    talked.recall("Tell me where my sister Lena lives", session="tuesday", message_id="m2")
    found = talked.why(None, 1)
    assert found.stage == "already_shown"
    assert "Recall 1 of this session showed it." in text(found)


def test_a_turned_off_layer_is_the_reason(tmp_path, clock):
    settings = Settings(recall=RecallSettings(layers=("drawers",)))
    with Memory.open(tmp_path, embedder=None, settings=settings, background=False, clock=clock) as memory:
        space = memory.user("alice")
        space.track(said(LENA), session="monday")
        saved = space.knowledge.save("The user's sister Lena lives in Porto.", category="people")
        clock.tick(HOUR)
        space.recall("Where does my sister Lena live?")
        assert space.why(1, saved.entry.id).stage == "layer_off"


def test_beyond_the_candidates_that_a_receipt_keeps_the_place_is_found_again(alice, clock):
    alice.track(said(*(f"The robot number {number} went to the market." for number in range(58))), session="robots")
    alice.memory.flush()
    clock.tick(HOUR)
    alice.recall("What did the robot buy at the market?", session="later")
    kept = {each.drawer for each in alice.receipt(1).candidates}
    lost = next(number for number in range(1, 59) if number not in kept)
    found = alice.why(1, lost)
    assert found.repeated
    assert found.place > 50
    assert found.stage not in {"not_found", "shown"}


def test_a_recall_made_again_does_not_know_what_was_shown_later(talked, clock):
    clock.tick(HOUR)
    talked.recall("Who got stuck under the sofa?", session="tuesday", message_id="m2")
    assert talked.why(2, 3).shown
    assert talked.why(1, 3).stage == "not_found"


def test_a_memory_in_a_fallback_is_named_with_it(tmp_path, clock):
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False, clock=clock) as memory:
        team = memory.space("teams/research")
        team.track(said("The team meets on Fridays in room five."), session="s")
        memory.flush()
        alice = memory.space("users/alice", fallbacks=["teams/research"])
        alice.recall("When does the team meet?", session="t")
        found = alice.why(of="§W-001/R-01/D-001@teams/research")
        assert found.shown
        alone = memory.space("users/alice")
        (part,) = alone.why().parts
        assert part.changed == ("teams/research is no longer read from here.",)


def test_receipts_say_what_they_had_to_keep_to(talked):
    limits = talked.receipt(1).limits
    assert set(limits) == {"threshold", "limit", "knowledge", "token_budget", "selective"}
    assert talked.why(1, 1).threshold == limits["threshold"]


@pytest.mark.parametrize("of", [999, "999", "0123456789ab", "§W-009/R-09/D-009"])
def test_what_is_nowhere_is_an_error(talked, of):
    with pytest.raises(UnknownMemory):
        talked.why(1, of)


def test_a_room_is_no_memory(talked):
    with pytest.raises(InvalidPointer):
        talked.why(1, "§W-001/R-01")


def test_a_recall_that_never_was_is_an_error(alice):
    with pytest.raises(UnknownReceipt, match="Nothing was recalled"):
        alice.why()
    with pytest.raises(UnknownReceipt, match="no receipt 7"):
        alice.why(7)


@pytest.mark.parametrize("asked", [{"receipt": "1"}, {"receipt": 0}, {"of": ""}, {"of": 0}, {"of": 1.5}])
def test_wrong_arguments_are_named(talked, asked):
    with pytest.raises(InvalidInput):
        talked.why(**asked)


def test_the_async_twin_says_the_same(talked):
    assert asyncio.run(talked.awhy(1, 1)) == talked.why(1, 1)


def test_words_that_nothing_holds_mean_no_memory(talked):
    with pytest.raises(UnknownMemory):
        talked.why(of="zzqqxx")
