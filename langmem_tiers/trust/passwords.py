"""Passwords, and keys without a format: recognised by the words before them, unless they are clearly something else."""

from __future__ import annotations

import re
from collections.abc import Callable

from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.word_lists import listed
from langmem_tiers.language.words import FUNCTION_WORDS, STOPWORDS
from langmem_tiers.trust.secret_patterns import SecretRule
from langmem_tiers.trust.stand_ins import is_stand_in

_QUOTE = "[\"'`“”„‘’«»]"
_WIFI = r"(?:wi-?fi|wlan|wpa2?|network)[ -](?:key|pass)"
_NAMES = (
    r"(?:pass(?:words?|wort|wd|phrases?|codes?|(?<=[_\"']pass)|(?<=[/,;] pass)|(?<![^\n]pass)|(?<=\bmy\spass))"
    r"|pw(?:d|(?<![a-z]pw)(?![a-z]))"
    rf"|(?=[wn])(?<![a-z]){_WIFI}"
    r"|kennwort|contrase[ñn]a|mot de passe|senha|wachtwoord|hasło|пароль|密码|密碼|パスワード|비밀번호)"
)
_NAME_HINTS = (
    *("pass", "pwd", "pw", "kennwort", "contrase", "senha", "wachtwoord", "hasło"),
    *("wifi key", "wi-fi key", "wlan key", "wpa key", "wpa2 key", "network key", "wifi-key", "wlan-key"),
    *("пароль", "密码", "密碼", "パスワード", "비밀번호"),
)
_KEY_NAMES = (
    r"(?:(?:licen[cs]e|product|api|secret|access|client|auth|private|encryption|signing|service|account|master|subscription|webhook"
    r"|refresh|session|bot)[ _-]?(?:key|secret|token)"
    r"|(?<![a-z])(?<!csrf[_-])(?<!public[_-])(?:secret|token|cred(?:ential)?s?|auth))"
    r"(?![_-](?:name|length|size|id|ur[il]|file|path|version)\b)(?:[_-]\w{1,20})?"
)
_KEY_HINTS = ("key", "secret", "token", "cred", "auth")
_FOR = r"(?:\s(?:for|to|of|on|at|as|since|from|für|para|pour)\s[^.\n:;!?]{1,40}?|\s(?:here|now|today|below))?"
_ADVERB = (
    r"(?:(?:now|still|currently|again|just|simply|literally|actually|probably|always|only|really|apparently|called|this"
    r"|as\sfollows|set\sto|changed\sto|reset\sto)[,:]?\s{1,3})"
)
_ADVERBS = f"{_ADVERB}{{0,2}}"
_IT_IS = rf"(?:(?:it|that|this|which|(?:the\s)?new\sone)(?:['’]s|\sis|\swas)\s{{1,3}}{_ADVERBS})"
_ASSIGNS = rf"[\"'`\]*_]{{0,2}}[ \t]{{0,9}}\s{{0,3}}(?::=|=>|->|→|=(?!=)|[:：＝])\*{{0,2}}\s{{0,5}}{_IT_IS}?"
_IS = (
    rf"(?:{_FOR}(?:\s{{1,3}}(?:is|are|was|ist|war|lautet|es|est|é|w(?:ill|ould)\sbe)|['’]s):?\s{{1,3}}{_ADVERBS}"
    r"|\s?(?:是|为|は|은|는)\s?)"
)
_TO = r"to:?\s{1,3}+"
_CHANGES = r"(?:chang|set|reset|updat|switch|rotat)\w{0,4}+"
_CHANGED = rf"{_CHANGES}\s(?:[\w']{{1,20}}+\s){{0,4}}{_NAMES}\s{_TO}"
_WAS_CHANGED = (
    rf"{_NAMES}{_FOR}(?=\s)(?:\s(?:is|was|were|got|has|have|had|will|be|been|being|just|now|recently)){{0,3}}\s{_CHANGES}"
    rf"(?:\s(?!to\s)[\w'’]{{1,20}}+){{0,3}}\s{_TO}"
)
# A value at a distance from the name: "I forgot my password. It's …", "the password - …".
_BEHIND = (
    rf"(?!pass\s){_NAMES}(?:(?:{_FOR}|(?:\s[\w'’]{{1,20}}){{0,4}}?)(?:[,.;?!]?\s{{1,3}}(?:[-–—]\s)?(?:and\s|so\s|but\s|now\s)?{_IT_IS}"
    r"|\s[-–—|]\s)|[ \t]{1,3})"
)
# A value before the name: "I use … as my password".
_BEFORE = (
    rf"(?<!\S){_QUOTE}?(?P<bare>[^\s\"'`“”()\[\]{{}}<>]{{5,100}}){_QUOTE}?\s(?:as|is|was)\s(?:my|our|the|your|a)\s"
    rf"(?:(?!pass)[\w-]{{1,20}}\s){{0,2}}(?!pass\b){_NAMES}"
)
_SECOND = rf"pass(?:words|codes|phrases)(?:\sare|:)\s[^\n]{{3,60}}?(?:,|\s(?:and|or))\s{{1,3}}{_ADVERB}?"
_CREDENTIALS = (
    r"(?:\b(?:credentials?|creds)(?:\s(?:is|are):?|\s?[:=])|\blog(?:ged|ging)?[ -]?(?:in|on)\s(?:with|as))\s{1,3}"
    r"[^\s/:|]{1,60}(?:\s[/|]\s|[/:|])"
)
_NAMED_USER = r"\b(?:user|username|login)\b[:=\s]{1,3}\S{1,60},?\s(?:and\s)?pass(?:word)?\s"
_OPTION = r"(?:(?<=--password)|(?<=--passwd)|(?<=--pass))\s"
_ALONE = r"(?=[ \t]*(?:\n|\Z))"
_HEADING = (
    r"(?:\A|(?<=\n))[ \t#>*-]{0,8}(?:(?:my|the|our|your|new|old|guest|wi-?fi|wlan|router|email|e-mail|admin|root|user"
    rf"|account|login)[ -]){{0,3}}{_NAMES}[:*]{{0,3}}[ \t]*\r?\n\s{{0,3}}(?:[-*•]\s)?"
)
_LINE_ABOVE = rf"{_NAMES}[ \t]*\r?\n\s{{0,3}}(?:[-*•]\s)?"
_SHORT = (
    rf"(?:\A|(?<=\n))[ \t]*(?:[\w-]{{2,20}}[ \t]){{0,3}}(?<![a-z])pwd?[ \t]{{1,3}}(?P<bare>[^\W\d_]{{3,40}}){_ALONE}"
)
# A quoted value may contain blanks; others end like values in code, in addresses and in connection strings.
_QUOTED = (
    r"(?P<quote>[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\n\\]|\\.){1,1000})(?P=quote)"
    r"|[“”„‘’«»](?P<set_off>[^“”„‘’«»\n]{1,1000})[“”„‘’«»]"
)
_BARE = (
    rf"{_QUOTE}?(?P<bare>(?![\[({{<*])(?:(?!{_QUOTE}(?!\w))[^\s<>{{}}\[\];&]|&(?!\w{{1,30}}=)){{3,1000}}(?<![.,:)]))"
)
_VALUE = f"(?:{_QUOTED}|{_BARE})"
# Several words, up to the end of their clause.
_WORD = r"(?!-)(?!(?:and|but|for|btw|or|so|because|since)\b)(?:[^\s.,;:!?\"'`()\[\]{}<>=“”]|[.!?](?=\w)){1,40}"
_PHRASE = (
    rf"(?P<phrase>{_WORD}(?:[ ]{_WORD}){{1,7}})"
    r"(?=\s*(?:\Z|[\n.,;!?)“”\"]|(?:and|but|for|btw|or|so|because|since)\b))"
)
# Where so many words follow without an end, there is no phrase: so it need not be looked for word by word.
_UNENDING = r"\w++(?<!and|but|for|btw)(?<!or|so)(?<!since)(?<!because)"
_ENDS = rf"(?!(?:{_UNENDING}(?:[ ]|[^\w\s.,;!?)“”\"]{_UNENDING}[ ])){{13}}+)"
_KEY_VALUE = rf"{_QUOTE}?(?P<key>[\w./+=~%-]{{12,4000}})"
_LONG_KEY_VALUE = r"(?P<key>[\w./+=~-]{20,4000})"
_BEFORE_HOST = r"[a-z][a-z0-9+.-]{1,30}://[^\s/?#:@\"'<>]{0,100}:(?P<in_address>[^\s/?#\"'<>]{1,1000})@(?=[\w\[])"
_AFTER_USER = (
    r"\s(?:-u|--user)(?:=|\s{1,5})[\"']?(?:[^\s:\"'<]{0,60}[\"']?:[\"']?(?P<of_user>[^\s\"'>]{3,100})"
    r"|(?P<of_nobody>[^\s:\"'<]{3,60}):[\"'])"
)
_NUGET = r"key=\"(?:cleartext)?password\"\s{0,9}value=\"(?P<quoted>[^\"\n]{3,1000})\""

