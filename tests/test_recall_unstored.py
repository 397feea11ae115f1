"""A recall while somebody else writes: it answers at once, and its receipt is stored behind the reply."""

import dataclasses
import itertools
import pickle
import sqlite3
import threading
import time
from contextlib import ExitStack, closing, contextmanager

import pytest
from langchain_core.messages import HumanMessage

from langmem_tiers import Memory, Settings
from langmem_tiers.errors import DatabaseLocked
from langmem_tiers.graphs import recall_node
from langmem_tiers.settings import StorageSettings
from tests.meanings import user

QUESTION = "Where is the robot?"
PATIENT = Settings(storage=StorageSettings(busy_timeout=2))


@pytest.fixture
def alice(alice):
    for number in range(6):
        alice.track([user(f"The robot {number} is in hall {number}.", f"a{number}")], session=f"s{number}")
    alice.flush()
    return alice


@contextmanager
def somebody_writes(memory):
    """Another thread has the lock of the space during the block."""
    begun, over = threading.Event(), threading.Event()

    def write():
        with memory.use("users/alice") as store, store.writing():
            begun.set()
            over.wait(30)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert begun.wait(30)
        yield
    finally:
        over.set()
        thread.join()


def test_a_recall_does_not_wait_for_who_writes_and_its_receipt_is_stored_behind_it(memory, alice):
    with somebody_writes(memory):
        found = alice.recall(QUESTION, session="t", message_id="1")
        assert "robot" in found.block
        assert alice.receipts() == ()
    assert found.receipt.number == 1
    assert alice.receipts() == (alice.receipt(1),)
    kept = alice.receipt(1)
    assert (kept.query, kept.verdict, kept.candidates) == (QUESTION, "recalled", found.receipt.candidates)
    assert alice.receipt_block(1) == found.block
    assert {drawer.recall_count for drawer in alice.drawers()} == {1}
    assert {"store", "total"} <= set(found.receipt.timings)


def test_what_it_showed_is_not_shown_again_to_the_next_message_of_the_session(memory, alice):
    with somebody_writes(memory):
        found = [alice.recall(QUESTION, session="t", message_id=f"{number}", limit=2) for number in range(3)]
    shown = [{item.drawer.number for item in each.items} for each in found]
    assert all(shown)
    assert len(set.union(*shown)) == sum(map(len, shown))
    assert [each.receipt.number for each in found] == [1, 2, 3]


CALLS = [
    {"session": session, "message_id": message, "window": window, "bare": bare}
    for session, message, (window, bare) in itertools.product(
        ("t", "u", None), ("1", "2", None), ((None, []), (["1", "3"], []), (["1", "3"], ["1"]), (["2"], []))
    )
]


@pytest.mark.parametrize("first", [{"session": "t", "message_id": "1"}, {"session": "t"}, {"message_id": "1"}])
def test_whatever_is_asked_next_is_answered_as_if_it_were_stored(memory, alice, first):
    def asked():
        calls = ({name: given for name, given in call.items() if given is not None} for call in CALLS)
        return [alice.recall(QUESTION, keep_receipt=False, limit=2, **call).block for call in calls]

    with somebody_writes(memory):
        given = alice.recall(QUESTION, limit=2, **first)
        before = asked()
    assert given.receipt.number == 1
    assert before == asked()


def test_the_same_call_gives_the_same_block_before_its_receipt_is_stored(memory, alice):
    with somebody_writes(memory):
        first, again = (alice.recall(QUESTION, session="t", message_id="1", limit=2) for _ in range(2))
        assert (again.block, again.receipt.verdict) == (first.block, "repeated")
    assert (first.receipt.number, alice.stats().recalls) == (1, 1)
    assert max(drawer.recall_count for drawer in alice.drawers()) == 1


@pytest.fixture
def going_on(monkeypatch):
    """Until this is set, no receipt is stored behind a reply."""
    from langmem_tiers.recall.keeping import ReceiptKeeping

    event, writing = threading.Event(), ReceiptKeeping.writing
    monkeypatch.setattr(ReceiptKeeping, "writing", lambda self: event.wait(30) and writing(self))
    yield event
    event.set()


