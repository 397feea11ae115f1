"""The recall step of a chain: whatever the chain is given and however it is run, it gives what the run's user said."""

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langgraph.graph import START, StateGraph

from langmem_tiers import Memory
from langmem_tiers.errors import InvalidInput, MissingUser
from langmem_tiers.graphs import MemoryContext, MemoryState
from langmem_tiers.integrations import recall_runnable
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests.graphing import FACT, QUESTION, remember, run, said, texts

PROMPT = ChatPromptTemplate([("system", "Be kind."), ("human", "{memory}\n\n{input}")])


@pytest.fixture
def recall(memory):
    """The step, where faults are raised."""
    return recall_runnable(memory, on_error="raise")


def _chain(step, model):
    return RunnablePassthrough.assign(memory=step) | PROMPT | model | StrOutputParser()


def test_a_chain_puts_what_was_recalled_before_the_question(alice, recall):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["On the radiator."])
    assert _chain(recall, model).invoke({"input": QUESTION}, run()) == "On the radiator."
    human = model.requests[0][-1].text
    assert FACT in human
    assert human.endswith(f"</memory_context>\n\n{QUESTION}")
    assert said(alice) == [FACT]


@pytest.mark.parametrize(
    "given",
    [
        QUESTION,
        HumanMessage(QUESTION),
        [HumanMessage("Hello."), AIMessage("Hello!"), HumanMessage(QUESTION)],
        {"input": QUESTION},
        {"question": QUESTION, "style": "as a poet would say it, in the metre that you like best"},
        {"question": HumanMessage(QUESTION)},
        {"words": QUESTION},
        {"messages": [HumanMessage(QUESTION), AIMessage("Let me see.")]},
        {"input": [{"type": "text", "text": QUESTION}]},
        [("human", QUESTION)],
        [{"role": "user", "content": QUESTION}],
        {"role": "user", "content": QUESTION},
        ChatPromptTemplate([("system", "Be brief."), ("human", "{input}")]).invoke({"input": QUESTION}),
        {"messages": [{"role": "user", "content": QUESTION}]},
    ],
)
def test_the_question_is_found_in_whatever_a_chain_is_given(given, alice, recall):
    remember(alice, FACT)
    assert FACT in recall.invoke(given, run())


def test_the_key_can_be_named(memory, alice):
    remember(alice, FACT)
    step = recall_runnable(memory, input_key="q", on_error="raise")
    assert FACT in step.invoke({"q": [HumanMessage(QUESTION)], "input": "What is new?"}, run())
    with pytest.raises(InvalidInput, match="no 'q' here"):
        step.invoke({"input": QUESTION}, run())


@pytest.mark.parametrize("given", [{}, {"messages": []}, {"number": 7}])
def test_where_nothing_is_asked_the_key_is_to_be_named(given, recall):
    with pytest.raises(InvalidInput, match="input_key"):
        recall.invoke(given, run())


@pytest.mark.parametrize("given", [5, None, b"text", [5], [("nobody", QUESTION)]])
def test_what_is_no_message_is_refused(given, recall):
    with pytest.raises(InvalidInput, match=r"`input`.*a text, or messages"):
        recall.invoke(given, run())


def test_a_chain_that_keeps_no_history_is_shown_the_same_again(alice, recall):
    remember(alice, FACT)
    assert FACT in recall.invoke({"input": QUESTION}, run())
    assert FACT in recall.invoke({"input": QUESTION}, run())


def test_messages_that_the_chain_is_given_are_not_recalled_again(alice, recall):
    remember(alice, FACT, session="friday")
    ids = [HumanMessage(FACT, id=drawer.message_id) for drawer in alice.drawers()]
    assert FACT not in recall.invoke({"input": QUESTION, "history": ids}, run())
    assert FACT in recall.invoke({"input": QUESTION, "history": []}, run())


def test_a_message_with_an_id_counts_once(alice, recall):
    remember(alice, FACT)
    asked = [HumanMessage(QUESTION, id="q1")]
    assert recall.invoke(asked, run()) == recall.invoke(asked, run()) != ""
    assert len(alice.receipts()) == 1


def test_what_an_earlier_message_was_shown_is_shown_again_as_its_block_is_gone(alice, recall):
    remember(alice, FACT)
    first = HumanMessage(QUESTION, id="q1")
    recall.invoke([first], run())
    later = [first, AIMessage("On the radiator."), HumanMessage("Is my grey cat Miso warm on the radiator?", id="q2")]
    assert FACT in recall.invoke(later, run())


