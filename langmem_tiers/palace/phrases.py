"""Key phrases: what a few texts are about, in their own words, such as 'battery wiring'."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from langmem_tiers.palace.names import addressed
from langmem_tiers.palace.words import LOOKED_AT, STOPWORDS, stem, word_set

# Meaningful in a question, and yet the name of no topic.
FILLER = word_set(
    """
    able actual actually add added amazing amount anyway appreciate appreciated ask asked asking awesome bad basically
    beautiful begin believe best better big bit bring brought call called came can't care catch caught chance change
    check chat chatting come comes coming couple cute day days deal decide decided definitely different easy else end
    ended enjoy enjoyed enjoying especially excited exciting explain fact far feel feeling feelings feels felt figure
    find finally first forget found full fun gave general get gets getting give gives giving go goes going gone gotten
    got guess guy guys happen happened happy hard hear heard hearing help helped helpful helping helps hope hopefully
    hoping hour hours huge idea ideas important impressive incredible inspiring instance interested interesting issue
    keep keeping kept kind knew know known last lately later learn learned leave left let's little long look looked
    looking looks lot love loved lovely loving main make makes making matter mean meaning means meant mention mentioned
    mind minute minutes moment moments month months morning move need needed needs new news next nice night number old
    open opinion part people perfect person picture pic place plan planning plans point possible pretty probably problem
    put question questions reading ready real really reason recently recommend relaxing remember rewarding right said
    saw say saying says second see seeing seem seems seen sense set share shared sharing short show showed shows similar
    small sort special spend spent start started starting stay step stop stuff suggest super suppose take taken takes
    taking talk talked talking tell thank thing things think thinking thought thoughts tips told took totally touch
    tough tried true try trying turn turned two one three type understand use used useful using usually various wait
    want wanted wants watch way ways week weekend weeks went whole wonder wondering wonderful word work worked working
    works world worry worth write year years yesterday today tomorrow tonight ago early late support supportive proud
    feel-good inspire inspired inspiration inspirational motivate motivated motivating awesome positive positivity
    passion passionate journey cheer cheering hi-five hang believe true yourself self everyone life lives time times
    experience made create created creating avoid chase chasing cherish throw push pushing reach reaching wear wearing
    allow allows include includes including ensure offer offers provide consider young plus top remaining difference
    """
)
_LONGEST = 3  # words in a phrase
_RUN = re.compile(r"[^\W\d_][\w]*(?:[-'’]\w+)*|[^\w\s]|\n")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]+\.\w+")
_CLITIC = re.compile(r"['’](?:s|m|re|ve|ll|d)$", re.IGNORECASE)
_VERBAL = re.compile(r"(?:ly|ed|n't)$")


@dataclass(frozen=True, slots=True)
class _Word:
    shown: str
    key: str


def key_phrases(texts: Iterable[str], limit: int = 5) -> list[str]:
    """The phrases of one to three words that say most of what the texts are about, best first.

    Phrases are runs between function words (as in RAKE, Rose et al. 2010), weighted by how many texts have them;
    they are written as they first occur, and no two share a word. Somebody spoken to ("Hey Anna") is no phrase.

    Example:
        >>> key_phrases(["The battery wiring overheats.", "Is battery wiring hard?"], limit=1)
        ['battery wiring']
    """
    shown = [_ADDRESS.sub("\n", text[:LOOKED_AT]) for text in texts]
    spoken_to = {name for text in shown for name in addressed(text)}
    runs = [list(_runs(text, spoken_to)) for text in shown]
    spread = Counter(key for text in runs for key in {word.key for run in text for word in run})
    phrases = _counted(runs)
    ranked = sorted(phrases, key=lambda keys: -_weight(keys, phrases[keys], spread))
    return _distinct(ranked, phrases, limit)


def _runs(text: str, without: Collection[str]) -> Iterator[list[_Word]]:
    """The runs of words between function words, fillers and punctuation."""
    run: list[_Word] = []
    for token in _RUN.findall(text):
        word = _CLITIC.sub("", token)
        folded = word.casefold()
        if _can_name(folded) and folded not in without:
            run.append(_Word(word, stem(folded)))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _can_name(folded: str) -> bool:
    if folded in STOPWORDS or folded in FILLER or _VERBAL.search(folded) or not any(map(str.isalnum, folded)):
        return False
    return len(folded) > 2 or not folded.isascii()  # two characters are a whole word in Chinese


def _counted(texts: Sequence[Sequence[list[_Word]]]) -> dict[tuple[str, ...], tuple[str, int]]:
    """By its stems: how each phrase is first written, and how often it occurs."""
    counted: dict[tuple[str, ...], tuple[str, int]] = {}
    for run in (run for text in texts for run in text):
        for length in range(1, _LONGEST + 1):
            for start in range(len(run) - length + 1):
                part = run[start : start + length]
                keys = tuple(word.key for word in part)
                shown, count = counted.get(keys, (" ".join(word.shown for word in part), 0))
                counted[keys] = (shown, count + 1)
    return counted


def _weight(keys: tuple[str, ...], phrase: tuple[str, int], spread: Counter[str]) -> float:
    """The best word of a phrase whole, the others by half, and wholly too in a phrase that is repeated.

    A lone 'booking' stands back behind a noun that is as frequent.
    """
    shown, count = phrase
    verbal = len(keys) == 1 and shown.endswith("ing")
    best, *others = sorted((spread[key] for key in keys), reverse=True)
    return best + sum(others) * (1.0 if count > 1 else 0.5) + 0.5 * (count - 1) - 0.25 * verbal


def _distinct(
    ranked: Iterable[tuple[str, ...]], phrases: dict[tuple[str, ...], tuple[str, int]], limit: int
) -> list[str]:
    chosen: list[str] = []
    taken: set[str] = set()
    for keys in ranked:
        if len(chosen) == limit:
            break
        if len(set(keys)) == len(keys) and not taken.intersection(keys):
            taken.update(keys)
            chosen.append(phrases[keys][0])
    return chosen
