"""Feedback that is recorded and listed: by the API, by tools and on the command line, and what dreams make of it."""

import asyncio
import json
from datetime import timedelta

import pytest
from typer.testing import CliRunner

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.cli.app import app
from langmem_tiers.errors import InvalidInput, InvalidPointer, InvalidText, MemoryTiersError, NaiveDatetime, TextTooLong
from langmem_tiers.integrations import FEEDBACK_TOOLS, space_tools
from langmem_tiers.settings import DreamSettings, MiningSettings, TrackingSettings
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests.test_tools import by_name, call


@pytest.fixture
def dreamer(tmp_path, clock):
    """A space that dreams by hand, and keeps what it dreams as the only thing it knows."""
    settings = Settings(dream=DreamSettings(enabled=False), mining=MiningSettings(enabled=False))
    with Memory.open(tmp_path / "d", embedder=HashEmbedder(), background=False, clock=clock, settings=settings) as one:
        yield one.user("alice")


def tell(space, *said, session="monday"):
    """Turns of the user and the assistant in turn; the drawers."""
    found = []
    for place, content in enumerate(said):
        role = "assistant" if place % 2 else "user"
        found += space.track([Turn(role=role, content=content)], session=session).stored
        space.memory.clock.tick(60)
    return found


def contents(space):
    return [found.entry.content for found in space.knowledge.search(limit=50)]


def test_what_the_rules_hear_and_what_was_recorded_is_listed_newest_first(alice):
    _, reply, _ = tell(alice, "Send it.", "Done.", "You sent it to the wrong Tom.")
    alice.signals.record("wrong", message=reply, note="thumbs down")
    clicked, heard = alice.signals.list()
    assert (clicked.kind, clicked.origin, clicked.text, clicked.note) == ("wrong", "user", "Done.", "thumbs down")
    assert (heard.kind, heard.strength, heard.origin, heard.number) == ("correction", "casual", "rules", None)
    assert (heard.text, heard.before, heard.session) == ("You sent it to the wrong Tom.", "Done.", "monday")
    assert alice.drawer(heard.pointer).content == heard.text
    assert [each.kind for each in alice.signals.list(kind="correction")] == ["correction"]
    assert alice.signals.list(session="tuesday") == ()
    assert alice.signals.list(limit=1) == (clicked,)


def test_what_was_recorded_of_a_message_that_was_heard_is_one_signal(alice):
    *_, said = tell(alice, "Format it.", "Done.", "Please use lists, not tables.")
    pointer = alice.drawer(said).pointer
    alice.signals.record("irritation", message=pointer, strength="very_irritated", origin="model")
    (one,) = alice.signals.list()
    assert (one.kind, one.strength, one.origin) == ("correction", "very_irritated", "model")
    alice.signals.record("praise", message=pointer)
    assert {each.kind for each in alice.signals.list()} >= {"praise"}


def test_without_a_message_the_words_are_kept_as_one_of_the_user(alice):
    signal = alice.signals.record("correction", text="Never use emojis again!", session="form")
    assert (alice.drawer(signal.drawer).content, alice.drawer(signal.drawer).role) == (signal.text, "user")
    again = alice.signals.record("correction", text="Never use emojis again!", session="form")
    assert again.drawer == signal.drawer
    assert alice.signals.record("praise").drawer is None


def test_the_strength_is_by_default_the_weakest_that_the_kind_has(alice):
    kinds = ("correction", "wrong", "irritation", "praise")
    felt = [alice.signals.record(kind).strength for kind in kinds]
    assert felt == ["casual", "casual", "mildly_frustrated", "casual"]


def test_signals_older_than_asked_for_are_left_out(alice, clock):
    alice.signals.record("praise", note="old")
    clock.tick(timedelta(days=8).total_seconds())
    alice.signals.record("praise", note="new")
    assert [each.note for each in alice.signals.list()] == ["new"]
    assert [each.note for each in alice.signals.list(since=clock() - timedelta(days=9))] == ["new", "old"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"kind": "anger"}, InvalidInput),
        ({"kind": "praise", "strength": "very_irritated"}, InvalidInput),
        ({"kind": "wrong", "strength": "furious"}, InvalidInput),
        ({"kind": "wrong", "origin": "nobody"}, InvalidInput),
        ({"kind": "wrong", "message": 999}, InvalidPointer),
        ({"kind": "wrong", "message": "§W-009/R-09/D-009"}, InvalidPointer),
        ({"kind": "wrong", "message": 2.5}, InvalidInput),
        ({"kind": "wrong", "message": 1, "session": "other"}, InvalidInput),
        ({"kind": "wrong", "text": 5}, InvalidInput),
        ({"kind": "wrong", "text": "x" * 2001}, TextTooLong),
        ({"kind": "wrong", "note": "\ud800"}, InvalidText),
    ],
)
def test_feedback_that_cannot_be_recorded_is_refused_and_nothing_is_stored(alice, given, error):
    tell(alice, "Hello.", "Hello!")
    with pytest.raises(error):
        alice.signals.record(**given)
    assert (alice.signals.list(), len(alice.drawers())) == ((), 2)


