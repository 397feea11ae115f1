"""Wings: the subject a conversation is filed under, and which names deserve a wing of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from langmem_tiers.language.names import PRODUCTS, Name, names
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
class WingDecision:
    """The wing of a conversation: a known one by its number, or a new one (`known` None) by name, slug and kind."""

    name: str
    slug: str
    kind: str
    known: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RecurringName:
    """A recurring name, and in how many sessions and turns it occurs."""

    name: str
    slug: str
    sessions: int
    turns: int


def decide_wing(
    first_texts: Sequence[str], *, project: str | None, agent: str | None, known: Collection[Wing]
) -> WingDecision:
    """The wing of a conversation that begins with these texts.

    The project named comes first, then the agent (unless it is 'default'), then a known wing mentioned in the texts
    (the longest name wins), then the space's own wing, 'general'.
    """
    if project and project.strip():
        return _wing(project, "project", known)
    if agent and slugify(agent) not in {_DEFAULT_AGENT, UNNAMED}:
        return _wing(agent, "agent", known)
    mentioned = _mentioned("\n".join(first_texts)[:LOOKED_AT], known)
    return _as_known(mentioned) if mentioned else _wing(GENERAL, "general", known)


def recurring_names(sessions: Sequence[Sequence[str]], *, known: Collection[Wing] = ()) -> list[RecurringName]:
    """The capitalised names in at least 2 sessions and 3 turns that have no wing yet, the most frequent first.

    A name must occur inside a sentence at least once: at the beginning, any word has a capital.
    """
    seen = _Sightings()
    for session, texts in enumerate(sessions):
        for text in texts:
            seen.add(session, _subjects(text))
    return [found for found in seen.recurring() if not any(_is(found.name, wing) for wing in known)]


def _wing(name: str, kind: WingKind, known: Collection[Wing]) -> WingDecision:
    """The known wing with this name, or a new one. A wing of the same kind takes precedence."""
    same = sorted((wing for wing in known if _is(name, wing)), key=lambda wing: wing.kind != kind)
    if same:
        return _as_known(same[0])
    shown = " ".join(name.split())
    return WingDecision(name=shown, slug=slugify(shown), kind=kind)


def _as_known(wing: Wing) -> WingDecision:
    return WingDecision(name=wing.name, slug=slugify(wing.name), kind=wing.kind, known=wing.number)


def _is(name: str, wing: Wing) -> bool:
    return any(same_subject(name, called) for called in _callings(wing))


def _mentioned(text: str, known: Iterable[Wing]) -> Wing | None:
    """The known wing with the longest name or alias in the text; among equals, the first mentioned."""
    callings = [(slugify(called), wing) for wing in known if wing.kind != "general" for called in _callings(wing)]
    if not callings:
        return None
    said = f"-{'-'.join(slug_words(text))}-"
    found = [calling for calling in callings if calling[0] not in _NO_SUBJECTS and _stands_in(calling[0], said)]
    return min(found, key=lambda calling: (-len(calling[0]), said.find(calling[0])))[1] if found else None


def _callings(wing: Wing) -> tuple[str, ...]:
    return (wing.name, *wing.aliases)


def _stands_in(slug: str, said: str) -> bool:
    """As whole words, possibly plural or possessive; scripts without blanks have no word boundaries to check."""
    if not slug.isascii() and len(slug) > 1 and slug.isalnum() and _is_unspaced(slug):
        return slug in said
    return any(f"-{slug}{ending}-" in said for ending in ("", "s"))


def _is_unspaced(slug: str) -> bool:
    return all("\u0e00" <= char <= "\u0eff" or "\u1000" <= char <= "\u109f" or char >= "\u3040" for char in slug)


def _subjects(text: str) -> list[Name]:
    return [name for name in names(text) if name.folded not in PRODUCTS and len(name.text) > 2]


class _Sightings:
    """Where each name was seen; names that mean one subject are counted together."""

    def __init__(self) -> None:
        self._shown: dict[str, Counter[str]] = {}
        self._places: dict[str, list[int]] = {}
        self._inside: set[str] = set()

    def add(self, session: int, found: Sequence[Name]) -> None:
        """Count the names of one turn, each once."""
        for key, name in {subject_key(name.text): name for name in found}.items():
            self._shown.setdefault(key, Counter())[name.text] += 1
            self._places.setdefault(key, []).append(session)
        self._inside.update(subject_key(name.text) for name in found if not name.opens)

    def recurring(self) -> list[RecurringName]:
        """The names seen often enough, the most frequent first."""
        return sorted(self._frequent(), key=lambda name: (-name.sessions, -name.turns, name.slug))

    def _frequent(self) -> Iterator[RecurringName]:
        for key, places in self._places.items():
            if key in self._inside and len(places) >= LEAST_TURNS and len(set(places)) >= LEAST_SESSIONS:
                name = self._shown[key].most_common(1)[0][0]
                yield RecurringName(name=name, slug=slugify(name), sessions=len(set(places)), turns=len(places))
