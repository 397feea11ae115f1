"""What any LangGraph store does, held against ours and against LangGraph's own."""

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from langmem_tiers.integrations import TieredStore
from langmem_tiers.testing import HashEmbedder

DOCS = ("docs",)


def keys(found):
    return {item.key for item in found}


def fill(store, *namespaces):
    for place, namespace in enumerate(namespaces):
        store.put(namespace, f"id_{place}", {"data": place})


@pytest.fixture(params=["tiered", "in memory", "sqlite"])
def store(request, memory):
    """A store of each kind, without vectors where these need an extension of SQLite."""
    if request.param == "tiered":
        yield TieredStore(memory)
    elif request.param == "in memory":
        yield InMemoryStore()
    else:
        with SqliteStore.from_conn_string(":memory:") as opened:
            opened.setup()
            yield opened


@pytest.fixture(params=["tiered", "in memory"])
def searching(request, memory):
    """Makes a store that searches by meaning, with these fields."""

    def make(fields=None):
        if request.param == "tiered":
            return TieredStore(memory, fields=fields)
        index = {"dims": 64, "embed": HashEmbedder()} | ({} if fields is None else {"fields": fields})
        return InMemoryStore(index=index)

    return make


def test_what_is_put_is_there_until_it_is_deleted(store):
    store.put(("test", "docs"), "1", {"title": "One", "nested": {"list": [1, None, True, "é"]}})
    item = store.get(("test", "docs"), "1")
    assert isinstance(item, Item)
    assert (item.namespace, item.key) == (("test", "docs"), "1")
    assert item.value == {"title": "One", "nested": {"list": [1, None, True, "é"]}}
    assert store.get(("test", "other"), "1") is None
    assert store.get(("test", "docs"), "2") is None
    store.put(("test", "docs"), "1", {"title": "Two"})
    assert store.get(("test", "docs"), "1").value == {"title": "Two"}
    store.delete(("test", "docs"), "1")
    store.delete(("test", "docs"), "1")
    assert store.get(("test", "docs"), "1") is None
    assert store.search(("test",)) == []


def test_a_batch_answers_in_order_from_what_was_there_before(store):
    store.put(("test", "foo"), "1", {"data": "one"})
    results = store.batch(
        [
            PutOp(("test", "foo"), "1", {"data": "changed"}),
            GetOp(("test", "foo"), "1"),
            SearchOp(("test",), {"data": "one"}, 10, 0),
            PutOp(("test", "bar"), "2", {"data": "new"}),
            ListNamespacesOp(None, None, 10, 0),
            GetOp(("test", "bar"), "2"),
        ]
    )
    assert results[0] is results[3] is results[5] is None
    assert results[1].value == {"data": "one"}
    assert [(type(item), item.key, item.score) for item in results[2]] == [(SearchItem, "1", None)]
    assert results[4] == [("test", "foo")]
    assert store.get(("test", "foo"), "1").value == {"data": "changed"}


def test_of_several_puts_of_a_key_the_last_one_holds(store):
    ops = [PutOp(DOCS, "1", {"v": 1}), PutOp(DOCS, "1", {"v": 2}), PutOp(DOCS, "2", {"v": 1}), PutOp(DOCS, "2", None)]
    assert store.batch(ops) == [None] * 4
    assert store.get(DOCS, "1").value == {"v": 2}
    assert store.get(DOCS, "2") is None


def test_an_empty_batch_does_nothing(store):
    assert store.batch([]) == []


def test_a_search_goes_down_from_a_prefix_of_whole_labels(store):
    fill(store, ("foo",), ("foo", "child"), ("foo", "child", "deep"), ("foobar",), ("foobar", "baz"), ("Foo",))

    def under(*prefix):
        return {item.namespace for item in store.search(prefix, limit=100)}

    assert under("foo") == {("foo",), ("foo", "child"), ("foo", "child", "deep")}
    assert under("foobar") == {("foobar",), ("foobar", "baz")}
    assert under("Foo") == {("Foo",)}
    assert under("fo") == set()
    assert len(under()) == 6


def test_signs_of_patterns_are_signs_in_labels(store):
    pairs = [
        ("star*", "starX"),
        ("q?m", "qXm"),
        ("br[a]d", "brad"),
        ("user_1", "userX1"),
        ("a%b", "axxb"),
        ("p+", "pp"),
    ]
    for label, decoy in pairs:
        fill(store, (label,), (decoy,), (label, "child"))
        assert {item.namespace for item in store.search((label,))} == {(label,), (label, "child")}
        assert set(store.list_namespaces(prefix=(label,))) == {(label,), (label, "child")}


