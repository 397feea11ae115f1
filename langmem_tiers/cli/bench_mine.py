"""`langmem-tiers bench mine`: how recall does on the user's own messages, and whether other settings do better."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.bench_options import settings_of
from langmem_tiers.cli.target import Shown, Target, command
from langmem_tiers.cli.terminal import as_data, progress, wrapped
from langmem_tiers.errors import MemoryTiersError

if TYPE_CHECKING:
    from rich.table import Table

    from langmem_tiers.bench.mine import Comparison, Measured, QuestionSet
    from langmem_tiers.space import Space

_CHANCE = 0.05
# The means of a row, as the table heads them.
_MEANS = {
    "recall_at_1": "R@1",
    "recall_at_5": "R@5",
    "recall_at_10": "R@10",
    "mrr": "MRR",
    "session_recall_at_5": "session R@5",
    "shown": "shown",
}


@command
def mine(
    target: Target,
    *,
    space: Annotated[
        str | None, typer.Option(metavar="SPACE", help="A space by name: users/alice. Default: that of --user.")
    ] = None,
    questions: Annotated[int, typer.Option(min=5, metavar="N", help="How many questions are wanted.")] = 100,
    seed: Annotated[int, typer.Option(metavar="S", help="Another one draws other messages.")] = 1,
    settings: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Settings to compare with the defaults.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Let a model write the questions: openai:gpt-5-mini. It is sent the user's messages."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Keep the questions; they hold words of the messages."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE.jsonl", help="Ask the questions of a file instead.")
    ] = None,
) -> Shown:
    """Make questions from a user's own messages, and see where recall finds the messages that answer them.

    R@k: the share of questions whose message is among the first k found; MRR: the mean of 1 / its rank; session R@5:
    its session is among the first five; shown: it is in the block that a model would be given. Nothing is left in the
    space.
    """
    if source is not None and (out is not None or model is not None):
        raise typer.BadParameter("it takes neither --out nor --model: the questions are there.", param_hint="--from")
    from langmem_tiers.bench.mine import compare, existing_space, read_questions

    changed = settings_of(settings)
    with target.existing_memory() as memory:
        chosen = target.one_space(memory) if space is None else existing_space(memory, space)
        asked = read_questions(source) if source else _made(chosen, questions, seed, model, out, target)
        before = _measured(chosen, asked, target)
    after = comparison = None
    if settings is not None:
        with target.existing_memory(settings=changed) as memory:
            after = _measured(memory.space(chosen.name), asked, target)
        comparison = compare(before, after)
    data = {
        "space": before.space,
        "wanted": asked.wanted,
        "dropped": asked.dropped,
        **as_data(before),
        "changed": after,
        "comparison": comparison,
    }
    remarks = _remarks(asked, before, after, comparison)
    return Shown(data, [_table(before, after, comparison), *map(wrapped, remarks)])


def _made(space: Space, questions: int, seed: int, name: str | None, out: Path | None, target: Target) -> QuestionSet:
    """New questions, written by the model of this name if there is one, and kept in the file `out` if there is one."""
    from langmem_tiers.bench.mine import mine_questions, write_questions
    from langmem_tiers.bench.mine.questions import require_new
    from langmem_tiers.cli.chat import chat_model, model_error

    if out is not None:
        require_new(out)  # before a model is paid for questions that could not be kept
    model = None if name is None else chat_model(name)
    with progress("Making questions", shown=not target.json) as advance:
        try:
            made = mine_questions(space, questions=questions, seed=seed, model=model, on_progress=advance)
        except MemoryTiersError:
            raise
        except Exception as error:  # whatever a provider's client raises
            if model is None:
                raise
            raise model_error(error) from error
    if out is not None:
        write_questions(out, made)
    return made


def _measured(space: Space, asked: QuestionSet, target: Target) -> Measured:
    from langmem_tiers.bench.mine import measure

    with progress("Questions", shown=not target.json) as advance:
        return measure(space, asked, on_progress=advance)


def _table(before: Measured, after: Measured | None, comparison: Comparison | None) -> Table:
    from rich.table import Table

    table = Table(title=f"{before.space}: the user's own messages", title_justify="left")
    for name in ("settings", "kind"):
        table.add_column(name)
    for name in ("questions", *_MEANS.values()):
        table.add_column(name, justify="right")
    for settings, measured in (("default", before), ("changed", after)):
        for row in () if measured is None else (*measured.rows, measured.overall):
            table.add_row(settings, row.kind, f"{row.questions:,}", *(f"{getattr(row, name):.3f}" for name in _MEANS))
        table.add_section()
    if comparison is not None:
        table.add_row("difference", "all", "", *(f"{comparison.differences[name]:+.3f}" for name in _MEANS))
    return table


def _remarks(
    asked: QuestionSet, before: Measured, after: Measured | None, comparison: Comparison | None
) -> Iterator[str]:
    if comparison is not None:
        better, worse = len(comparison.better), len(comparison.worse)
        yield f"Changed settings: {better:,} better, {worse:,} worse, {comparison.same:,} the same. {_odds(comparison)}"
    if len(asked) < asked.wanted:
        yield f"{len(asked):,} of {asked.wanted:,} questions could be made of {asked.messages:,} telling messages."
    if asked.dropped:
        yield f"{asked.dropped:,} replies of the model were no fair question; rules took their place."
    if before.gone:
        yield f"{before.gone:,} questions were not asked: their messages are not in this space (any more)."
    if before.pending:
        yield f"{before.pending:,} messages have no vectors yet, and are found by their words only."
    yield from dict.fromkeys((*before.notes, *(after.notes if after else ())))
    yield f"recall_ms: p50 {before.recall_ms.p50:.1f}, p95 {before.recall_ms.p95:.1f}"


def _odds(comparison: Comparison) -> str:
    if not comparison.better and not comparison.worse:
        return "They make no difference here."
    chance = f"Chance alone splits them as unequally in {comparison.chance:.0%} of all cases"
    return f"{chance}: nothing to conclude from." if comparison.chance > _CHANCE else f"{chance}."
