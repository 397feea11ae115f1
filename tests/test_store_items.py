"""Our LangGraph store where others differ or have nothing like it: spaces, times, recall, deletion, many at once."""

import math
import re
import shutil
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from sqlalchemy import event, inspect

from langmem_tiers import Memory, PrivacySettings, Settings, TextSettings
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput, InvalidSettings, InvalidSpace, MissingUser, TextTooLong
from langmem_tiers.integrations import TieredStore, user_label
from langmem_tiers.integrations.store.shared_commits import Changes, SharedCommits
from langmem_tiers.storage import notes
from langmem_tiers.storage.items import NewItem
from langmem_tiers.testing import HashEmbedder

DOCS = ("docs",)
ALICE = ("memories", "alice")
PORTO, QUESTION = "My sister Lena lives in Porto.", "Where does my sister Lena live?"


@pytest.fixture
def store(memory):
    return TieredStore(memory)


def keys(found):
    return [item.key for item in found]


def block(space, query=QUESTION, session="today"):
    return space.recall(query, session=session).block


def rows_holding(memory, space, text):
    """In how many rows of a space's database a text stands."""
    with memory.use(space) as opened, opened.reading() as connection:
        tables = inspect(connection).get_table_names()
        rows = [str(row) for table in tables for row in connection.exec_driver_sql(f'SELECT * FROM "{table}"')]
    return sum(text in row for row in rows)


# Whose space.


@pytest.mark.parametrize(
    ("namespace", "space"),
    [
        (("memories", "alice"), "users/alice"),
        (("memories", "alice", "triples"), "users/alice"),
        (("users", "alice", "profile"), "users/alice"),
        (("alice", "memories"), "users/alice"),
        (("memories", 7), "users/7"),
        (("memories", UUID(int=1)), "users/00000000-0000-0000-0000-000000000001"),
        (("memories", "alice@example.com"), "users/alice@example.com"),
        (("memories", "100%"), "users/100%25"),
        (("app", "settings"), "global"),
        (("memories",), "global"),
    ],
)
def test_a_namespace_that_names_a_user_is_in_their_space(store, memory, namespace, space):
    store.put(namespace, "1", {"v": 1})
    assert memory.spaces() == (space,)
    assert store.get(namespace, "1").value == {"v": 1}
    assert [item.key for item in store.search(namespace)] == ["1"]
    assert store.list_namespaces() == [tuple(map(str, namespace))]


def test_an_address_works_everywhere_and_comes_back_as_it_is(store):
    namespace = ("memories", "alice@example.com", "notes")
    store.put(namespace, "1", {"text": "tea"})
    assert store.get(namespace, "1").namespace == namespace
    assert store.search(namespace[:2], query="tea")[0].namespace == namespace
    assert store.list_namespaces(prefix=namespace[:2]) == [namespace]
    assert store.list_namespaces(suffix=("alice@example.com", "notes")) == [namespace]
    store.delete(namespace, "1")
    assert store.search(()) == []


def test_no_two_ids_are_one_label(store, memory):
    ids = ["a.b", "a%2Eb", "a%252Eb", "a%b", "a"]
    for each in ids:
        store.put(("memories", each), "1", {"of": each})
    assert [store.get(("memories", each), "1").value["of"] for each in ids] == ids
    assert len(memory.spaces()) == len(set(map(user_label, ids))) == len(ids)


def test_a_label_made_beforehand_is_the_same_id(store):
    label = user_label("alice@example.com")
    store.put(("memories", label), "1", {"v": 1})
    assert store.get(("memories", "alice@example.com"), "1").value == {"v": 1}
    assert store.batch([GetOp(("memories", str(label)), "1")])[0].value == {"v": 1}
    assert store.batch([SearchOp(("memories",))])[0][0].namespace == ("memories", "alice@example%2Ecom")


def test_a_batch_reads_of_more_users_than_there_are_connections(store):
    users = [f"user{number}" for number in range(20)]
    store.batch([PutOp(("memories", user), "home", {"content": f"The home of {user} is Porto."}) for user in users])
    gets = [GetOp(("memories", user), "home") for user in users]
    searches = [SearchOp(("memories", user), query=f"home of {user}") for user in users]
    found = store.batch([*gets, *searches, SearchOp(("memories",), limit=100)])
    assert [item.namespace[1] for item in found[:20]] == users
    assert [item.namespace[1] for [item] in found[20:40]] == users
    assert sorted(item.namespace[1] for item in found[40]) == sorted(users)


