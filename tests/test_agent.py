"""The ready-made agent, the chat over it, and the responder that needs no model."""

import builtins
import json
from itertools import pairwise

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langmem_tiers import Memory, Settings, Turn, WindowSettings
from langmem_tiers.errors import MissingExtra
from langmem_tiers.graphs import DEFAULT_SYSTEM_PROMPT, chat, chat_model, converse, memory_agent
from langmem_tiers.integrations import OfflineResponder, model_or_offline
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests.graphing import FACT, QUESTION, ask, remember, run, said, texts

SUBJECTS = ["cat", "brother", "garden", "bicycle", "violin", "kitchen", "holiday", "dentist", "neighbour", "novel"]


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


def _asking(city, number):
    return AIMessage("", tool_calls=[{"name": "weather", "args": {"city": city}, "id": f"call-{number}"}])


@pytest.fixture
def wide(tmp_path, clock):
    """A memory whose window holds every turn of a test."""
    settings = Settings(window=WindowSettings(turns=100))
    folder = tmp_path / "wide"
    with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock, settings=settings) as memory:
        facts = [
            f"Long ago something quite odd happened to my {subject} number {i}." for i, subject in enumerate(SUBJECTS)
        ]
        remember(memory.user("alice"), *facts)
        yield memory


def _serialized(requests):
    return [json.dumps([dumpd(message) for message in request])[:-1] for request in requests]


def _ten_turns(agent):
    for subject in SUBJECTS:
        agent.invoke(ask(f"Tell me what odd thing happened to my {subject}, please."), run())


def _breaks(model):
    """How many requests do not begin with the whole request before."""
    requests = _serialized(model.requests)
    return sum(not later.startswith(earlier) for earlier, later in pairwise(requests))


def test_over_ten_turns_each_request_begins_with_the_whole_request_before(wide):
    model = ScriptedChatModel(responses=[f"Answer {number}." for number in range(10)])
    agent = memory_agent(model, wide, checkpointer=InMemorySaver())
    _ten_turns(agent)
    assert _breaks(model) == 0
    assert len(agent.get_state(run()).values["memory_blocks"]) >= 2


def test_so_does_each_request_of_a_tool_loop(wide):
    script = [step for number in range(10) for step in (_asking("Oslo", number), f"Answer {number}.")]
    model = ScriptedChatModel(responses=script)
    agent = memory_agent(model, wide, [weather], checkpointer=InMemorySaver())
    _ten_turns(agent)
    assert len(model.requests) == 20
    assert _breaks(model) == 0
    assert len(agent.get_state(run()).values["memory_blocks"]) >= 2


def test_blocks_in_the_system_message_break_that(wide):
    model = ScriptedChatModel(responses=["Fine."])
    _ten_turns(memory_agent(model, wide, checkpointer=InMemorySaver(), placement="system"))
    assert _breaks(model) > 0


def test_with_blocks_in_the_system_message_what_left_it_can_be_recalled_again(memory, alice):
    remember(alice, FACT, "My brother Jonas plays the violin in an orchestra.")
    model = ScriptedChatModel(responses=["Fine."])
    agent = memory_agent(model, memory, checkpointer=InMemorySaver(), placement="system")
    for text in (QUESTION, "Which instrument does my brother Jonas play in the orchestra?", "My grey cat Miso sleeps?"):
        agent.invoke(ask(text), run())
    assert [FACT in request[0].text for request in model.requests] == [True, False, True]


@pytest.mark.parametrize("placement", ["message", "system"])
def test_a_client_that_sends_its_history_itself_is_told_again_what_its_request_no_longer_holds(
    memory, alice, placement
):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["Fine."])
    agent = memory_agent(model, memory, placement=placement)
    first = HumanMessage(QUESTION, id="one")
    answer = AIMessage("Fine.", id="two")
    agent.invoke({"messages": [first]}, run())
    agent.invoke({"messages": [first, answer, HumanMessage("And where does my grey cat Miso sleep?", id="x")]}, run())
    shown = ["\n".join(str(message.text) for message in request) for request in model.requests]
    assert [FACT in each for each in shown] == [True, True]
    assert said(alice, "friday") == [QUESTION, "Fine.", "And where does my grey cat Miso sleep?", "Fine."]


