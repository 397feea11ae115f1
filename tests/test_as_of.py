"""What the memory knew at an earlier moment: `recall(as_of=…)` over messages, entries, relations and the profile."""

from datetime import UTC, date, datetime, timedelta
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import InvalidInput, InvalidPeriod, NaiveDatetime
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests.meanings import Meanings

DAY = 86_400
START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def tell(space, clock, *texts):
    """Have the user say something in a session of its own, and the memory take it up."""
    space.track([Turn(role="user", content=text, said_at=clock()) for text in texts], session=f"{clock():%Y-%m-%d}")
    space.mine()
    assert space.flush()


def block(space, query, as_of=None):
    return space.recall(query, as_of=as_of, keep_receipt=False).block


def known(space, query, as_of=None):
    """What is known, as (kind, text)."""
    recalled = space.recall(query, as_of=as_of, keep_receipt=False)
    return [(each.kind, each.text) for each in recalled.known]


def plain_lines(text, value):
    """The lines with a value that do not say that it is over."""
    held = [line for line in text.splitlines() if value.casefold() in line.casefold()]
    return [line for line in held if "but later" not in line and "no longer" not in line and "until" not in line]


# What was said in March, in May and in July, a question, and what is to be shown for each of these months.
LIVES = [
    ("Where do I work?", ("I work at Vattenfall.", "I quit Vattenfall, I work at Nordkraft now.", "I left Nordkraft."),
     ("Vattenfall", "Nordkraft", None)),
    ("Where do I live?", ("I live in Turin.", "I live in Genoa now.", "We moved to Pisa."), ("Turin", "Genoa", "Pisa")),
    ("Where does my sister Anna live?",
     ("My sister Anna lives in Lisbon.", "My sister Anna moved to Porto.", "My sister Anna moved to Faro."),
     ("Lisbon", "Porto", "Faro")),
    ("Do I like sushi?", ("I love sushi.", "I don't like sushi any more.", "I like sushi again."),
     ("sushi", None, None)),
    ("Am I married?", ("I'm married to Tom.", "Tom and I got divorced.", "The weather was fine."), ("Tom", None, None)),
    ("What do I drink?",
     ("I drink coffee every morning.", "I switched from coffee to tea.", "I drink cocoa these days."),
     ("coffee", None, "cocoa")),
    ("Do I have a dog?", ("I have a dog named Bruno.", "Bruno passed away.", "The weather was fine."),
     ("Bruno", None, None)),
]  # fmt: skip


@pytest.mark.parametrize(("question", "said", "shown"), LIVES, ids=[each[0] for each in LIVES])
def test_at_each_date_a_recall_shows_what_held_then_and_nothing_said_later(alice, clock, question, said, shown):
    moments = []
    for text in said:
        tell(alice, clock, text)
        clock.tick(DAY)
        moments.append(clock())
        clock.tick(60 * DAY)
    for place, (moment, value) in enumerate(zip(moments, shown, strict=True)):
        then = block(alice, question, moment)
        later = [text for text in said[place + 1 :] if text in then]
        assert later == []
        if value is not None:
            assert plain_lines(then, value), then
    assert "but later" not in block(alice, question, moments[0])


def test_a_year_of_words_imported_in_one_go_is_known_as_it_was_told(alice, clock):
    days = [datetime(2023, month, 4, 12, tzinfo=UTC) for month in (1, 5, 9)]
    said = ["My sister Anna lives in Lisbon.", "My sister Anna moved to Porto.", "My sister Anna moved to Faro."]
    for day, text in zip(days, said, strict=True):
        alice.track([Turn(role="user", content=text, said_at=day)], session=f"{day:%Y-%m}")
    alice.mine()
    assert alice.flush()
    for day, home in zip(days, ("Lisbon", "Porto", "Faro"), strict=True):
        then = block(alice, "Where does my sister Anna live?", day + timedelta(days=9))
        assert plain_lines(then, home), (day, then)
        assert not [text for later, text in zip(days, said, strict=True) if later > day and text in then]
        told = [each.target for each in alice.graph.neighbours("Anna", as_of=day + timedelta(days=9)).relations]
        assert home in told
    assert block(alice, "Where does my sister Anna live?", "2022") == ""


def test_relations_are_those_that_were_told_by_then(alice):
    days = [datetime(2023, month, 4, 12, tzinfo=UTC) for month in (1, 5)]
    for day, text in zip(days, ("I live in Turin.", "I live in Genoa now."), strict=True):
        alice.track([Turn(role="user", content=text, said_at=day)], session=f"{day:%Y-%m}")
    alice.mine()
    assert alice.flush()
    graph = [[text for kind, text in known(alice, "Where do I live?", f"2023-{month}") if kind == "relation"]
             for month in ("02", "06")]  # fmt: skip
    assert graph == [["The user lives in Turin"], ["The user lives in Genoa"]]


