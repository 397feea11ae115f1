"""`langmem-tiers import`: bring in conversations and memories from files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from enum import StrEnum
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from langmem_tiers.cli.mine import SHOWN_SPEAKERS, Found, mined
from langmem_tiers.cli.target import Shown, Target, command_of_space
from langmem_tiers.cli.terminal import print_error, print_problems, progress, working
from langmem_tiers.errors import NotAMemoryFolder
from langmem_tiers.types import Format

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space
    from langmem_tiers.transfer import ImportReport, Record
    from langmem_tiers.transfer.importing import Progress, RejectedMessage, Spaces


FormatChoice = StrEnum("FormatChoice", [*get_args(Format)])  # type: ignore[misc]  # no second list of the formats


@command_of_space
def import_file(
    target: Target,
    file: Annotated[Path, typer.Argument(metavar="PATH", help="The file, zip file or folder.")],
    *,
    format: Annotated[
        FormatChoice | None, typer.Option("--format", help="What it is. Default: what it looks like.")
    ] = None,
    space_per_conversation: Annotated[
        bool, typer.Option("--space-per-conversation", help="LoCoMo: a space for each conversation, locomo/ID.")
    ] = False,
    no_mine: Annotated[
        bool, typer.Option("--no-mine", help="Only store it; `mine` looks for what is worth knowing later.")
    ] = False,
    user_speaker: Annotated[
        str | None,
        typer.Option(
            "--user-speaker",
            metavar="NAME",
            help="Which speaker is the user. Default: who is named like --user, or as the user is known; else nobody.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what there is, and write nothing.")] = False,
) -> Shown:
    """Import conversations and memories, with their dates.

    From LangGraph stores (langmem), mem0, MemPalace, RockBot and Letta; from the exports of Claude and ChatGPT; from
    JSONL of {session, role, content, at, speaker?, id?}; from LoCoMo and LongMemEval. It goes into the space of --user,
    or of the users that the file names. LongMemEval goes into a space for each question, longmemeval/ID, and so does
    LoCoMo when no user is named. Dates without a zone are taken as UTC. What cannot be read is skipped, counted and
    named. Importing it again stores nothing twice.

    A conversation between people has speakers instead of roles: each is filed under their name, except for the one who
    is the user. Once all is stored, it is mined: read for what is worth knowing later.
    """
    from langmem_tiers.transfer import read_records
    from langmem_tiers.transfer.formats import WHOLE
    from langmem_tiers.transfer.importing import Spaces, format_of
    from langmem_tiers.transfer.speakers import require_speaker

    kind = format_of(file, None if format is None else cast("Format", format.value))
    own_spaces = space_per_conversation or kind == "longmemeval" or None
    if target.names_one:
        target.space_name()  # an empty id is an error, and not nobody
    if kind == WHOLE:
        return _whole(target, file, dry_run=dry_run)
    spaces = Spaces(kind, target.user, own_spaces=own_spaces, space=target.space)
    if user_speaker is not None:
        require_speaker(read_records(file, kind), user_speaker)
    source = read_records(file, kind)
    if dry_run:
        report = _counted(source, spaces, target, user_speaker)
        fields: dict[str, object] = {}
        lines: list[str] = []
    else:
        report, found, tries = _stored(source, spaces, target, user_speaker, mines=not no_mine)
        fields = {"found": found.as_fields(), "try": tries}
        lines = [*(found.lines() if report.messages and not no_mine else ()), *_tries(tries)]
    return Shown(
        {"spaces": [*spaces.used], "dry_run": dry_run, **_as_fields(report), **fields},
        chain(_lines(report, spaces.used, dry_run=dry_run), lines),
        failed=bool(report.problems and not report.read),
    )


def _whole(target: Target, file: Path, *, dry_run: bool) -> Shown:
    """Import an export of a whole space: into the space of --user, else the one that it names."""
    from langmem_tiers.transfer.importing import import_whole

    space = target.space_name() if target.names_one else None
    used: dict[str, None] = {}
    with target.memory() as memory, working("Importing"):
        given = (memory.context, memory.settings, file)
        report = import_whole(*given, space=space, dry_run=dry_run, used=used)
        if not dry_run:
            memory.flush()
    lines = [*_lines(report, used, dry_run=dry_run)]
    if report.identical:
        lines.append("The space is now what was exported: their fingerprints are equal.")
    return Shown({"spaces": [*used], "dry_run": dry_run, **_as_fields(report)}, lines)


def _counted(source: Iterator[Record], spaces: Spaces, target: Target, user_speaker: str | None) -> ImportReport:
    from langmem_tiers.clock import utc_now
    from langmem_tiers.settings import Settings
    from langmem_tiers.transfer import survey
    from langmem_tiers.transfer.storing import Looking

    with ExitStack() as opened:
        try:
            memory = opened.enter_context(target.existing_memory())
            looking = Looking(memory.context, memory.settings, memory.clock, user_speaker=user_speaker)
        except NotAMemoryFolder:  # what was never there deleted nothing
            looking = Looking(None, Settings(), utc_now, user_speaker=user_speaker)
        return survey(source, space=spaces, looking=looking)


def _stored(
    source: Iterator[Record], spaces: Spaces, target: Target, user_speaker: str | None, *, mines: bool
) -> tuple[ImportReport, Found, list[str]]:
    from langmem_tiers.transfer import import_records
    from langmem_tiers.transfer.files import limited
    from langmem_tiers.transfer.importing import Progress
    from langmem_tiers.transfer.storing import Storing

    so_far = Progress(0, 0, 0)

    def note(reached: Progress) -> None:
        nonlocal so_far
        so_far = reached
        advance(reached.read, None)

    with target.memory() as memory, limited(memory.settings.imports):
        storing = Storing(memory.context, memory.settings, memory.clock, user_speaker=user_speaker)
        with progress("Read", shown=not target.json) as advance:
            try:
                report = import_records(source, storing=storing, space=spaces, on_progress=note)
            except KeyboardInterrupt:
                # At least: it may have come between the commit of some and their report.
                others = f" and {so_far.others:,} entries and documents" if so_far.others else ""
                held = f"{so_far.messages:,} messages{others}"
                print_error(f"Stopped: at least {held} are stored. Import it again, and it goes on from there.")
                raise
        _wait_for_vectors(memory, spaces.used, target)
        found = mined([memory.space(name) for name in spaces.used if mines], target)
        return report, found, _commands_to_try(memory, [*spaces.used], target)


def _wait_for_vectors(memory: Memory, spaces: Iterable[str], target: Target) -> None:
    """Wait until the background work is done; after Ctrl-C, it continues when the memory is next opened."""
    handles = [memory.space(name) for name in spaces]

    def pending() -> int:
        return sum(space.stats().pending for space in handles)

    total = pending()
    with progress("Vectors", shown=not target.json) as advance:
        try:
            while not _settled(memory):
                advance(total - pending(), total)
        except KeyboardInterrupt:
            print_error("Stopped: all messages are stored; missing vectors are made when the memory is open again.")
            raise
    if left := pending():
        print_error(f"{left:,} messages wait for the embedding model; until then they are found by their words.")


_LOOK_SECONDS = 0.5


def _settled(memory: Memory) -> bool:
    """Wait up to half a second; whether the background work is done, or cannot go on now."""
    asked_at = monotonic()
    return memory.flush(timeout=_LOOK_SECONDS) or monotonic() - asked_at < _LOOK_SECONDS


def _commands_to_try(memory: Memory, spaces: Sequence[str], target: Target) -> list[str]:
    """Commands that show something of the first of these spaces."""
    if not spaces:
        return []
    space = memory.space(spaces[0])
    question = _question(space)
    words = [["recall", question]] if question else []
    words += [["knowledge", "list"]] if space.stats().entries else []
    words += [["graph"] if space.graph.stats().relations else ["palace"]]
    return [target.command_line(space.name, *each) for each in words]


_LOOKED_AT, _TRIED = 50, 3


def _question(space: Space) -> str | None:
    """A question that the memory answers from what was found, about somebody or the user; else on the last talk."""
    asked = [f"What do you know about {name}?" for name in _people(space)]
    for question in (*asked, "What do you know about me?"):
        if space.recall(question, keep_receipt=False).known:
            return question
    last = "What did we talk about last time?"
    return last if space.recall(last, keep_receipt=False).block else None


def _people(space: Space) -> list[str]:
    """The people and pets of whom most is known, besides the user."""
    from langmem_tiers.knowledge_graph.naming import USER

    graph = space.graph
    living = (each for kind in ("person", "pet") for each in graph.entities(type=kind, limit=_LOOKED_AT))
    known = {each.name: len(graph.neighbours(each.id).relations) for each in living if each.name != USER}
    return sorted(known, key=lambda name: -known[name])[:_TRIED]


def _tries(commands: Sequence[str]) -> list[str]:
    return ["Try:", *(f"  {each}" for each in commands)] if commands else []


def _lines(report: ImportReport, spaces: Collection[str], *, dry_run: bool) -> Iterator[str]:
    """The counts and what was left behind; what was skipped or refused is named on standard error."""
    parts = [f"{report.messages:,} messages of {report.sessions:,} sessions"] if report.messages else []
    parts += [f"{report.entries:,} entries"] if report.entries else []
    parts += [f"{report.documents:,} documents"] if report.documents else []
    where = next(iter(spaces)) if len(spaces) == 1 else f"{len(spaces)} spaces"
    done = "nothing was written." if dry_run else _counts_stored(report)
    yield f"{', '.join(parts) or 'Nothing'} into {where}: {done}"
    if len(report.speakers) > 1:
        yield from _speakers(report)
    if report.left_behind:
        yield f"Left behind: {', '.join(f'{count:,} {what}' for what, count in report.left_behind.items())}."
    if report.renamed:
        yield f"Under other ids than their own, which are in their metadata: {len(report.renamed):,} entries."
    for what, problems in (
        ("skipped", [f"{one.unit} {one.line}: {one.reason}" for one in report.problems]),
        ("refused", [f"{_place(one)}: {one.error}" for one in report.rejected]),
        ("refused", [f"{one.what}: {one.reason}" for one in report.refused]),
    ):
        if problems:
            print_error(f"{len(problems):,} {what}:")
            print_problems(problems)


def _place(rejected: RejectedMessage) -> str:
    """Where in the file a message is: its line, or its record with the id it has there."""
    if rejected.unit == "line":
        return f"line {rejected.line}"
    name = str(rejected.turn.message_id)
    return f"record {rejected.line}, message {name}" if rejected.line else name


def _speakers(report: ImportReport) -> Iterator[str]:
    """Who speaks, and who of them is the user."""
    most = sorted(report.speakers.items(), key=lambda each: -each[1])
    others = f" and {len(most) - SHOWN_SPEAKERS:,} more" if len(most) > SHOWN_SPEAKERS else ""
    yield f"Speakers: {', '.join(f'{name} ({count:,})' for name, count in most[:SHOWN_SPEAKERS])}{others}."
    if report.user_speakers:
        yield f"The user is {' and '.join(report.user_speakers)}."
    else:
        yield "None of them is the user; --user-speaker NAME says who is, when the file is first imported."


def _counts_stored(report: ImportReport) -> str:
    stored = report.stored + report.entries_stored + report.documents_stored
    known = report.known + report.entries_known + report.documents_known
    refused = len(report.rejected) + len(report.refused)
    return f"{stored:,} stored, {known:,} known before, {refused:,} refused."


def _as_fields(report: ImportReport) -> dict[str, object]:
    return {
        "sessions": report.sessions,
        "messages": report.messages,
        "stored": report.stored,
        "known": report.known,
        "entries": {"read": report.entries, "stored": report.entries_stored, "known": report.entries_known},
        "documents": {"read": report.documents, "stored": report.documents_stored, "known": report.documents_known},
        "rejected": [
            {"message_id": one.turn.message_id, "error": str(one.error), "line": one.line, "unit": one.unit}
            for one in report.rejected
        ],
        "refused": [asdict(one) for one in report.refused],
        "left_behind": dict(report.left_behind),
        "speakers": dict(report.speakers),
        "user_speakers": [*report.user_speakers],
        "renamed": dict(report.renamed),
        "records": dict(report.records),
        "identical": report.identical,
        "problems": report.problems,
    }
