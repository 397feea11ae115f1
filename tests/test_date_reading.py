"""Dates in sentences: each one of the table that date readers are compared on is read, and none where there is none."""

import sys
from datetime import date
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from date_reading import own, sentences

from langmem_tiers.language.dates import times
from langmem_tiers.language.questions import spans
from langmem_tiers.language.word_lists import units

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
