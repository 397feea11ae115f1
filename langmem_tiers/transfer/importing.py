"""Replaying conversations that were read from a file, session by session, as if they were held now with their dates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from langmem_tiers.transfer.records import Entry, ImportedMessage, ImportedSession, LineProblem
from langmem_tiers.types import RejectedTurn, TrackReport

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage


class Track(Protocol):
    """Whatever stores the messages of one session: the track node of a graph, bound to a memory."""

    def __call__(self, messages: list[AnyMessage], *, space: str, session: str) -> TrackReport:
        """What became of the messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """What an import did.

    `sessions` and `messages` were read; of the messages `stored` are new, `known` were there before and
    `rejected` were refused by the memory. `problems` are parts of the file that could not be read.
    """

    sessions: int
    messages: int
    stored: int
    known: int
    rejected: tuple[RejectedTurn, ...]
    problems: tuple[LineProblem, ...]


def import_conversations(
    source: Iterable[Entry],
    *,
    track: Track,
    space: str | Callable[[ImportedSession], str],
    on_progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Store every session of `source`; storing it again changes nothing.

    Args:
        source: what `read_conversations` gives.
        track: stores the messages of one session.
        space: the name of the space, or a function that names it for a session.
        on_progress: called after every session with the report so far.

    Raises:
        UnreadableFile: the source turned out to be unreadable; what came before is stored.
    """
    tally = _Tally()
    for entry in source:
        if isinstance(entry, LineProblem):
            tally.problems.append(entry)
            continue
        where = space if isinstance(space, str) else space(entry)
        tally.add(where, entry, track(as_messages(entry), space=where, session=entry.session))
        if on_progress is not None:
            on_progress(tally.report())
    return tally.report()


def as_messages(session: ImportedSession) -> list[AnyMessage]:
    """The session as LangChain messages that carry their ids, speakers and times."""
    return [_as_message(message) for message in session.messages]


def _as_message(message: ImportedMessage) -> AnyMessage:
    from langchain_core.messages import AIMessage, HumanMessage

    kind = HumanMessage if message.role == "user" else AIMessage
    told_at = {} if message.at is None else {"timestamp": message.at.isoformat()}
    return kind(content=message.content, id=message.message_id, name=message.speaker, additional_kwargs=told_at)


@dataclass
class _Tally:
    """The report while it grows."""

    sessions: set[tuple[str, str]] = field(default_factory=set)
    messages: int = 0
    stored: int = 0
    known: int = 0
    rejected: list[RejectedTurn] = field(default_factory=list)
    problems: list[LineProblem] = field(default_factory=list)

    def add(self, space: str, session: ImportedSession, tracked: TrackReport) -> None:
        self.sessions.add((space, session.session))
        self.messages += len(session.messages)
        self.stored += len(tracked.stored)
        self.known += tracked.known
        self.rejected.extend(tracked.rejected)

    def report(self) -> ImportReport:
        return ImportReport(
            sessions=len(self.sessions),
            messages=self.messages,
            stored=self.stored,
            known=self.known,
            rejected=tuple(self.rejected),
            problems=tuple(self.problems),
        )
