"""Flushing: before a history is compacted its facts are saved, once, within calls and seconds, whatever happens."""

import asyncio
import json
import subprocess
import sys
import threading

import pytest
from filelock import FileLock
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware, before_model
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from pydantic import BaseModel

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import InvalidSettings, MissingUser, TextTooLong
from langmem_tiers.graphs import MemoryInput, MemoryState, flush_before_compaction, flush_node, track_node
from langmem_tiers.models.asker import RationedAsker
from langmem_tiers.models.calls import Prompt
from langmem_tiers.records import Evidence
from langmem_tiers.settings import FlushSettings, PrivacySettings, TextSettings
from langmem_tiers.storage import change_log
from langmem_tiers.storage.schema import mined_windows
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from langmem_tiers.writing.flushing import due
from langmem_tiers.writing.mining import Miner, mine
from tests.graphing import run, texts

LISBON = "My sister Anna lives in Lisbon."
TOLD = "The user's sister Anna lives in Lisbon."
NOTE = "memory/2026-03-02.md"
LINE = f"- 2026-03-02: {TOLD} [§W-001/R-01/D-001]\n"
SHORT = FlushSettings(messages=2)


class InWords(ScriptedChatModel):
    """A model that cannot be given a schema, so that every reply is one call."""

    def with_structured_output(self, schema, **_):
        raise NotImplementedError


def fact(content=TOLD, quote="sister Anna lives in Lisbon", turn=1, **more):
    return {"content": content, "kind": "fact", "quote": quote, "turn": turn, "corrects": "", **more}


def reply(*facts) -> str:
    return json.dumps({"topics": [], "subject": "", "facts": facts, "entities": [], "relations": []})


def human(text, message_id=None, **more):
    return HumanMessage(text, id=message_id or f"h-{text}", **more)


def talk(turns, *first):
    """So many messages: those given, then small talk with enough words to ask a model about."""
    chat = [human(f"The weather report on channel {number} looked gloomy yesterday.") for number in range(turns)]
    return [*first, *chat][:turns]


@pytest.fixture
def opened(tmp_path, clock):
    """Opens a memory whose model answers from a script, or that has none; settings by their section."""
    memories = []

    def open_it(*responses, model=None, embedder=None, **sections):
        scripted = model or (InWords(responses=list(responses)) if responses else None)
        settings = Settings(**{"flush": SHORT, **sections})
        folder = tmp_path / f"m{len(memories)}"
        memory = Memory.open(
            folder, embedder=embedder, background=False, clock=clock, settings=settings, model=scripted
        )
        memories.append(memory)
        return memory

    yield open_it
    for memory in memories:
        memory.close()


def flushed(memory, messages, space="users/alice", session="friday", **more):
    return flush_before_compaction(memory, space, messages, session=session, **more)


def note(memory, user="alice", path=NOTE):
    document = memory.user(user).documents.read(path)
    return "" if document is None else document.content


def known(memory, user="alice"):
    return [found.entry.content for found in memory.user(user).knowledge.search(limit=1000)]


def head(memory, user="alice"):
    with memory.use(f"users/{user}") as store, store.reading() as connection:
        return change_log.head(connection, store.key)


def paths_mined(memory):
    with memory.use("users/alice") as store, store.reading() as connection:
        return [row.path for row in connection.execute(mined_windows.select().order_by(mined_windows.c.first_place))]


def mine_in_background(memory, **more):
    with memory.use("users/alice") as store:
        context = memory.context(store.name)
        return mine(Miner(context=context, store=store, asker=context.asker(store), **more))


def graph(memory, *after, state=MemoryState, **options):
    builder = StateGraph(state)
    builder.add_sequence([flush_node(memory, on_error="raise", **options), *after])
    builder.add_edge(START, "flush")
    return builder.compile()


def events(compiled, messages, config=None):
    return list(compiled.stream({"messages": messages}, config or run(), stream_mode="custom"))


# When


@pytest.mark.parametrize(
    ("messages", "tokens", "window", "expected"),
    [
        (50, 0, None, False),
        (51, 0, None, True),
        (1, 850, 1000, False),
        (1, 851, 1000, True),
        (1, 10**9, None, False),
    ],
)
def test_a_history_is_flushed_beyond_50_messages_or_85_percent_of_the_window(messages, tokens, window, expected):
    limits = Settings().flush
    assert due(limits, messages=messages, tokens=lambda: tokens, context_window=window) is expected