@pytest.mark.parametrize(
    "namespace", [("app", "a.b"), ("memories", "a", "b.c"), ("memories", True), ("memories", None)]
)
def test_what_is_no_id_has_to_be_a_label(store, namespace):
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "1", {})


def test_the_id_of_nobody_is_refused(store):
    with pytest.raises(MissingUser):
        store.put(("memories", " "), "1", {})
    with pytest.raises(InvalidSpace):
        store.put(("memories", "x" * 200), "1", {})


def test_a_template_or_a_function_says_whose_space(memory):
    TieredStore(memory, space_of=("org", "*", "{user}"), shared="store/rest").put(("org", "acme", "a.b"), "1", {})
    TieredStore(memory, space_of=[("x", "{id}"), ("y", "{id}")], shared="store/rest").put(("y", "bob"), "1", {})
    chosen = TieredStore(
        memory, space_of=lambda names: "teams/research" if names[0] == "team" else None, shared="other"
    )
    chosen.put(("team", "1"), "1", {})
    chosen.put(("rest",), "1", {})
    assert memory.spaces() == ("other", "teams/research", "users/a.b", "users/bob")
    assert len(chosen.search(("team",))) == 1
    assert chosen.list_namespaces() == [("org", "acme", "a.b"), ("rest",), ("team", "1"), ("y", "bob")]


@pytest.mark.parametrize("space_of", ["memories", (), ("memories",), ("{a}", "{b}"), 7, [("memories", 1)], [()], None])
def test_a_template_without_a_user_is_refused(memory, space_of):
    with pytest.raises(InvalidSettings, match="user"):
        TieredStore(memory, space_of=space_of) if space_of != () else TieredStore(memory, space_of=[()])


def test_looking_makes_no_space(store, memory):
    assert store.get(ALICE, "1") is None
    assert store.search(ALICE, query="tea") == store.search(()) == store.list_namespaces() == []
    store.delete(ALICE, "1")
    assert memory.spaces() == ()


def test_a_search_over_all_users_finds_the_best_and_the_newest_of_them(store, clock):
    for user, text in [("alice", "a kettle"), ("bob", "a violin"), ("carol", "a lantern")]:
        store.put(("memories", user), user, {"text": text})
        clock.tick(1)
    assert keys(store.search(())) == keys(store.search(("memories",))) == ["carol", "bob", "alice"]
    assert keys(store.search(("memories",), query="violin", limit=1)) == ["bob"]
    assert keys(store.search(("memories",), limit=1, offset=1)) == ["bob"]
    assert keys(store.search(("bob",))) == []


# Values and times.


def test_times_are_aware_and_the_first_one_stays(store, clock):
    store.put(DOCS, "1", {"v": 1})
    clock.tick(60)
    store.put(DOCS, "1", {"v": 2})
    item = store.get(DOCS, "1")
    assert item.created_at == datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert item.updated_at == clock() == item.created_at + timedelta(seconds=60)
    assert item.updated_at.tzinfo is not None


def test_what_changed_last_comes_first_also_within_a_millisecond(store):
    for key in "abc":
        store.put(DOCS, key, {"v": 1})
    store.put(DOCS, "a", {"v": 2})
    assert keys(store.search(DOCS)) == ["a", "c", "b"]


def test_values_are_copies(store):
    given = {"list": [1]}
    store.put(DOCS, "1", given)
    given["list"].append(2)
    store.get(DOCS, "1").value["list"].append(3)
    store.search(DOCS)[0].value["list"].append(4)
    assert store.get(DOCS, "1").value == {"list": [1]}


def test_values_come_back_as_json_keeps_them(store):
    store.put(DOCS, "1", {"tuple": (1, 2), "day": datetime(2026, 3, 2, tzinfo=UTC), "id": UUID(int=1), "big": 10**30})
    assert store.get(DOCS, "1").value == {
        "tuple": [1, 2],
        "day": "2026-03-02T00:00:00+00:00",
        "id": str(UUID(int=1)),
        "big": 10**30,
    }
    store.put(DOCS, "2", {"half": "a\ud800b", "nul": "\0"})
    assert store.get(DOCS, "2").value == {"half": "a\ud800b", "nul": "\0"}


