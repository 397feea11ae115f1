"""`langmem-tiers import`: bring in conversations, and what other memories and chat programs wrote down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.import_printing import print_report
from langmem_tiers.cli.progress import progress
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import print_error
from langmem_tiers.errors import NotAMemoryFolder

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.transfer import ImportReport, Record
    from langmem_tiers.transfer.importing import Progress
    from langmem_tiers.transfer.spaces import Spaces

_LOOK_SECONDS = 0.5


class FormatChoice(StrEnum):
    """What `--format` can be."""

    locomo = "locomo"
    longmemeval = "longmemeval"
    jsonl = "jsonl"
    langmem = "langmem"
    langgraph = "langgraph"
    mem0 = "mem0"
    mempalace = "mempalace"
    rockbot = "rockbot"
    letta = "letta"
    claude = "claude"
    chatgpt = "chatgpt"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_file)


def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="PATH", help="The file, zip file or folder.")],
    *,
    format: Annotated[
        FormatChoice | None, typer.Option("--format", help="What it is. Default: what it looks like.")
    ] = None,
    space_per_conversation: Annotated[
        bool, typer.Option("--space-per-conversation", help="LoCoMo: a space for each conversation, locomo/ID.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what there is, and write nothing.")] = False,
    json: JsonFlag = False,
) -> None:
    """Import conversations and memories, with their dates.

    From LangGraph stores (langmem), mem0, MemPalace, RockBot and Letta; from the exports of Claude and ChatGPT; from
    JSONL of {session, role, content, at, speaker?, id?}; from LoCoMo and LongMemEval. It goes into the space of --user,
    or of the users that the file names. LongMemEval goes into a space for each question, longmemeval/ID, and so does
    LoCoMo when no user is named. Dates without a zone are taken as UTC. What can not be read is skipped, counted and
    named. Importing it again stores nothing twice.
    """
    from langmem_tiers.transfer import read_records
    from langmem_tiers.transfer.bringing import format_of
    from langmem_tiers.transfer.spaces import Spaces

    target = target_of(context, json=json)
    kind = format_of(file, None if format is None else format.value)
    own_spaces = space_per_conversation or kind == "longmemeval" or None
    source, spaces = read_records(file, kind), Spaces(kind, _user(target), own_spaces=own_spaces)
    report = _counted(source, spaces, target) if dry_run else _stored(source, spaces, target)
    print_report(report, spaces.used, dry_run=dry_run, json=target.json)
    if report.problems and not report.read:
        raise typer.Exit(1)


def _user(target: Target) -> str | None:
    """The user named, if there is one; an empty id is an error, and not nobody."""
    if target.user is not None:
        target.space_name()
    return target.user


def _counted(source: Iterator[Record], spaces: Spaces, target: Target) -> ImportReport:
    from langmem_tiers.clock import utc_now
    from langmem_tiers.settings import Settings
    from langmem_tiers.transfer import survey
    from langmem_tiers.transfer.storing import Looking, Storing

    with ExitStack() as opened:
        try:
            storing = Storing(opened.enter_context(target.existing_memory()))
        except NotAMemoryFolder:  # what was never there deleted nothing
            storing = None
        return survey(source, space=spaces, looking=Looking(Settings(), utc_now, storing))


def _stored(source: Iterator[Record], spaces: Spaces, target: Target) -> ImportReport:
    with target.memory() as memory:
        report = _import(memory, source, spaces, target)
        _wait_for_vectors(memory, spaces.used, target)
    return report


def _import(memory: Memory, source: Iterator[Record], spaces: Spaces, target: Target) -> ImportReport:
    from langmem_tiers.transfer import import_records
    from langmem_tiers.transfer.importing import Progress
    from langmem_tiers.transfer.storing import Storing

    so_far = Progress(0, 0, 0)

    def note(reached: Progress) -> None:
        nonlocal so_far
        so_far = reached
        advance(reached.read, None)

    with progress("Read", shown=not target.json) as advance:
        try:
            return import_records(source, storing=Storing(memory), space=spaces, on_progress=note)
        except KeyboardInterrupt:
            # At least: it may have come between the commit of some and their report.
            print_error(f"Stopped: at least {_held(so_far)} are stored. Import it again, and it goes on from there.")
            raise


def _held(so_far: Progress) -> str:
    messages = f"{so_far.messages:,} messages"
    return f"{messages} and {so_far.others:,} entries and documents" if so_far.others else messages


def _wait_for_vectors(memory: Memory, spaces: Iterable[str], target: Target) -> None:
    """Until the background work is done; stopped half-way, the next opening goes on with it, and Ctrl-C says so."""
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


def _settled(memory: Memory) -> bool:
    """Look for half a second whether the background work is done, or can not go on now."""
    asked_at = monotonic()
    return memory.flush(timeout=_LOOK_SECONDS) or monotonic() - asked_at < _LOOK_SECONDS
