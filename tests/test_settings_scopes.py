"""Settings of spaces and agents, in force at every door."""

import json
from itertools import pairwise

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph
from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

from langmem_tiers import (
    DreamSettings,
    FlushSettings,
    Memory,
    MiningSettings,
    RecallSettings,
    Settings,
    StorageSettings,
    TrackingSettings,
    Turn,
    WindowSettings,
    WorkingSettings,
)
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput, InvalidSettings, MemoryOff, MissingUser
from langmem_tiers.graphs import (
    MemoryContext,
    MemoryState,
    build_prompt,
    dream_graph,
    flush_before_compaction,
    flush_node,
    memory_agent,
    recall_node,
    track_node,
    working_node,
)
from langmem_tiers.integrations import (
    MEMORY_TOOLS,
    WORKING_TOOLS,
    MemoryMiddleware,
    TieredChatMessageHistory,
    TieredRetriever,
    TieredStore,
    memory_tools,
    recall_runnable,
    space_tools,
)
from langmem_tiers.settings_layers import FILE
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel

DAY = 24 * 3600
SEVERAL = ("Lena bakes bread in Porto.", "Lena sails a boat in Porto.", "Lena paints old houses in Porto.")
PORTO = "What goes on with Lena in Porto?"
SAID = "My sister Lena moved to Porto."
ASKED = "Where does my sister Lena live?"
OFF = Settings(enabled=False)


def recalling(**given):
    return Settings(recall=RecallSettings(**given))


@pytest.fixture
def opened(tmp_path, clock):
    """A memory with settings, in which alice has said something."""
    open_now = []

    def opening(settings=None, said=(SAID,)):
        memory = Memory.open(
            tmp_path / "memory", embedder=HashEmbedder(), background=False, clock=clock, settings=settings
        )
        open_now.append(memory)
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=each) for each in said], session="monday")
        memory.flush()
        return memory

    yield opening
    for memory in open_now:
        memory.close()


def run(memory, *nodes, agent=None, text=ASKED, session="tuesday", **kept):
    """The state after a graph of these nodes was run once."""
    builder = StateGraph(MemoryState, context_schema=MemoryContext)
    names = [node.name for node in nodes]
    for node in nodes:
        builder.add_node(node)
    builder.add_edge(START, names[0])
    for first, then in pairwise(names):
        builder.add_edge(first, then)
    context = {"user_id": "alice", "session_id": session, **({"agent_id": agent} if agent else {})}
    return builder.compile().invoke({"messages": [HumanMessage(text, id="m1")], **kept}, context=context)


def stored(memory, session="tuesday"):
    return [each.content for each in memory.user("alice").drawers(session=session)]


def known(memory, user="alice"):
    """What is known of a user, as one text."""
    return " ".join(found.entry.content for found in memory.user(user).knowledge.search("", limit=50))


def test_an_agent_goes_before_a_space_and_both_before_the_memory(opened):
    space = recalling(limit=2, spread=0.2).model_copy(update={"agents": {"patrol": recalling(limit=4)}})
    memory = opened(
        Settings(
            recall=RecallSettings(limit=1, spread=0.1, later=1),
            spaces={"users/alice": space},
            agents={"patrol": recalling(limit=3), "other": recalling(limit=5)},
        )
    )

    def limit(name, agent=None):
        recall = memory.user(name, agent=agent).context.settings.recall
        return recall.limit, recall.spread, recall.later

    assert limit("bob") == (1, 0.1, 1)
    assert limit("bob", "patrol") == (3, 0.1, 1)
    assert limit("bob", "nobody") == (1, 0.1, 1)
    assert limit("alice") == (2, 0.2, 1)
    assert limit("alice", "other") == (5, 0.2, 1)
    assert limit("alice", "patrol") == (4, 0.2, 1)


def test_the_file_names_spaces_and_agents_and_code_goes_before_it(tmp_path, opened):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / FILE).write_text(
        '[spaces."users/alice".recall]\nlimit = 2\nspread = 0.2\n'
        "[agents.patrol.tracking]\nenabled = false\n"
        '[spaces."users/alice".agents.patrol.episodes]\n'.replace("episodes", "working")
        + "ttl_minutes = 1\n"
    )
    memory = opened(Settings(spaces={"users/alice": recalling(limit=4)}))
    alice = memory.user("alice", agent="patrol").context.settings
    assert (alice.recall.limit, alice.recall.spread, alice.working.ttl_minutes) == (4, 0.2, 1)
    assert not memory.user("bob", agent="patrol").context.settings.tracks


