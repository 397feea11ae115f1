"""What can go wrong with the servers of a memory: they refuse, go away, come back empty, or hold what is foreign.

Runs over servers of its own, which it may stop, with `make test-servers`.
"""

import gc
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import psycopg
import pytest
from chromadb import Collection
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import ListNamespacesOp, SearchOp
from sqlalchemy import event, text
from sqlalchemy.engine import Engine

from langmem_tiers import Health, Memory, RecallSettings, Settings, Turn
from langmem_tiers.background.embedding import NOTES, Embedding
from langmem_tiers.cli.main import main
from langmem_tiers.clock import utc_now
from langmem_tiers.errors import (
    DatabaseDamaged,
    DatabaseLocked,
    InvalidInput,
    MigrationFailed,
    NewerSchema,
    ServerBusy,
    ServerRefused,
    ServerUnreachable,
    StorageError,
    UnknownEntity,
)
from langmem_tiers.integrations import TieredStore
from langmem_tiers.naming import space_mark
from langmem_tiers.records import Evidence
from langmem_tiers.settings import StorageSettings
from langmem_tiers.storage import change_log, chroma_client, chroma_server, embedding_cache, facts, notes
from langmem_tiers.storage.chroma_client import Named
from langmem_tiers.storage.keyword import ALL, drawers
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.storage.postgres.pool import FairPool
from langmem_tiers.storage.shared_collection import seated
from langmem_tiers.telemetry.logs import Sparing
from langmem_tiers.testing import FrozenClock, HashEmbedder, ScriptedChatModel
from tests import engines, servers
from tests.graphing import ask, chat_graph, run, texts
from tests.meanings import Meanings

pytestmark = [
    pytest.mark.skipif(engines.ENGINE != "postgres" or not servers.have_postgres(), reason="make test-servers runs it"),
    pytest.mark.xdist_group("servers"),
]

OF_ALL = {"spaces", "schema_steps", "part"}
"""Tables that are not about one space."""
IMPATIENT = Settings(storage=StorageSettings(busy_timeout=0.2))
_KEY = {"space": "users/alice"}
BADGE = "The badge of the archive is kz77qx41."


@pytest.fixture(scope="module")
def chroma():
    server = servers.Chroma()
    yield server
    server.remove()


@pytest.fixture
def address(postgres):
    """The address of a new database."""
    with postgres.new_database() as made:
        yield made


def opened(address, chroma=None, **given):
    vectors = None if chroma is None else chroma.address
    return Memory.open(address, chroma=vectors, **{"embedder": HashEmbedder(), "background": False, **given})


def said(space, text, session="monday"):
    space.track([Turn(role="user", content=text)], session=session)


def turns(memory, user="alice"):
    return memory.user(user).stats().drawers


def due(address):
    """How many spaces the background is to visit now."""
    with psycopg.connect(address) as connection:
        now = "extract(epoch FROM clock_timestamp()) * 1000"
        held = connection.execute(f"SELECT count(*) FROM langmem_tiers.spaces WHERE work_at <= {now}")
        return held.fetchone()[0]


@pytest.mark.parametrize(
    "wrong",
    [
        "postgresql://user@host:port/database",
        "postgresql:///x?schema=A b",
        "postgresql:///x?schema=pg_x",
        "host=db.internal dbname=memories password=s3cret",
    ],
)
def test_an_address_that_is_none_is_refused(wrong):
    with pytest.raises(InvalidInput) as refused:
        opened(wrong)
    assert "s3cret" not in str(refused.value)


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(ServerUnreachable, match=r"127\.0\.0\.1:1/"):
        opened("postgresql://langmem@127.0.0.1:1/langmem")


def test_a_database_that_is_not_there_is_refused(postgres):
    with pytest.raises(ServerRefused):
        opened(postgres.address(database="nowhere"))


def test_a_role_that_may_not_connect_is_refused(postgres):
    postgres.as_superuser("CREATE DATABASE closed")
    postgres.as_superuser("REVOKE CONNECT ON DATABASE closed FROM PUBLIC")
    with pytest.raises(ServerRefused):
        opened(postgres.address(database="closed"))


def test_an_unknown_option_in_the_address_is_refused(address):
    with pytest.raises(ServerRefused, match="shema"):
        opened(f"{address}?shema=x")


@pytest.mark.parametrize("named", ["user", "select", "public"])
def test_a_schema_may_have_a_name_that_means_something_in_sql(address, named):
    for _ in range(2):
        with opened(f"{address}?schema={named}") as memory:
            said(memory.user("alice"), BADGE)
            assert turns(memory) == 1


def test_a_role_that_owns_a_schema_only_keeps_a_memory_in_it(postgres, address):
    database = address.rpartition("/")[2]
    postgres.as_superuser("CREATE ROLE tenant LOGIN")
    postgres.as_superuser("CREATE SCHEMA langmem_tiers AUTHORIZATION tenant", database=database)
    with opened(postgres.address("tenant", database)) as memory:
        said(memory.user("alice"), BADGE)
        assert turns(memory) == 1


def test_options_in_the_address_hold_but_for_the_limits_of_the_memory(address):
    options = "application_name=web-3&options=-c%20TimeZone%3DAsia/Tokyo%20-c%20statement_timeout%3D1"
    with opened(f"{address}?{options}") as memory, psycopg.connect(address) as connection:
        said(memory.user("alice"), BADGE)
        names = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"
        assert ("web-3",) in connection.execute(names).fetchall()
        with memory.user("alice").context.open() as store, store.reading() as reading:
            asked = "SELECT current_setting('TimeZone'), current_setting('statement_timeout')"
            assert tuple(reading.execute(text(asked)).one()) == ("Asia/Tokyo", "1min")


def test_a_unix_socket_is_named_by_its_folder(postgres, address):
    at, database = urlsplit(address), address.rpartition("/")[2]
    folder = str(postgres.sockets).replace("/", "%2F")
    for named in (f"@{folder}:{at.port}/{database}", f"@/{database}?host={postgres.sockets}&port={at.port}"):
        with opened(f"postgresql://{at.username}{named}") as memory:
            said(memory.user("alice"), BADGE, session=named[:9])
    with opened(address) as memory:
        assert turns(memory) == 2


def test_a_scheme_in_capitals_is_the_same(address):
    with opened(f" {address.replace('postgresql', 'PostgreSQL')}") as memory:
        assert memory.spaces() == ()


def test_a_wrong_password_is_refused_and_not_shown(postgres):
    postgres.as_superuser(f"CREATE ROLE {servers.GUARDED} LOGIN PASSWORD 'right'")
    with pytest.raises(ServerRefused) as refused:
        opened(postgres.address(f"{servers.GUARDED}:wr0ng"))
    assert "wr0ng" not in str(refused.value)


def test_a_role_that_may_make_no_schema_is_refused_and_nothing_is_made(postgres, address):
    postgres.as_superuser("CREATE ROLE visitor LOGIN")
    with pytest.raises(ServerRefused):
        opened(address.replace(servers.OWNER, "visitor"))
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT to_regnamespace('langmem_tiers')").fetchone() == (None,)


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_in_which_not_every_text_can_be_stored_is_refused_and_nothing_is_made(postgres, address, encoding):
    name = f"{address.rpartition('/')[2]}_narrow"
    narrow = f"OWNER {servers.OWNER} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
    postgres.as_superuser(f"CREATE DATABASE {name} {narrow}")
    try:
        with pytest.raises(ServerRefused, match=f"has the encoding {encoding}"):
            opened(postgres.address(database=name))
        with psycopg.connect(postgres.address(database=name), client_encoding="UTF8") as connection:
            assert connection.execute("SELECT to_regnamespace('langmem_tiers')").fetchone() == (None,)
    finally:
        postgres.as_superuser(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("setting", ["client_encoding = LATIN1", "client_encoding = SQL_ASCII", "row_security = off"])
def test_a_database_may_have_settings_of_its_own(postgres, address, setting):
    postgres.as_superuser(f"ALTER DATABASE {address.rpartition('/')[2]} SET {setting}")
    with opened(address) as memory:
        said(memory.user("alice"), f"{BADGE} 日本")
        assert memory.user("alice").drawer(1).content == f"{BADGE} 日本"


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_processes_that_write_to_one_space_follow_each_other_whatever_isolation_the_database_has(
    postgres, address, level
):
    postgres.as_superuser(f"ALTER DATABASE {address.rpartition('/')[2]} SET default_transaction_isolation = '{level}'")
    # Those of one process queue before that: two names of the same database stand for two processes.
    with opened(address) as one, opened(f"{address}?application_name=other") as other, ThreadPoolExecutor(2) as pool:
        users = [one.user("alice"), other.user("alice")]
        list(pool.map(lambda user: [said(user, f"{BADGE} {id(user)} {number}") for number in range(20)], users))
        assert turns(one) == 40


def test_a_process_that_is_open_goes_on_when_a_newer_one_adds_to_the_schema(address):
    with opened(address) as memory:
        said(memory.user("alice"), BADGE)
        with psycopg.connect(address) as connection:
            connection.execute("INSERT INTO langmem_tiers.schema_steps VALUES (99, 'later', '9.0', 0)")
            connection.execute("CREATE TABLE langmem_tiers.later (number integer)")
        said(memory.user("ben"), BADGE)
        assert memory.flush()
        assert (turns(memory), turns(memory, "ben")) == (1, 1)


def test_what_a_space_has_is_counted_without_comparing_each_with_each(address):
    """However few the statistics say there are: a space may be larger than others, or have just come."""
    with opened(address) as memory:
        said(memory.user("alice"), BADGE)
        with memory.use("users/alice") as store, store.reading() as connection:
            asked = []
            event.listen(connection, "before_cursor_execute", lambda *given: asked.append(given[2]))
            embedding_cache.counts(connection, store.key, "some-model")
            of_any = asked[0].replace("%(space)s", "$1").replace("%(model)s", "$2")
            connection.exec_driver_sql(f"PREPARE counted (text, text) AS {of_any}")
            plan = connection.exec_driver_sql("EXPLAIN EXECUTE counted ('users/alice', 'some-model')").scalars().all()
    assert not any("Join Filter" in step for step in plan), "\n".join(plan)


def test_a_newer_schema_is_left_alone(address):
    opened(address).close()
    with psycopg.connect(address) as connection:
        connection.execute("INSERT INTO langmem_tiers.schema_steps VALUES (99, 'later', '9.0', 0)")
    with pytest.raises(NewerSchema):
        opened(address)


ODD = ["nul \x00 in the middle", "\x00", "\U0010fffe", "a \U0010ffff0 b", "\U0010ffff\x00\U0010fffe1 \x00 🎻"]


@pytest.mark.parametrize("odd", ODD)
def test_characters_that_the_server_does_not_store_come_back_as_they_were(address, odd):
    with opened(address) as memory:
        alice = memory.user("alice")
        said(alice, f"{BADGE} {odd} I play the cello.")
        alice.flush()
        [drawer] = alice.drawers()
        assert drawer.content == f"{BADGE} {odd} I play the cello."
        [recalled] = alice.recall("Which badge does the archive have?").items
        assert recalled.drawer.content == drawer.content
        word = {"word": odd, "source": "monday"}
        kept = alice.knowledge.save(
            "The user plays the cello.", evidence=[Evidence(drawer=drawer.number, quote=f"{odd} I play")], metadata=word
        ).entry
        assert alice.knowledge.get(kept.id) == kept
        assert kept.metadata == word
        assert alice.knowledge.unconfirmed() == ()
        assert kept.evidence[0].quote == f"{odd} I play"


def test_when_chroma_is_killed_recall_goes_on_by_words_and_by_vectors_once_it_is_back(address, chroma):
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        alice.flush()
        chroma.kill()
        try:
            without = alice.recall("Which badge does the archive have?")
        finally:
            chroma.start()
    assert BADGE in without.block
    assert any("vector" in each.lower() for each in without.receipt.notes)
    with opened(address, chroma) as memory:
        again = memory.user("alice").recall("Which badge does the archive have?")
        assert BADGE in again.block
        assert not again.receipt.notes


def test_a_pasted_log_whose_parts_are_nearest_to_one_another_is_not_searched_through(address, chroma, monkeypatch):
    asked, query = [], chroma_client.ChromaServers.query
    lines = "\n".join(f"request {number} of the archive took {number % 97} ms" for number in range(15_000))

    def noted(self, place, queries, most):
        asked.append(most)
        return query(self, place, queries, most)

    def widths(memory, session):
        asked.clear()
        recalled = memory.user("alice").recall("How long did request 7 of the archive take?", session=session)
        assert "of the archive" in recalled.block
        return list(asked)

    monkeypatch.setattr(chroma_client.ChromaServers, "query", noted)
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        for number in range(300):
            said(alice, f"I sorted box {number}.")
        said(alice, f"The log says:\n{lines}")
        alice.flush()
        few = widths(memory, "friday")
        monkeypatch.setattr(chroma_server, "_WIDEST", float("inf"))
        many = widths(memory, "saturday")
    assert len(few) < len(many)


def test_what_was_said_later_about_long_messages_is_searched_for_once(address, chroma, monkeypatch):
    asked, query = [], chroma_client.ChromaServers.query
    long = " ".join(f"Shelf {number} of the archive holds folder {number % 97}." for number in range(400))

    def noted(self, place, queries, most):
        asked.append(len(queries))
        return query(self, place, queries, most)

    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, f"{BADGE} {long}")
        for number in range(60):
            said(alice, f"I sorted box {number}.")
        alice.flush()
        monkeypatch.setattr(chroma_client.ChromaServers, "query", noted)
        assert BADGE in alice.recall("Which badge does the archive have?").block
    assert len([each for each in asked if each > 1]) == 1, asked


