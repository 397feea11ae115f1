"""A thread that is rewound or forked: what was derived from the branch it left holds no longer, until it returns."""

from threading import Thread

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langmem_tiers import Turn
from langmem_tiers.graphs import MemoryState, track_node
from langmem_tiers.testing import ScriptedChatModel
from tests.graphing import chat_graph, run, said

HOME = "I live in Turin."


@pytest.fixture
def graph(memory):
    model = ScriptedChatModel(responses=[f"Answer {number}." for number in range(40)])
    return chat_graph(memory, model, compiled={"checkpointer": InMemorySaver()})


@pytest.fixture
def tell(graph, alice, clock):
    """Says something in the thread, from its newest state or from a checkpoint; returns where it then stands."""

    def told(text, at=None):
        config = run() if at is None else onwards(at)
        graph.invoke({"messages": [HumanMessage(text)]}, config)
        alice.mine()
        assert alice.flush()
        clock.tick(60)
        return graph.get_state(run()).config

    return told


@pytest.fixture
def meanwhile(memory, alice, clock):
    """Says something in the thread, from a checkpoint, and others, all from one, while that run is under way."""
    waiting = []

    def wait(state):
        while waiting:  # in a thread of its own: it is no part of the run that it is said during
            other = Thread(target=waiting.pop())
            other.start()
            other.join()
        return {}

    model = ScriptedChatModel(responses=[f"Reply {number}." for number in range(40)])
    graph = chat_graph(memory, model, between=[wait], compiled={"checkpointer": InMemorySaver()})

    def told(text, at=None, *, others=(), others_at=None):
        def say():
            there = others_at or graph.get_state(run()).config
            for other in others:
                graph.invoke({"messages": [HumanMessage(other)]}, onwards(there))

        waiting.append(say)
        graph.invoke({"messages": [HumanMessage(text)]}, run() if at is None else onwards(at))
        clock.tick(60)
        return graph.get_state(run()).config

    told.graph = graph
    return told


def onwards(checkpoint):
    """The config to go on from a checkpoint."""
    return {"configurable": {**run()["configurable"], **checkpoint["configurable"]}}


def entries(space):
    return sorted(found.entry.content for found in space.knowledge.search("", limit=50) if not found.ended)


def relations(space):
    if space.graph.entity("user") is None:
        return set()
    return {str(each) for each in space.graph.neighbours("user").relations}


def profile(space):
    return [line.text for line in space.profile.read()]


def test_what_was_said_only_on_a_branch_that_was_left_holds_no_longer(alice, tell):
    home = tell(HOME)
    tell("I am allergic to hazelnuts.")
    assert "is allergic to hazelnuts" in profile(alice)
    tell("What a lovely morning it is today.", at=home)
    assert entries(alice) == ["The user lives in Turin."]
    assert relations(alice) == {"user lives_in Turin"}
    assert profile(alice) == ["lives in Turin"]
    assert "hazelnuts" not in alice.recall("Can you suggest a cake with hazelnuts?").block
    assert "I am allergic to hazelnuts." not in said(alice)


def test_when_the_thread_returns_to_the_branch_it_holds_again(alice, tell):
    home = tell(HOME)
    away = tell("I moved to Genoa and I am allergic to hazelnuts.")
    before = entries(alice), relations(alice), profile(alice)
    tell("I speak Dutch.", at=home)
    assert "speaks Dutch" in profile(alice)
    assert "Genoa" not in str((entries(alice), relations(alice), profile(alice)))
    tell("What a lovely morning it is today.", at=away)
    assert (entries(alice), relations(alice), profile(alice)) == before
    assert "Dutch" not in str(before)


def marked(space):
    """The messages shown for some questions that say that something no longer holds."""
    asked = ("Do I like sushi?", "Which pets do I have?", "Where do I work?", "What is my name?")
    lines = [line for each in asked for line in space.recall(each).block.splitlines()]
    return {line for line in lines if "no longer" in line or "but later" in line}


def test_a_branch_that_is_left_and_returned_to_again_and_again_keeps_no_marks(alice, tell):
    home = tell("I work at Vattenfall.")
    away = tell("I love sushi, my name is Alice, and I have a dog named Bruno.")
    before = entries(alice), relations(alice), profile(alice)
    assert (marked(alice), "loves sushi" in before[2]) == (set(), True)
    for other in ("I quit Vattenfall. I hate sushi now.", "Bruno died. My name is Alicia."):
        tell(other, at=home)
        assert (entries(alice), relations(alice), profile(alice)) != before
        tell("What a lovely morning it is today.", at=away)
        assert (entries(alice), relations(alice), profile(alice)) == before
        assert marked(alice) == set()


