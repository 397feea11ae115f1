"""A memory behind a pooler such as PgBouncer, and on one of several servers, of which another takes over."""

import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

import psycopg
import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import InvalidInput, ServerRefused, ServerUnreachable
from langmem_tiers.settings import StorageSettings
from langmem_tiers.testing import HashEmbedder
from tests import engines, servers

pytestmark = [
    pytest.mark.skipif(engines.ENGINE != "postgres" or not servers.have_postgres(), reason="make test-servers runs it"),
    pytest.mark.xdist_group("servers"),
]
by_pooler = pytest.mark.skipif(not servers.have_pgbouncer(), reason="PgBouncer is not installed")

REFUSING, IGNORING = "", "ignore_startup_parameters = options"


@contextmanager
def pooler(postgres, **given):
    server = servers.PgBouncer(postgres, **given)
    try:
        yield server
    finally:
        server.remove()


@contextmanager
def standby(postgres):
    server = servers.Postgres(beside=postgres)
    try:
        yield server
    finally:
        server.remove()


def opened(address, **given):
    return Memory.open(address, **{"embedder": HashEmbedder(), "background": False, **given})


def said(space, *texts, session="monday"):
    space.track([Turn(role="user", content=text) for text in texts], session=session)


@by_pooler
@pytest.mark.parametrize("mode", ["transaction", "session"])
@pytest.mark.parametrize("settings", [REFUSING, IGNORING])
def test_behind_a_pooler_a_memory_is_the_one_that_it_is_without(postgres, mode, settings, caplog):
    caplog.set_level(logging.INFO)
    with postgres.new_database() as direct, pooler(postgres, mode=mode, settings=settings) as between:
        through = between.address(direct.rsplit("/", 1)[1])
        with opened(direct) as memory:
            said(memory.user("alice"), "My violin is in the attic.")
        with opened(f"{through}?password=kz77qx41") as memory:
            alice = memory.user("alice")
            said(alice, "My sister Lena lives in Bergen.", "My kayak is red.")
            alice.mine()
            assert memory.flush()
            said(memory.user("ben"), "My boat is called Nadia.")
            assert "attic" in alice.recall("Where is my violin?", session="tuesday").block
            assert "Bergen" in alice.recall("Where does Lena live?", session="wednesday").block
            assert "Nadia" not in alice.recall("What is my boat called?", session="thursday").block
            assert {each.level for each in alice.doctor()} == {"ok"}
        with opened(direct) as memory:
            assert [each.content for each in memory.user("alice").drawers()] == [
                "My violin is in the attic.",
                "My sister Lena lives in Bergen.",
                "My kayak is red.",
            ]
        with psycopg.connect(direct) as connection:
            elsewhere = "schemaname NOT IN ('langmem_tiers', 'pg_catalog', 'information_schema')"
            assert connection.execute(f"SELECT tablename FROM pg_tables WHERE {elsewhere}").fetchall() == []
    told = [each.getMessage().split()[0] for each in caplog.records]
    assert told.count("pooler_found") == 1
    assert "kz77qx41" not in caplog.text


@by_pooler
def test_behind_a_pooler_with_few_connections_many_threads_write_and_recall(postgres):
    with postgres.new_database() as direct, pooler(postgres, pool=2) as between:
        through = between.address(direct.rsplit("/", 1)[1])
        with opened(through) as memory, ThreadPoolExecutor(12) as threads:

            def talk(number):
                space = memory.user(f"user{number % 3}")
                for turn in range(8):
                    said(space, f"Boat {number} was painted {turn} times.", session=f"s{number}")
                    assert space.recall(f"How often was boat {number} painted?", session=f"t{number}").receipt

            assert [*threads.map(talk, range(12))] == [None] * 12
            for number in range(12):
                stored = [each.content for each in memory.user(f"user{number % 3}").drawers(session=f"s{number}")]
                assert stored == [f"Boat {number} was painted {turn} times." for turn in range(8)]


@by_pooler
def test_behind_a_pooler_with_few_connections_recalls_that_read_shared_spaces_too_follow_each_other(postgres):
    with (
        pooler(postgres, pool=2) as between,
        postgres.new_database() as direct,
        opened(between.address(direct.rsplit("/", 1)[1])) as memory,
        ThreadPoolExecutor(12) as clients,
    ):
        said(memory.space("teams/research"), "The badge of the archive is kz77qx41.")
        users = [memory.user(f"user{number}", fallbacks=["teams/research"]) for number in range(12)]
        found = clients.map(lambda user: user.recall("What is the badge of the archive?", threshold=0).items, users)
        assert all(found)


