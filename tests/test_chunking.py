"""Cutting long texts into pieces: they cover the text, fit the limit, and end at sensible places."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_tiers.errors import InvalidSettings
from langmem_tiers.models.chunking import split

TEXTS = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="ab .!?\n。」\u0301\u200d\r\t", max_size=400),
    st.lists(st.sampled_from(["Word ", "a sentence. ", "第一句。", "\n\n", "x" * 30, "  \n"]), max_size=60).map(
        "".join
    ),
)


def pieces(text: str, limit: int) -> list[str]:
    return [text[start:stop] for start, stop in split(text, limit)]


@settings(deadline=None)
@given(TEXTS, st.integers(1, 60))
def test_pieces_cover_the_text_in_order_and_fit_the_limit(text, limit):
    spans = split(text, limit)
    if not text.strip():
        assert spans == ()
        return
    assert "".join(text[start:stop] for start, stop in spans) == text
    assert [start for start, _ in spans] == [0, *(stop for _, stop in spans[:-1])]
    assert all(0 < stop - start <= limit for start, stop in spans)


@settings(deadline=None)
@given(st.text(alphabet="ab .\n。", max_size=400), st.integers(1, 60))
def test_neighbours_are_packed_so_that_two_never_fit_into_one(text, limit):
    spans = split(text, limit)
    assert all(later[1] - earlier[0] >= limit for earlier, later in pairwise(spans))


@pytest.mark.parametrize("blank", ["", " ", "\n\n\t ", "\u3000\u2028"])
def test_a_blank_text_has_no_piece(blank):
    assert split(blank, 10) == ()


def test_a_text_within_the_limit_is_one_piece():
    assert split("One.\n\nTwo.", 10) == ((0, 10),)


@pytest.mark.parametrize(
    ("text", "limit", "first"),
    [
        ("First part.\n\nSecond. And more of it.", 24, "First part.\n\n"),
        ("First part.\r\n\r\nSecond. And more of it.", 24, "First part.\r\n\r\n"),
        ("He said so. She did not agree at all", 20, "He said so. "),
        ('"Is it so?" he asked of them all', 14, '"Is it so?" '),
        ("- one item\n- another item here", 18, "- one item\n"),
        ("words without any full stop", 16, "words without "),
        ("今日は晴れです。明日は雨が降るでしょう。", 12, "今日は晴れです。"),
        ("「今日は晴れ。」と彼は言った。", 10, "「今日は晴れ。」"),
        ("Version 3.14159265358979323846 is out", 20, "Version "),
        ("unbroken" * 4, 10, "unbrokenun"),
    ],
)
def test_a_piece_ends_at_the_best_place_that_leaves_it_half_full(text, limit, first):
    assert pieces(text, limit)[0] == first


@pytest.mark.parametrize("whole", ["e\u0301", "👩\u200d👩\u200d👧", "👍🏽", "\ud83d\ude00", "❤\ufe0f"])
def test_a_hard_cut_does_not_part_a_character_from_its_marks(whole):
    assert pieces("x" * 9 + whole * 3, 10)[0] == "x" * 9


def test_a_pile_of_marks_longer_than_a_piece_is_cut_all_the_same():
    assert len(split("e" + "\u0301" * 1000, 100)) <= 12


def test_a_limit_below_one_is_refused():
    with pytest.raises(InvalidSettings, match="0 characters"):
        split("text", 0)


@pytest.mark.parametrize(
    "unit", ["A plain sentence of words. ", "." * 27, "x" * 27, " \n" * 13 + "y", "。" * 27, "\n" * 27]
)
def test_the_time_is_linear_on_every_kind_of_text(unit):
    text = "y" + unit * 40_000  # a megabyte
    started = time.process_time()
    spans = split(text, 1000)
    assert time.process_time() - started < 2
    assert len(spans) <= 2 * len(text) / 1000 + 1
