"""The recall and track nodes in a graph: what they write, store and say."""

import json
import logging
import sqlite3
from datetime import UTC, datetime

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langmem_tiers import Memory, Settings, WindowSettings
from langmem_tiers.graphs import MemoryInput, MemoryState, build_prompt, recall_node, track_node
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests.graphing import FACT, QUESTION, answering, ask, chat_graph, remember, run, said, texts


@pytest.fixture(params=["memory", "sqlite"])
def saver(request, tmp_path):
    """A checkpointer that takes nothing but plain values."""
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    if request.param == "memory":
        yield InMemorySaver(serde=strict)
        return
    connection = sqlite3.connect(tmp_path / "checkpoints.db", check_same_thread=False)
    yield SqliteSaver(connection, serde=strict)
    connection.close()


def test_what_was_said_in_one_session_is_before_the_model_in_another(memory, saver):
    model = ScriptedChatModel(responses=["Noted.", "On the radiator."])
    graph = chat_graph(memory, model, compiled={"checkpointer": saver})
    graph.invoke(ask(FACT), run(thread="monday"))
    memory.flush()
    reply = graph.invoke(ask(), run(thread="friday"))
    [request] = model.requests[1:]
    assert FACT in request[-1].text
    assert request[-1].text.endswith(QUESTION)
    assert texts(reply["messages"]) == [QUESTION, "On the radiator."]


def test_the_history_in_the_checkpoint_holds_no_recalled_text(memory, alice, saver):
    remember(alice, FACT)
    graph = chat_graph(memory, compiled={"checkpointer": saver})
    graph.invoke(ask(), run())
    values = graph.get_state(run()).values
    assert texts(values["messages"]) == [QUESTION, "Fine."]
    assert FACT in values["memory_blocks"][values["messages"][0].id]


def test_state_values_are_plain_json_and_survive_a_strict_checkpointer(memory, alice, saver):
    remember(alice, FACT)
    graph = chat_graph(memory, compiled={"checkpointer": saver})
    graph.invoke(ask(id="q"), run())
    values = graph.get_state(run()).values
    kept = {key: values[key] for key in ("memory_blocks", "memory_scope")}
    assert json.loads(json.dumps(kept)) == kept
    read = {"profile": "", "profile_read": {"at": "2026-03-02T09:00:00+00:00", "begins": "q"}}
    whose = {"space": "users/alice", "owner": "users/alice", "session": "friday"}
    assert kept["memory_scope"] == {**whose, "asked": "q", "seen": {"q": 0}, **read}
    assert list(kept["memory_blocks"]) == ["q"]


def test_a_message_that_recalls_nothing_gets_no_block(memory):
    assert chat_graph(memory).invoke(ask(), run())["memory_blocks"] == {}


def test_everything_said_is_stored_verbatim_with_its_role(memory, alice):
    chat_graph(memory).invoke(ask(FACT, name="Alice"), run())
    drawers = alice.drawers()
    assert [(d.role, d.content, d.session, d.speaker) for d in drawers] == [
        ("user", FACT, "friday", "Alice"),
        ("assistant", "Fine.", "friday", None),
    ]


def test_project_and_agent_reach_the_palace(memory, alice):
    config = run()
    config["configurable"] |= {"project": "atlas", "agent_id": "ops"}
    chat_graph(memory).invoke(ask(FACT), config)
    [session] = alice.sessions()
    assert (session.project, session.agent) == ("atlas", "ops")


def test_only_what_people_and_the_model_said_is_stored(memory, alice):
    builder = StateGraph(MemoryState)
    builder.add_node(track_node(memory))
    builder.add_edge(START, "track")
    call = {"name": "look", "args": {}, "id": "1"}
    messages = [
        SystemMessage("Be brief."),
        HumanMessage("Earlier: a summary.", additional_kwargs={"lc_source": "summarization"}),
        HumanMessage(FACT),
        AIMessage("", tool_calls=[call]),
        ToolMessage("a tool's output", tool_call_id="1"),
        AIMessage("  "),
        AIMessage("Noted."),
    ]
    builder.compile().invoke({"messages": messages}, run())
    assert said(alice) == [FACT, "Noted."]