def test_a_chroma_server_that_was_restarted_between_two_recalls_is_not_missed(address, chroma):
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        alice.flush()
        for _ in range(2):
            recalled = alice.recall("Which badge does the archive have?")
            assert BADGE in recalled.block
            assert not recalled.receipt.notes
            chroma.kill()
            chroma.start()


def test_while_chroma_is_away_every_search_goes_on_by_words_and_facts_are_saved(address, chroma, caplog):
    with opened(address, chroma) as memory:
        alice, store = memory.user("alice"), TieredStore(memory)
        scratch = alice.working.within("session/abc")
        alice.knowledge.save(BADGE, category="archive")
        alice.documents.append("memory/archive.md", BADGE)
        alice.archive.write("t1", summary=BADGE)
        scratch.save("badge", BADGE)
        store.put(("memories", "alice"), "badge", {"content": BADGE})
        said(alice, BADGE)
        assert alice.flush()
        chroma.kill()
        try:
            asked = "Which badge does the archive have?"
            searches = {
                "messages": lambda: alice.search(asked),
                "knowledge": lambda: alice.knowledge.search(asked),
                "documents": lambda: alice.documents.search(asked),
                "archive": lambda: alice.archive.search(asked),
                "working memory": lambda: scratch.search(asked),
                "store": lambda: store.search(("memories", "alice"), query=asked),
            }
            assert [name for name, search in searches.items() if "kz77qx41" not in repr(search())] == []
            assert alice.knowledge.save("Lena plays the cello.", category="people").entry
            scratch.save("later", "The ferry leaves at nine.")
            assert "The ferry" in repr(scratch.search("ferry"))
        finally:
            chroma.start()
    assert "searched_by_words" in caplog.text


def test_health_tells_apart_who_does_not_answer(postgres, address, chroma):
    with opened(address, chroma) as memory:
        assert memory.health() == Health(records=True, vectors=True)
        chroma.kill()
        try:
            without = memory.health()
        finally:
            chroma.start()
        assert (without.records, without.vectors) == (True, False)
        assert chroma.address in without.problems[0]
        postgres.stop(signal.SIGQUIT)
        try:
            assert not memory.health().records
        finally:
            postgres.start()
        assert memory.health().records


def test_a_server_that_is_no_chroma_or_one_of_another_kind_is_as_one_that_is_away(address):
    with _answering_nothing() as other, Memory.open(address, chroma=other, embedder=HashEmbedder()) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        alice.flush()
        found = alice.recall("Which badge does the archive have?", session="later")
        assert BADGE in found.block
        assert not memory.health().vectors
        assert alice.stats().vectors == 1


def test_a_collection_of_the_same_name_with_foreign_vectors_is_left_as_it_is(address, chroma, caplog):
    import chromadb

    host, _, port = chroma.address.removeprefix("http://").partition(":")
    client = chromadb.HttpClient(host, int(port))
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        with alice.context.open() as store:
            foreign = client.create_collection(store.shelves[0]._shared, embedding_function=None)
        foreign.add(ids=["1"], embeddings=[[1.0, 2.0, 3.0]])
        alice.flush()
        assert BADGE in alice.recall("Which badge does the archive have?", session="later").block
        assert foreign.get(include=[])["ids"] == ["1"]
    assert "dimension" in caplog.text
    client.delete_collection(foreign.name)
    with opened(address, chroma) as memory:
        assert memory.user("alice").flush()
        with memory.use("users/alice") as store:
            assert store.vectors.ids()


def test_when_chroma_has_lost_its_data_it_is_filled_again(address, chroma):
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        alice.flush()
        with alice.context.open() as store:
            before = store.vectors.ids()
    chroma.kill()
    chroma.lose_data()
    chroma.start()
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, "I play the cello.")
        alice.flush()
        with alice.context.open() as store:
            assert store.vectors.ids() > before > set()
        assert not alice.recall("badge").receipt.notes


def test_a_recall_that_finds_its_vectors_gone_has_them_made_again_from_the_records(address, chroma):
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        assert memory.flush()
        assert due(address) == 0
        with alice.context.open() as store:
            before = store.vectors.ids()
        chroma.kill()
        chroma.lose_data()
        chroma.start()
        without = alice.recall("Which badge does the archive have?")
        assert BADGE in without.block
        assert any("vector" in each.lower() for each in without.receipt.notes)
        assert due(address) == 1
        assert memory.flush()
        with alice.context.open() as store:
            assert store.vectors.ids() == before > set()
        assert not alice.recall("And what number does the badge have?").receipt.notes


def test_the_doctor_says_of_a_collection_that_was_removed_how_its_vectors_are_made_again(address, chroma):
    import chromadb

    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        alice.knowledge.save("The user plays the cello.")
        assert memory.flush()
        assert {each.level for each in alice.doctor()} == {"ok"}
        host, _, port = chroma.address.removeprefix("http://").partition(":")
        client = chromadb.HttpClient(host, int(port))
        with alice.context.open() as store:
            removed = [store.shelves[0]._shared, store.shelves[1]._shared]
        for name in removed:
            client.delete_collection(name)
        [lost] = [each for each in alice.doctor() if each.level != "ok"]
        assert (lost.check, lost.level, "lost" in lost.message) == ("Chroma", "problem", True)
        assert "rebuild" in lost.way_out
        alice.rebuild()
        alice.flush()
        assert {each.level for each in alice.doctor()} == {"ok"}


def test_when_the_server_restarts_in_the_middle_nothing_acknowledged_is_lost(postgres, address):
    kept = 0
    with opened(address) as memory:
        alice = memory.user("alice")
        for number in range(12):
            if number % 4 == 2:
                postgres.stop(signal.SIGQUIT)
                with pytest.raises(StorageError):
                    said(alice, f"Lost {number}.")
                postgres.start()
            said(alice, f"Kept {number}.")
            kept += 1
        assert turns(memory) == kept


def test_work_that_a_restart_broke_off_is_done_at_once_when_it_is_asked_for_again(postgres, address):
    class Stopping(HashEmbedder):
        def embed_documents(self, texts):
            if not self.documents_embedded:
                postgres.stop()
            return super().embed_documents(texts)

    with opened(address, embedder=Stopping(), settings=IMPATIENT) as memory:
        said(memory.user("alice"), BADGE)
        with pytest.raises(ServerUnreachable):
            memory.flush()
        postgres.start()
        assert memory.flush(timeout=20)


def test_a_restart_between_two_calls_fails_neither(postgres, address):
    with opened(address) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        with alice.context.open() as store, ExitStack() as several:
            for _ in range(3):
                several.enter_context(store.reading())
        postgres.stop(signal.SIGQUIT)
        postgres.start()
        assert BADGE in alice.recall("Which badge does the archive have?").block
        said(alice, "I play the cello.")
        assert turns(memory) == 2


def test_a_recall_reads_of_the_turns_of_a_space_those_it_shows(postgres, address, chroma):
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        for session in range(60):
            alice.track([Turn(role="user", content=f"Note {session}-{n}.") for n in range(20)], session=f"s{session}")
        assert memory.flush()
    postgres.as_superuser("ANALYZE", database=address.rpartition("/")[2])
    before = _rows_read(postgres, address, "turns")
    with opened(address, chroma) as memory:
        for number in range(10):  # a statement is planned for all spaces once it was used some times
            assert "Note 7-1" in memory.user("alice").recall("Note 7-1", session=f"t{number}").block
    assert _rows_read(postgres, address, "turns") - before < 300


