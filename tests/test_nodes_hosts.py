"""Memory nodes in graphs whose state is not ours."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from pydantic import BaseModel

from langmem_tiers.graphs import build_prompt, recall_node, track_node
from langmem_tiers.graphs.state import memory_input
from tests.graphing import FACT, QUESTION, ask, remember, run, said


class PydanticHost(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    memory_blocks: dict[str, str] = {}


@dataclass
class DataclassHost:
    messages: Annotated[list[AnyMessage], add_messages]
    memory_blocks: dict[str, str] = field(default_factory=dict)


class AddingHost(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]
    memory_blocks: dict[str, str]


class FormattingHost(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages(format="langchain-openai")]
    memory_blocks: dict[str, str]


def _graph(memory, host, seen, **compiled):
    def agent(state: host):
        seen.append(build_prompt(state))
        return {"messages": [AIMessage(f"Answer {len(seen)}.")]}

    builder = StateGraph(host)
    builder.add_sequence([recall_node(memory), agent, track_node(memory)])
    builder.add_edge(START, "recall")
    return builder.compile(**compiled)


@pytest.mark.parametrize("host", [PydanticHost, DataclassHost, AddingHost, FormattingHost])
def test_a_host_keeps_its_own_kind_of_state_and_its_reducer(memory, alice, host):
    remember(alice, FACT)
    seen = []
    graph = _graph(memory, host, seen, checkpointer=InMemorySaver())
    graph.invoke(ask(), run())
    graph.invoke(ask("And where does my brother Jonas live?"), run())
    assert FACT in seen[0][-1].text
    assert seen[1][0].text == seen[0][-1].text
    assert said(alice, "friday") == [QUESTION, "Answer 1.", "And where does my brother Jonas live?", "Answer 2."]


def test_messages_that_a_host_keeps_without_ids_are_told_apart_by_content_and_place(memory, alice):
    graph = _graph(memory, AddingHost, [], checkpointer=InMemorySaver())
    for text in ("yes", FACT, "yes"):
        graph.invoke({"messages": [("user", text)]}, run())
    assert said(alice) == ["yes", "Answer 1.", FACT, "Answer 2.", "yes", "Answer 3."]


def test_a_host_without_the_keys_of_memory_gets_them_and_keeps_its_output(memory, alice):
    remember(alice, FACT)

    def agent(state: memory_input("messages")):
        return {"messages": [AIMessage(build_prompt(state)[-1].text)]}

    builder = StateGraph(MessagesState)
    builder.add_sequence([recall_node(memory), agent, track_node(memory)])
    builder.add_edge(START, "recall")
    result = builder.compile().invoke(ask(), run())
    assert FACT in result["messages"][-1].text
    assert list(result) == ["messages"]


def test_messages_under_another_key_are_found_without_more_ado(memory, alice):
    class Host(TypedDict):
        dialogue: Annotated[list[AnyMessage], add_messages]

    def agent(state: memory_input("dialogue")):
        return {"dialogue": [AIMessage(build_prompt(state, messages_key="dialogue")[-1].text)]}

    remember(alice, FACT)
    builder = StateGraph(Host)
    options = {"messages_key": "dialogue"}
    builder.add_sequence([recall_node(memory, **options), agent, track_node(memory, **options)])
    builder.add_edge(START, "recall")
    result = builder.compile().invoke({"dialogue": [HumanMessage(QUESTION)]}, run())
    assert FACT in result["dialogue"][-1].text
    assert said(alice, "friday")[0] == QUESTION
    assert list(result) == ["dialogue"]


def test_a_context_schema_of_the_host_says_who_it_is(memory, alice):
    @dataclass
    class Context:
        user_id: str

    builder = StateGraph(MessagesState, context_schema=Context)
    builder.add_node(track_node(memory))
    builder.add_edge(START, "track")
    builder.compile().invoke(ask(FACT), context=Context("alice"))
    assert said(alice) == [FACT]


def test_memory_nodes_work_inside_a_subgraph(memory, alice):
    remember(alice, FACT)
    seen = []
    inner = _graph(memory, PydanticHost, seen)
    builder = StateGraph(MessagesState)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    builder.compile(checkpointer=InMemorySaver()).invoke(ask(), run())
    assert FACT in seen[0][-1].text
    assert said(alice, "friday") == [QUESTION, "Answer 1."]
