"""The public names: all there, all documented, all lazy."""

import inspect
import tomllib
from importlib.metadata import version

import pytest

import langmem_tiers

NAMES = [name for name in langmem_tiers.__all__ if name != "__version__"]
in_turn = pytest.mark.parametrize("name", NAMES)


@in_turn
def test_a_public_name_can_be_imported(name):
    assert getattr(langmem_tiers, name) is not None


@in_turn
def test_a_public_name_is_documented(name):
    assert inspect.getdoc(getattr(langmem_tiers, name))


@pytest.mark.parametrize("name", ["Memory", "Space"])
def test_every_public_method_is_documented(name):
    facade = getattr(langmem_tiers, name)
    public = {key: member for key, member in inspect.getmembers(facade, callable) if not key.startswith("_")}
    assert [key for key, member in public.items() if not inspect.getdoc(member)] == []


def test_the_list_is_sorted_and_is_what_dir_shows():
    assert sorted(langmem_tiers.__all__) == langmem_tiers.__all__ == dir(langmem_tiers)


def test_every_record_and_setting_is_exported():
    from langmem_tiers import settings, types

    classes = [kind for module in (settings, types) for kind in vars(module).values() if inspect.isclass(kind)]
    ours = {kind.__name__ for kind in classes if kind.__module__ in (settings.__name__, types.__name__)}
    assert {name for name in ours if not name.startswith("_")} <= set(langmem_tiers.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Memmory"):
        _ = langmem_tiers.Memmory


def test_the_version_is_the_same_everywhere(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert langmem_tiers.__version__ == project["version"] == version("langmem-tiers")


def test_the_changelog_knows_this_version(root):
    assert f"## {langmem_tiers.__version__}" in (root / "CHANGELOG.md").read_text()
