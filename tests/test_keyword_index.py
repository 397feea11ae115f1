"""The keyword index of each engine, after any changes: which rows hold a word, a term of several, a phrase."""

import random
import re

import pytest

from langmem_tiers import Memory
from langmem_tiers.language.words import words
from langmem_tiers.storage import keyword
from langmem_tiers.storage.keyword import ALL, WordsRow

WORDS = ["robot", "garden", "gardens", "violin", "kettle", "Ölmühle", "e3"]
PLACES = ["harbour", "the garden", ""]
# Also the last of one block of numbers and the first of the next.
NUMBERS = [1, 2, 3, 7, 1023, 1024, 1025, 5000, 70_000, 2_000_000]
STEMS = {"garden": "garden", "gardens": "garden"}


class Model:
    """What the index should hold: the row of each number."""

    def __init__(self):
        self.rows = {}

    def holding(self, term, first=1, last=2**62):
        sought = stems(term)
        said = {number for number, row in self.rows.items() if sought <= stems(f"{row.text} {row.tags}")}
        place = {number for number, row in self.rows.items() if sought <= stems(row.category)} - said
        return tuple(sorted(number for number in each if first <= number <= last) for each in (said, place))

    def with_phrase(self, phrase):
        line = " ".join(in_line(phrase))
        return {number for number, row in self.rows.items() if f" {line} " in f" {' '.join(in_line(row.text))} "}


def in_line(text):
    return [STEMS.get(word, word) for word in re.findall(r"\w+", text.lower())]


def stems(text):
    return {*in_line(text)}


@pytest.fixture(params=["drawers", "notes"])
def index(request):
    return getattr(keyword, request.param)


@pytest.fixture
def changing(tmp_path):
    """Connections that write to the records of an empty space."""
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        space = memory.user("alice")
        space.drawers()
        with space.context.backend.records(space.name) as records:
            yield records.writing


def row(rng, number):
    text = " ".join(rng.choices(WORDS, k=rng.randrange(1, 6)))
    tags = " ".join(rng.sample(WORDS, rng.randrange(2)))
    return WordsRow(number=number, text=text, tags=tags, category=rng.choice(PLACES))


def change(rng, index, connection, model):
    """Any change of some rows, in the index and in the model."""
    some = rng.sample(NUMBERS, rng.randrange(1, 5))
    kind = rng.choice(["add", "add", "remove", "categorise", "recreate"] if len(model.rows) > 4 else ["add", "remove"])
    if kind == "add":
        new = [row(rng, number) for number in some if number not in model.rows]
        index.add(connection, new)
        model.rows |= {each.number: each for each in new}
    elif kind == "remove":
        index.remove(connection, some)
        for number in some:
            model.rows.pop(number, None)
    elif kind == "categorise":
        index.categorise(connection, [(number, "harbour kettle") for number in some])
        known = [model.rows[number] for number in some if number in model.rows]
        model.rows |= {
            each.number: WordsRow(number=each.number, text=each.text, tags=each.tags, category="harbour kettle")
            for each in known
        }
    elif rng.random() < 0.2:
        index.recreate(connection)
        model.rows.clear()


@pytest.mark.parametrize("seed", range(8))
def test_after_any_changes_the_index_holds_what_its_rows_say(changing, index, seed):
    rng, model = random.Random(seed), Model()
    terms = [*WORDS, "harbour", "the", "nothing", ""]
    ranges = [ALL, (2, 1024), (1025, 2**40), (8, 8)]
    for _ in range(25):
        with changing() as connection:
            change(rng, index, connection, model)
            wanted = [(term, *rng.choice(ranges)) for term in terms]
            found = [(said.tolist(), place.tolist()) for said, place in index.holding(connection, wanted)]
            assert found == [model.holding(*each) if each[0] else ([], []) for each in wanted]
            between = index.holding_between(connection, {"robot": 2, "kettle": 1024}, upto=5000, most=2)
            for term, first in (("robot", 3), ("kettle", 1025)):
                said = between[term][0].tolist()
                assert said == model.holding(term, first, 5000)[0][:2]
            for phrase in ("robot garden", "violin", "kettle e3 robot"):
                assert index.with_phrase(connection, phrase) == model.with_phrase(phrase)
            assert index.count(connection) == len(model.rows)


@pytest.mark.parametrize(
    ("said", "asked"), [("Die große Straße", "Straße"), ("Die große Straße", "große"), ("Eine Strasse", "strasse")]
)
def test_a_word_with_a_sharp_s_is_found_however_it_is_written(changing, index, said, asked):
    with changing() as connection:
        index.add(connection, [WordsRow(number=1, text=said)])
        [term] = words(asked)
        [(found, _)] = index.holding(connection, [(term, *ALL)])
        assert found.tolist() == [1]
        assert index.holding_between(connection, {term: 0}, upto=1, most=2)[term][0].tolist() == [1]
