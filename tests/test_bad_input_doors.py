"""Bad input at the doors to LangChain and LangGraph: foreign states, missing packages, wrong arguments of a model."""

import importlib
import sys
from shutil import rmtree
from typing import Annotated, Any
from uuid import UUID

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from pydantic import BaseModel
from typing_extensions import TypedDict

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import InvalidInput, InvalidSpace, MissingExtra, MissingUser, StorageError
from langmem_tiers.graphs import (
    build_prompt,
    chat_model,
    dream_graph,
    flush_before_compaction,
    flush_node,
    memory_agent,
    recall_node,
    track_node,
)
from langmem_tiers.integrations import (
    MemoryMiddleware,
    TieredChatMessageHistory,
    TieredMemory,
    TieredRetriever,
    TieredStore,
    memory_tools,
    recall_runnable,
    space_tools,
)
from langmem_tiers.integrations.mcp import mcp_server
from langmem_tiers.paths import shown
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import FACT, QUESTION, ask, remember, run, said, texts


class OwnScope(MessagesState):
    """A host that uses the name of a key of ours for something else."""

    memory_scope: str


class OwnBlocks(MessagesState):
    """The same for the other key."""

    memory_blocks: list[str]


class OwnAgentKeys(AgentState[Any]):
    """The same for an agent."""

    memory_blocks: list[str]
    memory_scope: str


class OtherKey(TypedDict):
    """A host that keeps its messages where nobody looks for them."""

    chat: list[AnyMessage]


def _host(memory, state, **options):
    def answer(given: state):
        return {"messages": [ScriptedChatModel(responses=["Fine."]).invoke(build_prompt(given))]}

    builder = StateGraph(state)
    builder.add_sequence([recall_node(memory, **options), answer, track_node(memory, **options)])
    return builder.add_edge(START, "recall").compile()


class OwnDict(MessagesState):
    """A host whose own is a dict of texts, too."""

    memory_blocks: dict[str, str]


class OwnModel(BaseModel):
    """A host that checks what is written into its state, and has a value from the beginning."""

    messages: Annotated[list[AnyMessage], add_messages]
    memory_blocks: list[str] = []


class OwnModelScope(BaseModel):
    """The same for the other key."""

    messages: Annotated[list[AnyMessage], add_messages]
    memory_scope: str = ""


FOREIGN = pytest.mark.parametrize(
    ("state", "own"),
    [
        (OwnScope, {"memory_scope": "mine"}),
        (OwnScope, {"memory_scope": ""}),
        (OwnScope, {"memory_scope": {"region": "eu"}}),
        (OwnBlocks, {"memory_blocks": ["mine"]}),
        (OwnBlocks, {"memory_blocks": []}),
        (OwnDict, {"memory_blocks": {"color": "red"}}),
    ],
)
DECLARED = pytest.mark.parametrize(
    ("state", "key"),
    [
        (OwnScope, "memory_scope"),
        (OwnBlocks, "memory_blocks"),
        (OwnModel, "memory_blocks"),
        (OwnModelScope, "memory_scope"),
    ],
)


@FOREIGN
def test_a_host_that_uses_the_name_of_our_key_is_told_to_rename_it(state, own, memory):
    with pytest.raises(InvalidInput, match=f"'{next(iter(own))}'.*another name"):
        _host(memory, state, on_error="raise").invoke({**ask(), **own}, run())


@FOREIGN
def test_by_default_it_gets_its_reply_and_keeps_what_is_its_own(state, own, memory, caplog):
    result = _host(memory, state).invoke({**ask(), **own}, run())
    assert result["messages"][-1].text == "Fine."
    assert {key: result[key] for key in own} == own
    assert "error=InvalidInput" in caplog.text


@DECLARED
def test_a_key_that_is_declared_for_something_else_is_left_alone_before_it_has_a_value(state, key, memory, caplog):
    result = _host(memory, state).invoke(ask(), run())
    assert result["messages"][-1].text == "Fine."
    assert not result.get(key)
    assert f"declares '{key}' as" in caplog.text


@DECLARED
def test_told_to_raise_it_names_that_key(state, key, memory):
    with pytest.raises(InvalidInput, match=f"declares '{key}' as .*another name"):
        _host(memory, state, on_error="raise").invoke(ask(), run())