def test_a_short_history_is_left_alone(opened):
    memory = opened()
    assert events(graph(memory), [human(LISBON), AIMessage("Nice.")]) == []
    assert memory.user("alice").drawers() == ()


def test_a_full_context_window_is_reason_enough(opened):
    memory = opened(flush=FlushSettings())
    assert flushed(memory, [human(LISBON)], context_window=10) is None
    assert flushed(memory, [human(LISBON)], context_window=9).document == NOTE


def test_what_tools_were_called_with_fills_the_window_too(opened):
    memory = opened(flush=FlushSettings())
    call = AIMessage("", tool_calls=[{"name": "write", "args": {"text": "word " * 100}, "id": "1"}])
    assert flushed(memory, [human(LISBON), call], context_window=100) is not None


@pytest.mark.parametrize("window", [0, -1])
def test_a_context_window_has_tokens(opened, window):
    memory = opened()
    with pytest.raises(InvalidSettings):
        flush_node(memory, context_window=window)
    with pytest.raises(InvalidSettings):
        flushed(memory, [], context_window=window)


# What is saved


def test_facts_go_into_the_knowledge_and_the_note_of_the_day(opened):
    memory = opened()
    report = flushed(memory, [human(LISBON), AIMessage("How nice!"), human("Yes.")])
    assert (report.turns, report.document, report.path, report.calls) == (3, NOTE, "rule", 0)
    assert (known(memory), note(memory)) == ([TOLD], LINE)
    assert [memory.user("alice").knowledge.get(each).content for each in report.noted] == [TOLD]


def test_a_model_finds_facts_decisions_and_actions(opened):
    decided = fact("The user will take the night train.", "take the night train", 2, kind="decision")
    memory = opened(reply(fact(), decided))
    report = flushed(memory, [human(LISBON), human("OK, let us take the night train then."), AIMessage("Done.")])
    assert (report.path, report.calls) == ("model", 1)
    assert note(memory) == f"{LINE}- 2026-03-02: The user will take the night train. [§W-001/R-01/D-002]\n"


def test_a_line_bears_the_date_on_which_it_was_said(opened, clock):
    memory = opened()
    clock.tick(86_400)
    said = {"additional_kwargs": {"timestamp": "2026-02-14T10:00:00+00:00"}}
    flushed(memory, talk(3, human(LISBON, **said)))
    assert note(memory, path="memory/2026-03-03.md") == LINE.replace("2026-03-02", "2026-02-14")


def test_what_stood_in_the_note_stays_and_the_least_trusted_stands_behind_it(opened):
    memory = opened()
    memory.user("alice").documents.write(NOTE, "# Monday", origin="assistant")
    flushed(memory, talk(3, human(LISBON)))
    document = memory.user("alice").documents.read(NOTE)
    assert (document.content, document.origin) == (f"# Monday\n{LINE}", "assistant")


def test_what_two_conversations_say_stands_in_the_note_once(opened):
    memory = opened()
    flushed(memory, talk(3, human(LISBON)))
    report = flushed(memory, talk(3, human(LISBON)), session="saturday")
    assert (report.noted, note(memory)) == ((), LINE)


def test_a_correction_leaves_only_what_holds(opened):
    porto = "The user's sister Anna lives in Porto."
    right = fact(porto, "she lives in Porto", 2, kind="correction", corrects="Lisbon")
    memory = opened(reply(fact(), right))
    flushed(memory, talk(3, human(LISBON), human("No, I was wrong, she lives in Porto.")))
    assert note(memory) == f"- 2026-03-02: {porto} [§W-001/R-01/D-002]\n"


def test_what_another_conversation_brought_is_noted_on_the_day_it_is_said_again(opened, clock):
    memory = opened()
    flushed(memory, talk(3, human(LISBON)), session="monday")
    flushed(memory, talk(3))
    clock.tick(86_400)
    flushed(memory, [*talk(3), human(LISBON)])
    assert note(memory, path="memory/2026-03-03.md").startswith(f"- 2026-03-03: {TOLD}")


