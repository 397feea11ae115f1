"""Telling what the memory itself put before a model from what was said, so that it is not remembered again."""

import re

from langmem_tiers.documents import rendering as notes
from langmem_tiers.identity import rendering as identity
from langmem_tiers.recall import rendering as recall

_HEADERS = (recall.HEADER, recall.FALLBACK_HEADER, recall.KNOWN_HEADER, identity.HEADER, notes.HEADER)
# So much of a header tells it from what a user would write behind the same tag.
_TELLING = 20
_TAGS = "|".join(re.escape(rendering.OPENING.strip("<>")) for rendering in (recall, identity, notes))
_BEGINNINGS = "|".join(re.escape(header[:_TELLING]) for header in _HEADERS)
# A block, or as much of one as stands together where it was not brought to its end.
_CUT = rf"(?:{_BEGINNINGS})[^\n]*(?:\n(?:- | {{2}}|#)[^\n]*)*"
_BLOCK = re.compile(rf"<(?P<tag>{_TAGS})>\n(?:(?s:.*?)\n</(?P=tag)>|{_CUT})")
# An item of one, on lines of its own: whoever holds one did not write it.
_ITEM = re.compile(r"^[ \t]*- \[§W-\d{3,18}/R-\d{2,18}/D-\d{3,18}\] \d{4}-\d\d-\d\d [^\n]*(?:\n {2}[^\n]*)*\n?", re.M)


def without_recalled(text: str) -> str:
    r"""`text` without blocks of the memory and items of such; one that holds none as it is, to the last space.

    Example:
        >>> without_recalled("You said: <memory_context>\n- a line\n</memory_context>\nIn Porto.")
        'You said: \nIn Porto.'
    """
    if not any(rendering.OPENING in text for rendering in (recall, identity, notes)) and "[§W-" not in text:
        return text
    kept = _ITEM.sub("", _BLOCK.sub("", text))
    return text if kept == text else kept.strip()
