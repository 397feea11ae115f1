"""What rules remember of texts, so that thousands of messages are not read anew for each question."""

import gc
import os
import signal
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from langmem_tiers.language import remembering
from langmem_tiers.language.remembering import remembered


class Text(str):
    """A text of which it can be seen whether somebody still has it."""


@pytest.fixture
def letters():
    """A rule that gives the places of a letter, and the texts that it was asked of."""
    asked = []

    @remembered
    def places(text, letter="a"):
        asked.append(str(text))
        return [place for place, each in enumerate(text) if each == letter]

    return places, asked


def test_a_rule_is_asked_once_of_a_text(letters):
    places, asked = letters
    assert places("banana") == places("ban" + "ana") == [1, 3, 5]
    assert places("banana", "n") == places("banana", "n") == places("banana", letter="n") == [2, 4]
    assert asked == ["banana", "banana", "banana"]


def test_the_answers_that_were_asked_for_last_are_kept(letters, monkeypatch):
    monkeypatch.setattr(remembering, "_MOST", 2)
    places, asked = letters
    for text in ("a", "b", "a", "c", "a", "b"):
        places(text)
    assert asked == ["a", "b", "c", "b"]


def test_of_long_answers_fewer_are_kept(letters, monkeypatch):
    monkeypatch.setattr(remembering, "_MOST_PARTS", 10)
    places, asked = letters
    for text in ("aaa", "aaaa", "aaa", "aaaaa", "aaa", "aaaa"):
        places(text)
    assert asked == ["aaa", "aaaa", "aaaaa", "aaaa"]


def test_the_texts_themselves_are_not_kept(letters):
    places, _ = letters
    text = Text("a" + "b" * 1_000_000)
    gone = weakref.ref(text)
    assert places(text) == [0]
    del text
    gc.collect()
    assert gone() is None


def test_any_text_can_be_remembered_also_half_a_character(letters):
    places, asked = letters
    assert places("a\ud800") == places("a\ud800") == [0]
    assert len(asked) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_can_ask_whatever_the_threads_of_its_parent_did(letters):
    places, _ = letters
    over = threading.Event()

    def ask():
        number = 0
        while not over.is_set():
            places(f"{number % 500}a")
            number += 1

    with ThreadPoolExecutor(2) as threads:
        asking = [threads.submit(ask) for _ in range(2)]
        try:
            for number in range(20):
                child = os.fork()
                if not child:
                    signal.alarm(30)
                    places(f"a{number}")
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            over.set()
    for each in asking:
        each.result()


def test_several_threads_may_ask(letters, monkeypatch):
    monkeypatch.setattr(remembering, "_MOST", 8)
    places, _ = letters
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: places("a" * (number % 32)), range(20_000)))
    assert [len(each) for each in found] == [number % 32 for number in range(20_000)]
