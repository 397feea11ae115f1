"""The plain data of a pickle: nothing named in it is looked up, imported or called.

`pickletools` tells the operations of a pickle, and only those that put plain values together are let through; an object
is taken as the dictionary of its attributes.
"""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Mapping
from io import BytesIO
from itertools import islice

from langmem_tiers.transfer.files import Malformed

_MOST_OPERATIONS = 200_000
_PLAIN = {
    *("PROTO", "FRAME", "STOP", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES"),
    *("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "EMPTY_SET", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("MARK", "APPEND", "APPENDS", "ADDITEMS", "SETITEM", "SETITEMS"),
    *("MEMOIZE", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET"),
    *("STACK_GLOBAL", "NEWOBJ", "BUILD"),  # an object, of whichever class
}


class _Unpickler(pickle.Unpickler):
    """Makes every object one of an empty class of its own, since a pickle may change the classes that it names."""

    def find_class(self, module: str, name: str, /) -> type[object]:
        return type("Object", (), {})


def attributes(pickled: bytes) -> Mapping[str, object]:
    """The attributes of the one object that was pickled.

    Raises:
        Malformed: it is no pickle of plain data, or does more than hold data.
    """
    _require_plain(pickled)
    try:
        held = _Unpickler(BytesIO(pickled)).load()
    except (pickle.UnpicklingError, EOFError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise Malformed("it is no pickle of plain data") from error
    state = held if isinstance(held, dict) else getattr(held, "__dict__", None)
    inner = state.get("__dict__", state) if isinstance(state, dict) else None
    if not isinstance(inner, dict):
        raise Malformed("it holds no object with attributes")
    return inner


def _require_plain(pickled: bytes) -> None:
    try:
        steps = list(islice(pickletools.genops(pickled), _MOST_OPERATIONS + 1))
    except (ValueError, OverflowError) as error:
        raise Malformed("it is no pickle") from error
    # Room is made for as many remembered values as the highest number says.
    if len(steps) > _MOST_OPERATIONS or any("PUT" in step.name and (n or 0) > _MOST_OPERATIONS for step, n, _ in steps):
        raise Malformed("it is too long")
    if more := next((step.name for step, _, _ in steps if step.name not in _PLAIN), None):
        raise Malformed(f"it does more than hold data ({more})")
