"""The doors to LangChain, LangGraph and MCP, public signatures and settings, compared with golden files."""

import asyncio
import dataclasses
import importlib
import inspect
import json
import re

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, StateGraph
from mcp import Client

from langmem_tiers import Memory, Settings, errors
from langmem_tiers.graphs import MemoryState, build_prompt, recall_node, track_node
from langmem_tiers.integrations import (
    GRAPH_TOOLS,
    MEMORY_TOOLS,
    WRITING_GUIDANCE,
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
from langmem_tiers.testing import FrozenClock, HashEmbedder, ScriptedChatModel
from tests.golden_story import NOW, copied
from tests.goldens import check, plain, steady_ids

pytestmark = pytest.mark.xdist_group("golden")
_ASKED = "Where does my brother Torbjorn live?"
_PUBLIC = (
    "langmem_tiers",
    "langmem_tiers.errors",
    "langmem_tiers.graphs",
    "langmem_tiers.integrations",
    "langmem_tiers.integrations.mcp",
    "langmem_tiers.knowledge_graph.pictures",
    "langmem_tiers.testing",
    "langmem_tiers.transfer",
)
# What the inside needs of the façades, and no user.
_INNER = {
    *("asker", "closing", "context", "count_rerank", "deriving", "embedder_of", "embedding_model", "finish"),
    *("jobs", "keep_closed", "listeners", "query_embedder", "use", "wake"),
}
_LAYERS = ("knowledge", "graph", "archive", "identity", "documents", "golden")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the memory to which all was told."""
    steady_ids(monkeypatch, 0x300000)
    return copied(tmp_path / "memory")


@pytest.fixture
def told(folder):
    """The opened copy."""
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=FrozenClock(NOW)) as opened:
        yield opened


@pytest.fixture
def ottilie(told):
    return told.user("ottilie")


def _run(thread):
    """The config of a run of a conversation."""
    return {"configurable": {"user_id": "ottilie", "thread_id": thread}}


def _sent(model):
    return [[f"[{each.type}] {each.text}" for each in request] for request in model.requests]


def test_schemas_of_the_tools(told):
    tools = memory_tools(told, only=(*MEMORY_TOOLS, *GRAPH_TOOLS))
    check("tools.json", [convert_to_openai_tool(each) for each in tools])
    check("writing_guidance.txt", WRITING_GUIDANCE)


def test_what_the_tools_answer(ottilie):
    tools = {each.name: each for each in space_tools(ottilie, only=(*MEMORY_TOOLS, *GRAPH_TOOLS))}
    calls = [
        ("save_memory", {"content": "The user prefers sencha.", "category": "preferences/drinks", "tags": ["tea"]}),
        ("save_memory", {"content": "The user prefers sencha."}),
        ("save_memory", {"content": "Key sk-proj-Zx81kQpL0vTtY7wWmN3bR5cD9eF2gH4j"}),
        ("search_memory", {"query": "sencha"}),
        ("search_memory", {"query": "exhibition", "layer": "L2"}),
        ("get_memory", {"id_or_pointer": "a0a000300001"}),
        ("update_memory", {"id": "a0a000300001", "content": "The user prefers gyokuro."}),
        ("update_memory", {"id": "nothing", "content": "x"}),
        ("list_memory_categories", {}),
        ("search_history", {"query": "kiln"}),
        ("explain_recall", {}),
        ("delete_memory", {"id": "a0a000300001"}),
        ("memory_write", {"layer": "L0", "action": "add", "content": "- Speaks Norwegian."}),
        ("add_relation", {"subject": "Ingunn", "predicate": "lives in", "object": "Molde", "valid_from": "2010"}),
        ("add_relation", {"subject": "Ingunn", "predicate": "no longer lives in", "object": "Molde"}),
        ("knowledge_graph_search", {"entity": "user"}),
        ("knowledge_graph_search", {"query": "Torbjorn"}),
        ("entity_timeline", {"entity": "Ingunn"}),
        ("entity_timeline", {"entity": "Nobody"}),
        ("end_relation", {"relation_id": "a0a000300002", "at": "2026-01"}),
        ("save_memory", {}),
    ]
    lines = []
    for number, (name, given) in enumerate(calls):
        call = {"name": name, "args": given, "id": str(number), "type": "tool_call"}
        try:
            answer = str(tools[name].invoke(call).content)
        except Exception as raised:  # noqa: BLE001  # whatever it raises is what is looked at
            answer = f"{type(raised).__name__}: {raised}"
        lines.append(f"### {name} {json.dumps(given)}\n{answer}\n")
    check("tools_answers.txt", "\n".join(lines))


def test_the_mcp_server(ottilie):
    async def seen():
        async with Client(mcp_server(ottilie)) as client:
            prompts = (await client.list_prompts()).prompts
            return {
                "tools": (await client.list_tools()).tools,
                "resources": (await client.list_resources()).resources,
                "templates": (await client.list_resource_templates()).resource_templates,
                "prompts": prompts,
                "prompt": await client.get_prompt(prompts[0].name),
                "read": [
                    (await client.read_resource(f"memory://{each}")).contents[0].text
                    for each in ("identity", "palace", "timeline/Torbjorn")
                ],
                "called": (await client.call_tool("search_memory", {"query": "walnuts"})).content,
                "refused": (await client.call_tool("search_memory", {"query": "x", "layer": "L7"})).content,
            }

    check("mcp.json", asyncio.run(seen()))


def test_the_store(told):
    store = TieredStore(told)
    store.put(("memories", "ottilie"), "k1", {"content": "The kiln is serviced in May."})
    store.put(("memories", "ottilie", "deep"), "k2", {"content": "The wheel squeaks.", "n": 1})

    def shown(items):
        return [[each.namespace, each.key, each.value, getattr(each, "score", None)] for each in items]

    found = {
        "namespaces": store.list_namespaces(),
        "below": store.list_namespaces(prefix=("tiers",), max_depth=2),
        "got": shown([store.get(("memories", "ottilie"), "k1")]),
        "searched": shown(store.search(("memories", "ottilie"), query="kiln service")),
        "filtered": shown(store.search(("memories", "ottilie"), filter={"n": 1})),
        "recalled": told.user("ottilie").recall("When is the kiln serviced?").block,
    }
    for tier in ("knowledge", "drawers", "episodes", "documents", "relations"):
        found[tier] = shown(store.search(("tiers", "ottilie", tier), query="Torbjorn in Bergen", limit=2))
    check("store.json", found)


def test_nodes_middleware_and_chains(told, ottilie):
    model = ScriptedChatModel(responses=["In Bergen."])
    builder = StateGraph(MemoryState)

    def answer(state: MemoryState) -> dict:
        return {"messages": [model.invoke(build_prompt(state, system="Be kind."))]}

    builder.add_sequence([recall_node(told), answer, track_node(told)])
    state = (
        builder.add_edge(START, "recall").compile().invoke({"messages": [HumanMessage(_ASKED, id="h1")]}, _run("today"))
    )
    found = {"node": _sent(model), "state": {each: state[each] for each in state if each != "messages"}}
    model = ScriptedChatModel(responses=["In Bergen."])
    agent = create_agent(model, middleware=[MemoryMiddleware(told, tools=True)], system_prompt="Be kind.")
    agent.invoke({"messages": [HumanMessage(_ASKED, id="h2")]}, _run("b"))
    found["middleware"] = _sent(model)
    found["middleware tools"] = [each["function"]["name"] for each in model.options[0].get("tools", [])]
    model = ScriptedChatModel(responses=["In Bergen."])
    agent = create_agent(model, middleware=[MemoryMiddleware(told, placement="system")], system_prompt="Be kind.")
    agent.invoke({"messages": [HumanMessage(_ASKED, id="h3")]}, _run("c"))
    found["middleware, in the system prompt"] = _sent(model)
    found["tracked"] = [f"{each.session} {each.role} {each.content}" for each in ottilie.drawers()[-6:]]
    check("nodes.json", found)


def test_retriever_memory_and_history(told, ottilie):
    documents = TieredRetriever(memory=told, user_id="ottilie", k=3).invoke("kiln")
    classic = TieredMemory(memory=told, user_id="ottilie", session="classic")
    history = TieredChatMessageHistory(ottilie, "s01-hello")
    found = {
        "retriever": [[each.page_content, each.metadata] for each in documents],
        "classic": classic.load_memory_variables({"input": _ASKED}),
        "variables": classic.memory_variables,
        "history": [f"{each.type} {each.text}" for each in history.messages],
        "runnable": plain(recall_runnable(told).invoke({"input": _ASKED}, _run("today"))),
    }
    check("langchain.json", found)


def _signature(what):
    """The names, kinds and defaults of the parameters, one text for each."""
    try:
        parameters = inspect.signature(what).parameters.values()
    except (TypeError, ValueError):
        return None
    return [f"{'*' if each.kind is each.KEYWORD_ONLY else ''}{each.name}{_default(each)}" for each in parameters]


def _default(parameter):
    if parameter.default is parameter.empty:
        return ""
    default = repr(parameter.default)
    return "=" + (re.sub(r"<(function|class|object) .*", r"<\1>", default) if len(default) < 80 else "…")


def _described(value):
    if inspect.ismodule(value):
        return "a module"
    if not inspect.isclass(value):
        return _signature(value) if callable(value) else str(value)[:200]
    if issubclass(value, BaseException):
        return [each.__name__ for each in value.__mro__[1:] if each.__module__ in {"builtins", errors.__name__}][:-1]
    if dataclasses.is_dataclass(value):
        return [each.name for each in dataclasses.fields(value)]
    if value.__name__.endswith("Settings"):
        return "a group of settings"
    made_by_hand = value.__name__ not in {"Memory", "Space"}
    return {**({"()": _signature(value)} if made_by_hand else {}), **_methods(value)}


def _methods(kind):
    own = {name: each for name, each in inspect.getmembers(kind) if not name.startswith("_")}
    ours = {name: each for name, each in own.items() if _is_ours(kind, name) and name not in _INNER}
    return {name: _signature(each) if callable(each) else "attribute" for name, each in ours.items()}


def _is_ours(kind, name):
    owner = next((each for each in kind.__mro__ if name in vars(each)), object)
    return owner.__module__.startswith("langmem_tiers")


def test_public_names_and_their_signatures(ottilie):
    found = {}
    for module in _PUBLIC:
        loaded = importlib.import_module(module)
        names = getattr(loaded, "__all__", None) or [
            name for name, each in vars(loaded).items() if inspect.isclass(each) and each.__module__ == module
        ]
        found[module] = {name: _described(getattr(loaded, name)) for name in sorted(names) if name != "__version__"}
    for layer in _LAYERS:
        found[f"Space.{layer}"] = _methods(type(getattr(ottilie, layer)))
    check("public_names.json", found)


def test_settings_and_their_defaults():
    check("settings.json", {"defaults": Settings(), "schema": Settings.model_json_schema()})