def test_the_time_of_a_message_is_taken_from_its_timestamp(memory, alice):
    fields = {"additional_kwargs": {"timestamp": "2024-05-08T10:00:00+02:00"}}
    chat_graph(memory).invoke(ask(FACT, **fields), run())
    assert alice.drawers()[0].said_at == datetime(2024, 5, 8, 8, tzinfo=UTC)


@pytest.mark.parametrize("timestamp", ["yesterday", "2024-05-08T10:00:00", 1715155200])
def test_a_timestamp_that_can_not_be_one_is_logged_and_the_clock_counts(memory, alice, clock, caplog, timestamp):
    chat_graph(memory).invoke(ask(FACT, additional_kwargs={"timestamp": timestamp}), run())
    assert alice.drawers()[0].said_at == clock()
    assert "timestamp_ignored" in caplog.text


def test_a_refused_message_is_logged_and_the_others_are_stored(memory, alice, caplog):
    chat_graph(memory).invoke(ask("x" * 1_000_001), run())
    assert said(alice) == ["Fine."]
    assert "turn_rejected" in caplog.text
    assert "TextTooLong" in caplog.text


def test_a_multimodal_message_is_recalled_for_and_stored_by_its_text(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["A cat."])
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    chat_graph(memory, model).invoke(ask([{"type": "text", "text": QUESTION}, picture]), run())
    assert [part["type"] for part in model.requests[0][-1].content] == ["text", "text", "image_url"]
    assert FACT in model.requests[0][-1].content[0]["text"]
    assert said(alice, "friday") == [QUESTION, "A cat."]


def test_a_picture_without_words_recalls_nothing_and_stores_nothing(memory, alice):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    chat_graph(memory).invoke(ask([picture]), run())
    assert said(alice) == ["Fine."]
    assert alice.receipts() == ()


def test_a_custom_stream_hears_what_was_recalled_and_stored(memory, alice):
    remember(alice, FACT)
    events = list(chat_graph(memory).stream(ask(), run(), stream_mode="custom"))
    [drawer] = alice.drawers(session="monday")
    assert events == [
        {"type": "memory_recalled", "items": 1, "pointers": [drawer.pointer], "receipt": 1},
        {"type": "memory_tracked", "stored": 2, "revised": 0},
    ]


def test_nothing_recalled_leaks_into_the_stream_of_messages(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["On the radiator."])
    streamed = chat_graph(memory, model).stream(ask(), run(), stream_mode="messages")
    assert "".join(str(chunk.text) for chunk, _ in streamed) == "On the radiator."


def test_what_is_in_the_window_is_not_recalled_again(memory, alice, saver):
    remember(alice, FACT)
    graph = chat_graph(memory, compiled={"checkpointer": saver})
    graph.invoke(ask(id="1"), run())
    blocks = graph.invoke(ask("And where does my grey cat Miso sleep in summer?", id="2"), run())["memory_blocks"]
    assert [FACT in blocks.get(key, "") for key in ("1", "2")] == [True, False]
    assert QUESTION not in "".join(blocks.values())


def test_blocks_leave_with_their_messages(tmp_path, clock):
    settings = Settings(window=WindowSettings(turns=4))
    folder = tmp_path / "narrow"
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock, settings=settings) as memory:
        remember(memory.user("alice"), FACT)
        graph = chat_graph(memory, compiled={"checkpointer": InMemorySaver()})
        kept = [list(graph.invoke(ask(id=str(turn)), run())["memory_blocks"]) for turn in range(5)]
    assert kept[0] == ["0"]
    assert "0" not in kept[4]
    assert all(len(ids) <= 2 for ids in kept)


