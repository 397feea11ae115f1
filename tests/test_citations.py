"""What an answer cites: whether it exists, whether it was shown, and how it is said in words."""

import time

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, StateGraph

from langmem_tiers import Turn
from langmem_tiers.citations import check_citations
from langmem_tiers.errors import InvalidInput, UnknownReceipt
from langmem_tiers.graphs import CitedState, build_prompt, cite_node, recall_node, track_node
from langmem_tiers.integrations import OfflineResponder, citation_runnable
from langmem_tiers.testing import ScriptedChatModel

LENA, STAMPS = "§W-001/R-01/D-001", "§W-001/R-01/D-002"
ASKED = "Where does my sister Lena live?"


@pytest.fixture
def alice(memory):
    """Somebody who has told two things."""
    alice = memory.user("alice")
    turns = ["My sister Lena moved to Porto.", "I collect stamps and old postcards."]
    alice.track([Turn(role="user", content=text, message_id=text) for text in turns], session="monday")
    memory.flush()
    return alice


@pytest.fixture
def recalled(alice):
    """A recall of the first of them."""
    return alice.recall(ASKED, session="friday", limit=1)


def _refs(cited):
    return [each.ref for each in cited]


def _kinds(checked):
    return {"found": _refs(checked.found), "not_shown": _refs(checked.not_shown), "unknown": _refs(checked.unknown)}


def test_what_was_shown_what_was_not_and_what_does_not_exist_are_told_apart(alice, recalled):
    answer = f"Porto [{LENA}]. Stamps [{STAMPS}]. Paints [§W-009/R-01/D-001]."
    checked = check_citations(alice, answer, receipt=recalled)
    assert _kinds(checked) == {"found": [LENA], "not_shown": [STAMPS], "unknown": ["§W-009/R-01/D-001"]}
    assert not checked.ok
    assert _refs(checked) == [LENA, STAMPS, "§W-009/R-01/D-001"]


def test_a_citation_has_the_words_who_said_them_and_when(alice, recalled):
    (found,) = check_citations(alice, f"Porto {LENA}", receipt=recalled).found
    assert (found.text, found.role, found.said_at) == (
        "My sister Lena moved to Porto.",
        "user",
        alice.drawer(1).said_at,
    )
    assert (found.kind, found.space, found.shown, found.places) == ("message", "users/alice", True, ((6, 23),))


@pytest.mark.parametrize("how", ["recalled", "receipt", "number", "session", "seen"])
def test_what_the_model_had_can_be_said_in_every_way(alice, recalled, how):
    given = {
        "recalled": {"receipt": recalled},
        "receipt": {"receipt": recalled.receipt},
        "number": {"receipt": recalled.receipt.number},
        "session": {"session": "friday"},
        "seen": {"seen": [recalled.block]},
    }
    checked = check_citations(alice, f"{LENA} {STAMPS}", **given[how])
    assert _kinds(checked) == {"found": [LENA], "not_shown": [STAMPS], "unknown": []}


def test_without_any_of_them_only_existence_is_checked(alice, recalled):
    checked = check_citations(alice, f"{LENA} {STAMPS}")
    assert [each.shown for each in checked.found] == [None, None]
    assert checked.ok


@pytest.mark.parametrize(
    "written",
    [
        "§W-001/R-01/D-001",
        "W-1/R-1/D-1",
        "w‑001/r‑01/d‑001",
        "**§W-001/R-01/D-001**",
        "(§W-001/R-01/D-001).",
        "[§W-001/R-01/D-001], and",
        "§ W-001/R-01/D-001!",
        "“§W-001/R-01/D-001”",
        "`§W-001/R-01/D-001`",
    ],
)
def test_a_pointer_is_found_however_a_model_writes_it(alice, written):
    assert _refs(check_citations(alice, f"In Porto {written}").found) == [LENA]