_LONGEST_COMMAND = 500
_SHOWN_TO_CURL = re.compile(r"test|token|pass(?:word)?|pwd|\$\w+|x+|y+|\[\w+\]|\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LETTER, _NO_LETTER = re.compile(r"[^\W\d_]"), re.compile(r"[\d!@#$%^*_+=?~-]")
_PATH = ("/", "~", "-", "|", ".", "$", "\\")
_SHORTEST = 5

# What may follow the word password without being one: code, placeholders, and remarks on passwords.
_TEMPLATE = re.compile(r"[$%#]?[{(<]|\$(?:[A-Z_]+|\w*pass\w*)$|%\w+%|\[secret:|(?P<sign>[*•.xX_-])(?P=sign)*$")
_CODE = re.compile(r"[\w.]+\(|[\w.]+\.\w{0,30}(?:get|environ|env|getenv|password|passwd|pass|pwd|value)\b|[a-z.]+=$")
_MORE_CODE = ("[", "{", "(")
_COUNT = r"(?:char|letter|digit|sign|word|symbol|attempt|line|minute|hour|day|week|month|year|time)"
_COUNTED = re.compile(rf"\s{_COUNT}")
_COUNTS = re.compile(rf"{_COUNT}(?:acter)?s?")
_CLAUSE_ENDS = re.compile(
    r"\s*(?:$|[\n.,;!?)\]}&\"'“”]|(?:and|but|for|btw|since|because|until|please|thanks|user|username|host|login)\b"
    r"|\w{1,20}\s?[:=])"
)
_PERCENT = re.compile(r"\d+%")
_PLAIN = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+){0,2}")
_OF_SOMEBODY = re.compile(r"[^\W\d_]+['’]s")
_PREDICATE = re.compile(r"(?>\w*?[aeiouy])\w*(?:ed|ing)")
_QUALITY = re.compile(r"[\w-]+(?:able|ible|ly|less|ful|ous|sensitive)")
# Other combinations of letters and digits: methods, products, versions, lengths and list numbers.
_TERM = re.compile(
    r"(?:sha|md|aes|rsa|utf|base|argon|pbkdf|oauth|tls|ssl|http|ntlm|v|version|field|step|part|level|type|page|line)"
    r"[-_ ]?\d[\w.-]*|\d+(?:password|fa|x|h|s|k|st|nd|rd|th|char\w*|-\w+)?|\d+-\d+\w*"
)
_REMARKS = FUNCTION_WORDS | listed("passwords", "remarks")
_ABOUT = STOPWORDS | listed("passwords", "about")


def _is_password(value: str, match: re.Match[str]) -> bool:
    """Not code, a placeholder or a remark: a plain unquoted word only counts if it ends its clause."""
    if match.lastgroup != "bare":
        return not _is_stand_in(value)
    return not _is_remark(value, match.string[match.end() : match.end() + 30])


def _is_no_word(value: str, match: re.Match[str]) -> bool:
    return not _is_plain(value) and _is_password(value, match)


def _looks_made(value: str, match: re.Match[str]) -> bool:
    """Letters mixed with digits or signs, as only in passwords."""
    told = value.strip("*_~`:!?")
    made = bool(_LETTER.search(told) and _NO_LETTER.search(told)) and len(told) >= _SHORTEST
    return made and not (_TERM.fullmatch(told.lower()) or told.startswith(_PATH)) and _is_no_word(told, match)


def _is_alone(value: str, match: re.Match[str]) -> bool:
    """The only word of its line, and not something people mention together with passwords."""
    told = value.rstrip(".!?").lower()
    return not (told in _ABOUT or told in _REMARKS or _says_what_it_is(told)) and _is_password(value, match)


def _is_phrase(value: str, match: re.Match[str]) -> bool:
    """Words that say nothing about a password; after one that is itself a password, the clause goes on."""
    first = value.split(" ", 1)[0]
    return (_is_plain(first) or first.isdigit()) and not _is_sentence(value)


def _is_long_phrase(value: str, match: re.Match[str]) -> bool:
    """After "to", two words are a purpose rather than a password."""
    return value.count(" ") > 1 and _is_phrase(value, match)


def _in_address(value: str, match: re.Match[str]) -> bool:
    return not _is_template(value)


def _of_curl(value: str, match: re.Match[str]) -> bool:
    """Given to curl in the same command, and not what documentation shows instead of it."""
    command = match.string[max(0, match.start() - _LONGEST_COMMAND) : match.start()]
    return "curl" in command and not (_is_template(value) or _SHOWN_TO_CURL.fullmatch(value))


def _is_key(value: str, match: re.Match[str]) -> bool:
    """Digits and letters, and neither a date nor an address."""
    drawn = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return drawn and not (_DATE.match(value) or _is_template(value) or match.string.startswith("://", match.end()))


def _is_plain(value: str) -> bool:
    """Whether it is a word, or several joined by hyphens."""
    return _PLAIN.fullmatch(value) is not None


def _is_remark(value: str, after: str) -> bool:
    """Whether it is code, a placeholder or a remark, not a password; a plain word is unless it ends its clause."""
    if _is_stand_in(value) or _CODE.match(value) or after.startswith(_MORE_CODE) or _COUNTED.match(after):
        return True
    if _OF_SOMEBODY.fullmatch(value) and after[:1] == " ":  # "Anna's birthday"
        return True
    if not _is_plain(value):
        return _PERCENT.fullmatch(value) is not None
    return _CLAUSE_ENDS.match(after) is None or _says_what_it_is(value.lower())


def _is_stand_in(value: str) -> bool:
    """Whether it is a placeholder, or a word that describes a password."""
    return value.lower() in _REMARKS or _is_template(value)


def _is_template(value: str) -> bool:
    """Whether it is a template variable, a placeholder, or masked."""
    return _TEMPLATE.match(value) is not None or is_stand_in(value)


def _is_sentence(value: str) -> bool:
    """Whether several words describe a password, rather than being one."""
    told = value.lower().split()
    if any(map(_OF_SOMEBODY.fullmatch, told)):
        return True
    if _says_what_it_is(told[0]) or any(word in FUNCTION_WORDS or _COUNTS.fullmatch(word) for word in told):
        return True
    described = sum(word in _REMARKS or _says_what_it_is(word) for word in told)
    return _is_template(value) or 2 * described >= len(told)


def _says_what_it_is(word: str) -> bool:
    return (_PREDICATE.fullmatch(word) or _QUALITY.fullmatch(word)) is not None


def _rule(
    kind: str,
    said: str,
    hints: tuple[str, ...],
    holds: Callable[[str, re.Match[str]], bool] = _is_password,
) -> SecretRule:
    return SecretRule(kind=kind, hints=hints, pattern=lazy_pattern(said), holds=holds, folded=True)


PASSWORDS = (
    _rule("password", _BEFORE_HOST, ("://",), _in_address),
    _rule("password", _AFTER_USER, ("curl",), _of_curl),
    _rule("password", _NUGET, ('key="password"', 'key="cleartextpassword"'), _in_address),
    _rule("password", f"{_NAMES}(?:{_FOR}{_ASSIGNS}|{_IS}|{_OPTION}){_VALUE}", _NAME_HINTS),
    _rule("password", f"{_NAMES}(?:{_FOR}{_ASSIGNS}|{_IS}){_ENDS}{_PHRASE}", _NAME_HINTS, _is_phrase),
    _rule("password", f"(?:{_CHANGED}|{_WAS_CHANGED}){_ADVERBS}{_VALUE}", _NAME_HINTS),
    _rule("password", f"(?:{_CHANGED}|{_WAS_CHANGED}){_ENDS}{_ADVERBS}{_PHRASE}", _NAME_HINTS, _is_long_phrase),
    _rule("password", _BEHIND + _VALUE, _NAME_HINTS, _looks_made),
    _rule("password", _SECOND + _BARE, ("words", "codes", "phrases"), _looks_made),
    _rule(
        "password",
        _CREDENTIALS + _BARE,
        ("credential", "creds", "log in", "log-in", "login", "logged", "logging"),
        _looks_made,
    ),
    _rule("password", _BEFORE, _NAME_HINTS, _looks_made),
    _rule("password", _LINE_ABOVE + _BARE + _ALONE, _NAME_HINTS, _looks_made),
    _rule("password", _HEADING + _BARE + _ALONE, _NAME_HINTS, _is_alone),
    _rule("password", _HEADING + _PHRASE + _ALONE, _NAME_HINTS, _is_phrase),
    _rule("password", _SHORT, ("pw",), _is_alone),
    _rule("password", _NAMED_USER + _VALUE, ("user", "login"), _is_no_word),
    _rule("api key", f"{_KEY_NAMES}(?:{_FOR}{_ASSIGNS}|{_IS}){_KEY_VALUE}", _KEY_HINTS, _is_key),
    _rule("api key", rf"{_KEY_NAMES}[ \t]{{1,3}}{_LONG_KEY_VALUE}", _KEY_HINTS, _is_key),
)