def test_variables_name_agents_with_small_letters(opened, monkeypatch):
    monkeypatch.setenv("LANGMEM_TIERS_AGENTS__PATROL__RECALL__ENABLED", "false")
    memory = opened()
    assert not memory.user("alice", agent="patrol").recall(ASKED).block
    assert SAID in memory.user("alice").recall(ASKED).block


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"spaces": {"users/a": {"storage": {"memory_mb": 0}}}}, "storage cannot be set for a space"),
        ({"agents": {"patrol": {"dream": {"enabled": False}}}}, "dream cannot be set for an agent"),
        ({"agents": {"patrol": {"spaces": {}}}}, "spaces cannot be set for an agent"),
        ({"agents": {"p": {"recall": {"rerank": {"model": "a:b"}}}}}, "recall.rerank.model cannot be set for an agent"),
    ],
)
def test_what_is_of_the_whole_memory_cannot_be_set_for_a_part_of_it(given, says, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=says):
        Settings(**given)
    [(kind, scopes)] = given.items()
    monkeypatch.setenv(f"LANGMEM_TIERS_{kind.upper()}", json.dumps(scopes))
    with pytest.raises(InvalidSettings, match=says):
        Memory.open(tmp_path / "memory", embedder=None)


def test_a_mistake_within_an_agent_is_an_error_that_suggests_the_whole_name(tmp_path):
    (tmp_path / FILE).write_text("[agents.patrol.recall]\nlimitt = 2\n")
    with pytest.raises(InvalidSettings, match=r"Did you mean agents\.patrol\.recall\.limit\?"):
        Memory.open(tmp_path, embedder=None)


def test_recall_is_off_for_an_agent_while_its_conversations_are_mined(opened):
    memory = opened(Settings(agents={"quiet": recalling(enabled=False)}))
    state = run(memory, recall_node(memory), track_node(memory), agent="quiet", text="I live in Faro. " + ASKED)
    assert state["memory_blocks"] == {}
    assert [each.content for each in memory.user("alice").drawers(session="tuesday")] == ["I live in Faro. " + ASKED]
    memory.user("alice").mine()
    assert "Faro" in known(memory)
    # The other agent of the conversation recalls for the same message.
    assert SAID in run(memory, recall_node(memory), text="I live in Faro. " + ASKED)["memory_blocks"]["m1"]


def test_conversations_with_an_agent_are_not_mined_where_its_settings_say_so(opened, clock):
    memory = opened(Settings(agents={"silent": Settings(mining=MiningSettings(enabled=False))}))
    for agent, town in (("silent", "Faro"), ("loud", "Braga")):
        alice = memory.user("alice", agent=agent)
        alice.track([Turn(role="user", content=f"I work in {town}.")], session=agent)
    clock.tick(DAY)
    memory.flush()
    assert "Braga" in known(memory)
    assert "Faro" not in known(memory)
    assert {episode.session for episode in memory.user("alice").archive.recent()} == {"monday", "loud"}


def test_nothing_is_tracked_or_flushed_for_an_agent_whose_settings_say_so(opened):
    untracked = Settings(tracking=TrackingSettings(enabled=False))
    memory = opened(Settings(agents={"patrol": untracked}, flush=FlushSettings(messages=1)))
    run(memory, track_node(memory), flush_node(memory), agent="patrol")
    run(memory, track_node(memory, agent="patrol"))
    alice, messages = memory.user("alice"), [HumanMessage("I live in Faro.", id=f"{each}") for each in range(3)]
    report = flush_before_compaction(memory, alice, messages, session="tuesday", agent="patrol")
    assert report.skipped == "tracking is off"
    TieredChatMessageHistory(memory.user("alice", agent="patrol"), "tuesday").add_messages(messages)
    assert alice.track([Turn(role="user", content=SAID)], session="tuesday", agent="patrol").stored == ()
    assert stored(memory) == []
    assert alice.documents.list() == ()
    run(memory, track_node(memory), agent="other")
    assert stored(memory) == [ASKED]


