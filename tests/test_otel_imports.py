"""OpenTelemetry's packages may be half imported by another thread when the memory looks at them."""

import subprocess
import sys

CODE = """
import importlib.abc, sys, threading, time

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith("opentelemetry.trace."):
            began.set()
            time.sleep(1)

began = threading.Event()
sys.meta_path.insert(0, Slow())
from langmem_tiers import Memory, Turn
with Memory.open(sys.argv[1], embedder=None, background=False) as memory:
    alice = memory.user("alice")
    alice.track([Turn(role="user", content="Hello there.")], session="s")
    alice.recall("Where is Lisbon?")
    threading.Thread(target=__import__, args=["opentelemetry.trace"]).start()
    began.wait(20)
    print(len(alice.track([Turn(role="user", content="Anna lives in Lisbon.")], session="s").stored))
    print("Anna" in alice.recall("Where does Anna live?").block)
"""


def test_turns_are_stored_while_another_thread_imports_it(tmp_path, offline_environment):
    command = [sys.executable, "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, env=offline_environment, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["1", "True"], "")
