"""The plain data of a pickle, read without unpickling: nothing named in it is looked up, imported or called.

`pickletools` tells the operations of a pickle; those that put plain values together are carried out here, and an
object is taken as the dictionary of its attributes. Everything else is refused.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from typing import Any

from langmem_tiers.transfer.files import Malformed

_MOST_OPERATIONS = 200_000
_PLAIN = {
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES"),
}
_FIXED: Mapping[str, Callable[[], object]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": list,
    "EMPTY_SET": list,
}
_NOTHING = {"PROTO", "FRAME", "STOP"}
_MARK = object()


class _Object:
    """Stands for an object of a class that is not looked up."""

    def __init__(self) -> None:
        self.state: object = None


def attributes(pickled: bytes) -> Mapping[str, object]:
    """The attributes of the one object that was pickled.

    Raises:
        Malformed: it is no pickle of plain data, or does more than hold data.
    """
    try:
        held = _Machine().run(pickled)
    except Malformed:
        raise
    except (IndexError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise Malformed("it is no pickle of plain data") from error
    state = held.state if isinstance(held, _Object) else held
    inner = state.get("__dict__", state) if isinstance(state, dict) else None
    if not isinstance(inner, dict):
        raise Malformed("it holds no object with attributes")
    return inner


class _Machine:
    """A stack on which plain values are put together."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, object] = {}

    def run(self, pickled: bytes) -> object:
        for count, (operation, argument, _) in enumerate(_operations(pickled)):
            name = operation.name
            if count > _MOST_OPERATIONS:
                raise Malformed("it is too long")
            if name in _PLAIN:
                self._stack.append(argument)
            elif name in _FIXED:
                self._stack.append(_FIXED[name]())
            elif name in _STEPS:
                _STEPS[name](self, argument)
            elif name not in _NOTHING:
                raise Malformed(f"it does more than hold data ({name})")
        return self._stack.pop()

    def mark(self, _: object) -> None:
        self._stack.append(_MARK)

    def keep(self, _: object) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def keep_as(self, number: int) -> None:
        self._memo[number] = self._stack[-1]

    def fetch(self, number: int) -> None:
        self._stack.append(self._memo[number])

    def append(self, _: object) -> None:
        last = self._stack.pop()
        self._stack[-1].append(last)

    def extend(self, _: object) -> None:
        items = self._since_mark()
        self._stack[-1].extend(items)

    def set_item(self, _: object) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._stack[-1][key] = value

    def set_items(self, _: object) -> None:
        items = self._since_mark()
        self._stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def several(self, count: int) -> None:
        items = [self._stack.pop() for _ in range(count)]
        self._stack.append(items[::-1])

    def marked(self, _: object) -> None:
        self._stack.append(self._since_mark())

    def named(self, _: object) -> None:
        """A class by the two names on the stack: an object will stand for whatever it makes."""
        del self._stack[-2:]
        self._stack.append(_Object)

    def made(self, _: object) -> None:
        del self._stack[-2:]
        self._stack.append(_Object())

    def filled(self, _: object) -> None:
        state = self._stack.pop()
        self._stack[-1].state = state

    def _since_mark(self) -> list[Any]:
        items: list[Any] = []
        while (item := self._stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]


_STEPS: Mapping[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "MEMOIZE": _Machine.keep,
    "BINPUT": _Machine.keep_as,
    "LONG_BINPUT": _Machine.keep_as,
    "BINGET": _Machine.fetch,
    "LONG_BINGET": _Machine.fetch,
    "APPEND": _Machine.append,
    "APPENDS": _Machine.extend,
    "ADDITEMS": _Machine.extend,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "TUPLE": _Machine.marked,
    "TUPLE1": lambda machine, _: machine.several(1),
    "TUPLE2": lambda machine, _: machine.several(2),
    "TUPLE3": lambda machine, _: machine.several(3),
    "STACK_GLOBAL": _Machine.named,
    "NEWOBJ": _Machine.made,
    "BUILD": _Machine.filled,
}


def _operations(pickled: bytes) -> Any:
    try:
        yield from pickletools.genops(pickled)
    except (ValueError, OverflowError, UnicodeDecodeError) as error:
        raise Malformed("it is no pickle") from error