def test_a_summarizer_loses_nothing_and_its_summary_is_not_stored(memory, alice, saver):
    def summarize(state: MemoryState):
        if len(state["messages"]) < 5:
            return {}
        summary = HumanMessage("They spoke of cats.", additional_kwargs={"lc_source": "summarization"})
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *state["messages"][-1:]]}

    model = ScriptedChatModel(responses=[lambda messages: f"Answer {len(messages)} to: {messages[-1].text}"])
    graph = chat_graph(memory, model, between=[summarize], compiled={"checkpointer": saver})
    for turn in range(6):
        graph.invoke(ask(f"Thing number {turn} happened."), run())
    assert [text for text in said(alice) if not text.startswith("Answer")] == [
        f"Thing number {turn} happened." for turn in range(6)
    ]
    assert len(said(alice)) == 12


def test_a_long_conversation_is_stored_once_whatever_number_of_track_nodes_see_it(memory, alice, saver):
    builder = StateGraph(MemoryState)
    nodes = [track_node(memory, name="before"), answering(ScriptedChatModel(responses=["Fine."])), track_node(memory)]
    builder.add_sequence(nodes)
    builder.add_edge(START, "before")
    graph = builder.compile(checkpointer=saver)
    for turn in range(4):
        graph.invoke(ask(f"Thing number {turn}."), run())
    assert len(said(alice)) == 8


def test_two_users_never_see_each_other(memory):
    model = ScriptedChatModel(responses=["Fine."])
    graph = chat_graph(memory, model, compiled={"checkpointer": InMemorySaver()})
    graph.invoke(ask(FACT), run("bob", "monday"))
    memory.flush()
    assert graph.invoke(ask(), run("alice", "friday"))["memory_blocks"] == {}
    assert graph.invoke(ask(), run("bob", "sunday"))["memory_blocks"] != {}


def test_a_thread_that_another_user_goes_on_with_keeps_no_block_of_the_first(memory, alice):
    remember(alice, FACT)
    graph = chat_graph(memory, compiled={"checkpointer": InMemorySaver()})
    graph.invoke(ask(id="1"), run("alice"))
    assert graph.invoke(ask(id="2"), run("bob"))["memory_blocks"] == {}


def test_a_fixed_space_is_used_whoever_speaks(memory):
    graph = chat_graph(memory, space="teams/research")
    graph.invoke(ask(FACT), run(user=None))
    assert said(memory.space("teams/research")) == [FACT, "Fine."]


def test_a_fallback_space_is_looked_into_and_never_written(memory):
    team = memory.space("teams/research")
    remember(team, FACT)
    builder = StateGraph(MemoryState)
    builder.add_sequence([recall_node(memory, fallbacks=["teams/research"]), track_node(memory)])
    builder.add_edge(START, "recall")
    result = builder.compile().invoke(ask(), run())
    assert FACT in "".join(result["memory_blocks"].values())
    assert (said(team), said(memory.user("alice"))) == ([FACT], [QUESTION])


def test_nodes_have_names_and_can_be_called_outside_of_a_graph(memory, alice):
    node = track_node(memory, name="keep")
    assert node.get_name() == "keep"
    assert node.invoke(ask(FACT), run()) == {}
    assert said(alice) == [FACT]


def test_a_graph_with_memory_nodes_can_be_drawn(memory):
    assert "recall" in chat_graph(memory).get_graph().draw_mermaid()


def test_the_input_of_the_host_stays_its_own(memory):
    def answer(state: MemoryInput):
        return {"messages": [AIMessage(f"{len(build_prompt(state))} messages")]}

    builder = StateGraph(MemoryState)
    builder.add_sequence([recall_node(memory), answer])
    builder.add_edge(START, "recall")
    builder.add_edge("answer", END)
    assert texts(builder.compile().invoke(ask(), run())["messages"])[-1] == "1 messages"


def test_a_node_logs_under_the_name_of_the_package(memory, caplog):
    with caplog.at_level(logging.ERROR, "langmem_tiers"):
        chat_graph(memory).invoke(ask(), run(user=None))
    assert all(record.name.startswith("langmem_tiers.graphs") for record in caplog.records)
