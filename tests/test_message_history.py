"""The chat history: a session as LangChain keeps one, bounded, idempotent, and never deleted."""

import asyncio

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from langmem_tiers import Turn
from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations import TieredChatMessageHistory, recall_runnable
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import FACT, QUESTION, remember, run, said, texts

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")


@pytest.fixture
def history(alice):
    """Alice's session friday."""
    return TieredChatMessageHistory(alice, "friday")


def _friday(thread="friday"):
    return {"configurable": {"session_id": thread}}


def _remembering(alice, chain, **options):
    return RunnableWithMessageHistory(chain, lambda session_id: TieredChatMessageHistory(alice, session_id), **options)


def test_what_was_added_comes_back_in_its_order(history):
    history.add_messages([HumanMessage("Tea, please."), AIMessage("Gladly.", id="a1")])
    history.add_user_message("Thanks.")
    found = history.messages
    assert [(type(each), each.text) for each in found] == [
        (HumanMessage, "Tea, please."), (AIMessage, "Gladly."), (HumanMessage, "Thanks.")
    ]  # fmt: skip
    assert found[1].id == "a1"
    assert all(each.id for each in found)


def test_a_pair_that_is_added_again_is_known_by_its_reply(alice, history):
    for _ in range(2):
        history.add_messages([HumanMessage("Tea, please."), AIMessage("Gladly.", id="a1")])
    assert said(alice) == ["Tea, please.", "Gladly."]


def test_words_said_twice_are_kept_twice(alice, history):
    for number in range(2):
        history.add_messages([HumanMessage("Go on."), AIMessage("I do.", id=f"a{number}")])
    history.add_user_message("Go on.")
    history.add_user_message("Go on.")
    assert said(alice) == ["Go on.", "I do.", "Go on.", "I do.", "Go on.", "Go on."]


async def test_the_same_words_said_at_the_same_time_are_all_kept(alice):
    pair = [HumanMessage("Yes."), AIMessage("Good.")]
    await asyncio.gather(*(TieredChatMessageHistory(alice, "friday").aadd_messages(pair) for _ in range(20)))
    assert said(alice) == ["Yes.", "Good."] * 20


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (["My cat is called Miso."], r"`messages\[0\]`.*HumanMessage"),
        ([HumanMessage("Hello."), {"role": "user", "content": "My cat is called Miso."}], r"`messages\[1\]`"),
        ("My cat is called Miso.", "`messages`.*a list of messages"),
        (HumanMessage("My cat is called Miso."), "`messages`.*a list of messages"),
        (None, "`messages`.*a list of messages"),
        (5, "`messages`.*a list of messages"),
    ],
)
async def test_what_is_no_list_of_messages_is_refused_rather_than_lost(alice, history, given, match):
    with pytest.raises(InvalidInput, match=match):
        history.add_messages(given)
    with pytest.raises(InvalidInput, match=match):
        await history.aadd_messages(given)
    assert said(alice) == []


def test_a_text_that_is_added_as_one_message_is_refused(alice, history):
    with pytest.raises(InvalidInput, match="`messages"):
        history.add_message("My cat is called Miso.")
    assert said(alice) == []


def test_only_what_was_said_is_kept(alice, history):
    call = {"name": "weather", "args": {}, "id": "1"}
    summary = HumanMessage("So far: tea.", additional_kwargs={"lc_source": "summarization"})
    history.add_messages(
        [SystemMessage("Be kind."), HumanMessage("Tea?"), AIMessage("", tool_calls=[call]),
         ToolMessage("Sunny.", tool_call_id="1"), summary, AIMessage("Yes.")]
    )  # fmt: skip
    assert said(alice) == ["Tea?", "Yes."]


def test_a_block_in_a_message_is_not_remembered_again(alice, history):
    remember(alice, FACT)
    block = alice.recall(QUESTION).block
    history.add_messages([HumanMessage(f"{block}\n\n{QUESTION}"), AIMessage(block)])
    assert said(alice, "friday") == [QUESTION]


def test_the_window_begins_with_the_user_and_is_bounded(alice):
    history = TieredChatMessageHistory(alice, "friday", turns=3)
    for number in range(30):
        history.add_messages([HumanMessage(f"Question {number}."), AIMessage(f"Answer {number}.")])
    assert texts(history.messages) == ["Question 29.", "Answer 29."]
    assert len(TieredChatMessageHistory(alice, "friday").messages) == 20


