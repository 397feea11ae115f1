"""`langmem-tiers stats`, `usage`, `activity`, `doctor` and `rebuild`: how a memory does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import (
    as_data,
    hanging,
    print_error,
    print_json,
    print_rich,
    print_text,
    safe,
    shortened,
    working,
)
from langmem_tiers.errors import StorageError

if TYPE_CHECKING:
    from rich.table import Table

    from langmem_tiers.memory import Memory
    from langmem_tiers.models.usage import UsageLine
    from langmem_tiers.records import Activity
    from langmem_tiers.space import Space
    from langmem_tiers.types import Finding, SpaceStats


def register_counts(app: typer.Typer) -> None:
    """Add the commands that count."""
    app.command()(stats)
    app.command()(usage)


def stats(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Print counts and sizes of the user's space, or of every space when no user is named."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        found = [space.stats() for space in target.spaces(memory)]
        if target.json:
            print_json({"path": memory.path, "spaces": found})
        else:
            print_text(f"Memory in {memory.path}: {len(found)} {'space' if len(found) == 1 else 'spaces'}")
            for one in found:
                _print_stats(one)
        for folder in target.unreadable(memory):
            print_error(f"Not counted: {folder}, whose space can not be told. `langmem-tiers doctor` says the way out.")


def _print_stats(stats: SpaceStats) -> None:
    """The table, and the folder below it: in a cell it would be cut up."""
    print_text("")
    print_rich(_stats_table(stats))
    print_text(f"Folder: {stats.folder}")


def _stats_table(stats: SpaceStats) -> Table:
    from rich.table import Table

    table = Table(title=stats.space, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in as_data(stats).items():
        if name not in {"space", "folder"}:
            table.add_row(name.replace("_", " "), _stats_figure(value))
    return table


def _stats_figure(value: int | str | None) -> str:
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) else value


_NUMBERS = ("calls", "failures", "input_tokens", "output_tokens", "cost")


@dataclass(frozen=True, kw_only=True, slots=True)
class _OfSpace:
    space: str
    by_source: tuple[UsageLine, ...]
    by_day: tuple[UsageLine, ...]


def usage(
    context: typer.Context,
    *,
    days: Annotated[int, typer.Option(min=1, max=36_500, help="How many days back, today (UTC) being the first.")] = 30,
    json: JsonFlag = False,
) -> None:
    """Print what models took for the user's space, or for every space when no user is named: by source and by day."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        since = memory.clock().date() - timedelta(days=days - 1)
        found = [_of_space(memory, space.name, since) for space in target.spaces(memory)]
        if target.json:
            print_json({"path": memory.path, "since": str(since), "spaces": found})
        else:
            _print_usage(found, since)
        for folder in target.unreadable(memory):
            print_error(f"Not counted: {folder}, whose space can not be told. `langmem-tiers doctor` says the way out.")


def _of_space(memory: Memory, name: str, since: date) -> _OfSpace:
    from langmem_tiers.models.usage import UsageBook

    with memory.use(name) as store:
        book = UsageBook(store.database)
        return _OfSpace(
            space=name, by_source=book.summary(since=since, by="source"), by_day=book.summary(since=since, by="day")
        )


def _print_usage(found: list[_OfSpace], since: date) -> None:
    used = [each for each in found if each.by_source]
    if not used:
        print_text(f"No model was asked since {since}.")
    for each in used:
        print_text(f"{each.space}, since {since}")
        print_rich(_usage_table("source", each.by_source), _usage_table("day", each.by_day))


def _usage_table(what: str, lines: tuple[UsageLine, ...]) -> Table:
    from rich.table import Table

    table = Table()
    table.add_column(what)
    for name in _NUMBERS:
        table.add_column(name.replace("_", " "), justify="right")
    for line in lines:
        table.add_row(safe(line.name), *(_usage_figure(getattr(line, name)) for name in _NUMBERS))
    return table


def _usage_figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"


# What a body names by the ids of entries.
_ENTRIES = ("kept", "merged", "known", "corrected")
_SHOWN = 300