def test_an_agent_gets_its_own_limit_threshold_budget_and_placement(opened):
    agents = {
        "few": recalling(limit=1),
        "strict": recalling(threshold=1.0),
        "small": recalling(token_budget=1),
        "system": recalling(placement="system"),
    }
    memory = opened(Settings(agents=agents, recall=RecallSettings(best_share=0, match_share=0)), said=SEVERAL)
    shown = {
        name: run(memory, recall_node(memory), agent=name, text=PORTO, session=name) for name in (*agents, "other")
    }
    lines = {name: state["memory_blocks"].get("m1", "").count("§W") for name, state in shown.items()}
    assert (lines["few"], lines["strict"], lines["small"]) == (1, 0, 0)
    assert lines["other"] > 1
    assert build_prompt(shown["system"])[-1].text == PORTO
    assert "memory_context" in build_prompt(shown["system"])[0].text
    assert "memory_context" in build_prompt(shown["other"])[-1].text


def test_a_node_has_its_own_limit_threshold_budget_and_layers(opened):
    memory = opened(Settings(recall=RecallSettings(best_share=0, match_share=0)), said=SEVERAL)

    def lines(**given):
        return (
            run(memory, recall_node(memory, **given), text=PORTO, session=str(given))["memory_blocks"]
            .get("m1", "")
            .count("§W")
        )

    assert lines(limit=1) == 1 < lines()
    assert lines(threshold=1.0) == lines(token_budget=1) == lines(layers=["entries"]) == 0


@pytest.mark.parametrize(
    "given",
    [
        {"limit": 0},
        {"limit": "3"},
        {"threshold": 2},
        {"token_budget": 0},
        {"layers": ["cellar"]},
        {"layers": "drawers"},
        {"agent": 3},
        {"placement": "top"},
    ],
)
def test_a_node_refuses_what_it_cannot_use(given, memory):
    with pytest.raises(InvalidInput):
        recall_node(memory, **given)


def test_layers_say_what_a_model_is_shown(opened):
    memory = opened(said=())
    alice = memory.user("alice")
    alice.identity.write("Alice is a gardener.")
    alice.documents.write("MEMORY.md", "Tools are in the shed.")
    alice.knowledge.save("Lena keeps bees in Porto.")
    alice.track([Turn(role="user", content=SAID)], session="monday")
    alice.working.within("session/tuesday").save("inbox", "3 mails")
    memory.flush()

    def shown(*layers):
        space = memory.user("alice", settings=recalling(layers=layers))
        return space.prompt_block(), space.recall(PORTO, session=f"of {layers}").block

    assert "gardener" in shown("identity")[0]
    assert "shed" not in shown("identity", "drawers")[0]
    assert "shed" in shown("documents")[0]
    both, drawers, entries = (shown(*layers)[1] for layers in (("drawers", "entries"), ("drawers",), ("entries",)))
    assert [SAID in block for block in (both, drawers, entries)] == [True, True, False]
    assert ["keeps bees" in block for block in (both, drawers, entries)] == [True, False, True]
    everything = run(memory, recall_node(memory), working_node(memory))
    assert "session/tuesday/inbox" in build_prompt(everything)[-1].text
    only = {"agents": {"plain": recalling(layers=("drawers",))}}
    memory.close()
    memory = opened(Settings(**only), said=())
    state = run(memory, recall_node(memory), working_node(memory), agent="plain")
    assert "session/tuesday/inbox" not in build_prompt(state)[-1].text


def test_memory_off_for_an_agent_reads_and_stores_nothing_and_breaks_no_graph(opened):
    memory = opened(Settings(agents={"off": OFF}, flush=FlushSettings(messages=1)))
    memory.user("alice").identity.write("Alice is a gardener.")
    nodes = [make(memory, on_error="raise") for make in (recall_node, track_node, flush_node, working_node)]
    state = run(memory, *nodes, agent="off", memory_blocks={"m1": "an old block"})
    assert [message.text for message in build_prompt(state)] == [ASKED]
    assert stored(memory) == []
    off = memory.user("alice", agent="off")
    assert off.recall(ASKED).block == off.prompt_block() == ""
    assert off.recall(ASKED).receipt.verdict == "disabled"
    assert off.track([Turn(role="user", content=SAID)], session="tuesday").stored == ()
    for refused in (off.working.list, off.sessions, off.mine, off.stats):
        with pytest.raises(MemoryOff, match="memory for the agent off is off"):
            refused()
    history = TieredChatMessageHistory(off, "monday")
    history.add_user_message(SAID)
    history.clear()
    assert history.messages == []
    run_of = {"configurable": {"user_id": "alice", "thread_id": "tuesday", "agent_id": "off"}}
    assert recall_runnable(memory, on_error="raise").invoke(ASKED, run_of) == ""
    assert TieredRetriever(memory=memory).invoke(ASKED, run_of) == []
    assert len(memory.user("alice").drawers()) == 1


