"""Words: how a text is split into them, which of them carry meaning, and their stems."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from langmem_tiers.language.word_lists import listed

LOOKED_AT = 20_000  # characters of a text that are analysed; the index gets all of it

FUNCTION_WORDS = listed("words", "function_words")
PLEASANTRIES = listed("words", "pleasantries")
STOPWORDS = FUNCTION_WORDS | PLEASANTRIES
FIRST_PERSON = frozenset({"i", "me", "my", "mine", "we", "us", "our"})
# Questions only in form: memory has no answer to them.
_COURTESIES = re.compile(
    r"\b(?:(?:can|could|may|shall|should|will|would) (?:i|you|we)|how are|what's up)\b", re.IGNORECASE
)
QUESTION_WORDS = frozenset({"who", "whom", "whose", "what", "when", "where", "which", "why", "how"})
# Of nothing else, a question to the other only asks how they are: "How was your day?"
_THEIR_DAY = frozenset({"today", "tonight", "day", "week", "weekend", "morning", "evening", "going", "doing", "far"})
_YOU = frozenset({"you", "your", "u"})
_SAYING = frozenset({"say", "said", "mean", "meant", "tell", "told", "mention", "mentioned"})
# Verbs that open a question, and those that do so before a pronoun: "did Tom call", "do I smoke".
_ASKING = QUESTION_WORDS | {"did", "does", "is", "are", "am", "was", "were", "has"}
_ASKING_BEFORE = frozenset({"do", "have", "had", "will"})
_ASKED_ABOUT = frozenset({"i", "we", "he", "she", "they", "my", "our"})

# Han, Kana, Bopomofo, Hangul syllables: written without blanks, or with particles attached to the word.
_CJK = "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_CJK += "\U00020000-\U0003ffff"
# Thai, Lao, Myanmar, Khmer: also without blanks; a letter keeps its combining marks.
_UNSPACED_RANGES = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
_UNSPACED = [chr(code) for first, last in _UNSPACED_RANGES for code in range(first, last + 1)]
_UNSPACED_LETTERS = "".join(char for char in _UNSPACED if unicodedata.category(char)[0] == "L")
_UNSPACED_MARKS = "".join(char for char in _UNSPACED if unicodedata.category(char)[0] == "M")
# Python's \w excludes combining marks; the scripts of India and the Near East write vowels with them.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
_MARKS += "\u0900-\u0963\u0966-\u0dff"

_SYLLABLE = re.compile(f"[{_CJK}]|[{_UNSPACED_LETTERS}][{_UNSPACED_MARKS}]*")
_LETTERS = rf"(?:[^\W_{_CJK}{_UNSPACED_LETTERS}]++|[{_MARKS}]++)++"
_WORD = re.compile(f"{_LETTERS}(?:'{_LETTERS})*+|{_SYLLABLE.pattern}")
_ASCII_WORD = re.compile("[a-z0-9]+(?:'[a-z0-9]+)*")
_CODE = re.compile(r"(?=[^\W_]{4,40}$)[a-z0-9]*[a-z]\d[a-z]*\d[a-z0-9]*|(?!\d*000$)\d{5,40}")
_CLITIC = re.compile("'(?:s|m|re|ve|ll|d)$")
_CJK_PLEASANTRIES = re.compile(
    "你好吗?|您好|谢谢你?|謝謝|多谢|好的|再见|早上好|晚上好|晚安|ありがとう(?:ございます)?|こんにちは|こんばんは|おはよう(?:ございます)?"
    "|はい|了解(?:です)?|안녕하세요|안녕|감사합니다|고마워요?|네"
)
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Signs that SQLite's tokenizer takes for letters, as it knows Unicode 6.1: the newer emoji and currencies, private use.
_NEW_SIGNS = re.compile("[\u20ba-\u20cf\ue000-\uf8ff\U0001f10d-\U0001fbef]++")
_NAME_INSIDE = re.compile(r"(?<=[\w,;]\s)[^\W\d_a-z][\w'-]*")
_STRAIGHT_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"'})
_WRITTEN = re.compile(r"[^\W_]+(?:['’ʼ][^\W_]+)*")
_ELLIPSIS = re.compile(r"…|\.{3,}")
_STRAIGHT = str.maketrans({"’": "'", "ʼ": "'"})


def words(text: str) -> list[str]:
    """The words of the first 20,000 characters, casefolded; each character of an unspaced script is a word.

    Example:
        >>> words("Tom's guitar isn't here")
        ['tom', 'guitar', "isn't", 'here']
    """
    shown = text[:LOOKED_AT]
    if not shown.isascii():
        shown = unicodedata.normalize("NFKC", shown).translate(_STRAIGHT)
    small = shown.casefold()
    found: list[str] = (_ASCII_WORD if small.isascii() else _WORD).findall(small)
    if "'" not in small:
        return found
    return [_CLITIC.sub("", word) if "'" in word else word for word in found]


def folded(text: str) -> str:
    """A text in the form used for comparison: case and width do not matter; accents do."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def is_part_of_word(sign: str) -> bool:
    """Whether a character is a letter, a digit, or a mark as used for vowels in many scripts."""
    return sign.isalnum() or (not sign.isascii() and unicodedata.category(sign)[0] == "M")


