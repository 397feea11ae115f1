"""`langmem-tiers signals`: feedback on the assistant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import NewUser, Shown, Target, command_of_space, space_command
from langmem_tiers.cli.terminal import hanging, shortened

if TYPE_CHECKING:
    from langmem_tiers.space import Space
    from langmem_tiers.types import FeedbackSignal

_SHOWN = 300

signals = typer.Typer(help="Feedback on the assistant: what was heard and recorded.", no_args_is_help=True)

Session = Annotated[str | None, typer.Option("--session", metavar="ID", help="The conversation.")]


@signals.command("list")
@space_command()
def list_signals(
    space: Space,
    *,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="correction, wrong, irritation or praise.")
    ] = None,
    days: Annotated[
        float | None,
        typer.Option("--days", min=0, max=36_500, help="How many days back; default: as far as dreams look."),
    ] = None,
    session: Session = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The most signals.")] = 50,
) -> Shown:
    """Print feedback that was heard in messages or recorded, newest first."""
    from datetime import timedelta

    since = None if days is None else space.context.now - timedelta(days=days)
    found = space.signals.list(kind=kind, since=since, session=session, limit=limit)  # type: ignore[arg-type]
    return Shown(found, [_line(each) for each in found] or ["There is no feedback."])


@signals.command()
@command_of_space
def record(
    target: Target,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="correction, wrong, irritation or praise.")],
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What the user said, if they said it.")] = None,
    *,
    strength: Annotated[
        str | None,
        typer.Option("--strength", metavar="STRENGTH", help="casual, mildly_frustrated or very_irritated."),
    ] = None,
    message: Annotated[
        str | None, typer.Option("--message", metavar="MESSAGE", help="Its number, or its pointer: §W-001/R-01/D-002.")
    ] = None,
    session: Session = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="What you want to say of it.")] = "",
    new: NewUser = False,
) -> Shown:
    """Record feedback that a user gave."""
    about = int(message) if message is not None and message.isdecimal() else message
    with target.any_space() if new else target.space_to_change() as space:
        signal = space.signals.record(
            kind,  # type: ignore[arg-type]  # checked there
            text=text,
            strength=strength,  # type: ignore[arg-type]
            message=about,
            session=session,
            note=note,
        )
    return Shown(signal, [_line(signal)])


def _line(signal: FeedbackSignal) -> str:
    where = f" {signal.pointer}" if signal.pointer else ""
    label = f"{signal.at:%Y-%m-%d} {signal.kind}, {signal.strength.replace('_', ' ')} ({signal.origin}){where}  "
    told = " — ".join(filter(None, (signal.text, signal.note)))
    return str(hanging(label, shortened(told, _SHOWN))) if told else label.rstrip()
