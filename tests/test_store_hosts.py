"""Our store where it is at home: in graphs, agents, on a server's loop, and under langmem's own tools."""

import importlib.util
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedStore
from langgraph.runtime import Runtime

from langmem_tiers import Memory
from langmem_tiers.integrations import TieredStore
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel

ALICE = ("memories", "alice@example.com")
CONFIG = {"configurable": {"langgraph_user_id": "alice@example.com", "thread_id": "t"}}


@pytest.fixture
def store(memory):
    return TieredStore(memory)


def graph_of(node, store):
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(store=store)


def test_a_node_has_it_by_get_store_and_in_its_runtime(store):
    def node(state: MessagesState, runtime: Runtime) -> dict[str, Any]:
        assert runtime.store is get_store() is store
        runtime.store.put(ALICE, "1", {"content": state["messages"][0].text})
        return {"messages": [AIMessage(get_store().get(ALICE, "1").value["content"])]}

    assert graph_of(node, store).invoke({"messages": "tea"})["messages"][-1].text == "tea"
    assert store.search(ALICE, query="tea")[0].namespace == ALICE


async def test_an_async_node_awaits_it_and_the_loop_is_not_blocked(tmp_path):
    blockbuster = pytest.importorskip("blockbuster")

    async def node(state: MessagesState, runtime: Runtime) -> dict[str, Any]:
        await runtime.store.aput(ALICE, "1", {"content": "tea"}, ttl=5)
        found = await runtime.store.asearch(ALICE, query="tea")
        assert await runtime.store.aget(ALICE, "1")
        assert await runtime.store.alist_namespaces() == [ALICE]
        await runtime.store.adelete(ALICE, "1")
        return {"messages": [AIMessage(found[0].value["content"])]}

    with Memory.open(tmp_path / "m", embedder=HashEmbedder()) as memory:
        graph = graph_of(node, TieredStore(memory))
        with blockbuster.blockbuster_ctx():
            result = await graph.ainvoke({"messages": "hello"})
    assert result["messages"][-1].text == "tea"


def test_an_agent_hands_it_to_its_tools(store):
    @tool
    def note(text: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Note a text."""
        store.put(ALICE, "1", {"content": text})
        return "noted"

    call = {"name": "note", "args": {"text": "tea"}, "id": "1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[call]), "done"])
    create_agent(model, [note], store=store).invoke({"messages": "hello"})
    assert store.get(ALICE, "1").value == {"content": "tea"}


async def test_a_server_opens_it_by_its_path(root, tmp_path, monkeypatch):
    monkeypatch.setenv("LANGMEM_TIERS_PATH", str(tmp_path / "served"))
    spec = importlib.util.spec_from_file_location("served_store", root / "examples" / "store.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    async with module.store() as store:
        await store.aput(ALICE, "1", {"content": "tea"})
        assert (await store.asearch(ALICE))[0].value == {"content": "tea"}


# langmem's own tools.


@pytest.fixture
def langmem():
    return pytest.importorskip("langmem")


def calls(name, *arguments):
    return [AIMessage("", tool_calls=[{"name": name, "args": each, "id": "1"}]) for each in arguments]


def test_langmem_tools_save_search_update_and_delete(langmem, store, memory):
    template = ("memories", "{langgraph_user_id}")
    manage = langmem.create_manage_memory_tool(namespace=template)
    search = langmem.create_search_memory_tool(namespace=template)

    def run(name, arguments):
        model = ScriptedChatModel(responses=[*calls(name, arguments), "done"])
        agent = create_agent(model, [manage, search], store=store)
        return agent.invoke({"messages": "hello"}, CONFIG)["messages"][-2].text

    assert "created" in run("manage_memory", {"content": "My sister Lena lives in Porto."})
    (item,) = store.search(ALICE)
    assert "Porto" in run("search_memory", {"query": "Where does Lena live?"})
    alice = memory.user("alice@example.com")
    assert (
        f"[item {item.key}] 2026-03-02: My sister Lena lives in Porto." in alice.recall("Where does Lena live?").block
    )
    run("manage_memory", {"content": "My sister Lena lives in Braga.", "action": "update", "id": item.key})
    assert "Braga" in alice.recall("Where does Lena live?").block
    run("manage_memory", {"action": "delete", "id": item.key})
    assert alice.recall("Where does Lena live?").block == ""


async def test_langmem_tools_work_on_what_is_known(langmem, store, memory):
    template = ("tiers", "{langgraph_user_id}", "knowledge")
    manage = langmem.create_manage_memory_tool(namespace=template, store=store)
    said = await manage.ainvoke({"content": "The user prefers tea."}, CONFIG)
    key = said.split()[-1]
    entry = memory.user("alice@example.com").knowledge.search("tea")[0].entry
    assert (entry.content, entry.origin) == ("The user prefers tea.", "assistant")
    await manage.ainvoke({"action": "delete", "id": key}, CONFIG)
    assert store.get(("tiers", "alice@example.com", "knowledge"), key) is None


def test_what_langmem_stores_through_a_manager_is_recalled(langmem, store, memory):
    schema = {"name": "Memory", "args": {"content": "The user drinks green tea."}, "id": "1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[schema]), AIMessage("done")])
    manager = langmem.create_memory_store_manager(model, store=store)
    manager.invoke({"messages": [{"role": "user", "content": "I drink green tea."}]}, CONFIG)
    (item,) = store.search(ALICE)
    assert item.value == {"kind": "Memory", "content": {"content": "The user drinks green tea."}}
    assert (
        "The user drinks green tea." in memory.user("alice@example.com").recall("Which tea does the user drink?").block
    )
