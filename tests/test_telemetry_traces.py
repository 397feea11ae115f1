"""Traces of LangChain, such as LangSmith's: each step of the memory has a name, tags and metadata, and no words."""

import asyncio
import json

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tracers.context import collect_runs

from langmem_tiers import Memory, RecallSettings, Settings, TelemetrySettings, Turn
from langmem_tiers.graphs import dream_graph, memory_agent
from langmem_tiers.integrations import MemoryMiddleware, TieredRetriever, memory_tools, recall_runnable
from langmem_tiers.naming import space_mark
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel

SAID = "My sister Lena moved to Porto."
ASKED = "Where does my sister Lena live?"
CONFIG = {"configurable": {"user_id": "alice", "thread_id": "t"}}
COLOURS = ["invoke", "ainvoke"]


class Recorder(BaseCallbackHandler):
    """Keeps what a tracer is told when runs begin and end."""

    def __init__(self):
        self.runs, self.ended = [], {}

    def _began(self, kind, given, about):
        self.runs.append({**about, "kind": kind, "given": given, "tags": about.get("tags") or []})

    def on_chain_start(self, serialized, inputs, **about):
        self._began("chain", inputs, about)

    def on_chat_model_start(self, serialized, messages, **about):
        self._began("model", None, about)

    def on_tool_start(self, serialized, given, **about):
        self._began("tool", None, {**about, "name": serialized["name"]})

    def on_retriever_start(self, serialized, query, **about):
        self._began("retriever", None, about)

    def on_chain_end(self, outputs, *, run_id, **_):
        self.ended[run_id] = outputs

    def steps(self):
        """The runs of the memory by step."""
        ours = [run for run in self.runs if "langmem-tiers" in run["tags"]]
        return {run["metadata"]["memory_step"]: run for run in ours if run["kind"] != "model"}

    def parents(self, run) -> list[str]:
        """The names of the runs that a run is in, from the inside."""
        by_id = {each["run_id"]: each for each in self.runs}
        names = []
        while (run := by_id.get(run["parent_run_id"])) is not None:
            names.append(run["name"])
        return names


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def traced(recorder):
    """A function that runs something with the recorder, in either colour."""

    def run(runnable, given, colour="invoke", config=CONFIG):
        with_it = {**config, "callbacks": [recorder]}
        if colour == "invoke":
            return runnable.invoke(given, with_it)
        return asyncio.run(runnable.ainvoke(given, with_it))

    return run


@pytest.fixture
def told(alice):
    """A space in which something was said."""
    alice.track([Turn(role="user", content=SAID)], session="earlier")
    alice.flush()
    return alice


def model(*responses):
    return ScriptedChatModel(responses=list(responses) or ["In Porto."])


def words(value) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


@pytest.mark.parametrize("colour", COLOURS)
def test_the_nodes_are_runs_with_tags_metadata_and_counts(traced, recorder, memory, told, colour):
    traced(memory_agent(model(), memory), {"messages": ASKED}, colour)
    steps = recorder.steps()
    assert steps.keys() >= {"recall", "track"}
    for step in ("recall", "track"):
        run = steps[step]
        assert {"langmem-tiers", "memory", step} <= set(run["tags"])
        assert run["metadata"]["memory_space"] == space_mark("users/alice")
        assert run["given"]["messages"] >= 1
    recalled = recorder.ended[steps["recall"]["run_id"]]
    assert (recalled["items"], recalled["pointers"]) == (1, ["§W-001/R-01/D-001"])
    assert recorder.ended[steps["track"]["run_id"]]["type"] == "memory_tracked"


def test_the_runs_are_those_of_their_nodes(traced, recorder, memory, told):
    traced(memory_agent(model(), memory), {"messages": ASKED})
    run = recorder.steps()["recall"]
    assert (run["name"], recorder.parents(run)) == ("recall", ["recall", "memory_agent"])


def test_collected_runs_hold_no_words_of_the_memory(memory, told):
    with collect_runs() as collected:
        memory_agent(model(), memory).invoke({"messages": ASKED}, CONFIG)
    runs, ours = list(collected.traced_runs), []
    while runs:
        run = runs.pop()
        runs += run.child_runs
        ours += [run] if "langmem-tiers" in (run.tags or []) else []
    assert {run.extra["metadata"]["memory_step"] for run in ours} == {"recall", "track"}
    assert [run.name for run in ours if "Lena" in words([run.inputs, run.outputs, run.extra])] == []
    assert [run.name for run in ours if "alice" in words([run.inputs, run.outputs, run.extra])] == []


def test_spaces_are_named_where_the_settings_allow_it(traced, recorder, tmp_path, clock):
    settings = Settings(telemetry=TelemetrySettings(space_names=True))
    with Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock, settings=settings) as memory:
        traced(memory_agent(model(), memory), {"messages": ASKED})
    assert recorder.steps()["recall"]["metadata"]["memory_space"] == "users/alice"


def test_a_fault_that_is_only_logged_shows_in_the_trace(traced, recorder, memory):
    agent = memory_agent(model(), memory)
    memory.close()
    assert traced(agent, {"messages": ASKED})["messages"][-1].text == "In Porto."
    assert recorder.ended[recorder.steps()["recall"]["run_id"]] == {"failed": "MemoryClosed"}


def test_a_run_of_nobody_shows_as_failed(traced, recorder, memory):
    traced(memory_agent(model(), memory), {"messages": ASKED}, config={"configurable": {"thread_id": "t"}})
    run = recorder.steps()["recall"]
    assert recorder.ended[run["run_id"]] == {"failed": "MissingUser"}
    assert "memory_space" not in run["metadata"]


