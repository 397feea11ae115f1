"""`langmem-tiers dream`, `dreams`, `undo`, `redo`, `golden` and `directives`: consolidating a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import hanging, print_json, print_rich, print_text, safe, shortened, working
from langmem_tiers.errors import InvalidDirective, InvalidInput, MissingUser

if TYPE_CHECKING:
    from pydantic import BaseModel

    from langmem_tiers.dream.golden import GoldenQuestion
    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.memory import Memory
    from langmem_tiers.models.directives import Directive, Directives
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
    golden = typer.Typer(help="The questions that a dream must not make worse.", no_args_is_help=True)
    golden.command()(add)
    golden.command("list")(list_questions)
    golden.command()(remove)
    app.add_typer(golden, name="golden")
    about_prompts = "The prompts that models are given: look at them, write them out for editing."
    directives = typer.Typer(help=about_prompts, no_args_is_help=True)
    directives.command("list")(list_directives)
    directives.command()(init)
    app.add_typer(directives, name="directives")


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


Asked = Annotated[str, typer.Argument(metavar="QUESTION", help="As you would ask it.")]
Expected = Annotated[
    list[str],
    typer.Option("--expects", metavar="WORDS", help="Words of the answer, or the §… of a message; may be repeated."),
]
Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="The question's number, as `list` prints it.")]


def add(
    context: typer.Context, question: Asked, *, expects: Expected, space: OfSpace = None, json: JsonFlag = False
) -> None:
    """Keep a question with what recall has to show for it: a dream that would lose that is not applied."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        kept = space_of(target, memory, space).golden.add(question, expects=expects)
    if target.json:
        print_json(kept)
    else:
        _print_question(kept)


def list_questions(context: typer.Context, *, space: OfSpace = None, json: JsonFlag = False) -> None:
    """Print the questions that are kept, and what each expects."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        kept = space_of(target, memory, space).golden.list()
    if target.json:
        print_json(kept)
        return
    for each in kept:
        _print_question(each)
    if not kept:
        print_text("No questions are kept.")


def remove(context: typer.Context, number: Number, *, space: OfSpace = None, json: JsonFlag = False) -> None:
    """Keep a question no longer."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        if not space_of(target, memory, space).golden.remove(number):
            raise InvalidInput(f"There is no golden question {number}.", way_out="`golden list` prints their numbers.")
    if target.json:
        print_json({"removed": number})
    else:
        print_text(f"Question {number} is not kept any more.")


def _print_question(question: GoldenQuestion) -> None:
    expected = ", ".join((*map(repr, question.words), *(f"message {drawer}" for drawer in question.drawers)))
    print_text(hanging(f"{question.number:>3}  ", f"{question.question} → {expected}"))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listed:
    name: str
    title: str
    path: str
    in_use: str
    problem: str


def list_directives(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Print the prompts, and whether the memory has one of its own; exit code 1 if one of these can not be used."""
    from langmem_tiers.models.directives import Directives

    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        directives = Directives(memory.path)
        found = [_listed(each, directives) for each in directives.all()]
    if target.json:
        print_json(found)
    else:
        _print_directives(found)
    if any(each.problem for each in found):
        raise typer.Exit(1)


def init(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Write the built-in prompts into the memory folder, for editing; those that are there already stay as they are."""
    from langmem_tiers.models.directives import Directives
    from langmem_tiers.storage.errors_border import translated

    target = target_of(context, json=json)
    with target.existing_memory() as memory, translated(memory.path):
        written = Directives(memory.path).init()
    if target.json:
        print_json(written)
        return
    for each in written:
        print_text(f"{each.path}: {each.title}.")
    print_text("Edit them; what you delete is the built-in again." if written else "All of them are there already.")


def _listed(directive: Directive, directives: Directives) -> _Listed:
    return _Listed(
        name=directive.name,
        title=directive.title,
        path=str(directive.path),
        in_use="your own" if directive.overridden else "built-in",
        problem=_problem(directive.name, directives),
    )


def _problem(name: str, directives: Directives) -> str:
    """Why a prompt can not be used; empty where it can."""
    try:
        schema = _schemas().get(name)
        if schema is None:
            directives.text(name)
        else:
            directives.prompt(name, schema, "")
    except InvalidDirective as error:
        return error.message
    return ""


def _schemas() -> dict[str, type[BaseModel]]:
    """What is asked for with the prompts that hold an example of a reply."""
    from langmem_tiers.dream import anti_patterns, preferences, synthesis

    return {
        anti_patterns.DIRECTIVE: anti_patterns.AntiPatternsReply,
        preferences.DIRECTIVE: preferences.PreferencesReply,
        synthesis.DIRECTIVE: synthesis.SynthesisReply,
    }


def _print_directives(found: list[_Listed]) -> None:
    from rich.table import Table

    table = Table()
    for name in ("name", "what it is for", "in use"):
        table.add_column(name)
    for each in found:
        table.add_row(safe(each.name), safe(each.title), safe(each.in_use))
    print_rich(table, *(safe(each.problem) for each in found if each.problem))
