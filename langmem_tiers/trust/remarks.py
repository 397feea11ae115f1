"""What stands behind the word password and is none: code, placeholders, and remarks on passwords."""

from __future__ import annotations

import re

from langmem_tiers.palace.words import FUNCTION_WORDS, STOPWORDS, word_set

_TEMPLATE = re.compile(r"[$%#]?[{(<]|\$(?:[A-Z_]+|\w*pass\w*)$|%\w+%|\[secret:|(?P<sign>[*•.xX_-])(?P=sign)*$")
_CODE = re.compile(r"[\w.]+\(|[\w.]+\.(?:get|environ|env|getenv|password|passwd|pass|pwd|value)\b")
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
_PREDICATE = re.compile(r"\w*[aeiouy]\w*(?:ed|ing)")
_QUALITY = re.compile(r"[\w-]+(?:able|ible|ly|less|ful|ous|sensitive)")
# What letters and digits together are as well: methods, products, versions, lengths and places in a list.
_TERM = re.compile(
    r"(?:sha|md|aes|rsa|utf|base|argon|pbkdf|oauth|tls|ssl|http|ntlm|v|version|field|step|part|level|type|page|line)"
    r"[-_ ]?\d[\w.-]*|\d+(?:password|fa|x|h|s|k|st|nd|rd|th|char\w*|-\w+)?|\d+-\d+\w*"
)
_REMARKS = FUNCTION_WORDS | word_set(
    """
    new old bad big long short weak strong safe secure insecure good great better best easy hard simple difficult
    complex common default different correct incorrect right wrong invalid valid false true fine okay dead gone known
    unknown lost empty blank hidden secret public private random unique generic important necessary optional required
    missing stupid dumb trivial obvious terrible horrible awful crap rubbish ancient history case char key string str
    bool boolean int integer float bytes null nil undefined nullable secretstr optional any password passwd pass pwd
    change reset enter type click see ask sample test placeholder redacted n/a tbd
    weird crucial vital essential fake real similar confidential lame silly funny ugly plain text plaintext due last
    next today tomorrow yesterday later broken stolen forgotten written given shown taken online offline local global
    static dynamic temporary permanent initial final specific pretty super totally really bit passwords
    use choose create store write try set add check put find open show improve prevent meet protect avoid make keep
    ensure allow stop comply fix get match help satisfy unlock access
    """
)
# What a password may be the first word of, and what forms have below it.
_ABOUT = STOPWORDS | word_set(
    """
    manager management policy policies protection protected generator field fields prompt hash hashes hashing recovery
    rotation expiry expiration strength length rule rules requirement requirements security problem problems issue
    issues help hint hints file files list database db storage store box input form screen dialog page link mail email
    address name username user login logout signin signup register submit cancel continue remember confirm phone
    settings account accounts works work fails sucks first thing command prints
    """
)


def is_plain(value: str) -> bool:
    """Is it a word, or several with hyphens between?"""
    return _PLAIN.fullmatch(value) is not None


def is_remark(value: str, after: str) -> bool:
    """Is it no password but code, a placeholder or a remark? A plain word is one unless it ends its clause."""
    if is_stand_in(value) or _CODE.match(value) or after.startswith(_MORE_CODE) or _COUNTED.match(after):
        return True
    if _OF_SOMEBODY.fullmatch(value) and after[:1] == " ":  # "Anna's birthday"
        return True
    if not is_plain(value):
        return _PERCENT.fullmatch(value) is not None
    return _CLAUSE_ENDS.match(after) is None or _predicates(value.lower())


def is_stand_in(value: str) -> bool:
    """Is it a placeholder, or a word that says something of a password?"""
    return value.lower() in _REMARKS or is_template(value)


def is_template(value: str) -> bool:
    """Is it where a value is put later, or one that is masked?"""
    return _TEMPLATE.match(value) is not None


def is_topic(value: str) -> bool:
    """Is it what is spoken of together with passwords, such as their manager?"""
    return value.lower() in _ABOUT or value.lower() in _REMARKS or _predicates(value.lower())


def is_term(value: str) -> bool:
    """Is it a method, a product or a length, though it has digits?"""
    return _TERM.fullmatch(value.lower()) is not None


def is_sentence(value: str) -> bool:
    """Do several words say something of a password, rather than be one?"""
    told = value.lower().split()
    if any(map(_OF_SOMEBODY.fullmatch, told)):
        return True
    if _predicates(told[0]) or any(word in FUNCTION_WORDS or _COUNTS.fullmatch(word) for word in told):
        return True
    return is_template(value) or 2 * sum(map(_says_something, told)) >= len(told)


def _says_something(word: str) -> bool:
    return word in _REMARKS or _predicates(word)


def _predicates(word: str) -> bool:
    return (_PREDICATE.fullmatch(word) or _QUALITY.fullmatch(word)) is not None
