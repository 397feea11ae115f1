"""The graph in memory and in its file: in step with the records, in every process, whatever happened to the file."""

import json
import logging
import random
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import networkx as nx
import orjson
import pytest

from langmem_tiers import Memory, Settings
from langmem_tiers.knowledge_graph.view_updates import build_view
from langmem_tiers.settings import StorageSettings
from langmem_tiers.storage import change_log, entities, relations
from langmem_tiers.storage.change_log import moment
from langmem_tiers.testing import HashEmbedder

LOGGER = "langmem_tiers.knowledge_graph.projection"


def opened(folder, **options) -> Memory:
    return Memory.open(folder, embedder=None, background=False, **options)


def told(subgraph) -> list[str]:
    return [str(relation) for relation in subgraph.relations]


def fill(space, count=5) -> None:
    for number in range(count):
        space.graph.add_relation(f"Person {number}", "lives in", "Berlin", valid_from=f"{2000 + number}")


@contextmanager
def looking(memory, name):
    """The store of a space, and a moment of it."""
    with memory.use(name) as store, store.reading() as connection:
        yield store, moment(connection, store.key)


def is_as_recorded(memory, name) -> bool:
    """Whether the graph in memory is what would be built from the rows."""
    with looking(memory, name) as (store, now):
        held = store.graph.view(now)
        rows = entities.every(now.connection, store.key), relations.every(now.connection, store.key)
        wanted = build_view(*rows)
    same_rows = held.entities == wanted.entities and held.relations == wanted.relations
    same_names = all(
        getattr(held.names, part) == getattr(wanted.names, part) for part in ("by_slug", "by_words", "by_word")
    )
    return same_rows and same_names and held.ids == wanted.ids and nx.utils.graphs_equal(held.graph, wanted.graph)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A closed memory whose graph was used: its file is there."""
    with opened(tmp_path / "m") as memory:
        fill(memory.user("alice"))
        memory.user("alice").graph.neighbours("Berlin")
    return tmp_path / "m"


def file_of(folder) -> Path:
    (file,) = folder.rglob("graph.json")
    return file


# In step with the records


def test_what_is_written_is_seen_by_the_next_question(alice):
    fill(alice, 1)
    assert told(alice.graph.neighbours("Berlin")) == ["Person 0 lives_in Berlin"]
    alice.graph.add_relation("Person 1", "lives in", "Berlin")
    assert len(alice.graph.neighbours("Berlin").relations) == 2


@pytest.mark.folder
def test_what_is_deleted_is_gone_from_the_graph_and_its_file(folder):
    with opened(folder) as memory:
        graph = memory.user("alice").graph
        graph.delete_entity("Person 3")
        assert list(folder.rglob("graph.json")) == []
        assert len(graph.neighbours("Berlin").relations) == 4
    assert "Person 3" not in file_of(folder).read_text()


def test_random_writing_leaves_the_graph_as_the_rows_say(memory, alice, clock):
    rng = random.Random(7)
    graph = alice.graph
    known: list[str] = []
    for step in range(120):
        clock.tick(60)
        random_step(rng, graph, known)
        if step % 3 == 0:
            graph.stats()
            assert is_as_recorded(memory, alice.name), step
    assert len(known) > 20


def random_step(rng, graph, known) -> None:
    people = [f"P{rng.randrange(12)}" for _ in range(2)]
    kind = rng.random()
    if kind < 0.55 or not known:
        options = {"value": rng.randrange(5)} if rng.random() < 0.3 else {"object": f"T{rng.randrange(4)}"}
        predicate = rng.choice(["lives in", "visited", "has battery"])
        year = rng.choice([None, str(rng.randrange(2000, 2020))])
        known.append(graph.add_relation(people[0], predicate, **options, valid_from=year).relation.id)
    elif kind < 0.65:
        graph.add_entity(people[0], aliases=[f"alias {rng.randrange(9)}"])
    elif kind < 0.75:
        graph.withdraw_relation(known[-1]) if graph.relation(known[-1]) else None
    elif kind < 0.85:
        graph.delete_relation(rng.choice(known))
    elif kind < 0.9:
        graph.delete_entity(people[0])
    elif people[0] != people[1] and all(graph.entity(name) for name in people):
        merge_or_part(rng, graph, people)


def merge_or_part(rng, graph, people) -> None:
    from langmem_tiers.errors import InvalidInput

    standing = graph.merges()
    try:
        if standing and rng.random() < 0.5:
            graph.unmerge(rng.choice(standing).id)
        else:
            graph.merge(*people)
    except InvalidInput:
        pass  # refused: they are one, or were said to be two


def test_a_view_does_not_change_under_its_reader(memory, alice):
    fill(alice)
    with looking(memory, alice.name) as (store, now):
        view = store.graph.view(now)
        berlin = view.names.by_slug["berlin"][0]
        before = view.graph.copy(), dict(view.relations), sorted(view.graph.in_edges(berlin, keys=True))
        alice.graph.add_relation("Person 9", "lives in", "Berlin")
        alice.graph.delete_entity("Person 1")
        alice.graph.add_entity("Berlin", aliases=["Spree city"])
        with looking(memory, alice.name) as (_, later):
            assert len(store.graph.view(later).graph.in_edges(berlin)) == 5
        assert store.graph.view(now) is view
        assert nx.utils.graphs_equal(view.graph, before[0])
        assert (dict(view.relations), sorted(view.graph.in_edges(berlin, keys=True))) == before[1:]
        assert "spree city" not in view.names.by_slug


def test_a_reader_who_began_long_ago_sees_the_graph_of_then(memory, alice):
    fill(alice, 2)
    with looking(memory, alice.name) as (store, now):
        for number in range(10, 20):
            alice.graph.add_relation(f"Person {number}", "lives in", "Berlin")
            alice.graph.neighbours("Berlin")
        assert len(store.graph.view(now).relations) == 2


def test_a_transaction_sees_what_it_has_written_and_nobody_else_does(memory, alice):
    fill(alice, 2)
    alice.graph.neighbours("Berlin")
    with memory.use(alice.name) as store, suppress(ZeroDivisionError), store.writing() as connection:
        relations.remove(connection, store.key, [1])
        change_log.append(connection, store.key, "relations.changed", 1, at=0)
        assert len(store.graph.view(moment(connection, store.key)).relations) == 1
        with looking(memory, alice.name) as (_, now):
            assert len(store.graph.view(now).relations) == 2
        raise ZeroDivisionError
    assert is_as_recorded(memory, alice.name)


def test_many_threads_ask_while_others_write(memory, alice):
    fill(alice, 3)
    stop = threading.Event()
    faults = []

    def ask():
        while not stop.is_set():
            found = alice.graph.neighbours("Berlin", depth=2, limit=100)
            ends = {entity.id for entity in found.entities}
            if not all({relation.subject.id, relation.object.id} <= ends for relation in found.relations):
                faults.append(found)

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        for number in range(30):
            alice.graph.add_relation(f"Writer {number}", "lives in", "Berlin")
            if number % 5 == 0:
                alice.graph.delete_entity(f"Writer {number}")
        stop.set()
        [each.result() for each in asking]
    assert faults == []
    assert is_as_recorded(memory, alice.name)


def test_views_share_what_did_not_change(memory, alice):
    fill(alice)
    with looking(memory, alice.name) as (store, now):
        before = store.graph.view(now)
    alice.graph.add_relation("Rex", "is a", "dog")
    with looking(memory, alice.name) as (store, now):
        after = store.graph.view(now)
    berlin = after.names.by_slug["berlin"][0]
    assert after.graph._pred[berlin] is before.graph._pred[berlin]
    assert after.around.keys() == before.around.keys()


def test_a_hub_is_not_put_in_order_anew_for_one_more_relation(memory, alice):
    fill(alice, 70)
    alice.graph.neighbours("Berlin")
    alice.graph.add_relation("Person 100", "lives in", "Berlin", valid_from="2100")
    alice.graph.end_relation(alice.graph.neighbours("Person 0").relations[0].id, "2010")
    alice.graph.delete_entity("Person 1")
    with looking(memory, alice.name) as (store, now):
        view = store.graph.view(now)
        berlin = view.names.by_slug["berlin"][0]
        kept = view.around[berlin]
        wanted = build_view(view.entities.values(), view.relations.values())
        wanted.edges(berlin, _everything(), 1)
    assert kept == wanted.around[berlin]


def _everything():
    from langmem_tiers.knowledge_graph.view import Asked

    return Asked()


# Two processes


def other_process(folder, environment, *lines) -> str:
    code = """
        import sys
        from langmem_tiers import Memory
        with Memory.open(sys.argv[1], embedder=None, background=False) as memory:
            graph = memory.user("alice").graph
    """
    script = textwrap.dedent(code) + "".join(f"    {line}\n" for line in lines)
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@pytest.mark.folder
def test_two_processes_see_each_others_changes(folder, offline_environment):
    with opened(folder) as memory:
        graph = memory.user("alice").graph
        assert len(graph.neighbours("Berlin").relations) == 5
        write = 'graph.add_relation("Person 7", "lives in", "Berlin", valid_from="2050-01")'
        count = 'print(len(graph.neighbours("Berlin", ended=True).relations))'
        assert other_process(folder, offline_environment, write, count) == "6"
        assert len(graph.neighbours("Berlin", ended=True).relations) == 6
        graph.delete_entity("Person 7")
        assert other_process(folder, offline_environment, count) == "5"
        assert is_as_recorded(memory, "users/alice")


@pytest.mark.folder
def test_of_two_with_one_name_each_process_names_the_same_first(tmp_path):
    with opened(tmp_path / "memory") as memory:
        graph = memory.user("alice").graph
        graph.add_entity("Ilvy", type="person")
        graph.add_entity("Ilvy", type="organisation", distinct=True)
        assert len(graph.resolve("Ilvy").matches) == 2
        graph.add_entity("Ilvy", type="person", aliases=["Ilva"])
        with opened(tmp_path / "memory") as other:
            assert other.user("alice").graph.resolve("Ilvy") == graph.resolve("Ilvy")
            assert other.user("alice").graph.resolve("Ilvi") == graph.resolve("Ilvi")


@pytest.mark.folder
def test_of_two_that_are_spelled_alike_each_process_names_the_same_first(tmp_path):
    with opened(tmp_path / "memory") as memory:
        graph = memory.user("alice").graph
        graph.add_entity("Morrin")
        graph.add_entity("Tolvyn")
        assert len(graph.resolve("Tolvn").matches) == 1
        graph.add_entity("Morrin", aliases=["Tolvin"])
        with opened(tmp_path / "memory") as other:
            asked = (graph, other.user("alice").graph)
            seen = [[each.entity.name for each in one.resolve("Tolvn").matches] for one in asked]
        assert seen == [["Morrin", "Tolvyn"]] * 2


@pytest.mark.folder
def test_a_process_that_dies_leaves_a_graph_that_is_made_whole(folder, offline_environment):
    die = "__import__('os')._exit(0)"
    write = 'graph.add_relation("Person 8", "lives in", "Berlin")'
    other_process(folder, offline_environment, 'graph.neighbours("Berlin")', write, die)
    with opened(folder) as memory:
        assert len(memory.user("alice").graph.neighbours("Berlin").relations) == 6
        assert is_as_recorded(memory, "users/alice")


# The file


@pytest.mark.folder
def test_the_file_is_node_link_data_that_networkx_reads(folder):
    written = json.loads(file_of(folder).read_text())
    assert written["format"] == 1
    read = nx.node_link_graph(written["graph"], name="number", edges="edges")
    assert (type(read), read.number_of_nodes(), read.number_of_edges()) == (nx.MultiDiGraph, 6, 5)


@pytest.mark.folder
def test_the_graph_opens_from_its_file_and_the_tail_of_the_log(folder, caplog):
    shutil.copy(file_of(folder), folder / "kept.json")
    with opened(folder) as memory:
        memory.user("alice").graph.add_relation("Person 9", "knows", "Person 1")
    shutil.copy(folder / "kept.json", file_of(folder))
    with caplog.at_level(logging.INFO, LOGGER), opened(folder) as memory:
        assert len(memory.user("alice").graph.neighbours("Person 1").relations) == 2
        assert is_as_recorded(memory, "users/alice")
    assert caplog.messages == []


@pytest.mark.folder
def test_the_file_is_what_is_read(folder):
    """With a hash of its own, what the file says is believed: else no test here would show that it is read at all."""
    body = json.loads(file_of(folder).read_text())
    body["graph"]["nodes"][0]["name"] = "Somebody else"
    rewrite(file_of(folder), body)
    with opened(folder) as memory, looking(memory, "users/alice") as (store, now):
        assert "Somebody else" in {row.name for row in store.graph.view(now).entities.values()}
        assert "graph" in {each.check for each in memory.user("alice").doctor() if each.level == "problem"}


def rewrite(file, content) -> None:
    from langmem_tiers.knowledge_graph import snapshot

    graph = content.pop("graph")
    content.pop("hash")
    head, body = orjson.dumps(content), orjson.dumps(graph)
    digest = snapshot._digest(head, body).encode()
    file.write_bytes(head[:-1] + b',"hash":"' + digest + b'","graph":' + body + b"}")


def truncate(file) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def shorten(file) -> None:
    file.write_bytes(file.read_bytes().replace(b"Person 3", b""))


def empty(file) -> None:
    file.write_bytes(b"")


def flip_bit(file) -> None:
    written = bytearray(file.read_bytes())
    written[len(written) // 2] ^= 4
    file.write_bytes(bytes(written))


def of_another_version(file) -> None:
    rewrite(file, json.loads(file.read_text()) | {"format": 99})


def ahead(file) -> None:
    rewrite(file, json.loads(file.read_text()) | {"position": 10_000})


def of_other_records(file) -> None:
    rewrite(file, json.loads(file.read_text()) | {"mark": "relations.changed 1 1 0"})


def no_json(file) -> None:
    file.write_bytes(b"\x80\x04\x95" * 400)


def another_shape(file) -> None:
    rewrite(file, json.loads(file.read_text()) | {"graph": {"nodes": [{"name": "x"}], "edges": [], "graph": {}}})


def unreadable(file) -> None:
    file.unlink()
    file.mkdir()


FAULTS = {
    truncate: "cut off",
    shorten: "hash",
    empty: "cut off",
    flip_bit: "hash",
    of_another_version: "another version",
    ahead: "stands at 10000",
    of_other_records: "other records",
    no_json: "no snapshot",
    another_shape: "something else",
    unreadable: "cannot be read",
}


@pytest.mark.folder
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_file_that_is_not_good_is_not_used_and_one_line_says_why(folder, caplog, fault):
    fault(file_of(folder))
    with caplog.at_level(logging.INFO, LOGGER), opened(folder) as memory:
        alice = memory.user("alice")
        (problem,) = [each for each in alice.doctor() if each.level == "problem"]
        way_out = "Remove the folder" if fault is unreadable else "rebuild"
        assert (problem.check, way_out in problem.way_out) == ("graph", True)
        assert len(alice.graph.neighbours("Berlin").relations) == 5
        assert is_as_recorded(memory, "users/alice")
        (line,) = caplog.messages
        assert FAULTS[fault] in line


@pytest.mark.folder
def test_every_bit_of_a_file_is_watched(folder):
    file = file_of(folder)
    written = file.read_bytes()
    with opened(folder) as memory, looking(memory, "users/alice") as (store, now):
        from langmem_tiers.knowledge_graph.snapshot import UnusableSnapshot

        for place in random.Random(3).sample(range(len(written)), 300):
            changed = bytearray(written)
            changed[place] ^= 1 << place % 8
            file.write_bytes(bytes(changed))
            with pytest.raises(UnusableSnapshot):
                store.graph.require_usable(now)
        file.write_bytes(written)
        assert store.graph.require_usable(now) is not None


@pytest.mark.folder
def test_a_file_that_was_not_good_is_written_anew(folder):
    truncate(file_of(folder))
    with opened(folder) as memory:
        memory.user("alice").graph.neighbours("Berlin")
    with opened(folder) as memory:
        assert [each for each in memory.user("alice").doctor() if each.level == "problem"] == []


@pytest.mark.folder
def test_a_deleted_file_is_no_fault(folder, caplog):
    file_of(folder).unlink()
    with caplog.at_level(logging.INFO, LOGGER), opened(folder) as memory:
        assert [each for each in memory.user("alice").doctor() if each.level == "problem"] == []
        assert len(memory.user("alice").graph.neighbours("Berlin").relations) == 5
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert file_of(folder).exists()


@pytest.mark.folder
def test_a_database_put_back_from_a_backup_and_written_on_is_noticed(folder, caplog):
    (database,) = folder.rglob("memory.db")
    shutil.copy(database, folder / "backup.db")
    with opened(folder) as memory:
        memory.user("alice").graph.add_relation("Person 1", "likes", "tea")
        memory.user("alice").graph.neighbours("Person 1")
    shutil.copy(folder / "backup.db", database)
    with opened(folder) as memory:
        memory.user("alice").graph.add_relation("Person 2", "likes", "coffee")
        memory.user("alice").graph.add_relation("Person 3", "likes", "coffee")
        with caplog.at_level(logging.INFO, LOGGER):
            found = memory.user("alice").graph.neighbours("Person 1", predicates=["likes"])
        assert found.relations == ()
        assert is_as_recorded(memory, "users/alice")
    assert "other records" in caplog.text


@pytest.mark.folder
def test_the_doctor_finds_nothing_wrong_with_a_good_graph_and_rebuilding_says_what_it_did(folder):
    with opened(folder) as memory:
        alice = memory.user("alice")
        told = [each.message for each in alice.doctor() if each.check == "graph"]
        assert told == ["6 entities and 5 relations, as in the records"]
        file_of(folder).unlink()
        assert "graph: 6 entities and 5 relations in a fresh file" in alice.rebuild()
        assert file_of(folder).exists()


@pytest.mark.folder
def test_the_doctor_finds_a_graph_that_is_not_what_the_records_say_and_rebuilding_mends_it(folder):
    (database,) = folder.rglob("memory.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE relations SET predicate = 'knows' WHERE number = 2")
    with opened(folder) as memory:
        alice = memory.user("alice")
        (problem,) = [each for each in alice.doctor() if each.level == "problem"]
        assert problem.message.startswith("1 entities and relations")
        alice.rebuild()
        assert [each for each in alice.doctor() if each.level == "problem"] == []
        assert len(alice.graph.neighbours("Berlin", predicates=["knows"]).relations) == 1


@pytest.mark.folder
def test_the_doctor_finds_relations_of_nobody(folder):
    (database,) = folder.rglob("memory.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM entities WHERE name = 'Person 2'")
    file_of(folder).unlink()
    with opened(folder) as memory:
        alice = memory.user("alice")
        (problem,) = [each for each in alice.doctor() if each.level == "problem"]
        assert problem.message == "1 relation leads from or to entities that are not there"
        assert len(alice.graph.neighbours("Berlin").relations) == 4


# When it is written


@pytest.mark.folder
def test_the_file_is_written_when_enough_has_changed(memory, alice):
    fill(alice, 3)
    with memory.use(alice.name) as store:
        assert not store.graph.checkpoint(1_000)
        assert not store.graph.path.exists()
        assert store.graph.checkpoint(4)
        assert store.graph.path.exists()
        assert not store.graph.checkpoint()
        fill(alice, 4)
        assert store.graph.checkpoint()


@pytest.mark.folder
def test_a_graph_that_was_not_used_is_not_written(tmp_path):
    with opened(tmp_path) as memory:
        fill(memory.user("alice"))
    assert list(tmp_path.rglob("graph.json")) == []


@pytest.mark.folder
def test_an_empty_graph_has_no_file(tmp_path):
    with opened(tmp_path) as memory:
        assert memory.user("alice").graph.resolve("Anna").matches == ()
        memory.user("alice").doctor()
    assert list(tmp_path.rglob("graph.json")) == []


@pytest.mark.folder
def test_graphs_are_written_when_spaces_make_room_for_others(tmp_path):
    with opened(tmp_path, settings=Settings(storage=StorageSettings(memory_mb=0))) as memory:
        for name in ("alice", "bob"):
            fill(memory.user(name), 2)
            assert len(memory.user(name).graph.neighbours("Berlin").relations) == 2
        deadline = time.monotonic() + 60  # spaces are closed in the background
        while not list(tmp_path.rglob("graph.json")) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(list(tmp_path.rglob("graph.json"))) == 1
    assert len(list(tmp_path.rglob("graph.json"))) == 2


@pytest.mark.folder
def test_a_file_that_can_not_be_written_costs_nothing_but_a_warning(tmp_path, caplog):
    with opened(tmp_path) as memory:
        alice = memory.user("alice")
        fill(alice, 2)
        alice.graph.neighbours("Berlin")
        with memory.use(alice.name) as store:
            store.graph.path.mkdir()
    assert "graph_not_written" in caplog.text
    with opened(tmp_path) as memory:
        assert len(memory.user("alice").graph.neighbours("Berlin").relations) == 2


@pytest.mark.folder
def test_what_a_killed_process_left_half_written_is_cleared_away(folder):
    import os

    old, fresh = (file_of(folder).with_name(f".graph.json.{name}") for name in ("old", "fresh"))
    for left in (old, fresh):
        left.write_text("half")
    os.utime(old, (0, 0))
    with opened(folder) as memory:
        fill(memory.user("alice"), 8)
        memory.user("alice").graph.neighbours("Berlin")
    assert (old.exists(), fresh.exists()) == (False, True)


def test_names_that_are_hard_to_write_down_come_back(tmp_path):
    names = ['"],"graph":{', "東京 \u200d 🚀", "line\\n", "Ω" * 200, ',"hash":"']
    for _ in range(2):
        with opened(tmp_path) as memory:
            graph = memory.user("alice").graph
            for name in names:
                graph.add_relation(name, "likes", value='"}],"edges":[]')
            assert is_as_recorded(memory, "users/alice")
            assert [graph.resolve(name).entity.name == name for name in names]


def test_asking_loads_no_embedder(tmp_path):
    embedder = HashEmbedder()
    with Memory.open(tmp_path, embedder=embedder, background=False) as memory:
        fill(memory.user("alice"))
        memory.user("alice").graph.neighbours("Berlin")
        memory.user("alice").graph.resolve("Berlin")
    assert (embedder.documents_embedded, embedder.queries_embedded) == (0, 0)


def test_the_graph_library_is_loaded_by_who_wants_its_algorithms_and_by_no_question(tmp_path, offline_environment):
    code = """
        import sys
        from langmem_tiers import Memory, Turn
        with Memory.open(sys.argv[1], embedder=None, background=False) as memory:
            memory.user("alice").track([Turn(role="user", content="Hello Anna")], session="s")
            print("networkx" in sys.modules, "rapidfuzz" in sys.modules)
            memory.user("alice").graph.add_relation("Anna", "lives_in", "Lisbon")
            memory.user("alice").graph.neighbours("Anna")
            memory.user("alice").recall("Where does Anna live?", session="t")
            print("networkx" in sys.modules)
            memory.user("alice").graph.networkx()
            print("networkx" in sys.modules)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    done = subprocess.run(command, env=offline_environment, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False", "False", "True"]