def meaningful_words(text: str) -> list[str]:
    """The words that are neither function words nor pleasantries; numbers count."""
    shown = text if text.isascii() else _CJK_PLEASANTRIES.sub(" ", text[:LOOKED_AT])
    return [word for word in words(shown) if word not in STOPWORDS]


def codes(said: Sequence[str]) -> tuple[int, ...]:
    """The places of the words that stand for one thing only, such as the number of an order or of a flight.

    Those are letters with two digits or more behind them, or five digits; no years, times and round numbers.

    Example:
        >>> codes(["order", "x03646", "of", "2024", "19th"])
        (1,)
    """
    return tuple(place for place, word in enumerate(said) if _CODE.fullmatch(word))


def is_trivial(text: str, least: int = 3) -> bool:
    """Whether a message says too little to recall anything by: fewer than `least` meaningful words.

    A short message still counts if it asks or names something: "Where is Tom?", "back from Oslo". It does not if it
    only asks how the other is: "How was your day?".
    """
    meaningful = meaningful_words(text)
    if len(meaningful) >= least:
        return False
    if _asks_how_they_are(text, meaningful):
        return True
    return not asks_about_oneself(text[:LOOKED_AT]) and (not meaningful or not _asks_or_names(text[:LOOKED_AT]))


def searchable(text: str) -> str:
    """The whole text in the form that the keyword index and its queries use.

    Compatibility forms are unified, control characters and emoji at a word become blanks, characters of unspaced
    scripts stand alone so that a Unicode tokenizer takes each as a token, and lone surrogates become U+FFFD.
    """
    if text.isascii():
        return _CONTROLS.sub(" ", text)
    whole = unicodedata.normalize("NFKC", _SURROGATE.sub("\ufffd", text))
    return _SYLLABLE.sub(r" \g<0> ", _NEW_SIGNS.sub(_apart, _CONTROLS.sub(" ", whole)))


