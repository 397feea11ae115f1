"""Tasks: what is being done, and how far it has come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select, update

from langmem_tiers.clock import from_millis
from langmem_tiers.records import Task
from langmem_tiers.storage import change_log
from langmem_tiers.storage.schema import drawers, entries, episodes, tasks
from langmem_tiers.storage.statements import here

_EVERY = select(*(column for column in tasks.c if column.name != "space"))


def put(connection: Connection, space: str, task_id: str, *, at: int, **values: Any) -> Task:
    """Store a new task."""
    times = {"created_at": at, "updated_at": at}
    connection.execute(insert(tasks).values(space=space, id=task_id, **times, **values))
    task = _task(connection.execute(_EVERY.where(*here(tasks, space, id=task_id))).one())
    change_log.append(connection, space, "task.changed", None, at=at, detail=task_id)
    return task


def one(connection: Connection, space: str, task_id: str) -> Task | None:
    """The task with an id."""
    row = connection.execute(_EVERY.where(*here(tasks, space, id=task_id))).first()
    return None if row is None else _task(row)


def change(connection: Connection, space: str, task: Task, *, at: int, **values: Any) -> Task:
    """Set some columns of a task; its version goes up."""
    counted = {"version": task.version + 1, "updated_at": at}
    these = update(tasks).where(*here(tasks, space, id=task.id)).values(**values, **counted)
    connection.execute(these)
    changed = _task(connection.execute(_EVERY.where(*here(tasks, space, id=task.id))).one())
    change_log.append(connection, space, "task.changed", None, at=at, detail=task.id)
    return changed


def remove(connection: Connection, space: str, task: Task, *, at: int) -> None:
    """Delete a task; the log no longer names it."""
    connection.execute(delete(tasks).where(*here(tasks, space, id=task.id)))
    change_log.rename(connection, space, "task.changed", task.id, None)
    change_log.append(connection, space, "task.changed", None, at=at)


def rename(connection: Connection, space: str, task: Task, new: str, *, at: int) -> Task:
    """Give a task another id wherever it is named."""
    for column in (tasks.c.id, drawers.c.task, entries.c.task, episodes.c.task):
        these = (*here(column.table, space), column == task.id)
        connection.execute(update(column.table).where(*these).values({column.name: new}))
    change_log.rename(connection, space, "task.changed", task.id, new)
    change_log.append(connection, space, "task.changed", None, at=at, detail=new)
    return replace(task, id=new)


def find(
    connection: Connection,
    space: str,
    *,
    status: str | None = None,
    project: str | None = None,
    most: int | None = None,
) -> list[Task]:
    """The tasks with a status and of a project, the latest changed first."""
    conditions: list[ColumnElement[bool]] = [*here(tasks, space)]
    conditions += [] if status is None else [tasks.c.status == status]
    conditions += [] if project is None else [tasks.c.project == project]
    wanted = _EVERY.where(*conditions).order_by(tasks.c.updated_at.desc(), tasks.c.id).limit(most)
    return [_task(row) for row in connection.execute(wanted)]


def _task(row: Row[Any]) -> Task:
    values = dict(row._mapping)
    for name in ("created_at", "updated_at", "closed_at"):
        values[name] = None if values[name] is None else from_millis(values[name])
    return Task(**values)
