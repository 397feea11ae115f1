"""`langmem-tiers dream`, `dreams`, `undo`, `redo`: consolidating a space, looking at what came of it, going back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.hanging import hanging
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import print_json, print_text, shortened, working
from langmem_tiers.errors import MissingUser

if TYPE_CHECKING:
    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space

Id = Annotated[str, typer.Argument(metavar="ID", help="The dream's id, as `dreams` prints it.")]
OfSpace = Annotated[
    str | None, typer.Option("--space", metavar="SPACE", help="A space by name: users/alice. Default: that of --user.")
]

_SHOWN = 300
_WHO = {"hand": "by hand", "episodes": "episodes waited", "interval": "it was time"}
_MEANING = {
    "applied": "applied",
    "nothing": "nothing to change",
    "gated": "not applied: recall would become worse",
    "previewed": "a preview: nothing was changed",
    "skipped": "skipped",
    "undone": "undone",
    "failed": "failed",
}
# Lines of a diff in a list of dreams.
_MOST_LINES = 20
_WHY_NOT = {"pruned": "what it changed was dropped, as it is old", "forgotten": "some of its words were deleted"}
# What names the one thing that a proposal is about.
_NAMES = ("id", "source", "subject")
_NOT_DONE = {"gated", "skipped", "failed"}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (dream, dreams, undo, redo):
        app.command()(command)


def dream(
    context: typer.Context,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, and print what would change.")] = False,
    space: OfSpace = None,
    json: JsonFlag = False,
) -> None:
    """Consolidate a memory now: merge duplicates, retire noise, infer preferences, take up episodes, tend the graph."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory, working("Dreaming …"):
        report = space_of(target, memory, space).dream(dry_run=dry_run)
    if target.json:
        print_json(_data(report))
    else:
        _print(report, whole=True)
    if report.status in _NOT_DONE:
        raise typer.Exit(1)


def dreams(
    context: typer.Context,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, the newest first.")] = 10,
    space: OfSpace = None,
    json: JsonFlag = False,
) -> None:
    """Print what became of the last dreams: what each changed, what was refused and why, and what it cost."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        reports = space_of(target, memory, space).dreams(limit=limit)
    if target.json:
        print_json([_data(report) for report in reports])
        return
    for report in reports:
        _print(report, whole=False)
    if not reports:
        print_text("The memory has not dreamt yet.")


def undo(context: typer.Context, which: Id, *, space: OfSpace = None, json: JsonFlag = False) -> None:
    """Put back what a dream changed, unless later changes touched the same records: these are named then."""
    _put_back(target_of(context, json=json), space, lambda one: one.undo_dream(which), "was undone; it had changed")


def redo(context: typer.Context, which: Id, *, space: OfSpace = None, json: JsonFlag = False) -> None:
    """Let a dream that was undone hold again, without asking a model."""
    _put_back(target_of(context, json=json), space, lambda one: one.redo_dream(which), "holds again; it changed")


def _put_back(target: Target, space: str | None, how: Callable[[Space], DreamReport], said: str) -> None:
    with target.existing_memory() as memory:
        report = how(space_of(target, memory, space))
    if target.json:
        print_json(_data(report))
        return
    print_text(f"Dream {report.id} {said}:")
    _print_diff(report.diff)


def space_of(target: Target, memory: Memory, name: str | None) -> Space:
    """The space of a name, or of the user.

    Raises:
        MissingUser: nobody was named, or there is no such space.
    """
    if name is None:
        return target.space(memory)
    if name not in memory.spaces():
        raise MissingUser(
            f"There is no space {name!r} in the memory in {memory.path}.",
            way_out=f"`langmem-tiers --path {memory.path} stats` shows those there are.",
        )
    return memory.space(name)


def _data(report: DreamReport) -> dict[str, Any]:
    return report.model_dump(mode="json")


def _print(report: DreamReport, *, whole: bool) -> None:
    at = report.finished_at or report.started_at
    print_text(f"{at:%Y-%m-%d %H:%M}  dream {report.id}  {_MEANING[report.status]} ({_WHO[report.trigger]})")
    _print_diff(report.diff, most=None if whole else _MOST_LINES)
    if report.status == "previewed" and not report.diff:
        print_text("  nothing would change")
    for name, text in _rows(report):
        print_text(hanging(f"  {name:<8}  ", text))


def _print_diff(diff: str, most: int | None = None) -> None:
    lines = diff.splitlines()
    for line in lines[:most]:
        mark, _, text = line.partition(" ")
        print_text(hanging(f"  {mark} ", text))
    if most is not None and len(lines) > most:
        print_text(f"  … and {len(lines) - most:,} more; --json prints all")


def _rows(report: DreamReport) -> Iterator[tuple[str, str]]:
    """What else is known of a dream, line by line."""
    for each in report.decision.rejected:
        yield "rejected", f"{_proposal(each.proposal.model_dump())}: {each.reason}"
    broken = [each.question for each in report.golden if each.before and not each.after]
    if report.golden:
        kept = sum(each.after for each in report.golden)
        yield "recall", f"{kept} of {len(report.golden)} golden questions are answered"
    yield from (("broke", shortened(question, _SHOWN)) for question in broken)
    if report.changes != "kept":
        yield "undo", f"not any more: {_WHY_NOT[report.changes]}"
    for source, took in report.usage.items():
        yield "cost", f"{source}: {_took(took)}"
    yield from (("note", shortened(note, _SHOWN)) for note in report.notes)


def _took(took: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:,.6g}" for name, value in took.items() if value)


def _proposal(proposal: Mapping[str, Any]) -> str:
    """A proposal in one line."""
    kind = str(proposal["kind"]).replace("_", " ")
    of = proposal.get("sources") or proposal.get("episodes") or [proposal.get(name) for name in _NAMES]
    named = ", ".join(str(each) for each in of if each)
    text = proposal.get("content") or proposal.get("text") or ""
    told = f" “{shortened(text, 120)}”" if text else ""
    return shortened(f"{kind}{f' of {named}' if named else ''}", _SHOWN) + told