def test_an_entry_that_was_corrected_since_is_found_as_it_was_by_its_words(alice, clock):
    save = alice.knowledge.save
    wrong = save("The user prefers dark mode in every editor.", category="preferences/editor").entry
    clock.tick(DAY)
    then = clock()
    clock.tick(DAY)
    save("The user prefers light mode in every editor.", category="preferences/editor", corrects=wrong.id)
    alice.flush()
    question = "Which mode does the user prefer in an editor?"
    assert known(alice, question, then) == [("entry", wrong.content)]
    assert f"[entry {wrong.id}] 2026-03-02 preferences/editor" in block(alice, question, then)
    assert known(alice, question) == [("entry", "The user prefers light mode in every editor.")]


@pytest.mark.parametrize("change", ["updated", "corrected", "deactivated", "expired"])
def test_what_was_put_aside_is_found_by_meaning_as_well(tmp_path, clock, change):
    with Memory.open(tmp_path, embedder=Meanings(Zurich=0.9), background=False, clock=clock) as memory:
        knowledge = memory.user("alice").knowledge
        over = clock() + timedelta(days=2) if change == "expired" else None
        entry = knowledge.save("The user banks in Zurich.", expires_at=over).entry
        memory.flush()
        clock.tick(DAY)
        then = clock()
        clock.tick(2 * DAY)
        if change == "updated":
            knowledge.update(entry.id, content="The user banks in Basel.")
        elif change == "corrected":
            knowledge.save("The user banks in Basel.", corrects=entry.id)
        elif change == "deactivated":
            knowledge.deactivate(entry.id)
        else:
            knowledge.expire()
        memory.flush()
        alice = memory.user("alice")
        assert known(alice, "Which money house is ours?", then) == [("entry", "The user banks in Zurich.")]
        assert ("entry", "The user banks in Zurich.") not in known(alice, "Which money house is ours?")


def test_an_entry_reworded_twice_has_at_each_moment_the_wording_of_then(alice, clock):
    entry = alice.knowledge.save("The user has a red bicycle.").entry
    moments = []
    for colour in ("green", "blue"):
        moments.append(clock.tick(DAY))
        clock.tick(DAY)
        alice.knowledge.update(entry.id, content=f"The user has a {colour} bicycle.")
    moments.append(clock.tick(DAY))
    alice.flush()
    shown = [known(alice, "Which bicycle does the user have?", moment) for moment in moments]
    assert shown == [[("entry", f"The user has a {colour} bicycle.")] for colour in ("red", "green", "blue")]


def test_an_entry_that_a_better_wording_took_in_is_shown_as_it_was_said(alice, clock):
    first = alice.knowledge.save("The user plays chess on Tuesdays.").entry
    then = clock.tick(DAY)
    clock.tick(DAY)
    second = alice.knowledge.save("On Tuesdays the user plays chess.")
    assert second.outcome in {"merged", "known"}
    alice.flush()
    assert known(alice, "When does the user play chess?", then) == [("entry", first.content)]


def test_what_was_deleted_does_not_come_back(alice, clock):
    kept = alice.knowledge.save("The user banks in Zurich.").entry
    alice.knowledge.update(kept.id, content="The user banks in Basel.")
    tell(alice, clock, "I work at Vattenfall.")
    then = clock.tick(DAY)
    clock.tick(DAY)
    for each in alice.knowledge.search("", status="all", limit=50):
        alice.knowledge.delete(each.entry.id, origin="user")
    assert known(alice, "Where does the user bank?", then) == []
    assert [kind for kind, _ in known(alice, "Where do I work?", then) if kind == "entry"] == []


def test_the_profile_is_that_of_then(alice, clock):
    tell(alice, clock, "I live in Turin. I'm allergic to hazelnuts.")
    then = clock.tick(DAY)
    clock.tick(60 * DAY)
    tell(alice, clock, "I live in Genoa now.")
    tell(alice, clock, "I speak Dutch.")
    assert [line.text for line in alice.profile.read(as_of=then)] == ["is allergic to hazelnuts", "lives in Turin"]
    assert "lives in Genoa now" in [line.text for line in alice.profile.read()]
    assert alice.profile.read(as_of="2025") == ()
    assert "Turin" in block(alice, "Tell me about myself.", then)
    assert "Dutch" not in block(alice, "Tell me about myself.", then)


def test_a_summary_of_what_went_on_later_is_not_shown(alice, clock):
    tell(alice, clock, "We planned the boat trip to Hydra with Eleni.")
    then = clock.tick(DAY)
    clock.tick(DAY)
    alice.track([Turn(role="user", content="Eleni cancelled the boat trip.", said_at=clock())], session="2026-03-02")
    alice.archive.write("2026-03-02", summary="The boat trip to Hydra with Eleni was cancelled.")
    alice.flush()
    question = "What happened to the boat trip to Hydra with Eleni?"
    assert "cancelled" in block(alice, question)
    assert "cancelled" not in block(alice, question, then)


