"""`langmem-tiers episodes`: summaries of earlier sessions and tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from langmem_tiers.cli.target import OfProject, OfTask, Shown, moments, space_command
from langmem_tiers.cli.terminal import MORE, as_data, hanging, leave, require_agreed, shortened
from langmem_tiers.pointers import beside
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from datetime import datetime

    from langmem_tiers.knowledge.results import EpisodeFound
    from langmem_tiers.records import Episode
    from langmem_tiers.space import Space

# Characters of a summary in a list; `show` prints the whole.
_SHOWN = 300
# Characters of one in the question whether to delete it.
_ASKED_ABOUT = 200
_PATH = {"compaction": "the host, when it compacted the session", "model": "a model", "rule": "rules"}

episodes = typer.Typer(help="Summaries of earlier sessions and tasks.", no_args_is_help=True)

Since = Annotated[
    str | None, typer.Option(metavar="DATE", help="Not over before this day: 2026-03-02, 2026-03 or 2026 (UTC).")
]
Until = Annotated[str | None, typer.Option(metavar="DATE", help="Not begun after this day.")]
Most = Annotated[int, typer.Option(min=1, max=1_000_000, help="Most episodes.")]


@episodes.command("list")
@space_command()
def list_episodes(
    space: Space,
    *,
    since: Since = None,
    until: Until = None,
    project: OfProject = None,
    task: OfTask = None,
    limit: Most = 20,
) -> Shown:
    """Print what earlier sessions and tasks were about, the newest first."""
    return _found(space, "", {**moments(since, until), "project": project, "task": task}, limit)


@episodes.command()
@space_command()
def search(
    space: Space,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in plain words.")],
    *,
    since: Since = None,
    until: Until = None,
    project: OfProject = None,
    task: OfTask = None,
    limit: Most = 10,
) -> Shown:
    """Print the sessions and tasks that fit QUERY by words and meaning, best first."""
    if not query.strip():
        leave("The query is empty. Say what to look for, or print all with `langmem-tiers episodes list`.")
    return _found(space, query, {**moments(since, until), "project": project, "task": task}, limit)


@episodes.command()
@space_command()
def show(
    space: Space, which: Annotated[str, typer.Argument(metavar="ID", help="The id, as `episodes list` prints it.")]
) -> Shown:
    """Print a summary in full, with all that is known about it."""
    return episode_shown(space, which)


def episode_shown(space: Space, which: str) -> Shown:
    """A summary in full."""
    name, sources = space.resolve_reference(which.strip())
    held = ((each, episode) for each in sources if (episode := each.archive.get(name.lower())) is not None)
    space, episode = next(held, None) or _leave_without(which)
    ended = space.archive.ended([episode])[episode.id]
    lines = ["\n".join((episode.summary or episode.abstract, *ended, ""))]
    lines += [hanging(f"{name:>20}  ", value) for name, value in _fields(episode) if value]
    return Shown({**as_data(episode), "ended": list(ended)}, lines)


@episodes.command()
@space_command()
def delete(
    space: Space,
    which: Annotated[str, typer.Argument(metavar="ID", help="The id, as `episodes list` prints it.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> Shown:
    """Delete a summary, so that it is not written again; what was said stays."""
    episode = space.archive.get(which.strip().lower()) or _leave_without(which)
    about = shortened(episode.abstract or _topics(episode), _ASKED_ABOUT)
    require_agreed(f"Delete the summary {episode.id}, “{about}”, for good?", yes=yes)
    space.archive.delete(episode.id)
    return Shown({"id": episode.id, "deleted": True}, [f"{episode.id} is deleted."])


def _leave_without(which: str) -> NoReturn:
    leave(f"There is no episode {which}. `langmem-tiers episodes list` shows those there are.")


def _found(space: Space, query: str, filters: dict[str, Any], limit: int) -> Shown:
    found = space.archive.search(query, **filters, limit=limit + 1)
    lines = [_listed(each, space, each.score if query else None) for each in found[:limit]]
    more = [MORE] if len(found) > limit else []
    return Shown(found[:limit], [*(lines or ["No episode fits."]), *more])


def _listed(found: EpisodeFound, space: Space, score: float | None) -> str:
    """An episode on two or three lines: id, days and session, then what it was about, then what no longer holds."""
    episode, ended = found.episode, found.ended
    ref = episode.id if found.space == space.name else beside(episode.id, found.space)
    head = [ref, _days(episode), _of(episode)]
    if score is not None:
        head.insert(0, f"{score:.3f}")
    lines = [hanging("", "  ".join(head)), hanging("    ", shortened(episode.abstract or _topics(episode), _SHOWN))]
    return "\n".join([*lines, hanging("    ", "; ".join(ended))] if ended else lines)


def _of(episode: Episode) -> str:
    return f"task {episode.task}" if episode.of_task else f"session {episode.session}"


def _days(episode: Episode) -> str:
    days = dict.fromkeys(f"{moment:%Y-%m-%d}" for moment in (episode.began_at, episode.ended_at))
    return " to ".join(days)


def _topics(episode: Episode) -> str:
    return ", ".join(episode.topics)


def _fields(episode: Episode) -> Iterator[tuple[str, str]]:
    yield "id", episode.id
    yield "session", episode.session
    yield "task", episode.task or ""
    yield "title", episode.title or ""
    yield "project", episode.project or ""
    yield "began", _minute(episode.began_at)
    yield "ended", _minute(episode.ended_at)
    yield "topics", _topics(episode)
    yield "abstract", episode.abstract if episode.summary else ""
    yield "written by", _PATH.get(episode.path, episode.path)
    if episode.first_drawer is not None:
        first, last = episode.first_drawer, episode.last_drawer
        yield "messages", f"{first}" if first == last else f"{first} to {last}"
    yield "archived", _minute(episode.created_at)
    yield "kept until", "for ever" if episode.expires_at is None else _minute(episode.expires_at)
    yield "recalled", counted(episode.recall_count, "time") if episode.recall_count else "never"
    yield "dreamt of", _minute(episode.promoted_at)


def _minute(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"
