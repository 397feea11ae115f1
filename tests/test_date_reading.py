"""Dates in sentences: each one of the table that date readers are compared on is read, and none where there is none."""

import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from date_reading import own, sentences

from langmem_tiers.language.dates import times
from langmem_tiers.language.questions import spans
from langmem_tiers.language.word_lists import units
from tests.stating import say

TOLD = sentences()


@pytest.mark.parametrize(("sentence", "expected"), TOLD, ids=[sentence for sentence, _ in TOLD])
def test_just_the_date_that_a_sentence_names_is_read(sentence, expected):
    assert [*own(sentence)] == ([expected] if expected else [])


def test_the_table_has_sentences_with_and_without_a_date():
    assert sum(bool(expected) for _, expected in TOLD) >= 30
    assert sum(not expected for _, expected in TOLD) >= 15


@pytest.mark.parametrize("unit", units("counted"))
def test_whatever_unit_of_time_is_counted_is_understood_back_and_ahead_and_as_a_stretch(unit):
    today = date(2026, 3, 2)
    (back,), (ahead,) = times(f"We met two {unit}s ago.", today), times(f"We meet in two {unit}s.", today)
    assert back < today.isoformat() < ahead
    assert len(spans(f"What did we do in the last two {unit}s?", today)) == 1


APRIL = datetime(2025, 4, 20, 9, tzinfo=UTC)
# What a sentence says of itself: a booking, an appointment or a plan is to come, what somebody did is past.
BARE = {
    "I booked the ferry to Gotland for September 9th.": "2025-09-09",
    "I got a flight for January 5th.": "2026-01-05",
    "We got tickets to the Brahms concert on February 3rd.": "2026-02-03",
    "The dentist appointment is on March 2nd.": "2026-03-02",
    "I have an interview on March 14.": "2026-03-14",
    "I'm flying to Rome on December 20.": "2025-12-20",
    "I'm going to Kyoto in November.": "2025-11",
    "I start at Bosch on Monday.": "2025-04-21",
    "I have a meeting at Bosch on Friday.": "2025-04-25",
    "We visited my aunt in Bergen on September 9th.": "2024-09-09",
    "I ran a marathon in Bergen on March 14.": "2025-03-14",
    "The wedding was on November 2nd.": "2024-11-02",
    "We finally found a flat, moving in on August 1.": "2025-08-01",
    "I bought tickets to Crete, flying on June 12.": "2025-06-12",
    "My flight is on 22 dec.": "2025-12-22",
    "I start at Bosch on 1 december.": "2025-12-01",
    "I have the car until Tuesday.": "2025-04-22",
}


@pytest.mark.parametrize(
    "sentence",
    ["I had a steak for the first time in ten years.", "I've been to Rome for the third time in five years."],
)
def test_a_stretch_in_which_something_happened_once_is_no_time_to_come(alice, sentence):
    say(alice, sentence, at=APRIL)
    alice.mine()
    assert [each.entry.content[-3:] for each in alice.knowledge.search("", limit=5)] == ["rs."]


@pytest.mark.parametrize("sentence", BARE)
def test_a_day_without_a_year_lies_where_its_sentence_says(alice, sentence):
    say(alice, sentence, at=APRIL)
    (found,) = alice.knowledge.search()
    assert found.entry.content == f"{found.entry.content.partition(' (')[0]} ({BARE[sentence]})."


@pytest.mark.parametrize(
    ("sentence", "day"),
    [
        ("We reserved a table for June 3rd at the harbour.", "2025-06-03"),
        ("We reserved a table for March 3rd at the harbour.", "2026-03-03"),
        ("I booked the flights on April 18th.", "2025-04-18"),
        ("On January 3rd we fly to Rome.", "2026-01-03"),
        ("On January 3rd we flew to Rome.", "2025-01-03"),
        ("The launch got postponed to March 1st.", "2026-03-01"),
        ("My flat has been mine since June 3rd.", "2024-06-03"),
        ("The course starts this October.", "2025-10"),
        ("Mira's getting married on March 3rd.", "2026-03-03"),
        ("Mira's moved to Rome on June 3rd.", "2024-06-03"),
        ("We have a son called Arlo starting school in September.", "2025-09"),
        ("A bakery named Rosen opens in September.", "2025-09"),
        ("I got hired at Bosch, starting on June 1st.", "2025-06-01"),
        ("I was promoted, effective June 1st.", "2025-06-01"),
        ("We toured Rome, starting on April 3rd at the river.", "2025-04-03"),
        ("Mira loved starting school in September.", "2024-09"),
        ("Mira called me on June 3rd.", "2024-06-03"),
        ("We named the boat on June 3rd.", "2024-06-03"),
        ("I met a man called Bo on June 3rd.", "2024-06-03"),
    ],
)
def test_a_tag_of_a_day_without_a_year_lies_there_as_well(alice, sentence, day):
    say(alice, sentence, at=APRIL)
    assert f"@t {day}" in alice.drawers()[0].tags


@pytest.mark.parametrize(
    ("said_at", "sentence", "month"),
    [
        (datetime(2025, 7, 8, 9, tzinfo=UTC), "I visited Bergen last week.", "2025-07"),
        (datetime(2025, 10, 8, 9, tzinfo=UTC), "I visited Bergen last week.", "2025-10"),
        (datetime(2026, 1, 6, 9, tzinfo=UTC), "I visited Bergen last week.", "2026-01"),
        (datetime(2026, 2, 3, 9, tzinfo=UTC), "I visited Bergen last weekend.", "2026-01"),
    ],
)
def test_what_happened_in_a_week_between_two_months_is_of_the_month_that_most_of_it_was_in(
    alice, said_at, sentence, month
):
    say(alice, sentence, at=said_at)
    (visit,) = alice.graph.timeline("user").relations
    assert visit.period.start.isoformat()[:7] == month
    assert visit.period.start_unit == "month"