@pytest.mark.parametrize("value", [{"v": {1, 2}}, {"v": object()}, {(1, 2): 3}, "text", ["list"], 7])
def test_what_json_can_not_hold_is_refused_and_nothing_of_the_batch_is_written(store, value):
    with pytest.raises(InvalidInput, match="'2'"):
        store.batch([PutOp(DOCS, "1", {"v": 1}), PutOp(DOCS, "2", value)])
    assert store.search(()) == []


def test_a_value_is_nested_no_deeper_than_every_python_reads_it(store):
    def nested(levels):
        value = {"v": 1}
        for _ in range(levels - 1):
            value = {"v": value}
        return value

    store.put(DOCS, "k", nested(500))
    assert store.get(DOCS, "k").value == nested(500)
    with pytest.raises(InvalidInput, match="nested more than 500 times"):
        store.put(DOCS, "k", nested(501))


def test_a_value_that_is_too_long_or_endless_is_refused(tmp_path):
    endless = {}
    endless["self"] = endless
    with Memory.open(tmp_path / "m", embedder=None, settings=Settings(text=TextSettings(max_characters=50))) as memory:
        with pytest.raises(TextTooLong):
            TieredStore(memory).put(DOCS, "1", {"v": "x" * 50})
        with pytest.raises(InvalidInput):
            TieredStore(memory).put(DOCS, "1", endless)


@pytest.mark.parametrize(
    "op",
    [
        PutOp(("a.b",), "1", {}),
        PutOp((), "1", {}),
        GetOp(("a", ""), "1"),
        SearchOp(("a\0",)),
        SearchOp((1,)),
        GetOp(("\ud800",), "1"),
    ],
)
def test_a_batch_checks_labels_as_well(store, op):
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(DOCS, "1", {}), op])
    assert store.search(()) == []


@pytest.mark.parametrize(
    "op",
    [
        GetOp(DOCS, 1),
        GetOp(DOCS, "\ud800"),
        SearchOp(DOCS, None, -1),
        SearchOp(DOCS, None, 10, -1),
        SearchOp(DOCS, ["x"]),
        SearchOp(DOCS, {"a": {"b": {"$near": 1}}}),
        SearchOp(DOCS, query=7),
        PutOp(DOCS, "1", {}, ttl="soon"),
        PutOp(DOCS, "1", {}, ttl=-1),
        PutOp(DOCS, "1", {}, ttl=math.inf),
        PutOp(DOCS, "1", {}, index="text"),
        PutOp(DOCS, "1", {}, index=True),
        "get",
        None,
    ],
)
def test_an_op_that_can_not_be_is_refused_before_anything_is_written(store, op):
    with pytest.raises(InvalidInput):
        store.batch([PutOp(DOCS, "1", {}), op])
    assert store.search(()) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"n": {"$gt": 1}}, ["2"]),
        ({"n": {"$lt": "zebra"}}, ["3"]),
        ({"n": {"$gte": "1"}}, ["3", "2", "1"]),
        ({"user": {"name": "Lena"}}, ["2"]),
        ({"user": {"age": {"$gte": 40}}}, ["2"]),
        ({"user.name": "Lena"}, ["2"]),
        ({"user.age": {"$lt": 40}}, []),
        ({"user.name.first": "Lena"}, []),
        ({"a.b": 1}, ["1"]),
        ({"n": {"$ne": 1}}, ["3", "2"]),
        ({"user": {"$eq": {"name": "Lena", "age": 41}}}, ["2"]),
        ({"user": {"$eq": {"name": "Lena"}}}, []),
        ({"list": [{"x": 1}]}, ["1"]),
        ({"list": (1,)}, ["2"]),
        ({"list": {"$eq": (1,)}}, ["2"]),
    ],
)
def test_filters_can_all_that_others_can(store, wanted, found):
    store.put(DOCS, "1", {"n": 1, "a.b": 1, "user": "Lena", "list": [{"x": 1}]})
    store.put(DOCS, "2", {"n": 2, "user": {"name": "Lena", "age": 41}, "list": [1]})
    store.put(DOCS, "3", {"n": "word"})
    assert keys(store.search(DOCS, filter=wanted)) == found


# Time to live.


