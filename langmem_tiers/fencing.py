"""Stored text for a model: the fence around it, and escapes so that nothing inside can close or imitate a fence.

Escapes are HTML character references, so `html.unescape` gives the stored text back.
"""

from __future__ import annotations

import unicodedata

OPENING, CLOSING = "<memory_context>", "</memory_context>"
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
# Joiners in emoji and in the scripts of India and Iran.
_KEPT = {"\n", "\t", "\u200c", "\u200d"}


def escape(text: str) -> str:
    """`text` with everything that could act as markup, or hide, made visible and harmless."""
    if text.isascii() and text.isprintable():
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.translate(_ESCAPED)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character in _KEPT or character.isalnum():
        return character
    if character == "\r" or unicodedata.category(character) in _INVISIBLE:
        return f"&#x{ord(character):x};"
    # Models read full-width and small brackets as brackets.
    if not character.isascii() and unicodedata.normalize("NFKC", character) in _ESCAPES:
        return f"&#x{ord(character):x};"
    return character


class _EscapeTable(dict[int, str]):
    """The replacement of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        self[code] = _escaped(chr(code))
        return self[code]


_ESCAPED = _EscapeTable()
