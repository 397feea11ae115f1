"""Messages that are for anybody: what the world knows, work on a given text, and talk about the agent or the hour."""

from __future__ import annotations

from langmem_tiers.language.names import FIRST_NAMES
from langmem_tiers.language.sentences import straight
from langmem_tiers.language.word_lists import finds, named_pattern
from langmem_tiers.language.words import words

_LONGEST = 300  # characters; who writes more tells of something
_OPENER = named_pattern("impersonal", "opener")
_GIVEN = named_pattern("impersonal", "given")
_FOR_THE_ASKER = named_pattern("impersonal", "for_the_asker")
_is_of_somebody = finds("impersonal", "of_somebody")
_is_of_something = finds("impersonal", "of_something")
_is_of_world = finds("impersonal", "of_world")
_is_work = finds("impersonal", "work")
_is_of_agent = finds("impersonal", "of_agent")


def is_of_agent(text: str) -> bool:
    """Whether a message only speaks to the agent about itself, or asks what the clock says.

    Example:
        >>> is_of_agent("Are you a robot?"), is_of_agent("What time is it?"), is_of_agent("Can you help my sister?")
        (True, True, False)
    """
    return len(text) <= _LONGEST and (_is_of_agent(_plain(text)) or _is_of_agent(_without_opener(text)))


def is_impersonal(text: str) -> bool:
    """Whether anybody might ask the same and want the same answer, so that only what is close to it is worth showing.

    Example:
        >>> is_impersonal("What's the capital of France?"), is_impersonal("Translate 'good night' into French.")
        (True, True)
        >>> is_impersonal("What's the name of my cat?"), is_impersonal("Write a letter to the landlord.")
        (False, False)
    """
    if len(text) > _LONGEST:
        return False
    asked = _without_opener(text)
    # Whose words they are, what is to be worked on does not say.
    own = _GIVEN.sub(" ", _FOR_THE_ASKER.sub(" ", asked))
    if _is_of_somebody(own) or _is_of_something(own) or not FIRST_NAMES.isdisjoint(words(own)):
        return False
    return _is_of_world(asked) or _is_work(asked)


def _without_opener(text: str) -> str:
    plain = _plain(text)
    while opening := _OPENER.match(plain):
        plain = plain[opening.end() :]
    return plain


def _plain(text: str) -> str:
    return " ".join(straight(text).split())