def test_an_agent_that_uses_the_names_of_our_keys_gets_its_reply_and_its_tools(memory, alice):
    saving = {"name": "save_memory", "args": {"content": "Alice's cat is called Miso."}, "id": "1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[saving]), "Fine."])
    agent = create_agent(model, middleware=[MemoryMiddleware(memory, tools=True)], state_schema=OwnAgentKeys)
    own = {"memory_blocks": ["mine"], "memory_scope": "mine"}
    assert agent.invoke({**ask(), **own}, run())["messages"][-1].text == "Fine."
    assert [found.entry.content for found in alice.knowledge.search("cat")] == ["Alice's cat is called Miso."]


def test_a_host_that_keeps_its_messages_elsewhere_is_told_to_name_the_key(memory):
    builder = StateGraph(OtherKey)
    builder.add_node(track_node(memory, on_error="raise")).add_edge(START, "track")
    with pytest.raises(InvalidInput, match=r"no 'messages'.*messages_key"):
        builder.compile().invoke({"chat": ask()["messages"]}, run())


def test_a_run_of_nobody_is_refused_at_every_door(memory):
    model = ScriptedChatModel(responses=["Fine."])
    doors = [
        (memory_agent(model, memory, on_error="raise"), ask()),
        (create_agent(model, middleware=[MemoryMiddleware(memory, on_error="raise")]), ask()),
        (recall_runnable(memory, on_error="raise"), QUESTION),
        (dream_graph(memory, on_error="raise"), {}),
    ]
    for door, given in doors:
        with pytest.raises(MissingUser, match="user"):
            door.invoke(given, run(user=None))
    assert memory.spaces() == ()


@pytest.mark.parametrize("user", [["a"], {"a": 1}, b"a", True, 1.5])
def test_a_user_id_of_an_odd_type_is_nobody(user, memory):
    agent = memory_agent(ScriptedChatModel(responses=["Fine."]), memory, on_error="raise")
    with pytest.raises(InvalidSpace, match="is no user id"):
        agent.invoke(ask(), run(user=user))
    assert memory.spaces() == ()


def test_a_number_or_a_uuid_is_a_user_id(memory):
    for user in (5, UUID(int=7)):
        memory_agent(ScriptedChatModel(responses=["Fine."]), memory, on_error="raise").invoke(ask(), run(user=user))
    assert set(memory.spaces()) == {"users/5", f"users/{UUID(int=7)}"}


@pytest.mark.parametrize(
    ("door", "match"),
    [
        (lambda memory: recall_node(memory, on_error="Raise"), "`on_error`.*'Raise'.*log, raise"),
        (lambda memory: track_node(memory, on_error=None), "`on_error`"),
        (lambda memory: flush_node(memory, messages_key=5), "`messages_key`"),
        (lambda memory: recall_node(memory, messages_key=5), "`messages_key`"),
        (lambda memory: recall_node(memory, window=0), "`window`"),
        (lambda memory: recall_node(memory, placement="sytem"), "`placement`.*message, system"),
        (lambda memory: recall_node(memory, fallbacks="users/a"), "`fallbacks`.*a list"),
        (lambda memory: recall_node(memory, fallbacks=[""]), "`fallbacks`"),
        (lambda memory: recall_node(memory, space=""), "`space`"),
        (lambda memory: recall_node(None), "`memory`"),
        (lambda memory: build_prompt(ask(), placement="sytem"), "`placement`"),
        (lambda memory: MemoryMiddleware(None), "`memory`"),
        (lambda memory: MemoryMiddleware(memory, placement="sytem"), "`placement`"),
        (lambda memory: MemoryMiddleware(memory, fallbacks="users/a"), "`fallbacks`"),
        (lambda memory: MemoryMiddleware(memory, tools="save_memory"), "`tools`.*a list"),
        (lambda memory: MemoryMiddleware(memory, tools=None), "`tools`"),
        (lambda memory: memory_agent(ScriptedChatModel(responses=[""]), "folder"), "`memory`.*Memory.open"),
        (lambda memory: memory_tools(memory, space=5), "`space`"),
        (lambda memory: recall_runnable(memory, on_error="Raise"), "`on_error`"),
        (lambda memory: recall_runnable(memory, fallbacks="users/a"), "`fallbacks`"),
        (lambda memory: dream_graph(memory, on_error="Raise"), "`on_error`"),
        (lambda memory: TieredChatMessageHistory(memory, "x"), "`space`.*memory.user"),
        (lambda memory: TieredMemory(memory=memory, space=""), "`space`"),
        (lambda memory: TieredMemory(memory=memory, user_id=True), "`user_id`"),
        (lambda memory: TieredRetriever(memory=memory, space=""), "`space`"),
        (lambda memory: TieredRetriever(memory=memory, user_id=2.0), "`user_id`.*a whole number"),
    ],
)
def test_a_wrong_option_is_refused_where_it_is_given(door, match, memory):
    with pytest.raises(ValueError, match=match):
        door(memory)
    assert memory.spaces() == ()


@pytest.mark.parametrize(
    "door",
    [
        recall_node,
        track_node,
        flush_node,
        dream_graph,
        memory_tools,
        recall_runnable,
        MemoryMiddleware,
        TieredStore,
        lambda given: memory_agent(ScriptedChatModel(responses=[""]), given),
        lambda given: TieredMemory(memory=given),
        lambda given: TieredRetriever(memory=given),
        lambda given: flush_before_compaction(given, "users/alice", []),
    ],
)
def test_a_space_in_place_of_the_memory_is_refused_when_the_door_is_made(door, alice):
    with pytest.raises(ValueError, match=r"(?is)memory.*Space"):
        door(alice)


@pytest.mark.parametrize("door", [space_tools, mcp_server, lambda given: TieredChatMessageHistory(given, "friday")])
@pytest.mark.parametrize("given", [lambda memory: memory, lambda _: "users/alice", lambda _: None])
def test_what_is_no_space_is_refused_when_the_door_is_made(door, given, memory):
    with pytest.raises(InvalidInput, match=r"`space`.*such as memory\.user\('alice'\)"):
        door(given(memory))


@pytest.mark.parametrize("given", [lambda memory: memory, lambda _: None, lambda _: 5])
def test_a_flush_of_what_is_no_space_is_refused_whether_it_is_due_or_not(given, memory):
    with pytest.raises(InvalidInput, match=r"`space`.*such as memory\.user\('alice'\)"):
        flush_before_compaction(memory, given(memory), [])


@pytest.mark.parametrize(
    "door",
    [
        recall_node,
        track_node,
        flush_node,
        dream_graph,
        memory_tools,
        recall_runnable,
        MemoryMiddleware,
        lambda memory, space: TieredMemory(memory=memory, space=space),
        lambda memory, space: TieredRetriever(memory=memory, space=space),
    ],
)
def test_where_the_name_of_a_space_is_wanted_a_space_or_a_memory_is_refused(door, memory, alice):
    for given in (alice, memory):
        with pytest.raises(ValueError, match=r"`space`.*such as 'users/alice'"):
            door(memory, space=given)


@pytest.mark.parametrize(
    ("ask_it", "hint"),
    [
        (lambda memory: TieredMemory(memory=memory, on_error="raise").load_memory_variables({}), "TieredMemory"),
        (lambda memory: TieredRetriever(memory=memory).invoke(QUESTION), "TieredRetriever"),
        (lambda memory: recall_runnable(memory, on_error="raise").invoke(QUESTION), "recall_runnable"),
    ],
)
def test_where_nobody_is_named_each_door_says_how_it_takes_a_user(ask_it, hint, memory):
    with pytest.raises(MissingUser, match=rf"{hint}\(memory") as refused:
        ask_it(memory)
    assert "recall_node" not in str(refused.value)


def _agent_of(memory, model):
    return memory_agent(model, memory, on_error="raise")


def _agent_with_middleware(memory, model):
    return create_agent(model, middleware=[MemoryMiddleware(memory, flush=True, on_error="raise")])


def _tracking(memory, _):
    builder = StateGraph(MessagesState).add_node(track_node(memory, on_error="raise"))
    return builder.add_edge(START, "track").compile()


@pytest.mark.parametrize(
    ("make", "way_out"),
    [
        (_agent_of, "memory_agent(model, memory, space='users/alice')."),
        (_agent_with_middleware, "MemoryMiddleware(memory, space='users/alice')."),
        (_tracking, "track_node(memory, space='users/alice')."),
        (lambda memory, _: _host(memory, MessagesState, on_error="raise"), "recall_node(memory, space='users/alice')."),
    ],
)
def test_a_run_of_nobody_is_told_the_door_that_takes_a_space(make, way_out, memory):
    with pytest.raises(MissingUser) as refused:
        make(memory, ScriptedChatModel(responses=["Fine."])).invoke(ask(), run(user=None))
    assert str(refused.value).endswith(f"or name a fixed space: {way_out}")


def _nodes(memory):
    return _host(memory, MessagesState, on_error="raise").invoke(ask(), run())


@pytest.mark.folder
@pytest.mark.parametrize(
    "door",
    [
        _nodes,
        lambda memory: memory.user("alice").track([Turn(role="user", content="Lost.")], session="friday"),
        lambda memory: memory.user("alice").recall(QUESTION, session="friday"),
        lambda memory: memory.user("bob").track([Turn(role="user", content="Lost.")], session="friday"),
        lambda memory: TieredChatMessageHistory(memory.user("alice"), "friday").add_user_message("Lost."),
        lambda memory: recall_runnable(memory, on_error="raise").invoke(QUESTION, run()),
        lambda memory: memory.backup(memory.path.with_name("copy.tar")),
        lambda memory: memory.backup(memory.path.with_name("copy.tar"), users=["alice"]),
        lambda memory: memory.spaces(),
        lambda memory: memory.dream(),
        lambda memory: memory.flush(),
        lambda memory: memory.delete_user("alice", confirm=True),
    ],
)
@pytest.mark.parametrize("made_again", [False, True])
def test_a_folder_that_was_deleted_under_an_open_memory_is_told_of(door, made_again, tmp_path):
    folder = tmp_path / "gone"
    with Memory.open(folder, embedder=None, background=False) as memory:
        remember(memory.user("alice"), FACT)
        rmtree(folder)
        if made_again:
            folder.mkdir()
        with pytest.raises(StorageError, match=r"The folder .* is gone"):
            door(memory)
    assert not folder.exists() or [*folder.iterdir()] == []
    assert {each.name for each in tmp_path.iterdir()} <= {"gone"}


def test_without_mcp_the_extra_is_named(monkeypatch, alice):
    _without(monkeypatch, "mcp", ours="langmem_tiers.integrations.mcp")
    with pytest.raises(MissingExtra, match=r"'mcp'.*pip install 'langmem-tiers\[mcp\]'"):
        importlib.import_module("langmem_tiers.integrations.mcp").mcp_server(alice)


def test_without_the_package_of_a_provider_it_is_named(monkeypatch):
    _without(monkeypatch, "langchain_openai")
    with pytest.raises(MissingExtra, match=r"'langchain-openai'.*pip install 'langmem-tiers\[openai\]'"):
        chat_model("openai:gpt-5-mini")


def _without(monkeypatch, package, ours=None):
    """As if the package were not installed, for modules that are imported from now on."""
    for name in [*sys.modules]:
        if name == package or name.startswith(f"{package}."):
            monkeypatch.setitem(sys.modules, name, None)
        if ours and (name == ours or name.startswith(f"{ours}.")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


def _with_nodes(memory, model):
    return memory_agent(model, memory, memory_tools(memory), checkpointer=InMemorySaver())


def _with_middleware(memory, model):
    return create_agent(model, middleware=[MemoryMiddleware(memory, tools=True)], checkpointer=InMemorySaver())


@pytest.mark.parametrize("make", [_with_nodes, _with_middleware])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("save_memory", {}),
        ("save_memory", {"content": ["no", "text"]}),
        ("search_memory", {"query": "cat", "limit": "many"}),
        ("delete_memory", {"id": "nobody"}),
        ("no_such_tool", {}),
    ],
)
async def test_wrong_arguments_of_a_model_are_answered_and_the_run_goes_on(name, arguments, make, memory, alice):
    remember(alice, FACT)
    calls = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1"}])
    agent = make(memory, ScriptedChatModel(responses=[calls, "I could not do that."]))
    messages = (await agent.ainvoke(ask(), run()))["messages"]
    assert texts(messages)[-1] == "I could not do that."
    assert len(messages[-2].text) < 600
    assert "Traceback" not in messages[-2].text
    assert said(alice, "friday") == [QUESTION, "I could not do that."]
    assert alice.knowledge.search() == ()