def test_what_was_mined_before_is_noted_without_asking_again(opened):
    memory = opened(reply(fact()))
    graph_of_the_host = StateGraph(MemoryState)
    graph_of_the_host.add_sequence([track_node(memory)])
    graph_of_the_host.add_edge(START, "track")
    history = talk(3, human(LISBON))
    graph_of_the_host.compile().invoke({"messages": history}, run())
    mine_in_background(memory)
    report = flushed(memory, history)
    assert (report.calls, report.path, note(memory)) == (0, None, LINE)


def test_a_note_that_is_no_text_keeps_its_bytes_and_the_facts_are_saved_all_the_same(opened, tmp_path):
    memory = opened()
    folder = tmp_path / "notes" / "memory"
    folder.mkdir(parents=True)
    (folder / "2026-03-02.md").write_bytes(b"\xff\xfe\x00")
    memory.user("alice").documents.import_folder(tmp_path / "notes")
    report = flushed(memory, talk(3, human(LISBON)))
    assert (report.document, report.noted, known(memory)) == (None, (), [TOLD])
    assert "no text" in report.reason


def test_a_secret_does_not_reach_the_note(opened):
    key = "AKIA" + "QYLPMN5HIEXMPL2Z"
    memory = opened(privacy=PrivacySettings(drawers="keep"))
    flushed(memory, talk(3, human(f"My access key is {key} and my sister Anna lives in Lisbon.")))
    assert key not in note(memory)


def test_what_is_deleted_is_no_longer_in_the_note_and_does_not_come_back(opened):
    memory = opened()
    history = talk(3, human(LISBON), human("My brother Tom lives in Oslo."))
    flushed(memory, history)
    (anna,) = (found.entry for found in memory.user("alice").knowledge.search("Anna"))
    assert "Anna" in note(memory)
    assert memory.user("alice").documents.append(NOTE, "Ask Anna about Lisbon.").content.count("Anna") == 2
    memory.user("alice").knowledge.delete(anna.id)
    assert "lives in Lisbon" not in note(memory)
    assert "Tom lives in Oslo" in note(memory)
    assert "Ask Anna about Lisbon." in note(memory)
    flushed(memory, [*history, human("It rains in Oslo.")])
    flushed(memory, history, session="saturday")
    assert "lives in Lisbon" not in note(memory)
    assert memory.user("alice").documents.search("Where does my sister Anna live?")[0].text.count("sister") == 0


def test_a_note_of_which_nothing_is_left_goes(opened):
    memory = opened()
    flushed(memory, talk(3, human(LISBON)))
    (anna,) = (found.entry for found in memory.user("alice").knowledge.search("Anna"))
    memory.user("alice").knowledge.delete(anna.id)
    assert memory.user("alice").documents.list() == ()


@pytest.mark.parametrize("quote", ["sister Anna", "Anna lives in Lisbon", LISBON])
def test_other_words_for_a_deleted_fact_do_not_come_back_out_of_the_same_sentence(opened, quote):
    memory = opened(reply(fact("Lisbon is home to Anna.", quote=quote)))
    history = talk(3, human(LISBON))
    memory.user("alice").track([Turn(role="user", content=LISBON, message_id=f"h-{LISBON}")], session="friday")
    saved = memory.user("alice").knowledge.save(TOLD, evidence=[Evidence(drawer=1, quote="lives in Lisbon")])
    memory.user("alice").knowledge.delete(saved.entry.id)
    report = flushed(memory, history)
    assert [each.reason for mined in report.mined for each in mined.refused] == ["it was deleted"]
    assert (note(memory), known(memory)) == ("", [])


def test_the_activity_log_tells_of_it(opened):
    memory = opened()
    report = flushed(memory, talk(3, human(LISBON)))
    (activity,) = memory.user("alice").knowledge.activity(kind="memory_flushed")
    assert activity.session == "friday"
    assert activity.body["noted"] == list(report.noted)
    assert (activity.body["document"], activity.body["places"]) == (NOTE, [1, 3])


# Once


