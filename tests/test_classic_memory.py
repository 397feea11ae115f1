"""The memory class: classic chains and agents go on and recall, and nothing recalled is remembered again."""

import importlib
import subprocess
import sys
from uuid import UUID

import pytest
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_classic.memory import CombinedMemory, SimpleMemory
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from langmem_tiers import Memory, Settings, WindowSettings
from langmem_tiers.errors import InvalidInput, MissingExtra, MissingUser
from langmem_tiers.graphs.messages import is_synthetic
from langmem_tiers.integrations import TieredMemory
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests.graphing import FACT, QUESTION, remember, run, said, texts

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")

ITEM = "- [§W-001/R-01/D-001] 2026-03-02 user: " + FACT


@pytest.fixture
def tiered(memory):
    """Makes the memory of a chain: alice's, in the session friday, and faults are raised."""

    def make(**options):
        return TieredMemory(
            **{"memory": memory, "user_id": "alice", "session": "friday", "on_error": "raise"} | options
        )

    return make


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"Sunny in {city}."


def _agent(model, kept):
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{input}"), MessagesPlaceholder("agent_scratchpad")]
    )
    agent = create_tool_calling_agent(model, [weather], prompt)
    return AgentExecutor(agent=agent, tools=[weather], memory=kept, return_intermediate_steps=True)


def test_a_conversation_chain_sees_its_last_turns_and_what_is_recalled(alice, tiered):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["On the radiator.", "Yes."])
    chain = ConversationChain(llm=model, memory=tiered())
    chain.invoke({"input": QUESTION})
    chain.invoke("Is the radiator of my grey cat Miso warm?")
    prompt = model.requests[-1][0].text
    assert f"Human: {QUESTION}\nAI: On the radiator.\n\n<memory_context>" in prompt
    assert (prompt.count(FACT), prompt.count(QUESTION)) == (1, 1)
    assert said(alice, "friday")[:2] == [QUESTION, "On the radiator."]


def test_an_llm_chain_recalls_into_its_own_prompt(alice, tiered):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["On the radiator."])
    prompt = PromptTemplate.from_template("{memory}\n{question}")
    chain = LLMChain(llm=model, prompt=prompt, memory=tiered(memory_key="memory"))
    assert chain.invoke({"question": QUESTION})["text"] == "On the radiator."
    assert ITEM in model.requests[0][0].text
    assert said(alice, "friday") == [QUESTION, "On the radiator."]


def test_an_agent_executor_recalls_and_remembers_question_and_reply(alice, tiered):
    remember(alice, FACT)
    call = AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Porto"}, "id": "1"}])
    model = ScriptedChatModel(responses=[call, "In the sun.", "Again."])
    agent = _agent(model, tiered(return_messages=True))
    assert agent.invoke({"input": QUESTION})["output"] == "In the sun."
    assert [ITEM in message.text for message in model.requests[0]] == [True, False]
    agent.invoke({"input": "And tomorrow?"})
    assert texts(model.requests[-1]) == [QUESTION, "In the sun.", "And tomorrow?"]
    assert said(alice, "friday") == [QUESTION, "In the sun.", "And tomorrow?", "Again."]


async def test_chains_run_async(alice, tiered):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["On the radiator."])
    await ConversationChain(llm=model, memory=tiered()).ainvoke({"input": QUESTION})
    assert ITEM in model.requests[0][0].text
    assert said(alice, "friday") == [QUESTION, "On the radiator."]


async def test_both_colours_do_the_same(tiered):
    one, other = tiered(session="one"), tiered(session="other")
    one.save_context({"input": "Tea, please."}, {"output": "Gladly."})
    await other.asave_context({"input": "Tea, please."}, {"output": "Gladly."})
    assert await other.aload_memory_variables({}) == one.load_memory_variables({}) != {"history": ""}
    one.clear()
    await other.aclear()
    assert await other.aload_memory_variables({}) == one.load_memory_variables({}) == {"history": ""}


def test_the_prefixes_can_be_chosen(tiered):
    kept = tiered(human_prefix="Alice", ai_prefix="Friend")
    kept.save_context({"input": "Tea, please."}, {"output": "Gladly."})
    assert kept.load_memory_variables({}) == {"history": "Alice: Tea, please.\nFriend: Gladly."}


