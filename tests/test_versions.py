"""The lowest versions that pyproject.toml allows are those that `make test-lowest` tests."""

import re
import tomllib

import pytest
from packaging.version import Version

TESTED_EXTRAS = ("classic", "openai")


@pytest.fixture
def pinned(root):
    """What constraints-lowest.txt says, by name."""
    lines = (root / "constraints-lowest.txt").read_text().splitlines()
    return {_plain(name): version for name, _, version in (line.partition("==") for line in lines) if version}


def _plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lowest_versions_allowed_are_the_ones_tested(root, pinned):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in TESTED_EXTRAS:
        wanted += project["optional-dependencies"][extra]
    floors = dict(re.match(r"([\w.-]+).*?>=([\d.]+)", one).groups() for one in wanted)
    assert len(floors) >= 15
    wrong = {name: floor for name, floor in floors.items() if Version(pinned[_plain(name)]) != Version(floor)}
    assert wrong == {}