def test_entries_episodes_relations_documents_and_items_are_found(alice, memory):
    entry = alice.knowledge.save("Lena paints.", origin="user").entry.id
    relation = alice.graph.add_relation("Lena", "lives in", "Porto").relation.id
    alice.documents.write("memory/a b.md", "A note.")
    alice.end_session("monday")
    memory.flush()
    episode = alice.archive.search("Porto")[0].episode.id
    answer = (
        f"[entry {entry}] (Relation {relation}) episode {episode}, [document memory/a b.md] and again [{entry}]; "
        "[entry ffffffffffff] [document b.md] [item nothing]"
    )
    checked = check_citations(alice, answer)
    assert [each.kind for each in checked.found] == ["entry", "relation", "episode", "document"]
    assert len(checked.found[0].places) == 2
    assert [(each.kind, each.ref) for each in checked.unknown] == [
        ("entry", "ffffffffffff"),
        ("document", "b.md"),
        ("item", "nothing"),
    ]


def test_an_entry_in_a_block_was_shown(alice):
    entry = alice.knowledge.save("Lena paints watercolours of harbours.", origin="user").entry.id
    recalled = alice.recall("What does Lena paint, harbours?", session="friday")
    assert f"[entry {entry}]" in recalled.block
    for given in ({"session": "friday"}, {"receipt": recalled}, {"seen": [recalled.block]}):
        assert _refs(check_citations(alice, f"[entry {entry}]", **given).found) == [entry]


def test_what_a_fallback_holds_is_cited_with_its_name(memory, alice):
    team = memory.space("teams/research")
    team.track([Turn(role="user", content="The launch moved to May.", message_id="1")], session="standup")
    reader = memory.user("bob", fallbacks=["teams/research"])
    ref = f"{LENA}@teams/research"
    (found,) = check_citations(reader, f"In May [{ref}].").found
    assert (found.ref, found.space) == (ref, "teams/research")
    assert _refs(check_citations(alice, f"In May [{ref}].").unknown) == [ref]
    assert "somebody said in teams/research on 2 March 2026" in check_citations(reader, ref).render("inline")


def test_a_session_can_be_cited(alice, recalled):
    checked = check_citations(alice, "We spoke of it (§W-001/R-01).", receipt=recalled)
    assert [(each.kind, each.text) for each in checked.found] == [("session", "monday")]
    assert "according to our conversation of 2 March 2026" in checked.render("inline")
    assert _refs(check_citations(alice, "§W-001/R-07").unknown) == ["§W-001/R-07"]


def test_what_was_said_later_against_it_is_told(alice):
    alice.track([Turn(role="user", content="My sister Lena moved to Rome.", message_id="x")], session="monday")
    entry = alice.knowledge.save("Lena lives in Porto.", origin="user").entry
    alice.knowledge.deactivate(entry.id, origin="user")
    (found,) = check_citations(alice, f"[entry {entry.id}]").found
    assert found.ended == ("put aside: removed",)


# In words.


def test_notes_are_footnotes_with_the_quoted_words(alice, recalled):
    answer = f"She lives in Porto [{LENA}], as you said ({LENA}; {STAMPS})."
    assert check_citations(alice, answer, receipt=recalled).render() == (
        "She lives in Porto[^m1], as you said[^m1][^m2].\n"
        "\n"
        f"[^m1]: According to what you said on 2 March 2026 ({LENA}): “My sister Lena moved to Porto.”\n"
        f"[^m2]: According to what you said on 2 March 2026 ({STAMPS}; it is stored, but was not shown for this "
        "answer): “I collect stamps and old postcards.”"
    )


def test_inline_it_stands_where_it_is_cited(alice):
    said = "what you said on 2 March 2026"
    for answer, shown in (
        (f"In Porto [{LENA}].", f"In Porto (according to {said}, {LENA})."),
        (f"According to {LENA}, in Porto.", f"According to {said} ({LENA}), in Porto."),
        ("In Rome (W-9/R-9/D-9).", "In Rome (something that is not in the memory, §W-009/R-09/D-009)."),
    ):
        assert check_citations(alice, answer).render("inline") == shown


