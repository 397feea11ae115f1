"""What a user says as somebody else: in a part that they play, in a scene, or in a text that is to be worked on."""

from __future__ import annotations

from collections.abc import Iterator

from langmem_tiers.language.word_lists import named_pattern

_TAKES_PART = named_pattern("roles", "takes_part")
_GIVES_TEXT = named_pattern("roles", "gives_text")
_LEAVES = named_pattern("roles", "leaves")
_LOOKED_AT = 4000


def spoken_as_another(text: str) -> Iterator[tuple[int, int]]:
    """The part of a message that its author says as somebody else: from where they begin to where they end it.

    Example:
        >>> text = "What do you think of this bio? I'm Pete, a chef from Lyon."
        >>> [text[start:stop] for start, stop in spoken_as_another(text)]
        ["I'm Pete, a chef from Lyon."]
    """
    begins = [each for pattern in (_TAKES_PART, _GIVES_TEXT) if (each := pattern.search(text, 0, _LOOKED_AT))]
    if not begins:
        return
    start = min(each.end() for each in begins)
    start += len(text[start:]) - len(text[start:].lstrip())
    end = _LEAVES.search(text, start)
    stop = len(text.rstrip()) if end is None else end.start()
    if stop > start:
        yield start, stop


def plays_on(text: str) -> bool:
    """Whether a message takes a part that it does not leave, so that the next one may go on with it."""
    begins = _TAKES_PART.search(text, 0, _LOOKED_AT)
    return begins is not None and _LEAVES.search(text, begins.end()) is None


def leaves_part(text: str) -> bool:
    """Whether a message ends a part that was played: "OK, out of character again"."""
    return _LEAVES.search(text, 0, _LOOKED_AT) is not None
