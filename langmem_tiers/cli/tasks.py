"""`langmem-tiers tasks` and `report`: what is being done, and what was done."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from langmem_tiers.cli.target import FromFile, OfProject, Shown, Target, command_of_space, space_command
from langmem_tiers.cli.terminal import MORE, hanging, leave, require_agreed, shortened, text_of

if TYPE_CHECKING:
    from langmem_tiers.records import Task
    from langmem_tiers.space import Space

# Characters of a state in a list; `show` prints the whole.
_SHOWN = 300
# Characters of a title in the question whether to delete it.
_ASKED_ABOUT = 200

tasks = typer.Typer(help="What is being done, with its working state; archived when it is over.", no_args_is_help=True)


class TaskChoice(StrEnum):
    """Which tasks are listed."""

    OPEN = "open"
    COMPLETED = "completed"
    ABANDONED = "abandoned"
    ALL = "all"


Id = Annotated[str, typer.Argument(metavar="ID", help="The task's id, as `tasks list` prints it.")]
State = Annotated[str | None, typer.Option("--state", metavar="TEXT", help="How far it has come.")]
Summary = Annotated[str | None, typer.Argument(metavar="SUMMARY", help="What was done, found and decided.")]


@tasks.command("list")
@space_command()
def list_tasks(
    space: Space,
    *,
    status: Annotated[TaskChoice, typer.Option(help="Which ones.")] = TaskChoice.OPEN,
    project: OfProject = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="Most tasks.")] = 20,
) -> Shown:
    """Print the tasks, the latest changed first."""
    wanted: Any = None if status is TaskChoice.ALL else status.value
    found = space.tasks.list(status=wanted, project=project, limit=limit + 1)
    lines = [_task(each) for each in found[:limit]] or ["There is no such task."]
    return Shown(found[:limit], [*lines, *([MORE] if len(found) > limit else [])])


@tasks.command()
@space_command()
def show(space: Space, which: Id) -> Shown:
    """Print a task with its working state or, when it is over, with its archive."""
    return task_shown(space, which)


def task_shown(space: Space, which: str) -> Shown:
    """A task with its state or its archive."""
    task = space.tasks.get(which)
    if task is None:
        _leave_without(which)
    archive = None if task.episode is None else space.archive.get(task.episode)
    lines = [_task(task, whole=True), *([f"\n{task.state}"] if task.state else [])]
    lines += [] if archive is None else [f"\n{archive.summary}"]
    return Shown({"task": task, "archive": archive}, lines)


@tasks.command()
@command_of_space
def start(
    target: Target,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What is to be done, in a line.")],
    *,
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Your own name for it.")] = None,
    project: Annotated[str | None, typer.Option("--project", metavar="NAME", help="What it is part of.")] = None,
    state: State = None,
) -> Shown:
    """Begin a task."""
    with target.any_space() as space:
        before = None if id is None else space.tasks.get(id)
        task = space.tasks.start(title, id=id, project=project, state=state or "")
    return Shown(task, [_task(task), *([] if before is None else [f"    {_begun_before(task)}"])])


@tasks.command()
@command_of_space
def update(
    target: Target,
    which: Id,
    *,
    state: State = None,
    file: FromFile = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Its new title.")] = None,
    project: Annotated[str | None, typer.Option("--project", metavar="NAME", help="Its new project.")] = None,
    reopen: Annotated[bool, typer.Option("--reopen", help="Open it again.")] = False,
    version: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Change it only if it is still at this version.")
    ] = None,
) -> Shown:
    """Change what is given of a task; a new state replaces the one before."""
    if state is not None and file is not None:
        raise typer.BadParameter("give either --state or --file.")
    if state is None and file is None and title is None and project is None and not reopen:
        raise typer.BadParameter("give what to change: --state, --file, --title, --project or --reopen.")
    given: dict[str, Any] = {"state": state if file is None else text_of(file), "title": title, "project": project}
    with target.existing_space() as space:
        task = space.tasks.update(which, **given, status="open" if reopen else None, version=version)
    return Shown(task, [_task(task)])


@tasks.command()
@space_command()
def complete(
    space: Space,
    which: Id,
    summary: Summary = None,
    *,
    abandon: Annotated[bool, typer.Option("--abandon", help="It was given up.")] = False,
) -> Shown:
    """Close a task that is over, and archive it with its working state."""
    before = space.tasks.get(which)
    task = (space.tasks.abandon if abandon else space.tasks.complete)(which, summary=summary)
    if before is not None and before.status != "open":
        return Shown(task, [_task(task), f"    It was {task.status} before: nothing has changed."])
    archived = "" if task.episode is None else f" It is archived as {task.episode}."
    return Shown(task, [f"{_task(task)}\n    {archived.strip()}".rstrip()])


@tasks.command()
@space_command()
def delete(
    space: Space, which: Id, *, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> Shown:
    """Delete a task with its archive; what was said in it stays."""
    task = space.tasks.get(which) or _leave_without(which)
    require_agreed(f"Delete the task {task.id}, “{shortened(task.title, _ASKED_ABOUT)}”, for good?", yes=yes)
    if not space.tasks.delete(which):
        _leave_without(which)
    return Shown({"id": which, "deleted": True}, [f"{which} is deleted."])


@space_command()
def report(
    space: Space,
    period: Annotated[
        str | None, typer.Argument(metavar="PERIOD", help="'last week', 'this month', 'the last 3 days', 2026-03.")
    ] = None,
    *,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Or its first day (UTC).")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Its last day; today if left out.")] = None,
    tasks: Annotated[bool, typer.Option("--tasks", help="Tasks only, no sessions.")] = False,
    project: OfProject = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="Most sessions, and most tasks.")] = 100,
) -> Shown:
    """Print what was done in a period, as Markdown: tasks, sessions and decisions, with dates and pointers."""
    found = space.report(
        period, since=since, until=until, kind="tasks" if tasks else "all", project=project, limit=limit
    )
    return Shown(found, [found.markdown.rstrip("\n")])


def _task(task: Task, *, whole: bool = False) -> str:
    """A task on one or two lines: id, status, days, project, title, and how far it has come."""
    closed = f" {task.closed_at:%Y-%m-%d}" if task.closed_at else ""
    head = [task.id, f"{task.created_at:%Y-%m-%d}", f"{task.status}{closed}", *filter(None, [task.project])]
    lines = [hanging("", f"{'  '.join(head)}  {shortened(task.title, _SHOWN)}")]
    return "\n".join(lines if whole or not task.state else [*lines, hanging("    ", shortened(task.state, _SHOWN))])


def _begun_before(task: Task) -> str:
    if task.status == "open":
        return "It was begun before: nothing has changed. `tasks update` changes it."
    return f"It is {task.status} already: nothing has changed. `tasks update {task.id} --reopen` opens it again."


def _leave_without(which: str) -> NoReturn:
    leave(f"There is no task {which}. `langmem-tiers tasks list --status all` shows those there are.")