def test_the_same_history_again_changes_nothing(opened):
    memory = opened(reply(fact()))
    history = talk(3, human(LISBON))
    flushed(memory, history)
    before = head(memory)
    again = flushed(memory, history)
    assert len(memory.user("alice").knowledge.activity(kind="memory_flushed")) == 1
    assert (again.turns, again.noted, again.calls, head(memory), note(memory)) == (0, (), 0, before, LINE)
    assert events(graph(memory), history) == []


def test_later_only_what_is_new_is_flushed(opened):
    memory = opened()
    history = talk(3, human(LISBON))
    flushed(memory, history)
    report = flushed(memory, [*history, human("I prefer tea over coffee.")])
    assert (report.turns, len(report.noted)) == (1, 1)
    assert note(memory).startswith(LINE)
    assert len(note(memory).splitlines()) == 2


def test_a_history_that_stays_long_costs_a_call_a_window_not_one_a_turn(opened):
    model = InWords(responses=[reply()])
    memory = opened(model=model)
    for turns in range(3, 24):
        flushed(memory, talk(turns))
    assert len(model.requests) == 3  # of the first three turns, and of two windows of ten


def test_what_the_model_finds_later_in_turns_that_were_glanced_at_is_noted_with_the_next_flush(opened):
    tea = fact("The user likes green tea.", "green tea is lovely", 1)
    memory = opened(reply(), reply(tea))
    flushed(memory, talk(3))
    flushed(memory, history := [*talk(3), human("Well, green tea is lovely, is it not?")])
    assert note(memory) == ""
    mine_in_background(memory)
    assert flushed(memory, history).noted
    assert "The user likes green tea." in note(memory)


def test_after_an_edit_the_new_wording_is_flushed(opened):
    memory = opened()
    flushed(memory, talk(3, human("Hello there.", "1")))
    flushed(memory, talk(3, human(LISBON, "1")))
    assert TOLD in note(memory)


# Within calls and seconds


def test_no_more_calls_than_steps_the_rest_is_read_by_rule_and_later_by_the_model(opened):
    model = InWords(responses=[reply()])
    memory = opened(model=model)
    late = human(LISBON)
    report = flushed(memory, [*talk(70), late])
    assert (len(model.requests), report.calls) == (5, 5)
    assert paths_mined(memory) == ["model"] * 5 + ["again"] * 3
    assert TOLD in note(memory)
    mine_in_background(memory)
    assert paths_mined(memory) == ["model"] * 8


def test_repairs_count_as_calls(opened):
    model = InWords(responses=["I cannot do that as JSON."])
    memory = opened(model=model, flush=FlushSettings(messages=2, steps=3))
    report = flushed(memory, talk(40, human(LISBON)))
    assert (len(model.requests), report.calls, report.path) == (3, 3, "rule")
    assert paths_mined(memory) == ["rule", "again", "again", "again"]
    assert TOLD in note(memory)


def test_a_model_that_hangs_holds_up_a_flush_no_longer_than_its_time(opened):
    released = threading.Event()

    def hang(_):
        released.wait(20)  # beyond the time of the flush: the reply must not be waited for
        return reply()

    model = InWords(responses=[hang])
    memory = opened(model=model, flush=FlushSettings(messages=2, timeout_seconds=1))
    report = flushed(memory, talk(40, human(LISBON)))
    released.set()
    assert len(model.requests) == 1
    assert (report.path, TOLD in note(memory), paths_mined(memory)) == ("rule", True, ["again"] * 4)


class Answer(BaseModel):
    facts: list[str]


def test_both_colours_of_a_rationed_asker_keep_to_the_ration(opened):
    memory = opened('{"facts": []}')
    asked = {"schema": Answer, "prompt": Prompt(system="s", user="u"), "source": "memory_extract"}
    with memory.use("users/alice") as store:
        asker = memory.context(store.name).asker(store)
        first, second = (RationedAsker(asker, calls=1, seconds=60) for _ in range(2))
        answers = [first.ask(**asked), first.ask(**asked)]
        others = asyncio.run(_twice(second, asked))
    for some in (answers, others):
        assert [(each.failure, each.reason) for each in some] == [
            (None, ""),
            ("resting", "resting: no more than 1 calls at once"),
        ]


async def _twice(asker, asked):
    return [await asker.aask(**asked), await asker.aask(**asked)]


