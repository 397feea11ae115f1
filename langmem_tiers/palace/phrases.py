"""Key phrases: what a few texts are about, in their own words, such as 'battery wiring'."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

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
_NO_TOPICS = STOPWORDS | FILLER


@dataclass(frozen=True, slots=True)
class _Word:
    """A word that can name a topic, as it is written, casefolded, and by its stem."""

    shown: str
    folded: str
    key: str


@dataclass(frozen=True, slots=True)
class Said:
    """What of a text can be part of a phrase: its words in order, None where a run ends, and who is spoken to."""

    words: tuple[_Word | None, ...]
    spoken_to: frozenset[str]


def key_phrases(texts: Iterable[str], limit: int = 5) -> list[str]:
    """The phrases of one to three words that say most of what the texts are about, best first.

    Phrases are runs between function words (as in RAKE, Rose et al. 2010), weighted by how many texts have them;
    they are written as they first occur, and no two share a word. Somebody spoken to ("Hey Anna") is no phrase.

    Example:
        >>> key_phrases(["The battery wiring overheats.", "Is battery wiring hard?"], limit=1)
        ['battery wiring']
    """
    return phrases_of([read(text) for text in texts], limit)


def read(text: str) -> Said:
    """What `phrases_of` needs to know of a text."""
    shown = _without_addresses(text[:LOOKED_AT])
    return Said(words=tuple(map(_word, _RUN.findall(shown))), spoken_to=frozenset(addressed(shown)))


def phrases_of(said: Sequence[Said], limit: int = 5) -> list[str]:
    """The `key_phrases` of texts that have been read."""
    spoken_to = frozenset[str]().union(*(text.spoken_to for text in said))
    runs = [list(_runs(text.words, spoken_to)) for text in said]
    spread = Counter(key for text in runs for key in {word.key for run in text for word in run})
    phrases = _counted(runs)
    ranked = sorted(phrases, key=lambda keys: -_weight(keys, phrases[keys], spread))
    return _distinct(ranked, phrases, limit)


def _without_addresses(text: str) -> str:
    """The text without links and mail addresses; hardly any has one."""
    return _ADDRESS.sub("\n", text) if "@" in text or "://" in text or "www." in text else text


@lru_cache(maxsize=8192)
def _word(token: str) -> _Word | None:
    """The word that a token is, None for punctuation, function words and fillers."""
    shown = _CLITIC.sub("", token)
    folded = shown.casefold()
    return _Word(shown, folded, stem(folded)) if _can_name(folded) else None


def _runs(words: Iterable[_Word | None], without: Collection[str]) -> Iterator[list[_Word]]:
    """The runs of words between function words, fillers and punctuation."""
    run: list[_Word] = []
    for word in words:
        if word is not None and word.folded not in without:
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _can_name(folded: str) -> bool:
    if folded in _NO_TOPICS or folded.endswith(("ly", "ed", "n't")) or not any(map(str.isalnum, folded)):
        return False
    return len(folded) > 2 or not folded.isascii()  # two characters are a whole word in Chinese


def _counted(texts: Sequence[Sequence[list[_Word]]]) -> dict[tuple[str, ...], tuple[str, int]]:
    """By its stems: how each phrase is first written, and how often it occurs."""
    counted: dict[tuple[str, ...], tuple[str, int]] = {}
    for run in (run for text in texts for run in text):
        stems = [word.key for word in run]
        for length in range(1, min(_LONGEST, len(run)) + 1):
            for start in range(len(run) - length + 1):
                keys = tuple(stems[start : start + length])
                known = counted.get(keys)
                shown = known[0] if known else " ".join(word.shown for word in run[start : start + length])
                counted[keys] = (shown, known[1] + 1 if known else 1)
    return counted


def _weight(keys: tuple[str, ...], phrase: tuple[str, int], spread: Counter[str]) -> float:
    """The best word of a phrase whole, the others by half, and wholly too in a phrase that is repeated.

    A lone 'booking' stands back behind a noun that is as frequent.
    """
    shown, count = phrase
    verbal = len(keys) == 1 and shown.endswith("ing")
    texts = [spread[key] for key in keys]
    best = max(texts)
    return best + (sum(texts) - best) * (1.0 if count > 1 else 0.5) + 0.5 * (count - 1) - 0.25 * verbal


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
