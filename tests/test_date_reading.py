"""Dates in sentences: each one of the table that date readers are compared on is read, and none where there is none."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from date_reading import own, sentences

TOLD = sentences()


@pytest.mark.parametrize(("sentence", "expected"), TOLD, ids=[sentence for sentence, _ in TOLD])
def test_just_the_date_that_a_sentence_names_is_read(sentence, expected):
    assert [*own(sentence)] == ([expected] if expected else [])


def test_the_table_has_sentences_with_and_without_a_date():
    assert sum(bool(expected) for _, expected in TOLD) >= 30
    assert sum(not expected for _, expected in TOLD) >= 15
