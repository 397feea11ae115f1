"""Workers of a memory on servers: any number share the background work, and none of it is lost or done twice."""

import signal
import subprocess
import sys
import textwrap
import threading
import time
from uuid import uuid4

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.background import leasing
from langmem_tiers.cli.main import main
from langmem_tiers.settings import StorageSettings
from langmem_tiers.storage.postgres import work_queue
from langmem_tiers.testing import HashEmbedder
from tests import engines

psycopg = pytest.importorskip("psycopg")
pytestmark = [
    pytest.mark.by_address,
    pytest.mark.skipif(not engines.ADDRESS, reason="POSTGRES names no server"),
]
WORKER = """
    import sys, threading, time
    from langmem_tiers import Memory
    from langmem_tiers.testing import HashEmbedder

    class Slow(HashEmbedder):
        def embed_documents(self, texts):
            for text in texts:
                print(text + "\\n", end="", flush=True)  # at once: another thread prints, too
            if sys.argv[2] == "hang":
                threading.Event().wait()
            return super().embed_documents(texts)

    with Memory.open(sys.argv[1], embedder=Slow(), background=False) as memory:
        works = memory.worker(2)
        sys.stdin.readline()
        works.stop(60)
"""


class Slow(HashEmbedder):
    """An embedder that notes what it embeds, and takes its time over what is large."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.reached, self.go_on = threading.Event(), threading.Event()

    def embed_documents(self, texts):
        self.texts += texts
        self.reached.set()
        if any("large" in text for text in texts):
            assert self.go_on.wait(60)
            time.sleep(0.02)
        return super().embed_documents(texts)


@pytest.fixture
def address():
    """A schema of its own."""
    yield from schema_of_its_own()


def schema_of_its_own():
    """The address of a schema of the database, which is dropped afterwards."""
    schema = f"workers_{uuid4().hex[:12]}"
    yield f"{engines.ADDRESS}?schema={schema}"
    with psycopg.connect(engines.ADDRESS, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture
def ask(address):
    """Runs a statement on the table of spaces."""
    url, schema = address.split("?schema=")

    def asked(statement):
        with psycopg.connect(url, autocommit=True, options=f"-c search_path={schema}") as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    return asked


def opened(address, **given) -> Memory:
    return Memory.open(address, **{"embedder": Slow(), "background": False, **given})


def tell(memory, name, count, what="robot") -> None:
    turns = [Turn(role="user", content=f"the {what} of {name} number {n}", message_id=f"{n}") for n in range(count)]
    memory.user(name).track(turns, session="monday")


def start(address, environment, how="work"):
    command = [sys.executable, "-c", textwrap.dedent(WORKER), address, how]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=environment, **pipes)


def until(true, seconds=60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def vectors(memory, name) -> tuple[int, int, int]:
    held = memory.user(name).stats()
    return held.drawers, held.vectors, held.pending


DUE = "SELECT count(*) FROM spaces WHERE leased_by IS NOT NULL OR work_at <= extract(epoch FROM now()) * 1000"


def test_two_workers_share_forty_spaces_and_nothing_is_done_twice(address, ask, offline_environment):
    with opened(address) as memory:
        for number in range(40):
            tell(memory, f"u{number}", 5)
        both = [start(address, offline_environment) for _ in range(2)]
        until(lambda: ask(DUE) == [(0,)])
        told = [each.communicate("\n", timeout=60)[0].splitlines() for each in both]
        assert [each.returncode for each in both] == [0, 0]
        said = [line for lines in told for line in lines if "number" in line]
        assert len(said) == len(set(said)) == 200
        assert all(told)
        assert {vectors(memory, f"u{number}") for number in range(40)} == {(5, 5, 0)}


def test_what_a_killed_worker_was_at_is_taken_over_when_its_lease_is_over(address, ask, offline_environment):
    with opened(address) as memory:
        tell(memory, "ana", 5)
        dying = start(address, offline_environment, "hang")
        assert "number" in dying.stdout.readline()
        dying.kill()
        dying.communicate()
        assert ask("SELECT count(*) FROM spaces WHERE leased_by IS NOT NULL") == [(1,)]
        assert not memory.flush(timeout=0.2)  # somebody is at it, as far as anybody knows
        ((left,),) = ask("SELECT work_at - extract(epoch FROM clock_timestamp()) * 1000 FROM spaces")
        assert left <= 60_000
        ask("UPDATE spaces SET work_at = work_at - 60000")
        works = memory.worker()
        until(lambda: ask(DUE) == [(0,)])
        assert works.stop(60)
        assert vectors(memory, "ana") == (5, 5, 0)


def test_a_worker_goes_on_after_an_error_that_no_server_tells(address, monkeypatch):
    take, errors = work_queue.WorkQueue.take_this, [RuntimeError("can't start new thread")]

    def take_this(queue, name):
        if errors:
            raise errors.pop()
        return take(queue, name)

    monkeypatch.setattr(work_queue.WorkQueue, "take_this", take_this)
    monkeypatch.setattr(leasing, "_AGAIN", 0.1)
    with opened(address, background=True) as memory:
        tell(memory, "ana", 5)
        assert memory.flush(timeout=20)
        assert not errors
        assert vectors(memory, "ana") == (5, 5, 0)


def test_a_worker_that_is_told_to_stop_finishes_its_step_and_gives_its_spaces_back(address, ask, offline_environment):
    with opened(address) as memory:
        for number in range(10):
            tell(memory, f"u{number}", 300)
        command = ["langmem-tiers", "--path", address, "--embedder", "none", "worker"]
        working = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=offline_environment)
        assert "Working for postgresql://" in working.stderr.readline()
        until(lambda: ask("SELECT count(*) FROM spaces WHERE leased_by IS NOT NULL") == [(1,)])
        working.send_signal(signal.SIGTERM)
        working.communicate(timeout=60)
        assert working.returncode == 0
        assert ask("SELECT count(*) FROM spaces WHERE leased_by IS NOT NULL") == [(0,)]
        assert ask(DUE) != [(0,)]
        assert memory.flush()
        assert ask(DUE) == [(0,)]
        assert {vectors(memory, f"u{number}") for number in range(10)} == {(300, 300, 0)}


def test_a_user_with_much_work_does_not_hold_up_the_others(address, monkeypatch):
    monkeypatch.setattr(leasing, "_SLICE", 0.1)
    embedder = Slow()
    small = Settings(storage=StorageSettings(embed_batch=8))
    with opened(address, embedder=embedder, settings=small) as memory:
        tell(memory, "ana", 400, "large robot")
        works = memory.worker()
        assert embedder.reached.wait(60)
        for number in range(5):
            tell(memory, f"u{number}", 1)
        embedder.go_on.set()
        until(lambda: vectors(memory, "ana") == (400, 400, 0))
        assert works.stop(60)
    order = ["large" in text for text in embedder.texts]
    assert order.count(False) == 5
    assert max(place for place, large in enumerate(order) if not large) < 200  # of 405
    assert len(set(embedder.texts)) == len(embedder.texts)


def test_what_is_said_while_somebody_is_at_the_space_is_done_next(address):
    embedder = Slow()
    with opened(address, embedder=embedder) as memory, opened(address) as web:
        tell(memory, "ana", 3, "large robot")
        works = memory.worker()
        assert embedder.reached.wait(60)
        web.user("ana").track([Turn(role="user", content="a late robot", message_id="late")], session="monday")
        embedder.go_on.set()
        until(lambda: vectors(memory, "ana") == (4, 4, 0))
        assert works.stop(60)


def test_two_processes_with_a_background_of_their_own_do_not_do_the_same(address):
    one, other = Slow(), Slow()
    with (
        opened(address, embedder=one, background=True) as first,
        opened(address, embedder=other, background=True) as second,
    ):
        for number in range(10):
            tell(first if number % 2 else second, f"u{number}", 2)
        assert first.flush(timeout=60)
        assert second.flush(timeout=60)
        said = [text for text in (*one.texts, *other.texts) if "number" in text]
        assert len(said) == len(set(said)) == 20
        assert {vectors(first, f"u{number}") for number in range(10)} == {(2, 2, 0)}


def test_flush_leaves_alone_what_others_use(address):
    with opened(address) as web, opened(address) as other:
        tell(web, "ana", 2)
        tell(other, "ben", 2)
        assert web.flush()
        assert vectors(other, "ben") == (2, 0, 2)
        assert vectors(other, "ana") == (2, 2, 0)


def test_spaces_whose_work_others_have_done_are_not_kept_in_mind(address, monkeypatch):
    monkeypatch.setattr(leasing, "_USED", 3)
    with opened(address) as memory, opened(address) as other:
        used = leasing.UsedSpaces(memory.user("ana").context.backend.queue)
        for name in ("ana", "ben", "cem", "dora"):
            tell(memory, name, 1)
            if name != "cem":
                other.user(name).flush()
            used.add(f"users/{name}")
        with used.awaited(None) as awaited:
            assert awaited.names == {"users/cem"}
        with used.awaited(None) as awaited:
            assert awaited.names == {"users/cem"}  # it was not done
            awaited.done = True
        with used.awaited(None) as awaited:
            assert awaited.names == set()


def test_a_worker_of_a_folder_is_refused(tmp_path, capsys):
    with Memory.open(tmp_path, embedder=None) as memory:
        tell(memory, "ana", 1)
    with pytest.raises(SystemExit) as left:
        main(["--path", str(tmp_path), "worker"])
    assert left.value.code == 1
    assert "needs no worker" in capsys.readouterr().err
