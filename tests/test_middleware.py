"""Memory as a middleware of LangChain's agents: what they send and keep, alone and beside the built-in middleware."""

import importlib
import sys
import threading
from itertools import pairwise
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel, Field

from langmem_tiers import Memory
from langmem_tiers.errors import InvalidInput, MissingExtra, MissingUser
from langmem_tiers.graphs import MemoryContext
from langmem_tiers.integrations import GRAPH_TOOLS, MEMORY_TOOLS, MemoryMiddleware
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests.graphing import FACT, QUESTION, ask, remember, run, said, texts

ANSWER = "On the radiator."
APPROVED = Command(resume={"decisions": [{"type": "approve"}]})
COLOURS = pytest.mark.parametrize("call", ["invoke", "ainvoke"])


@tool
def look(place: str) -> str:
    """Look somewhere."""
    return f"Nothing new at the {place}."


class NotingEmbedder(HashEmbedder):
    """Notes the threads that it works in."""

    def __init__(self) -> None:
        super().__init__()
        self.threads = set()

    def embed_query(self, text):
        self.threads.add(threading.get_ident())
        return super().embed_query(text)


def looking(place: str = "radiator", text: str = "", call: str = "1") -> AIMessage:
    """What a model says that wants to look somewhere."""
    return AIMessage(text, tool_calls=[{"name": "look", "args": {"place": place}, "id": call}])


def agent_of(memory, model, *, before=(), behind=(), options=None, **fields):
    """An agent with memory between other middleware; faults of the memory are raised."""
    middleware = MemoryMiddleware(memory, **{"on_error": "raise", **(options or {})})
    fields = {"tools": [look], "checkpointer": InMemorySaver(), "system_prompt": "Be kind.", **fields}
    return create_agent(model, middleware=[*before, middleware, *behind], **fields)


async def done(agent, call, given, config):
    """The result of `invoke` or `ainvoke`."""
    return agent.invoke(given, config) if call == "invoke" else await agent.ainvoke(given, config)


def sent(model):
    """What each call of the model got: the kind and content of its messages."""
    return [[(message.type, message.content) for message in request] for request in model.requests]


async def recalls(agent, call, *inputs):
    """How often a thread looked into the memory, by what it told of that."""
    told = []
    for given in inputs:
        if call == "invoke":
            told += agent.stream(given, run(), stream_mode="custom")
        else:
            told += [event async for event in agent.astream(given, run(), stream_mode="custom")]
    return len([event for event in told if event["type"] == "memory_recalled"])


@COLOURS
async def test_what_was_recalled_is_before_the_model_and_not_in_the_messages(call, memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[ANSWER])
    agent = agent_of(memory, model)
    result = await done(agent, call, ask(), run())
    [request] = model.requests
    assert FACT in request[-1].text
    assert request[-1].text.endswith(f"</memory_context>\n\n{QUESTION}")
    assert texts(result["messages"]) == texts(agent.get_state(run()).values["messages"]) == [QUESTION, ANSWER]
    assert set(result) == {"messages"}


@COLOURS
async def test_what_was_said_is_stored_once(call, memory, alice):
    model = ScriptedChatModel(responses=[looking(text="Let me look."), "Noted."])
    await done(agent_of(memory, model), call, ask(FACT), run())
    assert said(alice) == [FACT, "Let me look.", "Noted."]


@COLOURS
async def test_in_a_loop_of_tools_it_recalls_once(call, memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[looking(), looking("window", call="2"), ANSWER])
    assert await recalls(agent_of(memory, model), call, ask()) == 1
    assert [request[1].text.count(FACT) for request in model.requests] == [1, 1, 1]


@pytest.mark.parametrize("limit", [ModelCallLimitMiddleware, ToolCallLimitMiddleware])
def test_what_a_limit_says_in_place_of_a_reply_is_not_remembered_as_one(limit, memory, alice):
    model = ScriptedChatModel(responses=[looking(call=str(number)) for number in range(5)])
    behind = [limit(run_limit=1, exit_behavior="end")]
    messages = agent_of(memory, model, behind=behind).invoke(ask(), run())["messages"]
    assert "limit" in messages[-1].text
    assert said(alice) == [QUESTION]


