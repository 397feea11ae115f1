"""The words, tables and patterns of `data/`, read once. No business logic."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from langmem_tiers.language.calendar import (
    MONTH_NAMES,
    MONTH_WRITTEN,
    SEASONS,
    SHORT_WEEKDAYS,
    WEEKDAY_NAMES,
    WEEKDAY_WRITTEN,
)
from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.numbers import cardinals


@cache
def table(name: str) -> dict[str, Any]:
    """The content of `data/NAME.toml`; do not modify it."""
    return tomllib.loads(files(__package__).joinpath("data", f"{name}.toml").read_text(encoding="utf-8"))


def listed(name: str, key: str) -> frozenset[str]:
    """The words that `data/NAME.toml` lists under a key."""
    return word_set(table(name)[key])


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


def phrases(text: str) -> tuple[str, ...]:
    """The comma-separated phrases of a text, in order."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip())


def alternatives(name: str, key: str) -> str:
    """The alternatives of a pattern that `data/NAME.toml` lists under a key, without an enclosing group."""
    return one_line(table(name)[key])


def one_line(pattern: str) -> str:
    """A pattern that is written in several lines."""
    return "".join(pattern.splitlines())


def written_out(text: str, parts: Mapping[str, str]) -> str:
    """A pattern in one line, with each `@name@` replaced by that part, which may contain others."""
    return re.sub(r"@(\w+)@", lambda found: written_out(parts[found[1]], parts), one_line(text))


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of these, which `re` tries in their order.

    Those with the same first character share it, which saves time wherever none of them begins. It must be an ordinary
    character, and not optional.

    Example:
        >>> any_of(["wife", "uncle", "wif?e"])
        '(?:w(?:ife|if?e)|u(?:ncle))'
    """
    rests: dict[str, list[str]] = {}
    for word in words:
        rests.setdefault(word[0], []).append(word[1:])
    return "(?:" + "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in rests.items()) + ")"


def named_pattern(section: str, name: str, **parts: str) -> re.Pattern[str]:
    """A pattern of `data/patterns.toml`, with these parts, those of its section, and `COMMON_PARTS`."""
    texts: dict[str, str] = table("patterns")[section]
    return lazy_pattern(written_out(texts[name], {**COMMON_PARTS, **texts, **parts}))


def finds(section: str, name: str, **parts: str) -> Callable[[str], bool]:
    """A check whether a text contains a pattern of `data/patterns.toml`."""
    looked_for = named_pattern(section, name, **parts)
    return lambda text: looked_for.search(text) is not None


def named_patterns(section: str, name: str) -> tuple[re.Pattern[str], ...]:
    """Patterns that are listed under one name in `data/patterns.toml`."""
    texts = table("patterns")[section]
    return tuple(lazy_pattern(written_out(each, {**COMMON_PARTS, **texts})) for each in texts[name])


def contractions(section: str) -> Callable[[str], str]:
    """What spells out the contractions of a section of `data/contractions.toml`."""
    rows = table("contractions")[section]
    parts = [(each["holds"], lazy_pattern(one_line(each["short"])), each["long"]) for each in rows]
    known = [(held, short, long) for holds, short, long in parts for held in holds]

    def spelled_out(text: str) -> str:
        for held, short, long in known:
            if held in text:
                text = short.sub(long, text)
        return text

    return spelled_out


def units(*kinds: str) -> tuple[str, ...]:
    """The units of time that are of all these kinds, as `data/units.toml` tells them apart."""
    return tuple(name for name, unit in table("units").items() if all(unit.get(kind) for kind in kinds))


COMMON_PARTS = {
    "months": MONTH_NAMES,
    "seasons": "|".join(SEASONS),
    "month_written": MONTH_WRITTEN,
    "weekdays": WEEKDAY_NAMES,
    "weekday_written": WEEKDAY_WRITTEN,
    "short_weekdays": "|".join(SHORT_WEEKDAYS[:7]),
    "all_units": "|".join(units()),
    "counted_units": "|".join(units("counted")),
    "named_units": "|".join(units("named")),
    "vague_units": "|".join(units("vague")),
    "vague_counted_units": "|".join(units("vague", "counted")),
    **{f"{first}_to_{last}": cardinals(first, last) for first in (1, 2) for last in (6, 7, 10, 12)},
}
"""Parts of patterns: months, seasons, weekdays, units of time, and numbers such as `@1_to_10@`."""