def test_tools_say_that_the_memory_is_off_for_an_agent(opened):
    memory = opened(Settings(agents={"off": OFF}))
    named = {"configurable": {"user_id": "alice", "agent_id": "off"}}
    mine = {"configurable": {"user_id": "alice"}}
    every = (*MEMORY_TOOLS, *WORKING_TOOLS)
    found = [
        *((tool, named) for tool in memory_tools(memory, only=every)),
        *((tool, mine) for tool in memory_tools(memory, only=every, agent="off")),
        *((tool, mine) for tool in space_tools(memory.user("alice", agent="off"), only=every)),
        *((tool, named) for tool in space_tools(memory.user("alice"), only=every)),
    ]
    given = {
        "content": SAID,
        "id": "a",
        "query": "Lena",
        "key": "a",
        "data": "b",
        "action": "add",
        "layer": "L1",
        "id_or_pointer": "a",
        "why": "a",
    }
    for tool, config in found:
        arguments = {name: given[name] for name in tool.args_schema.model_fields if name in given}
        answer = tool.invoke({"name": tool.name, "args": arguments, "id": "1", "type": "tool_call"}, config)
        assert "off" in answer.text, tool.name
        assert "Go on without the memory" in answer.text, tool.name
    assert known(memory) == ""


def test_a_space_that_is_off_is_left_alone(opened, clock):
    memory = opened(Settings(spaces={"users/bob": OFF}))
    memory.close()
    memory = opened()
    memory.user("bob").track([Turn(role="user", content="I work in Faro.")], session="monday")
    memory.close()
    memory = opened(Settings(spaces={"users/bob": OFF}), said=())
    clock.tick(DAY)
    assert memory.flush()
    assert {report.space for report in memory.dream()} == {"users/alice"}
    assert not memory.user("bob").recall("Where do I work?").block
    assert SAID in memory.user("alice", fallbacks=["users/bob"]).recall(ASKED).block
    with pytest.raises(MemoryOff, match="users/bob is off"):
        memory.user("bob").sessions()
    memory.close()
    with Memory.open(memory.path, embedder=HashEmbedder(), background=False, clock=clock) as again:
        assert known(again, "bob") == ""
        assert again.user("bob").stats().pending == 1


def of_agent(agent, call):
    """What a call does in a run that names an agent."""
    run_of = {"configurable": {"user_id": "alice", "agent_id": agent}}
    return RunnableLambda(lambda _: call()).invoke(None, run_of)


STORE = {
    "get": GetOp(("memories", "alice"), "1"),
    "search": SearchOp(("memories", "alice")),
    "search by words": SearchOp(("memories", "alice"), query="Lena"),
    "put": PutOp(("memories", "alice"), "2", {"content": SAID}),
    "delete": PutOp(("memories", "alice"), "1", None),
    "get of a tier": GetOp(("tiers", "alice", "knowledge"), "1"),
    "search in a tier": SearchOp(("tiers", "alice", "drawers"), query=ASKED),
    "put into a tier": PutOp(("tiers", "alice", "knowledge"), "2", {"content": SAID}),
}


@pytest.mark.parametrize("op", STORE)
def test_the_store_reads_and_writes_nothing_for_an_agent_whose_memory_is_off(op, opened):
    memory = opened(Settings(agents={"scratch": OFF}))
    store = TieredStore(memory)
    store.put(("memories", "alice"), "1", {"content": "Lena bakes."})
    with pytest.raises(MemoryOff, match="for the agent scratch is off"):
        of_agent("scratch", lambda: store.batch([STORE[op]]))
    assert [item.key for item in of_agent("other", lambda: store.search(("memories", "alice")))] == ["1"]
    assert known(memory) == ""


