"""Real clients of providers: models and embedders by name, and a server that answers, fails and comes back."""

import json
import logging
import os
import subprocess
import sys
import threading

import pytest
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openai_server import Fault, openai_server

from langmem_tiers import Memory, RecallSettings, RerankSettings, Settings, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import InvalidInput, InvalidSettings, MissingExtra
from langmem_tiers.graphs import chat_model, dream_graph, memory_agent
from langmem_tiers.settings import ModelSettings
from langmem_tiers.testing import HashEmbedder

SAID = "My sister Anna lives in Lisbon."
TOLD = "The user's sister Anna lives in Lisbon."
EMPTY = {"topics": [], "subject": "", "facts": [], "entities": [], "relations": []}
FACT = {"content": TOLD, "kind": "fact", "quote": "sister Anna lives in Lisbon", "turn": 1, "corrects": ""}
MINED = {**EMPTY, "facts": [FACT]}
KEY = "sk-proj-Zq3vK8xT1mWc7RyB2nLd9HsJ4pQfA6eUgXoVtYiE0b5kCrNaDw"
PATIENCE = 10

FAULTS = {
    "400": Fault(400, b'{"error": {"message": "Bad request."}}'),
    "400 that repeats the request": Fault(
        400, json.dumps({"error": {"message": f"not understood: 1. user: {SAID}"}}).encode()
    ),
    "401": Fault(401, json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}}).encode()),
    "429": Fault(429, b'{"error": {"message": "Rate limit reached."}}', {"Retry-After": "0"}),
    "429 for an hour": Fault(429, b'{"error": {"message": "Rate limit reached."}}', {"Retry-After": "3600"}),
    "500": Fault(),
    "cut off": Fault(200, b'{"id": "1", "choices": [{"index": 0, "message": {"role"', cut_at=20),
    "garbage": Fault(200, b"<html>502 Bad Gateway</html>", {"Content-Type": "text/html"}),
    "JSON of another kind": Fault(200, b'{"hello": "world"}'),
    "huge": Fault(
        200,
        json.dumps(
            {
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x" * 3_000_000}}
                ]
            }
        ).encode(),
    ),
    "hang": Fault(seconds=PATIENCE * 3),
}
# Too little of what was said to be told from a coincidence.
ECHO = Fault(500, b'{"error": {"message": "Refused: \'Anna\' near \'LISBON\'", "code": "Anna"}}')


@pytest.fixture
def server():
    with openai_server() as running:
        yield running


@pytest.fixture
def model(server):
    return ChatOpenAI(model="local", base_url=server.url, api_key=KEY, max_retries=0)


@pytest.fixture
def embeddings(server):
    options = {"base_url": server.url, "api_key": KEY, "max_retries": 0, "check_embedding_ctx_length": False}
    return OpenAIEmbeddings(model="local-embed", **options)


@pytest.fixture
def open_memory(tmp_path, clock):
    """A function that opens the one memory, with a deterministic embedder unless told else."""

    def open_it(*, seconds=PATIENCE, embedder=None, **options):
        settings = Settings(model=ModelSettings(timeout_seconds=seconds), **options.pop("sections", {}))
        chosen = {"embedder": embedder, "background": False, "clock": clock, "settings": settings, **options}
        return Memory.open(tmp_path / "memory", **chosen)

    return open_it


def user(content) -> Turn:
    return Turn(role="user", content=content)


def known(space) -> list[str]:
    return [found.entry.content for found in space.knowledge.search(limit=10)]


def paths(reports):
    return [report.path for report in reports]


# By name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openai:gpt-5-mini", "ChatOpenAI"),
        ("anthropic:claude-sonnet-4-5", "ChatAnthropic"),
        ("ollama:qwen3", "ChatOllama"),
    ],
)
def test_a_name_makes_the_providers_model_without_asking_anybody(name, kind, monkeypatch):
    pytest.importorskip(f"langchain_{name.partition(':')[0]}")
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    assert type(chat_model(name)).__name__ == kind


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("openai:text-embedding-3-small", "OpenAIEmbeddings:text-embedding-3-small"),
        ("ollama:nomic-embed-text", "OllamaEmbeddings:nomic-embed-text"),
    ],
)
def test_an_embedder_may_be_named(open_memory, monkeypatch, name, of):
    pytest.importorskip(f"langchain_{name.partition(':')[0]}")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with open_memory(embedder=name) as memory:
        assert memory.embedding_model == of