def test_each_request_begins_with_the_whole_one_before_it(memory, alice):
    alice.identity.write("## About\n- Name: Alice")
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[looking(), ANSWER, looking(call="2"), "The cello."])
    agent = agent_of(memory, model)
    agent.invoke(ask(), run())
    remember(alice, "My brother Nils plays the cello.", session="tuesday")
    alice.identity.write("## About\n- Name: Alice\n- Age: 40")
    agent.invoke(ask("What does my brother Nils play?"), run())
    requests = sent(model)
    assert "cello" in requests[-1][-3][1]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(requests))


def test_the_profile_stands_at_the_end_of_the_system_message(memory, alice):
    alice.identity.write("## About\n- Name: Alice")
    model = ScriptedChatModel(responses=["Hello, Alice."])
    agent_of(memory, model).invoke(ask("Hello."), run())
    [said_first, profile] = model.requests[0][0].content
    assert said_first == {"type": "text", "text": "Be kind."}
    assert profile["text"] == alice.prompt_block()


def test_without_a_system_prompt_the_profile_is_one(memory, alice):
    alice.identity.write("## About\n- Name: Alice")
    model = ScriptedChatModel(responses=["Hello, Alice."])
    agent_of(memory, model, system_prompt=None).invoke(ask("Hello."), run())
    assert model.requests[0][0].type == "system"
    assert model.requests[0][0].text == alice.prompt_block()


def test_the_latest_block_can_stand_in_the_system_message(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[ANSWER])
    agent_of(memory, model, options={"placement": "system"}).invoke(ask(), run())
    assert FACT in model.requests[0][0].text
    assert model.requests[0][1].content == QUESTION


def test_nothing_that_was_said_is_left_out_of_a_request(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[ANSWER])
    messages = [
        AIMessage("How can I help?"),
        *[HumanMessage(f"Number {i}.") for i in range(30)],
        HumanMessage(QUESTION),
    ]
    agent_of(memory, model).invoke({"messages": messages}, run())
    assert len(model.requests[0]) == 1 + len(messages)


def test_another_user_of_the_thread_is_not_shown_what_the_first_was(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[ANSWER, "I do not know."])
    agent = agent_of(memory, model)
    agent.invoke(ask(), run())
    agent.invoke(ask("Where does she sleep?"), run(user="bob"))
    assert FACT not in str(sent(model)[-1])


def test_whose_memory_it_is_the_context_can_say(memory, alice):
    agent = agent_of(memory, ScriptedChatModel(responses=["Noted."]), context_schema=MemoryContext, checkpointer=None)
    agent.invoke(ask(FACT), context={"user_id": "alice"})
    assert said(alice) == [FACT, "Noted."]


def test_a_replay_from_the_history_is_of_the_same_user(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[ANSWER])
    agent = agent_of(memory, model)
    agent.invoke(ask(), run())
    before = next(s for s in agent.get_state_history(run()) if s.next == ("model",))
    agent.invoke(None, before.config)
    assert FACT in model.requests[-1][-1].text
    assert said(alice, "friday") == [QUESTION, ANSWER]


def test_an_edited_message_is_recalled_for_anew(memory, alice):
    remember(alice, FACT, "My brother Nils plays the cello.")
    model = ScriptedChatModel(responses=[ANSWER, "The cello."])
    agent = agent_of(memory, model)
    agent.invoke(ask(id="q"), run())
    agent.invoke(ask("What does my brother Nils play?", id="q"), run())
    assert "cello" in model.requests[-1][1].text
    assert FACT not in model.requests[-1][1].text