def test_deleting_a_space_leaves_no_row_and_no_vector_of_it(postgres, address, chroma):
    with opened(address, chroma) as memory:
        for user in ("carol", "ben"):
            said(memory.user(user), f"I am {user}, and live in Turin.")
            memory.user(user).mine()
            memory.user(user).flush()
            memory.user(user).recall("Where do I live?")
        assert _rows(postgres, address, "users/carol")
        assert _vectors_of(chroma, "users/carol")
        memory.delete_user("carol", confirm=True)
        assert _rows(postgres, address, "users/carol") == {}
        assert _rows(postgres, address, "users/ben")
        assert memory.spaces() == ("users/ben",)
    assert not _vectors_of(chroma, "users/carol")
    assert _vectors_of(chroma, "users/ben")


def test_a_space_that_another_process_deleted_is_told_once_and_then_begun_anew(address, chroma):
    with opened(address, chroma) as memory, opened(address, chroma) as other:
        alice, there = memory.user("alice"), other.user("alice")
        alice.graph.add_relation("Lena", "lives_in", "Porto")
        assert there.graph.subgraph(["Lena"]).relations
        memory.delete_user("alice", confirm=True)
        for each in range(10):
            alice.graph.add_relation(f"Yann{each}", "lives_in", "Porto")
        with pytest.raises(StorageError, match="was deleted since it was opened"):
            there.graph.entities()
        with pytest.raises(UnknownEntity):
            there.graph.subgraph(["Lena"])
        assert len(there.graph.entities()) == 11
        said(there, BADGE)
        memory.flush()
        assert (turns(memory), turns(other)) == (1, 1)
        assert "kz77qx41" in there.recall("Which badge is of the archive?").block


def test_a_space_whose_chroma_server_was_not_named_is_not_deleted(address, chroma):
    with opened(address, chroma) as memory, opened(address) as without:
        said(memory.user("alice"), BADGE)
        memory.flush()
        with pytest.raises(ServerUnreachable, match="none was named"):
            without.delete_user("alice", confirm=True)
        assert turns(memory) == 1
        said(without.user("ben"), BADGE)
        without.delete_user("ben", confirm=True)
        assert memory.spaces() == ("users/alice",)


def test_a_space_that_could_not_be_deleted_keeps_its_vectors(address, chroma):
    with opened(address, chroma) as memory, opened(address, chroma, settings=IMPATIENT) as other:
        said(memory.user("hanna"), BADGE)
        memory.flush()
        with memory.user("hanna").context.open() as store, store.writing(), pytest.raises(DatabaseLocked):
            other.delete_user("hanna", confirm=True)
        assert len(_vectors_of(chroma, "users/hanna")) == 1
        assert memory.delete_user("hanna", confirm=True).bytes == "gone"
    assert not _vectors_of(chroma, "users/hanna")


def test_a_deletion_that_is_refused_as_chroma_is_away_has_nothing_sent_again(address):
    away = servers.Chroma()
    try:
        with opened(address, away) as memory:
            said(memory.user("kim"), BADGE)
            memory.flush()
            assert due(address) == 0
            away.kill()
            with pytest.raises(ServerUnreachable):
                memory.delete_user("kim", confirm=True)
            assert (turns(memory, "kim"), due(address)) == (1, 0)
            with memory.user("kim").context.open() as store, store.reading() as connection:
                assert change_log.cursor(connection, store.key, "chroma") > 0
    finally:
        away.remove()


@pytest.mark.parametrize("removed", [0, 1])
def test_a_deletion_that_ends_in_the_middle_leaves_a_space_that_finds_everything(address, chroma, monkeypatch, removed):
    """The server removes the vectors of the messages or of these and the notes, and is away then."""
    clear, asked = chroma_client.ChromaServers.clear, []

    def clear_some(servers, place, mark):
        asked.append(place)
        if len(asked) > removed:
            clear(servers, place, mark)
            raise ServerUnreachable("It went away.")
        clear(servers, place, mark)

    with opened(address, chroma) as memory:
        ivy = memory.user("ivy")
        said(ivy, BADGE)
        ivy.knowledge.save("The archive's badge is with Lena.", category="work")
        memory.flush()
        before = _vectors_of(chroma, "users/ivy")
        assert len(before) == 2, before
        with monkeypatch.context() as patched:
            patched.setattr(chroma_client.ChromaServers, "clear", clear_some)
            with pytest.raises(ServerUnreachable):
                memory.delete_user("ivy", confirm=True)
        assert len(asked) == removed + 1
        assert len(_vectors_of(chroma, "users/ivy")) == 1 - removed
        with ivy.context.open() as store, store.reading() as connection:
            vector = np.array(HashEmbedder().embed_query(BADGE), np.float32)
            assert [*store.vectors.similar(change_log.moment(connection, store.key), vector, 5)] == [1]
        assert due(address) == 1
        assert memory.flush()
        assert _vectors_of(chroma, "users/ivy") == before
        memory.delete_user("ivy", confirm=True)
    assert not _vectors_of(chroma, "users/ivy")


def test_whoever_was_not_told_of_the_chroma_server_finds_the_same_and_is_warned(address, chroma, caplog):
    with opened(address, chroma) as memory, opened(address) as without:
        said(memory.user("alice"), BADGE)
        memory.flush()
        caplog.clear()
        for session in ("tuesday", "wednesday"):
            assert "kz77qx41" in without.user("alice").recall("Which badge is of the archive?", session=session).block
        warned = [each for each in caplog.records if "chroma_not_named" in each.message]
        assert [each.levelno for each in warned if each.levelno > logging.DEBUG] == [logging.WARNING]
        [note] = [each for each in without.user("alice").doctor() if each.check == "Chroma"]
        assert (note.level, "none was named" in note.message) == ("note", True)


def test_a_recall_goes_on_where_its_memory_is_closed_meanwhile(address, chroma):
    memory = opened(address, chroma)
    alice = memory.user("alice")
    said(alice, BADGE)
    alice.knowledge.save("The archive is in Delft.", category="places")
    assert memory.flush()
    alice.recall("Which archive is it?", keep_receipt=False)

    def close(*_):
        time.sleep(0.2)  # meanwhile, the question gets its vector
        memory.close()

    event.listen(Engine, "before_cursor_execute", close)
    try:
        found = alice.recall("Where is the archive?", keep_receipt=False)
    finally:
        event.remove(Engine, "before_cursor_execute", close)
    assert BADGE in found.block
    assert "The archive is in Delft." in found.block


def test_a_memory_that_is_closed_leaves_no_connection_to_chroma(address, chroma):
    others = _connections_to(chroma)
    with opened(address, chroma) as memory:
        said(memory.user("alice"), BADGE)
        memory.user("alice").flush()
        memory.user("alice").recall("Which badge does the archive have?")
        assert _connections_to(chroma) > others
    assert _connections_to(chroma) == others


def test_a_memory_that_is_closed_while_it_is_read_leaves_no_connection_to_postgresql(postgres, address):
    memory = opened(address)
    said(memory.user("alice"), BADGE)
    with memory.use("users/alice") as store:
        with store.reading() as connection:
            memory.close()
            assert connection.execute(text("SELECT count(*) FROM spaces WHERE space = :space"), _KEY).scalar() == 1
        with store.reading():  # whoever has not come to the end
            pass
    database = {"database": address.rpartition("/")[2]}
    with psycopg.connect(postgres.address("postgres", "postgres"), autocommit=True) as asking:
        of = "SELECT pid FROM pg_stat_activity WHERE datname = %(database)s"
        until(lambda: not asking.execute(of, database).fetchall())


def test_a_worker_that_was_not_told_of_the_chroma_server_says_so(address, chroma, caplog, monkeypatch):
    monkeypatch.setattr(chroma_server, "_unnamed", Sparing())  # whatever was said before
    with opened(address, chroma) as memory, opened(address) as without:
        said(memory.user("ivy"), BADGE)
        memory.flush()
        assert not [each for each in caplog.records if "chroma_not_named" in each.message]
        said(without.user("ivy"), "My bicycle is called Blitz.", session="tuesday")
        without.flush()
        warned = [each.levelno for each in caplog.records if "chroma_not_named" in each.message]
        assert max(warned, default=logging.DEBUG) == logging.WARNING


def test_of_many_collections_the_last_ones_are_known_and_all_are_searched(chroma, monkeypatch):
    monkeypatch.setattr(chroma_client, "_MOST_KNOWN", 5)
    server = chroma_client.ChromaServers([chroma.address])
    vector = seated(np.eye(1, 4, dtype=np.float32), 0)
    with closing(server):
        places = [server.begin(f"many{each}.seats") for each in range(12)]
        for number, place in enumerate(places):
            server.upsert(place, "mark", Named([f"{number}.0"], vector))
        found = [[name for name, _ in server.query(place, vector, 1)[0]] for place in [*places, *reversed(places)]]
        gc.collect()
        known = {str(each.id) for each in gc.get_objects() if isinstance(each, Collection)}
    assert found == [[f"mark:{each}.0"] for each in [*range(12), *reversed(range(12))]]
    assert len(known & {each.id for each in places}) <= 5


@pytest.mark.parametrize("named", ["users/ben", "", None])
def test_a_connection_that_names_another_space_or_none_sees_no_row(address, named):
    with opened(address) as memory:
        said(memory.user("alice"), BADGE)
        memory.user("alice").flush()
    with psycopg.connect(address) as connection:
        if named is not None:
            connection.execute("SELECT set_config('langmem_tiers.space', %s, false)", [named])
        tables = _tables(connection)
        assert len(tables) > 100
        seen = {name: _count(connection, name) for name in tables if name not in OF_ALL}
    assert not any(seen.values())


def test_a_connection_that_names_a_space_sees_its_rows_only(address):
    with opened(address) as memory:
        said(memory.user("alice"), BADGE)
        said(memory.user("ben"), "I play the cello.")
    with psycopg.connect(address) as connection:
        connection.execute("SELECT set_config('langmem_tiers.space', 'users/ben', false)")
        held = connection.execute("SELECT space FROM langmem_tiers.drawers").fetchall()
    assert held == [("users/ben",)]


def test_processes_that_open_a_new_database_at_once_make_its_tables_once(address):
    with ThreadPoolExecutor(4) as threads:
        memories = [each.result() for each in [threads.submit(opened, address) for _ in range(4)]]
    for number, memory in enumerate(memories):
        said(memory.user("alice"), f"Robot {number}.")
    assert [turns(memory) for memory in memories] == [4] * 4
    for memory in memories:
        memory.close()


