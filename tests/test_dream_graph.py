"""The dream as a graph: the same as by hand, in steps that survive a kill, alone or as a node of another graph."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import pytest
from blockbuster import BlockingError, blockbuster_ctx
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from openai import RateLimitError

from langmem_tiers import Memory, Turn
from langmem_tiers.dream.gather import gather
from langmem_tiers.dream.run import STEPS, DreamRunner, DreamState
from langmem_tiers.errors import InvalidSpace, LeaseLost, MissingUser
from langmem_tiers.graphs import dream_graph
from langmem_tiers.settings import DreamSettings, ModelSettings, Settings
from langmem_tiers.testing import FrozenClock, HashEmbedder, ScriptedChatModel
from tests.tidying import BY_RULE, FACTS, OUTDATED, TIDIED, by_hand, fill, known, tidying

ALICE = "users/alice"
MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
RUN = {"configurable": {"thread_id": "night"}}


class Killed(BaseException):
    """The process dies here, as far as a test in one process can show that."""


@pytest.fixture
def opened(tmp_path, clock):
    """Opens a memory with something to dream of; what is opened again is the same memory."""
    memories = []

    def open_it(model=None, *, name="memory", settings=None, embedder=None) -> Memory:
        memory = Memory.open(
            tmp_path / name,
            embedder=embedder or HashEmbedder(),
            background=False,
            clock=clock,
            model=model,
            settings=settings or by_hand(),
        )
        memories.append(memory)
        if not memory.user("alice").drawers():
            fill(memory.user("alice"))
        return memory

    yield open_it
    for memory in memories:
        memory.close()


def plain(report) -> dict:
    """A report without what is drawn anew each time: ids."""
    told = report if isinstance(report, dict) else report.model_dump(mode="json")
    accepted = sorted((each["kind"], each["path"], each.get("content", "")) for each in told["decision"]["accepted"])
    return {
        "status": told["status"],
        "path": told["path"],
        "accepted": accepted,
        "rejected": [each["reason"] for each in told["decision"]["rejected"]],
        "golden": sorted((each["before"], each["after"]) for each in told["golden"]),
        "usage": told["usage"],
        "notes": told["notes"],
    }


def dreamt(memory, asked=None, **run):
    return dream_graph(memory).invoke({"user_id": "alice"} if asked is None else asked, **run)["dream_report"]


# The same, whichever way.


def test_the_graph_does_what_the_space_does(opened):
    by_space = opened(tidying(), name="a").user("alice")
    memory = opened(tidying(), name="b")
    report = dreamt(memory)
    assert plain(report) == plain(by_space.dream())
    assert report["status"] == "applied"
    assert known(memory.user("alice")) == known(by_space) == TIDIED


async def test_async_does_what_sync_does(opened):
    here, there, flowed = (opened(tidying(), name=name) for name in "abc")
    report = (await dream_graph(here).ainvoke({"user_id": "alice"}))["dream_report"]
    assert plain(report) == plain(dreamt(there)) == plain(await flowed.user("alice").adream())
    assert known(here.user("alice")) == known(there.user("alice")) == known(flowed.user("alice")) == TIDIED


def test_a_preview_changes_nothing_and_shows_what_would(opened):
    memory = opened(tidying())
    before = known(memory.user("alice"))
    report = dreamt(memory, {"user_id": "alice", "dry_run": True})
    assert report["status"] == "previewed"
    assert OUTDATED in report["diff"]
    assert known(memory.user("alice")) == before
    assert [each.status for each in memory.user("alice").dreams()] == ["previewed"]  # kept to be approved


# Whose memory it is.


@pytest.mark.parametrize(
    ("asked", "run"),
    [
        ({"user_id": "alice"}, {}),
        ({"space": ALICE}, {}),
        ({}, {"context": {"user_id": "alice"}}),
        ({}, {"config": {"configurable": {"user_id": "alice"}}}),
        ({"space": ALICE}, {"context": {"user_id": "bob"}}),
    ],
)
def test_the_input_says_whose_memory_it_is_else_the_run(opened, asked, run):
    report = dreamt(opened(), asked, **run)
    assert (report["space"], report["status"]) == (ALICE, "applied")


def test_all_spaces_dream_one_after_the_other(opened):
    memory = opened()
    fill(memory.user("bob"))
    memory.space("teams/empty").track([])
    reports = dreamt(memory, {"all": True})
    assert {each["space"]: each["status"] for each in reports}.items() >= {
        ALICE: "applied",
        "users/bob": "applied",
    }.items()
    assert known(memory.user("bob")) == BY_RULE


def test_a_space_that_is_fixed_is_not_asked_for(opened):
    memory = opened()
    report = dream_graph(memory, space=ALICE).invoke({"user_id": "bob", "all": True})["dream_report"]
    assert report["space"] == ALICE


def test_nobodys_memory_does_not_dream(opened, caplog):
    memory = opened()
    assert dream_graph(memory).invoke({})["dream_report"]["status"] == "failed"
    assert "MissingUser" in caplog.text
    with pytest.raises(MissingUser):
        dream_graph(memory, on_error="raise").invoke({})
    with pytest.raises(InvalidSpace):
        dream_graph(memory, on_error="raise").invoke({"space": "../x"})


@pytest.mark.parametrize("asked", [{"user_id": "alice"}, {"space": ALICE}, {"all": True}])
def test_on_a_server_nobody_has_the_memory_of_somebody_else_dream(opened, asked):
    memory = opened()
    bob = {"configurable": {"langgraph_auth_user_id": "bob"}}
    with pytest.raises(InvalidSpace, match="their own memory"):
        dream_graph(memory, on_error="raise").invoke(asked, bob)
    assert memory.user("alice").dreams() == ()
    assert dream_graph(memory).invoke({}, bob)["dream_report"]["space"] == "users/bob"


# In other graphs, and on streams.


class Host(MessagesState):
    dream_report: dict


def test_it_is_a_node_of_another_graph_that_hands_out_its_report_alone(opened):
    memory = opened(tidying())
    builder = StateGraph(Host)
    builder.add_node("night", dream_graph(memory))
    builder.add_edge(START, "night")
    host = builder.compile(checkpointer=InMemorySaver())
    run = {"configurable": {"thread_id": "t", "user_id": "alice"}}
    state = host.invoke({"messages": [HumanMessage("Good night.", id="1")]}, run)
    assert state["dream_report"]["status"] == "applied"
    assert [message.id for message in state["messages"]] == ["1"]
    assert set(host.get_state(run).values) == {"messages", "dream_report"}


def test_each_step_is_told_of_and_no_word_of_the_model_is_streamed(opened):
    graph = dream_graph(opened(tidying()))
    told = list(graph.stream({"user_id": "alice"}, stream_mode=["custom", "messages"]))
    events = [event for mode, event in told if mode == "custom"]
    assert [mode for mode, _ in told if mode == "messages"] == []
    assert [event["step"] for event in events if "asked" not in event] == list(STEPS)
    assert {(event["type"], event["space"]) for event in events} == {("dream", ALICE)}
    assert len({event["dream"] for event in events}) == 1
    assert [event["asked"] for event in events if event["step"] == "consolidate" and "asked" in event] == [1]
    assert events[-1]["status"] == "applied"


async def test_an_asynchronous_stream_tells_the_same(opened):
    here, there = (dream_graph(opened(tidying(), name=name)) for name in "ab")
    asked = {"user_id": "alice"}
    told = [event async for event in here.astream(asked, stream_mode="custom")]
    drawn = {"dream"}
    assert [{k: v for k, v in event.items() if k not in drawn} for event in told] == [
        {k: v for k, v in event.items() if k not in drawn} for event in there.stream(asked, stream_mode="custom")
    ]


def test_the_state_is_plain_and_what_was_seen_of_the_memory_does_not_stay_in_it(opened):
    graph = dream_graph(opened(tidying()), checkpointer=InMemorySaver())
    graph.invoke({"user_id": "alice"}, RUN)
    for moment in graph.get_state_history(RUN):
        assert json.loads(json.dumps(moment.values)) == moment.values
    last = graph.get_state(RUN).values
    assert not last["dream_material"]
    assert not last["dream_state"]


def test_a_thread_dreams_again_and_of_somebody_else(opened):
    memory = opened()
    fill(memory.user("bob"))
    graph = dream_graph(memory, checkpointer=InMemorySaver())
    assert isinstance(graph.invoke({"all": True, "dry_run": True}, RUN)["dream_report"], list)
    assert graph.invoke({"user_id": "bob"}, RUN)["dream_report"]["space"] == "users/bob"
    assert {each.status for each in memory.user("alice").dreams()} <= {"previewed"}


# Killed, and taken up again.


@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_stopped_goes_on_in_another_process(opened, tmp_path, step):
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        graph = dream_graph(opened(tidying()), checkpointer=saver)
        graph.invoke({"user_id": "alice"}, RUN, interrupt_before=[step])
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        memory = opened(tidying())
        report = dream_graph(memory, checkpointer=saver).invoke(None, RUN)["dream_report"]
    assert report["status"] == "applied"
    assert known(memory.user("alice")) == TIDIED
    assert [each.id for each in memory.user("alice").dreams()] == [report["id"]]


def test_killed_at_any_checkpoint_it_is_committed_once(opened, tmp_path):
    class Dying(SqliteSaver):
        left = 0

        def put(self, *args, **kwargs):
            self.left -= 1
            if self.left < 0:
                raise Killed
            return super().put(*args, **kwargs)

    kills, point = 0, 0
    while kills == point:
        memory = opened(tidying(), name=f"m{point}")
        with Dying.from_conn_string(str(tmp_path / f"threads{point}.db")) as saver:
            saver.left = point
            try:
                dream_graph(memory, checkpointer=saver).invoke({"user_id": "alice"}, RUN, durability="sync")
            except Killed:
                kills += 1
            saver.left = 1_000
            assert known(memory.user("alice")) in (set(FACTS), TIDIED)
            graph = dream_graph(memory, checkpointer=saver)
            there = graph.get_state(RUN).created_at is not None
            report = graph.invoke(None if there else {"user_id": "alice"}, RUN)["dream_report"]
        assert report["status"] == "applied"
        assert known(memory.user("alice")) == TIDIED
        assert len(memory.user("alice").dreams()) == 1
        point += 1
    assert kills >= len(STEPS)


KILLED_AFTER_THE_COMMIT = """
import os, sys
from datetime import datetime
from langgraph.checkpoint.sqlite import SqliteSaver
from langmem_tiers import Memory
from langmem_tiers.dream import run as dreaming
from langmem_tiers.graphs import dream_graph
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests.tidying import by_hand

