"""Working memory: scratch space under path keys, which expires; what is saved is there for whoever may read it."""

import io
import json
import threading
from datetime import timedelta

import pytest

from langmem_tiers import Memory, Settings
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput, InvalidKey, InvalidText, TextTooLong
from langmem_tiers.settings import WorkingSettings
from langmem_tiers.testing import HashEmbedder
from tests import engines


@pytest.fixture
def scratch(alice):
    """Working memory as one session sees it."""
    return alice.working.within("session/abc")


def keys(entries):
    """The keys of entries, in their order."""
    return [each.key for each in entries]


def test_what_is_saved_can_be_read_until_it_expires(scratch, clock):
    saved = scratch.save("inbox", "3 unread\n", category="Email", tags=["Urgent", "mail"])
    assert (saved.entry.key, saved.dropped) == ("session/abc/inbox", ())
    assert (saved.entry.category, saved.entry.tags) == ("email", ("urgent", "mail"))
    assert saved.entry.expires_at - saved.entry.stored_at == timedelta(minutes=5)
    clock.tick(299)
    found = scratch.get("inbox")
    assert found is not None
    assert found.value == "3 unread\n"
    clock.tick(1)
    assert scratch.get("inbox") is None
    assert scratch.list() == ()
    assert scratch.search("unread") == ()
    assert not scratch.delete("inbox")


def test_an_entry_says_how_long_it_stays(scratch, clock):
    scratch.save("a", "short", ttl_minutes=0.5)
    scratch.save("b", "long", ttl_minutes=600)
    clock.tick(60 * 1)
    assert keys(scratch.list()) == ["session/abc/b"]


def test_saving_again_replaces_and_begins_anew(scratch, clock):
    scratch.save("draft", "first words", tags=["old"])
    clock.tick(60 * 4)
    scratch.save("draft", "second words")
    clock.tick(60 * 4)
    (entry,) = scratch.list()
    assert entry.tags == ()
    assert scratch.get("draft").value == "second words"
    assert [hit.key for hit in scratch.search("first")] == []


def test_reads_cross_namespaces_and_writes_do_not(alice, scratch):
    patrol = alice.working.within("patrol/heartbeat")
    patrol.save("alerts", "disk nearly full", tags=["urgent"])
    assert scratch.get("patrol/heartbeat/alerts").value == "disk nearly full"
    assert keys(scratch.list("patrol")) == ["patrol/heartbeat/alerts"]
    assert [hit.key for hit in scratch.search("disk", prefix="patrol/heartbeat")] == ["patrol/heartbeat/alerts"]
    assert scratch.search("disk") == ()
    assert keys(scratch.list()) == []
    for write in (
        lambda: scratch.save("patrol/heartbeat/alerts", "all is well"),
        lambda: scratch.delete("patrol/heartbeat/alerts"),
    ):
        with pytest.raises(InvalidKey, match="another namespace than session/abc"):
            write()
    assert patrol.get("alerts").value == "disk nearly full"
    assert scratch.save("session/abc/own", "mine").entry.key == "session/abc/own"


def test_a_namespace_whose_name_begins_like_another_is_not_below_it(alice):
    alice.working.save("session/abc/x", "one")
    alice.working.save("session/abcd/x", "two")
    alice.working.save("session/abc0/x", "three")
    assert keys(alice.working.list("session/abc")) == ["session/abc/x"]
    assert len(alice.working.list("session")) == 3
    assert len(alice.working.list("")) == 3


def test_a_full_namespace_drops_what_expires_first_and_says_so(alice, scratch):
    for number in range(50):
        scratch.save(f"k{number:02}", "text", ttl_minutes=10 + (number + 25) % 50)
    alice.working.within("patrol/x").save("other", "stays", ttl_minutes=1)
    assert scratch.save("k07", "again", ttl_minutes=60).dropped == ()
    assert scratch.save("new", "text", ttl_minutes=1).dropped == ("session/abc/k25",)
    assert len(scratch.list()) == 50
    assert scratch.get("new").value == "text"
    assert alice.working.get("patrol/x/other") is not None


def test_a_long_value_is_kept_in_parts_with_an_outline(scratch):
    chapters = [
        f"## Chapter {name}\n\n" + f"The {name} crosses the river. " * 250 for name in ("heron", "otter", "kite")
    ]
    text = "\n\n".join(chapters)
    saved = scratch.save("book", text)
    assert (saved.entry.key, saved.entry.characters) == ("session/abc/book-index", len(text))
    assert keys(scratch.list()) == ["session/abc/book-index"]
    outline = scratch.get("book-index").value
    assert all(f"Chapter {name}" in outline for name in ("heron", "otter", "kite"))
    parts = [scratch.get(f"book-{number}").value for number in range(1, saved.entry.parts + 1)]
    assert "".join(parts) == text == scratch.get("book").value
    assert max(map(len, parts)) <= 8000
    assert scratch.get(f"book-{saved.entry.parts + 1}") is None
    best = scratch.search("otter", limit=1)[0]
    assert "otter" in scratch.get(best.key).value
    assert scratch.delete("book-index")
    assert scratch.list() == ()
    assert scratch.search("otter") == ()