def test_older_tables_are_brought_up_to_date_while_an_older_process_goes_on(address):
    with opened(address) as older:
        said(older.user("alice"), BADGE)
        with psycopg.connect(address, options="-c search_path=langmem_tiers") as connection:
            connection.execute("DROP TABLE part, shown, keyword_postings, note_words_postings")
            connection.execute("DELETE FROM schema_steps WHERE name IN ('parts', 'onlookers', 'postings')")
        with opened(address) as newer:
            said(newer.user("alice"), "I play the cello.")
            said(older.user("alice"), "I play the drums.")
            assert turns(newer) == turns(older) == 3


def test_tables_that_cannot_be_made_are_told_in_one_line_without_statements(address):
    opened(address).close()
    with psycopg.connect(address, options="-c search_path=langmem_tiers") as connection:
        connection.execute("DELETE FROM schema_steps WHERE name = 'postings'")
    with pytest.raises(MigrationFailed, match='"keyword_postings" already exists') as caught:
        opened(address)
    assert not [each for each in ("SQL", "CREATE TABLE", "file", "\n") if each in str(caught.value)]


def test_whoever_may_not_change_older_tables_is_told_so(postgres, address):
    opened(address).close()
    with psycopg.connect(address, options="-c search_path=langmem_tiers") as connection:
        connection.execute("DROP TABLE keyword_postings, note_words_postings")
        connection.execute("DELETE FROM schema_steps WHERE name = 'postings'")
    postgres.as_superuser(
        "CREATE ROLE editor LOGIN",
        "GRANT USAGE ON SCHEMA langmem_tiers TO editor",
        "GRANT ALL ON ALL TABLES IN SCHEMA langmem_tiers TO editor",
        database=address.rpartition("/")[2],
    )
    with pytest.raises(ServerRefused, match="may not do that"):
        opened(address.replace(servers.OWNER, "editor", 1))
    opened(address).close()


def test_words_of_a_schema_from_before_there_were_posting_lists_are_found(postgres, address):
    with opened(address) as memory:
        said(memory.user("alice"), BADGE)
        assert memory.flush()
    postgres.as_superuser(
        "SET search_path TO langmem_tiers",
        "DROP TABLE keyword_postings, note_words_postings",
        "DELETE FROM schema_steps WHERE name = 'postings'",
        "ALTER TABLE keyword ADD COLUMN terms text[]",
        "UPDATE keyword SET terms = ARRAY['0123456789abs:badg', '0123456789abp:general']",
        database=address.rpartition("/")[2],
    )
    with opened(address) as memory, memory.use("users/alice") as store, store.reading() as connection:
        (said_so, _), (_, placed) = drawers.holding(connection, [("badges", *ALL), ("general", *ALL)])
    assert (said_so.tolist(), placed.tolist()) == ([1], [1])


def test_a_role_that_may_only_read_is_refused_and_nothing_is_stored(postgres, address):
    with opened(address) as memory:
        said(memory.user("alice"), BADGE)
    name = address.rpartition("/")[2]
    postgres.as_superuser(
        "CREATE ROLE reader LOGIN",
        "GRANT USAGE ON SCHEMA langmem_tiers TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA langmem_tiers TO reader",
        database=name,
    )
    with opened(address.replace(servers.OWNER, "reader", 1)) as memory:
        with pytest.raises(ServerRefused):
            said(memory.user("alice"), "I play the cello.")
        assert turns(memory) == 1


def test_no_transaction_is_open_while_the_model_takes_long_and_what_is_stored_meanwhile_is_found(postgres, address):
    class Slow(HashEmbedder):
        runs_here = True

        def embed_query(self, text):
            said(alice, "The badge of the archive broke.")
            until(lambda: not _in_transaction(postgres, address))
            return super().embed_query(text)

    with opened(address, embedder=Slow()) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        alice.flush()
        recalled = alice.recall("What about the badge of the archive?", session="friday", threshold=0)
    assert {item.drawer.content for item in recalled.items} == {BADGE, "The badge of the archive broke."}


def test_a_server_that_goes_in_the_middle_of_a_transaction_leaves_nothing_of_it(postgres, address):
    def crashing(connection):
        connection.execute(text("UPDATE drawers SET content = 'half'"))
        postgres.stop(signal.SIGQUIT)
        try:
            connection.execute(text("UPDATE drawers SET content = 'done'"))
        finally:
            postgres.start()

    with opened(address) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        with alice.context.open() as store, pytest.raises(ServerUnreachable), store.writing() as connection:
            crashing(connection)
        assert [each.content for each in alice.drawers()] == [BADGE]


def test_a_process_that_was_frozen_in_a_transaction_is_told_that_nothing_is_stored(postgres, address):
    with opened(address) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        with pytest.raises(ServerUnreachable), alice.context.open() as store, store.writing() as connection:
            _outlast_the_server(postgres, connection)
        said(alice, "I play the cello.")
        assert turns(memory) == 2


def test_when_all_connections_are_in_use_the_caller_is_told_and_succeeds_afterwards(address):
    impatient = Settings(storage=StorageSettings(busy_timeout=0.2))
    with opened(address, settings=impatient) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        with alice.context.open() as store, ExitStack() as held:
            for _ in range(16):
                held.enter_context(store.reading())
            with pytest.raises(ServerBusy):
                said(alice, "I play the cello.")
        said(alice, "I play the drums.")
        assert turns(memory) == 2


def test_whoever_waits_for_a_connection_gets_one_before_those_who_come_later(address):
    with opened(address) as memory, ThreadPoolExecutor() as clients:
        alice = memory.user("alice")
        said(alice, BADGE)
        with alice.context.open() as store, ExitStack() as held:
            for _ in range(15):
                held.enter_context(store.reading())
            with store.reading():
                waits = clients.submit(said, alice, "I play the cello.")
                time.sleep(0.3)
            for _ in range(50):
                with store.reading():
                    pass
            assert waits.done()


def test_a_server_without_room_for_a_connection_is_busy_and_not_away(postgres, address):
    postgres.as_superuser(f"ALTER DATABASE {address.rpartition('/')[2]} CONNECTION LIMIT 0")
    with pytest.raises(ServerBusy):
        opened(address)


def test_a_process_shares_its_connections_while_the_server_has_no_room_for_another(postgres, address):
    limited = f"ALTER DATABASE {address.rpartition('/')[2]} CONNECTION LIMIT"
    with opened(address) as memory, ThreadPoolExecutor(12) as clients:
        users = [memory.user(f"user{number}") for number in range(12)]
        said(users[0], BADGE)
        postgres.as_superuser(f"{limited} 3")
        list(clients.map(lambda each: [said(each, f"{BADGE} {number}") for number in range(5)], users))
        assert sum(each.stats().drawers for each in users) == 61
        postgres.as_superuser(f"{limited} -1")
        time.sleep(1.1)
        with users[0].context.open() as store, ExitStack() as held:
            for _ in range(10):
                held.enter_context(store.reading())


def test_counts_and_checks_need_no_second_connection_while_they_hold_one(postgres, address):
    with opened(address, settings=IMPATIENT) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        memory.flush()
    postgres.as_superuser(f"ALTER DATABASE {address.rpartition('/')[2]} CONNECTION LIMIT 1")
    with opened(address, settings=IMPATIENT) as memory:
        assert memory.user("alice").stats().drawers == 1
        assert "vectors" in {each.check for each in memory.user("alice").doctor()}


def test_the_background_needs_no_second_connection_while_it_holds_one(postgres, address):
    with opened(address) as memory:
        memory.user("alice").knowledge.save("prefers tea")
    postgres.as_superuser(f"ALTER DATABASE {address.rpartition('/')[2]} CONNECTION LIMIT 1")
    with opened(address, settings=IMPATIENT, model=ScriptedChatModel(responses=["no JSON"])) as memory:
        assert memory.user("alice").flush()


def test_a_batch_that_reads_all_spaces_twice_needs_no_second_connection_while_it_holds_one(postgres, address):
    with opened(address) as memory:
        TieredStore(memory).put(("memories", "alice"), "1", {"content": BADGE})
    postgres.as_superuser(f"ALTER DATABASE {address.rpartition('/')[2]} CONNECTION LIMIT 1")
    with opened(address, settings=IMPATIENT) as memory:
        found = TieredStore(memory).batch([ListNamespacesOp(), SearchOp(("memories",))])
        assert (found[0], found[1][0].key) == ([("memories", "alice")], "1")


def test_recalls_that_read_shared_spaces_too_do_not_wait_for_each_others_connections(address):
    with opened(address) as memory:
        said(memory.space("teams/research"), BADGE)
        assert _all_find_what_the_team_said(memory, 40)


def test_recalls_that_read_shared_spaces_too_share_the_few_connections_that_a_server_has_room_for(postgres, address):
    with opened(address) as memory:
        for name in ("teams/research", *(f"users/user{number}" for number in range(24))):
            said(memory.space(name), BADGE)
    postgres.as_superuser(f"ALTER DATABASE {address.rpartition('/')[2]} CONNECTION LIMIT 3")
    with opened(address) as memory:
        assert _all_find_what_the_team_said(memory, 24)


def _all_find_what_the_team_said(memory, count):
    """Whether so many users, who recall three times each at the same time, find what is in the space of their team."""
    users = [memory.user(f"user{number}", fallbacks=["teams/research"]) for number in range(count)]
    together = threading.Barrier(count)

    def asked(user):
        together.wait()
        return [bool(user.recall(f"{BADGE} {number}", threshold=0).items) for number in range(3)]

    with ThreadPoolExecutor(count) as clients:
        return list(clients.map(asked, users)) == [[True] * 3] * count


def test_a_recall_that_reads_more_spaces_than_there_are_connections_says_so_at_once(address):
    with opened(address) as memory:
        names = [f"teams/team{number}" for number in range(16)]
        for name in names:
            said(memory.space(name), BADGE)
        with pytest.raises(StorageError, match=r"17 spaces .* 16 connections") as refused:
            memory.user("alice", fallbacks=names).recall(BADGE, threshold=0)
        assert not isinstance(refused.value, ServerBusy)
        assert memory.user("alice", fallbacks=names[1:]).recall(BADGE, threshold=0).receipt.number == 1


def test_a_connection_given_back_while_the_server_refuses_another_one_is_there_for_the_next():
    def made():
        if pool.checkedout() == 3:
            second.close()
            raise psycopg.OperationalError("sorry, too many clients already")
        return sqlite3.connect(":memory:")

    pool = FairPool(made, pool_size=3, max_overflow=0, timeout=0.2, reset_on_return=None)
    with closing(pool.connect()):
        second = pool.connect()
        with closing(pool.connect()) as third:
            assert third.is_valid
    pool.dispose()


