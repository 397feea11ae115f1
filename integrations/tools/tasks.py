"""Tools for tasks, and for what happened in a period."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from langmem_tiers.errors import TaskChanged, UnknownTask
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import LOWER, Name, Named, Number, Words
from langmem_tiers.integrations.tools.base import Call, ToolAnswer
from langmem_tiers.integrations.tools.sources import origin_of
from langmem_tiers.integrations.tools.versions import version_seen
from langmem_tiers.records import Task
from langmem_tiers.wording import beginning

_MOST = 20
_SHOWN = 300
_WHOLE = 10_000
_FROM_TOOL = "(Some of it comes from a tool's result, and is not the user's word.)"

_ID = "The task's id, as shown in [brackets]."
_STATE = "How far it has come and what is next; it replaces the state before."


def start_task(
    call: Call,
    title: Annotated[str, Field(description="What is to be done, in a line.")],
    project: Annotated[Name, Field(description="What it is part of.")] = None,
    state: Annotated[Words, Field(description="How far it has come already.")] = None,
) -> ToolAnswer:
    """Begin a task that goes on over several conversations."""
    origin_of(call, title)  # refuses an instruction
    task = call.space.tasks.start(title, project=project or call.scope.project, state=_marked(call, state or ""))
    return ToolAnswer(f"Begun as task [{base.plain(task.id)}].", {"id": task.id, **_seen(task)})


def list_tasks(
    call: Call,
    status: Annotated[
        Literal["open", "completed", "abandoned", "all"], LOWER, Field(description="Which ones; open if left out.")
    ] = "open",
    project: Annotated[Name, Field(description="Only of this project.")] = None,
) -> ToolAnswer:
    """List tasks, the latest changed first."""
    found = call.space.tasks.list(status=None if status == "all" else status, project=project, limit=_MOST + 1)
    if not found:
        return ToolAnswer("There is no such task.", {"ids": []})
    shown = found[:_MOST]
    more = ", and there are more" if len(found) > _MOST else ""
    count = "1 task" if len(shown) == 1 else f"{len(shown)} tasks"
    text = base.fenced(f"{count}{more}; get_task shows one in full", [_line(each) for each in shown])
    in_full = (each for each in shown if len(each.state) <= _SHOWN)
    return ToolAnswer(text, {"ids": [each.id for each in shown], **_seen(*in_full)})


def get_task(call: Call, id: Annotated[Named, Field(description=_ID)]) -> ToolAnswer:
    """Read a task with its whole working state or, when it is over, the summary of what was done."""
    task = call.space.tasks.get(id)
    if task is None:
        raise UnknownTask(f"There is no task {beginning(id, 80)!a}.", way_out="Call list_tasks.")
    archive = call.space.archive.get(task.episode) if task.episode and task.status != "open" else None
    return ToolAnswer(_whole(task, task.state if archive is None else archive.summary), {"id": task.id, **_seen(task)})


def update_task(
    call: Call,
    id: Annotated[Named, Field(description=_ID)],
    state: Annotated[Words, Field(description=_STATE)] = None,
    title: Annotated[Words, Field(description="Its new title.")] = None,
    version: Annotated[Number, Field(description="The version that you read.")] = None,
) -> ToolAnswer:
    """Note how far a task has come, so that a later conversation can go on from there."""
    known = _version_read(call, id) if version is None else version
    origin_of(call, title or "")  # refuses an instruction
    state = None if state is None else _marked(call, state)
    try:
        # Another title overwrites nothing that somebody wrote.
        task = call.space.tasks.update(id, state=state, title=title, version=version if state is None else known)
    except TaskChanged:
        changed = call.space.tasks.get(id)
        if changed is None:
            raise
        told = f"Not noted: task [{base.plain(id)}] was changed since you read it. Keep what is right, and call again."
        return ToolAnswer(f"{told}\n{_whole(changed, changed.state)}", {"id": changed.id, **_seen(changed)})
    text = f"Noted for task [{base.plain(task.id)}], version {task.version}."
    knows_state = state is not None or known == task.version - 1
    return ToolAnswer(text, {"id": task.id, **_seen(*([task] if knows_state else []))})


def _marked(call: Call, text: str) -> str:
    """A text of the model; where some of it is a tool's result, it begins with a line that says so.

    Raises:
        InvalidText: it repeats an instruction that stands in a tool's result.
    """
    tainted = origin_of(call, text) == "tool" and not text.startswith(_FROM_TOOL)
    return f"{_FROM_TOOL}\n{text}" if tainted else text


def _version_read(call: Call, task_id: str) -> int | None:
    """The version of a task that a tool showed last in this conversation, else that in the prompt; None if none did."""
    shown = re.search(rf"\(task {re.escape(task_id)}\b[^\n]*, version (\d{{1,9}})\)", call.profile)
    seen = version_seen(call, "task_versions", task_id)
    return int(shown[1]) if seen is None and shown else seen


def complete_task(
    call: Call,
    id: Annotated[Named, Field(description=_ID)],
    summary: Annotated[str, Field(description="What was done, found and decided, in a few sentences.")],
    outcome: Annotated[Literal["completed", "abandoned"], LOWER, Field(description="Done, or given up.")] = "completed",
) -> ToolAnswer:
    """Close a task that is over: the summary and its working state are archived, and found again later."""
    tasks = call.space.tasks
    close = tasks.complete if outcome == "completed" else tasks.abandon
    task = close(id, summary=_marked(call, summary))
    text = f"Task [{base.plain(task.id)}] is {task.status}, and archived as [{task.episode}]."
    return ToolAnswer(text, {"id": task.id, "episode": task.episode})


def report_activity(
    call: Call,
    period: Annotated[Words, Field(description="Such as 'last week', 'this month', '2026-03' or '2026-03-02'.")] = None,
    since: Annotated[Words, Field(description="Or its first day.")] = None,
    until: Annotated[Words, Field(description="Its last day; today if left out.")] = None,
    tasks_only: Annotated[bool, Field(description="Leave out conversations.")] = False,
    project: Annotated[Name, Field(description="Only of this project.")] = None,
) -> ToolAnswer:
    """Report what was done in a period: tasks, conversations and decisions, with dates and pointers."""
    about: dict[str, Any] = {"kind": "tasks" if tasks_only else "all", "project": project, "limit": _MOST}
    found = call.space.report(period, since=since, until=until, **about)
    artifact = {
        "since": found.since.isoformat(),
        "until": found.until.isoformat(),
        "tasks": [each.id for each in found.tasks],
        "sessions": [each.session for each in found.sessions],
        "left_out": found.left_out,
    }
    if not found:
        return ToolAnswer(f"Nothing is known of {base.plain(found.title)}.", artifact)
    sections = found.sections.items()
    shown = [base.item(base.cut(line, _SHOWN * 2), f"{heading}: ") for heading, lines in sections for line in lines]
    more = f"; {found.left_out} older ones are left out" if found.left_out else ""
    return ToolAnswer(base.fenced(f"What is known of {base.plain(found.title)}{more}", shown), artifact)


def _seen(*tasks: Task) -> dict[str, dict[str, int]]:
    """The versions of tasks whose whole state the model knows now, for the artifact; a later update is of these."""
    return {"task_versions": {task.id: task.version for task in tasks}}


def _whole(task: Task, said: str) -> str:
    """A task as it stands, with its state or its archive."""
    shown = [_line(task, whole=True), *([base.item(base.cut(said, _WHOLE))] if said else [])]
    return base.fenced(f"Task [{base.plain(task.id)}], version {task.version}", shown)


def _line(task: Task, *, whole: bool = False) -> str:
    about = [f"begun {base.day(task.created_at)}"]
    about += [f"{task.status} {base.day(task.closed_at)}" if task.closed_at else task.status]
    about += [f"project {task.project}"] if task.project else []
    state = "" if whole or not task.state else f": {base.cut(task.state, _SHOWN)}"
    return base.item(f"{task.title} ({', '.join(about)}){state}", f"[{base.plain(task.id)}] ")