# Whatever the model does

FAILURES = {
    "empty": "",
    "prose": "There is nothing here worth keeping, my friend.",
    "cut off": '{"facts": [{"content": "The us',
    "huge": "x" * 1_000_000,
    "thoughts": "<think>hm, what to say",
    "orders": "delete everything",
    "error": RuntimeError("HTTP 500"),
    "timeout": TimeoutError("no reply"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_where_the_model_fails_the_rules_save_what_they_find(opened, failure):
    memory = opened(FAILURES[failure])
    report = flushed(memory, talk(3, human(LISBON)))
    assert (report.path, note(memory)) == ("rule", LINE)
    assert report.reason


def test_an_invented_quote_is_refused_and_told(opened):
    memory = opened(reply(fact(), fact("The user owns a boat.", "I own a boat")))
    report = flushed(memory, talk(3, human(LISBON)))
    assert [each.content for mined in report.mined for each in mined.refused] == ["The user owns a boat."]
    assert note(memory) == LINE


def test_text_in_other_scripts_and_emoji_is_kept_by_a_model_and_never_garbled_by_rules(opened):
    history = [human("我妹妹安娜住在里斯本。"), human("👩‍👧‍👦🎉"), AIMessage("好的"), human("谢谢")]
    told = fact("用户的妹妹安娜住在里斯本。", "妹妹安娜住在里斯本")
    by_rule, by_model = opened(), opened(reply(told))
    flushed(by_rule, history)
    flushed(by_model, history)
    assert note(by_rule) == ""
    assert note(by_model) == "- 2026-03-02: 用户的妹妹安娜住在里斯本。 [§W-001/R-01/D-001]\n"


def test_a_history_without_anything_to_keep_makes_no_note(opened):
    memory = opened(reply())
    report = flushed(memory, [human("👍", str(number)) for number in range(5)])
    assert (report.turns, report.document, memory.user("alice").documents.list()) == (5, None, ())


# What is never mined


def test_only_what_a_person_said_is_mined(opened):
    memory = opened()
    history = [
        SystemMessage(LISBON),
        AIMessage(LISBON),
        ToolMessage(LISBON, tool_call_id="1"),
        human(LISBON, additional_kwargs={"lc_source": "summarization"}),
    ]
    assert flushed(memory, history).noted == ()
    assert [drawer.role for drawer in memory.user("alice").drawers()] == ["assistant"]
    assert (known(memory), note(memory)) == ([], "")


def test_a_recalled_block_in_a_message_is_not_mined(opened):
    memory = opened()
    flushed(memory, talk(3, human(LISBON)))
    block = memory.user("alice").recall("Where does my sister Anna live?", session="t").block
    assert LISBON in block
    report = flushed(memory, talk(3, human(f"{block}\n\nWhere does she live?")), session="u")
    assert (report.noted, note(memory)) == ((), LINE)


# One at a time


@pytest.mark.folder
def test_while_another_flush_holds_the_space_nothing_but_the_turns_is_stored(opened):
    memory = opened()
    history = talk(3, human(LISBON))
    with memory.use("users/alice") as store:
        folder = store.folder
    with FileLock(folder / "flush.lock", thread_local=False):
        (event,) = _in_thread(lambda: events(graph(memory), history))
    assert event["skipped"] == "another flush of this space is under way"
    assert (len(memory.user("alice").drawers()), known(memory)) == (3, [])
    assert flushed(memory, history).noted


def _in_thread(call):
    done = []
    thread = threading.Thread(target=lambda: done.append(call()))
    thread.start()
    thread.join(30)
    return done[0]


@pytest.mark.folder
def test_another_process_is_waited_for_by_nobody(opened, offline_environment):
    memory = opened()
    with memory.use("users/alice") as store:
        lock = store.folder / "flush.lock"
    script = (
        "import sys; from filelock import FileLock\n"
        "with FileLock(sys.argv[1]):\n    print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(lock)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=offline_environment, **pipes) as other:
        assert other.stdout.readline() == "held\n"
        assert flushed(memory, talk(3, human(LISBON))).skipped
        other.communicate("")
    assert not flushed(memory, talk(3, human(LISBON))).skipped


@pytest.mark.folder
def test_users_do_not_wait_for_each_other_nor_see_each_others_notes(opened):
    memory = opened()
    with memory.use("users/alice") as store:
        lock = FileLock(store.folder / "flush.lock")
    with lock:
        report = flushed(memory, talk(3, human("My sister Anna lives in Rome.")), space="users/bob")
    flushed(memory, talk(3, human(LISBON)))
    assert (report.skipped, note(memory)) == ("", LINE)
    assert (known(memory), known(memory, "bob")) == ([TOLD], ["The user's sister Anna lives in Rome."])
    assert "Lisbon" not in note(memory, "bob")


# In graphs


def test_the_node_tells_the_custom_stream_and_writes_nothing_into_the_state(opened):
    memory = opened()
    history = talk(3, human(LISBON))
    (event,) = events(graph(memory), history)
    assert event == {
        "type": "memory_flushed",
        "turns": 3,
        "noted": 1,
        "document": NOTE,
        "path": "rule",
        "calls": 0,
        "skipped": "",
    }
    assert flush_node(memory).invoke({"messages": talk(4)}, run()) == {}


async def test_the_node_does_the_same_in_async_graphs(opened):
    memory = opened()
    await graph(memory).ainvoke({"messages": talk(3, human(LISBON))}, run())
    assert note(memory) == LINE


def test_messages_are_found_under_another_key(opened):
    memory = opened()
    node = flush_node(memory, messages_key="dialogue")
    node.invoke({"dialogue": talk(3, human(LISBON))}, run())
    assert note(memory) == LINE


def test_a_summary_after_a_flush_loses_no_fact(opened):
    memory = opened(embedder=HashEmbedder(), flush=FlushSettings())

    def summarize(state: MemoryInput):
        summary = human("We talked.", "summary", additional_kwargs={"lc_source": "summarization"})
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), summary, state["messages"][-1]]}

    state = graph(memory, summarize).invoke({"messages": talk(60, human(LISBON))}, run())
    memory.flush()
    alice = memory.user("alice")
    assert len(state["messages"]) == 2
    assert (known(memory), note(memory)) == ([TOLD], LINE)
    assert LISBON in alice.recall("Where does my sister Anna live?", session="saturday").block
    assert [hit.path for hit in alice.documents.search("sister Anna Lisbon")] == [NOTE]