def test_a_receipt_that_is_stored_behind_a_reply_needs_no_second_connection_for_shared_spaces(postgres, address):
    with opened(address, settings=IMPATIENT) as memory:
        said(memory.space("teams/research"), BADGE)
        alice = memory.user("alice", fallbacks=["teams/research"])
        postgres.as_superuser(f"ALTER DATABASE {address.rpartition('/')[2]} CONNECTION LIMIT 3")
        with alice.context.open() as store, ExitStack() as held:
            with store.writing(), ThreadPoolExecutor() as clients:
                recalled = clients.submit(alice.recall, BADGE, threshold=0).result()
                for _ in range(2):
                    held.enter_context(store.reading())
            assert recalled.receipt.number == 1


@pytest.mark.parametrize(
    ("state", "told"),
    [("53200", "has no memory left"), ("53400", "A limit"), ("58030", "could not read or write its files")],
)
def test_what_the_machine_of_the_server_lacks_is_told_as_what_it_is(postgres, address, state, told):
    with opened(address) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        postgres.as_superuser(
            "CREATE FUNCTION langmem_tiers.fail() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$BEGIN RAISE EXCEPTION 'it broke' USING ERRCODE = '{state}'; END$$",
            "CREATE TRIGGER failing BEFORE INSERT ON langmem_tiers.drawers EXECUTE FUNCTION langmem_tiers.fail()",
            database=address.rpartition("/")[2],
        )
        with pytest.raises(StorageError, match=told) as failed:
            said(alice, "I play the cello.")
        assert not isinstance(failed.value, ServerBusy)
        assert turns(memory) == 1


def test_an_agent_answers_while_its_database_is_away_and_stores_the_turn_once_it_is_back(postgres, address, caplog):
    with opened(address) as memory:
        graph = chat_graph(memory, compiled={"checkpointer": InMemorySaver()})
        graph.invoke(ask("My cat is called Miso."), run())
        postgres.stop(signal.SIGQUIT)
        try:
            answered = graph.invoke(ask("My dog is called Rex."), run())
        finally:
            postgres.start()
        assert texts(answered["messages"])[-2:] == ["My dog is called Rex.", "Fine."]
        assert "error=ServerUnreachable" in caplog.text
        graph.invoke(ask("My fish is called Blub."), run())
        spoken = [each.content for each in memory.user("alice").drawers() if each.role == "user"]
        assert spoken == ["My cat is called Miso.", "My dog is called Rex.", "My fish is called Blub."]


def test_clocks_that_are_years_apart_do_not_keep_workers_from_the_work(address):
    with ExitStack() as all_of_them:
        memories = [
            all_of_them.enter_context(opened(address, clock=FrozenClock(datetime(year, 3, 2, tzinfo=UTC))))
            for year in (2016, 2036)
        ]
        for number, memory in enumerate(memories):
            said(memory.user("alice"), f"Robot {number}.")
            assert memories[not number].user("alice").flush()
        held = memories[0].user("alice").stats()
        assert (held.drawers, held.vectors, held.pending) == (2, 2, 0)


def test_what_is_said_while_chroma_is_away_is_sent_soon_after_it_is_back(address, chroma):
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        chroma.kill()
        try:
            said(alice, BADGE)
            assert not alice.flush()
        finally:
            chroma.start()
        with psycopg.connect(address) as connection:
            wanted = "SELECT work_at / 1000.0 - extract(epoch FROM clock_timestamp()) FROM langmem_tiers.spaces"
            assert connection.execute(wanted).fetchone()[0] < 60
        until(alice.flush)
        with alice.context.open() as store:
            assert store.vectors.ids()


def test_a_chroma_server_below_a_path_is_reached_there(address, chroma):
    with _between(chroma) as way:
        way.below = "/vectors"
        way.address += way.below
        with opened(address, way) as memory:
            alice = memory.user("alice")
            said(alice, BADGE)
            assert memory.flush()
            assert memory.health() == Health(records=True, vectors=True)
            assert not alice.recall("Which badge does the archive have?", session="later").receipt.notes
            with alice.context.open() as store:
                assert store.vectors.ids()


def test_of_the_spaces_that_wait_for_chroma_each_is_named_and_one_is_a_warning(address, chroma, caplog):
    caplog.set_level(logging.DEBUG, "langmem_tiers")
    users = ["alice", "ben", "cem"]
    with opened(address, chroma) as memory:
        chroma.kill()
        try:
            for user in users:
                said(memory.user(user), BADGE)
            assert not memory.flush()
        finally:
            chroma.start()
    told = [each for each in caplog.records if getattr(each, "event", "") == "vectors_wait"]
    assert {each.space for each in told} == {space_mark(f"users/{user}") for user in users}
    assert [each.levelname for each in told] == ["WARNING", *["DEBUG"] * (len(told) - 1)]


def test_a_turn_that_is_forgotten_twice_on_its_way_to_chroma_holds_up_nothing(address, chroma):
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=BADGE, message_id="m1")], session="monday")
        alice.flush()
        alice.track([Turn(role="user", content="The badge is another one.", message_id="m1")], session="monday")
        alice.forget(messages="m1", confirm=True)
        said(alice, "I play the cello.")
        assert alice.flush()
        with alice.context.open() as store:
            assert store.vectors.off() == (0, 0)


def test_what_a_worker_sends_that_another_one_has_overtaken_is_set_right(postgres, address, chroma):
    with opened(address, chroma) as other, _between(chroma) as way, opened(address, way) as memory:
        alice, twin = memory.user("alice"), other.user("alice")
        said(alice, "I play the cello.")
        assert alice.flush()
        alice.track([Turn(role="user", content=BADGE, message_id="m1")], session="monday")

        def overtake():
            postgres.as_superuser("UPDATE langmem_tiers.spaces SET work_at = 0", database=address.rpartition("/")[2])
            assert twin.flush()
            twin.forget(messages="m1", confirm=True)
            assert twin.flush()

        way.before("upsert", overtake)
        alice.flush()
        assert alice.flush()
        with alice.context.open() as store:
            assert store.vectors.off() == (0, 0)


def test_forgetting_says_that_vectors_are_gone_once_they_are(address, chroma):
    with opened(address, chroma) as memory, opened(address) as without:
        dora = memory.user("dora")
        for number in range(4):
            dora.track([Turn(role="user", content=f"{BADGE} {number}", message_id=f"m{number}")], session="monday")
        dora.flush()
        assert dora.forget(messages="m0", confirm=True).bytes == "gone"
        assert len(_vectors_of(chroma, "users/dora")) == 3
        assert without.user("dora").forget(messages="m1", confirm=True).bytes == "pending"
        chroma.pause()
        try:
            started = time.monotonic()
            assert dora.forget(messages="m2", confirm=True).bytes == "pending"
            assert time.monotonic() - started < 10
        finally:
            chroma.go_on()
        until(lambda: dora.flush() and len(_vectors_of(chroma, "users/dora")) == 1)
        until(lambda: dora.flush() and not _waits_for_bytes(dora))


def test_what_is_forgotten_leaves_the_collections_of_earlier_embedding_models_too(address, chroma):
    for model in (HashEmbedder(64), HashEmbedder(32)):
        with opened(address, chroma, embedder=model) as memory:
            erik = memory.user("erik")
            told = {"m1": BADGE, "m2": "I play the cello."}
            erik.track([Turn(role="user", content=each, message_id=name) for name, each in told.items()], session="s")
            erik.flush()
    assert len(_vectors_of(chroma, "users/erik")) == 4
    with opened(address, embedder=HashEmbedder(32)) as without:
        without.user("erik").forget(messages="m1", confirm=True)
    with opened(address, chroma, embedder=HashEmbedder(16)) as memory:
        memory.user("erik").flush()
    assert len(_vectors_of(chroma, "users/erik")) == 3


@pytest.mark.parametrize("comes_back", [False, True])
def test_vectors_that_are_sent_while_their_space_is_deleted_are_taken_back(address, chroma, comes_back):
    user = "fred" if comes_back else "greta"
    with opened(address, chroma) as other, _between(chroma) as way, opened(address, way) as memory:
        said(memory.user(user), "I play the cello.")

        def delete():
            other.delete_user(user, confirm=True)
            if comes_back:
                said(other.user(user), BADGE)
                assert other.flush()

        way.before("upsert", delete)
        with pytest.raises(StorageError, match="was deleted since it was opened"):
            memory.flush()
        if comes_back:
            assert other.user(user).flush()
            with other.user(user).context.open() as store:
                assert store.vectors.off() == (0, 0)
    assert len(_vectors_of(chroma, f"users/{user}")) == int(comes_back)


def test_vectors_that_are_sent_again_are_not_missing_when_that_is_broken_off(address, chroma):
    with _between(chroma) as way, opened(address, way) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        assert alice.flush()

        def break_off():
            raise ConnectionError

        way.before("upsert", break_off)
        alice.rebuild()
        with alice.context.open() as store:
            assert store.vectors.off() == (0, 0)


def test_a_chroma_server_that_hangs_does_not_hold_up_the_work(address, chroma, monkeypatch):
    monkeypatch.setattr(chroma_client, "_LONGEST", 0.2)
    with opened(address, chroma) as memory:
        chroma.pause()
        try:
            said(memory.user("alice"), BADGE)
            assert not memory.flush()
        finally:
            chroma.go_on()
        until(memory.flush)


def test_an_agent_goes_on_soon_when_the_database_answers_nothing(postgres, address, caplog):
    from langmem_tiers.graphs import recall_node, track_node

    with opened(address, background=False) as memory:
        alice, config = memory.user("alice"), {"configurable": {"user_id": "alice", "thread_id": "t"}}
        said(alice, BADGE)
        recall, track = recall_node(memory), track_node(memory)
        state = {"messages": [HumanMessage("Which badge does the archive have?", id="h1")]}
        with postgres.frozen():
            began = time.monotonic()
            for _ in range(3):
                assert not recall.invoke(state, config)["memory_blocks"]
                track.invoke({**state, "messages": [*state["messages"], AIMessage("I do not know.", id="a1")]}, config)
            with pytest.raises(ServerUnreachable, match="did not answer"):
                alice.recall("Which badge does the archive have?")
            with pytest.raises(ServerUnreachable, match="did not answer"):
                said(alice, "The badge is green.")
            assert time.monotonic() - began < 40  # the driver alone waits for ever
        assert "memory_node_failed" in caplog.text
        until(lambda: is_answered(alice))
        # What could not be stored is sent again with the next turn, as always.
        state |= recall.invoke(state, config)
        assert BADGE in state["memory_blocks"]["h1"]
        track.invoke({**state, "messages": [*state["messages"], AIMessage("Badge 7.", id="a2")]}, config)
        contents = [drawer.content for drawer in alice.drawers()]
        assert contents.count("Which badge does the archive have?") == 1
        assert "Badge 7." in contents


