"""Secrets in a text: keys, tokens, passwords and card numbers, found by what is known of each kind.

There is no measure of entropy among the rules: hashes, ids and long words look as random as keys do, and stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from langmem_tiers.trust.cards import CARDS
from langmem_tiers.trust.codes import CODES
from langmem_tiers.trust.passwords import PASSWORDS
from langmem_tiers.trust.rules import Rule
from langmem_tiers.trust.tokens import TOKENS

# Where two rules see the same secret, the one named first names it.
_RULES = (*TOKENS, *PASSWORDS, *CODES, *CARDS)


def _by_hint(*, folded: bool) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each hint with the places of its rules: most texts have none, and are done with after looking for them."""
    hints = dict.fromkeys(hint for rule in _RULES if rule.folded is folded for hint in rule.hints)
    return tuple(
        (hint, tuple(place for place, rule in enumerate(_RULES) if _hinted(rule, hint, folded))) for hint in hints
    )


def _hinted(rule: Rule, hint: str, folded: bool) -> bool:
    return rule.folded is folded and hint in rule.hints


_HINTS, _FOLDED_HINTS = _by_hint(folded=False), _by_hint(folded=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Secret:
    """Where a secret stands in a text, and what it is, such as `aws key` or `password`."""

    start: int
    stop: int
    kind: str


def find(text: str) -> tuple[Secret, ...]:
    """The secrets in a text, in order; none overlaps another.

    Example:
        >>> find("the password is hunter2")
        (Secret(start=16, stop=23, kind='password'),)
    """
    # İ alone becomes two characters in small letters: places in both texts must be the same.
    folded = text.replace("İ", "i").lower()
    hinted = [place for hint, places in _HINTS if hint in text for place in places]
    hinted += [place for hint, places in _FOLDED_HINTS if hint in folded for place in places]
    if not hinted:
        return ()
    found = [
        (start, place, stop, _RULES[place].kind)
        for place in set(hinted)
        for start, stop in _RULES[place].spans(text, folded)
    ]
    return _apart(sorted(found))


def mask(text: str) -> str:
    """The text with `[secret: KIND]` in place of each secret; masking again changes nothing.

    Example:
        >>> mask("the password is hunter2, as ever")
        'the password is [secret: password], as ever'
    """
    found = find(text)
    if not found:
        return text
    parts, done = [], 0
    for secret in found:
        parts += [text[done : secret.start], f"[secret: {secret.kind}]"]
        done = secret.stop
    return "".join([*parts, text[done:]])


def _apart(found: list[tuple[int, int, int, str]]) -> tuple[Secret, ...]:
    """Secrets that overlap as one, of the kind that begins first."""
    apart: list[Secret] = []
    for start, _, stop, kind in found:
        if apart and start < apart[-1].stop:
            last = apart.pop()
            start, stop, kind = last.start, max(last.stop, stop), last.kind  # noqa: PLW2901
        apart.append(Secret(start=start, stop=stop, kind=kind))
    return tuple(apart)
