"""1,542 names that climb out of folders, look like one another, or mean something to a file system or a program."""

import json
import unicodedata
from itertools import product
from pathlib import Path
from urllib.parse import quote

_NAUGHTY = Path(__file__).parent / "corpora" / "blns" / "blns.json"
_STEPS = (
    "../",
    "..\\",
    "..%2f",
    "%2e%2e/",
    "..%c0%af",
    "....//",
    "..;/",
    "%252e%252e%252f",
    "．．／",
    "./../",
    "..\x00/",
)
_TARGETS = ("memory.db", "escaped.txt", "spaces/users-alice", "..", "")
_ROOTS = (
    "/",
    "\\",
    "//host/share/",
    "\\\\host\\share\\",
    "C:\\",
    "c:/",
    "~/",
    "~root/",
    "file:///",
    "${HOME}/",
    "$(id)/",
    "%TEMP%\\",
)
_DEVICES = ("CON", "PRN", "AUX", "NUL", "COM1", "LPT1", "CLOCK$", "desktop.ini", ".DS_Store", "Thumbs.db")
_BASES = (
    "ana",
    "paypal",
    "users/ana",
    "teams/red",
    "agents/scout",
    "global",
    "admin",
    "o'neil",
    "zoë",
    "straße",
    "ﬁona",
    "İpek",
)
_HIDDEN = (
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\u180e\ufe0f\U000e0061\u0301\u034f\u00a0\u3000\t\n\r\x00\x1b\x7f"
)
_ALIKE = str.maketrans("aeiopcxys", "аеіорсхуѕ")  # Cyrillic letters
_WIDE = {each: each + 0xFEE0 for each in range(0x21, 0x7F)}


def _paths():
    for step, depth, target in product(_STEPS, (1, 2, 3, 5, 12), _TARGETS):
        yield step * depth + target
        yield f"users/{step * depth}{target}"
    for root, target in product(_ROOTS, _TARGETS):
        yield root + target
    for device, tail in product(_DEVICES, ("", ".", " ", ".txt", ":stream", "/x")):
        yield device + tail
        yield device.lower() + tail


def _look_alikes(name):
    yield from (name, name.upper(), name.title(), name.swapcase(), name.casefold())
    yield from (unicodedata.normalize(form, name) for form in ("NFC", "NFD", "NFKC", "NFKD"))
    yield from (name.translate(_ALIKE), name.translate(_WIDE), name.replace("a", "ɑ"), name.replace("l", "I"))
    yield from (quote(name, safe=""), quote(quote(name, safe=""), safe=""), quote(name[:1].encode() + b"/") + name)
    yield from (
        f"{name} ",
        f" {name}",
        f"{name}.",
        f"{name}/",
        f"{name}//",
        f"./{name}",
        f"{name}%",
        f"{name}_",
        f"{name}*",
    )
    for hidden in _HIDDEN:
        yield from (name + hidden, hidden + name, name[:1] + hidden + name[1:])


def names(most=1542):
    """So many different names, those of each kind among them, always in the same order."""
    alike = [each for name in _BASES for each in _look_alikes(name)]
    naughty = json.loads(_NAUGHTY.read_text(encoding="utf-8"))
    every = list(dict.fromkeys([*alike, *_paths(), *naughty]))
    step = len(every) / most
    return [every[int(at * step)] for at in range(most)]