def test_an_answer_that_cites_nothing_stays_as_it_is(alice):
    answer = "Good morning! [1] [^2] [a link](https://example.org) [deadbeefcafe](https://example.org)\n"
    checked = check_citations(alice, answer)
    assert checked.ok
    assert [checked.render(style) for style in ("notes", "inline")] == [answer, answer]


def test_labels_of_notes_are_not_those_of_the_answer(alice):
    shown = check_citations(alice, f"Porto [{LENA}], rain[^m1].\n\n[^m1]: It rains.").render()
    assert "Porto[^memory-1], rain[^m1]." in shown


HOSTILE = [
    "<script>alert(1)</script>",
    "![x](https://evil.example/?q=1)",
    "[click](javascript:alert(1))",
    "https://evil.example www.evil.example",
    "`code` *em* _em_ ~~del~~ | table | # head",
    "&lt;b&gt; &#x3c;",
    "”\n\n# Heading\n\n- item",
    "\x1b[31mred\x1b[0m \u202eright to left\u200b",
]


@pytest.mark.parametrize("said", HOSTILE)
def test_stored_text_is_no_markup_and_obeys_nobody(memory, said):
    import markdown_it

    mallory = memory.user("mallory")
    turn = Turn(role="user", content=f"Note {said} end", origin="import", speaker=f"M {said[:40]}", message_id="1")
    mallory.track([turn], session="s")
    checked = check_citations(mallory, f"Yes [{LENA}].")
    note = checked.render().partition("\n\n")[2]
    assert note.count("\n") == 0
    assert all(sign.isprintable() for sign in note)
    tokens = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).parseInline(note.partition(": ")[2])[0].children
    assert {each.type for each in tokens} <= {"text", "text_special"}
    assert all(sign.isprintable() or sign == "\n" for sign in checked.render(markup="text"))


def test_a_message_of_langchain_and_content_blocks_are_read(alice):
    blocks = [
        {"type": "reasoning", "reasoning": STAMPS},
        {"type": "text", "text": f"Porto [{LENA}]"},
        {"type": "tool_use", "id": "1", "name": "x", "input": {"text": STAMPS}},
    ]
    for answer in (AIMessage(blocks), blocks, AIMessage(f"Porto [{LENA}]"), {"content": f"Porto [{LENA}]"}):
        assert _refs(check_citations(alice, answer).found) == [LENA]


@pytest.mark.parametrize("answer", [None, 5, object(), {"content": None}, b"x"])
def test_what_has_no_text_is_refused(alice, answer):
    with pytest.raises(InvalidInput, match="answer"):
        check_citations(alice, answer)


def test_wrong_arguments_are_named(alice):
    with pytest.raises(UnknownReceipt):
        check_citations(alice, LENA, receipt=99)
    with pytest.raises(InvalidInput, match="receipt"):
        check_citations(alice, LENA, receipt="last")
    with pytest.raises(InvalidInput, match="seen"):
        check_citations(alice, LENA, seen="text")
    with pytest.raises(InvalidInput, match="style"):
        check_citations(alice, LENA).render("footnotes")
    with pytest.raises(InvalidInput, match="markup"):
        check_citations(alice, LENA).render(markup="html")


@pytest.mark.parametrize(
    "answer",
    [
        "\ud800 [document \ud800] [item \ud800]",
        "[document ../../etc/passwd] [document §W-001/R-01/D-001] [document 1]",
        "§W-999999999999999999/R-999999999999999999/D-999999999999999999",
        f"{LENA}@nowhere {LENA}@../../x",
        "[entry ' or 1=1 --] entry level position, entry deadbeef",
    ],
)
def test_a_hostile_answer_finds_nothing_and_breaks_nothing(alice, answer):
    checked = check_citations(alice, answer)
    assert checked.found == ()
    checked.render()
    checked.render("inline", markup="text")