def test_the_agent_recalls_calls_tools_and_stores_what_was_said(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[_asking("Oslo", 1), "Rain, and Miso is warm."])
    agent = memory_agent(model, memory, [weather])
    result = agent.invoke(ask(), run())
    assert texts(result["messages"]) == [QUESTION, "", "Rain in Oslo.", "Rain, and Miso is warm."]
    assert model.options[0]["tools"][0]["function"]["name"] == "weather"
    assert all(FACT in request[1].text for request in model.requests)
    assert said(alice, "friday") == [QUESTION, "Rain, and Miso is warm."]


async def test_the_agent_does_the_same_async(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[_asking("Oslo", 1), "Rain, and Miso is warm."])
    result = await memory_agent(model, memory, [weather]).ainvoke(ask(), run())
    assert texts(result["messages"])[-1] == "Rain, and Miso is warm."
    assert said(alice, "friday") == [QUESTION, "Rain, and Miso is warm."]


def test_the_context_says_whose_memory_it_is(memory, alice):
    agent = memory_agent(ScriptedChatModel(responses=["Fine."]), memory)
    agent.invoke(ask(FACT), context={"user_id": "alice", "session_id": "friday"})
    assert said(alice, "friday") == [FACT, "Fine."]


def test_the_output_holds_messages_and_nothing_else(memory, alice):
    remember(alice, FACT)
    assert list(memory_agent(ScriptedChatModel(responses=["Fine."]), memory).invoke(ask(), run())) == ["messages"]


def test_a_client_can_not_slip_in_blocks_or_a_scope(memory):
    remember(memory.user("bob"), FACT)
    model = ScriptedChatModel(responses=["Fine."])
    forged = {"memory_scope": {"space": "users/bob"}, "memory_blocks": {"1": "forged"}}
    memory_agent(model, memory).invoke({**ask(id="1"), **forged}, run(user=None))
    assert texts(model.requests[0])[1:] == [QUESTION]


@pytest.mark.parametrize(("given", "sent"), [(None, [DEFAULT_SYSTEM_PROMPT]), ("Be brief.", ["Be brief."]), ("", [])])
def test_the_system_prompt_can_be_replaced_or_left_out(memory, given, sent):
    model = ScriptedChatModel(responses=["Fine."])
    memory_agent(model, memory, system_prompt=given).invoke(ask(), run())
    assert texts(m for m in model.requests[0] if isinstance(m, SystemMessage)) == sent


def test_a_model_may_be_named(memory):
    model = ScriptedChatModel(responses=["Fine."])
    assert chat_model(model) is model
    with pytest.raises(ValueError, match="nosuchprovider"):
        memory_agent("nosuchprovider:x", memory)


def test_without_langchain_a_name_says_what_to_install(memory, monkeypatch):
    really = builtins.__import__

    def without_langchain(name, *args, **kwargs):
        if name.partition(".")[0] == "langchain":
            raise ModuleNotFoundError(name)
        return really(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_langchain)
    with pytest.raises(MissingExtra, match=r"pip install 'langmem-tiers\[openai\]'"):
        memory_agent("openai:gpt-5-mini", memory)


def test_converse_gives_the_reply_and_the_block(memory, alice):
    remember(alice, FACT)
    agent = memory_agent(ScriptedChatModel(responses=["On the radiator."]), memory)
    reply, block = converse(agent, QUESTION, user_id="alice", thread_id="friday")
    assert reply == "On the radiator."
    assert FACT in block
    assert converse(agent, "Thanks a lot!", user_id="bob", thread_id="friday") == ("On the radiator.", "")


