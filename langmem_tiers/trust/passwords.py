"""Passwords, and keys without a form of their own: told by the words before them, and by what is no password."""

from __future__ import annotations

import re

from langmem_tiers.palace.words import FUNCTION_WORDS, word_set
from langmem_tiers.trust.rules import Rule

_QUOTE = "[\"'`“”„‘’«»]"
_NAMES = (
    r"(?:pass(?:word|wort|wd|phrase|code)|(?:(?<=[_\"'])|(?<=[/,;] )|(?<![^\n]))pass|pwd|(?<![a-z])pw(?=[:=\s])"
    r"|kennwort|contrase[ñn]a|mot de passe|senha|wachtwoord|hasło|пароль|密码|密碼|パスワード|비밀번호)"
)
_NAME_HINTS = (
    *("pass", "pwd", "pw:", "pw=", "pw is", "kennwort", "contrase", "senha", "wachtwoord", "hasło"),
    *("пароль", "密码", "密碼", "パスワード", "비밀번호"),
)
_KEY_NAMES = (
    r"(?:(?:api|secret|access|client|auth|private|encryption|signing|service|account|master|subscription|webhook"
    r"|refresh|session|bot)[ _-]?(?:key|secret|token)|(?<![a-z])(?:secret|token|credentials?))(?:[_-]\w{1,20})?"
)
_ASSIGNS = r"[\"'`\]]{0,2}\s{0,3}(?::=|=>|=(?!=)|[:：＝])\s{0,5}"
_IS = (
    r"(?:\s(?:for|to|of|on|at|für|para|pour)\s[^.\n:;!?]{1,40}?)?(?:\s{1,3}(?:is|was|ist|war|lautet|es|est|é)"
    r"(?:\s(?:now|still|currently|again))?:?\s{1,3}|\s?(?:是|为|は|은|는)\s?)"
)
_CHANGED = rf"(?:chang|set|reset|updat)\w{{0,4}}\s(?:[\w']{{1,20}}\s){{0,4}}{_NAMES}\sto\s"
_NAMED_USER = r"\b(?:user|username|login)\b[:=\s]{1,3}\S{1,60},?\s(?:and\s)?pass(?:word)?\s"
_OPTION = r"(?:(?<=--password)|(?<=--passwd)|(?<=--pass))\s"
# A quoted value may hold blanks; another ends at what ends one in code, in addresses and in connection strings.
_QUOTED = (
    r"(?P<quote>[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\n\\]|\\.){1,1000})(?P=quote)"
    r"|[“”„‘’«»](?P<set_off>[^“”„‘’«»\n]{1,1000})[“”„‘’«»]"
)
_BARE = (
    rf"{_QUOTE}?(?P<bare>(?![\[({{<*])(?:(?!{_QUOTE}(?!\w))[^\s<>{{}}\[\];&]|&(?!\w{{1,30}}=)){{3,1000}}(?<![.,:)]))"
)
_VALUE = f"(?:{_QUOTED}|{_BARE})"
_KEY_VALUE = rf"{_QUOTE}?(?P<key>[\w./+=~%-]{{12,4000}})"
_BEFORE_HOST = r"[a-z][a-z0-9+.-]{1,30}://[^\s/?#:@\"'<>]{0,100}:(?P<in_address>[^\s/?#\"'<>]{1,1000})@(?=[\w\[])"
_AFTER_USER = rf"\bcurl\b[^\n]{{0,100}}?\s(?:-u|--user)\s{_QUOTE}?[^\s:\"']{{1,60}}:(?P<of_user>[^\s\"']{{1,100}})"
_PIN = (
    r"\bmy\s(?:[\w'-]{1,20}\s){0,3}pin(?:\snumber)?\s(?:is|was)\s(?P<own>\d{4,8})\b"
    r"|\bpin(?:\s(?:code|number))?\s?[:=]\s?(?P<plain>\d{4})\b"
    r"|\bpin(?:\s(?:code|number))?(?:\s(?:for|to|of|on)\s[^.\n]{1,30}?)?\s(?:is|was)\s(?P<told>\d{4})\b"
)
# The word lists of wallets hold words of three to eight letters, and no word of grammar.
_SEED = (
    r"\b(?:seed|recovery|mnemonic|secret|backup)\s(?:phrases?|words?|codes?)\b[^\n]{0,30}?"
    r"\b(?P<words>[a-z]{3,8}(?:[\s,]{1,3}[a-z]{3,8}){11,23})\b"
)