def is_answered(space):
    with suppress(ServerUnreachable):
        return bool(space.drawers())
    return False


def test_a_transaction_begins_with_its_first_statement_and_nothing_is_in_one_after_it(postgres, address):
    with _far_away(postgres, seconds=0.25) as port, opened(address) as memory:
        said(memory.user("alice"), BADGE)
        far = address.replace(f":{postgres.port}/", f":{port}/")
        with opened(far) as other, other.use("users/alice") as store:
            for begin, trips in ((store.reading, 1), (store.writing, 3)):  # with the lock and the commit of a writer
                time.sleep(0.3)  # the end of the one before is answered
                began = time.monotonic()
                with begin() as connection:
                    assert connection.execute(text("SELECT count(*) FROM drawers WHERE space = :space"), _KEY).scalar()
                assert trips * 0.25 <= time.monotonic() - began < (trips + 1) * 0.25
                until(lambda: not _in_transaction(postgres, address))


def test_connections_that_the_server_has_closed_are_replaced_before_anything_is_sent(postgres, address):
    with opened(address) as memory, memory.use("users/alice") as store:
        for begin in (store.reading, store.writing):
            with ExitStack() as several:
                for _ in range(3):
                    several.enter_context(store.reading()).execute(text("SELECT 1"))
            postgres.as_superuser(
                f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = '{servers.OWNER}'"
            )
            with begin() as connection:
                assert connection.execute(text("SELECT count(*) FROM spaces WHERE space = :space"), _KEY).scalar() == 1


def test_a_connection_that_was_not_used_for_a_while_and_leads_nowhere_is_replaced(postgres, address, monkeypatch):
    from langmem_tiers.storage.postgres import transactions

    forgets = threading.Event()
    with _far_away(postgres, forgets) as port, opened(address.replace(f":{postgres.port}/", f":{port}/")) as memory:
        said(memory.user("alice"), BADGE)
        forgets.set()
        monkeypatch.setattr(transactions, "_RECENT", 0.0)
        assert turns(memory) == 1


@pytest.mark.parametrize("way", ["reading", "writing"])
def test_a_server_that_falls_silent_is_noticed_with_the_first_statement(postgres, address, way):
    with opened(address) as memory, memory.use("users/alice") as store:
        said(memory.user("alice"), BADGE)
        with postgres.frozen():
            began = time.monotonic()
            for told in ("within 5 s", "a moment ago"):
                with pytest.raises(ServerUnreachable, match=told), getattr(store, way)() as connection:
                    connection.execute(text("SELECT count(*) FROM drawers WHERE space = :space"), _KEY)
            assert time.monotonic() - began < 8
        until(lambda: is_answered(memory.user("alice")))


@pytest.mark.parametrize("way", ["reading", "writing"])
def test_ctrl_c_in_the_first_statement_of_a_transaction_ends_both(postgres, address, way):
    with opened(address) as memory, memory.use("users/alice") as store:
        said(memory.user("alice"), BADGE)
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        began = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt), getattr(store, way)() as connection:
            connection.execute(text("SELECT pg_sleep(20) WHERE :space = :space"), _KEY)
        assert time.monotonic() - began < 10
        until(lambda: not _in_transaction(postgres, address))
        assert turns(memory) == 1


def _broken_off(connection, under_way):
    """Ctrl-C while something is under way that nobody has begun to wait for."""
    connection.execute(text("SELECT count(*) FROM spaces WHERE space = :space"), _KEY)
    held = connection.connection.driver_connection
    if under_way == "a trip":
        with held.pipeline():
            held.pgconn.send_query_params(b"SELECT pg_sleep(0.5)", [])
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    if under_way == "a statement":
        held.pgconn.send_query(b"SELECT pg_sleep(0.2)")
    elif under_way == "several statements":
        held.pgconn.enter_pipeline_mode()
        held.pgconn.send_query_params(b"SELECT pg_sleep(0.2)", [])
    else:
        held.pgconn.finish()
    raise KeyboardInterrupt


@pytest.mark.parametrize("way", ["reading", "writing"])
@pytest.mark.parametrize("under_way", ["a statement", "several statements", "a trip", "the end of the connection"])
def test_ctrl_c_between_a_question_and_its_answer_is_not_hidden(postgres, address, way, under_way):
    with opened(address) as memory, memory.use("users/alice") as store:
        said(memory.user("alice"), BADGE)
        with pytest.raises(KeyboardInterrupt), getattr(store, way)() as connection:
            _broken_off(connection, under_way)
        until(lambda: not _in_transaction(postgres, address))
        assert turns(memory) == 1


def test_whoever_handles_ctrl_c_is_told_what_goes_wrong_then(address):
    with opened(address) as memory, memory.use("users/alice") as store:
        said(memory.user("alice"), BADGE)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            with pytest.raises(DatabaseDamaged, match="missing"), store.reading() as connection:
                connection.execute(text("SELECT count(*) FROM nowhere WHERE space = :space"), _KEY)


def test_whoever_waits_longer_for_a_space_than_for_an_answer_takes_no_server_for_silent(address):
    patient = Settings(storage=StorageSettings(busy_timeout=20))
    with (
        opened(address, settings=patient) as memory,
        psycopg.connect(address) as other,
        ThreadPoolExecutor() as clients,
    ):
        alice, ben = memory.user("alice"), memory.user("ben")
        for each in (alice, ben):
            said(each, BADGE)
        other.execute("SELECT 1 FROM langmem_tiers.spaces WHERE space = 'users/alice' FOR UPDATE")
        waiting = clients.submit(said, alice, "The badge is green.")
        time.sleep(7)
        assert turns(memory, "ben") == 1
        other.rollback()
        waiting.result(20)
        assert turns(memory) == 2


def test_a_transaction_reads_nothing_of_a_space_that_took_the_place_of_a_deleted_one(address):
    count = text("SELECT count(*) FROM drawers WHERE space = :space")
    with opened(address) as memory, opened(address) as other, other.use("users/alice") as store:
        said(memory.user("alice"), BADGE)
        with store.reading() as connection:
            assert connection.execute(count, _KEY).scalar() == 1
        memory.delete_user("alice", confirm=True)
        said(memory.user("alice"), BADGE)
        with store.reading() as connection:
            with pytest.raises(StorageError, match="was deleted since it was opened"):
                connection.execute(count, _KEY)
            with pytest.raises(StorageError, match="was deleted since it was opened"):
                connection.execute(count, _KEY)
        assert store.database.is_gone


def test_what_the_background_asks_for_waits_longer_than_a_reply_does(postgres, address):
    from langmem_tiers import replies
    from langmem_tiers.storage.postgres import connections

    with opened(address, background=False) as memory, memory.use("users/alice") as store:

        def patience(begin):
            with begin() as connection:
                return connection.connection.driver_connection.patience

        beside = [patience(store.reading), patience(store.writing)]
        with replies.running():
            awaited = [patience(store.reading), patience(store.writing)]
        assert beside == [connections.LONGEST] * 2
        assert awaited == [connections.AT_ONCE + memory.settings.storage.busy_timeout] * 2


