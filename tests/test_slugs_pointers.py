"""Slugs and AAAK pointers: the stable keys and addresses of the palace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_tiers.errors import InvalidPointer
from langmem_tiers.language.slugs import MAX_SLUG, same_subject, slugify
from langmem_tiers.pointers import Pointer, find_pointers, parse_pointer

numbers = st.integers(min_value=0, max_value=10**17)
pointers = st.builds(Pointer, numbers, numbers, st.none() | numbers)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Efoil rebuild", "efoil-rebuild"),
        ("  Café — Müller's  plans! ", "cafe-mullers-plans"),
        ("Größe & Ærø", "grosse-aero"),
        ("ﬁle №1", "file-no1"),
        ("東京 旅行", "東京-旅行"),
        ("Чайный дом", "чайный-дом"),
        ("हिन्दी", "हिन्दी"),
        ("", "unnamed"),
        ("?!—", "unnamed"),
        ("😀", "unnamed"),
    ],
)
def test_a_slug_folds_case_and_accents_and_keeps_other_scripts(name: str, slug: str) -> None:
    assert slugify(name) == slug


@given(st.text())
def test_a_slug_is_its_own_slug(name: str) -> None:
    slug = slugify(name)
    assert 0 < len(slug) <= MAX_SLUG
    assert slugify(slug) == slug


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Efoil rebuild", "efoil rebuilds"),
        ("Efoil rebuild", "the eFoil rebuild"),
        ("Derek's boat", "Derek boat"),
        ("Derek’s boats", "derek boat"),
        ("battery", "Batteries"),
        ("tax boxes", "Tax box"),
        ("", "!"),
    ],
)
def test_articles_plurals_and_possessives_mean_the_same_subject(first: str, second: str) -> None:
    assert same_subject(first, second)
    assert same_subject(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [("bus", "bu"), ("Derek", "Eric"), ("tax", "tax research"), ("glass", "glas"), ("東京", "京都"), ("The", "")],
)
def test_other_names_are_other_subjects(first: str, second: str) -> None:
    assert not same_subject(first, second)


@given(pointers)
def test_a_pointer_survives_being_written_and_read(pointer: Pointer) -> None:
    assert parse_pointer(str(pointer)) == pointer
    assert find_pointers(f"As you said ({pointer}), yes.") == (pointer,)


def test_a_pointer_pads_its_numbers_and_lets_large_ones_grow() -> None:
    assert str(Pointer(42, 11, 7)) == "§W-042/R-11/D-007"
    assert str(Pointer(1, 2)) == "§W-001/R-02"
    assert str(Pointer(1234, 567, 89012)) == "§W-1234/R-567/D-89012"


@pytest.mark.parametrize(
    "text",
    [
        "§ W-042/R-11/D-007",
        "W-42/R-11/D-7",
        "§w-42/r-11/d-7",
        "  §W-042/R-11/D-007\n",
        "§W\u2011042/R\u201111/D\u20117",
    ],
)
def test_a_pointer_is_read_in_the_ways_people_and_models_write_it(text: str) -> None:
    assert parse_pointer(text) == Pointer(42, 11, 7)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "17",
        "§",
        "W-42",
        "W-42/D-7",
        "§W-42/R-11/D-",
        "§W-42/R-11/D-7/E-1",
        "W-4２/R-1",
        "§W--1/R-1",
        "W-1/R-1 W-2/R-2",
    ],
)
def test_anything_else_is_an_invalid_pointer(text: str) -> None:
    with pytest.raises(InvalidPointer):
        parse_pointer(text)


def test_pointers_are_found_in_a_reply_once_each_in_order() -> None:
    reply = "See §W-002/R-01/D-009 and [w-1/r-2]. Again: §W-002/R-01/D-009! Not xW-1/R-3, nor https://a/W-1/R-4."
    assert find_pointers(reply) == (Pointer(2, 1, 9), Pointer(1, 2))
