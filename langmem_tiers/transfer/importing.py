"""Importing records into the spaces they belong to, once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast
from uuid import UUID

from langmem_tiers import arguments
from langmem_tiers.errors import InvalidSpace, MissingUser, UnreadableFile
from langmem_tiers.naming import check_space, user_space
from langmem_tiers.transfer.files import limited
from langmem_tiers.transfer.formats import FORMATS, NAME_USERS, OWN_SPACES, WHOLE, guess_format, read_records
from langmem_tiers.transfer.records import (
    Entry,
    ImportedDocument,
    ImportedFact,
    ImportedSession,
    LeftBehind,
    LineProblem,
    Record,
    Unit,
)
from langmem_tiers.transfer.speakers import require_speaker
from langmem_tiers.transfer.storing import Kept, Looking, Storing
from langmem_tiers.transfer.whole_import import Taken, staged, take_over
from langmem_tiers.types import Format, RejectedTurn, TrackReport

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

    from langmem_tiers.clock import Clock
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.settings import Settings


# Facts stored in one transaction.
_AT_ONCE = 200
Keepable = ImportedSession | ImportedFact | ImportedDocument
SpaceOf = Callable[[Keepable], str]
"""Names the space of a record; raises InvalidSpace for one that belongs nowhere."""

_NO_USER = "It names no user, and none was given."


class Spaces:
    """Names the space of each record, and remembers which were named.

    Args:
        format: what the records were read from.
        user: whose they all are; None for the users that they name themselves.
        own_spaces: a space for each conversation of a set, such as `locomo/conv-1`; by default where no user is given.
        space: the name of the space for all of them, instead of a user's.

    Raises:
        MissingUser: no user was given, and the format names none.
    """

    def __init__(
        self,
        format: str,
        user: str | int | UUID | None,
        *,
        own_spaces: bool | None = None,
        space: str | None = None,
    ) -> None:
        one = user_space(user) if space is None and user is not None else space
        self._format = format
        self._own = format in OWN_SPACES and (one is None if own_spaces is None else own_spaces)
        self._only = None if self._own else one
        if one is None and not self._own and format not in NAME_USERS:
            raise MissingUser(
                f"A file of {format} does not say whose memory it is.",
                way_out="Name a user: langmem-tiers --user ID import …, or import_file(…, user=ID).",
            )
        self.used: dict[str, None] = {}

    def __call__(self, record: Keepable) -> str:
        """The name of the space.

        Raises:
            InvalidSpace: the record names nobody, or somebody who cannot be named so.
        """
        name = self._only or self._named(record)
        self.used[name] = None
        return name

    def _named(self, record: Keepable) -> str:
        if self._own and isinstance(record, ImportedSession):
            return f"{self._format}/{record.conversation}"
        if record.user is None:
            raise InvalidSpace(_NO_USER)
        return user_space(record.user)


_COUNTED = (
    *("messages", "stored", "known"),
    *("entries", "entries_stored", "entries_known"),
    *("documents", "documents_stored", "documents_known"),
)
# Facts and documents that are not stored for a reason that is nobody's fault.
_NOT_KEPT = {"deleted": "{kind} that were deleted here", "expired": "{kind} that hold no longer"}


class Track(Protocol):
    """Whatever stores the messages of one session: the track node of a graph, bound to a memory."""

    def __call__(self, messages: list[AnyMessage], *, space: str, session: str) -> TrackReport:
        """What became of the messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A fact or a document that was not stored: what, and why."""

    what: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RejectedMessage(RejectedTurn):
    """A message that the memory refused, and where in the file it is: `line` is 0 where its reader does not know."""

    line: int = 0
    unit: Unit = "record"


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """What an import did.

    `sessions` and `messages` were read; of the messages `stored` are new, `known` were there before and
    `rejected` were refused by the memory. In the same way, of the `entries` and `documents` read, so many were stored
    or known, and `refused` names the others. `left_behind` counts what is not to be remembered, by what it is.
    `problems` are parts of the file that could not be read. `speakers` counts the messages of each named speaker, and
    `user_speakers` are those of them who were taken for the user. `renamed` gives, for entries of a folder whose own
    id could not be kept, the id they have here. Of an export of a whole space, `records` counts what was stored, by
    kind, and `identical` says that the space is now what was exported, by its fingerprint.
    """

    sessions: int
    messages: int
    stored: int
    known: int
    rejected: tuple[RejectedMessage, ...]
    problems: tuple[LineProblem, ...]
    entries: int = 0
    entries_stored: int = 0
    entries_known: int = 0
    documents: int = 0
    documents_stored: int = 0
    documents_known: int = 0
    refused: tuple[Refusal, ...] = ()
    left_behind: Mapping[str, int] = field(default_factory=dict)
    speakers: Mapping[str, int] = field(default_factory=dict)
    user_speakers: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    identical: bool = False

    @property
    def read(self) -> int:
        """How many messages, entries and documents there were."""
        return self.messages + self.entries + self.documents


class Progress(NamedTuple):
    """How far an import is: what was read, and how many messages, entries and documents are stored, now or before."""

    read: int
    messages: int
    others: int


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


def import_records(
    source: Iterable[Record],
    *,
    storing: Storing,
    space: SpaceOf,
    on_progress: Callable[[Progress], None] | None = None,
) -> ImportReport:
    """Store all records of `source`; storing them again changes nothing.

    Args:
        source: what `read_records` gives.
        storing: where to; see `Storing`.
        space: names the space of a record.
        on_progress: called after every record with the counts so far.

    Raises:
        MissingUser: nobody said whose a record is, and its format never says so.
        UnreadableFile: the source turned out to be unreadable; what came before is stored.
    """
    tally = _Tally()
    for record in _together(source):
        if isinstance(record, LineProblem):
            tally.problems.append(record)
        elif isinstance(record, LeftBehind):
            tally.left_behind[record.what] += record.count
        else:
            if isinstance(record, list):
                _take_facts(record, tally, space, storing)
            else:
                _take(record, tally, space, storing)
            if on_progress is not None:
                on_progress(tally.progress())
    speakers = storing.speakers
    return replace(tally.report(), speakers=dict(speakers.said), user_speakers=tuple(speakers.users))


def survey(source: Iterable[Record], *, space: SpaceOf, looking: Looking) -> ImportReport:
    """What an import would read and where it would go, without what it would leave behind; nothing is stored.

    Raises:
        MissingUser, UnreadableFile: as for `import_records`.
    """
    return import_records(source, storing=looking, space=space)


def _together(
    source: Iterable[Record],
) -> Iterator[ImportedSession | ImportedDocument | LeftBehind | LineProblem | list[ImportedFact]]:
    """The records, facts that follow each other together; also those before an error."""
    facts: list[ImportedFact] = []
    try:
        for record in source:
            if isinstance(record, ImportedFact):
                facts.append(record)
                if len(facts) < _AT_ONCE:
                    continue
            if facts:
                yield facts
                facts = []
            if not isinstance(record, ImportedFact):
                yield record
    except UnreadableFile:
        if facts:
            yield facts
        raise
    if facts:
        yield facts


def _take_facts(facts: Sequence[ImportedFact], tally: _Tally, space: SpaceOf, storing: Storing) -> None:
    by_space: defaultdict[str, list[ImportedFact]] = defaultdict(list)
    try:
        for fact in facts:
            if (where := _space_of(fact, tally, space)) is not None:
                by_space[where].append(fact)
    finally:  # those before a fact that says of no user are stored
        for where, some in by_space.items():
            for fact, kept in zip(some, storing.facts(some, where), strict=True):
                tally.keep(fact.fact_id, kept)


def _take(record: ImportedSession | ImportedDocument, tally: _Tally, space: SpaceOf, storing: Storing) -> None:
    where = _space_of(record, tally, space)
    if where is None:
        return
    if isinstance(record, ImportedSession):
        tally.add(where, record, storing.session(record, where))
    else:
        tally.keep(record.path, storing.document(record, where))


def _space_of(record: Keepable, tally: _Tally, space: SpaceOf) -> str | None:
    """The space of a record; None if there is none, which is noted."""
    # What cannot be dated is kept all the same.
    dated = record.messages if isinstance(record, ImportedSession) else (record,)
    undated = sum(each.unreadable_times for each in dated if not isinstance(each, ImportedDocument))
    if undated:
        tally.left_behind["dates that cannot be read"] += undated
    try:
        return space(record)
    except InvalidSpace as error:
        tally.refuse(record, error.message)
        return None


def as_messages(session: ImportedSession) -> list[AnyMessage]:
    """The session as LangChain messages that carry their ids, speakers and times."""
    from langchain_core.messages import AIMessage, HumanMessage

    return [
        (HumanMessage if each.role == "user" else AIMessage)(
            content=each.content,
            id=each.message_id,
            name=each.speaker,
            additional_kwargs={} if each.at is None else {"timestamp": each.at.isoformat()},
        )
        for each in session.messages
    ]


@dataclass
class _Tally:
    """The report while it grows."""

    sessions: set[tuple[str, str]] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    left_behind: Counter[str] = field(default_factory=Counter)
    rejected: list[RejectedMessage] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    problems: list[LineProblem] = field(default_factory=list)

    def add(self, space: str, session: ImportedSession, tracked: TrackReport) -> None:
        self.sessions.add((space, session.session))
        self.counts["messages"] += len(session.messages)
        self.counts["stored"] += len(tracked.stored)
        self.counts["known"] += tracked.known
        self.rejected.extend(_placed(session, tracked.rejected))

    def keep(self, name: str, kept: Kept) -> None:
        kind = "documents" if kept.as_document else "entries"
        self.counts[kind] += 1
        self.counts[f"{kind}_{kept.became}"] += 1
        if kept.became == "refused":
            self.refused.append(Refusal(what=_shown(name), reason=kept.reason))
        elif kept.id and kept.id != name and kept.became in ("stored", "known", "unknown"):
            self.renamed[_shown(name)] = kept.id
        elif kept.became in _NOT_KEPT:
            self.left_behind[_NOT_KEPT[kept.became].format(kind="documents" if kept.as_document else "facts")] += 1

    def refuse(self, record: Keepable, reason: str) -> None:
        """A record that belongs nowhere."""
        if isinstance(record, ImportedSession):
            kind, count, name = "messages", len(record.messages), record.session
        elif isinstance(record, ImportedFact):
            kind, count, name = "entries", 1, record.fact_id
        else:
            kind, count, name = "documents", 1, record.path
        self.counts[kind] += count
        self.refused.append(Refusal(what=_shown(name), reason=reason))

    def progress(self) -> Progress:
        counts = self.counts
        others = (f"{kind}_{became}" for kind in ("entries", "documents") for became in ("stored", "known"))
        return Progress(
            read=counts["messages"] + counts["entries"] + counts["documents"],
            messages=counts["stored"] + counts["known"],
            others=sum(counts[each] for each in others),
        )

    def report(self) -> ImportReport:
        return ImportReport(
            **{name: self.counts[name] for name in _COUNTED},  # type: ignore[arg-type]  # these are all numbers
            sessions=len(self.sessions),
            rejected=tuple(self.rejected),
            problems=tuple(self.problems),
            refused=tuple(self.refused),
            left_behind=dict(self.left_behind),
            renamed=dict(self.renamed),
        )


def _placed(session: ImportedSession, rejected: Sequence[RejectedTurn]) -> Iterator[RejectedMessage]:
    """What was refused of a session, with its places in the file."""
    if not rejected:
        return
    places = {(each.message_id, each.content): each for each in session.messages}
    for one in rejected:
        read = places.get((one.turn.message_id or "", one.turn.content))
        if read is None:
            yield RejectedMessage(turn=one.turn, error=one.error)
        else:
            yield RejectedMessage(turn=one.turn, error=one.error, line=read.line, unit=read.unit)


def _shown(name: str) -> str:
    return name.replace("\0", "/")[:120]


def import_file(
    context: Callable[[str], SpaceContext],
    settings: Settings,
    clock: Clock,
    path: str | Path,
    *,
    format: Format | None,
    user: str | int | UUID | None,
    user_speaker: str | None,
    dry_run: bool,
) -> ImportReport:
    """What `Memory.import_file` does."""
    chosen = None if format is None else cast("Format", arguments.one_of(format, "format", FORMATS))
    speaker = arguments.optional_text(user_speaker, "user_speaker")
    kept = Looking if arguments.flag(dry_run, "dry_run") else Storing
    storing = kept(context, settings, clock, user_speaker=speaker)
    file = arguments.findable_path(path, "path")
    with limited(settings.imports):
        return _imported(file, chosen, context, settings, storing, user, speaker, dry_run)


def _imported(
    file: Path,
    chosen: Format | None,
    context: Callable[[str], SpaceContext],
    settings: Settings,
    storing: Storing,
    user: str | int | UUID | None,
    speaker: str | None,
    dry_run: bool,
) -> ImportReport:
    kind = format_of(file, chosen)
    if kind == WHOLE:
        return import_whole(context, settings, file, space=None if user is None else user_space(user), dry_run=dry_run)
    space = Spaces(kind, user)
    if speaker is not None:
        require_speaker(read_records(file, kind), speaker)
    return import_records(read_records(file, kind), storing=storing, space=space)


_KNOWN = {"entries": "entries that are here already", "documents": "documents that are here already"}


def import_whole(
    context: Callable[[str], SpaceContext],
    settings: Settings,
    path: Path,
    *,
    space: str | None,
    dry_run: bool,
    used: dict[str, None] | None = None,
) -> ImportReport:
    """Import an export of a whole space into the one that it names, or into another one.

    Raises:
        UnreadableFile, NewerSchema: it cannot be used; nothing was stored.
        InvalidSpace: it names no space that there can be.
    """
    with limited(settings.imports), staged(path) as found:
        name = check_space(space or found.head["space"])
        if used is not None:
            used[name] = None
        taken = Taken() if dry_run else take_over(context(name), found)
        read = dict(found.counts)
    stored, left = taken.stored, taken.left_behind
    known = read if taken.identical and not stored else {name: left.get(what, 0) for name, what in _KNOWN.items()}
    if stored or left:
        gone = left.get("messages that were forgotten here", 0)
        known = {**known, "drawers": read.get("drawers", 0) - stored.get("drawers", 0) - gone}
    return ImportReport(
        sessions=read.get("rooms", 0),
        messages=read.get("drawers", 0),
        stored=stored.get("drawers", 0),
        known=known.get("drawers", 0),
        rejected=(),
        problems=(),
        entries=read.get("entries", 0),
        entries_stored=stored.get("entries", 0),
        entries_known=known.get("entries", 0),
        documents=read.get("documents", 0),
        documents_stored=stored.get("documents", 0),
        documents_known=known.get("documents", 0),
        left_behind={what: count for what, count in left.items() if count},
        records={name: count for name, count in stored.items() if count},
        identical=taken.identical,
    )


def format_of(path: Path, chosen: Format | None) -> Format:
    """The format that was chosen, else the one that a file looks like.

    Raises:
        UnreadableFile: it looks like none of them.
    """
    kind = chosen or guess_format(path)
    if kind is None:
        raise UnreadableFile(
            f"{path} looks like none of the known formats.", way_out=f"Say which it is: --format {', '.join(FORMATS)}."
        )
    return kind
