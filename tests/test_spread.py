"""A memory on several databases and several Chroma servers: each space on one of them, always the same.

Runs over servers of its own, which it may stop, with `make test-servers`.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import monotonic, sleep
from uuid import uuid4

import psycopg
import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput, OtherDatabases, StorageError
from langmem_tiers.moving import move
from langmem_tiers.paths import separate
from langmem_tiers.storage.spread import chosen
from langmem_tiers.testing import HashEmbedder
from tests import engines, servers
from tests.graphing import ask, chat_graph, run

on_servers = pytest.mark.skipif(
    engines.ENGINE != "postgres" or not servers.have_postgres(), reason="make test-servers runs it"
)
pytestmark = [pytest.mark.by_address, pytest.mark.xdist_group("servers")]
USERS = [f"user{number}" for number in range(8)]
ASKED = "Which badge does the archive have?"


@pytest.fixture(scope="module")
def chromas():
    both = [servers.Chroma(), servers.Chroma()]
    yield both
    for each in both:
        each.remove()


@pytest.fixture
def databases(postgres):
    """The addresses of two new databases."""
    with postgres.new_database() as one, postgres.new_database() as other:
        yield [one, other]


def opened(databases, chromas=(), **given):
    return Memory.open(
        databases,
        chroma=[each.address for each in chromas] or None,
        **{"embedder": HashEmbedder(), "background": False, **given},
    )


def tell(memory, users=USERS):
    for user in users:
        turn = Turn(role="user", content=f"The badge of the archive of {user} is kz77.", message_id="1")
        memory.user(user).track([turn], session="monday")


def spaces_in(address):
    with psycopg.connect(address) as connection:
        return {space for (space,) in connection.execute("SELECT space FROM langmem_tiers.spaces")}


def collections(server):
    """The names of a server's collections that hold vectors."""
    return {each.name for each in _client(server).list_collections() if each.count()}


@cache
def _client(server):
    import chromadb

    host, _, port = server.address.removeprefix("http://").partition(":")
    return chromadb.HttpClient(host, int(port))


def block(memory, user):
    found = memory.user(user).recall(ASKED, session=uuid4().hex)
    assert not found.receipt.notes
    return found.block


@on_servers
def test_spaces_are_divided_among_the_databases_and_all_of_them_are_served(databases):
    with opened(databases) as memory:
        tell(memory)
        assert memory.flush()
        assert memory.spaces() == tuple(sorted(f"users/{user}" for user in USERS))
        assert all(user in block(memory, user) for user in USERS)
        first, second = map(spaces_in, databases)
        assert first | second == set(memory.spaces())
        assert not first & second
        assert min(len(first), len(second)) > 1
        assert all(name in spaces_in(chosen(name, databases)) for name in memory.spaces())
        memory.delete_user(USERS[0], confirm=True)
        assert f"users/{USERS[0]}" not in spaces_in(databases[0]) | spaces_in(databases[1])
        assert {memory.user(user).stats().drawers for user in USERS[1:]} == {1}


@on_servers
def test_a_worker_takes_the_spaces_of_all_databases(databases, chromas):
    with opened(databases, chromas) as memory:
        tell(memory)
        works = memory.worker(2)
        try:
            assert works.wait({f"users/{user}" for user in USERS}, 60)
        finally:
            works.stop(30)
        assert {memory.user(user).stats().vectors for user in USERS} == {1}
        assert memory.backend.queue.waiting().spaces == 0


@on_servers
def test_vectors_are_divided_among_the_chroma_servers(databases, chromas):
    with opened(databases, chromas) as memory:
        before, users = [collections(each) for each in chromas], []
        # Eight spaces of a database share a collection.
        while not all(collections(each) - old for each, old in zip(chromas, before, strict=True)):
            users.append(f"more{len(users)}")
            assert len(users) < 400
            tell(memory, users[-1:])
            memory.flush()
        for each in chromas:
            assert all(chosen(name.partition(".")[0], chromas) is each for name in collections(each))
        assert all(user in block(memory, user) for user in users)


@on_servers
def test_databases_that_are_not_those_of_the_memory_are_refused(databases):
    with opened(databases) as memory:
        tell(memory)
    one, other = databases
    for wrong in ([one], [other], [other, one], [one, other, f"{one}?schema=third"]):
        with pytest.raises(OtherDatabases, match="of 2"):
            opened(wrong)
    with opened(databases) as memory:
        assert {memory.user(user).stats().drawers for user in USERS} == {1}


@on_servers
def test_a_database_is_bound_by_its_first_space_and_not_by_being_looked_at(databases):
    opened(databases[1]).close()
    with opened(databases[1]) as alone, opened(databases) as both:
        tell(both)
        with pytest.raises(OtherDatabases, match="2 of 2"):
            tell(alone)
    assert len(spaces_in(databases[0]) | spaces_in(databases[1])) == len(USERS)


@on_servers
def test_a_database_from_before_there_were_several_is_the_only_one(databases):
    with opened(databases[0]) as memory:
        tell(memory)
    with psycopg.connect(databases[0]) as connection:
        connection.execute("SET search_path TO langmem_tiers")
        connection.execute("DROP TABLE part, shown, keyword_postings, note_words_postings")
        connection.execute("DELETE FROM schema_steps WHERE name IN ('parts', 'onlookers', 'postings')")
    with opened(databases[0]) as memory:
        assert len(memory.spaces()) == len(USERS)
    with pytest.raises(OtherDatabases, match="1 of 1"):
        opened(databases)