def test_a_line_break_tells_labels_apart(store):
    fill(store, ("team", "alice"), ("team", "alice\n"))
    assert store.list_namespaces(suffix=("alice",)) == [("team", "alice")]
    assert store.list_namespaces(prefix=("team", "alice")) == [("team", "alice")]


def test_a_search_comes_in_pages(store):
    for place in range(5):
        store.put(DOCS, str(place), {"n": place})
    pages = [store.search(DOCS, limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [len(page) for page in pages] == [2, 2, 1, 0]
    assert sorted(item.key for page in pages for item in page) == list("01234")


FILTERED = [
    ({"kind": "a"}, {"1", "3"}),
    ({"kind": "a", "n": 3}, {"3"}),
    ({"kind": {"$eq": "b"}}, {"2"}),
    ({"n": {"$gt": 1}}, {"2", "3"}),
    ({"n": {"$gte": 1, "$lt": 3}}, {"1", "2"}),
    ({"n": {"$lte": 1.0}}, {"1"}),
    ({"n": {"$ne": 2}}, {"1", "3"}),
    ({"n": {"$lt": float("inf")}}, {"1", "2", "3"}),
    ({"n": {"$lt": 10**100}}, {"1", "2", "3"}),
    ({"n": {"$eq": float("nan")}}, set()),
    ({"on": True}, {"1"}),
    ({"on": False}, {"2", "3"}),
    ({"tags": ["x", "y"]}, {"2"}),
    ({"access-level": "public"}, {"3"}),
    ({"missing": None}, {"1", "2", "3"}),
    ({"kind": "a' OR '1'='1"}, set()),
    ({"kind": "missing"}, set()),
    ({}, {"1", "2", "3"}),
]


@pytest.mark.parametrize(("wanted", "found"), FILTERED)
def test_a_filter_leaves_what_fits(store, wanted, found):
    store.put(DOCS, "1", {"kind": "a", "n": 1, "on": True, "tags": ["x"]})
    store.put(DOCS, "2", {"kind": "b", "n": 2, "on": False, "tags": ["x", "y"]})
    store.put(DOCS, "3", {"kind": "a", "n": 3, "on": False, "access-level": "public"})
    assert keys(store.search(DOCS, filter=wanted)) == found


def test_an_unknown_operator_is_a_value_error(store):
    store.put(DOCS, "1", {"n": 1})
    with pytest.raises(ValueError, match=r"\$near"):
        store.search(DOCS, filter={"n": {"$near": 1}})


LISTED = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, LISTED),
        ({"prefix": ("a", "b")}, LISTED[:4]),
        ({"suffix": ("f",)}, LISTED[3:]),
        ({"prefix": ("a",), "suffix": ("f",)}, LISTED[3:5]),
        ({"prefix": ("a", "*", "f")}, LISTED[3:5]),
        ({"suffix": ("*", "f")}, LISTED[3:]),
        ({"prefix": ("a", "b"), "max_depth": 3}, [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]),
        ({"max_depth": 1}, [("a",), ("b",)]),
        ({"prefix": ("a", "b"), "limit": 2}, LISTED[:2]),
        ({"prefix": ("a", "b"), "offset": 2}, LISTED[2:4]),
        ({"prefix": ("a", "b", "c", "longer")}, []),
        ({"prefix": ("nothing",)}, []),
    ],
)
def test_namespaces_are_listed_in_order(store, asked, found):
    fill(store, *reversed(LISTED))
    assert store.list_namespaces(**asked) == found


def test_an_empty_store_has_no_namespaces_and_an_emptied_one_neither(store):
    assert store.list_namespaces() == []
    store.put(DOCS, "1", {})
    store.delete(DOCS, "1")
    assert store.search(()) == []


def test_conditions_of_a_listing_hold_together(store):
    fill(store, *LISTED)
    conditions = (
        MatchCondition("prefix", ("a",)),
        MatchCondition("prefix", ("*", "b")),
        MatchCondition("suffix", ("e",)),
    )
    assert store.batch([ListNamespacesOp(conditions, None, 10, 0)]) == [[("a", "b", "d", "e")]]


@pytest.mark.parametrize("namespace", [(), ("the", "thing.about"), ("some", ""), ("langgraph", "foo"), ("a", 1)])
def test_a_namespace_that_can_not_be_is_refused(store, namespace):
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "1", {})
    if namespace != ("langgraph", "foo"):
        store.put(("foo", "langgraph"), "1", {"v": 1})
        assert store.get(("foo", "langgraph"), "1").value == {"v": 1}


