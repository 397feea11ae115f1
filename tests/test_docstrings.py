"""The examples in the docstrings of functions give what they say."""

import doctest
import importlib
import inspect

import pytest
from source_tree import library

# Elsewhere, examples need an open memory, a model or a log.
_PACKAGES = ("language", "recall", "models", "knowledge", "knowledge_graph", "dream", "trust", "writing", "palace")
WITHIN = tuple(f"langmem_tiers.{each}." for each in _PACKAGES)
WITH_EXAMPLES = [name for name, path in library().items() if name.startswith(WITHIN) and ">>>" in path.read_text()]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_functions_are_right(name):
    module = importlib.import_module(name)
    shown = []
    runner = doctest.DocTestRunner(verbose=False)
    for found in doctest.DocTestFinder(exclude_empty=True).find(module):
        if inspect.isfunction(getattr(module, found.name.removeprefix(f"{name}."), None)):
            runner.run(found, out=shown.append)
    assert "".join(shown) == ""
