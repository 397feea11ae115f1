"""Chatter: what people say to keep a conversation going, such as "haha, that's great", and what is left without it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from langmem_tiers.language.key_phrases import FILLER
from langmem_tiers.language.word_lists import listed, word_set
from langmem_tiers.language.words import (
    FIRST_PERSON,
    LOOKED_AT,
    PLEASANTRIES,
    STOPWORDS,
    is_part_of_word,
    meaningful_words,
    stem,
    words,
)

_CHAT = listed("words", "chat")
_SOCIAL = PLEASANTRIES | _CHAT
# Words that say nothing by themselves.
_IDLE = STOPWORDS | _CHAT
# Short words that an answer may consist of.
_ANSWERS = word_set("yes yeah yep yup no nope nah not never none nobody nothing neither cannot")
SENTENCE_END = re.compile(r"(?<=[.!?。！？\n])(?![.!?。！？])\s*")
"""A sentence ends after its last punctuation mark."""
# What only says that something was heard: "Got it, thanks for telling me!"
_THAT = "(?: (?:this|that|it))?"
_HEARD = (
    "got it|(?:duly )?noted|understood|will do|good to know",
    f"(?:i'll|i will) (?:remember|keep){_THAT}(?: in mind)?",
    "(?:thanks|thank you)(?: so much)?(?: for (?:telling|letting|sharing|the (?:update|info|information|heads[ -]up))"
    f"(?: me)?(?: know)?{_THAT}(?: with me)?)?",
)
_ACKNOWLEDGED = re.compile(
    rf"(?:(?:okay|ok|alright|great|sure|perfect)[,.!]* )?(?:(?:{'|'.join(_HEARD)})[\s,.;!–—-]*(?:and )?)+",
    re.IGNORECASE,
)
# What opens and closes many replies: "Nice to meet you! … How can I help you today?"
_POLITE = re.compile(
    r"\b(?:nice|great|good|lovely|pleased) to (?:meet|see|hear from) you\b"
    r"|\b(?:how|what) (?:can|may|could) i (?:help|assist|do for) (?:you)?(?: with)?(?: today| now)?\s?\?"
    r"|\b(?:is there )?anything else (?:i can|you)[^.!?\n]{0,60}\?",
    re.IGNORECASE,
)
# Characters of a text's first words.
_FIRST = 200
# How many telling words a question has at most that only keeps the other talking.
_ASKING = 3
# A number, or a name within a sentence.
_NAMED_OR_NUMBERED = re.compile(r"\d+|(?<=[a-z,] )(?!I\b)[A-Z][\w-]*")
_QUESTION_MARKS = "?？"
_AFTER_QUESTION = re.compile(r"[\s\d()\"'”’]*")


def asks(text: str) -> bool:
    """Whether a message ends with a question."""
    last = max(map(text.rfind, _QUESTION_MARKS))
    return last >= 0 and _AFTER_QUESTION.fullmatch(text, last + 1) is not None


def acknowledges(text: str) -> bool:
    """Whether a message only says that something was heard.

    Example:
        >>> acknowledges("Got it, thanks for telling me!"), acknowledges("Got it, you live in Porto.")
        (True, False)
    """
    return _ACKNOWLEDGED.fullmatch(text.strip().replace("’", "'")) is not None


def substance(text: str, asked: Collection[str] = (), names: Collection[str] = ()) -> int:
    """How many words of a message say something: no greetings, thanks, praise or fillers, and not who is spoken to.

    `asked` are stems of words that count even if they are fillers, `names` casefolded words that do not count.

    Example:
        >>> substance("Haha, that's great, Tom!", names={"tom"}), substance("I adopted a beagle from the shelter.")
        (0, 3)
    """
    return len(_telling(text, asked, names))


def says_more_than(text: str, most: int, names: Collection[str] = ()) -> bool:
    """Whether more than so many words of a message say something, as `substance` counts them.

    Example:
        >>> says_more_than("I adopted a beagle.", 1), says_more_than("Haha, that's great!", 0)
        (True, False)
    """
    return any(len(_telling(part, (), names)) > most for part in _parts(text))


def _parts(text: str) -> Iterable[str]:
    """A long text's first words, which mostly tell enough, and then all of it."""
    return dict.fromkeys((text[:_FIRST].rpartition(" ")[0] if len(text) > _FIRST else text, text))


