"""Every code block of the README and the docs runs as it stands, in an empty folder."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
SETUP = "langmem-tiers --path memory --user alice import conversation.jsonl --format jsonl"
CONVERSATION = [
    {"session": "sunday", "role": "user", "content": "My sister Lena moved to Porto.", "at": "2026-03-01T18:00:00Z"},
    {"session": "sunday", "role": "assistant", "content": "How does she like it?", "at": "2026-03-01T18:00:05Z"},
]


def _blocks(language):
    for page in PAGES:
        text = page.read_text()
        for found in BLOCK.finditer(text):
            if found.group(1) == language:
                line = text.count("\n", 0, found.start()) + 1
                yield pytest.param(found.group(2), id=f"{page.relative_to(ROOT)}:{line}")


def _succeeds(command, folder, environment, **options):
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False, **options
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("code", [*_blocks("python")])
def test_python_runs(code, tmp_path, offline_environment):
    (tmp_path / "block.py").write_text(code)
    _succeeds([sys.executable, "block.py"], tmp_path, offline_environment)


def _command_blocks():
    return [block for block in _blocks("sh") if "langmem-tiers" in block.values[0]]


@pytest.mark.parametrize("lines", _command_blocks())
def test_commands_run(lines, tmp_path, offline_environment):
    (tmp_path / "conversation.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in CONVERSATION))
    for line in (SETUP, *lines.splitlines()):
        if line.startswith("langmem-tiers"):
            _succeeds(line, tmp_path, offline_environment, shell=True, input="Where does my sister Lena live?\n")


def test_links_lead_somewhere():
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
