"""The demo runs in an empty folder, offline, and shows what is remembered of three sessions."""

import subprocess
import sys


def test_the_demo_shows_what_is_remembered(root, tmp_path, offline_environment):
    command = [sys.executable, str(root / "examples" / "demo.py")]
    done = subprocess.run(command, cwd=tmp_path, env=offline_environment, capture_output=True, text=True, check=True)
    sessions, _, questions = done.stdout.partition("session weeks-later")
    assert sessions.count("·  session ") == 3
    told = " ".join(questions.replace("│", " ").split())
    for remembered in ("the 16th of May", "an SHT45", "without bullet points", "LoRa radio", "Nothing comes close"):
        assert remembered in told
    assert "Try next:" in questions
    assert (tmp_path / ".demo").is_dir()
