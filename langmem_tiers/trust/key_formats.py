"""Keys and tokens by the formats of their issuers, as `gitleaks_rules.toml` lists them; read when first needed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from langmem_tiers.trust.stand_ins import entropy, is_stand_in

# No key is shorter, and none without a digit than that: most words are.
_SHORTEST, _LONG = 12, 18
# A value at a name: `NAME_token = "…"`, `<NAMEToken>…`, "my NAME key is …".
_AT_NAME = (
    r"(?i:(?:{name})(?:[ \t\w.-]{{0,20}}?(?:key|token|secret)\sis\s|[ \t\w.-]{{0,20}}+[\\'\"]{{0,3}}[ \t]{{0,3}}"
    r"(?:[<>?+.:|]{{0,3}}=|:|[>,(|]))[\s\\`'\"=|>]{{0,6}}(?P<secret>{value})(?![\w/+-]|[.=:@]\w))"
)
_BY_ITSELF = r"(?<![A-Za-z0-9]){pattern}(?!\w)"
# What is left of a token that is longer than its format: a part of it would tell the rest.
_MORE = re.compile(r"(?:-*\w)*={0,2}", re.ASCII)
_DIGIT = re.compile("[0-9]")


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyFormat:
    """The keys of one issuer. A value `at_name` has no form of its own, and must have a digit."""

    id: str
    kind: str
    keywords: tuple[str, ...]
    written: str
    entropy: float
    excluded: str
    at_name: bool

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when first needed."""
        return _compiled(self.written)

    def spans(self, text: str, folded: str) -> Iterator[tuple[int, int]]:
        """The positions of such keys in `text`, each up to its end."""
        for match in self.pattern.finditer(text):
            start, stop = match.span(match.lastgroup or 0)
            end = _MORE.match(text, stop).end()  # type: ignore[union-attr]
            if self._holds(text[start:stop]) and not is_stand_in(text[start:end]):
                yield start, end

    def _holds(self, value: str) -> bool:
        if self.at_name and not _DIGIT.search(value):
            return False
        return entropy(value) > self.entropy and not (self.excluded and re.fullmatch(self.excluded, value))


def formats_in(text: str, folded: str) -> Iterable[tuple[int, KeyFormat]]:
    """The formats whose keywords are in a text, each with its place; `folded` is the lower-case text.

    Few messages have a word that may be a key. Only in those words the keywords of tokens are looked for, and those of
    names only if one of them has a digit.
    """
    words = [word for word in folded.split() if len(word) >= _SHORTEST and _may_be_key(word)]
    if not words:
        return ()
    tokens, names = _keywords()
    long = " ".join(words)
    found = {place for keyword, places in tokens.items() if keyword in long for place in places}
    if _DIGIT.search(long):
        found |= {place for keyword, places in names.items() if keyword in folded for place in places}
    return [(place, formats()[place]) for place in found]


def _may_be_key(word: str) -> bool:
    """Whether it has a digit, or is longer than words are."""
    return len(word) >= _LONG or _DIGIT.search(word) is not None


@cache
def formats() -> tuple[KeyFormat, ...]:
    """All formats: tokens that are recognised by themselves, then values by their names."""
    listed = tomllib.loads(files(__package__).joinpath("gitleaks_rules.toml").read_text(encoding="utf-8"))
    tokens = [(rule, _BY_ITSELF.format(pattern=rule["pattern"]), False) for rule in listed["token"]]
    assigned = [(rule, _AT_NAME.format(name=_name(rule), value=rule["value"]), True) for rule in listed["assigned"]]
    return tuple(
        KeyFormat(
            id=rule["id"],
            kind=rule["kind"],
            keywords=tuple(rule["keywords"]),
            written=pattern,
            entropy=rule.get("entropy", 0),
            excluded=rule.get("not", ""),
            at_name=at_name,
        )
        for rule, pattern, at_name in (*tokens, *assigned)
    )


def _name(rule: dict[str, str | list[str]]) -> str:
    return str(rule.get("name") or "|".join(rule["keywords"]))


@cache
def _keywords() -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """The places of formats by their keywords: those of tokens, and those of names."""
    kept: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
    for place, each in enumerate(formats()):
        for keyword in each.keywords:
            kept[each.at_name].setdefault(keyword, []).append(place)
    return kept


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
