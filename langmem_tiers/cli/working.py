"""`langmem-tiers working`: the scratch space of sessions, patrols and subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from langmem_tiers.cli.target import FromFile, Shown, Target, command_of_space, space_command
from langmem_tiers.cli.terminal import hanging, leave, shortened, text_of

if TYPE_CHECKING:
    from langmem_tiers.space import Space

# Characters of a hit; `get` prints the whole.
_SHOWN = 300

working = typer.Typer(
    help="Working memory: what sessions, patrols and subagents keep for a while.", no_args_is_help=True
)

Key = Annotated[str, typer.Argument(metavar="KEY", help="A full path, such as session/abc123/inbox.")]
Below = Annotated[
    str, typer.Option("--below", metavar="PATH", help="Only what is below this path, such as patrol or session/abc123.")
]
Category = Annotated[str | None, typer.Option("--category", metavar="NAME", help="Such as email.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="May be given several times.")]


@working.command("list")
@space_command()
def list_keys(
    space: Space,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Only what is below it: patrol, session/abc123.")] = "",
) -> Shown:
    """Print the keys, with how long they stay; the contents are not shown."""
    from langmem_tiers.working.inventory import described

    found, now = space.working.list(path), space.context.now
    return Shown(found, [described(each, now) for each in found] or ["There is nothing in working memory."])


@working.command()
@space_command()
def get(space: Space, key: Key) -> Shown:
    """Print an entry as it was saved; of a long one, KEY-index is the outline and KEY-2 the second part."""
    return key_shown(space, key)


def key_shown(space: Space, key: str) -> Shown:
    """An entry of working memory as it was saved."""
    entry = space.working.get(key)
    if entry is None:
        _leave_without(key)
    return Shown(entry, [entry.value.removesuffix("\n")])


@working.command()
@space_command()
def search(
    space: Space,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for; '' for the latest.")] = "",
    *,
    below: Below = "",
    category: Category = None,
    tag: Tags = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The most entries.")] = 10,
) -> Shown:
    """Search by words and meaning, category and tags; best first."""
    found = space.working.search(query, prefix=below, category=category, tags=tag or (), limit=limit)
    lines = [hanging(f"{each.key}  ", shortened(each.text, _SHOWN)) for each in found]
    return Shown(found, lines or ["Nothing in working memory fits."])


@working.command()
@command_of_space
def save(
    target: Target,
    key: Key,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What to keep.")] = None,
    *,
    file: FromFile = None,
    ttl: Annotated[float | None, typer.Option("--ttl", metavar="MINUTES", help="How long it stays; default 5.")] = None,
    category: Category = None,
    tag: Tags = None,
) -> Shown:
    """Keep a text under a key for some minutes, in the place of one that is there."""
    from langmem_tiers.working.inventory import described

    if (text is None) == (file is None):
        raise typer.BadParameter("give either TEXT or --file.")
    given = text_of(file) if file is not None else text or ""
    with target.any_space() as space:
        saved = space.working.save(key, given, ttl_minutes=ttl, category=category, tags=tag or ())
    lines = [described(saved.entry, saved.entry.stored_at)]
    return Shown(saved, lines + [f"{each} was dropped: its namespace was full." for each in saved.dropped])


@working.command()
@space_command()
def delete(space: Space, key: Key) -> Shown:
    """Delete an entry, of a long one all parts."""
    if not space.working.delete(key):
        _leave_without(key)
    return Shown({"key": key, "deleted": True}, [f"{key} is deleted."])


def _leave_without(key: str) -> NoReturn:
    leave(f"There is nothing at {key} (any more). `langmem-tiers working list` shows what there is.")
