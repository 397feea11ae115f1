"""Every error renders, says the way out, and is also the builtin that a caller would catch."""

import builtins
import inspect

import pytest

from langmem_tiers import errors
from langmem_tiers.errors import MemoryTiersError, MissingExtra


def _all_subclasses(kind):
    return [found for child in kind.__subclasses__() for found in (child, *_all_subclasses(child))]


ERRORS = sorted(set(_all_subclasses(MemoryTiersError)), key=lambda kind: kind.__name__)
in_turn = pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)


def _example(kind):
    return kind("langchain-openai", "openai") if kind is MissingExtra else kind("Something was refused.")


@in_turn
def test_it_renders_what_happened_and_the_way_out(kind):
    error = _example(kind)
    assert str(error) == f"{error.message} {error.way_out}"
    assert error.message.endswith(".")
    assert error.way_out.endswith(".")


@in_turn
def test_its_way_out_is_more_than_a_commonplace(kind):
    abstract = kind.__name__ == "InvalidInput"
    assert abstract or _example(kind).way_out != MemoryTiersError.way_out


@in_turn
def test_it_is_a_builtin_that_callers_expect(kind):
    builtin = {found for found in vars(builtins).values() if inspect.isclass(found)}
    assert (builtin - {Exception, BaseException, object}) & set(kind.__mro__)


@in_turn
def test_it_stands_in_the_tree_at_the_top_of_the_module(kind):
    assert f"─ {kind.__name__}" in (errors.__doc__ or "")


@in_turn
def test_it_is_documented(kind):
    assert inspect.getdoc(kind)


def test_a_way_out_can_be_given_where_it_is_known_better():
    assert str(MemoryTiersError("No.", way_out="Ask again.")) == "No. Ask again."


def test_a_missing_extra_names_the_install_line():
    assert "pip install 'langmem-tiers[openai]'" in str(MissingExtra("langchain-openai", "openai"))