def test_messages_are_the_last_turns_and_the_block_that_is_marked_as_none(alice, tiered):
    remember(alice, FACT)
    kept = tiered(return_messages=True)
    kept.save_context({"input": "Hello there."}, {"output": "Hello."})
    *turns, block = kept.load_memory_variables({"input": QUESTION})["history"]
    assert [(type(turn), turn.text) for turn in turns] == [(HumanMessage, "Hello there."), (AIMessage, "Hello.")]
    assert (ITEM in block.text, is_synthetic(block)) == (True, True)
    kept.save_context({"input": block}, {"output": "Fine."})
    assert said(alice, "friday") == ["Hello there.", "Hello.", "Fine."]


def test_the_window_is_that_of_the_settings(tmp_path):
    settings = Settings(window=WindowSettings(turns=4))
    with Memory.open(tmp_path / "small", embedder=None, background=False, settings=settings) as memory:
        kept = TieredMemory(memory=memory, user_id="alice")
        for number in range(5):
            kept.save_context({"input": f"Question {number}."}, {"output": f"Answer {number}."})
        shown = kept.load_memory_variables({})["history"]
        assert shown.splitlines() == [
            "Human: Question 3.", "AI: Answer 3.", "Human: Question 4.", "AI: Answer 4."
        ]  # fmt: skip
        assert kept.model_copy(update={"turns": 2}).load_memory_variables({})["history"].count("Human") == 1


def test_the_identity_is_given_until_it_is_not_wanted(alice, tiered):
    alice.identity.write("- Name: Alice")
    assert "- Name: Alice" in tiered().load_memory_variables({"input": "Hello."})["history"]
    assert tiered(profile=False).load_memory_variables({"input": "Hello."}) == {"history": ""}


def test_words_said_twice_are_stored_twice(alice, tiered):
    kept = tiered()
    for _ in range(2):
        kept.save_context({"input": "Go on."}, {"output": "I do."})
    assert said(alice) == ["Go on.", "I do."] * 2


def test_a_chain_that_is_tried_again_counts_one_recall(alice, tiered):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=[RuntimeError("down"), "On the radiator."])
    chain = ConversationChain(llm=model, memory=tiered())
    with pytest.raises(RuntimeError, match="down"):
        chain.invoke(QUESTION)
    chain.invoke(QUESTION)
    assert len(alice.receipts()) == 1
    assert model.requests[0] == model.requests[1]


# Several inputs


def test_of_several_inputs_the_usual_name_is_the_message(alice, tiered):
    remember(alice, FACT)
    inputs = {"style": "Answer as a poet would, in the metre that you like best of all.", "question": QUESTION}
    kept = tiered()
    assert ITEM in kept.load_memory_variables(inputs)["history"]
    kept.save_context(inputs, {"output": "Meow.", "sources": "A long list of where all of this was taken from."})
    assert said(alice, "friday") == [QUESTION, "Meow."]


def test_keys_can_be_named(alice, tiered):
    kept = tiered(input_key="q", output_key="a")
    kept.save_context({"q": "Tea?", "input": "not this one"}, {"a": "Yes.", "output": "nor this one"})
    assert said(alice) == ["Tea?", "Yes."]


def test_without_a_usual_name_the_longest_text_is_taken_and_that_is_logged(alice, tiered, caplog):
    tiered().save_context({"lang": "en", "sentence": "Tea, please."}, {"output": "Yes."})
    assert said(alice) == ["Tea, please.", "Yes."]
    assert "key_guessed key=sentence among=lang,sentence" in caplog.text


@pytest.mark.parametrize("inputs", [{"stop": ["Human:"]}, {"history": FACT}])
def test_inputs_without_a_message_are_refused(inputs, tiered):
    with pytest.raises(InvalidInput, match="input_key"):
        tiered().save_context(inputs, {"output": "Yes."})


@pytest.mark.parametrize(
    "asked", [[HumanMessage(QUESTION)], [("human", QUESTION)], {"role": "user", "content": QUESTION}]
)
def test_the_message_may_come_as_messages(asked, alice, tiered):
    remember(alice, FACT)
    kept = tiered(on_error="raise")
    assert FACT in kept.load_memory_variables({"input": asked})["history"]
    kept.save_context({"input": asked}, {"output": "On the radiator."})
    assert said(alice) == [FACT, QUESTION, "On the radiator."]


def test_an_empty_message_is_none_and_the_reply_is_stored(alice, tiered):
    kept = tiered(on_error="raise")
    assert kept.load_memory_variables({"input": ""}) == {"history": ""}
    kept.save_context({"input": ""}, {"output": "Hello!"})
    assert said(alice) == ["Hello!"]