def test_what_ended_on_the_branch_goes_on_when_it_is_left(alice, tell):
    home = tell("I work at Vattenfall.")
    tell("Big news: I quit Vattenfall, I start at Nordkraft on Monday.")
    assert "works at Vattenfall" not in str(entries(alice))
    tell("What a lovely morning it is today.", at=home)
    assert entries(alice) == ["The user works at Vattenfall."]
    assert relations(alice) == {"user works_at Vattenfall"}
    block = alice.recall("Where do I work?").block
    assert ("Vattenfall" in block, "Nordkraft" in block, "but later" in block) == (True, False, False)


def test_a_correction_on_the_branch_is_taken_back_with_it(alice, tell):
    home = tell("My sister Anna lives in Lisbon.")
    away = tell("No, Anna lives in Porto, not in Lisbon.")
    assert "Lisbon" not in str(entries(alice))
    tell("What a lovely morning it is today.", at=home)
    assert ("Lisbon" in str(entries(alice)), "Porto" in str(entries(alice))) == (True, False)
    tell("What a lovely evening it is today.", at=away)
    assert ("Lisbon" in str(entries(alice)), "Porto" in str(entries(alice))) == (False, True)


def test_what_was_also_said_elsewhere_stays(alice, tell, clock):
    alice.track([Turn(role="user", content="I am allergic to hazelnuts.", said_at=clock())], session="monday")
    home = tell(HOME)
    tell("I am allergic to hazelnuts.")
    tell("What a lovely morning it is today.", at=home)
    assert profile(alice) == ["is allergic to hazelnuts", "lives in Turin"]


def test_the_summary_of_a_branch_is_shown_only_while_the_thread_is_on_it(alice, tell):
    home = tell(HOME)
    away = tell("We planned the boat trip to Hydra with Eleni.")
    alice.archive.write("friday", summary="The user plans a boat trip to Hydra with Eleni.")
    alice.flush()
    question = "What about the boat trip to Hydra with Eleni?"
    assert len(alice.archive.search("boat trip")) == 1
    tell("What a lovely morning it is today.", at=home)
    assert (alice.archive.search("boat trip"), alice.archive.recent()) == ((), ())
    assert "Hydra" not in alice.recall(question).block
    tell("What a lovely evening it is today.", at=away)
    assert len(alice.archive.search("boat trip")) == 1


def test_a_dream_does_not_see_the_branch_that_was_left(alice, tell):
    home = tell(HOME)
    tell("We planned the boat trip to Hydra with Eleni.")
    alice.archive.write("friday", summary="The user plans a boat trip to Hydra with Eleni.")
    tell("What a lovely morning it is today.", at=home)
    alice.dream()
    assert alice.documents.search("Hydra") == ()


def test_a_fork_by_an_edited_message_leaves_all_that_came_after_its_first_wording(graph, alice, tell):
    tell(HOME)
    edited = next(each for each in graph.get_state_history(run()) if each.next == ("recall",))
    question = edited.values["messages"][-1]
    tell("I am allergic to hazelnuts.")
    changed = HumanMessage("I live in Genoa.", id=question.id)
    fork = graph.update_state(edited.config, {"messages": [changed]}, as_node="__start__")
    graph.invoke(None, onwards(fork))
    alice.mine()
    assert alice.flush()
    assert entries(alice) == ["The user lives in Genoa."]
    assert said(alice)[0] == "I live in Genoa."


def test_a_reply_that_is_made_anew_leaves_no_branch(graph, alice, tell):
    tell(HOME)
    before = next(each for each in graph.get_state_history(run()) if each.next == ("agent",))
    graph.invoke(None, before.config)
    assert said(alice) == [HOME, "Answer 0.", "Answer 1."]


def test_a_history_that_is_sent_without_its_middle_leaves_nothing(alice):
    texts = ["I live in Turin.", "I speak Dutch.", "I love chess.", "I have a dog named Bruno."]
    turns = [Turn(role="user", content=text, message_id=str(place)) for place, text in enumerate(texts)]
    alice.track(turns, session="s", history=True)
    again = Turn(role="user", content="I like opera.", message_id="4")
    report = alice.track([turns[0], turns[3], again], session="s", history=True)
    assert (report.left, len(said(alice))) == ((), 5)
    other = Turn(role="user", content="I like jazz.", message_id="5")
    assert alice.track([turns[0], turns[1], other], session="s", history=True).left == (3, 4, 5)