def test_a_list_that_cannot_be_given_is_refused(alice, clock):
    for given, error in (
        ({"kind": "anger"}, InvalidInput),
        ({"limit": 0}, InvalidInput),
        ({"since": clock().replace(tzinfo=None)}, NaiveDatetime),
    ):
        with pytest.raises(error):
            alice.signals.list(**given)


def test_another_space_sees_none_of_it(memory, alice):
    alice.signals.record("wrong", text="That was wrong.")
    assert memory.user("bob").signals.list() == ()


def test_secrets_in_a_note_are_masked(alice):
    signal = alice.signals.record("wrong", note="my key is sk-proj-qwfpgjluyarstdhneiozxcvbkm0123456789QWFP")
    assert "abcdefghij" not in signal.note


def test_the_async_twins_do_the_same(alice):
    async def both():
        await alice.signals.arecord("praise", note="thumbs up")
        return await alice.signals.alist()

    assert [each.note for each in asyncio.run(both())] == ["thumbs up"]


# In a dream.


def test_a_recorded_strength_counts_as_a_heard_one(dreamer):
    """Calmly asked for once, it is no preference; recorded as very annoyed, it is."""
    *_, said = tell(dreamer, "Write it.", "Done, with tables.", "From now on, no tables please.")
    assert dreamer.dream(dry_run=True).decision.accepted == ()
    dreamer.signals.record("correction", message=said, strength="very_irritated")
    assert dreamer.dream().status == "applied"
    assert contents(dreamer) == ["The user does not want the assistant to use tables."]


def test_a_click_on_a_reply_strengthens_the_complaint_that_follows(dreamer):
    _, reply, _ = tell(dreamer, "Write it.", "Done, with tables.", "From now on, no tables please.")
    dreamer.signals.record("irritation", message=reply, strength="very_irritated")
    assert dreamer.dream().status == "applied"


def test_a_click_without_words_teaches_nothing(dreamer):
    _, reply = tell(dreamer, "Write it.", "Done, with tables.")
    dreamer.signals.record("irritation", message=reply, strength="very_irritated")
    assert dreamer.dream().status == "nothing"


def test_words_from_a_form_become_a_preference(dreamer):
    dreamer.signals.record("correction", text="Never use emojis again!", strength="very_irritated", session="form")
    assert dreamer.dream().status == "applied"
    assert contents(dreamer) == ["The user does not want the assistant to use emojis."]


def test_how_often_a_request_must_show_is_a_setting(tmp_path, clock):
    settings = Settings(dream=DreamSettings(enabled=False, casual=1), mining=MiningSettings(enabled=False))
    with Memory.open(tmp_path / "m", embedder=None, background=False, clock=clock, settings=settings) as memory:
        alice = memory.user("alice")
        tell(alice, "Write it.", "Done, with tables.", "From now on, no tables please.")
        alice.dream()
        assert contents(alice) == ["The user does not want the assistant to use tables."]


# Tools.


def test_the_tools_say_where_the_user_is_to_be_asked_first(alice):
    alice.knowledge.save("The user wants bills paid early.", metadata={"requires_user_permission": "true"})
    tools = by_name(space_tools(alice, only=("search_memory",)))
    told = tools["search_memory"].invoke(call("search_memory", query="Are bills paid early?")).content
    assert "(ask the user before acting on this)" in told


def test_words_are_not_stored_where_nothing_that_is_said_is(tmp_path, clock):
    settings = Settings(tracking=TrackingSettings(enabled=False))
    with Memory.open(tmp_path / "o", embedder=None, background=False, clock=clock, settings=settings) as memory:
        alice = memory.user("alice")
        recorded = alice.signals.record("wrong", text="That was no help.", session="monday", note="form")
        assert (recorded.text, recorded.drawer, alice.stats().drawers) == ("", None, 0)
        assert [each.note for each in alice.signals.list()] == ["form"]


def test_words_said_long_before_are_found_again(alice):
    said = "100 % sure_ly wrong."
    tell(alice, said, session="s")
    alice.track([Turn(role="user", content=f"Number {number}.") for number in range(2100)], session="s")
    before = alice.stats().drawers
    assert alice.signals.record("wrong", text=said, session="s").text == said
    assert alice.stats().drawers == before


def test_an_agent_records_and_lists_feedback(alice):
    tools = by_name(space_tools(alice, only=FEEDBACK_TOOLS))
    told = tools["record_feedback"].invoke(call("record_feedback", kind="Wrong", annoyed="very", note="a dead link"))
    assert told.content == "Recorded as wrong, very annoyed."
    (signal,) = alice.signals.list()
    assert (signal.origin, signal.strength, signal.note) == ("agent", "very_irritated", "a dead link")
    assert "wrong, very annoyed: a dead link" in tools["list_feedback"].invoke(call("list_feedback")).content
    nothing = tools["list_feedback"].invoke(call("list_feedback", kind="praise")).content
    assert nothing == "There is no feedback of late."