@pytest.mark.parametrize("key", [None, 5, b"k", ["k"], UUID(int=1)])
async def test_a_key_that_is_no_text_is_refused_and_never_made_one(store, key):
    for door in (store.get, store.delete, lambda names, odd: store.put(names, odd, {"content": PORTO})):
        with pytest.raises(InvalidInput, match="`key`"):
            door(ALICE, key)
    for adoor in (store.aget, store.adelete, lambda names, odd: store.aput(names, odd, {"content": PORTO})):
        with pytest.raises(InvalidInput, match="`key`"):
            await adoor(ALICE, key)
    for op in (GetOp(ALICE, key), PutOp(ALICE, key, {"content": PORTO})):
        with pytest.raises(InvalidInput, match="`key`"):
            store.batch([PutOp(ALICE, "1", {"content": PORTO}), op])
    assert store.search(ALICE) == []


def test_what_has_expired_is_swept(store, clock):
    store.put(DOCS, "1", {"text": "tea"}, ttl=1)
    store.put(DOCS, "2", {"text": "tea"}, ttl=10)
    store.put(DOCS, "3", {"text": "tea"})
    assert store.sweep_ttl() == 0
    clock.tick(60)
    assert store.sweep_ttl() == 1
    assert keys(store.search(DOCS, query="tea")) == ["3", "2"]
    assert store.sweep_ttl() == 0


def test_the_background_deletes_what_has_expired(store, memory, clock):
    store.put(ALICE, "1", {"content": PORTO}, ttl=1)
    memory.flush()
    assert keys(store.search(ALICE, refresh_ttl=False)) == ["1"]
    clock.tick(60)
    memory.flush()
    assert store.search(ALICE) == []
    assert rows_holding(memory, "users/alice", "Porto") == 0


def test_reading_lets_the_time_begin_anew(memory, clock):
    for refresh, left in [(True, 1), (False, 0)]:
        store = TieredStore(memory, ttl={"refresh_on_read": refresh, "default_ttl": 2})
        store.put(DOCS, "1", {"v": 1})
        clock.tick(60)
        store.get(DOCS, "1")
        store.search(DOCS)
        clock.tick(60)
        store.sweep_ttl()
        assert len(store.search(DOCS)) == left
    store.put(DOCS, "2", {"v": 1})
    clock.tick(60)
    store.get(DOCS, "2", refresh_ttl=True)
    clock.tick(60)
    assert store.sweep_ttl() == 0


def test_what_has_expired_is_shown_until_it_is_swept_unless_it_is_to_be_omitted(memory, clock):
    plain, omitting = TieredStore(memory), TieredStore(memory, ttl={"omit_expired": True})
    plain.put(DOCS, "1", {"v": 1}, ttl=1)
    clock.tick(60)
    assert plain.search(DOCS, refresh_ttl=False)
    assert plain.get(DOCS, "1", refresh_ttl=False)
    assert omitting.get(DOCS, "1") is None
    assert omitting.search(DOCS) == omitting.search(DOCS, query="v") == omitting.list_namespaces() == []


def test_the_default_time_can_be_overruled(memory, clock):
    store = TieredStore(memory, ttl={"default_ttl": 1})
    store.put(DOCS, "1", {}, ttl=None)
    store.put(DOCS, "2", {})
    clock.tick(60)
    assert store.sweep_ttl() == 1
    assert keys(store.search(DOCS)) == ["1"]
    with pytest.raises(InvalidInput, match="ttl"):
        TieredStore(memory, ttl={"default_ttl": "soon"})


# Recall.

MEMORIES = [
    {"content": PORTO},
    {"kind": "Memory", "content": {"content": PORTO}},
    {"content": {"sister": "Lena", "lives": "Porto"}},
    {"kind": "Profile", "content": {"sister": "Lena", "lives in": ["Porto"]}},
]


@pytest.mark.parametrize("value", MEMORIES)
def test_what_langmem_wrote_is_recalled_with_its_date_until_it_is_deleted(store, alice, value):
    store.put(ALICE, "k1", value)
    assert "- [item k1] 2026-03-02: " in block(alice)
    assert "Porto" in block(alice, session="t2")
    assert "content" not in block(alice, session="t3")
    (known,) = alice.recall(QUESTION, session="t4").known
    assert (known.kind, known.ref) == ("item", "memories.alice..k1")
    store.delete(ALICE, "k1")
    assert block(alice, session="t5") == ""


@pytest.mark.parametrize(
    "value",
    [{"text": PORTO}, {"content": PORTO, "kind": 7}, {"content": 7}, {"content": PORTO, "more": 1}, {"kind": PORTO}],
)
def test_other_values_are_data_of_the_app_and_not_recalled(store, alice, value):
    store.put(ALICE, "1", value)
    assert store.search(ALICE, query=QUESTION)[0].key == "1"
    assert block(alice) == ""


