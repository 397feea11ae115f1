"""Tracking: every turn becomes one verbatim drawer, once, whatever its text and however often it is sent."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import InvalidInput, InvalidText, NaiveDatetime, TextTooLong
from langmem_tiers.settings import StorageSettings, TextSettings
from langmem_tiers.writing import tracking

FAST = Settings(storage=StorageSettings(synchronous="NORMAL"))


def user(content, message_id=None, **fields) -> Turn:
    return Turn(role="user", content=content, message_id=message_id, **fields)


def standing(space, session=None) -> list[str]:
    return [drawer.content for drawer in space.drawers(session=session) if drawer.status == "active"]


# Verbatim


@pytest.mark.parametrize(
    "content",
    [
        "Family: 👩‍👧‍👦 and 🏳️‍🌈, e\u0301 beside é",
        "我妹妹住在里斯本。日本語も한국어도。",
        "nul \x00 in the middle, \x1b[31mred\x1b[0m",
        "one\r\ntwo\rthree\n",
        "  blanks before, and behind \t\n  ",
        "\ufeffbyte order mark, \u202eright to left",
        "plane 15: \U000f0000, noncharacter \ufffe",
    ],
)
def test_a_turn_is_one_drawer_that_holds_its_text_to_the_last_character(alice, content):
    report = alice.track([user(content)], session="monday")
    (drawer,) = alice.drawers()
    assert (drawer.number, drawer.content) == (report.stored[0], content)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1).filter(str.strip))
def test_any_text_that_says_something_is_read_back_as_it_was_written(memory, content):
    space = memory.space(f"texts/{memory.clock.tick().timestamp():.0f}")
    space.track([user(content)], session="s")
    assert [drawer.content for drawer in space.drawers()] == [content]


def test_a_long_turn_is_kept_whole_and_embedded_in_pieces(memory, alice):
    content = "The lighthouse keeper wrote a line every night. " * 18_750
    alice.track([user(content)], session="monday")
    assert memory.flush()
    assert alice.drawers()[0].content == content
    assert len(content) == 900_000
    assert alice.stats().vectors == alice.stats().chunks >= 900


def test_a_drawer_knows_who_said_it_when_and_in_which_session(alice, clock):
    said = datetime(2023, 5, 8, 16, 7, 7, 123_000, timezone(timedelta(hours=-5)))
    alice.track([user("I moved.", "m1", speaker="Judith", said_at=said, origin="import")], session="monday")
    drawer = alice.drawer(1)
    assert (drawer.speaker, drawer.said_at, drawer.recorded_at) == ("Judith", said, clock())
    assert (drawer.role, drawer.origin, drawer.session, drawer.message_id) == ("user", "import", "monday", "m1")


def test_origin_is_the_role_unless_it_is_given(alice):
    alice.track([user("a"), Turn(role="tool", content="b"), user("c", origin="import")], session="s")
    assert [drawer.origin for drawer in alice.drawers()] == ["user", "tool", "import"]


@pytest.mark.parametrize("moment", [datetime.min, datetime(1969, 7, 20, 20, 17, 40), datetime.max])
def test_a_turn_may_be_said_at_any_moment_there_is(alice, moment):
    said = moment.replace(tzinfo=UTC, microsecond=moment.microsecond // 1000 * 1000)
    assert alice.track([user("It was then.", said_at=moment.replace(tzinfo=UTC))], session="s").stored
    assert alice.drawers()[0].said_at == said


# Idempotence and revisions


def test_tracking_the_same_turns_again_changes_nothing(memory, alice):
    turns = [user("I live in Oslo.", "1"), Turn(role="assistant", content="Noted.", message_id="2")]
    alice.track(turns, session="s")
    memory.flush()
    before = alice.drawers(), replace(alice.stats(), database_bytes=0), alice.palace()
    report = alice.track(turns, session="s")
    memory.flush()
    assert (report.stored, report.revised, report.known) == ((), (), 2)
    assert (alice.drawers(), replace(alice.stats(), database_bytes=0), alice.palace()) == before


def test_the_same_message_id_in_another_session_is_another_turn(alice):
    alice.track([user("hello there", "1")], session="a")
    assert alice.track([user("hello there", "1")], session="b").stored == (2,)


def test_the_same_id_with_other_content_supersedes_the_old_drawer(memory, alice):
    alice.track([user("I live in Oslo.", "1")], session="s")
    report = alice.track([user("I live in Bergen.", "1")], session="s")
    memory.flush()
    old, new = alice.drawers()
    assert (report.stored, report.revised) == ((2,), (1,))
    assert (old.status, old.superseded_by, new.status) == ("superseded", 2, "active")
    assert [item.drawer.number for item in alice.recall("Where do I live in Oslo?", session="t").items] == [2]


def test_a_superseded_drawer_is_still_read_by_its_pointer(alice):
    alice.track([user("I live in Oslo.", "1")], session="s")
    pointer = alice.drawer(1).pointer
    alice.track([user("I live in Bergen.", "1")], session="s")
    assert alice.drawer(pointer).content == "I live in Oslo."


def test_of_several_revisions_the_last_one_stands(alice):
    for city in ("Oslo", "Bergen", "Bodø"):
        alice.track([user(f"I live in {city}.", "1")], session="s")
    assert standing(alice) == ["I live in Bodø."]
    assert [drawer.superseded_by for drawer in alice.drawers()] == [2, 3, None]


def test_an_edit_that_is_taken_back_stands_again_without_a_second_copy(memory, alice):
    for city in ("Oslo", "Bergen", "Oslo", "Bergen", "Oslo"):
        alice.track([user(f"I live in {city}.", "1")], session="s")
        memory.flush()
    assert standing(alice) == ["I live in Oslo."]
    assert len(alice.drawers()) == 2
    assert [item.drawer.number for item in alice.recall("Who lives in Oslo?", session="t").items] == [1]
    assert alice.recall("Who lives in Bergen?", session="u").items == ()


def test_an_id_sent_with_two_wordings_at_once_stands_in_the_last_one(alice):
    alice.track([user("I live in Oslo.", "1"), user("I live in Bergen.", "1")], session="s")
    assert standing(alice) == ["I live in Bergen."]


def test_turns_without_ids_are_known_by_content_and_count(alice):
    turns = [user("yes"), user("no"), user("yes")]
    assert len(alice.track(turns, session="s").stored) == 3
    assert alice.track(turns, session="s").known == 3
    assert len(alice.track([*turns, user("yes")], session="s").stored) == 1


def test_without_ids_the_same_words_by_somebody_else_are_another_turn(alice):
    alice.track([user("hello")], session="s")
    assert alice.track([Turn(role="assistant", content="hello")], session="s").stored == (2,)


# Sessions without a name


def test_an_unnamed_session_goes_on_within_the_hour_and_a_new_one_begins_after(alice, clock):
    first = alice.track([user("good morning")]).session
    clock.tick(59 * 60)
    assert alice.track([user("still here")]).session == first
    clock.tick(60 * 60)
    assert alice.track([user("back again")]).session != first


def test_an_unnamed_session_that_was_ended_does_not_go_on(alice, clock):
    first = alice.track([user("good morning")]).session
    clock.tick(1)
    alice.end_session(first)
    assert alice.track([user("something else")]).session != first


@pytest.mark.parametrize("name", ["unnamed-", "unnamed-1x", "unnamed", "chat-1709370000000"])
def test_an_unnamed_session_never_goes_on_in_one_that_was_named(alice, name):
    alice.track([user("I am named")], session=name)
    assert alice.track([user("I am not")]).session != name


def test_old_turns_brought_in_later_keep_their_dates_and_the_session_its_span(alice):
    days = [datetime(2023, 5, day, tzinfo=UTC) for day in (9, 7, 8)]
    alice.track([user(f"day {day.day}", said_at=day) for day in days], session="s")
    (session,) = alice.sessions()
    assert (session.opened_at, session.last_at, session.turns) == (days[1], days[0], 3)


# What cannot be stored


@pytest.mark.parametrize(
    ("turn", "error"),
    [
        (user(""), InvalidText),
        (user(" \n\t\u3000"), InvalidText),
        (user("x" * 1001), TextTooLong),
        (user("half \ud83d of it"), InvalidText),
        (user("hello", speaker="\udc00"), InvalidText),
        (user("hello", "id-\ud800"), InvalidText),
        (user("hello", said_at=datetime(2024, 1, 1)), NaiveDatetime),
        (user("hello", said_at=datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))), InvalidInput),
    ],
)
def test_a_turn_that_can_not_be_stored_is_a_value_and_the_others_are_stored(tmp_path, turn, error):
    limited = Settings(text=TextSettings(max_characters=1000))
    with Memory.open(tmp_path / "m", embedder=None, settings=limited, background=False) as memory:
        report = memory.user("alice").track([user("before"), turn, user("after")], session="s")
        assert standing(memory.user("alice")) == ["before", "after"]
    assert [(rejected.turn, type(rejected.error)) for rejected in report.rejected] == [(turn, error)]
    with pytest.raises(error):
        report.raise_rejected()


def test_the_limit_itself_is_not_too_long(alice):
    assert alice.track([user("x" * 1_000_000)], session="s").stored
    assert alice.track([user("x" * 1_000_001)], session="s").rejected


@pytest.mark.parametrize("where", ["session", "project", "agent"])
def test_a_name_with_a_lone_surrogate_is_refused_and_nothing_is_stored(alice, where):
    with pytest.raises(InvalidText):
        alice.track([user("hello")], **{where: "half \ud83d"})
    assert alice.drawers() == ()


def test_tracking_nothing_stores_nothing(alice):
    assert alice.track([], session="s").stored == ()
    assert alice.sessions() == ()


def test_many_turns_at_once_are_stored_and_known_again(tmp_path):
    turns = [user(f"turn {number}", str(number)) for number in range(3000)]
    with Memory.open(tmp_path / "m", embedder=None, settings=FAST, background=False) as memory:
        assert memory.user("alice").track(turns, session="s").stored == tuple(range(1, 3001))
        assert memory.user("alice").track(turns, session="s").known == 3000


# Many at once


def test_eight_threads_lose_nothing_and_give_every_drawer_its_own_number(alice):
    def talk(thread: int) -> None:
        for turn in range(25):
            alice.track([user(f"thread {thread} turn {turn}", f"{thread}-{turn}")], session=f"s{thread % 3}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(talk, range(8)))
    drawers = alice.drawers()
    assert {drawer.content for drawer in drawers} == {f"thread {a} turn {b}" for a in range(8) for b in range(25)}
    assert [drawer.number for drawer in drawers] == list(range(1, 201))
    assert len({drawer.pointer for drawer in drawers}) == 200


def test_eight_threads_sending_the_same_turn_store_it_once(alice):
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda _: alice.track([user("only once", "1")], session="s"), range(8)))
    assert sorted(len(report.stored) for report in reports) == [0] * 7 + [1]


# Against a model


class Expected:
    """What a space should hold: wordings by session and message, the last one tracked standing."""

    def __init__(self) -> None:
        self.messages: dict[tuple, list[str]] = {}
        self.stands: dict[tuple, str] = {}

    def track(self, session: str, turns: list[Turn]) -> tuple[int, int]:
        """How many turns are new, and how many wordings are replaced."""
        last: dict[tuple, str] = {}
        for place, turn in enumerate(turns):
            same = sum(other.content == turn.content and other.role == turn.role for other in turns[:place])
            last[session, turn.message_id or (turn.role, turn.content, same)] = turn.content
        new = [key for key, content in last.items() if content not in self.messages.get(key, [])]
        replaced = [key for key, content in last.items() if key in self.stands and self.stands[key] != content]
        for key in new:
            self.messages.setdefault(key, []).append(last[key])
        self.stands |= last
        return len(new), len(replaced)


ANY_TURN = st.builds(
    Turn,
    role=st.sampled_from(["user", "assistant"]),
    content=st.sampled_from(["Oslo", "Bergen", "oslo", "Bodø"]),
    message_id=st.sampled_from([None, "1", "2", "3"]),
)
CALLS = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.lists(ANY_TURN, max_size=5)), max_size=8)


@settings(max_examples=40, deadline=None)
@given(CALLS)
def test_any_sequence_of_calls_ends_where_a_plain_dictionary_ends(calls):
    expected = Expected()
    with TemporaryDirectory() as folder, Memory.open(folder, embedder=None, settings=FAST, background=False) as memory:
        alice = memory.user("alice")
        for session, turns in calls:
            position = alice.stats().log_position
            report = alice.track(turns, session=session)
            new, replaced = expected.track(session, turns)
            assert (len(report.stored), len(report.revised)) == (new, replaced)
            assert (alice.stats().log_position == position) == (new == replaced == 0)
        for session in ("a", "b"):
            mine = [content for key, content in expected.stands.items() if key[0] == session]
            assert sorted(standing(alice, session)) == sorted(mine)
        assert len(alice.drawers()) == sum(map(len, expected.messages.values()))
        assert not [finding for finding in alice.doctor() if finding.level == "problem"]


@pytest.mark.parametrize("session", ["monday", None])
def test_what_somebody_else_stores_between_the_look_and_the_lock_is_stored_once(alice, monkeypatch, session):
    def analysed(turn, text):
        monkeypatch.undo()
        alice.track([user("Good morning.", "m1"), user("It rains.", "m2")], session=session)
        return new_drawer(turn, text)

    new_drawer = tracking.new_drawer
    monkeypatch.setattr(tracking, "new_drawer", analysed)
    report = alice.track([user("Good morning.", "m1"), user("It snows.", "m2"), user("Bye.", "m3")], session=session)
    assert (report.known, len(report.stored), len(report.revised)) == (1, 2, 1)
    assert standing(alice) == ["Good morning.", "It snows.", "Bye."]


def test_messages_that_hold_no_secret_are_looked_through_once_however_often_they_come(alice):
    said = [user(f"the garden has {n} apple trees") for n in range(30)]
    alice.track(said[:-1], session="garden", history=True)
    looked = []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name == "mask":
            looked.append(frame.f_locals["text"])

    sys.setprofile(note)
    try:
        alice.track([*said, user("and the password is hunter2!")], session="garden", history=True)
    finally:
        sys.setprofile(None)
    assert looked == [said[-1].content, "and the password is hunter2!"]
    assert "hunter2" not in str(alice.recall("What is the password?").block)
