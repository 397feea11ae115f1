"""One turn as it is read: whose it is, what of it is looked at, and what was said before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from langmem_tiers.palace.words import word_set
from langmem_tiers.writing.extractive import sifting
from langmem_tiers.writing.extractive.prose import Sentence, is_latin, sentences
from langmem_tiers.writing.extractive.rewriting import Subject
from langmem_tiers.writing.extractive.rule import Listener
from langmem_tiers.writing.proposals import Said

LONGEST = 4000
"""Characters of a turn that are looked at: what people tell is shorter, what they paste is longer."""

_MOST_OF_A_REQUEST = 5  # sentences; what a longer one orders holds for its task alone
_OPENING_SENTENCES = 2  # what stands later in a turn answers no other turn
_MOST_AGO = 4  # turns in which what a correction is about is looked for
_NOBODY = word_set("user assistant human ai system tool bot agent speaker unknown me")


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A sentence that was said before the one read: in which turn, how many turns ago, and whether by the same."""

    sentence: Sentence
    said: Said
    ago: int
    mine: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One turn being read: whose it is, who listens, whether it is a long brief for a task, and what came before.

    `asked` says that it answers a question about a time that is over; `own` are the sentences before the one read,
    `behind` the turns before, the nearest first.
    """

    said: Said
    subject: Subject
    listener: Listener
    briefs: bool = False
    asked: bool = False
    own: tuple[Sentence, ...] = ()
    behind: tuple[Said, ...] = ()

    @property
    def before(self) -> Sentence | None:
        """The sentence before the one read."""
        return self.own[-1] if self.own else None

    def earlier(self) -> Iterator[Statement]:
        """What was said up to the sentence read, the nearest first; of other turns where it opens this one."""
        for sentence in reversed(self.own):
            yield Statement(sentence=sentence, said=self.said, ago=0, mine=True)
        if len(self.own) < _OPENING_SENTENCES:
            for ago, turn in enumerate(self.behind, start=1):
                yield from _statements(self.said, turn, ago)


def may_speak(turn: Said) -> bool:
    """Whether the words of a turn are the user's own."""
    return turn.role == "user" and turn.origin in {"user", "import"}


def named(turn: Said) -> str | None:
    """Who says it, where that is somebody in particular."""
    name = " ".join((turn.speaker or "").split())
    return None if not name or name.casefold() in _NOBODY else name


def is_cut(turn: Said) -> bool:
    """Whether a part of a turn is not looked at."""
    return may_speak(turn) and len(turn.content) > LONGEST


def readings(said: Sequence[Said], place: int, *, several: bool) -> Iterator[tuple[Reading, Sentence]]:
    """Each sentence of a turn, with what is known when it is read."""
    turn = said[place]
    read = _sentences(turn)
    reading = Reading(
        said=turn,
        subject=Subject(name=named(turn) if several else None),
        listener="people" if several else "agent",
        briefs=len(read) > _MOST_OF_A_REQUEST and not several,
        asked=place > 0 and _asks_of_long_ago(said[place - 1], turn),
        behind=tuple(reversed(said[max(0, place - _MOST_AGO) : place])),
    )
    for number, sentence in enumerate(read):
        yield replace(reading, own=tuple(read[:number])), sentence


def _sentences(turn: Said) -> list[Sentence]:
    """The sentences of what is looked at of a turn, none where it jokes or is in another script."""
    shown = _shown(turn)
    if not is_latin(shown) or sifting.jokes_throughout(shown):
        return []
    read = sentences(shown)
    # The last one may be cut in the middle.
    return read[:-1] if is_cut(turn) and read and read[-1].stop >= len(shown.rstrip()) else read


def _asks_of_long_ago(before: Said, turn: Said) -> bool:
    return before.speaker != turn.speaker and sifting.asks_of_long_ago(_shown(before))


def _shown(turn: Said) -> str:
    return turn.content[:LONGEST]


def _statements(turn: Said, other: Said, ago: int) -> Iterator[Statement]:
    """The sentences of another turn, where somebody said it; questions as well: they name values."""
    if other.role in {"tool", "system"}:
        return
    mine = may_speak(other) and other.speaker == turn.speaker
    for sentence in sentences(_shown(other)):
        yield Statement(sentence=sentence, said=other, ago=ago, mine=mine)