def test_notes_written_later_are_not_shown(alice, clock):
    then = clock.tick(DAY)
    clock.tick(DAY)
    alice.documents.write("MEMORY.md", "The boiler room key hangs behind the door.")
    alice.flush()
    assert "boiler" in block(alice, "Where does the boiler room key hang?")
    assert block(alice, "Where does the boiler room key hang?", then) == ""


def test_a_long_time_afterwards_what_was_known_is_still_found(alice, clock):
    tell(alice, clock, "The robot in my garage is called Zebedee.")
    then = clock.tick(DAY)
    clock.tick(DAY)
    alice.track(
        [Turn(role="user", content=f"The robot number {n} in my garage beeps.") for n in range(200)], session="x"
    )
    alice.flush()
    assert "Zebedee" in block(alice, "Which robot is in my garage?", then)


@pytest.mark.parametrize("given", [date(2026, 3, 2), "2026-03-02", "2026-03", START + timedelta(hours=1)])
def test_a_moment_is_given_in_any_form_and_a_day_means_its_end(alice, clock, given):
    tell(alice, clock, "My grey cat Miso sleeps in the wardrobe.")
    clock.tick(90 * DAY)
    tell(alice, clock, "My grey cat Miso sleeps in the oven.")
    assert "wardrobe" in block(alice, "Where does my grey cat Miso sleep?", given)
    assert "oven" not in block(alice, "Where does my grey cat Miso sleep?", given)


def test_a_moment_to_come_is_now_and_no_moment_is_refused(alice, clock):
    tell(alice, clock, "My grey cat Miso sleeps in the wardrobe.")
    question = "Where does my grey cat Miso sleep?"
    assert block(alice, question, "2031") == block(alice, question, clock()) == block(alice, question)
    for bad, error in (("next week", InvalidPeriod), (7, InvalidInput), (datetime(2026, 3, 2), NaiveDatetime)):
        with pytest.raises(error):
            alice.recall(question, as_of=bad)


def test_a_search_of_entries_finds_those_that_held_then(alice, clock):
    wrong = alice.knowledge.save("The user banks in Zurich.", category="money").entry
    alice.knowledge.save("The user has a red bicycle.", category="things")
    then = clock.tick(DAY)
    clock.tick(DAY)
    alice.knowledge.save("The user banks in Basel.", category="money", corrects=wrong.id)
    alice.flush()
    search = alice.knowledge.search
    assert [each.entry.content for each in search("Where does the user bank?", category="money", as_of=then)] == [
        "The user banks in Zurich."
    ]
    held = ["The user banks in Zurich.", "The user has a red bicycle."]
    assert sorted(each.entry.content for each in search(as_of=then)) == held
    assert search(as_of="2025") == ()
    with pytest.raises(InvalidInput, match="status"):
        search(as_of=then, status="all")


def test_a_search_of_entries_says_what_was_over_by_then(alice, clock):
    tell(alice, clock, "I play the guitar in a band.")
    then = clock.tick(DAY)
    clock.tick(30 * DAY)
    tell(alice, clock, "I gave up the guitar.")
    assert [each.ended for each in alice.knowledge.search("guitar", as_of=then)] == [()]
    assert any(each.ended for each in alice.knowledge.search("guitar"))


# History that goes on does not change what was known.

_PEOPLE, _TOWNS = ("Anna", "Bruno", "Carla"), ("Lisbon", "Porto", "Faro", "Braga")
_SAID = st.one_of(
    st.tuples(st.sampled_from(_TOWNS)).map(lambda each: f"I live in {each[0]} now."),
    st.tuples(st.sampled_from(_PEOPLE), st.sampled_from(_TOWNS)).map(
        lambda each: f"My friend {each[0]} lives in {each[1]}."
    ),
    st.sampled_from(("sushi", "opera", "chess")).map(lambda each: f"I love {each}."),
    st.sampled_from(("sushi", "opera", "chess")).map(lambda each: f"I don't like {each} any more."),
    st.sampled_from(("Bosch", "Miele")).map(lambda each: f"I work at {each}."),
    st.sampled_from(("Bosch", "Miele")).map(lambda each: f"I left {each}."),
)
_QUESTIONS = ("Where do I live?", "Where does my friend Anna live?", "What do I love?", "Where do I work?")


def _facts(space, as_of=None):
    """What is known for each question, and the profile: the facts, whatever their order."""
    found = {question: frozenset(known(space, question, as_of)) for question in _QUESTIONS}
    return found, {(line.text, line.said_at) for line in space.profile.read(as_of=as_of)}


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_SAID, min_size=1, max_size=4), st.lists(_SAID, min_size=1, max_size=4))
def test_what_was_known_stays_the_same_whatever_is_said_later(before, after):
    clock = FrozenClock(START)
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock) as memory,
    ):
        alice = memory.user("alice")
        for text in before:
            tell(alice, clock, text)
            clock.tick(30 * DAY)
        then = clock()
        expected = _facts(alice)
        clock.tick(DAY)
        for text in after:
            tell(alice, clock, text)
            clock.tick(30 * DAY)
        assert _facts(alice, then) == expected