async def test_the_async_methods_do_the_same(searching):
    store = searching()
    await store.aput(DOCS, "1", {"text": "the red bicycle"})
    await store.aput(DOCS, "2", {"text": "a green kettle"}, index=False)
    assert (await store.aget(DOCS, "1")).value == store.get(DOCS, "1").value
    found = await store.asearch(DOCS, query="bicycle", filter={"text": {"$ne": "x"}}, limit=5)
    assert [(item.key, item.score is None) for item in found] == [("1", False), ("2", True)]
    assert await store.alist_namespaces(prefix=DOCS, max_depth=1) == [DOCS]
    assert await store.abatch([GetOp(DOCS, "1"), PutOp(DOCS, "3", {})]) == [store.get(DOCS, "1"), None]
    await store.adelete(DOCS, "1")
    assert await store.aget(DOCS, "1") is None


def test_a_query_gives_the_nearest_first_with_scores(searching):
    store = searching(["text"])
    for key, text in [("1", "zany zebra"), ("2", "something about dogs"), ("3", "a text about birds")]:
        store.put(DOCS, key, {"text": text})
    found = store.search(DOCS, query="a zany zebra")
    assert found[0].key == "1"
    assert len(found) == 3
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    before = found[0].score
    store.put(DOCS, "1", {"text": "new words about dogs"})
    after = next(item.score for item in store.search(DOCS, query="a zany zebra") if item.key == "1")
    assert after < before


def test_what_is_not_indexed_comes_last_and_has_no_score(searching):
    store = searching()
    store.put(DOCS, "1", {"text": "dogs and cats"}, index=False)
    store.put(DOCS, "2", {"text": "a kettle"})
    store.put(DOCS, "3", {"text": "dogs"})
    found = store.search(DOCS, query="dogs")
    assert [item.key for item in found] == ["3", "2", "1"]
    assert found[-1].score is None
    assert keys(store.search(DOCS, query="dogs", limit=2)) == {"2", "3"}


def test_an_item_is_as_near_as_its_nearest_field(searching):
    store = searching(["one", "two", "absent"])
    store.put(DOCS, "1", {"one": "harbour", "other": "violin", "two": "garden"})
    store.put(DOCS, "2", {"one": "lantern", "other": "kettle", "two": "harbour"})
    same = store.search(DOCS, query="harbour")
    assert same[0].score == pytest.approx(same[1].score)
    assert store.search(DOCS, query="garden")[0].key == "1"
    assert store.search(DOCS, query="lantern")[0].key == "2"
    assert max(item.score for item in store.search(DOCS, query="violin")) < same[0].score


def test_a_put_chooses_what_is_searched_of_its_value(searching):
    store = searching(["nothing"])
    store.put(DOCS, "1", {"a": "harbour", "b": {"c": ["garden", "violin"]}}, index=["a", "b.c[*]"])
    store.put(DOCS, "2", {"a": "lantern", "b": "harbour"}, index=["a"])
    assert store.search(DOCS, query="violin")[0].key == "1"
    assert store.search(DOCS, query="harbour")[0].key == "1"
    assert store.search(DOCS, query="lantern")[0].key == "2"


def test_a_query_goes_with_filters_and_pages(searching):
    store = searching()
    for key, text, color, price in [("1", "apple", "red", 4.5), ("2", "car", "red", 3.0), ("3", "apple", "green", 4.0)]:
        store.put(DOCS, key, {"text": text, "color": color, "price": price})
    assert [item.key for item in store.search(DOCS, query="apple", filter={"color": "red"})] == ["1", "2"]
    assert [item.key for item in store.search(DOCS, query="car", filter={"color": "red"})] == ["2", "1"]
    found = store.search(DOCS, query="apple", filter={"price": {"$gte": 4.0}, "color": "green"})
    assert [item.key for item in found] == ["3"]
    first, second = (store.search(DOCS, query="apple", limit=2, offset=offset) for offset in (0, 2))
    assert (len(first), len(second)) == (2, 1)
    assert not keys(first) & keys(second)


@pytest.mark.parametrize("query", ["", None, "test " * 100, "test!@#$%^&*()", "xyzzy", "' OR 1=1 --"])
def test_any_text_is_a_query(searching, query):
    store = searching()
    store.put(DOCS, "1", {"text": "test document"})
    assert [item.key for item in store.search(DOCS, query=query)] == ["1"]


def test_every_script_is_searched(searching):
    store = searching()
    texts = {"1": "这是中文", "2": "これは日本語です", "3": "이건 한국어야", "4": "Это русский", "5": "यह रूसी है"}
    for key, text in texts.items():
        store.put(("user_123", "memories"), key, {"text": text})
    for key, text in texts.items():
        assert store.search(("user_123", "memories"), query=text)[0].key == key
