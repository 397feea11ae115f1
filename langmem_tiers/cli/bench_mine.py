"""`langmem-tiers bench mine`: how recall does on the user's own messages, and whether other settings do better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.bench_options import settings_of
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import as_data, print_json, print_rich, progress, safe
from langmem_tiers.errors import MemoryTiersError

if TYPE_CHECKING:
    from rich.table import Table

    from langmem_tiers.bench.mine import Comparison, Measured, QuestionSet
    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import Settings
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


def register(bench: typer.Typer) -> None:
    """Add the command."""
    bench.command()(mine)


def mine(
    context: typer.Context,
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
    json: JsonFlag = False,
) -> None:
    """Make questions from a user's own messages, and see where recall finds the messages that answer them.

    R@k: the share of questions whose message is among the first k found; MRR: the mean of 1 / its rank; session R@5:
    its session is among the first five; shown: it is in the block that a model would be given. Nothing is left in the
    space.
    """
    if source is not None and (out is not None or model is not None):
        raise typer.BadParameter("it takes neither --out nor --model: the questions are there.", param_hint="--from")
    target = target_of(context, json=json)
    wanted = _Wanted(questions=questions, seed=seed, model=model, out=out, source=source)
    changed = _settings(settings)
    with target.existing_memory() as memory:
        chosen = _space(target, memory, space)
        asked = _questions(chosen, wanted, target)
        before = _measured(chosen, asked, target)
    after = None
    if settings is not None:
        with target.existing_memory(settings=changed) as memory:
            after = _measured(memory.space(chosen.name), asked, target)
    _print(_Outcome(asked=asked, before=before, after=after), target)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """Which questions are to be asked, and where from."""

    questions: int
    seed: int
    model: str | None
    out: Path | None
    source: Path | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Outcome:
    """The questions, and their measurements: under the defaults, and under the settings of the file if there is one."""

    asked: QuestionSet
    before: Measured
    after: Measured | None

    def comparison(self) -> Comparison | None:
        from langmem_tiers.bench.mine import compare

        return None if self.after is None else compare(self.before, self.after)


def _settings(path: Path | None) -> Settings:

    return settings_of(path)


def _space(target: Target, memory: Memory, name: str | None) -> Space:
    from langmem_tiers.bench.mine import existing_space

    return target.space(memory) if name is None else existing_space(memory, name)


def _questions(space: Space, wanted: _Wanted, target: Target) -> QuestionSet:
    from langmem_tiers.bench.mine import read_questions, write_questions
    from langmem_tiers.bench.mine.questions import require_new

    if wanted.source is not None:
        return read_questions(wanted.source)
    if wanted.out is not None:
        require_new(wanted.out)  # before a model is paid for questions that could not be kept
    made = _mined(space, wanted, target)
    if wanted.out is not None:
        write_questions(wanted.out, made)
    return made


def _mined(space: Space, wanted: _Wanted, target: Target) -> QuestionSet:
    from langmem_tiers.bench.mine import mine_questions
    from langmem_tiers.cli.chat import chat_model, model_error

    model = None if wanted.model is None else chat_model(wanted.model)
    with progress("Making questions", shown=not target.json) as advance:
        try:
            return mine_questions(space, questions=wanted.questions, seed=wanted.seed, model=model, on_progress=advance)
        except MemoryTiersError:
            raise
        except Exception as error:  # whatever a provider's client raises
            if model is None:
                raise
            raise model_error(error) from error


def _measured(space: Space, asked: QuestionSet, target: Target) -> Measured:
    from langmem_tiers.bench.mine import measure

    with progress("Questions", shown=not target.json) as advance:
        return measure(space, asked, on_progress=advance)


def _print(outcome: _Outcome, target: Target) -> None:
    if not target.json:
        print_rich(_table(outcome), *map(safe, _remarks(outcome)))
        return
    print_json(
        {
            "space": outcome.before.space,
            "wanted": outcome.asked.wanted,
            "dropped": outcome.asked.dropped,
            **as_data(outcome.before),
            "changed": as_data(outcome.after),
            "comparison": as_data(outcome.comparison()),
        }
    )


def _table(outcome: _Outcome) -> Table:
    from rich.table import Table

    table = Table(title=f"{outcome.before.space}: the user's own messages", title_justify="left")
    for name in ("settings", "kind"):
        table.add_column(name)
    for name in ("questions", *_MEANS.values()):
        table.add_column(name, justify="right")
    _add(table, "default", outcome.before)
    if outcome.after is not None:
        _add(table, "changed", outcome.after)
    if comparison := outcome.comparison():
        table.add_section()
        table.add_row("difference", "all", "", *(f"{comparison.differences[name]:+.3f}" for name in _MEANS))
    return table


def _add(table: Table, settings: str, measured: Measured) -> None:
    table.add_section()
    for row in (*measured.rows, measured.overall):
        means = (f"{getattr(row, name):.3f}" for name in _MEANS)
        table.add_row(settings, row.kind, f"{row.questions:,}", *means)


def _remarks(outcome: _Outcome) -> Iterator[str]:
    asked, before, comparison = outcome.asked, outcome.before, outcome.comparison()
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
    yield from dict.fromkeys((*before.notes, *(outcome.after.notes if outcome.after else ())))
    yield f"recall_ms: p50 {before.recall_ms.p50:.1f}, p95 {before.recall_ms.p95:.1f}"


def _odds(comparison: Comparison) -> str:
    if not comparison.better and not comparison.worse:
        return "They make no difference here."
    chance = f"Chance alone splits them as unequally in {comparison.chance:.0%} of all cases"
    return f"{chance}: nothing to conclude from." if comparison.chance > _CHANCE else f"{chance}."
