"""Asking a model for an object: whatever it does, there is a value or a reason, in time, within budget, and booked."""

import asyncio
import inspect
import json
import logging
import sqlite3
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, Field

from langmem_tiers import Memory
from langmem_tiers.errors import DatabaseLocked, InvalidDirective, InvalidSettings
from langmem_tiers.models.asker import ModelAsker
from langmem_tiers.models.calls import Prompt
from langmem_tiers.models.chat_model import GuardedModel
from langmem_tiers.models.directives import Directives
from langmem_tiers.models.usage import UsageBook
from langmem_tiers.settings import BudgetSettings, ModelSettings, Settings, StorageSettings
from langmem_tiers.testing import ScriptedChatModel

PROMPT = Prompt(system="Find the facts.", user="My sister lives in Porto.")
SOURCE = "memory_extract"


class Fact(BaseModel):
    content: str
    turn: int = 1


class Facts(BaseModel):
    facts: list[Fact] = Field(default=[], description="What was said.")


class Town(BaseModel):
    name: str


PORTO = Facts(facts=[Fact(content="The sister lives in Porto.", turn=1)])
JSON = PORTO.model_dump_json()


class InWords(ScriptedChatModel):
    """A model that cannot be given a schema."""

    def with_structured_output(self, schema, **_):
        raise NotImplementedError


class Odd(Exception):
    """An error of a provider's client, with an HTTP status and headers."""

    def __init__(self, message, status=None, **headers):
        super().__init__(message)
        self.status_code = status
        self.response = type("Response", (), {"headers": {name.replace("_", "-"): at for name, at in headers.items()}})


def called(**arguments) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "Facts", "args": arguments, "id": "1"}])


def words(model, call=-1) -> str:
    """All that a model was sent in words."""
    return "\n".join(message.text for message in model.requests[call])


@pytest.fixture
def store(tmp_path, clock):
    settings = Settings(storage=StorageSettings(busy_timeout=0.1))
    options = {"embedder": None, "background": False, "clock": clock}
    with Memory.open(tmp_path / "memory", settings=settings, **options) as memory, memory.use("users/alice") as opened:
        yield opened


@pytest.fixture
def book(store):
    return UsageBook(store.database)


@pytest.fixture
def asker(book, clock):
    """A function that makes an asker for a model, with some settings."""

    def make(model, *, budget=None, **settings):
        chosen = ModelSettings(budget=BudgetSettings(**(budget or {})), **settings)
        return ModelAsker(model, chosen, book, clock)

    return make


@pytest.fixture(params=["ask", "aask"])
def ask(request, asker):
    """A function that asks a model, or an asker, for facts: in both colours."""

    def call(model, *, schema=Facts, prompt=PROMPT, session="s", timeout=60, **settings):
        one = model if isinstance(model, ModelAsker) else asker(model, **settings)
        options = {"source": SOURCE, "session": session, "timeout": timeout}
        if request.param == "ask":
            return one.ask(schema, prompt, **options)
        return asyncio.run(one.aask(schema, prompt, **options))

    return call


@pytest.fixture
def hanging():
    """A chat model that hangs until the test is over."""
    over = threading.Event()
    yield ScriptedChatModel(responses=[lambda _: str(over.wait(60))])
    over.set()


# What is asked, and what is understood


def test_a_model_with_structured_output_is_given_the_schema_and_the_bare_prompt(ask):
    model = ScriptedChatModel(responses=[called(facts=[{"content": "The sister lives in Porto."}])])
    answer = ask(model)
    assert (answer.value, answer.failure, answer.reason, answer.calls) == (PORTO, None, "", 1)
    assert words(model) == f"{PROMPT.system}\n{PROMPT.user}"
    assert [tool["function"]["name"] for tool in model.options[0]["tools"]] == ["Facts"]