async def test_all_ways_to_run_it_give_the_same(alice, recall):
    remember(alice, FACT)
    block = recall.invoke(QUESTION, run())
    assert FACT in block
    assert await recall.ainvoke(QUESTION, run()) == block
    assert recall.batch([QUESTION] * 2, run()) == await recall.abatch([QUESTION] * 2, run()) == [block] * 2
    assert list(recall.stream(QUESTION, run())) == [each async for each in recall.astream(QUESTION, run())] == [block]


async def test_a_chain_streams_its_answer_by_words(alice, recall):
    remember(alice, FACT)
    chain = _chain(recall, ScriptedChatModel(responses=["On the radiator."]))
    streamed = [each async for each in chain.astream({"input": QUESTION}, run())]
    assert (len(streamed) > 2, "".join(streamed)) == (True, "On the radiator.")


async def test_each_run_of_a_batch_is_its_users(memory, recall):
    remember(memory.user("alice"), FACT)
    remember(memory.user("bob"), "My grey cat Fritz sleeps in the garden shed.")
    questions = ["Where does my grey cat sleep?"] * 2
    for blocks in (
        recall.batch(questions, [run("alice"), run("bob")]),
        await recall.abatch(questions, [run("alice"), run("bob")]),
    ):
        assert [("Miso" in block, "Fritz" in block) for block in blocks] == [(True, False), (False, True)]


def test_the_identity_comes_first_until_it_is_not_wanted(memory, alice, recall):
    alice.identity.write("- Name: Alice")
    remember(alice, FACT)
    assert recall.invoke(QUESTION, run()).startswith("<user_identity>")
    assert recall_runnable(memory, profile=False).invoke(QUESTION, run()).startswith("<memory_context>")


def test_a_space_and_fallbacks_can_be_named(memory):
    remember(memory.space("teams/research"), FACT)
    assert FACT in recall_runnable(memory, space="teams/research").invoke(QUESTION)
    assert FACT in recall_runnable(memory, fallbacks=["teams/research"]).invoke(QUESTION, run())


def test_within_a_graph_the_context_says_whose_it_is(alice, recall):
    remember(alice, FACT)
    model = ScriptedChatModel(responses=["On the radiator."])
    chain = {"memory": recall, "input": lambda messages: messages[-1].text} | PROMPT | model
    builder = StateGraph(MemoryState, context_schema=MemoryContext)
    builder.add_node("answer", lambda state: {"messages": [chain.invoke(state["messages"])]})
    builder.add_edge(START, "answer")
    builder.compile().invoke({"messages": QUESTION}, context={"user_id": "alice"})
    assert FACT in model.requests[0][-1].text


def test_a_run_of_nobody_goes_on_without_memory(memory, caplog):
    model = ScriptedChatModel(responses=["Hello."])
    assert _chain(recall_runnable(memory), model).invoke({"input": "Hi."}) == "Hello."
    assert "memory_step_failed step=recall error=MissingUser" in caplog.text
    assert texts(model.requests[0])[-1] == "\n\nHi."


async def test_a_run_of_nobody_is_an_error_where_that_is_wanted(recall):
    with pytest.raises(MissingUser):
        recall.invoke(QUESTION)
    with pytest.raises(MissingUser):
        await recall.ainvoke(QUESTION)


def test_a_broken_memory_does_not_cost_the_user_the_reply(tmp_path, caplog):
    with Memory.open(tmp_path / "closed", embedder=HashEmbedder(), background=False) as memory:
        step = recall_runnable(memory)
    assert step.invoke(QUESTION, run()) == ""
    assert "MemoryClosed" in caplog.text


class _Traced(BaseCallbackHandler):
    """Keeps what a tracer is told of each step."""

    def __init__(self):
        self.runs = []

    def on_chain_start(self, serialized, inputs, *, name=None, tags=None, metadata=None, **_):
        self.runs.append((name, tags, metadata))


async def test_a_trace_names_the_step_and_keeps_the_tags_of_the_run(alice, memory):
    traced = _Traced()
    config = run() | {"callbacks": [traced], "tags": ["mine"], "metadata": {"release": 3}}
    recall_runnable(memory).invoke(QUESTION, config)
    await recall_runnable(memory, name="look_up").ainvoke(QUESTION, config)
    assert [name for name, _, _ in traced.runs] == ["recall", "look_up"]
    for _, tags, metadata in traced.runs:
        assert {"mine", "memory", "langmem-tiers"} <= set(tags)
        assert {"release": 3, "memory_step": "recall"}.items() <= metadata.items()
