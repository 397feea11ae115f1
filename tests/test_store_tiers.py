"""The tiers as namespaces of a store: searched and read, and knowledge also written."""

from datetime import UTC, datetime, timedelta

import pytest
from langgraph.store.base import GetOp, PutOp

from langmem_tiers import Turn
from langmem_tiers.errors import InvalidInput, SecretRefused
from langmem_tiers.integrations import TieredStore

TIERS = ["knowledge", "drawers", "episodes", "documents", "relations"]
SAID = "I moved to Berlin with my cat Miso."


@pytest.fixture
def store(memory):
    return TieredStore(memory)


@pytest.fixture
def stocked(alice):
    """Alice's memory with something in every tier."""
    alice.track([Turn(role="user", content=SAID), Turn(role="assistant", content="How nice.")], session="monday")
    alice.knowledge.save("The cat Miso is grey.", category="pets/miso", tags=["cat"])
    alice.documents.write("MEMORY.md", "Miso sees the vet in May.")
    alice.end_session("monday")
    alice.mine()
    alice.flush()
    return alice


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_is_searched_and_read_with_id_text_date_and_score(store, stocked, tier):
    namespace = ("tiers", "alice", tier)
    (best, *_) = store.search(namespace, query="my cat Miso")
    assert best.namespace == namespace
    assert "Miso" in best.value["text"]
    assert datetime.fromisoformat(best.value["date"]) == best.updated_at == datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert 0 < best.score <= 1
    read = store.get(namespace, best.key)
    assert (read.key, read.value["id"], read.value["date"]) == (best.key, best.value["id"], best.value["date"])
    assert store.get(namespace, "unknown") is None


@pytest.mark.parametrize("tier", TIERS)
def test_without_a_query_a_tier_gives_the_newest_without_scores(store, stocked, tier):
    found = store.search(("tiers", "alice", tier))
    assert found
    assert {item.score for item in found} == {None}


def test_all_tiers_are_searched_at_once_best_first_and_in_pages(store, stocked):
    found = store.search(("tiers", "alice"), query="my cat Miso", limit=100)
    assert {item.namespace[2] for item in found} == set(TIERS)
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    page = store.search(("tiers", "alice"), query="my cat Miso", limit=2, offset=1)
    assert [item.key for item in page] == [item.key for item in found[1:3]]


def test_a_filter_looks_into_what_a_tier_tells(store, stocked):
    found = store.search(("tiers", "alice"), query="Miso", filter={"category": "pets/miso"})
    assert [item.value["text"] for item in found] == ["The cat Miso is grey."]
    assert store.search(("tiers", "alice", "drawers"), filter={"role": "user"})[0].value["text"] == SAID


def test_reading_leaves_no_trace(store, stocked):
    store.search(("tiers", "alice"), query="my cat Miso")
    assert stocked.receipts() == ()


def test_a_put_saves_an_entry_as_the_assistant_under_its_key(store, alice):
    namespace = ("tiers", "alice", "knowledge")
    store.put(namespace, "k1", {"content": "The user prefers tea.", "category": "drinks", "tags": ["tea"]})
    (found,) = alice.knowledge.search("tea")
    entry = found.entry
    assert (entry.content, entry.category, entry.tags) == ("The user prefers tea.", "drinks", ("tea",))
    assert (entry.origin, entry.evidence) == ("assistant", ())
    assert store.get(namespace, "k1").value["id"] == entry.id == store.get(namespace, entry.id).value["id"]
    store.put(namespace, "k1", {"kind": "Memory", "content": {"content": "The user prefers coffee."}})
    assert store.get(namespace, "k1").value["text"] == "The user prefers coffee."
    assert [item.key for item in store.search(namespace)] == ["k1"]
    store.delete(namespace, "k1")
    store.delete(namespace, "k1")
    assert store.get(namespace, "k1") is None
    assert alice.knowledge.search(status="active") == ()


@pytest.mark.parametrize("tier", TIERS[1:])
def test_other_tiers_are_read_only_and_say_so(store, alice, tier):
    with pytest.raises(InvalidInput, match=f"{tier}.*not written"):
        store.put(("tiers", "alice", tier), "1", {"content": "x"})
    with pytest.raises(InvalidInput, match="not written"):
        store.delete(("tiers", "alice", tier), "1")


@pytest.mark.parametrize(
    "namespace", [("tiers", "alice", "moods"), ("tiers", "alice"), ("tiers", "alice", "knowledge", "x")]
)
def test_what_is_no_tier_is_refused_with_those_there_are(store, namespace):
    with pytest.raises(InvalidInput, match="drawers"):
        store.put(namespace, "1", {"content": "x"})
    with pytest.raises(InvalidInput, match="drawers"):
        store.get(namespace, "1")


