"""Literal values such as 20 Ah, which are not entities, and when two of them are the same."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from langmem_tiers.errors import InvalidRelation
from langmem_tiers.language.word_lists import listed
from langmem_tiers.language.words import folded
from langmem_tiers.wording import type_of

_LONGEST = 1000
_LONGEST_UNIT = 40
# People measure with up to ten digits before and after the point; anything longer identifies something.
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
# Units are case-sensitive: mW is not MW.
_UNITS = listed("vocabulary", "units_of_values")
_WITH_UNIT = re.compile(rf"({_NUMBER.pattern})\s*({'|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """A value that is not an entity, such as 20 with the unit Ah."""

    text: str
    unit: str | None = None

    def __str__(self) -> str:
        return self.text if self.unit is None else f"{self.text} {self.unit}"


def read(value: str | float, unit: str | None = None) -> Value:
    """A value in stored form; "20 Ah" is 20 with the unit Ah.

    Raises:
        InvalidRelation: it is empty, too long, neither text nor finite number, or contains control characters.

    Example:
        >>> read(20.0, "Ah"), read("20 Ah")
        (Value(text='20', unit='Ah'), Value(text='20', unit='Ah'))
    """
    given = None if unit is None else _cleaned(unit, "unit", _LONGEST_UNIT)
    text = _cleaned(value, "value", _LONGEST) if isinstance(value, str) else _number(value)
    measured = None if given else _WITH_UNIT.fullmatch(text)
    return Value(text=measured[1], unit=measured[2]) if measured else Value(text=text, unit=given)


@lru_cache(maxsize=4096)
def key(text: str, unit: str | None) -> tuple[str, str]:
    """A key that is equal for all spellings of a value: 20, 20.0 and "20" are one, and so are "Red" and "red".

    Example:
        >>> key("20.50", "Ah") == key("20.5", "Ah")
        True
    """
    if _NUMBER.fullmatch(text):
        whole, _, rest = text.lstrip("+").partition(".")
        sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
        digits, rest = digits.lstrip("0") or "0", rest.rstrip("0")
        number = f"{digits}.{rest}" if rest else digits
        return ("" if number == "0" else sign) + number, unit or ""
    return folded(text), unit or ""


def _number(value: float) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRelation(f"{type_of(value)} is no value.", way_out="Give a text or a number.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidRelation(f"{value} is no value.", way_out="Give a finite number.")
    if isinstance(value, int):
        if abs(value) >= 10**300:
            raise InvalidRelation("The value is too large a number.", way_out="Give it in a larger unit.")
        return str(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _cleaned(text: object, what: str, most: int) -> str:
    if not isinstance(text, str):
        raise InvalidRelation(f"{type_of(text)} is no {what}.", way_out="Give a text.")
    # A far longer one is not even normalised.
    plain = text if len(text) > 2 * most else " ".join(unicodedata.normalize("NFC", text).split())
    if not plain:
        raise InvalidRelation(f"The {what} is empty.")
    if len(plain) > most:
        too_long = f"The {what} has {len(plain):,} characters; the limit is {most:,}."
        raise InvalidRelation(too_long, way_out="Say it in fewer words.")
    bad = next((sign for sign in plain if unicodedata.category(sign) in {"Cc", "Cs"}), None)
    if bad is not None:
        raise InvalidRelation(f"The {what} holds the character {bad!a}.", way_out="Give readable text.")
    return plain
