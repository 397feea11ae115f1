"""Closets: where a conversation changes its topic, and what a topic is called."""

from hypothesis import given
from hypothesis import strategies as st

from langmem_tiers.language.key_phrases import key_phrases
from langmem_tiers.palace.closets import ClosetDecision, decide_closets
from langmem_tiers.storage.closets import ClosetTurn, OpenCloset

BATTERY = [
    "How should I do the battery wiring for the efoil?",
    "For battery wiring, take 10-AWG silicone cable.",
    "My old battery wiring overheated with 12-AWG cable.",
    "Thicker cable keeps the battery cool.",
]
HOLIDAY = ["We are booking a villa near Siena for September.", "Siena is lovely then; book the villa soon."]


def conversation(*texts: str) -> list[ClosetTurn]:
    roles = ("user", "assistant")
    return [ClosetTurn(number=place + 1, role=roles[place % 2], text=text) for place, text in enumerate(texts)]


def opened(decisions: list[ClosetDecision]) -> list[int]:
    return [decision.turns[0] for decision in decisions if decision.opens]


def closet_after(turns: list[ClosetTurn], decisions: list[ClosetDecision]) -> OpenCloset | None:
    """The open closet as a caller reads it back from the records."""
    if not decisions:
        return None
    inside = [turn for turn in turns if turn.number in decisions[-1].turns]
    return OpenCloset(number=1, name=decisions[-1].name, recent=tuple(inside[-8:]), size=len(inside))


def joined(first: list[ClosetDecision], second: list[ClosetDecision]) -> list[ClosetDecision]:
    """What was decided about two batches: the second may begin in the last closet of the first."""
    if not first or not second or second[0].opens:
        return first + second
    within = ClosetDecision(turns=first[-1].turns + second[0].turns, opens=first[-1].opens, name=second[0].name)
    return [*first[:-1], within, *second[1:]]


def test_a_user_turn_that_shares_no_word_opens_a_closet() -> None:
    decisions = decide_closets(conversation(*BATTERY, *HOLIDAY))
    assert opened(decisions) == [1, 5]
    assert [decision.name for decision in decisions] == ["Battery wiring", "Villa"]


def test_a_marker_opens_a_closet_early() -> None:
    turns = conversation(*BATTERY[:2], "By the way, Siena?", "Yes?")
    assert opened(decide_closets(turns)) == [1, 3]


def test_short_turns_and_assistant_turns_stay_in_the_closet() -> None:
    turns = conversation(*BATTERY, "Great, thanks!", HOLIDAY[0])
    assert opened(decide_closets(turns)) == [1]


def test_the_first_turn_opens_whoever_speaks_and_pleasantries_have_no_name() -> None:
    turns = [ClosetTurn(number=9, role="assistant", text="Hello! How are you?")]
    assert decide_closets(turns) == [ClosetDecision(turns=(9,), opens=True, name=None)]
    assert decide_closets([]) == []


def test_a_conversation_goes_on_in_its_open_closet() -> None:
    first = decide_closets(conversation(*BATTERY))
    later = ClosetTurn(number=5, role="user", text="Which battery cable did I say overheated with the wiring?")
    decision = decide_closets([later], closet_after(conversation(*BATTERY), first))
    assert decision == [ClosetDecision(turns=(5,), opens=False, name="Battery wiring")]


texts = st.sampled_from(
    [*BATTERY, *HOLIDAY, "ok", "", "by the way, dinner", "My daughter painted seven purple horses today"]
)
turns_of = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), texts), max_size=30)


@given(turns_of, st.integers(0, 30))
def test_two_batches_give_the_closets_of_one(spoken: list[tuple[str, str]], cut: int) -> None:
    turns = [ClosetTurn(number=place, role=role, text=text) for place, (role, text) in enumerate(spoken)]
    first = decide_closets(turns[:cut])
    second = decide_closets(turns[cut:], closet_after(turns, first))
    assert joined(first, second) == decide_closets(turns)


@given(st.lists(st.text(), max_size=20))
def test_any_text_gets_a_closet_and_only_the_first_must_open(spoken: list[str]) -> None:
    decisions = decide_closets(conversation(*spoken))
    assert [turn for decision in decisions for turn in decision.turns] == list(range(1, len(spoken) + 1))
    assert opened(decisions)[:1] == [1][: len(spoken)]


def test_key_phrases_are_repeated_runs_of_words_as_first_written() -> None:
    phrases = key_phrases(["The Battery wiring options overheat.", "So battery wiring options matter."], limit=2)
    assert phrases[0] == "Battery wiring options"
    assert not any("battery" in phrase.casefold() for phrase in phrases[1:])


def test_key_phrases_leave_out_who_is_spoken_to_links_and_small_talk() -> None:
    assert key_phrases(["Hey Judith! I'm glad https://example.org/efoil came.", "Thanks, Martha!"]) == []
    assert key_phrases([]) == []