@on_servers
def test_a_server_that_is_named_twice_is_refused(databases, chromas):
    with pytest.raises(InvalidInput, match="twice"):
        opened([databases[0], databases[0]])
    with pytest.raises(InvalidInput, match="twice"):
        opened(databases, [chromas[0], chromas[0]])


@on_servers
def test_a_database_that_is_away_holds_up_no_other(postgres, databases):
    away = databases[1].rpartition("/")[2]
    with opened(databases) as memory:
        tell(memory)
        served = sorted(spaces_in(databases[0]))
        lost = sorted(spaces_in(databases[1]))[0]
        gone = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{away}'"
        postgres.as_superuser(f"ALTER DATABASE {away} ALLOW_CONNECTIONS false", gone)
        try:
            with pytest.raises(StorageError):
                memory.space(lost).stats()
            with pytest.raises(StorageError):
                memory.spaces()
            works = memory.worker()
            try:
                assert not works.wait({lost}, 0.2)
                assert works.wait(set(served), 60)
            finally:
                works.stop(30)
        finally:
            postgres.as_superuser(f"ALTER DATABASE {away} ALLOW_CONNECTIONS true")
        assert {memory.space(name).stats().vectors for name in served} == {1}
        assert memory.flush()
        assert memory.space(lost).stats().vectors == 1


@on_servers
def test_a_node_whose_database_is_slow_holds_up_no_node_of_another(databases):
    with opened(databases) as memory, psycopg.connect(databases[0]) as slow, ThreadPoolExecutor() as clients:
        tell(memory)
        graph = chat_graph(memory)
        held, free = (next(user for user in USERS if f"users/{user}" in spaces_in(each)) for each in databases)
        slow.execute("LOCK langmem_tiers.activities IN ACCESS EXCLUSIVE MODE")
        waits = clients.submit(graph.invoke, ask(ASKED), run(held))
        until = monotonic() + 10
        while not waited_for(databases[0]) and monotonic() < until:
            sleep(0.02)
        answered = clients.submit(graph.invoke, ask(ASKED), run(free)).result(3)
        assert free in answered["memory_blocks"].popitem()[1]
        assert not waits.done()
        slow.rollback()
        assert waits.result(10)["messages"]


def waited_for(address):
    """Whether something waits for a lock of a database."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(address) as connection:
        return connection.execute(waiting).fetchone() is not None


@on_servers
def test_when_chroma_servers_come_and_go_vectors_follow_and_none_is_left(databases, chromas):
    for each in ([chromas[1]], chromas, [chromas[0]]):
        with opened(databases, each) as memory:
            tell(memory)
            held = [collections(server) for server in chromas]
            # Before the background has looked, from where they are; of a server that is not named, by words only.
            found = memory.user(USERS[0]).recall(ASKED, session=uuid4().hex)
            assert USERS[0] in found.block
            memory.flush()
            assert all(user in block(memory, user) for user in USERS)
            for server, before in zip(chromas, held, strict=True):
                if server in each:
                    assert all(chosen(name.partition(".")[0], each) is server for name in collections(server) & before)
            assert {_problems(memory, user) for user in USERS} == {()}


def _problems(memory, user):
    return tuple(each.message for each in memory.user(user).doctor() if each.level == "problem")


@on_servers
def test_a_folder_moves_to_several_databases_and_back(tmp_path, databases):
    idle = {"embedder": None, "background": False}
    with Memory.open(tmp_path / "old", **idle) as folder, opened(databases, **idle) as several:
        tell(folder)
        report = move(folder, several)
        assert len(report.moved) == len(USERS)
    assert min(map(len, map(spaces_in, databases))) > 1
    with opened(databases, **idle) as several, Memory.open(tmp_path / "new", **idle) as folder:
        assert move(several, folder).rows == report.rows


@on_servers
def test_commands_and_settings_take_several_addresses_with_commas(databases, chromas, monkeypatch, capsys):
    with opened(databases, chromas) as memory:
        tell(memory)
    joined, vectors = ", ".join(databases), ",".join(each.address for each in chromas)

    def run(*words):
        with pytest.raises(SystemExit) as left:
            main([*words])
        said = capsys.readouterr()
        assert left.value.code == 0
        return said.out

    monkeypatch.setenv("LANGMEM_TIERS_STORAGE__CHROMA", vectors)
    given = run("--path", joined, "--embedder", "none", "stats")
    monkeypatch.setenv("LANGMEM_TIERS_PATH", joined)
    assert all(user in given for user in USERS)
    assert run("--embedder", "none", "--user", USERS[3], "recall", ASKED).count(USERS[3])
    with Memory.builder(databases).with_embeddings(None).open() as memory:
        assert len(memory.spaces()) == len(USERS)
        assert len(memory.backend._parts) == 2


def test_an_address_with_several_hosts_is_one():
    hosts = "postgresql://app@one:5432,two:5432/memories"
    assert separate(f"{hosts} , postgres://three/memories") == (hosts, "postgres://three/memories")


@pytest.mark.parametrize("wrong", [[], ["memory"], ["postgresql://one/x", "memory"], ["http://one:1"], [1]])
def test_a_list_that_is_not_of_databases_is_refused(wrong):
    with pytest.raises(InvalidInput, match="path"):
        Memory.open(wrong)