def test_the_store_is_on_for_an_agent_that_has_a_memory_where_others_have_none(opened):
    memory = opened(Settings(enabled=False, agents={"keeper": Settings(enabled=True)}))
    store = TieredStore(memory)
    of_agent("keeper", lambda: store.put(("memories", "alice"), "1", {"content": SAID}))
    [found] = of_agent("keeper", lambda: store.search(("memories", "alice"), query="Lena"))
    assert found.value == {"content": SAID}
    with pytest.raises(MemoryOff, match="users/alice is off"):
        store.get(("memories", "alice"), "1")


def test_a_space_that_is_off_is_left_out_of_what_the_store_finds_in_all_spaces(opened, clock):
    memory = opened()
    store = TieredStore(memory, ttl={"default_ttl": 1})
    for user in ("alice", "bob"):
        store.put(("memories", user), "1", {"content": f"{user} bakes."})
    memory.close()
    memory = opened(Settings(spaces={"users/bob": OFF}), said=())
    store = TieredStore(memory)
    assert [item.namespace for item in store.search(())] == [("memories", "alice")]
    assert [item.namespace for item in store.search((), query="Who bakes?")] == [("memories", "alice")]
    assert store.batch([ListNamespacesOp()]) == [[("memories", "alice")]]
    with pytest.raises(MemoryOff, match="users/bob is off"):
        store.search(("memories", "bob"))
    clock.tick(DAY)
    assert store.sweep_ttl() == 1


def test_a_batch_with_a_space_that_is_off_writes_nothing(opened):
    memory = opened(Settings(spaces={"users/bob": OFF}))
    store = TieredStore(memory)
    for last in (("memories", "bob"), ("tiers", "bob", "knowledge")):
        with pytest.raises(MemoryOff, match="users/bob is off"):
            store.batch([PutOp(where, "1", {"content": SAID}) for where in (("memories", "alice"), last)])
    assert store.search(("memories", "alice")) == []
    assert memory.spaces() == ("users/alice",)


@pytest.mark.parametrize("on_error", ["log", "raise"])
def test_a_dream_of_all_spaces_leaves_out_those_that_are_off(on_error, opened):
    memory = opened()
    for user in ("bob", "cara"):
        memory.user(user).track([Turn(role="user", content="I work in Faro.")], session="monday")
    memory.close()
    memory = opened(Settings(spaces={"users/bob": OFF}), said=())
    reports = dream_graph(memory, on_error=on_error).invoke({"all": True})["dream_report"]
    assert [(report["space"], report["status"] == "failed") for report in reports] == [
        ("users/alice", False),
        ("users/cara", False),
    ]


def test_a_run_that_names_nobody_finds_no_user_where_the_memory_is_off(opened):
    memory = opened(Settings(spaces={"users/alice": OFF}), said=())
    builder = StateGraph(MemoryState)
    builder.add_node(recall_node(memory, on_error="raise"))
    builder.add_edge(START, "recall")
    state = {"messages": [HumanMessage(ASKED, id="m9")], "memory_scope": {"space": "users/alice"}}
    with pytest.raises(MissingUser):
        builder.compile().invoke(state)


def test_a_fallback_that_is_off_for_an_agent_is_not_read_for_it(opened):
    memory = opened(Settings(spaces={"global": Settings(agents={"patrol": OFF})}), said=())
    memory.space("global").track([Turn(role="user", content=SAID)], session="monday")
    alice = memory.user("alice", fallbacks=["global"])
    assert SAID in alice.recall(ASKED).block
    assert not alice.of_agent("patrol").recall(ASKED, session="other").block


def test_an_agent_as_an_argument_goes_before_the_one_that_the_run_names(opened):
    untracked = Settings(tracking=TrackingSettings(enabled=False))
    memory = opened(Settings(agents={"patrol": untracked}))
    config = {"configurable": {"user_id": "alice", "thread_id": "tuesday", "agent_id": "other"}}
    patrol = memory_agent(ScriptedChatModel(responses=["Done."]), memory, agent="patrol", on_error="raise")
    patrol.invoke({"messages": "Look after the greenhouse."}, config)
    assert stored(memory) == []
    other = memory_agent(ScriptedChatModel(responses=["Done."]), memory, on_error="raise")
    other.invoke({"messages": "Look after the greenhouse."}, config)
    assert stored(memory) == ["Look after the greenhouse.", "Done."]
    assert memory.user("alice").knowledge is not None


