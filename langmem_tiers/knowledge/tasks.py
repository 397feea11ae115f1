"""The tasks of a space: what is being done, how far it has come, and archiving it when it is over."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput, InvalidText, SecretRefused, TaskChanged, TextTooLong, UnknownTask
from langmem_tiers.knowledge import summaries
from langmem_tiers.knowledge.episode_writer import EpisodeWriter
from langmem_tiers.knowledge.episodes import delete_episodes
from langmem_tiers.knowledge.prompt_blocks import task_block
from langmem_tiers.listeners import notify
from langmem_tiers.naming import new_id
from langmem_tiers.records import Task, TaskStatus
from langmem_tiers.storage import episodes, purging, tasks
from langmem_tiers.twins import twin
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.settings import TaskSettings

REOPEN = "Open it again first: update(id, status='open')."
"""What to do about a task that is closed."""
_LONGEST_ID = 200
_JOINERS = "\u200c\u200d"
_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp"})


class Tasks:
    """What is being done: each task with its title, project, status and working state.

    The working state is a text that says how far it has come; the newest one replaces the one before. When a task is
    completed or abandoned, its working state and what was said in it are archived as an episode, which is found by what
    the task was about, and the task keeps only what it was called, when it was, and the id of that episode. Turns
    belong to a task by `Space.track(…, task=id)`; in a graph, the run names it.

    Every method has an asynchronous twin: `astart`, `aget` and so on.

    Example:
        >>> tasks = memory.user("alice").tasks
        >>> wiki = tasks.start("Nightly backup of the wiki", project="infra")
        >>> tasks.update(wiki.id, state="Script written. Next: test restoring.").version
        2
        >>> tasks.complete(wiki.id, summary="restic copies the wiki to the second disk at 2:00.").status
        'completed'
    """

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"Tasks({self._context.name!r})"

    def start(self, title: str, *, id: str | None = None, project: str | None = None, state: str = "") -> Task:
        """Begin a task. Beginning it again, with the same id and title, gives the task as it is.

        Args:
            title: What is to be done, in a line.
            id: Your own name for it, such as the key of a ticket; by default 12 characters.
            project: What it is part of.
            state: How far it has come already.

        Raises:
            InvalidText, TextTooLong: the title is blank, too long or has control characters, or the state is too long.
            InvalidInput, SecretRefused: `id` cannot name a task, or names another one.
        """
        named = new_id() if id is None else self._id(id)
        values = {"title": self._title(title), "state": self._state(state)}
        about = arguments.optional_name(project, "project")
        with self._writing() as (connection, space, now):
            known = tasks.one(connection, space, named)
            if known is None:
                return tasks.put(connection, space, named, status="open", project=about, **values, at=now)
        if known.title != values["title"]:
            raise InvalidInput(
                f"There is a task {beginning(named, 80)!a} already: {beginning(known.title, 80)!a}.",
                way_out="Change that one with update, or begin this one under another id.",
            )
        return known

    def get(self, task_id: str) -> Task | None:
        """The task with this id, or None."""
        wanted = arguments.text(task_id, "task_id").strip()
        with self._context.open() as store, store.reading() as connection:
            return tasks.one(connection, store.key, wanted)

    def list(
        self, *, status: TaskStatus | None = None, project: str | None = None, limit: int = 100
    ) -> tuple[Task, ...]:
        """The tasks, the latest changed first.

        Args:
            status: Only those that are `open`, `completed` or `abandoned`.
            project: Only those of this project.
            limit: Maximum number of tasks.

        Raises:
            InvalidInput: `status` is none of these, or `limit` below 1.
        """
        wanted = None if status is None else arguments.one_of(status, "status", get_args(TaskStatus))
        about, most = arguments.optional_name(project, "project"), arguments.whole(limit, "limit", least=1)
        with self._context.open() as store, store.reading() as connection:
            return tuple(tasks.find(connection, store.key, status=wanted, project=about, most=most))

    def update(
        self,
        task_id: str,
        *,
        state: str | None = None,
        title: str | None = None,
        project: str | None = None,
        status: TaskStatus | None = None,
        version: int | None = None,
    ) -> Task:
        """Change what is given of an open task.

        `status="completed"` and `"abandoned"` do what `complete` and `abandon` do; `"open"` opens a closed task again,
        with an empty state: its archive stays, and it gets a further one when it is closed again. `version` is the
        version that was read: if the task has changed since, that raises, and no change is lost.

        Raises:
            UnknownTask: there is no task with this id.
            TaskChanged: it is no longer at this version.
            InvalidText, TextTooLong: the title or the state cannot be stored.
            InvalidInput: it is closed, and not opened again; or another argument cannot be used.
        """
        given: dict[str, str | None] = {
            "state": None if state is None else self._state(state),
            "title": None if title is None else self._title(title),
            "project": arguments.optional_name(project, "project"),
        }
        values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        becomes = None if status is None else arguments.one_of(status, "status", get_args(TaskStatus))
        read = arguments.optional_whole(version, "version", least=0)
        if becomes in ("completed", "abandoned"):
            return self._close(task_id, becomes, None, values, read)
        with self._writing() as (connection, space, now):
            task = _existing(connection, space, task_id, read)
            if becomes == "open" and task.status != "open":
                values |= {"status": "open", "closed_at": None}
            elif task.status != "open":
                raise _closed(task)
            return tasks.change(connection, space, task, at=now, **values) if values else task

    def complete(self, task_id: str, *, summary: str | None = None) -> Task:
        """Close a task that is done, and archive it. Completing it again changes nothing.

        The episode has the summary, or else what the model or the rules make of what was said in the task, and then
        the working state as it was at the end.

        Args:
            task_id: The task.
            summary: What was done, found and decided; without it, a model is waited for if there is one.

        Raises:
            UnknownTask: there is no task with this id.
            InvalidInput: it was abandoned, or the summary is blank or longer than 20,000 characters.
        """
        return self._close(task_id, "completed", summary, {}, None)

    def abandon(self, task_id: str, *, summary: str | None = None) -> Task:
        """Close a task that is given up, and archive it like a completed one.

        Raises:
            UnknownTask: there is no task with this id.
            InvalidInput: it was completed, or the summary is blank or longer than 20,000 characters.
        """
        return self._close(task_id, "abandoned", summary, {}, None)

    def delete(self, task_id: str) -> bool:
        """Delete a task with its archive; returns whether it existed.

        The recalls that showed its archive are deleted with it. What was said in it stays in the drawers.
        """
        wanted = arguments.text(task_id, "task_id").strip()
        with self._writing() as (connection, space, now):
            task = tasks.one(connection, space, wanted)
            if task is None:
                return False
            delete_episodes(connection, space, episodes.of_task(connection, space, task.id), now)
            tasks.remove(connection, space, task, at=now)
            purging.request(connection, space, at=now)
            return True

    def prompt_block(self, task_id: str) -> str:
        """The working state of an open task for a prompt, fenced; empty for a closed or unknown one.

        Of a long state it has the first `Settings.tasks.shown_characters` characters.
        """
        task = self.get(task_id)
        return "" if task is None or task.status != "open" else task_block(task, self._settings.shown_characters)

    astart = twin(start)
    aget = twin(get)
    alist = twin(list)
    aupdate = twin(update)
    acomplete = twin(complete)
    aabandon = twin(abandon)
    adelete = twin(delete)
    aprompt_block = twin(prompt_block)

    def _close(
        self, task_id: str, becomes: TaskStatus, summary: str | None, values: dict[str, Any], version: int | None
    ) -> Task:
        told = None if summary is None else summaries.checked(summary, "summary")
        with self._context.open() as store:
            writer = EpisodeWriter(self._context, store)
            with store.reading() as connection:
                task = _existing(connection, store.key, task_id, version)
                if task.status != "open":
                    return _as_closed(task, becomes, values)
                said = writer.said_in(connection, task)
            draft = writer.draft_of_task(said, told)
            with store.writing() as connection:
                # Meanwhile somebody else may have changed or closed it.
                task = _existing(connection, store.key, task_id, version)
                if task.status != "open":
                    return _as_closed(task, becomes, values)
                now = to_millis(self._context.clock())
                task = tasks.change(connection, store.key, task, at=now, **values) if values else task
                archived = writer.archive_task(connection, task, draft, said)
                end: dict[str, Any] = {"status": becomes, "state": "", "closed_at": now}
                if archived is not None:
                    end["episode"] = archived[0].id
                task = tasks.change(connection, store.key, task, at=now, **end)
        if archived is not None:
            notify(self._context.listeners, archived[1])
        self._context.wake()
        return task

    @contextmanager
    def _writing(self) -> Iterator[tuple[Connection, str, int]]:
        with self._context.open() as store, store.writing() as connection:
            yield connection, store.key, to_millis(self._context.clock())

    @property
    def _settings(self) -> TaskSettings:
        return self._context.settings.tasks

    def _id(self, given: str) -> str:
        named = arguments.text(given, "id").strip()
        if not named or len(named) > _LONGEST_ID:
            raise InvalidInput(
                f"{beginning(named, 40)!a} cannot name a task.",
                way_out=f"Give an id of 1 to {_LONGEST_ID} characters, or none.",
            )
        _require_visible(named, "id")
        if summaries.unsecret(named, self._context.settings) != named:
            raise SecretRefused("The id of the task holds a secret.", way_out="Give another id, or none.")
        return named

    def _title(self, given: str) -> str:
        title, most = " ".join(arguments.text(given, "title").split()), self._settings.title_characters
        if not title:
            raise InvalidText("The task has no title.", way_out="Say in a line what is to be done.")
        if len(title) > most:
            raise TextTooLong(
                f"The title has {len(title):,} characters; the limit is {most:,}.",
                way_out="Say in a line what is to be done, and the rest in the state.",
            )
        _require_visible(title, "title")
        return summaries.unsecret(title, self._context.settings)

    def _state(self, given: str) -> str:
        state, most = arguments.text(given, "state").strip(), self._settings.state_characters
        if len(state) > most:
            raise TextTooLong(
                f"The state has {len(state):,} characters; the limit is {most:,}.",
                way_out="Say how far it has come and what is next; keep results in documents or working memory.",
            )
        return summaries.unsecret(state, self._context.settings)


def _existing(connection: Connection, space: str, task_id: str, version: int | None) -> Task:
    """The task of an id, at a version if one is given.

    Raises:
        UnknownTask: there is none.
        TaskChanged: it is at another version.
    """
    wanted = arguments.text(task_id, "task_id").strip()
    task = tasks.one(connection, space, wanted)
    if task is None:
        raise UnknownTask(f"There is no task {beginning(wanted, 80)!a}.")
    if version not in (None, task.version):
        raise TaskChanged(f"Task {beginning(wanted, 80)!a} is at version {task.version}, not {version}.")
    return task


def _as_closed(task: Task, becomes: TaskStatus, values: dict[str, Any]) -> Task:
    """A task that is closed already.

    Raises:
        InvalidInput: it was to be closed in another way, or changed.
    """
    if values or task.status != becomes:
        raise _closed(task)
    return task


def _closed(task: Task) -> InvalidInput:
    return InvalidInput(f"Task {beginning(task.id, 80)!a} is {task.status}.", way_out=REOPEN)


def _require_visible(text: str, what: str) -> None:
    """Raise InvalidText for a text with characters that nobody sees, and that might change what is seen."""
    for character in text:
        if unicodedata.category(character) in _INVISIBLE and character not in _JOINERS:
            raise InvalidText(
                f"The {what} has the control character {character!a}.", way_out="Leave out what cannot be seen."
            )
