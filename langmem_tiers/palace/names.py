"""Capitalised names in a text, and what stands around them: the raw material of people, places and wings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from langmem_tiers.palace.finding import beginning_with
from langmem_tiers.palace.words import FUNCTION_WORDS, LOOKED_AT, PLEASANTRIES, QUESTION_WORDS, word_set

CALENDAR = word_set(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sept sep oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    sat sun today tomorrow yesterday tonight spring summer autumn fall winter christmas easter halloween thanksgiving
    xmas ramadan diwali hanukkah eid weekend am pm bc ad
    """
)
LANGUAGES = word_set(
    """
    english french german spanish italian portuguese dutch swedish norwegian danish finnish polish czech russian greek
    turkish arabic hebrew persian hindi bengali punjabi tamil urdu chinese mandarin cantonese japanese korean thai
    vietnamese latin american british canadian australian mexican brazilian indian african asian european irish
    scottish ukrainian swiss austrian belgian jewish muslim christian buddhist catholic hindu
    """
)
# Capitalised, and neither a person nor a place.
PRODUCTS = word_set(
    """
    python java javascript typescript rust golang ruby php kotlin swift django flask react vue angular node docker
    kubernetes linux windows macos ubuntu android ios github gitlab git google microsoft amazon aws azure netflix
    spotify youtube facebook instagram twitter tiktok whatsapp telegram slack zoom excel word powerpoint outlook
    photoshop notion jira postgres postgresql sqlite mysql redis mongodb chroma langchain langgraph openai chatgpt
    claude gemini gpt llm tesla toyota honda ford bmw iphone ipad macbook kindle playstation xbox nintendo lego ikea
    bible internet wifi bluetooth gps usb ai ml api http html css json yaml sql pdf csv url tv pc dvd cd dna covid ok
    id ui ux faq diy ceo cto hr phd god i'm
    """
)
_STARTERS = word_set(
    """
    got getting glad just hope hoping looking working taking going trying check let's lets speaking totally honestly
    actually basically anyway besides guess guys guy everyone everybody love loved thing things first second last next
    finally recently lately previously currently great awesome amazing incredible impressive beautiful lovely happy
    sad hearing seeing being having making thinking remember imagine keep take make give tell try see look think know
    feel want need mean stay enjoy wish believe follow use using add run old big small happy good-luck luck dear
    real
    """
)
NOT_NAMES = FUNCTION_WORDS | PLEASANTRIES | QUESTION_WORDS | CALENDAR | LANGUAGES | _STARTERS

_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f\u0386-\u03ab\u0400-\u042f"
# What must not stand before is looked at behind the capital: the search for capitals alone is far faster.
_CAPITALISED = rf"[{_UPPER}](?<![\w'’@#/.].)\w*(?:['’-]\w+)*"
_JOINT = r"(?: |\. (?<=\b[A-Z]\. )| (?:of|de|da|do|del|della|di|van|von|der|den|la|le|el|al|bin) )"
_RUN = re.compile(rf"{_CAPITALISED}(?:{_JOINT}{_CAPITALISED})*")
_POSSESSIVE = re.compile(r"['’](?:s|m|re|ve|ll|d)$|['’]$")
_WORD = re.compile(r"\S+")
_NEIGHBOUR = re.compile(r"[\w'’]+")
# 'Hey Anna', 'Thanks, Anna', 'Anna, guess what', '…, Anna!'
_ADDRESSED = re.compile(
    rf"\b(?:[Hh]i|[Hh]ey|[Hh]ello|[Dd]ear|[Tt]hanks?|[Tt]hank you|[Ww]ow|[Yy]eah|[Yy]es|[Ss]ure|[Cc]ongrats|[Ss]orry"
    rf"|[Bb]ye|[Ww]elcome),? ([{_UPPER}]\w+)(?=[\s,.!?:;-]|$)"
    rf"|(?:^|[.!?] )([{_UPPER}]\w+), |, ([{_UPPER}]\w+) ?(?=[.!?]|$)"
)
_GREETINGS = word_set("hi hey hello dear thank wow yeah yes sure congrats sorry bye welcome")
_CALLS = [*_GREETINGS, *map(str.capitalize, _GREETINGS), ". ", "! ", "? ", ", "]


@dataclass(frozen=True)
class Name:
    """A run of capitalised words in a text, with what stands around it.

    `folded` is the name as tags hold it, casefolded; `opens` says that it stands where a sentence begins; `possessive`
    that 's followed it. `within` is the whole text, where it stands from `start` to `end`.
    """

    text: str
    folded: str
    opens: bool
    possessive: bool
    within: str
    start: int
    end: int

    @cached_property
    def before(self) -> tuple[str, ...]:
        """The words before it, three at most, casefolded."""
        return tuple(_NEIGHBOUR.findall(self.within[max(0, self.start - 40) : self.start].casefold())[-3:])

    @cached_property
    def after(self) -> str:
        """The word behind it, casefolded, or nothing."""
        found = _NEIGHBOUR.search(self.within[self.end : self.end + 20].casefold())
        return found.group() if found else ""


def names(text: str) -> list[Name]:
    """The capitalised names in the first 20,000 characters, without words that only open sentences.

    Calendar words, languages and pleasantries are no names; a text all in capitals has none.
    """
    shown = text[:LOOKED_AT]
    if _is_shouted(shown):
        return []
    found = (name for match in _RUN.finditer(shown) for name in _split(shown, match))
    return [name for name in found if name.folded != "new"]  # 'New York' is a name, 'New' is none


def addressed(text: str) -> set[str]:
    """The names, casefolded, of those whom a text speaks to."""
    calls = beginning_with(_CALLS, _ADDRESSED, text[:LOOKED_AT])
    called = {name.casefold() for call in calls for name in call.groups() if name}
    return called - NOT_NAMES


def _is_shouted(text: str) -> bool:
    letters = text[:400]
    upper = sum(map(str.isupper, letters))
    return upper > 12 and upper > sum(map(str.islower, letters))


def _split(text: str, match: re.Match[str]) -> list[Name]:
    """The names in a run: 'Yesterday Anna' holds one, 'Tom I' holds one, 'New York' is one."""
    if " " not in match.group():
        return [_name(text, *match.span())] if _is_name_word(match.group()) else []
    found: list[Name] = []
    start: int | None = None
    end = match.start()
    for word in _WORD.finditer(match.group()):
        begins, ends = match.start() + word.start(), match.start() + word.end()
        if _is_name_word(word.group()) or (start is not None and word.group().islower()):
            start = begins if start is None else start
            end = ends if not word.group().islower() else end
        elif start is not None:
            found.append(_name(text, start, end))
            start = None
    if start is not None:
        found.append(_name(text, start, end))
    return found


@lru_cache(maxsize=8192)
def _is_name_word(word: str) -> bool:
    bare = _POSSESSIVE.sub("", word.rstrip(".")).casefold()
    return word[0].isupper() and len(bare) > 1 and bare not in NOT_NAMES


def _name(text: str, start: int, end: int) -> Name:
    shown = text[start:end]
    bare = _POSSESSIVE.sub("", shown)
    return Name(
        text=bare,
        folded=bare.casefold(),
        opens=_opens_sentence(text, start),
        possessive=bare != shown,
        within=text,
        start=start,
        end=end,
    )


def _opens_sentence(text: str, start: int) -> bool:
    """Whether nothing but quotes and brackets stands between the place and the end of another sentence."""
    before = text[max(0, start - 8) : start].rstrip(" \t\"'“‘(*_[")
    return not before or not (before[-1].isalnum() or before[-1] in ",;)'\"%&/’”-")