def test_it_goes_before_the_summarizer_of_langchain(opened):
    memory = opened()
    model = ScriptedChatModel(responses=["Fine."])
    summarizer = ScriptedChatModel(responses=["They talked about the weather."])

    @before_model
    def save(state, runtime):
        flush_before_compaction(memory, "users/alice", state["messages"], 1000, session="friday")

    summarize = SummarizationMiddleware(summarizer, trigger=("messages", 3), keep=("messages", 1))
    agent = create_agent(model, middleware=[save, summarize], checkpointer=InMemorySaver())
    for text in (LISBON, "It rains here today.", "How are you?"):
        state = agent.invoke({"messages": [human(text)]}, run())
    assert [message.additional_kwargs.get("lc_source") for message in state["messages"]] == [
        "summarization",
        None,
        None,
    ]
    assert LISBON not in "".join(texts(state["messages"]))
    assert (note(memory), known(memory)) == (LINE, [TOLD])
    stored = [drawer.content for drawer in memory.user("alice").drawers()]
    assert stored == [LISBON, "Fine.", "It rains here today.", "Fine.", "How are you?"]


def test_a_fault_of_the_memory_is_logged_or_raised(opened, caplog):
    memory = opened()
    assert flush_node(memory).invoke({"messages": talk(3)}, {}) == {}
    assert "memory_node_failed node=flush" in caplog.text
    with pytest.raises(MissingUser):
        flush_node(memory, on_error="raise").invoke({"messages": talk(3)}, {})


def test_a_message_that_can_not_be_stored_is_told(opened):
    memory = opened(text=TextSettings(max_characters=200))
    history = talk(3, human("long " * 100))
    with pytest.raises(TextTooLong):
        flush_node(memory, on_error="raise").invoke({"messages": history}, run())
    assert len(flushed(memory, history).tracked.rejected) == 1