def test_one_statement_that_takes_long_keeps_nobody_else_from_a_server_that_answers(address):
    from langmem_tiers import replies

    hasty = Settings(storage=StorageSettings(busy_timeout=0.2))
    with opened(address, settings=hasty) as memory, psycopg.connect(address) as other:
        alice, ben = memory.user("alice"), memory.user("ben")
        for each in (alice, ben):
            said(each, BADGE)
        memory.flush()
        too_long = pytest.raises(ServerUnreachable, match="within 5")
        with memory.use("users/alice") as store, replies.running(), too_long, store.writing() as connection:
            connection.execute(text("SELECT pg_sleep(20)"))
        assert len(ben.drawers()) == 1
        other.execute("LOCK TABLE langmem_tiers.receipts IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(DatabaseLocked):
            alice.recall("Which badge does the archive have?")
        said(ben, "The badge is green.")
        other.rollback()
        assert BADGE in alice.recall("Which badge does the archive have?").block


def test_spaces_of_one_name_in_two_schemas_have_nothing_to_do_with_each_other(address):
    with opened(f"{address}?schema=firm_a") as one, opened(f"{address}?schema=firm_b") as other:
        ours, theirs, held, over = one.user("alice"), other.user("alice"), threading.Event(), threading.Event()
        said(ours, "The badge of the archive is purple.")
        said(theirs, "The badge of the archive is green.")

        def write():
            with one.use("users/alice") as store, store.writing():
                held.set()
                over.wait(30)

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            assert held.wait(30)
            call = {"session": "s", "message_id": "1"}
            assert "purple" in ours.recall("Which badge is it?", **call).block
            assert "green" in theirs.recall("Which badge is it?", **call).block
            said(theirs, "The badge of the hall is blue.")  # it waits for nobody
            assert len(ours.receipts()) == 0
            over.set()
            writing.result()


def test_a_recall_goes_on_by_words_soon_when_chroma_hangs(address, chroma):
    with opened(address, chroma) as memory:
        said(memory.user("alice"), BADGE)
        assert memory.flush()
    with opened(address, chroma, background=False) as memory:
        chroma.pause()
        try:
            began = time.monotonic()
            found = memory.user("alice").recall("Which badge does the archive have?")
            assert time.monotonic() - began < 20  # the background waits for a minute
        finally:
            chroma.go_on()
        assert BADGE in found.block
        assert "did not answer within 2 s" in found.receipt.notes[0]


def test_the_deep_doctor_says_that_words_have_no_hashes_on_a_server(address):
    with opened(address) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        [words] = [each for each in alice.doctor(deep=True) if each.check == "words"]
        assert (words.level, "--data-checksums" in words.way_out) == ("note", True)


@pytest.mark.parametrize("role", ["postgres", "passing"])
def test_a_role_that_no_rules_for_rows_hold_for_is_let_in_and_told_of(postgres, address, role, caplog, capsys):
    with opened(address) as memory:
        for user in ("alice", "ben"):
            said(memory.user(user), BADGE)
        assert memory.flush()
        assert "database" not in {each.check for each in memory.user("alice").doctor()}
    assert "spaces_not_kept_apart" not in caplog.text
    with suppress(psycopg.errors.DuplicateObject):
        postgres.as_superuser(f"CREATE ROLE passing LOGIN BYPASSRLS IN ROLE {servers.OWNER}")
    other = address.replace(servers.OWNER, role, 1)
    with opened(other) as memory:
        assert turns(memory) == 1
        assert memory.user("alice").recall("Which badge does the archive have?").items
    [told] = [each for each in caplog.records if getattr(each, "event", "") == "spaces_not_kept_apart"]
    assert (told.levelname, told.role) == ("WARNING", role)
    with pytest.raises(SystemExit) as left:
        main(["--path", other, "--embedder", "none", "doctor"])
    assert not left.value.code
    assert capsys.readouterr().out.count(f"for the role {role}") == 1


def test_writers_of_one_process_queue_and_wait_for_others_together(address):
    hasty = Settings(storage=StorageSettings(busy_timeout=0.3))
    with opened(address, settings=hasty) as memory, ThreadPoolExecutor(12) as pool:
        alice = memory.user("alice")
        said(alice, BADGE)
        with memory.use("users/alice") as store, store.writing():
            waiting = [pool.submit(said, alice, f"I have {number} drums.") for number in range(2, 14)]
            time.sleep(0.6)
            assert turns(memory) == 1
        assert [each.result() for each in waiting] == [None] * 12
        assert turns(memory) == 13
        with psycopg.connect(address) as other:
            other.execute("SELECT set_config('langmem_tiers.space', 'users/alice', true)")
            assert other.execute("SELECT space FROM langmem_tiers.spaces FOR UPDATE").fetchone() == ("users/alice",)
            started = time.monotonic()
            waiting = [pool.submit(said, alice, f"I have {number} violins.") for number in range(2, 14)]
            assert {type(each.exception()) for each in waiting} == {DatabaseLocked}
            assert time.monotonic() - started < 2  # 3.6 if each waited after the other
        said(alice, "I play the cello.")
        assert turns(memory) == 14


def test_while_another_process_holds_a_space_recall_answers_without_a_receipt(address):
    hasty = Settings(storage=StorageSettings(busy_timeout=0.2))
    with opened(address) as other, opened(address, settings=hasty) as memory:
        alice, question = memory.user("alice"), "Which badge does the archive have?"
        said(alice, BADGE)
        memory.flush()
        with other.use("users/alice") as held, held.writing():
            without = alice.recall(question)
        assert BADGE in without.block
        assert (without.receipt.number, alice.receipts()) == (0, ())
        assert "no receipt was kept: " in without.receipt.notes[-1]
        again = alice.recall(question)
        assert (again.block, again.receipt.number) == (without.block, 1)


def test_a_message_that_repeats_itself_does_not_crowd_out_all_others(address, chroma):
    # Its many equal vectors cut HNSW's graph in parts, differently each time: so three spaces.
    with opened(address, chroma) as memory:
        for name in ("alice", "bob", "carol"):
            space = memory.user(name)
            said(space, "The robot and the violin. " * 10_000)
            for number in range(9):
                said(space, f"Note {number}: it rained in harbour {number}.", f"s{number}")
            assert memory.flush()
            asked = np.asarray(HashEmbedder().embed_query("the robot and the violin"), np.float32)
            with space.context.open() as store, store.reading() as connection:
                assert len(store.vectors.similar(change_log.moment(connection, store.key), asked, 10)) == 10
                assert len(store.vectors.ids()) < 30  # equal vectors of a message are sent once
            assert {each.level for each in space.doctor()} == {"ok"}


def test_the_doctor_finds_rows_that_belong_to_nothing(address, chroma):
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        assert memory.flush()
        assert {each.level for each in alice.doctor()} == {"ok"}
        with psycopg.connect(address) as connection:
            connection.execute("SELECT set_config('langmem_tiers.space', 'users/alice', true)")
            connection.execute("UPDATE langmem_tiers.drawers SET room = 99")
        [problem] = [each for each in alice.doctor() if each.level == "problem"]
        assert (problem.check, "1 row belongs" in problem.message) == ("records", True)
        assert "pg_restore" in problem.way_out


def test_spaces_that_hold_the_same_messages_do_not_hide_each_others_on_chroma(address, chroma, monkeypatch):
    alike = [
        Turn(role="assistant", content=f"Welcome to harbour {number}, here is its timetable.") for number in range(30)
    ]
    users = [f"user{number}" for number in range(20)]
    asked = np.asarray(HashEmbedder().embed_query("the timetable of harbour 7"), np.float32)
    compared = []
    with opened(address, chroma) as memory:
        for each in users:
            memory.user(each).track(alike, session="monday")
        assert memory.flush()
        real = chroma_server.ServerVectors._compared
        monkeypatch.setattr(chroma_server.ServerVectors, "_compared", lambda *given: compared.append(1) or real(*given))
        for each in users:
            with memory.user(each).context.open() as store, store.reading() as connection:
                at = change_log.moment(connection, store.key)
                every = store.vectors.similarities(at, asked, range(1, 31))
                found = store.vectors.similar(at, asked, 10)
            assert found == pytest.approx({each: every[each] for each in found}, abs=1e-4)
            assert [*found.values()] == pytest.approx(sorted(every.values(), reverse=True)[:10], abs=1e-4)
    assert len(compared) <= 1  # by chance, HNSW's graph may be in parts


def test_a_search_reaches_all_that_takes_the_places_of_deleted_vectors(chroma):
    with closing(chroma_client.ChromaServer(chroma.address)) as client:
        missed = [row for seed in range(5) for row in missed_where_others_were_deleted(client, seed)]
    assert missed == []


def missed_where_others_were_deleted(client, seed):
    """Seven spaces of 100 vectors come and go, then comes one of 300: those of it that no search for them finds."""
    drawn = np.random.default_rng(seed).normal(size=(1000, 8)).astype(np.float32)
    every = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    place = client.begin(f"places-of-deleted-{seed}")
    for seat in range(7):
        client.upsert(place, f"old{seat}", Named([*map(str, range(100))], seated(every[seat * 100 :][:100], seat)))
        client.clear(place, f"old{seat}")
    rows = every[700:]
    for first in range(0, 300, 100):
        some = range(first, first + 100)
        client.upsert(place, "new", Named([*map(str, some)], seated(rows[some], 7)))
    answers = client.query(place, seated(rows, 7, asked=True), 60)
    return [row for row, found in enumerate(answers) if f"new:{row}" not in dict(found)]


def test_vectors_that_an_older_version_sent_are_sent_anew_and_compared_until_then(address, chroma):
    """Where spaces were not apart."""
    import chromadb

    host, _, port = chroma.address.removeprefix("http://").partition(":")
    client = chromadb.HttpClient(host, int(port))
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        assert memory.flush()
        with alice.context.open() as store:
            shelf = store.vectors
            before = client.create_collection("langmem-before.0", embedding_function=None)
            with store.reading() as connection:
                held = embedding_cache.load(connection, store.key, store.vectors.model, [(1, 1)])
            space = chroma_server.mark_of(store.key)
            before.add(ids=[f"{space}:1.0"], embeddings=held.matrix, metadatas=[{"space": space}])
            client.delete_collection(shelf._shared)
            with store.database.writing() as connection:
                facts.put(connection, store.key, shelf._fact, f"{before.name} {before.id}")
        with psycopg.connect(address) as connection:
            connection.execute("UPDATE langmem_tiers.spaces SET work_at = NULL")
        meanwhile = alice.recall("Which badge does the archive have?")
        assert "vector" in meanwhile.receipt.candidates[0].scores
        assert meanwhile.receipt.notes == ()
        assert due(address) == 1
        assert memory.flush()
        assert client.get_collection(shelf._shared).get(include=[])["ids"] == [f"{space}:1.0"]
        assert before.get(include=[])["ids"] == []
        assert "vector" in alice.recall("Which badge is it?", session="later").receipt.candidates[0].scores
    client.delete_collection(before.name)


def test_of_very_many_messages_that_wait_for_chroma_the_newest_are_compared_and_the_receipt_says_so(
    address, chroma, monkeypatch
):
    monkeypatch.setattr(chroma_client, "_LONGEST", 0.2)
    monkeypatch.setattr(chroma_server, "_COMPARED", 2)
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        for number, text in enumerate((BADGE, "We had soup.", "It rains.", "The violin is old.")):
            said(alice, text, f"s{number}")
        chroma.pause()
        try:
            assert not memory.flush()
        finally:
            chroma.go_on()
        early = alice.recall("Which badge does the archive have?")
        assert BADGE in early.block  # by its words
        assert early.receipt.notes == ("vectors: 2 messages of users/alice are not on the Chroma server yet.",)
        assert "vector" in next(each for each in early.receipt.candidates if each.drawer == 1).scores
        until(memory.flush)
        until(lambda: not alice.recall("Which badge does the archive have?", session="later").receipt.notes)


def test_of_many_messages_that_wait_for_chroma_the_nearest_are_found_and_of_equal_ones_the_first(address, monkeypatch):
    monkeypatch.setattr(chroma_server, "_SORTED", 3)
    monkeypatch.setattr(chroma_server, "_SMALL", 0)
    with opened(address, embedder=Meanings(one=0.1, two=0.9, three=0.5, four=0.8, again=0.7)) as memory:
        alice = memory.user("alice")
        names = ("one", "again", "again", "two", *["again"] * 4, "three", "again", "four")
        for place, name in enumerate(names):
            said(alice, f"This is {name}.", f"s{place}")
        alice.flush()
        with alice.context.open() as store, store.reading() as connection:
            at, asked = change_log.moment(connection, store.key), np.asarray([1, 0], np.float32)
            assert [*store.vectors.similar(at, asked, 2)] == [4, 11]
            assert [*store.vectors.similar(at, asked, 4)] == [4, 11, 2, 3]


def test_notes_that_wait_for_chroma_are_compared_until_they_are_there(address, chroma):
    with opened(address, chroma, embedder=Meanings(tea=0.7, coffee=0.6)) as memory:
        alice = memory.user("alice")
        with alice.context.open() as store:
            _note(store, "entry", "The user drinks tea.")
            alice.flush()
            _note(store, "entry", "The user drinks coffee.")
            _embed_notes(alice, store)
            with store.writing() as connection:  # as where messages that came later were sent sooner
                change_log.reset_cursor(connection, store.key, "chroma", change_log.head(connection, store.key))
            assert _notes_near(store, 2) == (["The user drinks tea.", "The user drinks coffee."], True)
            alice.flush()
            assert _notes_near(store, 2) == (["The user drinks tea.", "The user drinks coffee."], False)


def test_a_note_that_is_far_and_waits_for_chroma_does_not_end_the_search_for_notes_of_a_kind(address, chroma):
    with opened(address, chroma, embedder=Meanings(episode=0.9, entry=0.7, far=0.1)) as memory:
        alice = memory.user("alice")
        with alice.context.open() as store:
            _note(store, "entry", "An entry.")
            for number in range(20):  # these are nearer
                _note(store, "episode", f"An episode {number}.")
            alice.flush()
            _note(store, "entry", "Something far.")
            _embed_notes(alice, store)
            assert _notes_near(store, 2) == (["An entry."], True)


def test_where_there_are_no_notes_a_recall_does_not_read_the_log_for_their_vectors(postgres, address, chroma):
    with opened(address, chroma) as memory:
        alice = memory.user("alice")
        said(alice, BADGE)
        with alice.context.open() as store, store.writing() as connection:
            change_log.append_all(connection, store.key, [("item.changed", None, None)] * 3_000, at=1)
        memory.flush()
    before = _rows_read(postgres, address, "changes")
    with opened(address, chroma) as memory:
        assert BADGE in memory.user("alice").recall("Which badge does the archive have?").block
    assert _rows_read(postgres, address, "changes") - before < 3_000


def test_a_worker_that_begins_while_the_database_is_away_waits_for_it(postgres, address, offline_environment):
    with opened(address) as memory:
        said(memory.user("alice"), BADGE)
    command = ["langmem-tiers", "--path", address, "--embedder", "none", "worker"]
    postgres.stop()
    try:
        working = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=offline_environment)
        assert "no_work_from_server" in working.stderr.readline()
    finally:
        postgres.start()
    assert "Working for postgresql://" in working.stderr.readline()
    until(lambda: due(address) == 0)
    working.send_signal(signal.SIGTERM)
    working.communicate(timeout=60)
    assert working.returncode == 0


