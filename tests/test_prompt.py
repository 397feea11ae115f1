"""The window and the prompt: pure functions."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langmem_tiers.graphs import build_prompt, window_start
from tests.graphing import texts

BLOCK = "<memory_context>\nrecalled\n</memory_context>"
SUMMARY = {"lc_source": "summarization"}


def _ai(text="", **fields):
    return AIMessage(text, **fields)


def _tool(text="result"):
    return ToolMessage(text, tool_call_id="1")


KINDS = {"s": SystemMessage, "h": HumanMessage, "a": AIMessage}


def _history(kinds):
    return [_tool(str(i)) if kind == "t" else KINDS[kind](str(i)) for i, kind in enumerate(kinds)]


@pytest.mark.parametrize(
    ("kinds", "turns", "start"),
    [
        ("", 3, 0),
        ("ha", 3, 0),
        ("haha", 2, 2),
        ("haha", 3, 2),  # it would begin with an AI message
        ("hatatah", 3, 6),  # likewise, in the middle of a tool loop
        ("hatatat", 2, 0),  # the last human message and what follows it stay
        ("shaha", 2, 3),
        ("sshahah", 50, 2),  # leading system messages stand outside
        ("ahaha", 50, 1),  # a human message can begin it
        ("aaa", 2, 1),  # none can
        ("ttaaa", 50, 2),
        ("ttt", 2, 3),
        ("hah", 1, 2),
    ],
)
def test_the_window_starts(kinds, turns, start):
    assert window_start(_history(kinds), turns) == start


@pytest.mark.parametrize(
    ("count", "held"), [(0, 0), (5, 5), (6, 6), (7, 7), (8, 8), (9, 6), (11, 8), (12, 6), (90, 6), (92, 8)]
)
def test_the_window_moves_on_in_steps(count, held):
    messages = _history("h" * count)
    assert count - window_start(messages, 6, 3) == held


@given(st.text("haat", max_size=60).map(lambda kinds: "h" + kinds), st.integers(1, 12), st.integers(1, 12))
def test_a_window_holds_no_less_than_one_that_moves_turn_by_turn_and_stands_still_between_steps(kinds, turns, step):
    starts = [window_start(_history(kinds[:end]), turns, step) for end in range(1, len(kinds) + 1)]
    closely = [window_start(_history(kinds[:end]), turns) for end in range(1, len(kinds) + 1)]
    assert all(start <= close for start, close in zip(starts, closely, strict=True))
    assert starts == sorted(starts)
    moves = sum(kind != "t" for kind in kinds) // step + 1
    assert len(set(starts)) <= 2 * moves  # once where the step is, once more where a human message begins it later


histories = st.text("haat", max_size=30).map(lambda kinds: _history("s" + kinds))


@given(histories, st.integers(1, 12))
def test_a_window_never_begins_with_an_answer_whose_question_is_gone(messages, turns):
    window = messages[window_start(messages, turns) :]
    humans = [message for message in messages if isinstance(message, HumanMessage)]
    assert not window or not isinstance(window[0], ToolMessage)
    assert not humans or isinstance(window[0], HumanMessage)
    assert not humans or humans[-1] in window


@given(histories, st.integers(1, 12))
def test_a_window_is_longer_than_asked_only_for_the_last_human_message(messages, turns):
    window = messages[window_start(messages, turns) :]
    spoken = [message for message in window if isinstance(message, HumanMessage | AIMessage)]
    assert len(spoken) <= turns or [m.type for m in spoken].count("human") == 1


def test_a_prompt_is_the_system_message_then_the_conversation():
    state = {"messages": [HumanMessage("Hello"), _ai("Hi")]}
    assert texts(build_prompt(state, system="Be brief.", identity="Name: Alice")) == [
        "Be brief.\n\nName: Alice",
        "Hello",
        "Hi",
    ]


def test_without_system_text_there_is_no_system_message():
    assert texts(build_prompt({"messages": [HumanMessage("Hello")]})) == ["Hello"]


def test_an_empty_state_gives_an_empty_prompt():
    assert build_prompt({}) == []


def test_each_block_stands_in_front_of_its_own_message():
    messages = [HumanMessage("one", id="1"), _ai("two", id="2"), HumanMessage("three", id="3")]
    prompt = build_prompt({"messages": messages, "memory_blocks": {"1": "A", "3": "B", "gone": "C"}})
    assert texts(prompt) == ["A\n\none", "two", "B\n\nthree"]


def test_the_messages_of_the_state_are_not_touched():
    content = [{"type": "text", "text": "Look"}]
    messages = [HumanMessage("one", id="1"), HumanMessage(content, id="2")]
    before = [message.model_copy(deep=True) for message in messages]
    build_prompt({"messages": messages, "memory_blocks": {"1": BLOCK, "2": BLOCK}})
    assert messages == before
    assert content == [{"type": "text", "text": "Look"}]


def test_a_block_goes_before_the_parts_of_a_multimodal_message():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    message = HumanMessage([{"type": "text", "text": "What is this?"}, picture], id="1")
    prompt = build_prompt({"messages": [message], "memory_blocks": {"1": BLOCK}})
    assert prompt[0].content == [{"type": "text", "text": BLOCK}, *message.content]


def test_only_human_messages_get_blocks():
    assert texts(build_prompt({"messages": [_ai("two", id="2")], "memory_blocks": {"2": BLOCK}})) == ["two"]


def test_placed_in_the_system_message_an_old_block_goes_when_nothing_is_recalled():
    state = {"messages": [HumanMessage("one", id="1"), HumanMessage("two", id="2")], "memory_blocks": {"1": "A"}}
    assert texts(build_prompt(state, system="Be brief.", placement="system")) == ["Be brief.", "one", "two"]


def test_placed_in_the_system_message_only_the_latest_block_is_there():
    messages = [HumanMessage("one", id="1"), HumanMessage("two", id="2")]
    state = {"messages": messages, "memory_blocks": {"1": "A", "2": "B"}}
    assert texts(build_prompt(state, system="Be brief.", placement="system")) == ["Be brief.\n\nB", "one", "two"]


def test_leading_system_messages_of_the_state_join_the_one_of_the_prompt():
    state = {"messages": [SystemMessage("Theirs"), HumanMessage("one")]}
    assert texts(build_prompt(state, system="Ours")) == ["Ours\n\nTheirs", "one"]


def test_system_messages_in_parts_stay_in_parts():
    parts = [{"type": "text", "text": "Theirs", "cache_control": {"type": "ephemeral"}}]
    state = {"messages": [SystemMessage(parts), HumanMessage("one")]}
    assert build_prompt(state, system="Ours")[0].content == [{"type": "text", "text": "Ours"}, *parts]


def test_only_the_window_is_sent():
    messages = _history("hahaha")
    assert texts(build_prompt({"messages": messages}, system="S", window=2, step=1)) == ["S", "4", "5"]


def test_a_summary_of_what_was_removed_stays_when_the_window_has_passed_it():
    messages = [HumanMessage("summary", additional_kwargs=SUMMARY), *_history("hahaha")]
    assert texts(build_prompt({"messages": messages}, window=2, step=1)) == ["summary", "4", "5"]


def test_a_summary_inside_the_window_is_sent_once():
    messages = [HumanMessage("summary", additional_kwargs=SUMMARY), *_history("aha")]
    assert texts(build_prompt({"messages": messages})) == ["summary", "0", "1", "2"]


def test_messages_are_found_under_another_key_and_in_objects():
    class Host:
        chat = (HumanMessage("one", id="1"),)
        memory_blocks = {"1": "A"}  # noqa: RUF012 - a host's class

    assert texts(build_prompt(Host(), messages_key="chat")) == ["A\n\none"]


def test_tuples_and_dicts_count_as_messages():
    state = {"messages": [("user", "one"), {"role": "assistant", "content": "two"}]}
    assert [message.type for message in build_prompt(state)] == ["human", "ai"]
