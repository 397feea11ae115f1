"""Places in a text: names after 'in', 'at', 'to', 'visited' and the like, and the best known countries and cities."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langmem_tiers.palace.names import PRODUCTS, Name
from langmem_tiers.palace.tag_people import is_person
from langmem_tiers.palace.words import word_set

_KNOWN = word_set(
    """
    argentina australia austria bangladesh belgium brazil bulgaria canada chile china colombia croatia cuba denmark
    egypt england estonia ethiopia europe finland france germany ghana greece hungary iceland india indonesia iran
    iraq ireland israel italy jamaica japan kenya korea latvia lebanon lithuania malaysia mexico morocco nepal
    netherlands nigeria norway pakistan peru philippines poland portugal romania russia scotland serbia singapore
    slovakia slovenia spain sweden switzerland taiwan thailand tunisia turkey ukraine usa uk vietnam wales africa asia
    amsterdam athens atlanta austin bangkok barcelona beijing berlin boston brisbane brussels bucharest budapest cairo
    chicago copenhagen dallas delhi denver detroit dubai dublin edinburgh florence geneva glasgow hamburg helsinki
    houston istanbul jakarta jerusalem johannesburg kyiv kyoto lagos lima lisbon london madrid manchester manila
    melbourne miami milan montreal moscow mumbai munich nairobi naples osaka oslo ottawa paris porto portland prague
    rome seattle seoul shanghai stockholm sydney tokyo toronto vancouver venice vienna warsaw zurich california
    florida texas hawaii alaska oregon colorado
    """
)
_KNOWN_PAIRS = re.compile(
    "new (?:york|zealand|orleans|jersey|delhi)|los angeles|san (?:francisco|diego)|las vegas|hong kong|buenos aires"
    "|mexico city|rio de janeiro|s[ãa]o paulo|cape town|tel aviv|costa rica|puerto rico|south (?:africa|korea)"
    "|north carolina|united (?:states|kingdom)|saudi arabia|sri lanka"
)
_LEADING = word_set(
    """
    in at from to near around through across outside inside toward towards via visit visited visiting reached leaving
    left explore explored exploring toured
    """
)
_SPEAKING = word_set(
    """
    talk talked talking speak spoke speaking listen listened listening say said write wrote explain explained lied
    similar according thanks thank married related due introduced gave give sent send shown
    """
)
_KINDS = word_set(
    """
    beach park lake mountain mountains river island street avenue university college school museum airport station
    canyon bay valley falls forest city village center centre hospital church cathedral temple castle bridge square
    hotel café cafe restaurant library gallery stadium
    """
)


def places(found: Sequence[Name]) -> list[str]:
    """The places of a text, casefolded, in order."""
    return list(dict.fromkeys(name.folded for name in found if _is_place(name)))


def _is_place(name: Name) -> bool:
    folded, parts = name.folded, name.folded.split()
    if folded in _KNOWN or (len(parts) > 1 and (parts[-1] in _KINDS or _KNOWN_PAIRS.fullmatch(folded))):
        return True
    if name.opens or name.possessive or len(parts) > 4 or not PRODUCTS.isdisjoint(parts):
        return False
    return _follows_preposition(name.before) and not name.text.isupper() and not is_person(name)


def _follows_preposition(before: tuple[str, ...]) -> bool:
    leading = before[:-1] if before[-1:] == ("the",) else before
    if not leading or leading[-1] not in _LEADING:
        return False
    return leading[-1] not in {"to", "at", "from"} or not any(word in _SPEAKING for word in leading[:-1])