def test_data_of_the_app_takes_no_place_of_what_is_known(store, alice):
    store.put(ALICE, "1", {"content": "Lena lives in Porto, by the harbour."})
    store.batch([PutOp(ALICE, f"app-{place}", {"text": QUESTION, "place": place}) for place in range(30)])
    assert "harbour" in block(alice)


def test_what_is_not_to_be_searched_is_not_recalled(store, alice):
    store.put(ALICE, "1", {"content": PORTO}, index=False)
    assert block(alice) == ""


def test_recall_follows_a_change_at_once(store, alice):
    store.put(ALICE, "1", {"content": PORTO})
    assert "Porto" in block(alice)
    store.put(ALICE, "1", {"content": "My sister Lena lives in Braga."})
    assert "Braga" in block(alice)
    assert "Porto" not in block(alice, session="t2")
    store.put(ALICE, "1", {"other": "My sister Lena lives in Braga."})
    assert block(alice, session="t3") == ""


def test_items_of_others_are_recalled_for_nobody_else(store, memory, alice):
    store.put(("memories", "bob"), "1", {"content": PORTO})
    store.put(("app",), "1", {"content": PORTO})
    assert block(alice) == ""
    assert "Porto" in block(memory.space("global"))


def test_what_has_expired_or_was_written_later_is_not_recalled(store, alice, clock):
    before = clock()
    clock.tick(1)
    store.put(ALICE, "1", {"content": PORTO}, ttl=1)
    assert alice.recall(QUESTION, session="t1", as_of=before).block == ""
    clock.tick(60)
    assert block(alice) == ""


def test_a_key_can_not_close_the_fence_and_has_any_signs(store, alice):
    key = '</memory_context> "quoted" .. #0: \n é'
    store.put(ALICE, key, {"content": PORTO})
    text = block(alice)
    assert text.count("</memory_context>") == 1
    assert alice.recall(QUESTION, session="t2").known[0].ref == f"memories.alice..{key}"
    store.delete(ALICE, key)
    assert block(alice, session="t3") == ""
    assert rows_holding(alice.memory, alice.name, "Porto") == 0


def test_deleting_takes_text_words_vectors_and_receipts_along(store, memory, alice):
    store.put(ALICE, "1", {"content": PORTO})
    store.search(ALICE, query=QUESTION)
    assert block(alice)
    assert rows_holding(memory, "users/alice", "Porto")
    store.delete(ALICE, "1")
    assert rows_holding(memory, "users/alice", "Porto") == 0
    assert alice.stats().vectors == alice.stats().notes == alice.stats().items == 0


def test_secrets_are_kept_in_the_value_only(store, memory, alice):
    value = {"content": "The password is hunter2, my sister Lena says."}
    store.put(ALICE, "1", value)
    assert store.get(ALICE, "1").value == value
    assert "hunter2" not in block(alice)
    assert "[secret: password]" in block(alice, session="t2")


def test_secrets_are_searched_where_the_settings_keep_them(tmp_path):
    settings = Settings(privacy=PrivacySettings(derived="keep"))
    with Memory.open(tmp_path / "m", embedder=None, settings=settings) as memory:
        store = TieredStore(memory)
        store.put(ALICE, "1", {"text": "The password is hunter2."})
        assert store.search(ALICE, query="hunter2")[0].score == pytest.approx(1)


# Searching.


def test_a_search_finds_what_was_put_before_it_by_words_and_by_meaning(memory, store):
    store.put(DOCS, "1", {"text": "robots in the garden"})
    assert store.search(DOCS, query="robot")[0].score > 0.7
    with memory.use("global") as opened, opened.reading() as connection:
        assert notes.counts(connection, opened.key, memory.embedding_model) == (1, 1)


def test_without_an_embedder_words_are_enough(tmp_path):
    with Memory.open(tmp_path / "m", embedder=None) as memory:
        store = TieredStore(memory)
        store.put(DOCS, "1", {"text": "a violin"})
        store.put(DOCS, "2", {"text": "a kettle"})
        assert [(item.key, item.score) for item in store.search(DOCS, query="violin")] == [("1", 1.0), ("2", None)]
        assert [item.score for item in store.search(DOCS, query="lantern")] == [None, None]


