"""Every code block of the README and the docs runs as it stands, in an empty folder."""

import io
import json
import re
import shlex
from pathlib import Path

import pytest

from langmem_tiers.cli.main import main

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


@pytest.fixture
def output(tmp_path, warm_python):
    """Runs a block in an empty folder, which stays for the next one; what it prints."""

    def run(code):
        (tmp_path / "block.py").write_text(code)
        done = warm_python.run(tmp_path / "block.py")
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.mark.parametrize("code", [*_blocks("python")])
def test_python_runs(code, output):
    output(code)


def _block_with(words):
    return next(block.values[0] for block in _blocks("python") if words in block.values[0])


def test_the_quick_start_shows_its_block_every_time(output):
    shown = [output(_block_with("today = ")) for _ in range(2)]
    assert [block for block in shown if "Lena moved to Porto" not in block] == []


def test_a_state_of_your_own_really_recalls(output):
    assert "“My brother Nils plays the cello.”" in output(_block_with("MyState"))


def _command_blocks():
    return [block for block in _blocks("sh") if "langmem-tiers" in block.values[0]]


@pytest.mark.parametrize("block", _command_blocks())
def test_commands_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("conversation.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in CONVERSATION))
    for line in (SETUP, *block.splitlines()):
        monkeypatch.setattr("sys.stdin", io.StringIO("Where does my sister Lena live?\n"))
        assert _exit_code(shlex.split(line, comments=True)) == 0


def _exit_code(command):
    assert command[0] == "langmem-tiers"
    with pytest.raises(SystemExit) as left:
        main(command[1:])
    return left.value.code or 0


def test_links_lead_somewhere():
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