def test_a_model_without_it_is_given_the_schema_and_one_example_in_words(ask):
    model = InWords(responses=[JSON])
    assert ask(model).value == PORTO
    instructions, example = model.requests[0][0].text.split("Example of a reply:\n")
    assert instructions.startswith(PROMPT.system)
    assert '{"facts": [{"content": string, "turn": integer}] (What was said)}' in instructions
    assert Facts.model_validate_json(example) == Facts(facts=[Fact(content="…", turn=1)])


def test_the_example_of_a_prompt_is_shown_instead(ask):
    model = InWords(responses=[JSON])
    ask(model, prompt=Prompt(system="Find.", user="Here.", example=PORTO))
    assert words(model).splitlines()[-2] == json.dumps(PORTO.model_dump(), ensure_ascii=False)


class Nested(BaseModel):
    kind: str = Field(examples=["walk"])
    size: float | None
    parts: "list[Nested]" = []
    named: dict[str, int] = {}


def test_an_example_is_made_for_a_schema_that_holds_itself(ask):
    model = InWords(responses=['{"kind": "walk", "size": null}'])
    assert ask(model, schema=Nested).value == Nested(kind="walk", size=None)
    assert '{"kind": "walk", "size": 1.5, "parts": [{"kind": "walk"' in words(model)