@pytest.mark.parametrize("sign", ["[", "§W-001/R-01/", "[^m", "(" * 8, "entry ", "a" * 12 + " ", "§W-001/R-01/D-001@a"])
def test_a_huge_answer_takes_no_time(alice, sign):
    began = time.process_time()
    check_citations(alice, sign * (300_000 // len(sign))).render()
    assert time.process_time() - began < 4


def test_of_more_citations_than_anybody_checks_the_rest_is_counted(alice):
    checked = check_citations(alice, " ".join(f"W-1/R-1/D-{n}" for n in range(1, 301)))
    assert (len(checked.found), len(checked.unknown), checked.left_out) == (2, 198, 100)
    assert not checked.ok


# In graphs and chains.


def _graph(memory, model, **options):
    def answer(state: CitedState) -> dict:
        return {"messages": [model.invoke(build_prompt(state))]}

    builder = StateGraph(CitedState)
    builder.add_sequence([recall_node(memory), answer, track_node(memory), cite_node(memory, **options)])
    builder.add_edge(START, "recall")
    return builder.compile()


RUN = {"configurable": {"user_id": "alice", "thread_id": "friday"}}


def test_the_node_says_what_the_reply_cites_and_leaves_the_messages_alone(memory, alice):
    reply = f"In Porto [{LENA}], and [§W-009/R-09/D-009]."
    graph = _graph(memory, ScriptedChatModel(responses=[reply]), style="inline")
    parts = list(graph.stream({"messages": ASKED}, RUN, stream_mode=["custom", "values"]))
    state = [part for mode, part in parts if mode == "values"][-1]
    told = state["memory_citations"]
    assert state["messages"][-1].text == reply
    assert (told["message"], told["ok"]) == (state["messages"][-1].id, False)
    assert (told["found"], told["unknown"]) == ([LENA], ["§W-009/R-09/D-009"])
    assert told["text"].startswith("In Porto (according to what you said on 2 March 2026")
    (event,) = [part for mode, part in parts if mode == "custom" and part["type"] == "memory_cited"]
    assert event == {"type": "memory_cited", **{name: told[name] for name in told if name != "text"}}


def test_the_offline_responder_cites_what_it_quotes(memory, alice):
    state = _graph(memory, OfflineResponder()).invoke({"messages": ASKED}, RUN)
    assert state["memory_citations"]["ok"]
    assert LENA in state["memory_citations"]["found"]


def test_what_a_tool_of_the_thread_showed_was_shown(memory, alice):
    graph = _graph(memory, ScriptedChatModel(responses=[f"Stamps [{STAMPS}]."]))
    called = AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "1"}])
    messages = [called, ToolMessage(f"[{STAMPS}] I collect stamps", tool_call_id="1"), ("user", "ok")]
    assert graph.invoke({"messages": messages}, RUN)["memory_citations"]["found"] == [STAMPS]


def test_a_run_of_nobody_goes_on_without_citations(memory, alice):
    state = _graph(memory, ScriptedChatModel(responses=["Yes."])).invoke({"messages": ASKED})
    assert state["messages"][-1].text == "Yes."


def test_the_step_of_a_chain_gives_the_text(memory, alice, recalled):
    step = citation_runnable(memory, style="inline")
    shown = step.invoke(AIMessage(f"In Porto [{LENA}]."), RUN)
    assert shown == f"In Porto (according to what you said on 2 March 2026, {LENA})."
    assert step.invoke("In Porto.", {}) == "In Porto."


async def test_the_step_is_the_same_asynchronously(memory, alice, recalled):
    step = citation_runnable(memory)
    assert await step.ainvoke(f"In Porto [{LENA}].", RUN) == step.invoke(f"In Porto [{LENA}].", RUN)
