"""How much a JSON text would become in memory, told before it is read as a whole, and how deeply it is nested."""

from __future__ import annotations

# Smaller texts become 200 MB at most.
_SMALL = 8 << 20
# A list takes thirty times the bytes of `[]`, a number ten times those of `7,`: texts of records are far from that.
_BYTES_PER_LIST, _BYTES_PER_VALUE = 40, 8
DEEPEST = 500
"""How deeply values of callers may be nested: some versions of Python read ten times as much, others not twice."""


def is_crowded(data: bytes) -> bool:
    """Whether a large text has so many lists, objects and values that no records can be in it."""
    if len(data) <= _SMALL:
        return False
    lists, values = data.count(b"[") + data.count(b"{"), data.count(b",")
    return lists * _BYTES_PER_LIST > len(data) or values * _BYTES_PER_VALUE > len(data)


def too_deep(value: object, deepest: int) -> bool:
    """Whether a JSON value is nested more deeply than this; 1 is a list or an object of plain values."""
    level: list[object] = [value]
    for _ in range(deepest):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