folder, threads, now = sys.argv[1:]
with SqliteSaver.from_conn_string(threads) as saver:
    clock = FrozenClock(datetime.fromisoformat(now))
    memory = Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock, settings=by_hand())
    graph = dream_graph(memory, checkpointer=saver)
    run = {"configurable": {"thread_id": "night"}}
    dreaming.report_end = lambda *_: os._exit(9)  # after the commit, before its checkpoint is written
    graph.invoke({"user_id": "alice"}, run, durability="sync")
"""


@pytest.mark.folder
def test_a_process_that_is_killed_right_after_the_commit_finds_its_dream_applied(opened, tmp_path, root, clock):
    opened().close()
    files = (tmp_path / "memory", tmp_path / "threads.db")
    script = [sys.executable, "-c", KILLED_AFTER_THE_COMMIT, *files, clock().isoformat()]
    done = subprocess.run(script, cwd=root, capture_output=True, timeout=120, check=False)
    assert done.returncode == 9, done.stderr.decode()
    memory = opened()
    assert [each.status for each in memory.user("alice").dreams()] == ["applied"]
    with SqliteSaver.from_conn_string(str(files[1])) as saver:
        graph = dream_graph(memory, checkpointer=saver)
        assert graph.get_state(RUN).next == ("commit",)
        report = graph.invoke(None, RUN)["dream_report"]
    assert [each.id for each in memory.user("alice").dreams()] == [report["id"]]
    assert report["status"] == "applied"
    assert known(memory.user("alice")) == BY_RULE


def test_a_dream_that_was_killed_while_it_gathered_has_its_lease_still(opened):
    memory = opened()
    new = DreamState.new(memory.context(ALICE), dream_id="a" * 12)
    with memory.use(ALICE) as store:
        first = DreamRunner(memory.context(ALICE), store).step("gather", new)
        again = DreamRunner(memory.context(ALICE), store).step("gather", new)
        other = DreamRunner(memory.context(ALICE), store).step("gather", DreamState.new(memory.context(ALICE)))
    assert again.material == first.material
    assert other.report.status == "skipped"


def test_a_run_that_goes_on_after_another_dream_changes_nothing(opened, clock):
    memory = opened()
    graph = dream_graph(memory, checkpointer=InMemorySaver())
    graph.invoke({"user_id": "alice"}, RUN, interrupt_before=["commit"])
    clock.tick(memory.settings.dream.lease_seconds + 1)
    assert memory.user("alice").dream().status == "applied"
    report = graph.invoke(None, RUN)["dream_report"]
    assert report["status"] == "failed"
    assert "LeaseLost" in report["notes"][-1]
    assert len(memory.user("alice").dreams()) == 1


# Several at once.


def test_of_two_dreams_at_once_one_leaves(opened):
    asked, may_go_on = threading.Event(), threading.Event()
    reply = tidying().responses[0]

    def slow(messages):
        asked.set()
        assert may_go_on.wait(30)
        return reply(messages)

    memory = opened(ScriptedChatModel(responses=[slow]))
    reports = []
    first = threading.Thread(target=lambda: reports.append(dreamt(memory)))
    first.start()
    assert asked.wait(30)
    second = dreamt(memory)
    may_go_on.set()
    first.join()
    assert (second["status"], reports[0]["status"]) == ("skipped", "applied")
    assert "under way" in second["notes"][0]
    assert memory.user("alice").dream(dry_run=True).status == "previewed"


async def test_many_at_once_are_applied_once(opened):
    memory = opened(tidying())
    graph = dream_graph(memory)
    states = await asyncio.gather(*(graph.ainvoke({"user_id": "alice"}) for _ in range(5)))
    found = [state["dream_report"]["status"] for state in states]
    assert found.count("applied") == 1
    assert set(found) <= {"applied", "nothing", "skipped"}
    assert known(memory.user("alice")) == TIDIED


def test_a_dream_that_took_too_long_writes_nothing_once_another_has_begun(opened, clock):
    def overtaken(messages):
        if not overtaken.by:
            overtaken.by.append(None)
            clock.tick(memory.settings.dream.lease_seconds + 1)
            overtaken.by.append(dreamt(memory))
        return "{}"

    overtaken.by = []
    memory = opened(ScriptedChatModel(responses=[overtaken]))
    with pytest.raises(LeaseLost):
        memory.user("alice").dream()
    assert overtaken.by[1]["status"] == "applied"
    assert len(memory.user("alice").dreams()) == 1


def test_a_dream_whose_model_takes_its_time_keeps_others_out(opened, clock):
    def slow(_messages):
        clock.tick(memory.settings.dream.lease_seconds * 0.4)
        others.append(dreamt(memory)["status"])
        return "{}"

    others = []
    memory = opened(ScriptedChatModel(responses=[slow]), settings=by_hand(batch_entries=2))
    assert memory.user("alice").dream().status == "applied"
    assert len(others) > 3
    assert set(others) == {"skipped"}


# Models that are no help.


def limited(_messages):
    import httpx

    request = httpx.Request("POST", "https://example.org")
    raise RateLimitError("slow down", response=httpx.Response(429, request=request), body=None)


@pytest.mark.parametrize(
    "response", ["no JSON at all", '{"merges": 7}', "", RuntimeError("broken"), limited, '{"toDelete": [99, "all"]}']
)
def test_a_model_that_is_no_help_leaves_what_the_rules_do(opened, response):
    settings = by_hand().model_copy(update={"model": ModelSettings(timeout_seconds=2)})
    memory = opened(ScriptedChatModel(responses=[response]), settings=settings)
    report = dreamt(memory)
    assert report["status"] == "applied"
    assert known(memory.user("alice")) == BY_RULE
    told = [*report["notes"], *(each["reason"] for each in report["decision"]["rejected"])]
    assert "merges" in str(response) or any("consolidate: " in each or "'[99]'" in each for each in told)


def test_a_model_that_hangs_is_not_waited_for(opened):
    over = threading.Event()

    def hanging(_messages):
        over.wait(60)
        return "{}"

    settings = by_hand().model_copy(update={"model": ModelSettings(timeout_seconds=0.5)})
    memory = opened(ScriptedChatModel(responses=[hanging]), settings=settings)
    report = dreamt(memory)
    over.set()
    assert report["status"] == "applied"
    assert any("no reply in 0.5 s" in note for note in report["notes"])
    assert known(memory.user("alice")) == BY_RULE


def test_without_a_model_the_report_says_that_rules_did_it(opened):
    report = dreamt(opened())
    assert (report["status"], report["path"], report["usage"]) == ("applied", "rule", {})
    assert "There is no model: rules did all of it." in report["notes"]


def test_what_a_dream_took_is_booked_to_it(opened):
    memory = opened(tidying())
    report = dreamt(memory)
    booked = {line.name: line.calls for line in memory.user("alice").usage()}
    assert report["usage"]["memory_dream"]["calls"] == booked["memory_dream"] >= 1
    assert f"dream/{report['id']}" in {line.name for line in memory.user("alice").usage(by="session")}
    assert report["path"] == "model"


def test_a_dream_has_the_budget_of_a_session(opened):
    budget = Settings().model.budget.model_copy(update={"session_calls": 0})
    settings = by_hand().model_copy(update={"model": ModelSettings(budget=budget)})
    model = tidying()
    report = dreamt(opened(model, settings=settings))
    assert (report["status"], report["path"], model.requests) == ("applied", "rule", [])
    assert any("budget" in note for note in report["notes"])


# No longer than it may take, and not beyond the memory.


def test_a_dream_that_has_had_its_seconds_asks_no_more_and_goes_on_by_rule(opened):
    model = tidying()
    memory = opened(model, settings=by_hand(seconds=1e-6))
    report = dreamt(memory)
    assert (report["status"], report["path"], model.requests) == ("applied", "rule", [])
    assert "consolidate: the dream has had its 1e-06 s; rules did what they can" in report["notes"]
    assert known(memory.user("alice")) == BY_RULE


def test_the_seconds_of_a_dream_are_those_of_all_its_steps(opened):
    memory = opened(tidying(), settings=by_hand(seconds=1000))
    with memory.use(ALICE) as store:
        dreaming = DreamRunner(memory.context(ALICE), store)
        gathered = dreaming.step("gather", DreamState.new(memory.context(ALICE)))
        asked = dreaming.step("consolidate", gathered)
        late = dreaming.step("consolidate", gathered.but(took=1000.0))
        dreaming.release(asked)
    assert asked.took > gathered.took > 0
    assert (asked.report.path, late.report.path) == ("model", "rule")


def closing(memory, model_was_asked, may_reply):
    """Close a memory in another thread once its model was asked, and only then let that reply."""

    def close():
        assert model_was_asked.wait(30)
        memory.close()
        may_reply.set()

    thread = threading.Thread(target=close)
    thread.start()
    return thread


@pytest.mark.parametrize("way", ["space", "graph", "async"])
def test_closing_the_memory_ends_a_dream_that_waits_for_its_model(opened, way):
    def waiting(_messages):
        asked.set()
        assert may_reply.wait(30)
        return "{}"

    asked, may_reply = threading.Event(), threading.Event()
    memory = opened(ScriptedChatModel(responses=[waiting]))
    before = known(memory.user("alice"))
    thread = closing(memory, asked, may_reply)
    if way == "graph":
        report = dreamt(memory)
    else:
        report = memory.user("alice").dream() if way == "space" else asyncio.run(memory.user("alice").adream())
        report = report.model_dump(mode="json")
    thread.join()
    assert report["status"] == "skipped"
    assert "The memory was closed meanwhile: nothing was changed." in report["notes"]
    again = opened().user("alice")
    assert (known(again), again.dreams()) == (before, ())
    assert again.dream().status == "applied"


def test_closing_the_memory_ends_a_dream_of_the_background(tmp_path):
    def waiting(_messages):
        asked.set()
        assert over.wait(30)
        return "{}"

    asked, over = threading.Event(), threading.Event()
    dream = DreamSettings(episodes=1, debounce_minutes=0, retire_share=1.0)
    settings = by_hand().model_copy(update={"dream": dream})
    made = {"embedder": None, "settings": settings, "clock": FrozenClock(MONDAY)}
    with Memory.open(tmp_path, background=False, **made) as memory:
        fill(memory.user("alice"))
        memory.user("alice").archive.write("monday", summary="The user moved to Lisbon.")
    memory = Memory.open(tmp_path, model=ScriptedChatModel(responses=[waiting]), **made)
    memory.user("alice").dreams()
    assert asked.wait(30)
    memory.close()
    assert not over.is_set()
    over.set()
    with Memory.open(tmp_path, background=False, **made) as memory:
        alice = memory.user("alice")
        assert (known(alice), alice.dreams()) == ({*FACTS}, ())
        alice.flush()
        assert [report.trigger for report in alice.dreams()] == ["episodes"]


# Whatever the model does.


@pytest.mark.parametrize("reply", [RuntimeError("broken"), "no JSON at all", limited, '{"preferences": 7}'])
def test_the_cursor_of_the_log_moves_on_whatever_the_model_does(opened, reply):
    settings = by_hand().model_copy(update={"model": ModelSettings(timeout_seconds=2)})
    memory = opened(ScriptedChatModel(responses=[reply]), settings=settings)
    alice = memory.user("alice")
    said = [drawer.content for drawer in alice.drawers()]

    def unread():
        with memory.use(ALICE) as store:
            return len(gather(store, settings, memory.clock(), 0).turns)

    assert unread() == len(said)
    assert dreamt(memory)["status"] == "applied"
    assert unread() == 0
    assert [drawer.content for drawer in alice.drawers()] == said
    alice.track([Turn(role="user", content="One more thing.")], session="monday")
    assert unread() == 1


def test_a_dream_that_fails_has_read_the_log_and_one_that_was_stopped_or_tried_out_has_not(opened):
    memory = opened(tidying())

    def unread():
        with memory.use(ALICE) as store:
            return len(gather(store, memory.settings, memory.clock(), 0).turns)

    before = unread()
    dreamt(memory, {"user_id": "alice", "dry_run": True})
    assert unread() == before
    (memory.path / "directives").mkdir()
    (memory.path / "directives" / "dream.md").write_bytes(b"\xff\xfe")
    assert dreamt(memory)["status"] == "failed"
    assert unread() == 0


# On an event loop.


@pytest.mark.parametrize("scripted", [None, tidying])
async def test_a_dream_never_blocks_the_event_loop(opened, scripted):
    model = scripted and scripted()
    memory = await asyncio.to_thread(opened, model)
    graph = dream_graph(memory, on_error="raise")
    with blockbuster_ctx():
        state = await graph.ainvoke({"user_id": "alice"})
        again = await graph.ainvoke({"all": True, "dry_run": True})
        report = await memory.user("alice").adream()
    assert state["dream_report"]["status"] == "applied"
    assert again["dream_report"][0]["status"] == "previewed"
    assert report.status == "nothing"


def test_what_blocks_an_event_loop_is_noticed():
    async def blocking():
        with blockbuster_ctx():
            time.sleep(0.01)

    with pytest.raises(BlockingError):
        asyncio.run(blocking())


# Faults.


def test_a_prompt_that_can_not_be_used_fails_the_dream_and_is_named(opened, tmp_path):
    memory = opened(tidying())
    (memory.path / "directives").mkdir()
    (memory.path / "directives" / "dream.md").write_bytes(b"\xff\xfe")
    report = dreamt(memory)
    assert report["status"] == "failed"
    assert "dream.md" in report["notes"][-1]
    assert [each.status for each in memory.user("alice").dreams()] == ["failed"]
    (memory.path / "directives" / "dream.md").unlink()
    assert dreamt(memory)["status"] == "applied"


def test_a_fault_of_the_memory_is_reported_and_raised_where_that_is_wanted(opened, caplog):
    memory = opened()
    memory.close()
    report = dreamt(memory)
    assert report["status"] == "failed"
    assert "MemoryClosed" in report["notes"][-1]
    assert "dream_failed" in caplog.text
    with pytest.raises(RuntimeError, match="closed"):
        dream_graph(memory, on_error="raise").invoke({"user_id": "alice"})


def test_a_dream_that_broke_off_lets_others_dream(opened):
    def breaking(messages):
        embedder.outage = Killed()
        return tidying().responses[0](messages)

    embedder = HashEmbedder()
    memory = opened(ScriptedChatModel(responses=[breaking, tidying().responses[0]]), embedder=embedder)
    with pytest.raises(Killed):
        memory.user("alice").dream()
    embedder.outage = None
    assert memory.user("alice").dream().status == "applied"


# What a server loads.


def test_langgraph_json_names_graphs_that_can_be_loaded_offline(root, tmp_path, offline_environment):
    graphs = json.loads((root / "langgraph.json").read_text())["graphs"]
    assert set(graphs) == {"agent", "dream"}
    code = """
