"""Requests: messages that only ask for something, such as "Write a toast for Ben", and those that ask for nothing."""

from __future__ import annotations

from langmem_tiers.language.sentences import is_latin, sentences, straight
from langmem_tiers.language.speech_acts import is_question
from langmem_tiers.language.word_lists import named_pattern
from langmem_tiers.language.words import opens_question, words

_LONGEST = 400  # characters of a message that only asks; who writes more tells something along with it
_REQUEST = named_pattern("requests", "request")
_CHANGE = named_pattern("requests", "change")
_TELLS_IN_REQUEST = named_pattern("requests", "tells_in_request")
_TELLS_IN_QUESTION = named_pattern("requests", "tells_in_question")
_WANTS = named_pattern("requests", "wants")


def only_asks(text: str) -> bool:
    """Whether every sentence of a message asks or orders something, and none says anything beside it.

    Example:
        >>> only_asks("Write a short toast for Ben."), only_asks("A bit shorter, please")
        (True, True)
        >>> only_asks("Write a toast for Ben, he turns forty."), only_asks("I moved. Any tips?")
        (False, False)
    """
    said = sentences(text) if len(text) <= _LONGEST else []
    return bool(said) and all(_only_asks(sentence.text) for sentence in said)


def _only_asks(sentence: str) -> bool:
    shown = straight(sentence)
    if is_question(shown) or opens_question(words(shown)):
        return _TELLS_IN_QUESTION.search(shown) is None
    ordered = _REQUEST.match(shown) or _CHANGE.match(shown)
    return ordered is not None and _TELLS_IN_REQUEST.search(shown, ordered.end()) is None


def asks_for_something(text: str) -> bool:
    """Whether any sentence of a message asks or orders something, or may do so in a script that no rule reads.

    Example:
        >>> asks_for_something("We moved to Porto. Any tips?"), asks_for_something("We moved to Porto!")
        (True, False)
    """
    return not is_latin(text) or any(_asks(straight(sentence.text)) for sentence in sentences(text))


def _asks(sentence: str) -> bool:
    return is_question(sentence) or opens_question(words(sentence)) or orders(sentence)


def orders(text: str) -> bool:
    """Whether a sentence of a message says what is to be done or wanted: "Write a toast", "I need a plan".

    Example:
        >>> orders("I turn forty. Write a toast!"), orders("Where do I work?")
        (True, False)
    """
    said = [straight(sentence.text) for sentence in sentences(text)]
    return any(_REQUEST.match(each) or _CHANGE.match(each) or _WANTS.search(each) for each in said)
