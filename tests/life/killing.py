"""Kills processes that write, half-way, and looks at what they leave: run as a program, since it forks.

    python -m tests.life.killing --kills 200 --seed 7 --work FOLDER

Each round copies a prepared memory, lets a fork write to it until it is killed, before a chosen step (a statement, a
commit, a file opened for writing, renamed or removed) or after a chosen time, and lets another fork look at it.
Everything heavy is imported once, here, where no thread runs. It prints a line of JSON with what was found.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import traceback
from collections import Counter
from pathlib import Path
from threading import Timer, active_count
from time import perf_counter

from sqlalchemy import Engine, event

from langmem_tiers import Memory
from tests.life.writings import WHOLE, WRITINGS, acknowledged, fill, opened, prepare, readable, state, turns

_FILES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "shutil.move", "sqlite3.connect"}
_STUCK = 600  # seconds; a busy machine may need a minute for what takes one or two in peace


class Writer:
    """In the process that writes: acknowledges, counts steps, and ends itself where it is told to."""

    def __init__(self, place, step=None, seconds=None):
        self.place, self.left, self.seconds = place, step, seconds
        self.file = os.open(place / "acks", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.steps, self.since = 0, perf_counter()
        self.timer = None
        event.listen(Engine, "before_cursor_execute", self.step)
        event.listen(Engine, "commit", self.step)
        sys.addaudithook(self.audit)
        self.begin()

    def begin(self):
        """The kill comes after here."""
        self.steps, self.since = 0, perf_counter()
        if self.timer:
            self.timer.cancel()
        if self.seconds is not None:
            self.timer = Timer(self.seconds, os.kill, (os.getpid(), signal.SIGKILL))
            self.timer.daemon = True
            self.timer.start()

    def audit(self, name, arguments):
        writes = name == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or name in _FILES:
            self.step()

    def step(self, *_):
        self.steps += 1
        if self.steps == self.left:
            os.kill(os.getpid(), signal.SIGKILL)

    def __call__(self, slot, text):
        os.write(self.file, (json.dumps([slot, text]) + "\n").encode())


def in_a_fork(work):
    """What a function returns in a fork; an exit code below 0 if that was killed or hung."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(read)
            result = json.dumps(work()).encode()
            while result:
                result = result[os.write(write, result) :]
            code = 0
        except BaseException:  # noqa: BLE001 - the fork ends here, whatever it was
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(write)
    alarm = Timer(_STUCK, os.kill, (child, signal.SIGKILL))
    with os.fdopen(read) as pipe:
        alarm.start()
        told = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        alarm.cancel()
        alarm.join()
    return code, json.loads(told) if code == 0 else None


def uninterrupted(name, place):
    """How many steps and seconds a kind of writing takes, and what the memory says afterwards."""
    writer = Writer(place)
    WRITINGS[name](place, writer)
    return {"steps": writer.steps, "seconds": perf_counter() - writer.since, "state": settled(place)}


def settled(place):
    """What the memory says once the work behind it is done."""
    with opened(place) as memory:
        memory.flush()
    return state(place)


def problems(place):
    with opened(place) as memory:
        memory.flush()
        for name in memory.spaces():
            space = memory.space(name)
            yield from (f"doctor: {name}: {each.message}" for each in space.doctor() if each.level == "problem")
            if space.stats().pending:
                yield f"{name}: {space.stats().pending} without vectors"


def faults(name, place, before, after):
    """What is not as it must be after a kill, then after the same was done again."""
    found = []
    now = state(place)
    acks = [json.loads(line) for line in (place / "acks").read_text().splitlines()]
    last = dict(acks)
    found += [
        f"acknowledged and not there: {slot}: {now.get(slot)}"
        for slot in last
        if not acknowledged(now, slot, last[slot])
    ]
    found += [
        f"doubled: {slot}"
        for slot, texts in now.items()
        if len(texts) > max(1, len(before.get(slot, ())), len(after.get(slot, ())))
    ]
    found += [f"lost: {slot}" for slot in before if slot in after and slot not in now]
    if name in WHOLE and now not in (before, after):
        found.append(f"half done: {differences(before, now)} and {differences(now, after)}")
    found += problems(place)
    WRITINGS[name](place, Writer(place))
    again = settled(place)
    if again != after:
        found.append(f"done again it says something else: {differences(after, again)}")
    found += problems(place)
    if name == "forget" and b"zanzibarquux." in readable(place).replace(b"knows zanzibarquux.", b""):
        found.append("forgotten bytes are still there")
    return found


