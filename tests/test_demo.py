"""The demo runs in an empty folder, offline, and shows what is remembered of three sessions."""

import re
import subprocess
import sys
from html import unescape

import pytest


@pytest.mark.model
def test_the_demo_shows_what_is_remembered(root, tmp_path, offline_environment):
    command = [sys.executable, str(root / "examples" / "demo.py")]
    done = subprocess.run(command, cwd=tmp_path, env=offline_environment, capture_output=True, text=True, check=True)
    sessions, _, questions = done.stdout.partition("session weeks-later")
    assert sessions.count("·  session ") == 3
    told = " ".join(questions.replace("│", " ").split())
    for remembered in ("the 16th of May", "an SHT45", "without bullet points", "LoRa radio", "Nothing comes close"):
        assert remembered in told
    tries = questions.partition("Try next:\n")[2].splitlines()
    assert [line.partition("--user mara ")[2].split()[0] for line in tries] == ["palace", "recall", "chat", "stats"]
    assert "14 messages of 4 sessions are in .demo/, recalled by keywords and by meaning (all-MiniLM-L6-v2)." in told
    assert (tmp_path / ".demo").is_dir()


@pytest.mark.model
def test_the_picture_in_the_readme_shows_what_the_demo_prints(root, tmp_path, offline_environment):
    command = [sys.executable, str(root / "examples" / "demo.py"), "--svg", "demo.svg"]
    done = subprocess.run(command, cwd=tmp_path, env=offline_environment, capture_output=True, text=True, check=True)
    drawn = _lines((root / "docs" / "images" / "demo.svg").read_text())
    assert drawn == _lines((tmp_path / "demo.svg").read_text())
    printed = iter("".join(line.split()) for line in done.stdout.splitlines())
    assert [line for line in drawn if line not in printed] == []  # each of them, in this order
    assert "Nothingcomesclose" in "".join(drawn)


def test_the_picture_fetches_nothing(root):
    picture = (root / "docs" / "images" / "demo.svg").read_text()
    assert re.findall(r"url\((?!#)|@import|href=", picture) == []


def _lines(picture):
    """The lines of a terminal drawn by rich, without blanks; the texts of a line share their clip path."""
    lines = {}
    for line, text in re.findall(r'clip-path="url\(#terminal-\d+-line-(\d+)\)">(.*?)</text>', picture):
        lines[line] = lines.get(line, "") + "".join(unescape(text).split())
    return [line for line in lines.values() if line]
