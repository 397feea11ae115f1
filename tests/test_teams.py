"""Roles: leaders read and write a space, members read it, others do neither, through every door."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.store.base import GetOp, PutOp
from langgraph.types import Command

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import AccessDenied, InvalidSettings, InvalidSpace, ReadOnlyForMembers, UnknownSpace
from langmem_tiers.graphs import MemoryState, dream_graph, flush_node, recall_node, track_node
from langmem_tiers.integrations import (
    TieredChatMessageHistory,
    TieredMemory,
    TieredRetriever,
    TieredStore,
    memory_tools,
    recall_runnable,
    space_tools,
)
from langmem_tiers.integrations.tools import TOOL_GROUPS, tools_named

TEAM = "teams/research"
SAID = "The mass spectrometer is booked by Lena on Tuesdays."
KNOWN = "The mass spectrometer is calibrated every March."
ASK = "When has Lena booked the mass spectrometer?"
ROLES = {TEAM: {"ana": "leader", "ben": "member", "agents/scout": "member"}}
READ_ONLY = "memory is read-only for team members"


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path, embedder=None, background=False, roles=ROLES) as opened:
        team = opened.space(TEAM, caller="ana")
        team.track([Turn(role="user", content=SAID, message_id="1")], session="monday")
        team.knowledge.save(KNOWN, category="devices")
        team.documents.write("MEMORY.md", "The mass spectrometer stands in room 5.")
        opened.flush()
        yield opened


def run(user, thread="t"):
    return {"configurable": {"user_id": user, "thread_id": thread} if user else {"thread_id": thread}}


def call(tool, config=None, **given):
    return tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": given}, config)


ENTRY = "000000000000"
TURN = Turn(role="user", content="The laser is new and stands in room 6.")
WRITES = {
    "track": lambda space: space.track([TURN]),
    "save": lambda space: space.knowledge.save("The laser is new."),
    "update": lambda space: space.knowledge.update(space.knowledge.search("spectrometer")[0].entry.id, pinned=True),
    "deactivate": lambda space: space.knowledge.deactivate(space.knowledge.search("spectrometer")[0].entry.id),
    "delete": lambda space: space.knowledge.delete(space.knowledge.search("spectrometer")[0].entry.id),
    "expire": lambda space: space.knowledge.expire(),
    "relation": lambda space: space.graph.add_relation("Lena", "works at", "the lab"),
    "identity": lambda space: space.identity.write("A lab."),
    "document": lambda space: space.documents.write("MEMORY.md", "Nothing."),
    "document deleted": lambda space: space.documents.delete("MEMORY.md"),
    "folder": lambda space: space.documents.import_folder(Path(__file__).parents[1] / "docs"),
    "working memory": lambda space: space.working.within("session/s").save("k", "v"),
    "archive": lambda space: space.archive.write("monday", summary="They spoke."),
    "prune": lambda space: space.archive.prune(),
    "session": lambda space: space.end_session("monday"),
    "mine": lambda space: space.mine(),
    "task": lambda space: space.tasks.start("Repair the laser"),
    "signal": lambda space: space.signals.record("praise", text="Well done!"),
    "dream": lambda space: space.dream(),
    "doctor": lambda space: space.doctor(),
    "rebuild": lambda space: space.rebuild(),
    "golden": lambda space: space.golden.add("Who has booked the spectrometer?", expects="Lena"),
}
READS = {
    "recall": lambda space: space.recall(ASK).block,
    "search": lambda space: space.search("spectrometer"),
    "knowledge": lambda space: space.knowledge.search("spectrometer"),
    "categories": lambda space: space.knowledge.categories(),
    "archive": lambda space: space.archive.recent(),
    "document": lambda space: space.documents.read("MEMORY.md"),
    "drawer": lambda space: space.drawer(1),
    "drawers": lambda space: space.drawers(),
    "palace": lambda space: space.palace(),
    "sessions": lambda space: space.sessions(),
    "prompt": lambda space: space.prompt_block(),
    "graph": lambda space: space.graph.entities(),
    "working memory": lambda space: space.working.within("session/s").list(),
    "receipts": lambda space: space.receipts(),
    "usage": lambda space: space.usage(),
    "stats": lambda space: space.stats(),
    "dreams": lambda space: space.dreams(),
    "tasks": lambda space: space.tasks.list(),
    "signals": lambda space: space.signals.list(),
    "report": lambda space: space.report("last week"),
    "golden": lambda space: space.golden.list(),
}


def state(memory):
    team = memory.space(TEAM)
    known = [(each.entry.id, each.entry.version, each.entry.active) for each in team.knowledge.search(status="all")]
    stats = team.stats()
    return known, team.drawers(), team.receipts(), team.documents.list(), team.identity.read(), stats.drawers


# Members, leaders, others


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("who", ["ben", "agents/scout"])
def test_no_write_of_a_member_is_done(memory, write, who):
    before = state(memory)
    with pytest.raises(ReadOnlyForMembers, match=READ_ONLY) as raised:
        write(memory.space(TEAM, caller=who))
    assert isinstance(raised.value, PermissionError)
    assert state(memory) == before


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_members_and_leaders_read_alike(memory, read):
    assert repr(read(memory.space(TEAM, caller="ben"))) is not None
    read(memory.space(TEAM, caller="ana"))


def test_a_leader_writes(memory):
    for write in (WRITES["track"], WRITES["save"], WRITES["document"], WRITES["working memory"], WRITES["dream"]):
        write(memory.space(TEAM, caller="ana"))


@pytest.mark.parametrize(
    "door", [*READS.values(), *WRITES.values()], ids=[*READS, *(f"write {name}" for name in WRITES)]
)
@pytest.mark.parametrize("who", ["eve", "Ben", "ben ", "users/BEN", "agents/scout2", "agents/ben", ""])
def test_somebody_without_a_role_neither_reads_nor_writes(memory, door, who):
    before = state(memory)
    with pytest.raises(AccessDenied) as raised:
        door(memory.space(TEAM, caller=who))
    assert not isinstance(raised.value, ReadOnlyForMembers)
    assert state(memory) == before


def test_the_own_space_is_everybodys_own_and_that_of_another_user_is_not(memory):
    memory.user("ben", caller="ben").track([TURN])
    memory.space("users/ben/drafts", caller="ben").track([TURN])
    for who in ("ana", "eve", "be", "ben/drafts", "", "agents/scout"):
        for name in ("users/ben", "users/ben/drafts"):
            with pytest.raises(AccessDenied):
                memory.space(name, caller=who).recall("Where does the laser stand?")


def test_the_space_of_an_agent_is_open_to_itself_and_to_who_has_a_role_there(tmp_path):
    with Memory.open(tmp_path, embedder=None, roles={"agents/scout": {"ana": "member"}}) as memory:
        memory.space("agents/scout", caller="agents/scout").track([Turn(role="user", content=SAID)])
        memory.space("agents/ranger", caller="agents/ranger").track([TURN])
        assert SAID in memory.space("agents/scout", caller="ana").recall(ASK).block
        for who in ("ana", "agents/scout", "agents/range", ""):
            with pytest.raises(AccessDenied):
                memory.space("agents/ranger", caller=who).stats()


def test_an_id_that_reads_like_the_name_of_a_team_does_not_lead_it(memory):
    before = state(memory)
    for door in (READS["recall"], WRITES["save"]):
        with pytest.raises(AccessDenied):
            door(memory.space(TEAM, caller=TEAM))
    assert state(memory) == before


def test_an_id_with_a_slash_is_the_same_user_in_the_table_the_handle_and_the_run(tmp_path):
    with Memory.open(tmp_path, embedder=None, roles={TEAM: {"google/1": "member"}}) as memory:
        memory.space(TEAM).track([Turn(role="user", content=SAID)])
        assert SAID in memory.space(TEAM, caller="google/1").recall(ASK).block
        assert SAID in recall_runnable(memory, space=TEAM, on_error="raise").invoke(ASK, run("google/1"))
        memory.user("google/1", caller="google/1").track([TURN])


def test_waiting_for_a_space_needs_a_role_and_makes_no_space(memory):
    for who in ("ben", ""):
        with pytest.raises(AccessDenied):
            memory.space("users/zed", caller=who).flush()
    with pytest.raises(UnknownSpace):
        memory.space(f"{TEAM}/plans", caller="ben").flush()
    assert memory.space(TEAM, caller="ben").flush()
    assert len(memory.spaces()) == 1


def test_what_holds_for_a_space_holds_for_those_below_it_and_others_are_open(memory):
    with pytest.raises(AccessDenied):
        memory.space(f"{TEAM}/plans", caller="eve").stats()
    memory.space(f"{TEAM}s", caller="eve").stats()
    memory.space("global", caller="eve").track([TURN])


def test_a_member_makes_no_space(memory):
    with pytest.raises(UnknownSpace):
        memory.space(f"{TEAM}/plans", caller="ben").stats()
    assert f"{TEAM}/plans" not in memory.spaces()


def test_the_host_itself_and_a_memory_without_roles_are_not_asked(memory, tmp_path):
    memory.space(TEAM).track([TURN])
    memory.user("ben").track([TURN])
    with Memory.open(tmp_path / "other", embedder=None) as other:
        other.user("ben", caller="eve").track([TURN])


def test_a_lead_of_a_user_is_read_where_a_role_says_so(tmp_path):
    with Memory.open(tmp_path, embedder=None, roles={"users/ana": {"ben": "member"}}) as memory:
        memory.user("ana", caller="ana").knowledge.save(KNOWN)
        ben = memory.user("ben", caller="ben", fallbacks=["users/ana"])
        assert [each.space for each in ben.knowledge.search("spectrometer")] == ["users/ana"]
        with pytest.raises(ReadOnlyForMembers):
            memory.user("ana", caller="ben").knowledge.save(KNOWN)


@pytest.mark.parametrize(
    "roles", ["ana", {TEAM: "ana"}, {TEAM: {"ana": "boss"}}, {TEAM: {"ana": None}}, {"../up": {"ana": "leader"}}, 5]
)
def test_a_table_that_is_none_is_refused(tmp_path, roles):
    with pytest.raises((InvalidSettings, ValueError)):
        Memory.open(tmp_path, embedder=None, roles=roles)


# A function


def test_a_function_is_asked_on_every_operation_so_that_a_lost_role_counts_at_once(tmp_path):
    held = {"users/ana": "leader", "users/ben": "leader"}
    with Memory.open(tmp_path, embedder=None, roles=lambda who, space: held.get(who)) as memory:
        team = memory.space(TEAM, caller="ben")
        team.track([Turn(role="user", content=SAID)])
        held["users/ben"] = "member"
        with pytest.raises(ReadOnlyForMembers):
            team.track([TURN])
        assert SAID in team.recall(ASK).block
        del held["users/ben"]
        with pytest.raises(AccessDenied):
            team.recall(ASK)
        assert len(memory.space(TEAM, caller="ana").drawers()) == 1


def test_a_function_that_answers_something_else_lets_nobody_in(tmp_path):
    with (
        Memory.open(tmp_path, embedder=None, roles=lambda who, space: "boss") as memory,
        pytest.raises(InvalidSettings, match="boss"),
    ):
        memory.space(TEAM, caller="ana").track([TURN])


# Fallbacks


def test_a_member_reads_the_team_beside_their_own_and_nothing_is_written_there(memory):
    before = state(memory)
    ben = memory.user("ben", caller="ben", fallbacks=[TEAM])
    assert SAID in ben.recall(ASK, session="s", message_id="m").block
    assert [each.space for each in ben.knowledge.search("spectrometer")] == [TEAM]
    assert ben.drawer(f"§W-001/R-01/D-001@{TEAM}").content == SAID
    assert ben.receipts()[0].candidates
    ben.knowledge.save("The mass spectrometer hums.")
    memory.flush()
    assert state(memory) == before


def test_a_fallback_without_a_role_is_left_out_and_the_receipt_says_so(memory):
    eve = memory.user("eve", caller="eve", fallbacks=[TEAM])
    eve.track([Turn(role="user", content="My mass spectrometer is a toy and booked by nobody.")])
    recalled = eve.recall(ASK)
    assert "toy" in recalled.block
    assert "Lena" not in recalled.block
    assert recalled.receipt.notes == (f"fallback {TEAM}: left out, no role there",)
    assert not eve.knowledge.search("spectrometer")
    with pytest.raises(ValueError, match="fallbacks"):
        eve.drawer(f"§W-001/R-01/D-001@{TEAM}")


def test_through_a_space_without_a_role_no_fallback_is_read(memory):
    zed, reference = memory.user("zed", caller="ben", fallbacks=[TEAM]), f"{ENTRY}@{TEAM}"
    for read in (
        lambda: zed.drawer(f"§W-001/R-01/D-001@{TEAM}"),
        lambda: zed.knowledge.get(reference),
        lambda: zed.archive.get(reference),
        lambda: zed.source(TEAM),
    ):
        with pytest.raises(AccessDenied, match="users/zed"):
            read()


@pytest.fixture
def leaving(tmp_path):
    """A memory in which ben has a role in the team until `held` is emptied."""
    held = {"users/ben": "member"}
    with Memory.open(tmp_path, embedder=None, background=False, roles=lambda who, space: held.get(who)) as opened:
        opened.space(TEAM).track([Turn(role="user", content=SAID, message_id="1")], session="monday")
        opened.space(TEAM).knowledge.save(KNOWN, category="devices")
        opened.user("ben").track(
            [Turn(role="user", content="My mass spectrometer is a toy and booked by nobody.", message_id="2")]
        )
        yield opened, held


def test_a_recall_that_showed_a_team_is_not_repeated_for_who_has_left_it(leaving):
    memory, held = leaving
    ben = memory.user("ben", caller="ben", fallbacks=[TEAM])
    call = {"session": "s", "message_id": "m"}
    first = ben.recall(ASK, **call)
    assert ben.recall(ASK, **call).receipt.verdict == "repeated"
    held.clear()
    again = ben.recall(ASK, **call)
    assert "Lena" in first.block
    assert "toy" in again.block
    assert "Lena" not in again.block
    assert {each.space for each in again.items} == {"users/ben"}
    assert ben.recall(ASK, **call).block == again.block


def test_a_recall_that_showed_a_team_is_still_explained_to_who_has_left_it(leaving):
    memory, held = leaving
    ben = memory.user("ben", caller="ben", fallbacks=[TEAM])
    ben.recall(ASK, session="s", message_id="m")
    held.clear()
    [explain] = space_tools(ben, only=["explain_recall"])
    told = call(explain, {"configurable": {"thread_id": "s"}}).content
    assert "no longer read from here" in told
    assert not any(text in told for text in (SAID, KNOWN))


@pytest.mark.parametrize("space", [None, TEAM])
def test_what_a_thread_was_shown_of_a_team_is_out_of_sight_of_who_has_left_it(leaving, space):
    memory, held = leaving
    builder = StateGraph(MemoryState)
    builder.add_node(recall_node(memory, space=space, fallbacks=[TEAM]))
    builder.add_edge(START, "recall")
    graph = builder.compile(checkpointer=InMemorySaver())
    first = graph.invoke({"messages": [HumanMessage(ASK, id="1"), AIMessage("On Tuesdays.")]}, run("ben"))
    kept = graph.invoke({"messages": [HumanMessage("And on which other days?", id="3")]}, run("ben"))
    assert SAID in kept["memory_blocks"]["1"] == first["memory_blocks"]["1"]
    held.clear()
    left = graph.invoke({"messages": [HumanMessage("And on Fridays?", id="5")]}, run("ben"))
    assert "Lena" not in str([left["memory_blocks"], left["memory_scope"]])


# Doors


def test_tools_tell_a_member_that_the_memory_is_read_only(memory):
    tools = memory_tools(memory, space=TEAM, only=tools_named([*TOOL_GROUPS]))
    by_name = {tool.name: tool for tool in tools}
    entry = memory.space(TEAM).knowledge.search("spectrometer")[0].entry
    before = state(memory)
    for name, given in {
        "save_memory": {"content": "The laser is new."},
        "update_memory": {"id": entry.id, "content": "The mass spectrometer is sold."},
        "delete_memory": {"id": entry.id},
        "memory_write": {"action": "add", "layer": "L0", "content": "A lab."},
        "add_relation": {"subject": "Lena", "predicate": "works at", "object": "the lab"},
        "save_to_working_memory": {"key": "k", "data": "v"},
        "write_note": {"path": "MEMORY.md", "text": "More."},
        "start_task": {"title": "Repair the laser"},
        "record_feedback": {"kind": "praise", "quote": "Well done!"},
    }.items():
        answer = call(by_name[name], run("ben"), **given)
        assert answer.status == "error", name
        assert READ_ONLY in answer.content, name
        assert READ_ONLY not in call(by_name[name], run("eve"), **given).content
    assert state(memory) == before
    assert KNOWN in call(by_name["search_memory"], run("ben"), query="spectrometer").content
    assert SAID in call(by_name["search_history"], run("ben"), query=ASK).content
    for user in ("eve", None):
        for name, given in {
            "search_memory": {"query": "spectrometer"},
            "get_memory": {"id_or_pointer": entry.id},
        }.items():
            answer = call(by_name[name], run(user), **given)
            assert answer.status == "error"
            assert "spectrometer" not in answer.content


def test_tools_of_a_handle_have_its_caller(memory):
    [save] = space_tools(memory.space(TEAM, caller="ben"), only=["save_memory"])
    assert READ_ONLY in call(save, content="The laser is new.").content


def graph(memory, **options):
    builder = StateGraph(MessagesState)
    builder.add_node("recall", recall_node(memory, space=TEAM, **options))
    builder.add_node("model", lambda state: {"messages": [AIMessage("On Tuesdays.", id="2")]})
    builder.add_node("track", track_node(memory, space=TEAM, **options))
    builder.add_node("flush", flush_node(memory, space=TEAM, context_window=10, **options))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "model")
    builder.add_edge("model", "track")
    builder.add_edge("track", "flush")
    return builder.compile()


def test_in_a_graph_the_reply_comes_and_the_event_says_that_it_was_not_stored(memory, caplog):
    before = state(memory)
    told = list(
        graph(memory).stream({"messages": [HumanMessage(ASK, id="1")]}, run("ben"), stream_mode=["custom", "values"])
    )
    events = [event for mode, event in told if mode == "custom"]
    assert [each["items"] for each in events if each["type"] == "memory_recalled"] == [1]
    refused = [each for each in events if each["type"] == "memory_refused"]
    assert refused[0]["node"] == "track"
    assert READ_ONLY in refused[0]["reason"]
    assert [value for mode, value in told if mode == "values"][-1]["messages"][-1].content == "On Tuesdays."
    assert "memory_refused" in caplog.text
    assert state(memory) == before


def test_in_a_graph_that_raises_it_is_the_error(memory):
    with pytest.raises(ReadOnlyForMembers):
        graph(memory, on_error="raise").invoke({"messages": [HumanMessage(ASK, id="1")]}, run("ben"))
    for user in ("eve", None):
        with pytest.raises(AccessDenied):
            graph(memory, on_error="raise").invoke({"messages": [HumanMessage(ASK, id="1")]}, run(user))


def with_tools(memory, saver, *wanted, pause=()):
    """A graph whose recall node works on the team, and whose tools on the space that the run or the thread names."""
    builder = StateGraph(MemoryState)
    builder.add_node(recall_node(memory, space=TEAM))
    calls = [{"name": name, "args": given, "id": name} for name, given in wanted]
    builder.add_node("model", lambda state: {"messages": [AIMessage("", tool_calls=calls)]})
    builder.add_node("tools", ToolNode(memory_tools(memory, only=[name for name, _ in wanted])))
    for here, there in pairwise((START, "recall", "model", "tools")):
        builder.add_edge(here, there)
    return builder.compile(checkpointer=saver, interrupt_before=pause)


def told_by_tools(state):
    return {message.name: message.text for message in state["messages"] if isinstance(message, ToolMessage)}


TOOL_CALLS = (("search_memory", {"query": "spectrometer"}), ("save_memory", {"content": "The laser is new."}))


def test_a_run_of_nobody_that_goes_on_with_a_message_has_the_role_of_who_asked(memory):
    before, graph = state(memory), with_tools(memory, InMemorySaver(), *TOOL_CALLS, pause=["tools"])
    graph.invoke({"messages": [HumanMessage(ASK)]}, run("ben"))
    told = told_by_tools(graph.invoke(Command(resume=True), run(None)))
    assert memory.spaces() == (TEAM,)
    assert KNOWN in told["search_memory"]
    assert READ_ONLY in told["save_memory"]
    assert state(memory) == before


def test_a_new_message_of_nobody_reads_and_writes_nothing_on_the_thread_of_a_member(memory):
    graph = with_tools(memory, InMemorySaver(), *TOOL_CALLS)
    graph.invoke({"messages": [HumanMessage(ASK)]}, run("ana"))
    with_ana = state(memory)
    told = told_by_tools(graph.invoke({"messages": [HumanMessage(ASK)]}, run(None)))
    assert ["names no user" in each for each in told.values()] == [True, True]
    assert state(memory) == with_ana


def test_a_leader_s_graph_stores_what_is_said(memory):
    graph(memory, on_error="raise").invoke({"messages": [HumanMessage("The laser is new.", id="1")]}, run("ana"))
    assert len(memory.space(TEAM).drawers()) == 3


def test_chains_and_retrievers_ask_for_the_role_of_the_run(memory):
    step = recall_runnable(memory, space=TEAM, on_error="raise")
    assert SAID in step.invoke(ASK, run("ben"))
    retriever = TieredRetriever(memory=memory, space=TEAM)
    assert retriever.invoke(ASK, run("ben"))[0].page_content == SAID
    for user in ("eve", None):
        with pytest.raises(AccessDenied):
            step.invoke(ASK, run(user))
        with pytest.raises(AccessDenied):
            retriever.invoke(ASK, run(user))
    history = TieredChatMessageHistory(memory.space(TEAM, caller="ben"), session="monday")
    assert [each.content for each in history.messages] == [SAID]
    with pytest.raises(ReadOnlyForMembers):
        history.add_messages([HumanMessage("The laser is new.")])


@pytest.mark.parametrize("space", [TEAM, lambda config, runtime: TEAM])
def test_the_user_that_a_retriever_is_given_is_whose_role_counts(memory, space):
    def asked(**whose):
        return TieredRetriever(memory=memory, space=space, **whose).invoke(ASK, run("eve"))

    assert [each.page_content for each in asked(user_id="ben")] == [SAID]
    assert [each.page_content for each in asked(user_id=lambda: "ben")] == [SAID]
    for whose in ({"user_id": "zed"}, {"user_id": lambda: ""}, {}):
        with pytest.raises(AccessDenied):
            asked(**whose)


def test_the_user_that_a_classic_memory_is_given_is_whose_role_counts(memory):
    def classic(user):
        return TieredMemory(memory=memory, space=TEAM, user_id=user, on_error="raise")

    assert SAID in classic("ben").load_memory_variables({"input": ASK})["history"]
    with pytest.raises(ReadOnlyForMembers):
        classic("ben").save_context({"input": "The laser is new."}, {"output": "Noted."})
    classic("ana").save_context({"input": "The laser is new."}, {"output": "Noted."})
    with pytest.raises(AccessDenied):
        classic("eve").load_memory_variables({"input": ASK})


def in_a_run(config, work):
    builder = StateGraph(MessagesState)
    builder.add_node("work", lambda state: work() and {})
    builder.add_edge(START, "work")
    builder.compile().invoke({"messages": []}, config)


def test_the_store_asks_for_the_role_of_the_run_in_which_it_is_used(memory):
    store = TieredStore(memory, space_of=lambda namespace: TEAM if namespace[0] == "team" else None)
    in_a_run(run("ana"), lambda: store.put(("team", "devices"), "1", {"content": "The laser is new."}))
    for write in (
        lambda: store.put(("team", "devices"), "2", {"content": "The laser is old."}),
        lambda: store.delete(("team", "devices"), "1"),
    ):
        with pytest.raises(ReadOnlyForMembers):
            in_a_run(run("ben"), write)
        with pytest.raises(AccessDenied):
            in_a_run(run("eve"), write)
    found = []
    in_a_run(run("ben"), lambda: found.extend(store.search(("team",), query="laser")))
    assert [each.value for each in found] == [{"content": "The laser is new."}]
    in_a_run(run("eve"), lambda: found.extend(store.list_namespaces()))
    assert len(found) == 1
    for read in (lambda: store.get(("team", "devices"), "1"), lambda: store.search(("tiers", "ben"))):
        with pytest.raises(AccessDenied):
            in_a_run(run("eve"), read)


TOO_LONG = {"configurable": {"langgraph_auth_user_id": "x" * 129}}


@pytest.mark.parametrize(("config", "error"), [(run(None), AccessDenied), (TOO_LONG, InvalidSpace)])
def test_the_store_is_the_hosts_only_outside_of_any_run(memory, config, error):
    store, note = TieredStore(memory), {"content": "The laser is new."}
    store.put(("users", "bob"), "1", note)
    for use in (
        lambda: store.get(("users", "bob"), "1"),
        lambda: store.search(("users", "bob")),
        lambda: store.put(("users", "bob"), "1", {"content": "The laser is old."}),
        lambda: store.get(("tiers", "bob", "knowledge"), "1"),
    ):
        with pytest.raises(error):
            in_a_run(config, use)
    assert store.get(("users", "bob"), "1").value == note


def test_a_run_of_nobody_uses_what_is_open_to_all_in_the_store(memory):
    store, note = TieredStore(memory), {"content": "The laser is new."}
    in_a_run(run(None), lambda: store.put(("shared",), "1", note))
    assert store.get(("shared",), "1").value == note


@pytest.mark.parametrize(
    ("config", "status"),
    [(TOO_LONG, "failed"), (run("ben"), "failed"), (run("ana"), "nothing"), (run(None), "nothing")],
)
def test_a_dream_is_the_hosts_only_where_the_run_names_no_user_at_all(memory, config, status):
    report = dream_graph(memory, space=TEAM).invoke({}, config)["dream_report"]
    assert report["status"] == status


def test_a_batch_that_reaches_beyond_a_role_is_refused_as_a_whole(memory):
    store = TieredStore(memory, space_of=lambda namespace: TEAM if namespace[0] == "team" else "users/eve")
    memory.user("eve").track([TURN])
    for op in (GetOp(("team",), "1"), PutOp(("team",), "1", {"content": "The laser is old."})):
        with pytest.raises(AccessDenied, match="no role"):
            in_a_run(
                run("eve"), lambda op=op: store.batch([GetOp(("own",), "1"), PutOp(("own",), "1", {"text": "It."}), op])
            )
    assert store.get(("own",), "1") is None


def test_an_mcp_server_has_the_caller_of_its_space(memory):
    from mcp import Client

    from langmem_tiers.integrations.mcp import mcp_server

    async def ask(who, name, given):
        async with Client(mcp_server(memory.space(TEAM, caller=who))) as client:
            answer = await client.call_tool(name, given)
            return answer.content[0].text

    assert KNOWN in asyncio.run(ask("ben", "search_memory", {"query": "spectrometer"}))
    assert READ_ONLY in asyncio.run(ask("ben", "save_memory", {"content": "The laser is new."}))
    assert "no role" in asyncio.run(ask("eve", "search_memory", {"query": "spectrometer"}))
