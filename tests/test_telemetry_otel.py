"""OpenTelemetry: spans and metrics of what the memory does, for whoever has set it up, and without what was said."""

import asyncio
import gc
import subprocess
import sys
import threading

import pytest
from langgraph.graph import START, StateGraph
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from langmem_tiers import Memory, RecallSettings, Settings, Turn
from langmem_tiers.errors import MemoryClosed
from langmem_tiers.graphs import MemoryState, dream_graph, recall_node, track_node
from langmem_tiers.naming import space_mark
from langmem_tiers.telemetry import otel
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests import engines
from tests.test_workers import address  # noqa: F401 - a fixture

pytestmark = pytest.mark.by_address
SAID = "My sister Lena moved to Porto."
ASKED = "Where does my sister Lena live?"
SECRET = "sk-proj-qwfpgjluyarstdhneiozxcvbkm0123456789QWFP"
FACTS = '{"facts": [{"content": "Lena lives in Porto.", "category": "family", "turns": [1], "quote": "Lena moved"}]}'


@pytest.fixture(scope="module")
def recorded():
    """The spans and metrics of this process from now on: an SDK can be set up once."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    spans, meters = TracerProvider(), MeterProvider([reader])
    spans.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(spans)
    metrics.set_meter_provider(meters)
    yield exporter, reader
    spans.shutdown()
    meters.shutdown()


@pytest.fixture
def spans(recorded):
    """A function that gives the finished spans of a name."""
    exporter, _ = recorded
    exporter.clear()
    return lambda name: [span for span in exporter.get_finished_spans() if span.name == f"langmem_tiers.{name}"]


@pytest.fixture
def points(recorded):
    """A function that gives the points of a metric as (attributes, point)."""
    _, reader = recorded

    def read(name):
        data = reader.get_metrics_data()
        scopes = [scope for each in (data.resource_metrics if data else ()) for scope in each.scope_metrics]
        found = [metric for scope in scopes for metric in scope.metrics if metric.name == f"langmem_tiers.{name}"]
        return [(dict(point.attributes), point) for metric in found for point in metric.data.data_points]

    return read


@pytest.fixture
def total(points):
    """A function that gives the sum of a counter, of the points with some attributes."""

    def read(name, **about):
        wanted = {key.replace("__", "."): value for key, value in about.items()}
        return sum(point.value for attributes, point in points(name) if wanted.items() <= attributes.items())

    return read


def user(content) -> Turn:
    return Turn(role="user", content=content)


def everything_told(exporter) -> str:
    """All names and values that spans have, with their events."""
    return "".join(span.to_json() for span in exporter.get_finished_spans())


def test_a_recall_is_a_span_with_counts_times_and_the_mark_of_its_space(spans, alice):
    alice.track([user(SAID)], session="a")
    alice.flush()
    recalled = alice.recall(ASKED, session="b")
    (span,) = spans("recall")
    told = span.attributes
    assert told["langmem_tiers.space"] == space_mark("users/alice")
    assert (told["langmem_tiers.verdict"], told["langmem_tiers.hits"], told["langmem_tiers.empty"]) == (
        "recalled",
        len(recalled.items) + len(recalled.known),
        False,
    )
    assert told["langmem_tiers.tokens"] == recalled.receipt.tokens > 0
    assert told["langmem_tiers.channel.keyword"] == 1
    assert told["langmem_tiers.channel.vector"] >= 1
    assert told["langmem_tiers.ms.total"] >= told["langmem_tiers.ms.embed"] > 0


def test_a_recall_that_gives_nothing_says_so(spans, alice):
    alice.recall("What is the capital of Mongolia?", session="b")
    told = spans("recall")[0].attributes
    assert (told["langmem_tiers.empty"], told["langmem_tiers.verdict"]) == (True, "nothing_found")


def test_tracking_is_a_span(spans, alice):
    alice.track([user(SAID), user("   "), user("Fine.")], session="a")
    told = spans("track")[0].attributes
    assert (told["langmem_tiers.stored"], told["langmem_tiers.known"]) == (len(alice.drawers()), 0)


def test_embedding_is_a_span_within_the_recall_that_wants_it(spans, alice):
    alice.track([user(SAID)], session="a")
    alice.recall(ASKED, session="b")
    (recall,), embeds = spans("recall"), spans("embed")
    (embed,) = [span for span in embeds if span.parent and span.parent.span_id == recall.context.span_id]
    assert embed.attributes["gen_ai.operation.name"] == "embeddings"
    assert embed.attributes["gen_ai.request.model"] == "HashEmbedder:hash-64"
    assert embed.attributes["gen_ai.embeddings.dimension.count"] == 64


def test_mining_and_its_question_are_spans(spans, total, tmp_path, clock):
    model = ScriptedChatModel(responses=['{"facts": []}'])
    before = total("tokens", gen_ai__token__type="input")
    with Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock, model=model) as memory:
        memory.user("alice").track([user(SAID), user("She works at the aquarium there since May.")], session="a")
        memory.user("alice").mine()
    (mine,), (ask,) = spans("mine"), spans("ask")
    assert mine.attributes["langmem_tiers.path"] == "model"
    assert ask.parent.span_id == mine.context.span_id
    told = ask.attributes
    assert (told["gen_ai.operation.name"], told["gen_ai.request.model"]) == ("chat", "ScriptedChatModel")
    assert (told["langmem_tiers.source"], told["gen_ai.output.type"]) == ("memory_extract", "json")
    assert told["gen_ai.usage.input_tokens"] > 50
    assert total("tokens", gen_ai__token__type="input") - before == told["gen_ai.usage.input_tokens"]


def test_what_a_providers_client_traces_is_a_child_of_the_question(spans, recorded, tmp_path, clock):
    def answer(_messages):
        with trace.get_tracer("client").start_as_current_span("langmem_tiers.client"):
            return '{"facts": []}'

    model = ScriptedChatModel(responses=[answer])
    with Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock, model=model) as memory:
        memory.user("alice").track([user(SAID), user("She works at the aquarium there since May.")], session="a")
        memory.user("alice").mine()
    assert spans("client")[0].parent.span_id == spans("ask")[0].context.span_id


def test_a_question_that_fails_is_an_error_with_its_kind_and_is_counted(spans, total, tmp_path, clock):
    before = total("failures", error__type="ConnectionError")
    model = ScriptedChatModel(responses=[ConnectionError(f"no route, said to {SAID}")])
    with Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock, model=model) as memory:
        memory.user("alice").track([user(SAID), user("She works at the aquarium there since May.")], session="a")
        memory.user("alice").mine()
    (ask,) = spans("ask")
    assert (ask.status.status_code, ask.attributes["error.type"]) == (StatusCode.ERROR, "ConnectionError")
    assert [(each.name, dict(each.attributes)) for each in ask.events] == [
        ("exception", {"exception.type": "ConnectionError"})
    ]
    assert spans("mine")[0].status.status_code is StatusCode.UNSET  # rules did it
    assert total("failures", error__type="ConnectionError") == before + 1


@pytest.mark.parametrize("colour", ["dream", "adream", "graph", "agraph"])
def test_a_dream_is_a_span_for_each_step_and_counted_once(spans, total, alice, colour):
    alice.track([user(SAID)], session="a")
    before = total("dreams")
    with trace.get_tracer("caller").start_as_current_span("caller") as caller:
        if colour == "dream":
            status = alice.dream().status
        elif colour == "adream":
            status = asyncio.run(alice.adream()).status
        elif colour == "graph":
            status = dream_graph(alice.memory).invoke({"user_id": "alice"})["dream_report"]["status"]
        else:
            status = asyncio.run(dream_graph(alice.memory).ainvoke({"user_id": "alice"}))["dream_report"]["status"]
    steps = ["gather", "consolidate", "preferences", "synthesize", "graph", "gate", "commit"]
    assert [name for name in steps if not spans(f"dream.{name}")] == []
    last = spans("dream.commit")[0]
    assert last.attributes["langmem_tiers.status"] == status
    assert last.context.trace_id == caller.get_span_context().trace_id
    assert total("dreams") == before + 1


@pytest.mark.parametrize("colour", ["invoke", "ainvoke"])
def test_spans_of_a_graph_are_children_of_the_callers(spans, memory, alice, colour):
    builder = StateGraph(MemoryState).add_sequence([recall_node(memory), track_node(memory)])
    graph = builder.add_edge(START, "recall").compile()
    config = {"configurable": {"user_id": "alice", "thread_id": "t"}}
    with trace.get_tracer("caller").start_as_current_span("caller") as caller:
        if colour == "invoke":
            graph.invoke({"messages": SAID}, config)
        else:
            asyncio.run(graph.ainvoke({"messages": SAID}, config))
    here = caller.get_span_context().span_id
    assert [spans(name)[0].parent.span_id for name in ("recall", "track")] == [here, here]


def test_an_error_is_marked_counted_and_raised(spans, total, alice):
    alice.memory.close()
    before = total("failures", langmem_tiers__step="track")
    with pytest.raises(MemoryClosed):
        alice.track([user(SAID)], session="a")
    (span,) = spans("track")
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "MemoryClosed")
    assert [event.attributes["exception.type"] for event in span.events] == ["MemoryClosed"]
    assert total("failures", langmem_tiers__step="track") == before + 1


def test_no_span_and_no_metric_holds_what_was_said_a_key_or_a_user(spans, recorded, tmp_path, clock):
    exporter, reader = recorded
    model = ScriptedChatModel(responses=['{"facts": []}', ValueError(f"bad request: {SAID} {SECRET}")])
    settings = Settings(recall=RecallSettings(threshold=0))
    options = {"embedder": HashEmbedder(), "background": False, "clock": clock, "model": model, "reranker": model}
    with Memory.open(tmp_path / "m", settings=settings, **options) as memory:
        someone = memory.user("lena-4711")
        someone.track([user(SAID), user(f"My key is {SECRET}.")], session="geheim")
        someone.flush()
        someone.mine()
        someone.recall(ASKED, session="other")
        someone.dream()
        memory.close()
        with pytest.raises(MemoryClosed):
            someone.recall(SAID)
    told = everything_told(exporter) + str(reader.get_metrics_data())
    assert len(exporter.get_finished_spans()) > 10
    assert [word for word in ("Lena", "lena-4711", "Porto", SECRET[:12], "geheim", "users/") if word in told] == []


def test_recalls_are_measured(alice, points, total):
    def counted():
        return sum(point.count for _, point in points("recall.duration"))

    before, hits, empties = counted(), total("recall.hits"), total("recall.empties")
    alice.track([user(SAID)], session="a")
    recalled = alice.recall(ASKED, session="b")
    alice.recall("What is the capital of Mongolia?", session="c")
    assert counted() == before + 2
    assert total("recall.hits") == hits + len(recalled.items) + len(recalled.known)
    assert total("recall.empties") == empties + 1
    assert points("recall.duration")[0][1].explicit_bounds[0] == 0.001


def test_what_waits_is_measured_until_the_memory_is_closed(points, tmp_path):
    release, held = threading.Event(), threading.Event()

    class Slow(HashEmbedder):
        def embed_documents(self, texts):
            held.set()
            release.wait(20)
            return super().embed_documents(texts)

    def depth():
        return points("queue.depth")[-1][1].value

    def lag():
        return points("queue.lag")[-1][1].value

    with Memory.open(tmp_path / "m", embedder=Slow()) as memory:
        memory.user("alice").track([user(SAID)], session="a")
        held.wait(20)
        memory.user("bob").track([user(SAID)], session="a")
        assert depth() == 2
        waited = lag()
        assert lag() > waited > 0
        release.set()
        memory.flush()
        assert (depth(), lag()) == (0, 0)
    assert depth() == 0


@pytest.mark.skipif(not engines.ADDRESS, reason="POSTGRES names no server")
def test_on_servers_the_queue_of_all_is_measured_also_by_who_does_none_of_the_work(points, address):  # noqa: F811
    def depth():
        return points("queue.depth")[-1][1].value

    with Memory.open(address, embedder=None, background=False) as memory:
        held = memory.backend.queue
        memory.user("alice").track([user(SAID)], session="a")
        memory.user("bob").track([user(SAID)], session="a")
        with held.working_on(held.take()):
            assert depth() == 1
            assert points("queue.lag")[-1][1].value > 0
        works = memory.worker()
        works.stop(20)
        assert depth() <= 2
    assert depth() == 0


def test_what_waits_for_a_model_that_is_away_is_measured_until_the_memory_is_closed(points, tmp_path):
    embedder = HashEmbedder()
    embedder.outage = ConnectionError("away")
    with Memory.open(tmp_path / "m", embedder=embedder) as memory:
        memory.user("alice").track([user(SAID)], session="a")
        assert not memory.flush()
        assert points("queue.depth")[-1][1].value == 1
    assert points("queue.depth")[-1][1].value == 0


def test_a_queue_whose_server_does_not_tell_how_long_it_is_is_not_measured(points, alice):
    class Silent:
        def depth(self):
            return None

    alice.recall(ASKED)
    silent = Silent()
    otel.watch(silent)
    assert points("queue.depth") == []
    otel.unwatch(silent)
    assert points("queue.depth")[-1][1].value == 0


def test_a_memory_that_nobody_closes_is_not_held_by_its_measure(points, tmp_path):
    from langmem_tiers.telemetry import otel as ours

    before = len(ours._queues)
    Memory.open(tmp_path / "m", embedder=None)
    gc.collect()
    assert len(ours._queues) == before


SILENT = """
import sys, tempfile
from langmem_tiers import Memory, Turn
{before}
with tempfile.TemporaryDirectory() as folder, Memory.open(folder + "/m", embedder=None, background=False) as memory:
    alice = memory.user("alice")
    alice.track([Turn(role="user", content="My sister Lena moved to Porto.")], session="a")
    assert alice.recall("Where does my sister Lena live?").items
    alice.dream()
print("opentelemetry.trace" in sys.modules)
"""


@pytest.mark.parametrize(
    "before",
    [
        "",
        "sys.modules['opentelemetry'] = None",
        "import os; os.environ['OTEL_PYTHON_TRACER_PROVIDER'] = 'x'; sys.modules['opentelemetry'] = None",
    ],
)
def test_where_nobody_uses_it_it_is_not_even_imported_and_may_be_missing(before, offline_environment):
    code = SILENT.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", code], env=offline_environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "False", "")
