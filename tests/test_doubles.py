"""The shipped test doubles keep their promises."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from langmem_tiers.errors import NaiveDatetime
from langmem_tiers.testing import FrozenClock, HashEmbedder, ScriptedChatModel


def similarity(left: str, right: str) -> float:
    embedder = HashEmbedder()
    return float(np.dot(embedder.embed_query(left), embedder.embed_query(right)))


def test_the_clock_stands_still_until_it_is_told_to_move():
    clock = FrozenClock(datetime(2024, 5, 8, 12, tzinfo=UTC))
    assert clock() == clock() == datetime(2024, 5, 8, 12, tzinfo=UTC)
    assert clock.tick(90) == clock() == datetime(2024, 5, 8, 12, 1, 30, tzinfo=UTC)


def test_the_clock_refuses_a_time_without_a_zone():
    with pytest.raises(NaiveDatetime):
        FrozenClock(datetime(2024, 5, 8))


def test_texts_that_share_words_are_similar_and_others_are_not():
    text = "Judith adopted a dog in May"
    assert similarity("When did Judith adopt the dogs?", text) > 0.7
    assert abs(similarity("quarterly invoices, Berlin office", text)) < 0.3


def test_hash_vectors_have_length_one_and_are_zero_without_words():
    embedder = HashEmbedder(dimension=1000)
    assert np.linalg.norm(embedder.embed_query("what is it")) == pytest.approx(1)
    assert embedder.embed_query(" ... ") == [0.0] * 1000


def test_hash_vectors_are_the_same_in_another_process():
    code = "from langmem_tiers.testing import HashEmbedder; print(HashEmbedder(8).embed_query('Café 東京'))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(HashEmbedder(8).embed_query("Café 東京"))


def test_the_hash_embedder_counts_texts_and_can_be_out():
    embedder = HashEmbedder()
    embedder.embed_documents(["one", "two"])
    embedder.embed_query("three")
    embedder.outage = ConnectionError("down")
    with pytest.raises(ConnectionError, match="down"):
        embedder.embed_query("four")
    assert (embedder.documents_embedded, embedder.queries_embedded) == (2, 1)


def test_the_script_is_followed_and_its_last_response_repeats():
    model = ScriptedChatModel(
        responses=["one", AIMessage("two", id="fixed"), lambda messages: messages[-1].text.upper()]
    )
    assert [model.invoke(text).text for text in "abcd"] == ["one", "two", "C", "D"]
    assert [request[-1].text for request in model.requests] == list("abcd")


def test_repeated_answers_have_ids_of_their_own():
    model = ScriptedChatModel(responses=[AIMessage("same", id="fixed")])
    assert model.invoke("a").id != model.invoke("b").id


def test_an_exception_in_the_script_is_raised_and_the_script_goes_on():
    model = ScriptedChatModel(responses=[TimeoutError("slow"), "fine"])
    with pytest.raises(TimeoutError, match="slow"):
        model.invoke("a")
    assert model.invoke("b").text == "fine"


def test_streaming_by_words_adds_up_to_the_message():
    answer = AIMessage(
        " Two words,\n more ",
        tool_calls=[{"name": "search", "args": {"query": "x"}, "id": "1"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    )
    chunks = list(ScriptedChatModel(responses=[answer]).stream("go"))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert [chunk.text for chunk in chunks if chunk.text] == [" Two", " words,", "\n more "]
    assert (whole.text, whole.usage_metadata) == (answer.text, answer.usage_metadata)
    assert [(call["name"], call["args"], call["id"]) for call in whole.tool_calls] == [("search", {"query": "x"}, "1")]


def test_content_blocks_are_streamed_whole():
    blocks = [{"type": "text", "text": "two words"}]
    chunks = list(ScriptedChatModel(responses=[AIMessage(blocks)]).stream("go"))
    assert [chunk.text for chunk in chunks if chunk.text] == ["two words"]


async def test_the_async_calls_follow_the_same_script():
    model = ScriptedChatModel(responses=["first answer", "second answer"])
    streamed = [chunk.text async for chunk in model.astream("a")]
    assert "".join(streamed) == "first answer"
    assert (await model.ainvoke([HumanMessage("b")])).text == "second answer"
    assert len(model.requests) == 2


def test_bound_tools_reach_the_options_of_the_call():
    @tool
    def search(query: str) -> str:
        """Look something up."""
        return query

    model = ScriptedChatModel(responses=["ok"])
    model.bind_tools([search], tool_choice="any").invoke("go")
    (options,) = model.options
    assert options["tools"][0]["function"]["name"] == "search"
    assert options["tool_choice"] == "any"
