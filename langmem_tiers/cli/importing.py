"""`langmem-tiers import`: bring conversations in from a file, through the track node that agents use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.progress import progress
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import print_error, print_json, print_text, shortened

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.transfer import Entry, Format, ImportedSession, ImportReport

_SHOWN_PROBLEMS = 20
_LOOK_SECONDS = 0.5
# Where each conversation of a set has a space of its own.
_OWN_SPACE = "{format}/{conversation}"


class FormatChoice(StrEnum):
    """What `--format` can be."""

    locomo = "locomo"
    longmemeval = "longmemeval"
    jsonl = "jsonl"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_file)


def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file, plain or gzipped.")],
    *,
    format: Annotated[
        FormatChoice | None, typer.Option("--format", help="What the file is. Default: what it looks like.")
    ] = None,
    space_per_conversation: Annotated[
        bool, typer.Option("--space-per-conversation", help="LoCoMo: a space for each conversation, locomo/ID.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Import conversations: LoCoMo or LongMemEval JSON, or JSONL of {session, role, content, at, speaker?, id?}.

    They go into the space of --user. LongMemEval goes into a space for each question, longmemeval/ID, and so does
    LoCoMo when no user is named. Dates without a zone are taken as UTC. Lines that can not be read are skipped, counted
    and named. Importing a file twice stores nothing twice.
    """
    from langmem_tiers.transfer import read_conversations

    target = target_of(context, json=json)
    kind = _format(file, format)
    # Nobody's conversations go into no shared pool: a set that names its conversations gets a space for each.
    own_spaces = kind == "longmemeval" or (kind == "locomo" and (space_per_conversation or not target.user))
    source = read_conversations(file, kind)
    space_of = _Spaces(kind, None if own_spaces else target.space_name())
    with target.memory() as memory:
        report = _import(memory, source, space_of, target)
        _wait_for_vectors(memory, space_of.used, target)
    _print(report, space_of.used, target)
    if report.problems and not report.messages:
        raise typer.Exit(1)


class _Spaces:
    """Names the space of each session, and remembers which were named."""

    def __init__(self, format: Format, only: str | None) -> None:
        self._format = format
        self._only = only
        self.used: dict[str, None] = {}

    def __call__(self, session: ImportedSession) -> str:
        name = self._only or _OWN_SPACE.format(format=self._format, conversation=session.conversation)
        self.used[name] = None
        return name


def _format(file: Path, chosen: FormatChoice | None) -> Format:
    from langmem_tiers.errors import UnreadableFile
    from langmem_tiers.transfer import guess_format

    kind = chosen.value if chosen is not None else guess_format(file)
    if kind is None:
        raise UnreadableFile(
            f"{file} looks like none of the known formats.", way_out="Say --format locomo, longmemeval or jsonl."
        )
    return kind


def _import(
    memory: Memory, source: Iterator[Entry], space_of: Callable[[ImportedSession], str], target: Target
) -> ImportReport:
    from langmem_tiers.bench.replay import through_track_node
    from langmem_tiers.transfer import import_conversations

    stored = 0

    def note(report: ImportReport) -> None:
        nonlocal stored
        stored = report.stored + report.known
        advance(report.messages, None)

    with progress("Messages", shown=not target.json) as advance:
        try:
            return import_conversations(source, track=through_track_node(memory), space=space_of, on_progress=note)
        except KeyboardInterrupt:
            # At least: it may have come between the commit of some and their report.
            print_error(
                f"Stopped: at least {stored:,} messages are stored. Import it again, and it goes on from there."
            )
            raise


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


def _print(report: ImportReport, spaces: Collection[str], target: Target) -> None:
    if target.json:
        print_json({"spaces": list(spaces), **_as_fields(report)})
        return
    where = next(iter(spaces)) if len(spaces) == 1 else f"{len(spaces)} spaces"
    print_text(
        f"{report.messages:,} messages of {report.sessions:,} sessions into {where}: "
        f"{report.stored:,} stored, {report.known:,} known before, {len(report.rejected):,} refused."
    )
    _print_problems([shortened(f"line {one.line}: {one.reason}", 300) for one in report.problems], "skipped")
    _print_problems([shortened(f"{one.turn.message_id}: {one.error}", 300) for one in report.rejected], "refused")


def _as_fields(report: ImportReport) -> dict[str, object]:
    return {
        "sessions": report.sessions,
        "messages": report.messages,
        "stored": report.stored,
        "known": report.known,
        "rejected": [{"message_id": one.turn.message_id, "error": str(one.error)} for one in report.rejected],
        "problems": report.problems,
    }


def _print_problems(problems: list[str], what: str) -> None:
    if problems:
        print_error(f"{len(problems):,} {what}:")
    for problem in problems[:_SHOWN_PROBLEMS]:
        print_error(problem)
    if len(problems) > _SHOWN_PROBLEMS:
        print_error(f"… and {len(problems) - _SHOWN_PROBLEMS:,} more (--json names all).")
