"""The background worker and the life of a memory: waiting, closing, crashing, and many at once."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.background import worker
from langmem_tiers.background.worker import Worker, WorkLeft
from langmem_tiers.errors import DatabaseLocked, MemoryClosed
from langmem_tiers.knowledge_graph import projection
from langmem_tiers.settings import GraphSettings, StorageSettings
from langmem_tiers.storage.write_queue import queue_of
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from langmem_tiers.types import Recalled
from tests.open_files import open_files


class Gate(HashEmbedder):
    """An embedder that embeds nothing until its gates are opened, and says when somebody waits there."""

    def __init__(self) -> None:
        super().__init__()
        self.model = "hash-64"
        self.documents, self.queries, self.reached = threading.Event(), threading.Event(), threading.Event()

    def embed_documents(self, texts):
        self.reached.set()
        assert self.documents.wait(60)
        return super().embed_documents(texts)

    def embed_query(self, text):
        self.reached.set()
        assert self.queries.wait(60)
        return super().embed_query(text)


def user(content, message_id=None) -> Turn:
    return Turn(role="user", content=content, message_id=message_id)


def robots(count: int, start: int = 0) -> list[Turn]:
    return [user(f"the robot number {n}", f"{n}") for n in range(start, start + count)]


def problems(space) -> list[str]:
    return [f"{finding.check}: {finding.message}" for finding in space.doctor() if finding.level == "problem"]


def start(script: str, *arguments: object, environment) -> subprocess.Popen[str]:
    imports = "import sys\nfrom langmem_tiers import Memory, Turn\nfrom langmem_tiers.testing import HashEmbedder\n"
    command = [sys.executable, "-c", imports + textwrap.dedent(script), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


# Waiting


def test_the_worker_does_what_was_tracked_and_flush_waits_for_it(tmp_path):
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        memory.user("alice").track(robots(50), session="s")
        assert memory.flush(60)
        stats = memory.user("alice").stats()
        assert (stats.vectors, stats.pending, stats.unfiled) == (50, 0, 0)


def test_a_flush_that_runs_out_of_time_says_so_and_the_work_goes_on(tmp_path):
    gate = Gate()
    with Memory.open(tmp_path, embedder=gate) as memory:
        memory.user("alice").track(robots(3), session="s")
        started = time.monotonic()
        assert not memory.flush(0.2)
        assert not memory.user("alice").flush(0)
        assert time.monotonic() - started < 20
        gate.documents.set()
        assert memory.flush(60)
        assert memory.user("alice").stats().pending == 0


def test_a_flush_without_a_background_ends_in_time_as_well_and_the_next_one_goes_on(tmp_path):
    class Slow(HashEmbedder):
        def embed_documents(self, texts):
            time.sleep(0.2)
            return super().embed_documents(texts)

    settings = Settings(storage=StorageSettings(embed_batch=1))
    with Memory.open(tmp_path / "m", embedder=Slow(), background=False, settings=settings) as memory:
        for number in range(40):
            memory.user("alice").track([user(f"Badge {number} is kz{number}.")], session="a")
        assert not memory.flush(timeout=1)
        assert 20 < memory.user("alice").stats().pending < 40
        assert not memory.user("alice").flush(timeout=0)
        assert memory.flush()
        assert memory.user("alice").stats().pending == 0


def test_flush_does_not_wait_for_further_turns(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "_GATHERING", 600.0)
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="The robot is red.")])
        assert alice.flush(timeout=60)
        assert alice.stats().vectors == 1


def test_tracking_and_reading_never_wait_for_the_embedder(tmp_path):
    gate = Gate()
    with Memory.open(tmp_path, embedder=gate) as memory:
        memory.user("alice").track(robots(3), session="s")
        assert gate.reached.wait(60)
        assert memory.user("alice").track(robots(3, 3), session="s").stored == (4, 5, 6)
        assert len(memory.user("alice").drawers()) == 6
        gate.documents.set()


def test_what_a_crash_left_undone_is_done_when_the_space_is_opened_next(tmp_path):
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False) as memory:
        memory.user("alice").track(robots(5), session="s")
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        assert len(memory.user("alice").drawers()) == 5
        assert memory.flush(60)
        assert memory.user("alice").stats().pending == 0


class Woken(Memory):
    """A memory that notes which spaces the background is to look at."""

    def wake(self, name):
        self.woken = [*getattr(self, "woken", []), name]
        super().wake(name)


def woken_by_opening(folder, **how) -> bool:
    with Woken.open(folder, embedder=HashEmbedder(), **how) as memory:
        memory.user("alice").recall("Where is the robot?", session="asked")
        return "users/alice" in getattr(memory, "woken", [])


def left_at_rest(folder) -> None:
    for told in (robots(5), []):  # what the first visit does is news to the second
        with Memory.open(folder, embedder=HashEmbedder()) as memory:
            memory.user("alice").track(told, session="s")
            assert memory.user("alice").flush(timeout=60)
    assert not woken_by_opening(folder)


@pytest.mark.folder
def test_a_space_that_is_opened_as_the_background_left_it_is_not_looked_at_again(tmp_path):
    left_at_rest(tmp_path)
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False) as memory:
        memory.user("alice").track(robots(1, start=5), session="s")
    assert woken_by_opening(tmp_path)


@pytest.mark.folder
@pytest.mark.parametrize(
    "changed",
    [
        {"settings": Settings(graph=GraphSettings(enabled=False))},
        {"clock": lambda: datetime.now(UTC) + timedelta(days=400)},
    ],
    ids=["other settings", "something due"],
)
def test_the_background_looks_at_a_space_again_that_may_need_it_though_nothing_was_written(tmp_path, changed):
    left_at_rest(tmp_path)
    assert woken_by_opening(tmp_path, **changed)


@pytest.mark.folder
def test_the_background_looks_at_a_space_again_that_it_left_while_the_clock_was_ten_years_ahead(tmp_path):
    ahead = {"clock": lambda: datetime.now(UTC) + timedelta(days=3650)}
    for _ in range(3):  # at last nothing is written; the pause of the session is still to come
        with Memory.open(tmp_path, embedder=HashEmbedder(), **ahead) as memory:
            memory.user("alice").track(robots(5), session="s")
            assert memory.user("alice").flush(timeout=60)
    assert not woken_by_opening(tmp_path, **ahead)
    assert woken_by_opening(tmp_path)


@pytest.mark.folder
def test_the_background_looks_at_a_space_again_whose_index_file_is_gone(tmp_path):
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        memory.user("alice").track(robots(300), session="s")
        assert memory.user("alice").flush(timeout=60)
    left_at_rest(tmp_path)
    (index,) = tmp_path.glob("spaces/*/index-*.bin")
    index.unlink()
    assert woken_by_opening(tmp_path)


def test_a_worker_that_nobody_woke_yet_still_keeps_an_appointment():
    visited = threading.Event()

    def work(space, stop):
        visited.set()
        return WorkLeft.DONE, None

    worker = Worker(work, retry_after=lambda: 0.0)
    worker.wake_later("users/alice", 0.01)
    assert visited.wait(60)
    assert worker.stop(60)


def test_a_space_whose_work_failed_is_retried_though_others_are_woken_all_the_time(monkeypatch):
    monkeypatch.setattr(worker, "_LONGEST_PAUSE", 0.3)
    tried = []

    def work(space, stop):
        tried.append(space)
        return (WorkLeft.FAILED if space == "users/alice" else WorkLeft.DONE), None

    works = Worker(work, retry_after=lambda: 0.0)
    works.wake("users/alice")
    until = time.monotonic() + 10
    while tried.count("users/alice") < 3 and time.monotonic() < until:
        works.wake("users/bob")
        time.sleep(0.02)
    assert works.stop(60)
    assert tried.count("users/alice") >= 3


def test_more_spaces_than_may_be_open_are_all_finished(tmp_path):
    one = Settings(storage=StorageSettings(memory_mb=0))
    with Memory.open(tmp_path, embedder=HashEmbedder(), settings=one) as memory:
        for number in range(4):
            memory.user(f"user{number}").track(robots(5), session="s")
        assert memory.flush(60)
        assert [memory.user(f"user{number}").stats().pending for number in range(4)] == [0] * 4


@pytest.mark.folder
def test_one_damaged_space_does_not_stop_the_work_of_others(tmp_path, caplog):
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        memory.user("mallory").track(robots(1), session="s")
    (file,) = tmp_path.rglob("memory.db")
    file.write_bytes(b"garbage" * 1000)
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        assert not memory.user("mallory").flush(60)
        memory.user("alice").track(robots(5), session="s")
        assert memory.user("alice").flush(60)
        assert memory.user("alice").stats().pending == 0
        assert not memory.flush(60)
    assert "background_work_failed" in caplog.text
    assert "Traceback" not in caplog.text


# Closing


@pytest.mark.parametrize("background", [False, True])
def test_closing_twice_is_no_error_and_ends_the_worker(tmp_path, background):
    memory = Memory.open(tmp_path, embedder=HashEmbedder(), background=background)
    memory.user("alice").track(robots(3), session="s")
    memory.close()
    memory.close()
    assert [thread.name for thread in threading.enumerate() if thread.name == "langmem-tiers"] == []


AFTER_CLOSE = {
    "track": lambda space: space.track(robots(1), session="s"),
    "recall": lambda space: space.recall("Where is the robot?"),
    "drawers": lambda space: space.drawers(),
    "drawer": lambda space: space.drawer(1),
    "sessions": lambda space: space.sessions(),
    "palace": lambda space: space.palace(),
    "end_session": lambda space: space.end_session("s"),
    "receipts": lambda space: space.receipts(),
    "receipt": lambda space: space.receipt(1),
    "stats": lambda space: space.stats(),
    "doctor": lambda space: space.doctor(),
    "rebuild": lambda space: space.rebuild(),
    "flush": lambda space: space.flush(),
    "flush all": lambda space: space.memory.flush(),
}


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("method", AFTER_CLOSE)
def test_using_a_closed_memory_is_a_named_error(tmp_path, method, background):
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=background) as memory:
        memory.user("alice").track(robots(1), session="s")
    with pytest.raises(MemoryClosed):
        AFTER_CLOSE[method](memory.user("alice"))


def test_whoever_waits_while_another_closes_is_not_told_that_all_is_done(tmp_path):
    gate = Gate()
    memory = Memory.open(tmp_path, embedder=gate)
    for name in ("alice", "bob", "carol"):
        memory.user(name).track(robots(3), session="s")
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(memory.flush, 60)
        assert gate.reached.wait(60)
        closing = pool.submit(memory.close)
        while not memory.user("alice").context.closing():
            time.sleep(0.01)
        gate.documents.set()
        closing.result(60)
        assert waiting.result(60) is False


@pytest.mark.folder
def test_a_script_that_loads_little_else_ends_without_a_word(tmp_path, offline_environment):
    script = """
        import sys
        from langmem_tiers import Memory, Turn
        memory = Memory.open(sys.argv[1], embedder=None)
        memory.user("alice").track([Turn(role="user", content="I live in Turin.")])
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=offline_environment, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.folder
@pytest.mark.parametrize("ending", ["", "del memory", "raise ValueError('oops')"])
def test_a_script_that_forgets_to_close_ends_and_loses_nothing(tmp_path, offline_environment, ending):
    script = f"""
        memory = Memory.open(sys.argv[1], embedder=HashEmbedder())
        for n in range(30):
            turn = Turn(role="user", content=f"the robot number {{n}}", message_id=str(n))
            memory.user("alice").track([turn], session="s")
        {ending}
    """
    process = start(script, tmp_path, environment=offline_environment)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == (1 if "oops" in ending else 0)
    assert ("Traceback" in errors) == ("oops" in ending)
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False) as memory:
        assert len(memory.user("alice").drawers()) == 30
        assert memory.flush()
        assert problems(memory.user("alice")) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_is_told_to_open_its_own(tmp_path):
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False) as memory:
        memory.user("alice").track(robots(1), session="s")
        child = os.fork()
        if child == 0:
            try:
                memory.user("alice").drawers()
            except MemoryClosed:
                memory.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert len(memory.user("alice").drawers()) == 1