def differences(first, second):
    slots = sorted(slot for slot in {*first, *second} if first.get(slot) != second.get(slot))
    return [(slot, first.get(slot), second.get(slot)) for slot in slots][:5]


def round_(name, base, place, known, rng):
    """One kill and what it leaves; None if the writer was done before."""
    shutil.copytree(base, place, symlinks=True)
    by_step = rng.random() < 0.6
    step = rng.randint(1, max(1, known["steps"])) if by_step else None
    seconds = None if by_step else rng.uniform(0, known["seconds"])
    code, _ = in_a_fork(lambda: WRITINGS[name](place, Writer(place, step, seconds)))
    if code == -signal.SIGKILL:
        code, found = in_a_fork(lambda: faults(name, place, known["before"], known["state"]))
        when = f"step {step} of {known['steps']}" if by_step else f"{seconds:.3f} of {known['seconds']:.3f} s"
        found = found if code == 0 else [f"the look at it ended with {code}"]
        return [f"{name}, killed at {when}: {each}" for each in found]
    return None if code == 0 else [f"{name}: the writer ended with {code}"]


def known_of(name, base, work):
    """A prepared memory of a kind, and what it comes to uninterrupted."""
    place = work / "base" / name.replace(" ", "-")
    shutil.copytree(base, place)
    code, _ = in_a_fork(lambda: prepare(name, place))
    assert code == 0, name
    trial = work / "trial"
    shutil.copytree(place, trial, symlinks=True)
    code, before = in_a_fork(lambda: state(trial)) if name != "migrate" else (0, None)
    assert code == 0, name
    shutil.rmtree(trial)
    shutil.copytree(place, trial, symlinks=True)
    code, known = in_a_fork(lambda: uninterrupted(name, trial))
    assert code == 0, name
    shutil.rmtree(trial)
    return place, {**known, "before": known["state"] if before is None else before}


def warm_up(folder):
    """Import everything and compile the rules, without starting a thread."""
    import chromadb  # noqa: F401

    with Memory.open(folder, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track(turns(0, 8, "w"), session="warm")
        alice.mine()
        alice.flush()
        alice.recall("Where does Lena live?")
        alice.doctor()
    assert active_count() == 1


def kill(kills, seed, work, only=None):
    """So many kills, over all kinds in turn."""
    rng = random.Random(seed)
    base = work / "filled"
    base.mkdir(parents=True)
    assert in_a_fork(lambda: fill(base))[0] == 0
    names = [only] if only else rng.sample(sorted(WRITINGS), len(WRITINGS))
    prepared, done, found, tries = {}, Counter(), [], 0
    while done.total() < kills:
        name = names[tries % len(names)]
        tries += 1
        if name not in prepared:
            prepared[name] = known_of(name, base, work)
        place = work / "round"
        told = round_(name, *prepared[name][:1], place, prepared[name][1], rng)
        if told is not None:
            done[name] += 1
            found += told
            if told:
                print(*told, sep="\n", file=sys.stderr, flush=True)
        shutil.rmtree(place)
    return {"kills": done.total(), "kinds": len(done), "rounds": tries, "faults": found, "by_kind": dict(done)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=13)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", choices=sorted(WRITINGS))
    given = parser.parse_args()
    warm_up(given.work / "warm")
    started = perf_counter()
    told = kill(given.kills, given.seed, given.work, given.only)
    print(json.dumps({**told, "seconds": round(perf_counter() - started, 1)}))


if __name__ == "__main__":
    main()