@by_pooler
def test_whoever_gets_no_connection_of_a_pooler_is_told_and_keeps_nobody_else_waiting(postgres):
    hasty = Settings(storage=StorageSettings(busy_timeout=0.1))
    with postgres.new_database() as direct, pooler(postgres, pool=1) as between:
        through = between.address(direct.rsplit("/", 1)[1])
        with opened(through, settings=hasty) as memory:
            alice = memory.user("alice")
            said(alice, "My violin is in the attic.")
            with psycopg.connect(through) as other:
                other.execute("SELECT 1")  # holds the only connection until its transaction ends
                with pytest.raises(ServerUnreachable, match="did not answer within"):
                    said(alice, "My kayak is red.")
            said(alice, "My boat is blue.")
            assert [each.content for each in alice.drawers()] == ["My violin is in the attic.", "My boat is blue."]


def test_when_another_server_takes_over_the_memory_goes_on_there():
    primary = servers.Postgres()
    try:
        with standby(primary) as second:
            hosts = f"127.0.0.1:{primary.port},127.0.0.1:{second.port}"
            address = f"postgresql://{servers.OWNER}@{hosts}/{servers.OWNER}?target_session_attrs=read-write"
            with opened(address) as memory:
                alice = memory.user("alice")
                said(alice, "My violin is in the attic.")
                arrived(second, 1)
                primary.stop()
                second.promote()
                said(alice, "My kayak is red.")
                assert [each.content for each in alice.drawers()] == ["My violin is in the attic.", "My kayak is red."]
                assert second_has(second, 2)
            primary.start()
    finally:
        primary.remove()


def test_a_server_that_takes_no_changes_is_left_for_the_one_that_does_under_the_same_address():
    primary = servers.Postgres()
    try:
        with opened(primary.address()) as memory:
            said(memory.user("alice"), "My violin is in the attic.")
        with standby(primary) as second, forwarding(second.port) as (port, send_to):
            memory = opened(f"postgresql://{servers.OWNER}@127.0.0.1:{port}/{servers.OWNER}")
            alice = memory.user("alice")
            assert [each.content for each in alice.drawers()] == ["My violin is in the attic."]
            with ThreadPoolExecutor(4) as threads:  # several connections are open
                assert [len(each) for each in threads.map(lambda _: alice.drawers(), range(16))] == [1] * 16
            with pytest.raises(ServerRefused, match="takes no changes"):
                said(alice, "My kayak is red.")
            send_to(primary.port)
            said(alice, "My kayak is red.")
            with ThreadPoolExecutor(4) as threads:
                more = [f"My boat has {number} sails." for number in range(8)]
                assert [*threads.map(lambda each: said(alice, each), more)] == [None] * 8
            assert len(alice.drawers()) == 10
            memory.close()
    finally:
        primary.remove()


@pytest.mark.parametrize("wrong", ["postgresql://user@one:5432,two:port/x", "postgresql://user@one,,two/x"])
def test_an_address_of_several_servers_that_is_none_is_refused(wrong):
    with pytest.raises(InvalidInput):
        opened(wrong)


def arrived(server, drawers):
    """Wait until a server that stands by has so many messages."""
    until = time.monotonic() + 30
    while not second_has(server, drawers):
        assert time.monotonic() < until
        time.sleep(0.05)


def second_has(server, drawers):
    with psycopg.connect(server.address("postgres")) as connection:
        if connection.execute("SELECT to_regclass('langmem_tiers.drawers')").fetchone() == (None,):
            return False  # not even its tables have come
        found = connection.execute("SELECT count(*) FROM langmem_tiers.drawers").fetchone()
    return found[0] == drawers


@contextmanager
def forwarding(port):
    """A port that leads to another one, and a way to have new connections go elsewhere."""
    to, ended = [port], threading.Event()

    def pump(source, target):
        with closing(source), closing(target), suppress(OSError):  # the other direction has ended
            while not ended.is_set() and (some := source.recv(65_536)):
                target.sendall(some)

    def accept(listening):
        while not ended.is_set():
            try:
                came, _ = listening.accept()
            except OSError:
                return
            away = socket.create_connection(("127.0.0.1", to[0]))
            for ends in ((came, away), (away, came)):
                threading.Thread(target=pump, args=ends, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, args=(listening,), daemon=True).start()
        try:
            yield listening.getsockname()[1], lambda port: to.__setitem__(0, port)
        finally:
            ended.set()