@pytest.mark.parametrize(
    "reply",
    [
        JSON,
        f"\n{json.dumps(PORTO.model_dump(), indent=2)}\n",
        f"<think>Is it {{'facts': 1}}? Or {{\"facts\": []}}?</think>\n{JSON}",
        f"Thoughts without a beginning.</think>{JSON}",
        f"```json\n{JSON}\n```",
        f"Here are the facts {{as asked}}:\n\n{JSON}\n\nIs there more to do?",
        '{"facts": [{"content": "The sister lives in Porto.", "turn": "1",},],}',
        f"[{JSON}]",
        f"{JSON}\n{JSON}",
        f'{{"facts": 7}} No, rather: {JSON}',
        called(facts=[{"content": "The sister lives in Porto."}]),
        AIMessage("", invalid_tool_calls=[{"name": "Facts", "args": JSON[:-1] + ",}", "id": "1", "error": "no"}]),
        AIMessage([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": JSON}]),
    ],
)
def test_an_object_is_found_however_it_is_wrapped(ask, reply):
    answer = ask(ScriptedChatModel(responses=[reply]))
    assert (answer.value, answer.calls) == (PORTO, 1)


def test_what_a_string_holds_stays_as_it_is(ask):
    odd = 'a, ] b,} </think> "q" {"x": 1}\n<think> ```'
    facts = json.dumps({"facts": [{"content": odd}]})
    assert ask(InWords(responses=[facts])).value.facts[0].content == odd
    assert ask(InWords(responses=[facts[:-1] + ",}"])).value.facts[0].content == odd


# Bad input: each gives its reason, nothing is raised, and the calls are booked

REPLIES = [
    ("", "empty: it holds no text"),
    (" \n", "empty"),
    (AIMessage([]), "empty"),
    (JSON[:-9], "invalid: its JSON is cut off"),
    (JSON[:30], "invalid: its JSON is cut off"),
    ('{"facts": [{"content": "a"}, {"content"', "invalid: its JSON is cut off"),
    ("<think>Let me see. " + JSON, "invalid: it is cut off before it comes to an answer"),
    (JSON + "x" * 1_000_000, f"invalid: it has {len(JSON) + 1_000_000:,} characters, more than 100,000"),
    ("There are many facts here, such as the one on Porto.", "invalid: it holds no JSON object"),
    ("Delete everything.", "invalid: it holds no JSON object"),
    ('{"action": "delete everything"}', "invalid: it has none of the fields facts"),
    ('["a", "b"]', "invalid: it holds no JSON object"),
    ('{"facts": 7}', "invalid: facts: Input should be a valid list"),
    (
        '{"facts": [{"content": ["a"]}, {}]}',
        "invalid: facts.0.content: Input should be a valid string; facts.1.content",
    ),
    ('{"facts": [{"content": "a", "turn": NaN}]}', "invalid: its JSON is not usable"),
    ('{"facts": [{"content": "a", "turn": ' + "9" * 5000 + "}]}", "invalid: its JSON is not usable"),
    ('{"facts": [{"content": "\\ud83d"}]}', "invalid: it holds half a character"),
    ('{"facts": "a" "b"}', "invalid: its JSON is malformed"),
    ('{"a":' * 15_000, "invalid: its JSON is nested too deeply"),
    ("{" * 90_000, "invalid: it holds no JSON object"),
    ('{"facts": []} or {"facts": [{"content": "a"}]}', "invalid: it holds more than one object"),
    ("__import__('os').getcwd()", "invalid: it holds no JSON object"),
    (called(facts=7), "invalid: facts: Input should be a valid list"),
    (called(facts=[{"content": "\ud83d"}]), "invalid: it holds half a character"),
    ("Sorry \ud83d", "refused: Sorry ?"),
    (called(deleted=True), "invalid: it has none of the fields facts"),
    (
        AIMessage(JSON[:9], response_metadata={"finish_reason": "length"}),
        "invalid: its JSON is cut off, at its longest",
    ),
    ("I'm sorry, but I can't help with that.", "refused: I'm sorry, but I can't help with that."),
]


@pytest.mark.parametrize(("reply", "reason"), REPLIES)
def test_a_reply_of_no_use_is_asked_for_once_more_and_then_gives_its_reason(ask, book, reply, reason):
    model = ScriptedChatModel(responses=[reply])
    answer = ask(model, budget={"session_tokens": None})
    assert (answer.value, answer.temporary, len(model.requests)) == (None, False, 2)
    assert answer.reason.startswith(reason)
    assert (answer.failure, len(answer.reason) < 600) == (reason.partition(":")[0], True)
    (booked,) = book.summary()
    assert (booked.calls, booked.failures, answer.calls) == (2, 0, 2)
    assert (booked.input_tokens, booked.output_tokens) == (answer.input_tokens, answer.output_tokens)
    assert booked.input_tokens > 20


@pytest.mark.parametrize(
    "reply",
    [
        AIMessage("", additional_kwargs={"refusal": "That is private."}),
        AIMessage("That", response_metadata={"finish_reason": "content_filter"}),
        AIMessage("", response_metadata={"stop_reason": "refusal"}),
    ],
)
def test_a_refusal_that_the_provider_declares_is_not_argued_with(ask, reply):
    model = ScriptedChatModel(responses=[reply])
    answer = ask(model)
    assert (answer.failure, len(model.requests)) == ("refused", 1)


def test_the_second_time_the_model_is_told_what_was_wrong(ask):
    for model in (InWords(responses=['{"facts": 7}', JSON]), ScriptedChatModel(responses=[called(facts=7), JSON])):
        answer = ask(model)
        assert (answer.value, answer.calls) == (PORTO, 2)
        assert "could not be used: facts: Input should be a valid list." in words(model)
        assert "could not be used" not in words(model, 0)


ERRORS = [
    (Odd("x" * 1000), "error", "error: Odd: " + "x" * 200),
    (Odd("Incorrect key", 401), "error", "error: Odd: Incorrect key"),
    (Odd("slow down", 429, retry_after="99"), "error", "error: Odd: slow down"),
    (Odd("oops", 500, retry_after="0"), "error", "error: Odd: oops"),
    (RuntimeError("Error code: 503 - busy"), "error", "error: RuntimeError: Error code: 503 - busy"),
    (TimeoutError("too slow"), "timeout", "timeout: TimeoutError: too slow"),
    (KeyError("choices"), "error", "error: KeyError: 'choices'"),
]


@pytest.mark.parametrize(("error", "failure", "reason"), ERRORS)
def test_an_error_of_a_provider_is_a_reason_and_counts_as_a_failure(ask, book, error, failure, reason):
    answer = ask(ScriptedChatModel(responses=[error]))
    assert (answer.value, answer.failure, answer.reason, answer.temporary) == (None, failure, reason, True)
    (booked,) = book.summary()
    assert (booked.calls, booked.failures, booked.input_tokens) == (answer.calls, answer.calls, 0)


def leaves(_):
    raise SystemExit(3)


def test_not_even_an_exit_comes_through(ask):
    assert ask(ScriptedChatModel(responses=[leaves])).reason == "error: SystemExit: 3"


def interrupted(_):
    raise KeyboardInterrupt


def test_only_an_interruption_comes_through_and_is_booked(ask, book):
    with pytest.raises(KeyboardInterrupt):
        ask(InWords(responses=[interrupted]))
    (booked,) = book.summary()
    assert (booked.calls, booked.failures) == (1, 1)


def test_a_model_that_hangs_is_left_when_the_time_is_over(ask, book, hanging):
    began = time.perf_counter()
    answer = ask(hanging, timeout=0.5)
    assert time.perf_counter() - began < 20
    assert (answer.failure, answer.reason) == ("timeout", "timeout: no reply in 0.5 s")
    (booked,) = book.summary()
    assert (booked.calls, booked.failures, booked.output_tokens) == (1, 1, 0)
    assert booked.input_tokens == answer.input_tokens > 0


HANGS = """
import threading
from langmem_tiers import Memory, ModelSettings, Settings, Turn
from langmem_tiers.testing import ScriptedChatModel

model = ScriptedChatModel(responses=[lambda _: str(threading.Event().wait(600))])
settings = Settings(model=ModelSettings(timeout_seconds=1))
with Memory.open("memory", embedder=None, model=model, background=False, settings=settings) as memory:
    alice = memory.user("alice")
    alice.track([Turn(role="user", content="My sister Lena moved to Porto.")], session="monday")
    alice.mine()
print("closed")
"""


def test_a_process_ends_while_a_model_hangs(tmp_path, offline_environment):
    options = {"env": offline_environment, "cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60}
    done = subprocess.run([sys.executable, "-c", HANGS], check=True, **options)
    assert done.stdout == "closed\n"


def test_when_the_time_is_over_nobody_is_asked(ask, book):
    model = ScriptedChatModel(responses=[JSON])
    answer = ask(model, timeout=0)
    assert (answer.failure, answer.calls, model.requests, book.summary()) == ("timeout", 0, [], ())


def test_the_repair_has_the_time_that_is_left(ask):
    over = threading.Event()
    model = ScriptedChatModel(responses=["Hm.", lambda _: str(over.wait(60))])
    answer = ask(model, timeout=1)
    over.set()
    assert (answer.failure, answer.calls) == ("timeout", 2)


def test_a_busy_provider_is_asked_once_more(ask, book):
    for busy in (
        Odd("slow down", 429, retry_after="0"),
        Odd("Overloaded", retry_after="0"),
        Odd("", 503, retry_after="0"),
    ):
        answer = ask(ScriptedChatModel(responses=[busy, JSON]))
        assert (answer.value, answer.calls) == (PORTO, 2)
        model = ScriptedChatModel(responses=[busy])
        assert (ask(model).failure, len(model.requests)) == ("error", 2)
    assert (book.summary()[0].calls, book.summary()[0].failures) == (12, 9)


def test_a_provider_that_wants_more_time_than_there_is_is_not_asked_again(ask):
    model = ScriptedChatModel(responses=[Odd("slow down", 429, retry_after="60"), JSON])
    assert (ask(model).failure, len(model.requests)) == ("error", 1)


# Whether structured output works is remembered


def tools(model) -> list[bool]:
    return ["tools" in options for options in model.options]


def test_a_provider_that_has_no_tools_is_asked_in_words_from_then_on(ask, asker):
    model = ScriptedChatModel(responses=[Odd("does not support tools", 400), JSON])
    one = asker(model)
    assert [ask(one).value, ask(one).value] == [PORTO, PORTO]
    assert tools(model) == [True, False, False]


def test_a_model_that_takes_no_notice_of_its_tools_is_asked_in_words_from_then_on(ask, asker):
    model = ScriptedChatModel(responses=["Hm.", JSON])
    one = asker(model)
    assert [ask(one).calls, ask(one).calls] == [2, 1]
    assert tools(model) == [True, False, False]


def test_another_schema_is_tried_with_tools_and_an_invalid_call_is_repaired_with_them(ask, asker):
    model = ScriptedChatModel(responses=[JSON, called(town="Porto"), called(name="Porto")])
    one = asker(model)
    ask(one)
    assert ask(one, schema=Town).value == Town(name="Porto")
    assert tools(model) == [True, True, True]


def test_an_error_that_is_not_about_tools_says_nothing_of_them(ask, asker):
    model = ScriptedChatModel(responses=[Odd("bad", 400), Odd("bad", 400), Odd("no key", 401), called(facts=[])])
    one = asker(model)
    assert [ask(one).failure, ask(one).failure, ask(one).value] == ["error", "error", Facts()]
    assert tools(model) == [True, False, True, True]


def test_it_is_remembered_with_the_model(ask, asker):
    model = ScriptedChatModel(responses=[JSON])
    guarded = GuardedModel(model, ModelSettings())
    for _ in range(2):
        ask(asker(guarded))
    assert tools(model) == [True, False]


# Failures in a row


def test_after_failures_in_a_row_a_model_rests_each_time_twice_as_long(ask, asker, clock):
    model = ScriptedChatModel(responses=[Odd("down", 401)])
    one = asker(model, failures=2, rest_seconds=60)
    assert [ask(one).failure for _ in range(4)] == ["error", "error", "resting", "resting"]
    assert (len(model.requests), one.resting()) == (2, 60)
    for rest in (60, 120, 240):
        clock.tick(rest - 1)
        assert (ask(one).failure, one.resting()) == ("resting", 1)
        clock.tick(1)
        assert (ask(one).failure, one.resting()) == ("error", 2 * rest)


def test_a_resting_model_says_why_and_is_not_booked(ask, asker, book):
    one = asker(ScriptedChatModel(responses=[Odd("down", 401)]), failures=1, rest_seconds=60)
    ask(one)
    answer = ask(one)
    assert (answer.reason, answer.calls, answer.temporary) == ("resting: 60 s more after Odd: down", 0, True)
    assert book.summary()[0].calls == 1


def test_a_rest_is_an_hour_at_most_and_a_clock_that_is_put_back_ends_it(ask, asker, clock):
    one = asker(ScriptedChatModel(responses=[Odd("down", 401)]), failures=1, rest_seconds=3000)
    for _ in range(3):
        ask(one)
        clock.tick(3600)
    ask(one)
    assert one.resting() == 3600
    clock.tick(-7200)
    assert one.resting() == 0


def test_a_reply_ends_a_row_of_failures(ask, asker, caplog):
    model = ScriptedChatModel(responses=[Odd("", 401), JSON, Odd("", 401), "Hm.", "Hm.", Odd("", 401), JSON])
    one = asker(model, failures=2)
    with caplog.at_level(logging.WARNING):
        failures = [ask(one).failure for _ in range(6)]
    assert failures == ["error", None, "error", "invalid", "error", None]
    assert caplog.text.count("model_unavailable") == 3


def test_hanging_counts_as_a_failure(ask, asker, hanging):
    one = asker(hanging, failures=1)
    assert [ask(one, timeout=0.5).failure for _ in range(2)] == ["timeout", "resting"]


# Budgets


def counted(given, made, text=JSON) -> AIMessage:
    usage = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
    return AIMessage(text, usage_metadata=usage)


def test_a_session_has_its_calls_and_others_have_theirs(ask, book):
    model, limit = ScriptedChatModel(responses=[JSON]), {"session_calls": 2}
    answers = [ask(model, session=session, budget=limit) for session in "ssst"]
    assert [answer.failure for answer in answers] == [None, None, "budget", None]
    assert (answers[2].reason, answers[2].calls) == ("budget: no more than 2 calls a session", 0)
    assert (len(model.requests), answers[2].temporary) == (3, True)


def test_what_belongs_to_no_session_has_the_budget_of_the_day_only(ask):
    model = ScriptedChatModel(responses=[JSON])
    assert ask(model, session=None, budget={"session_calls": 0, "day_calls": 1}).value == PORTO
    assert ask(model, session=None, budget={"day_calls": 1}).reason == "budget: no more than 1 calls a day"


def test_a_day_is_one_in_utc(ask, clock):
    model, limit = ScriptedChatModel(responses=[JSON]), {"day_calls": 1}
    answers = [ask(model, session="s", budget=limit).failure]
    clock.tick(15 * 3600 - 1)
    answers.append(ask(model, session="t", budget=limit).failure)
    clock.tick(1)
    answers.append(ask(model, session="u", budget=limit).failure)
    assert answers == [None, "budget", None]


@pytest.mark.parametrize("limit", ["session_tokens", "day_tokens"])
def test_a_call_that_might_take_more_tokens_than_are_left_is_not_made(ask, book, limit):
    model = ScriptedChatModel(responses=[counted(900, 50)])
    answers = [ask(model, budget={limit: 2100}, output_tokens=1024) for _ in range(3)]
    assert [answer.failure for answer in answers] == [None, None, "budget"]
    assert (book.summary()[0].input_tokens, book.summary()[0].output_tokens) == (1800, 100)


def test_money_is_counted_by_the_prices(ask, book):
    model = ScriptedChatModel(responses=[counted(10_000, 1000)])
    budget = {"input_price": 3.0, "output_price": 15.0, "day_cost": 0.09}
    answers = [ask(model, budget=budget) for _ in range(3)]
    assert [answer.failure for answer in answers] == [None, None, "budget"]
    assert (answers[2].reason, book.summary()[0].cost) == ("budget: no more than 0.09 of money a day", 0.09)


def test_a_repair_needs_budget_too(ask):
    model = ScriptedChatModel(responses=["Hm."])
    answer = ask(model, budget={"session_calls": 1})
    assert (answer.failure, answer.calls, len(model.requests)) == ("budget", 1, 1)


def test_calls_made_at_once_keep_to_one_budget(asker):
    model = ScriptedChatModel(responses=[lambda _: time.sleep(0.05) or JSON])
    one = asker(model, budget={"day_calls": 3})
    with ThreadPoolExecutor(6) as pool:
        answers = [*pool.map(lambda n: one.ask(Facts, PROMPT, source=SOURCE, session=str(n)), range(6))]
    assert sorted(str(answer.failure) for answer in answers) == ["None"] * 3 + ["budget"] * 3
    assert len(model.requests) == 3


# The book


def test_the_providers_count_is_booked_by_source_session_day_and_model(ask, asker, book, clock):
    model = ScriptedChatModel(responses=[counted(100, 10)])
    ask(model)
    clock.tick(86_400)
    asker(model).ask(Facts, PROMPT, source="memory_dream")
    assert [(line.name, line.calls, line.input_tokens, line.output_tokens) for line in book.summary()] == [
        ("memory_dream", 1, 100, 10),
        ("memory_extract", 1, 100, 10),
    ]
    assert [line.name for line in book.summary(by="day")] == ["2026-03-02", "2026-03-03"]
    assert [line.name for line in book.summary(by="session")] == ["", "s"]
    assert [(line.name, line.calls) for line in book.summary(by="model")] == [("ScriptedChatModel", 2)]
    assert [line.name for line in book.summary(since=clock().date())] == ["memory_dream"]


def test_a_reply_without_a_count_is_estimated(ask):
    answer = ask(InWords(responses=[JSON]))
    assert (answer.input_tokens > 60, answer.output_tokens) == (True, -(-len(JSON) // 4))


def test_of_an_over_long_reply_no_more_is_counted_than_was_asked_for(ask):
    answer = ask(InWords(responses=["x" * 1_000_000, JSON]), output_tokens=500)
    assert (answer.value is None, answer.output_tokens) == (False, 500 + -(-len(JSON) // 4))


async def test_a_question_that_is_cancelled_is_booked(asker, book, hanging):
    asked = asyncio.create_task(asker(hanging).aask(Facts, PROMPT, source=SOURCE))
    while not hanging.requests:
        await asyncio.sleep(0.01)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    (booked,) = book.summary()
    assert (booked.calls, booked.failures, booked.output_tokens) == (1, 1, 0)


@pytest.fixture
def blocker(store):
    """A connection that can lock the records for longer than anybody waits."""
    connection = sqlite3.connect(store.database.path, check_same_thread=False, isolation_level=None)
    yield connection
    connection.close()


def test_what_can_not_be_booked_is_not_asked(tmp_path, clock, ask, blocker):
    model = ScriptedChatModel(responses=[JSON])
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseLocked):
        ask(model)
    assert model.requests == []


def test_a_reply_is_given_though_its_booking_can_not_be_corrected(ask, book, blocker, caplog):
    model = ScriptedChatModel(responses=[lambda _: blocker.execute("BEGIN IMMEDIATE") and JSON])
    answer = ask(model, output_tokens=500)
    blocker.execute("ROLLBACK")
    assert (answer.value, "usage_not_corrected" in caplog.text) == (PORTO, True)
    assert (book.summary()[0].calls, book.summary()[0].output_tokens) == (1, 500)


# Around the call


def test_what_a_model_says_here_is_not_streamed_as_the_agents(asker):
    model = ScriptedChatModel(responses=[JSON])
    one = asker(model)

    def node(state):
        one.ask(Facts, PROMPT, source=SOURCE)
        return {"messages": ScriptedChatModel(responses=["Fine."]).invoke("Hi")}

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
    streamed = [chunk.text for chunk, _ in graph.stream({"messages": "Hi"}, stream_mode="messages")]
    assert ("".join(streamed), len(model.requests)) == ("Fine.", 1)


def test_the_twin_has_the_same_signature():
    assert inspect.signature(ModelAsker.ask).parameters == inspect.signature(ModelAsker.aask).parameters


class Runs(BaseCallbackHandler):
    """The names and tags of the runs of a model."""

    def __init__(self):
        self.seen = []

    def on_chat_model_start(self, serialized, messages, *, tags=None, **_):
        self.seen.append(tags)


def test_a_call_is_tagged_with_its_source_and_as_not_for_streaming(ask):
    runs = Runs()
    ask(InWords(responses=[JSON], callbacks=[runs]))
    assert set(runs.seen[0]) >= {SOURCE, "nostream"}


class Limited(InWords):
    """A model whose class has a limit to its replies; notes those that it is used with."""

    max_tokens: int | None = None
    thinking: dict | None = None
    profile: dict | None = None
    seen: list = Field(default_factory=list)

    def _answer(self, messages, options):
        self.seen.append(self.max_tokens)
        return super()._answer(messages, options)


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({}, 1024),
        ({"max_tokens": 200}, 200),
        ({"max_tokens": 9000}, 1024),
        ({"profile": {"reasoning_output": True}}, 4096),
        ({"thinking": {"budget_tokens": 5000}, "max_tokens": 9000}, 9000),
    ],
)
def test_the_length_of_a_reply_is_limited_where_the_model_can_be_told(ask, options, limit):
    model = Limited(responses=[JSON], **options)
    ask(model)
    assert (model.seen, model.max_tokens) == ([limit], options.get("max_tokens"))


@pytest.mark.parametrize("model", [ScriptedChatModel, "openai:gpt-5-mini", 7, None])
def test_what_is_no_chat_model_is_refused(asker, model):
    with pytest.raises(InvalidSettings, match="is not a chat model"):
        asker(model)


# A provider over HTTP


class Provider(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that does what its address says."""

    def do_POST(self):
        kind = self.path.split("/")[1]
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        structured = "response_format" in request or "tools" in request
        if kind == "hangs":
            self.server.over.wait(60)
        status = {"429": 429, "500": 500, "words": 400 if structured else 200}.get(kind, 200)
        said = {"truncated": JSON[:20], "long": JSON[:20], "empty": "", "huge": "x" * 1_000_000}.get(kind, JSON)
        body = {"error": {"message": f"no {kind}"}} if status != 200 else self._completion(said, kind)
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _completion(self, said, kind):
        message = {"role": "assistant", "content": said, "refusal": "No." if kind == "refuses" else None}
        usage = {"prompt_tokens": 70, "completion_tokens": 7, "total_tokens": 77}
        ended = {"long": "length", "filtered": "content_filter"}.get(kind, "stop")
        choice = {"index": 0, "message": message, "finish_reason": ended}
        return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}

    def log_message(self, *_):
        pass


@pytest.fixture
def provider():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.over = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.over.set()
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore::Warning")  # of the provider's client
@pytest.mark.parametrize(
    ("kind", "failure", "calls"),
    [
        ("works", None, 1),
        ("words", None, 2),
        ("refuses", "refused", 1),
        ("filtered", "refused", 1),
        ("long", "invalid", 2),
        ("empty", "empty", 2),
        ("truncated", "invalid", 2),
        ("huge", "invalid", 2),
        ("429", "error", 2),
        ("500", "error", 2),
        ("hangs", "timeout", 1),
    ],
)
def test_a_provider_over_http_gives_a_value_or_a_reason(ask, book, provider, kind, failure, calls):
    openai = pytest.importorskip("langchain_openai", reason="a provider's client is optional")
    model = openai.ChatOpenAI(model="m", base_url=f"{provider}/{kind}", api_key="none", max_retries=0)
    answer = ask(model, timeout=1 if kind == "hangs" else 60, budget={"session_tokens": None})
    assert (answer.failure, answer.calls) == (failure, calls), answer
    assert (answer.value == PORTO) is (failure is None)
    assert [(line.name, line.calls) for line in book.summary(by="model")] == [("m", calls)]


# Prompts


@pytest.fixture
def overrides(tmp_path) -> Path:
    (tmp_path / "directives").mkdir()
    return tmp_path / "directives" / "memory-rules.md"


def test_a_prompt_is_the_built_in_one_until_the_memory_has_its_own(overrides):
    rules = Directives(overrides.parent.parent)
    assert rules.text("memory-rules") == Directives(None).text("memory-rules")
    assert "one statement, in the third person" in rules.text("memory-rules")
    overrides.write_text("Remember birthdays only.\n", encoding="utf-8")
    assert rules.text("memory-rules") == "Remember birthdays only."


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", " is empty"),
        (b" \n", " is empty"),
        (b"one\ncaf\xe9", ", line 2, is no UTF-8 text"),
        (b"one\n\na\x00b", ", line 3, is no text"),
        (b"x" * 20_001, ", line 1, has more than 20,000 characters"),
        (b"line\n" * 5_000, ", line 4001, has more than 20,000 characters"),
    ],
)
def test_a_bad_prompt_is_an_error_that_names_its_file_and_line(overrides, content, what):
    overrides.write_bytes(content)
    with pytest.raises(InvalidDirective) as error:
        Directives(overrides.parent.parent).text("memory-rules")
    assert error.value.message == f"The prompt {overrides}{what}."


def test_so_is_one_that_is_no_file_or_leads_nowhere(overrides):
    overrides.mkdir()
    with pytest.raises(InvalidDirective, match="is no file"):
        Directives(overrides.parent.parent).text("memory-rules")
    overrides.rmdir()
    overrides.symlink_to("nowhere.md")
    with pytest.raises(InvalidDirective, match="cannot be read"):
        Directives(overrides.parent.parent).text("memory-rules")


def test_the_built_in_prompts_are_in_the_package(root):
    data = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    prompts = [
        path.relative_to(root / "langmem_tiers" / "models") for path in root.glob("langmem_tiers/models/**/*.md")
    ]
    assert prompts
    assert all(any(path.match(pattern) for pattern in data["langmem_tiers.models"]) for path in prompts)