def test_a_worker_notices_a_signal_that_does_not_end_its_waiting(address, capsys):
    ended, late = threading.Event(), []

    def end():
        until(lambda: "Working for" in capsys.readouterr().err)
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # so it is not the waiting thread that is woken
        if not ended.wait(30):
            late.append(True)
            os.kill(os.getpid(), signal.SIGTERM)

    sender = threading.Thread(target=end)
    sender.start()
    with suppress(SystemExit):
        main(["--path", address, "--embedder", "none", "worker"])
    ended.set()
    sender.join()
    assert not late


def test_a_worker_that_is_refused_does_not_wait(postgres, capsys):
    with pytest.raises(SystemExit) as left:
        main(["--path", postgres.address(database="nowhere"), "worker"])
    assert left.value.code == 1
    assert "nowhere" in capsys.readouterr().err


def test_another_embedders_vectors_are_beside_those_of_the_first(address, chroma):
    for dimension in (64, 32, 64):
        with opened(address, chroma, embedder=HashEmbedder(dimension)) as memory:
            alice = memory.user("alice")
            said(alice, f"{BADGE} {dimension}")
            alice.flush()
            recalled = alice.recall("Which badge does the archive have?")
            assert BADGE in recalled.block
            assert not recalled.receipt.notes


def until(true):
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.1)


@contextmanager
def _answering_nothing():
    """A web server that knows no path."""

    class Unknown(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with _serving(Unknown) as address:
        yield address


@contextmanager
def _serving(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def _far_away(postgres, forgets=None, *, seconds=0.0):
    """A port that leads to the server, whose answers take a while; what came before it `forgets` is then refused."""
    ended = threading.Event()

    def pass_on(source, target, wait):
        came_before = not (forgets and forgets.is_set())

        def send(some, due):
            with suppress(OSError):
                time.sleep(max(0.0, due - time.monotonic()))
                target.sendall(some)

        with closing(source):
            with ThreadPoolExecutor(1) as in_order, suppress(OSError):
                while some := source.recv(65_536):
                    if came_before and forgets and forgets.is_set():
                        break
                    in_order.submit(send, some, time.monotonic() + wait)
            for each in (source, target):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def accept(listening):
        with suppress(OSError):
            while not ended.is_set():
                here, _ = listening.accept()
                there = socket.create_connection(("127.0.0.1", postgres.port))
                for each in (here, there):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for way in ((here, there, 0.0), (there, here, seconds)):
                    threading.Thread(target=pass_on, args=way, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, args=(listening,), daemon=True).start()
        try:
            yield listening.getsockname()[1]
        finally:
            ended.set()


def _outlast_the_server(postgres, connection):
    connection.execute(text("SET idle_in_transaction_session_timeout = 1"))
    number = connection.execute(text("SELECT pg_backend_pid()")).scalar()
    until(lambda: not _is_there(postgres, number))
    connection.execute(text("SELECT 1"))


def _is_there(postgres, number):
    """Whether a connection with this number is."""
    with psycopg.connect(postgres.address("postgres", "postgres")) as connection:
        return connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [number]).fetchone() is not None


def _in_transaction(postgres, address):
    """How many connections to a database are in a transaction."""
    open_ones = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND xact_start IS NOT NULL"
    with psycopg.connect(postgres.address("postgres", "postgres")) as connection:
        return connection.execute(open_ones, [address.rpartition("/")[2]]).fetchone()[0]


class _Way:
    """The way to a Chroma server, as what answers at `address`: something may happen before a request is passed on."""

    def __init__(self, chroma):
        self._chroma = chroma
        self._before = {}
        self.address = ""
        self.below = ""

    def before(self, what, act):
        """Do something once, before the next request whose path ends with `what`; its error is the server's."""
        self._before[what] = act

    def passed_on(self, request):
        """Status and body of the answer."""
        try:
            self._before.pop(request.path.rpartition("/")[2], lambda: None)()
        except ConnectionError:
            return 500, b"{}"
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0)) or None
        if not request.path.startswith(self.below):
            return 404, b"{}"
        url = f"{self._chroma.address}{request.path.removeprefix(self.below)}"
        headers = {"Content-Type": "application/json"}
        answer = httpx.request(request.command, url, content=body, headers=headers, timeout=60)
        return answer.status_code, answer.content


@contextmanager
def _between(chroma):
    way = _Way(chroma)

    class Passing(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = way.passed_on(self)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_DELETE = do_GET

        def log_message(self, *_):
            pass

    with _serving(Passing) as way.address:
        yield way


def _connections_to(chroma):
    """How many connections of this machine to the server are open at this end."""
    there = f"0100007F:{urlsplit(chroma.address).port:04X}"
    return [each.split()[2:4] for each in Path("/proc/net/tcp").read_text().splitlines()].count([there, "01"])


def _rows_read(postgres, address, table):
    """How many rows were read of a table."""
    name = address.rpartition("/")[2]
    with psycopg.connect(postgres.address("postgres", name)) as connection:
        others = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND application_name = 'langmem-tiers'"
        until(lambda: connection.execute(others, [name]).fetchone() is None)  # what they did is counted when they end
        read = "SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables WHERE starts_with(relname, %s)"
        return int(connection.execute(read, [f"{table}_"]).fetchone()[0])


def _note(store, kind, said):
    with store.writing() as connection:
        notes.put(connection, store.key, kind, said, [NoteText(said)], 1)


def _embed_notes(space, store):
    """Give notes their vectors, and leave these for Chroma."""
    while Embedding(store.database, space.context.embedder.inner, utc_now, 128, NOTES).step(lambda: False):
        pass


def _notes_near(store, most):
    """The entries from 0.5 on, best first, and whether vectors of notes were read from the records for that."""
    with store.reading() as connection:
        at, asked = change_log.moment(connection, store.key), np.asarray([1, 0], np.float32)
        how = RecallSettings(min_similarity=0.5)
        found = store.notes.search(at, ("zzz",), asked, most, {"entry"}, settings=how)
        return [hit.text for hit in found], any(isinstance(each, Named) for each in at.read.values())


def _rows(postgres, address, space):
    """How many rows of a space each table has, without those that have none."""
    with psycopg.connect(postgres.address("postgres", address.rpartition("/")[2])) as connection:
        counted = {
            name: _count(connection, name, " WHERE space = %s", [space])
            for name in _tables(connection)
            if name not in OF_ALL - {"spaces"}
        }
    return {name: count for name, count in counted.items() if count}


def _tables(connection):
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'langmem_tiers'")
    return [name for (name,) in rows]


def _count(connection, table, where="", given=()):
    return connection.execute(f"SELECT count(*) FROM langmem_tiers.{table}{where}", given).fetchone()[0]


def _waits_for_bytes(space):
    return any(each.check == "deleted" and each.level != "ok" for each in space.doctor())


def _vectors_of(chroma, space):
    """The vectors of a space on a server, in whatever collection."""
    import chromadb

    from langmem_tiers.storage.chroma_server import mark_of

    host, _, port = chroma.address.removeprefix("http://").partition(":")
    client = chromadb.HttpClient(host, int(port))
    return [each for one in client.list_collections() for each in one.get(where={"space": mark_of(space)})["ids"]]


def test_deleting_a_space_looks_at_those_only_whose_recalls_may_show_it(address):
    with opened(address) as memory:
        said(memory.space("teams/crew"), BADGE)
        ana, ben = memory.user("ana", fallbacks=["teams/crew"]), memory.user("ben", fallbacks=["users/ana"])
        for user in (ana, ben):
            said(user, "I play the cello in the archive.")
            user.recall("Which badge does the archive have?")
        backend = ana.context.backend
        assert backend.onlookers("teams/crew") == ("users/ana",)
        assert backend.onlookers("users/ana") == ("users/ben",)
        assert memory.delete_space("teams/crew", confirm=True).counts["receipts"] == 1
        assert (ana.receipts(), len(ben.receipts())) == ((), 1)
        assert backend.onlookers("teams/crew") == ()


def test_what_was_imported_under_another_name_goes_with_whom_it_shows(address, tmp_path):
    with opened(address) as memory:
        ana = memory.user("ana")
        said(ana, BADGE)
        ana.recall("Which badge does the archive have?")
        ana.export(tmp_path / "ana.json")
        memory.import_file(tmp_path / "ana.json", user="ben")
        assert ana.context.backend.onlookers("users/ana") == ("users/ben",)
        assert memory.delete_user("ana").traces == 1
        memory.delete_user("ana", confirm=True)
        assert memory.user("ben").receipts() == ()


def test_what_a_preview_lists_is_in_order_wherever_its_rows_are(address):
    with opened(address) as memory:
        ana = memory.user("ana")
        names = [f"Crew {number}" for number in range(8)]
        for number, name in enumerate(names, 1):
            said(ana, f"{name} sailed.")
            ana.graph.add_entity(name, evidence=[number])
        for name in names[::-1]:
            ana.graph.add_entity(name, metadata={"seen": True})  # which writes its row anew
        with psycopg.connect(address) as connection:
            connection.execute("ANALYZE")  # few rows are read as they lie, once the server knows that they are few
        assert [each.text for each in ana.forget(session="monday").entities] == names