import importlib.util, sys
for entry in sys.argv[1:]:
    path, _, name = entry.partition(":")
    spec = importlib.util.spec_from_file_location("served", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    graph = getattr(module, name)
    print(graph.name, *graph.get_graph().nodes)
"""
    environment = {**offline_environment, "LANGMEM_TIERS_PATH": str(tmp_path / "memory")}
    script = [sys.executable, "-c", code, *graphs.values()]
    done = subprocess.run(script, cwd=root, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    agent, dream = done.stdout.splitlines()
    assert agent.split()[0] == "memory_agent"
    assert dream.split()[:2] == ["dream", "__start__"]
    assert set(STEPS) <= set(dream.split())


# What cannot dream.


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "No user was named for the dream."),
        ({"user_id": ""}, "No user was named for the dream."),
        ({"space": 5}, "is no name of a space"),
        ({"user_id": "nobody"}, "There is no space 'users/nobody'"),
        ({"space": "users/nobody"}, "There is no space 'users/nobody'"),
        ({"user_id": "alice", "all": True}, "also `all`"),
        ({"all": "yes"}, "True or False"),
        ({"user_id": "alice", "dry_run": "no"}, "True or False"),
    ],
)
def test_a_run_that_names_nobody_who_could_dream_is_reported_as_failed(memory, asked, told, caplog):
    memory.user("alice").knowledge.save("The user likes tea.")
    there = memory.spaces()
    given = dream_graph(memory).invoke(asked)["dream_report"]
    (report,) = given if isinstance(given, list) else [given]
    (note,) = report["notes"]
    assert (report["status"], told in note, memory.spaces()) == ("failed", True, there)
    assert "recall_node" not in note + caplog.text


def test_the_schemas_of_the_graph_can_be_asked_for(memory):
    dream = dream_graph(memory)
    assert "all" in dream.get_input_jsonschema()["properties"]
    assert dream.get_output_jsonschema()["properties"]
    assert "user_id" in dream.get_context_jsonschema()["properties"]