def test_another_agent_that_works_on_a_part_of_the_history_leaves_nothing(alice):
    asked = Turn(role="user", content=HOME, message_id="1")
    alice.track([asked, Turn(role="assistant", content="Noted.", message_id="2")], session="s", history=True)
    report = alice.track(
        [asked, Turn(role="assistant", content="Looked up.", message_id="3")], session="s", history=True
    )
    assert report.left == ()


def test_turns_told_without_their_history_leave_nothing(alice):
    for place, text in enumerate((HOME, "I speak Dutch.", "I love chess.")):
        report = alice.track([Turn(role="user", content=text, message_id=str(place))], session="s")
        assert report.left == ()


def test_of_two_messages_sent_at_once_both_hold(alice, meanwhile):
    home = meanwhile(HOME)
    first = meanwhile("I speak Dutch.", home, others=["I am allergic to hazelnuts."], others_at=home)
    assert {"I speak Dutch.", "I am allergic to hazelnuts."} < {*said(alice)}
    meanwhile("What a lovely morning it is today.", first)
    alice.mine()
    assert alice.flush()
    assert profile(alice) == ["is allergic to hazelnuts", "lives in Turin", "speaks Dutch"]


def test_messages_sent_before_the_reply_is_there_hold(alice, meanwhile):
    meanwhile(HOME)
    # The run under way writes the newest checkpoint after the second message, so the third does not have it.
    sent = ["I speak Dutch.", "I am allergic to hazelnuts.", "I love chess."]
    meanwhile(sent[0], others=sent[1:])
    assert {*sent, "Reply 1.", "Reply 2.", "Reply 3."} < {*said(alice)}


def test_messages_sent_before_and_after_a_reply_hold_also_if_the_earlier_one_is_stored_last(alice, meanwhile):
    answered = meanwhile(HOME)
    unanswered = next(each for each in meanwhile.graph.get_state_history(run()) if each.next == ("recall",))
    meanwhile("I speak Dutch.", unanswered.config, others=["I am allergic to hazelnuts."], others_at=answered)
    assert {HOME, "Reply 0.", "I am allergic to hazelnuts.", "Reply 1.", "I speak Dutch.", "Reply 2."} == {*said(alice)}


def test_without_a_recall_node_messages_sent_before_the_reply_is_there_hold(memory, alice):
    builder = StateGraph(MemoryState).add_sequence([("agent", lambda _: {"messages": "Fine."}), track_node(memory)])
    graph = builder.add_edge(START, "agent").compile(checkpointer=InMemorySaver())
    graph.invoke({"messages": HOME}, run())
    unanswered = next(each for each in graph.get_state_history(run()) if each.next == ("agent",))
    sent = ["I speak Dutch.", "I am allergic to hazelnuts."]
    for text in sent:
        graph.invoke({"messages": text}, onwards(unanswered.config))
    assert {HOME, *sent} < {*said(alice)}


def test_a_thread_that_is_rewound_leaves_all_that_was_sent_at_once(alice, meanwhile):
    home = meanwhile(HOME)
    meanwhile("I speak Dutch.", home, others=["I am allergic to hazelnuts."], others_at=home)
    meanwhile("What a lovely morning it is today.", home)
    assert said(alice) == [HOME, "Reply 0.", "What a lovely morning it is today.", "Reply 3."]


def test_a_reply_made_anew_after_the_thread_went_on_leaves_what_followed_the_first(alice, meanwhile):
    meanwhile(HOME)
    before = next(each for each in meanwhile.graph.get_state_history(run()) if each.next == ("agent",))
    meanwhile("I am allergic to hazelnuts.")
    meanwhile.graph.invoke(None, onwards(before.config))
    assert said(alice) == [HOME, "Reply 2."]


def test_what_was_stored_since_the_history_was_read_is_no_branch_that_it_left(alice):
    home = Turn(role="user", content=HOME, message_id="1")
    alice.track([home], session="s", history=True)
    [seen] = [drawer.number for drawer in alice.drawers(session="s")]
    for text in ("I speak Dutch.", "I love chess."):
        said_now = Turn(role="user", content=text, message_id=text)
        assert alice.track([home, said_now], session="s", history=True, seen=seen).left == ()
    last = Turn(role="user", content="I like opera.", message_id="2")
    assert alice.track([home, last], session="s", history=True).left == (2, 3)
