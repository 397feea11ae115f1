"""No text makes a pattern or a door of the memory take more than linear time: `re` would hold up the process."""

import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from langmem_tiers import Turn
from langmem_tiers.dream import feedback
from langmem_tiers.records import SpokenTurn

SMALL, LARGE = 12_000, 96_000  # characters
MOST_GROWTH = 24  # where the text grows eightfold: 64-fold is quadratic
ATTACKS = (
    "I really really really ",
    "I actually love ",
    "we've been actually ",
    "Tonight we'd primarily ",
    "will u please ",
    "no, no, don't again ",
    "my sister Anna and ",
    "Anna's Anna's ",
    "I moved to Oslo and ",
    "call me A'",
    '"I said ',
    "Dr. ",
    "\n",
    "a\n\n",
    " - ",
    "...?! ",
    "aaaa",
    "1.2.3.",
    "password is ",
    "in May on May ",
)


def test_every_pattern_takes_linear_time(root, offline_environment):
    """Each takes at most five times as long as a simple pattern: 50 ms for 100,000 characters on two shared cores.

    One that only reads clauses of up to 240 characters, or a sentence of up to 1,000, may take 150 ms. The texts are
    made from its own words. One is too slow if it is ten times in a row, so that a busy machine fails nothing; one
    that never ends is given up by the script itself.
    """
    run = subprocess.run(
        [sys.executable, str(root / "tests" / "pattern_attacks.py")],
        env=offline_environment,
        cwd=root,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["patterns"] > 400
    assert told["slow"] == []


def cost(run, text) -> float:
    """The time of the processor that reading a text takes."""
    begun = time.process_time()
    run(text)
    return time.process_time() - begun


@pytest.fixture
def doors(alice, clock):
    """The doors that read what users say, by name."""

    def mine(text):
        alice.track([Turn(role="user", content=text)], session="s")
        alice.mine()

    def hear(text):
        turn = SpokenTurn(drawer=1, session="s", role="assistant", content="Here you are.", said_at=clock())
        feedback.signals([turn, replace(turn, role="user", content=text)])

    return {"mine": mine, "recall": alice.recall, "feedback": hear}


@pytest.mark.parametrize("door", ["mine", "recall", "feedback"])
def test_no_message_holds_up_a_door(doors, door):
    run = doors[door]
    run("My sister Anna lives in Lisbon.")  # what is loaded at first is not counted
    for attack in ATTACKS:
        small = cost(run, attack * (SMALL // len(attack)))
        large = cost(run, attack * (LARGE // len(attack)) + "!")
        assert large < 0.5 or large < MOST_GROWTH * small, (attack, small, large)


def test_many_adverbs_are_read_as_one_sentence(alice):
    for count in (21, 60):
        spent = cost(
            lambda said: (alice.track([Turn(role="user", content=said)], session="s"), alice.mine()),
            f"I {'really ' * count}like tea.",
        )
        assert spent < 2