def test_a_long_value_counts_as_one_entry_and_a_short_one_has_no_outline(scratch):
    scratch.save("page", "word " * 10_000)
    scratch.save("page", "short now")
    assert keys(scratch.list()) == ["session/abc/page"]
    assert scratch.get("page-index") is None
    assert scratch.get("page-1") is None
    scratch.save("page-1", "a name of its own")
    assert scratch.get("page-1").value == "a name of its own"


def test_search_is_by_words_category_and_tags_and_by_meaning_once_embedded(tmp_path, clock):
    with Memory.open(tmp_path / "m", embedder=HashEmbedder(), background=False, clock=clock) as memory:
        scratch = memory.user("alice").working.within("session/abc")
        scratch.save("one", "the ferry leaves at nine", category="travel", tags=["harbour"])
        clock.tick(1)
        scratch.save("two", "the ferry is late", category="news")
        assert {hit.key for hit in scratch.search("ferry")} == {"session/abc/one", "session/abc/two"}
        assert keys(scratch.search("ferry", category="travel")) == ["session/abc/one"]
        assert keys(scratch.search("harbour")) == ["session/abc/one"]
        assert keys(scratch.search(tags=["Harbour"])) == ["session/abc/one"]
        assert keys(scratch.search()) == ["session/abc/two", "session/abc/one"]
        assert keys(scratch.search(limit=1)) == ["session/abc/two"]
        memory.flush()
        assert scratch.search("ferry late")[0].key == "session/abc/two"


def test_it_is_there_after_a_restart_and_what_expired_meanwhile_is_swept(tmp_path, clock):
    def opened():
        return Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock)

    with opened() as memory:
        scratch = memory.user("alice").working.within("subagent/t1")
        scratch.save("short", "zanzibar", ttl_minutes=1)
        scratch.save("long", "madagascar", ttl_minutes=60)
    clock.tick(60 * 10)
    with opened() as memory:
        assert keys(memory.user("alice").working.list("")) == ["subagent/t1/long"]
        memory.flush()
    stored = engines.kept(tmp_path / "m")
    assert b"madagascar" in stored
    assert b"zanzibar" not in stored


def test_a_clock_that_goes_back_keeps_nothing_for_longer(memory, alice, scratch, clock):
    scratch.save("now", "text")
    clock.tick(-400 * 86_400)
    memory.flush()
    clock.tick(60 * 4)
    assert scratch.get("now") is not None
    clock.tick(60 * 1)
    assert scratch.get("now") is None


@pytest.mark.parametrize(
    "key",
    [
        "",
        " ",
        "..",
        "a/../b",
        "./a",
        "a//b",
        "/a",
        "a/",
        " a",
        "a\n",
        "a\\b",
        "session/abc",
        "x" * 10_000,
        "\ud800",
        7,
        None,
    ],
)
def test_no_key(scratch, key):
    with pytest.raises(InvalidKey):
        scratch.save(key, "text")
    with pytest.raises(InvalidKey):
        scratch.get(key)


@pytest.mark.parametrize("minutes", [0, -1, -0.0, 43_201, float("inf"), float("nan"), "5", True])
def test_no_time_to_live(scratch, minutes):
    with pytest.raises(InvalidInput):
        scratch.save("key", "text", ttl_minutes=minutes)
    assert scratch.list() == ()


def test_no_value(scratch):
    for value in (None, 7, b"bytes", {"a": 1}, "", " \n", "\ud800"):
        with pytest.raises(InvalidText):
            scratch.save("key", value)
    with pytest.raises(TextTooLong, match="400,001 characters"):
        scratch.save("key", "x" * 400_001)
    assert scratch.list() == ()


def test_without_a_namespace_keys_are_full_paths(alice):
    with pytest.raises(InvalidKey, match="does not say whose"):
        alice.working.save("inbox", "text")
    with pytest.raises(InvalidKey):
        alice.working.within("nobody/abc")
    assert alice.working.save("session/abc/inbox", "text").entry.key == "session/abc/inbox"


def test_any_session_has_a_namespace(alice):
    for name in ("a/b", "..", "100%", "ünï", "a\\b", "tab\t"):
        scratch = alice.working.of("session", name)
        scratch.save("x", name)
        assert scratch.get("x").value == name
    assert len(alice.working.list("session")) == 6


