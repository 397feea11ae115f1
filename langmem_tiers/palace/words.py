"""Words: how a text is cut for the keyword index, for queries and for the palace."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

LOOKED_AT = 20_000  # characters of a text that are analysed; the index gets all of it


def word_set(listed: str) -> frozenset[str]:
    """The set of the words listed."""
    return frozenset(listed.split())


FUNCTION_WORDS = word_set(
    """
    a about above across after again against all almost along already also although always am among an and another any
    anybody anyone anything are around as at away back be because been before behind being below between both but by
    can cannot could did do does doing done down during each either else enough etc even ever every everybody everyone
    everything few for from further had has have having he her here hers herself him himself his how however i if in
    instead into is it its itself just least less let like lots many may maybe me might mine more most much must my
    myself near neither never no nobody none nor not nothing now of off often on once one only onto or other others
    ought our ours ourselves out over own per perhaps please quite rather same shall she should since so some somebody
    someone something sometimes soon still such than that the their theirs them themselves then there these they this
    those though through thus till to together too toward towards under until unless up upon us very via was we were
    what whatever when whenever where wherever whether which while who whoever whom whose why will with within without
    would yet you your yours yourself yourselves gonna wanna gotta im ive dont ain't aren't can't couldn't didn't
    doesn't don't hadn't hasn't haven't isn't mightn't mustn't needn't shan't shouldn't wasn't weren't won't wouldn't
    y'all
    """
)
PLEASANTRIES = word_set(
    """
    absolutely agreed ah aha alright amen awesome aw aww bravo bye bye-bye cheers congrats congratulations cool dear
    definitely exactly excellent fine glad goodbye good great greetings ha haha hahaha hehe hello hey hi hiya hmm
    howdy indeed k kk lmao lol mhm morning nah nice night nope np oh ok okay okey omg ooh oops ouch perfect rofl sorry
    sounds super sure sweet ta thank thanks thanx thx true uh uhh um umm understood welcome well whoa woah wonderful
    wow yay yeah yep yes yo yup afternoon evening hola gracias buenos buenas vale adiós bonjour bonsoir salut merci
    oui hallo danke bitte ja nein tschüss ciao grazie prego olá oi obrigado obrigada sim привет здравствуйте спасибо
    пожалуйста да нет пока
    """
)
STOPWORDS = FUNCTION_WORDS | PLEASANTRIES
FIRST_PERSON = frozenset({"i", "me", "my", "mine", "we", "us", "our"})
# Questions in form only: what they ask for is not in a memory.
COURTESIES = re.compile(
    r"\b(?:(?:can|could|may|shall|should|will|would) (?:i|you|we)|how are|what's up)\b", re.IGNORECASE
)
QUESTION_WORDS = frozenset({"who", "whom", "whose", "what", "when", "where", "which", "why", "how"})

# Han, Kana, Bopomofo, Hangul syllables: written without blanks, or with particles grown onto the word.
_CJK = "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_CJK += "\U00020000-\U0003ffff"
# Thai, Lao, Myanmar, Khmer: also without blanks; a letter keeps the marks that follow it.
_UNSPACED_RANGES = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
_UNSPACED = [chr(code) for first, last in _UNSPACED_RANGES for code in range(first, last + 1)]
_UNSPACED_LETTERS = "".join(char for char in _UNSPACED if unicodedata.category(char)[0] == "L")
_UNSPACED_MARKS = "".join(char for char in _UNSPACED if unicodedata.category(char)[0] == "M")
# Python's \w knows no combining marks; the scripts of India and the Near East write vowels with them.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
_MARKS += "\u0900-\u0963\u0966-\u0dff"

_SYLLABLE = re.compile(f"[{_CJK}]|[{_UNSPACED_LETTERS}][{_UNSPACED_MARKS}]*")
_LETTERS = rf"(?:[^\W_{_CJK}{_UNSPACED_LETTERS}]++|[{_MARKS}]++)++"
_WORD = re.compile(f"{_LETTERS}(?:'{_LETTERS})*+|{_SYLLABLE.pattern}")
_ASCII_WORD = re.compile("[a-z0-9]+(?:'[a-z0-9]+)*")
_CLITIC = re.compile("'(?:s|m|re|ve|ll|d)$")
_CJK_PLEASANTRIES = re.compile(
    "你好吗?|您好|谢谢你?|謝謝|多谢|好的|再见|早上好|晚上好|晚安|ありがとう(?:ございます)?|こんにちは|こんばんは|おはよう(?:ございます)?"
    "|はい|了解(?:です)?|안녕하세요|안녕|감사합니다|고마워요?|네"
)
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME_INSIDE = re.compile(r"(?<=[\w,;]\s)[^\W\d_a-z][\w'-]*")
_STRAIGHT = str.maketrans({"’": "'", "ʼ": "'"})


def words(text: str) -> list[str]:
    """The words of the first 20,000 characters, casefolded; a character of an unspaced script is a word.

    Example:
        >>> words("Tom's guitar isn't here")
        ['tom', 'guitar', "isn't", 'here']
    """
    shown = text[:LOOKED_AT]
    if not shown.isascii():
        shown = unicodedata.normalize("NFKC", shown).translate(_STRAIGHT)
    folded = shown.casefold()
    found: list[str] = (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)
    return [_CLITIC.sub("", word) if "'" in word else word for word in found]


def meaningful_words(text: str) -> list[str]:
    """The words that are neither function words nor pleasantries; numbers count."""
    shown = text if text.isascii() else _CJK_PLEASANTRIES.sub(" ", text[:LOOKED_AT])
    return [word for word in words(shown) if word not in STOPWORDS]


def is_trivial(text: str, least: int = 3) -> bool:
    """Whether a message has too little in it to recall anything by: fewer than `least` meaningful words.

    A short message still counts when it asks or names something: "Where is Tom?", "back from Oslo".
    """
    meaningful = meaningful_words(text)
    if len(meaningful) >= least:
        return False
    return not asks_about_oneself(text[:LOOKED_AT]) and (not meaningful or not _asks_or_names(text[:LOOKED_AT]))


def searchable(text: str) -> str:
    """The text as the keyword index and its queries see it, the whole of it.

    Compatibility forms are unified, controls become blanks, characters of unspaced scripts stand alone so that a
    Unicode tokenizer takes each as a token, and lone surrogates become U+FFFD.
    """
    if text.isascii():
        return _CONTROLS.sub(" ", text)
    whole = unicodedata.normalize("NFKC", _SURROGATE.sub("\ufffd", text))
    return _SYLLABLE.sub(r" \g<0> ", _CONTROLS.sub(" ", whole))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A rough English stem, good enough to see that 'paintings' and 'painted' speak of one thing."""
    for suffix, least in (("ings", 7), ("ing", 6), ("ies", 5), ("ied", 5), ("ed", 5), ("es", 5), ("ly", 6), ("s", 4)):
        if word.endswith(suffix) and len(word) >= least and not word.endswith("ss"):
            return _undouble(word[: -len(suffix)]).removesuffix("y").removesuffix("e").removesuffix("i")
    return word.removesuffix("y").removesuffix("e") if len(word) > 3 else word


def _undouble(base: str) -> str:
    return base[:-1] if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz" else base


def asks_about_oneself(text: str) -> bool:
    """Questions such as "Who am I?" hold not one meaningful word, and ask for nothing but what is remembered."""
    said = words(text)
    asks = "?" in text or bool(said and said[0] in QUESTION_WORDS)
    return asks and not FIRST_PERSON.isdisjoint(said) and not COURTESIES.search(text)


def _asks_or_names(text: str) -> bool:
    if any(mark in text for mark in "?？؟") or any(char.isdigit() for char in text):
        return True
    first = words(text[:80])[:1]
    return bool(first and first[0] in QUESTION_WORDS) or _names_somebody(text)


def _names_somebody(text: str) -> bool:
    """Whether a capitalised word stands inside a sentence; at its start a capital says nothing."""
    return any(
        name[0].isupper() and words(name)[:1] and words(name)[0] not in STOPWORDS for name in _NAME_INSIDE.findall(text)
    )