@pytest.mark.parametrize("asked", [5, None, {"a": 1}])
def test_something_else_than_a_message_is_refused_by_its_name(asked, tiered):
    with pytest.raises(InvalidInput, match=r"`input`.*a text, or messages"):
        tiered(on_error="raise").load_memory_variables({"input": asked})


def test_a_key_that_is_missing_is_named(tiered):
    with pytest.raises(InvalidInput, match=r"There is no 'q' here\. There are input"):
        tiered(input_key="q").load_memory_variables({"input": QUESTION})


def test_it_stands_beside_other_memories(alice, tiered):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["On the radiator."])
    prompt = PromptTemplate.from_template("{rule}\n{history}\n{input}")
    others = SimpleMemory(memories={"rule": "Be brief, be kind, and say where you know from whatever you say."})
    LLMChain(llm=model, prompt=prompt, memory=CombinedMemory(memories=[others, tiered()])).invoke({"input": QUESTION})
    assert ITEM in model.requests[0][0].text
    assert said(alice, "friday") == [QUESTION, "On the radiator."]


# Its own text


@pytest.mark.parametrize(
    "echo",
    [
        "{block}",
        "As you told me:\n{block}\n",
        "{item}\n",
        "{block}\n\n{block}",
        "{cut}",
    ],
)
def test_what_was_recalled_is_not_remembered_again(echo, alice, tiered):
    remember(alice, FACT)
    kept = tiered()
    block = kept.load_memory_variables({"input": QUESTION})["history"]
    text = echo.format(block=block, item=ITEM, cut=block[:-30])
    kept.save_context({"input": f"{text}\nIs that so?"}, {"output": f"Yes.\n{text}"})
    assert [FACT in each or "memory_context" in each for each in said(alice, "friday")] == [False, False]
    asked, answered = said(alice, "friday")
    assert asked.splitlines()[-1] == "Is that so?"
    assert answered.startswith("Yes.")


def test_the_history_among_the_inputs_is_not_the_message(alice, tiered):
    remember(alice, FACT)
    kept = tiered(memory_key="input_history")
    loaded = kept.load_memory_variables({"words": QUESTION})
    kept.save_context({"words": QUESTION} | loaded, {"text": "Fine."})
    assert said(alice, "friday") == [QUESTION, "Fine."]


@pytest.mark.parametrize("text", ["What does <memory_context> mean?", "<memory_context>\nis what?", "See §W-001/R-01."])
def test_words_about_a_block_are_kept_verbatim(text, alice, tiered):
    tiered().save_context({"input": text}, {"output": "A tag."})
    assert said(alice) == [text, "A tag."]


def test_a_model_that_repeats_what_it_reads_adds_nothing_in_fifty_turns(alice, tiered):
    def parrot(messages):
        prompt = messages[0].text
        return "Yes. " + prompt[prompt.find("<memory_context>") : prompt.find("</memory_context>") + 17]

    remember(alice, FACT)
    model = ScriptedChatModel(responses=[parrot])
    chain = ConversationChain(llm=model, memory=tiered())
    for number in range(50):
        chain.invoke(f"Question {number}: where does my grey cat Miso sleep in winter?")
    stored = said(alice, "friday")
    assert stored[1::2] == ["Yes."] * 50
    shown = [request[0].text.count(FACT) for request in model.requests]
    assert (shown[:10], max(shown)) == ([1] * 10, 1)


# Sessions and users


def test_clearing_ends_the_session_and_deletes_nothing(memory, alice, tiered):
    kept = tiered()
    kept.save_context({"input": FACT}, {"output": "How cosy!"})
    kept.clear()
    assert kept.load_memory_variables({}) == {"history": ""}
    assert ITEM in kept.load_memory_variables({"input": QUESTION})["history"]
    kept.save_context({"input": "Tea, please."}, {"output": "Gladly."})
    assert tiered().load_memory_variables({}) == {"history": "Human: Tea, please.\nAI: Gladly."}
    assert [(each.session, each.turns) for each in alice.sessions()] == [("friday", 2), ("friday~2", 2)]
    assert said(alice) == [FACT, "How cosy!", "Tea, please.", "Gladly."]


def test_clearing_time_and_again_begins_anew_each_time(alice, tiered):
    kept = tiered()
    kept.clear()
    for number in range(12):
        kept.save_context({"input": f"Question {number}."}, {"output": "Yes."})
        kept.clear()
        kept.clear()
        assert kept.load_memory_variables({}) == {"history": ""}
    assert [each.session for each in alice.sessions()][-1] == "friday~12"