def register_activity(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(activity)


def activity(
    context: typer.Context,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, the newest first.")] = 10,
    session: Annotated[str | None, typer.Option(help="Only what was done about this session.")] = None,
    json: JsonFlag = False,
) -> None:
    """Print what the memory did by itself: what it kept, merged and refused of what was said, and why."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        space = target.space(memory)
        done = space.knowledge.activity(session=session, limit=limit)
        if not done and session is not None:
            _require_session(session, space)
        if target.json:
            print_json(done)
            return
        for each in done:
            _print_activity(each, space)
        if not done:
            print_text("The memory did nothing by itself yet.")


def _require_session(session: str, space: Space) -> None:
    """Nothing where there is such a session: then nothing was done about it yet."""
    if all(each.session != session for each in space.sessions()):
        print_error(f"There is no session {session} in {space.name}. `langmem-tiers palace` shows those there are.")
        raise typer.Exit(1)


def _print_activity(activity: Activity, space: Space) -> None:
    about = f"  session {activity.session}" if activity.session else ""
    print_text(f"{activity.at:%Y-%m-%d %H:%M}  {activity.kind}{about}")
    for name, text in _rows(activity.body, space):
        print_text(hanging(f"  {name:<9}  ", text))


def _rows(body: Mapping[str, Any], space: Space) -> Iterator[tuple[str, str]]:
    """What was done, line by line: in the words of the entries and episodes where a body holds their ids."""
    entries = {name: body[name] for name in _ENTRIES if isinstance(body.get(name), list)}
    for name, ids in entries.items():
        yield from ((name, _entry(each, space)) for each in ids)
    refused = body.get("refused")
    yield from (("refused", _refused(each)) for each in (refused if isinstance(refused, list) else ()))
    if entries and not refused and not any(entries.values()):
        yield "kept", "nothing: there was nothing to keep"
    if isinstance(body.get("episode"), str):
        yield "episode", _episode(body["episode"], space)
    if rest := _rest(body, told={*entries, "refused", "episode"}):
        yield "", rest


def _rest(body: Mapping[str, Any], *, told: set[str]) -> str:
    return "; ".join(f"{name}: {_plain(value)}" for name, value in body.items() if name not in told and value)


def _entry(entry_id: object, space: Space) -> str:
    entry = space.knowledge.get(str(entry_id))
    text = "(deleted since)" if entry is None else shortened(entry.content, _SHOWN)
    return f"{entry_id}  {text}"


def _episode(episode_id: str, space: Space) -> str:
    episode = space.archive.get(episode_id)
    text = "(gone since)" if episode is None else shortened(episode.abstract, _SHOWN)
    return f"{episode_id}  {text}"


def _refused(given: object) -> str:
    if not isinstance(given, Mapping):
        return shortened(str(given), _SHOWN)
    content = shortened(str(given.get("content") or ""), _SHOWN)
    return f"{f'“{content}”' if content else 'something'}: {given.get('reason')}"


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_SIGNS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
_OF_MACHINE = {"sqlite"}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(doctor)
    app.command()(rebuild)


def doctor(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Check the text index and the vectors against the records, in one space or in all. Exit code 1: a problem."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        with working("Checking"):
            found = {space.name: _examine(space) for space in target.spaces(memory)}
        unreadable = target.unreadable(memory)
        if target.json:
            print_json({"path": memory.path, "spaces": found, "unreadable_spaces": unreadable})
        else:
            _print_found(found | {str(folder): (_no_name(folder),) for folder in unreadable})
    if unreadable or any(finding.level == "problem" for findings in found.values() for finding in findings):
        raise typer.Exit(1)


def rebuild(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Build text index and vectors anew from the records, in one space or in all. No record is changed."""
    target = target_of(context, json=json)
    done: dict[str, tuple[str, ...]] = {}
    with target.existing_memory() as memory:
        for space in target.spaces(memory):
            with working(f"Rebuilding {space.name}"):
                done[space.name] = space.rebuild()
                space.flush()
            if not target.json:
                _print_lines(space.name, done[space.name])
    if target.json:
        print_json(done)


def _examine(space: Space) -> tuple[Finding, ...]:
    """The findings on one space; one that can not even be opened must not hide the others."""
    from langmem_tiers.types import Finding

    try:
        return space.doctor()
    except StorageError as error:
        return (Finding(check="records", level="problem", message=error.message, way_out=error.way_out),)


def _no_name(folder: Path) -> Finding:
    from langmem_tiers.types import Finding

    return Finding(
        check="space",
        level="problem",
        message=f"{folder / 'space.json'} can not be read, or names a space of another folder.",
        way_out="Open it once under its name, for example with --user ID: the mark is written anew.",
    )


def _print_found(found: dict[str, tuple[Finding, ...]]) -> None:
    """Space by space; what is about this machine and not about a space comes first, and once."""
    of_machine = {finding for findings in found.values() for finding in findings if finding.check in _OF_MACHINE}
    for finding in of_machine:
        _print_finding(finding, indent="")
    for name, findings in found.items():
        print_text(name)
        for finding in findings:
            if finding not in of_machine:
                _print_finding(finding, indent="  ")


def _print_finding(finding: Finding, *, indent: str) -> None:
    print_text(f"{indent}{_SIGNS[finding.level]}  {finding.check}: {finding.message}")
    if finding.way_out:
        print_text(f"{indent}         {finding.way_out}")


def _print_lines(name: str, lines: tuple[str, ...]) -> None:
    print_text(name)
    for line in lines:
        print_text(f"  {line}")
