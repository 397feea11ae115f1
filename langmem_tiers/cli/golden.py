"""`langmem-tiers golden`: the questions that a dream must not make worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.dream import OfSpace, space_of
from langmem_tiers.cli.hanging import hanging
from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import print_json, print_text
from langmem_tiers.errors import InvalidInput

if TYPE_CHECKING:
    from langmem_tiers.dream.golden import GoldenQuestion

Asked = Annotated[str, typer.Argument(metavar="QUESTION", help="As you would ask it.")]
Expected = Annotated[
    list[str],
    typer.Option("--expects", metavar="WORDS", help="Words of the answer, or the §… of a message; may be repeated."),
]
Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="The question's number, as `list` prints it.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    golden = typer.Typer(help="The questions that a dream must not make worse.", no_args_is_help=True)
    golden.command()(add)
    golden.command("list")(list_questions)
    golden.command()(remove)
    app.add_typer(golden, name="golden")


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
        _print(kept)


def list_questions(context: typer.Context, *, space: OfSpace = None, json: JsonFlag = False) -> None:
    """Print the questions that are kept, and what each expects."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        kept = space_of(target, memory, space).golden.list()
    if target.json:
        print_json(kept)
        return
    for each in kept:
        _print(each)
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


def _print(question: GoldenQuestion) -> None:
    expected = ", ".join((*map(repr, question.words), *(f"message {drawer}" for drawer in question.drawers)))
    print_text(hanging(f"{question.number:>3}  ", f"{question.question} → {expected}"))
