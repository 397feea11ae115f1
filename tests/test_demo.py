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
    tries = questions.partition("Try next:\n")[2].splitlines()
    assert [line.partition("--user mara ")[2].split()[0] for line in tries] == ["palace", "recall", "chat", "stats"]
    assert "14 messages of 4 sessions are in .demo/, recalled by keywords and by meaning (all-MiniLM-L6-v2)." in told
    assert (tmp_path / ".demo").is_dir()
