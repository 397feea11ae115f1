"""Values that stand in for a secret: placeholders, references to where it is kept, and names of variables."""

from __future__ import annotations

import re
from collections import Counter
from math import log2

# As documentation has them: `hf_xxxx…`, `sk-your-key`, `AKIA…EXAMPLE`, `<token>`, `${{ secrets.TOKEN }}`, `$TOKEN`,
# `%TOKEN%`, `os.environ["TOKEN"]`.
_MADE_UP = re.compile(
    r"[xX]{4}|[*•…]{3}|\.{3}|\.\.$|EXAMPLE(?:_?KEY)?$|(?:abcdefghijklmn|ABCDEFGHIJKLMN)"
    r"|(?<![a-z])(?:your|example|placeholder|change[-_]?(?:me|it)|redacted|dummy)(?![a-z])"
    r"|(?<![A-Z])(?:YOUR|PLACEHOLDER|CHANGE_?ME|REDACTED|DUMMY)(?![A-Z])"
    r"|\$\(?[{(]|^\$\w+$|\{\{|^<[^<>]*>$|^%\w+%$|^@\w+@$|^\{\w*\}$|^%[-+# 0]?[A-Za-z]$|^\[[A-Z_ ]+\]$"
    r"|\b(?:os\.(?:environ|getenv)|process\.env|ENV)\b|\bgetenv\b"
)
# One character or pair over and over, for a third of it.
_REPEATED = re.compile(r"(.{1,3}?)\1{4,}")
_VARIABLE = re.compile("[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_LETTERS = re.compile("[A-Z]{2,}")


def is_stand_in(value: str) -> bool:
    """Whether a value only shows where a secret would stand.

    Example:
        >>> is_stand_in("hf_xxxxxxxxxxxx"), is_stand_in("AWS_SECRET_ACCESS_KEY"), is_stand_in("hf_QNqXrtFihRuySZub")
        (True, True, False)
    """
    return bool(_MADE_UP.search(value)) or _is_repeated(value) or is_variable(value)


def is_variable(value: str) -> bool:
    """Whether it is the name of a variable or macro, in capital letters: `AWS_SECRET_ACCESS_KEY`."""
    return _VARIABLE.fullmatch(value) is not None and all(map(_LETTERS.search, value.split("_")[:2]))


def _is_repeated(value: str) -> bool:
    return any(3 * len(found[0]) >= len(value) for found in _REPEATED.finditer(value))


def entropy(value: str) -> float:
    """Shannon's entropy of a text, in bits per character."""
    return -sum(count / len(value) * log2(count / len(value)) for count in Counter(value).values())