def test_what_was_deleted_while_it_waited_is_not_stored_and_not_given_again(memory, alice, going_on):
    call = {"session": "t", "message_id": "1", "limit": 1}
    with somebody_writes(memory):
        found = alice.recall("Where is the robot 1?", **call)
    assert "hall 1" in found.block
    alice.forget(messages="a1", confirm=True)
    assert "hall 1" not in alice.recall("Where is the robot 1?", **call).block
    going_on.set()
    assert (found.receipt.number, found.receipt.notes[-1][-40:]) == (0, "something was deleted during this recall")
    assert all("hall 1" not in alice.receipt_block(each.number) for each in alice.receipts())
    assert "hall 1" not in alice.recall("Where is the robot 1?", **call).block


def test_closing_the_memory_waits_for_receipts(memory, alice, tmp_path):
    with somebody_writes(memory):
        found = alice.recall(QUESTION, session="t")
    memory.close()
    assert found.receipt.number == 1
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as again:
        assert again.user("alice").stats().recalls == 1


def test_who_writes_itself_gets_the_reply_and_no_receipt(memory, alice, caplog):
    with memory.use("users/alice") as store, store.writing():
        found = alice.recall(QUESTION, session="t")
        assert "robot" in found.block
        assert (found.receipt.number, found.receipt.notes[-1][:24]) == (0, "no receipt was kept: The")
    assert "receipt_not_kept" in caplog.text
    assert alice.recall(QUESTION, session="t").receipt.number == 1


def test_a_failure_behind_the_reply_is_raised_by_the_receipt_and_logged(memory, alice, caplog, monkeypatch):
    from langmem_tiers.storage import receipts

    def broken(*_, **__):
        raise ZeroDivisionError("broken")

    with somebody_writes(memory):
        monkeypatch.setattr(receipts, "put", broken)
        found = alice.recall(QUESTION, session="t")
    with pytest.raises(ZeroDivisionError):
        found.receipt  # noqa: B018 - it raises
    assert "receipt_not_kept" in caplog.text
    monkeypatch.undo()
    with somebody_writes(memory):
        found = alice.recall(QUESTION, session="t")
    assert found.receipt.number == 1


def test_it_is_a_recall_like_any_other(memory, alice):
    with somebody_writes(memory):
        found = alice.recall(QUESTION, session="t")
    copied = pickle.loads(pickle.dumps(found))
    assert (copied.block, copied.items, copied.receipt) == (found.block, found.items, found.receipt)
    assert QUESTION in repr(found)
    other = dataclasses.replace(found, block="")
    assert (other.block, other.receipt) == ("", found.receipt)


def test_receipts_are_stored_in_the_order_of_their_recalls(memory, alice, going_on):
    with somebody_writes(memory):
        first = alice.recall(QUESTION, session="t")
    second = alice.recall(QUESTION, session="u")  # nobody writes any more, but the first is not stored yet
    going_on.set()
    assert (first.receipt.number, second.receipt.number) == (1, 2)


@pytest.mark.folder
def test_those_that_wait_for_another_process_give_up_together(tmp_path, caplog):
    with Memory.open(tmp_path, embedder=None, background=False, settings=PATIENT) as memory:
        alice = memory.user("alice")
        alice.track([user("The robot is in hall 1.", "a")], session="s")
        (file,) = tmp_path.rglob("memory.db")
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            found = [alice.recall(QUESTION, session=f"t{number}") for number in range(12)]
            assert [each.receipt.number for each in found] == [0] * 12
            assert time.monotonic() - began < 15  # one after the other, 24
            other.execute("ROLLBACK")
        assert alice.recall(QUESTION, session="t").receipt.number == 1
    assert caplog.text.count("receipt_not_kept") == 12


@pytest.fixture
def team(memory, alice):
    """What a team knows, which alice reads as well."""
    memory.space("teams/crew").track([user("The robot of the crew is in the harbour.", "c")], session="s")
    memory.flush()
    return memory.user("alice", fallbacks=["teams/crew"])


def test_receipts_that_show_a_fallback_are_stored_when_the_memory_is_closed(memory, team):
    with somebody_writes(memory):
        found = [team.recall(QUESTION, session=f"t{number}", message_id="1") for number in range(4)]
        closing_it = threading.Thread(target=memory.close)
        closing_it.start()
    closing_it.join()
    assert [each.receipt.number for each in found] == [1, 2, 3, 4]
    assert all("teams/crew" in {item.space for item in each.items} for each in found)


