"""The wheel holds one top-level module, and works in an environment that has never seen the checkout."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ("langmem_tiers", "graphs", "integrations", "pyproject.toml", "README.md", "LICENSE", "NOTICE")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy of the sources so that nothing is left behind in the checkout."""
    copy = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", cwd=copy)
    return next(copy.glob("dist/*.whl"))


def _run(*command, cwd, **environment):
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env={**kept, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_it_has_one_top_level_module(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"langmem_tiers"}
    assert "langmem_tiers/py.typed" in names


def test_it_holds_every_module_of_the_checkout(wheel):
    shipped = {name.removeprefix("langmem_tiers/") for name in zipfile.ZipFile(wheel).namelist()}
    library = [path.relative_to(ROOT / "langmem_tiers") for path in (ROOT / "langmem_tiers").rglob("*.py")]
    outer = [path.relative_to(ROOT) for room in ("graphs", "integrations") for path in (ROOT / room).rglob("*.py")]
    assert [path for path in (*library, *outer) if path.as_posix() not in shipped] == []


def test_it_holds_the_formats_of_keys_and_their_notice(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "langmem_tiers/trust/gitleaks_rules.toml" in names
    assert any(name.endswith("/NOTICE") for name in names)
    assert not any("corpora" in name for name in names)


def test_it_holds_what_the_panel_shows(wheel):
    shipped = {name.removeprefix("langmem_tiers/") for name in zipfile.ZipFile(wheel).namelist()}
    folder = ROOT / "integrations" / "panel"
    assets = [path for room in ("templates", "static") for path in (folder / room).rglob("*") if path.is_file()]
    assert len(assets) > 10
    assert [path for path in assets if path.relative_to(ROOT).as_posix() not in shipped] == []


def test_the_quick_start_runs_from_it(wheel, tmp_path, offline_environment):
    """In a new environment that sees the installed dependencies, but not this checkout."""
    environment = tmp_path / "environment"
    _run(sys.executable, "-m", "venv", "--without-pip", str(environment), cwd=tmp_path)
    python = next(path for path in environment.glob("*/python*") if path.stem == "python")
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index")
    _run(*pip, str(wheel), cwd=tmp_path)
    _see_dependencies(python, tmp_path)
    offline = {"PYTHONPATH": offline_environment["PYTHONPATH"]}
    assert "moved to Porto" in _run(str(python), "-c", _quick_start(), cwd=tmp_path, **offline)
    where = "import langmem_tiers.graphs, langmem_tiers.integrations; print(langmem_tiers.__file__)"
    assert str(environment) in _run(str(python), "-c", where, cwd=tmp_path, **offline)
    assert "recall" in _run(str(python.with_name("langmem-tiers")), "--help", cwd=tmp_path)


def _quick_start():
    """The first Python block of the README."""
    return (ROOT / "README.md").read_text().partition("```python\n")[2].partition("```")[0]


def _see_dependencies(python, folder):
    """A path file adds a folder without running what editable installs leave in it."""
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(_run(str(python), "-c", find, cwd=folder).strip())
    mine = _run(sys.executable, "-c", find, cwd=folder).strip()
    (packages / "dependencies.pth").write_text(mine + "\n")


def test_every_package_is_named_for_the_wheel(root):
    named = set(tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    homes = {
        "langmem_tiers": "langmem_tiers",
        "graphs": "langmem_tiers.graphs",
        "integrations": "langmem_tiers.integrations",
    }
    found = {
        ".".join([homes[folder], *file.parent.relative_to(root / folder).parts])
        for folder in homes
        for file in (root / folder).rglob("__init__.py")
    }
    assert found == named