def test_tiers_are_those_of_somebody(store):
    with pytest.raises(InvalidInput, match="names no user"):
        store.search(("tiers",))
    assert store.search(("tiers", "nobody"), query="tea") == []
    assert store.get(("tiers", "nobody@example.com", "drawers"), "1") is None
    assert store.memory.spaces() == ()


@pytest.mark.parametrize("value", [{}, {"content": " "}, {"content": 7}, {"kind": "Memory", "content": {}}])
def test_what_says_nothing_is_no_knowledge_and_nothing_of_the_batch_is_written(store, value):
    with pytest.raises(InvalidInput, match="has no content"):
        store.batch([PutOp(("memories", "alice"), "1", {}), PutOp(("tiers", "alice", "knowledge"), "1", value)])
    assert store.search(()) == []


def test_secrets_are_no_knowledge(store):
    with pytest.raises(SecretRefused):
        store.put(("tiers", "alice", "knowledge"), "1", {"content": "The password is hunter2."})


def test_tiers_are_no_part_of_listings_and_searches_of_items(store, stocked):
    store.put(("memories", "alice"), "1", {"content": "tea"})
    assert store.list_namespaces() == [("memories", "alice")]
    assert [item.key for item in store.search((), query="Miso")] == ["1"]


def test_a_batch_may_ask_tiers_and_items_together(store, stocked):
    entry = stocked.knowledge.search("grey")[0].entry
    ops = [
        GetOp(("tiers", "alice", "knowledge"), entry.id),
        PutOp(("memories", "alice"), "1", {}),
        GetOp(("docs",), "1"),
    ]
    results = store.batch(ops)
    assert (results[0].value["text"], results[1:]) == ("The cat Miso is grey.", [None, None])


KNOWN = ("tiers", "alice", "knowledge")


def texts(store):
    return {item.key: item.value["text"] for item in store.search(KNOWN)}


@pytest.mark.parametrize("other", ["The user prefers tea.", "Tea is what the user prefers.", "The user likes tea."])
def test_every_key_leads_to_the_sentence_that_holds_it(store, alice, other):
    store.put(KNOWN, "a", {"content": "The user prefers tea."})
    store.put(KNOWN, "b", {"content": other})
    a, b = store.get(KNOWN, "a"), store.get(KNOWN, "b")
    assert (a.key, b.key) == ("a", "b")
    assert "tea" in a.value["text"].lower()
    assert "tea" in b.value["text"].lower()


def test_a_changed_key_leaves_the_sentence_to_the_others(store, alice):
    store.put(KNOWN, "a", {"content": "The user prefers tea."})
    store.put(KNOWN, "b", {"content": "The user prefers tea."})
    store.put(KNOWN, "c", {"content": "The user has three goats."})
    store.put(KNOWN, "a", {"content": "The user has two parrots."})
    assert store.get(KNOWN, "b").value["text"] == "The user prefers tea."
    assert texts(store) == {
        "a": "The user has two parrots.",
        "b": "The user prefers tea.",
        "c": "The user has three goats.",
    }


def test_a_deleted_key_leaves_the_sentence_to_the_others_and_the_last_deletes_it(store, alice):
    for key in "abc":
        store.put(KNOWN, key, {"content": "The user prefers tea."})
    store.delete(KNOWN, "a")
    assert [store.get(KNOWN, key) is None for key in "abc"] == [True, False, False]
    store.delete(KNOWN, "c")
    assert texts(store) == {"b": "The user prefers tea."}
    store.delete(KNOWN, "b")
    assert alice.knowledge.search(status="all") == ()


def test_the_text_of_another_key_over_a_key_joins_it(store, alice):
    store.put(KNOWN, "a", {"content": "The user prefers green tea."})
    store.put(KNOWN, "b", {"content": "The user has three goats."})
    store.put(KNOWN, "b", {"content": "The user prefers green tea."})
    assert texts(store) == {"a": "The user prefers green tea."}
    store.delete(KNOWN, "a")
    assert store.get(KNOWN, "b").value["text"] == "The user prefers green tea."