@pytest.mark.parametrize("colour", COLOURS)
def test_a_dream_is_a_run_for_each_step(traced, recorder, memory, told, colour):
    traced(dream_graph(memory), {"user_id": "alice"}, colour)
    ours = [run for run in recorder.runs if "langmem-tiers" in run["tags"] and run["kind"] == "chain"]
    assert [run["name"] for run in ours] == [
        "spaces",
        "gather",
        "consolidate",
        "preferences",
        "synthesize",
        "graph",
        "gate",
        "commit",
    ]
    assert {"dream"} == {run["metadata"]["memory_step"] for run in ours}
    assert recorder.ended[ours[0]["run_id"]] == {"spaces": 1}
    assert recorder.ended[ours[-1]["run_id"]]["status"] == "nothing"


@pytest.mark.parametrize("colour", COLOURS)
def test_what_a_dream_asks_a_model_is_in_the_trace_and_not_in_the_stream(recorder, traced, tmp_path, clock, colour):
    options = {"embedder": None, "background": False, "clock": clock, "model": model("{}")}
    with Memory.open(tmp_path / "m", **options) as memory:
        memory.user("alice").track([Turn(role="user", content=f"{SAID} I like tea, really.")], session="a")
        graph = dream_graph(memory)
        traced(graph, {"user_id": "alice"}, colour)
        streamed = list(graph.stream({"user_id": "alice"}, CONFIG, stream_mode="messages"))
    asked = [run for run in recorder.runs if run["kind"] == "model"]
    assert asked
    for run in asked:
        assert {"langmem-tiers", "memory_dream", "nostream"} <= set(run["tags"])
        assert (run["metadata"]["memory_step"], run["metadata"]["memory_source"]) == ("ask", "memory_dream")
        assert "preferences" in recorder.parents(run)
    assert streamed == []


def test_what_a_recall_asks_a_reranker_is_in_the_trace_and_not_in_the_stream(traced, recorder, tmp_path, clock):
    settings = Settings(recall=RecallSettings(threshold=0))
    options = {"embedder": HashEmbedder(), "background": False, "clock": clock, "settings": settings}
    with Memory.open(tmp_path / "m", reranker=model('{"best": [1]}'), **options) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=SAID), Turn(role="user", content="Lena likes Porto.")], session="a")
        agent = memory_agent(model(), memory)
        traced(agent, {"messages": ASKED})
        config = {"configurable": {"user_id": "alice", "thread_id": "u"}}
        streamed = "".join(chunk.text for chunk, _ in agent.stream({"messages": ASKED}, config, stream_mode="messages"))
        events = asyncio.run(_events(agent, {"configurable": {"user_id": "alice", "thread_id": "v"}}))
    asked = next(run for run in recorder.runs if run["name"] == "memory_rerank")
    assert {"langmem-tiers", "memory_rerank", "nostream"} <= set(asked["tags"])
    assert recorder.parents(asked)[0] == "recall"
    assert streamed == "In Porto."
    assert [event for event in events if event["name"] == "memory_rerank"] == []


async def _events(agent, config):
    return [event async for event in agent.astream_events({"messages": ASKED}, config, version="v2")]


def test_questions_of_the_background_are_named_and_tagged(recorder, tmp_path, clock):
    asked = ScriptedChatModel(responses=["{}"], callbacks=[recorder])
    with Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock, model=asked) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=SAID)], session="a")
        alice.mine()
        alice.knowledge.save("My sister Lena, who is a nurse, moved to Porto in May and likes it there.")
        alice.flush()
    sources = {run["metadata"]["memory_source"] for run in recorder.runs}
    assert sources >= {"memory_extract"}
    assert all({"langmem-tiers", "nostream"} <= set(run["tags"]) for run in recorder.runs)


def test_the_middleware_runs_are_named_and_tagged(traced, recorder, memory, told):
    agent = create_agent(model(), middleware=[MemoryMiddleware(memory)])
    traced(agent, {"messages": ASKED})
    steps = recorder.steps()
    assert recorder.parents(steps["recall"])[0] == "TieredMemory.before_model"
    assert recorder.ended[steps["recall"]["run_id"]]["items"] == 1
    assert recorder.parents(steps["track"])[0] == "TieredMemory.after_agent"


def test_tools_are_tagged(traced, recorder, memory, told):
    call = AIMessage("", tool_calls=[{"name": "search_memory", "args": {"query": "Lena"}, "id": "1"}])
    traced(memory_agent(model(call, "Done."), memory, tools=memory_tools(memory)), {"messages": ASKED})
    (run,) = [run for run in recorder.runs if run["kind"] == "tool"]
    assert (run["name"], run["metadata"]["memory_step"]) == ("search_memory", "tool")
    assert {"langmem-tiers", "memory"} <= set(run["tags"])


@pytest.mark.parametrize("colour", COLOURS)
def test_a_retriever_is_tagged(traced, recorder, memory, told, colour):
    assert traced(TieredRetriever(memory=memory), "Lena", colour)
    run = recorder.steps()["retrieve"]
    assert run["kind"] == "retriever"
    assert run["metadata"]["memory_space"] == space_mark("users/alice")


def test_a_step_of_a_chain_is_tagged(traced, recorder, memory, told):
    prompt = ChatPromptTemplate.from_messages([("system", "{memory}"), ("human", "{input}")])
    traced(RunnablePassthrough.assign(memory=recall_runnable(memory)) | prompt | model(), {"input": ASKED})
    assert {"langmem-tiers", "memory", "recall"} <= set(recorder.steps()["recall"]["tags"])
