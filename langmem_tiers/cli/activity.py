"""`langmem-tiers activity`: what the memory did by itself, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.hanging import hanging
from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import print_error, print_json, print_text, shortened

if TYPE_CHECKING:
    from langmem_tiers.knowledge.types import Activity
    from langmem_tiers.space import Space

# What a body names by the ids of entries.
_ENTRIES = ("kept", "merged", "known", "corrected")
_SHOWN = 300


def register(app: typer.Typer) -> None:
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
            _print(each, space)
        if not done:
            print_text("The memory did nothing by itself yet.")


def _require_session(session: str, space: Space) -> None:
    """Nothing where there is such a session: then nothing was done about it yet."""
    if all(each.session != session for each in space.sessions()):
        print_error(f"There is no session {session} in {space.name}. `langmem-tiers palace` shows those there are.")
        raise typer.Exit(1)


def _print(activity: Activity, space: Space) -> None:
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
    from langmem_tiers.episodes.archive import Episodes

    episode = Episodes(space).get(episode_id)
    text = "(gone since)" if episode is None else shortened(episode.abstract, _SHOWN)
    return f"{episode_id}  {text}"


def _refused(given: object) -> str:
    if not isinstance(given, Mapping):
        return shortened(str(given), _SHOWN)
    content = shortened(str(given.get("content") or ""), _SHOWN)
    return f"{f'“{content}”' if content else 'something'}: {given.get('reason')}"


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
