"""Patterns are compiled when they are first used, so each is compiled here once."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from source_tree import is_within, library

from langmem_tiers.language.lazy_patterns import lazy_pattern

PACKAGES = [
    f"langmem_tiers.{name}" for name in ("language", "trust", "knowledge", "knowledge_graph", "writing", "dream")
]
# In a process of its own: after other tests, the garbage collector may not list what is there (as after `gc.freeze`).
COMPILE_ALL = """
import gc, re, sys
from importlib import import_module
from langmem_tiers.language import lazy_patterns
for module in sys.argv[1:]:
    import_module(module)
lazy = [each for each in gc.get_objects() if type(each) is lazy_patterns._Lazy]
wrong = []
for each in lazy:
    try:
        each.compiled
    except re.error as error:
        wrong.append((each.pattern, str(error)))
print(len(lazy), wrong)
"""


def test_every_pattern_of_the_package_can_be_compiled():
    modules = [module for module in library() if any(is_within(module, package) for package in PACKAGES)]
    run = [sys.executable, "-c", COMPILE_ALL, *modules]
    done = subprocess.run(run, check=True, env=os.environ, capture_output=True, text=True)
    count, wrong = done.stdout.strip().split(" ", 1)
    assert int(count) > 600
    assert wrong == "[]"


def test_a_lazy_pattern_does_what_a_compiled_one_does():
    said, text = r"(?P<verb>lives?) in (\w+)", "Ana Lives in Porto, Ben lived"
    lazy, compiled = lazy_pattern(said, re.IGNORECASE), re.compile(said, re.IGNORECASE)
    assert lazy.pattern == compiled.pattern
    assert (lazy.flags, lazy.groups, lazy.groupindex) == (compiled.flags, compiled.groups, compiled.groupindex)
    for _ in range(2):
        assert lazy.search(text).groupdict() == {"verb": "Lives"}
        assert lazy.match(text) is None
        assert lazy.fullmatch("live in Rome").group(2) == "Rome"
        assert lazy.sub(r"\1", text) == compiled.sub(r"\1", text)
        assert lazy.split(text) == compiled.split(text)
        assert lazy.findall(text) == [each.groups() for each in lazy.finditer(text)] == [("Lives", "Porto")]


def test_a_wrong_pattern_is_told_of_when_it_is_first_used():
    wrong = lazy_pattern("(")
    for _ in range(2):
        with pytest.raises(re.error):
            wrong.search("(")


def test_threads_may_use_a_pattern_first_at_the_same_time():
    begin, found = threading.Barrier(8), []
    lazy = lazy_pattern("|".join(f"word{number}" for number in reversed(range(2_000))))

    def look():
        begin.wait()
        found.append(lazy.search("a word1999").group())

    threads = [threading.Thread(target=look) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == ["word1999"] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_can_use_patterns_whatever_its_parent_was_compiling():
    over = threading.Event()

    def compile_some():
        number = 0
        while not over.is_set():
            number += 1
            lazy_pattern("|".join(f"word{number}{each}" for each in range(200))).search("a word")

    compiling = threading.Thread(target=compile_some)
    compiling.start()
    try:
        for number in range(20):
            child = os.fork()
            if not child:
                signal.alarm(30)
                lazy_pattern(f"a{number}").search("a")
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        over.set()
        compiling.join()
