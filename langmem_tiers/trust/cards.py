"""Payment cards: numbers that pass their check sum and were issued by somebody, and the code on the back."""

from __future__ import annotations

import re

from langmem_tiers.trust.rules import Rule

_BEHIND_LUHN = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
# Sixteen digits in fours, American Express's and Diners' groups, or no groups at all. Words before a number say
# what else it is.
_NUMBER = re.compile(
    r"(?<![\w.+#-])(?P<secret>[2-6]\d{3}([ -]?)\d{4}\2\d{4}\2\d{4}(?:\2\d{3})?|3\d{3}([ -]?)\d{6}\3\d{4,5})"
    r"(?![\w-]|\.\d)",
    re.ASCII,
)
# First digits and lengths by issuer: Visa, Mastercard, American Express, Diners, JCB, Discover, UnionPay, Maestro.
_ISSUED = re.compile(
    r"4(?:\d{15}|\d{18})|5[1-5]\d{14}|2(?:2[2-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|35(?:2[89]|[3-8]\d)\d{12}|6(?:011|22\d|4[4-9]\d|5\d\d)\d{12}|62\d{14}|(?:5018|5020|5038|6304|6759|676[1-3])\d{12}"
)
_NO_CARD = re.compile(
    r"\b(?:order|tracking|invoice|ticket|case|reference|ref|transaction|shipment|serial|imei|id|isbn|timestamp)"
    r"(?:\s?(?:number|no\.?|nr\.?|id|code|is|was|#|:))*[\s#:]*$"
)
_BEFORE = 40


def _is_card(value: str, match: re.Match[str]) -> bool:
    digits = value.replace(" ", "").replace("-", "")
    before = match.string[max(0, match.start() - _BEFORE) : match.start()].lower()
    return bool(_ISSUED.fullmatch(digits)) and _passes_check(digits) and not _NO_CARD.search(before)


def _passes_check(digits: str) -> bool:
    """The check of ISO/IEC 7812, by Luhn."""
    last_first = [int(digit) for digit in reversed(digits)]
    return (sum(last_first[::2]) + sum(_BEHIND_LUHN[digit] for digit in last_first[1::2])) % 10 == 0


CARDS = (
    Rule(kind="card number", hints=tuple("23456"), pattern=_NUMBER, holds=_is_card),
    Rule(
        kind="card code",
        hints=("cvv", "cvc"),
        pattern=re.compile(r"\bcv[vc]2?\b[^\d\n]{0,12}(?P<secret>\d{3,4})(?!\d)", re.ASCII),
        folded=True,
    ),
)
