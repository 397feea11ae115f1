"""Importing the package is quick, loads nothing heavy, and needs nothing that is not declared."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from source_tree import imports_anywhere, imports_at_start, is_within, library

HEAVY = ["chromadb", "langgraph", "langchain_core", "numpy", "onnxruntime", "sqlalchemy", "networkx", "pydantic"]


def _run(code, environment):
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_takes_under_0_3_seconds(offline_environment):
    code = "import time; began = time.process_time(); import langmem_tiers; print(time.process_time() - began)"
    assert min(float(_run(code, offline_environment)) for _ in range(5)) < 0.3


@pytest.mark.parametrize("entry", ["langmem_tiers", "langmem_tiers.cli.app"])
def test_importing_loads_nothing_heavy(entry, offline_environment):
    code = f"import sys, {entry}; print(*[name for name in {HEAVY} if name in sys.modules])"
    assert _run(code, offline_environment) == ""


def test_importing_changes_no_logging_so_that_warnings_reach_stderr_where_nobody_set_logging_up(offline_environment):
    code = "import logging as l, langmem_tiers; print(l.getLogger().handlers, l.getLogger('langmem_tiers').handlers)"
    assert _run(code, offline_environment) == "[] []"


def test_every_import_at_start_is_of_a_declared_dependency(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    distributions = packages_distributions()

    def declared(*lines):
        return {re.split(r"[^\w.-]", line)[0].lower() for line in lines}

    always = declared(*project["dependencies"], "langmem-tiers")
    # The package says what is missing before it loads these modules.
    extras = {
        "langmem_tiers.integrations.panel": "panel",
        "langmem_tiers.integrations.connections": "panel",
        "langmem_tiers.storage.postgres.values": "postgres",
        "langmem_tiers.storage.postgres.patience": "postgres",
        "langmem_tiers.storage.postgres.transactions": "postgres",
        "langmem_tiers.cli.browser": "browse",
        "langmem_tiers.cli.browser_details": "browse",
    }

    def undeclared(module, path):
        extra = next((extra for name, extra in extras.items() if is_within(module, name)), None)
        more = declared(*project["optional-dependencies"][extra]) if extra else set()
        known = always | more
        tops = {name.partition(".")[0] for name in imports_at_start(path)} - sys.stdlib_module_names
        return [top for top in tops if not known & {name.lower() for name in distributions.get(top, [])}]

    found = {module: undeclared(module, path) for module, path in library().items()}
    assert {module: names for module, names in found.items() if names} == {}


def test_no_module_unpickles():
    assert [module for module, path in library().items() if "pickle" in imports_anywhere(path)] == []
