"""Episodes: what earlier conversations and tasks were about, how long each is kept, and the messages it sums up."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from starlette.responses import Response

from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations.panel.page import Page, View, get, post
from langmem_tiers.knowledge.results import EpisodeFound
from langmem_tiers.language.periods import span
from langmem_tiers.records import Episode

_PAGE = 25
_MOST = 1_000
_MESSAGES = 40
_SOON = 7


class Row(NamedTuple):
    """An episode as the list shows it: how many days it is kept yet, None for ever; and what was said since."""

    episode: Episode
    days_left: int | None
    ended: tuple[str, ...] = ()

    @property
    def soon(self) -> bool:
        """Whether it expires within days."""
        return self.days_left is not None and self.days_left <= _SOON


class Asked(NamedTuple):
    """What is looked for, as it was typed."""

    text: str
    project: str
    task: str
    session: str
    since: str
    until: str

    @classmethod
    def of(cls, view: View) -> Asked:
        """What stands behind the question mark of the address."""
        return cls(*(view.query.word(name) for name in ("q", *cls._fields[1:])))

    @property
    def narrows(self) -> bool:
        """Whether anything is looked for."""
        return any(self)


def show(view: View) -> Response:
    """The latest episodes, or those that fit what is looked for; a piece of them to htmx."""
    asked = Asked.of(view)
    after = min(view.query.number("after") or 0, _MOST)
    most = after + _PAGE
    found = [_row(view, each.episode, each.ended) for each in _found(view, asked, most + 1)]
    last = most >= _MOST or len(found) <= most
    values: dict[str, Any] = {"asked": asked, "rows": found[after:most], "more": None if last else most}
    if view.wants_piece and after:
        return view.piece("_episodes.html", **values)
    return view.show("episodes.html", **values, kept_days=view.space.context.settings.episodes.ttl_days)


def _found(view: View, asked: Asked, most: int) -> list[EpisodeFound]:
    archive = view.space.archive
    now = view.space.memory.clock()
    since = span(asked.since, now=now)[0] if asked.since else None
    until = span(asked.until, now=now)[1] if asked.until else None
    about = {"project": asked.project or None, "task": asked.task or None}
    if asked.session:
        latest_first = archive.of_session(asked.session)[::-1]
        return [EpisodeFound(episode=each) for each in latest_first if _fits(each, asked, since, until)]
    return list(archive.search(asked.text, limit=most, since=since, until=until, **about))


def _fits(episode: Episode, asked: Asked, since: datetime | None, until: datetime | None) -> bool:
    """Whether it has the words, is of the project and the task, and overlaps the period."""
    overlaps = (since is None or episode.ended_at >= since) and (until is None or episode.began_at <= until)
    about = asked.project in {"", episode.project} and asked.task in {"", episode.task}
    return overlaps and about and asked.text.casefold() in episode.summary.casefold()


def _row(view: View, episode: Episode, ended: tuple[str, ...] = ()) -> Row:
    return Row(episode, _days(episode.expires_at, view.space.memory.clock()), ended)


def _days(until: datetime | None, now: datetime) -> int | None:
    return None if until is None else max(0, (until - now).days)


def open_one(view: View) -> Response:
    """One episode with its summary and the messages it covers."""
    episode, after = _required(view), view.query.number("after") or 0
    covered = view.space.browse.covered(episode, after=after, limit=_MESSAGES + 1)
    more = covered[_MESSAGES - 1].number if len(covered) > _MESSAGES else None
    values: dict[str, Any] = {"row": _row(view, episode), "messages": covered[:_MESSAGES], "more": more}
    if view.wants_piece and after:
        return view.piece("_messages.html", **values)
    later = view.space.archive.ended([episode])[episode.id]
    return view.show("episode.html", **values, later=later, count=view.space.browse.covers(episode))


def _required(view: View) -> Episode:
    """The episode that the address names.

    Raises:
        InvalidInput: there is none.
    """
    found = view.space.archive.get(view.part("id"))
    if found is None:
        raise InvalidInput(
            f"There is no episode {view.part('id')[:40]!a}, or no longer.",
            way_out="It may have expired; the list has those there are.",
        )
    return found


def keep(view: View) -> Response:
    """Keep an episode for ever."""
    episode = _required(view)
    view.space.archive.keep(episode.id)
    return view.go(f"/episodes/{episode.id}", told="It is kept for ever now.")


def delete(view: View) -> Response:
    """Delete an episode; what was said stays."""
    episode = _required(view)
    view.space.archive.delete(episode.id)
    return view.go("/episodes", told="The episode is deleted, and is not written again. The messages are still there.")


PAGE = Page(
    title="Episodes",
    path="/episodes",
    key="e",
    actions=(
        get("/episodes", show),
        get("/episodes/{id}", open_one),
        post("/episodes/{id}/keep", keep),
        post("/episodes/{id}/delete", delete),
    ),
)
