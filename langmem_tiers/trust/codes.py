"""PINs, codes of safes, doors and phones, and the words of wallets."""

from __future__ import annotations

import re

from langmem_tiers.trust.rules import Rule

_IS = r"(?:\s(?:is|was)(?:\s(?:now|still|just|set\sto|changed\sto))?:?|['’]s)\s"
_FOR = r"(?:\s(?:for|to|of|on|at|in)\s[^.\n]{1,30}?)?"
_PIN = (
    rf"\bmy\s(?:[\w'-]{{1,20}}\s){{0,3}}pin(?:\snumber)?(?:{_FOR}{_IS}|\s)(?P<own>\d{{4,8}})\b"
    rf"|\bpin(?:\s(?:code|number))?{_FOR}\s?[:=]\s?(?P<plain>\d{{4}})\b"
    r"|\bpin\s(?:code|number)\s(?P<code>\d{4})\b"
    rf"|\bpin(?:\s(?:code|number))?{_FOR}{_IS}(?P<told>\d{{4}})\b"
    r"|\b(?:card|sim|bank|atm|phone|visa|maestro|account|door|alarm)\spin\s(?P<of_card>\d{4})\b"
    r"|(?:\A|(?<=\n))[ \t]*pin[ \t](?P<alone>\d{4})(?=[ \t]*(?:\n|\Z))"
)
_LOCKED = (
    r"(?:safe|vault|door|gate|garage|alarm|(?:pad)?lock|locker|lock\s?box|key\s?box|key\s?safe|building|entrance|house"
    r"|flat|apartment|office|suitcase|briefcase|bike|phone|tablet|shed|keypad|elevator|lift)"
)
_NAMED = r"(?:safe|vault|door|gate|garage|alarm|lock|locker|lock\s?box|keypad|verification)"
_ONCE = r"(?:entry|unlock|verification|security|one-time|sms|2fa|mfa|otp|keypad|login)"
_CODE = r"(?:code|combination|combo)"
# Digits in groups, which a lock may be turned to and fro for, or a word with a digit.
_TURNED = r"[#*]?\d{1,8}(?:(?:[ -]|\s?,\s?)(?:(?:left|right)[ ])?\d{1,4}){0,5}[#*]?"
_VALUE = rf"(?:{_TURNED}|(?=[a-z#*-]{{0,12}}\d)[\w#*-]{{4,16}})"
_NO_MORE = r"(?![\w%]|[.,]\d)"
_ASSIGNED = rf"(?:{_IS}|\s?[:=]\s?)"
_OF_LOCK = (
    rf"\b{_CODE}\s(?:for|to|of|on)\s(?:[\w'’-]{{1,20}}\s){{0,3}}?{_LOCKED}\b[^.\n:;!?\d]{{0,20}}?{_ASSIGNED}"
    rf"(?P<of_lock>{_VALUE}){_NO_MORE}"
    rf"|\b(?:{_LOCKED}|{_ONCE})(?:['’]s)?\s{_CODE}{_FOR}{_ASSIGNED}(?P<code>{_VALUE}){_NO_MORE}"
    rf"|\b{_NAMED}\s{_CODE}\s(?P<called>{_VALUE}){_NO_MORE}"
    rf"|\b(?:open|unlock)(?:s|ed)?\s(?:the|my|our)\s(?:[\w'’-]{{1,20}}\s){{0,2}}?{_LOCKED}\s(?:with|by|using)\s(?:the\scode\s)?"
    rf"(?P<opens>{_VALUE}){_NO_MORE}"
)
# The word lists of wallets hold words of three to eight letters, and no word of grammar.
_SEED = (
    r"\b(?:seed|recovery|mnemonic|secret|backup)\s(?:phrases?|words?|codes?)\b[^\n]{0,30}?"
    r"\b(?P<words>[a-z]{3,8}(?:[\s,]{1,3}[a-z]{3,8}){11,23})\b"
)
_LEAST_DIGITS = 3
_BEFORE = 20
_COUNTED = re.compile(r"[\s-](?:char|letter|digit|line|lock|minute|hour|day|week|month|year|time|euro|dollar)")


_OTHER_CODE = re.compile(r"(?:error|fault|status|exit|return|source|area|country|zip|postal|dress|product)\s\Z")


def _opens(value: str, match: re.Match[str]) -> bool:
    """Digits enough, no count of anything, and not what a fault is called by."""
    if sum(map(str.isdigit, value)) < _LEAST_DIGITS or _COUNTED.match(match.string, match.end()):
        return False
    return not _OTHER_CODE.search(match.string[max(0, match.start() - _BEFORE) : match.start()])


CODES = (
    Rule(kind="pin", hints=("pin",), pattern=re.compile(_PIN, re.ASCII), folded=True),
    Rule(
        kind="access code",
        hints=("code", "combination", "combo", "open", "unlock"),
        pattern=re.compile(_OF_LOCK, re.ASCII),
        holds=_opens,
        folded=True,
    ),
    Rule(kind="seed phrase", hints=("phrase", "words", "mnemonic"), pattern=re.compile(_SEED), folded=True),
)