@pytest.mark.folder
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_is_forked_while_the_background_is_loaded_has_one_of_its_own(tmp_path, offline_environment):
    script = """
        import os, time
        memory = Memory.open(sys.argv[1], embedder=HashEmbedder())
        memory.user("alice").track([Turn(role="user", content="I live in Turin.")])
        while "langmem_tiers.background.jobs" not in sys.modules:
            time.sleep(0.001)
        if child := os.fork():
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        memory = Memory.open(sys.argv[2], embedder=HashEmbedder())
        memory.user("bob").track([Turn(role="user", content="I live in Porto.")])
        os._exit(7 if memory.flush(60) else 1)
    """
    process = start(script, tmp_path / "parents", tmp_path / "childs", environment=offline_environment)
    process.communicate(timeout=300)
    assert process.returncode == 7


# Crashes


WRITER = """
    memory = Memory.open(sys.argv[1], embedder=HashEmbedder())
    alice, first = memory.user("alice"), int(sys.argv[2])
    for n in range(first, first + 10_000):
        turn = Turn(role="user", content=f"the robot number {n} in the garden", message_id=str(n))
        alice.track([turn], session=f"s{n % 3}")
        print(n, flush=True)
"""


@pytest.mark.folder
def test_no_acknowledged_turn_is_lost_when_the_process_is_killed(tmp_path, offline_environment):
    drawn = random.Random(7)
    acknowledged: set[str] = set()
    for attempt in range(3):
        process = start(WRITER, tmp_path, attempt * 10_000, environment=offline_environment)
        assert process.stdout is not None
        acknowledged.add(process.stdout.readline().strip())
        time.sleep(drawn.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        # Not by `communicate`, which leaves out what `readline` has read ahead.
        acknowledged.update(process.stdout.read().split("\n")[:-1])
        process.communicate()
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        held = {drawer.message_id for drawer in alice.drawers()}
        assert acknowledged - held == set()
        assert len(held - acknowledged) <= 3
        assert memory.flush()
        assert (problems(alice), alice.stats().vectors) == ([], len(held))


@pytest.mark.folder
def test_two_processes_write_one_space_without_an_error_or_a_loss(tmp_path, offline_environment):
    script = """
        memory = Memory.open(sys.argv[1], embedder=HashEmbedder())
        alice, mine = memory.user("alice"), sys.argv[2]
        for n in range(60):
            alice.track([Turn(role="user", content=f"robot {mine} {n}", message_id=f"{mine}-{n}")], session=f"s{n % 2}")
            alice.recall("Where is the robot now?", session=mine, message_id=str(n))
        assert memory.flush(60)
        memory.close()
    """
    processes = [start(script, tmp_path, mine, environment=offline_environment) for mine in "ab"]
    assert [process.communicate(timeout=300)[1][-2000:] for process in processes] == ["", ""]
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        assert {drawer.message_id for drawer in alice.drawers()} == {f"{mine}-{n}" for mine in "ab" for n in range(60)}
        assert [drawer.number for drawer in alice.drawers()] == list(range(1, 121))
        assert alice.stats().recalls == 120
        assert memory.flush()
        assert (problems(alice), alice.stats().pending, alice.stats().unfiled) == ([], 0, 0)


# Many at once


def open_spaces(memory: Path) -> int:
    return sum(bool(open_files(space)) for space in memory.glob("spaces/*"))


def open_spaces_fall_to(most: int, memory: Path) -> bool:
    """Spaces are closed in other threads, and Chroma lets go of its files in threads of its own."""
    deadline = time.monotonic() + 60
    while open_spaces(memory) > most and time.monotonic() < deadline:
        time.sleep(0.02)
    return open_spaces(memory) <= most


@pytest.mark.folder
def test_only_so_many_spaces_are_open_at_once_and_none_forgets_anything(tmp_path):
    few = Settings(storage=StorageSettings(memory_mb=30, exact_below=0))
    with Memory.open(tmp_path, embedder=HashEmbedder(), settings=few, background=False) as memory:
        for round_ in range(2):
            for number in range(6):
                space = memory.user(f"user{number}")
                space.track(robots(5, round_ * 5), session="s")
                assert space.flush()
                assert open_spaces_fall_to(2, tmp_path)
        assert [len(memory.user(f"user{number}").drawers()) for number in range(6)] == [10] * 6
        assert [problems(memory.user(f"user{number}")) for number in range(6)] == [[]] * 6
    assert open_spaces_fall_to(0, tmp_path)


@pytest.mark.folder
def test_spaces_are_closed_by_the_memory_that_they_take(tmp_path):
    small = Settings(storage=StorageSettings(memory_mb=17, chroma_above=1_000))
    with Memory.open(tmp_path, embedder=HashEmbedder(2_048), settings=small, background=False) as memory:
        for number in range(6):
            memory.user(f"user{number}").track(robots(1), session="s")
        assert open_spaces_fall_to(4, tmp_path)
        assert open_spaces(tmp_path) == 4
        assert memory.user("user5").flush()
        assert len(memory.user("user5").recall("Where is the robot?", session="t").items) == 1
        assert open_spaces_fall_to(2, tmp_path)  # its vectors take as much as two other spaces
        memory.user("user1").drawers()
        assert open_spaces_fall_to(2, tmp_path)
        assert open_spaces(tmp_path) == 2
    assert open_spaces(tmp_path) == 0


@pytest.mark.folder
def test_the_graph_of_a_space_counts_as_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(projection, "_ROW", 1_000_000)
    small = Settings(storage=StorageSettings(memory_mb=17))
    with Memory.open(tmp_path, embedder=None, settings=small, background=False) as memory:
        for number in range(6):
            memory.user(f"user{number}").track(robots(1), session="s")
        assert open_spaces_fall_to(4, tmp_path)
        graph = memory.user("user5").graph
        for friend in ("Ana", "Ben", "Carol"):
            graph.add_relation("Dora", "knows", friend)
        assert len(graph.neighbours("Dora").relations) == 3
        assert open_spaces_fall_to(2, tmp_path)  # seven rows and their space leave room for one other


@pytest.mark.folder
def test_a_space_that_is_in_use_is_not_closed_by_the_opening_of_others(tmp_path):
    gate = Gate()
    gate.documents.set()
    few = Settings(storage=StorageSettings(memory_mb=0))
    with Memory.open(tmp_path, embedder=gate, settings=few, background=False) as memory, ThreadPoolExecutor(1) as pool:
        memory.user("alice").track(robots(1), session="s")
        (database,) = tmp_path.rglob("memory.db")
        recalling = pool.submit(memory.user("alice").recall, "Where is the robot?", session="t")
        assert gate.reached.wait(60)
        for number in range(4):
            memory.user(f"user{number}").track(robots(1), session="s")
        assert open_files(database)
        gate.queries.set()
        assert len(recalling.result(60).items) == 1
        memory.user("bob").drawers()
        assert open_spaces_fall_to(1, tmp_path)  # bob's
        assert open_files(database) == []


def test_fifty_threads_recall_and_track_without_an_error_or_a_loss(tmp_path):
    def work(thread: int) -> int:
        space = memory.user(f"user{thread % 3}")
        for n in range(4):
            space.track([user(f"robot {thread} {n} in the garden", f"{thread}-{n}")], session=f"s{thread % 5}")
            space.recall("Where is the robot in the garden?", session=f"t{thread}", message_id=str(n))
        return thread

    few = Settings(storage=StorageSettings(memory_mb=30, busy_timeout=30))
    with Memory.open(tmp_path, embedder=HashEmbedder(), settings=few) as memory:
        with ThreadPoolExecutor(50) as pool:
            assert sorted(pool.map(work, range(50))) == list(range(50))
        assert memory.flush(60)
        spaces = [memory.user(f"user{number}") for number in range(3)]
        assert sum(len(space.drawers()) for space in spaces) == 200
        assert sum(space.stats().recalls for space in spaces) == 200
        assert [problems(space) for space in spaces] == [[], [], []]


# On a server, they queue as well, but connections are waited for as long as the patience lasts (test_servers.py).
@pytest.mark.folder
def test_writers_of_one_process_queue_however_short_the_patience_with_other_processes(tmp_path):
    hasty = Settings(storage=StorageSettings(busy_timeout=0.01))

    def work(thread: int) -> list[Recalled]:
        space, recalled = memories[thread % 2].user("alice"), []
        for n in range(2):
            space.track([user(f"robot {thread} {n} in the garden", f"{thread}-{n}")], session=f"s{thread % 5}")
            recalled.append(space.recall("Where is the robot?", session=f"t{thread}", message_id=str(n)))
        return recalled

    with (
        Memory.open(tmp_path, embedder=None, settings=hasty, background=False) as one,
        Memory.open(tmp_path, embedder=None, settings=hasty, background=False) as other,
    ):
        memories = (one, other)
        for each in memories:
            each.user("alice").drawers()
        with ThreadPoolExecutor(32) as pool:
            recalled = [each for some in pool.map(work, range(32)) for each in some]
        assert sorted(each.receipt.number for each in recalled) == [*range(1, 65)]
        alice = one.user("alice")
        assert (len(alice.drawers()), alice.stats().recalls) == (64, 64)


@pytest.mark.folder
def test_when_another_process_holds_the_database_all_who_wait_are_told_after_one_patience(tmp_path):
    with Memory.open(tmp_path, settings=Settings(storage=StorageSettings(busy_timeout=0.5)), embedder=None) as memory:
        alice = memory.user("alice")
        alice.track(robots(1), session="s")
        assert memory.flush(60)
        (file,) = tmp_path.rglob("memory.db")
        with closing(sqlite3.connect(file, isolation_level=None)) as other, ThreadPoolExecutor(60) as pool:
            other.execute("BEGIN IMMEDIATE")
            started = time.monotonic()
            waiting = [pool.submit(alice.track, robots(1, n), session="s") for n in range(1, 61)]
            refused = [type(each.exception()) for each in waiting]
            assert time.monotonic() - started < 15  # 30 if each waited by itself
            other.execute("ROLLBACK")
        assert refused == [DatabaseLocked] * 60
        alice.track(robots(1, 61), session="s")
        assert len(alice.drawers()) == 2


def test_a_transaction_inside_another_of_the_same_thread_is_refused_and_not_waited_for(tmp_path):
    with Memory.open(tmp_path, settings=Settings(storage=StorageSettings(busy_timeout=0.05)), embedder=None) as memory:
        memory.user("alice").track(robots(1), session="s")
        with memory.use("users/alice") as store, store.writing(), pytest.raises(DatabaseLocked), store.writing():
            pass
        memory.user("alice").track(robots(1, 1), session="s")


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_that_is_forked_while_another_thread_writes_does_not_wait_for_that_thread(tmp_path):
    writing, finish = threading.Event(), threading.Event()
    held = queue_of((tmp_path / "memory.db").resolve())

    def write() -> None:
        with held.turn():
            writing.set()
            finish.wait(30)

    thread = threading.Thread(target=write)
    thread.start()
    assert writing.wait(30)
    child = os.fork()
    if child == 0:
        with queue_of((tmp_path / "memory.db").resolve()).turn():
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    finish.set()
    thread.join()


# Foreign code that ends


@pytest.mark.parametrize("ending", [SystemExit(3), KeyboardInterrupt()])
def test_an_embedder_that_exits_does_not_end_the_worker(tmp_path, ending):
    embedder = HashEmbedder()
    embedder.outage = ending
    with Memory.open(tmp_path, embedder=embedder) as memory:
        alice = memory.user("alice")
        alice.track(robots(3), session="s")
        assert not alice.flush(60)
        embedder.outage = None
        deadline = time.monotonic() + 60
        while alice.stats().pending and time.monotonic() < deadline:
            alice.flush(1)
            time.sleep(0.1)
        assert alice.stats().pending == 0
    assert not [each for each in threading.enumerate() if each.name == "langmem-tiers"]


@pytest.mark.parametrize("ending", [SystemExit(3), KeyboardInterrupt()])
def test_a_listener_that_exits_keeps_neither_the_worker_nor_the_other_listeners(tmp_path, ending):
    def exits(_activity) -> None:
        raise ending

    heard = []
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.on_activity(exits)
        memory.on_activity(heard.append)
        alice = memory.user("alice")
        alice.track([user("I moved to Lisbon and I love the tram."), user("Thank you, that is all.")], session="s")
        alice.end_session("s")
        assert alice.flush(60)
        assert heard


@pytest.mark.parametrize("ending", [SystemExit(3), KeyboardInterrupt()])
def test_a_model_that_exits_does_not_end_the_worker(tmp_path, ending):
    def exits(_messages):
        raise ending

    model = ScriptedChatModel(responses=[exits] * 20)
    with Memory.open(tmp_path, embedder=HashEmbedder(), model=model) as memory:
        alice = memory.user("alice")
        alice.track([user("I moved to Lisbon and I love the tram.")], session="s")
        alice.end_session("s")
        alice.flush(60)
        alice.track(robots(3), session="t")
        alice.flush(60)
        assert alice.stats().vectors >= 3