def adds_nothing(text: str, before: str, names: Collection[str] = ()) -> bool:
    """Whether a message only reacts to the one before it: none of its words says anything new, or one that it exclaims.

    Example:
        >>> told = "We hiked up to the glacier near Bergen."
        >>> replies = "Wow, a glacier! How can I help you?", "Where did you sleep?", "The crevasses are deep."
        >>> [adds_nothing(reply, told) for reply in replies]
        [True, False, False]
    """
    text = _POLITE.sub(" ", text)
    if asks(text):
        return False
    known = {stem(word) for word in words(before)} | set(map(stem, names))
    if any(stem(word) not in known for named in _NAMED_OR_NUMBERED.findall(text) for word in words(named)):
        return False
    return sum(stem(word) not in known for word in _telling(text, (), names)) <= text.rstrip().endswith("!")


def _telling(text: str, asked: Collection[str], names: Collection[str]) -> list[str]:
    return [
        word
        for word in meaningful_words(text)
        if word not in _CHAT and word not in names and (word not in FILLER or stem(word) in asked)
    ]


def is_chatter(text: str, asked: Collection[str] = (), names: Collection[str] = ()) -> bool:
    """Whether a message only keeps a conversation going: greetings, thanks, praise, agreement, signs.

    `asked` and `names` are those of `substance`.

    Example:
        >>> is_chatter("haha, that's great"), is_chatter("Miso is a cat.")
        (True, False)
    """
    for part in _parts(text):
        said = set(words(part))
        if said.difference(_IDLE, names):
            return False
    chat = said & _SOCIAL
    return not said or (bool(chat) and not any(stem(word) in asked for word in chat))


def telling_part(text: str, names: Collection[str] = (), *, asking: bool = True) -> tuple[int, int]:
    """Where the part of a message begins and ends that is left without the chatter around it; all if there is no other.

    Unless `asking`, short questions to the other at its end are left out as well.

    Example:
        >>> text = "Hey Tom! I adopted a beagle. So happy!"
        >>> start, stop = telling_part(text, {"tom"})
        >>> text[start:stop]
        'I adopted a beagle.'
    """
    parts = _spans(text)
    first = next((start for start, stop in parts if _tells(text[start:stop], names)), None)
    if first is None:
        return 0, len(text)
    behind = (stop for start, stop in reversed(parts) if start == first or _closes(text[start:stop], names, asking))
    last = next(behind)
    return first, first + len(text[first:last].rstrip())


def _closes(sentence: str, names: Collection[str], asking: bool) -> bool:
    """Whether the part that tells something may end with a sentence."""
    return _tells(sentence, names) and (asking or not _asks_back(sentence, names))


def _asks_back(sentence: str, names: Collection[str]) -> bool:
    """Whether a sentence is a short question that tells nothing of who asks: "How about you?"."""
    if not asks(sentence):
        return False
    own = not FIRST_PERSON.isdisjoint(word.partition("'")[0] for word in words(sentence))
    return not own and substance(sentence, names=names) <= _ASKING


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text begin and end."""
    stops = [*(match.end() for match in SENTENCE_END.finditer(text[:LOOKED_AT])), len(text)]
    return list(zip([0, *stops[:-1]], stops, strict=True))


def _tells(sentence: str, names: Collection[str]) -> bool:
    """Whether a sentence may say something: it has other words than those of chatter, or answers yes or no."""
    said = words(sentence)
    if not said:
        return any(is_part_of_word(sign) for sign in sentence)
    if not _ANSWERS.isdisjoint(said) or "n't " in f"{' '.join(said)} ":
        return True
    return bool(set(said).difference(_IDLE, names))
