"""Wings: the subject a conversation is filed under, and which names deserve a wing of their own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from langmem_tiers.language.names import PRODUCTS, names
from langmem_tiers.language.slugs import UNNAMED, same_subject, slug_words, slugify, subject_key
from langmem_tiers.language.words import LOOKED_AT, STOPWORDS
from langmem_tiers.storage.rooms import Wing

WingKind = Literal["project", "agent", "subject", "general"]
GENERAL = "general"
_DEFAULT_AGENT = "default"
LEAST_SESSIONS = 2
LEAST_TURNS = 3
_NO_SUBJECTS = STOPWORDS | {UNNAMED}


@dataclass(frozen=True, kw_only=True, slots=True)
class RecurringName:
    """A recurring name, and in how many sessions and turns it occurs."""

    name: str
    slug: str
    sessions: int
    turns: int


def decide_wing(first_texts: Sequence[str], *, project: str | None, agent: str | None, known: Collection[Wing]) -> Wing:
    """The wing of a conversation that begins with these texts; one that is not there yet has the number 0.

    The project named comes first, then the agent (unless it is 'default'), then a known wing mentioned in the texts
    (the longest name wins), then the space's own wing, 'general'.
    """
    if project and project.strip():
        return _wing(project, "project", known)
    if agent and slugify(agent) not in {_DEFAULT_AGENT, UNNAMED}:
        return _wing(agent, "agent", known)
    mentioned = _mentioned("\n".join(first_texts)[:LOOKED_AT], known)
    return mentioned or _wing(GENERAL, "general", known)


def recurring_names(sessions: Iterable[Sequence[str]], *, known: Collection[Wing] = ()) -> list[RecurringName]:
    """The capitalised names in at least 2 sessions and 3 turns that have no wing yet, the most frequent first.

    A name must occur inside a sentence at least once: at the beginning, any word has a capital. Names that mean one
    subject are counted together, once per turn.
    """
    shown: defaultdict[str, Counter[str]] = defaultdict(Counter)
    places: defaultdict[str, list[int]] = defaultdict(list)
    inside: set[str] = set()
    for session, text in ((session, text) for session, texts in enumerate(sessions) for text in texts):
        found = _subjects(text)
        inside.update(key for key, _, opens in found if not opens)
        for key, name in {key: name for key, name, _ in found}.items():
            shown[key][name] += 1
            places[key].append(session)
    filed = {subject_key(called) for wing in known for called in (wing.name, *wing.aliases)}
    recurring = []
    for key in inside - filed:
        called, turns, counted = shown[key].most_common(1)[0][0], len(places[key]), len(set(places[key]))
        if turns >= LEAST_TURNS and counted >= LEAST_SESSIONS:
            recurring.append(RecurringName(name=called, slug=slugify(called), sessions=counted, turns=turns))
    return sorted(recurring, key=lambda each: (-each.sessions, -each.turns, each.slug))


@lru_cache(maxsize=1024)  # the same rooms are looked through whenever one is opened
def _subjects(text: str) -> tuple[tuple[str, str, bool], ...]:
    """The key of each name in a text that may be a subject, the name, and whether it opens a sentence."""
    found = (name for name in names(text) if name.folded not in PRODUCTS and len(name.text) > 2)
    return tuple((subject_key(name.text), name.text, name.opens) for name in found)


def _wing(name: str, kind: WingKind, known: Collection[Wing]) -> Wing:
    """The known wing with this name, or a new one. A wing of the same kind takes precedence."""
    same = sorted((wing for wing in known if _is(name, wing)), key=lambda wing: wing.kind != kind)
    if same:
        return same[0]
    shown = " ".join(name.split())
    return Wing(number=0, slug=slugify(shown), name=shown, kind=kind)


def _is(name: str, wing: Wing) -> bool:
    return any(same_subject(name, called) for called in (wing.name, *wing.aliases))


def _mentioned(text: str, known: Iterable[Wing]) -> Wing | None:
    """The known wing with the longest name or alias in the text; among equals, the first mentioned."""
    named = [wing for wing in known if wing.kind != "general"]
    callings = [(slugify(called), wing) for wing in named for called in (wing.name, *wing.aliases)]
    if not callings:
        return None
    said = f"-{'-'.join(slug_words(text))}-"
    found = [calling for calling in callings if calling[0] not in _NO_SUBJECTS and _stands_in(calling[0], said)]
    return min(found, key=lambda calling: (-len(calling[0]), said.find(calling[0])))[1] if found else None


def _stands_in(slug: str, said: str) -> bool:
    """As whole words, possibly plural or possessive; scripts without blanks have no word boundaries to check."""
    if not slug.isascii() and len(slug) > 1 and slug.isalnum() and _is_unspaced(slug):
        return slug in said
    return any(f"-{slug}{ending}-" in said for ending in ("", "s"))


def _is_unspaced(slug: str) -> bool:
    return all("\u0e00" <= char <= "\u0eff" or "\u1000" <= char <= "\u109f" or char >= "\u3040" for char in slug)