_TEMPLATE = re.compile(r"[$%#]?[{(<]|\$(?:[A-Z_]+|\w*pass\w*)$|%\w+%|\[secret:|(?P<sign>[*•.xX_-])(?P=sign)*$")
_CODE = re.compile(r"[\w.]+\(|[\w.]+\.(?:get|environ|env|getenv|password|passwd|pass|pwd|value)\b")
_MORE_CODE = ("[", "{", "(")
_COUNTED = re.compile(r"\s(?:char|letter|digit|sign|word|symbol|attempt|minute|hour|day|week|month|year|time)")
_CLAUSE_ENDS = re.compile(
    r"\s*(?:$|[\n.,;!?)\]}&\"'“”]|(?:and|but|for|btw|user|username|host|login)\b|\w{1,20}\s?[:=])"
)
_PERCENT = re.compile(r"\d+%")
_PLAIN = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+){0,2}")
_REMARK = re.compile(r".*(?:ed|ing|able|ible|ly|less|ful|ous|sensitive)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_REMARKS = FUNCTION_WORDS | word_set(
    """
    new old bad big long short weak strong safe secure insecure good great better best easy hard simple difficult
    complex common default different correct incorrect right wrong invalid valid false true fine okay dead gone known
    unknown lost empty blank hidden secret public private random unique generic important necessary optional required
    missing stupid dumb trivial obvious terrible horrible awful crap rubbish ancient history case char key string str
    bool boolean int integer float bytes null nil undefined nullable secretstr optional any password passwd pass pwd
    change reset enter type click see ask sample test placeholder redacted n/a tbd
    """
)


def _is_password(value: str, match: re.Match[str]) -> bool:
    """No code, no placeholder and no remark: a plain word without quotes counts only where it ends its clause."""
    after = match.string[match.end() : match.end() + 30]
    if value.lower() in _REMARKS or _TEMPLATE.match(value):
        return False
    if match.lastgroup != "bare":
        return True
    if _CODE.match(value) or after.startswith(_MORE_CODE) or _COUNTED.match(after):
        return False
    if not _PLAIN.fullmatch(value):
        return not _PERCENT.fullmatch(value)
    return _CLAUSE_ENDS.match(after) is not None and not _REMARK.fullmatch(value.lower())


def _is_no_word(value: str, match: re.Match[str]) -> bool:
    return not _PLAIN.fullmatch(value) and _is_password(value, match)


def _in_address(value: str, match: re.Match[str]) -> bool:
    return not _TEMPLATE.match(value)


def _is_key(value: str, match: re.Match[str]) -> bool:
    """Digits and letters, and neither a date nor an address."""
    drawn = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return drawn and not _DATE.match(value) and not match.string.startswith("://", match.end())


def _said(kind: str, pattern: str, *hints: str) -> Rule:
    return Rule(kind=kind, hints=hints, pattern=re.compile(pattern), holds=_is_password, folded=True)


PASSWORDS = (
    Rule(kind="password", hints=("://",), pattern=re.compile(_BEFORE_HOST), holds=_in_address, folded=True),
    Rule(kind="password", hints=("curl",), pattern=re.compile(_AFTER_USER), holds=_in_address, folded=True),
    _said("password", _NAMES + f"(?:{_ASSIGNS}|{_IS}|{_OPTION})" + _VALUE, *_NAME_HINTS),
    _said("password", _CHANGED + _VALUE, "password to ", "passcode to ", "passphrase to "),
    Rule(
        kind="password",
        hints=("user", "login"),
        pattern=re.compile(_NAMED_USER + _VALUE),
        holds=_is_no_word,
        folded=True,
    ),
    Rule(
        kind="api key",
        hints=("key", "secret", "token", "credential"),
        pattern=re.compile(f"{_KEY_NAMES}(?:{_ASSIGNS}|{_IS}){_KEY_VALUE}"),
        holds=_is_key,
        folded=True,
    ),
    Rule(kind="pin", hints=("pin",), pattern=re.compile(_PIN, re.ASCII), folded=True),
    Rule(kind="seed phrase", hints=("phrase", "words", "mnemonic"), pattern=re.compile(_SEED), folded=True),
)
