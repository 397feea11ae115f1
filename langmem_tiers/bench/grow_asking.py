"""Asking a question over its own haystack and others: a copy of the base memory, with the own haystack added.

Own sessions that the base holds are not stored again: they keep the date of the base, and their hits are told as those
of the own haystack. In their place the next sessions of the pool are added, so that there are as many others as asked
for wherever the pool has them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from langmem_tiers.bench.asking import Plan, ask, finish
from langmem_tiers.bench.grow_base import SPACE, Base, hasty
from langmem_tiers.bench.grow_survey import other_session
from langmem_tiers.bench.log import Answer
from langmem_tiers.bench.questions import Case
from langmem_tiers.bench.replay import through_track_node
from langmem_tiers.bench.scoring import Session
from langmem_tiers.transfer import import_conversations
from langmem_tiers.transfer.records import ImportedSession

if TYPE_CHECKING:
    from langmem_tiers.embeddings.base import Embedder
    from langmem_tiers.space import Space

# Asked before the clock runs. The first recall of a large memory that was just opened reads all its vectors, the second
# opens Chroma's index: an agent's memory has both behind it.
_WARMING = "Which subjects were talked about?"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grown:
    """How a haystack and a base come together.

    `shared` has the base's sessions that are the haystack's own, with their places there; `added` are the sessions to
    store in the copy; `others` counts those that are not the haystack's own when that is done.
    """

    shared: Mapping[str, str]
    added: tuple[ImportedSession, ...]
    others: int

    def number(self, session: str) -> Session:
        """What the log calls a stored session: an own one by its place in the haystack, another by its name."""
        own = self.shared.get(session, session)
        return int(own) if own.isdecimal() else own

    def turn(self, session: str, message_id: str | None) -> str | None:
        """What the log calls a stored message; none of another session is ever called like an own one."""
        own = self.shared.get(session)
        return message_id if own is None or message_id is None else f"{own}:{message_id.rpartition(':')[2]}"


def grown(case: Case, base: Base) -> Grown:
    """How the haystack of a case comes together with a base."""
    places = base.sessions.places(case.names)
    shared: dict[str, str] = {}
    for index, name in enumerate(case.names):
        if name in places and places[name] < base.others:
            # Where a haystack has a session twice, the base stands for the first of the two.
            shared.setdefault(other_session(places[name]), str(index))
    own = {other_session(place) for place in places.values()}
    more = (session for session in base.sessions.sessions(base.others) if session.session not in own)
    instead = tuple(islice(more, len(shared)))
    missing = tuple(session for session in case.sessions if session.session not in shared.values())
    others = min(base.others, base.pool) - len(shared) + len(instead)
    return Grown(shared=shared, added=(*instead, *missing), others=others)


def ask_grown(case: Case, plan: Plan, base: Base, embedder: Embedder | None) -> Iterator[Answer]:
    """The answers to the questions of a case over its haystack and as many others as the base was made for.

    Raises:
        StorageError: a session could not be stored whole.
    """
    from langmem_tiers.memory import Memory

    together = grown(case, base)
    with (
        _copied(base, plan.work) as folder,
        Memory.open(folder, embedder=embedder, settings=hasty(plan.settings), background=False) as memory,
    ):
        report = import_conversations(together.added, track=through_track_node(memory), space=SPACE)
        space = memory.space(SPACE)
        finish(space, len(report.rejected))
        for _ in range(2):
            space.recall(_WARMING, fallback=False, keep_receipt=False)
        for question in case.questions:
            answer = ask(space, question, {}, together.number)
            turns = tuple(_turn(space, number, together) for number in answer.drawers)
            yield replace(answer, turns=turns, others=together.others)


@contextmanager
def _copied(base: Base, work: Path) -> Iterator[Path]:
    """A copy of the base's memory that goes when the case is done."""
    with TemporaryDirectory(prefix="memory-", dir=work) as folder:
        yield shutil.copytree(base.memory, Path(folder) / "memory")


def _turn(space: Space, number: int, together: Grown) -> str | None:
    drawer = space.drawer(number)
    return None if drawer is None else together.turn(drawer.session, drawer.message_id)