@pytest.mark.parametrize("made", [chat_model, lambda name: Memory.open("never", embedder=name)])
def test_a_provider_whose_package_is_missing_says_the_install_line(made):
    with pytest.raises(MissingExtra, match=r"'langchain-google-genai'.*pip install 'langmem-tiers\[google\]'"):
        made("google_genai:gemini")


@pytest.mark.parametrize("provider", ["cohere", "huggingface", "mistralai"])
@pytest.mark.parametrize("made", [chat_model, lambda name: Memory.open("never", embedder=name)])
def test_a_package_that_no_extra_brings_is_installed_by_its_name(made, provider, monkeypatch):
    monkeypatch.setitem(sys.modules, f"langchain_{provider}", None)
    with pytest.raises(MissingExtra, match=rf"'langchain-{provider}'.*: pip install langchain-{provider}\.$"):
        made(f"{provider}:some-model")


@pytest.mark.parametrize("options", [["--embedder", "cohere:x", "doctor"], ["chat", "--rerank", "cohere:x"]])
def test_the_command_line_says_a_missing_package_in_a_line(options, monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "langchain_cohere", None)
    (tmp_path / "memory").mkdir()
    Memory.open(tmp_path / "memory", embedder="none", background=False).close()
    with pytest.raises(SystemExit) as left:
        main(["--path", str(tmp_path / "memory"), "--user", "alice", *options])
    said = capsys.readouterr().err
    assert (left.value.code, said.count("\n"), "pip install langchain-cohere" in said) == (1, 1, True)


@pytest.mark.parametrize("given", ["", " ", None, 5, dict, ":gpt"])
def test_what_is_no_model_is_refused(given):
    with pytest.raises(InvalidInput, match="model"):
        chat_model(given)


@pytest.mark.parametrize("made", [chat_model, lambda name: Memory.open("never", embedder=name)])
def test_a_provider_alone_is_no_name(made):
    with pytest.raises(InvalidSettings, match=r"'openai:' .* after its provider"):
        made("openai:")


@pytest.mark.parametrize("made", [chat_model, lambda name: Memory.open("never", embedder=name)])
def test_an_unknown_provider_says_which_are_known(made):
    with pytest.raises(InvalidSettings, match=r"'nobody:knows'.*openai.*ollama.*google_genai.*langmem-tiers\[google\]"):
        made("nobody:knows")


@pytest.mark.parametrize("made", [chat_model, lambda name: Memory.open("never", embedder=name)])
def test_a_missing_key_is_said_by_name(made, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidSettings, match=r"'openai:some-model'.*OPENAI_API_KEY"):
        made("openai:some-model")


