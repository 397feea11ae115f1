"""Two entries are merged where they tell the same, and never where they differ in anything that counts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.synonyms import spelled
from langmem_tiers.language.wordings import forms, plain, wording

WORDS = st.sampled_from(["user", "likes", "tea", "cats", "Anna", "Oslo", "works", "7", "two", "never", "from", "and"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)


def same(a, b, similarity=None):
    return same_fact(a, b, similarity).same


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The user prefers dark mode.", "the user prefers  dark mode"),
        ("The user’s cat is Miso.", "The user's cat is Miso!"),
        ("The user is vegetarian.", "The user is a vegetarian."),
        ("The user likes to hike.", "The user enjoys hiking."),
        ("On Mondays the user plays tennis.", "The user plays tennis on Mondays."),
        ("The user likes cats and dogs.", "The user likes dogs and cats."),
        ("The user speaks English, German and Dutch.", "The user speaks Dutch, English and German."),
        ("The user currently lives in Berlin.", "The user lives in Berlin."),
        ("The user's favourite colour is grey.", "The user's favorite color is gray."),
        ("The user has 10,000 followers.", "The user has 10000 followers."),
        ("The user wakes at 7 am.", "The user wakes at 7am."),
        ("The user's birthday is March 3rd.", "The user's birthday is March 3."),
        ("The user has two cats.", "The user has 2 cats."),
        ("The user doesn't drink.", "The user does not drink."),
        ("The user loves sushi.", "The user likes sushi."),
        ("The user's dog is named Rex.", "The user has a dog called Rex."),
        ("用户喜欢喝茶。", "用户喜欢喝茶"),
    ],
)
def test_wordings_of_one_fact_are_the_same_and_found_by_one_likeness(a, b):
    assert same(a, b)
    assert same(b, a)
    assert wording(a).likeness == wording(b).likeness


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("The user has two cats.", "The user has three cats.", "number"),
        ("The user runs 5 km.", "The user runs 10 km.", "number"),
        ("The flat is on the third floor.", "The flat is on the fourth floor.", "number"),
        ("The rent is $1,200.", "The rent is €1,200.", "number"),
        ("The call is at 3 pm.", "The call is at 3 am.", "number"),
        ("The user's first dog is old.", "The user's one dog is old.", "number"),
        ("The user lives in Oslo.", "The user lives in Bergen.", "name"),
        ("The user codes in C.", "The user codes in C++.", "name"),
        ("The user works in IT.", "The user works.", "tells more"),
        ("The user drinks.", "The user does not drink.", "negation"),
        ("The user drinks tea with milk.", "The user drinks tea without milk.", "negation"),
        ("The user works at Acme.", "The user no longer works at Acme.", "negation"),
        ("The user is vegan.", "The user was vegan.", "time"),
        ("The user works at Acme.", "The user worked at Acme.", "word"),
        ("The user moved to Porto.", "The user will move to Porto.", "word"),
        ("The user likes tea.", "The user likes green tea.", "tells more"),
        ("The user likes tea.", "The user's wife likes tea.", "tells more"),
        ("The user always runs.", "The user sometimes runs.", "turned"),
        ("The user runs every Tuesday.", "The user runs on Tuesday.", "turned"),
        ("The user wants tea or milk.", "The user wants tea and milk.", "turned"),
        ("Perhaps the user is ill.", "The user is ill.", "turned"),
        ("The user prefers tea to coffee.", "The user prefers coffee to tea.", "order"),
        ("Anna is Tom's manager.", "Tom is Anna's manager.", "order"),
        ("The user is a manager.", "The user has a manager.", "what it has"),
        ("The user has a cat.", "The user has cats.", "word"),
        ("The user loves Anna.", "The user likes Anna.", "word"),
        ("The user plays tennis on Monday.", "The user plays tennis on Mondays.", "name"),
        ("The user keeps cares to himself.", "The user keeps cars to himself.", "word"),
        ("Is the user vegan?", "The user is vegan.", "asks"),
        ("用户喜欢喝茶。", "用户不喜欢喝茶。", ""),
        ("🍵", "☕", ""),
    ],
)
def test_facts_that_differ_in_one_thing_are_not(a, b, why):
    verdict, turned = same_fact(a, b, 0.99), same_fact(b, a, 0.99)
    assert not verdict.same
    assert not turned.same
    assert why in verdict.why


def test_a_sentence_turned_round_has_to_be_near_where_that_is_known():
    turned = ("On Mondays the user plays tennis.", "The user plays tennis on Mondays.")
    assert same_fact(*turned, 0.95).same
    assert not same_fact(*turned, 0.5).same
    assert same_fact(*turned, 0.5, least=0.4).same


def test_words_that_look_like_inflections_are_told_apart():
    assert forms("planes").isdisjoint(forms("plans"))
    assert forms("running") & forms("runs")
    assert forms("worked") == {"worked"}
    assert spelled("organises") == "organizes"
    assert spelled("exercises") == "exercises"


@given(SENTENCES)
def test_a_sentence_is_the_same_as_itself(sentence):
    assert same(sentence, f"  {sentence.upper()}.")


@given(SENTENCES, SENTENCES)
def test_the_verdict_does_not_depend_on_which_comes_first(a, b):
    assert same(a, b) == same(b, a)
    assert not same(a, b) or wording(a).likeness == wording(b).likeness


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_other_numbers_are_never_the_same(a, b):
    sentences = (f"The user has {a} books.", f"The user has {b} books.")
    assert same(*sentences, similarity=1.0) == (a == b)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared(a, b):
    verdict = same_fact(a, b, None)
    assert verdict.same or plain(a) != plain(b)
    assert verdict.why


@given(SENTENCES.filter(lambda each: "never" not in each))
def test_a_negation_is_never_swallowed(sentence):
    assert not same(sentence, f"{sentence} not", similarity=1.0)


def test_the_published_pairs_are_whole(root):
    lines = (root / "benchmarks" / "merge_pairs.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    assert len(pairs) >= 150
    assert {pair["half"] for pair in pairs} == {"dev", "held_out"}
    assert len({(pair["a"], pair["b"]) for pair in pairs}) == len(pairs)


def test_no_published_pair_that_conflicts_is_merged(root):
    lines = (root / "benchmarks" / "merge_pairs.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [pair for pair in map(json.loads, lines) if pair["half"] == "dev"]
    assert [pair for pair in pairs if not pair["same"] and same(pair["a"], pair["b"])] == []
