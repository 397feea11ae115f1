"""`langmem-tiers activity`: what a memory did by itself, and with `--follow`, what it does now."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.target import Shown, Target, command_of_space
from langmem_tiers.cli.terminal import hanging, leave, print_json_line, print_text, shortened
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.records import Activity
    from langmem_tiers.space import Space
    from langmem_tiers.types import Drawer, Receipt

# What a body names by the ids of entries.
_ENTRIES = ("kept", "merged", "known", "corrected")
_SHOWN = 300
_SECONDS_BETWEEN = 0.5
# News that are read at once: after a large import, the oldest come first.
_AT_ONCE = 500
_DREAMS = 20


@command_of_space
def activity(
    target: Target,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, the newest first.")] = 10,
    session: Annotated[str | None, typer.Option(help="Only what was done about this session.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on printing what happens, also by other programs, until Ctrl-C.")
    ] = False,
) -> Shown:
    """Print what the memory did by itself: what it kept, merged and refused of what was said, and why."""
    with target.existing_space() as space:
        done = space.knowledge.activity(session=session, limit=limit)
        if follow:
            _follow(space, done, session, json=target.json)
        if not done and session is not None and all(each.session != session for each in space.sessions()):
            leave(f"There is no session {session} in {space.name}. `langmem-tiers palace` shows those there are.")
        nothing = [] if done else ["The memory did nothing by itself yet."]
        return Shown(done, [*(line for each in done for line in _lines(each, space)), *nothing])


@dataclass(frozen=True, kw_only=True)
class _Event:
    """Something that happened: a message was stored, something was recalled, mined, archived or dreamt."""

    at: datetime
    kind: str
    session: str | None
    data: object
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Position:
    """Up to where the events of a space have been printed."""

    activity: int
    drawer: int
    receipt: int
    dreams: frozenset[tuple[str, str]]


def _follow(space: Space, done: Sequence[Activity], session: str | None, *, json: bool) -> None:
    """Print what happens from now on, after what was done last, until Ctrl-C, which is how it is meant to end."""
    try:
        at = _now(space, space.dreams(limit=_DREAMS))
        for each in reversed(done):
            _print(_of_activity(each, space), json=json)
        while True:
            news, at = _news(space, at)
            for event in news:
                if session is None or event.session == session:
                    _print(event, json=json)
            time.sleep(_SECONDS_BETWEEN)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _print(event: _Event, *, json: bool) -> None:
    if json:
        print_json_line({"at": event.at, "kind": event.kind, "session": event.session, "data": event.data})
    else:
        for line in event.lines:
            print_text(line)


def _now(space: Space, dreams: Sequence[DreamReport]) -> _Position:
    """Where a space stands, with its latest dreams."""
    from langmem_tiers.storage import activities, drawers, receipts

    with space.context.open() as store, store.reading() as connection:
        return _Position(
            activity=activities.newest(connection, store.key),
            drawer=drawers.newest(connection, store.key),
            receipt=receipts.count(connection, store.key),
            dreams=frozenset((each.id, each.status) for each in dreams),
        )


def _news(space: Space, since: _Position) -> tuple[list[_Event], _Position]:
    """What happened since, in the order in which it did, and where the space stands now."""
    from langmem_tiers.storage import activities, drawers, receipts

    known = space.dreams(limit=_DREAMS)
    now = _now(space, known)
    last = min(now.drawer, since.drawer + _AT_ONCE)
    with space.context.open() as store, store.reading() as connection:
        said = drawers.read(connection, store.key, range(since.drawer + 1, last + 1))
        numbers = range(since.receipt + 1, min(now.receipt, since.receipt + _AT_ONCE) + 1)
        recalled = [receipts.one(connection, store.key, number) for number in numbers]
        done = activities.behind(connection, store.key, since.activity, _AT_ONCE)
    dreams = [each for each in known if (each.id, each.status) not in since.dreams]
    events = [
        *(_event(each.recorded_at, "message_stored", each.session, each, _message(each)) for each in said.values()),
        *(_event(each.at, "recalled", each.session, each, _recall(each)) for each in recalled if each is not None),
        *(_of_activity(each, space) for each in done),
        *(_event(_ended(each), "dream", None, each.model_dump(mode="json"), _dream(each)) for each in dreams),
    ]
    reached = _Position(
        activity=done[-1].number if done else since.activity,
        drawer=last,
        receipt=since.receipt + len(recalled),
        dreams=now.dreams,
    )
    return sorted(events, key=lambda each: each.at), reached


def _message(drawer: Drawer) -> str:
    return f"{drawer.pointer} {drawer.speaker or drawer.role}: {drawer.content}"


def _dream(report: DreamReport) -> str:
    return f"{report.id}: {report.status}"


def _ended(report: DreamReport) -> datetime:
    return report.finished_at or report.started_at


def _recall(receipt: Receipt) -> str:
    """A recall in a line: its receipt, how much it showed, and the message."""
    verdicts = [*(each.verdict for each in receipt.known), *(each.verdict for each in receipt.candidates)]
    shown = f"{verdicts.count('shown')} of {counted(len(verdicts), 'memory', 'memories')} shown"
    return f"receipt {receipt.number}, {shown}: {receipt.query}"


def _event(at: datetime, kind: str, session: str | None, data: object, text: str) -> _Event:
    about = f"  session {session}" if session else ""
    head = f"{at:%Y-%m-%d %H:%M}  {kind}{about}"
    return _Event(at=at, kind=kind, session=session, data=data, lines=(head, hanging("  ", shortened(text, _SHOWN))))


def _of_activity(activity: Activity, space: Space) -> _Event:
    lines = tuple(_lines(activity, space))
    return _Event(at=activity.at, kind=activity.kind, session=activity.session, data=activity, lines=lines)


def _lines(activity: Activity, space: Space) -> Iterator[str]:
    """One thing that the memory did, and what it was about."""
    about = f"  session {activity.session}" if activity.session else ""
    yield f"{activity.at:%Y-%m-%d %H:%M}  {activity.kind}{about}"
    for name, text in _rows(activity.body, space):
        yield hanging(f"  {name:<9}  ", text)


def _rows(body: Mapping[str, Any], space: Space) -> Iterator[tuple[str, str]]:
    """The lines about an activity; ids of entries and episodes are shown with their texts."""
    space = space.source(space.name)
    entries = {name: body[name] for name in _ENTRIES if isinstance(body.get(name), list)}
    for name, ids in entries.items():
        for each in ids:
            entry = space.knowledge.get(str(each))
            yield name, f"{each}  {'(deleted since)' if entry is None else shortened(entry.content, _SHOWN)}"
    refused = body.get("refused")
    yield from (("refused", _refused(each)) for each in (refused if isinstance(refused, list) else ()))
    if entries and not refused and not any(entries.values()):
        yield "kept", "nothing: there was nothing to keep"
    if isinstance(about := body.get("episode"), str):
        episode = space.archive.get(about)
        yield "episode", f"{about}  {'(gone since)' if episode is None else shortened(episode.abstract, _SHOWN)}"
    told = {*entries, "refused", "episode"}
    if rest := [f"{name}: {_plain(value)}" for name, value in body.items() if name not in told and value]:
        yield "", "; ".join(rest)


def _refused(given: object) -> str:
    if not isinstance(given, Mapping):
        return shortened(str(given), _SHOWN)
    content = shortened(str(given.get("content") or ""), _SHOWN)
    return f"{f'“{content}”' if content else 'something'}: {given.get('reason')}"


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{str(name).replace('_', ' ')} {each}" for name, each in value.items() if each)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