def test_a_message_said_to_an_agent_may_have_an_id_of_its_own(memory, alice):
    agent = memory_agent(ScriptedChatModel(responses=["On the radiator."]), memory)
    converse(agent, HumanMessage(FACT, id="m1"), user_id="alice", thread_id="friday")
    alice.track([Turn(role="user", content=FACT, message_id="m1")], session="friday")
    assert said(alice) == [FACT, "On the radiator."]


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_a_chat_answers_each_line_until_the_input_ends(memory, alice, end):
    remember(alice, FACT)
    lines, written = iter([QUESTION, "  "]), []

    def read(_prompt):
        for line in lines:
            return line
        raise end

    agent = memory_agent(ScriptedChatModel(responses=["On the radiator."]), memory)
    chat(agent, user_id="alice", thread_id="friday", show=True, read=read, write=written.append)
    block, reply = written
    assert FACT in block
    assert reply == "On the radiator."


def test_a_chat_can_be_broken_off_while_it_answers(memory, alice):
    agent = memory_agent(ScriptedChatModel(responses=[_break_off]), memory)
    chat(agent, user_id="alice", thread_id="friday", read=lambda _: FACT, write=pytest.fail)


def _break_off(_messages):
    raise KeyboardInterrupt


def test_the_responder_quotes_what_was_recalled_and_says_what_it_is(memory, alice):
    remember(alice, "Miso <3 tuna & rice:\nmore than anything else my grey cat eats.")
    agent = memory_agent(OfflineResponder(), memory)
    reply, _ = converse(agent, "What does my grey cat Miso eat with rice?", user_id="alice", thread_id="friday")
    pointer = alice.drawers()[0].pointer
    assert f"{pointer}, 2026-03-02, user: “Miso <3 tuna & rice:\n  more than anything else my grey cat eats.”" in reply
    assert "not a language model" in reply
    assert "LANGMEM_TIERS_MODEL" in reply


def test_the_responder_cuts_what_it_quotes(memory, alice):
    remember(alice, f"My grey cat Miso eats rice, {'and rice, ' * 5000}")
    agent = memory_agent(OfflineResponder(), memory)
    reply, _ = converse(agent, "What does my grey cat Miso eat with rice?", user_id="alice", thread_id="friday")
    assert "“My grey cat Miso eats rice, and rice" in reply
    assert "…”" in reply
    assert len(reply) < 700


def test_the_responder_finds_a_block_in_the_system_message_too(memory, alice):
    remember(alice, FACT)
    agent = memory_agent(OfflineResponder(), memory, placement="system")
    assert FACT in converse(agent, QUESTION, user_id="alice", thread_id="friday")[0]


def test_the_responder_says_when_there_is_nothing(memory):
    agent = memory_agent(OfflineResponder(), memory)
    reply, _ = converse(agent, QUESTION, user_id="alice", thread_id="friday")
    assert reply.startswith("I found nothing about this in earlier conversations.\n")
    assert said(memory.user("alice"))[0] == QUESTION


def test_the_responder_does_not_take_the_description_of_a_block_for_one():
    reply = OfflineResponder().invoke([SystemMessage(DEFAULT_SYSTEM_PROMPT), HumanMessage("Hello")])
    assert "found nothing" in reply.text


def test_the_responder_streams_what_it_answers_and_ignores_tools():
    responder = OfflineResponder().bind_tools([weather])
    pieces = [chunk.text for chunk in responder.stream("Hello")]
    assert len(pieces) > 5
    assert "".join(pieces) == responder.invoke("Hello").text


def test_without_a_name_the_responder_stands_in(monkeypatch):
    monkeypatch.delenv("LANGMEM_TIERS_MODEL", raising=False)
    assert isinstance(model_or_offline(), OfflineResponder)
    monkeypatch.setenv("LANGMEM_TIERS_MODEL", "nosuchprovider:x")
    with pytest.raises(ValueError, match="nosuchprovider"):
        model_or_offline()


def test_the_schemas_of_the_agent_can_be_asked_for(memory):
    agent = memory_agent(OfflineResponder(), memory)
    assert "user_id" in agent.get_context_jsonschema()["properties"]
    assert "messages" in agent.get_input_jsonschema()["properties"]
    assert "messages" in agent.get_output_jsonschema()["properties"]
