"""Tags: people, locations, events, items and times of a message."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_tiers.language.tags import tags
from langmem_tiers.language.words import beginning_with

MONDAY = datetime(2023, 5, 8, 20, 30, tzinfo=UTC)


def tagged(text: str, speaker: str | None = None) -> tuple[str, ...]:
    return tags(text, speaker=speaker, said_at=MONDAY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was my sister's idea: my sister Anna paid.", {"@p sister", "@p anna"}),
        ("Hey Judith, how was it?", {"@p judith"}),
        ("Then Oluwaseun said no.", {"@p oluwaseun"}),
        ("Dr. Okafor will see me.", {"@p okafor"}),
        ("I told Mbali about it.", {"@p mbali"}),
        ("He plays in a band called Purple Rain Drops", set()),
        ("We wrote it in Python with Docker at Google.", set()),
        ("Yesterday I rested. However it rained. French is hard in May.", {"@t 2023-05-07", "@t 2023-05"}),
    ],
)
def test_people_are_known_by_name_or_by_what_stands_around_it(text: str, expected: set[str]) -> None:
    assert set(tagged(text)) == expected


def test_the_speaker_is_the_first_tag_unless_it_is_a_role() -> None:
    assert tagged("Hello there", speaker="Mary  Ann") == ("@p mary ann",)
    assert tagged("Hello there", speaker="User") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I flew to Lisbon.", ("@l lisbon",)),
        ("We hiked near Lake Como and then left the Dolomites", ("@l lake como", "@l dolomites")),
        ("New York is loud", ("@l new york",)),
        ("She studied at Fairview Heights", ("@l fairview heights",)),
        ("I talked to Priya in March", ("@p priya", "@t 2023-03")),
        ("I said to Zanele that it rains in English", ()),
    ],
)
def test_locations_follow_prepositions_or_are_well_known(text: str, expected: tuple[str, ...]) -> None:
    assert tagged(text) == expected


def test_events_are_singular_and_told_from_verbs() -> None:
    assert tagged("Two weddings, a Road Trip and parties") == ("@e wedding", "@e road trip", "@e party")
    assert tagged("do not trip over the cable") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my new electric guitar broke again", ("@i electric guitar",)),
        ("I bought a camera lens.", ("@i camera lens",)),
        ("we sold our trimaran", ("@i trimaran",)),
        ("our efoil needs care", ("@i efoil",)),
        ("my journey, my way, my motivation, our community", ()),
        ("I got a feeling that my thoughts matter", ()),
    ],
)
def test_items_are_things_that_can_be_owned(text: str, expected: tuple[str, ...]) -> None:
    assert tagged(text) == expected


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("yesterday", "2023-05-07"),
        ("Last night was long", "2023-05-07"),
        ("the day before yesterday", "2023-05-06"),
        ("tomorrow", "2023-05-09"),
        ("last Friday", "2023-05-05"),
        ("last Monday", "2023-05-01"),
        ("next Monday", "2023-05-15"),
        ("this Monday", "2023-05-08"),
        ("two weeks ago", "2023-04-24"),
        ("a couple of days ago", "2023-05-06"),
        ("in 3 days", "2023-05-11"),
        ("six months ago", "2022-11"),
        ("10 years ago", "2013"),
        ("last weekend", "2023-05-06"),
        ("next month", "2023-06"),
        ("last year", "2022"),
        ("in 2019", "2019"),
        ("March 3", "2023-03-03"),
        ("December 30", "2022-12-30"),
        ("on the 3rd of March, 2021", "2021-03-03"),
        ("Feb 29", "2024-02-29"),
        ("June 2022", "2022-06"),
        ("last June", "2022-06"),
        ("next March", "2024-03"),
        ("in December", "2022-12"),
        ("2023-05-07T10:00", "2023-05-07"),
        ("07.05.2023", "2023-05-07"),
        ("13/5/2023", "2023-05-13"),
        ("5/13/2023", "2023-05-13"),
        ("2023年5月7日", "2023-05-07"),
    ],
)
def test_times_are_resolved_against_the_moment_of_speaking(text: str, time: str) -> None:
    assert tagged(text) == (f"@t {time}",)


@pytest.mark.parametrize(
    "text", ["Feb 30, 2023", "5/7/2023", "5000 years ago", "I may march 3 miles", "2023-13-45", "room 2019", "all day"]
)
def test_what_is_no_clear_time_is_not_tagged(text: str) -> None:
    assert tagged(text) == ()


def test_another_script_gives_few_tags_and_a_shout_gives_none() -> None:
    assert tagged("我昨天在北京买了相机") == ()
    assert tagged("Вчера я был дома") == ()
    assert tagged("I LOVE THIS SO MUCH IN PARIS WITH ANNA") == ()


@given(
    st.text() | st.from_regex(r"((my|in|last|Anna|Paris|March|3|ago|,) ){1,30}"), st.datetimes(timezones=st.just(UTC))
)
def test_tags_are_at_most_sixteen_clean_lines_for_any_text_and_time(text: str, said_at: datetime) -> None:
    found = tags(text, speaker=text, said_at=said_at)
    assert len(found) <= 16
    assert len(set(found)) == len(found)
    assert all(tag[0] == "@" and tag[1] in "pleit" and tag[2] == " " and tag == " ".join(tag.split()) for tag in found)


@given(st.text(alphabet=st.sampled_from("my our,. xM"), max_size=60))
def test_looking_for_the_first_words_of_a_pattern_finds_what_looking_for_the_pattern_finds(text: str) -> None:
    pattern = re.compile(r"^x|\b(?:my|our) (?:my|our|x)*|[.,] my")
    found = beginning_with(("my", "our", ". ", ", "), pattern, text)
    assert [match.span() for match in found] == [match.span() for match in pattern.finditer(text)]
