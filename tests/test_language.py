"""Language: one table of each fact about a word, and the one reader of dates."""

import ast
import inspect
import re
from datetime import UTC, datetime
from importlib import import_module

import pytest
from source_tree import imports_anywhere, is_within, library

from langmem_tiers.language import numbers, verbs
from langmem_tiers.language.calendar import MONTHS, WEEKDAYS, month_number, weekday_number
from langmem_tiers.language.dates import moments, times
from langmem_tiers.language.predicates import known, normalise, symmetric
from langmem_tiers.language.protocol import HOMES, Language
from langmem_tiers.language.validity import of_event, of_state

PACKAGE = "langmem_tiers.language"
LOWER = (
    "arguments",
    "clock",
    "content",
    "errors",
    "fencing",
    "language",
    "lazy_property",
    "records",
    "settings",
    "types",
    "version",
    "wording",
)
TABLES = {"langmem_tiers.language.calendar", "langmem_tiers.language.numbers"}
NAMED = re.compile(r"february|\bfeb\b|\bwednesday|\beleven\b|\bseven\b(?!\|eigh)", re.IGNORECASE)
SUNDAY = datetime(2024, 3, 17, 15, tzinfo=UTC)


def _texts(path):
    """The texts of a module that are no docstrings, nor what an example says."""
    tree = ast.parse(path.read_text())
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]


def test_months_weekdays_and_number_words_stand_in_one_module():
    others = {name: path for name, path in library().items() if name not in TABLES}
    assert [name for name, path in others.items() if any(map(NAMED.search, _texts(path)))] == []


@pytest.mark.parametrize(("package", "own"), [("language", LOWER), ("trust", (*LOWER, "trust", "block_lines"))])
def test_language_and_trust_import_nothing_above_them(package, own):
    allowed = tuple(f"langmem_tiers.{name}" for name in own)
    found = {
        name: [
            each for each in imports_anywhere(path) if is_within(each, "langmem_tiers") and not each.startswith(allowed)
        ]
        for name, path in library().items()
        if is_within(name, f"langmem_tiers.{package}")
    }
    assert {name: foreign for name, foreign in found.items() if foreign} == {}


def test_months_and_weekdays_are_known_by_their_beginning():
    assert [month_number(name) for name in ("Jan", "sept", "December")] == [1, 9, 12]
    assert [weekday_number(name) for name in ("Mon", "thurs", "Sunday")] == [0, 3, 6]
    assert (len(MONTHS), len(WEEKDAYS)) == (12, 7)


@pytest.mark.parametrize(("said", "count"), [("12", 12), ("a", 1), ("A couple  of", 2), ("eleven", 11), ("ninety", 90)])
def test_numbers_are_counted_in_digits_and_words(said, count):
    assert numbers.counted(said) == count


# What general parsers of dates make of such sentences is often a date where none is named ("may", "second", "on").
DATES = {
    "The trip was on 7 May 2023.": ["2023-05-07"],
    "The trip was on May 7th, 2023.": ["2023-05-07"],
    "It is due 2024-05-31.": ["2024-05-31"],
    "am 3.4.2024": ["2024-04-03"],
    "2024年3月5日": ["2024-03-05"],
    "We met on 13/2/2024.": ["2024-02-13"],
    "We met on 5/7/2023.": [],
    "We moved in March 2019.": ["2019-03"],
    "I graduated in 2015.": ["2015"],
    "I saw her yesterday.": ["2024-03-16"],
    "the day before yesterday": ["2024-03-15"],
    "We leave tomorrow.": ["2024-03-18"],
    "I ran last Friday.": ["2024-03-15"],
    "See you next Monday.": ["2024-03-18"],
    "We are off this weekend.": ["2024-03-16"],
    "last month, and next year": ["2024-02", "2025"],
    "two weeks ago": ["2024-03-03"],
    "a couple of years ago": ["2022"],
    "in three days": ["2024-03-20"],
    "since last October": ["2023-10"],
    "on December 28": ["2023-12-28"],
    "30 February 2024": [],
    "I may march on Sunday's second try.": [],
    "Version 1.2.2024 of it": ["2024-02-01"],
    "It cost 2019 euros at 10:30.": [],
    "He will, won't he?": [],
}


@pytest.mark.parametrize("said", DATES)
def test_dates_are_read_as_they_are_said_and_nothing_else_is(said):
    assert times(said, SUNDAY.date()) == DATES[said]


def test_a_bare_weekday_lies_ahead_or_behind_as_the_clause_does():
    assert moments("I'll call on Tuesday", SUNDAY, ahead=True) == ["2024-03-19"]
    assert moments("I called on Tuesday", SUNDAY, ahead=False) == ["2024-03-12"]


@pytest.mark.parametrize(
    ("clause", "since", "until"),
    [
        ("I have lived there since 2021", "2021", ""),
        ("I worked there from 2015 to 2019", "2015", "2019"),
        ("I've been vegan for three years", "2021", ""),
        ("until last May", "", "2023-05"),
        ("I live there", "", ""),
    ],
)
def test_a_clause_says_since_when_and_until_when(clause, since, until):
    assert of_state(clause, SUNDAY) == (since, until)


def test_an_event_of_the_future_is_none_that_happened():
    assert of_event("I moved in June", SUNDAY) == "2023-06"
    assert of_event("I moved on 3 May 2025", SUNDAY) == ""


def test_each_predicate_is_its_own_word():
    assert [name for name in known() if normalise(name) != name] == []


def test_mutual_predicates_and_mutual_kin_are_the_same_of_both():
    assert [
        name for name in ("married_to", "has_friend", "has_best_friend", "owns", "has_mother") if symmetric(name)
    ] == [
        "married_to",
        "has_friend",
        "has_best_friend",
    ]


def test_verbs_have_their_forms():
    assert verbs.forms("write") == ("writes", "wrote", "written", "writing")
    assert verbs.forms("study") == ("studies", "studied", "studying")
    assert verbs.third_person("carry") == "carries"


def test_the_functions_of_english_are_those_that_a_language_consists_of():
    promised = {name for name in vars(Language) if not name.startswith("_")}
    english = {
        name: getattr(import_module(f"{PACKAGE}.{home}"), name) for home, names in HOMES.items() for name in names
    }
    given = {name: [*inspect.signature(function).parameters.values()] for name, function in english.items()}
    asked = {name: [*inspect.signature(getattr(Language, name)).parameters.values()][1:] for name in promised}
    assert given == asked