def test_turns_of_other_roles_and_superseded_ones_are_not_in_the_window(alice, history):
    alice.track([Turn(role="user", content="Coffee.", message_id="1")], session="friday")
    alice.track([Turn(role="user", content="Tea.", message_id="1")], session="friday")
    alice.track([Turn(role="tool", content="Sunny.", message_id="2")], session="friday")
    assert texts(history.messages) == ["Tea."]


def test_clearing_empties_the_window_of_every_later_object_and_deletes_nothing(alice, history):
    history.add_user_message(FACT)
    history.clear()
    later = TieredChatMessageHistory(alice, "friday")
    assert later.messages == []
    later.add_user_message("Tea, please.")
    assert texts(history.messages) == ["Tea, please."]
    assert said(alice) == [FACT, "Tea, please."]


def test_a_history_that_is_empty_can_be_cleared(alice, history):
    history.clear()
    assert (history.messages, alice.sessions()) == ([], ())


@pytest.mark.parametrize("session", [7, None, "\ud800"])
def test_a_session_that_can_not_be_one_is_refused(session, alice):
    with pytest.raises(InvalidInput, match="session"):
        TieredChatMessageHistory(alice, session)


async def test_both_colours_do_the_same(alice):
    one, other = TieredChatMessageHistory(alice, "one"), TieredChatMessageHistory(alice, "other")
    added = [HumanMessage("Tea, please."), AIMessage("Gladly.", id="a1")]
    one.add_messages(added)
    await other.aadd_messages(added)
    assert await other.aget_messages() == one.messages != []
    one.clear()
    await other.aclear()
    assert await other.aget_messages() == one.messages == []


def test_a_model_with_a_history_sees_it_and_adds_to_it(alice):
    model = ScriptedChatModel(responses=["Gladly.", "Green."])
    chain = _remembering(alice, model)
    chain.invoke([HumanMessage("Tea, please.")], _friday())
    chain.invoke([HumanMessage("Which do you have?")], _friday())
    chain.invoke([HumanMessage("Hello?")], _friday("saturday"))
    assert texts(model.requests[1]) == ["Tea, please.", "Gladly.", "Which do you have?"]
    assert texts(model.requests[2]) == ["Hello?"]
    assert said(alice, "friday") == ["Tea, please.", "Gladly.", "Which do you have?", "Green."]


def test_a_long_conversation_stores_each_message_once(alice):
    model = ScriptedChatModel(responses=["Yes."])
    chain = _remembering(alice, model)
    for number in range(15):
        chain.invoke([HumanMessage(f"Question {number}.")], _friday())
    assert said(alice)[::2] == [f"Question {number}." for number in range(15)]
    assert len(said(alice)) == 30
    assert len(model.requests[-1]) == 21


async def test_a_chain_with_history_and_recall_says_nothing_twice(memory, alice):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["On the radiator.", "It is."])
    prompt = ChatPromptTemplate([("system", "{memory}"), MessagesPlaceholder("history"), ("human", "{input}")])
    chain = RunnablePassthrough.assign(memory=recall_runnable(memory, space=alice.name, on_error="raise"))
    keys = {"input_messages_key": "input", "history_messages_key": "history"}
    remembering = _remembering(alice, chain | prompt | model, **keys)
    config = {"configurable": {"session_id": "friday", "thread_id": "friday"}}
    await remembering.ainvoke({"input": QUESTION}, config)
    await remembering.ainvoke({"input": "Does my grey cat Miso like the radiator?"}, config)
    system, *rest = texts(model.requests[1])
    assert (FACT in system, QUESTION in system) == (True, False)
    assert rest == [QUESTION, "On the radiator.", "Does my grey cat Miso like the radiator?"]


async def test_users_do_not_get_into_each_others_history(memory):
    def history(user_id, session_id):
        return TieredChatMessageHistory(memory.user(user_id), session_id)

    from langchain_core.runnables import ConfigurableFieldSpec

    fields = [ConfigurableFieldSpec(id=name, annotation=str) for name in ("user_id", "session_id")]
    model = ScriptedChatModel(responses=["Hello."])
    chain = RunnableWithMessageHistory(model, history, history_factory_config=fields)
    users = [f"user{number}" for number in range(8)]
    calls = (
        chain.ainvoke(
            [HumanMessage(f"I am {user}.")], {"configurable": run(user)["configurable"] | {"session_id": "s"}}
        )
        for user in users
    )
    await asyncio.gather(*calls)
    assert [said(memory.user(user)) for user in users] == [[f"I am {user}.", "Hello."] for user in users]
