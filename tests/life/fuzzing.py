"""What the fuzzing of readers shares: broken versions of good samples, and a limit for how long anything may take."""

import json
import signal
from contextlib import contextmanager
from copy import deepcopy

from langmem_tiers.errors import MemoryTiersError

SECONDS = 20

# What tends to break readers: numbers, signs and nestings that look usual in the place of others.
ODD = (
    None,
    True,
    -1,
    0,
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    "",
    " ",
    "\x00",
    "\ud800",
    "x" * 3000,
    "2026-13-45",
    [],
    {},
    [[[]]],
    {"": ""},
    {"id": None},
    "../../etc/passwd",
    "</memory_context>",
    "\u202e",
    [None],
    "1" * 5000,
)
_ODD_BYTES = (b"\x00", b"\xff\xfe", b"{", b"]", b'"', b"\n---\n", b"9" * 400, b"[" * 3000)
ODD_TEXT = tuple(each for each in ODD if isinstance(each, str))


@contextmanager
def in_time(about, seconds=SECONDS):
    """Nothing may hang, nor fail with anything but an error of the package.

    The seconds are those of the processor, since a busy machine may let this process wait for as long.
    """

    def too_long(*_):
        raise AssertionError(f"it takes more than {seconds} s: {about!r:.500}")

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except MemoryTiersError:
        pass  # what went wrong has a name
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}, from {about!r:.1500}") from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def broken_bytes(data, draw):
    """Some bytes changed, cut out, doubled or put in."""
    made = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        place, length = draw.randrange(len(made) + 1), draw.choice((1, 2, 8, 200))
        how = draw.randrange(5)
        if how == 0:
            del made[place:]
        elif how == 1:
            del made[place : place + length]
        elif how == 2:
            made[place:place] = made[place : place + length] * draw.choice((1, 2, 50))
        elif how == 3:
            made[place:place] = draw.choice(_ODD_BYTES)
        else:
            made[place : place + 1] = bytes([draw.randrange(256)])
    return bytes(made)


def broken_json(value, draw):
    """A copy in which some values are something else, gone, or where others belong."""
    made = json.loads(json.dumps(value))
    for _ in range(draw.randint(1, 4)):
        places = [*_places(made)]
        if not places:
            return deepcopy(draw.choice(ODD))
        within, key = draw.choice(places)
        how = draw.randrange(4)
        if how == 0:
            del within[key]
        elif how == 1:
            within[key] = _cut(draw.choice(places)[0], 4)
        elif how == 2 and isinstance(within[key], str):
            within[key] = broken_text(within[key], draw)
        else:
            within[key] = deepcopy(draw.choice(ODD))
    return made


def _places(value):
    names = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in names:
        yield value, key
        yield from _places(value[key])


def _cut(value, depth):
    if isinstance(value, dict):
        return {key: _cut(each, depth - 1) for key, each in value.items()} if depth else {}
    if isinstance(value, list):
        return [_cut(each, depth - 1) for each in value] if depth else []
    return value


def broken_text(text, draw):
    """Some characters changed, doubled, cut out, or put in."""
    made = text
    for _ in range(draw.randint(1, 5)):
        place, length = draw.randrange(len(made) + 1), draw.choice((1, 3, 20))
        how = draw.randrange(4)
        if how == 0:
            made = made[:place] + made[place + length :]
        elif how == 1:
            made = made[:place] + made[place : place + length] * draw.choice((2, 60)) + made[place:]
        elif how == 2:
            made = made[:place] + draw.choice(ODD_TEXT) + made[place:]
        else:
            made = made[:place] + chr(draw.choice((draw.randrange(0x80), draw.randrange(0x2FFF)))) + made[place + 1 :]
    return made


def as_file(path, value):
    """JSON as other programs write it: with NaN, and half characters as escapes."""
    path.write_text(json.dumps(value), encoding="ascii")
    return path
