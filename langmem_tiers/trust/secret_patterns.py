"""Secrets recognisable by themselves: keys and tokens by their format, payment cards, PINs and codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.trust.stand_ins import entropy, is_stand_in


def always(value: str, match: re.Match[str]) -> bool:
    """Whatever fits the pattern is a secret."""
    return True


def scrambled(value: str, match: re.Match[str]) -> bool:
    """Whether it looks random: digits among upper- and lower-case letters, or a long hexadecimal number."""
    small, capital, digit = _SMALL.search(value), _CAPITAL.search(value), _DIGIT.search(value)
    return bool(digit and ((small and capital) or _HEXADECIMAL.search(value)))


_SMALL, _CAPITAL, _DIGIT = re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]")
_HEXADECIMAL = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretRule:
    """One kind of secret: the last named group of its pattern, or else the whole match, if `holds` agrees.

    Only a text with one of the `hints` in it is searched. With `folded`, hints and pattern are matched against
    the lower-case text; `holds` always gets the value as written.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[str, re.Match[str]], bool] = always
    folded: bool = False

    def spans(self, text: str, folded: str) -> Iterator[tuple[int, int]]:
        """The positions of secrets of this kind in `text`; `folded` is its lower-case form."""
        for match in self.pattern.finditer(folded if self.folded else text):
            start, stop = match.span(match.lastgroup or 0)
            if self.holds(text[start:stop], match):
                yield start, stop


# Keys and tokens, by their issuer's prefix or their format.

_ALNUM, _URL_SAFE, _HEX = "[A-Za-z0-9]", r"[\w-]", "[0-9a-f]"


def _prefixed(kind: str, prefix: str, body: str, *hints: str) -> SecretRule:
    """A token by its prefix, which is its hint unless another is given."""
    token = lazy_pattern(f"(?<!{_ALNUM}){prefix}{body}", re.ASCII)
    return SecretRule(kind=kind, hints=hints or (prefix,), pattern=token)


def _scrambled(kind: str, said: str, *hints: str) -> SecretRule:
    return SecretRule(kind=kind, hints=hints, pattern=lazy_pattern(said, re.ASCII), holds=scrambled)


def _has_body(value: str, match: re.Match[str]) -> bool:
    """Whether there is an actual key, even a short one, and not just its first and last line."""
    return any(map(_drawn, _PIECES.split(_FRAME.sub(" ", value))))


def _drawn(piece: str) -> bool:
    return bool(_LONG_PIECE.fullmatch(piece) or (_PIECE.fullmatch(piece) and _MIXED.search(piece)))


def _is_no_hash(value: str, match: re.Match[str]) -> bool:
    return not _HASH.fullmatch(value)


def _in_header(value: str, match: re.Match[str]) -> bool:
    return (any(map(str.isdigit, value)) or match["header"] is not None) and not is_stand_in(value)


def _varied(value: str, match: re.Match[str]) -> bool:
    return entropy(value) > _LEAST_ENTROPY and not is_stand_in(value)


_LEAST_ENTROPY = 2.75
_CURL_HEADER = (
    r"(?i:(?:-H|--header)[= ]{0,6}[\"'](?:authorization:\s{0,5}(?:(?:basic|bearer|(?:api-)?token)\s)?"
    r"|(?:x-(?:[a-z]{1,20}-)?)?(?:api-?)?(?:key|token):\s{0,5})(?P<secret>[\w=~@.+/-]{8,4000})[\"'])"
)


def _in_manifest(value: str, match: re.Match[str]) -> bool:
    """Whether a value of base64 is below `data:` in the manifest of a Kubernetes secret."""
    begun = match.string.rfind("\n---", 0, match.start()) + 1
    manifest = match.string[begun : match.string.find("\n---", match.start()) + 1 or None]
    if not _SECRET_MANIFEST.search(manifest):
        return False
    above = match.string[max(begun, match.start() - _LONGEST_DATA) : match.start()]
    opened = max(_DATA.finditer(above), key=re.Match.end, default=None)
    return opened is not None and all(len(line[1]) > len(opened[1]) for line in _INDENTED.finditer(above, opened.end()))


_YAML_VALUE = (
    r"^[ \t]{1,20}[\w.-]{1,80}:[ \t]{0,9}(?:[|>][-+]?\s{1,20})?[\"']?"
    r"(?P<secret>[A-Za-z0-9+/]{10,}={0,3})[\"']?[ \t]{0,9}$"
)
_SECRET_MANIFEST = re.compile(r"^[ \t]*kind:[ \t]*[\"']?[Ss]ecret\b(?![\w-])", re.MULTILINE)
_DATA = re.compile(r"^([ \t]*)(?:data|stringData):[ \t]*\n", re.MULTILINE)
_INDENTED = re.compile(r"^([ \t]*)[^\s#]", re.MULTILINE)
_LONGEST_DATA = 4_000