def test_without_langchain_the_name_of_an_embedder_says_what_to_install(offline_environment, tmp_path):
    code = """
import sys
sys.modules["langchain"] = None
from langmem_tiers import Memory
from langmem_tiers.errors import MissingExtra
try:
    Memory.open("memory", embedder="ollama:nomic-embed-text")
except MissingExtra as error:
    print(error)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=offline_environment, capture_output=True, text=True, check=True)
    assert "pip install 'langmem-tiers[ollama]'" in done.stdout
    assert not (tmp_path / "memory").exists()


# Answers


@pytest.mark.parametrize("colour", ["invoke", "stream"])
def test_an_agent_chats_and_streams_through_the_client(server, model, memory, colour):
    server.reply = "On the radiator, as ever."
    agent = memory_agent(model, memory)
    config = {"configurable": {"user_id": "alice", "thread_id": "t"}}
    if colour == "invoke":
        said = agent.invoke({"messages": "Where is the cat?"}, config)["messages"][-1].text
    else:
        chunks = agent.stream({"messages": "Where is the cat?"}, config, stream_mode="messages")
        said = "".join(chunk.text for chunk, _ in chunks).strip()
    assert said == "On the radiator, as ever."
    assert server.requests[0][1].get("stream", False) is (colour == "stream")


def test_facts_are_mined_by_json_schema(server, model, open_memory):
    server.reply = MINED
    with open_memory(model=model) as memory:
        alice = memory.user("alice")
        alice.track([user(SAID)], session="a")
        (report,) = alice.mine()
        assert (report.path, report.calls, report.input_tokens) == ("model", 1, 11)
        assert known(alice) == [TOLD]
    assert server.asked("completions")[0]["response_format"]["type"] == "json_schema"


def test_facts_are_mined_by_a_call_of_a_tool(server, open_memory):
    class ByTools(ChatOpenAI):
        def with_structured_output(self, schema, **options):
            return super().with_structured_output(schema, method="function_calling", **options)

    server.reply = MINED
    model = ByTools(model="local", base_url=server.url, api_key=KEY, max_retries=0)
    with open_memory(model=model) as memory:
        alice = memory.user("alice")
        alice.track([user(SAID)], session="a")
        assert paths(alice.mine()) == ["model"]
    assert server.asked("completions")[0]["tools"][0]["function"]["name"] == "MinedWindow"


def test_a_server_without_schemas_is_asked_in_words_and_from_then_on_only_so(server, model, open_memory):
    server.reply, server.unsupported = MINED, ("response_format",)
    with open_memory(model=model) as memory:
        alice = memory.user("alice")
        for session in ("a", "b"):
            alice.track([user(f"{SAID} It is session {session}.")], session=session)
            assert paths(alice.mine()) == ["model"]
    assert ["response_format" in body for body in server.asked("completions")] == [True, False, False]


def test_embeddings_come_as_texts_and_vectors(server, embeddings, open_memory):
    with open_memory(embedder=embeddings) as memory:
        alice = memory.user("alice")
        alice.track([user(SAID)], session="a")
        assert alice.flush()
        recalled = alice.recall("Where does my sister Anna live?", session="b")
        assert recalled.receipt.candidates[0].scores["vector"] > 0.3
        assert recalled.receipt.notes == ()
    assert server.asked("embeddings")[0]["input"] == [SAID]


def test_an_embedder_by_name_speaks_to_a_server_of_yours(server, open_memory, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    with open_memory(embedder="openai:any-model") as memory:
        alice = memory.user("alice")
        alice.track([user(SAID)], session="a")
        assert alice.flush()
    assert server.asked("embeddings")[0]["input"] == [SAID]


def test_a_chat_model_reranks(server, model, open_memory):
    server.reply = lambda _: '{"ids": [2]}'
    sections = {"recall": RecallSettings(threshold=0, rerank=RerankSettings(timeout_seconds=PATIENCE))}
    with open_memory(reranker=model, sections=sections) as memory:
        alice = memory.user("alice")
        alice.track([user("The robot is red."), user("The robot is in the yard.")], session="a")
        receipt = alice.recall("What about the robot?", session="b").receipt
    assert receipt.usage["memory_rerank"]["input_tokens"] >= 11
    assert len(server.asked("completions")) >= 1


# Failures: nothing is lost, it is said once and clearly, and the model is asked again when it is back


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_model_could_not_be_asked_is_found_by_rule_and_asked_again_when_it_is_back(
    server, model, open_memory, clock, caplog, fault
):
    server.reply = MINED
    server.fail(FAULTS[fault], times=4)
    seconds = 1 if fault == "hang" else PATIENCE
    with open_memory(model=model, seconds=seconds) as memory:
        alice = memory.user("alice")
        alice.track([user(SAID)], session="a")
        (report,) = alice.mine()
        assert (report.path, bool(report.reason)) == ("rule", True)
        assert [drawer.content for drawer in alice.drawers()] == [SAID]
        assert "Lisbon" in alice.recall("Where does my sister Anna live?", session="b").block
        server.faults.clear()
        clock.tick(3600 * 2)
        if fault != "huge":  # it has answered: what it made of these turns stands
            assert paths(alice.mine()) == ["model"]
            assert TOLD in known(alice)
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert {record.event for record in warnings} <= {"model_unavailable"}
    assert [word for word in (KEY, "sister Anna") if word in caplog.text] == []


def test_a_server_that_is_not_there_costs_nothing_but_a_warning(model, server, open_memory, clock, caplog):
    gone = ChatOpenAI(model="local", base_url="http://127.0.0.1:9/v1", api_key=KEY, max_retries=0)
    with open_memory(model=gone) as memory:
        alice = memory.user("alice")
        alice.track([user(SAID)], session="a")
        assert paths(alice.mine()) == ["rule"]
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert (warning.event, warning.work) == ("model_unavailable", "without_model")
    assert "ConnectionError" in warning.reason
    server.reply = MINED
    with open_memory(model=model) as memory:
        clock.tick(600)
        assert paths(memory.user("alice").mine()) == ["model"]


def test_after_failures_in_a_row_the_server_is_left_in_peace_until_the_rest_is_over(
    server, model, open_memory, clock, caplog
):
    server.reply = MINED
    server.fail(FAULTS["401"], times=100)
    with open_memory(model=model) as memory, caplog.at_level(logging.INFO, "langmem_tiers"):
        alice = memory.user("alice")
        for session in "abcde":
            alice.track([user(f"{SAID} Session {session}.")], session=session)
            alice.mine(session)
        asked = len(server.asked("completions"))
        alice.track([user(f"{SAID} Session f.")], session="f")
        alice.mine("f")
        assert len(server.asked("completions")) == asked
        server.faults.clear()
        clock.tick(61)
        assert "model" in paths(alice.mine())
    told = [record.event for record in caplog.records if record.event.startswith("model_")]
    assert told == ["model_unavailable", "model_available"]


@pytest.mark.parametrize("fault", ["401", "500", "garbage", "hang"])
def test_a_dream_whose_model_fails_says_so_and_changes_what_rules_can(server, model, open_memory, fault):
    server.reply = EMPTY
    with open_memory(model=model, seconds=1 if fault == "hang" else PATIENCE) as memory:
        alice = memory.user("alice")
        alice.knowledge.save(TOLD, category="family")
        alice.knowledge.save("The user's brother Nils plays the cello.", category="family")
        server.fail(FAULTS[fault], times=100)
        report = dream_graph(memory).invoke({"user_id": "alice"})["dream_report"]
        assert (report["status"] in {"nothing", "applied"}, report["path"]) == (True, "rule")
        assert any("rules did what they can" in note for note in report["notes"])
        assert len(known(alice)) == 2


@pytest.mark.parametrize("fault", ["401", "429", "500", "garbage", "hang"])
def test_a_reranker_that_fails_keeps_the_order_and_says_so_in_the_receipt(server, model, open_memory, caplog, fault):
    server.fail(FAULTS[fault], times=100)
    rerank = RerankSettings(timeout_seconds=1 if fault == "hang" else PATIENCE)
    with open_memory(reranker=model, sections={"recall": RecallSettings(threshold=0, rerank=rerank)}) as memory:
        alice = memory.user("alice")
        alice.track([user("The robot is red."), user("The robot is in the yard.")], session="a")
        recalled = alice.recall("What about the robot?", session="b")
    assert len(recalled.items) == 2
    assert [note for note in recalled.receipt.notes if "kept the fused order" in note]
    assert [record.event for record in caplog.records] == ["reranker_unavailable"]
    assert KEY not in caplog.text


@pytest.mark.parametrize("fault", ["400 that repeats the request", "401", "500", "garbage", "cut off"])
def test_an_embedder_that_fails_leaves_keywords_and_the_vectors_come_later(
    server, embeddings, open_memory, caplog, fault, monkeypatch
):
    server.fail(FAULTS[fault], times=100)
    with open_memory(embedder=embeddings) as memory:
        alice = memory.user("alice")
        alice.track([user(SAID)], session="a")
        assert not alice.flush()
        recalled = alice.recall("Where does my sister Anna live?", session="b")
        assert "Lisbon" in recalled.block
        assert "vector" not in recalled.receipt.candidates[0].scores
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert (warning.event, warning.recall) == ("embedding_unavailable", "keywords_only")
    assert [word for word in (KEY, "sister Anna") if word in caplog.text] == []
    server.faults.clear()
    with open_memory(embedder=embeddings) as memory:
        assert memory.user("alice").flush()
        assert memory.user("alice").stats().pending == 0


def test_a_recall_waits_for_a_hanging_embedder_no_longer_than_it_may_and_then_leaves_it_in_peace(
    server, embeddings, open_memory, caplog
):
    with open_memory(embedder=embeddings, sections={"recall": RecallSettings(embed_seconds=0.5)}) as memory:
        alice = memory.user("alice")
        alice.track([user(SAID)], session="a")
        alice.flush()
        asked = len(server.asked("embeddings"))
        server.fail(FAULTS["hang"], times=100)
        for session in "bc":
            recalled = alice.recall("Where does my sister Anna live?", session=session)
            assert "Lisbon" in recalled.block
            assert "The embedder OpenAIEmbeddings:local-embed timed out after 0.5 s" in recalled.receipt.notes[0]
        assert len(server.asked("embeddings")) == asked + 1
    (warning,) = caplog.records
    assert (warning.event, warning.recall) == ("embedding_unavailable", "keywords_only")


def test_an_embedder_that_hangs_in_the_background_does_not_hold_up_the_close(open_memory, caplog):
    release, held = threading.Event(), threading.Event()

    class Hanging(HashEmbedder):
        def embed_documents(self, texts):
            held.set()
            release.wait(60)
            return super().embed_documents(texts)

    memory = open_memory(embedder=Hanging(), background=True)
    memory.user("alice").track([user(SAID)], session="a")
    assert held.wait(60)
    worker = next(each for each in threading.enumerate() if each.name == "langmem-tiers")
    memory.close()
    assert not worker.is_alive()
    assert caplog.records == []
    release.set()


@pytest.mark.parametrize("of", ["model", "embedder", "reranker"])
def test_no_record_has_the_words_of_a_provider(server, model, embeddings, open_memory, caplog, of):
    server.fail(ECHO, times=100)
    given = {of: embeddings if of == "embedder" else model}
    sections = {"recall": RecallSettings(threshold=0)}
    with caplog.at_level(logging.DEBUG, "langmem_tiers"), open_memory(**given, sections=sections) as memory:
        alice = memory.user("alice")
        alice.track([user(SAID), user("My sister Anna likes Lisbon.")], session="a")
        reports = alice.mine()
        alice.flush()
        recalled = alice.recall("Where does my sister Anna live?", session="b")
    events = {"model": "model_unavailable", "embedder": "embedding_unavailable", "reranker": "reranker_unavailable"}
    told = [record.reason for record in caplog.records if record.event == events[of]]
    assert "Error, status 500" in told[0]
    assert [word for word in ("Anna", "LISBON", "Refused") if word in caplog.text] == []
    assert "LISBON" in f"{reports}{recalled.receipt.notes}"


# Another embedder


def test_another_embedder_is_said_at_once_and_embeds_beside_the_old_vectors(open_memory, caplog):
    with open_memory(embedder=HashEmbedder(64)) as memory:
        memory.user("alice").track([user(SAID)], session="a")
        memory.flush()
    assert caplog.records == []
    with open_memory(embedder=HashEmbedder(32)) as memory:
        alice = memory.user("alice")
        first = alice.recall("Where does my sister Anna live?", session="b")
        (warning,) = caplog.records
        told = (warning.event, warning.model, warning.before)
        assert told == ("embedder_changed", "HashEmbedder:hash-32", "HashEmbedder:hash-64")
        assert ("Lisbon" in first.block, "vector" in first.receipt.candidates[0].scores) == (True, False)
        assert memory.flush()
        assert "vector" in alice.recall("Where does Anna live now?", session="c").receipt.candidates[0].scores
    caplog.clear()
    for dimension in (32, 64):  # both are there now: nothing is embedded again
        embedder = HashEmbedder(dimension)
        with open_memory(embedder=embedder) as memory:
            assert memory.flush()
        assert embedder.documents_embedded == 0
    assert caplog.records == []


def test_the_same_name_with_another_dimension_is_refused_and_nothing_is_lost(open_memory, caplog):
    def named(dimension):
        embedder = HashEmbedder(dimension)
        embedder.model = "the-same"
        return embedder

    with open_memory(embedder=named(64)) as memory:
        memory.user("alice").track([user(SAID)], session="a")
        memory.flush()
    with open_memory(embedder=named(32)) as memory:
        alice = memory.user("alice")
        alice.track([user("My brother Nils plays the cello.")], session="a")
        assert not memory.flush()
        assert "cello" in alice.recall("What does my brother Nils play?", session="b").block
    assert "32" in caplog.text
    assert "64" in caplog.text


def test_the_command_line_takes_the_embedder_that_the_memory_is_used_with(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    folder = tmp_path / "memory"
    with Memory.open(folder, embedder="openai:any-model", background=False) as memory:
        memory.user("alice").track([user(SAID)], session="a")
        memory.flush()
    options = ["--path", str(folder), "--user", "alice", "--embedder", "openai:any-model"]
    with pytest.raises(SystemExit) as left:
        main([*options, "doctor"])
    assert left.value.code in (0, None)
    assert "OpenAIEmbeddings:any-model" in capsys.readouterr().out
    assert os.environ.get("LANGMEM_TIERS_EMBEDDER") is None
