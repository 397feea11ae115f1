"""Reading a conversation by rules: what users state about themselves, and claim about people, places and things.

Only English is understood; a text in another script yields nothing. Messages of assistants, tools and systems are
ignored, and so are questions, hypotheticals, jokes, tasks, quotations, code and logs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from langmem_tiers.language import endings, entries, relations
from langmem_tiers.language.claims import Claim
from langmem_tiers.language.endings import Revised
from langmem_tiers.language.turns import LONGEST, may_speak, readings, several_speak
from langmem_tiers.records import Proposal, Said


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """What was read: `entries` as sentences about the user, `claims` for the graph, both with their evidence."""

    entries: tuple[Proposal, ...]
    claims: tuple[Claim, ...]


def read(
    said: Sequence[Said], now: datetime, *, before: Sequence[Said] = (), speaks: Callable[[Said], bool] = may_speak
) -> Read:
    """What the users' own turns say that is worth keeping: each turn read once, in order, without repetitions.

    Args:
        said: The turns to read; of a long one, the first part is read for entries, and nothing for the graph.
        now: Turns said later than this are ignored.
        before: Earlier turns. They are read for entries as well, and show what a correction refers to.
        speaks: Which turns contain a user's own words, as far as the graph is concerned.

    """
    turns = [*before, *said]
    several = several_speak(turns)
    stated: list[Proposal] = []
    claimed: list[Claim] = []
    for place, turn in enumerate(turns):
        if turn.said_at > now or not may_speak(turn):
            continue
        sentences = [*readings(turns, place, several=several)]
        stated += entries.of_turn(sentences)
        if place >= len(before) and len(turn.content) <= LONGEST and speaks(turn):
            claimed += relations.of_turn(sentences)
    return Read(entries=tuple(entries.merged(stated)), claims=tuple(claimed))


def read_revisions(
    said: Sequence[Said], now: datetime, *, before: Sequence[Said] = (), speaks: Callable[[Said], bool] = may_speak
) -> list[Revised]:
    """The sentences that end, change or take back what was said earlier.

    The arguments are those of `read`; `before` only shows what "it" means.
    """
    turns = [*before, *said]
    several = several_speak(turns)
    found: list[Revised] = []
    for place, turn in enumerate(turns):
        if place >= len(before) and turn.said_at <= now and may_speak(turn) and speaks(turn):
            found += endings.of_turn(readings(turns, place, several=several))
    return found