@pytest.mark.parametrize("chroma", ["http://127.0.0.1:9", ["http://127.0.0.1:9", "http://127.0.0.1:8"]])
def test_a_chroma_server_beside_a_folder_is_refused_and_nothing_is_made(tmp_path, chroma):
    with pytest.raises(InvalidInput, match="Chroma"):
        Memory.open(tmp_path / "memory", chroma=chroma, embedder=None)
    assert not (tmp_path / "memory").exists()


@pytest.mark.parametrize(
    "password",
    [
        *("wr0ng", "wr/0ng", "wr@0ng", "wr:0ng", "wr?0ng", "wr#0ng", "wr%400ng", "wr,0ng", "wr@a:b/0ng", "@0ng@"),
        "12/0ng",
    ],
)
def test_no_part_of_a_password_in_an_address_is_told(password):
    told = shown(f"postgresql://app:{password}@db:5432/memories,postgresql://app:{password}@other/memories?a=b")
    assert told == "postgresql://app@db:5432/memories,postgresql://app@other/memories?a=b"


def test_the_password_of_a_user_with_an_at_sign_is_not_told():
    assert shown("postgresql://app@tenant:wr0ng@db:5432/memories") == "postgresql://app@tenant@db:5432/memories"


@pytest.mark.parametrize(
    "address", ["postgresql://app@db:5432/memories?options=a@b", "http://chroma:8000/a@b", "http://chroma:8000"]
)
def test_an_address_without_a_password_is_told_as_it_is(address):
    assert shown(address) == address


def test_a_password_with_a_sign_that_ends_it_is_refused_and_not_told():
    with pytest.raises(InvalidInput, match="%40") as refused:
        Memory.open("postgresql://app:wr@0ng@127.0.0.1:9/memories", embedder=None)
    assert "0ng" not in str(refused.value)
