"""Stored text for a model: the fence around it, and escapes so that nothing inside can close or imitate a fence.

Only what could do so, or hide, is escaped: "a < b & c > d" and `<div>` stay as they were written. Escapes are HTML
character references, so `html.unescape` gives the stored text back.
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape

OPENING, CLOSING = "<memory_context>", "</memory_context>"
_REFERENCE = re.compile("&[^&]{0,40}")
# What follows a bracket; a model reads over blanks, slashes and joiners.
_AFTER_BRACKET = re.compile(r"<(?=(?P<joined>[\s/\u200c\u200d]*)(?P<name>[^\s<>/]{0,60}))")
_SIGNS = re.compile(r"[\W_]+")
# How the tags begin that stand around stored text in prompts and tool results, and that chat templates use.
_RESERVED = (
    *("memory", "useridentity", "passage", "question", "response", "correctanswer", "explanation", "rubric", "message"),
    *("system", "sys", "assistant", "user", "human", "tool", "function", "invoke", "instruction", "developer", "think"),
    *("workingmemory", "startof", "endof", "imstart", "imend", "imsep"),
)
_CONTROLS = {"s", "bos", "eos", "pad", "unk"}
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
# Joiners in emoji and in the scripts of India and Iran.
_KEPT = {"\n", "\t", "\u200c", "\u200d"}


def escape(text: str) -> str:
    """`text` with everything that could act as a fence, or hide, made visible and harmless."""
    if "&" in text:
        text = _REFERENCE.sub(_without_reference, text)
    if not (text.isascii() and text.isprintable()):
        text = text.translate(_ESCAPED)
    return _AFTER_BRACKET.sub(_without_tag, text) if "<" in text else text


def _without_reference(found: re.Match[str]) -> str:
    """What looks like a character reference, so that it is not taken for an escape."""
    said = found[0]
    return said if unescape(said) == said else f"&amp;{said[1:]}"


def _without_tag(found: re.Match[str]) -> str:
    """A bracket, escaped if what follows could be read as a tag of ours or of a chat template."""
    name = found["name"]
    # Other scripts have letters that look the same.
    unclear = not name.isascii() or "_" in name or name.startswith(("|", "!", "?", "&")) or name.lower() in _CONTROLS
    return "&lt;" if unclear or _SIGNS.sub("", name).lower().startswith(_RESERVED) else "<"


def _escaped(character: str) -> str:
    if character in _KEPT or character.isalnum():
        return character
    if character == "\r" or unicodedata.category(character) in _INVISIBLE:
        return f"&#x{ord(character):x};"
    # Models read full-width and small brackets as brackets.
    if not character.isascii() and unicodedata.normalize("NFKC", character) in {"<", ">", "&"}:
        return f"&#x{ord(character):x};"
    return character


class _EscapeTable(dict[int, str]):
    """The replacement of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        self[code] = _escaped(chr(code))
        return self[code]


_ESCAPED = _EscapeTable()