def test_the_same_call_with_a_fallback_gives_the_same_block_as_well(memory, team):
    with somebody_writes(memory):
        first = team.recall(QUESTION, session="t", message_id="1")
        memory.space("teams/crew").track([user("The robot is in the robot hall.", "d")], session="s")
        again = team.recall(QUESTION, session="t", message_id="1")
        assert (again.block, again.receipt.verdict) == (first.block, "repeated")
        memory.space("teams/crew").forget(messages="c", confirm=True)
        assert "harbour" not in team.recall(QUESTION, session="t", message_id="1").block
    assert "something was deleted" in first.receipt.notes[-1]


def test_a_receipt_that_shows_a_deleted_space_is_not_stored(memory, team):
    with somebody_writes(memory):
        found = team.recall(QUESTION, session="t", message_id="1")
        deleting = threading.Thread(target=lambda: memory.delete_space("teams/crew", confirm=True))
        deleting.start()
    deleting.join()
    assert "harbour" in found.block
    number = found.receipt.number
    assert number in {0, 1}  # it may have been stored before: deleting the space then found it
    assert not any("harbour" in (team.receipt_block(each.number) or "") for each in memory.user("alice").receipts())


@pytest.mark.folder
def test_spaces_that_read_each_other_do_not_wait_for_each_other_for_ever(tmp_path):
    """Also where both are closed meanwhile, since there is room for one."""
    tight = Settings(storage=StorageSettings(memory_mb=1))
    with Memory.open(tmp_path, embedder=None, background=False, settings=tight) as memory:
        users = {"alice": "bob", "bob": "alice", "carl": "dora"}
        for name in users:
            memory.user(name).track([user(f"The robot of {name} is in hall 1.", "a")], session="s")
        both = [memory.user(name, fallbacks=[f"users/{other}"]) for name, other in [*users.items()][:2]]
        files = [next(tmp_path.glob(f"spaces/users-{name}-*/memory.db")) for name in ("alice", "bob")]
        with ExitStack() as held:
            others = [held.enter_context(closing(sqlite3.connect(file, isolation_level=None))) for file in files]
            for each in others:
                each.execute("BEGIN IMMEDIATE")
            found = [each.recall(QUESTION, session="t", message_id="1") for each in both]
            memory.user("carl").recall(QUESTION, session="t")
            again = [each.recall(QUESTION, session="t", message_id="2") for each in both]
        assert [each.receipt.number for each in (*found, *again)] == [1, 1, 2, 2]


def test_a_node_does_not_wait_either(memory, alice):
    node = recall_node(memory, on_error="raise")
    config = {"configurable": {"user_id": "alice", "thread_id": "t"}}
    with somebody_writes(memory):
        state = node.invoke({"messages": [HumanMessage(QUESTION, id="h1")]}, config)
        assert "robot" in state["memory_blocks"]["h1"]
    memory.flush()
    with memory.use("users/alice") as store:
        store.database.writers.later.wait()
    assert [each.message_id for each in alice.receipts()] == ["h1"]


def test_many_at_once_are_all_stored_once(memory, alice):
    answers = []

    def ask(number):
        answers.append(alice.recall(QUESTION, session=f"t{number % 5}", message_id=f"{number}", limit=1))

    with somebody_writes(memory):
        asking = [threading.Thread(target=ask, args=[number]) for number in range(20)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
    assert sorted(each.receipt.number for each in answers) == [*range(1, 21)]
    assert sorted(each.message_id for each in alice.receipts(limit=50)) == sorted(map(str, range(20)))


def test_a_write_that_is_not_hurried_still_waits(memory, alice):
    told = []
    with somebody_writes(memory):
        tracking = threading.Thread(
            target=lambda: told.append(alice.track([user("The robot is gone.", "z")], session="z"))
        )
        tracking.start()
        tracking.join(0.3)
        assert told == []
    tracking.join()
    assert len(told) == 1


def test_who_gives_up_soon_does_not_make_others_give_up(memory, alice):
    refused = []

    def track():
        try:
            alice.track([user("The robot is gone.", "z")], session="z")
        except DatabaseLocked as error:
            refused.append(error)

    with somebody_writes(memory):
        tracking = threading.Thread(target=track)
        tracking.start()
        for number in range(4):
            alice.recall(QUESTION, session=f"{number}")
    tracking.join()
    assert refused == []
    assert "The robot is gone." in {drawer.content for drawer in alice.drawers()}