def test_an_embedder_that_is_away_costs_the_meaning_only(tmp_path):
    embedder = HashEmbedder()
    embedder.outage = ConnectionError("away")
    with Memory.open(tmp_path / "m", embedder=embedder, background=False) as memory:
        store = TieredStore(memory)
        store.put(DOCS, "1", {"text": "a violin"})
        assert store.search(DOCS, query="violin")[0].score == 1.0
        assert store.get(DOCS, "1").value == {"text": "a violin"}


def test_a_long_text_is_found_by_each_of_its_parts_and_once(store):
    long = "\n\n".join(f"{word} " + "filler words of no importance " * 40 for word in ("harbour", "lantern", "violin"))
    store.put(DOCS, "1", {"text": long})
    store.put(DOCS, "2", {"text": "a kettle"})
    for word in ("harbour", "lantern", "violin"):
        assert keys(store.search(DOCS, query=word)) == ["1", "2"]


def test_an_item_keeps_to_the_fields_of_its_last_put(store):
    store.put(DOCS, "1", {"a": "violin", "b": "kettle"}, index=["a"])
    store.put(DOCS, "1", {"a": "violin", "b": "kettle"}, index=["b"])
    assert store.search(DOCS, query="violin")[0].score == 0
    assert store.search(DOCS, query="kettle")[0].score == pytest.approx(1)
    store.put(DOCS, "1", {"a": "violin"}, index=False)
    assert store.search(DOCS, query="kettle")[0].score is None


# Many at once, and what stays.