# A key's lines may be quoted or inside JSON. Without its end, it extends as long as there are lines of base64.
_PEM = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----)[\s\S])*-----END [A-Z0-9 ]{1,60}-----"
    r"|(?:(?:[\s>]|\\[nr]|(?:Proc-Type|DEK-Info|Version|Comment):[^\n]*\n)*[A-Za-z0-9+/=]{16,})*"
    r"(?:(?:[\s>]|\\[nr])*[A-Za-z0-9+/]+={1,2}|(?:[ \t>]*\r?\n|\\n)[ \t>]*[A-Za-z0-9+/]{6,}(?=[ \t]*(?:\r?\n|\Z)))?)"
)
_FRAME = re.compile("-----(?:BEGIN|END) [A-Z0-9 ]{1,60}-----")
_PIECES = re.compile(r"(?:[\s>\"',]|\\[nr])+")
_PIECE, _LONG_PIECE = re.compile("[A-Za-z0-9+/]{6,}={0,2}"), re.compile("[A-Za-z0-9+/=]{24,}")
_MIXED = re.compile("[0-9+/=]|[a-z][A-Z]")
_HASH = re.compile("[0-9a-f]{40}")

TOKENS = (
    SecretRule(kind="private key", hints=("PRIVATE KEY",), pattern=lazy_pattern(_PEM), holds=_has_body),
    SecretRule(
        kind="private key",
        hints=("Private-Lines:",),
        pattern=lazy_pattern(r"Private-Lines: \d{1,4}\r?\n(?P<secret>(?:[A-Za-z0-9+/=]{4,}(?:\r?\n|\Z))+)"),
    ),
    _prefixed("anthropic key", "sk-ant-", _URL_SAFE + "{20,}"),
    _prefixed("openai key", "sk-(?:proj|svcacct|admin|None)-", _URL_SAFE + "{20,}", "sk-"),
    _prefixed("openai key", "sk-", f"{_ALNUM}{{16,}}T3BlbkFJ{_ALNUM}{{16,}}"),
    # Many services have copied OpenAI's prefix.
    _scrambled("api key", rf"(?<!{_ALNUM})sk-{_URL_SAFE}{{20,}}", "sk-"),
    SecretRule(
        kind="aws key",
        hints=("AKIA", "ASIA", "AWS", "aws"),
        pattern=lazy_pattern("(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),
        holds=lambda value, match: scrambled(value, match) and _is_no_hash(value, match),
    ),
    SecretRule(
        kind="aws key",
        hints=("secret",),
        pattern=lazy_pattern(
            r"\b(?:aws|amazon)\b[^\n]{0,40}?\bsecret\b[^\n]{0,25}?(?<![\w/+])(?P<secret>[a-z0-9/+]{40})(?![\w/+=])",
            re.ASCII,
        ),
        holds=_is_no_hash,
        folded=True,
    ),
    _prefixed("google key", "GOCSPX-", _URL_SAFE + "{20,}"),
    _prefixed("google key", r"ya29\.", _URL_SAFE + "{30,}", "ya29."),
    _prefixed("stripe key", "whsec_", "[A-Za-z0-9+/=]{24,}"),
    _prefixed("docker token", "dckr_[po]at_", _URL_SAFE + "{20,}", "dckr_"),
    _prefixed("mailgun key", "key-", _HEX + "{32}(?![A-Za-z0-9])"),
    _prefixed("mailchimp key", "", _HEX + "{32}-us[0-9]{1,2}(?![A-Za-z0-9])", "-us"),
    _prefixed("telegram token", "[0-9]{8,10}", r":AA[\w-]{32,35}", ":AA"),
    _prefixed("groq key", "gsk_", _ALNUM + "{40,}"),
    _prefixed("xai key", "xai-", _ALNUM + "{60,}"),
    _prefixed("replicate token", "r8_", _ALNUM + "{37}"),
    _prefixed("tavily key", "tvly-", _URL_SAFE + "{20,}"),
    _prefixed("langsmith key", "lsv2_(?:pt|sk)_", r"[0-9a-f]{32}_[0-9a-f]{10}", "lsv2_"),
    _prefixed("square token", "sq0csp-", _URL_SAFE + "{22,}"),
    _prefixed("figma token", "figd_", _URL_SAFE + "{36,}"),
    _prefixed("airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _prefixed("supabase token", "sbp_", _HEX + "{40}"),
    SecretRule(
        kind="jwt",
        hints=("eyJ",),
        pattern=lazy_pattern(r"(?<![\w-])eyJ[\w-]{10,}(?:\.[\w-]{10,}\.[\w-]*(?:\.[\w-]+){0,2})", re.ASCII),
    ),
    SecretRule(
        kind="bearer token",
        hints=("bearer", "authorization"),
        pattern=lazy_pattern(
            r"(?:(?P<header>authorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:basic|bearer|token)\s+)|\bbearer\s+)"
            r"(?P<secret>[\w.~+/=-]{16,})",
            re.ASCII,
        ),
        holds=_in_header,
        folded=True,
    ),
    SecretRule(
        kind="kubernetes secret",
        hints=("kind:",),
        pattern=lazy_pattern(_YAML_VALUE, re.ASCII | re.MULTILINE),
        holds=_in_manifest,
    ),
    SecretRule(kind="bearer token", hints=("curl",), pattern=lazy_pattern(_CURL_HEADER, re.ASCII), holds=_varied),
    _prefixed("signature", "[?&;]sig=", "[A-Za-z0-9%/+=]{30,}", "sig="),
)

# Payment cards: numbers with a valid check digit and a known issuer, and the code on the back.

_BEHIND_LUHN = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
# Sixteen digits in fours, American Express's and Diners' groups, or no groups at all. Words before a number say
# what else it may be.
_CARD_NUMBER = re.compile(
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
    r"(?:\s?(?:number|no\.?|nr\.?|id|code|is|was|#|:)){0,6}[\s#:]{0,8}$"
)
_READ_BEFORE = 40


def _is_card(value: str, match: re.Match[str]) -> bool:
    digits = value.replace(" ", "").replace("-", "")
    before = match.string[max(0, match.start() - _READ_BEFORE) : match.start()].lower()
    return bool(_ISSUED.fullmatch(digits)) and _passes_check(digits) and not _NO_CARD.search(before)


def _passes_check(digits: str) -> bool:
    """The check digit of ISO/IEC 7812, by Luhn."""
    last_first = [int(digit) for digit in reversed(digits)]
    return (sum(last_first[::2]) + sum(_BEHIND_LUHN[digit] for digit in last_first[1::2])) % 10 == 0


CARDS = (
    SecretRule(kind="card number", hints=tuple("23456"), pattern=_CARD_NUMBER, holds=_is_card),
    SecretRule(
        kind="card code",
        hints=("cvv", "cvc"),
        pattern=lazy_pattern(r"\bcv[vc]2?\b[^\d\n]{0,12}(?P<secret>\d{3,4})(?!\d)", re.ASCII),
        folded=True,
    ),
)

# PINs, codes of safes, doors and phones, and the words of wallets.

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
_OPENED = (
    r"(?:safe|vault|door|gate|garage|(?:pad)?lock|locker|(?:lock|key)\s?box|key\s?safe|suitcase|briefcase|phone|tablet)"
)
_ONCE = r"(?:entry|unlock|verification|security|one-time|sms|2fa|mfa|otp|keypad|login)"
_CODE = r"(?:code|combination|combo)"
# Digits in groups, as for a combination lock, or a word with a digit.
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
    rf"|\b{_OPENED}\s(?:opens?|unlocks?|is\s(?:opened|unlocked))\s(?:with|by|using)\s(?:the\scode\s)?(?P<by>{_VALUE})"
    r"(?=[.,;!?)]?(?:\s|\Z))(?!\s\w{1,20}\b(?<!and|but|for))"
)
_BACKUP_CODE = r"(?=[a-z-]{0,12}\d)[a-z\d-]{6,20}(?![\w%])"
_BACKUP_CODES = (
    r"\b(?:(?:2fa|mfa|otp|two-factor|recovery|rescue)\s(?:(?:backup|recovery)\s)?codes?|backup\scodes)"
    rf"{_FOR}(?:\s(?:is|are):?|\s?[:=])\s{{1,3}}(?:[-*•]\s)?"
    rf"(?P<secret>{_BACKUP_CODE}(?:[,;]?\s{{1,3}}(?:and\s|[-*•]\s)?{_BACKUP_CODE}){{0,15}})"
)
# The word lists of wallets have words of three to eight letters, and no function words.
_SEED = (
    r"\b(?:seed|recovery|mnemonic|secret|backup)\s(?:phrases?|words?|codes?)\b[^\n]{0,30}?"
    r"\b(?P<words>[a-z]{3,8}(?:[\s,]{1,3}[a-z]{3,8}){11,23})\b"
)
_LEAST_DIGITS = 3
_READ_BEFORE_CODE = 20
_COUNTED = re.compile(r"[\s-](?:char|letter|digit|line|lock|minute|hour|day|week|month|year|time|euro|dollar)")


_OTHER_CODE = re.compile(r"(?:error|fault|status|exit|return|source|area|country|zip|postal|dress|product)\s\Z")


def _opens(value: str, match: re.Match[str]) -> bool:
    """Enough digits, not a count of anything, and not an error code."""
    if sum(map(str.isdigit, value)) < _LEAST_DIGITS or _COUNTED.match(match.string, match.end()):
        return False
    return not _OTHER_CODE.search(match.string[max(0, match.start() - _READ_BEFORE_CODE) : match.start()])


CODES = (
    SecretRule(kind="pin", hints=("pin",), pattern=lazy_pattern(_PIN, re.ASCII), folded=True),
    SecretRule(
        kind="access code",
        hints=("code", "combination", "combo", "open", "unlock"),
        pattern=lazy_pattern(_OF_LOCK, re.ASCII),
        holds=_opens,
        folded=True,
    ),
    SecretRule(
        kind="access code", hints=("code",), pattern=lazy_pattern(_BACKUP_CODES, re.ASCII), holds=_opens, folded=True
    ),
    SecretRule(kind="seed phrase", hints=("phrase", "words", "mnemonic"), pattern=lazy_pattern(_SEED), folded=True),
)
