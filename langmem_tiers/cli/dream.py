"""`langmem-tiers dream`, `dreams`, `undo`, `redo` and `golden`: consolidating a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.target import Shown, space_command
from langmem_tiers.cli.terminal import hanging, shortened, working
from langmem_tiers.errors import InvalidInput

if TYPE_CHECKING:
    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.records import GoldenQuestion
    from langmem_tiers.space import Space


Id = Annotated[str, typer.Argument(metavar="ID", help="The dream's id, as `dreams` prints it.")]

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
_WHY_NOT = {
    "pruned": "what it changed was dropped, as it is old",
    "forgotten": "some of its words were deleted",
    "altered": "what it changed was not as it was stored",
}
# What names the one thing that a proposal is about.
_NAMES = ("id", "source", "subject")
_NOT_DONE = {"gated", "skipped", "failed"}

golden = typer.Typer(help="The questions that a dream must not make worse.", no_args_is_help=True)


@space_command()
def dream(
    space: Space,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, and print what would change.")] = False,
    approve: Annotated[
        str | None, typer.Option("--approve", metavar="ID", help="Apply what --dry-run printed, exactly as it stands.")
    ] = None,
) -> Shown:
    """Consolidate a memory now: merge duplicates, retire noise, infer preferences, take up episodes, tend the graph."""
    if approve is not None:
        if dry_run:
            raise typer.BadParameter("a preview is either made or approved.", param_hint="--approve")
        report = space.approve_dream(approve)
        return Shown(_data(report), _lines(report))
    with working("Dreaming …"):
        report = space.dream(dry_run=dry_run)
    return Shown(_data(report), _lines(report), failed=report.status in _NOT_DONE)


@space_command()
def dreams(
    space: Space,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, the newest first.")] = 10,
) -> Shown:
    """Print what became of the last dreams: what each changed, what was refused and why, and what it cost."""
    reports = space.dreams(limit=limit)
    lines = [line for report in reports for line in _lines(report, most=_MOST_LINES)]
    return Shown([_data(report) for report in reports], lines or ["The memory has not dreamt yet."])


@space_command()
def undo(space: Space, which: Id) -> Shown:
    """Put back what a dream changed, unless later changes touched the same records: these are named then."""
    report = space.undo_dream(which)
    return Shown(_data(report), [f"Dream {report.id} was undone; it had changed:", *_diff(report.diff)])


@space_command()
def redo(space: Space, which: Id) -> Shown:
    """Let a dream that was undone hold again, without asking a model."""
    report = space.redo_dream(which)
    return Shown(_data(report), [f"Dream {report.id} holds again; it changed:", *_diff(report.diff)])


def _data(report: DreamReport) -> dict[str, Any]:
    return report.model_dump(mode="json")


def _lines(report: DreamReport, *, most: int | None = None) -> Iterator[str]:
    at = report.finished_at or report.started_at
    yield f"{at:%Y-%m-%d %H:%M}  dream {report.id}  {_MEANING[report.status]} ({_WHO[report.trigger]})"
    yield from _diff(report.diff, most)
    if report.status == "previewed" and not report.diff:
        yield "  nothing would change"
    for name, text in _rows(report):
        yield hanging(f"  {name:<8}  ", text)


def _diff(diff: str, most: int | None = None) -> Iterator[str]:
    lines = diff.splitlines()
    for line in lines[:most]:
        mark, _, text = line.partition(" ")
        yield hanging(f"  {mark} ", text)
    if most is not None and len(lines) > most:
        yield f"  … and {len(lines) - most:,} more; --json prints all"


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
        figures = (f"{name.replace('_', ' ')} {value:,.6g}" for name, value in took.items() if value)
        yield "cost", f"{source}: {', '.join(figures)}"
    yield from (("note", shortened(note, _SHOWN)) for note in report.notes)


def _proposal(proposal: Mapping[str, Any]) -> str:
    """A proposal in one line."""
    kind = str(proposal["kind"]).replace("_", " ")
    of = proposal.get("sources") or proposal.get("episodes") or [proposal.get(name) for name in _NAMES]
    named = ", ".join(str(each) for each in of if each)
    text = proposal.get("content") or proposal.get("text") or ""
    told = f" “{shortened(text, 120)}”" if text else ""
    return shortened(f"{kind}{f' of {named}' if named else ''}", _SHOWN) + told


@golden.command()
@space_command()
def add(
    space: Space,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="As you would ask it.")],
    *,
    expects: Annotated[
        list[str],
        typer.Option(
            "--expects", metavar="WORDS", help="Words of the answer, or the §… of a message; may be repeated."
        ),
    ],
) -> Shown:
    """Keep a question with what recall has to show for it: a dream that would lose that is not applied."""
    kept = space.golden.add(question, expects=expects)
    return Shown(kept, [_question(kept)])


@golden.command("list")
@space_command()
def list_questions(space: Space) -> Shown:
    """Print the questions that are kept, and what each expects."""
    kept = space.golden.list()
    return Shown(kept, [_question(each) for each in kept] or ["No questions are kept."])


@golden.command()
@space_command()
def remove(
    space: Space,
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="The question's number, as `list` prints it.")],
) -> Shown:
    """Keep a question no longer."""
    if not space.golden.remove(number):
        raise InvalidInput(f"There is no golden question {number}.", way_out="`golden list` prints their numbers.")
    return Shown({"removed": number}, [f"Question {number} is not kept any more."])


def _question(question: GoldenQuestion) -> str:
    expected = ", ".join((*map(repr, question.words), *(f"message {drawer}" for drawer in question.drawers)))
    return hanging(f"{question.number:>3}  ", f"{question.question} → {expected}")