def test_without_a_session_each_object_has_its_own(alice, tiered):
    one, other = tiered(session=None), tiered(session=None)
    one.save_context({"input": "Tea, please."}, {"output": "Gladly."})
    assert other.load_memory_variables({}) == {"history": ""}
    assert one.load_memory_variables({}) == {"history": "Human: Tea, please.\nAI: Gladly."}
    assert len({drawer.session for drawer in alice.drawers()}) == 1


def test_functions_are_asked_each_time_whose_it_is(memory, tiered):
    now = {"user": "alice", "session": "monday"}
    kept = tiered(user_id=lambda: now["user"], session=lambda: now["session"])
    kept.save_context({"input": "Tea, please."}, {"output": "Gladly."})
    now["user"] = "bob"
    assert kept.load_memory_variables({}) == {"history": ""}
    assert said(memory.user("alice"), "monday") == ["Tea, please.", "Gladly."]


def test_a_chain_within_a_run_belongs_to_its_user_and_thread(memory, tiered):
    chain = ConversationChain(llm=ScriptedChatModel(responses=["Hello."]), memory=tiered(user_id=None, session=None))
    step = RunnableLambda(lambda text: chain.invoke(text)["response"])
    assert step.batch(["I am Alice.", "I am Bob."], [run("alice"), run("bob")]) == ["Hello.", "Hello."]
    assert {name: said(memory.user(name), "friday") for name in ("alice", "bob")} == {
        "alice": ["I am Alice.", "Hello."],
        "bob": ["I am Bob.", "Hello."],
    }


@pytest.mark.parametrize("user", [7, UUID(int=7)])
def test_a_user_id_may_be_a_number(user, memory, tiered):
    tiered(user_id=user).save_context({"input": "Tea?"}, {"output": "Yes."})
    assert said(memory.user(user)) == ["Tea?", "Yes."]


def test_a_space_can_be_named_instead_of_a_user(memory, tiered):
    tiered(user_id=None, space="teams/research").save_context({"input": "Tea?"}, {"output": "Yes."})
    assert said(memory.space("teams/research")) == ["Tea?", "Yes."]


# Faults


def test_a_chain_of_nobody_goes_on_without_memory(memory, caplog):
    kept = TieredMemory(memory=memory)
    model = ScriptedChatModel(responses=["Hello."])
    assert ConversationChain(llm=model, memory=kept).invoke("Hi.")["response"] == "Hello."
    assert caplog.text.count("memory_step_failed") == 2
    assert "MissingUser" in caplog.text
    assert "Traceback" not in caplog.text
    assert kept.model_copy(update={"return_messages": True}).load_memory_variables({}) == {"history": []}


def test_a_chain_of_nobody_is_an_error_where_that_is_wanted(memory, tiered):
    with pytest.raises(MissingUser):
        tiered(user_id=None).load_memory_variables({"input": "Hi."})
    with pytest.raises(MissingUser):
        TieredMemory(memory=memory).clear()


def test_a_broken_memory_does_not_cost_the_user_the_reply(tmp_path, caplog):
    with Memory.open(tmp_path / "closed", embedder=HashEmbedder(), background=False) as memory:
        chain = ConversationChain(
            llm=ScriptedChatModel(responses=["Hello."]), memory=TieredMemory(memory=memory, user_id="alice")
        )
    assert chain.invoke("Hi.")["response"] == "Hello."
    assert "MemoryClosed" in caplog.text


def test_a_message_that_can_not_be_stored_is_told_of(alice, tiered, caplog):
    words = {"input": "bad \ud800 text"}, {"output": "Good text."}
    with pytest.raises(InvalidInput, match="surrogate"):
        tiered().save_context(*words)
    tiered(on_error="log", session="monday").save_context(*words)
    assert said(alice, "monday") == ["Good text."]
    assert "turn_rejected message_id=said-0-" in caplog.text
    assert "error=InvalidText" in caplog.text


def test_without_langchain_classic_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_classic.base_memory", None)
    monkeypatch.delitem(sys.modules, "langmem_tiers.integrations.classic")
    with pytest.raises(MissingExtra, match=r"'langchain-classic'.*pip install 'langmem-tiers\[classic\]'"):
        importlib.import_module("langmem_tiers.integrations").TieredMemory  # noqa: B018


def test_the_other_integrations_do_not_load_langchain_classic(offline_environment):
    code = (
        "import sys; from langmem_tiers.integrations import TieredRetriever, TieredChatMessageHistory, recall_runnable;"
        "print('langchain_classic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=offline_environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