@COLOURS
async def test_without_a_user_the_reply_comes_and_it_is_logged_once(call, memory, caplog):
    agent = agent_of(memory, ScriptedChatModel(responses=[looking(), "Fine."]), options={"on_error": "log"})
    result = await done(agent, call, ask(FACT), run(user=None))
    assert result["messages"][-1].text == "Fine."
    assert caplog.text.count("error=MissingUser") == 1


def test_on_request_a_run_without_a_user_ends(memory):
    with pytest.raises(MissingUser):
        agent_of(memory, ScriptedChatModel(responses=["Fine."])).invoke(ask(FACT), run(user=None))


def test_a_recall_that_fails_does_not_cost_the_reply_and_is_tried_once_a_turn(memory, caplog):
    agent = agent_of(memory, ScriptedChatModel(responses=[looking(), "Fine."]), options={"on_error": "log"})
    memory.close()
    assert agent.invoke(ask(FACT), run())["messages"][-1].text == "Fine."
    assert caplog.text.count("memory_node_failed node=recall error=MemoryClosed") == 1


def test_what_was_recalled_for_one_user_is_gone_for_another_even_when_recall_fails(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[ANSWER])
    agent = agent_of(memory, model, options={"on_error": "log"})
    agent.invoke(ask(), run())
    memory.close()
    agent.invoke(ask("Where does she sleep?"), run(user="bob"))
    assert [FACT in str(request) for request in sent(model)] == [True, False]


async def test_the_memory_never_works_on_the_event_loop(tmp_path, clock):
    embedder = NotingEmbedder()
    with Memory.open(tmp_path / "noted", embedder=embedder, background=False, clock=clock) as memory:
        remember(memory.user("alice"), FACT)
        await agent_of(memory, ScriptedChatModel(responses=["Fine."])).ainvoke(ask(), run())
    assert embedder.threads
    assert threading.get_ident() not in embedder.threads


async def test_a_stream_tells_what_was_recalled_and_stored_and_leaks_nothing(memory, alice):
    remember(alice, FACT)
    agent = agent_of(memory, ScriptedChatModel(responses=[looking(), ANSWER]))
    streamed = [item async for item in agent.astream(ask(), run(), stream_mode=["custom", "messages"])]
    told = [(chunk["type"], chunk.get("stored")) for mode, chunk in streamed if mode == "custom"]
    assert told == [("memory_recalled", None), ("memory_tracked", 1), ("memory_tracked", 1)]
    assert FACT not in str([chunk for mode, chunk in streamed if mode == "messages"])


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (False, []),
        (True, list(MEMORY_TOOLS)),
        (("save_memory", *GRAPH_TOOLS), ["save_memory", *GRAPH_TOOLS]),
    ],
)
def test_the_agent_has_the_tools_that_were_asked_for(wanted, names, memory):
    model = ScriptedChatModel(responses=["Fine."])
    agent_of(memory, model, options={"tools": wanted}).invoke(ask("Hello."), run())
    assert [bound["function"]["name"] for bound in model.options[0]["tools"]] == [*names, "look"]


def test_a_tool_that_there_is_not_is_refused(memory):
    with pytest.raises(InvalidInput, match="no tool 'save'"):
        MemoryMiddleware(memory, tools=("save",))


