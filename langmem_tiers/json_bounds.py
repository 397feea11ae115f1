"""How much a JSON text would become in memory, told before it is read as a whole."""

from __future__ import annotations

# Smaller texts become 200 MB at most.
_SMALL = 8 << 20
# A list takes thirty times the bytes of `[]`, a number ten times those of `7,`: texts of records are far from that.
_BYTES_PER_LIST, _BYTES_PER_VALUE = 40, 8


def is_crowded(data: bytes) -> bool:
    """Whether a large text has so many lists, objects and values that no records can be in it."""
    if len(data) <= _SMALL:
        return False
    lists, values = data.count(b"[") + data.count(b"{"), data.count(b",")
    return lists * _BYTES_PER_LIST > len(data) or values * _BYTES_PER_VALUE > len(data)
