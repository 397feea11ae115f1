"""Importing conversations through the track node: once, whole, with their dates and speakers."""

import json
from datetime import UTC, datetime

import pytest

from langmem_tiers import Memory, Settings, TextSettings
from langmem_tiers.bench.asking import through_track_node
from langmem_tiers.errors import InvalidSpace, StorageError, TextTooLong
from langmem_tiers.transfer import ImportedMessage, ImportedSession, LineProblem, import_conversations
from langmem_tiers.transfer.importing import as_messages


def session(name, *contents, conversation=None):
    messages = tuple(
        ImportedMessage(
            session=name,
            role="user" if place % 2 == 0 else "assistant",
            content=content,
            at=datetime(2023, 5, 8, 16, 7, place, tzinfo=UTC),
            speaker=None if place % 2 else "Ann",
            message_id=f"m{place}",
        )
        for place, content in enumerate(contents)
    )
    return ImportedSession(session=name, messages=messages, conversation=conversation)


MONDAY = session("monday", "My cat is called Mug.", "What a name!")
TUESDAY = session("tuesday", "Mug broke a vase today.")


@pytest.fixture
def bring(memory):
    """Imports entries into the space of Alice, or wherever `space` says."""

    def run(*entries, space="users/alice", **options):
        return import_conversations(entries, track=through_track_node(memory), space=space, **options)

    return run


def test_everything_is_stored_with_its_date_and_speaker(bring, alice):
    report = bring(MONDAY, TUESDAY)
    assert (report.sessions, report.messages, report.stored, report.known) == (2, 3, 3, 0)
    first = alice.drawer(1)
    assert (first.content, first.speaker, first.role, first.session) == (
        "My cat is called Mug.",
        "Ann",
        "user",
        "monday",
    )
    assert first.said_at == datetime(2023, 5, 8, 16, 7, tzinfo=UTC)
    assert first.message_id == "m0"


def test_importing_twice_stores_nothing_twice(bring, alice):
    bring(MONDAY, TUESDAY)
    again = bring(MONDAY, TUESDAY)
    assert (again.stored, again.known) == (0, 3)
    assert len(alice.drawers()) == 3


def test_a_session_may_come_in_pieces(bring, alice):
    report = bring(MONDAY, TUESDAY, session("monday", "My cat is called Mug.", "What a name!", "Yes, like a cup."))
    assert (report.sessions, report.stored, report.known) == (2, 4, 2)


def test_problems_are_passed_on(bring):
    problem = LineProblem(line=2, reason="not JSON")
    assert bring(MONDAY, problem, TUESDAY).problems == (problem,)


def test_each_session_may_have_its_own_space(bring, memory):
    bring(session("1", "Hello there", conversation="a"), session("1", "Good day", conversation="b"), space=_own)
    assert set(memory.spaces()) >= {"sets/a", "sets/b"}
    assert [drawer.content for drawer in memory.space("sets/b").drawers()] == ["Good day"]


def _own(session):
    return f"sets/{session.conversation}"


def test_a_name_that_can_be_no_space_is_an_error(bring):
    with pytest.raises(InvalidSpace):
        bring(session("1", "Hello there", conversation="../up"), space=_own)


def test_progress_is_told_after_each_session(bring):
    told = []
    bring(MONDAY, TUESDAY, on_progress=lambda report: told.append((report.sessions, report.messages)))
    assert told == [(1, 2), (2, 3)]


def test_a_refused_message_is_reported_and_the_others_are_stored(tmp_path):
    settings = Settings(text=TextSettings(max_characters=20))
    with Memory.open(tmp_path / "small", embedder=None, settings=settings, background=False) as memory:
        long = session("monday", "short", "x" * 21, "short too")
        report = import_conversations([long], track=through_track_node(memory), space="users/alice")
        assert report.stored == 2
        assert [type(one.error) for one in report.rejected] == [TextTooLong]
        assert [drawer.content for drawer in memory.user("alice").drawers()] == ["short", "short too"]


@pytest.mark.folder
def test_a_fault_of_the_memory_ends_the_import(tmp_path):
    with Memory.open(tmp_path / "broken", embedder=None, background=False) as memory:
        memory.user("alice").track([])
        database = next((tmp_path / "broken").rglob("memory.db"))
    database.write_bytes(b"no database " * 1000)
    with (
        Memory.open(tmp_path / "broken", embedder=None, background=False) as memory,
        pytest.raises(StorageError),
    ):
        import_conversations([MONDAY], track=through_track_node(memory), space="users/alice")


def test_messages_carry_a_time_with_a_zone():
    first, second = as_messages(MONDAY)
    assert (first.type, first.name, first.id) == ("human", "Ann", "m0")
    assert (second.type, second.name) == ("ai", None)
    assert json.dumps(first.additional_kwargs) == '{"timestamp": "2023-05-08T16:07:00+00:00"}'


def test_a_message_without_a_time_carries_none():
    message = ImportedMessage(session="s", role="user", content="Hi", at=None, speaker=None, message_id="1")
    assert as_messages(ImportedSession(session="s", messages=(message,)))[0].additional_kwargs == {}