def test_keys_of_merged_entries_lead_to_the_one_that_holds(store, alice):
    store.put(KNOWN, "a", {"content": "The user likes hiking."})
    (first,) = alice.knowledge.search("hiking")
    longer = alice.knowledge.save("The user enjoys going on hikes.", origin="user").entry
    if longer.id != first.entry.id and alice.knowledge.get(first.entry.id).active:
        alice.knowledge.deactivate(first.entry.id, "merged", successor=longer.id)
    assert store.get(KNOWN, "a").value["id"] == longer.id
    store.delete(KNOWN, "a")
    assert store.get(KNOWN, "a") is None
    assert alice.knowledge.get(longer.id).active


def test_a_key_of_a_former_sentence_is_gone_once_it_is_deleted(store, alice):
    store.put(KNOWN, "a", {"content": "The user has two cats."})
    store.put(KNOWN, "b", {"content": "The user has two cats."})
    entry = store.get(KNOWN, "a").value["id"]
    alice.knowledge.update(entry, content="The user has three cats.")
    store.delete(KNOWN, "b")
    assert store.get(KNOWN, "b") is None
    assert store.get(KNOWN, "a").value["text"] == "The user has three cats."


def test_a_put_by_id_keeps_the_keys(store, alice):
    store.put(KNOWN, "a", {"content": "The user has two cats."})
    store.put(KNOWN, "b", {"content": "The user has two dogs."})
    store.put(KNOWN, store.get(KNOWN, "a").value["id"], {"content": "The user has two dogs."})
    assert store.get(KNOWN, "a").value["text"] == store.get(KNOWN, "b").value["text"] == "The user has two dogs."


def test_a_key_of_an_earlier_version_is_known(store, alice):
    alice.knowledge.save("The user has two cats.", metadata={"store_key": "a"})
    assert store.get(KNOWN, "a").value["text"] == "The user has two cats."
    store.put(KNOWN, "b", {"content": "The user has two cats."})
    store.delete(KNOWN, "a")
    assert texts(store) == {"b": "The user has two cats."}


def test_what_was_read_can_be_put_again(store, alice):
    store.put(KNOWN, "a", {"content": "The user has two cats."})
    store.put(KNOWN, "a", store.get(KNOWN, "a").value | {"category": "pets"})
    assert store.get(KNOWN, "a").value["category"] == "pets"


def test_an_entry_lives_as_long_as_it_was_put_for(store, alice, clock):
    store.put(KNOWN, "a", {"content": "The user parks on level nine."}, ttl=10)
    (found,) = alice.knowledge.search("level nine")
    assert found.entry.expires_at == clock() + timedelta(minutes=10)
    clock.tick(601)
    assert store.get(KNOWN, "a") is None
    assert store.search(KNOWN) == []
    store.put(KNOWN, "a", {"content": "The user parks on level nine."})
    assert store.get(KNOWN, "a").value["text"] == "The user parks on level nine."
    clock.tick(10**6)
    assert store.get(KNOWN, "a") is not None


def test_a_sentence_of_several_keys_lives_as_long_as_the_longest(store, alice, clock):
    store.put(KNOWN, "a", {"content": "The user parks on level nine."}, ttl=10)
    store.put(KNOWN, "b", {"content": "The user parks on level nine."}, ttl=5)
    clock.tick(8 * 60)
    assert store.get(KNOWN, "a") is not None
    store.put(KNOWN, "c", {"content": "The user parks on level nine."})
    clock.tick(8 * 60)
    assert store.get(KNOWN, "a") is not None


def test_what_the_user_said_does_not_end_with_a_put(store, alice, clock):
    alice.knowledge.save("The user parks on level nine.", origin="user")
    for _ in range(2):
        store.put(KNOWN, "a", {"content": "The user parks on level nine."}, ttl=5)
    clock.tick(600)
    assert store.get(KNOWN, "a") is not None


def test_the_time_to_live_of_the_store_holds_for_the_tier(memory, alice, clock):
    store = TieredStore(memory, ttl={"default_ttl": 5})
    store.put(KNOWN, "a", {"content": "The user parks on level nine."})
    clock.tick(301)
    assert store.get(KNOWN, "a") is None


@pytest.mark.parametrize("index", [False, ["content"]])
def test_an_index_is_refused_for_knowledge_with_the_way_out(store, index):
    with pytest.raises(InvalidInput, match="memories"):
        store.put(KNOWN, "a", {"content": "The user has two cats."}, index=index)
    assert store.search(KNOWN) == []


@pytest.mark.parametrize(
    "value", [{"content": "Tea.", "importance": 1}, {"kind": "Memory", "content": {"content": "Tea.", "level": 1}}]
)
def test_a_field_that_knowledge_does_not_have_is_refused_by_name(store, value):
    with pytest.raises(InvalidInput, match=r"importance|level"):
        store.put(KNOWN, "a", value)
