"""A call that Ctrl-C stops at any moment leaves no lock held, no transaction open, and what was stored stays once."""

import gc
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from inspect import CO_GENERATOR
from itertools import count

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.testing import HashEmbedder
from tests.graphing import FACT, QUESTION, remember

# Each so many steps of a call, one is stopped there.
EVERY = 61
WAIT = 20
# Between these, a `Condition.wait` of Python's own does not have the lock, and says so if it is stopped there.
IN_A_WAIT = ("_release_save", "_acquire_restore")


def stopped_at(step, call):
    """Make a call that is stopped when so many Python functions have begun or ended; whether it came to its end."""
    steps = count()

    def trace(frame, event, _):
        frame.f_trace_lines = False
        # No signal comes between a `yield` and its caller, and an error there ends the generator without its `finally`.
        between = event == "return" and frame.f_code.co_flags & CO_GENERATOR
        may_come = event in ("call", "return") and not between and frame.f_code.co_name not in IN_A_WAIT
        if may_come and next(steps) == step:
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(None)
    return next(steps) <= step


@pytest.mark.folder
# What a stopped call had open is garbage, and closed as such. Of a commit that was stopped halfway, SQLAlchemy says
# that its transaction is over already.
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::ResourceWarning",
    "ignore:transaction already deassociated:sqlalchemy.exc.SAWarning",
)
@pytest.mark.parametrize("offset", range(0, EVERY, 30))
@pytest.mark.parametrize("background", [False, True])
def test_after_a_call_that_was_stopped_at_any_moment_others_work(tmp_path, clock, background, offset):
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=background, clock=clock) as memory:
        alice = memory.user("alice")
        remember(alice, FACT)
        alice.recall(QUESTION)
        stored = ["again"]

        def track(name):
            alice.track([Turn(role="user", content=f"The box {name} is red.", message_id=name)], session="s")
            stored.append(name)

        calls = (lambda step: track(f"m{step}"), lambda step: alice.recall(QUESTION, session=f"s{step}"))
        with ThreadPoolExecutor(1) as others:
            others.submit(track, "again").result(WAIT)
            for call in calls:
                for step in count(offset, EVERY):
                    if stopped_at(step, lambda call=call, step=step: call(step)):
                        break
                    others.submit(track, f"other {step}").result(WAIT)
            assert others.submit(memory.flush).result(WAIT * 3)
        times = Counter(drawer.message_id for drawer in alice.drawers(session="s"))
        assert {times[name] for name in stored} == {1}
        assert max(times.values()) == 1
        assert memory.delete_user("alice", confirm=True).counts["spaces"] == 1
    gc.collect()  # here, where it may be found: it would fail the test during which it is collected
