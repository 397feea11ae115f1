"""A fault of the memory is visible, and never costs the user the reply."""

import logging

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langmem_tiers.errors import MemoryClosed, MissingUser, TextTooLong
from tests.graphing import FACT, ask, chat_graph, remember, run, said, texts


def test_without_a_user_the_reply_comes_all_the_same_and_nothing_is_stored(memory, caplog):
    result = chat_graph(memory).invoke(ask(FACT), run(user=None))
    assert texts(result["messages"]) == [FACT, "Fine."]
    assert memory.spaces() == ()
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1
    assert said[0].startswith("memory_node_failed node=recall error=MissingUser reason=The run names no user. Pass ")


def test_on_request_a_missing_user_ends_the_run(memory):
    with pytest.raises(MissingUser):
        chat_graph(memory, on_error="raise").invoke(ask(FACT), run(user=None))


def test_on_request_a_refused_message_ends_the_run(memory):
    with pytest.raises(TextTooLong):
        chat_graph(memory, on_error="raise").invoke(ask("x" * 1_000_001), run())


def test_a_closed_memory_does_not_cost_the_reply(memory, caplog):
    graph = chat_graph(memory)
    memory.close()
    assert texts(graph.invoke(ask(FACT), run())["messages"]) == [FACT, "Fine."]
    assert "MemoryClosed" in caplog.text


def test_what_was_recalled_for_one_user_is_gone_for_another_even_when_recall_fails(memory, alice):
    remember(alice, FACT)
    graph = chat_graph(memory, compiled={"checkpointer": InMemorySaver()})
    assert graph.invoke(ask(), run("alice"))["memory_blocks"] != {}
    memory.close()
    assert graph.invoke(ask(), run("bob"))["memory_blocks"] == {}


def test_on_request_a_closed_memory_ends_the_run(memory):
    graph = chat_graph(memory, on_error="raise")
    memory.close()
    with pytest.raises(MemoryClosed):
        graph.invoke(ask(FACT), run())


def test_a_function_for_the_space_that_fails_does_not_cost_the_reply(memory, caplog):
    graph = chat_graph(memory, space=lambda config, _: config["configurable"]["team"])
    assert texts(graph.invoke(ask(FACT), run())["messages"]) == [FACT, "Fine."]
    assert "error=KeyError" in caplog.text


def test_the_next_turn_catches_up_on_a_turn_that_could_not_be_stored(memory, alice):
    graph = chat_graph(memory, compiled={"checkpointer": InMemorySaver()})
    graph.invoke(ask(FACT), run(user=None))
    graph.invoke(ask("And now it is me, Alice."), run())
    assert said(alice)[0] == FACT
