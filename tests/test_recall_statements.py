"""How often a recall asks the database, in a folder and on a server."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from sqlalchemy import event
from sqlalchemy.engine import Engine

from langmem_tiers import Turn
from langmem_tiers.graphs import recall_node, track_node
from tests import engines

BIKE = "I bought a blue bicycle in Delft. " + "It has seven gears and a bell. " * 40


@contextmanager
def counting() -> Iterator[list[str]]:
    """The statements of the block, without those that begin and end transactions."""
    asked: list[str] = []

    def note(connection, cursor, statement, *_):
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture
def told(memory, alice):
    """Long and short messages, questions and replies, and a session in which some were shown."""
    for number in range(20):
        turns = [Turn(role="user", content=BIKE if number % 4 == 0 else f"My bicycle {number} is in Delft.")]
        turns += [Turn(role="assistant", content=f"Nice! Is bicycle {number} blue?")]
        alice.track(turns, session=f"s{number}")
    alice.flush()
    for number in range(3):
        alice.recall(f"Which bicycle did I buy, number {number}?", session="now", message_id=f"q{number}")
    return alice


QUESTION = "Where is the blue bicycle from Delft?"
# With a model that is asked while no snapshot is open, so that the moment and the call are read twice.
MOST = {"folder": 10, "postgres": 14}[engines.ENGINE]
# In a memory that knows something: what is known by words and by meaning, and whether it still holds.
MOST_OF_KNOWLEDGE = {"folder": 14, "postgres": 20}[engines.ENGINE]


def test_a_recall_reads_what_it_needs_in_a_few_statements(told):
    with counting() as asked:
        recalled = told.recall(QUESTION, session="now", message_id="q", window=["q0", "q1", "q"], bare=["q1"])
    assert "already_shown" in {each.verdict for each in recalled.receipt.candidates}
    assert max(len(item.drawer.content) for item in recalled.items) > 1_000
    assert len(asked) <= MOST, "\n".join(asked)


def test_a_recall_of_what_is_known_takes_a_few_more(told):
    for number in range(60):
        told.knowledge.save(f"The user's bicycle {number} has a bell from Delft.", category="bicycles")
    told.mine()
    told.flush()
    told.recall("Where are the bells from?", session="now", message_id="p")
    with counting() as asked:
        recalled = told.recall(QUESTION, session="now", message_id="q", window=["q0", "q1", "q"], bare=["q1"])
    assert recalled.known
    assert len(asked) <= MOST_OF_KNOWLEDGE, "\n".join(asked)


def test_the_same_call_again_is_answered_in_fewer(told):
    first = told.recall(QUESTION, session="now", message_id="q")
    with counting() as asked:
        again = told.recall(QUESTION, session="now", message_id="q")
    assert (again.block, again.receipt.verdict) == (first.block, "repeated")
    assert len(asked) <= 3, "\n".join(asked)


def test_a_node_reads_two_more_for_the_profile_of_a_session_and_one_for_its_messages(memory, told):
    recall, track = recall_node(memory, on_error="raise"), track_node(memory, on_error="raise")
    config = {"configurable": {"user_id": "alice", "thread_id": "new"}}

    def read_before_the_recall(state):
        with counting() as asked:
            state |= recall.invoke(state, config)
        return [*takewhile(lambda each: "receipts" not in each, asked)]

    state = {"messages": [HumanMessage(QUESTION, id="h1")]}
    assert len(read_before_the_recall(state)) == 3
    assert state["memory_blocks"]["h1"]
    state["messages"] += [AIMessage("In Delft.", id="a1")]
    track.invoke(state, config)
    state["messages"] += [HumanMessage("And which one has seven gears?", id="h2")]
    assert len(read_before_the_recall(state)) == 1
    assert [*state["memory_blocks"]] == ["h1", "h2"]
