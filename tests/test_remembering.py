"""What rules remember of texts, so that thousands of messages are not read anew for each question."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from langmem_tiers.language import remembering
from langmem_tiers.language.remembering import remembered


class Text(str):
    """A text of which it can be seen whether somebody still has it."""


@pytest.fixture
def letters():
    """A rule that counts a letter, and the texts that it was asked of."""
    asked = []

    @remembered
    def count(text, letter="a"):
        asked.append(str(text))
        return text.count(letter)

    return count, asked


def test_a_rule_is_asked_once_of_a_text(letters):
    count, asked = letters
    assert [count("banana"), count("ban" + "ana"), count("banana", "n"), count("banana", "n")] == [3, 3, 2, 2]
    assert asked == ["banana", "banana"]


def test_the_answers_on_the_last_texts_are_kept(letters, monkeypatch):
    monkeypatch.setattr(remembering, "_MOST", 2)
    count, asked = letters
    for text in ("a", "b", "c", "b", "c", "a"):
        count(text)
    assert asked == ["a", "b", "c", "a"]


def test_the_texts_themselves_are_not_kept(letters):
    count, _ = letters
    text = Text("a" * 1_000_000)
    gone = weakref.ref(text)
    assert count(text) == 1_000_000
    del text
    gc.collect()
    assert gone() is None


def test_any_text_can_be_remembered_also_half_a_character(letters):
    count, asked = letters
    assert count("a\ud800") == count("a\ud800") == 1
    assert len(asked) == 1


def test_several_threads_may_ask(letters, monkeypatch):
    monkeypatch.setattr(remembering, "_MOST", 8)
    count, _ = letters
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: count("a" * (number % 32)), range(20_000)))
    assert found == [number % 32 for number in range(20_000)]
