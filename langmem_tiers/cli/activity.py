"""`langmem-tiers activity`: what a memory did by itself, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.target import Shown, space_command
from langmem_tiers.cli.terminal import hanging, leave, shortened

if TYPE_CHECKING:
    from langmem_tiers.records import Activity
    from langmem_tiers.space import Space

# What a body names by the ids of entries.
_ENTRIES = ("kept", "merged", "known", "corrected")
_SHOWN = 300


@space_command()
def activity(
    space: Space,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, the newest first.")] = 10,
    session: Annotated[str | None, typer.Option(help="Only what was done about this session.")] = None,
) -> Shown:
    """Print what the memory did by itself: what it kept, merged and refused of what was said, and why."""
    done = space.knowledge.activity(session=session, limit=limit)
    if not done and session is not None and all(each.session != session for each in space.sessions()):
        leave(f"There is no session {session} in {space.name}. `langmem-tiers palace` shows those there are.")
    nothing = [] if done else ["The memory did nothing by itself yet."]
    return Shown(done, [*(line for each in done for line in _lines(each, space)), *nothing])


def _lines(activity: Activity, space: Space) -> Iterator[str]:
    about = f"  session {activity.session}" if activity.session else ""
    yield f"{activity.at:%Y-%m-%d %H:%M}  {activity.kind}{about}"
    for name, text in _rows(activity.body, space):
        yield hanging(f"  {name:<9}  ", text)


def _rows(body: Mapping[str, Any], space: Space) -> Iterator[tuple[str, str]]:
    """What was done, line by line: in the words of the entries and episodes where a body holds their ids."""
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
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