def _apart(signs: re.Match[str]) -> str:
    """Signs that are not at a word; else a blank."""
    start, end = signs.span()
    beside = signs.string[max(start - 1, 0) : start] + signs.string[end : end + 1]
    return " " if any(map(str.isalnum, beside)) else signs[0]


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A rough English stem, good enough to match 'paintings' and 'painted'."""
    for suffix, least in (("ings", 7), ("ing", 6), ("ies", 5), ("ied", 5), ("ed", 5), ("es", 5), ("ly", 6), ("s", 4)):
        if word.endswith(suffix) and len(word) >= least and not word.endswith("ss"):
            base = word[: -len(suffix)]
            doubled = len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz"
            return (base[:-1] if doubled else base).removesuffix("y").removesuffix("e").removesuffix("i")
    return word.removesuffix("y").removesuffix("e") if len(word) > 3 else word


def stems(text: str) -> set[str]:
    """The stems of its meaningful words."""
    return {stem(word) for word in meaningful_words(text)}


def asks_about_oneself(text: str) -> bool:
    """Questions such as "Who am I?" have no meaningful word, but only memory can answer them."""
    said = words(text)
    return ("?" in text or opens_question(said)) and not FIRST_PERSON.isdisjoint(said) and not _COURTESIES.search(text)


def _asks_how_they_are(text: str, meaningful: Collection[str]) -> bool:
    said = set(words(text))
    to_them = not _YOU.isdisjoint(said) and FIRST_PERSON.isdisjoint(said) and _SAYING.isdisjoint(said)
    return to_them and _THEIR_DAY.issuperset(meaningful)


def _asks_or_names(text: str) -> bool:
    if any(mark in text for mark in "?？؟") or any(char.isdigit() for char in text):
        return True
    return opens_question(words(text[:80])) or _names_somebody(text)


def opens_question(said: Sequence[str]) -> bool:
    """Whether words begin like a question, which may lack its mark."""
    if said[:1] and said[0] in _ASKING_BEFORE:
        return said[1:2] != [] and said[1] in _ASKED_ABOUT
    return bool(said) and said[0] in _ASKING


def _names_somebody(text: str) -> bool:
    """Whether there is a capitalised word inside a sentence; at the start, a capital means nothing."""
    return any(
        name[0].isupper() and words(name)[:1] and words(name)[0] not in STOPWORDS for name in _NAME_INSIDE.findall(text)
    )


def beginning_with(words: Iterable[str], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    r"""The result of `pattern.finditer(text)`, if each of its matches begins with one of the words or the text.

    Much faster if the words are rare.

    Example:
        >>> [match.group() for match in beginning_with(["my"], re.compile(r"\bmy \w+"), "amy, my dog and my cat")]
        ['my dog', 'my cat']
    """
    end = 0
    begins = {match.start() for word in words if word in text for match in re.finditer(re.escape(word), text)}
    for place in sorted({0, *begins}):
        if place >= end and (match := pattern.match(text, place)):
            end = match.end()
            yield match


def occurs(quote: str, text: str) -> bool:
    """Whether a quote occurs in a text, ignoring blanks, case and the shape of quotation marks.

    Example:
        >>> occurs("lives in  Oslo", "She lives in Oslo now.")
        True
    """
    return _unquoted(quote) in _unquoted(text)


def passage(quote: str, text: str) -> str | None:
    """The part of a text that a quote stands for, None if there is none.

    A quote may differ in blanks, case and punctuation, and leave out what stands at an ellipsis; the part is the text's
    own, with what was left out.

    Example:
        >>> passage('My sister ... lives in Oslo, "for now"', "My sister, the tall one, lives in Oslo – for now!")
        'My sister, the tall one, lives in Oslo – for now'
    """
    if quote.strip() and quote.strip() in text:
        return quote.strip()
    there = list(_WRITTEN.finditer(text))
    said = [_bare(word[0]) for word in there]
    first, place = None, 0
    for piece in _ELLIPSIS.split(quote):
        wanted = [_bare(word) for word in _WRITTEN.findall(piece)]
        begin = next((at for at in range(place, len(said)) if said[at : at + len(wanted)] == wanted), None)
        if wanted and begin is None:
            # In scripts without blanks a part of a word may be quoted.
            return quote.strip() if occurs(quote, text) else None
        if wanted and begin is not None:
            first, place = begin if first is None else first, begin + len(wanted)
    return None if first is None else text[there[first].start() : there[place - 1].end()]


def _bare(word: str) -> str:
    return folded(word).replace("'", "").replace("’", "").replace("ʼ", "")


def _unquoted(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_STRAIGHT_QUOTES).casefold().split())
