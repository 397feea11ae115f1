"""What a service loads before its first reply."""

import asyncio
import gc
import json
import subprocess
import sys

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import InvalidInput, MemoryClosed

# In a process of its own, where nothing is loaded yet; prints what the first recall still had to load.
FIRST_RECALL = """
import gc, json, sys
from langmem_tiers import Memory
from langmem_tiers.language.lazy_patterns import _Lazy
with Memory.open(sys.argv[1], embedder=None, background=False) as memory:
    if sys.argv[2] == "warm":
        memory.warm_up(freeze=False)
    def loaded():
        lazy = [each for each in gc.get_objects() if type(each) is _Lazy]
        patterns = sum("compiled" in vars(each) for each in lazy)
        return patterns, {name for name in sys.modules if name.startswith("langmem_tiers")}
    patterns, modules = loaded()
    found = "Lisbon" in memory.user("alice").recall("Where does my sister live?").block
    more, after = loaded()
    print(json.dumps({"found": found, "patterns": more - patterns, "modules": sorted(after - modules)}))
"""


@pytest.fixture
def told(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        memory.user("alice").track([Turn(role="user", content="My sister Anna lives in Lisbon.")], session="monday")
        memory.flush()
    return tmp_path / "memory"


def first_recall(folder, how, environment):
    run = [sys.executable, "-c", FIRST_RECALL, str(folder), how]
    done = subprocess.run(run, check=True, env=environment, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_the_first_recall_of_a_warm_process_has_nothing_left_to_load(told, offline_environment):
    assert first_recall(told, "warm", offline_environment) == {"found": True, "patterns": 0, "modules": []}
    cold = first_recall(told, "cold", offline_environment)
    assert cold["found"]
    assert cold["patterns"] > 20
    assert cold["modules"]


def test_what_is_loaded_is_left_alone_by_garbage_collections(memory):
    gc.unfreeze()
    try:
        memory.warm_up(freeze=False)
        assert gc.get_freeze_count() == 0
        memory.warm_up()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()


async def test_a_service_warms_up_without_holding_up_its_loop(memory):
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    await memory.awarm_up(freeze=False)
    beside.cancel()
    assert turns > 1


def test_only_yes_and_no_say_whether_to_freeze(memory):
    with pytest.raises(InvalidInput, match="freeze"):
        memory.warm_up(freeze="yes")


def test_a_closed_memory_is_not_warmed_up(tmp_path):
    memory = Memory.open(tmp_path / "memory", embedder=None)
    memory.close()
    with pytest.raises(MemoryClosed):
        memory.warm_up(freeze=False)