@COLOURS
async def test_a_tool_of_the_memory_saves_for_the_user_of_the_run(call, memory, alice):
    saving = {"name": "save_memory", "args": {"content": "Alice's cat is called Miso."}, "id": "1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[saving]), "Noted."])
    await done(agent_of(memory, model, options={"tools": True}), call, ask(FACT), run())
    [found] = alice.knowledge.search("cat")
    assert found.entry.content == "Alice's cat is called Miso."
    assert said(alice) == [FACT, "Noted."]


@COLOURS
async def test_a_summarizer_drops_nothing_that_is_not_stored(call, memory, alice):
    remember(alice, FACT)
    summarizer = ScriptedChatModel(responses=["A summary."])
    model = ScriptedChatModel(responses=["Fine."])
    behind = [SummarizationMiddleware(summarizer, trigger=("messages", 3), keep=("messages", 1))]
    agent = agent_of(memory, model, behind=behind)
    old = [HumanMessage("I like tea."), AIMessage("So do I."), HumanMessage("Not coffee.")]
    result = await done(agent, call, {"messages": [*old, *ask()["messages"]]}, run())
    assert len(result["messages"]) == 3
    assert FACT in model.requests[0][-1].text
    assert said(alice, "friday") == ["I like tea.", "So do I.", "Not coffee.", QUESTION, "Fine."]


def test_the_block_of_a_message_that_was_summarized_is_dropped_with_it(memory, alice):
    remember(alice, FACT)
    summarizer, model = ScriptedChatModel(responses=["A summary."]), ScriptedChatModel(responses=["Fine."])
    behind = [SummarizationMiddleware(summarizer, trigger=("messages", 3), keep=("messages", 1))]
    agent = agent_of(memory, model, behind=behind)
    kept = []
    for given in (ask(id="q"), ask("Thank you."), ask("Good night.")):
        agent.invoke(given, run())
        kept.append(list(agent.get_state(run()).values["memory_blocks"]))
    assert kept == [["q"], ["q"], []]


def test_the_facts_of_a_long_history_can_be_saved_before_it_is_summarized(memory, alice):
    model = ScriptedChatModel(responses=["Fine."])
    agent = agent_of(memory, model, options={"flush": True})
    many = [HumanMessage(f"My name is Alice and I prefer tea number {i}.") for i in range(60)]
    agent.invoke({"messages": many}, run())
    assert "tea" in alice.documents.read("memory/2026-03-02.md").content


@pytest.mark.parametrize("place", ["before", "behind"])
def test_what_a_provider_caches_is_sent_again_byte_for_byte(place, memory, alice):
    """What goes over the wire to Anthropic, without the marks that say up to where to cache."""
    anthropic = pytest.importorskip("langchain_anthropic")
    caching = pytest.importorskip("langchain_anthropic.middleware").AnthropicPromptCachingMiddleware()

    class Wire(anthropic.ChatAnthropic):
        script: Any
        payloads: list[Any] = Field(default_factory=list)

        def _generate(self, messages, stop=None, run_manager=None, **options):
            self.payloads.append(self._get_request_payload(messages, stop=stop, **options))
            return self.script._generate(messages)

    alice.identity.write("## About\n- Name: Alice")
    remember(alice, FACT)
    script = ScriptedChatModel(responses=[looking(), ANSWER, looking(call="2"), "The cello."])
    model = Wire(model="claude", api_key="none", script=script)
    agent = agent_of(memory, model, **{place: [caching]})
    agent.invoke(ask(), run())
    remember(alice, "My brother Nils plays the cello.", session="tuesday")
    agent.invoke(ask("What does my brother Nils play?"), run())
    payloads = model.payloads
    assert FACT in payloads[0]["messages"][0]["content"]
    assert "cello" in payloads[-1]["messages"][4]["content"]
    assert all(payload["system"] == payloads[0]["system"] for payload in payloads)
    assert ["cache_control" in block for block in payloads[0]["system"]] == [place == "before", place == "behind"]
    histories = [payload["messages"] for payload in payloads]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(histories))


def test_context_editing_clears_tool_results_and_no_blocks(memory, alice):
    remember(alice, FACT)
    edit = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1)])
    for place in ("before", "behind"):
        model = ScriptedChatModel(responses=[looking(), looking("window", call="2"), ANSWER])
        agent_of(memory, model, **{place: [edit]}).invoke(ask(), run(thread=f"friday-{place}"))
        assert texts(m for m in model.requests[-1] if m.type == "tool") == ["[cleared]", "Nothing new at the window."]
        assert FACT in model.requests[-1][1].text