def test_a_key_of_full_length_has_an_outline_as_well(scratch):
    key = "k" * (256 - len("session/abc/"))
    scratch.save(key, "word " * 4000)
    (listed,) = scratch.list()
    assert scratch.get(listed.key).value.startswith(f"session/abc/{key} has 20,000 characters in 3 parts:")
    with pytest.raises(InvalidKey, match="longer than 256 characters"):
        scratch.save(f"{key}k", "text")


def test_secrets_are_masked(scratch):
    scratch.save("page", "the key is AKIAQYLPMN5HIEXMPL2Z and more")
    assert "AKIAQYLPMN5HIEXMPL2Z" not in scratch.get("page").value


def test_it_is_never_recalled(alice, scratch, memory):
    scratch.save("page", "The lighthouse keeper paints boats in winter.")
    memory.flush()
    assert alice.recall("What does the lighthouse keeper paint in winter?").block == ""


def test_another_user_sees_nothing(memory, scratch):
    scratch.save("page", "secret plans")
    bob = memory.user("bob").working.within("session/abc")
    assert bob.get("page") is None
    assert bob.list("") == ()
    assert bob.search("plans") == ()


def test_eight_writers_of_one_namespace_lose_nothing_and_stay_within_the_limit(tmp_path):
    with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
        scratch = memory.user("alice").working.within("session/abc")
        dropped: list[str] = []

        def write(writer):
            for number in range(20):
                dropped.extend(scratch.save(f"{writer}-{number}", "text").dropped)

        threads = [threading.Thread(target=write, args=(f"w{number}",)) for number in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        left = keys(scratch.list())
    assert len(left) == 50
    assert len(dropped) == len(set(dropped)) == 110
    assert {*left, *dropped} == {f"session/abc/w{writer}-{number}" for writer in range(8) for number in range(20)}


def test_the_limits_are_settings(tmp_path):
    settings = Settings(working=WorkingSettings(ttl_minutes=1, entries=2, max_characters=1000, part_characters=300))
    with Memory.open(tmp_path / "m", embedder=None, background=False, settings=settings) as memory:
        scratch = memory.user("alice").working.within("session/abc")
        assert scratch.save("a", "x " * 400).entry.parts == 3
        scratch.save("b", "text", ttl_minutes=2)
        assert scratch.save("c", "text", ttl_minutes=2).dropped == ("session/abc/a",)
        with pytest.raises(TextTooLong):
            scratch.save("d", "x" * 1001)


def test_on_the_command_line(tmp_path, capsys, monkeypatch):
    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(tmp_path / "m"), "--user", "alice", "--embedder", "none", "working", *arguments])
        printed = capsys.readouterr()
        return left.value.code or 0, printed.out, printed.err

    assert run("save", "session/abc/inbox", "3 unread", "--ttl", "60", "--tag", "mail")[1].startswith(
        "session/abc/inbox: expires in 1h 0m, tags: mail"
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"The ferry leaves at nine.\n" * 400)))
    assert "in 2 parts" in run("save", "subagent/t1/page", "--file", "-")[1]
    code, shown, _ = run("list")
    assert (code, [line.partition(":")[0] for line in shown.splitlines()]) == (
        0,
        ["session/abc/inbox", "subagent/t1/page-index"],
    )
    assert run("list", "patrol")[1] == "There is nothing in working memory.\n"
    assert run("get", "session/abc/inbox")[1] == "3 unread\n"
    assert run("get", "subagent/t1/page")[1] == "The ferry leaves at nine.\n" * 400
    assert run("search", "ferry", "--below", "subagent")[1].startswith("subagent/t1/page-1  The ferry leaves")
    assert run("search", "ferry", "--tag", "mail")[1] == "Nothing in working memory fits.\n"
    assert json.loads(run("list", "session", "--json")[1])[0]["tags"] == ["mail"]
    assert run("delete", "session/abc/inbox")[1] == "session/abc/inbox is deleted.\n"
    for wrong in (
        ["get", "session/abc/inbox"],
        ["delete", "session/abc/inbox"],
        ["get", "inbox"],
        ["save", "a/../b", "x"],
    ):
        code, _, error = run(*wrong)
        assert code == 1
        assert error.startswith("langmem-tiers: ")
    assert run("save", "session/abc/x")[0] == 2


@pytest.mark.folder
def test_what_was_saved_before_sizes_were_kept_is_listed_with_its_size(tmp_path):
    with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
        memory.user("alice").working.save("session/abc/page", "wörd " * 4000)
        with memory.use("users/alice") as opened, opened.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE working_entries DROP COLUMN characters")
            which = "SELECT position FROM migrations WHERE name = 'sizes in working memory'"
            steps = connection.exec_driver_sql(which).scalar_one()
            connection.exec_driver_sql(f"DELETE FROM migrations WHERE position >= {steps}")
            connection.exec_driver_sql(f"PRAGMA user_version={steps}")
    with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
        assert [each.characters for each in memory.user("alice").working.list()] == [20_000]