def test_eight_threads_put_and_search_at_once(tmp_path):
    faults = []
    with Memory.open(tmp_path / "m", embedder=HashEmbedder()) as memory:
        store = TieredStore(memory)

        def work(name):
            try:
                for place in range(10):
                    store.put(ALICE, f"{name}-{place}", {"content": f"{name} has {place} robots"})
                    assert store.get(ALICE, f"{name}-{place}").value["content"].startswith(name)
                    assert store.search(ALICE, query=f"{name} robots", limit=3)
            except Exception as fault:  # noqa: BLE001 - a thread's own would be lost
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(f"thread{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert len(store.search(ALICE, limit=100)) == 80
        assert len(store.search(ALICE, query="robots", limit=100)) == 80
        assert {finding.level for finding in memory.user("alice").doctor()} <= {"ok", "note"}


WRITER = """
import sys
from langgraph.store.base import PutOp
from langmem_tiers import Memory
from langmem_tiers.integrations import TieredStore
from langmem_tiers.testing import HashEmbedder
name, many = sys.argv[2], int(sys.argv[3])
with Memory.open(sys.argv[1], embedder=HashEmbedder()) as memory:
    store = TieredStore(memory)
    for round in range(many):
        value = {"content": f"{name} robot {round}"}
        store.batch([PutOp(("memories", "alice"), f"{name}-{round}-{n}", value) for n in range(5)])
        print(round, flush=True)
"""


def writer(folder, name, many, environment):
    command = [sys.executable, "-c", WRITER, str(folder), name, str(many)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.folder
def test_two_processes_write_and_find_what_both_wrote(tmp_path, offline_environment):
    both = [writer(tmp_path / "m", name, 5, offline_environment) for name in ("one", "two")]
    assert [process.wait() for process in both] == [0, 0]
    for process in both:
        process.stdout.close()
    with Memory.open(tmp_path / "m", embedder=HashEmbedder(), background=False) as memory:
        store = TieredStore(memory)
        assert len(store.search(ALICE, limit=100)) == 50
        assert all(key.startswith("two") for key in keys(store.search(ALICE, query="two", limit=25)))


@pytest.mark.folder
def test_what_was_acknowledged_survives_a_kill_and_batches_are_whole(tmp_path, offline_environment):
    with writer(tmp_path / "m", "one", 10_000, offline_environment) as process:
        for _ in range(20):
            acknowledged = int(process.stdout.readline())
        process.kill()
    with Memory.open(tmp_path / "m", embedder=HashEmbedder(), background=False) as memory:
        store = TieredStore(memory)
        found = keys(store.search(ALICE, limit=100_000))
        assert len(found) >= 5 * (acknowledged + 1)
        assert len(found) % 5 == 0
        assert keys(store.search(ALICE, query="one robot 3", limit=5)) != []
        assert len(store.search(ALICE, query="robot", limit=100_000)) == len(found)


def test_items_are_there_after_the_memory_was_closed(tmp_path):
    for expected in (0, 1):
        with Memory.open(tmp_path / "m", embedder=HashEmbedder()) as memory:
            store = TieredStore(memory)
            assert len(store.search(ALICE, query=QUESTION)) == expected
            store.put(ALICE, "1", {"content": PORTO})


@pytest.mark.folder
def test_a_memory_of_an_earlier_version_gets_its_table(tmp_path):
    with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
        memory.user("alice").track([], session="s")
        with memory.use("users/alice") as opened, opened.writing() as connection:
            for table in ("store_items", "revisions"):  # what this step and the one after it made
                connection.exec_driver_sql(f"DROP TABLE {table}")
            which = "SELECT position FROM migrations WHERE name = 'store items'"
            steps = connection.exec_driver_sql(which).scalar_one()
            connection.exec_driver_sql(f"DELETE FROM migrations WHERE position >= {steps}")
            connection.exec_driver_sql(f"PRAGMA user_version={steps}")
    with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
        store = TieredStore(memory)
        store.put(ALICE, "1", {"content": PORTO})
        assert "Porto" in block(memory.user("alice"))


def test_the_words_and_vectors_of_items_can_be_made_anew(store, alice):
    store.put(ALICE, "1", {"content": PORTO})
    alice.flush()
    alice.rebuild()
    alice.flush()
    assert {finding.level for finding in alice.doctor()} <= {"ok", "note"}
    assert store.search(ALICE, query=QUESTION)[0].score > 0.5
    assert (alice.stats().items, alice.stats().notes) == (1, 1)


def test_stats_and_palace_count_items(store, memory, capsys):
    store.put(ALICE, "1", {"content": PORTO})
    told = {}
    for command in ("stats", "palace"):
        with pytest.raises(SystemExit, match="0"):
            main(["--path", str(memory.path), "--user", "alice", command])
        told[command] = capsys.readouterr().out
    assert re.search(r"^items +1$", told["stats"], re.MULTILINE)
    assert "0 notes, 1 store item\n" in told["palace"]


@pytest.mark.folder
def test_deleting_a_space_deletes_its_items(tmp_path):
    for _ in range(2):
        with Memory.open(tmp_path / "m", embedder=None) as memory:
            store = TieredStore(memory)
            assert store.search(()) == []
            store.put(ALICE, "1", {"content": PORTO})
        shutil.rmtree(memory.path / "spaces")


def test_random_values_come_back_and_are_searched(store):
    for place, text in enumerate(["", " ", "\n", "{}", "a" * 5000, "\u202e", "☃" * 10, str(uuid4())]):
        store.put(DOCS, str(place), {"text": text, "": [], "n": [[], {}, [[1]]], "none": None})
        assert store.get(DOCS, str(place)).value["text"] == text
    assert len(store.search(DOCS, query="a", limit=100)) == 8


@pytest.mark.parametrize("given", ["m1", None, 5])
def test_what_is_no_memory_is_refused_at_once(given):
    with pytest.raises(InvalidInput, match="`memory`"):
        TieredStore(given)


def test_a_space_is_no_memory(alice):
    with pytest.raises(InvalidInput, match="`memory`"):
        TieredStore(alice)


@pytest.mark.parametrize(
    ("ttl", "named"),
    [
        (60, "ttl"),
        ({"default": 5}, "'default'"),
        ({"default_ttl": "5"}, "default_ttl"),
        ({"default_ttl": -5}, "default_ttl"),
        ({"omit_expired": "yes"}, "omit_expired"),
    ],
)
def test_a_time_to_live_that_can_not_be_used_is_refused_at_once(memory, ttl, named):
    with pytest.raises(InvalidInput, match=named):
        TieredStore(memory, ttl=ttl)


def test_one_text_is_no_namespace(memory):
    store = TieredStore(memory)
    asked = [
        lambda: store.put("memories", "k", {}),
        lambda: store.get("memories", "k"),
        lambda: store.search("memories"),
        lambda: store.list_namespaces(prefix="memories"),
        lambda: store.list_namespaces(suffix="memories"),
        lambda: store.batch([PutOp("memories", "k", {})]),
    ]
    for each in asked:
        with pytest.raises(InvalidNamespaceError, match="tuple"):
            each()
    assert memory.spaces() == ()


def test_an_empty_key_is_one_as_in_other_stores(memory):
    store = TieredStore(memory)
    for namespace in [("memories", "alice"), ("tiers", "alice", "knowledge")]:
        store.put(namespace, "", {"content": "The user has two cats."})
        assert store.get(namespace, "").key == ""
        store.delete(namespace, "")
        assert store.get(namespace, "") is None


def test_an_operator_over_fields_is_refused_with_those_there_are(memory):
    with pytest.raises(InvalidInput, match=r"\$or") as refused:
        TieredStore(memory).search(("memories", "alice"), filter={"$or": [{"a": 1}]})
    assert "$eq" in refused.value.way_out


def test_a_function_that_fails_is_named(memory):
    store = TieredStore(memory, space_of=lambda namespace: namespace[5])
    with pytest.raises(InvalidSpace, match=r"`space_of` failed .*IndexError") as refused:
        store.put(("a",), "k", {})
    assert isinstance(refused.value.__cause__, IndexError)


def test_words_of_a_replaced_value_leave_the_index_in_a_quiet_moment(memory, store, clock):
    store.put(ALICE, "badge", {"text": "the badge is pumpernickel"})
    store.put(ALICE, "badge", {"text": "the badge is rye"})
    memory.flush()
    clock.tick(61)
    memory.flush()
    memory.close()
    assert [file for file in memory.path.rglob("memory.db*") if b"pernickel" in file.read_bytes()] == []


def test_words_of_a_deleted_value_leave_the_file_at_once(memory, store):
    store.batch([PutOp(ALICE, f"badge{number}", {"text": "the badge is pumpernickel"}) for number in range(3)])
    store.batch([PutOp(ALICE, f"badge{number}", None) for number in range(3)])
    memory.close()
    assert [file for file in memory.path.rglob("memory.db*") if b"pernickel" in file.read_bytes()] == []


def test_of_a_batch_the_last_put_comes_first(store):
    store.batch([PutOp(DOCS, f"k{number}", {"text": "robot"}) for number in range(700)])
    store.batch([PutOp(DOCS, f"k{number}", {"text": "robot again"}) for number in (3, 1, 2)])
    assert keys(store.search(DOCS, limit=5)) == ["k2", "k1", "k3", "k699", "k698"]


# Puts that wait for another one share its successor's transaction.


class Slow:
    """Commits by noting what it is given; the first one takes until there are so many others that wait."""

    def __init__(self, others):
        self.others = others
        self.commits = []
        self.shared = SharedCommits()

    def __call__(self, changes):
        if not self.commits:
            while len(self.shared._waiting["s"]) < self.others:
                threading.Event().wait(0.001)
        self.commits.append([put.key for put in changes.puts])
        if "bad" in self.commits[-1]:
            raise InvalidInput("bad")

    def put(self, *names):
        """What became of each, all put at once."""
        said = {}

        def put(place, name):
            item = NewItem(namespace="n", key=name, value="{}", texts=(), recalled=False)
            try:
                self.shared.write("s", Changes(puts=[item]), self)
            except InvalidInput as error:
                said[place] = error.message

        threads = []
        for place, name in enumerate(names):
            threads.append(threading.Thread(target=put, args=(place, name)))
            threads[-1].start()
            while place and not self.commits and len(self.shared._waiting.get("s", ())) < place:
                threading.Event().wait(0.001)
        for thread in threads:
            thread.join(20)
        return said


def test_those_that_wait_while_one_is_written_are_one_transaction():
    slow = Slow(others=3)
    assert slow.put("a", "b", "c", "d") == {}
    assert (slow.commits, slow.shared._waiting) == ([["a"], ["b", "c", "d"]], {})


def test_of_several_that_are_written_together_each_has_its_own_error():
    slow = Slow(others=3)
    assert slow.put("a", "b", "bad", "d") == {2: "bad"}
    assert slow.commits == [["a"], ["b", "bad", "d"], ["b"], ["bad"], ["d"]]


def test_of_two_for_one_key_the_later_one_is_another_transaction():
    slow = Slow(others=3)
    assert slow.put("a", "b", "b", "c") == {}
    assert slow.commits == [["a"], ["b"], ["b", "c"]]


def test_many_puts_at_once_are_all_there_and_take_fewer_transactions(store, memory):
    def put(thread):
        for number in range(20):
            store.put(ALICE, f"{thread}-{number}", {"n": number})

    store.put(ALICE, "first", {})
    with memory.use("users/alice") as opened, opened.reading() as connection:
        engine, commits = connection.engine, []
    event.listen(engine, "commit", commits.append)
    threads = [threading.Thread(target=put, args=(thread,)) for thread in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.search(ALICE, limit=1000)) == 121
    assert len(commits) < 120