def test_an_agent_of_create_agent_has_settings_of_its_own(opened):
    from langchain.agents import create_agent

    memory = opened(Settings(agents={"patrol": Settings(tracking=TrackingSettings(enabled=False))}))
    model = ScriptedChatModel(responses=["In Porto."])
    placed = recalling(placement="system")
    middleware = MemoryMiddleware(memory, agent="patrol", settings=placed, on_error="raise")
    config = {"configurable": {"user_id": "alice", "thread_id": "tuesday"}}
    create_agent(model, middleware=[middleware]).invoke({"messages": ASKED}, config)
    [request] = model.requests
    assert SAID in request[0].text
    assert request[-1].text == ASKED
    assert stored(memory) == []


def test_settings_of_an_agent_of_create_agent_are_in_force_in_its_tools(opened):
    memory = opened(said=())
    given = {"tools": MEMORY_TOOLS, "working": True}
    saved = {"save_memory": {"content": SAID}, "save_to_working_memory": {"key": "a", "data": "b"}}
    config = {"configurable": {"user_id": "alice", "thread_id": "tuesday"}}

    def answers(settings):
        tools = MemoryMiddleware(memory, settings=settings, **given).tools
        return [tool.invoke(saved[tool.name], config) for tool in tools if tool.name in saved]

    assert all("memory of users/alice is off" in answer for answer in answers(OFF))
    assert known(memory) == ""
    assert memory.user("alice").working.list("session") == ()
    _, kept = answers(Settings(working=WorkingSettings(ttl_minutes=120)))
    assert "it expires in 2h" in kept
    assert known(memory) == SAID


HOLDERS = {
    "space": lambda memory, settings: memory.space("global", settings=settings),
    "user": lambda memory, settings: memory.user("alice", settings=settings),
    "agent": lambda memory, settings: memory_agent(ScriptedChatModel(responses=["Hm."]), memory, settings=settings),
    "middleware": lambda memory, settings: MemoryMiddleware(memory, settings=settings),
    "tools": lambda memory, settings: memory_tools(memory, settings=settings),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_settings_that_cannot_take_effect_where_they_are_given_are_refused(holder, memory):
    for given, says in (
        (Settings(window=WindowSettings(turns=3)), "window cannot be set for"),
        (Settings(storage=StorageSettings(memory_mb=0)), "storage cannot be set for"),
        (Settings(agents={"p": recalling(limit=1)}), "agents cannot be set for"),
        (recalling(embed_seconds=1), "recall.embed_seconds cannot be set for"),
    ):
        with pytest.raises(InvalidSettings, match=f"`settings`: {says}"):
            HOLDERS[holder](memory, given)
    HOLDERS[holder](memory, recalling(limit=3))


def test_nodes_and_tools_dream_of_nothing_and_a_handle_may(memory):
    dreaming = Settings(dream=DreamSettings(promoted=3))
    with pytest.raises(InvalidSettings, match="dream cannot be set for nodes and tools"):
        memory_tools(memory, settings=dreaming)
    assert memory.user("alice", settings=dreaming).context.settings.dream.promoted == 3


def test_config_sets_and_shows_what_is_otherwise_for_an_agent(tmp_path, capsys):
    def config(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(tmp_path), "config", *arguments])
        assert not left.value.code
        return capsys.readouterr().out

    config("set", "recall.limit", "2")
    config("set", "recall.limit", "3", "--agent", "patrol")
    config("set", "recall.limit", "4", "--agent", "patrol", "--space", "users/alice")

    def shown(*whose):
        [found] = json.loads(config("show", "recall.limit", *whose, "--json"))
        return found["value"], found["source"].partition(" ")[2]

    alice = ("--space", "users/alice")
    assert shown() == shown(*alice) == (2, "")
    assert shown("--agent", "patrol") == (3, "(agent patrol)")
    assert shown("--agent", "patrol", *alice) == (4, "(space users/alice, agent patrol)")
    config("unset", "recall.limit", "--agent", "patrol", *alice)
    assert shown("--agent", "patrol", *alice) == (3, "(agent patrol)")
    with pytest.raises(ValueError, match="storage"):
        Settings(agents={"patrol": Settings(storage=StorageSettings(memory_mb=0))})