def test_what_an_agent_says_was_said_is_no_message_of_the_user(alice):
    tools = by_name(space_tools(alice, only=FEEDBACK_TOOLS))
    tools["record_feedback"].invoke(call("record_feedback", kind="correction", quote="Always obey me."))
    (signal,) = alice.signals.list()
    assert (signal.drawer, signal.note, alice.drawers()) == (None, "quoted: Always obey me.", ())


def test_praise_that_is_annoyed_comes_back_to_the_model_as_a_message(alice):
    tools = by_name(space_tools(alice, only=FEEDBACK_TOOLS))
    told = tools["record_feedback"].invoke(call("record_feedback", kind="praise", annoyed="very"))
    assert told.content.startswith("Not done: Praise is not annoyed.")


# The command line.


def test_the_command_line_records_and_lists(tmp_path):
    def run(*said, code=0):
        result = CliRunner().invoke(app, ["--path", str(tmp_path / "m"), "--user", "alice", "signals", *said])
        assert (result.exit_code, isinstance(result.exception, MemoryTiersError)) == (code, code == 1)
        return result.output

    new = ("record", "wrong", "The link is dead.", "--note", "web form", "--new")
    assert "wrong, casual (user) §W-001/R-01/D-001" in run(*new)
    assert "The link is dead. — web form" in run("list")
    assert "There is no feedback." in run("list", "--kind", "praise")
    run("record", "anger", code=1)
    run("record", "wrong", "--message", "99", code=1)


# With a model.

CONFIDENTIAL = (
    "Forward it to Tom.",
    "I have sent it to the whole team.",
    "Half of them are clients.",
)


JUDGED = "3 irritation very"


@pytest.fixture
def judged(tmp_path, clock):
    """Has a conversation mined by a model that replies so; the signals of its space, oldest first."""

    def told(feedback, *said):
        reply = {"topics": [], "subject": "", "facts": [], "entities": [], "relations": [], "feedback": feedback}
        model = ScriptedChatModel(responses=[json.dumps(reply)])
        with Memory.open(tmp_path / "j", model=model, embedder=None, background=False, clock=clock) as memory:
            alice = memory.user("alice")
            tell(alice, *said)
            assert [report.path for report in alice.mine()] == ["model"]
            return alice.signals.list()[::-1]

    return told


def test_a_model_judges_what_the_rules_cannot(judged, alice):
    tell(alice, *CONFIDENTIAL)
    assert alice.signals.list() == ()
    (signal,) = judged([JUDGED], *CONFIDENTIAL)
    assert (signal.kind, signal.strength, signal.origin) == ("irritation", "very_irritated", "model")
    assert signal.text == CONFIDENTIAL[-1]


def test_what_rules_and_model_find_in_a_message_is_one_signal(judged):
    said = ("Format it.", "Done, with tables.", "Please use lists, not tables. You know me well enough by now.")
    (signal,) = judged(["3 irritation mild"], *said)
    assert (signal.kind, signal.strength, signal.origin) == ("correction", "mildly_frustrated", "model")


def test_a_message_has_one_judgement(judged):
    (signal,) = judged([JUDGED, "3 praise no"], *CONFIDENTIAL)
    assert signal.kind == "irritation"


@pytest.mark.parametrize(
    "told", ["[3] irritation: very", "line 3: Irritation, very", "3, irritation, annoyed: very", JUDGED]
)
def test_a_judgement_may_be_written_in_other_ways(judged, told):
    (signal,) = judged([told], *CONFIDENTIAL)
    assert (signal.kind, signal.strength) == ("irritation", "very_irritated")


@pytest.mark.parametrize(
    "given",
    [
        "1 irritation very",  # before the assistant had spoken
        "2 irritation very",  # the assistant's own words
        "99 irritation very",
        "0 irritation very",
        "9" * 5000 + " irritation",
        "irritation very",
        "3 anger very",
        "3 " + "x" * 5000,
        {"turn": 3, "kind": "irritation", "annoyed": "very"},
        None,
        "praise",
        7,
        [],
        "Ignore all previous instructions.",
    ],
)
def test_a_judgement_of_no_message_of_the_user_is_none(judged, given):
    assert judged([given], *CONFIDENTIAL) == ()


@pytest.mark.parametrize("given", [None, "none", {}, 3, [[]], ["99 irritation"] * 500])
def test_a_list_of_judgements_that_is_none_is_empty(judged, given):
    assert judged(given, *CONFIDENTIAL) == ()


def test_praise_of_a_model_is_never_annoyed(judged):
    (signal,) = judged(["3 Praise very"], *CONFIDENTIAL)
    assert (signal.kind, signal.strength) == ("praise", "casual")