@COLOURS
async def test_what_is_redacted_before_it_is_not_stored(call, memory, alice):
    agent = agent_of(memory, ScriptedChatModel(responses=["Noted."]), before=[PIIMiddleware("email")])
    await done(agent, call, ask("Write to me at alice@example.com, please."), run())
    assert said(alice) == ["Write to me at [REDACTED_EMAIL], please.", "Noted."]
    assert "alice@example.com" not in str([drawer.content for drawer in alice.drawers()])


@COLOURS
async def test_a_run_that_a_human_resumes_sends_the_same_and_recalls_once(call, memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[looking(text="May I?"), ANSWER])
    agent = agent_of(memory, model, behind=[HumanInTheLoopMiddleware(interrupt_on={"look": True})])
    assert await recalls(agent, call, ask(), APPROVED) == 1
    first, second = sent(model)
    assert FACT in first[-1][1]
    assert second[: len(first)] == first
    assert said(alice, "friday") == [QUESTION, "May I?", ANSWER]


def test_a_run_that_another_user_resumes_does_not_show_what_was_recalled(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[looking(), "I do not know."])
    agent = agent_of(memory, model, behind=[HumanInTheLoopMiddleware(interrupt_on={"look": True})])
    assert agent.invoke(ask(), run())["__interrupt__"]
    agent.invoke(APPROVED, run(user="bob"))
    assert [FACT in str(request) for request in sent(model)] == [True, False]


@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_model_that_stands_in_is_sent_the_same(place, memory, alice):
    remember(alice, FACT)
    broken, spare = ScriptedChatModel(responses=[RuntimeError("down")]), ScriptedChatModel(responses=[ANSWER])
    agent = agent_of(memory, broken, **{place: [ModelFallbackMiddleware(spare)]})
    agent.invoke(ask(), run())
    assert FACT in str(sent(spare)[0])
    assert sent(spare) == sent(broken)
    assert said(alice, "friday") == [QUESTION, ANSWER]


def test_a_turn_whose_model_failed_is_stored_and_goes_on(memory, alice):
    agent = agent_of(memory, ScriptedChatModel(responses=[RuntimeError("down"), "Noted."]))
    with pytest.raises(RuntimeError, match="down"):
        agent.invoke(ask(FACT), run())
    assert said(alice) == [FACT]
    agent.invoke(None, run())
    assert said(alice) == [FACT, "Noted."]


class Place(BaseModel):
    """Where a cat sleeps."""

    name: str


@COLOURS
async def test_a_structured_response_comes_and_its_tool_call_is_not_stored(call, memory, alice):
    remember(alice, FACT)
    answering = {"name": "Place", "args": {"name": "radiator"}, "id": "1"}
    model = ScriptedChatModel(responses=[AIMessage("", tool_calls=[answering])])
    result = await done(agent_of(memory, model, response_format=ToolStrategy(Place)), call, ask(), run())
    assert result["structured_response"] == Place(name="radiator")
    assert FACT in model.requests[0][-1].text
    assert said(alice, "friday") == [QUESTION]


def test_two_agents_of_one_graph_store_each_message_once(memory, alice):
    first = agent_of(memory, ScriptedChatModel(responses=["One."]), checkpointer=None)
    second = agent_of(memory, ScriptedChatModel(responses=["Two."]), checkpointer=None)
    said_by_first = first.invoke(ask(FACT), run())
    second.invoke(said_by_first, run())
    assert said(alice) == [FACT, "One.", "Two."]


def test_an_agent_has_one_of_it(memory):
    with pytest.raises(AssertionError, match="duplicate middleware"):
        agent_of(memory, ScriptedChatModel(responses=["Fine."]), behind=[MemoryMiddleware(memory)])


def test_without_langchain_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain.agents.middleware", None)
    monkeypatch.delitem(sys.modules, "langmem_tiers.integrations.middleware")
    with pytest.raises(MissingExtra, match=r"'langchain'.*pip install 'langmem-tiers\["):
        importlib.import_module("langmem_tiers.integrations").MemoryMiddleware  # noqa: B018
